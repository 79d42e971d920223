// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * talk.c - everything on standard error: errors, hints, warnings, remarks, questions.
 * Owns the form of an error and the mapping of error kinds to exit codes. Must never write to
 * standard output, and must write no text from outside unescaped.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "output.h"

static const struct {
	const char *name;
	enum cli_exit exit;
} kinds[] = {
	[EPHLVM_ERROR_NONE] = { "none", CLI_OK },
	[EPHLVM_ERROR_INTERNAL] = { "internal", CLI_UNEXPECTED },
	[EPHLVM_ERROR_INVALID] = { "invalid", CLI_INVALID },
	[EPHLVM_ERROR_NOT_FOUND] = { "not_found", CLI_NOT_FOUND },
	[EPHLVM_ERROR_BUSY] = { "busy", CLI_BUSY },
	[EPHLVM_ERROR_NO_SPACE] = { "no_space", CLI_NO_SPACE },
	[EPHLVM_ERROR_PERMISSION] = { "permission", CLI_PERMISSION },
	[EPHLVM_ERROR_SYSTEM] = { "system", CLI_SYSTEM },
	[EPHLVM_ERROR_PARTIAL] = { "partial", CLI_PARTIAL },
	[EPHLVM_ERROR_CANCELLED] = { "cancelled", CLI_UNEXPECTED },
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* A kind that a later library adds is unexpected here. */
static size_t known(enum ephlvm_error_kind kind)
{
	return (size_t)kind < N_KINDS ? (size_t)kind : EPHLVM_ERROR_INTERNAL;
}

enum cli_exit cli_exit_code(enum ephlvm_error_kind kind)
{
	return kinds[known(kind)].exit;
}

char *cli_escape(const char *text)
{
	char *out, *o;

	out = malloc(strlen(text) * 4 + 1);
	if (!out)
		return NULL;
	for (o = out; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c >= 0x20 && c < 0x7f)
			*o++ = *text;
		else
			o += sprintf(o, "\\x%02x", c);
	}
	*o = '\0';
	return out;
}

static void print_indented(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		if (n > 0)
			fprintf(stderr, "  %.*s\n", (int)n, text);
		text += n;
		text += *text == '\n';
	}
}

static enum cli_exit report(struct cli *cli, const struct out_error *error)
{
	_cleanup_free_ char *json = NULL;

	cli_progress_clear(cli);
	if (cli->json)
		json = out_error_text(error);
	if (json) {
		fprintf(stderr, "%s\n", json);
		return (enum cli_exit)error->exit;
	}
	fprintf(stderr, "ephlvm: %s\n", error->message);
	if (*error->hint)
		fprintf(stderr, "hint: %s\n", error->hint);
	print_indented(error->detail);
	return (enum cli_exit)error->exit;
}

enum cli_exit cli_fail(struct cli *cli, int r)
{
	enum ephlvm_error_kind kind = ephlvm_error_kind(cli->ctx);
	struct out_error error = {
		.errnum = ephlvm_error_errno(cli->ctx),
		.stage = ephlvm_error_stage(cli->ctx),
		.subject = ephlvm_error_subject(cli->ctx),
		.message = ephlvm_error_message(cli->ctx),
		.hint = ephlvm_error_hint(cli->ctx),
		.detail = ephlvm_error_detail(cli->ctx),
		.child_status = ephlvm_error_child_status(cli->ctx),
	};

	/* No record at all would be a fault of the library: never take it for success. */
	if (kind == EPHLVM_ERROR_NONE)
		kind = EPHLVM_ERROR_INTERNAL;
	if (error.errnum == 0)
		error.errnum = -r;
	if (!*error.message)
		error.message = strerror(error.errnum);
	error.kind = kinds[known(kind)].name;
	error.exit = (int)cli_exit_code(kind);
	return report(cli, &error);
}

enum cli_exit cli_oom(struct cli *cli)
{
	struct out_error error = {
		.kind = "internal",
		.errnum = ENOMEM,
		.exit = CLI_UNEXPECTED,
		.stage = "",
		.subject = "",
		.message = "out of memory",
		.hint = "",
		.detail = "",
		.child_status = -1,
	};

	return report(cli, &error);
}

static enum cli_exit verror(struct cli *cli, enum ephlvm_error_kind kind, int errnum,
			    const char *subject, const char *hint, const char *fmt, va_list ap)
{
	_cleanup_free_ char *raw = NULL, *message = NULL, *about = NULL;
	struct out_error error = {
		.kind = kinds[known(kind)].name,
		.errnum = errnum,
		.exit = (int)cli_exit_code(kind),
		.stage = "",
		.hint = hint ? hint : "",
		.detail = "",
		.child_status = -1,
	};

	if (vasprintf(&raw, fmt, ap) < 0) {
		raw = NULL;
		return cli_oom(cli);
	}
	message = cli_escape(raw);
	about = cli_escape(subject ? subject : "");
	if (!message || !about)
		return cli_oom(cli);
	error.message = message;
	error.subject = about;
	return report(cli, &error);
}

