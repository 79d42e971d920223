// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * config_keys.c - the table of keys of the configuration, and what each takes.
 * Owns the bounds and the words. Must not know JSON: config.c reads and writes by this table.
 */
#include "pure/config_keys.h"

#include <string.h>

#include "pure/config.h"
#include "pure/naming.h"
#include "util/cleanup.h"
#include "util/text.h"

#define MIB ((uint64_t)1 << 20)
#define MAX_SIZE_BYTES ((uint64_t)1 << 60)
#define MAX_RATE UINT64_C(1000000000000000) /* libvirt's bound for all of <iotune> */
#define MAX_VCPUS 4096
#define MAX_SECONDS 86400
#define MAX_HOLD_SECONDS 31536000 /* a year */
#define MAX_PATH_LETTERS 1024
#define MAX_URI_LETTERS 256

/* The words that this version knows. */
static const char *const fs_words[] = { "ext4", "vfat", "xfs", "ntfs", "swap", "none", NULL };
static const char *const kind_words[] = { "thick", NULL };
static const char *const layout_words[] = { "linear", NULL };
static const char *const cache_words[] = { "none", "directsync", NULL };
static const char *const method_words[] = { "zero", "discard", "shred", "none", NULL };
static const char *const verify_words[] = { "sample", "full", "off", NULL };

#define FLAVOR(field) .offset = offsetof(struct ephlvm_flavor, field)
#define CONFIG(field) .offset = offsetof(struct eph_config, field)

static const struct eph_key iotune_keys[] = {
	{ "read_bytes_sec", EPH_KEY_BYTES, FLAVOR(iotune.read_bytes_sec), .max = MAX_RATE },
	{ "write_bytes_sec", EPH_KEY_BYTES, FLAVOR(iotune.write_bytes_sec), .max = MAX_RATE },
	{ "total_bytes_sec", EPH_KEY_BYTES, FLAVOR(iotune.total_bytes_sec), .max = MAX_RATE },
	{ "read_iops_sec", EPH_KEY_COUNT, FLAVOR(iotune.read_iops_sec), .max = MAX_RATE },
	{ "write_iops_sec", EPH_KEY_COUNT, FLAVOR(iotune.write_iops_sec), .max = MAX_RATE },
	{ "total_iops_sec", EPH_KEY_COUNT, FLAVOR(iotune.total_iops_sec), .max = MAX_RATE },
	{ NULL },
};

/* A size below 1 MiB is a forgotten unit ("root": 25), never a disk. */
#define SIZE_KEY .min = MIB, .max = MAX_SIZE_BYTES

const struct eph_key eph_flavor_keys[] = {
	{ "vcpus", EPH_KEY_NUMBER, FLAVOR(vcpus), .min = 1, .max = MAX_VCPUS, .required = true },
	{ "ram", EPH_KEY_SIZE, FLAVOR(ram_bytes), SIZE_KEY, .required = true },
	{ "root", EPH_KEY_SIZE, FLAVOR(root_bytes), SIZE_KEY, .required = true },
	{ "ephemeral", EPH_KEY_SIZE, FLAVOR(ephemeral_bytes), SIZE_KEY, .required = true },
	{ "swap", EPH_KEY_SIZE, FLAVOR(swap_bytes), SIZE_KEY },
	{ "pool", EPH_KEY_POOL, FLAVOR(pool) },
	{ "fs", EPH_KEY_WORD, FLAVOR(fs), .words = fs_words },
	{ "kind", EPH_KEY_WORD, FLAVOR(kind), .words = kind_words },
	{ "layout", EPH_KEY_WORD, FLAVOR(layout), .words = layout_words },
	{ "cache", EPH_KEY_WORD, FLAVOR(cache), .words = cache_words },
	{ "iotune", EPH_KEY_OBJECT, .keys = iotune_keys },
	{ NULL },
};

static const struct eph_key erase_keys[] = {
	{ "method", EPH_KEY_WORD, CONFIG(erase_method), .words = method_words },
	{ "verify", EPH_KEY_WORD, CONFIG(erase_verify), .words = verify_words },
	{ "passes", EPH_KEY_NUMBER, CONFIG(erase_passes), .min = 1, .max = 32 },
	{ "rate", EPH_KEY_BYTES, CONFIG(erase_rate_bytes_sec), .max = MAX_RATE },
	{ NULL },
};

static const struct eph_key defaults_keys[] = {
	{ "fs", EPH_KEY_WORD, CONFIG(fs), .words = fs_words },
	{ "kind", EPH_KEY_WORD, CONFIG(kind), .words = kind_words },
	{ "layout", EPH_KEY_WORD, CONFIG(layout), .words = layout_words },
	{ "erase", EPH_KEY_OBJECT, .keys = erase_keys },
	{ "trash_hold", EPH_KEY_COUNT, CONFIG(trash_hold_seconds), .max = MAX_HOLD_SECONDS },
	{ "reserve", EPH_KEY_SIZE, CONFIG(reserve_bytes), SIZE_KEY },
	{ NULL },
};

static const struct eph_key libvirt_keys[] = {
	{ "uri", EPH_KEY_URI, CONFIG(libvirt_uri) },
	{ NULL },
};

#define SECONDS_KEY .min = 1, .max = MAX_SECONDS

