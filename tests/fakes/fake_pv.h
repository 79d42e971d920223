/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fake_pv.h - a PV in memory, written as LVM writes one: label, metadata area, and text in its ring.
 */
#ifndef EPH_TESTS_FAKE_PV_H
#define EPH_TESTS_FAKE_PV_H

#include <stdint.h>

#define FAKE_PV_AREA ((uint64_t)4096) /* where the metadata area begins */
#define FAKE_PV_HEADER 512

struct fake_pv {
	int fd;
	uint64_t area_bytes; /* 0: a PV without an area */
	uint64_t next; /* where in the area the next text goes */
};

struct fake_pv fake_pv_new(const char *pv_uuid, uint64_t area_bytes);
void fake_pv_free(struct fake_pv *pv);

/* Commit @text, with its NUL, behind the one before; around the end of the area where it comes to that. */
void fake_pv_commit(struct fake_pv *pv, const char *text);
/* The header anew: what is committed is @bytes at @offset. */
void fake_pv_point(struct fake_pv *pv, uint64_t offset, uint64_t bytes, uint32_t crc,
		   uint32_t flags);
/* Change one byte at @offset of the device. */
void fake_pv_spoil(struct fake_pv *pv, uint64_t offset);

#endif
