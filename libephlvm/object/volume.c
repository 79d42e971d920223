// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * volume.c - the volume object: a copy of what LVM said of one LV that is ours, and lists of them.
 * Owns the strings. Must not change anything, and must not ask anyone: it is made from a view.
 */
#include "object/volume.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "object/pool.h"
#include "util/cleanup.h"

bool eph_lv_is_ours(const struct eph_lv *lv)
{
	return !lv->hidden && eph_strv_has(&lv->tags, EPH_TAG);
}

/* "DEVICE:FIRST-LAST ..." of an LV, as lvcreate takes them. */
static char *ranges_text(const struct eph_lv *lv)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);

	if (!f)
		return NULL;
	for (size_t i = 0; i < lv->n_ranges; i++) {
		const struct eph_range *r = &lv->ranges[i];

		fprintf(f, "%s%s:%llu-%llu", i > 0 ? " " : "", r->device,
			(unsigned long long)r->first,
			(unsigned long long)(r->first + r->count - 1));
	}
	if (fclose(f) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Which drives it lies on. A missing one has no device to be found by: then the volume is partial. */
static int collect_pvs(struct ephlvm_volume *v, const struct eph_vg *vg, const struct eph_lv *lv)
{
	for (size_t i = 0; i < lv->n_ranges; i++) {
		for (size_t j = 0; j < vg->n_pvs; j++) {
			const struct eph_pv *pv = &vg->pvs[j];

			if (!pv->device || !eph_streq(pv->device, lv->ranges[i].device) ||
			    eph_strv_has(&v->pv_uuids, pv->uuid))
				continue;
			if (eph_strv_add(&v->pv_uuids, pv->uuid) < 0)
				return -ENOMEM;
		}
	}
	if (v->pv_uuids.n > 0)
		qsort(v->pv_uuids.v, v->pv_uuids.n, sizeof(*v->pv_uuids.v), by_text);
	return 0;
}

static int copy_tags(struct ephlvm_volume *v, const struct eph_lv *lv)
{
	for (size_t i = 0; i < lv->tags.n; i++) {
		int r = eph_strv_add(&v->raw_tags, lv->tags.v[i]);

		if (r < 0)
			return r;
	}
	return eph_tags_parse(&v->raw_tags, &v->tags);
}

static int collect_warnings(struct ephlvm_volume *v, const struct eph_lv *lv)
{
	int r = 0;

	if (v->tags.damaged)
		r = eph_strv_addf(&v->warnings, "damaged tags: %s", v->tags.why);
	if (r == 0 && v->tags.newer)
		r = eph_strv_add(&v->warnings, "made by a newer version");
	if (r == 0 && v->partial)
		r = eph_strv_add(&v->warnings, "partial: a drive of it is missing");
	if (r == 0 && v->locked)
		r = eph_strv_add(&v->warnings, "locked: LVM is moving or converting it");
	if (r == 0 && v->snapshot)
		r = eph_strv_addf(&v->warnings, "has the snapshot %s", v->snapshot);
	if (r == 0 && v->is_snapshot)
		r = eph_strv_add(&v->warnings, "has been made a snapshot");
	if (r == 0 && lv->suspended)
		r = eph_strv_add(&v->warnings, "suspended");
	if (r == 0 && v->tags.hold_at)
		r = eph_strv_add(&v->warnings, "held: purge leaves it alone");
	if (r == 0 && v->tags.fail_errno)
		r = eph_strv_addf(&v->warnings, "erase failed at byte %llu: %s",
				  (unsigned long long)v->tags.fail_bytes,
				  strerror(v->tags.fail_errno));
	return r;
}

static int set_snapshot(struct ephlvm_volume *v, const struct eph_vg *vg, const struct eph_lv *lv)
{
	const char *name = "unknown";

	v->is_snapshot = lv->thick_snapshot;
	if (!lv->thick_origin)
		return 0;
	for (size_t i = 0; i < vg->n_lvs; i++)
		if (eph_streq(vg->lvs[i].origin, lv->name))
			name = vg->lvs[i].name;
	if (asprintf(&v->snapshot, "%s/%s", vg->name, name) < 0) {
		v->snapshot = NULL;
		return -ENOMEM;
	}
	return 0;
}

/* The label that creation gave it: by the disk it is, where a file system was made. */
static int set_label(struct ephlvm_volume *v)
{
	char buf[32];
	const char *label;

	if (!v->tags.fs || eph_streq(v->tags.fs, "none"))
		return 0;
	label = eph_disk_label(v->tags.disk, buf);
	if (!label)
		return 0;
	v->label = strdup(label);
	return v->label ? 0 : -ENOMEM;
}

int eph_volume_new(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const struct eph_lv *lv,
		   struct ephlvm_volume **ret_volume)
{
	_cleanup_volume_ struct ephlvm_volume *v = calloc(1, sizeof(*v));
	const char *pool = eph_vg_pool_name(vg);

	if (!v)
		return eph_fail_oom(ctx);
	v->vg = strdup(vg->name);
	v->vg_uuid = strdup(vg->uuid);
	v->lv = strdup(lv->name);
	v->lv_uuid = strdup(lv->uuid);
	v->pool = strdup(pool ? pool : "");
	v->layout = strdup(lv->segtype ? lv->segtype : "");
	v->ranges = ranges_text(lv);
	if (asprintf(&v->name, "%s/%s", vg->name, lv->name) < 0)
		v->name = NULL;
	if (asprintf(&v->path, "/dev/%s/%s", vg->name, lv->name) < 0)
		v->path = NULL;
	if (!v->vg || !v->vg_uuid || !v->lv || !v->lv_uuid || !v->pool || !v->layout ||
	    !v->ranges || !v->name || !v->path)
		return eph_fail_oom(ctx);
	v->kind = eph_streq(v->layout, "thin") ? "thin" : "thick";
	v->size_bytes = lv->size_bytes;
	v->active = lv->active;
	v->open = lv->open;
	v->partial = lv->partial;
	v->locked = lv->locked;
	v->vg_partial = vg->missing_pvs > 0;
	if (copy_tags(v, lv) < 0 || collect_pvs(v, vg, lv) < 0)
		return eph_fail_oom(ctx);
	v->state = eph_volume_state(lv->name, &v->tags);
	/* A rename cannot change tags: the name tells since when it is trash. */
	if (eph_trash_name_time(lv->name) > 0)
		v->tags.at = eph_trash_name_time(lv->name);
	if (set_label(v) < 0 || set_snapshot(v, vg, lv) < 0 || collect_warnings(v, lv) < 0)
		return eph_fail_oom(ctx);
	*ret_volume = eph_steal(v);
	return 0;
}

void eph_volume_free(struct ephlvm_volume *v)
{
	if (!v)
		return;
	free(v->vg);
	free(v->vg_uuid);
	free(v->lv);
	free(v->lv_uuid);
	free(v->name);
	free(v->path);
	free(v->pool);
	free(v->layout);
	free(v->label);
	free(v->ranges);
	free(v->snapshot);
	eph_tags_clear(&v->tags);
	eph_strv_clear(&v->raw_tags);
	eph_strv_clear(&v->pv_uuids);
	eph_strv_clear(&v->warnings);
	free(v);
}

int eph_volumes_new(struct ephlvm_ctx *ctx, struct ephlvm_volumes **ret_volumes)
{
	struct ephlvm_volumes *volumes = calloc(1, sizeof(*volumes));

	if (!volumes)
		return eph_fail_oom(ctx);
	*ret_volumes = volumes;
	return 0;
}

int eph_volumes_add(struct ephlvm_ctx *ctx, struct ephlvm_volumes *volumes,
		    struct ephlvm_volume *volume)
{
	struct ephlvm_volume **grown;

	grown = reallocarray(volumes->v, volumes->n + 1, sizeof(*grown));
	if (!grown) {
		eph_volume_free(volume);
		return eph_fail_oom(ctx);
	}
	volumes->v = grown;
	volumes->v[volumes->n++] = volume;
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct ephlvm_volume *const *va = a, *const *vb = b;
	int c = strcmp((*va)->vg, (*vb)->vg);

	return c ? c : strcmp((*va)->lv, (*vb)->lv);
}

int eph_volumes_select(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view, const char *pool,
		       const char *instance, unsigned int states,
		       struct ephlvm_volumes **ret_volumes)
{
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL;
	int r;

	r = eph_volumes_new(ctx, &volumes);
	if (r < 0)
		return r;
	for (size_t i = 0; i < view->n_vgs; i++) {
		const struct eph_vg *vg = &view->vgs[i];
		const char *name = eph_vg_pool_name(vg);

		if (!name || (pool && strcmp(name, pool) != 0))
			continue;
		for (size_t j = 0; j < vg->n_lvs; j++) {
			struct ephlvm_volume *v;

			if (!eph_lv_is_ours(&vg->lvs[j]))
				continue;
			r = eph_volume_new(ctx, vg, &vg->lvs[j], &v);
			if (r < 0)
				return r;
			if ((states && !(states & v->state)) ||
			    (instance && strcmp(v->tags.instance, instance) != 0)) {
				eph_volume_free(v);
				continue;
			}
			r = eph_volumes_add(ctx, volumes, v);
			if (r < 0)
				return r;
		}
	}
	if (volumes->n > 1)
		qsort(volumes->v, volumes->n, sizeof(*volumes->v), by_name);
	*ret_volumes = eph_steal(volumes);
	return 0;
}

int eph_volume_check_ours(struct ephlvm_ctx *ctx, const struct ephlvm_volume *volume)
{
	if (volume->tags.newer)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EUCLEAN, volume->name,
				"use the ephlvm that made it",
				"\"%s\" bears tags of a newer version: not touched", volume->name);
	if (volume->state == EPHLVM_STATE_DAMAGED)
		return eph_fail(
			ctx, EPHLVM_ERROR_SYSTEM, EUCLEAN, volume->name,
			"see \"lvs -o lv_tags\"; mend the tags by lvchange, or remove it by hand",
			"the tags of \"%s\" are damaged (%s): not touched", volume->name,
			volume->tags.why ? volume->tags.why : "unknown state");
	return 0;
}

