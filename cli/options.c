// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * options.c - arguments: getopt_long() driven by option tables, and sizes.
 * Owns the vectors of struct cli_args. Must not know any command, and must not act on an option.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

#define MAX_OPTIONS 40
#define LONG_BASE 0x100 /* values of long options; below are letters */

const struct cli_option cli_common_options[] = {
	{ OPT_CONFIG, "config", "FILE", "configuration, instead of /etc/ephlvm/ephlvm.json", 0, 0 },
	{ OPT_VERBOSE, "verbose", NULL, "say every step and command on standard error", 0, 'v' },
	{ OPT_QUIET, "quiet", NULL, "no progress, remarks or warnings", 0, 'q' },
	{ OPT_HELP, "help", NULL, "print help and exit", 0, 'h' },
	CLI_END,
};

struct parser {
	const struct cli_option *options[MAX_OPTIONS];
	struct option longs[MAX_OPTIONS + 1];
	char letters[2 * MAX_OPTIONS + 3];
	size_t n;
};

static int has_arg(const struct cli_option *option)
{
	if (!option->value)
		return no_argument;
	return option->flags & CLI_OPTIONAL_VALUE ? optional_argument : required_argument;
}

static void parser_add(struct parser *p, const struct cli_option *options)
{
	for (; options && options->id != OPT_NONE && p->n < MAX_OPTIONS; options++) {
		struct option *l = &p->longs[p->n];
		size_t end = strlen(p->letters);

		l->name = options->name;
		l->has_arg = has_arg(options);
		l->val = LONG_BASE + (int)p->n;
		p->options[p->n++] = options;
		if (!options->letter)
			continue;
		p->letters[end] = options->letter;
		p->letters[end + 1] = l->has_arg == no_argument ? '\0' : ':';
	}
}

static const struct cli_option *parser_find(const struct parser *p, int value)
{
	if (value >= LONG_BASE && value < LONG_BASE + (int)p->n)
		return p->options[value - LONG_BASE];
	for (size_t i = 0; i < p->n; i++)
		if (value != 0 && p->options[i]->letter == value)
			return p->options[i];
	return NULL;
}

static int vector_add(const char ***v, const char *s)
{
	const char **grown;
	size_t n = 0;

	while (*v && (*v)[n])
		n++;
	grown = reallocarray(*v, n + 2, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	grown[n] = s;
	grown[n + 1] = NULL;
	*v = grown;
	return 0;
}

void cli_args_clear(struct cli_args *args)
{
	free(args->operands);
	for (size_t i = 0; i < OPT_COUNT; i++)
		free(args->values[i]);
	memset(args, 0, sizeof(*args));
}

static enum cli_exit take_operand(struct cli *cli, struct cli_args *args, const char *operand)
{
	if (vector_add(&args->operands, operand) < 0)
		return cli_oom(cli);
	args->n_operands++;
	return CLI_OK;
}

static enum cli_exit take_option(struct cli *cli, struct cli_args *args,
				 const struct cli_option *option, const char *value)
{
	bool flag = !option->value;

	/* A flag twice means the same; a value twice would silently drop one. */
	if (args->values[option->id] && !flag && !(option->flags & CLI_REPEAT))
		return cli_usage(cli, "option \"--%s\" is given twice", option->name);
	if (vector_add(&args->values[option->id], value ? value : "") < 0)
		return cli_oom(cli);
	return CLI_OK;
}

/* What getopt_long() did not accept: @c is '?' or ':', @token the word it stopped at. */
static enum cli_exit refuse(struct cli *cli, const struct parser *p, int c, const char *token)
{
	const struct cli_option *option = parser_find(p, optopt);

	if (option && c == ':')
		return cli_usage(cli, "option \"--%s\" needs a value", option->name);
	if (option)
		return cli_usage(cli, "option \"--%s\" takes no value", option->name);
	if (optopt != 0)
		return cli_usage(cli, "unknown option \"-%c\"", optopt);
	return cli_usage(cli, "unknown option \"%s\"", token);
}

/*
 * Parse @argv behind its first word. With @stop_at_operand the first operand ends it and @ret_next
 * is its index; else operands may stand between options, whatever POSIXLY_CORRECT says.
 */
enum cli_exit cli_parse(struct cli *cli, int argc, char **argv, const struct cli_option *options,
			bool stop_at_operand, struct cli_args *args, int *ret_next)
{
	struct parser p = { .letters = "" };
	enum cli_exit e = CLI_OK;

	strcpy(p.letters, stop_at_operand ? "+:" : "-:");
	parser_add(&p, options);
	parser_add(&p, cli_common_options);
	opterr = 0;
	optind = 0;
	while (e == CLI_OK) {
		int c = getopt_long(argc, argv, p.letters, p.longs, NULL);

		if (c == -1)
			break;
		if (c == 1)
			e = take_operand(cli, args, optarg);
		else if (c == '?' || c == ':')
			e = refuse(cli, &p, c, argv[optind - 1]);
		else
			e = take_option(cli, args, parser_find(&p, c), optarg);
	}
	if (e == CLI_OK && ret_next)
		*ret_next = optind;
	for (int i = optind; e == CLI_OK && !stop_at_operand && i < argc; i++)
		e = take_operand(cli, args, argv[i]);
	return e;
}

enum cli_exit cli_parse_size(struct cli *cli, const char *option, const char *text,
			     uint64_t *ret_bytes)
{
	static const char units[] = "use K, M, G or T (powers of 1024), or a number of bytes";
	uint64_t bytes = 0;
	int r;

	r = ephlvm_size_parse(text, &bytes);
	if (r == -ENOMEM)
		return cli_oom(cli);
	if (r == -EPROTO)
		return cli_error(cli, EPHLVM_ERROR_INVALID, EINVAL, option, units,
				 "size \"%s\" is in powers of 1000", text);
	if (r == -ERANGE)
		return cli_error(cli, EPHLVM_ERROR_INVALID, ERANGE, option, units,
				 "size \"%s\" is too large", text);
	if (r < 0)
		return cli_error(cli, EPHLVM_ERROR_INVALID, EINVAL, option, units,
				 "\"%s\" is not a size", text);
	/* The library takes 0 for "not given". */
	if (bytes == 0)
		return cli_error(cli, EPHLVM_ERROR_INVALID, EINVAL, option, units,
				 "size \"%s\" is zero", text);
	*ret_bytes = bytes;
	return CLI_OK;
}

const char *cli_volume_name(const char *name)
{
	return strncmp(name, "/dev/", 5) == 0 ? name + 5 : name;
}
