// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * columns.c - what is shown of volumes, purged volumes, pools, flavors and actions.
 * Owns the names of JSON keys and headings: they are an interface, docs/schema describes them. Must
 * not render anything itself.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "output.h"

#define TEXT_GETTER(noun, field)                                                      \
	static int noun##_##field(const void *object, struct json_object **ret_value) \
	{                                                                             \
		return out_text(ephlvm_##noun##_##field(object), ret_value);          \
	}
#define NUMBER_GETTER(noun, field)                                                    \
	static int noun##_##field(const void *object, struct json_object **ret_value) \
	{                                                                             \
		return out_number(ephlvm_##noun##_##field(object), ret_value);        \
	}
#define BOOL_GETTER(noun, field)                                                      \
	static int noun##_##field(const void *object, struct json_object **ret_value) \
	{                                                                             \
		return out_bool(ephlvm_##noun##_##field(object), ret_value);          \
	}

/* Strings of an indexed getter, as an array. */
static int strings(const void *object, const char *(*at)(const void *object, size_t index),
		   struct json_object **ret_value)
{
	_cleanup_json_ struct json_object *array = json_object_new_array();

	if (!array)
		return -ENOMEM;
	for (size_t i = 0; at(object, i); i++) {
		struct json_object *item = NULL;

		if (out_text(at(object, i), &item) < 0)
			return -ENOMEM;
		if (json_object_array_add(array, item) < 0) {
			json_object_put(item);
			return -ENOMEM;
		}
	}
	*ret_value = array;
	array = NULL;
	return 0;
}

TEXT_GETTER(volume, vg)
TEXT_GETTER(volume, lv)
TEXT_GETTER(volume, path)
TEXT_GETTER(volume, lv_uuid)
TEXT_GETTER(volume, instance)
TEXT_GETTER(volume, disk)
TEXT_GETTER(volume, flavor)
TEXT_GETTER(volume, state_name)
TEXT_GETTER(volume, pool)
TEXT_GETTER(volume, kind)
TEXT_GETTER(volume, layout)
TEXT_GETTER(volume, fs)
TEXT_GETTER(volume, label)
TEXT_GETTER(volume, pe_ranges)
NUMBER_GETTER(volume, size_bytes)
BOOL_GETTER(volume, active)
BOOL_GETTER(volume, open)

static int volume_requested_bytes(const void *object, struct json_object **ret_value)
{
	uint64_t bytes = ephlvm_volume_requested_bytes(object);

	if (bytes > 0)
		return out_number(bytes, ret_value);
	*ret_value = NULL;
	return 0;
}

static int volume_changed_at(const void *object, struct json_object **ret_value)
{
	return out_time(ephlvm_volume_changed_at(object), ret_value);
}

static int volume_erase(const void *object, struct json_object **ret_value)
{
	_cleanup_json_ struct json_object *erase = NULL;
	const char *method = ephlvm_volume_erase_method(object);
	struct json_object *name = NULL;

	*ret_value = NULL;
	if (!method)
		return 0;
	erase = json_object_new_object();
	if (!erase || out_text(method, &name) < 0)
		return -ENOMEM;
	if (out_put(erase, "method", name) < 0 ||
	    out_put(erase, "pass", json_object_new_uint64(ephlvm_volume_erase_pass(object))) < 0 ||
	    out_put(erase, "passes", json_object_new_uint64(ephlvm_volume_erase_passes(object))) <
		    0 ||
	    out_put(erase, "done_bytes",
		    json_object_new_uint64(ephlvm_volume_erase_done_bytes(object))) < 0)
		return -ENOMEM;
	*ret_value = erase;
	erase = NULL;
	return 0;
}

/* For people: why the last erase failed, and where. */
static int volume_failure(const void *object, struct json_object **ret_value)
{
	_cleanup_free_ char *text = NULL;
	int errnum = ephlvm_volume_fail_errno(object);
	char at[EPHLVM_SIZE_TEXT];

	*ret_value = NULL;
	if (errnum == 0)
		return 0;
	ephlvm_size_format(ephlvm_volume_fail_bytes(object), at);
	if (asprintf(&text, "%s at %s", strerror(errnum), at) < 0) {
		text = NULL;
		return -ENOMEM;
	}
	return out_text(text, ret_value);
}

static const char *warning_at(const void *object, size_t index)
{
	return ephlvm_volume_warning_at(object, index);
}

static int volume_warnings(const void *object, struct json_object **ret_value)
{
	return strings(object, warning_at, ret_value);
}

static int volume_held_at(const void *object, struct json_object **ret_value)
{
	return out_time(ephlvm_volume_held_at(object), ret_value);
}

const struct out_column out_volume_columns[] = {
	{ "vg", "VG", volume_vg, OUT_PLAIN, 0 },
	{ "lv", "LV", volume_lv, OUT_PLAIN, 0 },
	{ "path", "PATH", volume_path, OUT_PLAIN, 0 },
	{ "lv_uuid", "LV UUID", volume_lv_uuid, OUT_PLAIN, 0 },
	{ "instance", "INSTANCE", volume_instance, OUT_PLAIN, OUT_DEFAULT },
	{ "disk", "DISK", volume_disk, OUT_PLAIN, OUT_DEFAULT },
	{ "flavor", "FLAVOR", volume_flavor, OUT_PLAIN, OUT_DEFAULT },
	{ "state", "STATE", volume_state_name, OUT_PLAIN, OUT_DEFAULT },
	{ "pool", "POOL", volume_pool, OUT_PLAIN, OUT_DEFAULT },
	{ "kind", "KIND", volume_kind, OUT_PLAIN, 0 },
	{ "layout", "LAYOUT", volume_layout, OUT_PLAIN, 0 },
	{ "size_bytes", "SIZE", volume_size_bytes, OUT_SIZE, OUT_DEFAULT },
	{ "requested_bytes", "REQUESTED", volume_requested_bytes, OUT_SIZE, 0 },
	{ "fs", "FS", volume_fs, OUT_PLAIN, OUT_DEFAULT },
	{ "label", "LABEL", volume_label, OUT_PLAIN, 0 },
	{ "active", "ACTIVE", volume_active, OUT_PLAIN, OUT_DEFAULT },
	{ "open", "OPEN", volume_open, OUT_PLAIN, OUT_DEFAULT },
	{ "erase", "ERASE", volume_erase, OUT_ERASE, 0 },
	{ "changed_at", "CHANGED", volume_changed_at, OUT_PLAIN, OUT_DEFAULT },
	{ "held_at", "HELD", volume_held_at, OUT_PLAIN, 0 },
	{ "warnings", "WARNINGS", volume_warnings, OUT_PLAIN, OUT_DEFAULT },
	{ "pe_ranges", "EXTENTS", volume_pe_ranges, OUT_PLAIN, OUT_TEXT_ONLY },
	{ "failure", "FAILURE", volume_failure, OUT_PLAIN, OUT_TEXT_ONLY },
	{ NULL, NULL, NULL, OUT_PLAIN, 0 },
};

static int purged_result(const void *object, struct json_object **ret_value)
{
	const struct ephlvm_purged *purged = object;

	switch (purged->result) {
	case EPHLVM_PURGE_PLANNED:
		return out_text("planned", ret_value);
	case EPHLVM_PURGE_FREED:
		return out_text("freed", ret_value);
	case EPHLVM_PURGE_BUSY:
		return out_text("busy", ret_value);
	case EPHLVM_PURGE_GONE:
		return out_text("gone", ret_value);
	case EPHLVM_PURGE_HELD:
		return out_text("held", ret_value);
	case EPHLVM_PURGE_FAILED:
		break;
	}
	return out_text("failed", ret_value);
}

static int purged_erased_bytes(const void *object, struct json_object **ret_value)
{
	return out_number(((const struct ephlvm_purged *)object)->erased_bytes, ret_value);
}

static int purged_errno(const void *object, struct json_object **ret_value)
{
	const struct ephlvm_purged *purged = object;

	if (purged->errnum > 0)
		return out_number((uint64_t)purged->errnum, ret_value);
	*ret_value = NULL;
	return 0;
}

static int purged_message(const void *object, struct json_object **ret_value)
{
	return out_text(((const struct ephlvm_purged *)object)->message, ret_value);
}

/* A document of the library's own, put in as it is. */
static int purged_receipt(const void *object, struct json_object **ret_value)
{
	const struct ephlvm_purged *purged = object;

	*ret_value = NULL;
	if (!purged->receipt)
		return 0;
	*ret_value = json_tokener_parse(purged->receipt);
	return *ret_value ? 0 : -ENOMEM;
}

/* Columns without a getter are in the row already: a purged volume's row begins as a volume's. */
const struct out_column out_purged_columns[] = {
	{ "vg", "VG", NULL, OUT_PLAIN, OUT_DEFAULT },
	{ "lv", "LV", NULL, OUT_PLAIN, OUT_DEFAULT },
	{ "instance", "INSTANCE", NULL, OUT_PLAIN, OUT_DEFAULT },
	{ "disk", "DISK", NULL, OUT_PLAIN, OUT_DEFAULT },
	{ "flavor", "FLAVOR", NULL, OUT_PLAIN, 0 },
	{ "pool", "POOL", NULL, OUT_PLAIN, 0 },
	{ "size_bytes", "SIZE", NULL, OUT_SIZE, OUT_DEFAULT },
	{ "result", "RESULT", purged_result, OUT_PLAIN, OUT_DEFAULT },
	{ "erased_bytes", "ERASED", purged_erased_bytes, OUT_SIZE, OUT_DEFAULT },
	{ "errno", "ERRNO", purged_errno, OUT_PLAIN, 0 },
	{ "message", "MESSAGE", purged_message, OUT_PLAIN, OUT_DEFAULT },
	{ "receipt", "RECEIPT", purged_receipt, OUT_PLAIN, 0 },
	{ NULL, NULL, NULL, OUT_PLAIN, 0 },
};

/* A receipt is a row as it is: no getters. */
const struct out_column out_receipt_columns[] = {
	{ "ended_at", "ERASED", NULL, OUT_PLAIN, OUT_DEFAULT },
	{ "started_at", "BEGUN", NULL, OUT_PLAIN, 0 },
	{ "vg", "VG", NULL, OUT_PLAIN, 0 },
	{ "lv", "LV", NULL, OUT_PLAIN, 0 },
	{ "vg_uuid", "VG UUID", NULL, OUT_PLAIN, 0 },
	{ "lv_uuid", "LV UUID", NULL, OUT_PLAIN, 0 },
	{ "instance", "INSTANCE", NULL, OUT_PLAIN, OUT_DEFAULT },
	{ "disk", "DISK", NULL, OUT_PLAIN, OUT_DEFAULT },
	{ "flavor", "FLAVOR", NULL, OUT_PLAIN, 0 },
	{ "pool", "POOL", NULL, OUT_PLAIN, OUT_DEFAULT },
	{ "size_bytes", "SIZE", NULL, OUT_SIZE, OUT_DEFAULT },
	{ "method", "METHOD", NULL, OUT_PLAIN, OUT_DEFAULT },
	{ "means", "MEANS", NULL, OUT_PLAIN, OUT_DEFAULT },
	{ "passes", "PASSES", NULL, OUT_PLAIN, OUT_RIGHT },
	{ "written_bytes", "WRITTEN", NULL, OUT_SIZE, 0 },
	{ "resumed_bytes", "RESUMED", NULL, OUT_SIZE, 0 },
	{ "verify", "VERIFIED", NULL, OUT_VERIFY, OUT_DEFAULT },
	{ "drives", "DRIVES", NULL, OUT_PLAIN, OUT_DEFAULT },
	{ NULL, NULL, NULL, OUT_PLAIN, 0 },
};

TEXT_GETTER(pool, name)
TEXT_GETTER(pool, vg)
TEXT_GETTER(pool, vg_uuid)
NUMBER_GETTER(pool, size_bytes)
NUMBER_GETTER(pool, free_bytes)
NUMBER_GETTER(pool, allocatable_bytes)
NUMBER_GETTER(pool, trash_bytes)
NUMBER_GETTER(pool, extent_bytes)
NUMBER_GETTER(pool, metadata_bytes)
NUMBER_GETTER(pool, metadata_free_bytes)
NUMBER_GETTER(pool, volume_count)
NUMBER_GETTER(pool, foreign_count)
NUMBER_GETTER(pool, missing_count)
BOOL_GETTER(pool, clean)

static const char *device_at(const void *object, size_t index)
{
	return ephlvm_pool_device_at(object, index);
}

static int pool_devices(const void *object, struct json_object **ret_value)
{
	return strings(object, device_at, ret_value);
}

const struct out_column out_pool_columns[] = {
	{ "pool", "POOL", pool_name, OUT_PLAIN, OUT_DEFAULT },
	{ "vg", "VG", pool_vg, OUT_PLAIN, OUT_DEFAULT },
	{ "vg_uuid", "VG UUID", pool_vg_uuid, OUT_PLAIN, 0 },
	{ "size_bytes", "SIZE", pool_size_bytes, OUT_SIZE, OUT_DEFAULT },
	{ "free_bytes", "FREE", pool_free_bytes, OUT_SIZE, OUT_DEFAULT },
	{ "allocatable_bytes", "ALLOCATABLE", pool_allocatable_bytes, OUT_SIZE, OUT_DEFAULT },
	{ "trash_bytes", "TRASH", pool_trash_bytes, OUT_SIZE, OUT_DEFAULT },
	{ "extent_bytes", "EXTENT", pool_extent_bytes, OUT_SIZE, 0 },
	{ "metadata_bytes", "METADATA", pool_metadata_bytes, OUT_SIZE, 0 },
	{ "metadata_free_bytes", "METADATA FREE", pool_metadata_free_bytes, OUT_SIZE, OUT_DEFAULT },
	{ "volume_count", "VOLUMES", pool_volume_count, OUT_PLAIN, OUT_DEFAULT | OUT_RIGHT },
	{ "foreign_count", "FOREIGN", pool_foreign_count, OUT_PLAIN, OUT_DEFAULT | OUT_RIGHT },
	{ "missing_count", "MISSING", pool_missing_count, OUT_PLAIN, OUT_DEFAULT | OUT_RIGHT },
	{ "clean", "CLEAN", pool_clean, OUT_PLAIN, OUT_DEFAULT },
	{ "devices", "DEVICES", pool_devices, OUT_PLAIN, OUT_DEFAULT },
	{ NULL, NULL, NULL, OUT_PLAIN, 0 },
};

TEXT_GETTER(flavor, name)
TEXT_GETTER(flavor, pool)
TEXT_GETTER(flavor, fs)
TEXT_GETTER(flavor, kind)
TEXT_GETTER(flavor, layout)
NUMBER_GETTER(flavor, vcpus)
NUMBER_GETTER(flavor, ram_bytes)
NUMBER_GETTER(flavor, root_bytes)
NUMBER_GETTER(flavor, ephemeral_bytes)
NUMBER_GETTER(flavor, swap_bytes)
BOOL_GETTER(flavor, builtin)

/* OpenStack's default for every flavor; nothing of ephlvm's. */
static int flavor_rxtx(const void *object, struct json_object **ret_value)
{
	(void)object;
	return out_text("1.0", ret_value);
}

static int flavor_public(const void *object, struct json_object **ret_value)
{
	(void)object;
	return out_text("Yes", ret_value);
}

/* Headings and their order are Horizon's, so that the two tables can be compared. */
const struct out_column out_flavor_columns[] = {
	{ "name", "Flavor Name", flavor_name, OUT_PLAIN, OUT_DEFAULT },
	{ "vcpus", "VCPUs", flavor_vcpus, OUT_PLAIN, OUT_DEFAULT | OUT_RIGHT },
	{ "ram_bytes", "RAM", flavor_ram_bytes, OUT_SIZE, OUT_DEFAULT },
	{ "root_bytes", "Root Disk", flavor_root_bytes, OUT_SIZE, OUT_DEFAULT },
	{ "ephemeral_bytes", "Ephemeral Disk", flavor_ephemeral_bytes, OUT_SIZE, OUT_DEFAULT },
	{ "swap_bytes", "Swap Disk", flavor_swap_bytes, OUT_SIZE, OUT_DEFAULT },
	{ "rxtx_factor", "RX/TX factor", flavor_rxtx, OUT_PLAIN,
	  OUT_DEFAULT | OUT_TEXT_ONLY | OUT_RIGHT },
	{ "id", "ID", flavor_name, OUT_PLAIN, OUT_DEFAULT | OUT_TEXT_ONLY },
	{ "public", "Public", flavor_public, OUT_PLAIN, OUT_DEFAULT | OUT_TEXT_ONLY },
	{ "pool", "Pool", flavor_pool, OUT_PLAIN, 0 },
	{ "fs", "FS", flavor_fs, OUT_PLAIN, 0 },
	{ "kind", "Kind", flavor_kind, OUT_PLAIN, 0 },
	{ "layout", "Layout", flavor_layout, OUT_PLAIN, 0 },
	{ "builtin", "Built in", flavor_builtin, OUT_PLAIN, 0 },
	{ NULL, NULL, NULL, OUT_PLAIN, 0 },
};

static int action_verb(const void *object, struct json_object **ret_value)
{
	return out_text(((const struct ephlvm_action *)object)->verb, ret_value);
}

static int action_subject(const void *object, struct json_object **ret_value)
{
	return out_text(((const struct ephlvm_action *)object)->subject, ret_value);
}

static int action_bytes(const void *object, struct json_object **ret_value)
{
	return out_number(((const struct ephlvm_action *)object)->bytes, ret_value);
}

const struct out_column out_action_columns[] = {
	{ "action", "ACTION", action_verb, OUT_PLAIN, OUT_DEFAULT },
	{ "subject", "SUBJECT", action_subject, OUT_PLAIN, OUT_DEFAULT },
	{ "bytes", "SIZE", action_bytes, OUT_SIZE, OUT_DEFAULT },
	{ NULL, NULL, NULL, OUT_PLAIN, 0 },
};
