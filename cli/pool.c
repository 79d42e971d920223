// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * pool.c - ephlvm pool init, pool show and pool scrub.
 * Owns the questions before a pool is made. Must hand the library a serial for wiping only when it
 * was typed or given as --wipe=SERIAL.
 */
#include <string.h>

#include "commands.h"
#include "output.h"

/* Serials whose drives may be wiped, ended by NULL; each is a copy. */
struct serials {
	char **v;
	size_t n;
};

static void serials_clear(struct serials *serials)
{
	for (size_t i = 0; i < serials->n; i++)
		free(serials->v[i]);
	free(serials->v);
}
#define _cleanup_serials_ __attribute__((cleanup(serials_clear)))

/* Takes @serial, also when it fails. */
static enum cli_exit serials_add(struct cli *cli, struct serials *serials, char *serial)
{
	char **grown = reallocarray(serials->v, serials->n + 2, sizeof(*grown));

	if (!grown || !serial) {
		if (grown)
			serials->v = grown;
		free(serial);
		return cli_oom(cli);
	}
	serials->v = grown;
	serials->v[serials->n++] = serial;
	serials->v[serials->n] = NULL;
	return CLI_OK;
}

static bool serials_has(const struct serials *serials, const char *serial)
{
	for (size_t i = 0; i < serials->n; i++)
		if (strcmp(serials->v[i], serial) == 0)
			return true;
	return false;
}

static enum cli_exit ask_wipe(struct cli *cli, const char *device, struct serials *serials)
{
	char *serial = NULL;
	enum cli_exit e;
	int r;

	r = ephlvm_pool_device_serial(cli->ctx, device, &serial);
	if (r < 0)
		return cli_fail(cli, r);
	if (serials_has(serials, serial)) {
		free(serial);
		return CLI_OK;
	}
	/* A dry run destroys nothing: it shows the plan as if the answer had been right. */
	if (!cli->dry_run) {
		e = cli_confirm_typed(
			cli, serial,
			"Everything on %s will be destroyed. Its serial is \"%s\".\x20"
			"Type it to go on:",
			device, serial);
		if (e != CLI_OK) {
			free(serial);
			return e;
		}
	}
	return serials_add(cli, serials, serial);
}

/* @ret_asked: somebody was asked by serial, so that no other question is needed. */
static enum cli_exit get_serials(struct cli *cli, const struct cli_args *args,
				 struct serials *serials, bool *ret_asked)
{
	enum cli_exit e = CLI_OK;
	bool bare = false;

	for (const char **v = args->values[OPT_WIPE]; e == CLI_OK && v && *v; v++) {
		if (!**v)
			bare = true;
		else
			e = serials_add(cli, serials, strdup(*v));
	}
	if (e != CLI_OK || !bare)
		return e;
	if (!cli->dry_run && !cli_terminal())
		return cli_usage(cli,
				 "--wipe asks for the drive's serial and nobody can answer here; "
				 "give --wipe=SERIAL");
	for (size_t i = 0; e == CLI_OK && i < args->n_operands; i++)
		e = ask_wipe(cli, args->operands[i], serials);
	*ret_asked = true;
	return e;
}

static enum cli_exit get_opts(struct cli *cli, const struct cli_args *args,
			      struct ephlvm_pool_init_opts *opts)
{
	const char *size = cli_value(args, OPT_SIZE);

	opts->flags = cli->dry_run ? EPHLVM_DRY_RUN : 0;
	opts->pool = cli_value(args, OPT_POOL);
	opts->vg = cli_value(args, OPT_VG);
	opts->devices = args->operands;
	opts->loop_file = cli_value(args, OPT_LOOP);
	opts->no_erase = cli_given(args, OPT_NO_ERASE);
	if (opts->loop_file && args->n_operands > 0)
		return cli_usage(cli, "give devices or --loop, not both");
	if (!opts->loop_file != !size)
		return cli_usage(cli, "--loop and --size go together");
	if (!opts->loop_file && args->n_operands == 0 && !opts->vg)
		return cli_usage(cli, "give devices, --loop, or --vg to take over a volume group");
	if (cli_given(args, OPT_WIPE) && args->n_operands == 0)
		return cli_usage(cli, "--wipe needs devices");
	return size ? cli_parse_size(cli, "size", size, &opts->loop_bytes) : CLI_OK;
}

static enum cli_exit confirm(struct cli *cli, const struct ephlvm_pool_init_opts *opts, size_t n)
{
	const char *pool = opts->pool ? opts->pool : "ephlvm";

	if (opts->loop_file)
		return cli_confirm(cli, "Make pool \"%s\" in the file \"%s\"? [y/N]", pool,
				   opts->loop_file);
	if (n == 0)
		return cli_confirm(cli, "Take over volume group \"%s\" as pool \"%s\"? [y/N]",
				   opts->vg, pool);
	return cli_confirm(cli, "Make pool \"%s\" on %s%s? [y/N]", pool, opts->devices[0],
			   n > 1 ? " and the other devices" : "");
}

/* Rows of one pool, or of all of them when @name is NULL. */
static enum cli_exit get_pools(struct cli *cli, const char *name, struct json_object **ret_rows)
{
	_cleanup_json_ struct json_object *rows = json_object_new_array();
	_cleanup_pools_ struct ephlvm_pools *pools = NULL;
	int r;

