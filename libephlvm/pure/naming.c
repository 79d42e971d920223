// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * naming.c - names: instance and disk to LV name and back, trash names, and which names of VG and
 * pool are taken.
 * Owns LVM's rules on names as far as they concern us. Must not do I/O: that a VG of the name is
 * there already, or a node in /dev, is for LVM to say.
 */
#include "pure/naming.h"

#include <string.h>

#include "util/cleanup.h"

#define LVM_NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+_.-"
#define ALNUM_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define HEX_CHARS "0123456789abcdef"

#define UUID_LETTERS 36
#define LV_UUID_LETTERS 32 /* without its hyphens */
#define TRASH_PREFIX "trash-"
#define TRASH_TIME_LETTERS 8
#define TRASH_UUID_LETTERS 24

/*
 * A device-mapper name is "VG-LV" with every hyphen within VG and LV doubled, at most 127
 * characters. Our longest LV name is "<uuid>_disk.eph99": 47 characters, 4 of them hyphens.
 */
#define DM_NAME_MAX 127
#define DM_LV_MAX (UUID_LETTERS + sizeof("_disk.eph99") - 1 + 4)
#define DM_VG_MAX (DM_NAME_MAX - 1 - DM_LV_MAX)

/* "eph0".."eph99": no leading zero, so that a disk has one spelling only. */
static bool is_ephemeral(const char *disk)
{
	size_t digits;

	if (!eph_startswith(disk, "eph"))
		return false;
	digits = strspn(disk + 3, "0123456789");
	if (digits < 1 || digits > 2 || disk[3 + digits] != '\0')
		return false;
	return digits == 1 || disk[3] != '0';
}

bool eph_disk_valid(const char *disk)
{
	return is_ephemeral(disk) || strcmp(disk, "root") == 0 || strcmp(disk, "swap") == 0 ||
	       strcmp(disk, "image") == 0;
}

const char *eph_disk_label(const char *disk, char buf[32])
{
	if (!is_ephemeral(disk))
		return NULL;
	snprintf(buf, 32, "ephemeral%s", disk + 3);
	return buf;
}

static bool is_normal_uuid(const char *uuid)
{
	char normal[EPH_UUID_TEXT];

	return eph_uuid_normalise(uuid, normal) == 0 && strcmp(uuid, normal) == 0;
}

int eph_lv_name(const char *instance, const char *disk, char **ret_name)
{
	bool root = strcmp(disk, "root") == 0;
	char *name;

	/* An image belongs to no instance, so it has no name of this form. */
	if (!is_normal_uuid(instance) || !eph_disk_valid(disk) || strcmp(disk, "image") == 0)
		return -EINVAL;
	if (asprintf(&name, "%s_disk%s%s", instance, root ? "" : ".", root ? "" : disk) < 0)
		return -ENOMEM;
	*ret_name = name;
	return 0;
}

bool eph_lv_name_parse(const char *name, char ret_instance[EPH_UUID_TEXT], char ret_disk[16])
{
	char instance[EPH_UUID_TEXT];
	const char *disk;

	if (strnlen(name, UUID_LETTERS) < UUID_LETTERS)
		return false;
	memcpy(instance, name, UUID_LETTERS);
	instance[UUID_LETTERS] = '\0';
	if (!is_normal_uuid(instance) || !eph_startswith(name + UUID_LETTERS, "_disk"))
		return false;
	disk = name + UUID_LETTERS + strlen("_disk");
	if (*disk == '\0')
		disk = "root";
	else if (*disk != '.' || !(is_ephemeral(++disk) || strcmp(disk, "swap") == 0))
		return false;
	if (ret_instance)
		memcpy(ret_instance, instance, sizeof(instance));
	if (ret_disk)
		snprintf(ret_disk, 16, "%s", disk);
	return true;
}

int eph_trash_name(int64_t at, const char *lv_uuid, char **ret_name)
{
	char letters[LV_UUID_LETTERS + 1];
	size_t n = 0;
	char *name;

	for (const char *c = lv_uuid; *c; c++) {
		if (*c == '-')
			continue;
		if (!strchr(ALNUM_CHARS, *c) || n == LV_UUID_LETTERS)
			return -EINVAL;
		letters[n++] = *c;
	}
	if (n != LV_UUID_LETTERS || at < 0 || at > UINT32_MAX)
		return -EINVAL;
	letters[TRASH_UUID_LETTERS] = '\0';
	if (asprintf(&name, TRASH_PREFIX "%08x-%s", (unsigned int)at, letters) < 0)
		return -ENOMEM;
	*ret_name = name;
	return 0;
}

bool eph_trash_name_match(const char *name)
{
	if (!eph_startswith(name, TRASH_PREFIX))
		return false;
	name += strlen(TRASH_PREFIX);
	if (strspn(name, HEX_CHARS) != TRASH_TIME_LETTERS || name[TRASH_TIME_LETTERS] != '-')
		return false;
	name += TRASH_TIME_LETTERS + 1;
	return strspn(name, ALNUM_CHARS) == TRASH_UUID_LETTERS && name[TRASH_UUID_LETTERS] == '\0';
}

