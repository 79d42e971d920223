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
#include <sys/types.h>
#include <unistd.h>
#include <cmocka.h>

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

int __wrap_fallocate64(int fd, int mode, off_t offset, off_t len)
{
	fake.fallocates++;
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
	assert_string_equal(f->outcome.method, "write-zeroes");
	assert_true(f->outcome.done_bytes == SIZE);
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
		assert_string_equal(f->outcome.method, "write");
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
		assert_true(f->outcome.done_bytes == 64 << 20);
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
	assert_true(f->outcome.done_bytes == 100 << 20);
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

	f->request.from_bytes = 64 << 20;
	/* What was said to be done is not: the read-back looks at the whole. */
	assert_int_equal(run(f), -EILSEQ);
	assert_true(f->outcome.written_bytes == SIZE - (64 << 20));
	f->request.from_bytes = SIZE + 1;
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
	assert_true(f->outcome.done_bytes == 128 << 20);
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
		TEST(full_read_back_finds_one_byte),
		TEST(resume_starts_where_it_stood_and_verifies_all),
		TEST(cancel_stops_between_steps),
		TEST(progress_ends_at_the_size),
		cmocka_unit_test(verify_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
