// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * provision.c - create: from a request to ready volumes, all or nothing.
 * Owns the order lvcreate (state new) - erase - format - ready, and the undo of what this call made.
 * Must not touch an LV that it did not make, nor format a volume that was ever ready.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "edge/clean.h"
#include "edge/conffile.h"
#include "edge/dm.h"
#include "edge/erase.h"
#include "edge/fs.h"
#include "edge/lock.h"
#include "object/pool.h"
#include "object/volume.h"
#include "pure/config.h"
#include "util/cleanup.h"
#include "workflow/trash.h"

#define DISKS_MAX 16

/* One wanted disk on its way. */
struct disk {
	char name[16]; /* "eph0" */
	const char *fs;
	char label[32]; /* "" for none */
	char *lv_name;
	char *subject; /* "VG/LV" */
	uint64_t requested_bytes, size_bytes, extents;
	struct ephlvm_volume *existing; /* what was there before; owned */
	bool replace; /* it is half-made, of another request: it becomes trash */
	struct ephlvm_volume
		*in_the_way; /* trash that kept the name (deleted while partial); owned */
	char *lv_uuid; /* of the LV as it is now; NULL until there is one */
	bool made; /* by this call: undo may take it away */
	bool came_clean; /* its space was proven to hold no former bytes when it was made */
};

struct request {
	const struct eph_config *config;
	const struct ephlvm_flavor *flavor;
	struct ephlvm_create_opts opts;
	char instance[EPH_UUID_TEXT];
	struct disk disks[DISKS_MAX];
	size_t n;
	char *vg_uuid;
	bool plan_clean; /* a dry run's answer to what lvcreate finds out in a real one */
};

static void request_clear(struct request *rq)
{
	for (size_t i = 0; i < rq->n; i++) {
		free(rq->disks[i].lv_name);
		free(rq->disks[i].subject);
		free(rq->disks[i].lv_uuid);
		eph_volume_free(rq->disks[i].existing);
		eph_volume_free(rq->disks[i].in_the_way);
	}
	free(rq->vg_uuid);
}

/* --- what is asked --- */

static int check_word(struct ephlvm_ctx *ctx, const char *what, const char *word,
		      const char *allowed)
{
	if (!word || strcmp(word, allowed) == 0)
		return 0;
	return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, word, NULL,
			"%s \"%s\" is not known; this version has: %s", what, word, allowed);
}

static const char *first_set(const char *a, const char *b, const char *c)
{
	return a ? a : b ? b : c;
}

static int add_disk(struct ephlvm_ctx *ctx, struct request *rq, const char *name)
{
	struct disk *d = &rq->disks[rq->n];
	bool swap = strcmp(name, "swap") == 0;
	char buf[32];
	const char *label;

	if (strcmp(name, "eph0") != 0)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, name, "leave --disk out",
				eph_disk_valid(name) ?
					"disk \"%s\" is not made by this version; it makes: eph0" :
					"\"%s\" is not a disk; this version makes: eph0",
				name);
	for (size_t i = 0; i < rq->n; i++)
		if (strcmp(rq->disks[i].name, name) == 0)
			return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, name, NULL,
					"disk \"%s\" is named twice", name);
	rq->n++;
	snprintf(d->name, sizeof(d->name), "%s", name);
	d->requested_bytes = rq->opts.size_bytes ? rq->opts.size_bytes :
			     swap		 ? ephlvm_flavor_swap_bytes(rq->flavor) :
						   ephlvm_flavor_ephemeral_bytes(rq->flavor);
	if (d->requested_bytes == 0)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, rq->flavor->name,
				"choose another flavor, or give --size",
				"flavor \"%s\" has no ephemeral disk", rq->flavor->name);
	d->fs = first_set(rq->opts.fs, rq->flavor->fs, rq->config->fs);
	if (!eph_fs_known(d->fs))
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, d->fs, NULL,
				"file system \"%s\" is not known; allowed: %s", d->fs,
				eph_fs_allowed());
	label = eph_disk_label(d->name, buf);
	snprintf(d->label, sizeof(d->label), "%s",
		 label && strcmp(d->fs, "none") != 0 ? label : "");
	if (eph_lv_name(rq->instance, d->name, &d->lv_name) < 0)
		return eph_fail_oom(ctx);
	return 0;
}