enum cli_exit cli_error(struct cli *cli, enum ephlvm_error_kind kind, int errnum,
			const char *subject, const char *hint, const char *fmt, ...)
{
	enum cli_exit e;
	va_list ap;

	va_start(ap, fmt);
	e = verror(cli, kind, errnum, subject, hint, fmt, ap);
	va_end(ap);
	return e;
}

enum cli_exit cli_usage(struct cli *cli, const char *fmt, ...)
{
	const char *name = cli->command ? cli->command->name : NULL;
	char hint[96];
	enum cli_exit e;
	va_list ap;

	snprintf(hint, sizeof(hint), "see \"ephlvm help%s%s\"", name ? " " : "", name ? name : "");
	va_start(ap, fmt);
	e = verror(cli, EPHLVM_ERROR_INVALID, EINVAL, name, hint, fmt, ap);
	va_end(ap);
	return e;
}

static void line(struct cli *cli, const char *prefix, const char *fmt, va_list ap)
{
	_cleanup_free_ char *raw = NULL, *text = NULL;

	if (vasprintf(&raw, fmt, ap) < 0) {
		raw = NULL;
		return;
	}
	text = cli_escape(raw);
	if (!text)
		return;
	cli_progress_clear(cli);
	fprintf(stderr, "ephlvm: %s%s\n", prefix, text);
}

void cli_say(struct cli *cli, const char *fmt, ...)
{
	va_list ap;

	if (cli->quiet || cli->json || !isatty(STDERR_FILENO))
		return;
	va_start(ap, fmt);
	line(cli, "", fmt, ap);
	va_end(ap);
}

void cli_warn(struct cli *cli, const char *fmt, ...)
{
	va_list ap;

	if (cli->quiet)
		return;
	va_start(ap, fmt);
	line(cli, "warning: ", fmt, ap);
	va_end(ap);
}

void cli_log_fn(void *data, enum ephlvm_log_level level, const char *message)
{
	struct cli *cli = data;
	const char *word = "debug";

	if (level <= EPHLVM_LOG_ERROR)
		word = "error";
	else if (level <= EPHLVM_LOG_WARNING)
		word = "warning";
	else if (level <= EPHLVM_LOG_INFO)
		word = "info";
	cli_progress_clear(cli);
	/* The library escaped the message already. */
	fprintf(stderr, "ephlvm: %s: %s\n", word, message);
}

bool cli_terminal(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

/* The answer without its line end; free() it. NULL at the end of input or when out of memory. */
static char *ask(struct cli *cli, const char *fmt, va_list ap)
{
	_cleanup_free_ char *raw = NULL, *text = NULL;
	char *answer = NULL;
	size_t size = 0;

	if (vasprintf(&raw, fmt, ap) < 0) {
		raw = NULL;
		return NULL;
	}
	text = cli_escape(raw);
	if (!text)
		return NULL;
	cli_progress_clear(cli);
	fprintf(stderr, "%s ", text);
	fflush(stderr);
	if (getline(&answer, &size, stdin) < 0) {
		fputc('\n', stderr);
		free(answer);
		return NULL;
	}
	answer[strcspn(answer, "\n")] = '\0';
	return answer;
}

static enum cli_exit not_confirmed(struct cli *cli)
{
	return cli_error(cli, EPHLVM_ERROR_INVALID, ECANCELED, NULL, NULL,
			 "not confirmed, nothing was done");
}

enum cli_exit cli_confirm(struct cli *cli, const char *question, ...)
{
	_cleanup_free_ char *answer = NULL;
	va_list ap;

	if (cli->yes)
		return CLI_OK;
	if (!cli_terminal())
		return cli_error(
			cli, EPHLVM_ERROR_INVALID, EINVAL, cli->command->name,
			"give --yes when you are sure, or --dry-run to see what it would do",
			"\"%s\" asks before it acts and nobody can answer here, nothing was done",
			cli->command->name);
	va_start(ap, question);
	answer = ask(cli, question, ap);
	va_end(ap);
	if (answer &&
	    (strcmp(answer, "y") == 0 || strcmp(answer, "Y") == 0 || strcmp(answer, "yes") == 0))
		return CLI_OK;
	return not_confirmed(cli);
}

enum cli_exit cli_confirm_typed(struct cli *cli, const char *expected, const char *question, ...)
{
	_cleanup_free_ char *answer = NULL;
	va_list ap;

	va_start(ap, question);
	answer = ask(cli, question, ap);
	va_end(ap);
	if (answer && *expected && strcmp(answer, expected) == 0)
		return CLI_OK;
	return not_confirmed(cli);
}
