/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * json_schema.h - does a document fit one of docs/schema? A subset of JSON Schema: type, const,
 * enum, properties, required, additionalProperties, items, $ref to "#/$defs/NAME".
 */
#ifndef JSON_SCHEMA_H
#define JSON_SCHEMA_H

#include <stddef.h>

/* NULL when @text fits the schema in @schema_text, else why not, in @buf. */
const char *json_schema_check(const char *schema_text, const char *text, char *buf, size_t size);

#endif
