// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * process.c - what belongs to the process and not to a command: standard descriptors, umask,
 * locale, signals.
 * Owns the one flag that a signal handler sets. The library must never do any of this.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

static volatile sig_atomic_t stop;

static void on_stop(int number)
{
	(void)number;
	stop = 1;
}

static void on_pipe(int number)
{
	(void)number;
}

bool cli_process_stopped(void *data)
{
	(void)data;
	return stop;
}

/*
 * A caller may have closed 0, 1 or 2. The next device opened would get that number, and a message
 * would be written into it. Standard output opens for reading only, so that writing to it fails and
 * is noticed.
 */
static void open_standard(void)
{
	static const int modes[] = { O_RDONLY, O_RDONLY, O_WRONLY };

	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		if (open("/dev/null", modes[fd]) != fd)
			_exit(CLI_UNEXPECTED);
	}
}

static void catch_signals(void)
{
	/* The first one asks the library to stop at a safe place, the second one ends us. */
	struct sigaction stopping = { .sa_handler = on_stop, .sa_flags = (int)SA_RESETHAND };
	/* Caught and not ignored: an ignored signal would stay ignored in LVM's processes. */
	struct sigaction pipe_closed = { .sa_handler = on_pipe, .sa_flags = SA_RESTART };

	sigemptyset(&stopping.sa_mask);
	sigemptyset(&pipe_closed.sa_mask);
	sigaction(SIGINT, &stopping, NULL);
	sigaction(SIGTERM, &stopping, NULL);
	sigaction(SIGHUP, &stopping, NULL);
	sigaction(SIGPIPE, &pipe_closed, NULL);
}

void cli_process_init(void)
{
	open_standard();
	umask(077);
	/* Only for the width of characters in tables: numbers and messages stay in English. */
	setlocale(LC_CTYPE, "");
	catch_signals();
}
