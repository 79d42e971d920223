// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * lvm_view.c - views of what LVM has: their memory, and finding things in them.
 * Owns how a view is freed. Must not run anything and must not know how a view is read.
 */
#include "edge/lvm_report.h"

#include <string.h>

#include "util/cleanup.h"

void eph_lvm_lv_clear(struct eph_lv *lv)
{
	free(lv->name);
	free(lv->uuid);
	free(lv->attr);
	free(lv->origin);
	free(lv->segtype);
	free(lv->layout);
	free(lv->role);
	free(lv->pool_lv);
	free(lv->parent);
	eph_strv_clear(&lv->tags);
	for (size_t i = 0; i < lv->n_ranges; i++)
		free(lv->ranges[i].device);
	free(lv->ranges);
}

void eph_lvm_pv_clear(struct eph_pv *pv)
{
	free(pv->device);
	free(pv->uuid);
}

void eph_lvm_vg_clear(struct eph_vg *vg)
{
	free(vg->name);
	free(vg->uuid);
	free(vg->system_id);
	eph_strv_clear(&vg->tags);
	for (size_t i = 0; i < vg->n_pvs; i++)
		eph_lvm_pv_clear(&vg->pvs[i]);
	free(vg->pvs);
	for (size_t i = 0; i < vg->n_lvs; i++)
		eph_lvm_lv_clear(&vg->lvs[i]);
	free(vg->lvs);
}

void eph_lvm_view_free(struct eph_lvm_view *view)
{
	if (!view)
		return;
	for (size_t i = 0; i < view->n_vgs; i++)
		eph_lvm_vg_clear(&view->vgs[i]);
	free(view->vgs);
	for (size_t i = 0; i < view->n_orphans; i++)
		eph_lvm_pv_clear(&view->orphans[i]);
	free(view->orphans);
	free(view->warnings);
	free(view);
}

bool eph_lvm_view_has_system_id(const struct eph_lvm_view *view)
{
	for (size_t i = 0; i < view->n_vgs; i++)
		if (view->vgs[i].system_id)
			return true;
	return false;
}

struct eph_vg *eph_lvm_vg_by_uuid(const struct eph_lvm_view *view, const char *vg_uuid)
{
	for (size_t i = 0; i < view->n_vgs; i++)
		if (eph_streq(view->vgs[i].uuid, vg_uuid))
			return &view->vgs[i];
	return NULL;
}

struct eph_vg *eph_lvm_vg_by_name(const struct eph_lvm_view *view, const char *name,
				  size_t *ret_count)
{
	struct eph_vg *found = NULL;
	size_t n = 0;

	for (size_t i = 0; i < view->n_vgs; i++) {
		if (!eph_streq(view->vgs[i].name, name))
			continue;
		if (!found)
			found = &view->vgs[i];
		n++;
	}
	if (ret_count)
		*ret_count = n;
	return found;
}

struct eph_lv *eph_lvm_lv_by_uuid(const struct eph_vg *vg, const char *lv_uuid)
{
	for (size_t i = 0; i < vg->n_lvs; i++)
		if (eph_streq(vg->lvs[i].uuid, lv_uuid))
			return &vg->lvs[i];
	return NULL;
}

struct eph_lv *eph_lvm_lv_by_name(const struct eph_vg *vg, const char *name)
{
	for (size_t i = 0; i < vg->n_lvs; i++)
		if (eph_streq(vg->lvs[i].name, name))
			return &vg->lvs[i];
	return NULL;
}

static struct eph_pv *find_pv(struct eph_lvm_view *view, const char *uuid, size_t len)
{
	for (size_t v = 0; v < view->n_vgs; v++)
		for (size_t i = 0; i < view->vgs[v].n_pvs; i++)
			if (strlen(view->vgs[v].pvs[i].uuid) == len &&
			    strncmp(view->vgs[v].pvs[i].uuid, uuid, len) == 0)
				return &view->vgs[v].pvs[i];
	return NULL;
}

/*
 * "WARNING: Not using device DEVICE for PV UUID.": one drive seen twice, or a copy of one. A fullreport
 * shows the chosen device only, and narrowed to that LVM would write without its own refusal.
 */
void eph_lvm_view_mark_duplicates(struct eph_lvm_view *view)
{
	static const char start[] = "Not using device ", middle[] = " for PV ";
	const char *line = view->warnings;

	while (line && (line = strstr(line, start))) {
		const char *uuid = strstr(line, middle);
		struct eph_pv *pv = NULL;

		line += strlen(start);
		if (!uuid)
			return;
		uuid += strlen(middle);
		pv = find_pv(view, uuid, strcspn(uuid, ". \n"));
		if (pv)
			pv->duplicate = true;
	}
}