static int request_disks(struct ephlvm_ctx *ctx, struct request *rq)
{
	static const char *const all[] = { "eph0", NULL };
	const char *const *names = rq->opts.disks ? rq->opts.disks : all;
	int r;

	for (size_t i = 0; names[i]; i++) {
		if (i == DISKS_MAX)
			return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, names[i], NULL,
					"more than %d disks are named", DISKS_MAX);
		r = add_disk(ctx, rq, names[i]);
		if (r < 0)
			return r;
	}
	if (rq->n == 0)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, "leave --disk out",
				"the list of disks is empty");
	if (rq->opts.size_bytes && rq->n > 1)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL,
				"name the one disk: --disk", "a size is given for %zu disks",
				rq->n);
	return 0;
}

static int request_parse(struct ephlvm_ctx *ctx, const struct ephlvm_create_opts *opts,
			 struct request *rq)
{
	int r;

	r = eph_opts_import(ctx, &rq->opts, sizeof(rq->opts), opts);
	if (r < 0)
		return r;
	r = eph_instance_parse(ctx, rq->opts.instance, rq->instance);
	if (r < 0)
		return r;
	if (rq->opts.flags & ~(unsigned int)EPHLVM_DRY_RUN)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
				"unknown flags 0x%x for create", rq->opts.flags);
	if (!rq->opts.flavor)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL,
				"see \"ephlvm flavor list\"", "no flavor was given");
	r = eph_config_get(ctx, &rq->config);
	if (r < 0)
		return r;
	rq->flavor = eph_flavor_find(rq->config, rq->opts.flavor);
	if (!rq->flavor)
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, rq->opts.flavor,
				"see \"ephlvm flavor list\"", "there is no flavor \"%s\"",
				rq->opts.flavor);
	if (rq->opts.boot != EPHLVM_BOOT_VOLUME)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, "use --boot volume",
				"root disks from an image are not made by this version");
	r = check_word(ctx, "kind", first_set(rq->opts.kind, rq->flavor->kind, rq->config->kind),
		       "thick");
	if (r == 0)
		r = check_word(ctx, "layout",
			       first_set(rq->opts.layout, rq->flavor->layout, rq->config->layout),
			       "linear");
	if (r == 0)
		r = request_disks(ctx, rq);
	return r;
}

/* --- what is there --- */

/* A ready volume is the answer where it is what is asked for; where it differs, that is an error. */
static int accept_ready(struct ephlvm_ctx *ctx, const struct disk *d, const struct ephlvm_volume *v,
			const char *flavor)
{
	char have[EPH_SIZE_TEXT], want[EPH_SIZE_TEXT];

	if (!eph_streq(v->tags.flavor, flavor))
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EEXIST, v->name,
				"delete it first, or name its flavor",
				"\"%s\" is there with flavor \"%s\", asked is \"%s\"", v->name,
				v->tags.flavor ? v->tags.flavor : "", flavor);
	if (v->tags.size_bytes != d->requested_bytes)
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EEXIST, v->name,
				"delete it first, or ask for its size",
				"\"%s\" is there with %s, asked are %s", v->name,
				eph_size_format(v->tags.size_bytes, have),
				eph_size_format(d->requested_bytes, want));
	if (!eph_streq(v->tags.fs, d->fs))
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EEXIST, v->name,
				"delete it first, or ask for its file system",
				"\"%s\" was made with %s, asked is %s", v->name,
				v->tags.fs ? v->tags.fs : "no file system", d->fs);
	return 0;
}

/* The disk as a volume of ours, in any pool, that is not trash. */
static int find_existing(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
			 const struct request *rq, struct disk *d)
{
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL;
	int r;

	r = eph_volumes_select(ctx, view, NULL, rq->instance,
			       EPHLVM_STATE_NEW | EPHLVM_STATE_READY | EPHLVM_STATE_DAMAGED,
			       &volumes);
	if (r < 0)
		return r;
	for (size_t i = 0; i < volumes->n; i++) {
		struct ephlvm_volume *v = volumes->v[i];

		if (strcmp(v->tags.disk, d->name) != 0)
			continue;
		r = eph_volume_check_ours(ctx, v);
		if (r < 0)
			return r;
		if (d->existing)
			return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EEXIST, v->name,
					"delete the instance's volumes, then create again",
					"\"%s\" and \"%s\" are both disk %s of the instance",
					d->existing->name, v->name, d->name);
		d->existing = v;
		volumes->v[i] = NULL;
	}
	return 0;
}

