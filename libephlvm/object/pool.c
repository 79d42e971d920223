// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * pool.c - pools: found by the tag on their VG, admission, and the public pool object.
 * Owns no state. Must not change anything, and must not ask LVM: it works on a view.
 */
#include "object/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "edge/clean.h"
#include "object/volume.h"
#include "util/cleanup.h"
#include "util/text.h"

/*
 * LVM keeps its metadata as text. A volume of ours needs 754 bytes of it with one segment (measured,
 * lvm2 2.03.16); each further segment about 190. The reserve keeps delete, retag and purge
 * possible however full the area is.
 */
#define METADATA_VOLUME_BYTES 1024
#define METADATA_SEGMENT_BYTES 256
#define METADATA_RESERVE_BYTES ((uint64_t)32 << 10)

/* How long a list of pools waits for a commit of ours, to tell whether space is proven clean. */
#define CLEAN_WAIT_MS 1000

struct ephlvm_pool {
	char *name, *vg, *vg_uuid;
	uint64_t size_bytes, free_bytes, allocatable_bytes, trash_bytes, extent_bytes;
	uint64_t metadata_bytes, metadata_free_bytes;
	size_t volumes, foreign, missing;
	bool clean;
	struct eph_strv devices;
};

struct ephlvm_pools {
	struct ephlvm_pool *v;
	size_t n;
};

const char *eph_vg_pool_name(const struct eph_vg *vg)
{
	for (size_t i = 0; i < vg->tags.n; i++)
		if (eph_startswith(vg->tags.v[i], EPH_TAG_POOL))
			return vg->tags.v[i] + strlen(EPH_TAG_POOL);
	return NULL;
}

static int fail_doubled(struct ephlvm_ctx *ctx, const char *what, const char *name,
			const struct eph_vg *a, const struct eph_vg *b)
{
	return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EEXIST, name,
			"rename or remove one by its UUID: vgrename UUID NEWNAME",
			"two %s are named \"%s\": VG UUIDs %s and %s", what, name, a->uuid,
			b->uuid);
}

int eph_pool_find(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view, const char *name,
		  struct eph_vg **ret_vg)
{
	struct eph_vg *found = NULL;

	for (size_t i = 0; i < view->n_vgs; i++) {
		const char *pool = eph_vg_pool_name(&view->vgs[i]);

		if (!pool || (name && strcmp(pool, name) != 0))
			continue;
		if (found && strcmp(pool, eph_vg_pool_name(found)) == 0)
			return fail_doubled(ctx, "pools", pool, found, &view->vgs[i]);
		if (found)
			return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL,
					"name one with --pool, or give the flavor a pool",
					"there are several pools, \"%s\" and \"%s\" among them",
					eph_vg_pool_name(found), pool);
		found = &view->vgs[i];
	}
	if (!found && name)
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, name,
				"see \"ephlvm pool show\"; \"ephlvm pool init\" makes one",
				"there is no pool \"%s\"", name);
	if (!found)
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, NULL,
				"make one: ephlvm pool init DEVICE...",
				"there is no pool on this host");
	*ret_vg = found;
	return 0;
}

int eph_pool_check_writable(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
			    const struct eph_vg *vg)
{
	for (size_t i = 0; i < view->n_vgs; i++)
		if (&view->vgs[i] != vg && strcmp(view->vgs[i].name, vg->name) == 0)
			return fail_doubled(ctx, "volume groups", vg->name, vg, &view->vgs[i]);
	if (vg->exported)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EROFS, vg->name,
				"vgimport it first, if it is this host's",
				"volume group \"%s\" is exported", vg->name);
	if (vg->foreign)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EROFS, vg->name, "see lvmsystemid(7)",
				"volume group \"%s\" belongs to another host", vg->name);
	if (vg->shared)
		return eph_fail(
			ctx, EPHLVM_ERROR_SYSTEM, EOPNOTSUPP, vg->name,
			"use a volume group of this host alone",
			"volume group \"%s\" is shared by lvmlockd, which this version does "
			"not handle",
			vg->name);
	return 0;
}

uint64_t eph_pool_free_extents(const struct eph_vg *vg)
{
	uint64_t extents = 0;

	if (vg->missing_pvs > 0 || vg->exported || vg->foreign || vg->shared)
		return 0;
	for (size_t i = 0; i < vg->n_pvs; i++) {
		const struct eph_pv *pv = &vg->pvs[i];

		if (!pv->missing && pv->allocatable && pv->extents > pv->extents_used)
			extents += pv->extents - pv->extents_used;
	}
	return extents;
}

