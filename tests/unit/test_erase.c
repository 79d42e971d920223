// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test_erase.c - the erase room on a regular file, with the system calls it makes replaced where a device
 * is to fail: what is unsupported falls back, what fails is an error with its offset, what lies is
 * caught.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <linux/fs.h>
#include <linux/ioprio.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include <liburing.h>

#include "edge/erase.h"

#define SIZE ((uint64_t)200 << 20)

/* What the replaced calls do. */
static struct {
	int fallocate_errno; /* 0: do it */
	int64_t fallocate_fail_at; /* only from this offset on; -1: always */
	int pwrite_errno;
	uint64_t pwrite_fail_at;
	size_t pwrite_most; /* short writes; 0: all */
	int fsync_errno;
	int pread_errno;
	bool lie; /* acknowledge and do nothing */
	unsigned int drop_every; /* acknowledge every so manieth write and do nothing; 0: none */
	unsigned int submit_fail_at; /* from this call on the kernel takes no more; 0: never */
	int submit_error; /* what it says then */
	unsigned int submit_eintr_every; /* every so manieth is interrupted; 0: none */
	unsigned int submits, submitted; /* calls; writes that the kernel took */
	int ioprio_before, ioprio_set[4];
	unsigned int ioprio_sets;
	int ring_error, register_error; /* what setting up a ring answers; 0: the real thing */
	enum { NO_DISCARD, DISCARDS, KEEPS, KEEPS_LAST, DISCARD_FAILS } discard;
	uint64_t discard_fail_at; /* only from this offset on */
	int64_t clock_ms; /* what the clock says; negative: the real one */
	int64_t step_ms; /* that each offloaded step takes on it */
	int64_t slept_ms;
	unsigned int fallocates, pwrites, fsyncs, preads;
} fake;

int __real_fallocate64(int fd, int mode, off_t offset, off_t len);
ssize_t __real_pwrite64(int fd, const void *buf, size_t n, off_t offset);
ssize_t __real_pread64(int fd, void *buf, size_t n, off_t offset);
int __real_fsync(int fd);
int __wrap_fallocate64(int fd, int mode, off_t offset, off_t len);
ssize_t __wrap_pwrite64(int fd, const void *buf, size_t n, off_t offset);
ssize_t __wrap_pread64(int fd, void *buf, size_t n, off_t offset);
int __wrap_fsync(int fd);

int __real_io_uring_queue_init(unsigned int entries, struct io_uring *ring, unsigned int flags);
int __real_io_uring_register_buffers(struct io_uring *ring, const struct iovec *v, unsigned int n);
int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __real_nanosleep(const struct timespec *ts, struct timespec *rest);
int __wrap_io_uring_queue_init(unsigned int entries, struct io_uring *ring, unsigned int flags);
int __wrap_io_uring_register_buffers(struct io_uring *ring, const struct iovec *v, unsigned int n);
int __wrap_ioctl(int fd, unsigned long request, uint64_t *range);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_nanosleep(const struct timespec *ts, struct timespec *rest);

int __real_io_uring_submit_and_wait(struct io_uring *ring, unsigned int n);
void __real_io_uring_queue_exit(struct io_uring *ring);
int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned int n);
void __wrap_io_uring_queue_exit(struct io_uring *ring);
long __wrap_syscall(long number, long a, long b, long c);

/* Before it fails, it does not wait: writes are under way when it does. */
int __wrap_io_uring_submit_and_wait(struct io_uring *ring, unsigned int n)
{
	int r;

	fake.submits++;
	if (fake.submit_fail_at && fake.submits >= fake.submit_fail_at)
		return fake.submit_error;
	if (fake.submit_eintr_every && fake.submits % fake.submit_eintr_every == 0)
		return -EINTR;
	r = __real_io_uring_submit_and_wait(ring, fake.submit_fail_at ? 0 : n);
	if (r > 0)
		fake.submitted += (unsigned int)r;
	return r;
}

/* All that the kernel took has ended, and was looked at. */
void __wrap_io_uring_queue_exit(struct io_uring *ring)
{
	assert_int_equal(*ring->cq.khead, fake.submitted);
	fake.submitted = 0;
	__real_io_uring_queue_exit(ring);
}

/* Only I/O priorities come here. */
long __wrap_syscall(long number, long a, long b, long c)
{
	assert_int_equal(a, IOPRIO_WHO_PROCESS);
	assert_int_equal(b, 0);
	if (number == SYS_ioprio_get)
		return fake.ioprio_before;
	assert_int_equal(number, SYS_ioprio_set);
	assert_true(fake.ioprio_sets < 4);
	fake.ioprio_set[fake.ioprio_sets++] = (int)c;
	return 0;
}