/* Was this half-made volume of the same request? Then it is gone on with. */
static bool same_request(const struct disk *d, const struct ephlvm_volume *v, const char *flavor)
{
	return eph_streq(v->tags.flavor, flavor) && v->tags.size_bytes == d->requested_bytes &&
	       eph_streq(v->tags.fs, d->fs) && v->size_bytes == d->size_bytes && !v->partial;
}

/* Who has the name that the volume is to get? */
static int check_name_free(struct ephlvm_ctx *ctx, const struct eph_vg *vg, struct disk *d)
{
	const struct eph_lv *lv = eph_lvm_lv_by_name(vg, d->lv_name);
	int r;

	if (!lv)
		return 0;
	if (!eph_lv_is_ours(lv))
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EEXIST, d->subject,
				"ephlvm never touches it: rename or remove it by LVM's commands",
				"\"%s\" exists and was not made by ephlvm", d->subject);
	r = eph_volume_new(ctx, vg, lv, &d->in_the_way);
	if (r == 0)
		r = eph_volume_check_ours(ctx, d->in_the_way);
	if (r < 0)
		return r;
	if (d->in_the_way->state == EPHLVM_STATE_TRASH)
		return 0;
	return eph_fail(ctx, EPHLVM_ERROR_BUSY, EEXIST, d->subject, "see \"lvs -o +lv_tags\"",
			"\"%s\" exists, and by its tags belongs to another instance or disk",
			d->subject);
}

static int examine_disk(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
			const struct eph_vg *vg, struct request *rq, struct disk *d)
{
	const char *label;
	int r;

	if (asprintf(&d->subject, "%s/%s", vg->name, d->lv_name) < 0) {
		d->subject = NULL;
		return eph_fail_oom(ctx);
	}
	if (eph_pool_extents(vg, d->requested_bytes, &d->extents) < 0 ||
	    __builtin_mul_overflow(d->extents, vg->extent_bytes, &d->size_bytes) ||
	    d->size_bytes > INT64_MAX)
		return eph_fail(
			ctx, EPHLVM_ERROR_NO_SPACE, ENOSPC, d->subject, NULL,
			"%llu bytes are more than any volume can have; pool \"%s\" has %llu",
			(unsigned long long)d->requested_bytes, eph_vg_pool_name(vg),
			(unsigned long long)vg->free_bytes);
	r = find_existing(ctx, view, rq, d);
	if (r < 0)
		return r;
	if (d->existing && strcmp(d->existing->vg_uuid, vg->uuid) != 0)
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EEXIST, d->existing->name,
				"name its pool, or delete it first",
				"disk %s of the instance is in pool \"%s\" already", d->name,
				d->existing->pool);
	if (d->existing && d->existing->state == EPHLVM_STATE_READY)
		return accept_ready(ctx, d, d->existing, rq->flavor->name);
	if (d->existing) {
		r = eph_volume_check_alone(ctx, d->existing);
		if (r < 0)
			return r;
		d->replace = !same_request(d, d->existing, rq->flavor->name);
	}
	if (!d->existing) {
		r = check_name_free(ctx, vg, d);
		if (r < 0)
			return r;
	}
	/* What is asked must do for its file system, not only what it is rounded up to. */
	label = d->label[0] ? d->label : NULL;
	r = eph_fs_check(ctx, d->fs, d->requested_bytes, label);
	return r < 0 ? r : eph_fs_check(ctx, d->fs, d->size_bytes, label);
}

/*
 * A half-made volume of the same request is gone on with, from its erase: it was never ready, so nobody's
 * data is in it. One of another request becomes trash. Trash that still has the name, because the VG was
 * partial when it was deleted, gets its own now. The instance's lock is held.
 */
static int settle_existing(struct ephlvm_ctx *ctx, const struct eph_vg *vg, struct disk *d)
{
	int r;

	if (d->in_the_way)
		return eph_volumes_trash(ctx, vg, &d->in_the_way, 1);
	if (!d->existing)
		return 0;
	if (!d->replace) {
		d->lv_uuid = strdup(d->existing->lv_uuid);
		return d->lv_uuid ? 0 : eph_fail_oom(ctx);
	}
	r = eph_volume_settle(ctx, vg, d->existing, true, NULL);
	if (r < 0)
		return r;
	eph_volume_free(d->existing);
	d->existing = NULL;
	return 0;
}

