// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * purge_job.c - one volume of a purge.
 * Owns the order: lock, look again, mark, activate, open and prove, erase, prove, receipt, prove, remove,
 * look again. Must not touch what is not trash of ours, and must not free what is not erased.
 */
#include "workflow/purge_job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "edge/checkpoint.h"
#include "edge/clean.h"
#include "edge/conffile.h"
#include "edge/dm.h"
#include "edge/drive.h"
#include "edge/receipt.h"
#include "object/pool.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "workflow/trash.h"

#define RETRY_MS 500

void eph_purge_job_init(struct eph_purge_job *job, const struct ephlvm_volume *was,
			int64_t deadline_ms)
{
	*job = (struct eph_purge_job){
		.was = was,
		.stage = EPH_PURGE_WAITING,
		.deadline_ms = deadline_ms,
		.fd = -1,
	};
}

static void release_drives(struct eph_purge_job *job)
{
	while (job->n_drive_locks > 0)
		eph_lock_release(job->drive_locks[--job->n_drive_locks]);
	free(job->drive_locks);
	job->drive_locks = NULL;
}

/* What it holds; not what became of it. */
static void let_go(struct eph_purge_job *job)
{
	eph_closep(&job->fd);
	job->fd = -1;
	release_drives(job);
	eph_lock_release(job->lock);
	job->lock = NULL;
	eph_volume_free(job->now);
	job->now = NULL;
	eph_lvm_view_free(job->view);
	job->view = NULL;
	job->vg = NULL;
}

void eph_purge_job_clear(struct eph_purge_job *job)
{
	let_go(job);
	free(job->receipt);
	job->receipt = NULL;
}

/* --- locks --- */

/* -EAGAIN, without a record, while another process has it and there is time left. */
static int try_lock(struct ephlvm_ctx *ctx, struct eph_purge_job *job, enum eph_lock_kind kind,
		    const char *id, bool for_ever, struct eph_lock **ret_lock)
{
	int r = eph_lock_take(ctx, kind, id, 0, ret_lock);

	if (r != -ETIMEDOUT || (!for_ever && eph_now_ms() >= job->deadline_ms))
		return r;
	if (!job->told)
		eph_warn(ctx, "\"%s\" waits: %s", job->was->name, ephlvm_error_message(ctx));
	job->told = true;
	job->retry_ms = eph_now_ms() + RETRY_MS;
	eph_error_clear(&ctx->error);
	return -EAGAIN;
}

/* One erase a drive: two would only slow each other down. They are taken in the order of their UUIDs. */
static int lock_drives(struct ephlvm_ctx *ctx, struct eph_purge_job *job)
{
	const struct eph_strv *pvs = &job->was->pv_uuids;

	job->drive_locks = calloc(pvs->n + 1, sizeof(struct eph_lock *));
	if (!job->drive_locks)
		return eph_fail_oom(ctx);
	for (size_t i = 0; i < pvs->n; i++) {
		int r = try_lock(ctx, job, EPH_LOCK_DRIVE, pvs->v[i], true, &job->drive_locks[i]);

		if (r < 0)
			return r;
		job->n_drive_locks++;
	}
	return 0;
}

/* --- looking again --- */

static bool same_drives(const struct ephlvm_volume *a, const struct ephlvm_volume *b)
{
	if (a->pv_uuids.n != b->pv_uuids.n)
		return false;
	for (size_t i = 0; i < a->pv_uuids.n; i++)
		if (strcmp(a->pv_uuids.v[i], b->pv_uuids.v[i]) != 0)
			return false;
	return true;
}