int __wrap_io_uring_queue_init(unsigned int entries, struct io_uring *ring, unsigned int flags)
{
	return fake.ring_error ? fake.ring_error : __real_io_uring_queue_init(entries, ring, flags);
}

int __wrap_io_uring_register_buffers(struct io_uring *ring, const struct iovec *v, unsigned int n)
{
	return fake.register_error ? fake.register_error :
				     __real_io_uring_register_buffers(ring, v, n);
}

/* Only discards come here. */
int __wrap_ioctl(int fd, unsigned long request, uint64_t *range)
{
	const int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;

	assert_true(request == BLKDISCARD);
	if (fake.discard == NO_DISCARD ||
	    (fake.discard == DISCARD_FAILS && range[0] >= fake.discard_fail_at)) {
		errno = fake.discard == NO_DISCARD ? EOPNOTSUPP : EIO;
		return -1;
	}
	if (fake.discard == KEEPS)
		return 0;
	return __real_fallocate64(fd, punch, (off_t)range[0],
				  (off_t)(range[1] - (fake.discard == KEEPS_LAST ? 4096 : 0)));
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (fake.clock_ms < 0 || clock != CLOCK_MONOTONIC)
		return __real_clock_gettime(clock, ts);
	*ts = (struct timespec){ fake.clock_ms / 1000, fake.clock_ms % 1000 * 1000000 };
	return 0;
}

int __wrap_nanosleep(const struct timespec *ts, struct timespec *rest)
{
	int64_t ms = ts->tv_sec * 1000 + ts->tv_nsec / 1000000;

	if (fake.clock_ms < 0)
		return __real_nanosleep(ts, rest);
	assert_true(ms > 0 && ms <= 100);
	fake.clock_ms += ms;
	fake.slept_ms += ms;
	return 0;
}

int __wrap_fallocate64(int fd, int mode, off_t offset, off_t len)
{
	fake.fallocates++;
	fake.clock_ms += fake.step_ms;
	if (fake.fallocate_errno && offset >= fake.fallocate_fail_at) {
		errno = fake.fallocate_errno;
		return -1;
	}
	return fake.lie ? 0 : __real_fallocate64(fd, mode, offset, len);
}

ssize_t __wrap_pwrite64(int fd, const void *buf, size_t n, off_t offset)
{
	fake.pwrites++;
	if (fake.pwrite_errno && (uint64_t)offset + n > fake.pwrite_fail_at) {
		errno = fake.pwrite_errno;
		return -1;
	}
	if (fake.pwrite_most && n > fake.pwrite_most)
		n = fake.pwrite_most;
	if (fake.drop_every && fake.pwrites % fake.drop_every == 0)
		return (ssize_t)n;
	return fake.lie ? (ssize_t)n : __real_pwrite64(fd, buf, n, offset);
}

ssize_t __wrap_pread64(int fd, void *buf, size_t n, off_t offset)
{
	fake.preads++;
	if (fake.pread_errno) {
		errno = fake.pread_errno;
		return -1;
	}
	return __real_pread64(fd, buf, n, offset);
}

int __wrap_fsync(int fd)
{
	fake.fsyncs++;
	if (fake.fsync_errno) {
		errno = fake.fsync_errno;
		return -1;
	}
	return __real_fsync(fd);
}

struct fixture {
	struct ephlvm_ctx *ctx;
	int fd;
	struct eph_erase_request request;
	struct eph_erase_outcome outcome;
};

/* A file whose first, middle and last pages are full of 0xa5. */
static int setup(void **state)
{
	static char page[65536];
	char path[] = "erase-test.XXXXXX";
	struct fixture *f = calloc(1, sizeof(*f));

	memset(&fake, 0, sizeof(fake));
	fake.fallocate_fail_at = -1;
	fake.clock_ms = -1;
	fake.ring_error = -ENOSYS; /* most tests want to see each write */
	memset(page, 0xa5, sizeof(page));
	f->fd = mkstemp(path);
	if (f->fd < 0 || unlink(path) < 0 || ftruncate(f->fd, (off_t)SIZE) < 0 ||
	    ephlvm_ctx_new(&f->ctx) < 0)
		return -1;
	for (uint64_t at = 0; at < SIZE; at += SIZE / 4)
		if (__real_pwrite64(f->fd, page, sizeof(page), (off_t)at) < 0)
			return -1;
	if (__real_pwrite64(f->fd, page, sizeof(page), (off_t)(SIZE - sizeof(page))) < 0)
		return -1;
	f->request = (struct eph_erase_request){
		.fd = f->fd,
		.subject = "vg/lv",
		.size_bytes = SIZE,
		.verify = EPH_VERIFY_SAMPLE,
	};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	close(f->fd);
	ephlvm_ctx_unref(f->ctx);
	free(f);
	return 0;
}

