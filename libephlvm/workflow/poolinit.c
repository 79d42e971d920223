// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * poolinit.c - pool init: devices become a pool, or an existing VG does.
 * Owns the order check - erase - pvcreate - vgcreate - look again, and the undo of what it made.
 * Must not touch an LV, and must not destroy a signature without leave for that very drive.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "edge/clean.h"
#include "edge/conffile.h"
#include "edge/dm.h"
#include "edge/drive.h"
#include "edge/erase.h"
#include "edge/lock.h"
#include "edge/lvm.h"
#include "object/pool.h"
#include "pure/config.h"
#include "pure/naming.h"
#include "util/cleanup.h"
#include "workflow/trash.h"

#define METADATA_BYTES ((uint64_t)64 << 20)
#define DEVICES_MAX 64
/* A PV keeps its data area behind the metadata: less than this is no drive to carve volumes from. */
#define DEVICE_MIN_BYTES ((uint64_t)256 << 20)

struct init {
	struct ephlvm_pool_init_opts opts;
	const struct eph_config *config;
	const char *pool, *vg;
	struct eph_drive drives[DEVICES_MAX];
	size_t n;
	int fds[DEVICES_MAX]; /* of the first n_open drives: claimed while checked and erased */
	size_t n_open;
	char *loop_path; /* made by this call */
	bool pvs_made;
};

static void release_drives(struct init *in)
{
	while (in->n_open > 0)
		close(in->fds[--in->n_open]);
}

static void init_clear(struct init *in)
{
	release_drives(in);
	for (size_t i = 0; i < in->n; i++)
		eph_drive_clear(&in->drives[i]);
	free(in->loop_path);
}

static int tags_for(struct ephlvm_ctx *ctx, const char *pool, struct eph_strv *tags)
{
	if (eph_strv_add(tags, EPH_TAG) < 0 || eph_strv_addf(tags, EPH_TAG_POOL "%s", pool) < 0)
		return eph_fail_oom(ctx);
	return 0;
}

/* --- taking over an existing VG --- */

static void warn_small_area(struct ephlvm_ctx *ctx, const struct eph_vg *vg)
{
	if (vg->mda_bytes < METADATA_BYTES / 2)
		eph_warn(ctx,
			 "the metadata area of \"%s\" has %llu bytes: room for about %llu volumes",
			 vg->name, (unsigned long long)vg->mda_bytes,
			 (unsigned long long)(vg->mda_free_bytes / 1024));
}

/* The pool's name is free, but for @own. */
static int check_pool_name_free(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
				const char *pool, const struct eph_vg *own)
{
	for (size_t i = 0; i < view->n_vgs; i++)
		if (&view->vgs[i] != own && eph_streq(eph_vg_pool_name(&view->vgs[i]), pool))
			return eph_fail(ctx, EPHLVM_ERROR_BUSY, EEXIST, pool, "choose --pool",
					"there is a pool \"%s\" already, volume group \"%s\"", pool,
					view->vgs[i].name);
	return 0;
}

/* Auto-activation goes off for the whole VG: say whose LVs will miss it at the next boot. */
static void warn_foreign(struct ephlvm_ctx *ctx, const struct eph_vg *vg)
{
	size_t n = 0;

	for (size_t i = 0; i < vg->n_lvs; i++)
		n += !vg->lvs[i].hidden;
	if (n > 0)
		eph_warn(
			ctx,
			"auto-activation is switched off for all of \"%s\": its %zu LVs are not "
			"activated at boot any more, unless you do it (vgchange --setautoactivation "
			"y takes it back)",
			vg->name, n);
}

