// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * trash.c - volumes become trash: who uses them, deactivate, one commit, look again.
 * Owns the rule what counts as a user. Must not erase or remove anything.
 */
#include "workflow/trash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "edge/dm.h"
#include "edge/holders.h"
#include "edge/lock.h"
#include "object/pool.h"
#include "util/cleanup.h"

int eph_uses_read(struct ephlvm_ctx *ctx, struct eph_virt_uses *ret_uses)
{
	int r = eph_virt_read(ctx, ret_uses);

	if (r == 0 && !ret_uses->asked)
		eph_warn(ctx,
			 "libvirt could not be asked (%s): open count, mounts and holders decide",
			 ret_uses->why ? ret_uses->why : "unknown reason");
	return r;
}

static int check_domains(struct ephlvm_ctx *ctx, const struct ephlvm_volume *v,
			 const struct eph_virt_uses *uses, dev_t devno, bool domain_gone)
{
	size_t at = 0;

	while ((at = eph_virt_find(uses, at, v->vg, v->lv, devno)) > 0) {
		const struct eph_virt_use *use = &uses->uses[at - 1];
		bool own = eph_streq(use->domain_uuid, v->tags.instance);

		if (own && !use->active && domain_gone)
			continue;
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, v->name,
				use->active ? "shut the domain down, or detach the disk from it" :
				own ? "when the instance is being deleted, say so: --domain-gone" :
				      "detach the disk from that domain",
				"\"%s\" is %s of domain \"%s\" (%s), which %s", v->name,
				use->target ? use->target : "a disk", use->domain_name,
				use->domain_uuid,
				use->active ? "runs" :
				own	    ? "is shut off but still defined" :
					      "is not its instance's");
	}
	return 0;
}

int eph_volume_check_unused(struct ephlvm_ctx *ctx, const struct ephlvm_volume *v,
			    const struct eph_virt_uses *uses, bool domain_gone)
{
	_cleanup_strv_ struct eph_strv holders = EPH_STRV_INIT;
	_cleanup_free_ char *text = NULL;
	struct eph_dm_info info;
	int r;

	r = eph_dm_info(ctx, v->vg_uuid, v->lv_uuid, &info);
	if (r < 0)
		return r;
	r = check_domains(ctx, v, uses, info.exists ? info.devno : 0, domain_gone);
	if (r < 0)
		return r;
	r = eph_volume_check_alone(ctx, v);
	if (r < 0)
		return r;
	/* udev looks at a device for a moment after each change; a user stays. */
	for (unsigned int tries = 0; info.exists && info.open_count > 0 && tries < 40; tries++) {
		const struct timespec pause = { 0, 50000000 };

		nanosleep(&pause, NULL);
		r = eph_dm_info(ctx, v->vg_uuid, v->lv_uuid, &info);
		if (r < 0)
			return r;
	}
	if (!info.exists)
		return 0;
	if (eph_holders_find_static(info.devno, &holders) < 0)
		return eph_fail_oom(ctx);
	if (info.open_count == 0 && holders.n == 0)
		return 0;
	eph_strv_clear(&holders);
	if (eph_holders_find(info.devno, &holders) < 0 || eph_holders_text(&holders, &text) < 0)
		return eph_fail_oom(ctx);
	return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, v->name, "stop its user, then try again",
			"\"%s\" is in use (open count %u): %s", v->name, info.open_count, text);
}

int eph_lv_reread(struct ephlvm_ctx *ctx, const char *vg_uuid, const char *lv_uuid,
		  struct eph_lvm_view **ret_view, struct eph_vg **ret_vg, struct eph_lv **ret_lv)
{
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	struct eph_vg *vg;
	int r;

	r = eph_lvm_read(ctx, 0, &view);
	if (r < 0)
		return r;
	vg = eph_lvm_vg_by_uuid(view, vg_uuid);
	if (!vg)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, vg_uuid, "see \"vgs\" and \"pvs\"",
				"the volume group with UUID %s is not to be seen any more",
				vg_uuid);
	*ret_lv = lv_uuid ? eph_lvm_lv_by_uuid(vg, lv_uuid) : NULL;
	*ret_vg = vg;
	*ret_view = eph_steal(view);
	return 0;
}

static int deactivate_all(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
			  struct ephlvm_volume *const *volumes, size_t n)
{
	_cleanup_strv_ struct eph_strv uuids = EPH_STRV_INIT;
	struct eph_dm_info info;
	int r, failed = 0;

