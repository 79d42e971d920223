// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The one-shot backend, with programs of our own in the place of LVM: what reaches LVM from the caller, what
 * its talk, its crashes and its hanging do to a read, and how a PV is known by its label.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/context.h"
#include "edge/lvm.h"
#include "edge/lvm_pv.h"
#include "pure/config.h"
#include "util/cleanup.h"
#include "util/spawn.h"

#define REPORT                                                                                       \
	"{\"report\": [{\"vg\": [{\"vg_uuid\":\"u\", \"vg_name\":\"fast\", \"vg_attr\":\"wz--n-\", " \
	"\"vg_tags\":\"\", \"vg_size\":\"8388608\", \"vg_free\":\"8388608\", "                       \
	"\"vg_extent_size\":\"4194304\", \"vg_extent_count\":\"2\", \"vg_free_count\":\"2\", "       \
	"\"vg_seqno\":\"1\", \"vg_missing_pv_count\":\"0\"}]}]}"
#define SAY_REPORT "echo '" REPORT "'\n"

struct place {
	char dir[64], lvm[80];
	struct ephlvm_ctx *ctx;
	struct eph_config *config;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	snprintf(p->dir, sizeof(p->dir), "/tmp/ephlvm-process.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	snprintf(p->lvm, sizeof(p->lvm), "%s/locks", p->dir);
	setenv("EPHLVM_LOCK_DIR", p->lvm, 1);
	snprintf(p->lvm, sizeof(p->lvm), "%s/lvm", p->dir);
	assert_int_equal(ephlvm_ctx_new(&p->ctx), 0);
	assert_int_equal(eph_config_default(p->ctx, &p->config), 0);
	p->ctx->config = p->config;
	p->ctx->config_free = eph_config_free;
	free(p->config->tool_lvm);
	p->config->tool_lvm = strdup(p->lvm);
	assert_non_null(p->config->tool_lvm);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	char command[128];

	ephlvm_ctx_unref(p->ctx);
	snprintf(command, sizeof(command), "rm -rf %s", p->dir);
	assert_int_equal(system(command), 0);
	free(p);
	return 0;
}

/* Let @script (of /bin/sh, started in the place's folder) be LVM from now on. */
static void be_lvm(struct place *p, const char *script)
{
	FILE *f = fopen(p->lvm, "we");

	assert_non_null(f);
	fprintf(f, "#!/bin/sh\ncd %s\n%s", p->dir, script);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(p->lvm, 0700), 0);
}

static void call(struct place *p, const char *const *argv, struct eph_lvm_result *result)
{
	const struct eph_lvm_call how = { .argv = argv, .timeout_ms = 60000 };
	struct eph_lvm_backend *backend;

	assert_int_equal(eph_lvm_backend_get(p->ctx, &backend), 0);
	assert_int_equal(backend->begin(p->ctx, backend), 0);
	assert_int_equal(backend->call(p->ctx, backend, &how, result), 0);
	backend->end(p->ctx, backend);
}

