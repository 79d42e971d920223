/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/dm.h - device-mapper: is an LV active, as which device, who holds it, and the proof that a
 * descriptor is that LV. Asks the kernel (libdevmapper, sysfs, procfs), never LVM.
 */
#ifndef EPH_EDGE_DM_H
#define EPH_EDGE_DM_H

#include <sys/types.h>

#include "core/context.h"

/* "LVM-" + VG uuid + LV uuid without hyphens: at most 68 characters and NUL. */
#define EPH_DM_UUID_TEXT 80

struct eph_dm_info {
	bool exists;
	dev_t devno;
	unsigned int open_count;
	bool suspended;
	bool live_table;
	bool inactive_table; /* a table is loaded and not yet live */
	uint64_t size_bytes; /* of the live table */
	char name[128];
};

/*
 * Usable as it is: a killed lvcreate or lvchange can leave a device without a live table, or one that is
 * suspended. Such an LV wants activating again.
 */
bool eph_dm_usable(const struct eph_dm_info *info);

/*
 * Does @path ("/dev/VG/LV") lead to that device? It is udev's link, and what libvirt is given. 0; -ENOENT or -ESTALE.
 */
int eph_dm_check_path(struct ephlvm_ctx *ctx, const char *vg_uuid, const char *lv_uuid,
		      const char *path);

/* dm uuid of an LV. -EINVAL when a uuid is not LVM's form. */
int eph_dm_lv_uuid(const char *vg_uuid, const char *lv_uuid, char ret_uuid[EPH_DM_UUID_TEXT]);

/* Ask for a device by the LV's identity. Absent is no error: exists is false. */
int eph_dm_info(struct ephlvm_ctx *ctx, const char *vg_uuid, const char *lv_uuid,
		struct eph_dm_info *ret_info);

/* Is there a kernel device-mapper at all? 0, or -ENODEV with its record. */
int eph_dm_check(struct ephlvm_ctx *ctx);

/*
 * Open the LV's device by number for reading and writing and prove that it is the LV: dm uuid, size,
 * not suspended, and (with @exclusive) open by nobody else and claimed by us (O_EXCL), which also
 * fails where it is mounted or held by another dm device. Its live table has to be linear: a snapshot of it would
 * take up what is written. @flags: extra open flags (O_DIRECT).
 * 0; -ENXIO (not active), -EBUSY (holder named), -ESTALE (it is not what it should be), -EIO.
 */
int eph_dm_open_lv(struct ephlvm_ctx *ctx, const char *vg_uuid, const char *lv_uuid,
		   const char *subject, uint64_t size_bytes, bool exclusive, int flags,
		   int *ret_fd);

/*
 * Prove again that @fd is still that LV, open at most @own_opens times: before each destructive
 * stage. Waits two seconds at most for udev to let go.
 */
int eph_dm_prove_lv(struct ephlvm_ctx *ctx, int fd, const char *vg_uuid, const char *lv_uuid,
		    const char *subject, uint64_t size_bytes, unsigned int own_opens);

#endif
