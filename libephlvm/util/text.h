/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * text.h - strings: growing string vectors, escaping of untrusted text, sizes, UUIDs.
 * Knows no context, never logs.
 */
#ifndef EPH_UTIL_TEXT_H
#define EPH_UTIL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A NULL-terminated vector of strings that it owns; zero-initialise before use. */
struct eph_strv {
	char **v;
	size_t n;
};

#define EPH_STRV_INIT   \
	{               \
		NULL, 0 \
	}

int eph_strv_add(struct eph_strv *sv, const char *s);
__attribute__((format(printf, 2, 3))) int eph_strv_addf(struct eph_strv *sv, const char *fmt, ...);
bool eph_strv_has(const struct eph_strv *sv, const char *s);
void eph_strv_clear(struct eph_strv *sv);
#define _cleanup_strv_ __attribute__((cleanup(eph_strv_clear)))

/*
 * Copy @s with control characters, DEL, invalid UTF-8 and the C1 range shown as \xNN, so that
 * nothing untrusted reaches a terminal or a log raw. @keep_lines leaves '\n' alone.
 * Returns NULL when out of memory.
 */
char *eph_escape(const char *s, bool keep_lines);

/* strcmp() == 0, with NULL equal to NULL only. */
bool eph_streq(const char *a, const char *b);
bool eph_startswith(const char *s, const char *prefix);

/*
 * Parse a size: decimal digits, then nothing (bytes) or one of K M G T P, KiB ... (powers of 1024).
 * KB, MB ... are refused (-EPROTO): a disk maker's thousand is not LVM's. Negative, empty, fractional
 * text or a value above 2^63 - 1 give -EINVAL or -ERANGE.
 */
int eph_size_parse(const char *s, uint64_t *ret_bytes);

/* "25 GiB", "1.5 GiB", "512 B": for people. @buf of 32 bytes is always enough. Returns @buf. */
#define EPH_SIZE_TEXT 32
char *eph_size_format(uint64_t bytes, char buf[EPH_SIZE_TEXT]);

/*
 * Normalise an RFC 4122 UUID text to lower case. Exactly 36 characters, hyphens in place.
 * Returns 0 or -EINVAL.
 */
#define EPH_UUID_TEXT 37
int eph_uuid_normalise(const char *s, char ret_uuid[EPH_UUID_TEXT]);

/* Strict decimal parse of an unsigned 64-bit number: all of @s, no sign, no space. 0, -EINVAL or -ERANGE. */
int eph_u64_parse(const char *s, uint64_t *ret_value);

/* RFC 3339 UTC ("2026-01-31T12:00:00Z") of unix seconds. @buf of 32 bytes is always enough. */
#define EPH_TIME_TEXT 32
char *eph_time_format(int64_t seconds, char buf[EPH_TIME_TEXT]);

#endif