int eph_volume_check_alone(struct ephlvm_ctx *ctx, const struct ephlvm_volume *volume)
{
	if (volume->locked)
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, volume->name,
				"wait for the pvmove or conversion to end (see lvs -a)",
				"LVM is moving or converting \"%s\"", volume->name);
	if (volume->snapshot)
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, volume->name,
				"remove its snapshots first, by those who made them",
				"\"%s\" has a snapshot, \"%s\", which would take up what is erased "
				"and go with it",
				volume->name, volume->snapshot);
	if (volume->is_snapshot)
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, volume->name,
				"see \"lvs -o name,origin\"; split or remove it by hand",
				"\"%s\" has been made a snapshot of another volume", volume->name);
	return 0;
}

size_t ephlvm_volumes_count(const struct ephlvm_volumes *volumes)
{
	return volumes ? volumes->n : 0;
}

const struct ephlvm_volume *ephlvm_volumes_at(const struct ephlvm_volumes *volumes, size_t index)
{
	return volumes && index < volumes->n ? volumes->v[index] : NULL;
}

void ephlvm_volumes_free(struct ephlvm_volumes *volumes)
{
	if (!volumes)
		return;
	for (size_t i = 0; i < volumes->n; i++)
		eph_volume_free(volumes->v[i]);
	free(volumes->v);
	free(volumes);
}