static int run(struct fixture *f)
{
	eph_enter(f->ctx);
	return eph_erase_run(f->ctx, &f->request, &f->outcome);
}

static bool all_zero(int fd)
{
	static char buf[1 << 20];

	for (uint64_t at = 0; at < SIZE; at += sizeof(buf)) {
		if (__real_pread64(fd, buf, sizeof(buf), (off_t)at) != (ssize_t)sizeof(buf))
			return false;
		for (size_t i = 0; i < sizeof(buf); i++)
			if (buf[i])
				return false;
	}
	return true;
}

static void offload_erases_every_byte(void **state)
{
	struct fixture *f = *state;

	assert_false(all_zero(f->fd));
	assert_int_equal(run(f), 0);
	assert_true(all_zero(f->fd));
	assert_string_equal(f->outcome.means, "write-zeroes");
	assert_true(f->outcome.point.done_bytes == SIZE);
	assert_int_equal(fake.pwrites, 0);
	assert_int_equal(fake.fsyncs, 1);
	assert_true(f->outcome.verified_bytes > 2 << 20);
}

static void unsupported_offload_falls_back_to_writing(void **state)
{
	static const int unsupported[] = { EOPNOTSUPP, ENOTTY, ENOSYS };
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(unsupported) / sizeof(unsupported[0]); i++) {
		fake.fallocate_errno = unsupported[i];
		fake.fallocates = 0;
		assert_int_equal(run(f), 0);
		assert_string_equal(f->outcome.means, "pwrite");
		assert_int_equal(fake.fallocates, 1); /* asked once, not at each step */
	}
	assert_true(all_zero(f->fd));
}

static void offload_that_ends_midway_goes_on_by_writing(void **state)
{
	struct fixture *f = *state;

	fake.fallocate_errno = EOPNOTSUPP; /* as after a table was swapped */
	fake.fallocate_fail_at = 64 << 20;
	assert_int_equal(run(f), 0);
	assert_true(all_zero(f->fd));
	assert_true(f->outcome.written_bytes == SIZE);
}

static void short_writes_are_gone_on_with(void **state)
{
	struct fixture *f = *state;

	fake.fallocate_errno = EOPNOTSUPP;
	fake.pwrite_most = 12288;
	assert_int_equal(run(f), 0);
	assert_true(all_zero(f->fd));
}

static void other_errors_of_the_offload_are_errors(void **state)
{
	static const int errors[] = { EIO, EINVAL, ENOSPC, EPERM, ENODATA, EREMOTEIO };
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		fake.fallocate_errno = errors[i];
		fake.fallocate_fail_at = 64 << 20;
		assert_int_equal(run(f), -errors[i]);
		assert_int_equal(ephlvm_error_kind(f->ctx), EPHLVM_ERROR_SYSTEM);
		assert_true(f->outcome.point.done_bytes == 64 << 20);
		assert_non_null(strstr(ephlvm_error_message(f->ctx), "67108864"));
		assert_int_equal(fake.pwrites, 0);
	}
}

static void failing_write_keeps_its_offset(void **state)
{
	struct fixture *f = *state;

	fake.fallocate_errno = EOPNOTSUPP;
	fake.pwrite_errno = EIO;
	fake.pwrite_fail_at = (100 << 20) + 5;
	assert_int_equal(run(f), -EIO);
	assert_true(f->outcome.point.done_bytes == 100 << 20);
	assert_int_equal(fake.fsyncs, 0);
}

static void failing_flush_is_an_error(void **state)
{
	struct fixture *f = *state;

	fake.fsync_errno = EIO;
	assert_int_equal(run(f), -EIO);
	assert_int_equal(fake.preads, 0);
}

static void failing_read_back_is_an_error(void **state)
{
	struct fixture *f = *state;

	fake.pread_errno = EIO;
	assert_int_equal(run(f), -EIO);
}

static void drive_that_lies_is_caught(void **state)
{
	static const enum eph_erase_verify verify[] = { EPH_VERIFY_SAMPLE, EPH_VERIFY_FULL };
	struct fixture *f = *state;

	fake.lie = true;
	for (size_t i = 0; i < 2; i++) {
		f->request.verify = verify[i];
		fake.fallocate_errno = i ? EOPNOTSUPP : 0;
		assert_int_equal(run(f), -EILSEQ);
		assert_non_null(strstr(ephlvm_error_message(f->ctx), "at byte 0"));
	}
	f->request.verify = EPH_VERIFY_OFF;
	assert_int_equal(run(f), 0);
	assert_true(f->outcome.verified_bytes == 0);
}

