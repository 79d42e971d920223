// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * domxml_plan.c - the judgement on a domain document: whether it may get our disk, what of it is
 * taken, whether the disk is there already, and as what it would be written.
 * Must not touch the text of the document.
 */
#include "pure/domxml_doc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/context.h"
#include "pure/domxml.h"
#include "util/cleanup.h"

static int check_domain(struct ephlvm_ctx *ctx, const struct eph_domxml_doc *doc)
{
	static const char *const types[] = { "kvm", "qemu", "test" };
	bool known = false;

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		known |= eph_streq(doc->type, types[i]);
	if (!known)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, doc->name,
				"only kvm, qemu and test domains get a disk here",
				"domain type \"%s\" is not known here", doc->type ? doc->type : "");
	if (!eph_streq(doc->os_type, "hvm"))
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, doc->name,
				"only domains of <os><type>hvm</type></os> get a disk here",
				"os type \"%s\" is not \"hvm\"", doc->os_type ? doc->os_type : "");
	if (doc->devices_count == 0)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, doc->name,
				"give the whole document, as from virsh dumpxml",
				"domain has no <devices>");
	if (doc->devices_count > 1)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, doc->name, "make them one",
				"domain has %zu <devices> elements", doc->devices_count);
	if (doc->devices_open.start == doc->devices_close.start)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, doc->name,
				"write it as <devices></devices>",
				"<devices/> is an empty element, and nothing can be put into it");
	return 0;
}

int eph_domxml_read(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
		    struct eph_domxml_doc *ret_doc)
{
	_cleanup_domxml_doc_ struct eph_domxml_doc doc = { 0 };
	int r;

	r = eph_domxml_parse(ctx, xml, xml_bytes, &doc);
	if (r < 0)
		return r;
	r = check_domain(ctx, &doc);
	if (r < 0)
		return r;
	*ret_doc = doc;
	memset(&doc, 0, sizeof(doc));
	return 0;
}

/* "VG-LV" of device-mapper, with the hyphens of each doubled, compared to "VG/LV". */
static bool mapper_is_lv(const char *mapper, const char *lv)
{
	bool slash = false;

	for (; *lv; lv++) {
		if (*lv == '/' && slash)
			return false;
		slash |= *lv == '/';
		if (*mapper++ != (*lv == '/' ? '-' : *lv))
			return false;
		if (*lv == '-' && *mapper++ != '-')
			return false;
	}
	return slash && *mapper == '\0';
}

bool eph_domxml_same_device(const char *a, const char *b)
{
	static const char mapper[] = "/dev/mapper/", dev[] = "/dev/";

	if (strcmp(a, b) == 0)
		return true;
	if (!eph_startswith(a, dev) || !eph_startswith(b, dev))
		return false;
	if (eph_startswith(a, mapper) && !eph_startswith(b, mapper))
		return mapper_is_lv(a + strlen(mapper), b + strlen(dev));
	if (eph_startswith(b, mapper) && !eph_startswith(a, mapper))
		return mapper_is_lv(b + strlen(mapper), a + strlen(dev));
	return false;
}

/* A plain block disk with that source: the only kind that we write and take out. */
static bool is_plain(const struct eph_domxml_elem *disk, const char *source)
{
	return eph_streq(disk->type, "block") &&
	       (!disk->device || eph_streq(disk->device, "disk")) &&
	       eph_streq(disk->source_dev, source);
}

static size_t count_sources(const struct eph_domxml_doc *doc, const char *source)
{
	size_t n = 0;

	for (size_t i = 0; i < doc->n_refs; i++)
		n += doc->refs[i].kind == EPH_DOMXML_REF_SOURCE &&
		     eph_domxml_same_device(doc->refs[i].value, source);
	return n;
}

static size_t count_refs(const struct eph_domxml_doc *doc, enum eph_domxml_ref_kind kind,
			 const char *value)
{
	size_t n = 0;

	for (size_t i = 0; i < doc->n_refs; i++)
		n += doc->refs[i].kind == kind && strcmp(doc->refs[i].value, value) == 0;
	return n;
}