/* --- making it --- */

/* The LV by its name, ours and half-made: what lvcreate made, or did not. */
static int find_made(struct ephlvm_ctx *ctx, struct request *rq, struct disk *d)
{
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	_cleanup_volume_ struct ephlvm_volume *v = NULL;
	struct eph_vg *vg;
	struct eph_lv *lv;
	int r;

	r = eph_lv_reread(ctx, rq->vg_uuid, NULL, &view, &vg, &lv);
	if (r < 0)
		return r;
	lv = eph_lvm_lv_by_name(vg, d->lv_name);
	if (!lv || !eph_lv_is_ours(lv))
		return 0;
	r = eph_volume_new(ctx, vg, lv, &v);
	if (r < 0)
		return r;
	if (v->state != EPHLVM_STATE_NEW || strcmp(v->tags.instance, rq->instance) != 0)
		return 0;
	d->lv_uuid = strdup(v->lv_uuid);
	if (!d->lv_uuid)
		return eph_fail_oom(ctx);
	d->made = true;
	d->size_bytes = v->size_bytes;
	return 0;
}

static int make_lv(struct ephlvm_ctx *ctx, const struct eph_vg *vg, struct request *rq,
		   struct disk *d)
{
	_cleanup_strv_ struct eph_strv tags = EPH_STRV_INIT;
	struct eph_tag_values values = {
		.instance = rq->instance,
		.disk = d->name,
		.flavor = rq->flavor->name,
		.fs = d->fs,
		.state = EPHLVM_STATE_NEW,
		.size_bytes = d->requested_bytes,
		.at = (int64_t)time(NULL),
	};
	struct eph_lv_spec spec = {
		.name = d->lv_name,
		.extents = d->extents,
		.segtype = "linear",
		.tags = &tags,
	};
	struct eph_error first;
	int r, failed;

	if (eph_tags_build(&values, &tags) < 0)
		return eph_fail_oom(ctx);
	eph_action(ctx, "create", d->subject, d->size_bytes);
	r = eph_step(ctx, "lvcreate");
	if (r < 0)
		return r;
	failed = eph_lvm_lv_create(ctx, vg, &spec, &d->came_clean);
	/* lvcreate that failed, or was ended at its deadline, may have created all the same. */
	first = eph_error_take(ctx);
	r = find_made(ctx, rq, d);
	if (r == 0 && failed == 0) {
		r = eph_step(ctx, "lvcreate-flush");
		if (r == 0)
			r = eph_lvm_flush(ctx, vg);
	}
	if (failed < 0) {
		if (r < 0)
			eph_warn(ctx, "then: %s", ephlvm_error_message(ctx));
		eph_error_give(ctx, &first);
		return failed;
	}
	eph_error_clear(&first);
	if (r == 0 && !d->lv_uuid)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, d->subject, "see \"lvs\"; try again",
				"LVM said that \"%s\" was created, and it is not there",
				d->subject);
	return r;
}

/*
 * As purge would, but for what spares the writing: whoever chose that for what is deleted did not
 * choose that a new guest reads it.
 */
static int erase_how(struct ephlvm_ctx *ctx, const struct eph_config *config,
		     struct eph_erase_request *erase)
{
	if (eph_erase_verify_parse(config->erase_verify, &erase->verify) < 0)
		return eph_fail(ctx, EPHLVM_ERROR_INTERNAL, EINVAL, config->erase_verify, NULL,
				"unknown word \"%s\" for the read-back", config->erase_verify);
	if (eph_erase_method_parse(config->erase_method, &erase->method) < 0)
		return eph_fail(ctx, EPHLVM_ERROR_INTERNAL, EINVAL, config->erase_method, NULL,
				"unknown word \"%s\" for the erase", config->erase_method);
	if (erase->method == EPH_ERASE_DISCARD || erase->method == EPH_ERASE_NONE)
		erase->method = EPH_ERASE_ZERO;
	erase->random_passes = config->erase_passes;
	return 0;
}

