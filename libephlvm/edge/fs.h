/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/fs.h - file systems: what there is on a device (libblkid), and making one (mkfs tools).
 */
#ifndef EPH_EDGE_FS_H
#define EPH_EDGE_FS_H

#include "core/context.h"

/* File systems that a volume can get: ext4 vfat xfs ntfs swap none. */
bool eph_fs_known(const char *fs);
/* "ext4, vfat, xfs, ntfs, swap, none": for messages. */
const char *eph_fs_allowed(void);

/*
 * Can @fs be made on @size_bytes with @label (NULL for none)? Label too long, device too small,
 * vfat beyond 2 TiB, tool not installed: refused before anything is made. No I/O but looking for the tool.
 * 0, -EINVAL, -ENOENT (tool missing, kind NOT_FOUND).
 */
int eph_fs_check(struct ephlvm_ctx *ctx, const char *fs, uint64_t size_bytes, const char *label);

/*
 * Make @fs with @label on the device behind @fd (opened read-write, not O_EXCL by us: the tools
 * open it themselves, through the inherited descriptor, so no path can be swapped). The device reads
 * as zeros, because create erased it; ext4 is told so. Signatures that are there all the same never make
 * it stop or ask. Then flush, and read type and label back with libblkid: -EIO where they differ.
 * "none" does nothing. @subject names the volume in errors.
 */
int eph_fs_make(struct ephlvm_ctx *ctx, int fd, const char *subject, const char *fs,
		const char *label);

/*
 * What is on the device behind @fd: type, label and usage of file system, raid, or partition table.
 * All NULL when there is nothing. Results are owned by the caller.
 */
struct eph_fs_found {
	char *type; /* "ext4", "LVM2_member", "crypto_LUKS" ...; NULL for none */
	char *label; /* NULL for none */
	char *pttype; /* "gpt", "dos"; NULL for none */
};
int eph_fs_probe(struct ephlvm_ctx *ctx, int fd, const char *subject,
		 struct eph_fs_found *ret_found);
void eph_fs_found_clear(struct eph_fs_found *found);

#endif
