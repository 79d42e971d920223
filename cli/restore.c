// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * restore.c - ephlvm restore, hold and unhold: deleted volumes given back, or kept from purge.
 * Owns the reading of its arguments.
 */
#include "commands.h"
#include "output.h"

static enum cli_exit run_restore(struct cli *cli, const struct cli_args *args)
{
	struct ephlvm_restore_opts opts = EPHLVM_RESTORE_OPTS_INIT;
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL;
	int r;

	opts.flags = cli->dry_run ? EPHLVM_DRY_RUN : 0;
	opts.name = cli_volume_name(args->operands[0]);
	r = ephlvm_restore(cli->ctx, &opts, &volumes);
	if (r < 0)
		return cli_fail(cli, r);
	return cli->dry_run ? out_plan(cli) : out_print_volumes(cli, volumes);
}

static enum cli_exit set_hold(struct cli *cli, const struct cli_args *args, bool release)
{
	struct ephlvm_hold_opts opts = EPHLVM_HOLD_OPTS_INIT;
	_cleanup_json_ struct json_object *doc = NULL;
	const char *word = release ? "unheld" : "held";
	size_t count = 0;
	int r;

	opts.flags = cli->dry_run ? EPHLVM_DRY_RUN : 0;
	opts.name = cli_volume_name(args->operands[0]);
	opts.release = release;
	r = ephlvm_hold(cli->ctx, &opts, &count);
	if (r < 0)
		return cli_fail(cli, r);
	if (cli->dry_run)
		return out_plan(cli);
	if (!cli->json) {
		cli_say(cli, "%zu volume%s %s", count, count == 1 ? "" : "s", word);
		return CLI_OK;
	}
	doc = out_doc();
	if (!doc || out_put(doc, word, json_object_new_uint64(count)) < 0)
		return cli_oom(cli);
	return out_done(cli, doc);
}

static enum cli_exit run_hold(struct cli *cli, const struct cli_args *args)
{
	return set_hold(cli, args, false);
}

static enum cli_exit run_unhold(struct cli *cli, const struct cli_args *args)
{
	return set_hold(cli, args, true);
}

static const struct cli_option options[] = { CLI_OPTION_DRY_RUN, CLI_OPTION_JSON, CLI_END };

const struct cli_command cli_restore = {
	.name = "restore",
	.operands = "UUID|VG/LV",
	.summary = "give deleted volumes back, while their erase has not begun",
	.man = "ephlvm-restore(8)",
	.min_operands = 1,
	.max_operands = 1,
	.options = options,
	.run = run_restore,
};

const struct cli_command cli_hold = {
	.name = "hold",
	.operands = "UUID|VG/LV",
	.summary = "keep volumes from being purged",
	.man = "ephlvm-restore(8)",
	.min_operands = 1,
	.max_operands = 1,
	.options = options,
	.run = run_hold,
};

const struct cli_command cli_unhold = {
	.name = "unhold",
	.operands = "UUID|VG/LV",
	.summary = "let held volumes be purged again",
	.man = "ephlvm-restore(8)",
	.min_operands = 1,
	.max_operands = 1,
	.options = options,
	.run = run_unhold,
};
