// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * erase.c - the plan of an erase: passes, pace, checkpoints, flush, read-back.
 * Owns the decision how a device is zeroed, by trying: only "not supported" means it cannot. Must
 * not know LVM or volumes, open anything by a path, or free anything: the caller proved that the
 * descriptor may be erased, and acts on the outcome.
 */
#include "edge/erase.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "edge/erase_write.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/text.h"

#define STEP_BYTES ((uint64_t)64 << 20) /* between progress reports and cancel checks */
#define DISCARD_BYTES ((uint64_t)1 << 30)
#define BUFFER_BYTES EPH_WRITE_BYTES /* one direct read */
#define BUFFER_ALIGN EPH_WRITE_ALIGN
#define SAMPLE_PLACES 128 /* random places of a sampled read-back */
#define CHECKPOINT_BYTES ((uint64_t)1 << 30)
#define CHECKPOINT_MS 5000

/* Everything about one run; the outcome is the caller's. */
struct run {
	struct ephlvm_ctx *ctx;
	const struct eph_erase_request *rq;
	struct eph_erase_outcome *oc;
	void *buf; /* what is read back, and markers */
	struct eph_writer *writer;
	bool offload; /* until the device says that it has none */
	uint64_t kept_bytes; /* at the last checkpoint, in this pass */
	int64_t kept_ms, started_ms;
};

unsigned int eph_erase_passes(enum eph_erase_method method, unsigned int random_passes)
{
	return method == EPH_ERASE_SHRED ? random_passes + 1 : 1;
}

static int word_index(const char *const *words, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (eph_streq(word, words[i]))
			return (int)i;
	return -EINVAL;
}

static const char *const method_words[] = {
	[EPH_ERASE_ZERO] = "zero",
	[EPH_ERASE_DISCARD] = "discard",
	[EPH_ERASE_SHRED] = "shred",
	[EPH_ERASE_NONE] = "none",
};
static const char *const verify_words[] = {
	[EPH_VERIFY_OFF] = "off",
	[EPH_VERIFY_SAMPLE] = "sample",
	[EPH_VERIFY_FULL] = "full",
};
#define N_OF(words) (sizeof(words) / sizeof((words)[0]))

int eph_erase_method_parse(const char *word, enum eph_erase_method *ret_method)
{
	int i = word_index(method_words, N_OF(method_words), word);

	if (i >= 0)
		*ret_method = (enum eph_erase_method)i;
	return i < 0 ? i : 0;
}

const char *eph_erase_method_word(enum eph_erase_method method)
{
	return method_words[method];
}

int eph_erase_verify_parse(const char *word, enum eph_erase_verify *ret_verify)
{
	int i = word_index(verify_words, N_OF(verify_words), word);

	if (i >= 0)
		*ret_verify = (enum eph_erase_verify)i;
	return i < 0 ? i : 0;
}

