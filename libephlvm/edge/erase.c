// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * erase.c - zero the bytes behind a descriptor, flush, read back.
 * Owns the decision how a device is zeroed, by trying: only "not supported" means it cannot. Must
 * not know LVM or volumes, open anything by a path, or free anything: the caller proved that the
 * descriptor may be erased, and acts on the outcome.
 */
#include "edge/erase.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/text.h"

#define STEP_BYTES ((uint64_t)64 << 20) /* between progress reports and cancel checks */
#define BUFFER_BYTES ((size_t)1 << 20) /* one direct read or write */
#define BUFFER_ALIGN 4096 /* no drive has a larger logical block today */
#define SAMPLE_PLACES 128 /* random places of a sampled read-back */

int eph_erase_verify_parse(const char *word, enum eph_erase_verify *ret_verify)
{
	static const char *const words[] = {
		[EPH_VERIFY_OFF] = "off",
		[EPH_VERIFY_SAMPLE] = "sample",
		[EPH_VERIFY_FULL] = "full",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!eph_streq(word, words[i]))
			continue;
		*ret_verify = (enum eph_erase_verify)i;
		return 0;
	}
	return -EINVAL;
}

static bool unsupported(int errnum)
{
	return errnum == EOPNOTSUPP || errnum == ENOTTY || errnum == ENOSYS;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int fail_at(struct ephlvm_ctx *ctx, const char *subject, int errnum, uint64_t offset,
		   const char *doing)
{
	return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, errnum, subject,
			"see the kernel log for the drive's words",
			"%s \"%s\" failed at byte %llu: %s", doing, subject,
			(unsigned long long)offset, strerror(errnum));
}

/*
 * One step by the drive's Write Zeroes command. On a block device this flag pair is the offload
 * without the kernel's silent fall-back to writing (BLKZEROOUT has it), so what it answers is about
 * the device. 0, -EOPNOTSUPP, or the device's error.
 */
static int zero_offload(int fd, uint64_t offset, uint64_t bytes)
{
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
		      (off_t)bytes) == 0)
		return 0;
	return unsupported(errno) ? -EOPNOTSUPP : -errno;
}

static int zero_write(int fd, const void *zeros, uint64_t offset, uint64_t bytes,
		      uint64_t *ret_done)
{
	for (*ret_done = 0; *ret_done < bytes;) {
		size_t n = (size_t)min_u64(BUFFER_BYTES, bytes - *ret_done);
		ssize_t w = pwrite(fd, zeros, n, (off_t)(offset + *ret_done));

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return w < 0 ? -errno : -EIO;
		*ret_done += (uint64_t)w;
	}
	return 0;
}

static int zero_all(struct ephlvm_ctx *ctx, const struct eph_erase_request *rq, void *zeros,
		    struct eph_erase_outcome *oc)
{
	bool offload = true;
	int r = 0;

	memset(zeros, 0, BUFFER_BYTES);
	while (oc->done_bytes < rq->size_bytes) {
		uint64_t bytes = min_u64(STEP_BYTES, rq->size_bytes - oc->done_bytes), done = 0;

		r = eph_cancelled(ctx);
		if (r < 0)
			return r;
		r = eph_step(ctx, "erase-write");
		if (r < 0)
			return r;
		if (offload) {
			r = zero_offload(rq->fd, oc->done_bytes, bytes);
			offload = r != -EOPNOTSUPP;
			done = r == 0 ? bytes : 0;
		}
		if (!offload) {
			oc->method = "write";
			r = zero_write(rq->fd, zeros, oc->done_bytes, bytes, &done);
		}
		oc->done_bytes += done;
		oc->written_bytes += done;
		if (r < 0)
			return fail_at(ctx, rq->subject, -r, oc->done_bytes, "erasing");
		eph_progress(ctx, "erase", rq->subject, oc->done_bytes, rq->size_bytes);
	}
	return 0;
}

/* First byte that is not zero, or @bytes. */
static size_t nonzero_at(const unsigned char *buf, size_t bytes)
{
	size_t i = 0;

	if (bytes == 0 || (buf[0] == 0 && memcmp(buf, buf + 1, bytes - 1) == 0))
		return bytes;
	while (i < bytes && buf[i] == 0)
		i++;
	return i;
}

