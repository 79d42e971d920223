// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * drive.c - whole block devices by path: identity, what is on them, loop devices.
 * Owns the rule when a device is free for a pool. Must not erase or label anything.
 */
#include "edge/drive.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "edge/fs.h"
#include "edge/holders.h"
#include "util/cleanup.h"
#include "util/text.h"

/* First line of a sysfs attribute, without trailing blanks (serials are padded); NULL for none. */
static char *sysfs_line(const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	char buf[256];
	size_t n;

	if (!f || !fgets(buf, sizeof(buf), f))
		return NULL;
	n = strlen(buf);
	while (n > 0 && (buf[n - 1] == '\n' || buf[n - 1] == ' '))
		buf[--n] = '\0';
	return n > 0 ? strdup(buf + strspn(buf, " ")) : NULL;
}

/* NVMe and SCSI have it below device/, virtio beside. */
static char *drive_serial(dev_t devno)
{
	static const char *const places[] = { "device/serial", "serial" };
	char path[96];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		char *serial;

		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s", major(devno), minor(devno),
			 places[i]);
		serial = sysfs_line(path);
		if (serial)
			return serial;
	}
	return NULL;
}

static int kernel_name(dev_t devno, char **ret_name)
{
	char link[64], target[PATH_MAX], *slash;
	ssize_t n;

	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(devno), minor(devno));
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	slash = strrchr(target, '/');
	*ret_name = strdup(slash ? slash + 1 : target);
	return *ret_name ? 0 : -ENOMEM;
}

int eph_drive_read(struct ephlvm_ctx *ctx, const char *path, struct eph_drive *ret_drive)
{
	__attribute__((cleanup(eph_drive_clear))) struct eph_drive d = { 0 };
	unsigned long long sectors = 0;
	_cleanup_free_ char *text = NULL;
	char attr[64];
	struct stat st;
	int r;

	if (path[0] != '/')
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, path, "give its absolute path",
				"device \"%s\" is not an absolute path", path);
	d.path = realpath(path, NULL);
	if (!d.path || stat(d.path, &st) < 0)
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, path, "see lsblk",
				"there is no device \"%s\": %s", path, strerror(errno));
	if (!S_ISBLK(st.st_mode))
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, path, "see lsblk",
				"\"%s\" is not a block device", path);
	d.devno = st.st_rdev;
	r = kernel_name(d.devno, &d.name);
	if (r < 0)
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENODEV, path, "see lsblk",
				"\"%s\" has no device behind it: %s", path, strerror(-r));
	d.serial = drive_serial(d.devno);
	if (!d.serial)
		d.serial = strdup(d.name);
	snprintf(attr, sizeof(attr), "/sys/dev/block/%u:%u/size", major(d.devno), minor(d.devno));
	text = sysfs_line(attr);
	if (!d.serial)
		return eph_fail_oom(ctx);
	if (!text || sscanf(text, "%llu", &sectors) != 1 || sectors == 0)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, path, NULL, "\"%s\" has no size",
				path);
	d.size_bytes = sectors * 512;
	snprintf(attr, sizeof(attr), "/sys/dev/block/%u:%u/partition", major(d.devno),
		 minor(d.devno));
	d.partition = access(attr, F_OK) == 0;
	*ret_drive = d;
	memset(&d, 0, sizeof(d));
	return 0;
}

void eph_drive_clear(struct eph_drive *drive)
{
	free(drive->path);
	free(drive->name);
	free(drive->serial);
	memset(drive, 0, sizeof(*drive));
}

static int prove(struct ephlvm_ctx *ctx, const struct eph_drive *drive, int fd)
{
	uint64_t bytes = 0;
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISBLK(st.st_mode) || st.st_rdev != drive->devno ||
	    ioctl(fd, BLKGETSIZE64, &bytes) < 0 || bytes != drive->size_bytes)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, ESTALE, drive->path, "try again",
				"\"%s\" is not the device any more that was examined", drive->path);
	return 0;
}

