/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cli_run.h - run a command line of ephlvm in a child and keep what it printed.
 */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include <stdbool.h>
#include <stddef.h>

struct cli_run {
	/* set before */
	int (*main_fn)(int argc, char **argv); /* NULL: execute @program */
	const char *program;
	const char *input; /* standard input; NULL: empty */
	size_t input_bytes; /* 0: strlen() */
	bool terminal; /* standard input and error are one, @input is typed */
	const char *stdout_path; /* written there instead of into @out */
	bool stdout_closed;

	/* read afterwards */
	int code; /* exit code, 256 + signal */
	char *out, *err;
	size_t out_bytes;
};

/* @line is split at spaces; a word never has one. The first word is "ephlvm". */
void cli_run(struct cli_run *run, const char *line);
/* The same with the words as they are, ended by NULL. */
void cli_run_argv(struct cli_run *run, const char *const *argv);
void cli_run_clear(struct cli_run *run);
#define _cleanup_run_ __attribute__((cleanup(cli_run_clear)))

/* A whole file; free() it. NULL when it cannot be read. */
char *cli_read_file(const char *path);

#endif