static int take_over(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view, const struct init *in)
{
	_cleanup_strv_ struct eph_strv none = EPH_STRV_INIT, tags = EPH_STRV_INIT;
	_cleanup_view_ struct eph_lvm_view *after = NULL;
	struct eph_vg *vg, *now;
	struct eph_lv *lv;
	size_t count;
	int r;

	vg = eph_lvm_vg_by_name(view, in->vg, &count);
	if (!vg)
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, in->vg,
				"name devices to make one",
				"there is no volume group \"%s\" to take over", in->vg);
	r = eph_pool_check_writable(ctx, view, vg);
	if (r < 0)
		return r;
	if (eph_vg_pool_name(vg) && strcmp(eph_vg_pool_name(vg), in->pool) != 0)
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EEXIST, in->vg, NULL,
				"volume group \"%s\" is pool \"%s\" already", in->vg,
				eph_vg_pool_name(vg));
	if (eph_vg_pool_name(vg))
		return 0;
	if (vg->missing_pvs > 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, in->vg, "bring the drive back first",
				"a drive of volume group \"%s\" is missing", in->vg);
	r = check_pool_name_free(ctx, view, in->pool, vg);
	if (r < 0)
		return r;
	warn_small_area(ctx, vg);
	warn_foreign(ctx, vg);
	r = tags_for(ctx, in->pool, &tags);
	if (r < 0)
		return r;
	eph_action(ctx, "pool-take-over", in->vg, vg->size_bytes);
	if (in->opts.flags & EPHLVM_DRY_RUN)
		return 0;
	r = eph_step(ctx, "vg-no-autoactivation");
	if (r == 0)
		r = eph_lvm_vg_no_autoactivation(ctx, vg);
	if (r == 0)
		r = eph_step(ctx, "vg-tag");
	if (r == 0)
		r = eph_lvm_vg_retag(ctx, vg, &none, &tags);
	if (r == 0)
		r = eph_lvm_flush(ctx, vg);
	if (r == 0)
		r = eph_lv_reread(ctx, vg->uuid, NULL, &after, &now, &lv);
	if (r == 0 && !eph_streq(eph_vg_pool_name(now), in->pool))
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, in->vg, "try again",
				"LVM said that \"%s\" was tagged, and it is not", in->vg);
	return r;
}

/* --- a new one --- */

static bool may_wipe(const struct init *in, const struct eph_drive *drive)
{
	for (size_t i = 0; in->opts.wipe_serials && in->opts.wipe_serials[i]; i++)
		if (strcmp(in->opts.wipe_serials[i], drive->serial) == 0)
			return true;
	return false;
}

/* A PV of some VG is never ours to destroy, whatever leave there is: its VG has to let it go. */
static int check_not_in_vg(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
			   const struct eph_drive *drive)
{
	for (size_t i = 0; i < view->n_vgs; i++) {
		for (size_t j = 0; j < view->vgs[i].n_pvs; j++) {
			const char *device = view->vgs[i].pvs[j].device;

			if (device && eph_drive_holds(drive, device))
				return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, drive->path,
						"take that volume group over: pool init --vg",
						"device \"%s\" belongs to volume group \"%s\"",
						drive->path, view->vgs[i].name);
		}
	}
	return 0;
}

static int check_drive(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
		       const struct init *in, size_t index)
{
	const struct eph_drive *d = &in->drives[index];
	_cleanup_free_ char *signature = NULL;
	char text[EPH_SIZE_TEXT];
	int r;

	if (d->size_bytes < DEVICE_MIN_BYTES)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, d->path, "256 MiB at least",
				"device \"%s\" is too small: %s", d->path,
				eph_size_format(d->size_bytes, text));
	r = check_not_in_vg(ctx, view, d);
	if (r < 0)
		return r;
	r = eph_drive_check_free(ctx, d, in->fds[index], &signature);
	if (r != -EEXIST || may_wipe(in, d))
		return r == -EEXIST ? 0 : r;
	return eph_fail(ctx, EPHLVM_ERROR_BUSY, EEXIST, d->path,
			"--wipe destroys it, when its serial is confirmed",
			"device \"%s\" (serial \"%s\") bears a signature: %s", d->path, d->serial,
			signature);
}

