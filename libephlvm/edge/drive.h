/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/drive.h - whole block devices that may become part of a pool: what they are, what is on them,
 * and loop devices over files of ours.
 */
#ifndef EPH_EDGE_DRIVE_H
#define EPH_EDGE_DRIVE_H

#include <sys/types.h>

#include "core/context.h"

struct eph_drive {
	char *path; /* as LVM will see it: links resolved */
	char *name; /* kernel name, "nvme0n1" */
	char *serial; /* the drive's own, else its kernel name */
	dev_t devno;
	uint64_t size_bytes;
	bool partition;
};

/* Follow links to a block device and read what sysfs says. 0; -ENOENT, -EINVAL (not a block device). */
int eph_drive_read(struct ephlvm_ctx *ctx, const char *path, struct eph_drive *ret_drive);
void eph_drive_clear(struct eph_drive *drive);

/*
 * Is it free for us? Mounts, swap, holders and partitions make it busy (-EBUSY). A signature is
 * -EEXIST and @ret_signature (owned by the caller) names it: the caller may have leave to destroy it.
 */
int eph_drive_check_free(struct ephlvm_ctx *ctx, const struct eph_drive *drive,
			 char **ret_signature);

/* Open for erasing: claimed exclusively, and proven to be that device. */
int eph_drive_open(struct ephlvm_ctx *ctx, const struct eph_drive *drive, int *ret_fd);

/*
 * Make @file (it must not exist) of @size_bytes and put a loop device over it. On failure nothing
 * is left. @ret_path receives "/dev/loopN"; owned by the caller.
 */
int eph_loop_make(struct ephlvm_ctx *ctx, const char *file, uint64_t size_bytes, char **ret_path);
/* Undo of the former. */
void eph_loop_unmake(struct ephlvm_ctx *ctx, const char *file, const char *path);

#endif