static const struct eph_domxml_elem *find_plain(const struct eph_domxml_doc *doc,
						const char *source)
{
	for (size_t i = 0; i < doc->n_disks; i++)
		if (is_plain(&doc->disks[i], source))
			return &doc->disks[i];
	return NULL;
}

static int refuse_order(struct ephlvm_ctx *ctx, const char *target)
{
	return eph_fail(
		ctx, EPHLVM_ERROR_INVALID, EINVAL, target,
		"give the disk that is booted a <boot order='1'/>, or our disk a later target",
		"as target \"%s\" the disk would come before the one that is booted today", target);
}

/* The next free name from vdb on that leaves the first hard disk the first. */
static int choose_target(struct ephlvm_ctx *ctx, const struct eph_domxml_doc *doc,
			 const struct eph_domxml_order *order, char target[EPH_DOMXML_TARGET_TEXT])
{
	_cleanup_free_ bool *used = calloc(EPH_DOMXML_MAX_INDEX + 1, sizeof(*used));
	long index = 1;

	if (!used)
		return eph_fail_oom(ctx);
	for (size_t i = 0; i < doc->n_refs; i++) {
		const struct eph_domxml_ref *ref = &doc->refs[i];
		long taken;

		if (ref->kind != EPH_DOMXML_REF_TARGET || !eph_startswith(ref->value, "vd"))
			continue;
		taken = eph_domxml_target_index(ref->value);
		if (taken >= 0 && taken <= EPH_DOMXML_MAX_INDEX)
			used[taken] = true;
	}
	if (!doc->boot_order && order->first_virtio >= index)
		index = order->first_virtio + 1;
	while (index <= EPH_DOMXML_MAX_INDEX && used[index])
		index++;
	if (index > EPH_DOMXML_MAX_INDEX)
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EEXIST, "auto", NULL,
				"no target name from vdb to vdzzz is free");
	eph_domxml_target_name(index, target);
	return 0;
}

/* An element of ours there already. Anything else with our source or target is in the way. */
static int look_for_ours(struct ephlvm_ctx *ctx, const struct eph_domxml_doc *doc,
			 const struct eph_domxml_want *want,
			 const struct eph_domxml_elem **ret_ours)
{
	const struct eph_domxml_elem *disk = find_plain(doc, want->source);
	size_t sources = count_sources(doc, want->source), targets;
	const char *there = disk ? disk->target : NULL, *target;
	bool ours;

	ours = sources == 1 && there && (!want->target || strcmp(there, want->target) == 0);
	if (sources > 0 && !ours)
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EEXIST, want->source,
				"remove it there first, or give its own target",
				"source \"%s\" is in use by another device of the domain%s%s%s",
				want->source, there ? ", target \"" : "", there ? there : "",
				there ? "\"" : "");
	target = ours ? there : want->target;
	targets = target ? count_refs(doc, EPH_DOMXML_REF_TARGET, target) : 0;
	if (targets > (ours ? 1 : 0))
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EEXIST, target,
				"give another target, or auto for the next free one",
				"target \"%s\" is taken by another disk of the domain", target);
	*ret_ours = ours ? disk : NULL;
	return 0;
}

/*
 * Whether libvirt would give the domain that iothread: <iothreadids> names some, and <iothreads> is
 * filled up to its number with the lowest ids that are not named.
 */
static bool iothread_declared(const struct eph_domxml_doc *doc, uint64_t id)
{
	size_t start = doc->iothreads ? strspn(doc->iothreads, " \t\r\n") : 0;
	size_t digits = doc->iothreads ? strspn(doc->iothreads + start, "0123456789") : 0;
	uint64_t count = 0, below = 0;

	for (size_t i = 0; i < doc->n_iothread_ids; i++) {
		if (doc->iothread_ids[i] == id)
			return true;
		below += doc->iothread_ids[i] < id && doc->iothread_ids[i] > 0;
	}
	if (digits == 0 || digits > 9)
		return false;
	for (size_t i = 0; i < digits; i++)
		count = count * 10 + (uint64_t)(doc->iothreads[start + i] - '0');
	return id <= count && doc->n_iothread_ids < count &&
	       id - 1 - below < count - doc->n_iothread_ids;
}

