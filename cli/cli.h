/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cli.h - what the files of the command share: options, commands, talk and exit codes.
 *
 * A command is a row of the table in dispatch.c: its words, its options, what it does. Help,
 * completion and dispatch all come from that row. A handler parses, calls the library, renders; it
 * prints data through output.h and says everything else through the functions below.
 */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <ephlvm/ephlvm.h>

struct json_object;

/* Exit codes, as ephlvm(8) promises them. */
enum cli_exit {
	CLI_OK = 0,
	CLI_UNEXPECTED = 1,
	CLI_INVALID = 2,
	CLI_NOT_FOUND = 3,
	CLI_BUSY = 4,
	CLI_NO_SPACE = 5,
	CLI_PERMISSION = 6,
	CLI_SYSTEM = 7,
	CLI_PARTIAL = 8,
};

enum cli_opt {
	OPT_NONE = 0,
	OPT_ALL,
	OPT_BOOT,
	OPT_BUS,
	OPT_COMPLETE,
	OPT_CONFIG,
	OPT_DISK,
	OPT_DOMAIN,
	OPT_DOMAIN_GONE,
	OPT_DRY_RUN,
	OPT_FLAVOR,
	OPT_FS,
	OPT_HELP,
	OPT_INSTANCE,
	OPT_JSON,
	OPT_LOOP,
	OPT_METHOD,
	OPT_NO_ERASE,
	OPT_NO_HEADINGS,
	OPT_OPENSTACK,
	OPT_OUTPUT,
	OPT_POOL,
	OPT_QUIET,
	OPT_RATE,
	OPT_SERIAL,
	OPT_SIZE,
	OPT_SOURCE,
	OPT_STATE,
	OPT_TARGET,
	OPT_VERBOSE,
	OPT_VERIFY,
	OPT_VERSION,
	OPT_VG,
	OPT_WAIT,
	OPT_WIPE,
	OPT_YES,
	OPT_COUNT
};

enum cli_opt_flags {
	CLI_REPEAT = 1 << 0, /* may be given several times */
	CLI_OPTIONAL_VALUE = 1 << 1, /* --wipe or --wipe=SERIAL */
	CLI_HIDDEN = 1 << 2, /* not in help and completion */
};

/* One option; an array of them ends with CLI_END. */
struct cli_option {
	enum cli_opt id;
	const char *name;
	const char *value; /* what its value is, for help and completion; NULL: a flag */
	const char *help;
	unsigned int flags;
	char letter;
};
#define CLI_END                                  \
	{                                        \
		OPT_NONE, NULL, NULL, NULL, 0, 0 \
	}

/* Options that several commands have, with the same meaning in each. */
#define CLI_OPTION_JSON                                                            \
	{                                                                          \
		OPT_JSON, "json", NULL, "print JSON, and errors as JSON too", 0, 0 \
	}
#define CLI_OPTION_DRY_RUN                                                                     \
	{                                                                                      \
		OPT_DRY_RUN, "dry-run", NULL, "print what would be done, change nothing", 0, 0 \
	}
#define CLI_OPTION_YES                                     \
	{                                                  \
		OPT_YES, "yes", NULL, "do not ask", 0, 'y' \
	}
#define CLI_OPTION_OUTPUT                                                                        \
	{                                                                                        \
		OPT_OUTPUT, "output", "COLUMNS", "columns of the table, separated by commas", 0, \
			'o'                                                                      \
	}
#define CLI_OPTION_NO_HEADINGS                                                         \
	{                                                                              \
		OPT_NO_HEADINGS, "noheadings", NULL, "print no line of headings", 0, 0 \
	}

/* Options of every command, before or behind its name. */
extern const struct cli_option cli_common_options[];

/* What was given. Fields point into argv; cli_args_clear() frees the vectors only. */
struct cli_args {
	const char **operands; /* ended by NULL; NULL when there are none */
	size_t n_operands;
	const char **values[OPT_COUNT]; /* likewise; "" for a flag or an absent optional value */
};

struct cli_progress {
	char step[32];
	char subject[96];
	int64_t since_ms; /* when this step began */
	int64_t shown_ms; /* when the line was last drawn */
	uint64_t first_bytes; /* where it began: an erase may resume */
	size_t width; /* of the line on the terminal now; 0: none */
};

struct cli_command;

struct cli {
	struct ephlvm_ctx *ctx;
	const struct cli_command *command; /* NULL until it is known */
	bool json, quiet, verbose, dry_run, yes;
	bool broken; /* a callback ran out of memory: output would be incomplete */
	struct json_object *actions;
	struct cli_progress progress;
};

