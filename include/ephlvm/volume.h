/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * volume.h - volumes: create, list, delete, purge, activate.
 *
 * A volume is one LV that belongs to one instance. States: new, ready, trash,
 * gone. A volume object is a copy of what LVM and device-mapper said when it
 * was read; nothing in it changes afterwards.
 *
 * Calls that reach LVM and the drives have these errors in common, of kind
 * EPHLVM_ERROR_SYSTEM unless said otherwise; below they are "the common ones":
 * -EIO (LVM, a tool or a device failed), -ENODEV (no device-mapper), -ENXIO (not
 * active where it should be), -ESTALE (a device is not what it was), -EUCLEAN
 * (damaged tags, or tags of a newer version), -EROFS (exported VG, or another
 * host's), -EOPNOTSUPP (shared VG), -EEXIST (two VGs or pools of one name), -ETIMEDOUT (a lock not had by
 * the deadline; kind BUSY), -EACCES and -EPERM (kind PERMISSION), -EINVAL and
 * -ENOENT for a bad or missing configuration (kind INVALID, NOT_FOUND), -ENOMEM
 * (kind INTERNAL).
 */
#ifndef EPHLVM_VOLUME_H
#define EPHLVM_VOLUME_H

#include <ephlvm/context.h>

EPHLVM_BEGIN_DECLS

struct ephlvm_volume;
struct ephlvm_volumes;

/** enum ephlvm_flags - flags of option structs */
enum ephlvm_flags {
	EPHLVM_DRY_RUN = 1 << 0, /* report the actions, change nothing */
	EPHLVM_DOMAIN_GONE = 1 << 1, /* delete: the instance is being deleted; its own domain,
					shut off, is no holder */
	EPHLVM_WAIT = 1 << 2, /* delete: erase and free before returning */
	EPHLVM_ALL = 1 << 3, /* activate: every ready volume of the host */
};

/** enum ephlvm_volume_state - state of a volume, a bit each so that they can filter */
enum ephlvm_volume_state {
	EPHLVM_STATE_NEW = 1 << 0,
	EPHLVM_STATE_READY = 1 << 1,
	EPHLVM_STATE_TRASH = 1 << 2,
	EPHLVM_STATE_DAMAGED = 1 << 3, /* tags that contradict each other */
};

/** enum ephlvm_boot - boot source of an instance */
enum ephlvm_boot {
	EPHLVM_BOOT_VOLUME = 0, /* root disk elsewhere: the ephemeral disk only */
	EPHLVM_BOOT_IMAGE, /* root disk here too (a later version) */
};

/**
 * struct ephlvm_create_opts - what to create
 * @size: sizeof(struct ephlvm_create_opts); set by EPHLVM_CREATE_OPTS_INIT
 * @flags: EPHLVM_DRY_RUN, or 0
 * @instance: instance UUID, upper or lower case; not NULL
 * @flavor: flavor name, not NULL
 * @boot: boot source
 * @disks: names of the wanted disks ("eph0"), ended by NULL; NULL for all that flavor and
 *         boot source ask for
 * @size_bytes: size of the one wanted disk instead of the flavor's; 0 for the flavor's
 * @fs: file system (ext4, vfat, xfs, ntfs, swap, none); NULL for the flavor's or the default
 * @pool: pool name; NULL for the flavor's or the host's only one
 * @kind: "thick"; NULL for the flavor's or pool's (a later version adds "thin")
 * @layout: "linear"; NULL for the flavor's or pool's (a later version adds others)
 * @domain: name of the domain it will be wired into, for the log; may be NULL
 */
struct ephlvm_create_opts {
	size_t size;
	unsigned int flags;
	const char *instance;
	const char *flavor;
	enum ephlvm_boot boot;
	const char *const *disks;
	uint64_t size_bytes;
	const char *fs;
	const char *pool;
	const char *kind;
	const char *layout;
	const char *domain;
};
#define EPHLVM_CREATE_OPTS_INIT                           \
	{                                                 \
		.size = sizeof(struct ephlvm_create_opts) \
	}

