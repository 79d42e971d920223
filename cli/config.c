// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * config.c - ephlvm config check and config show.
 * Owns nothing but the two handlers: the library reads, judges and writes the document.
 */
#include <stdio.h>

#include "commands.h"
#include "output.h"

static enum cli_exit run_check(struct cli *cli, const struct cli_args *args)
{
	_cleanup_json_ struct json_object *doc = NULL;
	bool exists = false;
	int r;

	(void)args;
	r = ephlvm_config_check(cli->ctx, &exists);
	if (r < 0)
		return cli_fail(cli, r);
	if (!cli->json) {
		cli_say(cli,
			exists ? "the configuration is good" :
				 "there is no configuration file: built-in values are in force");
		return CLI_OK;
	}
	doc = out_doc();
	if (!doc || out_put(doc, "exists", json_object_new_boolean(exists)) < 0)
		return cli_oom(cli);
	return out_json(cli, doc);
}

static enum cli_exit run_show(struct cli *cli, const struct cli_args *args)
{
	_cleanup_free_ char *json = NULL;
	int r;

	(void)args;
	r = ephlvm_config_show(cli->ctx, &json);
	if (r < 0)
		return cli_fail(cli, r);
	puts(json);
	return CLI_OK;
}

static const struct cli_option check_options[] = {
	CLI_OPTION_JSON,
	CLI_END,
};

static const struct cli_option show_options[] = {
	{ OPT_JSON, "json", NULL, "print errors as JSON too; the configuration always is", 0, 0 },
	CLI_END,
};

const struct cli_command cli_config_check = {
	.name = "config check",
	.operands = "",
	.summary = "check the configuration file",
	.man = "ephlvm-config(8)",
	.options = check_options,
	.run = run_check,
};

const struct cli_command cli_config_show = {
	.name = "config show",
	.operands = "",
	.summary = "show the configuration in force",
	.man = "ephlvm-config(8)",
	.options = show_options,
	.run = run_show,
};