int eph_pool_extents(const struct eph_vg *vg, uint64_t bytes, uint64_t *ret_extents)
{
	uint64_t rounded;

	if (vg->extent_bytes == 0 || __builtin_add_overflow(bytes, vg->extent_bytes - 1, &rounded))
		return -EOVERFLOW;
	*ret_extents = rounded / vg->extent_bytes;
	return 0;
}

static int fail_no_space(struct ephlvm_ctx *ctx, const struct eph_vg *vg, uint64_t want,
			 uint64_t have, uint64_t reserve_bytes)
{
	char want_text[EPH_SIZE_TEXT], have_text[EPH_SIZE_TEXT];

	eph_size_format(want * vg->extent_bytes, want_text);
	eph_size_format(have * vg->extent_bytes, have_text);
	return eph_fail(
		ctx, EPHLVM_ERROR_NO_SPACE, ENOSPC, vg->name,
		"ephlvm purge frees what was deleted; see \"ephlvm pool show\"",
		"pool \"%s\" has %s (%llu bytes) free for volumes%s, %s (%llu bytes) are needed",
		eph_vg_pool_name(vg), have_text, (unsigned long long)(have * vg->extent_bytes),
		reserve_bytes ? ", its reserve left out" : "", want_text,
		(unsigned long long)(want * vg->extent_bytes));
}

int eph_pool_admit(struct ephlvm_ctx *ctx, const struct eph_vg *vg, uint64_t extents, size_t n,
		   uint64_t reserve_bytes)
{
	uint64_t have = eph_pool_free_extents(vg), reserve, metadata;

	if (vg->missing_pvs > 0)
		return eph_fail(
			ctx, EPHLVM_ERROR_SYSTEM, EIO, vg->name,
			"bring the drive back, or retire it: vgreduce --removemissing",
			"volume group \"%s\" lacks %llu of its %zu drives: nothing is created",
			vg->name, (unsigned long long)vg->missing_pvs, vg->n_pvs);
	if (eph_pool_extents(vg, reserve_bytes, &reserve) < 0)
		reserve = have;
	have = have > reserve ? have - reserve : 0;
	if (extents > have)
		return fail_no_space(ctx, vg, extents, have, reserve_bytes);
	/* At worst a volume is in as many pieces as there are PVs, or gaps between LVs. */
	metadata = METADATA_RESERVE_BYTES +
		   n * (METADATA_VOLUME_BYTES +
			METADATA_SEGMENT_BYTES * (uint64_t)(vg->n_pvs + vg->n_lvs / 8));
	if (vg->mda_free_bytes < metadata)
		return eph_fail(
			ctx, EPHLVM_ERROR_NO_SPACE, ENOSPC, vg->name,
			"purge trash, remove tags or LVs; a larger area needs a new pool",
			"the metadata area of \"%s\" has %llu of %llu bytes free, %llu are needed",
			vg->name, (unsigned long long)vg->mda_free_bytes,
			(unsigned long long)vg->mda_bytes, (unsigned long long)metadata);
	return 0;
}

static void pool_clear(struct ephlvm_pool *pool)
{
	free(pool->name);
	free(pool->vg);
	free(pool->vg_uuid);
	eph_strv_clear(&pool->devices);
}

static int pool_fill(struct ephlvm_pool *pool, const struct eph_vg *vg)
{
	pool->name = strdup(eph_vg_pool_name(vg));
	pool->vg = strdup(vg->name);
	pool->vg_uuid = strdup(vg->uuid);
	if (!pool->name || !pool->vg || !pool->vg_uuid)
		return -ENOMEM;
	pool->size_bytes = vg->size_bytes;
	pool->free_bytes = vg->free_bytes;
	pool->allocatable_bytes = eph_pool_free_extents(vg) * vg->extent_bytes;
	pool->extent_bytes = vg->extent_bytes;
	pool->metadata_bytes = vg->mda_bytes;
	pool->metadata_free_bytes = vg->mda_free_bytes;
	pool->missing = vg->missing_pvs;
	for (size_t i = 0; i < vg->n_pvs; i++) {
		const char *device = vg->pvs[i].device;
		int r = eph_strv_add(&pool->devices, device ? device : "[missing]");

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < vg->n_lvs; i++) {
		const struct eph_lv *lv = &vg->lvs[i];
		struct eph_tags tags;

		if (lv->hidden)
			continue;
		if (!eph_lv_is_ours(lv)) {
			pool->foreign++;
			continue;
		}
		if (eph_tags_parse(&lv->tags, &tags) < 0)
			return -ENOMEM;
		pool->volumes++;
		if (eph_volume_state(lv->name, &tags) == EPHLVM_STATE_TRASH)
			pool->trash_bytes += lv->size_bytes;
		eph_tags_clear(&tags);
	}
	return 0;
}