static int erase_lv(struct ephlvm_ctx *ctx, struct request *rq, struct disk *d)
{
	_cleanup_close_ int fd = -1;
	struct eph_erase_outcome outcome;
	struct eph_erase_request erase = {
		.subject = d->subject,
		.size_bytes = d->size_bytes,
	};
	int r;

	eph_action(ctx, "erase", d->subject, d->size_bytes);
	r = erase_how(ctx, rq->config, &erase);
	if (r < 0)
		return r;
	r = eph_step(ctx, "erase-open");
	if (r < 0)
		return r;
	r = eph_dm_open_lv(ctx, rq->vg_uuid, d->lv_uuid, d->subject, d->size_bytes, true, O_DIRECT,
			   &fd);
	if (r < 0)
		return r;
	erase.fd = fd;
	return eph_erase_run(ctx, &erase, &outcome);
}

static int format_lv(struct ephlvm_ctx *ctx, struct request *rq, struct disk *d)
{
	_cleanup_close_ int fd = -1;
	int r;

	if (strcmp(d->fs, "none") == 0)
		return 0;
	eph_action(ctx, "format", d->subject, d->size_bytes);
	r = eph_step(ctx, "format");
	if (r < 0)
		return r;
	/* Not exclusive: the mkfs tools claim the device themselves. */
	r = eph_dm_open_lv(ctx, rq->vg_uuid, d->lv_uuid, d->subject, d->size_bytes, false, 0, &fd);
	if (r == 0)
		r = eph_dm_prove_lv(ctx, fd, rq->vg_uuid, d->lv_uuid, d->subject, d->size_bytes, 1);
	if (r == 0)
		r = eph_fs_make(ctx, fd, d->subject, d->fs, d->label[0] ? d->label : NULL);
	return r;
}

static int make_ready(struct ephlvm_ctx *ctx, struct request *rq, struct disk *d)
{
	_cleanup_strv_ struct eph_strv del = EPH_STRV_INIT, add = EPH_STRV_INIT;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	char at[24];
	struct eph_vg *vg;
	struct eph_lv *lv;
	int r;

	r = eph_lv_reread(ctx, rq->vg_uuid, d->lv_uuid, &view, &vg, &lv);
	if (r < 0)
		return r;
	if (!lv)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, ENOENT, d->subject, NULL,
				"\"%s\" was removed by another program while it was made",
				d->subject);
	snprintf(at, sizeof(at), "%lld", (long long)time(NULL));
	if (eph_tags_change(&lv->tags, "ephlvm.state", "ready", &del, &add) < 0 ||
	    eph_tags_change(&lv->tags, "ephlvm.at", at, &del, &add) < 0)
		return eph_fail_oom(ctx);
	eph_action(ctx, "ready", d->subject, d->size_bytes);
	r = eph_step(ctx, "ready");
	if (r == 0)
		r = eph_lvm_lv_retag(ctx, vg, d->lv_uuid, &del, &add);
	if (r == 0)
		r = eph_step(ctx, "ready-flush");
	if (r == 0)
		r = eph_lvm_flush(ctx, vg);
	return r;
}

static int activate_lv(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const struct disk *d)
{
	struct eph_dm_info info;
	int r;

	r = eph_dm_info(ctx, vg->uuid, d->lv_uuid, &info);
	if (r < 0 || eph_dm_usable(&info))
		return r;
	eph_action(ctx, "activate", d->subject, d->size_bytes);
	return eph_lv_make_active(ctx, vg, d->lv_uuid, d->subject, "activate");
}

/* What is reported as ready is found where libvirt will be told to look for it. */
static int check_path(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const struct disk *d)
{
	_cleanup_free_ char *path = NULL;

	if (asprintf(&path, "/dev/%s/%s", vg->name, d->lv_name) < 0) {
		path = NULL;
		return eph_fail_oom(ctx);
	}
	return eph_dm_check_path(ctx, vg->uuid, d->lv_uuid, path);
}

static int make_disk(struct ephlvm_ctx *ctx, const struct eph_vg *vg, struct request *rq,
		     struct disk *d)
{
	int r;