	for (size_t i = 0; i < n; i++) {
		r = eph_volume_check_alone(ctx, volumes[i]);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < n; i++) {
		r = eph_dm_info(ctx, vg->uuid, volumes[i]->lv_uuid, &info);
		if (r < 0)
			return r;
		if (info.exists && eph_strv_add(&uuids, volumes[i]->lv_uuid) < 0)
			return eph_fail_oom(ctx);
	}
	if (uuids.n == 0)
		return 0;
	r = eph_step(ctx, "deactivate");
	if (r < 0)
		return r;
	failed = eph_lvm_lv_deactivate(ctx, vg, &uuids);
	for (size_t i = 0; i < uuids.n; i++) {
		r = eph_dm_info(ctx, vg->uuid, uuids.v[i], &info);
		if (r < 0)
			return r;
		if (info.exists && !failed)
			failed = eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, info.name,
					  "see who has it open: lsof, dmsetup ls --tree",
					  "LVM said that \"%s\" is deactivated, and it is not",
					  info.name);
	}
	if (failed) {
		/* None was renamed: give back the devices that did go, as they were. */
		struct eph_error first = eph_error_take(ctx);

		if (eph_lvm_lv_activate(ctx, vg, &uuids) < 0)
			eph_warn(ctx, "could not activate again: %s", ephlvm_error_message(ctx));
		eph_error_give(ctx, &first);
	}
	return failed;
}

/*
 * The commit of one volume. A rename keeps the tags and frees the name; LVM refuses it in a partial VG,
 * where the tag alone makes it trash.
 */
static int commit_one(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
		      const struct ephlvm_volume *v)
{
	_cleanup_strv_ struct eph_strv del = EPH_STRV_INIT, add = EPH_STRV_INIT;
	_cleanup_free_ char *name = NULL;
	char at[24];
	int r;

	eph_action(ctx, "trash", v->name, v->size_bytes);
	if (vg->missing_pvs == 0) {
		r = eph_trash_name((int64_t)time(NULL), v->lv_uuid, &name);
		if (r < 0)
			return eph_fail_oom(ctx);
		r = eph_step(ctx, "rename");
		return r < 0 ? r : eph_lvm_lv_rename(ctx, vg, v->lv, name);
	}
	snprintf(at, sizeof(at), "%lld", (long long)time(NULL));
	if (eph_tags_change(&v->raw_tags, "ephlvm.state", "trash", &del, &add) < 0 ||
	    eph_tags_change(&v->raw_tags, "ephlvm.at", at, &del, &add) < 0)
		return eph_fail_oom(ctx);
	/* The tag "new" is lost by that: it was never ready, and must not be restored as if it had been. */
	if (v->tags.state == EPHLVM_STATE_NEW &&
	    eph_tags_change(&v->raw_tags, "ephlvm.erase", "zero:1/1:0", &del, &add) < 0)
		return eph_fail_oom(ctx);
	r = eph_step(ctx, "retag-trash");
	return r < 0 ? r : eph_lvm_lv_retag(ctx, vg, v->lv_uuid, &del, &add);
}

/* What is there now decides, whatever the commands said. */
static int check_trashed(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
			 struct ephlvm_volume *const *volumes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct eph_lv *lv = eph_lvm_lv_by_uuid(vg, volumes[i]->lv_uuid);
		_cleanup_volume_ struct ephlvm_volume *now = NULL;
		int r;

		if (!lv)
			return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, ENOENT, volumes[i]->name,
					"another program removed it: its bytes may not be erased",
					"\"%s\" is gone where it should be trash",
					volumes[i]->name);
		r = eph_volume_new(ctx, vg, lv, &now);
		if (r < 0)
			return r;
		if (now->state != EPHLVM_STATE_TRASH)
			return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, volumes[i]->name,
					"try again; see \"lvs -o +lv_tags\"",
					"\"%s\" is %s where it should be trash", now->name,
					ephlvm_volume_state_name(now));
	}
	return 0;
}

/* After a failed commit: what is still ready is as it was before, active. */
static void activate_ready_again(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
				 struct ephlvm_volume *const *volumes, size_t n)
{
	_cleanup_strv_ struct eph_strv uuids = EPH_STRV_INIT;

	for (size_t i = 0; i < n; i++) {
		const struct eph_lv *lv = eph_lvm_lv_by_uuid(vg, volumes[i]->lv_uuid);
		_cleanup_volume_ struct ephlvm_volume *now = NULL;

		if (!lv || !volumes[i]->active || eph_volume_new(ctx, vg, lv, &now) < 0 ||
		    now->state != EPHLVM_STATE_READY)
			continue;
		if (eph_strv_add(&uuids, volumes[i]->lv_uuid) < 0)
			return;
	}
	if (uuids.n > 0 && eph_lvm_lv_activate(ctx, vg, &uuids) < 0)
		eph_warn(ctx, "could not activate again: %s", ephlvm_error_message(ctx));
	eph_error_clear(&ctx->error);
}

int eph_volumes_trash(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
		      struct ephlvm_volume *const *volumes, size_t n)
{
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	struct eph_error first;
	struct eph_vg *now;
	struct eph_lv *lv;
	int r, failed = 0;

