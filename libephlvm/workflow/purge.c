// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * purge.c - trash is erased and its space freed.
 * Owns the order: lock, look again, activate, prove, erase, flush, read back, prove, remove, look
 * again. Must not touch what is not trash of ours, and must not free what is not erased.
 */
#include "workflow/purge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "edge/conffile.h"
#include "edge/dm.h"
#include "edge/erase.h"
#include "edge/lock.h"
#include "object/pool.h"
#include "pure/config.h"
#include "util/cleanup.h"
#include "workflow/trash.h"

/* One volume under its lock. */
struct job {
	const struct eph_config *config;
	const struct eph_virt_uses *uses;
	struct eph_lvm_view *view; /* as it is now */
	struct eph_vg *vg;
	struct ephlvm_volume *now; /* NULL: gone */
	struct eph_erase_outcome outcome;
};

static void job_clear(struct job *job)
{
	eph_volume_free(job->now);
	eph_lvm_view_free(job->view);
}

/* Look again, under the lock: is it still there, still trash, still ours, unused? */
static int examine(struct ephlvm_ctx *ctx, const struct ephlvm_volume *was, struct job *job)
{
	struct eph_lv *lv;
	int r;

	r = eph_lv_reread(ctx, was->vg_uuid, was->lv_uuid, &job->view, &job->vg, &lv);
	if (r < 0 || !lv)
		return r;
	if (!eph_lv_is_ours(lv) || !eph_vg_pool_name(job->vg))
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, ESTALE, was->name, NULL,
				"\"%s\" bears no tag of ephlvm any more: not touched", was->name);
	r = eph_volume_new(ctx, job->vg, lv, &job->now);
	if (r == 0)
		r = eph_volume_check_ours(ctx, job->now);
	if (r == 0)
		r = eph_pool_check_writable(ctx, job->view, job->vg);
	if (r < 0)
		return r;
	if (job->now->state != EPHLVM_STATE_TRASH)
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, was->name,
				"delete it first: ephlvm delete", "\"%s\" is %s, not trash",
				job->now->name, ephlvm_volume_state_name(job->now));
	if (job->now->partial)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, job->now->name,
				"bring the drive back; the volume stays trash until then",
				"a drive of \"%s\" is missing: it cannot be erased in full",
				job->now->name);
	if (!eph_streq(job->now->layout, "linear"))
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EOPNOTSUPP, job->now->name,
				"use the version that made it",
				"\"%s\" is %s: this version erases linear volumes only",
				job->now->name, job->now->layout);
	return eph_volume_check_unused(ctx, job->now, job->uses, true);
}

static int erase(struct ephlvm_ctx *ctx, struct job *job, const char *planned)
{
	_cleanup_close_ int fd = -1;
	const struct ephlvm_volume *v = job->now;
	struct eph_erase_request request = {
		.subject = v->name,
		.size_bytes = v->size_bytes,
	};
	int r;

	eph_action(ctx, "erase", planned, v->size_bytes);
	if (eph_erase_verify_parse(job->config->erase_verify, &request.verify) < 0)
		return eph_fail(ctx, EPHLVM_ERROR_INTERNAL, EINVAL, job->config->erase_verify, NULL,
				"unknown word \"%s\" for the read-back", job->config->erase_verify);
	r = eph_step(ctx, "purge-open");
	if (r == 0)
		r = eph_dm_open_lv(ctx, v->vg_uuid, v->lv_uuid, v->name, v->size_bytes, true,
				   O_DIRECT, &fd);
	if (r < 0)
		return r;
	request.fd = fd;
	r = eph_erase_run(ctx, &request, &job->outcome);
	if (r < 0)
		return r;
	/* What was erased is still the volume whose space is about to be freed. */
	return eph_dm_prove_lv(ctx, fd, v->vg_uuid, v->lv_uuid, v->name, v->size_bytes, 1);
}