	if (!d->lv_uuid) {
		r = make_lv(ctx, vg, rq, d);
		if (r < 0)
			return r;
	}
	r = activate_lv(ctx, vg, d);
	if (r < 0)
		return r;
	/* Its create may have died behind the commit: what is given out must not be half-made after a power cut. */
	if (d->existing && d->existing->state == EPHLVM_STATE_READY) {
		r = eph_step(ctx, "ready-flush");
		if (r == 0)
			r = eph_lvm_flush(ctx, vg);
		return r < 0 ? r : check_path(ctx, vg, d);
	}
	/* One gone on with was half-made by another call: not known to be clean. */
	if (!d->came_clean) {
		r = erase_lv(ctx, rq, d);
		if (r < 0)
			return r;
	}
	r = format_lv(ctx, rq, d);
	if (r == 0)
		r = check_path(ctx, vg, d);
	if (r == 0)
		r = make_ready(ctx, rq, d);
	return r;
}

/* --- undo --- */

/*
 * Take away what this call made. Its space goes back as it came: dirty where it was dirty, so it may simply
 * be removed; where it was proven clean it becomes trash, because a file system may be on it by now.
 */
static int undo_disk(struct ephlvm_ctx *ctx, struct request *rq, struct disk *d)
{
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	_cleanup_volume_ struct ephlvm_volume *v = NULL;
	_cleanup_strv_ struct eph_strv uuids = EPH_STRV_INIT;
	struct eph_vg *vg;
	struct eph_lv *lv;
	int r;

	r = eph_lv_reread(ctx, rq->vg_uuid, d->lv_uuid, &view, &vg, &lv);
	if (r < 0 || !lv)
		return r;
	r = eph_volume_new(ctx, vg, lv, &v);
	if (r < 0)
		return r;
	if (d->came_clean || v->state != EPHLVM_STATE_NEW)
		return eph_volumes_trash(ctx, vg, &v, 1);
	if (eph_strv_add(&uuids, d->lv_uuid) < 0)
		return eph_fail_oom(ctx);
	r = eph_step(ctx, "undo-remove");
	if (r == 0)
		r = eph_lvm_lv_remove_unerased(ctx, vg, &uuids);
	if (r == 0)
		r = eph_lvm_flush(ctx, vg);
	if (r < 0)
		return r;
	eph_lvm_view_free(eph_steal(view));
	r = eph_lv_reread(ctx, rq->vg_uuid, d->lv_uuid, &view, &vg, &lv);
	if (r == 0 && lv)
		r = eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, d->subject, NULL,
			     "LVM said that \"%s\" was removed, and it is still there", d->subject);
	return r;
}

static void undo(struct ephlvm_ctx *ctx, struct request *rq)
{
	struct eph_error first = eph_error_take(ctx);

	for (size_t i = rq->n; i-- > 0;) {
		struct disk *d = &rq->disks[i];

		if (!d->made || !d->lv_uuid)
			continue;
		if (undo_disk(ctx, rq, d) < 0)
			eph_warn(ctx,
				 "could not take \"%s\" away again (%s): \"ephlvm purge\" will",
				 d->subject, ephlvm_error_message(ctx));
		eph_error_clear(&ctx->error);
	}
	eph_error_give(ctx, &first);
}

/* --- the whole --- */

static int collect_result(struct ephlvm_ctx *ctx, struct request *rq,
			  struct ephlvm_volumes **ret_volumes)
{
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	struct eph_vg *vg;
	struct eph_lv *lv;
	int r;

	r = eph_volumes_new(ctx, &volumes);
	if (r == 0)
		r = eph_lv_reread(ctx, rq->vg_uuid, NULL, &view, &vg, &lv);
	for (size_t i = 0; r == 0 && i < rq->n; i++) {
		struct disk *d = &rq->disks[i];
		struct ephlvm_volume *v = NULL;

		lv = eph_lvm_lv_by_uuid(vg, d->lv_uuid);
		if (lv)
			r = eph_volume_new(ctx, vg, lv, &v);
		if (r == 0 && (!v || v->state != EPHLVM_STATE_READY)) {
			eph_volume_free(v);
			return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, d->subject,
					"see \"lvs -o +lv_tags\"; try again",
					"\"%s\" is not ready though every step succeeded",
					d->subject);
		}
		if (r == 0)
			r = eph_volumes_add(ctx, volumes, v);
	}
	if (r < 0)
		return r;
	*ret_volumes = eph_steal(volumes);
	return 0;
}

