// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * attach.c - an instance's ephemeral disks in its domain: in the document, and through libvirt.
 * Owns the rule which volume goes where and when it may. Must not format or create anything. After
 * each change, and after each failure, the domain is read again, and what is there decides.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ephlvm/domain.h>

#include "edge/conffile.h"
#include "edge/dm.h"
#include "edge/lock.h"
#include "edge/virt.h"
#include "object/volume.h"
#include "pure/domxml.h"
#include "util/cleanup.h"
#include "workflow/trash.h"

static void domain_clearp(struct eph_virt_domain *domain)
{
	eph_virt_domain_clear(domain);
}
#define _cleanup_domain_ __attribute__((cleanup(domain_clearp)))

/* --- which volumes --- */

static int by_disk_number(const void *a, const void *b)
{
	const struct ephlvm_volume *const *va = a, *const *vb = b;
	const char *da = (*va)->tags.disk, *db = (*vb)->tags.disk;

	/* "eph2" before "eph10". */
	if (strlen(da) != strlen(db))
		return strlen(da) < strlen(db) ? -1 : 1;
	return strcmp(da, db);
}

static void keep_ephemeral(struct ephlvm_volumes *volumes)
{
	size_t kept = 0;

	for (size_t i = 0; i < volumes->n; i++) {
		struct ephlvm_volume *v = volumes->v[i];

		if (strncmp(v->tags.disk, "eph", 3) == 0)
			volumes->v[kept++] = v;
		else
			eph_volume_free(v);
	}
	volumes->n = kept;
}

/* The ready ephemeral disks of an instance, eph0 first; at least one. */
static int pick_volumes(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view,
			const char *instance, struct ephlvm_volumes **ret_volumes)
{
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL;
	int r;

	r = eph_volumes_select(ctx, view, NULL, instance, EPHLVM_STATE_READY, &volumes);
	if (r < 0)
		return r;
	keep_ephemeral(volumes);
	if (volumes->n == 0)
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, instance,
				"create it first, or see \"ephlvm list\" for its state",
				"instance %s has no ready ephemeral disk", instance);
	qsort(volumes->v, volumes->n, sizeof(*volumes->v), by_disk_number);
	for (size_t i = 0; i < volumes->n; i++) {
		r = eph_volume_check_ours(ctx, volumes->v[i]);
		if (r < 0)
			return r;
		if (i > 0 && eph_streq(volumes->v[i]->tags.disk, volumes->v[i - 1]->tags.disk))
			return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EUCLEAN, instance,
					"delete the one that is not wanted",
					"\"%s\" and \"%s\" are both %s of the instance",
					volumes->v[i - 1]->name, volumes->v[i]->name,
					volumes->v[i]->tags.disk);
	}
	*ret_volumes = eph_steal(volumes);
	return 0;
}

/*
 * What the disk of @v looks like: limits and cache of its flavor, serial as its label. @label is
 * kept by the caller as long as @opts.
 */
static int disk_opts(struct ephlvm_ctx *ctx, const struct ephlvm_volume *v, char label[32],
		     struct ephlvm_xml_opts *opts)
{
	const struct ephlvm_flavor *flavor;
	const struct eph_config *config;
	int r;

	r = eph_config_get(ctx, &config);
	if (r < 0)
		return r;
	*opts = (struct ephlvm_xml_opts)EPHLVM_XML_OPTS_INIT;
	opts->source = v->path;
	opts->serial = eph_disk_label(v->tags.disk, label);
	/* The first one is vdb by default; the others take what is free behind it. */
	opts->target = eph_streq(v->tags.disk, "eph0") ? NULL : "auto";
	flavor = v->tags.flavor ? eph_flavor_find(config, v->tags.flavor) : NULL;
	if (!flavor) {
		eph_warn(ctx, "flavor \"%s\" of \"%s\" is not known any more: no limits are set",
			 v->tags.flavor ? v->tags.flavor : "", v->name);
		return 0;
	}
	opts->cache = flavor->cache;
	opts->read_bytes_sec = flavor->iotune.read_bytes_sec;
	opts->write_bytes_sec = flavor->iotune.write_bytes_sec;
	opts->total_bytes_sec = flavor->iotune.total_bytes_sec;
	opts->read_iops_sec = flavor->iotune.read_iops_sec;
	opts->write_iops_sec = flavor->iotune.write_iops_sec;
	opts->total_iops_sec = flavor->iotune.total_iops_sec;
	return 0;
}

/* --- the document alone --- */

typedef int (*transform_fn)(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
			    const struct ephlvm_xml_opts *opts, char **ret_xml, size_t *ret_bytes);