/* Is it still there, still trash, still ours, whole? job->now is NULL where it is gone. */
static int examine(struct ephlvm_ctx *ctx, struct eph_purge_job *job)
{
	const struct ephlvm_volume *was = job->was;
	struct ephlvm_volume *v;
	struct eph_lv *lv;
	int r;

	r = eph_lv_reread(ctx, was->vg_uuid, was->lv_uuid, &job->view, &job->vg, &lv);
	if (r < 0 || !lv)
		return r;
	if (!eph_lv_is_ours(lv) || !eph_vg_pool_name(job->vg))
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, ESTALE, was->name, NULL,
				"\"%s\" bears no tag of ephlvm any more: not touched", was->name);
	r = eph_volume_new(ctx, job->vg, lv, &job->now);
	v = job->now;
	if (r == 0)
		r = eph_volume_check_ours(ctx, v);
	if (r == 0)
		r = eph_pool_check_writable(ctx, job->view, job->vg);
	if (r < 0)
		return r;
	if (v->state != EPHLVM_STATE_TRASH)
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, was->name,
				"delete it first: ephlvm delete", "\"%s\" is %s, not trash",
				v->name, ephlvm_volume_state_name(v));
	if (v->tags.hold_at)
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, v->name,
				"give it free first: ephlvm unhold", "\"%s\" is held", v->name);
	if (v->partial)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, v->name,
				"bring the drive back; the volume stays trash until then",
				"a drive of \"%s\" is missing: it cannot be erased in full",
				v->name);
	r = eph_volume_check_alone(ctx, v);
	if (r < 0)
		return r;
	if (!eph_streq(v->layout, "linear"))
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EOPNOTSUPP, v->name,
				"use the version that made it",
				"\"%s\" is %s: this version erases linear volumes only", v->name,
				v->layout);
	if (!same_drives(was, v))
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, v->name, "purge again",
				"\"%s\" was moved to other drives meanwhile", v->name);
	return 0;
}

/* --- begin --- */

/*
 * From here on it cannot be restored: said in its tags, in one commit, and flushed, before the first
 * byte is overwritten. Where the metadata area is full, the checkpoint's file says it alone.
 */
static int mark_begun(struct ephlvm_ctx *ctx, const struct eph_purge_policy *policy,
		      struct eph_purge_job *job, bool filed)
{
	_cleanup_strv_ struct eph_strv del = EPH_STRV_INIT, add = EPH_STRV_INIT;
	const struct eph_strv *raw = &job->now->raw_tags;
	char value[64];
	int r;

	snprintf(value, sizeof(value), "%s:1/%u:0", eph_erase_method_word(policy->method),
		 eph_erase_passes(policy->method, policy->random_passes));
	if (eph_tags_change(raw, "ephlvm.state", "trash", &del, &add) < 0 ||
	    eph_tags_change(raw, "ephlvm.erase", value, &del, &add) < 0 ||
	    eph_tags_change(raw, "ephlvm.fail", NULL, &del, &add) < 0)
		return eph_fail_oom(ctx);
	if (del.n == 0 && add.n == 0)
		return 0;
	r = eph_step(ctx, "purge-mark");
	if (r == 0)
		r = eph_lvm_lv_retag(ctx, job->vg, job->now->lv_uuid, &del, &add);
	if (r == -ENOSPC && filed) {
		eph_warn(ctx, "the metadata area has no room to mark \"%s\": erased all the same",
			 job->now->name);
		eph_error_clear(&ctx->error);
		return 0;
	}
	if (r == 0)
		r = eph_step(ctx, "purge-mark-flush");
	return r < 0 ? r : eph_lvm_flush(ctx, job->vg);
}

/* The checkpoint of an erase that has written nothing yet. */
static struct eph_checkpoint first_byte(const struct eph_purge_policy *policy,
					const struct eph_purge_job *job)
{
	return (struct eph_checkpoint){
		.method = policy->method,
		.passes = eph_erase_passes(policy->method, policy->random_passes),
		.size_bytes = job->now->size_bytes,
		.point = { .pass = 1 },
	};
}

/* Where to begin: where the last purge stopped, if it was doing the same. */
static int resume_point(struct ephlvm_ctx *ctx, const struct eph_purge_policy *policy,
			struct eph_purge_job *job, bool *ret_filed)
{
	struct eph_checkpoint c, begin = first_byte(policy, job);
	int r;

	r = eph_checkpoint_read(ctx, job->now->lv_uuid, &c);
	if (r < 0)
		return r;
	*ret_filed = true;
	if (c.point.pass > 0 && c.method == begin.method && c.passes == begin.passes &&
	    c.size_bytes == begin.size_bytes) {
		job->from = c.point;
		return 0;
	}
	if (eph_checkpoint_write(ctx, job->now->lv_uuid, &begin) < 0) {
		eph_warn(ctx, "cannot keep how far the erase of \"%s\" is: %s", job->now->name,
			 ephlvm_error_message(ctx));
		eph_error_clear(&ctx->error);
		*ret_filed = false;
	}
	return 0;
}

