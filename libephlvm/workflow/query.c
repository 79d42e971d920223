// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * query.c - list: read, filter, answer.
 * Owns nothing. Must not change anything, and must not wait for LVM's locks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "edge/checkpoint.h"
#include "object/pool.h"
#include "object/volume.h"
#include "util/cleanup.h"

/* "VG/LV" names one volume: one that is not there, or is not ours, is an error of its own. */
static int pick_name(struct ephlvm_ctx *ctx, struct ephlvm_volumes *volumes, const char *name)
{
	_cleanup_free_ char *vg = NULL, *lv = NULL;
	size_t kept = 0;
	int r;

	r = eph_volume_name_parse(ctx, name, &vg, &lv);
	if (r < 0)
		return r;
	for (size_t i = 0; i < volumes->n; i++) {
		struct ephlvm_volume *v = volumes->v[i];

		if (strcmp(v->vg, vg) == 0 && strcmp(v->lv, lv) == 0)
			volumes->v[kept++] = v;
		else
			eph_volume_free(v);
	}
	volumes->n = kept;
	if (kept == 0)
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, name, "see \"ephlvm list\"",
				"ephlvm has no volume \"%s\"", name);
	return 0;
}

/* How far an erase is stands in a file; that it has begun is in the tags. */
static int add_progress(struct ephlvm_ctx *ctx, struct ephlvm_volumes *volumes)
{
	for (size_t i = 0; i < volumes->n; i++) {
		struct ephlvm_volume *v = volumes->v[i];
		struct eph_checkpoint checkpoint;
		char *method;

		if (v->state != EPHLVM_STATE_TRASH)
			continue;
		if (eph_checkpoint_read(ctx, v->lv_uuid, &checkpoint) < 0) {
			eph_warn(ctx, "%s", ephlvm_error_message(ctx));
			eph_error_clear(&ctx->error);
			break;
		}
		if (checkpoint.point.pass == 0)
			continue;
		method = strdup(eph_erase_method_word(checkpoint.method));
		if (!method)
			return eph_fail_oom(ctx);
		free(v->tags.erase_method);
		v->tags.erase_method = method;
		v->tags.erase_pass = checkpoint.point.pass;
		v->tags.erase_passes = checkpoint.passes;
		v->tags.erase_done_bytes = checkpoint.point.done_bytes;
	}
	return 0;
}

int ephlvm_list(struct ephlvm_ctx *ctx, const struct ephlvm_list_opts *opts,
		struct ephlvm_volumes **ret_volumes)
{
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	struct ephlvm_list_opts o = EPHLVM_LIST_OPTS_INIT;
	char instance[EPH_UUID_TEXT];
	struct eph_vg *vg;
	int r;

	eph_enter(ctx);
	r = opts ? eph_opts_import(ctx, &o, sizeof(o), opts) : 0;
	if (r < 0)
		return r;
	if (o.instance) {
		r = eph_instance_parse(ctx, o.instance, instance);
		if (r < 0)
			return r;
	}
	r = eph_lvm_read(ctx, EPH_LVM_NOLOCKING, &view);
	if (r < 0)
		return r;
	if (o.pool) {
		r = eph_pool_find(ctx, view, o.pool, &vg);
		if (r < 0)
			return r;
	}
	r = eph_volumes_select(ctx, view, o.pool, o.instance ? instance : NULL, o.states, &volumes);
	if (r < 0)
		return r;
	if (o.name) {
		r = pick_name(ctx, volumes, o.name);
		if (r < 0)
			return r;
	}
	r = add_progress(ctx, volumes);
	if (r < 0)
		return r;
	*ret_volumes = eph_steal(volumes);
	return 0;
}
