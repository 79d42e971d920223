/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pure/config_keys.h - the keys of the configuration: one table that parsing, printing, freeing and
 * the messages go by. A key is described here once, and nowhere else.
 */
#ifndef EPH_PURE_CONFIG_KEYS_H
#define EPH_PURE_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum eph_key_type {
	EPH_KEY_WORD, /* char *, one of @words */
	EPH_KEY_POOL, /* char *, a pool's name */
	EPH_KEY_PATH, /* char *, an absolute path */
	EPH_KEY_URI, /* char *, a libvirt connection URI */
	EPH_KEY_SIZE, /* uint64_t, bytes: 0, or @min..@max */
	EPH_KEY_BYTES, /* uint64_t, bytes a second: 0..@max */
	EPH_KEY_COUNT, /* uint64_t, @min..@max */
	EPH_KEY_NUMBER, /* unsigned int, @min..@max */
	EPH_KEY_SECONDS, /* unsigned int, milliseconds in memory: @min..@max seconds */
	EPH_KEY_OBJECT, /* @keys, fields of the same struct */
	EPH_KEY_FLAVORS, /* the flavors, by name */
};

struct eph_key {
	const char *name; /* NULL ends the table */
	enum eph_key_type type;
	size_t offset; /* of the field in its struct */
	const char *const *words;
	uint64_t min, max;
	const struct eph_key *keys;
	bool required; /* in a flavor that is not built in */
};

extern const struct eph_key eph_config_keys[]; /* of the document: struct eph_config */
extern const struct eph_key eph_flavor_keys[]; /* of one flavor: struct ephlvm_flavor */

const struct eph_key *eph_key_find(const struct eph_key *keys, const char *name);

static inline void *eph_key_field(const struct eph_key *key, void *base)
{
	return (char *)base + key->offset;
}

/* The field is a string of its own (WORD, POOL, PATH, URI), and @text is one that it takes. */
bool eph_key_is_text(const struct eph_key *key);
bool eph_key_takes_text(const struct eph_key *key, const char *text);

/* What @key takes ("allowed are ..."), and which keys there are, for a message. free() it. NULL when out
 * of memory. */
char *eph_key_allowed(const struct eph_key *key);
char *eph_keys_allowed(const struct eph_key *keys);

#endif
