// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * lvm_pv.c - which PV a device is, by the label that LVM wrote on it, and where its metadata areas are.
 * Owns the on-disk place and form of the label, which LVM2 has documented and kept since its first
 * version. Must not write to a device, and must not read anything else of it. A read of one label costs
 * microseconds; asking LVM would cost a process and its lock.
 */
#include "edge/lvm_pv.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "util/cleanup.h"

/*
 * The label is in one of the first four sectors of 512 bytes, whatever the drive's own sector is:
 * "LABELONE", its sector number (8 bytes), a checksum (4), the offset of what follows (4), "LVM2 001". At
 * that offset begins the PV header with the uuid, 32 characters without hyphens. Numbers are little endian.
 */
#define SECTOR 512
#define SECTORS 4
#define AREA 4096 /* what is read: O_DIRECT wants whole blocks of the largest drive */
#define UUID_CHARS 32
#define CRC_FROM 20 /* the checksum is over the sector from here on */
#define PLACE 16 /* a place in a list: offset and size, 8 bytes each; one of zeroes ends it */

uint32_t eph_lvm_crc(uint32_t crc, const void *data, size_t bytes)
{
	/* Of the reflected polynomial 0xedb88320, for 4 bits at a time. */
	static const uint32_t table[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};
	const unsigned char *p = data;

	for (size_t i = 0; i < bytes; i++) {
		crc ^= p[i];
		crc = crc >> 4 ^ table[crc & 15];
		crc = crc >> 4 ^ table[crc & 15];
	}
	return crc;
}

uint64_t eph_lvm_number(const unsigned char *p, size_t n)
{
	uint64_t v = 0;

	while (n-- > 0)
		v = v << 8 | p[n];
	return v;
}

/* Offset of the PV header in @sector, 0 when it holds no label. */
static size_t header_offset(const unsigned char *sector, unsigned int number)
{
	uint64_t offset;

	if (memcmp(sector, "LABELONE", 8) != 0 || memcmp(sector + 24, "LVM2 001", 8) != 0 ||
	    eph_lvm_number(sector + 8, 8) != number)
		return 0;
	offset = eph_lvm_number(sector + 20, 4);
	return offset >= 32 && offset <= SECTOR - UUID_CHARS ? (size_t)offset : 0;
}

/* LVM's way of writing a uuid: groups of 6-4-4-4-4-4-6. */
static int format_uuid(const unsigned char *raw, char ret_uuid[EPH_LVM_UUID_TEXT])
{
	char uuid[EPH_LVM_UUID_TEXT], *o = uuid;

	for (size_t i = 0; i < UUID_CHARS; i++) {
		if (i >= 6 && i <= 26 && (i - 6) % 4 == 0)
			*o++ = '-';
		if (!((raw[i] >= '0' && raw[i] <= '9') || (raw[i] >= 'A' && raw[i] <= 'Z') ||
		      (raw[i] >= 'a' && raw[i] <= 'z')))
			return -ENODATA;
		*o++ = (char)raw[i];
	}
	*o = '\0';
	memcpy(ret_uuid, uuid, sizeof(uuid));
	return 0;
}

/* The first sectors of @fd into @area; the number of the one that bears the label, or -errno. */
static int read_label(int fd, unsigned char *area)
{
	ssize_t n;

	do
		n = pread(fd, area, AREA, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n < SECTOR * SECTORS)
		return -ENODATA;
	for (unsigned int i = 0; i < SECTORS; i++)
		if (header_offset(area + (size_t)i * SECTOR, i))
			return (int)i;
	return -ENODATA;
}

int eph_lvm_label_read(int fd, char ret_uuid[EPH_LVM_UUID_TEXT])
{
	_cleanup_free_ unsigned char *area = aligned_alloc(AREA, AREA);
	const unsigned char *sector;
	int r;

	if (!area)
		return -ENOMEM;
	r = read_label(fd, area);
	if (r < 0)
		return r;
	sector = area + (size_t)r * SECTOR;
	return format_uuid(sector + header_offset(sector, (unsigned int)r), ret_uuid);
}

/* Behind the uuid and the size of the device: a list of data areas, then one of metadata areas. */
static int read_places(const unsigned char *at, const unsigned char *end,
		       struct eph_lvm_area ret_areas[EPH_LVM_AREAS], size_t *ret_n)
{
	struct eph_lvm_area areas[EPH_LVM_AREAS] = { { 0, 0 } };
	size_t lists = 0, n = 0;

	for (; lists < 2; at += PLACE) {
		struct eph_lvm_area place;

		if (end - at < PLACE)
			return -EBADMSG;
		place.offset = eph_lvm_number(at, 8);
		place.bytes = eph_lvm_number(at + 8, 8);
		if (place.offset == 0) {
			lists++;
			continue;
		}
		if (lists == 0)
			continue;
		if (n == EPH_LVM_AREAS)
			return -EBADMSG;
		areas[n++] = place;
	}
	memcpy(ret_areas, areas, sizeof(areas));
	*ret_n = n;
	return 0;
}

int eph_lvm_areas_read(int fd, char ret_uuid[EPH_LVM_UUID_TEXT],
		       struct eph_lvm_area ret_areas[EPH_LVM_AREAS], size_t *ret_n)
{
	_cleanup_free_ unsigned char *area = aligned_alloc(AREA, AREA);
	const unsigned char *sector, *header;
	int r;

	if (!area)
		return -ENOMEM;
	r = read_label(fd, area);
	if (r < 0)
		return r;
	sector = area + (size_t)r * SECTOR;
	if (eph_lvm_crc(EPH_LVM_CRC_INIT, sector + CRC_FROM, SECTOR - CRC_FROM) !=
	    eph_lvm_number(sector + 16, 4))
		return -EBADMSG;
	header = sector + header_offset(sector, (unsigned int)r);
	if (sector + SECTOR - header < UUID_CHARS + 8)
		return -EBADMSG;
	r = format_uuid(header, ret_uuid);
	return r < 0 ? r : read_places(header + UUID_CHARS + 8, sector + SECTOR, ret_areas, ret_n);
}

int eph_lvm_pv_open(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend,
		    const struct eph_pv *pv, int *ret_fd)
{
	static const char hint[] =
		"a drive went away or changed its name; run the same command again";
	_cleanup_close_ int fd = -1;
	char uuid[EPH_LVM_UUID_TEXT];
	struct stat st;
	int r;

	(void)backend;
	/* O_DIRECT: what is on the drive, not what the page cache remembers of it. */
	fd = open(pv->device, O_RDONLY | O_DIRECT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, pv->device, hint,
				"cannot open \"%s\", the device of a physical volume: %s",
				pv->device, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISBLK(st.st_mode))
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, pv->device, hint,
				"\"%s\" is not a block device", pv->device);
	r = eph_lvm_label_read(fd, uuid);
	if (r < 0 && r != -ENODATA)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, pv->device,
				"look at the kernel's log for errors of the drive",
				"cannot read the label of \"%s\": %s", pv->device, strerror(-r));
	if (r < 0 || !eph_streq(uuid, pv->uuid))
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, pv->device, hint,
				"\"%s\" is not the physical volume \"%s\" any more", pv->device,
				pv->uuid);
	*ret_fd = eph_steal_fd(&fd);
	return 0;
}
