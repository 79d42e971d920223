/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * workflow/trash.h - turning volumes into trash: the checks before, and the commit. Shared by
 * delete, settling and undo.
 */
#ifndef EPH_WORKFLOW_TRASH_H
#define EPH_WORKFLOW_TRASH_H

#include "core/context.h"
#include "edge/lvm.h"
#include "edge/virt.h"
#include "object/volume.h"

/* Ask libvirt once for a workflow; says so in the log where it could not be asked. */
int eph_uses_read(struct ephlvm_ctx *ctx, struct eph_virt_uses *ret_uses);

/*
 * Is anybody using the volume? libvirt's domains, LVM's own moves, openers, mounts, devices on top. With
 * @domain_gone the instance's own domain, shut off, is no user. -EBUSY names the user.
 */
int eph_volume_check_unused(struct ephlvm_ctx *ctx, const struct ephlvm_volume *volume,
			    const struct eph_virt_uses *uses, bool domain_gone);

/*
 * Turn volumes of one VG into trash: deactivate all in one call, then one commit each (rename;
 * in a partial VG a tag), flush, read again, and believe only that. Nothing is renamed unless
 * all could be deactivated. @volumes are of that VG, checked by the caller.
 */
int eph_volumes_trash(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
		      struct ephlvm_volume *const *volumes, size_t n);

/*
 * A half-made volume (state new) whose creator is gone becomes trash. @instance_locked: the caller
 * holds the instance's lock; else it is tried, and a volume whose lock is held is somebody's create in
 * progress: left alone, 0. @ret_settled may be NULL.
 */
int eph_volume_settle(struct ephlvm_ctx *ctx, const struct eph_vg *vg, struct ephlvm_volume *volume,
		      bool instance_locked, bool *ret_settled);

/*
 * What an earlier command committed may still be in the caches of the drives, where that was killed before its flush;
 * what this one finds done is then reported and must not come back after a power cut. Flushes the pools but for those
 * that have volumes of @changed (may be NULL), whose change flushes them. A failure counts where @former (may be NULL)
 * has volumes; elsewhere it is that pool's own trouble, and a warning.
 */
int eph_pools_flush(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
		    const struct ephlvm_volumes *changed, const struct ephlvm_volumes *former);

/* Read LVM again and find an LV by identity: *ret_lv is NULL when it is gone. The view is the caller's. */
int eph_lv_reread(struct ephlvm_ctx *ctx, const char *vg_uuid, const char *lv_uuid,
		  struct eph_lvm_view **ret_view, struct eph_vg **ret_vg, struct eph_lv **ret_lv);

/* Activate one LV where it is not usable, and look whether it is then. @step is a literal. */
int eph_lv_make_active(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const char *lv_uuid,
		       const char *subject, const char *step);

#endif
