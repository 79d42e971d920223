// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * help.c - ephlvm help and ephlvm version: texts made from the command table.
 * Owns their layout, and the lists that shell completion reads. Must name no command itself.
 */
#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "output.h"

static void print_option(const struct cli_option *option)
{
	const char *equals = option->flags & CLI_OPTIONAL_VALUE ? "[=" : " ";
	char left[80];

	if (option->flags & CLI_HIDDEN)
		return;
	if (option->value)
		snprintf(left, sizeof(left), "--%s%s%s%s", option->name, equals, option->value,
			 *equals == '[' ? "]" : "");
	else
		snprintf(left, sizeof(left), "--%s", option->name);
	if (option->letter)
		printf("  -%c, ", option->letter);
	else
		printf("      ");
	if (strlen(left) > 24)
		printf("%s\n%31s%s\n", left, "", option->help);
	else
		printf("%-24s %s\n", left, option->help);
}

enum cli_exit cli_help(const struct cli_command *command)
{
	printf("Usage: ephlvm %s [OPTION]...%s%s\n\n", command->name, *command->operands ? " " : "",
	       command->operands);
	printf("%c%s.\n\nOptions:\n", command->summary[0] - 'a' + 'A', command->summary + 1);
	for (const struct cli_option *o = command->options; o && o->id != OPT_NONE; o++)
		print_option(o);
	for (const struct cli_option *o = cli_common_options; o->id != OPT_NONE; o++)
		print_option(o);
	printf("\nSee %s.\n", command->man);
	return CLI_OK;
}

static void print_summaries(const char *group)
{
	size_t n = group ? strlen(group) : 0;

	for (size_t i = 0; cli_commands[i]; i++)
		if (n == 0 || (strncmp(cli_commands[i]->name, group, n) == 0 &&
			       cli_commands[i]->name[n] == ' '))
			printf("  %-14s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
}

enum cli_exit cli_help_group(const char *group)
{
	printf("Usage: ephlvm %s COMMAND [OPTION]... [ARGUMENT]...\n\nCommands:\n", group);
	print_summaries(group);
	return CLI_OK;
}

enum cli_exit cli_help_all(void)
{
	printf("Usage: ephlvm COMMAND [OPTION]... [ARGUMENT]...\n\n"
	       "Ephemeral disks of instances, on local LVM volume groups.\n\nCommands:\n");
	print_summaries(NULL);
	printf("\nOptions of every command:\n");
	for (const struct cli_option *o = cli_common_options; o->id != OPT_NONE; o++)
		print_option(o);
	printf("\n\"ephlvm help COMMAND\" says more. See ephlvm(8).\n");
	return CLI_OK;
}

/* Number of edits that make @b of @a; both are short words. */
static size_t distance(const char *a, const char *b)
{
	size_t row[32], n = strlen(b);

	if (n >= sizeof(row) / sizeof(row[0]))
		return n;
	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t corner = row[0];

		row[0] = i + 1;
		for (size_t j = 1; j <= n; j++) {
			size_t change = corner + (a[i] != b[j - 1]);
			size_t less = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

			corner = row[j];
			row[j] = change < less ? change : less;
		}
	}
	return row[n];
}

const char *cli_suggest(const char *word)
{
	const char *best = NULL;
	size_t least = 3; /* two edits at most */

	for (size_t i = 0; cli_commands[i]; i++) {
		size_t d = distance(word, cli_commands[i]->name);

		/* A word of two letters is near to everything. */
		if (d < least && d < strlen(word)) {
			least = d;
			best = cli_commands[i]->name;
		}
	}
	return best;
}

static void print_completion(const struct cli_command *command, const struct cli_option *options)
{
	for (; options && options->id != OPT_NONE; options++)
		if (!(options->flags & CLI_HIDDEN))
			printf("%s\t--%s\t%s\n", command->name, options->name,
			       !options->value			   ? "-" :
			       options->flags & CLI_OPTIONAL_VALUE ? "-" :
								     options->value);
}

/*
 * For shell completion, a line each: command, option, what its value is ("-" for none); and
 * command, "=", what its arguments are.
 */
static enum cli_exit complete(void)
{
	for (size_t i = 0; cli_commands[i]; i++) {
		printf("%s\t=\t%s\n", cli_commands[i]->name,
		       *cli_commands[i]->operands ? cli_commands[i]->operands : "-");
		print_completion(cli_commands[i], cli_commands[i]->options);
		print_completion(cli_commands[i], cli_common_options);
	}
	return CLI_OK;
}

static enum cli_exit run_help(struct cli *cli, const struct cli_args *args)
{
	const char *first = args->n_operands > 0 ? args->operands[0] : NULL;
	const char *second = args->n_operands > 1 ? args->operands[1] : NULL;
	const struct cli_command *command;
	int words = 0;

	if (cli_given(args, OPT_COMPLETE))
		return complete();
	if (!first)
		return cli_help_all();
	command = cli_find(first, second, &words);
	if (command && (size_t)words == args->n_operands)
		return cli_help(command);
	if (command)
		return cli_usage(cli, "unexpected argument \"%s\"", second);
	if (cli_is_group(first) && !second)
		return cli_help_group(first);
	return cli_unknown(cli, first, second);
}

static enum cli_exit run_version(struct cli *cli, const struct cli_args *args)
{
	_cleanup_json_ struct json_object *doc = NULL;

	(void)args;
	if (!cli->json) {
		printf("ephlvm %s\n", ephlvm_version());
		return CLI_OK;
	}
	doc = out_doc();
	if (!doc || out_put(doc, "version", json_object_new_string(ephlvm_version())) < 0)
		return cli_oom(cli);
	return out_json(cli, doc);
}

static const struct cli_option help_options[] = {
	{ OPT_COMPLETE, "complete", NULL, NULL, CLI_HIDDEN, 0 },
	CLI_END,
};

static const struct cli_option version_options[] = {
	CLI_OPTION_JSON,
	CLI_END,
};

const struct cli_command cli_help_command = {
	.name = "help",
	.operands = "[COMMAND]",
	.summary = "print help",
	.man = "ephlvm(8)",
	.max_operands = 2,
	.options = help_options,
	.run = run_help,
};

const struct cli_command cli_version = {
	.name = "version",
	.operands = "",
	.summary = "print the version",
	.man = "ephlvm(8)",
	.options = version_options,
	.run = run_version,
};