static int open_proven(struct ephlvm_ctx *ctx, struct eph_purge_job *job)
{
	const struct ephlvm_volume *v = job->now;
	int r;

	r = eph_lv_make_active(ctx, job->vg, v->lv_uuid, v->name, "purge-activate");
	if (r == 0)
		r = eph_step(ctx, "purge-open");
	return r < 0 ? r :
		       eph_dm_open_lv(ctx, v->vg_uuid, v->lv_uuid, v->name, v->size_bytes, true,
				      O_DIRECT, &job->fd);
}

static int start_erase(struct ephlvm_ctx *ctx, const struct eph_purge_policy *policy,
		       struct eph_purge_job *job)
{
	struct eph_erase_request request = {
		.subject = job->now->name,
		.size_bytes = job->now->size_bytes,
		.method = policy->method,
		.random_passes = policy->random_passes,
		.verify = policy->verify,
		.rate_bytes_sec = policy->rate_bytes_sec,
		.idle = true,
	};
	bool filed = false;
	int r;

	eph_action(ctx, "erase", job->was->name, job->was->size_bytes);
	r = resume_point(ctx, policy, job, &filed);
	if (r == 0)
		r = mark_begun(ctx, policy, job, filed);
	if (r == 0)
		r = open_proven(ctx, job);
	if (r < 0)
		return r;
	request.fd = job->fd;
	request.from = job->from;
	job->outcome.point = job->from;
	return eph_eraser_start(ctx, &request, job->now->lv_uuid, policy->bell_fd, &job->eraser);
}

static int write_receipt(struct ephlvm_ctx *ctx, const struct eph_purge_policy *policy,
			 struct eph_purge_job *job);

/* What is removed without an erase leaves its bytes behind: the removal says so to the proof of clean space. */
static int skip_erase(struct ephlvm_ctx *ctx, const struct eph_purge_policy *policy,
		      struct eph_purge_job *job)
{
	int r;

	eph_warn(ctx, "\"%s\" is removed without an erase, as the policy \"none\" says",
		 job->now->name);
	r = write_receipt(ctx, policy, job);
	if (r < 0)
		return r;
	eph_action(ctx, "remove", job->was->name, job->was->size_bytes);
	job->unerased = job->proven = true;
	job->erased_ms = eph_now_ms();
	job->stage = EPH_PURGE_ERASED;
	return 0;
}

/*
 * Keep the reason on the volume, for list and audit, and deactivate it again. That it cannot be kept is a
 * warning only.
 */
static void note_failure(struct ephlvm_ctx *ctx, struct eph_purge_job *job, int errnum)
{
	_cleanup_strv_ struct eph_strv del = EPH_STRV_INIT, add = EPH_STRV_INIT,
				       uuids = EPH_STRV_INIT;
	struct eph_error first = eph_error_take(ctx);
	char value[64];

	eph_closep(&job->fd);
	job->fd = -1;
	snprintf(value, sizeof(value), "%d:%llu", errnum,
		 (unsigned long long)job->outcome.point.done_bytes);
	/* Somebody else's use, or a stop, is no fault of the volume. */
	if (first.kind == EPHLVM_ERROR_SYSTEM) {
		if (eph_clean_drop(ctx, job->now->vg_uuid) < 0)
			eph_warn(ctx, "%s", ephlvm_error_message(ctx));
		eph_error_clear(&ctx->error);
		if (eph_tags_change(&job->now->raw_tags, "ephlvm.fail", value, &del, &add) < 0 ||
		    (add.n > 0 &&
		     eph_lvm_lv_retag(ctx, job->vg, job->now->lv_uuid, &del, &add) < 0))
			eph_warn(ctx, "could not keep the reason in the tags of \"%s\": %s",
				 job->now->name, ephlvm_error_message(ctx));
		eph_error_clear(&ctx->error);
		if (eph_lvm_flush(ctx, job->vg) < 0)
			eph_warn(ctx, "could not flush after that: %s", ephlvm_error_message(ctx));
		eph_error_clear(&ctx->error);
	}
	if (eph_strv_add(&uuids, job->now->lv_uuid) < 0 ||
	    eph_lvm_lv_deactivate(ctx, job->vg, &uuids) < 0)
		eph_warn(ctx, "could not deactivate \"%s\" again: %s", job->now->name,
			 ephlvm_error_message(ctx));
	eph_error_give(ctx, &first);
}