static void warn_guest_name(struct ephlvm_ctx *ctx, const struct eph_domxml_doc *doc,
			    const char *target)
{
	size_t before = eph_domxml_order_before(doc, eph_domxml_target_index(target));
	char seen[EPH_DOMXML_TARGET_TEXT];

	if (before > EPH_DOMXML_MAX_INDEX)
		return;
	eph_domxml_target_name((long)before, seen);
	if (strcmp(seen, target) != 0)
		eph_warn(
			ctx,
			"the guest will see target \"%s\" as /dev/%s, having %zu virtio disks before "
			"it; mount it by label",
			target, seen, before);
}

/* Leave out what the document does not allow, and say so. */
static void settle_details(struct ephlvm_ctx *ctx, const struct eph_domxml_doc *doc,
			   struct eph_domxml_plan *plan)
{
	warn_guest_name(ctx, doc, plan->target);
	if (plan->want.iothread && !iothread_declared(doc, plan->want.iothread)) {
		eph_warn(ctx, "iothread %u is not declared in the domain and is left out",
			 plan->want.iothread);
		plan->want.iothread = 0;
	}
	eph_domxml_want_alias(&plan->want, plan->alias);
	if (count_refs(doc, EPH_DOMXML_REF_ALIAS, plan->alias) > 0) {
		eph_warn(ctx, "alias \"%s\" is taken in the domain and is left out", plan->alias);
		plan->alias[0] = '\0';
	}
	for (size_t i = 0; i < doc->n_disks; i++)
		if (eph_streq(doc->disks[i].serial, plan->want.serial)) {
			eph_warn(ctx, "another disk of the domain has the serial \"%s\" too",
				 plan->want.serial);
			return;
		}
}

int eph_domxml_plan_make(struct ephlvm_ctx *ctx, const struct eph_domxml_doc *doc,
			 const struct eph_domxml_want *want, struct eph_domxml_plan *ret_plan)
{
	struct eph_domxml_plan plan = { .want = *want };
	struct eph_domxml_order order;
	int r;

	r = look_for_ours(ctx, doc, want, &plan.ours);
	if (r < 0)
		return r;
	if (plan.ours) {
		*ret_plan = plan;
		return 0;
	}
	eph_domxml_order_read(doc, &order);
	if (want->target)
		snprintf(plan.target, sizeof(plan.target), "%s", want->target);
	else
		r = choose_target(ctx, doc, &order, plan.target);
	if (r < 0)
		return r;
	if (!doc->boot_order &&
	    (order.displaced || order.first_virtio > eph_domxml_target_index(plan.target)))
		return refuse_order(ctx, plan.target);
	settle_details(ctx, doc, &plan);
	*ret_plan = plan;
	return 0;
}

int eph_domxml_find_ours(struct ephlvm_ctx *ctx, const struct eph_domxml_doc *doc,
			 const struct eph_domxml_want *want,
			 const struct eph_domxml_elem **ret_ours)
{
	const struct eph_domxml_elem *disk = find_plain(doc, want->source);
	size_t sources = count_sources(doc, want->source);

	if (sources > 1)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, want->source,
				"take out all but one by hand",
				"source \"%s\" is in use by %zu devices of the domain",
				want->source, sources);
	if (sources == 1 && !disk)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, want->source,
				"take it out by hand",
				"source \"%s\" is in use by a device that is no plain block disk",
				want->source);
	if (disk && want->target_given && want->target && !eph_streq(disk->target, want->target))
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, want->source,
				"give that target, or none",
				"source \"%s\" is there as target \"%s\", not \"%s\"", want->source,
				disk->target ? disk->target : "", want->target);
	*ret_ours = disk;
	return 0;
}
