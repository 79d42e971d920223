// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * scrub.c - pool scrub: all free space becomes one trash volume, which purge erases and frees.
 * Owns nothing beyond that volume's making. Interrupted, the trash stays and any purge finishes it.
 * While that volume holds all that was free, it is proven that free space is clean: there is none. What
 * becomes free from then on was erased, or ends the proof.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "edge/clean.h"
#include "edge/conffile.h"
#include "edge/dm.h"
#include "edge/lock.h"
#include "object/pool.h"
#include "object/volume.h"
#include "pure/config.h"
#include "util/cleanup.h"
#include "workflow/purge.h"
#include "workflow/trash.h"

/*
 * The name has trash's form from the first commit on, so that the volume is trash whatever happens next.
 * Its UUID is not known before it is made: random letters stand for it.
 */
static int scrub_name(char **ret_name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	unsigned char random[32];
	char uuid[33];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	for (size_t i = 0; i < sizeof(random); i++)
		uuid[i] = letters[random[i] % (sizeof(letters) - 1)];
	uuid[sizeof(random)] = '\0';
	return eph_trash_name((int64_t)time(NULL), uuid, ret_name);
}

static int carve(struct ephlvm_ctx *ctx, const struct eph_vg *vg, uint64_t extents,
		 const char *name)
{
	_cleanup_strv_ struct eph_strv tags = EPH_STRV_INIT;
	struct eph_tag_values values = {
		.disk = "image",
		.state = EPHLVM_STATE_TRASH,
		.size_bytes = extents * vg->extent_bytes,
		.at = (int64_t)time(NULL),
	};
	struct eph_lv_spec spec = {
		.name = name,
		.extents = extents,
		.segtype = "linear",
		.tags = &tags,
	};
	int r;

	if (eph_tags_build(&values, &tags) < 0)
		return eph_fail_oom(ctx);
	r = eph_step(ctx, "scrub-carve");
	if (r == 0)
		r = eph_lvm_lv_create(ctx, vg, &spec, NULL);
	if (r == 0)
		r = eph_lvm_flush(ctx, vg);
	return r;
}

/* A purge by another process may have it already: that one is waited for. */
static int purge_carved(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const char *name,
			const char *subject)
{
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	struct ephlvm_purge_opts opts = EPHLVM_PURGE_OPTS_INIT;
	const struct eph_config *config;
	struct ephlvm_volume *volume;
	struct eph_vg *now;
	struct eph_lv *lv;
	char *shown;
	int r;

	r = eph_config_get(ctx, &config);
	if (r == 0)
		r = eph_lv_reread(ctx, vg->uuid, NULL, &view, &now, &lv);
	if (r < 0)
		return r;
	/* Whoever lets deleted volumes go unerased scrubs because of that. */
	if (eph_streq(config->erase_method, "none"))
		opts.method = "zero";
	lv = eph_lvm_lv_by_name(now, name);
	if (!lv)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, name, "see \"lvs\"; try again",
				"LVM said that \"%s\" was created, and it is not there", name);
	r = eph_volumes_new(ctx, &volumes);
	if (r == 0)
		r = eph_volume_new(ctx, now, lv, &volume);
	if (r < 0)
		return r;
	/* In actions it is called what the plan calls it. */
	shown = strdup(subject);
	if (!shown) {
		eph_volume_free(volume);
		return eph_fail_oom(ctx);
	}
	free(volume->name);
	volume->name = shown;
	r = eph_volumes_add(ctx, volumes, volume);
	return r < 0 ? r : eph_purge_volumes(ctx, volumes, &opts, UINT32_MAX);
}

static int find_pool(struct ephlvm_ctx *ctx, const char *pool, struct eph_lvm_view **ret_view,
		     struct eph_vg **ret_vg)
{
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	int r;

	r = eph_lvm_read(ctx, 0, &view);
	if (r == 0)
		r = eph_pool_find(ctx, view, pool, ret_vg);
	if (r == 0)
		r = eph_pool_check_writable(ctx, view, *ret_vg);
	if (r == 0)
		*ret_view = eph_steal(view);
	return r;
}

/* The proof is what a scrub is for. */
static int check_proven(struct ephlvm_ctx *ctx, const char *pool)
{
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	const struct eph_config *config;
	struct eph_vg *vg;
	int r;

	r = eph_config_get(ctx, &config);
	if (r == 0)
		r = find_pool(ctx, pool, &view, &vg);
	if (r < 0 || eph_clean_holds(ctx, vg, config->lock_timeout_ms))
		return r;
	return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EAGAIN, vg->name,
			"scrub again when nothing else changes the volume group; see the warnings",
			"the free space of \"%s\" was erased, but it could not be proven clean",
			vg->name);
}

static int scrub_locked(struct ephlvm_ctx *ctx, const char *pool, unsigned int flags)
{
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	_cleanup_free_ char *name = NULL, *subject = NULL;
	struct eph_vg *vg;
	uint64_t extents;
	int r;

	/* Read again under the lock: another scrub may just have ended. */
	r = find_pool(ctx, pool, &view, &vg);
	if (r < 0)
		return r;
	extents = eph_pool_free_extents(vg);
	r = eph_pool_admit(ctx, vg, extents, 1, 0);
	if (r < 0)
		return r;
	if (extents == 0 && !(flags & EPHLVM_DRY_RUN))
		eph_clean_set(ctx, vg, EPH_CLEAN_NO_FREE);
	if (extents == 0)
		return flags & EPHLVM_DRY_RUN ? 0 : check_proven(ctx, pool);
	r = scrub_name(&name);
	if (r < 0)
		return eph_fail(ctx, EPHLVM_ERROR_INTERNAL, -r, NULL, NULL,
				"no name could be made for the space to scrub: %s", strerror(-r));
	if (asprintf(&subject, "%s/free-space", vg->name) < 0) {
		subject = NULL;
		return eph_fail_oom(ctx);
	}
	eph_action(ctx, "scrub", subject, extents * vg->extent_bytes);
	if (flags & EPHLVM_DRY_RUN) {
		eph_action(ctx, "erase", subject, extents * vg->extent_bytes);
		eph_action(ctx, "remove", subject, extents * vg->extent_bytes);
		return 0;
	}
	r = carve(ctx, vg, extents, name);
	if (r < 0)
		return r;
	eph_clean_set(ctx, vg, EPH_CLEAN_NO_FREE);
	r = purge_carved(ctx, vg, name, subject);
	return r < 0 ? r : check_proven(ctx, pool);
}

int ephlvm_pool_scrub(struct ephlvm_ctx *ctx, const char *pool, unsigned int flags)
{
	_cleanup_lock_ struct eph_lock *lock = NULL;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	const struct eph_config *config;
	struct eph_vg *vg;
	int r;

	eph_enter(ctx);
	if (flags & ~(unsigned int)EPHLVM_DRY_RUN)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
				"unknown flags 0x%x for pool scrub", flags);
	r = eph_config_get(ctx, &config);
	if (r == 0)
		r = eph_dm_check(ctx);
	if (r == 0)
		r = find_pool(ctx, pool, &view, &vg);
	if (r == 0)
		r = eph_lock_take(ctx, EPH_LOCK_POOL, vg->name, config->lock_timeout_ms, &lock);
	return r < 0 ? r : scrub_locked(ctx, pool, flags);
}
