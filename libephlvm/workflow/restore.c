// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * restore.c - trash given back, and volumes kept from being purged.
 * Owns the rule what may come back: what was ready, and whose erase has not begun. Must not bring back a
 * byte that was not its instance's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "edge/checkpoint.h"
#include "edge/conffile.h"
#include "edge/dm.h"
#include "edge/lock.h"
#include "object/pool.h"
#include "pure/config.h"
#include "util/cleanup.h"
#include "workflow/trash.h"

/*
 * A purge that waits for its drive has the volume's lock for a moment, each half second; one that erases keeps
 * it, and is not waited for.
 */
#define PURGE_LOOKS_MS 2000

/* What @name means: an instance's volumes in these states, or the one called "VG/LV". */
static int select_named(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view, const char *name,
			unsigned int states, struct ephlvm_volumes **ret_volumes)
{
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL;
	_cleanup_free_ char *vg = NULL, *lv = NULL;
	char instance[EPH_UUID_TEXT] = "";
	size_t kept = 0;
	int r;

	if (!name)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
				"no instance and no volume is named");
	r = strchr(name, '/') ? eph_volume_name_parse(ctx, name, &vg, &lv) :
				eph_instance_parse(ctx, name, instance);
	if (r == 0)
		r = eph_volumes_select(ctx, view, NULL, vg ? NULL : instance, vg ? 0 : states,
				       &volumes);
	if (r < 0)
		return r;
	for (size_t i = 0; vg && i < volumes->n; i++) {
		struct ephlvm_volume *v = volumes->v[i];

		if (strcmp(v->vg, vg) == 0 && strcmp(v->lv, lv) == 0)
			volumes->v[kept++] = v;
		else
			eph_volume_free(v);
	}
	if (vg)
		volumes->n = kept;
	*ret_volumes = eph_steal(volumes);
	return 0;
}

/* The lock of the instance that @name is, or that the volume of that name belongs to. */
static int lock_named(struct ephlvm_ctx *ctx, const char *name, struct eph_lock **ret_lock)
{
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	const struct eph_config *config;
	const char *instance;
	int r;

	r = eph_config_get(ctx, &config);
	if (r == 0)
		r = eph_dm_check(ctx);
	if (r == 0)
		r = eph_lvm_read(ctx, 0, &view);
	if (r == 0)
		r = select_named(ctx, view, name, 0, &volumes);
	if (r < 0)
		return r;
	if (volumes->n == 0)
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, name, "see \"ephlvm list\"",
				"ephlvm has no volume of \"%s\"", name);
	/* What was carved by scrub belongs to no instance; its own lock is taken later. */
	instance = volumes->v[0]->tags.instance;
	return instance[0] ? eph_lock_take(ctx, EPH_LOCK_INSTANCE, instance,
					   config->lock_timeout_ms, ret_lock) :
			     0;
}

/* --- restore --- */

static int refuse(struct ephlvm_ctx *ctx, const struct ephlvm_volume *v, const char *why)
{
	return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, v->name,
			"its bytes cannot be given back; create the volume anew",
			"\"%s\" cannot be restored: %s", v->name, why);
}

static int check_restorable(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
			    const struct ephlvm_volume *v)
{
	struct eph_checkpoint checkpoint;
	int r;

	r = eph_volume_check_ours(ctx, v);
	if (r == 0)
		r = eph_pool_check_writable(ctx, view, eph_lvm_vg_by_uuid(view, v->vg_uuid));
	if (r < 0)
		return r;
	if (v->state != EPHLVM_STATE_TRASH)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, v->name, NULL,
				"\"%s\" is %s, not trash", v->name, ephlvm_volume_state_name(v));
	if (!v->tags.instance[0])
		return refuse(ctx, v, "it was free space, and never an instance's");
	if (v->tags.state == EPHLVM_STATE_NEW)
		return refuse(ctx, v, "it was half-made, and never ready");
	if (v->tags.erase_method)
		return refuse(ctx, v, "its erase has begun");
	r = eph_checkpoint_read(ctx, v->lv_uuid, &checkpoint);
	if (r == 0 && checkpoint.point.pass > 0)
		return refuse(ctx, v, "its erase has begun");
	return r;
}

