// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * create.c - ephlvm create: the disks of an instance.
 * Owns the reading of its arguments. What flavor, size and names may be is the library's to say.
 */
#include <string.h>

#include "commands.h"
#include "output.h"

static enum cli_exit get_boot(struct cli *cli, const struct cli_args *args,
			      enum ephlvm_boot *ret_boot)
{
	const char *boot = cli_value(args, OPT_BOOT);

	if (!boot)
		return CLI_OK;
	if (strcmp(boot, "volume") == 0)
		*ret_boot = EPHLVM_BOOT_VOLUME;
	else if (strcmp(boot, "image") == 0)
		*ret_boot = EPHLVM_BOOT_IMAGE;
	else
		return cli_usage(cli, "boot source \"%s\" is neither volume nor image", boot);
	return CLI_OK;
}

static enum cli_exit get_opts(struct cli *cli, const struct cli_args *args,
			      struct ephlvm_create_opts *opts)
{
	const char *size = cli_value(args, OPT_SIZE);
	enum cli_exit e;

	opts->flags = cli->dry_run ? EPHLVM_DRY_RUN : 0;
	opts->instance = cli_value(args, OPT_INSTANCE);
	opts->flavor = cli_value(args, OPT_FLAVOR);
	opts->disks = args->values[OPT_DISK];
	opts->fs = cli_value(args, OPT_FS);
	opts->pool = cli_value(args, OPT_POOL);
	opts->domain = cli_value(args, OPT_DOMAIN);
	if (opts->instance && args->n_operands > 0)
		return cli_usage(cli, "the instance is given twice");
	if (!opts->instance && args->n_operands == 0)
		return cli_usage(cli, "\"create\" needs the UUID of the instance");
	if (!opts->instance)
		opts->instance = args->operands[0];
	if (!opts->flavor)
		return cli_usage(cli, "\"create\" needs --flavor");
	e = get_boot(cli, args, &opts->boot);
	if (e == CLI_OK && size)
		e = cli_parse_size(cli, "size", size, &opts->size_bytes);
	return e;
}

static enum cli_exit run(struct cli *cli, const struct cli_args *args)
{
	struct ephlvm_create_opts opts = EPHLVM_CREATE_OPTS_INIT;
	_cleanup_volumes_ struct ephlvm_volumes *volumes = NULL;
	enum cli_exit e;
	int r;

	e = get_opts(cli, args, &opts);
	if (e != CLI_OK)
		return e;
	r = ephlvm_create(cli->ctx, &opts, &volumes);
	if (r < 0)
		return cli_fail(cli, r);
	if (cli->dry_run)
		return out_plan(cli);
	return out_print_volumes(cli, volumes);
}

static const struct cli_option options[] = {
	{ OPT_INSTANCE, "instance", "UUID", "the instance, instead of the argument", 0, 0 },
	{ OPT_FLAVOR, "flavor", "FLAVOR", "flavor that sizes the disks (required)", 0, 0 },
	{ OPT_BOOT, "boot", "volume|image",
	  "boot source: volume (ephemeral disks only, the default) or image (root disk too)", 0,
	  0 },
	{ OPT_DISK, "disk", "DISK", "only this disk, as eph0; may be repeated", CLI_REPEAT, 0 },
	{ OPT_SIZE, "size", "SIZE", "size of the one disk, instead of the flavor's", 0, 0 },
	{ OPT_FS, "fs", "ext4|vfat|xfs|ntfs|swap|none", "file system, instead of the flavor's", 0,
	  0 },
	{ OPT_POOL, "pool", "POOL", "pool, where the host has several", 0, 0 },
	{ OPT_DOMAIN, "domain", "DOMAIN", "domain it will be wired into, for the log", 0, 0 },
	CLI_OPTION_DRY_RUN,
	CLI_OPTION_JSON,
	CLI_END,
};

const struct cli_command cli_create = {
	.name = "create",
	.operands = "UUID",
	.summary = "create the disks of an instance",
	.man = "ephlvm-create(8)",
	.max_operands = 1,
	.options = options,
	.run = run,
};