/* A dry run: the same actions in the same order as the real run, none of them done. */
static void plan(struct ephlvm_ctx *ctx, const struct request *rq)
{
	for (size_t i = 0; i < rq->n; i++) {
		const struct disk *d = &rq->disks[i];
		const struct ephlvm_volume *old = d->in_the_way ? d->in_the_way : d->existing;

		if (d->in_the_way || d->replace)
			eph_action(ctx, "trash", old->name, old->size_bytes);
	}
	for (size_t i = 0; i < rq->n; i++) {
		const struct disk *d = &rq->disks[i];
		const struct ephlvm_volume *kept = d->replace ? NULL : d->existing;

		if (!kept)
			eph_action(ctx, "create", d->subject, d->size_bytes);
		else if (!kept->active)
			eph_action(ctx, "activate", d->subject, d->size_bytes);
		if (kept && kept->state == EPHLVM_STATE_READY)
			continue;
		if (!rq->plan_clean || kept)
			eph_action(ctx, "erase", d->subject, d->size_bytes);
		if (strcmp(d->fs, "none") != 0)
			eph_action(ctx, "format", d->subject, d->size_bytes);
		eph_action(ctx, "ready", d->subject, d->size_bytes);
	}
}

static void say_rounding(struct ephlvm_ctx *ctx, const struct disk *d)
{
	char text[EPH_SIZE_TEXT];

	if ((!d->existing || d->replace) && d->size_bytes != d->requested_bytes)
		eph_warn(ctx, "\"%s\": %llu bytes rounded up to whole extents: %llu (%s)",
			 d->subject, (unsigned long long)d->requested_bytes,
			 (unsigned long long)d->size_bytes, eph_size_format(d->size_bytes, text));
}

static int create_locked(struct ephlvm_ctx *ctx, struct request *rq,
			 struct ephlvm_volumes **ret_volumes)
{
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	const char *pool = rq->opts.pool ? rq->opts.pool : rq->flavor->pool;
	uint64_t extents = 0;
	size_t n_new = 0;
	struct eph_vg *vg;
	int r;

	r = eph_lvm_read(ctx, 0, &view);
	if (r == 0)
		r = eph_pool_find(ctx, view, pool, &vg);
	if (r == 0)
		r = eph_pool_check_writable(ctx, view, vg);
	if (r < 0)
		return r;
	rq->vg_uuid = strdup(vg->uuid);
	if (!rq->vg_uuid)
		return eph_fail_oom(ctx);
	for (size_t i = 0; i < rq->n; i++) {
		r = examine_disk(ctx, view, vg, rq, &rq->disks[i]);
		if (r < 0)
			return r;
		if (rq->disks[i].existing && !rq->disks[i].replace)
			continue;
		extents += rq->disks[i].extents;
		n_new++;
	}
	if (n_new > 0) {
		r = eph_pool_admit(ctx, vg, extents, n_new, rq->config->reserve_bytes);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < rq->n; i++)
		say_rounding(ctx, &rq->disks[i]);
	if (rq->opts.flags & EPHLVM_DRY_RUN) {
		rq->plan_clean = eph_clean_holds(ctx, vg, rq->config->lock_timeout_ms);
		plan(ctx, rq);
		return eph_volumes_new(ctx, ret_volumes);
	}
	for (size_t i = 0; i < rq->n; i++) {
		r = settle_existing(ctx, vg, &rq->disks[i]);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < rq->n && r == 0; i++)
		r = make_disk(ctx, vg, rq, &rq->disks[i]);
	if (r == 0)
		r = collect_result(ctx, rq, ret_volumes);
	if (r < 0)
		undo(ctx, rq);
	return r;
}

int ephlvm_create(struct ephlvm_ctx *ctx, const struct ephlvm_create_opts *opts,
		  struct ephlvm_volumes **ret_volumes)
{
	_cleanup_lock_ struct eph_lock *lock = NULL;
	struct request rq = { 0 };
	int r;

	eph_enter(ctx);
	r = request_parse(ctx, opts, &rq);
	if (r == 0)
		r = eph_dm_check(ctx);
	if (r == 0)
		r = eph_lock_take(ctx, EPH_LOCK_INSTANCE, rq.instance, rq.config->lock_timeout_ms,
				  &lock);
	if (r == 0)
		r = create_locked(ctx, &rq, ret_volumes);
	request_clear(&rq);
	return r;
}
