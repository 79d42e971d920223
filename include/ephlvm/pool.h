/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pool.h - pools: a volume group that ephlvm manages.
 *
 * The tag ephlvm.pool=NAME on a volume group makes it a pool.
 */
#ifndef EPHLVM_POOL_H
#define EPHLVM_POOL_H

#include <ephlvm/volume.h>

EPHLVM_BEGIN_DECLS

struct ephlvm_pool;
struct ephlvm_pools;

/**
 * struct ephlvm_pool_init_opts - what pool to make
 * @size: sizeof(struct ephlvm_pool_init_opts); set by EPHLVM_POOL_INIT_OPTS_INIT
 * @flags: EPHLVM_DRY_RUN, or 0
 * @pool: pool name; NULL for "ephlvm"
 * @vg: VG name; NULL for the pool's name
 * @devices: block devices, ended by NULL; NULL (with @vg) takes over that VG
 * @loop_file: file to make and use as a loop device instead of @devices; NULL for none
 * @loop_bytes: its size
 * @wipe_serials: serials (or names where a device has none) of devices whose content may be
 *                destroyed, ended by NULL; NULL for none
 * @no_erase: do not erase the devices: their space then counts as dirty, and every create
 *            erases first
 */
struct ephlvm_pool_init_opts {
	size_t size;
	unsigned int flags;
	const char *pool;
	const char *vg;
	const char *const *devices;
	const char *loop_file;
	uint64_t loop_bytes;
	const char *const *wipe_serials;
	bool no_erase;
};
#define EPHLVM_POOL_INIT_OPTS_INIT                           \
	{                                                    \
		.size = sizeof(struct ephlvm_pool_init_opts) \
	}

/**
 * ephlvm_pool_init - make a pool, or take over an existing VG as one
 * @ctx: context, not NULL
 * @opts: what to make, not NULL
 *
 * Refuses a device that bears a signature or partitions, unless its serial is in @wipe_serials;
 * mounts, swap, holders and PVs of a VG, of the device or of a partition, are refused always.
 * Claims the devices while it looks at them and erases them. Erases, makes PVs
 * with a metadata area of 64 MiB, makes the VG, tags it, switches auto-activation off for it.
 * Taking over touches no LV, but auto-activation goes off for all of that VG's (the log says
 * so). The same call again with the same devices does nothing. Free space of what was erased
 * here is proven clean (ephlvm_pool_clean()); that of a VG taken over is not. Blocks, with progress; needs
 * root.
 *
 * Return: 0, or -EINVAL, -EEXIST (name taken, or a signature or partitions found; kind BUSY),
 * -ENOENT (device or VG), -EBUSY (in use), -ENOSPC (loop file), -EILSEQ (an erased drive
 * reads back other bytes), -ECANCELED, or one of the common ones (volume.h).
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_pool_init(struct ephlvm_ctx *ctx,
				   const struct ephlvm_pool_init_opts *opts);

/**
 * ephlvm_pool_device_serial - by what name pool_init wants a device's wipe confirmed
 * @ctx: context, not NULL
 * @device: path of a block device, not NULL
 * @ret_serial: receives the drive's serial, or its kernel name where it has none; free() it
 *
 * Return: 0, or -ENOENT, -EINVAL (not a block device), -ENOMEM.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_pool_device_serial(struct ephlvm_ctx *ctx, const char *device,
					    char **ret_serial);

/**
 * ephlvm_pool_scrub - erase all free space of a pool
 * @ctx: context, not NULL
 * @pool: pool name; NULL for the host's only one
 * @flags: EPHLVM_DRY_RUN, or 0
 *
 * Carves the free space into trash and purges that through the same engine; interrupted, the
 * trash stays and the next purge finishes. The method "none" of the configuration is not followed
 * here: it is "zero" then. Where that was all free space, and nobody else changes
 * the volume group meanwhile, free space is proven clean afterwards (ephlvm_pool_clean()). Blocks, with
 * progress; needs root.
 *
 * Return: as ephlvm_purge().
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_pool_scrub(struct ephlvm_ctx *ctx, const char *pool, unsigned int flags);

/**
 * ephlvm_pool_list - list pools
 * @ctx: context, not NULL
 * @pool: only this one; NULL for all
 * @ret_pools: receives the pools, sorted by name; free with ephlvm_pools_free(); not NULL
 *
 * Reads without LVM's locks. Whether free space is clean is looked up in the metadata on the drives;
 * a change by ephlvm that is under way is waited for, a second at most. Needs root.
 *
 * Return: 0, or -ENOENT (no such pool), or one of the common ones (volume.h).
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_pool_list(struct ephlvm_ctx *ctx, const char *pool,
				   struct ephlvm_pools **ret_pools);

/** ephlvm_pools_count - number of pools; 0 for NULL. Since: 0.1 */
EPHLVM_EXPORT size_t ephlvm_pools_count(const struct ephlvm_pools *pools);
/** ephlvm_pools_at - one pool, owned by @pools; NULL beyond the end. Since: 0.1 */
EPHLVM_EXPORT const struct ephlvm_pool *ephlvm_pools_at(const struct ephlvm_pools *pools,
							size_t index);