/* Start and end are always looked at: what is not a multiple of something is lost there. */
static void a_sample_sees_both_ends(void **state)
{
	static const uint64_t places[] = { 0, 4095, SIZE - 1, SIZE - 4096 };
	struct fixture *f = *state;

	fake.lie = true;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		assert_int_equal(__real_fallocate64(f->fd,
						    FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
						    (off_t)SIZE),
				 0);
		assert_int_equal(__real_pwrite64(f->fd, "x", 1, (off_t)places[i]), 1);
		assert_int_equal(run(f), -EILSEQ);
	}
}

static void full_read_back_finds_one_byte(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(run(f), 0);
	assert_int_equal(__real_pwrite64(f->fd, "x", 1, 123456789), 1);
	fake.lie = true;
	f->request.verify = EPH_VERIFY_FULL;
	assert_int_equal(run(f), -EILSEQ);
	assert_non_null(strstr(ephlvm_error_message(f->ctx), "at byte 123456789"));
}

static void resume_starts_where_it_stood_and_verifies_all(void **state)
{
	struct fixture *f = *state;

	f->request.from = (struct eph_erase_point){ .pass = 1, .done_bytes = 64 << 20 };
	/* What was said to be done is not: the read-back looks at the whole. */
	assert_int_equal(run(f), -EILSEQ);
	assert_true(f->outcome.written_bytes == SIZE - (64 << 20));
	f->request.from.done_bytes = SIZE + 1;
	assert_int_equal(run(f), -EINVAL);
}

static bool cancel_now(void *data)
{
	return --*(int *)data < 0;
}

static void cancel_stops_between_steps(void **state)
{
	struct fixture *f = *state;
	int steps = 2;

	ephlvm_ctx_set_cancel(f->ctx, cancel_now, &steps);
	assert_int_equal(run(f), -ECANCELED);
	assert_int_equal(ephlvm_error_kind(f->ctx), EPHLVM_ERROR_CANCELLED);
	assert_true(f->outcome.point.done_bytes == 128 << 20);
}

static void progress(void *data, const struct ephlvm_progress *progress)
{
	uint64_t *last = data;

	assert_true(progress->total_bytes == SIZE);
	assert_string_equal(progress->subject, "vg/lv");
	if (strcmp(progress->step, "erase") == 0) {
		assert_true(progress->done_bytes >= *last);
		*last = progress->done_bytes;
	}
}

static void progress_ends_at_the_size(void **state)
{
	struct fixture *f = *state;
	uint64_t last = 0;

	ephlvm_ctx_set_progress(f->ctx, progress, &last);
	assert_int_equal(run(f), 0);
	assert_true(last == SIZE);
}