/* The pool is there already, on exactly these devices: nothing to do. */
static bool same_pool(const struct eph_vg *vg, const struct init *in)
{
	if (!eph_streq(eph_vg_pool_name(vg), in->pool) || vg->n_pvs != in->n)
		return false;
	for (size_t i = 0; i < vg->n_pvs; i++) {
		_cleanup_free_ char *real = vg->pvs[i].device ? realpath(vg->pvs[i].device, NULL) :
								NULL;
		bool named = false;

		for (size_t j = 0; real && j < in->n; j++)
			named = named || strcmp(real, in->drives[j].path) == 0;
		if (!named)
			return false;
	}
	return true;
}

static int check_names(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
		       const struct init *in, bool *ret_done)
{
	for (size_t i = 0; i < view->n_vgs; i++) {
		const struct eph_vg *vg = &view->vgs[i];

		if (strcmp(vg->name, in->vg) == 0 && in->n > 0 && same_pool(vg, in)) {
			*ret_done = true;
			return 0;
		}
		if (strcmp(vg->name, in->vg) == 0)
			return eph_fail(ctx, EPHLVM_ERROR_BUSY, EEXIST, in->vg,
					"take it over without naming devices, or choose --vg",
					"there is a volume group \"%s\" already", in->vg);
	}
	return check_pool_name_free(ctx, view, in->pool, NULL);
}

static int erase_drive(struct ephlvm_ctx *ctx, const struct init *in, size_t index)
{
	const struct eph_drive *d = &in->drives[index];
	struct eph_erase_outcome outcome;
	struct eph_erase_request request = {
		.fd = in->fds[index],
		.subject = d->path,
		.size_bytes = d->size_bytes,
		.method = EPH_ERASE_ZERO,
	};
	int r;

	if (eph_erase_verify_parse(in->config->erase_verify, &request.verify) < 0)
		return eph_fail(ctx, EPHLVM_ERROR_INTERNAL, EINVAL, in->config->erase_verify, NULL,
				"unknown word \"%s\" for the read-back", in->config->erase_verify);
	r = eph_step(ctx, "pool-erase");
	if (r == 0)
		r = eph_erase_run(ctx, &request, &outcome);
	if (r == 0)
		eph_drive_forget_partitions(in->fds[index]);
	return r;
}

static void undo(struct ephlvm_ctx *ctx, struct init *in, const struct eph_strv *devices)
{
	struct eph_error first = eph_error_take(ctx);
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	struct eph_vg *vg = NULL;
	size_t count;

	if (in->pvs_made && eph_lvm_read(ctx, 0, &view) == 0)
		vg = eph_lvm_vg_by_name(view, in->vg, &count);
	if (vg && count == 1 && vg->n_lvs == 0 && same_pool(vg, in) &&
	    eph_lvm_vg_remove(ctx, vg->name, vg->uuid) < 0)
		eph_warn(ctx, "could not remove volume group \"%s\" again", in->vg);
	eph_error_clear(&ctx->error);
	if (in->pvs_made && eph_lvm_pv_remove(ctx, devices) < 0)
		eph_warn(ctx, "could not remove the PVs again: %s", ephlvm_error_message(ctx));
	eph_error_clear(&ctx->error);
	if (in->loop_path)
		eph_loop_unmake(ctx, in->opts.loop_file, in->loop_path);
	eph_error_give(ctx, &first);
}

/* What is there now decides: the VG with our tags, on these PVs, with the area we asked for. */
static int check_made(struct ephlvm_ctx *ctx, const struct init *in)
{
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	struct eph_vg *vg;
	size_t count;
	int r;

	r = eph_lvm_read(ctx, 0, &view);
	if (r < 0)
		return r;
	vg = eph_lvm_vg_by_name(view, in->vg, &count);
	if (!vg || count != 1 || !same_pool(vg, in))
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, in->vg, "see \"vgs\" and \"pvs\"",
				"LVM said that \"%s\" was made, and it is not as asked", in->vg);
	if (vg->mda_bytes < METADATA_BYTES / 2)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, in->vg, NULL,
				"the metadata area of \"%s\" has %llu bytes, asked were %llu",
				in->vg, (unsigned long long)vg->mda_bytes,
				(unsigned long long)METADATA_BYTES);
	r = eph_lvm_flush(ctx, vg);
	/* Without the proof it is a pool all the same: each create erases. */
	if (r == 0 && !in->opts.no_erase)
		eph_clean_set(ctx, vg, EPH_CLEAN_NEW_VG);
	return r;
}

