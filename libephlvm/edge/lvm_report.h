/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/lvm_report.h - inside the LVM room: which columns are asked for, and what comes back.
 */
#ifndef EPH_EDGE_LVM_REPORT_H
#define EPH_EDGE_LVM_REPORT_H

#include "edge/lvm_args.h"

/* --reportformat, --units and the columns of a `fullreport` that eph_lvm_report_parse() reads. */
void eph_lvm_report_args(struct eph_lvm_args *args);

/*
 * Turn the text of a fullreport into a view. @out is what stdout gave, @err what stderr gave: kept as
 * the view's warnings, and searched for PVs that are there twice, which the report does not show.
 * Lines before the document are warnings too. 0, -ENOMEM, or -EIO with the record set.
 */
int eph_lvm_report_parse(struct ephlvm_ctx *ctx, const char *out, const char *err,
			 struct eph_lvm_view **ret_view);

/* The same for a `vgs` with the one column vg_uuid. */
void eph_lvm_report_vg_uuid_args(struct eph_lvm_args *args);
int eph_lvm_report_vg_uuids(struct ephlvm_ctx *ctx, const char *out, struct eph_strv *ret_uuids);

/* Free what is in one; not the struct itself. */
void eph_lvm_vg_clear(struct eph_vg *vg);
void eph_lvm_pv_clear(struct eph_pv *pv);
void eph_lvm_lv_clear(struct eph_lv *lv);

/* Find PVs that are there twice in the view's warnings. */
void eph_lvm_view_mark_duplicates(struct eph_lvm_view *view);

/* True where a VG of the view bears a system ID, so that it may be another host's. */
bool eph_lvm_view_has_system_id(const struct eph_lvm_view *view);

#endif
