// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * purge.c - ephlvm purge: erase trash and free its space.
 * Owns the report of what became of each volume, which is printed also when some failed.
 */
#include "commands.h"
#include "output.h"

struct report {
	struct cli *cli;
	struct json_object *rows;
};

static void purged_fn(void *data, const struct ephlvm_purged *purged)
{
	struct report *report = data;

	/* The volume lives during this call only. */
	if (out_add(report->rows, out_volume_columns, purged->volume) < 0 ||
	    out_extend(report->rows, out_purged_columns, purged) < 0)
		report->cli->broken = true;
}

static enum cli_exit print(struct cli *cli, const struct cli_args *args, struct json_object *rows)
{
	_cleanup_json_ struct json_object *doc = NULL;

	if (cli->broken)
		return cli_oom(cli);
	if (!cli->json && cli->dry_run)
		return out_plan(cli);
	if (!cli->json) {
		if (json_object_array_length(rows) == 0)
			cli_say(cli, "nothing to purge");
		return out_table(cli, args, out_purged_columns, rows);
	}
	doc = out_doc();
	if (!doc || out_put_rows(doc, "purged", out_volume_columns, rows) < 0)
		return cli_oom(cli);
	return out_done(cli, doc);
}

/* VG/LV of what was given; the vector is freed by the caller, the strings are argv's. */
static const char **names_of(const struct cli_args *args)
{
	const char **names = calloc(args->n_operands + 1, sizeof(*names));

	for (size_t i = 0; names && i < args->n_operands; i++)
		names[i] = cli_volume_name(args->operands[i]);
	return names;
}

static enum cli_exit run(struct cli *cli, const struct cli_args *args)
{
	struct ephlvm_purge_opts opts = EPHLVM_PURGE_OPTS_INIT;
	_cleanup_json_ struct json_object *rows = json_object_new_array();
	_cleanup_free_ const char **names = names_of(args);
	struct report report = { cli, rows };
	const char *rate = cli_value(args, OPT_RATE);
	enum cli_exit e, printed;
	int r;

	if (!rows || !names)
		return cli_oom(cli);
	e = out_check(cli, args, out_purged_columns);
	if (e == CLI_OK && rate)
		e = cli_parse_size(cli, "rate", rate, &opts.rate_bytes_sec);
	if (e != CLI_OK)
		return e;
	opts.flags = cli->dry_run ? EPHLVM_DRY_RUN : 0;
	opts.names = args->n_operands > 0 ? names : NULL;
	opts.method = cli_value(args, OPT_METHOD);
	opts.verify = cli_value(args, OPT_VERIFY);
	opts.purged_fn = purged_fn;
	opts.data = &report;
	r = ephlvm_purge(cli->ctx, &opts);
	/* A refusal before anything was looked at leaves nothing to print. */
	if (r < 0 && json_object_array_length(rows) == 0)
		return cli_fail(cli, r);
	printed = print(cli, args, rows);
	return r < 0 ? cli_fail(cli, r) : printed;
}

static const struct cli_option options[] = {
	{ OPT_RATE, "rate", "SIZE", "bytes a second that each drive's erase keeps to, as 500M", 0,
	  0 },
	{ OPT_METHOD, "method", "zero|discard|shred|none",
	  "how to erase, instead of the configuration's word; none leaves the bytes behind", 0, 0 },
	{ OPT_VERIFY, "verify", "sample|full|off",
	  "how to read back, instead of the configuration's word", 0, 0 },
	CLI_OPTION_OUTPUT,
	CLI_OPTION_NO_HEADINGS,
	CLI_OPTION_DRY_RUN,
	CLI_OPTION_JSON,
	CLI_END,
};

const struct cli_command cli_purge = {
	.name = "purge",
	.operands = "[UUID|VG/LV]...",
	.summary = "erase deleted volumes and free their space",
	.man = "ephlvm-purge(8)",
	.max_operands = SIZE_MAX,
	.options = options,
	.run = run,
};
