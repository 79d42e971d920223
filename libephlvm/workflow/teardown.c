// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * teardown.c - delete: an instance's volumes become trash, in constant time.
 * Owns the rule that nothing is changed while any of them is in use. Must not erase: purge does,
 * called here only where the caller wants to wait for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "edge/conffile.h"
#include "edge/dm.h"
#include "edge/lock.h"
#include "object/pool.h"
#include "pure/config.h"
#include "util/cleanup.h"
#include "workflow/purge.h"
#include "workflow/trash.h"

/* Waiting for another process that erases one of the volumes: as long as it takes. */
#define WAIT_FOREVER_MS UINT32_MAX

static int check_disks(struct ephlvm_ctx *ctx, const char *const *disks)
{
	for (size_t i = 0; disks && disks[i]; i++)
		if (!eph_disk_valid(disks[i]))
			return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, disks[i],
					"disks are root, eph0 to eph99, swap",
					"\"%s\" is not a disk", disks[i]);
	return 0;
}

static bool disk_wanted(const char *const *disks, const char *disk)
{
	if (!disks)
		return true;
	for (size_t i = 0; disks[i]; i++)
		if (strcmp(disks[i], disk) == 0)
			return true;
	return false;
}

/* Leave only the wanted disks in the list. */
static void keep_wanted(struct ephlvm_volumes *volumes, const char *const *disks)
{
	size_t kept = 0;

	for (size_t i = 0; i < volumes->n; i++) {
		if (disk_wanted(disks, volumes->v[i]->tags.disk))
			volumes->v[kept++] = volumes->v[i];
		else
			eph_volume_free(volumes->v[i]);
	}
	volumes->n = kept;
}

static int check_all(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
		     const struct ephlvm_volumes *volumes, bool domain_gone)
{
	__attribute__((cleanup(eph_virt_uses_clear))) struct eph_virt_uses uses = { 0 };
	int r;

	r = eph_uses_read(ctx, &uses);
	for (size_t i = 0; r == 0 && i < volumes->n; i++) {
		const struct ephlvm_volume *v = volumes->v[i];

		r = eph_volume_check_ours(ctx, v);
		if (r == 0)
			r = eph_pool_check_writable(ctx, view,
						    eph_lvm_vg_by_uuid(view, v->vg_uuid));
		if (r == 0)
			r = eph_volume_check_unused(ctx, v, &uses, domain_gone);
	}
	return r;
}

/* The list is sorted by VG: one run of deactivation, commits and re-read for each. */
static int trash_all(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
		     const struct ephlvm_volumes *volumes)
{
	size_t from = 0;
	int r = 0;

	while (r == 0 && from < volumes->n) {
		const struct eph_vg *vg = eph_lvm_vg_by_uuid(view, volumes->v[from]->vg_uuid);
		size_t to = from + 1;

		while (to < volumes->n &&
		       strcmp(volumes->v[to]->vg_uuid, volumes->v[from]->vg_uuid) == 0)
			to++;
		r = eph_volumes_trash(ctx, vg, &volumes->v[from], to - from);
		from = to;
	}
	return r;
}

/* The instance's trash of these disks, as it is now. */
static int select_trash(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
			const char *instance, const char *const *disks,
			struct ephlvm_volumes **ret_trash)
{
	int r;

	r = eph_volumes_select(ctx, view, NULL, instance, EPHLVM_STATE_TRASH, ret_trash);
	if (r == 0)
		keep_wanted(*ret_trash, disks);
	return r;
}

/* What an earlier delete made trash is reported as deleted too: that must not come back after a power cut. */
static int flush_former(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
			const char *instance, const struct ephlvm_volumes *volumes)
{
	_cleanup_volumes_ struct ephlvm_volumes *trash = NULL;
	int r;

	r = select_trash(ctx, view, instance, NULL, &trash);
	return r < 0 ? r : eph_pools_flush(ctx, view, volumes, trash);
}

