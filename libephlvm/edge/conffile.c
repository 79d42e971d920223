// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * conffile.c - the configuration file: find it, judge whether it can be trusted, read it once.
 * Owns the walk to the file and the context's configuration. Must not follow a link, must not open
 * what is not a plain file, and must not read one that anybody but root could have written: it names
 * the tools that run as root.
 */
#include "edge/conffile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <ephlvm/config.h>

#include "util/cleanup.h"
#include "util/text.h"

/* Where the walk is: @file as a whole, and the part of it reached so far, for messages. */
struct walk {
	struct ephlvm_ctx *ctx;
	const char *file;
	char part[PATH_MAX];
};

__attribute__((format(printf, 3, 4))) static int distrust(const struct walk *w, const char *hint,
							  const char *fmt, ...)
{
	char why[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	return eph_fail(w->ctx, EPHLVM_ERROR_PERMISSION, EPERM, w->file, hint,
			"configuration \"%s\" is not trusted: \"%s\" %s", w->file, w->part, why);
}

/* Failure of a system call, errno set. A missing file is for the caller to judge: no record. */
static int fail_errno(const struct walk *w)
{
	int errnum = errno;

	if (errnum == ENOENT)
		return -ENOENT;
	if (errnum == EACCES || errnum == EPERM)
		return eph_fail(w->ctx, EPHLVM_ERROR_PERMISSION, EPERM, w->file, "run as root",
				"configuration \"%s\" cannot be read: no access to \"%s\"", w->file,
				w->part);
	return eph_fail(w->ctx, EPHLVM_ERROR_SYSTEM, EIO, w->file, NULL,
			"configuration \"%s\" cannot be read: \"%s\": %m", w->file, w->part);
}

/*
 * Owner and mode of a file or directory on the way. A sticky directory that all can write (/tmp) is no
 * better than another: whoever is first there makes the file. With an ACL the group bits are its
 * mask, so that they tell of every other writer.
 */
static int judge_trust(const struct walk *w, const struct stat *st)
{
	char hint[PATH_MAX + 64];

	if (st->st_uid != 0) {
		snprintf(hint, sizeof(hint), "check what it holds, then: chown root \"%s\"",
			 w->part);
		return distrust(w, hint, "belongs to user %u, mode %04o", st->st_uid,
				st->st_mode & 07777);
	}
	if (st->st_mode & (S_IWGRP | S_IWOTH)) {
		snprintf(hint, sizeof(hint), "check what it holds, then: chmod go-w \"%s\"",
			 w->part);
		return distrust(w, hint, "has mode %04o, others than root can write it",
				st->st_mode & 07777);
	}
	return 0;
}

static int judge(const struct walk *w, int fd, bool last)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_errno(w);
	if (S_ISLNK(st.st_mode))
		return distrust(w, "put the file itself there, or give its path without links",
				"is a symbolic link");
	if (last && !S_ISREG(st.st_mode))
		return distrust(w, "put a plain file there", "is not a plain file");
	if (!last && !S_ISDIR(st.st_mode))
		return distrust(w, "give the path of the file", "is not a directory");
	return judge_trust(w, &st);
}

/*
 * One step of the walk: open @name for its identity only, which neither follows a link nor waits for
 * a FIFO nor wakes a device, and judge what was opened.
 */
static int enter(const struct walk *w, int parent, const char *name, bool last, int *ret_fd)
{
	_cleanup_close_ int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int r;

	if (fd < 0)
		return fail_errno(w);
	r = judge(w, fd, last);
	if (r < 0)
		return r;
	*ret_fd = eph_steal_fd(&fd);
	return 0;
}

/* Open for reading what enter() found good. Judged once more: it was opened by name again. */
static int open_plain(const struct walk *w, int parent, const char *name, int *ret_fd)
{
	_cleanup_close_ int known = -1, fd = -1;
	int r;

	r = enter(w, parent, name, true, &known);
	if (r < 0)
		return r;
	fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return fail_errno(w);
	r = judge(w, fd, true);
	if (r < 0)
		return r;
	*ret_fd = eph_steal_fd(&fd);
	return 0;
}

/*
 * Split the first component off: *@path then stands on the next one, or on the NUL. False where it
 * is none to walk into: "..", and what no file system holds.
 */