static const struct eph_key timeouts_keys[] = {
	{ "lock", EPH_KEY_SECONDS, CONFIG(lock_timeout_ms), SECONDS_KEY },
	{ "command", EPH_KEY_SECONDS, CONFIG(command_timeout_ms), SECONDS_KEY },
	{ "read", EPH_KEY_SECONDS, CONFIG(read_timeout_ms), SECONDS_KEY },
	{ "detach", EPH_KEY_SECONDS, CONFIG(detach_timeout_ms), SECONDS_KEY },
	{ NULL },
};

static const struct eph_key tools_keys[] = {
	{ "lvm", EPH_KEY_PATH, CONFIG(tool_lvm) },
	{ "mkfs.ext4", EPH_KEY_PATH, CONFIG(tool_mkfs_ext4) },
	{ "mkfs.vfat", EPH_KEY_PATH, CONFIG(tool_mkfs_vfat) },
	{ "mkfs.xfs", EPH_KEY_PATH, CONFIG(tool_mkfs_xfs) },
	{ "mkfs.ntfs", EPH_KEY_PATH, CONFIG(tool_mkfs_ntfs) },
	{ "mkswap", EPH_KEY_PATH, CONFIG(tool_mkswap) },
	{ NULL },
};

const struct eph_key eph_config_keys[] = {
	{ "defaults", EPH_KEY_OBJECT, .keys = defaults_keys },
	{ "libvirt", EPH_KEY_OBJECT, .keys = libvirt_keys },
	{ "timeouts", EPH_KEY_OBJECT, .keys = timeouts_keys },
	{ "tools", EPH_KEY_OBJECT, .keys = tools_keys },
	{ "flavors", EPH_KEY_FLAVORS, .offset = 0 },
	{ NULL },
};

const struct eph_key *eph_key_find(const struct eph_key *keys, const char *name)
{
	for (; keys->name; keys++)
		if (strcmp(keys->name, name) == 0)
			return keys;
	return NULL;
}

bool eph_key_is_text(const struct eph_key *key)
{
	return key->type == EPH_KEY_WORD || key->type == EPH_KEY_POOL ||
	       key->type == EPH_KEY_PATH || key->type == EPH_KEY_URI;
}

/* ASCII without spaces; isgraph() would ask the caller's locale. */
static bool is_printable(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

static bool word_known(const char *const *words, const char *text)
{
	for (; *words; words++)
		if (strcmp(*words, text) == 0)
			return true;
	return false;
}

/* No ".." component, so that a reader of the file sees which program it is. */
static bool path_valid(const char *path)
{
	const char *up = path;

	if (path[0] != '/' || strlen(path) > MAX_PATH_LETTERS || !is_printable(path) ||
	    path[strlen(path) - 1] == '/')
		return false;
	while ((up = strstr(up, "/.."))) {
		up += strlen("/..");
		if (*up == '/' || *up == '\0')
			return false;
	}
	return true;
}

bool eph_key_takes_text(const struct eph_key *key, const char *text)
{
	switch (key->type) {
	case EPH_KEY_WORD:
		return word_known(key->words, text);
	case EPH_KEY_POOL:
		return eph_pool_name_valid(text);
	case EPH_KEY_PATH:
		return path_valid(text);
	default: /* EPH_KEY_URI */
		return strlen(text) <= MAX_URI_LETTERS && is_printable(text) &&
		       strstr(text, ":/") != NULL;
	}
}

/* The words, or the names of the keys, of a list as "a, b, c". NULL when out of memory. */
static char *join_words(const char *const *words)
{
	char *text = strdup("");

	for (; text && *words; words++) {
		char *longer;

		if (asprintf(&longer, "%s%s%s", text, *text ? ", " : "", *words) < 0)
			longer = NULL;
		free(text);
		text = longer;
	}
	return text;
}

char *eph_keys_allowed(const struct eph_key *keys)
{
	const char *names[16] = { NULL }; /* more than any level has */

	for (size_t i = 0; keys[i].name && i + 1 < sizeof(names) / sizeof(names[0]); i++)
		names[i] = keys[i].name;
	return join_words(names);
}

char *eph_key_allowed(const struct eph_key *key)
{
	_cleanup_free_ char *words = NULL;
	char least[EPH_SIZE_TEXT], most[EPH_SIZE_TEXT];
	char *text = NULL;
	int r = 0;

	switch (key->type) {
	case EPH_KEY_WORD:
		words = join_words(key->words);
		r = words ? asprintf(&text, "allowed are: %s", words) : -1;
		break;
	case EPH_KEY_POOL:
		return strdup("allowed are letters, digits and + _ . -, not a hyphen first");
	case EPH_KEY_PATH:
		return strdup("allowed is an absolute path without \"..\"");
	case EPH_KEY_URI:
		return strdup("allowed is a libvirt URI as \"qemu:///system\"");
	case EPH_KEY_SIZE:
		r = asprintf(&text,
			     "allowed are 0 and %s to %s, as bytes or as text with a unit of "
			     "1024 (\"25G\")",
			     eph_size_format(key->min, least), eph_size_format(key->max, most));
		break;
	case EPH_KEY_BYTES:
		r = asprintf(&text,
			     "allowed are 0 to %llu, as bytes or as text with a unit of 1024 "
			     "(\"500M\")",
			     (unsigned long long)key->max);
		break;
	case EPH_KEY_COUNT:
	case EPH_KEY_NUMBER:
	case EPH_KEY_SECONDS:
		r = asprintf(&text, "allowed are whole numbers from %llu to %llu",
			     (unsigned long long)key->min, (unsigned long long)key->max);
		break;
	case EPH_KEY_OBJECT:
	case EPH_KEY_FLAVORS:
		return strdup("allowed is an object");
	}
	return r < 0 ? NULL : text;
}