static size_t count_lines(const struct place *p, const char *name)
{
	char path[128];
	size_t n = 0;
	int c;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", p->dir, name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while ((c = fgetc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

static void passes_arguments_as_they_are(void **state)
{
	struct place *p = *state;
	const char *const argv[] = { "lvs", "-S", "lv_uuid=\"x\" && $(id) ; `id` '", "", "*", NULL };
	struct eph_lvm_result result = { 0 };

	be_lvm(p, "for a; do echo \"<$a>\"; done; echo note >&2; exit 5\n");
	call(p, argv, &result);
	assert_string_equal(result.out,
			    "<lvs>\n<-S>\n<lv_uuid=\"x\" && $(id) ; `id` '>\n<>\n<*>\n");
	assert_string_equal(result.err, "note\n");
	assert_int_equal(result.status, 5);
	assert_false(result.timed_out);
	eph_lvm_result_clear(&result);
}

static void gives_lvm_a_fixed_environment(void **state)
{
	static const char *const hostile[] = { "LD_PRELOAD",	     "LD_LIBRARY_PATH",
					       "LVM_SYSTEM_DIR",     "LVM_VG_NAME",
					       "LVM_REPORT_FD",	     "LVM_COMMAND_PROFILE",
					       "LVM_OUT_FD",	     "DM_DISABLE_UDEV",
					       "DM_DEV_DIR",	     "TMPDIR",
					       "LVM_LOG_FILE_EPOCH", "HOME" };
	struct place *p = *state;
	const char *const argv[] = { "lvs", NULL };
	struct eph_lvm_result result = { 0 };
	char *path = strdup(getenv("PATH"));

	be_lvm(p, "exec /usr/bin/env\n");
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++)
		setenv(hostile[i], "/nowhere", 1);
	setenv("PATH", "/nowhere", 1);
	setenv("LC_ALL", "de_DE.UTF-8", 1);
	setenv("LANGUAGE", "de", 1);
	call(p, argv, &result);
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++)
		unsetenv(hostile[i]);
	unsetenv("LC_ALL");
	unsetenv("LANGUAGE");
	setenv("PATH", path, 1);
	free(path);
	/* PWD and the like are the shell's own. */
	assert_non_null(strstr(result.out, "PATH=" EPH_SPAWN_PATH "\n"));
	assert_non_null(strstr(result.out, "LC_ALL=C\n"));
	assert_non_null(strstr(result.out, "HOME=/\n"));
	assert_non_null(strstr(result.out, "LVM_SUPPRESS_FD_WARNINGS=1\n"));
	assert_null(strstr(result.out, "nowhere"));
	assert_null(strstr(result.out, "de_DE"));
	assert_null(strstr(result.out, "LANGUAGE"));
	eph_lvm_result_clear(&result);
}

static void gives_lvm_no_descriptor(void **state)
{
	struct place *p = *state;
	const char *const argv[] = { "lvs", NULL };
	struct eph_lvm_result result = { 0 };
	int fds[50];

	for (size_t i = 0; i < 50; i++) {
		fds[i] = open("/dev/zero", O_RDONLY); /* inheritable on purpose */
		assert_true(fds[i] >= 0);
	}
	/* In a shell started with -c: one that reads a file has that open. */
	be_lvm(p,
	       "exec /bin/sh -c 'i=0; while [ $i -lt 300 ]; do [ -e /proc/$$/fd/$i ] && echo $i; "
	       "i=$((i+1)); done; readlink /proc/$$/fd/0'\n");
	call(p, argv, &result);
	assert_string_equal(result.out, "0\n1\n2\n/dev/null\n");
	for (size_t i = 0; i < 50; i++)
		close(fds[i]);
	eph_lvm_result_clear(&result);
}

static void refuses_a_nul_byte(void **state)
{
	struct place *p = *state;
	struct eph_lvm_view *view = NULL;

	be_lvm(p, "printf '%s\\0' '" REPORT "'\n");
	assert_int_equal(eph_lvm_read(p->ctx, 0, &view), -EIO);
	assert_non_null(strstr(ephlvm_error_message(p->ctx), "NUL"));
	assert_null(view);
}

static void reads_on_after_a_megabyte_of_stderr(void **state)
{
	struct place *p = *state;
	struct eph_lvm_view *view = NULL;

	be_lvm(p, "head -c 1048576 /dev/zero | tr '\\0' x >&2; echo; echo last words >&2\n"
		  "echo on stdout too\n" SAY_REPORT);
	assert_int_equal(eph_lvm_read(p->ctx, 0, &view), 0);
	assert_int_equal(view->n_vgs, 1);
	assert_string_equal(view->vgs[0].name, "fast");
	assert_non_null(strstr(view->warnings, "last words\n"));
	assert_non_null(strstr(view->warnings, "on stdout too\n"));
	eph_lvm_view_free(view);
}

static void runs_a_crashed_read_once_more(void **state)
{
	struct place *p = *state;
	struct eph_lvm_view *view = NULL;

	be_lvm(p, "echo x >> calls\n"
		  "[ -e crashed ] || { touch crashed; ulimit -c 0; kill -SEGV $$; }\n" SAY_REPORT);
	assert_int_equal(eph_lvm_read(p->ctx, 0, &view), 0);
	assert_int_equal(view->n_vgs, 1);
	assert_int_equal(count_lines(p, "calls"), 2);
	eph_lvm_view_free(view);
}