static int fail_job(struct ephlvm_ctx *ctx, struct eph_purge_job *job, int r, bool note)
{
	if (note)
		note_failure(ctx, job, -r);
	let_go(job);
	job->stage = EPH_PURGE_DONE;
	return r;
}

int eph_purge_job_begin(struct ephlvm_ctx *ctx, const struct eph_purge_policy *policy,
			const struct eph_virt_uses *uses, struct eph_purge_job *job)
{
	int r;

	r = try_lock(ctx, job, EPH_LOCK_VOLUME, job->was->lv_uuid, false, &job->lock);
	if (r == 0 && policy->method != EPH_ERASE_NONE)
		r = lock_drives(ctx, job);
	if (r == -EAGAIN) {
		let_go(job);
		return r;
	}
	if (r == 0)
		r = examine(ctx, job);
	if (r == 0 && !job->now) {
		let_go(job);
		job->stage = EPH_PURGE_DONE;
		return 0;
	}
	if (r == 0)
		r = eph_volume_check_unused(ctx, job->now, uses, true);
	if (r < 0)
		return fail_job(ctx, job, r, false);
	job->started_at = (int64_t)time(NULL);
	if (policy->method == EPH_ERASE_NONE) {
		r = skip_erase(ctx, policy, job);
		return r < 0 ? fail_job(ctx, job, r, false) : 0;
	}
	r = start_erase(ctx, policy, job);
	if (r < 0)
		return fail_job(ctx, job, r, true);
	job->stage = EPH_PURGE_ERASING;
	return 0;
}

/* --- finish --- */

/* The serials of the drives that it lay on, as far as they can be told. */
static int drive_serials(struct ephlvm_ctx *ctx, const struct eph_purge_job *job,
			 struct eph_strv *ret_serials)
{
	for (size_t i = 0; i < job->vg->n_pvs; i++) {
		const struct eph_pv *pv = &job->vg->pvs[i];
		struct eph_drive drive = { 0 };
		int r;

		if (!pv->device || !eph_strv_has(&job->now->pv_uuids, pv->uuid))
			continue;
		if (eph_drive_read(ctx, pv->device, &drive) < 0) {
			eph_error_clear(&ctx->error);
			r = eph_strv_add(ret_serials, pv->device);
		} else {
			r = eph_strv_add(ret_serials, drive.serial ? drive.serial : drive.name);
		}
		eph_drive_clear(&drive);
		if (r < 0)
			return eph_fail_oom(ctx);
	}
	return 0;
}

static uint64_t resumed_bytes(const struct eph_purge_job *job)
{
	if (job->from.pass == 0)
		return 0;
	return (job->from.pass - 1) * job->now->size_bytes + job->from.done_bytes;
}

static int write_receipt(struct ephlvm_ctx *ctx, const struct eph_purge_policy *policy,
			 struct eph_purge_job *job)
{
	_cleanup_strv_ struct eph_strv serials = EPH_STRV_INIT;
	const struct ephlvm_volume *v = job->now;
	bool erased = policy->method != EPH_ERASE_NONE;
	struct eph_receipt receipt = {
		.vg = v->vg,
		.lv = v->lv,
		.vg_uuid = v->vg_uuid,
		.lv_uuid = v->lv_uuid,
		.instance = v->tags.instance[0] ? v->tags.instance : NULL,
		.disk = v->tags.disk,
		.flavor = v->tags.flavor,
		.pool = v->pool,
		.drives = &serials,
		.size_bytes = v->size_bytes,
		.method = eph_erase_method_word(policy->method),
		.means = job->outcome.means,
		.passes = erased ? job->outcome.passes : 0,
		.written_bytes = job->outcome.written_bytes,
		.verify = eph_erase_verify_word(erased ? policy->verify : EPH_VERIFY_OFF),
		.verified_bytes = job->outcome.verified_bytes,
		.verified_places = job->outcome.verified_places,
		.started_at = job->started_at,
		.ended_at = (int64_t)time(NULL),
		.resumed_bytes = resumed_bytes(job),
	};
	const struct eph_config *config;
	int r;

