/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pure/naming.h - names and tags: how instance and disk become an LV name and back, what a
 * volume's tags say, and which names LVM cannot take.
 */
#ifndef EPH_PURE_NAMING_H
#define EPH_PURE_NAMING_H

#include <ephlvm/volume.h>

#include "core/context.h"
#include "util/text.h"

#define EPH_TAG "ephlvm"
#define EPH_TAG_VERSION 1
#define EPH_LV_NAME_MAX 128 /* NAME_LEN of lvm2, with the NUL */
#define EPH_TAG_VALUE_MAX ((size_t)96) /* with our longest key far below what LVM takes */

/* Normalise an instance UUID that a caller gave. 0, or -EINVAL with its record. */
int eph_instance_parse(struct ephlvm_ctx *ctx, const char *text, char ret_instance[EPH_UUID_TEXT]);

/* Disk words: "root" "eph0".."eph99" "swap" "image". */
bool eph_disk_valid(const char *disk);

/* Filesystem label of a disk: "ephemeral0" for "eph0"; NULL for others. @buf of 32 is enough. */
const char *eph_disk_label(const char *disk, char buf[32]);

/* LV name of an instance's disk: Nova's own. @instance is normalised. 0, -ENOMEM, -EINVAL ("image"
 * has no instance, so no such name). */
int eph_lv_name(const char *instance, const char *disk, char **ret_name);

/* Reverse: true when @name is one that eph_lv_name() makes. Outputs may be NULL. */
bool eph_lv_name_parse(const char *name, char ret_instance[EPH_UUID_TEXT], char ret_disk[16]);

/* "trash-<unix time, 8 hex digits>-<first 24 letters of the LV uuid, hyphens left out>". 0, -ENOMEM,
 * -EINVAL (a time that 8 digits do not hold, or not an LV uuid). */
int eph_trash_name(int64_t at, const char *lv_uuid, char **ret_name);
bool eph_trash_name_match(const char *name);
/* Unix seconds that a trash name tells; 0 for another name. */
int64_t eph_trash_name_time(const char *name);

/*
 * Names of VG and pool that we accept for new ones; the record says why not. @kind is "VG" or
 * "pool". Also refuses a VG name so long that a device-mapper name (VG and LV with hyphens
 * doubled, at most 127 characters) of our longest LV name would not fit: LVM says so only at activation.
 */
int eph_vg_name_check(struct ephlvm_ctx *ctx, const char *name);
int eph_pool_name_check(struct ephlvm_ctx *ctx, const char *name);
bool eph_pool_name_valid(const char *name);

/* Parse "VG/LV" or "/dev/VG/LV". 0 or -EINVAL with its record. */
int eph_volume_name_parse(struct ephlvm_ctx *ctx, const char *name, char **ret_vg, char **ret_lv);

/* What a volume's tags say. */
struct eph_tags {
	bool ours; /* bears the tag "ephlvm" */
	bool newer; /* a version above ours: read, never changed */
	bool damaged; /* they contradict each other or lack what must be there */
	const char *why; /* literal: why damaged; NULL where not */
	enum ephlvm_volume_state state; /* from the tags alone; 0 where absent */
	char instance[EPH_UUID_TEXT]; /* "" where absent */
	char disk[16];
	char *flavor; /* NULL where absent */
	char *fs;
	uint64_t size_bytes;
	int64_t at;
	char *erase_method; /* NULL where absent */
	unsigned int erase_pass, erase_passes;
	uint64_t erase_done_bytes;
	int fail_errno;
	uint64_t fail_bytes;
	int64_t orphan_at;
	int64_t hold_at; /* held since; 0: not */
};

/* Read tags. Unknown ephlvm.* tags are ignored here and kept on the LV. 0 or -ENOMEM. */
int eph_tags_parse(const struct eph_strv *tags, struct eph_tags *ret_tags);
void eph_tags_clear(struct eph_tags *tags);

/*
 * State of an LV that is ours, from name and tags: a trash name or state=trash, either alone,
 * means trash; contradicting tags, no state, or a name of our form that tells of another instance or
 * disk than the tags mean damaged. What @tags->newer marks is for showing only: look at that first.
 */
enum ephlvm_volume_state eph_volume_state(const char *lv_name, const struct eph_tags *tags);

/*
 * The full tag set of a new volume, state included, appended to @tags. @instance is NULL for an
 * image only; @flavor and @fs may be NULL. 0, -ENOMEM, -EINVAL (a value that a tag cannot hold);
 * on failure @tags is as it was.
 */
struct eph_tag_values {
	const char *instance, *disk, *flavor, *fs;
	enum ephlvm_volume_state state;
	uint64_t size_bytes;
	int64_t at;
};
int eph_tags_build(const struct eph_tag_values *values, struct eph_strv *tags);

/*
 * The change that sets `@key=@value` ("ephlvm.state", "ready"): tags to delete (all present
 * ones with that key) and to add. A @value of NULL only deletes. A tag that is there already is in
 * neither list. 0, -ENOMEM, -EINVAL; on failure both lists are as they were.
 */
int eph_tags_change(const struct eph_strv *present, const char *key, const char *value,
		    struct eph_strv *del, struct eph_strv *add);

/* Flavor names, fs words and pool names go into tags: only LVM's tag characters, 1 to
 * EPH_TAG_VALUE_MAX of them. */
bool eph_tag_value_valid(const char *value);

#endif
