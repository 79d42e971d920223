// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * purge.c - purge: which trash, and what a dry run says of it.
 * Owns the selection. Must not touch what is not trash of ours. How it is erased and freed is
 * purge_run.c's and purge_job.c's.
 */
#include "workflow/purge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "edge/checkpoint.h"
#include "edge/conffile.h"
#include "edge/dm.h"
#include "edge/lock.h"
#include "pure/config.h"
#include "util/cleanup.h"
#include "workflow/trash.h"

/* --- which --- */

/* One of the names: an instance's trash, or "VG/LV". Moves what matches from @all to @picked. */
static int pick(struct ephlvm_ctx *ctx, struct ephlvm_volumes *all, const char *name,
		struct ephlvm_volumes *picked)
{
	_cleanup_free_ char *vg = NULL, *lv = NULL;
	char instance[EPH_UUID_TEXT] = "";
	const char *other = NULL; /* what has that very name and is no trash */
	bool found = false;
	int r;

	if (strchr(name, '/')) {
		r = eph_volume_name_parse(ctx, name, &vg, &lv);
	} else {
		r = eph_instance_parse(ctx, name, instance);
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < all->n; i++) {
		struct ephlvm_volume *v = all->v[i];

		if (!v || (vg ? strcmp(v->vg, vg) != 0 || strcmp(v->lv, lv) != 0 :
				strcmp(v->tags.instance, instance) != 0))
			continue;
		if (v->state != EPHLVM_STATE_TRASH) {
			other = v->name;
			continue;
		}
		found = true;
		all->v[i] = NULL;
		r = eph_volumes_add(ctx, picked, v);
		if (r < 0)
			return r;
	}
	if (found)
		return 0;
	/* An instance created anew has a ready volume, and no trash: nothing to do. */
	if (other && vg)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, name,
				"purge takes what was deleted: ephlvm delete",
				"\"%s\" is not trash", other);
	/* Purged already is no error; a name that never was one of ours is. */
	if (vg && !eph_trash_name_match(lv))
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, name,
				"see \"ephlvm list --state trash\"", "there is no trash \"%s\"",
				name);
	return 0;
}

static int select_trash(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
			const struct ephlvm_purge_opts *o, struct ephlvm_volumes **ret_volumes)
{
	_cleanup_volumes_ struct ephlvm_volumes *all = NULL, *picked = NULL;
	int r;

	if (!o->names)
		return eph_volumes_select(ctx, view, NULL, NULL, EPHLVM_STATE_TRASH, ret_volumes);
	r = eph_volumes_select(ctx, view, NULL, NULL, 0, &all);
	if (r == 0)
		r = eph_volumes_new(ctx, &picked);
	for (size_t i = 0; r == 0 && o->names[i]; i++)
		r = pick(ctx, all, o->names[i], picked);
	if (r == 0)
		*ret_volumes = eph_steal(picked);
	return r;
}

/*
 * Trash that waits, because it is held or younger than the configuration lets be erased, leaves the list, and
 * is said. What was named is not kept by its age.
 */
static int set_held_aside(struct ephlvm_ctx *ctx, struct ephlvm_volumes *volumes,
			  const struct ephlvm_purge_opts *o)
{
	const struct eph_config *config;
	int64_t now = (int64_t)time(NULL);
	size_t kept = 0;
	int r;

	r = eph_config_get(ctx, &config);
	if (r < 0)
		return r;
	for (size_t i = 0; i < volumes->n; i++) {
		struct ephlvm_volume *v = volumes->v[i];
		int64_t until = v->tags.at + (int64_t)config->trash_hold_seconds;
		struct ephlvm_purged purged = { .volume = v, .result = EPHLVM_PURGE_HELD };
		char message[64], text[EPH_TIME_TEXT];

		if (!v->tags.hold_at && (config->trash_hold_seconds == 0 || now >= until)) {
			volumes->v[kept++] = v;
			continue;
		}
		if (v->tags.hold_at)
			snprintf(message, sizeof(message), "held until \"ephlvm unhold\"");
		else
			snprintf(message, sizeof(message), "held until %s",
				 eph_time_format(until, text));
		purged.message = message;
		eph_purge_report(o, &purged);
		eph_volume_free(v);
	}
	volumes->n = kept;
	return 0;
}

/*
 * What a create left half-made, when its creator is gone, is trash. One that cannot be settled keeps nobody
 * else's trash waiting: the first failure goes to @ret_first, for the end, the others are warnings.
 */
static bool settle_all(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
		       const struct ephlvm_volumes *half, struct eph_error *ret_first)
{
	bool changed = false;

	for (size_t i = 0; i < half->n; i++) {
		struct eph_vg *vg = eph_lvm_vg_by_uuid(view, half->v[i]->vg_uuid);
		bool settled = false;

		if (eph_volume_settle(ctx, vg, half->v[i], false, &settled) < 0) {
			if (ret_first->kind == EPHLVM_ERROR_NONE)
				*ret_first = eph_error_take(ctx);
			else
				eph_warn(ctx, "half-made \"%s\" stays: %s", half->v[i]->name,
					 ephlvm_error_message(ctx));
		}
		eph_error_clear(&ctx->error);
		changed = changed || settled;
	}
	return changed;
}

/* The lock of its instance is to be had: nobody is making it. */
static bool is_abandoned(struct ephlvm_ctx *ctx, const struct ephlvm_volume *v)
{
	_cleanup_lock_ struct eph_lock *lock = NULL;
	bool free = v->tags.instance[0] &&
		    eph_lock_take(ctx, EPH_LOCK_INSTANCE, v->tags.instance, 0, &lock) == 0;

	eph_error_clear(&ctx->error);
	return free;
}