static int verify_range(struct ephlvm_ctx *ctx, const struct eph_erase_request *rq, void *buf,
			uint64_t offset, size_t bytes, struct eph_erase_outcome *oc)
{
	size_t have = 0, bad;

	while (have < bytes) {
		ssize_t n = pread(rq->fd, (char *)buf + have, bytes - have, (off_t)(offset + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail_at(ctx, rq->subject, n < 0 ? errno : EIO, offset + have,
				       "reading back");
		have += (size_t)n;
	}
	bad = nonzero_at(buf, bytes);
	if (bad < bytes)
		return eph_fail(
			ctx, EPHLVM_ERROR_SYSTEM, EILSEQ, rq->subject,
			"the drive did not do what it acknowledged; take it out of use",
			"\"%s\" reads back other bytes than zero at byte %llu after its erase",
			rq->subject, (unsigned long long)(offset + bad));
	oc->verified_bytes += bytes;
	return 0;
}

static int verify_full(struct ephlvm_ctx *ctx, const struct eph_erase_request *rq, void *buf,
		       struct eph_erase_outcome *oc)
{
	for (uint64_t at = 0; at < rq->size_bytes; at += BUFFER_BYTES) {
		int r = eph_cancelled(ctx);

		if (r == 0)
			r = verify_range(ctx, rq, buf, at,
					 (size_t)min_u64(BUFFER_BYTES, rq->size_bytes - at), oc);
		if (r < 0)
			return r;
		eph_progress(ctx, "readback", rq->subject, at, rq->size_bytes);
	}
	return 0;
}

static int verify_sample(struct ephlvm_ctx *ctx, const struct eph_erase_request *rq, void *buf,
			 struct eph_erase_outcome *oc)
{
	size_t edge = (size_t)min_u64(BUFFER_BYTES, rq->size_bytes);
	uint64_t blocks = rq->size_bytes / BUFFER_ALIGN;
	int r;

	r = verify_range(ctx, rq, buf, 0, edge, oc);
	if (r == 0)
		r = verify_range(ctx, rq, buf, rq->size_bytes - edge, edge, oc);
	for (unsigned int i = 0; r == 0 && blocks > 0 && i < SAMPLE_PLACES; i++) {
		uint64_t random;

		/* The kernel's generator: places that a drive cannot foresee. */
		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return fail_at(ctx, rq->subject, EIO, 0, "choosing places to read back");
		r = verify_range(ctx, rq, buf, random % blocks * BUFFER_ALIGN, BUFFER_ALIGN, oc);
	}
	return r;
}

int eph_erase_run(struct ephlvm_ctx *ctx, const struct eph_erase_request *request,
		  struct eph_erase_outcome *ret_outcome)
{
	_cleanup_free_ void *buf = NULL;
	int r;

	*ret_outcome = (struct eph_erase_outcome){
		.done_bytes = request->from_bytes,
		.method = "write-zeroes",
	};
	if (request->from_bytes > request->size_bytes || request->size_bytes > INT64_MAX)
		return eph_fail(ctx, EPHLVM_ERROR_INTERNAL, EINVAL, request->subject, NULL,
				"erase of \"%s\" asked from byte %llu of %llu", request->subject,
				(unsigned long long)request->from_bytes,
				(unsigned long long)request->size_bytes);
	if (posix_memalign(&buf, BUFFER_ALIGN, BUFFER_BYTES) != 0)
		return eph_fail_oom(ctx);
	r = zero_all(ctx, request, buf, ret_outcome);
	if (r < 0)
		return r;
	r = eph_step(ctx, "erase-flush");
	if (r < 0)
		return r;
	if (fsync(request->fd) < 0)
		return fail_at(ctx, request->subject, errno, ret_outcome->done_bytes, "flushing");
	r = eph_step(ctx, "erase-readback");
	if (r < 0)
		return r;
	switch (request->verify) {
	case EPH_VERIFY_FULL:
		return verify_full(ctx, request, buf, ret_outcome);
	case EPH_VERIFY_SAMPLE:
		return verify_sample(ctx, request, buf, ret_outcome);
	case EPH_VERIFY_OFF:
		break;
	}
	return 0;
}