/* What an action calls a drive: a loop device's number is not known before, its file is. */
static const char *shown(const struct init *in, size_t index)
{
	return in->opts.loop_file ? in->opts.loop_file : in->drives[index].path;
}

static int make(struct ephlvm_ctx *ctx, struct init *in, const struct eph_strv *devices)
{
	_cleanup_strv_ struct eph_strv tags = EPH_STRV_INIT;
	int r = 0;

	for (size_t i = 0; r == 0 && !in->opts.no_erase && i < in->n; i++) {
		eph_action(ctx, "erase", shown(in, i), in->drives[i].size_bytes);
		r = erase_drive(ctx, in, i);
	}
	if (r == 0)
		r = tags_for(ctx, in->pool, &tags);
	if (r < 0)
		return r;
	for (size_t i = 0; i < in->n; i++)
		eph_action(ctx, "pv-create", shown(in, i), in->drives[i].size_bytes);
	r = eph_step(ctx, "pv-create");
	if (r < 0)
		return r;
	/* LVM claims them itself: to the last moment they were ours. */
	release_drives(in);
	in->pvs_made = true;
	r = eph_lvm_pv_create(ctx, devices, METADATA_BYTES);
	if (r < 0)
		return r;
	eph_action(ctx, "vg-create", in->vg, 0);
	r = eph_step(ctx, "vg-create");
	if (r == 0)
		r = eph_lvm_vg_create(ctx, in->vg, devices, &tags);
	return r < 0 ? r : check_made(ctx, in);
}

/* Claim the drives, then look: what is found stays true while they are claimed. */
static int claim_and_check(struct ephlvm_ctx *ctx, struct init *in)
{
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	int r = 0;

	for (size_t i = 0; r == 0 && i < in->n; i++) {
		r = eph_drive_open(ctx, &in->drives[i], &in->fds[i]);
		if (r == 0)
			in->n_open++;
	}
	if (r == 0)
		r = eph_lvm_read(ctx, 0, &view);
	for (size_t i = 0; r == 0 && i < in->n; i++)
		r = check_drive(ctx, view, in, i);
	return r;
}

/* A dry run: the same checks and the same actions, none of them done. A loop device is not there yet. */
static int plan(struct ephlvm_ctx *ctx, struct init *in)
{
	size_t n = in->opts.loop_file ? 1 : in->n;
	int r;

	if (in->opts.loop_file) {
		r = eph_loop_check(ctx, in->opts.loop_file, in->opts.loop_bytes);
		eph_action(ctx, "loop-create", in->opts.loop_file, in->opts.loop_bytes);
	} else {
		r = claim_and_check(ctx, in);
	}
	if (r < 0)
		return r;
	for (unsigned int verb = in->opts.no_erase ? 1 : 0; verb < 2; verb++)
		for (size_t i = 0; i < n; i++)
			eph_action(ctx, verb ? "pv-create" : "erase",
				   in->opts.loop_file ? in->opts.loop_file : in->drives[i].path,
				   in->opts.loop_file ? in->opts.loop_bytes :
							in->drives[i].size_bytes);
	eph_action(ctx, "vg-create", in->vg, 0);
	return 0;
}

static int make_loop(struct ephlvm_ctx *ctx, struct init *in)
{
	int r;

	eph_action(ctx, "loop-create", in->opts.loop_file, in->opts.loop_bytes);
	r = eph_step(ctx, "loop-create");
	if (r == 0)
		r = eph_loop_make(ctx, in->opts.loop_file, in->opts.loop_bytes, &in->loop_path);
	if (r == 0)
		r = eph_drive_read(ctx, in->loop_path, &in->drives[0]);
	if (r == 0)
		in->n = 1;
	return r;
}

