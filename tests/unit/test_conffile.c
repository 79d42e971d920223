// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test_conffile.c - which files are read as configuration, and which are not trusted.
 * Needs root: ownership is what it is about. Works in a directory below /run, whose parents nobody but
 * root can write; below /tmp nothing would be trusted.
 */
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include <ephlvm/config.h>

#include "edge/conffile.h"
#include "util/cleanup.h"

#define GOOD "{\"defaults\":{\"fs\":\"xfs\"}}"

struct place {
	struct ephlvm_ctx *ctx;
	char dir[64];
	char file[128];
	unsigned int fds;
};

static unsigned int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0644), 0);
}

/* A directory of mode 0755 with the file DIR/sub/ephlvm.json, good in every way. */
static int make_place(void **state)
{
	struct place *p = calloc(1, sizeof(*p));
	char sub[96];

	if (geteuid() != 0) {
		free(p);
		*state = NULL;
		return 0;
	}
	p->fds = open_fds();
	strcpy(p->dir, "/run/ephlvm-test-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	assert_int_equal(chmod(p->dir, 0755), 0);
	snprintf(sub, sizeof(sub), "%s/sub", p->dir);
	assert_int_equal(mkdir(sub, 0755), 0);
	assert_int_equal(chmod(sub, 0755), 0);
	snprintf(p->file, sizeof(p->file), "%s/ephlvm.json", sub);
	write_file(p->file, GOOD);
	assert_int_equal(ephlvm_ctx_new(&p->ctx), 0);
	assert_int_equal(ephlvm_ctx_set_config_path(p->ctx, p->file), 0);
	*state = p;
	return 0;
}

static void remove_tree(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (unlinkat(dirfd(d), e->d_name, 0) < 0) {
			_cleanup_free_ char *sub = NULL;

			assert_int_equal(errno, EISDIR);
			assert_true(asprintf(&sub, "%s/%s", dir, e->d_name) > 0);
			remove_tree(sub);
		}
	}
	closedir(d);
	assert_int_equal(rmdir(dir), 0);
}

static int drop_place(void **state)
{
	struct place *p = *state;

	if (!p)
		return 0;
	ephlvm_ctx_unref(p->ctx);
	remove_tree(p->dir);
	assert_int_equal(open_fds(), p->fds);
	free(p);
	return 0;
}

static struct place *place_of(void **state)
{
	if (!*state)
		skip();
	return *state;
}

/* The call fails with @r, the message holds the file's path and @words, the hint @hint. */
static void assert_refused(struct place *p, int r, enum ephlvm_error_kind kind, const char *words,
			   const char *hint)
{
	bool exists = true;
	int got = ephlvm_config_check(p->ctx, &exists);

	if (got != r || !strstr(ephlvm_error_message(p->ctx), words) ||
	    !strstr(ephlvm_error_hint(p->ctx), hint))
		fail_msg("%d: %s [%s]", got, ephlvm_error_message(p->ctx),
			 ephlvm_error_hint(p->ctx));
	assert_int_equal(ephlvm_error_kind(p->ctx), kind);
	assert_int_equal(ephlvm_error_errno(p->ctx), -r);
	assert_non_null(strstr(ephlvm_error_message(p->ctx), p->dir));
	assert_null(p->ctx->config);
	assert_true(exists);
}

static void assert_distrusted(struct place *p, const char *words, const char *hint)
{
	assert_refused(p, -EPERM, EPHLVM_ERROR_PERMISSION, words, hint);
}

static void assert_read(struct place *p)
{
	const struct eph_config *config;
	bool exists = false;

	if (ephlvm_config_check(p->ctx, &exists) < 0)
		fail_msg("%s", ephlvm_error_message(p->ctx));
	assert_true(exists);
	assert_int_equal(eph_config_get(p->ctx, &config), 0);
	assert_string_equal(config->fs, "xfs");
}

static void a_good_file_is_read_once(void **state)
{
	struct place *p = place_of(state);
	_cleanup_free_ char *json = NULL;

	assert_read(p);
	assert_int_equal(unlink(p->file), 0);
	assert_read(p);
	assert_int_equal(ephlvm_config_show(p->ctx, &json), 0);
	assert_non_null(strstr(json, "\"fs\": \"xfs\""));
	assert_non_null(strstr(json, "\"cc.2xlarge\""));
	assert_int_equal(ephlvm_ctx_set_config_path(p->ctx, NULL), -EINVAL);
}

