// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_cli_process.c - signals, umask and standard descriptors of the command's process. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "../../cli/cli.h"
#include "cli_run.h"

/* Each of these is the command's main() in a child: the exit code says where it went wrong. */
static int stopped_twice(int argc, char **argv)
{
	int number = atoi(argv[1]);

	(void)argc;
	cli_process_init();
	if (cli_process_stopped(NULL))
		return 1;
	raise(number);
	if (!cli_process_stopped(NULL))
		return 2;
	raise(number);
	return 3;
}

static int broken_pipe(int argc, char **argv)
{
	struct sigaction now;
	int ends[2];

	(void)argc;
	(void)argv;
	cli_process_init();
	if (pipe(ends) < 0)
		return 1;
	close(ends[0]);
	if (write(ends[1], "x", 1) != -1 || errno != EPIPE)
		return 2;
	/* Ignored, it would stay ignored in the programs that the library runs. */
	sigaction(SIGPIPE, NULL, &now);
	return now.sa_handler == SIG_IGN ? 3 : 0;
}

static int all_closed(int argc, char **argv)
{
	int fd;

	(void)argc;
	(void)argv;
	for (fd = 0; fd <= 2; fd++)
		close(fd);
	cli_process_init();
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (fd <= 2)
		return 1;
	/* What is printed is lost, and that shows. */
	if (write(1, "x", 1) != -1 || errno != EBADF)
		return 2;
	if (read(0, &fd, 1) != 0)
		return 3;
	return write(2, "x", 1) == 1 ? 0 : 4;
}

static int own_umask(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	umask(0);
	cli_process_init();
	return umask(0) == 077 ? 0 : 1;
}

static void the_first_signal_asks_the_second_ends(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	(void)state;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		_cleanup_run_ struct cli_run run = { .main_fn = stopped_twice };
		char line[32];

		snprintf(line, sizeof(line), "ephlvm %d", signals[i]);
		cli_run(&run, line);
		assert_int_equal(run.code, 256 + signals[i]);
	}
}

static void a_broken_pipe_is_an_error_not_a_death(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = broken_pipe };

	(void)state;
	cli_run(&run, "ephlvm");
	assert_int_equal(run.code, 0);
}

static void closed_descriptors_are_filled(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = all_closed };

	(void)state;
	cli_run(&run, "ephlvm");
	assert_int_equal(run.code, 0);
}

static void files_are_for_root_only(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = own_umask };

	(void)state;
	cli_run(&run, "ephlvm");
	assert_int_equal(run.code, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_signal_asks_the_second_ends),
		cmocka_unit_test(a_broken_pipe_is_an_error_not_a_death),
		cmocka_unit_test(closed_descriptors_are_filled),
		cmocka_unit_test(files_are_for_root_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
