// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * lvm_pv.c - which PV a device is, by the label that LVM wrote on it.
 * Owns the on-disk place of the label, which LVM2 has documented and kept since its first version. Must
 * not write to a device, and must not read anything else of it. A read of one label costs
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

static uint64_t little_endian(const unsigned char *p, size_t n)
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
	    little_endian(sector + 8, 8) != number)
		return 0;
	offset = little_endian(sector + 20, 4);
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

int eph_lvm_label_read(int fd, char ret_uuid[EPH_LVM_UUID_TEXT])
{
	_cleanup_free_ unsigned char *area = aligned_alloc(AREA, AREA);
	ssize_t n;

	if (!area)
		return -ENOMEM;
	do
		n = pread(fd, area, AREA, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	if (n < SECTOR * SECTORS)
		return -ENODATA;
	for (unsigned int i = 0; i < SECTORS; i++) {
		const unsigned char *sector = area + (size_t)i * SECTOR;
		size_t offset = header_offset(sector, i);

		if (offset)
			return format_uuid(sector + offset, ret_uuid);
	}
	return -ENODATA;
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