/* A host that has the file is no place to say more of it than that. */
static void the_default_file_may_be_missing(void **state)
{
	bool there = access(EPH_CONFIG_PATH, F_OK) == 0, exists = !there;
	const struct eph_config *config;
	struct ephlvm_ctx *ctx;

	place_of(state);
	assert_int_equal(ephlvm_ctx_new(&ctx), 0);
	if (ephlvm_config_check(ctx, &exists) < 0 && !there)
		fail_msg("%s", ephlvm_error_message(ctx));
	assert_int_equal(exists, there);
	if (!there) {
		assert_int_equal(eph_config_get(ctx, &config), 0);
		assert_string_equal(config->fs, "ext4");
		assert_false(config->from_file);
	}
	ephlvm_ctx_unref(ctx);
}

static void a_file_that_was_named_must_be_there(void **state)
{
	struct place *p = place_of(state);

	assert_int_equal(unlink(p->file), 0);
	assert_refused(p, -ENOENT, EPHLVM_ERROR_NOT_FOUND, "does not exist", "path");
	remove_tree(p->dir);
	assert_refused(p, -ENOENT, EPHLVM_ERROR_NOT_FOUND, "does not exist", "path");
	assert_int_equal(mkdir(p->dir, 0755), 0);
}

static void a_file_that_others_can_write_is_not_trusted(void **state)
{
	static const mode_t bad[] = { 0666, 0664, 0646, 0622, 0777, 0662 };
	static const mode_t good[] = { 0644, 0600, 0640, 0444, 0400, 0755 };
	struct place *p = place_of(state);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char mode[32];

		snprintf(mode, sizeof(mode), "has mode %04o", bad[i]);
		assert_int_equal(chmod(p->file, bad[i]), 0);
		assert_distrusted(p, mode, "chmod go-w");
		assert_non_null(strstr(ephlvm_error_hint(p->ctx), p->file));
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct ephlvm_ctx *again;

		assert_int_equal(chmod(p->file, good[i]), 0);
		assert_read(p);
		ephlvm_ctx_unref(p->ctx);
		assert_int_equal(ephlvm_ctx_new(&again), 0);
		p->ctx = again;
		assert_int_equal(ephlvm_ctx_set_config_path(p->ctx, p->file), 0);
	}
}

static void a_file_of_somebody_else_is_not_trusted(void **state)
{
	struct place *p = place_of(state);

	assert_int_equal(chown(p->file, 65534, (gid_t)-1), 0);
	assert_distrusted(p, "belongs to user 65534", "chown root");
	assert_int_equal(chown(p->file, 0, 65534), 0);
	assert_read(p);
}

static void each_parent_is_judged_too(void **state)
{
	static const mode_t bad[] = { 0777, 01777, 0775, 0757 };
	struct place *p = place_of(state);
	char sub[96];

	snprintf(sub, sizeof(sub), "%s/sub", p->dir);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(chmod(sub, bad[i]), 0);
		assert_distrusted(p, "others than root can write it", sub);
		assert_int_equal(chmod(sub, 0755), 0);
		assert_int_equal(chmod(p->dir, bad[i]), 0);
		assert_distrusted(p, "others than root can write it", p->dir);
		assert_int_equal(chmod(p->dir, 0755), 0);
	}
	assert_int_equal(chown(sub, 65534, (gid_t)-1), 0);
	assert_distrusted(p, "belongs to user 65534", "chown root");
	/* and before it is said that there is no such file */
	assert_int_equal(unlink(p->file), 0);
	assert_distrusted(p, "belongs to user 65534", "chown root");
	assert_int_equal(chown(sub, 0, (gid_t)-1), 0);
	write_file(p->file, GOOD);
	assert_read(p);
}

