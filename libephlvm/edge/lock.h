/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/lock.h - our own locks: flock on a file per resource in /run/ephlvm (root, 0700).
 *
 * Order: instance, volume, then LVM's own. Held for a whole workflow; the descriptor is
 * close-on-exec, so no child holds a lock beyond its parent's life. Who waits gets it in the order of
 * asking; who does not wait (0) may come before them.
 */
#ifndef EPH_EDGE_LOCK_H
#define EPH_EDGE_LOCK_H

#include "core/context.h"

#define EPH_LOCK_DIR "/run/ephlvm"

enum eph_lock_kind {
	EPH_LOCK_INSTANCE, /* id: instance UUID */
	EPH_LOCK_VOLUME, /* id: LV uuid */
	EPH_LOCK_DRIVE, /* id: PV uuid; one erase of trash a drive. After the volume's, by uuid */
	EPH_LOCK_POOL, /* id: VG name for scrub; "init" for pool init, one a host */
	EPH_LOCK_PROOF, /* id: VG uuid; around a change and its proof of clean space. Last before LVM's */
};

struct eph_lock;

/*
 * Take the lock, waiting up to @timeout_ms (0: do not wait). After the flock the inode is compared with
 * what the name now shows, and the whole is tried again where the file was removed meanwhile.
 * 0; -ETIMEDOUT (kind BUSY; the record names the process that holds it where /proc/locks tells);
 * -EACCES, -EIO, -ENOMEM; -ECANCELED.
 */
int eph_lock_take(struct ephlvm_ctx *ctx, enum eph_lock_kind kind, const char *id,
		  unsigned int timeout_ms, struct eph_lock **ret_lock);

/*
 * Take one's turn before a command of LVM that takes LVM's locks: readers together, a change alone. Without it many
 * of our processes would start LVM again and again only to see that its lock is held. It is no lock that anything
 * relies on. As eph_lock_take(); the last of all.
 */
int eph_lock_take_turn(struct ephlvm_ctx *ctx, bool change, unsigned int timeout_ms,
		       struct eph_lock **ret_lock);

/* Remove the file while the lock is held, then unlock. Takes NULL. */
void eph_lock_release(struct eph_lock *lock);

static inline void eph_lock_releasep(struct eph_lock **lock)
{
	eph_lock_release(*lock);
}
#define _cleanup_lock_ __attribute__((cleanup(eph_lock_releasep)))

#endif