/* delete --wait: erase what is trash of the instance now, whoever deleted it. */
static int wait_erased(struct ephlvm_ctx *ctx, const char *instance, const char *const *disks,
		       const struct ephlvm_volumes *former)
{
	_cleanup_volumes_ struct ephlvm_volumes *trash = NULL;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	struct ephlvm_purge_opts opts = EPHLVM_PURGE_OPTS_INIT;
	int r;

	r = eph_lvm_read(ctx, 0, &view);
	if (r == 0)
		r = select_trash(ctx, view, instance, disks, &trash);
	if (r == 0)
		r = eph_volumes_keep_names(ctx, trash, former);
	if (r == 0)
		r = eph_purge_volumes(ctx, trash, &opts, WAIT_FOREVER_MS);
	/* Another purge may have removed it, and been killed then. */
	return r < 0 ? r : eph_pools_flush(ctx, view, NULL, NULL);
}

static void plan_erase(struct ephlvm_ctx *ctx, const struct ephlvm_volumes *volumes)
{
	for (size_t i = 0; i < volumes->n; i++)
		eph_purge_plan(ctx, volumes->v[i], NULL);
}

/* A dry run: the same actions in the same order as the real run. */
static int plan(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view, const char *instance,
		const struct ephlvm_delete_opts *o, const struct ephlvm_volumes *volumes)
{
	_cleanup_volumes_ struct ephlvm_volumes *trash = NULL;
	int r;

	for (size_t i = 0; i < volumes->n; i++)
		eph_action(ctx, "trash", volumes->v[i]->name, volumes->v[i]->size_bytes);
	if (!(o->flags & EPHLVM_WAIT))
		return 0;
	r = select_trash(ctx, view, instance, o->disks, &trash);
	if (r < 0)
		return r;
	plan_erase(ctx, trash);
	plan_erase(ctx, volumes);
	return 0;
}

int ephlvm_delete(struct ephlvm_ctx *ctx, const struct ephlvm_delete_opts *opts, size_t *ret_count)
{
	const unsigned int known = EPHLVM_DRY_RUN | EPHLVM_DOMAIN_GONE | EPHLVM_WAIT;
	_cleanup_lock_ struct eph_lock *lock = NULL;
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	struct ephlvm_delete_opts o;
	const struct eph_config *config;
	char instance[EPH_UUID_TEXT];
	int r;

	eph_enter(ctx);
	r = eph_opts_import(ctx, &o, sizeof(o), opts);
	if (r == 0)
		r = eph_instance_parse(ctx, o.instance, instance);
	if (r == 0)
		r = check_disks(ctx, o.disks);
	if (r < 0)
		return r;
	if (o.flags & ~known)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
				"unknown flags 0x%x for delete", o.flags);
	r = eph_config_get(ctx, &config);
	if (r == 0)
		r = eph_dm_check(ctx);
	if (r == 0)
		r = eph_lock_take(ctx, EPH_LOCK_INSTANCE, instance, config->lock_timeout_ms, &lock);
	if (r == 0)
		r = eph_lvm_read(ctx, 0, &view);
	if (r == 0)
		r = eph_volumes_select(ctx, view, NULL, instance,
				       EPHLVM_STATE_NEW | EPHLVM_STATE_READY | EPHLVM_STATE_DAMAGED,
				       &volumes);
	if (r < 0)
		return r;
	keep_wanted(volumes, o.disks);
	if (volumes->n > 0) {
		r = check_all(ctx, view, volumes, o.flags & EPHLVM_DOMAIN_GONE);
		if (r < 0)
			return r;
	}
	if (o.flags & EPHLVM_DRY_RUN)
		r = plan(ctx, view, instance, &o, volumes);
	else
		r = trash_all(ctx, view, volumes);
	if (r == 0 && !(o.flags & EPHLVM_DRY_RUN))
		r = flush_former(ctx, view, instance, volumes);
	if (r == 0 && (o.flags & EPHLVM_WAIT) && !(o.flags & EPHLVM_DRY_RUN)) {
		eph_lock_release(eph_steal(lock));
		r = wait_erased(ctx, instance, o.disks, volumes);
	}
	if (r == 0 && ret_count)
		*ret_count = volumes->n;
	return r;
}