static void no_link_is_followed(void **state)
{
	struct place *p = place_of(state);
	char other[128], sub[96];

	snprintf(other, sizeof(other), "%s/other.json", p->dir);
	write_file(other, GOOD);
	assert_int_equal(unlink(p->file), 0);
	assert_int_equal(symlink(other, p->file), 0);
	assert_distrusted(p, "ephlvm.json\" is a symbolic link", "without links");
	assert_int_equal(unlink(p->file), 0);
	assert_int_equal(symlink("/nowhere", p->file), 0);
	assert_distrusted(p, "ephlvm.json\" is a symbolic link", "without links");

	snprintf(sub, sizeof(sub), "%s/sub", p->dir);
	snprintf(other, sizeof(other), "%s/real", p->dir);
	assert_int_equal(unlink(p->file), 0);
	write_file(p->file, GOOD);
	assert_int_equal(rename(sub, other), 0);
	assert_int_equal(symlink("real", sub), 0);
	assert_distrusted(p, "sub\" is a symbolic link", "without links");
}

static void make_socket(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(addr.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
}

/* A FIFO would wait for a writer for ever: the time limit of the test tells. */
static void only_a_plain_file_is_opened(void **state)
{
	struct place *p = place_of(state);

	assert_int_equal(unlink(p->file), 0);
	assert_int_equal(mkfifo(p->file, 0600), 0);
	assert_distrusted(p, "is not a plain file", "plain file");
	assert_int_equal(unlink(p->file), 0);
	assert_int_equal(mkdir(p->file, 0755), 0);
	assert_distrusted(p, "is not a plain file", "plain file");
	assert_int_equal(rmdir(p->file), 0);
	make_socket(p->file);
	assert_distrusted(p, "is not a plain file", "plain file");
}

/* As an ordinary user: the reason is said, and built-in values do not take its place. */
static void no_access_is_not_absence(void **state)
{
	struct place *p = place_of(state);
	const struct ephlvm_flavor *flavor = NULL;
	char *json = NULL;
	size_t n = 0;

	assert_int_equal(chmod(p->file, 0600), 0);
	assert_int_equal(seteuid(65534), 0);
	assert_distrusted(p, "no access to", "run as root");
	assert_int_equal(ephlvm_config_show(p->ctx, &json), -EPERM);
	assert_int_equal(ephlvm_flavor_count(p->ctx, &n), -EPERM);
	assert_int_equal(ephlvm_flavor_find(p->ctx, "cc.small", &flavor), -EPERM);
	assert_null(ephlvm_flavor_at(p->ctx, 0));
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(chmod(p->dir, 0700), 0);
	assert_int_equal(seteuid(65534), 0);
	assert_distrusted(p, "no access to", "run as root");
	assert_int_equal(seteuid(0), 0);
	assert_null(json);
	assert_null(flavor);
	assert_read(p);
}

static void a_device_is_not_opened(void **state)
{
	struct ephlvm_ctx *ctx = place_of(state)->ctx;

	assert_int_equal(ephlvm_ctx_set_config_path(ctx, "/dev/zero"), 0);
	assert_int_equal(ephlvm_config_check(ctx, NULL), -EPERM);
	assert_int_equal(ephlvm_error_kind(ctx), EPHLVM_ERROR_PERMISSION);
}

static void a_file_is_no_directory(void **state)
{
	struct place *p = place_of(state);
	char path[192];

	snprintf(path, sizeof(path), "%s/x", p->file);
	assert_int_equal(ephlvm_ctx_set_config_path(p->ctx, path), 0);
	assert_distrusted(p, "is not a directory", "path");
}

static void odd_paths_are_walked_or_refused(void **state)
{
	static const struct {
		const char *form;
		bool good;
	} t[] = {
		{ "//%s/sub//ephlvm.json", true },
		{ "%s/sub/ephlvm.json", true },
		{ "%s/sub/../sub/ephlvm.json", false },
		{ "%s/./sub/ephlvm.json", false },
		{ "%s/sub/..", false },
	};
	struct place *p = place_of(state);

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char path[192];
		struct ephlvm_ctx *ctx;

		snprintf(path, sizeof(path), t[i].form, p->dir);
		assert_int_equal(ephlvm_ctx_new(&ctx), 0);
		assert_int_equal(ephlvm_ctx_set_config_path(ctx, path), 0);
		assert_int_equal(ephlvm_config_check(ctx, NULL), t[i].good ? 0 : -EINVAL);
		ephlvm_ctx_unref(ctx);
	}
	assert_int_equal(ephlvm_ctx_set_config_path(p->ctx, "/"), 0);
	assert_int_equal(ephlvm_config_check(p->ctx, NULL), -EINVAL);
}