static void verify_words(void **state)
{
	enum eph_erase_verify v = EPH_VERIFY_FULL;

	(void)state;
	assert_int_equal(eph_erase_verify_parse("off", &v), 0);
	assert_int_equal(v, EPH_VERIFY_OFF);
	assert_int_equal(eph_erase_verify_parse("sample", &v), 0);
	assert_int_equal(v, EPH_VERIFY_SAMPLE);
	assert_int_equal(eph_erase_verify_parse("full", &v), 0);
	assert_int_equal(v, EPH_VERIFY_FULL);
	assert_int_equal(eph_erase_verify_parse("non_existent_volume_clearer", &v), -EINVAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* --- the ring --- */

static bool ring_to_be_had(void)
{
	struct io_uring ring;
	bool had = __real_io_uring_queue_init(4, &ring, 0) == 0;

	if (had)
		__real_io_uring_queue_exit(&ring);
	return had;
}

static void ring_erases_every_byte(void **state)
{
	static const int registering[] = { 0, -ENOMEM, -EPERM };
	struct fixture *f = *state;

	fake.fallocate_errno = EOPNOTSUPP;
	fake.ring_error = 0;
	for (size_t i = 0; i < sizeof(registering) / sizeof(registering[0]); i++) {
		assert_int_equal(__real_pwrite64(f->fd, "x", 1, 77 << 20), 1);
		fake.register_error = registering[i];
		assert_int_equal(run(f), 0);
		assert_true(all_zero(f->fd));
		assert_string_equal(f->outcome.means, ring_to_be_had() ? "io_uring" : "pwrite");
		assert_true(f->outcome.written_bytes == SIZE);
	}
}

static void no_ring_means_plain_writes(void **state)
{
	static const int errors[] = { -ENOSYS, -EPERM, -ENOMEM };
	struct fixture *f = *state;

	fake.fallocate_errno = EOPNOTSUPP;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		fake.ring_error = errors[i];
		assert_int_equal(run(f), 0);
		assert_string_equal(f->outcome.means, "pwrite");
	}
	assert_true(all_zero(f->fd));
}

/* A limit on file size is a device that takes part of a write, and then none. */
static void failing_ring_keeps_its_offset(void **state)
{
	const struct rlimit limit = { (100 << 20) + 4096, RLIM_INFINITY };
	struct rlimit before;
	struct fixture *f = *state;
	int r;

	fake.fallocate_errno = EOPNOTSUPP;
	fake.ring_error = 0;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	r = run(f);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(r, -EFBIG);
	assert_true(f->outcome.point.done_bytes == (100 << 20) + 4096);
	assert_int_equal(fake.fsyncs, 0);
	/* What is said to be done is. */
	f->request.from = f->outcome.point;
	assert_int_equal(run(f), 0);
	assert_true(all_zero(f->fd));
}

/* The ring itself fails with writes under way: they are waited for, and the rest is written without it. */
static void ring_that_fails_is_gone_on_without(void **state)
{
	static const int errors[] = { -ENOMEM, -EAGAIN };
	struct fixture *f = *state;

	fake.fallocate_errno = EOPNOTSUPP;
	if (!ring_to_be_had())
		skip();
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		for (uint64_t at = 0; at < SIZE; at += 1 << 20)
			assert_int_equal(__real_pwrite64(f->fd, "x", 1, (off_t)at), 1);
		fake.ring_error = 0;
		fake.submits = 0;
		fake.submit_fail_at = i ? 20 : 1; /* nothing under way; something */
		fake.submit_error = errors[i];
		assert_int_equal(run(f), 0);
		assert_true(all_zero(f->fd));
		assert_string_equal(f->outcome.means, "pwrite");
		assert_true(f->outcome.written_bytes == SIZE);
		assert_int_equal(fake.submits, fake.submit_fail_at); /* not asked again */
	}
	/* And a device that fails as well is met where it fails. */
	fake.submits = 0;
	fake.submit_fail_at = 2;
	fake.pwrite_errno = EIO;
	fake.pwrite_fail_at = 190 << 20;
	assert_int_equal(run(f), -EIO);
	assert_true(f->outcome.point.done_bytes == 190 << 20);
}

/* A signal that comes while it waits is no failure. */
static void ring_goes_on_after_a_signal(void **state)
{
	struct fixture *f = *state;

	fake.fallocate_errno = EOPNOTSUPP;
	if (!ring_to_be_had())
		skip();
	fake.ring_error = 0;
	fake.submit_eintr_every = 3;
	assert_int_equal(run(f), 0);
	assert_true(all_zero(f->fd));
	assert_string_equal(f->outcome.means, "io_uring");
}

/* --- passes, resuming, checkpoints --- */

struct kept {
	struct eph_erase_point points[64];
	unsigned int fsyncs[64];
	unsigned char blocks[64][2][4096];
	size_t n, fail_at; /* fail_at: from 1 */
	int fd;
};

static int keep(struct ephlvm_ctx *ctx, void *data, const struct eph_erase_point *point)
{
	struct kept *kept = data;

	assert_true(kept->n < 64);
	kept->points[kept->n] = *point;
	kept->fsyncs[kept->n] = fake.fsyncs;
	for (int i = 0; i < 2; i++)
		assert_int_equal(__real_pread64(kept->fd, kept->blocks[kept->n][i], 4096,
						i * (40 << 20)),
				 4096);
	kept->n++;
	if (kept->n == kept->fail_at)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EDQUOT, NULL, NULL, "full");
	return 0;
}

static struct kept *keep_into(struct fixture *f)
{
	static struct kept kept;

	memset(&kept, 0, sizeof(kept));
	kept.fd = f->fd;
	f->request.checkpoint_fn = keep;
	f->request.checkpoint_data = &kept;
	return &kept;
}

static void shred_writes_other_bytes_each_time_and_zeroes_last(void **state)
{
	static const unsigned char zeroes[4096];
	struct fixture *f = *state;
	struct kept *kept = keep_into(f);

	f->request.method = EPH_ERASE_SHRED;
	f->request.random_passes = 2;
	assert_int_equal(run(f), 0);
	assert_true(all_zero(f->fd));
	assert_int_equal(f->outcome.passes, 3);
	assert_true(f->outcome.written_bytes == 3 * SIZE);
	assert_int_equal(kept->n, 3);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(kept->points[i].pass, i + 1);
		assert_true(kept->points[i].done_bytes == SIZE);
	}
	assert_memory_not_equal(kept->blocks[0][0], zeroes, 4096);
	assert_memory_not_equal(kept->blocks[0][0], kept->blocks[0][1], 4096);
	assert_memory_not_equal(kept->blocks[0][0], kept->blocks[1][0], 4096);
	assert_memory_equal(kept->blocks[2][0], zeroes, 4096);
	/* Half a block repeated would be a pattern. */
	assert_memory_not_equal(kept->blocks[0][0], kept->blocks[0][0] + 2048, 2048);
}