/* Keep the reason on the volume, for list and audit. That it cannot be kept is a warning only. */
static void note_failure(struct ephlvm_ctx *ctx, const struct job *job, int errnum)
{
	_cleanup_strv_ struct eph_strv del = EPH_STRV_INIT, add = EPH_STRV_INIT,
				       uuids = EPH_STRV_INIT;
	struct eph_error first = eph_error_take(ctx);
	char value[64];

	snprintf(value, sizeof(value), "%d:%llu", errnum,
		 (unsigned long long)job->outcome.done_bytes);
	/* Somebody else's use, or a stop, is no fault of the volume. */
	if (first.kind == EPHLVM_ERROR_SYSTEM &&
	    (eph_tags_change(&job->now->raw_tags, "ephlvm.fail", value, &del, &add) < 0 ||
	     (add.n > 0 && eph_lvm_lv_retag(ctx, job->vg, job->now->lv_uuid, &del, &add) < 0)))
		eph_warn(ctx, "could not keep the reason in the tags of \"%s\": %s", job->now->name,
			 ephlvm_error_message(ctx));
	eph_error_clear(&ctx->error);
	if (eph_lvm_flush(ctx, job->vg) < 0)
		eph_warn(ctx, "could not flush after that: %s", ephlvm_error_message(ctx));
	eph_error_clear(&ctx->error);
	if (eph_strv_add(&uuids, job->now->lv_uuid) < 0 ||
	    eph_lvm_lv_deactivate(ctx, job->vg, &uuids) < 0)
		eph_warn(ctx, "could not deactivate \"%s\" again: %s", job->now->name,
			 ephlvm_error_message(ctx));
	eph_error_give(ctx, &first);
}

static int free_space(struct ephlvm_ctx *ctx, const struct job *job, const char *planned)
{
	_cleanup_strv_ struct eph_strv uuids = EPH_STRV_INIT;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	const struct ephlvm_volume *v = job->now;
	struct eph_error first;
	struct eph_vg *vg;
	struct eph_lv *lv;
	int r, failed;

	if (eph_strv_add(&uuids, v->lv_uuid) < 0)
		return eph_fail_oom(ctx);
	/*
	 * Before the removal is acted on: a commit that a drive's cache loses must not leave "erased"
	 * paired with somebody's data.
	 */
	r = eph_step(ctx, "purge-flush");
	if (r == 0)
		r = eph_lvm_flush(ctx, job->vg);
	if (r < 0)
		return r;
	eph_action(ctx, "remove", planned, v->size_bytes);
	r = eph_step(ctx, "remove");
	if (r < 0)
		return r;
	failed = eph_lvm_lv_remove(ctx, job->vg, &uuids);
	first = eph_error_take(ctx);
	r = eph_step(ctx, "remove-flush");
	if (r == 0)
		r = eph_lvm_flush(ctx, job->vg);
	if (r == 0)
		r = eph_lv_reread(ctx, v->vg_uuid, v->lv_uuid, &view, &vg, &lv);
	if (r == 0 && !lv) {
		eph_error_clear(&first);
		return 0;
	}
	if (failed < 0) {
		eph_error_give(ctx, &first);
		return failed;
	}
	eph_error_clear(&first);
	if (r < 0)
		return r;
	return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, v->name, "see \"lvs\"; purge again",
			"LVM said that \"%s\" was removed, and it is still there", v->name);
}

/* 0 freed, or gone already: *ret_gone. */
static int purge_one(struct ephlvm_ctx *ctx, const struct eph_config *config,
		     const struct eph_virt_uses *uses, const struct ephlvm_volume *was,
		     unsigned int wait_ms, struct eph_erase_outcome *ret_outcome, bool *ret_gone)
{
	_cleanup_lock_ struct eph_lock *lock = NULL;
	struct job job = { .config = config, .uses = uses };
	int r;

	r = eph_lock_take(ctx, EPH_LOCK_VOLUME, was->lv_uuid, wait_ms, &lock);
	if (r < 0)
		return r;
	r = examine(ctx, was, &job);
	if (r == 0 && job.now) {
		r = eph_lv_make_active(ctx, job.vg, job.now->lv_uuid, job.now->name,
				       "purge-activate");
		if (r == 0)
			r = erase(ctx, &job, was->name);
		if (r < 0)
			note_failure(ctx, &job, -r);
		else
			r = free_space(ctx, &job, was->name);
	}
	*ret_gone = r == 0 && !job.now;
	*ret_outcome = job.outcome;
	job_clear(&job);
	return r;
}

static void report(const struct ephlvm_purge_opts *opts, const struct ephlvm_volume *volume,
		   enum ephlvm_purge_result result, uint64_t erased_bytes, int errnum,
		   const char *message)
{
	struct ephlvm_purged purged = {
		.size = sizeof(purged),
		.volume = volume,
		.result = result,
		.erased_bytes = erased_bytes,
		.errnum = errnum,
		.message = message,
	};

	if (opts->purged_fn)
		opts->purged_fn(opts->data, &purged);
}