struct cli_command {
	const char *name; /* "create", "pool init" */
	const char *operands; /* for the usage line; "" for none */
	const char *summary; /* one line, no full stop */
	const char *man; /* page that describes it */
	size_t min_operands, max_operands;
	const struct cli_option *options;
	enum cli_exit (*run)(struct cli *cli, const struct cli_args *args);
};

/* dispatch.c: the table, ended by NULL, and the whole run of a command line. */
extern const struct cli_command *const cli_commands[];
int cli_main(int argc, char **argv);

/* process.c: descriptors, umask, locale and signals of this process. */
void cli_process_init(void);
bool cli_process_stopped(void *data);

/* options.c */
enum cli_exit cli_parse(struct cli *cli, int argc, char **argv, const struct cli_option *options,
			bool stop_at_operand, struct cli_args *args, int *ret_next);
void cli_args_clear(struct cli_args *args);
enum cli_exit cli_parse_size(struct cli *cli, const char *option, const char *text,
			     uint64_t *ret_bytes);

static inline bool cli_given(const struct cli_args *args, enum cli_opt id)
{
	return args->values[id] != NULL;
}

/* The value of an option that is given once; NULL when it is not given. */
static inline const char *cli_value(const struct cli_args *args, enum cli_opt id)
{
	return args->values[id] ? args->values[id][0] : NULL;
}

/* VG/LV of "/dev/VG/LV", so that what create prints can be given back; else @name as it is. */
const char *cli_volume_name(const char *name);

/* help.c */
enum cli_exit cli_help(const struct cli_command *command);
enum cli_exit cli_help_all(void);
const char *cli_suggest(const char *word);

/*
 * talk.c: everything on standard error. Each function that reports a failure returns the exit code
 * for it, so that handlers write `return cli_fail(...)`.
 */
enum cli_exit cli_exit_code(enum ephlvm_error_kind kind);
/* The library's record of the call that just failed with @r. */
enum cli_exit cli_fail(struct cli *cli, int r);
/* A mistake on the command line; the hint leads to the command's help. */
__attribute__((format(printf, 2, 3))) enum cli_exit cli_usage(struct cli *cli, const char *fmt,
							      ...);
/* A failure that the command itself found. Text is escaped here. @subject, @hint may be NULL. */
__attribute__((format(printf, 6, 7))) enum cli_exit
cli_error(struct cli *cli, enum ephlvm_error_kind kind, int errnum, const char *subject,
	  const char *hint, const char *fmt, ...);
enum cli_exit cli_oom(struct cli *cli);
/* A remark for people: on a terminal only, and not with --quiet. */
__attribute__((format(printf, 2, 3))) void cli_say(struct cli *cli, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void cli_warn(struct cli *cli, const char *fmt, ...);

/* Copy with everything but printable ASCII shown as \xNN; NULL when out of memory. */
char *cli_escape(const char *text);

/* Can somebody be asked? */
bool cli_terminal(void);
/* CLI_OK when the answer is yes or --yes was given; else CLI_INVALID, and it was said. */
__attribute__((format(printf, 2, 3))) enum cli_exit cli_confirm(struct cli *cli,
								const char *question, ...);
/* CLI_OK when @expected was typed. */
__attribute__((format(printf, 3, 4))) enum cli_exit
cli_confirm_typed(struct cli *cli, const char *expected, const char *question, ...);

/* Callbacks for the context; @data is the struct cli. */
void cli_log_fn(void *data, enum ephlvm_log_level level, const char *message);
void cli_progress_fn(void *data, const struct ephlvm_progress *progress);
void cli_action_fn(void *data, const struct ephlvm_action *action);
void cli_progress_clear(struct cli *cli);
/* The line that is drawn; @elapsed_ms since the step began at @first_bytes. */
#define CLI_PROGRESS_TEXT 256
void cli_progress_text(char buf[CLI_PROGRESS_TEXT], const struct ephlvm_progress *progress,
		       uint64_t first_bytes, int64_t elapsed_ms);

static inline void cli_freep(void *p)
{
	free(*(void **)p);
}
#define _cleanup_free_ __attribute__((cleanup(cli_freep)))

static inline void cli_volumesp(struct ephlvm_volumes **volumes)
{
	ephlvm_volumes_free(*volumes);
}
#define _cleanup_volumes_ __attribute__((cleanup(cli_volumesp)))

static inline void cli_poolsp(struct ephlvm_pools **pools)
{
	ephlvm_pools_free(*pools);
}
#define _cleanup_pools_ __attribute__((cleanup(cli_poolsp)))

#endif