/* Why LVM takes no VG or LV of this name, NULL where it does. */
static const char *lvm_name_fault(const char *name)
{
	if (name[0] == '\0')
		return "is empty";
	if (name[strspn(name, LVM_NAME_CHARS)] != '\0')
		return "has a character other than letters, digits and + _ . -";
	if (name[0] == '-')
		return "begins with a hyphen";
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return "is reserved";
	if (strlen(name) >= EPH_LV_NAME_MAX)
		return "is longer than 127 characters";
	return NULL;
}

/*
 * Names that /dev has on every Linux host: LVM would make the directory /dev/VG beside them. This
 * catches them before a drive is touched; vgcreate itself refuses whatever else is there.
 */
static bool taken_in_dev(const char *name)
{
	static const char *const taken[] = {
		"block",  "bsg",  "bus",    "char",	    "console", "core",	  "cpu",  "disk",
		"dri",	  "fd",	  "full",   "hugepages",    "input",   "kmsg",	  "kvm",  "log",
		"mapper", "mem",  "mqueue", "net",	    "null",    "port",	  "ptmx", "pts",
		"random", "shm",  "snd",    "stderr",	    "stdin",   "stdout",  "tty",  "urandom",
		"vfio",	  "zero", "fuse",   "loop-control", "root",    "initctl", "rtc",  "rtc0",
	};

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (strcmp(name, taken[i]) == 0)
			return true;
	return false;
}

static size_t length_in_dm(const char *name)
{
	size_t n = 0;

	for (; *name; name++)
		n += *name == '-' ? 2 : 1;
	return n;
}

static int refuse_name(struct ephlvm_ctx *ctx, const char *what, const char *name, const char *why)
{
	return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, name,
			"use letters, digits and + _ . -, beginning with a letter or digit",
			"%s name \"%.*s\" %s", what, EPH_LV_NAME_MAX, name, why);
}

int eph_vg_name_check(struct ephlvm_ctx *ctx, const char *name)
{
	const char *fault = lvm_name_fault(name);

	if (fault)
		return refuse_name(ctx, "VG", name, fault);
	if (taken_in_dev(name))
		return refuse_name(ctx, "VG", name, "is taken in /dev");
	if (length_in_dm(name) > DM_VG_MAX)
		return eph_fail(
			ctx, EPHLVM_ERROR_INVALID, EINVAL, name,
			"use a shorter name, a hyphen counts twice",
			"VG name \"%s\" is too long: %zu characters in device-mapper names, %zu "
			"leave room for our LV names",
			name, length_in_dm(name), DM_VG_MAX);
	return 0;
}

/* Every VG name that we accept is a pool name too: it is the pool's default name. */
static const char *pool_name_fault(const char *name)
{
	const char *fault = lvm_name_fault(name);

	if (!fault && strlen(name) > EPH_TAG_VALUE_MAX)
		fault = "is too long for a tag";
	return fault;
}

bool eph_pool_name_valid(const char *name)
{
	return !pool_name_fault(name);
}

int eph_pool_name_check(struct ephlvm_ctx *ctx, const char *name)
{
	const char *fault = pool_name_fault(name);

	return fault ? refuse_name(ctx, "pool", name, fault) : 0;
}

int eph_volume_name_parse(struct ephlvm_ctx *ctx, const char *name, char **ret_vg, char **ret_lv)
{
	_cleanup_free_ char *vg = NULL, *lv = NULL;
	const char *start = eph_startswith(name, "/dev/") ? name + strlen("/dev/") : name;
	const char *slash = strchr(start, '/');

	if (!slash || slash == start || eph_startswith(name, "/dev/mapper/"))
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, name, "give VG/LV or /dev/VG/LV",
				"\"%.*s\" does not name a volume", 2 * EPH_LV_NAME_MAX, name);
	vg = strndup(start, (size_t)(slash - start));
	lv = strdup(slash + 1);
	if (!vg || !lv)
		return eph_fail_oom(ctx);
	if (lvm_name_fault(vg))
		return refuse_name(ctx, "VG", vg, lvm_name_fault(vg));
	if (lvm_name_fault(lv))
		return refuse_name(ctx, "LV", lv, lvm_name_fault(lv));
	*ret_vg = eph_steal(vg);
	*ret_lv = eph_steal(lv);
	return 0;
}

int eph_instance_parse(struct ephlvm_ctx *ctx, const char *text, char ret_instance[EPH_UUID_TEXT])
{
	if (!text)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
				"no instance UUID was given");
	if (eph_uuid_normalise(text, ret_instance) < 0)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, text,
				"a UUID has 8-4-4-4-12 hexadecimal digits",
				"\"%s\" is not an instance UUID", text);
	return 0;
}

int64_t eph_trash_name_time(const char *name)
{
	if (!eph_trash_name_match(name))
		return 0;
	return (int64_t)strtoull(name + strlen("trash-"), NULL, 16);
}
