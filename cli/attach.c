// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * attach.c - ephlvm attach and ephlvm detach: the ephemeral disk of an instance in its domain.
 * Owns the reading of their arguments, which are the same.
 */
#include "commands.h"
#include "output.h"

typedef int (*wire_fn)(struct ephlvm_ctx *ctx, const char *instance,
		       const struct ephlvm_attach_opts *opts);

static enum cli_exit wire(struct cli *cli, const struct cli_args *args, wire_fn fn)
{
	struct ephlvm_attach_opts opts = EPHLVM_ATTACH_OPTS_INIT;
	int r;

	opts.domain = cli_value(args, OPT_DOMAIN);
	opts.target = cli_value(args, OPT_TARGET);
	opts.flags = cli->dry_run ? EPHLVM_DRY_RUN : 0;
	r = fn(cli->ctx, args->operands[0], &opts);
	if (r < 0)
		return cli_fail(cli, r);
	return cli->dry_run ? out_plan(cli) : out_done(cli, NULL);
}

static enum cli_exit run_attach(struct cli *cli, const struct cli_args *args)
{
	return wire(cli, args, ephlvm_attach);
}

static enum cli_exit run_detach(struct cli *cli, const struct cli_args *args)
{
	return wire(cli, args, ephlvm_detach);
}

static const struct cli_option options[] = {
	{ OPT_DOMAIN, "domain", "DOMAIN",
	  "name or UUID of the domain, where it is not the instance's", 0, 0 },
	{ OPT_TARGET, "target", "TARGET", "target name: vdb (the default), vdc, ..., or auto", 0,
	  0 },
	CLI_OPTION_DRY_RUN,
	CLI_OPTION_JSON,
	CLI_END,
};

const struct cli_command cli_attach = {
	.name = "attach",
	.operands = "UUID",
	.summary = "attach the ephemeral disk of an instance to its domain",
	.man = "ephlvm-attach(8)",
	.min_operands = 1,
	.max_operands = 1,
	.options = options,
	.run = run_attach,
};

const struct cli_command cli_detach = {
	.name = "detach",
	.operands = "UUID",
	.summary = "detach the ephemeral disk of an instance from its domain",
	.man = "ephlvm-attach(8)",
	.min_operands = 1,
	.max_operands = 1,
	.options = options,
	.run = run_detach,
};