/**
 * ephlvm_create - create the disks of an instance
 * @ctx: context, not NULL
 * @opts: what to create, not NULL
 * @ret_volumes: receives the volumes in disk order; free with ephlvm_volumes_free(); not NULL.
 *               A dry run gives an empty list.
 *
 * All or nothing over the disks that it makes. Idempotent: the same call again returns the
 * same volumes (activated, where they were not). A volume is formatted exactly once, and an
 * LV that ephlvm did not make is never touched. Blocks while the space is erased, with
 * progress; needs root.
 *
 * Return: 0, or -EINVAL, -ENOENT (flavor, pool, or the tool that makes the file system),
 * -EEXIST (the name is taken by something else, or the volume differs from what is asked;
 * kind BUSY), -EBUSY, -ENOSPC (space or metadata area), -EILSEQ (an erased device reads
 * back other bytes), -ECANCELED, or one of the common ones.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_create(struct ephlvm_ctx *ctx, const struct ephlvm_create_opts *opts,
				struct ephlvm_volumes **ret_volumes);

/**
 * struct ephlvm_list_opts - which volumes to list
 * @size: sizeof(struct ephlvm_list_opts); set by EPHLVM_LIST_OPTS_INIT
 * @instance: only this instance's; NULL for all
 * @pool: only in this pool; NULL for all
 * @states: OR of enum ephlvm_volume_state; 0 for all
 * @name: only the volume "VG/LV"; NULL for all
 */
struct ephlvm_list_opts {
	size_t size;
	const char *instance;
	const char *pool;
	unsigned int states;
	const char *name;
};
#define EPHLVM_LIST_OPTS_INIT                           \
	{                                               \
		.size = sizeof(struct ephlvm_list_opts) \
	}

/**
 * ephlvm_list - list volumes
 * @ctx: context, not NULL
 * @opts: filter, or NULL for all
 * @ret_volumes: receives the volumes, sorted by VG and name; free with
 *               ephlvm_volumes_free(); not NULL
 *
 * Reads without LVM's locks: never blocks on one that is held. Needs root.
 *
 * Return: 0, or -EINVAL (filter), -ENOENT (no such pool or VG/LV), or one of the common ones
 * (a failure of LVM is never an empty list instead).
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_list(struct ephlvm_ctx *ctx, const struct ephlvm_list_opts *opts,
			      struct ephlvm_volumes **ret_volumes);

/**
 * struct ephlvm_delete_opts - what to delete
 * @size: sizeof(struct ephlvm_delete_opts); set by EPHLVM_DELETE_OPTS_INIT
 * @flags: OR of EPHLVM_DRY_RUN, EPHLVM_DOMAIN_GONE, EPHLVM_WAIT
 * @instance: instance UUID, not NULL
 * @disks: names of the disks ("eph0"), ended by NULL; NULL for every disk of the instance
 */
struct ephlvm_delete_opts {
	size_t size;
	unsigned int flags;
	const char *instance;
	const char *const *disks;
};
#define EPHLVM_DELETE_OPTS_INIT                           \
	{                                                 \
		.size = sizeof(struct ephlvm_delete_opts) \
	}

/**
 * ephlvm_delete - turn an instance's volumes into trash
 * @ctx: context, not NULL
 * @opts: what to delete, not NULL
 * @ret_count: receives how many volumes became trash (or would, in a dry run); may be NULL
 *
 * In constant time: a deactivation and one metadata commit per volume. The name is free
 * afterwards; the bytes are erased by ephlvm_purge(), or before this returns with
 * EPHLVM_WAIT. Nothing is changed where any of the volumes is in use. What is gone already
 * is no error. Needs root.
 *
 * Return: 0, or -EINVAL, -EBUSY (open, mounted, held, wired, or being moved by LVM; the
 * record names the holder), with EPHLVM_WAIT also what ephlvm_purge() gives, or one of the
 * common ones.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_delete(struct ephlvm_ctx *ctx, const struct ephlvm_delete_opts *opts,
				size_t *ret_count);

/** enum ephlvm_purge_result - what became of one volume in a purge */
enum ephlvm_purge_result {
	EPHLVM_PURGE_PLANNED = 0, /* dry run */
	EPHLVM_PURGE_FREED,
	EPHLVM_PURGE_FAILED,
	EPHLVM_PURGE_BUSY, /* another process erases it, or it is in use */
	EPHLVM_PURGE_GONE, /* it was gone before its turn came */
	EPHLVM_PURGE_HELD, /* it waits: held, or younger than "trash_hold" of the configuration */
};

