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

/* Where on a PV a metadata area is. LVM makes one or two, or none. */
struct eph_lvm_area {
	uint64_t offset, bytes;
};
#define EPH_LVM_AREAS 2

/* The same, with the metadata areas. -EBADMSG also where the label's checksum or lists are wrong. */
int eph_lvm_areas_read(int fd, char ret_uuid[EPH_LVM_UUID_TEXT],
		       struct eph_lvm_area ret_areas[EPH_LVM_AREAS], size_t *ret_n);

/* LVM's checksum (CRC-32, without the last inversion), begun with EPH_LVM_CRC_INIT and gone on with. */
#define EPH_LVM_CRC_INIT 0xf597a6cfU
uint32_t eph_lvm_crc(uint32_t crc, const void *data, size_t bytes);

/* The little endian number of @n bytes, 8 at most. */
uint64_t eph_lvm_number(const unsigned char *p, size_t n);

/* eph_lvm_backend.open_pv for real devices. */
int eph_lvm_pv_open(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend,
		    const struct eph_pv *pv, int *ret_fd);

#endif
