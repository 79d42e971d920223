// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * output.c - rows and documents (json-c) on standard output, and its end.
 * Owns the form of everything that programs read. Must know no single object: columns.c does. A
 * write that fails is noticed when standard output is closed.
 */
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SCHEMA 1
#define JSON_STYLE \
	(JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE)

int out_text(const char *text, struct json_object **ret_value)
{
	_cleanup_free_ char *safe = NULL;

	*ret_value = NULL;
	if (!text)
		return 0;
	/* Names come from LVM's metadata; JSON must be UTF-8 whatever is in there. */
	safe = cli_escape(text);
	if (!safe)
		return -ENOMEM;
	*ret_value = json_object_new_string(safe);
	return *ret_value ? 0 : -ENOMEM;
}

int out_number(uint64_t number, struct json_object **ret_value)
{
	*ret_value = json_object_new_uint64(number);
	return *ret_value ? 0 : -ENOMEM;
}

int out_bool(bool value, struct json_object **ret_value)
{
	*ret_value = json_object_new_boolean(value);
	return *ret_value ? 0 : -ENOMEM;
}

int out_time(int64_t seconds, struct json_object **ret_value)
{
	time_t t = (time_t)seconds;
	char text[40];
	struct tm tm;

	*ret_value = NULL;
	if (seconds == 0)
		return 0;
	if (!gmtime_r(&t, &tm) || strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		return 0;
	return out_text(text, ret_value);
}

int out_put(struct json_object *doc, const char *key, struct json_object *value)
{
	if (!value)
		return -ENOMEM;
	if (json_object_object_add(doc, key, value) == 0)
		return 0;
	json_object_put(value);
	return -ENOMEM;
}

static int row_fill(struct json_object *row, const struct out_column *columns, const void *object)
{
	for (; columns->key; columns++) {
		struct json_object *value = NULL;
		int r;

		if (!columns->get)
			continue;
		r = columns->get(object, &value);
		if (r < 0)
			return r;
		/* NULL is JSON's null here. */
		if (json_object_object_add(row, columns->key, value) < 0) {
			json_object_put(value);
			return -ENOMEM;
		}
	}
	return 0;
}

int out_add(struct json_object *rows, const struct out_column *columns, const void *object)
{
	_cleanup_json_ struct json_object *row = json_object_new_object();

	if (!row || row_fill(row, columns, object) < 0 || json_object_array_add(rows, row) < 0)
		return -ENOMEM;
	row = NULL;
	return 0;
}

int out_extend(struct json_object *rows, const struct out_column *columns, const void *object)
{
	size_t n = json_object_array_length(rows);

	return row_fill(json_object_array_get_idx(rows, n - 1), columns, object);
}

int out_volumes(const struct ephlvm_volumes *volumes, struct json_object **ret_rows)
{
	_cleanup_json_ struct json_object *rows = json_object_new_array();

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < ephlvm_volumes_count(volumes); i++) {
		int r = out_add(rows, out_volume_columns, ephlvm_volumes_at(volumes, i));

		if (r < 0)
			return r;
	}
	*ret_rows = rows;
	rows = NULL;
	return 0;
}

enum cli_exit out_line(struct cli *cli, const char *text)
{
	_cleanup_free_ char *safe = cli_escape(text);

	if (!safe)
		return cli_oom(cli);
	puts(safe);
	return CLI_OK;
}

struct json_object *out_doc(void)
{
	_cleanup_json_ struct json_object *doc = json_object_new_object();
	struct json_object *ready = doc;

	if (!doc || out_put(doc, "schema", json_object_new_int(SCHEMA)) < 0)
		return NULL;
	doc = NULL;
	return ready;
}

int out_put_rows(struct json_object *doc, const char *key, const struct out_column *columns,
		 struct json_object *rows)
{
	for (; columns->key; columns++) {
		if (!(columns->flags & OUT_TEXT_ONLY))
			continue;
		for (size_t i = 0; i < json_object_array_length(rows); i++)
			json_object_object_del(json_object_array_get_idx(rows, i), columns->key);
	}
	return out_put(doc, key, json_object_get(rows));
}

enum cli_exit out_json(struct cli *cli, struct json_object *doc)
{
	const char *text = json_object_to_json_string_ext(doc, JSON_STYLE);