static bool next_component(struct walk *w, const char **path, char name[NAME_MAX + 1])
{
	size_t n = strcspn(*path, "/");

	if (n == 0 || n > NAME_MAX)
		return false;
	memcpy(name, *path, n);
	name[n] = '\0';
	*path += n;
	snprintf(w->part, sizeof(w->part), "%.*s", (int)(*path - w->file), w->file);
	*path += strspn(*path, "/");
	return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static int open_trusted(struct walk *w, int *ret_fd)
{
	_cleanup_close_ int dir = -1;
	const char *rest = w->file + strspn(w->file, "/");
	char name[NAME_MAX + 1];
	int r;

	snprintf(w->part, sizeof(w->part), "/");
	r = enter(w, AT_FDCWD, "/", false, &dir);
	while (r == 0) {
		int next;

		if (!next_component(w, &rest, name))
			return eph_fail(w->ctx, EPHLVM_ERROR_INVALID, EINVAL, w->file,
					"give an absolute path without \".\" and \"..\"",
					"configuration path \"%s\" cannot be walked", w->file);
		if (!*rest)
			return open_plain(w, dir, name, ret_fd);
		r = enter(w, dir, name, false, &next);
		if (r < 0)
			return r;
		close(dir);
		dir = next;
	}
	return r;
}

/* @fd to its end. A file that grows meanwhile is caught by the bound as well. */
static int read_bounded(const struct walk *w, int fd, char **ret_text, size_t *ret_bytes)
{
	_cleanup_free_ char *text = malloc(EPH_CONFIG_MAX_BYTES + 1);
	size_t n = 0;

	if (!text)
		return eph_fail_oom(w->ctx);
	while (n <= EPH_CONFIG_MAX_BYTES) {
		ssize_t got = read(fd, text + n, EPH_CONFIG_MAX_BYTES + 1 - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return fail_errno(w);
		if (got == 0) {
			*ret_text = eph_steal(text);
			*ret_bytes = n;
			return 0;
		}
		n += (size_t)got;
	}
	return eph_fail(w->ctx, EPHLVM_ERROR_INVALID, EINVAL, w->file, NULL,
			"configuration \"%s\" is larger than %zu bytes", w->file,
			EPH_CONFIG_MAX_BYTES);
}

/* 0, or -ENOENT without a record, or another failure with it. */
static int read_trusted(struct ephlvm_ctx *ctx, const char *file, char **ret_text,
			size_t *ret_bytes)
{
	_cleanup_free_ struct walk *w = calloc(1, sizeof(*w));
	_cleanup_close_ int fd = -1;
	int r;

	if (!w)
		return eph_fail_oom(ctx);
	w->ctx = ctx;
	w->file = file;
	r = open_trusted(w, &fd);
	if (r < 0)
		return r;
	return read_bounded(w, fd, ret_text, ret_bytes);
}

static int load(struct ephlvm_ctx *ctx, struct eph_config **ret_config)
{
	const char *file = ctx->config_path ? ctx->config_path : EPH_CONFIG_PATH;
	_cleanup_free_ char *text = NULL;
	struct eph_config *config;
	size_t n;
	int r;

	r = read_trusted(ctx, file, &text, &n);
	if (r == -ENOENT && ctx->config_path)
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, file, "check the path",
				"configuration \"%s\" does not exist", file);
	if (r == -ENOENT)
		return eph_config_default(ctx, ret_config);
	if (r < 0)
		return r;
	r = eph_config_parse(ctx, file, text, n, &config);
	if (r < 0)
		return r;
	config->from_file = true;
	eph_debug(ctx, "configuration read from \"%s\"", file);
	*ret_config = config;
	return 0;
}

int eph_config_get(struct ephlvm_ctx *ctx, const struct eph_config **ret_config)
{
	int r;

	if (!ctx->config) {
		r = load(ctx, &ctx->config);
		if (r < 0)
			return r;
		ctx->config_free = eph_config_free;
	}
	*ret_config = ctx->config;
	return 0;
}

/* --- public calls that need the file --- */

int ephlvm_config_check(struct ephlvm_ctx *ctx, bool *ret_exists)
{
	const struct eph_config *config;
	int r;

	eph_enter(ctx);
	r = eph_config_get(ctx, &config);
	if (r < 0)
		return r;
	if (ret_exists)
		*ret_exists = config->from_file;
	return 0;
}

int ephlvm_config_show(struct ephlvm_ctx *ctx, char **ret_json)
{
	const struct eph_config *config;
	int r;

	eph_enter(ctx);
	r = eph_config_get(ctx, &config);
	if (r < 0)
		return r;
	return eph_config_text(ctx, config, ret_json);
}

int ephlvm_flavor_count(struct ephlvm_ctx *ctx, size_t *ret_count)
{
	const struct eph_config *config;
	int r;

	eph_enter(ctx);
	r = eph_config_get(ctx, &config);
	if (r < 0)
		return r;
	*ret_count = config->n_flavors;
	return 0;
}

const struct ephlvm_flavor *ephlvm_flavor_at(struct ephlvm_ctx *ctx, size_t index)
{
	if (!ctx->config || index >= ctx->config->n_flavors)
		return NULL;
	return &ctx->config->flavors[index];
}

int ephlvm_flavor_find(struct ephlvm_ctx *ctx, const char *name,
		       const struct ephlvm_flavor **ret_flavor)
{
	const struct ephlvm_flavor *flavor;
	const struct eph_config *config;
	int r;

	eph_enter(ctx);
	r = eph_config_get(ctx, &config);
	if (r < 0)
		return r;
	flavor = eph_flavor_find(config, name);
	if (!flavor)
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, name,
				"list them with: ephlvm flavor list",
				"flavor \"%.80s\" is not known", name);
	*ret_flavor = flavor;
	return 0;
}