static int transform_all(struct ephlvm_ctx *ctx, const struct ephlvm_volumes *volumes,
			 transform_fn transform, const char *xml, size_t xml_bytes, char **ret_xml,
			 size_t *ret_bytes)
{
	_cleanup_free_ char *text = NULL;
	size_t text_bytes = 0;

	for (size_t i = 0; i < volumes->n; i++) {
		struct ephlvm_xml_opts opts;
		char label[32], *out = NULL;
		size_t out_bytes = 0;
		int r;

		r = disk_opts(ctx, volumes->v[i], label, &opts);
		if (r < 0)
			return r;
		/* A disk that is taken out may be at any target by now. */
		if (transform == ephlvm_xml_remove)
			opts.target = NULL;
		r = transform(ctx, text ? text : xml, text ? text_bytes : xml_bytes, &opts, &out,
			      &out_bytes);
		if (r < 0)
			return r;
		free(text);
		text = out;
		text_bytes = out_bytes;
	}
	*ret_xml = eph_steal(text);
	*ret_bytes = text_bytes;
	return 0;
}

static int instance_xml(struct ephlvm_ctx *ctx, const char *instance, transform_fn transform,
			const char *xml, size_t xml_bytes, char **ret_xml, size_t *ret_bytes)
{
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	char uuid[EPH_UUID_TEXT];
	int r;

	eph_enter(ctx);
	r = eph_instance_parse(ctx, instance, uuid);
	if (r == 0)
		r = eph_lvm_read(ctx, EPH_LVM_NOLOCKING, &view);
	if (r == 0)
		r = pick_volumes(ctx, view, uuid, &volumes);
	if (r < 0)
		return r;
	return transform_all(ctx, volumes, transform, xml, xml_bytes, ret_xml, ret_bytes);
}

int ephlvm_instance_xml_add(struct ephlvm_ctx *ctx, const char *instance, const char *xml,
			    size_t xml_bytes, char **ret_xml, size_t *ret_bytes)
{
	return instance_xml(ctx, instance, ephlvm_xml_add, xml, xml_bytes, ret_xml, ret_bytes);
}

int ephlvm_instance_xml_remove(struct ephlvm_ctx *ctx, const char *instance, const char *xml,
			       size_t xml_bytes, char **ret_xml, size_t *ret_bytes)
{
	return instance_xml(ctx, instance, ephlvm_xml_remove, xml, xml_bytes, ret_xml, ret_bytes);
}

/* --- through libvirt --- */

/* What attach and detach work with. */
struct job {
	char instance[EPH_UUID_TEXT];
	struct ephlvm_attach_opts o;
	const struct eph_config *config;
	struct eph_lock *lock;
	struct eph_lvm_view *view;
	struct ephlvm_volumes *volumes;
	struct eph_virt_uses uses; /* of all domains, as they were at the start */
	struct eph_virt_domain domain; /* as it is */
};

static void job_clear(struct job *job)
{
	eph_virt_domain_clear(&job->domain);
	eph_virt_uses_clear(&job->uses);
	ephlvm_volumes_free(job->volumes);
	eph_lvm_view_free(job->view);
	eph_lock_release(job->lock);
}
#define _cleanup_job_ __attribute__((cleanup(job_clear)))

static int read_domain(struct ephlvm_ctx *ctx, const struct job *job,
		       struct eph_virt_domain *domain)
{
	return eph_virt_domain_read(ctx, job->o.domain ? job->o.domain : job->instance, domain);
}

static int job_options(struct ephlvm_ctx *ctx, const char *instance,
		       const struct ephlvm_attach_opts *opts, struct job *job)
{
	int r;

	job->o = (struct ephlvm_attach_opts)EPHLVM_ATTACH_OPTS_INIT;
	r = opts ? eph_opts_import(ctx, &job->o, sizeof(job->o), opts) : 0;
	if (r == 0)
		r = eph_instance_parse(ctx, instance, job->instance);
	if (r < 0)
		return r;
	if (job->o.flags & ~(unsigned int)EPHLVM_DRY_RUN)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
				"unknown flags 0x%x for attach or detach", job->o.flags);
	return 0;
}

static int job_begin(struct ephlvm_ctx *ctx, const char *instance,
		     const struct ephlvm_attach_opts *opts, struct job *job)
{
	int r;

	r = job_options(ctx, instance, opts, job);
	if (r == 0)
		r = eph_config_get(ctx, &job->config);
	if (r == 0)
		r = eph_dm_check(ctx);
	if (r == 0)
		r = eph_lock_take(ctx, EPH_LOCK_INSTANCE, job->instance,
				  job->config->lock_timeout_ms, &job->lock);
	if (r == 0)
		r = eph_lvm_read(ctx, 0, &job->view);
	if (r == 0)
		r = pick_volumes(ctx, job->view, job->instance, &job->volumes);
	if (r == 0)
		r = read_domain(ctx, job, &job->domain);
	if (r == 0)
		r = eph_virt_read(ctx, &job->uses);
	if (r == 0 && !job->uses.asked)
		r = eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, job->domain.name,
			     "see whether libvirtd runs, and its log",
			     "libvirt could not be asked which domains use the disk: %s",
			     job->uses.why ? job->uses.why : "no reason given");
	return r;
}