const char *eph_erase_verify_word(enum eph_erase_verify verify)
{
	return verify_words[verify];
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

/* --- pace, progress, checkpoints --- */

static void report(struct run *run)
{
	eph_progress(run->ctx, "erase", run->rq->subject,
		     (run->oc->point.pass - 1) * run->rq->size_bytes + run->oc->point.done_bytes,
		     run->oc->passes * run->rq->size_bytes);
}

/* A rate is kept over a second: what a stall has missed is not caught up. */
static int pace(struct run *run, uint64_t bytes)
{
	uint64_t rate = run->rq->rate_bytes_sec;
	int64_t due;

	if (rate == 0)
		return 0;
	run->started_ms += (int64_t)(bytes * 1000 / rate);
	due = run->started_ms;
	if (due < eph_now_ms() - 1000)
		run->started_ms = eph_now_ms() - 1000;
	while (eph_now_ms() < due) {
		int64_t left = due - eph_now_ms();
		const struct timespec slice = {
			.tv_nsec = (left < 100 ? left : 100) * 1000000,
		};
		int r = eph_cancelled(run->ctx);

		if (r < 0)
			return r;
		nanosleep(&slice, NULL);
	}
	return 0;
}

static uint64_t step_bytes(const struct run *run)
{
	uint64_t quarter = run->rq->rate_bytes_sec / 4 / BUFFER_BYTES * BUFFER_BYTES;

	if (run->rq->rate_bytes_sec == 0 || quarter > STEP_BYTES)
		return STEP_BYTES;
	return quarter < BUFFER_BYTES ? BUFFER_BYTES : quarter;
}

static int flush(struct run *run)
{
	int r = eph_mark(run->ctx, "erase-fsync");

	if (r == 0 && fsync(run->rq->fd) < 0)
		return fail_at(run->ctx, run->rq->subject, errno, run->oc->point.done_bytes,
			       "flushing");
	return r < 0 ? r : eph_mark(run->ctx, "erase-fsynced");
}

static int keep(struct run *run)
{
	int r = flush(run);

	run->kept_bytes = run->oc->point.done_bytes;
	run->kept_ms = eph_now_ms();
	if (r == 0 && run->rq->checkpoint_fn)
		r = run->rq->checkpoint_fn(run->ctx, run->rq->checkpoint_data, &run->oc->point);
	return r;
}

static bool keep_is_due(const struct run *run)
{
	return run->rq->checkpoint_fn &&
	       (run->oc->point.done_bytes - run->kept_bytes >= CHECKPOINT_BYTES ||
		eph_now_ms() - run->kept_ms >= CHECKPOINT_MS);
}

/* --- passes --- */

static int one_step(struct run *run, bool random)
{
	struct eph_erase_outcome *oc = run->oc;
	uint64_t at = oc->point.done_bytes, done = 0;
	uint64_t bytes = min_u64(step_bytes(run), run->rq->size_bytes - at);
	int r;

	r = eph_cancelled(run->ctx);
	if (r == 0)
		r = eph_step(run->ctx, "erase-write");
	if (r < 0)
		return r;
	if (run->offload && !random) {
		r = zero_offload(run->rq->fd, at, bytes);
		run->offload = r != -EOPNOTSUPP;
		done = r == 0 ? bytes : 0;
		oc->means = "write-zeroes";
	}
	if (!run->offload || random) {
		r = eph_writer_run(run->writer, random, at, bytes, &done);
		oc->means = eph_writer_means(run->writer);
	}
	oc->point.done_bytes += done;
	oc->written_bytes += done;
	if (r < 0)
		return fail_at(run->ctx, run->rq->subject, -r, oc->point.done_bytes, "erasing");
	report(run);
	r = eph_mark(run->ctx, "erase-written");
	return r < 0 ? r : pace(run, bytes);
}

static int one_pass(struct run *run, bool random)
{
	int r = 0;

	run->kept_bytes = run->oc->point.done_bytes;
	while (r == 0 && run->oc->point.done_bytes < run->rq->size_bytes) {
		r = one_step(run, random);
		if (r == 0 && keep_is_due(run))
			r = keep(run);
	}
	if (r == 0)
		r = eph_step(run->ctx, "erase-flush");
	return r < 0 ? r : keep(run);
}

/*
 * Stopped: what was written since the last checkpoint is kept as well, so that only it is left to do. The record
 * stays that of the stop.
 */
static void keep_stopped(struct run *run)
{
	struct eph_error stopped = eph_error_take(run->ctx);
	uint64_t kept_bytes = run->kept_bytes;

	if (run->oc->point.done_bytes > kept_bytes && keep(run) < 0) {
		run->oc->point.done_bytes = kept_bytes;
		eph_warn(run->ctx, "what was written last is done again: %s",
			 ephlvm_error_message(run->ctx));
	}
	eph_error_give(run->ctx, &stopped);
}

static int all_passes(struct run *run)
{
	struct eph_erase_point *point = &run->oc->point;
	int r = 0;

	while (r == 0) {
		r = one_pass(run, point->pass < run->oc->passes);
		if (r == -ECANCELED)
			keep_stopped(run);
		if (r < 0 || point->pass == run->oc->passes)
			return r;
		point->pass++;
		point->done_bytes = 0;
	}
	return r;
}

/* --- read-back --- */

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

static int read_back(struct run *run, void *buf, uint64_t offset, size_t bytes)
{
	size_t have = 0;

	while (have < bytes) {
		ssize_t n = pread(run->rq->fd, (char *)buf + have, bytes - have,
				  (off_t)(offset + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail_at(run->ctx, run->rq->subject, n < 0 ? errno : EIO,
				       offset + have, "reading back");
		have += (size_t)n;
	}
	return 0;
}

static int verify_range(struct run *run, uint64_t offset, size_t bytes)
{
	const char *subject = run->rq->subject;
	size_t bad;
	int r;

	r = read_back(run, run->buf, offset, bytes);
	if (r < 0)
		return r;
	bad = nonzero_at(run->buf, bytes);
	if (bad < bytes)
		return eph_fail(
			run->ctx, EPHLVM_ERROR_SYSTEM, EILSEQ, subject,
			"the drive did not do what it acknowledged; take it out of use",
			"\"%s\" reads back other bytes than zero at byte %llu after its erase",
			subject, (unsigned long long)(offset + bad));
	run->oc->verified_bytes += bytes;
	run->oc->verified_places++;
	return 0;
}

static int verify_full(struct run *run)
{
	uint64_t size = run->rq->size_bytes;

	for (uint64_t at = 0; at < size; at += BUFFER_BYTES) {
		int r = eph_cancelled(run->ctx);

		if (r == 0)
			r = verify_range(run, at, (size_t)min_u64(BUFFER_BYTES, size - at));
		if (r < 0)
			return r;
		eph_progress(run->ctx, "readback", run->rq->subject, run->oc->verified_bytes, size);
	}
	return 0;
}

static int verify_sample(struct run *run)
{
	uint64_t size = run->rq->size_bytes, blocks = size / BUFFER_ALIGN;
	size_t edge = (size_t)min_u64(BUFFER_BYTES, size);
	int r;

	r = verify_range(run, 0, edge);
	if (r == 0)
		r = verify_range(run, size - edge, edge);
	for (unsigned int i = 0; r == 0 && blocks > 0 && i < SAMPLE_PLACES; i++) {
		uint64_t random;

		/* The kernel's generator: places that a drive cannot foresee. */
		if (eph_fill_random(&random, sizeof(random)) < 0)
			return fail_at(run->ctx, run->rq->subject, EIO, 0,
				       "choosing places to read back");
		r = verify_range(run, random % blocks * BUFFER_ALIGN, BUFFER_ALIGN);
	}
	return r;
}

static int verify(struct run *run)
{
	int r;

	run->oc->verified_bytes = run->oc->verified_places = 0;
	if (run->rq->verify == EPH_VERIFY_OFF)
		return 0;
	r = eph_step(run->ctx, "erase-readback");
	if (r < 0)
		return r;
	return run->rq->verify == EPH_VERIFY_FULL ? verify_full(run) : verify_sample(run);
}

/* --- discard --- */

#define MARKERS (SAMPLE_PLACES + 2) /* random places, the first block and the last */

/* Places that a drive cannot foresee, none of them twice in a row. */
static int choose_places(struct run *run, uint64_t places[MARKERS])
{
	uint64_t blocks = run->rq->size_bytes / BUFFER_ALIGN;

	if (blocks == 0 || eph_fill_random(places, MARKERS * sizeof(places[0])) < 0)
		return fail_at(run->ctx, run->rq->subject, EIO, 0, "choosing places for markers");
	for (size_t i = 0; i < MARKERS; i++)
		places[i] = places[i] % blocks * BUFFER_ALIGN;
	places[0] = 0;
	places[MARKERS - 1] = (blocks - 1) * BUFFER_ALIGN;
	return 0;
}

/*
 * One random block for all places: what is read there afterwards tells whether the drive took the
 * discard, also where former bytes were zero already.
 */
static int write_markers(struct run *run, const uint64_t places[MARKERS])
{
	int r = eph_mark(run->ctx, "erase-markers");

	if (r == 0 && eph_fill_random(run->buf, BUFFER_ALIGN) < 0)
		r = fail_at(run->ctx, run->rq->subject, EIO, 0, "making markers");
	for (size_t i = 0; r == 0 && i < MARKERS; i++) {
		ssize_t n;

		do
			n = pwrite(run->rq->fd, run->buf, BUFFER_ALIGN, (off_t)places[i]);
		while (n < 0 && errno == EINTR);
		if (n != BUFFER_ALIGN)
			return fail_at(run->ctx, run->rq->subject, n < 0 ? errno : EIO, places[i],
				       "writing markers to");
	}
	return r < 0 ? r : flush(run);
}

/* A marker that is not there proves nothing when it is not there later. */
static int find_markers(struct run *run, const uint64_t places[MARKERS], bool *ret_all)
{
	char *there = (char *)run->buf + BUFFER_ALIGN;

	*ret_all = true;
	for (size_t i = 0; i < MARKERS; i++) {
		int r = read_back(run, there, places[i], BUFFER_ALIGN);

		if (r < 0)
			return r;
		*ret_all = *ret_all && memcmp(there, run->buf, BUFFER_ALIGN) == 0;
	}
	return 0;
}

static int discard_range(int fd, uint64_t offset, uint64_t bytes)
{
	uint64_t range[2] = { offset, bytes };

	if (ioctl(fd, BLKDISCARD, range) == 0)
		return 0;
	return unsupported(errno) ? -EOPNOTSUPP : -errno;
}

static int discard_all(struct run *run)
{
	struct eph_erase_point *point = &run->oc->point;

	while (point->done_bytes < run->rq->size_bytes) {
		uint64_t bytes = min_u64(DISCARD_BYTES, run->rq->size_bytes - point->done_bytes);
		int r = eph_cancelled(run->ctx);

		if (r == 0)
			r = eph_step(run->ctx, "erase-discard");
		if (r < 0)
			return r;
		r = discard_range(run->rq->fd, point->done_bytes, bytes);
		if (r == -EOPNOTSUPP)
			return r;
		if (r < 0)
			return fail_at(run->ctx, run->rq->subject, -r, point->done_bytes,
				       "discarding");
		point->done_bytes += bytes;
		run->oc->written_bytes += bytes;
		report(run);
		r = eph_mark(run->ctx, "erase-discarded");
		if (r < 0)
			return r;
	}
	return flush(run);
}

static int markers_gone(struct run *run, const uint64_t places[MARKERS], bool *ret_gone)
{
	*ret_gone = true;
	for (size_t i = 0; i < MARKERS; i++) {
		int r = read_back(run, run->buf, places[i], BUFFER_ALIGN);

		if (r < 0)
			return r;
		*ret_gone = *ret_gone && nonzero_at(run->buf, BUFFER_ALIGN) == BUFFER_ALIGN;
	}
	return 0;
}

/*
 * Discard, and prove it. *ret_erased is false where the drive has none, or where a single byte is left: then
 * zeroes are written, from the first byte on.
 */
static int discard(struct run *run, bool *ret_erased)
{
	uint64_t places[MARKERS];
	bool there = false, gone = false;
	int r;

	*ret_erased = false;
	r = choose_places(run, places);
	if (r == 0)
		r = write_markers(run, places);
	if (r == 0)
		r = find_markers(run, places, &there);
	if (r == 0 && there)
		r = discard_all(run);
	if (r == 0 && there)
		r = markers_gone(run, places, &gone);
	if (r == 0 && gone) {
		run->oc->means = "discard";
		r = verify(run);
		*ret_erased = r == 0;
		if (r == 0)
			return keep(run);
	}
	/* Nothing is proven, so that a stop leaves nothing done. Where it failed is told. */
	if (r == 0 || r == -EOPNOTSUPP || r == -EILSEQ || r == -ECANCELED)
		run->oc->point.done_bytes = 0;
	if (r == -EILSEQ)
		eph_error_clear(&run->ctx->error);
	if (r < 0 && r != -EOPNOTSUPP && r != -EILSEQ)
		return r;
	/* Write Zeroes may be the same deallocation within: a drive that fails one is not asked for the other. */
	run->offload = r == -EOPNOTSUPP;
	eph_info(run->ctx, "\"%s\": %s: zeroes are written", run->rq->subject,
		 r == -EOPNOTSUPP ? "the drive has no discard" :
		 there		  ? "the drive keeps bytes that it said to discard" :
				    "the drive does not keep what is written");
	return 0;
}

/* --- all of it --- */

static int check_request(struct ephlvm_ctx *ctx, const struct eph_erase_request *rq)
{
	unsigned int passes = eph_erase_passes(rq->method, rq->random_passes);

	if (rq->method <= EPH_ERASE_SHRED && rq->size_bytes <= INT64_MAX &&
	    rq->from.done_bytes <= rq->size_bytes && rq->from.pass <= passes &&
	    (rq->from.done_bytes == 0 || rq->from.pass > 0) &&
	    (rq->from.done_bytes % BUFFER_ALIGN == 0 || rq->from.done_bytes == rq->size_bytes) &&
	    (rq->method != EPH_ERASE_SHRED || (passes > 1 && passes <= 33)))
		return 0;
	return eph_fail(ctx, EPHLVM_ERROR_INTERNAL, EINVAL, rq->subject, NULL,
			"erase of \"%s\" asked from byte %llu of %llu, pass %u of %u", rq->subject,
			(unsigned long long)rq->from.done_bytes, (unsigned long long)rq->size_bytes,
			rq->from.pass, passes);
}

static int erase(struct run *run)
{
	bool erased = false;
	int r = 0;

	/* Interrupted before it was proven, a discard begins again: it is quick. */
	if (run->rq->method == EPH_ERASE_DISCARD && run->oc->point.done_bytes == 0)
		r = discard(run, &erased);
	if (r < 0 || erased)
		return r;
	r = all_passes(run);
	return r < 0 ? r : verify(run);
}

/* Of the calling thread; what it had before, or -1 where that cannot be told. */
static int set_idle_priority(struct ephlvm_ctx *ctx)
{
	int before = (int)syscall(SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0);

	if (before < 0 || syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
				  IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0)) < 0) {
		eph_debug(ctx, "no idle I/O priority: %s", strerror(errno));
		return -1;
	}
	/* Older kernels (5.15) say "none" with a level, and do not take that back. */
	return IOPRIO_PRIO_CLASS(before) == IOPRIO_CLASS_NONE ? 0 : before;
}

int eph_erase_run(struct ephlvm_ctx *ctx, const struct eph_erase_request *request,
		  struct eph_erase_outcome *ret_outcome)
{
	_cleanup_free_ void *buf = NULL;
	struct run run = {
		.ctx = ctx,
		.rq = request,
		.oc = ret_outcome,
		.offload = true,
		.kept_ms = eph_now_ms(),
		.started_ms = eph_now_ms(),
	};
	int r, before = -1;

	*ret_outcome = (struct eph_erase_outcome){
		.point = request->from,
		.passes = eph_erase_passes(request->method, request->random_passes),
	};
	r = check_request(ctx, request);
	if (r < 0)
		return r;
	if (ret_outcome->point.pass == 0)
		ret_outcome->point = (struct eph_erase_point){ .pass = 1 };
	if (posix_memalign(&buf, BUFFER_ALIGN, BUFFER_BYTES) != 0)
		return eph_fail_oom(ctx);
	run.buf = buf;
	r = eph_writer_new(ctx, request->fd, &run.writer);
	if (r < 0)
		return r;
	if (request->idle)
		before = set_idle_priority(ctx);
	r = erase(&run);
	if (before >= 0)
		syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, before);
	eph_writer_free(run.writer);
	return r;
}