static int read_drives(struct ephlvm_ctx *ctx, struct init *in)
{
	for (size_t i = 0; in->opts.devices && in->opts.devices[i]; i++) {
		int r;

		if (i == DEVICES_MAX)
			return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, in->opts.devices[i],
					NULL, "more than %d devices are named", DEVICES_MAX);
		r = eph_drive_read(ctx, in->opts.devices[i], &in->drives[i]);
		if (r < 0)
			return r;
		in->n++;
		for (size_t j = 0; j < i; j++)
			if (in->drives[j].devno == in->drives[i].devno)
				return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL,
						in->drives[i].path, NULL,
						"device \"%s\" is named twice", in->drives[i].path);
	}
	return 0;
}

static int make_new(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view, struct init *in)
{
	_cleanup_strv_ struct eph_strv devices = EPH_STRV_INIT;
	bool done = false;
	int r;

	r = read_drives(ctx, in);
	if (r == 0)
		r = check_names(ctx, view, in, &done);
	if (r < 0 || done)
		return r;
	if (in->opts.flags & EPHLVM_DRY_RUN)
		return plan(ctx, in);
	if (in->opts.loop_file)
		r = make_loop(ctx, in);
	if (r == 0)
		r = claim_and_check(ctx, in);
	for (size_t i = 0; r == 0 && i < in->n; i++)
		if (eph_strv_add(&devices, in->drives[i].path) < 0)
			r = eph_fail_oom(ctx);
	if (r == 0)
		r = make(ctx, in, &devices);
	if (r < 0)
		undo(ctx, in, &devices);
	return r;
}

static int check_opts(struct ephlvm_ctx *ctx, struct init *in)
{
	const struct ephlvm_pool_init_opts *o = &in->opts;
	bool devices = o->devices && o->devices[0];
	int r;

	if (o->flags & ~(unsigned int)EPHLVM_DRY_RUN)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
				"unknown flags 0x%x for pool init", o->flags);
	in->pool = o->pool ? o->pool : "ephlvm";
	in->vg = o->vg ? o->vg : in->pool;
	if (devices && o->loop_file)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, o->loop_file, NULL,
				"a loop file and devices are both named");
	if (!devices && !o->loop_file && !o->vg)
		return eph_fail(
			ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL,
			"name devices, a loop file, or with --vg a volume group to take over",
			"there is nothing to make a pool of");
	r = eph_pool_name_check(ctx, in->pool);
	return r < 0 ? r : eph_vg_name_check(ctx, in->vg);
}

int ephlvm_pool_init(struct ephlvm_ctx *ctx, const struct ephlvm_pool_init_opts *opts)
{
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	_cleanup_lock_ struct eph_lock *lock = NULL;
	struct init in = { 0 };
	int r;

	eph_enter(ctx);
	r = eph_opts_import(ctx, &in.opts, sizeof(in.opts), opts);
	if (r == 0)
		r = check_opts(ctx, &in);
	if (r == 0)
		r = eph_config_get(ctx, &in.config);
	if (r == 0)
		r = eph_dm_check(ctx);
	if (r == 0)
		/* One for the host: names of VGs and pools are the host's. */
		r = eph_lock_take(ctx, EPH_LOCK_POOL, "init", in.config->lock_timeout_ms, &lock);
	if (r == 0)
		r = eph_lvm_read(ctx, 0, &view);
	if (r == 0) {
		bool new = (in.opts.devices && in.opts.devices[0]) || in.opts.loop_file;

		r = new ? make_new(ctx, view, &in) : take_over(ctx, view, &in);
	}
	init_clear(&in);
	return r;
}

int ephlvm_pool_device_serial(struct ephlvm_ctx *ctx, const char *device, char **ret_serial)
{
	struct eph_drive drive;
	int r;

	eph_enter(ctx);
	if (!device)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
				"no device was given");
	r = eph_drive_read(ctx, device, &drive);
	if (r < 0)
		return r;
	*ret_serial = eph_steal(drive.serial);
	eph_drive_clear(&drive);
	return 0;
}
