// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * activate.c - ready volumes usable again, as after a boot.
 * Owns the rule that one volume that cannot be had keeps no other waiting. Must not format, and must
 * leave trash inactive: each volume is looked at again under its instance's lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "edge/conffile.h"
#include "edge/dm.h"
#include "edge/lock.h"
#include "object/pool.h"
#include "object/volume.h"
#include "pure/config.h"
#include "util/cleanup.h"
#include "workflow/trash.h"

struct run {
	bool dry_run;
	unsigned int lock_ms;
	size_t active, failed;
	struct eph_error first;
	int result; /* of the first failure */
};

/* Keep the first failure for the end; say the others. */
static void note(struct ephlvm_ctx *ctx, struct run *run, int r)
{
	run->failed++;
	if (run->result == 0) {
		run->first = eph_error_take(ctx);
		run->result = r;
		return;
	}
	eph_warn(ctx, "%s", ephlvm_error_message(ctx));
	eph_error_clear(&ctx->error);
}

static int check_can_be(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
			const struct eph_vg *vg, const struct ephlvm_volume *v)
{
	int r;

	r = eph_pool_check_writable(ctx, view, vg);
	if (r < 0)
		return r;
	if (v->tags.newer)
		return eph_volume_check_ours(ctx, v);
	if (v->partial)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, v->name,
				"bring the drive back, then activate again",
				"a drive of \"%s\" is missing", v->name);
	return 0;
}

/* Ready ones that have no usable device, each held by its instance's lock until they are active. */
struct batch {
	struct eph_strv uuids;
	struct eph_lock **locks;
	size_t n_locks;
};

static void batch_clear(struct batch *batch)
{
	for (size_t i = 0; i < batch->n_locks; i++)
		eph_lock_release(batch->locks[i]);
	free(batch->locks);
	eph_strv_clear(&batch->uuids);
}

/* Two disks of one instance need its lock once: the list is sorted by name, so they are neighbours. */
static int batch_lock(struct ephlvm_ctx *ctx, struct run *run, struct batch *batch,
		      const char *instance, const char **held)
{
	struct eph_lock **grown;
	int r;

	if (eph_streq(*held, instance))
		return 0;
	grown = reallocarray(batch->locks, batch->n_locks + 1, sizeof(*grown));
	if (!grown)
		return eph_fail_oom(ctx);
	batch->locks = grown;
	r = eph_lock_take(ctx, EPH_LOCK_INSTANCE, instance, run->lock_ms,
			  &batch->locks[batch->n_locks]);
	if (r < 0)
		return r;
	batch->n_locks++;
	*held = instance;
	return 0;
}

static int batch_fill(struct ephlvm_ctx *ctx, struct run *run, const struct eph_lvm_view *view,
		      const struct eph_vg *vg, const struct ephlvm_volumes *volumes,
		      struct batch *batch)
{
	const char *held = NULL;

	for (size_t i = 0; i < volumes->n; i++) {
		const struct ephlvm_volume *v = volumes->v[i];
		struct eph_dm_info info;
		int r;

		if (v->state != EPHLVM_STATE_READY || strcmp(v->vg_uuid, vg->uuid) != 0)
			continue;
		r = eph_dm_info(ctx, v->vg_uuid, v->lv_uuid, &info);
		if (r == 0 && eph_dm_usable(&info)) {
			run->active++;
			continue;
		}
		if (r == 0)
			r = check_can_be(ctx, view, vg, v);
		if (r == 0 && !run->dry_run)
			r = batch_lock(ctx, run, batch, v->tags.instance, &held);
		if (r == -ENOMEM)
			return r;
		if (r < 0) {
			note(ctx, run, r);
			continue;
		}
		if (run->dry_run)
			eph_action(ctx, "activate", v->name, v->size_bytes);
		else if (eph_strv_add(&batch->uuids, v->lv_uuid) < 0)
			return eph_fail_oom(ctx);
	}
	return 0;
}

/* Under the locks: who is not ready any more is left out. */
static int batch_keep_ready(struct ephlvm_ctx *ctx, const struct eph_vg *vg, struct batch *batch)
{
	_cleanup_strv_ struct eph_strv ready = EPH_STRV_INIT;

	for (size_t i = 0; i < batch->uuids.n; i++) {
		const struct eph_lv *lv = eph_lvm_lv_by_uuid(vg, batch->uuids.v[i]);
		_cleanup_volume_ struct ephlvm_volume *v = NULL;
		int r;

		if (!lv || !eph_lv_is_ours(lv))
			continue;
		r = eph_volume_new(ctx, vg, lv, &v);
		if (r < 0)
			return r;
		if (v->state != EPHLVM_STATE_READY)
			continue;
		eph_action(ctx, "activate", v->name, v->size_bytes);
		if (eph_strv_add(&ready, v->lv_uuid) < 0)
			return eph_fail_oom(ctx);
	}
	eph_strv_clear(&batch->uuids);
	batch->uuids = ready;
	ready = (struct eph_strv)EPH_STRV_INIT;
	return 0;
}

