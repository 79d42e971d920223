/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * object/pool.h - pools in a view: finding them, may they be changed, what do they hold.
 */
#ifndef EPH_OBJECT_POOL_H
#define EPH_OBJECT_POOL_H

#include <ephlvm/pool.h>

#include "core/context.h"
#include "edge/lvm.h"

#define EPH_TAG_POOL "ephlvm.pool="

/* Name of the pool that a VG is; NULL when it is none. Points into the VG's tags. */
const char *eph_vg_pool_name(const struct eph_vg *vg);

/*
 * The pool with that name, or the only one where @name is NULL. -ENOENT, -EINVAL (several and no
 * name), -EEXIST (two of that name; both UUIDs named).
 */
int eph_pool_find(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view, const char *name,
		  struct eph_vg **ret_vg);

/* May volumes of it be changed: not exported, shared or another host's, name not doubled. Partial is allowed. */
int eph_pool_check_writable(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
			    const struct eph_vg *vg);

/* Extents that a linear volume can get now: 0 in a partial VG. */
uint64_t eph_pool_free_extents(const struct eph_vg *vg);

/*
 * Admission: room for @n volumes of @extents in all, the reserve and the metadata they need. Refuses
 * before LVM is asked: -ENOSPC with both figures, -EIO for a partial VG.
 */
int eph_pool_admit(struct ephlvm_ctx *ctx, const struct eph_vg *vg, uint64_t extents, size_t n,
		   uint64_t reserve_bytes);

/* Bytes rounded up to whole extents; -EOVERFLOW. */
int eph_pool_extents(const struct eph_vg *vg, uint64_t bytes, uint64_t *ret_extents);

#endif
