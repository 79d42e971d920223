// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * activate.c - ephlvm activate: volumes usable again, as at boot.
 * Owns the reading of its arguments.
 */
#include "commands.h"
#include "output.h"

static enum cli_exit print_count(struct cli *cli, size_t count)
{
	_cleanup_json_ struct json_object *doc = NULL;

	if (!cli->json) {
		cli_say(cli, "%zu volume%s active", count, count == 1 ? "" : "s");
		return CLI_OK;
	}
	doc = out_doc();
	if (!doc || out_put(doc, "active", json_object_new_uint64(count)) < 0)
		return cli_oom(cli);
	return out_done(cli, doc);
}

static enum cli_exit run(struct cli *cli, const struct cli_args *args)
{
	struct ephlvm_activate_opts opts = EPHLVM_ACTIVATE_OPTS_INIT;
	bool all = cli_given(args, OPT_ALL);
	size_t count = 0;
	int r;

	if (all == (args->n_operands > 0))
		return cli_usage(cli, "give the UUID of an instance, or --all");
	opts.instance = all ? NULL : args->operands[0];
	opts.flags = (all ? EPHLVM_ALL : 0) | (cli->dry_run ? EPHLVM_DRY_RUN : 0);
	r = ephlvm_activate(cli->ctx, &opts, &count);
	if (r < 0)
		return cli_fail(cli, r);
	return cli->dry_run ? out_plan(cli) : print_count(cli, count);
}

static const struct cli_option options[] = {
	{ OPT_ALL, "all", NULL, "every ready volume of the host", 0, 0 },
	CLI_OPTION_DRY_RUN,
	CLI_OPTION_JSON,
	CLI_END,
};

const struct cli_command cli_activate = {
	.name = "activate",
	.operands = "UUID",
	.summary = "activate ready volumes, as at boot",
	.man = "ephlvm-activate(8)",
	.max_operands = 1,
	.options = options,
	.run = run,
};