/* Its name and its place as a disk of the instance must be free, in every pool. */
static int check_place(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
		       const struct ephlvm_volume *v, const char *lv_name)
{
	const struct eph_lv *lv = eph_lvm_lv_by_name(eph_lvm_vg_by_uuid(view, v->vg_uuid), lv_name);
	_cleanup_volumes_ struct ephlvm_volumes *others = NULL;
	int r;

	if (lv && strcmp(lv->uuid, v->lv_uuid) != 0)
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EEXIST, v->name,
				"rename or delete that one first",
				"\"%s\" cannot be restored: \"%s/%s\" is there", v->name, v->vg,
				lv_name);
	r = eph_volumes_select(ctx, view, NULL, v->tags.instance,
			       EPHLVM_STATE_NEW | EPHLVM_STATE_READY | EPHLVM_STATE_DAMAGED,
			       &others);
	for (size_t i = 0; r == 0 && i < others->n; i++)
		if (strcmp(others->v[i]->tags.disk, v->tags.disk) == 0)
			return eph_fail(ctx, EPHLVM_ERROR_BUSY, EEXIST, v->name,
					"delete that one first",
					"\"%s\" cannot be restored: disk %s of the instance is "
					"\"%s\" now",
					v->name, v->tags.disk, others->v[i]->name);
	return r;
}

/* Which of two deleted disks of one name is meant, nobody can tell. */
static int check_one_each(struct ephlvm_ctx *ctx, const struct ephlvm_volumes *volumes)
{
	for (size_t i = 0; i < volumes->n; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(volumes->v[i]->tags.disk, volumes->v[j]->tags.disk) == 0)
				return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL,
						volumes->v[i]->tags.instance,
						"name the one: ephlvm restore VG/LV",
						"disk %s was deleted more than once: \"%s\" and "
						"\"%s\"",
						volumes->v[i]->tags.disk, volumes->v[j]->name,
						volumes->v[i]->name);
	return 0;
}

/* The tag first: what the name still says is trash, whatever interrupts us. */
static int commit(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const struct ephlvm_volume *v,
		  const char *lv_name)
{
	_cleanup_strv_ struct eph_strv del = EPH_STRV_INIT, add = EPH_STRV_INIT;
	char at[24];
	int r = 0;

	snprintf(at, sizeof(at), "%lld", (long long)time(NULL));
	if (v->tags.state == EPHLVM_STATE_TRASH) {
		if (eph_tags_change(&v->raw_tags, "ephlvm.state", "ready", &del, &add) < 0 ||
		    eph_tags_change(&v->raw_tags, "ephlvm.at", at, &del, &add) < 0)
			return eph_fail_oom(ctx);
		r = eph_step(ctx, "restore-tag");
		if (r == 0)
			r = eph_lvm_lv_retag(ctx, vg, v->lv_uuid, &del, &add);
	}
	if (r == 0 && strcmp(v->lv, lv_name) != 0) {
		r = eph_step(ctx, "restore-rename");
		if (r == 0)
			r = eph_lvm_lv_rename(ctx, vg, v->lv, lv_name);
	}
	return r;
}

/* What is there decides: the volume as it is now, ready and under its name, active. */
static int look_again(struct ephlvm_ctx *ctx, const struct ephlvm_volume *was, const char *lv_name,
		      struct ephlvm_volume **ret_volume)
{
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	_cleanup_volume_ struct ephlvm_volume *now = NULL;
	struct eph_vg *vg;
	struct eph_lv *lv;
	int r;

	r = eph_lv_reread(ctx, was->vg_uuid, was->lv_uuid, &view, &vg, &lv);
	if (r == 0 && lv)
		r = eph_volume_new(ctx, vg, lv, &now);
	if (r < 0)
		return r;
	if (!now || now->state != EPHLVM_STATE_READY || strcmp(now->lv, lv_name) != 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, was->name, "see \"lvs -o +lv_tags\"",
				"\"%s\" is not ready after its restore", was->name);
	r = eph_lv_make_active(ctx, vg, now->lv_uuid, now->name, "restore-activate");
	if (r == 0)
		r = eph_dm_check_path(ctx, vg->uuid, now->lv_uuid, now->path);
	if (r < 0)
		return r;
	now->active = true;
	*ret_volume = eph_steal(now);
	return 0;
}

static int restore_one(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
		       const struct ephlvm_volume *v, unsigned int flags,
		       struct ephlvm_volumes *restored)
{
	const struct eph_vg *vg = eph_lvm_vg_by_uuid(view, v->vg_uuid);
	_cleanup_free_ char *lv_name = NULL;
	struct ephlvm_volume *now = NULL;
	struct eph_error first;
	int r, failed;