/**
 * struct ephlvm_purged - one volume of a purge, handed to the callback
 * @size: sizeof(struct ephlvm_purged)
 * @volume: the volume as it was before; valid during the callback only
 * @result: what became of it
 * @erased_bytes: bytes erased by this call
 * @errnum: positive errno where it failed, else 0
 * @message: why, where it failed or waits; NULL else
 * @receipt: the receipt of its erase, a JSON object in one line; NULL where there is none
 */
struct ephlvm_purged {
	size_t size;
	const struct ephlvm_volume *volume;
	enum ephlvm_purge_result result;
	uint64_t erased_bytes;
	int errnum;
	const char *message;
	const char *receipt;
};
typedef void (*ephlvm_purged_fn)(void *data, const struct ephlvm_purged *purged);

/**
 * struct ephlvm_purge_opts - what to purge
 * @size: sizeof(struct ephlvm_purge_opts); set by EPHLVM_PURGE_OPTS_INIT
 * @flags: EPHLVM_DRY_RUN, or 0
 * @names: instance UUIDs and "VG/LV", ended by NULL; NULL for all trash of all pools
 * @purged_fn: told each volume's outcome; may be NULL
 * @data: handed to @purged_fn
 * @method: "zero", "discard", "shred", "none"; NULL for the configuration's
 * @verify: "sample", "full", "off"; NULL for the configuration's
 * @rate_bytes_sec: bytes a second that each drive's erase keeps to; 0 for the configuration's
 */
struct ephlvm_purge_opts {
	size_t size;
	unsigned int flags;
	const char *const *names;
	ephlvm_purged_fn purged_fn;
	void *data;
	const char *method;
	const char *verify;
	uint64_t rate_bytes_sec;
};
#define EPHLVM_PURGE_OPTS_INIT                           \
	{                                                \
		.size = sizeof(struct ephlvm_purge_opts) \
	}

/**
 * ephlvm_purge - erase trash and free its space
 * @ctx: context, not NULL
 * @opts: what to purge, or NULL for all trash
 *
 * Erases every byte through the volume, flushes, reads back, writes the receipt, and only
 * then removes it, several in one call. One volume a drive at a time, in the order of their
 * names; drives beside each other, so that the order of actions over several drives is that of
 * the moment. An erase that was interrupted goes on where it stood. A volume that could not be
 * erased stays trash, with the reason in its tags, and the next purge tries again. Never
 * touches what is not trash. Trash that is held, or too young, waits, unless it is named: by
 * name only a hold keeps it. Callbacks run in the caller's thread. Blocks, with progress;
 * needs root.
 *
 * With the method "none" nothing is erased: the bytes stay on the drive, and free space counts
 * as dirty from then on.
 *
 * What was purged already is no error: an instance without trash, or a trash name that is
 * gone, is nothing to do.
 *
 * Return: 0, or -EINVAL (bad name, or a named VG/LV that is not trash), -ENOENT (a named
 * VG/LV is none of ephlvm's), -EBUSY (in use), -EILSEQ (it reads back other bytes after its
 * erase), -EOPNOTSUPP (a layout that this version cannot erase), -EREMOTEIO (several volumes:
 * some freed, some not; kind PARTIAL), -ECANCELED, or one of the common ones; a lock not had
 * means that another process erases it.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_purge(struct ephlvm_ctx *ctx, const struct ephlvm_purge_opts *opts);

/**
 * struct ephlvm_restore_opts - what to restore
 * @size: sizeof(struct ephlvm_restore_opts); set by EPHLVM_RESTORE_OPTS_INIT
 * @flags: EPHLVM_DRY_RUN, or 0
 * @name: instance UUID, or "VG/LV" of one trash; not NULL
 */
struct ephlvm_restore_opts {
	size_t size;
	unsigned int flags;
	const char *name;
};
#define EPHLVM_RESTORE_OPTS_INIT                           \
	{                                                  \
		.size = sizeof(struct ephlvm_restore_opts) \
	}