	if (!text)
		return cli_oom(cli);
	puts(text);
	return CLI_OK;
}

void cli_action_fn(void *data, const struct ephlvm_action *action)
{
	struct cli *cli = data;

	if (!cli->actions)
		cli->actions = json_object_new_array();
	if (!cli->actions || out_add(cli->actions, out_action_columns, action) < 0)
		cli->broken = true;
}

/* The actions so far, in a reference of its own; NULL when out of memory. */
static struct json_object *actions_get(struct cli *cli)
{
	if (cli->broken)
		return NULL;
	if (!cli->actions)
		cli->actions = json_object_new_array();
	return json_object_get(cli->actions);
}

enum cli_exit out_plan(struct cli *cli)
{
	_cleanup_json_ struct json_object *actions = NULL;

	if (cli->json)
		return out_done(cli, NULL);
	actions = actions_get(cli);
	if (!actions)
		return cli_oom(cli);
	if (json_object_array_length(actions) == 0)
		cli_say(cli, "nothing to do");
	return out_table(cli, NULL, out_action_columns, actions);
}

enum cli_exit out_done(struct cli *cli, struct json_object *doc)
{
	_cleanup_json_ struct json_object *own = NULL;

	if (!cli->json)
		return CLI_OK;
	if (!doc)
		doc = own = out_doc();
	if (!doc || out_put(doc, "actions", actions_get(cli)) < 0)
		return cli_oom(cli);
	return out_json(cli, doc);
}

static int put_text_or_null(struct json_object *object, const char *key, const char *text)
{
	if (!*text)
		return json_object_object_add(object, key, NULL);
	return out_put(object, key, json_object_new_string(text));
}

static int error_fill(struct json_object *object, const struct out_error *error)
{
	int r = out_put(object, "kind", json_object_new_string(error->kind));

	r |= out_put(object, "errno", json_object_new_int(error->errnum));
	r |= out_put(object, "exit", json_object_new_int(error->exit));
	r |= put_text_or_null(object, "stage", error->stage);
	r |= put_text_or_null(object, "subject", error->subject);
	r |= put_text_or_null(object, "message", error->message);
	r |= put_text_or_null(object, "hint", error->hint);
	r |= put_text_or_null(object, "detail", error->detail);
	if (error->child_status < 0)
		return r | json_object_object_add(object, "child_status", NULL);
	return r | out_put(object, "child_status", json_object_new_int(error->child_status));
}

char *out_error_text(const struct out_error *error)
{
	_cleanup_json_ struct json_object *doc = out_doc();
	struct json_object *object = json_object_new_object();
	const char *text;

	if (!doc || !object) {
		json_object_put(object);
		return NULL;
	}
	if (out_put(doc, "error", object) < 0 || error_fill(object, error) != 0)
		return NULL;
	text = json_object_to_json_string_ext(doc, JSON_C_TO_STRING_NOSLASHESCAPE);
	return text ? strdup(text) : NULL;
}

enum cli_exit out_close(struct cli *cli, enum cli_exit e)
{
	int saved = 0;

	if (ferror(stdout))
		saved = EIO;
	errno = 0;
	/* A full disk or a closed pipe may show only now. */
	if (fclose(stdout) != 0)
		saved = errno ? errno : EIO;
	if (saved == 0)
		return e;
	cli_error(cli, EPHLVM_ERROR_INTERNAL, saved, "standard output", NULL,
		  "cannot write the output: %s", strerror(saved));
	return e == CLI_OK ? CLI_UNEXPECTED : e;
}

enum cli_exit out_print_volumes(struct cli *cli, const struct ephlvm_volumes *volumes)
{
	_cleanup_json_ struct json_object *doc = NULL, *rows = NULL;
	enum cli_exit e = CLI_OK;

	if (cli->json) {
		doc = out_doc();
		if (!doc || out_volumes(volumes, &rows) < 0 ||
		    out_put_rows(doc, "volumes", out_volume_columns, rows) < 0)
			return cli_oom(cli);
		return out_done(cli, doc);
	}
	for (size_t i = 0; e == CLI_OK && i < ephlvm_volumes_count(volumes); i++)
		e = out_line(cli, ephlvm_volume_path(ephlvm_volumes_at(volumes, i)));
	return e;
}