static void plan_one(struct ephlvm_ctx *ctx, const struct ephlvm_volume *v,
		     const struct ephlvm_purge_opts *o)
{
	struct ephlvm_purged purged = { .volume = v, .result = EPHLVM_PURGE_PLANNED };

	eph_purge_plan(ctx, v, o->method);
	eph_purge_report(o, &purged);
}

/* A dry run: the same actions in the same order as the real run. */
static void plan(struct ephlvm_ctx *ctx, const struct ephlvm_volumes *half,
		 const struct ephlvm_volumes *volumes, const struct ephlvm_purge_opts *o)
{
	for (size_t i = 0; half && i < half->n; i++)
		if (is_abandoned(ctx, half->v[i]))
			eph_action(ctx, "trash", half->v[i]->name, half->v[i]->size_bytes);
	for (size_t i = 0; i < volumes->n; i++)
		plan_one(ctx, volumes->v[i], o);
	for (size_t i = 0; half && i < half->n; i++)
		if (is_abandoned(ctx, half->v[i]))
			plan_one(ctx, half->v[i], o);
}

int eph_volumes_keep_names(struct ephlvm_ctx *ctx, struct ephlvm_volumes *trash,
			   const struct ephlvm_volumes *former)
{
	for (size_t i = 0; i < former->n; i++) {
		for (size_t j = 0; j < trash->n; j++) {
			struct ephlvm_volume *v = trash->v[j];
			char *name;

			if (strcmp(v->lv_uuid, former->v[i]->lv_uuid) != 0)
				continue;
			name = strdup(former->v[i]->name);
			if (!name)
				return eph_fail_oom(ctx);
			free(v->name);
			v->name = name;
			memmove(&trash->v[j], &trash->v[j + 1],
				(trash->n - j - 1) * sizeof(*trash->v));
			trash->v[trash->n - 1] = v;
			break;
		}
	}
	return 0;
}

static bool has_lv(const struct eph_lvm_view *view, const char *lv_uuid)
{
	for (size_t i = 0; i < view->n_vgs; i++)
		if (eph_lvm_lv_by_uuid(&view->vgs[i], lv_uuid))
			return true;
	return false;
}

/*
 * Checkpoints of @lv_uuids, listed before @view was read, of volumes that are gone. Should one come back (vgcfgrestore),
 * what its file says is done would hold no more: others had its space. What cannot be removed is a warning.
 */
static void forget_the_gone(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
			    const struct eph_strv *lv_uuids)
{
	for (size_t i = 0; i < lv_uuids->n; i++) {
		if (has_lv(view, lv_uuids->v[i]))
			continue;
		if (eph_checkpoint_remove(ctx, lv_uuids->v[i]) < 0)
			eph_warn(ctx, "the checkpoint of a volume that is gone stays: %s",
				 ephlvm_error_message(ctx));
		eph_error_clear(&ctx->error);
	}
}

int ephlvm_purge(struct ephlvm_ctx *ctx, const struct ephlvm_purge_opts *opts)
{
	_cleanup_strv_ struct eph_strv checkpoints = EPH_STRV_INIT;
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL, *half = NULL;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	struct ephlvm_purge_opts o = EPHLVM_PURGE_OPTS_INIT;
	struct eph_error unsettled = { 0 };
	bool dry_run;
	int r;

	eph_enter(ctx);
	r = opts ? eph_opts_import(ctx, &o, sizeof(o), opts) : 0;
	if (r < 0)
		return r;
	if (o.flags & ~(unsigned int)EPHLVM_DRY_RUN)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
				"unknown flags 0x%x for purge", o.flags);
	dry_run = o.flags & EPHLVM_DRY_RUN;
	r = eph_purge_check(ctx, &o);
	if (r == 0)
		r = eph_dm_check(ctx);
	if (r == 0 && !dry_run && eph_checkpoint_list(ctx, &checkpoints) < 0) {
		/* They matter only once there is something to erase, which then fails by itself. */
		eph_warn(ctx, "%s", ephlvm_error_message(ctx));
		eph_error_clear(&ctx->error);
	}
	if (r == 0)
		r = eph_lvm_read(ctx, 0, &view);
	if (r == 0 && !o.names)
		r = eph_volumes_select(ctx, view, NULL, NULL, EPHLVM_STATE_NEW, &half);
	if (r == 0 && half && !dry_run && settle_all(ctx, view, half, &unsettled)) {
		eph_lvm_view_free(eph_steal(view));
		r = eph_lvm_read(ctx, 0, &view);
	}
	if (r == 0)
		r = select_trash(ctx, view, &o, &volumes);
	if (r == 0 && half)
		r = eph_volumes_keep_names(ctx, volumes, half);
	if (r == 0 && !o.names)
		r = set_held_aside(ctx, volumes, &o);
	if (r == 0 && !dry_run)
		r = eph_purge_volumes(ctx, volumes, &o, 0);
	/* Also what another purge removed, killed before its flush: it would come back as trash. */
	if (r == 0 && !dry_run)
		r = eph_pools_flush(ctx, view, NULL, NULL);
	if (r == 0 && !dry_run)
		forget_the_gone(ctx, view, &checkpoints);
	if (r == 0 && dry_run)
		plan(ctx, half, volumes, &o);
	if (unsettled.kind == EPHLVM_ERROR_NONE)
		return r;
	/* Of two failures the record has room for one: what stays half-made is in no other list. */
	if (r < 0)
		eph_warn(ctx, "%s", ephlvm_error_message(ctx));
	r = -unsettled.errnum;
	eph_error_give(ctx, &unsettled);
	return r;
}