static int batch_activate(struct ephlvm_ctx *ctx, struct run *run, const struct eph_vg *vg,
			  struct batch *batch)
{
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	struct eph_vg *now;
	struct eph_lv *lv;
	int r;

	r = eph_lv_reread(ctx, vg->uuid, NULL, &view, &now, &lv);
	if (r == 0)
		r = batch_keep_ready(ctx, now, batch);
	if (r < 0 || batch->uuids.n == 0)
		return r;
	r = eph_step(ctx, "activate");
	if (r == 0)
		r = eph_lvm_lv_activate(ctx, now, &batch->uuids);
	if (r < 0)
		note(ctx, run, r);
	/* One call for all, and what is there decides for each. */
	for (size_t i = 0; i < batch->uuids.n; i++) {
		struct eph_dm_info info;

		lv = eph_lvm_lv_by_uuid(now, batch->uuids.v[i]);
		r = eph_dm_info(ctx, vg->uuid, batch->uuids.v[i], &info);
		if (r < 0)
			return r;
		if (eph_dm_usable(&info))
			run->active++;
		else
			note(ctx, run,
			     eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, lv->name, "see \"lvs\"",
				      "\"%s/%s\" could not be activated", vg->name, lv->name));
	}
	return 0;
}

static int activate_vg(struct ephlvm_ctx *ctx, struct run *run, const struct eph_lvm_view *view,
		       const struct eph_vg *vg, const struct ephlvm_volumes *volumes)
{
	__attribute__((cleanup(batch_clear))) struct batch batch = { 0 };
	int r;

	r = batch_fill(ctx, run, view, vg, volumes, &batch);
	if (r < 0 || batch.uuids.n == 0)
		return r;
	return batch_activate(ctx, run, vg, &batch);
}

/* What a create left half-made, when its creator is gone, becomes trash; after the ready ones are up. */
static void settle_new(struct ephlvm_ctx *ctx, struct run *run, const struct eph_lvm_view *view,
		       const struct ephlvm_volumes *volumes)
{
	for (size_t i = 0; i < volumes->n; i++) {
		struct ephlvm_volume *v = volumes->v[i];
		bool settled = false;
		int r;

		if (v->state != EPHLVM_STATE_NEW)
			continue;
		if (run->dry_run) {
			eph_action(ctx, "trash", v->name, v->size_bytes);
			continue;
		}
		r = eph_volume_settle(ctx, eph_lvm_vg_by_uuid(view, v->vg_uuid), v, false,
				      &settled);
		if (r < 0)
			note(ctx, run, r);
		else if (settled)
			eph_warn(ctx, "\"%s\" was half-made: it is trash now", v->name);
	}
}

static int run_all(struct ephlvm_ctx *ctx, struct run *run, const struct eph_lvm_view *view,
		   const struct ephlvm_volumes *volumes)
{
	for (size_t i = 0; i < view->n_vgs; i++) {
		int r;

		if (!eph_vg_pool_name(&view->vgs[i]))
			continue;
		r = activate_vg(ctx, run, view, &view->vgs[i], volumes);
		if (r < 0)
			note(ctx, run, r);
	}
	settle_new(ctx, run, view, volumes);
	if (run->result == 0)
		return 0;
	eph_error_give(ctx, &run->first);
	/* One object has its own code; several, some of them done, have the one for that. */
	if (run->active == 0)
		return run->result;
	ctx->error.kind = EPHLVM_ERROR_PARTIAL;
	ctx->error.errnum = EREMOTEIO;
	eph_warn(ctx, "%zu volumes are active, %zu failures", run->active, run->failed);
	return -EREMOTEIO;
}

int ephlvm_activate(struct ephlvm_ctx *ctx, const struct ephlvm_activate_opts *opts,
		    size_t *ret_count)
{
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	const struct eph_config *config;
	struct ephlvm_activate_opts o;
	char instance[EPH_UUID_TEXT];
	struct run run = { 0 };
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
	r = eph_config_get(ctx, &config);
	if (r == 0)
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
	run.dry_run = o.flags & EPHLVM_DRY_RUN;
	/* At boot a busy instance keeps no other waiting; the named one is waited for. */
	run.lock_ms = o.instance ? config->lock_timeout_ms : 0;
	r = run_all(ctx, &run, view, volumes);
	if (ret_count)
		*ret_count = run.active;
	return r;
}
