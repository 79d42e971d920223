// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * state.c - folders that are root's alone, and small files in them that survive a power cut whole.
 * Owns how such a file is replaced and read. Must not know what is in it.
 */
#include "edge/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"

static const char *state_dir(void)
{
#ifdef EPH_TEST_STOPS
	const char *dir = getenv("EPHLVM_STATE_DIR");

	if (dir)
		return dir;
#endif
	return EPH_STATE_DIR;
}

static int fail(struct ephlvm_ctx *ctx, const char *path, int errnum, const char *doing)
{
	return eph_fail_access(ctx, errnum, path, NULL, "\"%s\" cannot be %s: %s", path, doing,
			       strerror(errnum));
}

static bool is_private(const struct stat *st)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

/* As eph_folder_open(), below @at_fd; @path is the whole name, for errors. */
static int open_folder_at(struct ephlvm_ctx *ctx, int at_fd, const char *name, const char *path,
			  const char *what, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (mkdirat(at_fd, name, 0700) < 0 && errno != EEXIST)
		return fail(ctx, path, errno, "made");
	fd = openat(at_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return eph_fail(ctx, EPHLVM_ERROR_PERMISSION, EPERM, path,
				"remove it; it is made again as needed",
				"folder \"%s\" for %s is a link or no folder", path, what);
	if (fd < 0)
		return fail(ctx, path, errno, "opened");
	if (fstat(fd, &st) < 0)
		return fail(ctx, path, errno, "looked at");
	if (!is_private(&st))
		return eph_fail(ctx, EPHLVM_ERROR_PERMISSION, EPERM, path,
				"make it root's with mode 0700, or remove it",
				"folder \"%s\" for %s is not root's alone (owner %u, mode %04o)",
				path, what, (unsigned int)st.st_uid,
				(unsigned int)st.st_mode & 07777);
	*ret_fd = eph_steal_fd(&fd);
	return 0;
}

int eph_folder_open(struct ephlvm_ctx *ctx, const char *path, const char *what, int *ret_fd)
{
	return open_folder_at(ctx, AT_FDCWD, path, path, what, ret_fd);
}

int eph_state_open(struct ephlvm_ctx *ctx, const char *name, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	char path[PATH_MAX];
	int r;

	r = eph_folder_open(ctx, state_dir(), "state", &fd);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/%s", state_dir(), name);
	return open_folder_at(ctx, fd, name, path, name, ret_fd);
}

static int write_all(int fd, const char *data, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(fd, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data += n;
		bytes -= (size_t)n;
	}
	return 0;
}

int eph_state_write(struct ephlvm_ctx *ctx, int dir_fd, const char *name, const void *data,
		    size_t bytes)
{
	_cleanup_close_ int fd = -1;
	char beside[NAME_MAX + 1];
	int r;

	/* One name a process and thread: two writers must not share a half-written file. */
	if ((size_t)snprintf(beside, sizeof(beside), "%s.%d~", name, (int)gettid()) >=
	    sizeof(beside))
		return fail(ctx, name, ENAMETOOLONG, "written");
	r = eph_mark(ctx, "state-write");
	if (r < 0)
		return r;
	/* What a killed process of the same number left behind. */
	unlinkat(dir_fd, beside, 0);
	fd = openat(dir_fd, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail(ctx, name, errno, "written");
	r = write_all(fd, data, bytes);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0)
		r = eph_mark(ctx, "state-rename") < 0 ? -EIO : 0;
	if (r == 0 && renameat(dir_fd, beside, dir_fd, name) < 0)
		r = -errno;
	if (r == 0)
		r = eph_mark(ctx, "state-renamed") < 0 ? -EIO : 0;
	if (r == 0 && fsync(dir_fd) < 0)
		r = -errno;
	if (r < 0) {
		unlinkat(dir_fd, beside, 0);
		return fail(ctx, name, -r, "written");
	}
	return eph_mark(ctx, "state-written");
}

static int refuse(struct ephlvm_ctx *ctx, const char *name, const char *why)
{
	return eph_fail(ctx, EPHLVM_ERROR_PERMISSION, EPERM, name, "look at it, then remove it",
			"state file \"%s\" is not trusted: %s", name, why);
}

int eph_state_read(struct ephlvm_ctx *ctx, int dir_fd, const char *name, size_t max_bytes,
		   char **ret_data, size_t *ret_bytes)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *data = NULL;
	struct stat st;
	size_t have = 0;

	*ret_data = NULL;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && errno == ELOOP)
		return refuse(ctx, name, "it is a link");
	if (fd < 0)
		return fail(ctx, name, errno, "opened");
	if (fstat(fd, &st) < 0)
		return fail(ctx, name, errno, "looked at");
	if (!S_ISREG(st.st_mode))
		return refuse(ctx, name, "it is no plain file");
	if (!is_private(&st))
		return refuse(ctx, name, "others than root can write it");
	if (st.st_size < 0 || (uint64_t)st.st_size > max_bytes)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EFBIG, name, "look at it, then remove it",
				"state file \"%s\" has %lld bytes, more than %zu", name,
				(long long)st.st_size, max_bytes);
	data = malloc((size_t)st.st_size + 1);
	if (!data)
		return eph_fail_oom(ctx);
	while (have < (size_t)st.st_size) {
		ssize_t n = read(fd, data + have, (size_t)st.st_size - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(ctx, name, errno, "read");
		if (n == 0)
			break;
		have += (size_t)n;
	}
	data[have] = '\0';
	*ret_data = eph_steal(data);
	if (ret_bytes)
		*ret_bytes = have;
	return 0;
}

int eph_state_names(struct ephlvm_ctx *ctx, int dir_fd, struct eph_strv *ret_names)
{
	_cleanup_strv_ struct eph_strv names = EPH_STRV_INIT;
	int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	int r = 0;

	if (!dir) {
		r = errno;
		eph_closep(&copy);
		return fail(ctx, "state", r, "listed");
	}
	while (r == 0) {
		struct dirent *entry;

		errno = 0;
		entry = readdir(dir);
		if (!entry) {
			r = -errno;
			break;
		}
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = eph_strv_add(&names, entry->d_name);
	}
	closedir(dir);
	if (r < 0)
		return r == -ENOMEM ? eph_fail_oom(ctx) : fail(ctx, "state", -r, "listed");
	*ret_names = names;
	names = (struct eph_strv)EPH_STRV_INIT;
	return 0;
}

int eph_state_remove(struct ephlvm_ctx *ctx, int dir_fd, const char *name)
{
	int r = eph_mark(ctx, "state-remove");

	if (r < 0)
		return r;
	if (unlinkat(dir_fd, name, 0) < 0) {
		if (errno == ENOENT)
			return 0;
		return fail(ctx, name, errno, "removed");
	}
	r = eph_mark(ctx, "state-removed");
	if (r < 0)
		return r;
	return fsync(dir_fd) < 0 ? fail(ctx, name, errno, "removed") : 0;
}