const char *ephlvm_volume_vg(const struct ephlvm_volume *volume)
{
	return volume->vg;
}

const char *ephlvm_volume_lv(const struct ephlvm_volume *volume)
{
	return volume->lv;
}

const char *ephlvm_volume_path(const struct ephlvm_volume *volume)
{
	return volume->path;
}

const char *ephlvm_volume_lv_uuid(const struct ephlvm_volume *volume)
{
	return volume->lv_uuid;
}

const char *ephlvm_volume_instance(const struct ephlvm_volume *volume)
{
	return volume->tags.instance[0] ? volume->tags.instance : NULL;
}

const char *ephlvm_volume_disk(const struct ephlvm_volume *volume)
{
	return volume->tags.disk[0] ? volume->tags.disk : NULL;
}

const char *ephlvm_volume_flavor(const struct ephlvm_volume *volume)
{
	return volume->tags.flavor;
}

enum ephlvm_volume_state ephlvm_volume_state(const struct ephlvm_volume *volume)
{
	return volume->state;
}

const char *ephlvm_volume_state_name(const struct ephlvm_volume *volume)
{
	switch (volume->state) {
	case EPHLVM_STATE_NEW:
		return "new";
	case EPHLVM_STATE_READY:
		return "ready";
	case EPHLVM_STATE_TRASH:
		return "trash";
	case EPHLVM_STATE_DAMAGED:
		break;
	}
	return "damaged";
}