	if (eph_lv_name(v->tags.instance, v->tags.disk, &lv_name) < 0)
		return eph_fail_oom(ctx);
	r = check_place(ctx, view, v, lv_name);
	if (r < 0)
		return r;
	eph_action(ctx, "restore", v->name, v->size_bytes);
	if (flags & EPHLVM_DRY_RUN)
		return 0;
	failed = commit(ctx, vg, v, lv_name);
	first = eph_error_take(ctx);
	r = eph_step(ctx, "restore-flush");
	if (r == 0)
		r = eph_lvm_flush(ctx, vg);
	if (r == 0)
		r = look_again(ctx, v, lv_name, &now);
	if (r < 0 && failed < 0) {
		eph_error_give(ctx, &first);
		return failed;
	}
	eph_error_clear(&first);
	return r < 0 ? r : eph_volumes_add(ctx, restored, now);
}

/* Ready already: the answer, made usable where it was not. */
static int restored_before(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
			   const char *name, struct ephlvm_volumes **ret_volumes)
{
	_cleanup_volumes_ struct ephlvm_volumes *ready = NULL;
	int r;

	r = select_named(ctx, view, name, EPHLVM_STATE_READY, &ready);
	for (size_t i = 0; r == 0 && i < ready->n; i++) {
		const struct eph_vg *vg = eph_lvm_vg_by_uuid(view, ready->v[i]->vg_uuid);

		/* The restore before may have died behind its commit. */
		r = eph_step(ctx, "restore-flush");
		if (r == 0)
			r = eph_lvm_flush(ctx, vg);
		if (r == 0)
			r = eph_lv_make_active(ctx, vg, ready->v[i]->lv_uuid, ready->v[i]->name,
					       "restore-activate");
		if (r == 0)
			r = eph_dm_check_path(ctx, vg->uuid, ready->v[i]->lv_uuid,
					      ready->v[i]->path);
	}
	if (r < 0)
		return r;
	if (ready->n == 0)
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, name,
				"see \"ephlvm list --state trash\"",
				"there is no deleted volume of \"%s\"", name);
	*ret_volumes = eph_steal(ready);
	return 0;
}

static int restore_all(struct ephlvm_ctx *ctx, const struct ephlvm_restore_opts *o,
		       struct ephlvm_volumes **ret_volumes)
{
	_cleanup_volumes_ struct ephlvm_volumes *trash = NULL, *restored = NULL;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	int r;

	r = eph_lvm_read(ctx, 0, &view);
	if (r == 0)
		r = select_named(ctx, view, o->name, EPHLVM_STATE_TRASH, &trash);
	if (r < 0)
		return r;
	if (trash->n == 0 && !strchr(o->name, '/'))
		return restored_before(ctx, view, o->name, ret_volumes);
	if (trash->n == 0)
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, o->name,
				"see \"ephlvm list --state trash\"", "there is no trash \"%s\"",
				o->name);
	r = check_one_each(ctx, trash);
	if (r == 0)
		r = eph_volumes_new(ctx, &restored);
	/* All are looked at before the first is changed. */
	for (size_t i = 0; r == 0 && i < trash->n; i++)
		r = check_restorable(ctx, view, trash->v[i]);
	for (size_t i = 0; r == 0 && i < trash->n; i++) {
		_cleanup_lock_ struct eph_lock *lock = NULL;
		_cleanup_view_ struct eph_lvm_view *again = NULL;
		_cleanup_volume_ struct ephlvm_volume *now = NULL;
		struct eph_vg *vg;
		struct eph_lv *lv;

		/* Under the lock that a purge takes: it has not begun, and will not now. */
		r = eph_lock_take(ctx, EPH_LOCK_VOLUME, trash->v[i]->lv_uuid, PURGE_LOOKS_MS,
				  &lock);
		if (r == 0)
			r = eph_lv_reread(ctx, trash->v[i]->vg_uuid, trash->v[i]->lv_uuid, &again,
					  &vg, &lv);
		if (r == 0 && !lv)
			r = refuse(ctx, trash->v[i], "it was purged meanwhile");
		if (r == 0)
			r = eph_volume_new(ctx, vg, lv, &now);
		if (r == 0)
			r = check_restorable(ctx, again, now);
		if (r == 0)
			r = restore_one(ctx, again, now, o->flags, restored);
	}
	if (r == 0)
		*ret_volumes = eph_steal(restored);
	return r;
}

int ephlvm_restore(struct ephlvm_ctx *ctx, const struct ephlvm_restore_opts *opts,
		   struct ephlvm_volumes **ret_volumes)
{
	_cleanup_lock_ struct eph_lock *lock = NULL;
	struct ephlvm_restore_opts o;
	int r;

