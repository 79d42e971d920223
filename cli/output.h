/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * output.h - data on standard output: one column table per object gives the JSON object, the table
 * and the list of keys.
 *
 * A row is built as JSON the moment it is added, so that the object need not live on; text is made
 * from that row. Rows and documents are json-c objects: json_object_put() frees them.
 */
#ifndef CLI_OUTPUT_H
#define CLI_OUTPUT_H

#include <json-c/json.h>

#include "cli.h"

/* How a value reads in text. */
enum out_form {
	OUT_PLAIN = 0,
	OUT_SIZE, /* bytes, as "25 GiB" */
	OUT_ERASE, /* the object of an erase, as "zero 1/1 12 GiB" */
	OUT_VERIFY, /* the object of a verification, as "sample 65 MiB" */
};

enum out_flags {
	OUT_DEFAULT = 1 << 0, /* in the table when no columns are asked for */
	OUT_TEXT_ONLY = 1 << 1, /* not in JSON */
	OUT_RIGHT = 1 << 2,
};

struct out_column {
	const char *key; /* in JSON, and for -o */
	const char *heading; /* of the table */
	/* 0 with the value, NULL for null; -ENOMEM. No getter: the row has the value already. */
	int (*get)(const void *object, struct json_object **ret_value);
	enum out_form form;
	unsigned int flags;
};

/* columns.c; each ends with a NULL key */
extern const struct out_column out_volume_columns[];
extern const struct out_column out_receipt_columns[]; /* rows are receipts as they are */
extern const struct out_column out_purged_columns[]; /* object: struct ephlvm_purged */
extern const struct out_column out_pool_columns[];
extern const struct out_column out_flavor_columns[];
extern const struct out_column out_action_columns[]; /* object: struct ephlvm_action */

/* Values of a column; @text may be NULL. Each gives 0 or -ENOMEM. */
int out_text(const char *text, struct json_object **ret_value);
int out_number(uint64_t number, struct json_object **ret_value);
int out_bool(bool value, struct json_object **ret_value);
int out_time(int64_t seconds, struct json_object **ret_value); /* 0 seconds: null */

/* Add @object to the array @rows. */
int out_add(struct json_object *rows, const struct out_column *columns, const void *object);
/* Add more columns, of @object, to the last row. */
int out_extend(struct json_object *rows, const struct out_column *columns, const void *object);
int out_volumes(const struct ephlvm_volumes *volumes, struct json_object **ret_rows);

/* table.c: rows as a table, with -o and --noheadings of @args; @args may be NULL. Nothing for no rows. */
enum cli_exit out_table(struct cli *cli, const struct cli_args *args,
			const struct out_column *columns, struct json_object *rows);
/* The path of each, a line each; with --json {"schema":1,"volumes":[...],"actions":[...]}. */
enum cli_exit out_print_volumes(struct cli *cli, const struct ephlvm_volumes *volumes);
/* Lists of heading and value, an empty line between. */
enum cli_exit out_lists(struct cli *cli, const struct out_column *columns,
			struct json_object *rows);
/* Is -o, if given, good? Asked before the work begins. */
enum cli_exit out_check(struct cli *cli, const struct cli_args *args,
			const struct out_column *columns);
/* One line of text, made safe for a terminal. */
enum cli_exit out_line(struct cli *cli, const char *text);

/* {"schema":1}; NULL when out of memory. */
struct json_object *out_doc(void);
/* Add @value (taken, also on failure) to @doc. */
int out_put(struct json_object *doc, const char *key, struct json_object *value);
/* Add @rows to @doc, without the columns that are for people only: make tables before. */
int out_put_rows(struct json_object *doc, const char *key, const struct out_column *columns,
		 struct json_object *rows);
enum cli_exit out_json(struct cli *cli, struct json_object *doc);
/* What a dry run would do, as table or {"schema":1,"actions":[...]}. */
enum cli_exit out_plan(struct cli *cli);
/* With --json: @doc with the actions that were taken. @doc may be NULL for {"schema":1}. */
enum cli_exit out_done(struct cli *cli, struct json_object *doc);

struct out_error {
	const char *kind;
	int errnum;
	int exit;
	const char *stage, *subject, *message, *hint, *detail; /* "" for none */
	int child_status; /* -1 for none */
};
/* The error object in one line; free() it; NULL when out of memory. */
char *out_error_text(const struct out_error *error);

/* Flush and close standard output; @e, or CLI_UNEXPECTED (said) when something was lost. */
enum cli_exit out_close(struct cli *cli, enum cli_exit e);

static inline void out_jsonp(struct json_object **object)
{
	json_object_put(*object);
}
#define _cleanup_json_ __attribute__((cleanup(out_jsonp)))

#endif
