// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * json_keys.c - find the keys that a JSON document gives twice.
 * json-c keeps the last of two equal keys and has no option against it (0.16), so the keys are
 * collected from the text once more. Owns no parser: json-c has said that the document is well-formed,
 * and this only tells strings from what is between them. Must stay bounded on any text.
 */
#include "pure/json_keys.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"

#define MAX_DEPTH 32
#define NO_KEY SIZE_MAX

struct seen_key {
	const char *name;
	size_t n;
	size_t object; /* number of the object that it is in */
	size_t parent; /* index of the key whose value that object is */
};

struct level {
	bool is_object;
	bool key_next;
	size_t object;
	size_t parent;
};

struct scan {
	const char *json;
	size_t n, at;
	struct level levels[MAX_DEPTH];
	size_t depth;
	size_t objects;
	struct seen_key *keys;
	size_t n_keys, room;
	struct eph_json_fault *fault;
};

static int fail(struct scan *s, size_t at, const char *what)
{
	s->fault->at = at;
	s->fault->what = what;
	return -EINVAL;
}

static int add_key(struct scan *s, const struct level *level, size_t start, size_t n)
{
	struct seen_key *grown;

	if (s->n_keys == s->room) {
		size_t room = s->room ? 2 * s->room : 64;

		grown = reallocarray(s->keys, room, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		s->keys = grown;
		s->room = room;
	}
	s->keys[s->n_keys++] = (struct seen_key){
		.name = s->json + start,
		.n = n,
		.object = level->object,
		.parent = level->parent,
	};
	return 0;
}

/* s->at stands on the opening quote; afterwards on the closing one. */
static int scan_string(struct scan *s)
{
	struct level *level = s->depth ? &s->levels[s->depth - 1] : NULL;
	bool is_key = level && level->is_object && level->key_next;
	size_t start = ++s->at;

	for (; s->at < s->n && s->json[s->at] != '"'; s->at++) {
		if ((unsigned char)s->json[s->at] < 0x20)
			return fail(s, s->at, "a control character in a string");
		if (s->json[s->at] != '\\')
			continue;
		if (is_key)
			return fail(s, s->at, "an escape in a key");
		s->at++;
	}
	if (s->at >= s->n)
		return fail(s, start, "a string without an end");
	return is_key ? add_key(s, level, start, s->at - start) : 0;
}

/* The key whose value opens here: the one read last, or within an array the one of the array. */
static size_t parent_here(const struct scan *s)
{
	if (s->depth == 0 || s->n_keys == 0)
		return NO_KEY;
	if (!s->levels[s->depth - 1].is_object)
		return s->levels[s->depth - 1].parent;
	return s->n_keys - 1;
}

static int open_level(struct scan *s, bool is_object)
{
	struct level level = {
		.is_object = is_object,
		.key_next = is_object,
		.object = s->objects++,
		.parent = parent_here(s),
	};

	if (s->depth == MAX_DEPTH)
		return fail(s, s->at, "too many levels");
	s->levels[s->depth++] = level;
	return 0;
}

static int scan_byte(struct scan *s)
{
	struct level *level = s->depth ? &s->levels[s->depth - 1] : NULL;

	switch (s->json[s->at]) {
	case '"':
		return scan_string(s);
	case '\'':
		return fail(s, s->at, "a string in single quotes");
	case '{':
	case '[':
		return open_level(s, s->json[s->at] == '{');
	case '}':
	case ']':
		if (!level)
			return fail(s, s->at, "an end without a beginning");
		s->depth--;
		return 0;
	case ',':
	case ':':
		if (level)
			level->key_next = level->is_object && s->json[s->at] == ',';
		return 0;
	default:
		return 0;
	}
}

static int by_object_and_name(const void *a, const void *b)
{
	const struct seen_key *x = *(struct seen_key *const *)a, *y = *(struct seen_key *const *)b;
	int r;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	r = memcmp(x->name, y->name, x->n < y->n ? x->n : y->n);
	if (r != 0)
		return r;
	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static bool same_key(const struct seen_key *x, const struct seen_key *y)
{
	return x->object == y->object && x->n == y->n && memcmp(x->name, y->name, x->n) == 0;
}

/* Prepend name after name; what does not fit is left out at the front. */
static void write_path(const struct scan *s, const struct seen_key *key, char *path, size_t room)
{
	size_t at = room - 1;

	path[at] = '\0';
	for (; key; key = key->parent == NO_KEY ? NULL : &s->keys[key->parent]) {
		bool dot = path[at] != '\0';

		if (key->n + dot > at)
			break;
		if (dot)
			path[--at] = '.';
		at -= key->n;
		memcpy(path + at, key->name, key->n);
	}
	memmove(path, path + at, room - at);
}

static int find_twice(struct scan *s)
{
	_cleanup_free_ struct seen_key **sorted = NULL;
	const struct seen_key *first = NULL;

	sorted = reallocarray(NULL, s->n_keys + 1, sizeof(struct seen_key *));
	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < s->n_keys; i++)
		sorted[i] = &s->keys[i];
	qsort(sorted, s->n_keys, sizeof(struct seen_key *), by_object_and_name);
	for (size_t i = 1; i < s->n_keys; i++)
		if (same_key(sorted[i - 1], sorted[i]) && (!first || sorted[i]->name < first->name))
			first = sorted[i];
	if (!first)
		return 0;
	write_path(s, first, s->fault->path, sizeof(s->fault->path));
	return fail(s, (size_t)(first->name - s->json), "is given twice");
}

int eph_json_keys_check(const char *json, size_t json_bytes, struct eph_json_fault *ret_fault)
{
	struct eph_json_fault fault = { 0 };
	struct scan s = { .json = json, .n = json_bytes, .fault = &fault };
	int r = 0;

	for (; r == 0 && s.at < s.n; s.at++)
		r = scan_byte(&s);
	if (r == 0)
		r = find_twice(&s);
	free(s.keys);
	if (r == -EINVAL)
		*ret_fault = fault;
	return r;
}
