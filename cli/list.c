// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * list.c - ephlvm list and ephlvm show: volumes as a table, or in full.
 * Owns the filters. Reads only.
 */
#include <errno.h>
#include <string.h>

#include "commands.h"
#include "output.h"

static enum cli_exit get_states(struct cli *cli, const struct cli_args *args,
				unsigned int *ret_states)
{
	static const struct {
		const char *name;
		enum ephlvm_volume_state state;
	} states[] = {
		{ "new", EPHLVM_STATE_NEW },
		{ "ready", EPHLVM_STATE_READY },
		{ "trash", EPHLVM_STATE_TRASH },
		{ "damaged", EPHLVM_STATE_DAMAGED },
	};
	const size_t n = sizeof(states) / sizeof(states[0]);

	for (const char **v = args->values[OPT_STATE]; v && *v; v++) {
		size_t i = 0;

		while (i < n && strcmp(states[i].name, *v) != 0)
			i++;
		if (i == n)
			return cli_usage(cli, "unknown state \"%s\"", *v);
		*ret_states |= states[i].state;
	}
	return CLI_OK;
}

static enum cli_exit print_json(struct cli *cli, struct json_object *rows)
{
	_cleanup_json_ struct json_object *doc = out_doc();

	if (!doc || out_put_rows(doc, "volumes", out_volume_columns, rows) < 0)
		return cli_oom(cli);
	return out_json(cli, doc);
}

static enum cli_exit run_list(struct cli *cli, const struct cli_args *args)
{
	struct ephlvm_list_opts opts = EPHLVM_LIST_OPTS_INIT;
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL;
	_cleanup_json_ struct json_object *rows = NULL;
	enum cli_exit e;
	int r;

	opts.instance = cli_value(args, OPT_INSTANCE);
	opts.pool = cli_value(args, OPT_POOL);
	e = get_states(cli, args, &opts.states);
	if (e == CLI_OK)
		e = out_check(cli, args, out_volume_columns);
	if (e != CLI_OK)
		return e;
	r = ephlvm_list(cli->ctx, &opts, &volumes);
	if (r < 0)
		return cli_fail(cli, r);
	if (out_volumes(volumes, &rows) < 0)
		return cli_oom(cli);
	return cli->json ? print_json(cli, rows) : out_table(cli, args, out_volume_columns, rows);
}

static enum cli_exit run_show(struct cli *cli, const struct cli_args *args)
{
	struct ephlvm_list_opts opts = EPHLVM_LIST_OPTS_INIT;
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL;
	_cleanup_json_ struct json_object *rows = NULL;
	const char *name = cli_volume_name(args->operands[0]);
	int r;

	if (strchr(name, '/'))
		opts.name = name;
	else
		opts.instance = name;
	r = ephlvm_list(cli->ctx, &opts, &volumes);
	if (r < 0)
		return cli_fail(cli, r);
	if (ephlvm_volumes_count(volumes) == 0)
		return cli_error(cli, EPHLVM_ERROR_NOT_FOUND, ENOENT, name,
				 "see \"ephlvm list\" for what there is", "\"%s\" has no volume",
				 name);
	if (out_volumes(volumes, &rows) < 0)
		return cli_oom(cli);
	return cli->json ? print_json(cli, rows) : out_lists(cli, out_volume_columns, rows);
}

static const struct cli_option list_options[] = {
	{ OPT_POOL, "pool", "POOL", "only volumes in this pool", 0, 0 },
	{ OPT_INSTANCE, "instance", "UUID", "only volumes of this instance", 0, 0 },
	{ OPT_STATE, "state", "new|ready|trash|damaged", "only this state; may be repeated",
	  CLI_REPEAT, 0 },
	CLI_OPTION_OUTPUT,
	CLI_OPTION_NO_HEADINGS,
	CLI_OPTION_JSON,
	CLI_END,
};

static const struct cli_option show_options[] = {
	CLI_OPTION_JSON,
	CLI_END,
};

const struct cli_command cli_list = {
	.name = "list",
	.operands = "",
	.summary = "list volumes",
	.man = "ephlvm-list(8)",
	.options = list_options,
	.run = run_list,
};

const struct cli_command cli_show = {
	.name = "show",
	.operands = "UUID|VG/LV",
	.summary = "show everything about an instance's volumes or one volume",
	.man = "ephlvm-list(8)",
	.min_operands = 1,
	.max_operands = 1,
	.options = show_options,
	.run = run_show,
};
