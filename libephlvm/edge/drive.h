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
 * Is it free for us? @fd is from eph_drive_open(): what is found stays true while it is open. Mounts, swap and holders, of it or of a partition, make it busy (-EBUSY). A signature
 * or partitions are -EEXIST and @ret_signature (owned by the caller) names them: the caller may have
 * leave to destroy them.
 */
int eph_drive_check_free(struct ephlvm_ctx *ctx, const struct eph_drive *drive, int fd,
			 char **ret_signature);

/* Is @path this drive, or a partition of it? */
bool eph_drive_holds(const struct eph_drive *drive, const char *path);

/* After an erase: the kernel drops the partitions that it knew. */
void eph_drive_forget_partitions(int fd);

/*
 * Open for erasing: claimed exclusively (nobody can mount it, or make a PV of it, while it is open), and
 * proven to be that device. -EBUSY names its user.
 */
int eph_drive_open(struct ephlvm_ctx *ctx, const struct eph_drive *drive, int *ret_fd);

/* Can a loop file of that name and size be made? What eph_loop_make() checks first. */
int eph_loop_check(struct ephlvm_ctx *ctx, const char *file, uint64_t size_bytes);

/*
 * Make @file (it must not exist) of @size_bytes and put a loop device over it. On failure nothing
 * is left. @ret_path receives "/dev/loopN"; owned by the caller.
 */
int eph_loop_make(struct ephlvm_ctx *ctx, const char *file, uint64_t size_bytes, char **ret_path);
/* Undo of the former. */
void eph_loop_unmake(struct ephlvm_ctx *ctx, const char *file, const char *path);

#endif