static int fail_busy(struct ephlvm_ctx *ctx, const struct eph_drive *drive,
		     const struct eph_strv *known)
{
	_cleanup_strv_ struct eph_strv holders = EPH_STRV_INIT, partitions = EPH_STRV_INIT;
	_cleanup_free_ char *text = NULL;

	/* The user may be one of a partition: the kernel claims the whole disk for it. */
	if (!known && (eph_holders_find(drive->devno, &holders) < 0 ||
		       eph_holders_find_partitions(drive->devno, &partitions, &holders) < 0))
		return eph_fail_oom(ctx);
	if (eph_holders_text(known ? known : &holders, &text) < 0)
		return eph_fail_oom(ctx);
	return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, drive->path,
			"choose another device, or take it out of use first",
			"device \"%s\" is in use: %s", drive->path, text);
}

int eph_drive_open(struct ephlvm_ctx *ctx, const struct eph_drive *drive, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	int r;

	fd = open(drive->path, O_RDWR | O_EXCL | O_DIRECT | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == EBUSY)
		return fail_busy(ctx, drive, NULL);
	if (fd < 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, errno, drive->path, NULL,
				"cannot open \"%s\": %s", drive->path, strerror(errno));
	r = prove(ctx, drive, fd);
	if (r < 0)
		return r;
	*ret_fd = eph_steal_fd(&fd);
	return 0;
}

int eph_drive_check_free(struct ephlvm_ctx *ctx, const struct eph_drive *drive, int fd,
			 char **ret_signature)
{
	__attribute__((cleanup(eph_fs_found_clear))) struct eph_fs_found found = { 0 };
	_cleanup_strv_ struct eph_strv holders = EPH_STRV_INIT, partitions = EPH_STRV_INIT;
	char *signature = NULL;
	int r;

	if (eph_holders_find_static(drive->devno, &holders) < 0 ||
	    eph_holders_find_partitions(drive->devno, &partitions, &holders) < 0)
		return eph_fail_oom(ctx);
	if (holders.n > 0)
		return fail_busy(ctx, drive, &holders);
	r = eph_fs_probe(ctx, fd, drive->path, &found);
	if (r < 0)
		return r;
	if (!found.type && !found.pttype && partitions.n == 0)
		return 0;
	if (asprintf(&signature, "%s%s%s%s, %zu partitions",
		     found.type	  ? found.type :
		     found.pttype ? found.pttype :
				    "a partition table",
		     found.label ? " labelled \"" : "", found.label ? found.label : "",
		     found.label ? "\"" : "", partitions.n) < 0)
		return eph_fail_oom(ctx);
	*ret_signature = signature;
	return -EEXIST;
}

void eph_drive_forget_partitions(int fd)
{
	/* Loop devices without a partition scan say EINVAL; there is nothing to forget then. */
	(void)ioctl(fd, BLKRRPART);
}

bool eph_drive_holds(const struct eph_drive *drive, const char *path)
{
	char link[64], real[PATH_MAX];
	struct stat st;
	const char *at;

	if (stat(path, &st) < 0 || !S_ISBLK(st.st_mode))
		return false;
	if (st.st_rdev == drive->devno)
		return true;
	snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(st.st_rdev), minor(st.st_rdev));
	if (!realpath(link, real))
		return false;
	/* A partition's directory is below its disk's. */
	at = strstr(real, drive->name);
	return at && at[-1] == '/' && at[strlen(drive->name)] == '/';
}

/* --- loop devices --- */

static int fail_file(struct ephlvm_ctx *ctx, const char *file, int errnum, const char *doing)
{
	return eph_fail(ctx,
			errnum == ENOSPC ? EPHLVM_ERROR_NO_SPACE :
			errnum == EEXIST ? EPHLVM_ERROR_INVALID :
					   EPHLVM_ERROR_SYSTEM,
			errnum, file, errnum == EEXIST ? "name a file that does not exist" : NULL,
			"%s \"%s\" failed: %s", doing, file, strerror(errnum));
}

/*
 * Whether what the loop device was given can be had. Direct I/O is granted by some file systems that then fail every
 * read (overlayfs over one without it): such a file is used through the page cache.
 */