	eph_enter(ctx);
	r = eph_opts_import(ctx, &o, sizeof(o), opts);
	if (r < 0)
		return r;
	if (o.flags & ~(unsigned int)EPHLVM_DRY_RUN)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
				"unknown flags 0x%x for restore", o.flags);
	r = lock_named(ctx, o.name, &lock);
	return r < 0 ? r : restore_all(ctx, &o, ret_volumes);
}

/* --- hold --- */

static int flush_hold(struct ephlvm_ctx *ctx, const struct eph_vg *vg)
{
	int r = eph_step(ctx, "hold-flush");

	return r < 0 ? r : eph_lvm_flush(ctx, vg);
}

static int set_hold(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
		    const struct ephlvm_volume *v, bool hold, bool dry_run)
{
	const struct eph_vg *vg = eph_lvm_vg_by_uuid(view, v->vg_uuid);
	_cleanup_strv_ struct eph_strv del = EPH_STRV_INIT, add = EPH_STRV_INIT;
	_cleanup_lock_ struct eph_lock *lock = NULL;
	char at[24];
	int r;

	r = eph_volume_check_ours(ctx, v);
	if (r == 0)
		r = eph_pool_check_writable(ctx, view, vg);
	if (r < 0)
		return r;
	/* So already; the hold before may have died behind its commit. */
	if (hold == (v->tags.hold_at != 0))
		return dry_run ? 0 : flush_hold(ctx, vg);
	eph_action(ctx, hold ? "hold" : "unhold", v->name, v->size_bytes);
	if (dry_run)
		return 0;
	/* A purge that has begun would not see it. */
	r = eph_lock_take(ctx, EPH_LOCK_VOLUME, v->lv_uuid, PURGE_LOOKS_MS, &lock);
	snprintf(at, sizeof(at), "%lld", (long long)time(NULL));
	if (r == 0 &&
	    eph_tags_change(&v->raw_tags, "ephlvm.hold", hold ? at : NULL, &del, &add) < 0)
		return eph_fail_oom(ctx);
	if (r == 0)
		r = eph_step(ctx, hold ? "hold" : "unhold");
	if (r == 0)
		r = eph_lvm_lv_retag(ctx, vg, v->lv_uuid, &del, &add);
	return r < 0 ? r : flush_hold(ctx, vg);
}

/* A selection that matches nothing succeeds: what is there decides. */
static int check_held(struct ephlvm_ctx *ctx, const struct ephlvm_volumes *volumes, bool hold)
{
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	int r;

	r = eph_lvm_read(ctx, 0, &view);
	for (size_t i = 0; r == 0 && i < volumes->n; i++) {
		const struct ephlvm_volume *was = volumes->v[i];
		const struct eph_vg *vg = eph_lvm_vg_by_uuid(view, was->vg_uuid);
		const struct eph_lv *lv = vg ? eph_lvm_lv_by_uuid(vg, was->lv_uuid) : NULL;
		_cleanup_volume_ struct ephlvm_volume *now = NULL;

		if (lv)
			r = eph_volume_new(ctx, vg, lv, &now);
		if (r == 0 && (!now || hold != (now->tags.hold_at != 0)))
			r = eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, was->name,
				     "see \"lvs -o +lv_tags\"; try again", "\"%s\" is %s",
				     was->name,
				     !now ? "gone" :
				     hold ? "not held" :
					    "still held");
	}
	return r;
}

int ephlvm_hold(struct ephlvm_ctx *ctx, const struct ephlvm_hold_opts *opts, size_t *ret_count)
{
	_cleanup_lock_ struct eph_lock *lock = NULL;
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	struct ephlvm_hold_opts o;
	int r;

	eph_enter(ctx);
	r = eph_opts_import(ctx, &o, sizeof(o), opts);
	if (r < 0)
		return r;
	if (o.flags & ~(unsigned int)EPHLVM_DRY_RUN)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
				"unknown flags 0x%x for hold", o.flags);
	r = lock_named(ctx, o.name, &lock);
	if (r == 0)
		r = eph_lvm_read(ctx, 0, &view);
	if (r == 0)
		r = select_named(ctx, view, o.name, 0, &volumes);
	for (size_t i = 0; r == 0 && i < volumes->n; i++)
		r = set_hold(ctx, view, volumes->v[i], !o.release, o.flags & EPHLVM_DRY_RUN);
	if (r == 0 && !(o.flags & EPHLVM_DRY_RUN))
		r = check_held(ctx, volumes, !o.release);
	if (r == 0 && ret_count)
		*ret_count = volumes->n;
	return r;
}