/*
 * No other domain may use @v, and ours only under the path that we write: under another name of the
 * same device the disk would be there twice. @ret_live: the running domain has it.
 */
static int check_uses(struct ephlvm_ctx *ctx, const struct job *job, const struct ephlvm_volume *v,
		      bool *ret_live)
{
	struct eph_dm_info info;
	size_t at = 0;
	int r;

	*ret_live = false;
	r = eph_dm_info(ctx, v->vg_uuid, v->lv_uuid, &info);
	if (r < 0)
		return r;
	while ((at = eph_virt_find(&job->uses, at, v->vg, v->lv, info.exists ? info.devno : 0)) >
	       0) {
		const struct eph_virt_use *use = &job->uses.uses[at - 1];

		if (!eph_streq(use->domain_uuid, job->domain.uuid))
			return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, v->name,
					"detach it there first",
					"\"%s\" is %s of another domain, \"%s\" (%s)", v->name,
					use->target ? use->target : "in use", use->domain_name,
					use->domain_uuid);
		if (!eph_domxml_same_device(use->source, v->path))
			return eph_fail(ctx, EPHLVM_ERROR_BUSY, EEXIST, v->name,
					"detach it first, then attach it again",
					"domain \"%s\" has \"%s\" already, as \"%s\"",
					use->domain_name, v->name, use->source);
		*ret_live |= use->live;
	}
	return 0;
}

/* A volume that something on the host has open or mounted must not be a guest's at the same time. */
static int check_unopened(struct ephlvm_ctx *ctx, const struct ephlvm_volume *v)
{
	const struct eph_virt_uses none = { .asked = true };

	return eph_volume_check_unused(ctx, v, &none, false);
}

static int activate(struct ephlvm_ctx *ctx, const struct job *job, const struct ephlvm_volume *v)
{
	const struct eph_vg *vg = eph_lvm_vg_by_uuid(job->view, v->vg_uuid);
	struct eph_dm_info info;
	int r;

	r = eph_dm_info(ctx, v->vg_uuid, v->lv_uuid, &info);
	if (r < 0 || eph_dm_usable(&info))
		return r;
	eph_action(ctx, "activate", v->name, v->size_bytes);
	if (job->o.flags & EPHLVM_DRY_RUN)
		return 0;
	return eph_lv_make_active(ctx, vg, v->lv_uuid, v->name, "activate");
}

/* What is still to be attached: a <disk> text for each document that lacks ours. */
struct plan {
	char *config, *live;
	char *target;
};

static void plan_clear(struct plan *plan)
{
	free(plan->config);
	free(plan->live);
	free(plan->target);
	memset(plan, 0, sizeof(*plan));
}
#define _cleanup_plan_ __attribute__((cleanup(plan_clear)))

static int plan_one(struct ephlvm_ctx *ctx, const char *xml, struct ephlvm_xml_opts *opts,
		    struct plan *plan, char **ret_text)
{
	_cleanup_free_ char *target = NULL;
	int r;

	if (!xml)
		return 0;
	r = eph_domxml_plan_text(ctx, xml, strlen(xml), opts, ret_text, &target);
	if (r < 0)
		return r;
	/* Both documents get the same target, unless the disk is there already in one. */
	if (*ret_text && !plan->target) {
		plan->target = eph_steal(target);
		opts->target = plan->target;
	}
	return 0;
}

static int plan_make(struct ephlvm_ctx *ctx, const struct eph_virt_domain *domain,
		     const struct ephlvm_volume *v, const char *wanted_target, struct plan *plan)
{
	struct ephlvm_xml_opts opts;
	char label[32];
	int r;

	r = disk_opts(ctx, v, label, &opts);
	if (r < 0)
		return r;
	if (wanted_target)
		opts.target = wanted_target;
	r = plan_one(ctx, domain->xml, &opts, plan, &plan->config);
	return r < 0 ? r : plan_one(ctx, domain->live_xml, &opts, plan, &plan->live);
}

static int request(struct ephlvm_ctx *ctx, const struct job *job, const struct plan *plan)
{
	int r = 0;

	/* One request where it can be one: libvirt then does both or neither. */
	if (eph_streq(plan->config, plan->live)) {
		r = eph_step(ctx, "attach-both");
		return r < 0 ? r :
			       eph_virt_attach(ctx, job->domain.uuid, plan->config,
					       EPH_VIRT_CONFIG | EPH_VIRT_LIVE);
	}
	if (plan->config) {
		r = eph_step(ctx, "attach-config");
		if (r == 0)
			r = eph_virt_attach(ctx, job->domain.uuid, plan->config, EPH_VIRT_CONFIG);
	}
	if (r == 0 && plan->live) {
		r = eph_step(ctx, "attach-live");
		if (r == 0)
			r = eph_virt_attach(ctx, job->domain.uuid, plan->live, EPH_VIRT_LIVE);
	}
	return r;
}