static void resume_leaves_alone_what_is_done(void **state)
{
	unsigned char block[4096];
	struct fixture *f = *state;

	f->request.method = EPH_ERASE_SHRED;
	f->request.random_passes = 2;
	f->request.verify = EPH_VERIFY_OFF;
	f->request.from = (struct eph_erase_point){ .pass = 3, .done_bytes = 64 << 20 };
	assert_int_equal(run(f), 0);
	assert_true(f->outcome.written_bytes == SIZE - (64 << 20));
	assert_int_equal(__real_pread64(f->fd, block, sizeof(block), 50 << 20), 4096);
	assert_int_equal(block[0], 0xa5);
	assert_int_equal(__real_pread64(f->fd, block, sizeof(block), 100 << 20), 4096);
	assert_int_equal(block[0], 0);
	/* All of it done: only flushed, and nothing is said of how. */
	f->request.from.done_bytes = SIZE;
	fake.fsyncs = 0;
	assert_int_equal(run(f), 0);
	assert_true(f->outcome.written_bytes == 0);
	assert_int_equal(fake.fsyncs, 1);
	assert_null(f->outcome.means);
}

static void what_cannot_be_resumed_is_refused(void **state)
{
	struct fixture *f = *state;
	static const struct {
		enum eph_erase_method method;
		unsigned int random_passes;
		struct eph_erase_point from;
	} bad[] = {
		{ EPH_ERASE_ZERO, 0, { 2, 0 } },   { EPH_ERASE_ZERO, 0, { 1, SIZE + 1 } },
		{ EPH_ERASE_SHRED, 2, { 4, 0 } },  { EPH_ERASE_SHRED, 0, { 0, 0 } },
		{ EPH_ERASE_SHRED, 33, { 0, 0 } }, { EPH_ERASE_NONE, 0, { 0, 0 } },
		{ EPH_ERASE_ZERO, 0, { 1, 5 } },   { EPH_ERASE_ZERO, 0, { 0, 4096 } },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		f->request.method = bad[i].method;
		f->request.random_passes = bad[i].random_passes;
		f->request.from = bad[i].from;
		assert_int_equal(run(f), -EINVAL);
	}
	assert_int_equal(fake.fallocates + fake.pwrites, 0);
}

static void checkpoints_come_by_time(void **state)
{
	struct fixture *f = *state;
	struct kept *kept = keep_into(f);

	fake.clock_ms = 1000;
	fake.step_ms = 3000;
	assert_int_equal(run(f), 0);
	/* Four steps: due after the second and the fourth, and at the end. */
	assert_int_equal(kept->n, 3);
	assert_true(kept->points[0].done_bytes == 128 << 20);
	assert_true(kept->points[1].done_bytes == SIZE);
	assert_int_equal(kept->fsyncs[0], 1);
	assert_int_equal(kept->fsyncs[1], 2);
}

static void checkpoints_come_by_bytes(void **state)
{
	struct fixture *f = *state;
	struct kept *kept = keep_into(f);

	f->request.size_bytes = UINT64_C(5) << 29;
	assert_int_equal(ftruncate(f->fd, (off_t)f->request.size_bytes), 0);
	assert_int_equal(run(f), 0);
	assert_int_equal(kept->n, 3);
	assert_true(kept->points[0].done_bytes == UINT64_C(1) << 30);
	assert_true(kept->points[1].done_bytes == UINT64_C(2) << 30);
	assert_true(kept->points[2].done_bytes == f->request.size_bytes);
}

static void a_checkpoint_that_says_stop_stops(void **state)
{
	struct fixture *f = *state;
	struct kept *kept = keep_into(f);

	fake.clock_ms = 1000;
	fake.step_ms = 6000;
	kept->fail_at = 2;
	assert_int_equal(run(f), -EDQUOT);
	assert_true(f->outcome.point.done_bytes == 128 << 20);
	/* And what could not be flushed is no checkpoint. */
	kept->n = 0;
	fake.fsync_errno = EIO;
	assert_int_equal(run(f), -EIO);
	assert_int_equal(kept->n, 0);
}