/** ephlvm_pools_free - free a list and its pools; takes NULL. Since: 0.1 */
EPHLVM_EXPORT void ephlvm_pools_free(struct ephlvm_pools *pools);

/** ephlvm_pool_name - pool name. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_pool_name(const struct ephlvm_pool *pool);
/** ephlvm_pool_vg - VG name. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_pool_vg(const struct ephlvm_pool *pool);
/** ephlvm_pool_vg_uuid - LVM's UUID of the VG. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_pool_vg_uuid(const struct ephlvm_pool *pool);
/** ephlvm_pool_size_bytes - size of the VG. Since: 0.1 */
EPHLVM_EXPORT uint64_t ephlvm_pool_size_bytes(const struct ephlvm_pool *pool);
/** ephlvm_pool_free_bytes - free space of the VG. Since: 0.1 */
EPHLVM_EXPORT uint64_t ephlvm_pool_free_bytes(const struct ephlvm_pool *pool);
/** ephlvm_pool_allocatable_bytes - what create can use now; 0 in a partial VG. Since: 0.1 */
EPHLVM_EXPORT uint64_t ephlvm_pool_allocatable_bytes(const struct ephlvm_pool *pool);
/** ephlvm_pool_trash_bytes - space that a purge will free. Since: 0.1 */
EPHLVM_EXPORT uint64_t ephlvm_pool_trash_bytes(const struct ephlvm_pool *pool);
/** ephlvm_pool_extent_bytes - size of a physical extent. Since: 0.1 */
EPHLVM_EXPORT uint64_t ephlvm_pool_extent_bytes(const struct ephlvm_pool *pool);
/** ephlvm_pool_metadata_bytes - size of the smallest metadata area. Since: 0.1 */
EPHLVM_EXPORT uint64_t ephlvm_pool_metadata_bytes(const struct ephlvm_pool *pool);
/** ephlvm_pool_metadata_free_bytes - free space in the fullest metadata area. Since: 0.1 */
EPHLVM_EXPORT uint64_t ephlvm_pool_metadata_free_bytes(const struct ephlvm_pool *pool);
/** ephlvm_pool_volume_count - number of ephlvm's volumes, trash included. Since: 0.1 */
EPHLVM_EXPORT size_t ephlvm_pool_volume_count(const struct ephlvm_pool *pool);
/** ephlvm_pool_foreign_count - number of LVs that are not ephlvm's. Since: 0.1 */
EPHLVM_EXPORT size_t ephlvm_pool_foreign_count(const struct ephlvm_pool *pool);
/** ephlvm_pool_missing_count - number of missing PVs. Since: 0.1 */
EPHLVM_EXPORT size_t ephlvm_pool_missing_count(const struct ephlvm_pool *pool);
/** ephlvm_pool_clean - is its free space proven to hold zeros, so that create need not erase? Since: 0.1 */
EPHLVM_EXPORT bool ephlvm_pool_clean(const struct ephlvm_pool *pool);
/** ephlvm_pool_device_at - path of one PV's device; NULL beyond the end. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_pool_device_at(const struct ephlvm_pool *pool, size_t index);

EPHLVM_END_DECLS

#endif
