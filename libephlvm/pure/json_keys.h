/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pure/json_keys.h - what json-c lets pass silently in a document: a key given twice (the last one
 * wins), and text that is not JSON.
 */
#ifndef EPH_PURE_JSON_KEYS_H
#define EPH_PURE_JSON_KEYS_H

#include <stddef.h>

struct eph_json_fault {
	size_t at; /* offset in the document */
	const char *what; /* literal */
	char path[256]; /* of the key concerned ("flavors.a.ram"), "" where none is */
};

/*
 * Check a document that json-c has accepted already; for any other text the answer means
 * nothing, though it is given safely. 0, -ENOMEM, or -EINVAL with @ret_fault: a key given twice in
 * one object, a key written with an escape (so that each has one spelling), a control character in
 * a string, a string in single quotes.
 */
int eph_json_keys_check(const char *json, size_t json_bytes, struct eph_json_fault *ret_fault);

#endif