/**
 * ephlvm_restore - make trash ready again, under its name
 * @ctx: context, not NULL
 * @opts: what to restore, not NULL
 * @ret_volumes: receives the volumes, active; free with ephlvm_volumes_free(); not NULL.
 *               A dry run gives an empty list.
 *
 * Only what was ready when it was deleted, and whose erase has not begun. An instance means each of
 * its disks, where each was deleted once; one that is ready and has no trash is given as it is.
 * Needs root.
 *
 * Return: 0, or -EINVAL (bad name, not trash, or a disk was deleted more than once), -ENOENT,
 * -EBUSY (its erase has begun, or it was never ready), -EEXIST (its name or its disk is taken;
 * kind BUSY), or one of the common ones; a lock not had means that it is being erased.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_restore(struct ephlvm_ctx *ctx, const struct ephlvm_restore_opts *opts,
				 struct ephlvm_volumes **ret_volumes);

/**
 * struct ephlvm_hold_opts - what to hold
 * @size: sizeof(struct ephlvm_hold_opts); set by EPHLVM_HOLD_OPTS_INIT
 * @flags: EPHLVM_DRY_RUN, or 0
 * @name: instance UUID (all its volumes, trash too), or "VG/LV"; not NULL
 * @release: give free again
 */
struct ephlvm_hold_opts {
	size_t size;
	unsigned int flags;
	const char *name;
	bool release;
};
#define EPHLVM_HOLD_OPTS_INIT                           \
	{                                               \
		.size = sizeof(struct ephlvm_hold_opts) \
	}

/**
 * ephlvm_hold - keep volumes from being purged, or give them free
 * @ctx: context, not NULL
 * @opts: what to hold, not NULL
 * @ret_count: receives how many volumes are meant; may be NULL
 *
 * A held volume can be deleted, and stays trash until it is given free. Kept in its tags. Needs
 * root.
 *
 * Return: 0, or -EINVAL (bad name), -ENOENT, or one of the common ones; a lock not had means that
 * it is being erased: too late.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_hold(struct ephlvm_ctx *ctx, const struct ephlvm_hold_opts *opts,
			      size_t *ret_count);

/**
 * struct ephlvm_activate_opts - what to activate
 * @size: sizeof(struct ephlvm_activate_opts); set by EPHLVM_ACTIVATE_OPTS_INIT
 * @flags: OR of EPHLVM_DRY_RUN, EPHLVM_ALL
 * @instance: instance UUID; NULL with EPHLVM_ALL
 */
struct ephlvm_activate_opts {
	size_t size;
	unsigned int flags;
	const char *instance;
};
#define EPHLVM_ACTIVATE_OPTS_INIT                           \
	{                                                   \
		.size = sizeof(struct ephlvm_activate_opts) \
	}

/**
 * ephlvm_activate - make ready volumes usable, as at boot
 * @ctx: context, not NULL
 * @opts: what to activate, not NULL
 * @ret_count: receives how many volumes are active now; may be NULL
 *
 * Activates ready ones, settles half-made volumes whose creator is gone (they become trash),
 * leaves trash inactive. Never formats. Needs root.
 *
 * One that cannot be activated keeps no other waiting; the first failure is reported.
 *
 * Return: 0, or -EINVAL, -ENOENT (the instance has no volume), -EBUSY (a half-made volume is in
 * use), -EREMOTEIO (some are active and some failed; kind PARTIAL), or one of the common ones.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_activate(struct ephlvm_ctx *ctx, const struct ephlvm_activate_opts *opts,
				  size_t *ret_count);

/** ephlvm_volumes_count - number of volumes; 0 for NULL. Since: 0.1 */
EPHLVM_EXPORT size_t ephlvm_volumes_count(const struct ephlvm_volumes *volumes);
/** ephlvm_volumes_at - one volume, owned by @volumes; NULL beyond the end. Since: 0.1 */
EPHLVM_EXPORT const struct ephlvm_volume *ephlvm_volumes_at(const struct ephlvm_volumes *volumes,
							    size_t index);
/** ephlvm_volumes_free - free a list and its volumes; takes NULL. Since: 0.1 */
EPHLVM_EXPORT void ephlvm_volumes_free(struct ephlvm_volumes *volumes);