const char *ephlvm_volume_pool(const struct ephlvm_volume *volume)
{
	return volume->pool;
}

const char *ephlvm_volume_kind(const struct ephlvm_volume *volume)
{
	return volume->kind;
}

const char *ephlvm_volume_layout(const struct ephlvm_volume *volume)
{
	return volume->layout;
}

uint64_t ephlvm_volume_size_bytes(const struct ephlvm_volume *volume)
{
	return volume->size_bytes;
}

uint64_t ephlvm_volume_requested_bytes(const struct ephlvm_volume *volume)
{
	return volume->tags.size_bytes;
}

const char *ephlvm_volume_fs(const struct ephlvm_volume *volume)
{
	return volume->tags.fs;
}

const char *ephlvm_volume_label(const struct ephlvm_volume *volume)
{
	return volume->label;
}

bool ephlvm_volume_active(const struct ephlvm_volume *volume)
{
	return volume->active;
}

bool ephlvm_volume_open(const struct ephlvm_volume *volume)
{
	return volume->open;
}

int64_t ephlvm_volume_held_at(const struct ephlvm_volume *volume)
{
	return volume->tags.hold_at;
}

int64_t ephlvm_volume_changed_at(const struct ephlvm_volume *volume)
{
	return volume->tags.at;
}

const char *ephlvm_volume_pe_ranges(const struct ephlvm_volume *volume)
{
	return volume->ranges;
}

const char *ephlvm_volume_erase_method(const struct ephlvm_volume *volume)
{
	return volume->tags.erase_method;
}

unsigned int ephlvm_volume_erase_pass(const struct ephlvm_volume *volume)
{
	return volume->tags.erase_pass;
}

unsigned int ephlvm_volume_erase_passes(const struct ephlvm_volume *volume)
{
	return volume->tags.erase_passes;
}

uint64_t ephlvm_volume_erase_done_bytes(const struct ephlvm_volume *volume)
{
	return volume->tags.erase_done_bytes;
}

int ephlvm_volume_fail_errno(const struct ephlvm_volume *volume)
{
	return volume->tags.fail_errno;
}

uint64_t ephlvm_volume_fail_bytes(const struct ephlvm_volume *volume)
{
	return volume->tags.fail_bytes;
}

const char *ephlvm_volume_warning_at(const struct ephlvm_volume *volume, size_t index)
{
	return index < volume->warnings.n ? volume->warnings.v[index] : NULL;
}
