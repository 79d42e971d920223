// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * activate.c - ready volumes usable again, as after a boot.
 * Owns nothing. Must not format, and must leave trash inactive.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "edge/dm.h"
#include "object/pool.h"
#include "object/volume.h"
#include "util/cleanup.h"
#include "workflow/trash.h"

static int settle_new(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
		      struct ephlvm_volumes *volumes, bool dry_run)
{
	for (size_t i = 0; i < volumes->n; i++) {
		struct ephlvm_volume *v = volumes->v[i];
		bool settled = false;
		int r;

		if (v->state != EPHLVM_STATE_NEW || v->tags.newer)
			continue;
		if (dry_run) {
			eph_action(ctx, "trash", v->name, v->size_bytes);
			continue;
		}
		r = eph_volume_settle(ctx, eph_lvm_vg_by_uuid(view, v->vg_uuid), v, false,
				      &settled);
		if (r < 0)
			return r;
		if (settled)
			eph_warn(ctx, "\"%s\" was half-made: it is trash now", v->name);
	}
	return 0;
}

/* Activate the inactive ready ones of one VG in one call; then see that they are there. */
static int activate_vg(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
		       const struct ephlvm_volumes *volumes, bool dry_run, size_t *active)
{
	_cleanup_strv_ struct eph_strv uuids = EPH_STRV_INIT;
	struct eph_dm_info info;
	int r;

	for (size_t i = 0; i < volumes->n; i++) {
		const struct ephlvm_volume *v = volumes->v[i];

		if (v->state != EPHLVM_STATE_READY || strcmp(v->vg_uuid, vg->uuid) != 0)
			continue;
		r = eph_dm_info(ctx, v->vg_uuid, v->lv_uuid, &info);
		if (r < 0)
			return r;
		if (info.exists) {
			(*active)++;
			continue;
		}
		eph_action(ctx, "activate", v->name, v->size_bytes);
		if (eph_strv_add(&uuids, v->lv_uuid) < 0)
			return eph_fail_oom(ctx);
	}
	if (uuids.n == 0 || dry_run)
		return 0;
	r = eph_step(ctx, "activate");
	if (r == 0)
		r = eph_lvm_lv_activate(ctx, vg, &uuids);
	if (r < 0)
		return r;
	for (size_t i = 0; i < uuids.n; i++) {
		r = eph_dm_info(ctx, vg->uuid, uuids.v[i], &info);
		if (r < 0)
			return r;
		if (!info.exists)
			return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, uuids.v[i], "see \"lvs\"",
					"LVM said that LV %s is active, and it is not", uuids.v[i]);
		(*active)++;
	}
	return 0;
}

int ephlvm_activate(struct ephlvm_ctx *ctx, const struct ephlvm_activate_opts *opts,
		    size_t *ret_count)
{
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	struct ephlvm_activate_opts o;
	char instance[EPH_UUID_TEXT];
	size_t active = 0;
	bool dry_run;
	int r;

	eph_enter(ctx);
	r = eph_opts_import(ctx, &o, sizeof(o), opts);
	if (r < 0)
		return r;
	if (!o.instance == !(o.flags & EPHLVM_ALL) ||
	    (o.flags & ~(unsigned int)(EPHLVM_DRY_RUN | EPHLVM_ALL)))
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
				"activate takes an instance or all of them, not both or neither");
	if (o.instance) {
		r = eph_instance_parse(ctx, o.instance, instance);
		if (r < 0)
			return r;
	}
	dry_run = o.flags & EPHLVM_DRY_RUN;
	r = eph_dm_check(ctx);
	if (r == 0)
		r = eph_lvm_read(ctx, 0, &view);
	if (r == 0)
		r = eph_volumes_select(ctx, view, NULL, o.instance ? instance : NULL,
				       EPHLVM_STATE_NEW | EPHLVM_STATE_READY, &volumes);
	if (r < 0)
		return r;
	if (o.instance && volumes->n == 0)
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, instance,
				"see \"ephlvm list\"", "instance %s has no volume here", instance);
	r = settle_new(ctx, view, volumes, dry_run);
	for (size_t i = 0; r == 0 && i < view->n_vgs; i++)
		if (eph_vg_pool_name(&view->vgs[i]))
			r = activate_vg(ctx, &view->vgs[i], volumes, dry_run, &active);
	if (r == 0 && ret_count)
		*ret_count = active;
	return r;
}