	r = eph_config_get(ctx, &config);
	if (r == 0)
		r = drive_serials(ctx, job, &serials);
	if (r == 0)
		r = eph_step(ctx, "receipt");
	return r < 0 ? r :
		       eph_receipt_append(ctx, &receipt, config->lock_timeout_ms, &job->receipt);
}

int eph_purge_job_finish(struct ephlvm_ctx *ctx, const struct eph_purge_policy *policy,
			 struct eph_purge_job *job)
{
	const struct ephlvm_volume *v = job->now;
	int r;

	r = eph_eraser_end(ctx, eph_steal(job->eraser), &job->outcome);
	/*
	 * What was taken for erased is not: the next purge begins at the first byte. The file is kept, as where
	 * the metadata area is full it alone says that the erase has begun.
	 */
	if (r == -EILSEQ) {
		struct eph_checkpoint begin = first_byte(policy, job);
		struct eph_error first = eph_error_take(ctx);

		if (eph_checkpoint_write(ctx, v->lv_uuid, &begin) < 0 &&
		    eph_checkpoint_remove(ctx, v->lv_uuid) < 0)
			eph_warn(ctx, "%s", ephlvm_error_message(ctx));
		eph_error_give(ctx, &first);
	}
	/* What was erased is still the volume whose space is about to be freed. */
	if (r == 0)
		r = eph_dm_prove_lv(ctx, job->fd, v->vg_uuid, v->lv_uuid, v->name, v->size_bytes,
				    1);
	if (r < 0)
		return fail_job(ctx, job, r, true);
	release_drives(job);
	r = write_receipt(ctx, policy, job);
	if (r < 0) {
		struct eph_error first = eph_error_take(ctx);
		_cleanup_strv_ struct eph_strv uuids = EPH_STRV_INIT;

		/* No fault of the drive: no word of one in the tags. */
		eph_closep(&job->fd);
		job->fd = -1;
		if (eph_strv_add(&uuids, v->lv_uuid) < 0 ||
		    eph_lvm_lv_deactivate(ctx, job->vg, &uuids) < 0)
			eph_warn(ctx, "could not deactivate \"%s\" again: %s", v->name,
				 ephlvm_error_message(ctx));
		eph_error_give(ctx, &first);
		return fail_job(ctx, job, r, false);
	}
	eph_action(ctx, "remove", job->was->name, job->was->size_bytes);
	job->erased_ms = eph_now_ms();
	job->stage = EPH_PURGE_ERASED;
	return 0;
}

/* --- remove --- */

/* Just before the descriptor is given up: still that LV, and nobody else has it open. */
static int prove_and_close(struct ephlvm_ctx *ctx, struct eph_purge_job *job)
{
	const struct ephlvm_volume *v = job->now;
	struct eph_dm_info info;
	int r;

	if (job->fd >= 0) {
		r = eph_dm_prove_lv(ctx, job->fd, v->vg_uuid, v->lv_uuid, v->name, v->size_bytes,
				    1);
		eph_closep(&job->fd);
		job->fd = -1;
		job->proven = r == 0;
		return r;
	}
	/* Not erased by policy, or the second try: at least it is not in use. */
	r = eph_dm_info(ctx, v->vg_uuid, v->lv_uuid, &info);
	if (r == 0 && info.exists && info.open_count > 0)
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, v->name,
				"see who has it open: lsof, dmsetup ls --tree",
				"\"%s\" is open (%u times)", v->name, info.open_count);
	return r;
}

/*
 * The LVM call for those of @jobs without a result, and what is there afterwards. What LVM said goes to
 * @ret_words: it proves nothing, but explains what is found.
 */
static int remove_and_look(struct ephlvm_ctx *ctx, struct eph_purge_job *const *jobs, size_t n,
			   const int *results, struct eph_error *ret_words,
			   struct eph_lvm_view **ret_view, struct eph_vg **ret_vg)
{
	_cleanup_strv_ struct eph_strv uuids = EPH_STRV_INIT;
	const struct eph_vg *vg = jobs[n - 1]->vg; /* read last */
	struct eph_lv *lv;
	int r;