static void a_stop_keeps_what_is_written(void **state)
{
	struct fixture *f = *state;
	struct kept *kept = keep_into(f);
	int steps = 2;

	ephlvm_ctx_set_cancel(f->ctx, cancel_now, &steps);
	assert_int_equal(run(f), -ECANCELED);
	assert_int_equal(kept->n, 1);
	assert_true(kept->points[0].done_bytes == 128 << 20);
	assert_int_equal(kept->fsyncs[0], 1);
	/* Gone on with from there, and not from an earlier one. */
	ephlvm_ctx_set_cancel(f->ctx, NULL, NULL);
	f->request.from = f->outcome.point;
	assert_int_equal(run(f), 0);
	assert_true(f->outcome.written_bytes == SIZE - (128 << 20));
	assert_true(all_zero(f->fd));
}

static void a_stop_that_cannot_be_kept_is_a_stop(void **state)
{
	struct fixture *f = *state;
	struct kept *kept = keep_into(f);
	int steps = 2;

	/* Not flushed: nothing of it counts. */
	fake.fsync_errno = EIO;
	ephlvm_ctx_set_cancel(f->ctx, cancel_now, &steps);
	assert_int_equal(run(f), -ECANCELED);
	assert_int_equal(ephlvm_error_kind(f->ctx), EPHLVM_ERROR_CANCELLED);
	assert_int_equal(kept->n, 0);
	assert_true(f->outcome.point.done_bytes == 0);
}

static void idle_priority_is_given_back(void **state)
{
	/* What the kernel says, and what it takes: "none" with a level is refused. */
	static const int cases[][2] = {
		{ IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 2), IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 2) },
		{ IOPRIO_PRIO_VALUE(IOPRIO_CLASS_NONE, 4), 0 },
	};
	struct fixture *f = *state;

	assert_int_equal(run(f), 0);
	assert_int_equal(fake.ioprio_sets, 0);
	f->request.idle = true;
	for (size_t i = 0; i < 2; i++) {
		fake.ioprio_sets = 0;
		fake.ioprio_before = cases[i][0];
		/* On failure, too. */
		fake.fsync_errno = i ? EIO : 0;
		assert_int_equal(run(f), i ? -EIO : 0);
		assert_int_equal(fake.ioprio_sets, 2);
		assert_int_equal(fake.ioprio_set[0], IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
		assert_int_equal(fake.ioprio_set[1], cases[i][1]);
	}
}

static void a_rate_is_kept(void **state)
{
	struct fixture *f = *state;

	fake.clock_ms = 1000;
	f->request.rate_bytes_sec = 50 << 20;
	assert_int_equal(run(f), 0);
	assert_in_range(fake.slept_ms, 3800, 4200);
	assert_int_equal(fake.fallocates, 17); /* 12 MiB each: a quarter of a second */
	/* What the device itself took counts. */
	fake.slept_ms = 0;
	fake.step_ms = 100;
	assert_int_equal(run(f), 0);
	assert_in_range(fake.slept_ms, 2100, 2500);
	/* Never less than one write at a time, never without end. */
	fake.slept_ms = fake.fallocates = 0;
	f->request.rate_bytes_sec = 1;
	f->request.size_bytes = 1 << 20;
	f->request.rate_bytes_sec = 1 << 18;
	assert_int_equal(run(f), 0);
	assert_int_equal(fake.fallocates, 1);
	assert_in_range(fake.slept_ms, 3700, 4100);
}

/* --- discard --- */

static void discard_is_proven(void **state)
{
	struct fixture *f = *state;

	f->request.method = EPH_ERASE_DISCARD;
	fake.discard = DISCARDS;
	assert_int_equal(run(f), 0);
	assert_true(all_zero(f->fd));
	assert_string_equal(f->outcome.means, "discard");
	assert_true(f->outcome.point.done_bytes == SIZE);
	assert_true(f->outcome.verified_bytes > 0);
	assert_int_equal(fake.fallocates, 0);
}

static void discard_that_is_not_one_is_followed_by_zeroes(void **state)
{
	static const struct {
		int discard;
		bool zeroes_before;
	} cases[] = {
		{ NO_DISCARD, false },
		{ KEEPS, false },
		{ KEEPS_LAST, false },
		/* Former zeroes prove nothing: the markers do. */
		{ KEEPS, true },
	};
	struct fixture *f = *state;

	f->request.method = EPH_ERASE_DISCARD;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!cases[i].zeroes_before)
			assert_int_equal(__real_pwrite64(f->fd, "x", 1, 123456789), 1);
		fake.discard = cases[i].discard;
		assert_int_equal(run(f), 0);
		assert_true(all_zero(f->fd));
		/* One that kept bytes is not asked for another offload. */
		assert_string_equal(f->outcome.means,
				    cases[i].discard == NO_DISCARD ? "write-zeroes" : "pwrite");
		assert_true(f->outcome.point.done_bytes == SIZE);
		assert_int_equal(ephlvm_error_kind(f->ctx), EPHLVM_ERROR_NONE);
	}
	/* A drive that takes nothing in is caught whatever it says of discards. */
	assert_int_equal(__real_pwrite64(f->fd, "x", 1, 0), 1);
	fake.discard = KEEPS;
	fake.lie = true;
	assert_int_equal(run(f), -EILSEQ);
}