static int check_loop_reads(struct ephlvm_ctx *ctx, const char *file, int loop)
{
	char block[512];

	if (pread(loop, block, sizeof(block), 0) == (ssize_t)sizeof(block))
		return 0;
	if (ioctl(loop, LOOP_SET_DIRECT_IO, 0UL) == 0 &&
	    pread(loop, block, sizeof(block), 0) == (ssize_t)sizeof(block)) {
		eph_warn(ctx,
			 "the file system of \"%s\" has no direct I/O: the loop device goes "
			 "through the page cache",
			 file);
		return 0;
	}
	return fail_file(ctx, file, EIO, "reading the loop device over");
}

/* A free loop number may be taken by another between asking and using it: then ask again. */
static int attach_free_loop(struct ephlvm_ctx *ctx, const char *file, int fd, char **ret_path)
{
	_cleanup_close_ int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	struct loop_config config = {
		.fd = (uint32_t)fd,
		.info = { .lo_flags = LO_FLAGS_DIRECT_IO },
	};

	if (control < 0)
		return fail_file(ctx, file, errno, "opening /dev/loop-control for");
	snprintf((char *)config.info.lo_file_name, sizeof(config.info.lo_file_name), "%s", file);
	for (unsigned int tries = 0; tries < 16; tries++) {
		_cleanup_close_ int loop = -1;
		_cleanup_free_ char *path = NULL;
		int number = ioctl(control, LOOP_CTL_GET_FREE);

		if (number < 0)
			return fail_file(ctx, file, errno, "finding a free loop device for");
		if (asprintf(&path, "/dev/loop%d", number) < 0) {
			path = NULL;
			return eph_fail_oom(ctx);
		}
		loop = open(path, O_RDWR | O_CLOEXEC);
		if (loop < 0)
			return fail_file(ctx, file, errno, "opening a loop device for");
		if (ioctl(loop, LOOP_CONFIGURE, &config) == 0) {
			int r = check_loop_reads(ctx, file, loop);

			if (r < 0)
				(void)ioctl(loop, LOOP_CLR_FD);
			else
				*ret_path = eph_steal(path);
			return r;
		}
		if (errno == EINVAL && config.info.lo_flags) {
			/* The file's file system has no direct I/O. */
			config.info.lo_flags = 0;
			continue;
		}
		if (errno != EBUSY)
			return fail_file(ctx, file, errno, "putting a loop device over");
	}
	return fail_file(ctx, file, EBUSY, "putting a loop device over");
}

int eph_loop_check(struct ephlvm_ctx *ctx, const char *file, uint64_t size_bytes)
{
	if (file[0] != '/')
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, file, "give its absolute path",
				"loop file \"%s\" is not an absolute path", file);
	if (size_bytes == 0 || size_bytes > INT64_MAX || size_bytes % 4096)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, file,
				"give a multiple of 4096 bytes: --size 20G",
				"%llu bytes are no size for a loop file",
				(unsigned long long)size_bytes);
	if (access(file, F_OK) == 0)
		return fail_file(ctx, file, EEXIST, "making loop file");
	return 0;
}

int eph_loop_make(struct ephlvm_ctx *ctx, const char *file, uint64_t size_bytes, char **ret_path)
{
	_cleanup_close_ int fd = -1;
	int r;

	r = eph_loop_check(ctx, file, size_bytes);
	if (r < 0)
		return r;
	fd = open(file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return fail_file(ctx, file, errno, "making loop file");
	r = ftruncate(fd, (off_t)size_bytes) < 0 ? fail_file(ctx, file, errno, "sizing loop file") :
						   attach_free_loop(ctx, file, fd, ret_path);
	if (r < 0)
		unlink(file);
	return r;
}

void eph_loop_unmake(struct ephlvm_ctx *ctx, const char *file, const char *path)
{
	_cleanup_close_ int loop = open(path, O_RDWR | O_CLOEXEC);

	if (loop < 0 || ioctl(loop, LOOP_CLR_FD) < 0) {
		eph_warn(ctx, "could not take loop device %s away: %s", path, strerror(errno));
		return;
	}
	if (unlink(file) < 0)
		eph_warn(ctx, "could not remove \"%s\": %s", file, strerror(errno));
}
