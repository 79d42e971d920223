// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * table.c - rows as text: tables and lists (libsmartcols), and the columns that are asked for.
 * Owns how a JSON value reads for people. Must know no single object, and look at nothing but rows.
 */
#include "output.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <libsmartcols.h>

static char *array_text(struct json_object *array)
{
	char *text = NULL;
	size_t n = json_object_array_length(array);

	if (n == 0)
		return strdup("-");
	for (size_t i = 0; i < n; i++) {
		const char *item = json_object_get_string(json_object_array_get_idx(array, i));
		_cleanup_free_ char *before = text;

		text = NULL;
		if (asprintf(&text, "%s%s%s", before ? before : "", before ? "," : "",
			     item ? item : "") < 0)
			return NULL;
	}
	return text;
}

static char *erase_text(struct json_object *erase)
{
	char done[EPHLVM_SIZE_TEXT], *text = NULL;
	struct json_object *method = json_object_object_get(erase, "method");
	struct json_object *bytes = json_object_object_get(erase, "done_bytes");

	ephlvm_size_format(json_object_get_uint64(bytes), done);
	if (asprintf(&text, "%s %d/%d %s", json_object_get_string(method),
		     json_object_get_int(json_object_object_get(erase, "pass")),
		     json_object_get_int(json_object_object_get(erase, "passes")), done) < 0)
		return NULL;
	return text;
}

static char *verify_text(struct json_object *verify)
{
	char read[EPHLVM_SIZE_TEXT], *text = NULL;
	const char *mode = json_object_get_string(json_object_object_get(verify, "mode"));

	if (!mode || strcmp(mode, "off") == 0)
		return strdup(mode ? mode : "-");
	ephlvm_size_format(json_object_get_uint64(json_object_object_get(verify, "bytes")), read);
	return asprintf(&text, "%s %s", mode, read) < 0 ? NULL : text;
}

/* The value of a cell as text; free() it. NULL when out of memory. */
static char *cell_text(const struct out_column *column, struct json_object *row)
{
	struct json_object *value = json_object_object_get(row, column->key);
	char size[EPHLVM_SIZE_TEXT];

	if (!value)
		return strdup("-");
	if (json_object_is_type(value, json_type_array))
		return array_text(value);
	if (json_object_is_type(value, json_type_boolean))
		return strdup(json_object_get_boolean(value) ? "yes" : "no");
	if (column->form == OUT_ERASE)
		return erase_text(value);
	if (column->form == OUT_VERIFY)
		return verify_text(value);
	if (column->form == OUT_SIZE)
		return strdup(ephlvm_size_format(json_object_get_uint64(value), size));
	return strdup(json_object_get_string(value));
}

static const struct out_column *find_column(const struct out_column *columns, const char *key,
					    size_t length)
{
	for (; columns->key; columns++)
		if (strlen(columns->key) == length && strncmp(columns->key, key, length) == 0)
			return columns;
	return NULL;
}

static enum cli_exit unknown_column(struct cli *cli, const struct out_column *columns,
				    const char *key, size_t length)
{
	char hint[512] = "columns are";
	size_t n = strlen(hint);

	for (; columns->key && n < sizeof(hint); columns++)
		n += (size_t)snprintf(hint + n, sizeof(hint) - n, " %s", columns->key);
	return cli_error(cli, EPHLVM_ERROR_INVALID, EINVAL, "output", hint,
			 "unknown column \"%.*s\"", (int)length, key);
}

enum cli_exit out_check(struct cli *cli, const struct cli_args *args,
			const struct out_column *columns)
{
	const char *list = cli_value(args, OPT_OUTPUT);

	if (!list)
		return CLI_OK;
	if (cli->json)
		return cli_usage(cli, "\"--output\" and \"--json\" exclude each other");
	for (;; list++) {
		size_t n = strcspn(list, ",");

		if (!find_column(columns, list, n))
			return unknown_column(cli, columns, list, n);
		list += n;
		if (!*list)
			return CLI_OK;
	}
}

static int add_column(struct libscols_table *table, const struct out_column *column)
{
	int flags = column->flags & OUT_RIGHT || column->form == OUT_SIZE ? SCOLS_FL_RIGHT : 0;

	return scols_table_new_column(table, column->heading, 0, flags) ? 0 : -ENOMEM;
}

/* The columns to show, ended by NULL; free() it. @list was checked; NULL for the default ones. */
static const struct out_column **choose(const struct out_column *columns, const char *list)
{
	const struct out_column **chosen;
	size_t n = 0, most = 1;

	for (const struct out_column *c = columns; c->key; c++)
		most++;
	for (const char *s = list; s && *s; s++)
		most += *s == ',';
	chosen = calloc(most + 1, sizeof(*chosen));
	if (!chosen)
		return NULL;
	for (const struct out_column *c = columns; !list && c->key; c++)
		if (c->flags & OUT_DEFAULT)
			chosen[n++] = c;
	while (list && *list) {
		size_t length = strcspn(list, ",");

		chosen[n++] = find_column(columns, list, length);
		list += length;
		list += *list == ',';
	}
	return chosen;
}

static int set_cell(struct libscols_line *line, size_t i, char *text)
{
	if (!text)
		return -ENOMEM;
	if (scols_line_refer_data(line, i, text) == 0)
		return 0;
	free(text);
	return -ENOMEM;
}

static int fill(struct libscols_table *table, const struct out_column **chosen,
		struct json_object *rows)
{
	for (size_t i = 0; chosen[i]; i++)
		if (add_column(table, chosen[i]) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (!line)
			return -ENOMEM;
		for (size_t c = 0; chosen[c]; c++)
			if (set_cell(line, c, cell_text(chosen[c], row)) < 0)
				return -ENOMEM;
	}
	return 0;
}

/* An output error is not looked at here: out_close() sees it. */
static enum cli_exit print_table(struct cli *cli, struct libscols_table *table, int r)
{
	if (r == 0)
		scols_print_table(table);
	scols_unref_table(table);
	return r == 0 ? CLI_OK : cli_oom(cli);
}

enum cli_exit out_table(struct cli *cli, const struct cli_args *args,
			const struct out_column *columns, struct json_object *rows)
{
	_cleanup_free_ const struct out_column **chosen = NULL;
	struct libscols_table *table;

	chosen = choose(columns, args ? cli_value(args, OPT_OUTPUT) : NULL);
	table = scols_new_table();
	if (!chosen || !table) {
		scols_unref_table(table);
		return cli_oom(cli);
	}
	scols_table_enable_noheadings(table, args && cli_given(args, OPT_NO_HEADINGS));
	return print_table(cli, table, fill(table, chosen, rows));
}

static int fill_list(struct libscols_table *table, const struct out_column *columns,
		     struct json_object *row)
{
	if (!scols_table_new_column(table, "KEY", 0, 0) ||
	    !scols_table_new_column(table, "VALUE", 0, 0))
		return -ENOMEM;
	for (; columns->key; columns++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);

		if (!line || scols_line_set_data(line, 0, columns->heading) != 0 ||
		    set_cell(line, 1, cell_text(columns, row)) < 0)
			return -ENOMEM;
	}
	return 0;
}

enum cli_exit out_lists(struct cli *cli, const struct out_column *columns, struct json_object *rows)
{
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct libscols_table *table = scols_new_table();
		enum cli_exit e;

		if (!table)
			return cli_oom(cli);
		if (i > 0)
			putchar('\n');
		scols_table_enable_noheadings(table, 1);
		e = print_table(cli, table,
				fill_list(table, columns, json_object_array_get_idx(rows, i)));
		if (e != CLI_OK)
			return e;
	}
	return CLI_OK;
}