	for (size_t i = 0; i < n; i++)
		if (results[i] == 0 && eph_strv_add(&uuids, jobs[i]->now->lv_uuid) < 0)
			return eph_fail_oom(ctx);
	/*
	 * Before the removal is acted on: a commit that a drive's cache loses must not leave "erased"
	 * paired with somebody's data.
	 */
	r = eph_step(ctx, "purge-flush");
	if (r == 0)
		r = eph_lvm_flush(ctx, vg);
	if (r == 0)
		r = eph_step(ctx, "remove");
	if (r < 0)
		return r;
	/* All of a purge are of one policy. */
	if ((jobs[0]->unerased ? eph_lvm_lv_remove_unerased(ctx, vg, &uuids) :
				 eph_lvm_lv_remove(ctx, vg, &uuids)) < 0)
		*ret_words = eph_error_take(ctx);
	r = eph_step(ctx, "remove-flush");
	if (r == 0)
		r = eph_lvm_flush(ctx, vg);
	return r < 0 ? r : eph_lv_reread(ctx, vg->uuid, NULL, ret_view, ret_vg, &lv);
}

static const char *erased_word(const struct eph_purge_job *job)
{
	return job->unerased ? "not erased, as the policy says" : "erased";
}

/* Gone is what was wanted, whatever LVM said. */
static int judge(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const struct eph_purge_job *job,
		 const struct eph_error *words)
{
	if (eph_lvm_lv_by_uuid(vg, job->now->lv_uuid))
		return eph_fail(ctx,
				words->kind == EPHLVM_ERROR_BUSY ? EPHLVM_ERROR_BUSY :
								   EPHLVM_ERROR_SYSTEM,
				words->kind == EPHLVM_ERROR_BUSY ? EBUSY : EIO, job->now->name,
				"see \"lvs\" and who has it open; purge again",
				"\"%s\" is %s, but LVM did not remove it%s%s", job->now->name,
				erased_word(job), words->message ? ": " : "",
				words->message ? words->message : "");
	if (eph_checkpoint_remove(ctx, job->now->lv_uuid) < 0)
		eph_warn(ctx, "%s", ephlvm_error_message(ctx));
	eph_error_clear(&ctx->error);
	return 0;
}

/* One call for all failed for some: one call for each, so that what stops one does not keep the others. */
static void remove_each(struct ephlvm_ctx *ctx, struct eph_purge_job *const *jobs, size_t n,
			int *results, struct eph_error *errors)
{
	for (size_t i = 0; i < n; i++) {
		if (results[i] == 0 || !jobs[i]->proven)
			continue;
		eph_error_clear(&errors[i]);
		eph_purge_jobs_remove(ctx, &jobs[i], 1, &results[i], &errors[i]);
	}
}

void eph_purge_jobs_remove(struct ephlvm_ctx *ctx, struct eph_purge_job *const *jobs, size_t n,
			   int *ret_results, struct eph_error *ret_errors)
{
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	struct eph_error words = { 0 }, whole;
	struct eph_vg *vg = NULL;
	size_t wanted = 0, left = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		ret_results[i] = prove_and_close(ctx, jobs[i]);
		ret_errors[i] = eph_error_take(ctx);
		wanted += ret_results[i] == 0;
	}
	if (wanted > 0)
		r = remove_and_look(ctx, jobs, n, ret_results, &words, &view, &vg);
	whole = eph_error_take(ctx);
	for (size_t i = 0; i < n; i++) {
		if (ret_results[i] < 0)
			continue;
		ret_results[i] = r < 0 ? eph_fail(ctx, whole.kind, -r, jobs[i]->now->name,
						  "purge again", "\"%s\" is %s, then: %s",
						  jobs[i]->now->name, erased_word(jobs[i]),
						  whole.message) :
					 judge(ctx, vg, jobs[i], &words);
		ret_errors[i] = eph_error_take(ctx);
		left += r == 0 && ret_results[i] < 0;
	}
	eph_error_clear(&whole);
	eph_error_clear(&words);
	if (left > 0 && n > 1)
		remove_each(ctx, jobs, n, ret_results, ret_errors);
	for (size_t i = 0; i < n; i++)
		jobs[i]->stage = EPH_PURGE_DONE;
}