static int by_pool_name(const void *a, const void *b)
{
	const struct ephlvm_pool *pa = a, *pb = b;

	return strcmp(pa->name, pb->name);
}

static void pools_freep(struct ephlvm_pools **pools)
{
	ephlvm_pools_free(*pools);
}

int ephlvm_pool_list(struct ephlvm_ctx *ctx, const char *pool, struct ephlvm_pools **ret_pools)
{
	__attribute__((cleanup(pools_freep))) struct ephlvm_pools *pools = NULL;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	int r;

	eph_enter(ctx);
	r = eph_lvm_read(ctx, EPH_LVM_NOLOCKING, &view);
	if (r < 0)
		return r;
	pools = calloc(1, sizeof(*pools));
	if (!pools)
		return eph_fail_oom(ctx);
	pools->v = calloc(view->n_vgs + 1, sizeof(*pools->v));
	if (!pools->v)
		return eph_fail_oom(ctx);
	for (size_t i = 0; i < view->n_vgs; i++) {
		const char *name = eph_vg_pool_name(&view->vgs[i]);

		if (!name || (pool && strcmp(pool, name) != 0))
			continue;
		if (pool_fill(&pools->v[pools->n++], &view->vgs[i]) < 0)
			return eph_fail_oom(ctx);
		pools->v[pools->n - 1].clean = eph_clean_holds(ctx, &view->vgs[i], CLEAN_WAIT_MS);
	}
	if (pool && pools->n == 0)
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, pool,
				"see \"ephlvm pool show\"", "there is no pool \"%s\"", pool);
	qsort(pools->v, pools->n, sizeof(*pools->v), by_pool_name);
	*ret_pools = eph_steal(pools);
	return 0;
}

size_t ephlvm_pools_count(const struct ephlvm_pools *pools)
{
	return pools ? pools->n : 0;
}

const struct ephlvm_pool *ephlvm_pools_at(const struct ephlvm_pools *pools, size_t index)
{
	return pools && index < pools->n ? &pools->v[index] : NULL;
}

void ephlvm_pools_free(struct ephlvm_pools *pools)
{
	if (!pools)
		return;
	for (size_t i = 0; i < pools->n; i++)
		pool_clear(&pools->v[i]);
	free(pools->v);
	free(pools);
}

const char *ephlvm_pool_name(const struct ephlvm_pool *pool)
{
	return pool->name;
}

const char *ephlvm_pool_vg(const struct ephlvm_pool *pool)
{
	return pool->vg;
}

const char *ephlvm_pool_vg_uuid(const struct ephlvm_pool *pool)
{
	return pool->vg_uuid;
}

uint64_t ephlvm_pool_size_bytes(const struct ephlvm_pool *pool)
{
	return pool->size_bytes;
}

uint64_t ephlvm_pool_free_bytes(const struct ephlvm_pool *pool)
{
	return pool->free_bytes;
}

uint64_t ephlvm_pool_allocatable_bytes(const struct ephlvm_pool *pool)
{
	return pool->allocatable_bytes;
}

uint64_t ephlvm_pool_trash_bytes(const struct ephlvm_pool *pool)
{
	return pool->trash_bytes;
}

uint64_t ephlvm_pool_extent_bytes(const struct ephlvm_pool *pool)
{
	return pool->extent_bytes;
}

uint64_t ephlvm_pool_metadata_bytes(const struct ephlvm_pool *pool)
{
	return pool->metadata_bytes;
}

uint64_t ephlvm_pool_metadata_free_bytes(const struct ephlvm_pool *pool)
{
	return pool->metadata_free_bytes;
}

size_t ephlvm_pool_volume_count(const struct ephlvm_pool *pool)
{
	return pool->volumes;
}

size_t ephlvm_pool_foreign_count(const struct ephlvm_pool *pool)
{
	return pool->foreign;
}

size_t ephlvm_pool_missing_count(const struct ephlvm_pool *pool)
{
	return pool->missing;
}

bool ephlvm_pool_clean(const struct ephlvm_pool *pool)
{
	return pool->clean;
}

const char *ephlvm_pool_device_at(const struct ephlvm_pool *pool, size_t index)
{
	return index < pool->devices.n ? pool->devices.v[index] : NULL;
}
