// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * dispatch.c - the command table, and a command line from its first word to its exit code.
 * Owns the struct cli of the run. An unknown command, a mistake in usage and a failed operation
 * leave by three different ways; only the last one has called the library.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "output.h"

/* In the order of help: the operator's daily verbs first. */
const struct cli_command *const cli_commands[] = {
	&cli_create,	  &cli_list,	    &cli_show,	       &cli_delete,    &cli_restore,
	&cli_hold,	  &cli_unhold,	    &cli_purge,	       &cli_receipts,  &cli_attach,
	&cli_detach,	  &cli_xml_add,	    &cli_xml_remove,   &cli_pool_init, &cli_pool_show,
	&cli_pool_scrub,  &cli_flavor_list, &cli_flavor_show,  &cli_activate,  &cli_config_check,
	&cli_config_show, &cli_version,	    &cli_help_command, NULL,
};

static const struct cli_option global_options[] = {
	{ OPT_VERSION, "version", NULL, "print the version and exit", 0, 'V' },
	{ OPT_JSON, "json", NULL, NULL, CLI_HIDDEN, 0 },
	CLI_END,
};

/* Errors are JSON when --json stands anywhere, also behind what is wrong. */
static bool wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--json") == 0)
			return true;
	return false;
}

const struct cli_command *cli_find(const char *first, const char *second, int *ret_words)
{
	size_t n = strlen(first);

	for (size_t i = 0; cli_commands[i]; i++) {
		const char *name = cli_commands[i]->name;

		*ret_words = name[strcspn(name, " ")] ? 2 : 1;
		if (*ret_words == 1 && strcmp(name, first) == 0)
			return cli_commands[i];
		if (*ret_words == 2 && second && strncmp(name, first, n) == 0 && name[n] == ' ' &&
		    strcmp(name + n + 1, second) == 0)
			return cli_commands[i];
	}
	return NULL;
}

bool cli_is_group(const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; n > 0 && cli_commands[i]; i++)
		if (strncmp(cli_commands[i]->name, word, n) == 0 && cli_commands[i]->name[n] == ' ')
			return true;
	return false;
}

enum cli_exit cli_unknown(struct cli *cli, const char *first, const char *second)
{
	_cleanup_free_ char *word = NULL;
	const char *near;
	char hint[128];

	if (cli_is_group(first) && (!second || second[0] == '-'))
		return cli_usage(cli, "\"%s\" needs a second word", first);
	if (cli_is_group(first) && asprintf(&word, "%s %s", first, second) < 0) {
		word = NULL;
		return cli_oom(cli);
	}
	near = cli_suggest(word ? word : first);
	snprintf(hint, sizeof(hint), near ? "did you mean \"%s\"?" : "see \"ephlvm help\"", near);
	return cli_error(cli, EPHLVM_ERROR_INVALID, 0, NULL, hint, "unknown command \"%s\"",
			 word ? word : first);
}

static enum cli_exit prepare(struct cli *cli, const struct cli_args *args)
{
	const char *config = cli_value(args, OPT_CONFIG);
	int r;

	cli->verbose = cli_given(args, OPT_VERBOSE);
	cli->quiet = cli_given(args, OPT_QUIET);
	cli->dry_run = cli_given(args, OPT_DRY_RUN);
	cli->yes = cli_given(args, OPT_YES);
	r = ephlvm_ctx_new(&cli->ctx);
	if (r < 0)
		return cli_oom(cli);
	if (!cli->quiet || cli->verbose)
		ephlvm_ctx_set_log(cli->ctx, cli->verbose ? EPHLVM_LOG_DEBUG : EPHLVM_LOG_WARNING,
				   cli_log_fn, cli);
	ephlvm_ctx_set_progress(cli->ctx, cli_progress_fn, cli);
	ephlvm_ctx_set_action(cli->ctx, cli_action_fn, cli);
	ephlvm_ctx_set_cancel(cli->ctx, cli_process_stopped, NULL);
	if (!config)
		return CLI_OK;
	r = ephlvm_ctx_set_config_path(cli->ctx, config);
	return r < 0 ? cli_fail(cli, r) : CLI_OK;
}

static enum cli_exit check_operands(struct cli *cli, const struct cli_args *args)
{
	const struct cli_command *command = cli->command;

	if (args->n_operands < command->min_operands)
		return cli_usage(cli, "\"%s\" needs %s", command->name, command->operands);
	if (args->n_operands > command->max_operands)
		return cli_usage(cli, "unexpected argument \"%s\"",
				 args->operands[command->max_operands]);
	return CLI_OK;
}

/* @argv[0] is the last word of the command's name. */
static enum cli_exit run_command(struct cli *cli, int argc, char **argv, struct cli_args *args)
{
	enum cli_exit e;

	e = cli_parse(cli, argc, argv, cli->command->options, false, args, NULL);
	if (e != CLI_OK)
		return e;
	if (cli_given(args, OPT_HELP))
		return cli_help(cli->command);
	e = check_operands(cli, args);
	if (e != CLI_OK)
		return e;
	e = prepare(cli, args);
	if (e != CLI_OK)
		return e;
	e = cli->command->run(cli, args);
	cli_progress_clear(cli);
	return e;
}

static enum cli_exit run(struct cli *cli, int argc, char **argv, struct cli_args *args)
{
	int next = 1, words = 0;
	enum cli_exit e;

	e = cli_parse(cli, argc, argv, global_options, true, args, &next);
	if (e != CLI_OK)
		return e;
	if (cli_given(args, OPT_VERSION))
		return cli_version.run(cli, args);
	if (cli_given(args, OPT_HELP))
		return cli_help_all();
	if (next >= argc)
		return cli_usage(cli, "no command given");
	argc -= next;
	argv += next;
	cli->command = cli_find(argv[0], argc > 1 ? argv[1] : NULL, &words);
	if (cli->command)
		return run_command(cli, argc - (words - 1), argv + (words - 1), args);
	if (cli_is_group(argv[0]) && argc > 1 &&
	    (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return cli_help_group(argv[0]);
	return cli_unknown(cli, argv[0], argc > 1 ? argv[1] : NULL);
}

int cli_main(int argc, char **argv)
{
	struct cli_args args = { 0 };
	struct cli cli = { 0 };
	enum cli_exit e;

	cli.json = wants_json(argc, argv);
	e = run(&cli, argc, argv, &args);
	e = out_close(&cli, e);
	cli_args_clear(&args);
	json_object_put(cli.actions);
	ephlvm_ctx_unref(cli.ctx);
	return (int)e;
}
