// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Receipts: the chain over lines, files and writers; what a crash cut short; what somebody changed; and that
 * one which cannot be written is an error that leaves the file as it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <ephlvm/receipt.h>

#include "core/context.h"
#include "edge/receipt.h"

#define INSTANCE "11111111-2222-3333-4444-555555555555"

static struct {
	int fsync_errno, write_errno;
	size_t write_most; /* bytes of the next write, then write_errno; 0: all */
} fake;

int __real_fsync(int fd);
ssize_t __real_write(int fd, const void *buf, size_t n);
int __wrap_fsync(int fd);
ssize_t __wrap_write(int fd, const void *buf, size_t n);

int __wrap_fsync(int fd)
{
	if (!fake.fsync_errno)
		return __real_fsync(fd);
	errno = fake.fsync_errno;
	return -1;
}

ssize_t __wrap_write(int fd, const void *buf, size_t n)
{
	size_t most = fake.write_most;

	if (most) {
		fake.write_most = 0;
		return __real_write(fd, buf, most < n ? most : n);
	}
	if (!fake.write_errno)
		return __real_write(fd, buf, n);
	errno = fake.write_errno;
	return -1;
}

struct place {
	char root[64];
	char file[128];
	struct ephlvm_ctx *ctx;
	struct eph_receipt receipt;
	struct eph_strv drives;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	memset(&fake, 0, sizeof(fake));
	assert_non_null(p);
	snprintf(p->root, sizeof(p->root), "/tmp/ephlvm-receipt.XXXXXX");
	assert_non_null(mkdtemp(p->root));
	snprintf(p->file, sizeof(p->file), "%s/receipts/receipts.jsonl", p->root);
	setenv("EPHLVM_STATE_DIR", p->root, 1);
	assert_int_equal(ephlvm_ctx_new(&p->ctx), 0);
	assert_int_equal(eph_strv_add(&p->drives, "SERIAL-1"), 0);
	p->receipt = (struct eph_receipt){
		.vg = "vg",
		.lv = "trash-1",
		.vg_uuid = "v",
		.lv_uuid = "l",
		.instance = INSTANCE,
		.disk = "eph0",
		.pool = "p",
		.drives = &p->drives,
		.size_bytes = UINT64_C(214748364800),
		.method = "zero",
		.means = "io_uring",
		.passes = 1,
		.verify = "sample",
		.started_at = 1700000000,
		.ended_at = 1700000060,
	};
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	char command[160];

	ephlvm_ctx_unref(p->ctx);
	eph_strv_clear(&p->drives);
	snprintf(command, sizeof(command), "rm -rf %s", p->root);
	assert_int_equal(system(command), 0);
	free(p);
	return 0;
}

static int append(struct place *p)
{
	char *line = NULL;
	int r;

	eph_enter(p->ctx);
	r = eph_receipt_append(p->ctx, &p->receipt, &line);
	assert_true((r == 0) == (line != NULL));
	free(line);
	return r;
}

/* How many there are, and whether the chain holds. */
static size_t count(struct place *p, const char *instance, bool whole)
{
	struct ephlvm_receipts_opts opts = EPHLVM_RECEIPTS_OPTS_INIT;
	struct ephlvm_receipts *receipts = NULL;
	size_t n;

	opts.instance = instance;
	assert_int_equal(ephlvm_receipts_read(p->ctx, &opts, &receipts), 0);
	if (whole && ephlvm_receipts_broken(receipts))
		fail_msg("%s", ephlvm_receipts_broken(receipts));
	if (!whole)
		assert_non_null(ephlvm_receipts_broken(receipts));
	n = ephlvm_receipts_count(receipts);
	for (size_t i = 0; i < n; i++)
		assert_non_null(strchr(ephlvm_receipts_at(receipts, i), '{'));
	assert_null(ephlvm_receipts_at(receipts, n));
	ephlvm_receipts_free(receipts);
	return n;
}

static off_t size_of(const char *file)
{
	struct stat st;

	assert_int_equal(stat(file, &st), 0);
	return st.st_size;
}

static void shell(const char *form, const char *file)
{
	char command[400];

	snprintf(command, sizeof(command), form, file, file);
	assert_int_equal(system(command), 0);
}

