/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/lvm_pv.h - inside the LVM room: the label on a PV, read from the device itself.
 */
#ifndef EPH_EDGE_LVM_PV_H
#define EPH_EDGE_LVM_PV_H

#include "edge/lvm.h"

#define EPH_LVM_UUID_TEXT 39 /* 32 characters, 6 hyphens, NUL */

/*
 * PV uuid in the label on @fd, which must be open for reading (O_DIRECT or not). 0, -ENODATA when there is
 * no LVM2 label, or the errno of the read.
 */
int eph_lvm_label_read(int fd, char ret_uuid[EPH_LVM_UUID_TEXT]);

/* eph_lvm_backend.open_pv for real devices. */
int eph_lvm_pv_open(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend,
		    const struct eph_pv *pv, int *ret_fd);

#endif