int eph_purge_volumes(struct ephlvm_ctx *ctx, const struct ephlvm_volumes *volumes,
		      const struct ephlvm_purge_opts *opts, unsigned int wait_ms)
{
	__attribute__((cleanup(eph_virt_uses_clear))) struct eph_virt_uses uses = { 0 };
	struct eph_error first = { 0 };
	const struct eph_config *config;
	size_t freed = 0, failed = 0;
	int r, result = 0;

	r = eph_config_get(ctx, &config);
	if (r == 0 && volumes->n > 0)
		r = eph_uses_read(ctx, &uses);
	if (r < 0)
		return r;
	for (size_t i = 0; i < volumes->n; i++) {
		struct eph_erase_outcome outcome = { 0 };
		bool gone = false;

		r = purge_one(ctx, config, &uses, volumes->v[i], wait_ms, &outcome, &gone);
		if (gone) {
			eph_warn(ctx,
				 "\"%s\" was gone before its turn: purged by another process, "
				 "or removed by hand",
				 volumes->v[i]->name);
			report(opts, volumes->v[i], EPHLVM_PURGE_GONE, 0, 0, NULL);
			continue;
		}
		if (r == 0) {
			freed++;
			report(opts, volumes->v[i], EPHLVM_PURGE_FREED, outcome.done_bytes, 0,
			       NULL);
			continue;
		}
		failed++;
		report(opts, volumes->v[i],
		       ctx->error.kind == EPHLVM_ERROR_BUSY ? EPHLVM_PURGE_BUSY :
							      EPHLVM_PURGE_FAILED,
		       outcome.done_bytes, -r, ephlvm_error_message(ctx));
		if (result == 0) {
			first = eph_error_take(ctx);
			result = r;
		} else {
			eph_error_clear(&ctx->error);
		}
		if (r == -ECANCELED)
			break;
	}
	if (result == 0)
		return 0;
	eph_error_give(ctx, &first);
	/* One object has its own code; several, some of them done, have the one for that. */
	if (freed > 0 && result != -ECANCELED) {
		ctx->error.kind = EPHLVM_ERROR_PARTIAL;
		ctx->error.errnum = EREMOTEIO;
		eph_warn(ctx, "%zu volumes were freed, %zu were not", freed, failed);
		return -EREMOTEIO;
	}
	return result;
}

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
 * What a create left half-made, when its creator is gone, is trash. One that cannot be settled is said, and
 * keeps nobody else's trash waiting.
 */
static bool settle_all(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
		       const struct ephlvm_volumes *half)
{
	bool changed = false;

	for (size_t i = 0; i < half->n; i++) {
		struct eph_vg *vg = eph_lvm_vg_by_uuid(view, half->v[i]->vg_uuid);
		bool settled = false;

		if (eph_volume_settle(ctx, vg, half->v[i], false, &settled) < 0)
			eph_warn(ctx, "half-made \"%s\" stays: %s", half->v[i]->name,
				 ephlvm_error_message(ctx));
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
	eph_action(ctx, "erase", v->name, v->size_bytes);
	eph_action(ctx, "remove", v->name, v->size_bytes);
	report(o, v, EPHLVM_PURGE_PLANNED, 0, 0, NULL);
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

int ephlvm_purge(struct ephlvm_ctx *ctx, const struct ephlvm_purge_opts *opts)
{
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL, *half = NULL;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	struct ephlvm_purge_opts o = EPHLVM_PURGE_OPTS_INIT;
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
	r = eph_dm_check(ctx);
	if (r == 0)
		r = eph_lvm_read(ctx, 0, &view);
	if (r == 0 && !o.names)
		r = eph_volumes_select(ctx, view, NULL, NULL, EPHLVM_STATE_NEW, &half);
	if (r == 0 && half && !dry_run && settle_all(ctx, view, half)) {
		eph_lvm_view_free(eph_steal(view));
		r = eph_lvm_read(ctx, 0, &view);
	}
	if (r == 0)
		r = select_trash(ctx, view, &o, &volumes);
	if (r == 0 && half)
		r = eph_volumes_keep_names(ctx, volumes, half);
	if (r < 0)
		return r;
	if (!dry_run)
		return eph_purge_volumes(ctx, volumes, &o, 0);
	plan(ctx, half, volumes, &o);
	return 0;
}