/*
 * The domain as it is after the request, which becomes the job's. @outcome is the request's: what is
 * there overrules it either way.
 */
static int settle_attach(struct ephlvm_ctx *ctx, struct job *job, const struct ephlvm_volume *v,
			 const char *target, int outcome)
{
	_cleanup_domain_ struct eph_virt_domain now = { 0 };
	_cleanup_plan_ struct plan left = { 0 };
	struct eph_error failure = eph_error_take(ctx), later;
	int r;

	r = read_domain(ctx, job, &now);
	if (r == 0)
		r = plan_make(ctx, &now, v, target, &left);
	if (r == 0 && !left.config && !left.live) {
		eph_error_clear(&failure);
		eph_virt_domain_clear(&job->domain);
		job->domain = now;
		memset(&now, 0, sizeof(now));
		return 0;
	}
	if (outcome < 0) {
		later = eph_error_take(ctx);
		eph_error_clear(&later);
		eph_error_give(ctx, &failure);
		return outcome;
	}
	eph_error_clear(&failure);
	if (r < 0)
		return r;
	return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, v->name, "see \"virsh dumpxml\"",
			"libvirt said that \"%s\" is attached, and it is not", v->name);
}

static int attach_one(struct ephlvm_ctx *ctx, struct job *job, const struct ephlvm_volume *v,
		      const char *wanted_target)
{
	_cleanup_plan_ struct plan plan = { 0 };
	bool live;
	int r;

	r = check_uses(ctx, job, v, &live);
	if (r == 0)
		r = plan_make(ctx, &job->domain, v, wanted_target, &plan);
	if (r == 0 && !live)
		r = check_unopened(ctx, v);
	if (r == 0)
		r = activate(ctx, job, v);
	if (r < 0 || (!plan.config && !plan.live))
		return r;
	eph_action(ctx, "attach", v->name, v->size_bytes);
	if (job->o.flags & EPHLVM_DRY_RUN)
		return 0;
	r = request(ctx, job, &plan);
	return settle_attach(ctx, job, v, wanted_target, r);
}

int ephlvm_attach(struct ephlvm_ctx *ctx, const char *instance,
		  const struct ephlvm_attach_opts *opts)
{
	_cleanup_job_ struct job job = { 0 };
	int r;

	eph_enter(ctx);
	r = job_begin(ctx, instance, opts, &job);
	/* A target that the caller names is for the first disk. */
	for (size_t i = 0; r == 0 && i < job.volumes->n; i++)
		r = attach_one(ctx, &job, job.volumes->v[i], i == 0 ? job.o.target : NULL);
	return r;
}

/* Every use that the domain makes of @v, by the path that it has there. */
static int detach_one(struct ephlvm_ctx *ctx, const struct job *job, const struct ephlvm_volume *v)
{
	struct eph_dm_info info;
	bool told = false;
	size_t at = 0;
	int r;

	r = eph_dm_info(ctx, v->vg_uuid, v->lv_uuid, &info);
	if (r < 0)
		return r;
	while ((at = eph_virt_find(&job->uses, at, v->vg, v->lv, info.exists ? info.devno : 0)) >
	       0) {
		const struct eph_virt_use *use = &job->uses.uses[at - 1];

		if (!eph_streq(use->domain_uuid, job->domain.uuid))
			continue;
		if (!use->target)
			return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, v->name,
					"see \"virsh dumpxml\"",
					"domain \"%s\" uses \"%s\", and not as a disk of its own",
					use->domain_name, v->name);
		if (!told)
			eph_action(ctx, "detach", v->name, v->size_bytes);
		told = true;
		if (job->o.flags & EPHLVM_DRY_RUN)
			continue;
		r = eph_step(ctx, "detach");
		if (r == 0)
			r = eph_virt_detach(ctx, job->domain.uuid, use->source,
					    job->config->detach_timeout_ms);
		if (r < 0)
			return r;
	}
	return 0;
}

int ephlvm_detach(struct ephlvm_ctx *ctx, const char *instance,
		  const struct ephlvm_attach_opts *opts)
{
	_cleanup_job_ struct job job = { 0 };
	int r;

	eph_enter(ctx);
	r = job_begin(ctx, instance, opts, &job);
	/* The last one first, so that what stays keeps its place. */
	for (size_t i = r == 0 ? job.volumes->n : 0; r == 0 && i-- > 0;)
		r = detach_one(ctx, &job, job.volumes->v[i]);
	return r;
}