static void gives_up_on_a_read_that_crashes_twice(void **state)
{
	struct place *p = *state;
	struct eph_lvm_view *view = NULL;

	be_lvm(p, "echo x >> calls\n" SAY_REPORT "ulimit -c 0; kill -SEGV $$\n");
	assert_int_equal(eph_lvm_read(p->ctx, 0, &view), -EIO);
	assert_int_equal(count_lines(p, "calls"), 2);
	assert_int_equal(ephlvm_error_child_status(p->ctx), 256 + SIGSEGV);
	assert_non_null(strstr(ephlvm_error_message(p->ctx), "signal 11"));
	assert_null(view);
}

static bool is_gone(int pid)
{
	char path[64], line[256] = "", *state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	state = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	return !state || state[2] == 'Z' || state[2] == 'X';
}

static void ends_a_read_that_hangs(void **state)
{
	const struct timespec tick = { .tv_nsec = 10000000 };
	struct place *p = *state;
	struct eph_lvm_view *view = NULL;
	char path[128];
	int leader = 0, other = 0;
	FILE *f;

	p->config->read_timeout_ms = 500;
	be_lvm(p,
	       "sleep 1000 & echo $$ $! > pids; echo waiting for udev >&2\n" SAY_REPORT "wait\n");
	assert_int_equal(eph_lvm_read(p->ctx, 0, &view), -EIO);
	assert_null(view);
	assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_SYSTEM);
	assert_non_null(strstr(ephlvm_error_message(p->ctx), "500 ms"));
	assert_string_equal(ephlvm_error_detail(p->ctx), "waiting for udev\n");
	snprintf(path, sizeof(path), "%s/pids", p->dir);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d %d", &leader, &other), 2);
	fclose(f);
	assert_int_equal(kill(leader, 0), -1); /* reaped, not a zombie */
	for (int i = 0; i < 1000 && !is_gone(other); i++)
		nanosleep(&tick, NULL);
	assert_true(is_gone(other));
}

static void takes_a_failed_read_for_no_empty_host(void **state)
{
	struct place *p = *state;
	struct eph_lvm_view *view = NULL;

	be_lvm(p, "echo '{\"report\": []}'; echo '  Volume group \"x\" not found' >&2; exit 5\n");
	assert_int_equal(eph_lvm_read(p->ctx, 0, &view), -EIO);
	assert_null(view);
	assert_int_equal(ephlvm_error_child_status(p->ctx), 5);
	assert_string_equal(ephlvm_error_detail(p->ctx), "  Volume group \"x\" not found\n");
}

static void says_that_lvm_is_not_there(void **state)
{
	struct place *p = *state;
	struct eph_lvm_view *view = NULL;

	assert_int_equal(eph_lvm_read(p->ctx, 0, &view), -EIO);
	assert_non_null(strstr(ephlvm_error_message(p->ctx), p->lvm));
	assert_non_null(strstr(ephlvm_error_hint(p->ctx), "lvm2"));
}

static void refuses_a_relative_path(void **state)
{
	struct place *p = *state;
	struct eph_lvm_backend *backend = NULL;

	assert_int_equal(eph_lvm_process_new(p->ctx, "lvm", &backend), -EINVAL);
	assert_null(backend);
}

/* --- labels --- */

#define RAW "ETBomTyKWhAaOfD77k3PgUbe16HlJBkQ"
#define UUID "ETBomT-yKWh-AaOf-D77k-3PgU-be16-HlJBkQ"

struct label {
	unsigned char area[8192];
	size_t bytes;
};

static void put_label(struct label *label, unsigned int sector, unsigned int says_sector,
		      unsigned int offset)
{
	unsigned char *s = label->area + 512 * (size_t)sector;

	memset(label, 0, sizeof(*label));
	label->bytes = sizeof(label->area);
	memcpy(s, "LABELONE", 8);
	s[8] = (unsigned char)says_sector;
	s[20] = (unsigned char)offset;
	s[21] = (unsigned char)(offset >> 8);
	memcpy(s + 24, "LVM2 001", 8);
	if (offset + 32 <= 512)
		memcpy(s + offset, RAW, 32);
}

static int read_label(const struct label *label, char uuid[EPH_LVM_UUID_TEXT])
{
	int fd = memfd_create("label", MFD_CLOEXEC), r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, label->area, label->bytes), label->bytes);
	strcpy(uuid, "unset");
	r = eph_lvm_label_read(fd, uuid);
	close(fd);
	if (r < 0)
		assert_string_equal(uuid, "unset");
	return r;
}

