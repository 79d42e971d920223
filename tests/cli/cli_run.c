// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * cli_run.c - see cli_run.h.
 * Owns the child's descriptors. Streams go to memory files, so that nothing has to be drained while
 * the child runs; only a terminal has a buffer, which what we print there never fills.
 */
#include "cli_run.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what)                    \
	do {                           \
		if (!(what)) {         \
			perror(#what); \
			abort();       \
		}                      \
	} while (0)

#define MAX_WORDS 32

static char *slurp(int fd, size_t *ret_bytes)
{
	struct stat st;
	char *text;

	CHECK(fstat(fd, &st) == 0);
	text = malloc((size_t)st.st_size + 1);
	CHECK(text);
	CHECK(pread(fd, text, (size_t)st.st_size, 0) == st.st_size);
	text[st.st_size] = '\0';
	if (ret_bytes)
		*ret_bytes = (size_t)st.st_size;
	return text;
}

char *cli_read_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text;

	if (fd < 0)
		return NULL;
	text = slurp(fd, NULL);
	close(fd);
	return text;
}

/* What is left in the terminal after the child is gone. */
static char *drain(int master)
{
	char *text = calloc(1, 65536);
	size_t n = 0;

	CHECK(text);
	for (;;) {
		ssize_t r = read(master, text + n, 65535 - n);

		if (r <= 0)
			return text;
		n += (size_t)r;
	}
}

static _Noreturn void child(const struct cli_run *run, const char *const *argv, int in, int out,
			    int err)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	if (run->stdout_path)
		out = open(run->stdout_path, O_WRONLY | O_CLOEXEC);
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(127);
	if (run->stdout_closed)
		close(1);
	alarm(60);
	if (!run->main_fn) {
		execv(run->program, (char *const *)argv);
		_exit(127);
	}
	/* By exit(), so that leaks are looked for. */
	exit(run->main_fn(argc, (char **)argv));
}

void cli_run_argv(struct cli_run *run, const char *const *argv)
{
	int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC);
	int err = memfd_create("err", MFD_CLOEXEC), master = -1, status;
	size_t n = run->input_bytes ? run->input_bytes : strlen(run->input ? run->input : "");
	pid_t pid;

	CHECK(in >= 0 && out >= 0 && err >= 0);
	if (run->terminal) {
		close(in);
		close(err);
		CHECK(openpty(&master, &in, NULL, NULL, NULL) == 0);
		err = dup(in);
		CHECK(err >= 0);
	}
	CHECK(write(run->terminal ? master : in, run->input ? run->input : "", n) == (ssize_t)n);
	if (!run->terminal)
		CHECK(lseek(in, 0, SEEK_SET) == 0);
	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		child(run, argv, in, out, err);
	CHECK(waitpid(pid, &status, 0) == pid);
	run->code = WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
	run->out = slurp(out, &run->out_bytes);
	if (!run->terminal)
		run->err = slurp(err, NULL);
	close(in);
	close(out);
	close(err);
	if (run->terminal) {
		run->err = drain(master);
		close(master);
	}
}

void cli_run(struct cli_run *run, const char *line)
{
	const char *argv[MAX_WORDS + 1] = { NULL };
	char *copy = strdup(line), *rest = copy, *word;
	size_t n = 0;

	CHECK(copy);
	while ((word = strsep(&rest, " ")) != NULL && n < MAX_WORDS)
		argv[n++] = word;
	cli_run_argv(run, argv);
	free(copy);
}

void cli_run_clear(struct cli_run *run)
{
	free(run->out);
	free(run->err);
	run->out = NULL;
	run->err = NULL;
}
