// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * json_schema.c - see json_schema.h.
 * Owns nothing beyond a call. A keyword that it does not know fails the check, so that no schema
 * promises what is not tested.
 */
#include "json_schema.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <json-c/json.h>

struct checker {
	struct json_object *root;
	char *buf;
	size_t size;
};

static bool check(struct checker *c, struct json_object *schema, struct json_object *value,
		  const char *where);

static bool fail(struct checker *c, const char *where, const char *why)
{
	snprintf(c->buf, c->size, "%s: %s", where, why);
	return false;
}

static bool is_type(const char *name, struct json_object *value)
{
	enum json_type type = json_object_get_type(value);

	if (strcmp(name, "integer") == 0)
		return type == json_type_int;
	if (strcmp(name, "number") == 0)
		return type == json_type_int || type == json_type_double;
	return strcmp(name, json_type_to_name(type)) == 0;
}

/* One type name, or an array of them. */
static bool check_type(struct checker *c, struct json_object *types, struct json_object *value,
		       const char *where)
{
	if (json_object_is_type(types, json_type_string))
		return is_type(json_object_get_string(types), value) ||
		       fail(c, where, "wrong type");
	for (size_t i = 0; i < json_object_array_length(types); i++)
		if (is_type(json_object_get_string(json_object_array_get_idx(types, i)), value))
			return true;
	return fail(c, where, "wrong type");
}

static bool check_enum(struct checker *c, struct json_object *values, struct json_object *value,
		       const char *where)
{
	for (size_t i = 0; i < json_object_array_length(values); i++)
		if (json_object_equal(json_object_array_get_idx(values, i), value))
			return true;
	return fail(c, where, "not one of the allowed values");
}

static bool check_required(struct checker *c, struct json_object *names, struct json_object *value,
			   const char *where)
{
	if (!json_object_is_type(value, json_type_object))
		return true;
	for (size_t i = 0; i < json_object_array_length(names); i++) {
		const char *name = json_object_get_string(json_object_array_get_idx(names, i));
		char why[128];

		snprintf(why, sizeof(why), "\"%s\" is missing", name);
		if (!json_object_object_get_ex(value, name, NULL))
			return fail(c, where, why);
	}
	return true;
}

static bool check_properties(struct checker *c, struct json_object *schema,
			     struct json_object *value, const char *where)
{
	struct json_object *properties = json_object_object_get(schema, "properties");
	struct json_object *more = json_object_object_get(schema, "additionalProperties");

	if (!json_object_is_type(value, json_type_object))
		return true;
	json_object_object_foreach(value, key, member)
	{
		struct json_object *sub = NULL;
		char path[256];

		snprintf(path, sizeof(path), "%s.%s", where, key);
		if (json_object_object_get_ex(properties, key, &sub)) {
			if (!check(c, sub, member, path))
				return false;
		} else if (more && !json_object_get_boolean(more)) {
			return fail(c, path, "unknown key");
		}
	}
	return true;
}

static bool check_items(struct checker *c, struct json_object *items, struct json_object *value,
			const char *where)
{
	if (!json_object_is_type(value, json_type_array))
		return true;
	for (size_t i = 0; i < json_object_array_length(value); i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s[%zu]", where, i);
		if (!check(c, items, json_object_array_get_idx(value, i), path))
			return false;
	}
	return true;
}

static bool check_ref(struct checker *c, const char *ref, struct json_object *value,
		      const char *where)
{
	struct json_object *defs = json_object_object_get(c->root, "$defs"), *sub = NULL;

	if (strncmp(ref, "#/$defs/", 8) != 0 || !json_object_object_get_ex(defs, ref + 8, &sub))
		return fail(c, where, "the schema refers to nothing");
	return check(c, sub, value, where);
}

static bool check_keyword(struct checker *c, const char *keyword, struct json_object *schema,
			  struct json_object *rule, struct json_object *value, const char *where)
{
	static const char *const notes[] = { "$schema", "$id",	       "$defs",
					     "title",	"description", "properties" };

	if (strcmp(keyword, "type") == 0)
		return check_type(c, rule, value, where);
	if (strcmp(keyword, "enum") == 0)
		return check_enum(c, rule, value, where);
	if (strcmp(keyword, "const") == 0)
		return json_object_equal(rule, value) || fail(c, where, "wrong value");
	if (strcmp(keyword, "required") == 0)
		return check_required(c, rule, value, where);
	if (strcmp(keyword, "additionalProperties") == 0)
		return check_properties(c, schema, value, where);
	if (strcmp(keyword, "items") == 0)
		return check_items(c, rule, value, where);
	if (strcmp(keyword, "$ref") == 0)
		return check_ref(c, json_object_get_string(rule), value, where);
	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++)
		if (strcmp(keyword, notes[i]) == 0)
			return true;
	return fail(c, keyword, "keyword not known to the check");
}

static bool check(struct checker *c, struct json_object *schema, struct json_object *value,
		  const char *where)
{
	if (json_object_object_get_ex(schema, "properties", NULL) &&
	    !json_object_object_get_ex(schema, "additionalProperties", NULL))
		return fail(c, where, "the schema does not say additionalProperties");
	json_object_object_foreach(schema, keyword, rule)
	{
		if (!check_keyword(c, keyword, schema, rule, value, where))
			return false;
	}
	return true;
}

const char *json_schema_check(const char *schema_text, const char *text, char *buf, size_t size)
{
	struct json_object *schema = json_tokener_parse(schema_text);
	struct json_object *value = json_tokener_parse(text);
	struct checker c = { schema, buf, size };
	bool good;

	if (!schema)
		good = fail(&c, "schema", "not JSON");
	else if (!value)
		good = fail(&c, "document", "not JSON");
	else
		good = check(&c, schema, value, "$");
	json_object_put(schema);
	json_object_put(value);
	return good ? NULL : buf;
}