	r = deactivate_all(ctx, vg, volumes, n);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n && failed == 0; i++)
		failed = commit_one(ctx, vg, volumes[i]);
	first = eph_error_take(ctx);
	r = eph_step(ctx, "flush");
	if (r == 0)
		r = eph_lvm_flush(ctx, vg);
	if (r == 0)
		r = eph_lv_reread(ctx, vg->uuid, NULL, &view, &now, &lv);
	if (r == 0)
		r = check_trashed(ctx, now, volumes, n);
	if (r < 0 && view) {
		struct eph_error second = eph_error_take(ctx);

		activate_ready_again(ctx, now, volumes, n);
		eph_error_give(ctx, &second);
	}
	/* The command's failure explains the state better than the state does. */
	if (r < 0 && failed < 0) {
		eph_error_give(ctx, &first);
		return failed;
	}
	if (r == 0 && failed < 0)
		eph_warn(ctx, "LVM reported a failure (%s), yet the volumes are trash as wanted",
			 first.message ? first.message : "no words");
	eph_error_clear(&first);
	return r;
}

int eph_volume_settle(struct ephlvm_ctx *ctx, const struct eph_vg *vg, struct ephlvm_volume *volume,
		      bool instance_locked, bool *ret_settled)
{
	_cleanup_lock_ struct eph_lock *lock = NULL;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	_cleanup_volume_ struct ephlvm_volume *now = NULL;
	struct eph_vg *vg_now;
	struct eph_lv *lv_now;
	int r;

	if (ret_settled)
		*ret_settled = false;
	/* Nobody can hold the lock of no instance: whose it is cannot be told, so it stays. */
	if (!volume->tags.instance[0])
		return 0;
	if (!instance_locked) {
		struct eph_error before = eph_error_take(ctx);

		r = eph_lock_take(ctx, EPH_LOCK_INSTANCE, volume->tags.instance, 0, &lock);
		if (r == -ETIMEDOUT) {
			eph_error_give(ctx, &before);
			return 0;
		}
		if (r < 0) {
			eph_error_clear(&before);
			return r;
		}
		eph_error_give(ctx, &before);
	}
	/* Under the lock: its creator may have finished, or settled it, since we looked. */
	r = eph_lv_reread(ctx, vg->uuid, volume->lv_uuid, &view, &vg_now, &lv_now);
	if (r < 0 || !lv_now)
		return r;
	if (!eph_lv_is_ours(lv_now))
		return 0;
	r = eph_volume_new(ctx, vg_now, lv_now, &now);
	if (r < 0 || now->state != EPHLVM_STATE_NEW)
		return r;
	r = eph_volume_check_ours(ctx, now);
	if (r == 0)
		r = eph_pool_check_writable(ctx, view, vg_now);
	if (r == 0)
		r = eph_volumes_trash(ctx, vg_now, &now, 1);
	if (r == 0 && ret_settled)
		*ret_settled = true;
	return r;
}

int eph_lv_make_active(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const char *lv_uuid,
		       const char *subject, const char *step)
{
	_cleanup_strv_ struct eph_strv uuids = EPH_STRV_INIT;
	struct eph_dm_info info;
	int r;

	r = eph_dm_info(ctx, vg->uuid, lv_uuid, &info);
	if (r < 0 || eph_dm_usable(&info))
		return r;
	if (eph_strv_add(&uuids, lv_uuid) < 0)
		return eph_fail_oom(ctx);
	r = eph_step(ctx, step);
	if (r == 0)
		r = eph_lvm_lv_activate(ctx, vg, &uuids);
	if (r == 0)
		r = eph_dm_info(ctx, vg->uuid, lv_uuid, &info);
	if (r < 0 || eph_dm_usable(&info))
		return r;
	/* A selection that matches nothing succeeds: what is there decides. */
	return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, subject, "see \"lvs\" and \"dmsetup info\"",
			"LVM said that \"%s\" was activated, and it is not", subject);
}

static bool has_volume_in(const struct ephlvm_volumes *volumes, const struct eph_vg *vg)
{
	for (size_t i = 0; volumes && i < volumes->n; i++)
		if (strcmp(volumes->v[i]->vg_uuid, vg->uuid) == 0)
			return true;
	return false;
}

int eph_pools_flush(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
		    const struct ephlvm_volumes *changed, const struct ephlvm_volumes *former)
{
	for (size_t i = 0; i < view->n_vgs; i++) {
		const struct eph_vg *vg = &view->vgs[i];
		int r;

		if (!eph_vg_pool_name(vg) || has_volume_in(changed, vg))
			continue;
		r = eph_step(ctx, "flush");
		if (r < 0)
			return r;
		r = eph_lvm_flush(ctx, vg);
		if (r < 0 && has_volume_in(former, vg))
			return r;
		if (r < 0)
			eph_warn(ctx, "%s; an earlier change of %s may come back after a power cut",
				 ephlvm_error_message(ctx), vg->name);
		eph_error_clear(&ctx->error);
	}
	return 0;
}