/** ephlvm_volume_vg - name of the volume group. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_volume_vg(const struct ephlvm_volume *volume);
/** ephlvm_volume_lv - name of the logical volume. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_volume_lv(const struct ephlvm_volume *volume);
/** ephlvm_volume_path - "/dev/VG/LV", whether or not it is active. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_volume_path(const struct ephlvm_volume *volume);
/** ephlvm_volume_lv_uuid - LVM's UUID of the LV. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_volume_lv_uuid(const struct ephlvm_volume *volume);
/** ephlvm_volume_instance - instance UUID; NULL where the tags lack it. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_volume_instance(const struct ephlvm_volume *volume);
/** ephlvm_volume_disk - "root", "eph0", "swap", "image"; NULL where unknown. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_volume_disk(const struct ephlvm_volume *volume);
/** ephlvm_volume_flavor - flavor name; NULL where unknown. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_volume_flavor(const struct ephlvm_volume *volume);
/** ephlvm_volume_state - state. Since: 0.1 */
EPHLVM_EXPORT enum ephlvm_volume_state ephlvm_volume_state(const struct ephlvm_volume *volume);
/** ephlvm_volume_state_name - "new", "ready", "trash", "damaged". Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_volume_state_name(const struct ephlvm_volume *volume);
/** ephlvm_volume_pool - name of its pool. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_volume_pool(const struct ephlvm_volume *volume);
/** ephlvm_volume_kind - "thick" or "thin". Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_volume_kind(const struct ephlvm_volume *volume);
/** ephlvm_volume_layout - LVM's segment type ("linear"). Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_volume_layout(const struct ephlvm_volume *volume);
/** ephlvm_volume_size_bytes - size of the LV in bytes. Since: 0.1 */
EPHLVM_EXPORT uint64_t ephlvm_volume_size_bytes(const struct ephlvm_volume *volume);
/** ephlvm_volume_requested_bytes - bytes asked for at creation; 0 where unknown. Since: 0.1 */
EPHLVM_EXPORT uint64_t ephlvm_volume_requested_bytes(const struct ephlvm_volume *volume);
/** ephlvm_volume_fs - file system made at creation; NULL where unknown. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_volume_fs(const struct ephlvm_volume *volume);
/** ephlvm_volume_label - label made at creation; NULL for none. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_volume_label(const struct ephlvm_volume *volume);
/** ephlvm_volume_active - has a device-mapper device. Since: 0.1 */
EPHLVM_EXPORT bool ephlvm_volume_active(const struct ephlvm_volume *volume);
/** ephlvm_volume_open - that device is open. Since: 0.1 */
EPHLVM_EXPORT bool ephlvm_volume_open(const struct ephlvm_volume *volume);
/** ephlvm_volume_held_at - unix seconds since when it is held; 0: it is not. Since: 0.1 */
EPHLVM_EXPORT int64_t ephlvm_volume_held_at(const struct ephlvm_volume *volume);
/** ephlvm_volume_changed_at - unix seconds of the last state change; 0 where unknown. Since: 0.1 */
EPHLVM_EXPORT int64_t ephlvm_volume_changed_at(const struct ephlvm_volume *volume);
/** ephlvm_volume_pe_ranges - "DEVICE:FIRST-LAST ...", physical extents in use. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_volume_pe_ranges(const struct ephlvm_volume *volume);
/** ephlvm_volume_erase_method - method of the erase under way or failed; NULL. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_volume_erase_method(const struct ephlvm_volume *volume);
/** ephlvm_volume_erase_pass - pass of that erase, from 1; 0 for none. Since: 0.1 */
EPHLVM_EXPORT unsigned int ephlvm_volume_erase_pass(const struct ephlvm_volume *volume);
/** ephlvm_volume_erase_passes - passes of that erase; 0 for none. Since: 0.1 */
EPHLVM_EXPORT unsigned int ephlvm_volume_erase_passes(const struct ephlvm_volume *volume);
/** ephlvm_volume_erase_done_bytes - bytes done in that pass. Since: 0.1 */
EPHLVM_EXPORT uint64_t ephlvm_volume_erase_done_bytes(const struct ephlvm_volume *volume);
/** ephlvm_volume_fail_errno - errno of the last failed erase; 0 for none. Since: 0.1 */
EPHLVM_EXPORT int ephlvm_volume_fail_errno(const struct ephlvm_volume *volume);
/** ephlvm_volume_fail_bytes - offset of that failure in bytes. Since: 0.1 */
EPHLVM_EXPORT uint64_t ephlvm_volume_fail_bytes(const struct ephlvm_volume *volume);
/** ephlvm_volume_warning_at - one warning ("partial", ...); NULL beyond the end. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_volume_warning_at(const struct ephlvm_volume *volume,
						   size_t index);

EPHLVM_END_DECLS

#endif