static void a_name_too_long_is_said(void **state)
{
	struct place *p = place_of(state);
	char path[600];

	memset(path, 'n', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(ephlvm_ctx_set_config_path(p->ctx, path), 0);
	assert_int_equal(ephlvm_config_check(p->ctx, NULL), -EINVAL);
}

/* @bytes of white space with a document in front. */
static void write_sized(const char *path, size_t bytes)
{
	_cleanup_free_ char *text = malloc(bytes + 1);

	memset(text, ' ', bytes);
	memcpy(text, GOOD, strlen(GOOD));
	text[bytes] = '\0';
	write_file(path, text);
}

static void the_size_is_bounded(void **state)
{
	struct place *p = place_of(state);

	write_sized(p->file, EPH_CONFIG_MAX_BYTES + 1);
	assert_refused(p, -EINVAL, EPHLVM_ERROR_INVALID, "larger than 1048576 bytes", "");
	write_sized(p->file, EPH_CONFIG_MAX_BYTES);
	assert_read(p);
}

static void what_it_says_is_checked(void **state)
{
	struct place *p = place_of(state);

	write_file(p->file, "{\"defaults\":{\"fs\":\"btrfs\"}}");
	assert_refused(p, -EINVAL, EPHLVM_ERROR_INVALID, "\"defaults.fs\"", "");
	write_file(p->file, "");
	assert_refused(p, -EINVAL, EPHLVM_ERROR_INVALID, "empty or cut short", "");
	/* corrected: the next call reads it again */
	write_file(p->file, GOOD);
	assert_read(p);
}

static void flavors_come_from_the_file(void **state)
{
	struct place *p = place_of(state);
	const struct ephlvm_flavor *flavor = NULL;
	size_t n = 0;

	write_file(p->file, "{\"flavors\":{\"cc.micro\":null,\"big\":{\"vcpus\":64,\"ram\":\"1T\","
			    "\"root\":\"1T\",\"ephemeral\":\"2T\",\"pool\":\"fast\"}}}");
	assert_null(ephlvm_flavor_at(p->ctx, 0));
	assert_int_equal(ephlvm_flavor_count(p->ctx, &n), 0);
	assert_int_equal(n, 6);
	assert_string_equal(ephlvm_flavor_name(ephlvm_flavor_at(p->ctx, 0)), "cc.small");
	assert_string_equal(ephlvm_flavor_name(ephlvm_flavor_at(p->ctx, 5)), "big");
	assert_null(ephlvm_flavor_at(p->ctx, 6));
	assert_int_equal(ephlvm_flavor_find(p->ctx, "big", &flavor), 0);
	assert_string_equal(ephlvm_flavor_pool(flavor), "fast");
	assert_true(ephlvm_flavor_ephemeral_bytes(flavor) == 2ULL << 40);

	assert_int_equal(ephlvm_flavor_find(p->ctx, "cc.micro\n", &flavor), -ENOENT);
	assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_NOT_FOUND);
	assert_string_equal(ephlvm_error_message(p->ctx), "flavor \"cc.micro\\x0a\" is not known");
	assert_string_equal(ephlvm_flavor_name(flavor), "big");
	/* the next call that works leaves no record of this one */
	assert_int_equal(ephlvm_flavor_find(p->ctx, "cc.large", &flavor), 0);
	assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_NONE);
}

#define test(name) cmocka_unit_test_setup_teardown(name, make_place, drop_place)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_good_file_is_read_once),
		test(the_default_file_may_be_missing),
		test(a_file_that_was_named_must_be_there),
		test(a_file_that_others_can_write_is_not_trusted),
		test(a_file_of_somebody_else_is_not_trusted),
		test(each_parent_is_judged_too),
		test(no_link_is_followed),
		test(only_a_plain_file_is_opened),
		test(no_access_is_not_absence),
		test(a_device_is_not_opened),
		test(a_file_is_no_directory),
		test(odd_paths_are_walked_or_refused),
		test(a_name_too_long_is_said),
		test(the_size_is_bounded),
		test(what_it_says_is_checked),
		test(flavors_come_from_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