static void lines_are_private_chained_and_filtered(void **state)
{
	struct place *p = *state;
	struct stat st;

	assert_int_equal(count(p, NULL, true), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(append(p), 0);
	p->receipt.instance = NULL;
	assert_int_equal(append(p), 0);
	assert_int_equal(count(p, NULL, true), 4);
	assert_int_equal(count(p, INSTANCE, true), 3);
	assert_int_equal(count(p, "99999999-2222-3333-4444-555555555555", true), 0);
	assert_int_equal(stat(p->file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	*strrchr(p->file, '/') = '\0';
	assert_int_equal(stat(p->file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void what_was_changed_or_taken_out_breaks_the_chain(void **state)
{
	static const char *const changes[] = {
		"sed -i '2s/zero/none/' %s",
		"sed -i 2d %s",
		"sed -i 1d %s",
		"sed -i '2p' %s",
		"sed -i '2s/.*/{}/' %s",
		"sed -i '2s/.*/no json/' %s",
		"sed -i '3s/^/ /;2s/^/ /' %s",
		"printf 'x\\0y\\n' >>%s",
		"head -c 70000 /dev/zero | tr '\\0' x >>%s; echo >>%s",
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		unlink(p->file);
		for (int n = 0; n < 4; n++)
			assert_int_equal(append(p), 0);
		count(p, NULL, true);
		shell(changes[i], p->file);
		count(p, NULL, false);
	}
}

static void a_line_cut_short_is_taken_off(void **state)
{
	struct place *p = *state;
	off_t before;

	assert_int_equal(append(p), 0);
	before = size_of(p->file);
	shell("printf '{\"schema\":1,\"started' >>%s", p->file);
	assert_int_equal(count(p, NULL, true), 1);
	assert_int_equal(append(p), 0);
	assert_int_equal(count(p, NULL, true), 2);
	assert_true(size_of(p->file) < 2 * before + 200);
	/* Also where nothing else is there. */
	shell("printf '{\"schema\":1,\"started' >%s", p->file);
	assert_int_equal(append(p), 0);
	assert_int_equal(count(p, NULL, true), 1);
}

static void one_that_cannot_be_written_is_an_error(void **state)
{
	static const struct {
		int fsync_errno, write_errno;
		size_t most;
	} cases[] = { { EIO, 0, 0 }, { 0, ENOSPC, 0 }, { 0, EDQUOT, 100 } };
	struct place *p = *state;
	off_t before;

	assert_int_equal(append(p), 0);
	before = size_of(p->file);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.fsync_errno = cases[i].fsync_errno;
		fake.write_errno = cases[i].write_errno;
		fake.write_most = cases[i].most;
		assert_int_equal(append(p), cases[i].fsync_errno ? -EIO : -cases[i].write_errno);
		assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_SYSTEM);
		memset(&fake, 0, sizeof(fake));
		assert_true(size_of(p->file) == before);
	}
	assert_int_equal(append(p), 0);
	assert_int_equal(count(p, NULL, true), 2);
}

static void files_of_others_are_not_written(void **state)
{
	struct place *p = *state;

	assert_int_equal(append(p), 0);
	assert_int_equal(chmod(p->file, 0666), 0);
	assert_int_equal(append(p), -EPERM);
	assert_int_equal(unlink(p->file), 0);
	assert_int_equal(symlink("/tmp/ephlvm-nowhere", p->file), 0);
	assert_true(append(p) < 0);
	assert_int_equal(access("/tmp/ephlvm-nowhere", F_OK), -1);
	assert_int_equal(unlink(p->file), 0);
	assert_int_equal(mkfifo(p->file, 0600), 0);
	assert_int_equal(append(p), -EPERM);
}

static void writers_take_turns(void **state)
{
	struct place *p = *state;
	pid_t pids[8];

	for (size_t i = 0; i < 8; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			for (int n = 0; n < 10; n++)
				if (append(p) < 0)
					_exit(1);
			_exit(0);
		}
	}
	for (size_t i = 0; i < 8; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(count(p, NULL, true), 80);
}

/* A file of 16 MiB gets a number; the chain goes on. */
static void the_chain_goes_on_over_files(void **state)
{
	struct place *p = *state;
	char old[160];

	assert_int_equal(append(p), 0);
	for (unsigned int i = 1; i <= 2; i++) {
		/* Many receipts, in short: one line of nothing, as long as they would be, and a last one. */
		shell("head -c 17000000 /dev/zero | tr '\\0' ' ' >>%s; echo >>%s", p->file);
		shell("echo '{}' >>%s", p->file);
		assert_int_equal(append(p), 0);
		snprintf(old, sizeof(old), "%s/receipts/receipts-%08u.jsonl", p->root, i);
		assert_int_equal(access(old, F_OK), 0);
		assert_true(size_of(p->file) < 4096);
	}
	/* What made them long is no receipt, and is told; those after it follow each other. */
	assert_int_equal(count(p, NULL, false), 3);
}

static void text_of_any_kind_stays_one_line(void **state)
{
	struct place *p = *state;
	struct ephlvm_receipts *receipts = NULL;

	eph_strv_clear(&p->drives);
	assert_int_equal(eph_strv_add(&p->drives, "a\n\"b\xff\033[31m\\"), 0);
	p->receipt.lv = "x\ny\"z\xc3\x28";
	assert_int_equal(append(p), 0);
	assert_int_equal(append(p), 0);
	assert_int_equal(count(p, NULL, true), 2);
	assert_int_equal(ephlvm_receipts_read(p->ctx, NULL, &receipts), 0);
	for (const char *c = ephlvm_receipts_at(receipts, 0); *c; c++)
		assert_true(*c >= ' ' && *c <= '~');
	ephlvm_receipts_free(receipts);
}

static void bad_filters_are_refused(void **state)
{
	struct place *p = *state;
	struct ephlvm_receipts_opts opts = EPHLVM_RECEIPTS_OPTS_INIT;
	struct ephlvm_receipts *receipts = NULL;

	opts.instance = "../../etc";
	assert_int_equal(ephlvm_receipts_read(p->ctx, &opts, &receipts), -EINVAL);
	assert_null(receipts);
	assert_int_equal(ephlvm_receipts_count(NULL), 0);
	ephlvm_receipts_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_are_private_chained_and_filtered),
		TEST(what_was_changed_or_taken_out_breaks_the_chain),
		TEST(a_line_cut_short_is_taken_off),
		TEST(one_that_cannot_be_written_is_an_error),
		TEST(files_of_others_are_not_written),
		TEST(writers_take_turns),
		TEST(the_chain_goes_on_over_files),
		TEST(text_of_any_kind_stays_one_line),
		TEST(bad_filters_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
