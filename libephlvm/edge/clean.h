/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/clean.h - the proof that every free extent of a VG holds zeros.
 *
 * It says "as of this committed metadata" and is a small file that holds the metadata's number and
 * hash. While LVM's metadata is that very text, free space is clean; any commit that was not ours,
 * a lost file, any doubt: it is not. The verbs of edge/lvm.h carry it on over their own commits,
 * under a lock of the proof.
 */
#ifndef EPH_EDGE_CLEAN_H
#define EPH_EDGE_CLEAN_H

#include "edge/lock.h"
#include "edge/lvm_meta.h"

/*
 * Is the free space of @vg proven clean at this moment? The one question that decides, for plans
 * and for show. A commit of ours that is under way is waited for up to @wait_ms. Any failure means
 * no; no record.
 */
bool eph_clean_holds(struct ephlvm_ctx *ctx, const struct eph_vg *vg, unsigned int wait_ms);

/* What a first proof stands on: looked up in the metadata that is proven, not in the caller's view. */
enum eph_clean_ground {
	EPH_CLEAN_NEW_VG, /* the caller erased the drives whole, and nothing happened since vgcreate */
	EPH_CLEAN_NO_FREE, /* there is no free extent that could hold anything */
};
/* Flush the PVs and write the proof, if the ground is there. False, with a warning, where it is not. */
bool eph_clean_set(struct ephlvm_ctx *ctx, const struct eph_vg *vg, enum eph_clean_ground ground);

/* Remove the proof, durably. What is not there is removed. 0 or -errno with its record. */
int eph_clean_drop(struct ephlvm_ctx *ctx, const char *vg_uuid);

/* --- for the LVM room: around each change that commits --- */

enum eph_clean_use {
	EPH_CLEAN_KEEPS, /* free space stays as it is, or what joins it was erased */
	EPH_CLEAN_TAKES, /* free space is given out: the caller erases it unless it was clean */
	EPH_CLEAN_DIRTIES, /* what was not erased becomes free */
};

struct eph_clean_carry {
	enum eph_clean_use use;
	struct eph_lock *lock;
	bool held; /* the proof held before */
	struct eph_lvm_meta before;
};
void eph_clean_carry_clear(struct eph_clean_carry *carry);
#define _cleanup_carry_ __attribute__((cleanup(eph_clean_carry_clear)))

/*
 * Before the change. Where there is a proof, its lock is taken and held until the carry is cleared;
 * a stale one is removed, one that the change makes untrue too. Without one there is neither lock
 * nor cost (but for EPH_CLEAN_DIRTIES, which keeps others from setting one meanwhile). A failure
 * means that nothing may be changed: -ETIMEDOUT for the lock, -errno for a proof that cannot be
 * removed. What only keeps free space as it is can do with a stale proof, which no metadata will
 * ever equal: a warning.
 */
int eph_clean_begin(struct ephlvm_ctx *ctx, const struct eph_vg *vg, enum eph_clean_use use,
		    struct eph_clean_carry *ret_carry);

/*
 * After it. @done: LVM ended well and said that it did it. The proof is carried where the metadata
 * moved by exactly that one commit, stays where nothing moved, and is removed else. *ret_clean: it
 * was carried.
 */
int eph_clean_end(struct ephlvm_ctx *ctx, const struct eph_vg *vg, struct eph_clean_carry *carry,
		  bool done, bool *ret_clean);

#endif