	if (!rows)
		return cli_oom(cli);
	r = ephlvm_pool_list(cli->ctx, name, &pools);
	if (r < 0)
		return cli_fail(cli, r);
	for (size_t i = 0; i < ephlvm_pools_count(pools); i++)
		if (out_add(rows, out_pool_columns, ephlvm_pools_at(pools, i)) < 0)
			return cli_oom(cli);
	*ret_rows = rows;
	rows = NULL;
	return CLI_OK;
}

static enum cli_exit print_made(struct cli *cli, const char *pool)
{
	_cleanup_json_ struct json_object *rows = NULL, *doc = NULL;
	enum cli_exit e;

	if (!cli->json)
		return out_line(cli, pool);
	e = get_pools(cli, pool, &rows);
	if (e != CLI_OK)
		return e;
	doc = out_doc();
	if (!doc || out_put_rows(doc, "pools", out_pool_columns, rows) < 0)
		return cli_oom(cli);
	return out_done(cli, doc);
}

static enum cli_exit run_init(struct cli *cli, const struct cli_args *args)
{
	struct ephlvm_pool_init_opts opts = EPHLVM_POOL_INIT_OPTS_INIT;
	_cleanup_serials_ struct serials serials = { NULL, 0 };
	bool asked = false;
	enum cli_exit e;
	int r;

	e = get_opts(cli, args, &opts);
	if (e == CLI_OK)
		e = get_serials(cli, args, &serials, &asked);
	if (e == CLI_OK && !cli->dry_run && !asked)
		e = confirm(cli, &opts, args->n_operands);
	if (e != CLI_OK)
		return e;
	opts.wipe_serials = (const char *const *)serials.v;
	r = ephlvm_pool_init(cli->ctx, &opts);
	if (r < 0)
		return cli_fail(cli, r);
	return cli->dry_run ? out_plan(cli) : print_made(cli, opts.pool ? opts.pool : "ephlvm");
}

static enum cli_exit run_show(struct cli *cli, const struct cli_args *args)
{
	_cleanup_json_ struct json_object *rows = NULL, *doc = NULL;
	enum cli_exit e;

	e = out_check(cli, args, out_pool_columns);
	if (e == CLI_OK)
		e = get_pools(cli, args->n_operands > 0 ? args->operands[0] : NULL, &rows);
	if (e != CLI_OK)
		return e;
	if (!cli->json)
		return out_table(cli, args, out_pool_columns, rows);
	doc = out_doc();
	if (!doc || out_put_rows(doc, "pools", out_pool_columns, rows) < 0)
		return cli_oom(cli);
	return out_json(cli, doc);
}

static enum cli_exit run_scrub(struct cli *cli, const struct cli_args *args)
{
	int r;

	r = ephlvm_pool_scrub(cli->ctx, args->n_operands > 0 ? args->operands[0] : NULL,
			      cli->dry_run ? EPHLVM_DRY_RUN : 0);
	if (r < 0)
		return cli_fail(cli, r);
	return cli->dry_run ? out_plan(cli) : out_done(cli, NULL);
}

static const struct cli_option init_options[] = {
	{ OPT_POOL, "pool", "NAME", "name of the pool, instead of ephlvm", 0, 0 },
	{ OPT_VG, "vg", "VG", "name of the volume group; without devices: take this one over", 0,
	  0 },
	{ OPT_LOOP, "loop", "FILE", "make this file and use it as a loop device", 0, 0 },
	{ OPT_SIZE, "size", "SIZE", "size of that file", 0, 0 },
	{ OPT_WIPE, "wipe", "SERIAL",
	  "destroy what is on the drive with this serial; without a value: ask; may be repeated",
	  CLI_REPEAT | CLI_OPTIONAL_VALUE, 0 },
	{ OPT_NO_ERASE, "no-erase", NULL, "do not erase the devices: their space counts as dirty",
	  0, 0 },
	CLI_OPTION_YES,
	CLI_OPTION_DRY_RUN,
	CLI_OPTION_JSON,
	CLI_END,
};

static const struct cli_option show_options[] = {
	CLI_OPTION_OUTPUT,
	CLI_OPTION_NO_HEADINGS,
	CLI_OPTION_JSON,
	CLI_END,
};

static const struct cli_option scrub_options[] = {
	CLI_OPTION_DRY_RUN,
	CLI_OPTION_JSON,
	CLI_END,
};

const struct cli_command cli_pool_init = {
	.name = "pool init",
	.operands = "DEVICE...",
	.summary = "make a pool of drives, or take over a volume group",
	.man = "ephlvm-pool(8)",
	.max_operands = SIZE_MAX,
	.options = init_options,
	.run = run_init,
};

const struct cli_command cli_pool_show = {
	.name = "pool show",
	.operands = "[POOL]",
	.summary = "show pools and their space",
	.man = "ephlvm-pool(8)",
	.max_operands = 1,
	.options = show_options,
	.run = run_show,
};

const struct cli_command cli_pool_scrub = {
	.name = "pool scrub",
	.operands = "[POOL]",
	.summary = "erase all free space of a pool",
	.man = "ephlvm-pool(8)",
	.max_operands = 1,
	.options = scrub_options,
	.run = run_scrub,
};
