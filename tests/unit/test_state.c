// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * State files: replaced whole, read only when they are root's alone, gone without a trace; folders that
 * somebody else prepared are refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/context.h"
#include "edge/state.h"

struct place {
	char root[64];
	struct ephlvm_ctx *ctx;
	int fd; /* of the folder "things" */
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	snprintf(p->root, sizeof(p->root), "/tmp/ephlvm-state.XXXXXX");
	assert_non_null(mkdtemp(p->root));
	setenv("EPHLVM_STATE_DIR", p->root, 1);
	unsetenv("EPHLVM_FAIL_AT");
	assert_int_equal(ephlvm_ctx_new(&p->ctx), 0);
	assert_int_equal(eph_state_open(p->ctx, "things", &p->fd), 0);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	char command[160];

	ephlvm_ctx_unref(p->ctx);
	close(p->fd);
	snprintf(command, sizeof(command), "rm -rf %s", p->root);
	assert_int_equal(system(command), 0);
	free(p);
	return 0;
}

static void expect_content(struct place *p, const char *name, const char *want)
{
	char *data = NULL;
	size_t bytes = 0;

	assert_int_equal(eph_state_read(p->ctx, p->fd, name, 100, &data, &bytes), 0);
	if (!want) {
		assert_null(data);
		return;
	}
	assert_non_null(data);
	assert_string_equal(data, want);
	assert_int_equal(bytes, strlen(want));
	free(data);
}

static size_t files_in(const struct place *p)
{
	char command[160];
	FILE *f;
	size_t n = 0;

	snprintf(command, sizeof(command), "ls -A %s/things | wc -l", p->root);
	f = popen(command, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%zu", &n), 1);
	pclose(f);
	return n;
}

static void written_read_replaced_removed(void **state)
{
	struct place *p = *state;
	struct stat st;

	expect_content(p, "a", NULL);
	assert_int_equal(eph_state_write(p->ctx, p->fd, "a", "one", 3), 0);
	expect_content(p, "a", "one");
	assert_int_equal(eph_state_write(p->ctx, p->fd, "a", "", 0), 0);
	expect_content(p, "a", "");
	assert_int_equal(fstatat(p->fd, "a", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(fstat(p->fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(files_in(p), 1);
	assert_int_equal(eph_state_remove(p->ctx, p->fd, "a"), 0);
	assert_int_equal(eph_state_remove(p->ctx, p->fd, "a"), 0);
	assert_int_equal(files_in(p), 0);
}

static void a_failed_write_leaves_the_old_content_alone(void **state)
{
	struct place *p = *state;

	assert_int_equal(eph_state_write(p->ctx, p->fd, "a", "one", 3), 0);
	setenv("EPHLVM_FAIL_AT", "state-rename", 1);
	assert_true(eph_state_write(p->ctx, p->fd, "a", "two", 3) < 0);
	unsetenv("EPHLVM_FAIL_AT");
	expect_content(p, "a", "one");
	assert_int_equal(files_in(p), 1);
}

static void what_others_made_is_not_read(void **state)
{
	struct place *p = *state;
	char *data = NULL;
	int fd;

	assert_int_equal(symlinkat("/etc/passwd", p->fd, "link"), 0);
	assert_int_equal(eph_state_read(p->ctx, p->fd, "link", 100, &data, NULL), -EPERM);
	assert_int_equal(mkfifoat(p->fd, "fifo", 0600), 0);
	eph_error_clear(&p->ctx->error);
	assert_int_equal(eph_state_read(p->ctx, p->fd, "fifo", 100, &data, NULL), -EPERM);
	fd = openat(p->fd, "open", O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0666), 0);
	close(fd);
	eph_error_clear(&p->ctx->error);
	assert_int_equal(eph_state_read(p->ctx, p->fd, "open", 100, &data, NULL), -EPERM);
	assert_int_equal(eph_state_write(p->ctx, p->fd, "long", "0123456789", 10), 0);
	eph_error_clear(&p->ctx->error);
	assert_int_equal(eph_state_read(p->ctx, p->fd, "long", 9, &data, NULL), -EFBIG);
	assert_null(data);
}

static void folders_of_others_are_refused(void **state)
{
	struct place *p = *state;
	char path[160];
	int fd = -1;

	snprintf(path, sizeof(path), "%s/open", p->root);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, 0770), 0);
	assert_int_equal(eph_state_open(p->ctx, "open", &fd), -EPERM);
	snprintf(path, sizeof(path), "%s/link", p->root);
	assert_int_equal(symlink("/tmp", path), 0);
	eph_error_clear(&p->ctx->error);
	assert_int_equal(eph_state_open(p->ctx, "link", &fd), -EPERM);
	assert_int_equal(fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(written_read_replaced_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(a_failed_write_leaves_the_old_content_alone, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_others_made_is_not_read, setup, teardown),
		cmocka_unit_test_setup_teardown(folders_of_others_are_refused, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
