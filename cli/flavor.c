// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * flavor.c - ephlvm flavor list and flavor show.
 * Owns the OpenStack commands that --openstack prints: they are for a shell, so names are quoted.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "output.h"

static uint64_t units(uint64_t bytes, unsigned int shift)
{
	return (bytes >> shift) + ((bytes & (((uint64_t)1 << shift) - 1)) != 0);
}

/* One word for a POSIX shell, whatever is in it. */
static void print_quoted(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_.+-/:@";

	if (*word && strspn(word, plain) == strlen(word)) {
		fputs(word, stdout);
		return;
	}
	putchar('\'');
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*word);
	}
	putchar('\'');
}

static enum cli_exit print_openstack(struct cli *cli, const struct ephlvm_flavor *flavor)
{
	_cleanup_free_ char *name = cli_escape(ephlvm_flavor_name(flavor));
	uint64_t root = ephlvm_flavor_root_bytes(flavor);
	uint64_t ephemeral = ephlvm_flavor_ephemeral_bytes(flavor);

	if (!name)
		return cli_oom(cli);
	if ((root | ephemeral) & (((uint64_t)1 << 30) - 1))
		cli_warn(cli, "flavor \"%s\": OpenStack knows whole GiB only, sizes are rounded up",
			 name);
	printf("openstack flavor create --vcpus %u --ram %" PRIu64 " --disk %" PRIu64
	       " --ephemeral %" PRIu64 " --swap %" PRIu64 " --public ",
	       ephlvm_flavor_vcpus(flavor), units(ephlvm_flavor_ram_bytes(flavor), 20),
	       units(root, 30), units(ephemeral, 30), units(ephlvm_flavor_swap_bytes(flavor), 20));
	if (name[0] == '-')
		fputs("-- ", stdout);
	print_quoted(name);
	putchar('\n');
	return CLI_OK;
}

static enum cli_exit print_all_openstack(struct cli *cli, size_t count)
{
	enum cli_exit e = CLI_OK;

	for (size_t i = 0; e == CLI_OK && i < count; i++)
		e = print_openstack(cli, ephlvm_flavor_at(cli->ctx, i));
	return e;
}

static enum cli_exit print_json(struct cli *cli, struct json_object *rows)
{
	_cleanup_json_ struct json_object *doc = out_doc();

	if (!doc || out_put_rows(doc, "flavors", out_flavor_columns, rows) < 0)
		return cli_oom(cli);
	return out_json(cli, doc);
}

static enum cli_exit run_list(struct cli *cli, const struct cli_args *args)
{
	_cleanup_json_ struct json_object *rows = json_object_new_array();
	enum cli_exit e;
	size_t count = 0;
	int r;

	if (!rows)
		return cli_oom(cli);
	if (cli_given(args, OPT_OPENSTACK) && cli->json)
		return cli_usage(cli, "\"--openstack\" and \"--json\" exclude each other");
	e = out_check(cli, args, out_flavor_columns);
	if (e != CLI_OK)
		return e;
	r = ephlvm_flavor_count(cli->ctx, &count);
	if (r < 0)
		return cli_fail(cli, r);
	if (cli_given(args, OPT_OPENSTACK))
		return print_all_openstack(cli, count);
	for (size_t i = 0; i < count; i++)
		if (out_add(rows, out_flavor_columns, ephlvm_flavor_at(cli->ctx, i)) < 0)
			return cli_oom(cli);
	return cli->json ? print_json(cli, rows) : out_table(cli, args, out_flavor_columns, rows);
}

static enum cli_exit run_show(struct cli *cli, const struct cli_args *args)
{
	_cleanup_json_ struct json_object *rows = json_object_new_array();
	const struct ephlvm_flavor *flavor = NULL;
	int r;

	if (!rows)
		return cli_oom(cli);
	r = ephlvm_flavor_find(cli->ctx, args->operands[0], &flavor);
	if (r < 0)
		return cli_fail(cli, r);
	if (out_add(rows, out_flavor_columns, flavor) < 0)
		return cli_oom(cli);
	return cli->json ? print_json(cli, rows) : out_lists(cli, out_flavor_columns, rows);
}

static const struct cli_option list_options[] = {
	{ OPT_OPENSTACK, "openstack", NULL, "print the commands that create them in OpenStack", 0,
	  0 },
	CLI_OPTION_OUTPUT,
	CLI_OPTION_NO_HEADINGS,
	CLI_OPTION_JSON,
	CLI_END,
};

static const struct cli_option show_options[] = {
	CLI_OPTION_JSON,
	CLI_END,
};

const struct cli_command cli_flavor_list = {
	.name = "flavor list",
	.operands = "",
	.summary = "list flavors",
	.man = "ephlvm-flavor(8)",
	.options = list_options,
	.run = run_list,
};

const struct cli_command cli_flavor_show = {
	.name = "flavor show",
	.operands = "FLAVOR",
	.summary = "show everything about a flavor",
	.man = "ephlvm-flavor(8)",
	.min_operands = 1,
	.max_operands = 1,
	.options = show_options,
	.run = run_show,
};
