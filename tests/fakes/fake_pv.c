// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * fake_pv.c - a PV in memory.
 * Owns the bytes as LVM puts them on a drive; that they are so, tests/rig shows with real LVM.
 */
#include "fakes/fake_pv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "edge/lvm_pv.h"

#define DEVICE_BYTES ((off_t)1 << 20)

static void put(unsigned char *p, uint64_t value, size_t n)
{
	for (size_t i = 0; i < n; i++, value >>= 8)
		p[i] = (unsigned char)value;
}

static void write_at(const struct fake_pv *pv, uint64_t offset, const void *data, size_t bytes)
{
	assert_int_equal(pwrite(pv->fd, data, bytes, (off_t)offset), bytes);
}

struct fake_pv fake_pv_new(const char *pv_uuid, uint64_t area_bytes)
{
	struct fake_pv pv = {
		.fd = memfd_create("fake-pv", MFD_CLOEXEC),
		.area_bytes = area_bytes,
		.next = FAKE_PV_HEADER,
	};
	unsigned char label[512] = { 0 }, *p = label + 32;

	assert_true(pv.fd >= 0);
	assert_int_equal(ftruncate(pv.fd, DEVICE_BYTES), 0);
	memcpy(label, "LABELONE", 8);
	put(label + 8, 1, 8);
	put(label + 20, 32, 4);
	memcpy(label + 24, "LVM2 001", 8);
	for (; *pv_uuid; pv_uuid++)
		if (*pv_uuid != '-')
			*p++ = (unsigned char)*pv_uuid;
	put(p, DEVICE_BYTES, 8);
	put(p + 8, FAKE_PV_AREA + area_bytes, 8); /* the data area, up to the end */
	if (area_bytes) {
		put(p + 40, FAKE_PV_AREA, 8);
		put(p + 48, area_bytes, 8);
	}
	put(label + 16, eph_lvm_crc(EPH_LVM_CRC_INIT, label + 20, 492), 4);
	write_at(&pv, 512, label, sizeof(label));
	if (area_bytes)
		fake_pv_point(&pv, 0, 0, 0, 0);
	return pv;
}

void fake_pv_free(struct fake_pv *pv)
{
	if (pv->fd >= 0)
		close(pv->fd);
	pv->fd = -1;
}

void fake_pv_point(struct fake_pv *pv, uint64_t offset, uint64_t bytes, uint32_t crc,
		   uint32_t flags)
{
	unsigned char header[FAKE_PV_HEADER] = { 0 };

	memcpy(header + 4, " LVM2 x[5A%r0N*>", 16);
	put(header + 20, 1, 4);
	put(header + 24, FAKE_PV_AREA, 8);
	put(header + 32, pv->area_bytes, 8);
	put(header + 40, offset, 8);
	put(header + 48, bytes, 8);
	put(header + 56, crc, 4);
	put(header + 60, flags, 4);
	/* Another, which is only about to be committed. */
	put(header + 64, FAKE_PV_HEADER, 8);
	put(header + 72, 99, 8);
	put(header, eph_lvm_crc(EPH_LVM_CRC_INIT, header + 4, sizeof(header) - 4), 4);
	write_at(pv, FAKE_PV_AREA, header, sizeof(header));
}

void fake_pv_commit(struct fake_pv *pv, const char *text)
{
	uint64_t bytes = strlen(text) + 1, at = pv->next, first = pv->area_bytes - at;

	if (first > bytes)
		first = bytes;
	write_at(pv, FAKE_PV_AREA + at, text, first);
	write_at(pv, FAKE_PV_AREA + FAKE_PV_HEADER, text + first, bytes - first);
	pv->next = first < bytes ? FAKE_PV_HEADER + bytes - first : at + bytes;
	/* LVM begins each at a sector. */
	pv->next = (pv->next + 511) / 512 * 512;
	if (pv->next >= pv->area_bytes)
		pv->next = FAKE_PV_HEADER;
	fake_pv_point(pv, at, bytes, eph_lvm_crc(EPH_LVM_CRC_INIT, text, bytes), 0);
}

void fake_pv_spoil(struct fake_pv *pv, uint64_t offset)
{
	unsigned char byte;

	assert_int_equal(pread(pv->fd, &byte, 1, (off_t)offset), 1);
	byte ^= 0x20;
	write_at(pv, offset, &byte, 1);
}
