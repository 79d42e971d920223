/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pure/config.h - the configuration in force and the flavors in it.
 *
 * Reading and trusting the file is edge/conffile.h; this room turns its bytes into values. The
 * document, everything optional, sizes as bytes or "25G":
 *
 *	{
 *	  "defaults": { "fs", "kind", "layout", "erase": { "method", "verify", "passes", "rate" },
 *		      "trash_hold", "reserve" },
 *	  "libvirt": { "uri" },
 *	  "timeouts": { "lock", "command", "read", "detach" },		seconds
 *	  "tools": { "lvm", "mkfs.ext4", "mkfs.vfat", "mkfs.xfs", "mkfs.ntfs", "mkswap" },
 *	  "flavors": {
 *	    "NAME": { "vcpus", "ram", "root", "ephemeral", "swap", "pool", "fs", "kind", "layout",
 *		      "cache", "iotune": { "read_bytes_sec", ... "total_iops_sec" } },
 *	    "NAME": null						removes a built-in one
 *	  }
 *	}
 *
 * A flavor of a built-in name keeps its place and the values that are not given; another one needs
 * vcpus, ram, root and ephemeral. What each key takes is in pure/config_keys.c.
 */
#ifndef EPH_PURE_CONFIG_H
#define EPH_PURE_CONFIG_H

#include <ephlvm/flavor.h>

#include "core/context.h"

/* Limits of one disk, 0 for none; names and units as in libvirt's <iotune>. */
struct eph_iotune {
	uint64_t read_bytes_sec, write_bytes_sec, total_bytes_sec;
	uint64_t read_iops_sec, write_iops_sec, total_iops_sec;
};

struct ephlvm_flavor {
	char *name;
	unsigned int vcpus;
	uint64_t ram_bytes, root_bytes, ephemeral_bytes, swap_bytes;
	char *pool, *fs, *kind, *layout; /* NULL: not set */
	char *cache; /* NULL: "none" */
	struct eph_iotune iotune;
	bool builtin;
};

struct eph_config {
	bool from_file; /* there was a file; false: built-in values */
	struct ephlvm_flavor *flavors; /* built-in ones first, in the order of the table */
	size_t n_flavors;

	char *fs; /* default file system, "ext4" */
	char *kind; /* "thick" */
	char *layout; /* "linear" */
	char *erase_method; /* "zero" | "discard" | "shred" | "none" */
	char *erase_verify; /* "sample" | "full" | "off" */
	unsigned int erase_passes; /* random ones of shred: 3 */
	uint64_t erase_rate_bytes_sec; /* of each drive; 0: no limit */
	uint64_t trash_hold_seconds; /* purge leaves younger trash alone: 0 */
	char *libvirt_uri; /* "qemu:///system" */
	uint64_t reserve_bytes; /* space in each pool that create leaves free */

	/* deadlines, milliseconds */
	unsigned int lock_timeout_ms; /* LVM's and our own locks: 60000 */
	unsigned int command_timeout_ms; /* a mutating LVM command: 300000 */
	unsigned int read_timeout_ms; /* a reading LVM command: 30000 */
	unsigned int detach_timeout_ms; /* a guest giving its disk up: 60000 */

	/* tools, absolute paths; NULL: found in the fixed path */
	char *tool_lvm, *tool_mkfs_ext4, *tool_mkfs_vfat, *tool_mkfs_xfs, *tool_mkfs_ntfs,
		*tool_mkswap;
};

/* Built-in values. 0 or -ENOMEM (record set). */
int eph_config_default(struct ephlvm_ctx *ctx, struct eph_config **ret_config);

/*
 * Parse the document over the built-in values. Unknown keys, duplicate keys, wrong types, unknown words
 * and numbers out of range are refused: the record names @file, the key and what is allowed.
 * 0, -EINVAL, -ENOMEM.
 */
int eph_config_parse(struct ephlvm_ctx *ctx, const char *file, const char *json, size_t json_bytes,
		     struct eph_config **ret_config);

/* The document that gives these values, complete. free() it. 0 or -ENOMEM (record set). */
int eph_config_text(struct ephlvm_ctx *ctx, const struct eph_config *config, char **ret_json);

void eph_config_free(struct eph_config *config);

const struct ephlvm_flavor *eph_flavor_find(const struct eph_config *config, const char *name);

#endif