static void failing_discard_keeps_its_offset(void **state)
{
	struct fixture *f = *state;
	struct kept *kept = keep_into(f);
	int steps = 1;

	f->request.method = EPH_ERASE_DISCARD;
	f->request.size_bytes = UINT64_C(5) << 29;
	assert_int_equal(ftruncate(f->fd, (off_t)f->request.size_bytes), 0);
	fake.discard = DISCARD_FAILS;
	fake.discard_fail_at = UINT64_C(1) << 30;
	assert_int_equal(run(f), -EIO);
	assert_true(f->outcome.point.done_bytes == UINT64_C(1) << 30);
	assert_non_null(strstr(ephlvm_error_message(f->ctx), "at byte 1073741824"));
	/* Stopped: nothing of it is proven, so nothing is done. */
	fake.discard = DISCARDS;
	ephlvm_ctx_set_cancel(f->ctx, cancel_now, &steps);
	assert_int_equal(run(f), -ECANCELED);
	assert_true(f->outcome.point.done_bytes == 0);
	assert_int_equal(kept->n, 0);
}

static void drive_that_drops_every_nth_write_is_caught(void **state)
{
	struct fixture *f = *state;

	fake.fallocate_errno = EOPNOTSUPP;
	for (uint64_t at = 0; at < SIZE; at += 4096)
		assert_int_equal(__real_pwrite64(f->fd, "x", 1, (off_t)at), 1);
	fake.drop_every = 7;
	f->request.verify = EPH_VERIFY_FULL;
	assert_int_equal(run(f), -EILSEQ);
	/* A sample of 128 places finds a third that is left, but for one time in 10^22. */
	for (uint64_t at = 0; at < SIZE; at += 4096)
		assert_int_equal(__real_pwrite64(f->fd, "x", 1, (off_t)at), 1);
	fake.drop_every = 3;
	f->request.verify = EPH_VERIFY_SAMPLE;
	assert_int_equal(run(f), -EILSEQ);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(offload_erases_every_byte),
		TEST(unsupported_offload_falls_back_to_writing),
		TEST(offload_that_ends_midway_goes_on_by_writing),
		TEST(short_writes_are_gone_on_with),
		TEST(other_errors_of_the_offload_are_errors),
		TEST(failing_write_keeps_its_offset),
		TEST(failing_flush_is_an_error),
		TEST(failing_read_back_is_an_error),
		TEST(drive_that_lies_is_caught),
		TEST(a_sample_sees_both_ends),
		TEST(full_read_back_finds_one_byte),
		TEST(resume_starts_where_it_stood_and_verifies_all),
		TEST(cancel_stops_between_steps),
		TEST(progress_ends_at_the_size),
		cmocka_unit_test(verify_words),
		cmocka_unit_test_setup_teardown(ring_erases_every_byte, setup, teardown),
		cmocka_unit_test_setup_teardown(no_ring_means_plain_writes, setup, teardown),
		cmocka_unit_test_setup_teardown(failing_ring_keeps_its_offset, setup, teardown),
		TEST(ring_that_fails_is_gone_on_without),
		TEST(ring_goes_on_after_a_signal),
		cmocka_unit_test_setup_teardown(shred_writes_other_bytes_each_time_and_zeroes_last,
						setup, teardown),
		cmocka_unit_test_setup_teardown(resume_leaves_alone_what_is_done, setup, teardown),
		cmocka_unit_test_setup_teardown(what_cannot_be_resumed_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(checkpoints_come_by_time, setup, teardown),
		cmocka_unit_test_setup_teardown(checkpoints_come_by_bytes, setup, teardown),
		cmocka_unit_test_setup_teardown(a_checkpoint_that_says_stop_stops, setup, teardown),
		TEST(a_stop_keeps_what_is_written),
		TEST(a_stop_that_cannot_be_kept_is_a_stop),
		TEST(idle_priority_is_given_back),
		cmocka_unit_test_setup_teardown(a_rate_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(discard_is_proven, setup, teardown),
		TEST(failing_discard_keeps_its_offset),
		cmocka_unit_test_setup_teardown(discard_that_is_not_one_is_followed_by_zeroes,
						setup, teardown),
		cmocka_unit_test_setup_teardown(drive_that_drops_every_nth_write_is_caught, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