static void reads_a_label_in_any_of_four_sectors(void **state)
{
	struct label label;
	char uuid[EPH_LVM_UUID_TEXT];

	(void)state;
	for (unsigned int sector = 0; sector < 4; sector++) {
		put_label(&label, sector, sector, 32);
		assert_int_equal(read_label(&label, uuid), 0);
		assert_string_equal(uuid, UUID);
	}
	put_label(&label, 1, 1, 480);
	assert_int_equal(read_label(&label, uuid), 0);
	assert_string_equal(uuid, UUID);
}

static void refuses_what_is_no_label(void **state)
{
	struct label label;
	char uuid[EPH_LVM_UUID_TEXT];

	(void)state;
	memset(&label, 0, sizeof(label));
	label.bytes = sizeof(label.area);
	assert_int_equal(read_label(&label, uuid), -ENODATA);
	put_label(&label, 4, 4, 32); /* beyond the place for labels */
	assert_int_equal(read_label(&label, uuid), -ENODATA);
	put_label(&label, 1, 2, 32); /* a copy of another sector */
	assert_int_equal(read_label(&label, uuid), -ENODATA);
	put_label(&label, 1, 1, 481); /* the uuid would lie in the next sector */
	assert_int_equal(read_label(&label, uuid), -ENODATA);
	put_label(&label, 1, 1, 31); /* within the label itself */
	assert_int_equal(read_label(&label, uuid), -ENODATA);
	put_label(&label, 1, 1, 32);
	label.area[512 + 24] = 'X';
	assert_int_equal(read_label(&label, uuid), -ENODATA);
	put_label(&label, 1, 1, 32);
	label.area[512] = 'X';
	assert_int_equal(read_label(&label, uuid), -ENODATA);
	put_label(&label, 1, 1, 32);
	label.area[512 + 40] = '\n';
	assert_int_equal(read_label(&label, uuid), -ENODATA);
	put_label(&label, 1, 1, 32);
	label.bytes = 1000; /* a device shorter than that */
	assert_int_equal(read_label(&label, uuid), -ENODATA);
}

static void opens_no_pv_that_is_none(void **state)
{
	struct place *p = *state;
	struct eph_pv pv = { .uuid = (char *)UUID };
	int fd = -1;

	pv.device = (char *)"/dev/no-such-drive";
	assert_int_equal(eph_lvm_pv_open(p->ctx, NULL, &pv, &fd), -EIO);
	eph_enter(p->ctx);
	pv.device = (char *)"/dev/zero";
	assert_int_equal(eph_lvm_pv_open(p->ctx, NULL, &pv, &fd), -EIO);
	eph_enter(p->ctx);
	be_lvm(p, "");
	pv.device = p->lvm; /* a plain file */
	assert_int_equal(eph_lvm_pv_open(p->ctx, NULL, &pv, &fd), -EIO);
	assert_int_equal(fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(passes_arguments_as_they_are, setup, teardown),
		cmocka_unit_test_setup_teardown(gives_lvm_a_fixed_environment, setup, teardown),
		cmocka_unit_test_setup_teardown(gives_lvm_no_descriptor, setup, teardown),
		cmocka_unit_test_setup_teardown(refuses_a_nul_byte, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_on_after_a_megabyte_of_stderr, setup,
						teardown),
		cmocka_unit_test_setup_teardown(runs_a_crashed_read_once_more, setup, teardown),
		cmocka_unit_test_setup_teardown(gives_up_on_a_read_that_crashes_twice, setup,
						teardown),
		cmocka_unit_test_setup_teardown(ends_a_read_that_hangs, setup, teardown),
		cmocka_unit_test_setup_teardown(takes_a_failed_read_for_no_empty_host, setup,
						teardown),
		cmocka_unit_test_setup_teardown(says_that_lvm_is_not_there, setup, teardown),
		cmocka_unit_test_setup_teardown(refuses_a_relative_path, setup, teardown),
		cmocka_unit_test(reads_a_label_in_any_of_four_sectors),
		cmocka_unit_test(refuses_what_is_no_label),
		cmocka_unit_test_setup_teardown(opens_no_pv_that_is_none, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
