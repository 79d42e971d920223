// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_cli_ask.c - what asks first, on a terminal and elsewhere. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../cli/cli.h"
#include "cli_run.h"
#include "fake_ephlvm.h"

static int setup(void **state)
{
	(void)state;
	fake_reset();
	fake.n_volumes = 2;
	fake.serial = "EPH0001";
	return 0;
}

static void without_a_terminal_nothing_is_called(void **state)
{
	static const char *const lines[] = {
		"ephlvm delete u",
		"ephlvm delete u --wait --domain-gone",
		"ephlvm pool init /dev/a",
		"ephlvm pool init --vg v",
		"ephlvm pool init --loop /f --size 1G",
		"ephlvm pool init --wipe=S /dev/a",
		"ephlvm pool init --wipe /dev/a",
		"ephlvm pool init --wipe --yes /dev/a",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		_cleanup_run_ struct cli_run run = { .main_fn = cli_main,
						     .input = "y\ny\nEPH0001\n" };

		cli_run(&run, lines[i]);
		assert_int_equal(run.code, 2);
		assert_string_equal(run.out, "");
		assert_string_equal(fake.calls, "");
		assert_true(strstr(run.err, "--yes") || strstr(run.err, "--wipe=SERIAL"));
	}
}

static void delete_asks_with_the_count(void **state)
{
	static const struct {
		const char *answer;
		int code;
	} cases[] = {
		{ "y\n", 0 }, { "yes\n", 0 }, { "Y\n", 0 },	      { "n\n", 2 },
		{ "\n", 2 },  { "yy\n", 2 },  { "\004", 2 /* ^D */ }, { "no\n", 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_run_ struct cli_run run = { .main_fn = cli_main,
						     .terminal = true,
						     .input = cases[i].answer };

		fake.calls[0] = '\0';
		cli_run(&run, "ephlvm delete u --disk eph0");
		assert_int_equal(run.code, cases[i].code);
		assert_non_null(strstr(run.err, "Delete 2 volumes of u? [y/N]"));
		assert_string_equal(fake.calls, cases[i].code == 0 ?
							"delete u flags=1 disks=eph0,\n"
							"delete u flags=0 disks=eph0,\n" :
							"delete u flags=1 disks=eph0,\n");
		assert_true(cases[i].code == 0 || strstr(run.err, "nothing was done"));
	}
}

/* What the plan before the question does is not what the run did. */
static void actions_are_counted_once(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main,
					     .terminal = true,
					     .input = "y\n" };
	const char *first;

	(void)state;
	fake.actions[0] = (struct ephlvm_action){ .verb = "trash", .subject = "vg/a" };
	fake.n_actions = 1;
	cli_run(&run, "ephlvm delete u --json");
	assert_int_equal(run.code, 0);
	first = strstr(run.out, "\"trash\"");
	assert_non_null(first);
	assert_null(strstr(first + 1, "\"trash\""));
}

static void delete_tells_a_refusal_before_it_asks(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main,
					     .terminal = true,
					     .input = "y\n" };

	(void)state;
	fake.kind = EPHLVM_ERROR_BUSY;
	fake.errnum = EBUSY;
	fake.message = "vg/lv is open";
	cli_run(&run, "ephlvm delete u");
	assert_int_equal(run.code, 4);
	assert_null(strstr(run.err, "[y/N]"));
	assert_string_equal(fake.calls, "delete u flags=1 disks=\n");
}

static void delete_of_nothing_does_not_ask(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main, .terminal = true };

	(void)state;
	fake.n_volumes = 0;
	cli_run(&run, "ephlvm delete u");
	assert_int_equal(run.code, 0);
	assert_null(strstr(run.err, "[y/N]"));
	assert_non_null(strstr(run.err, "nothing to delete"));
}

static void purge_and_scrub_never_ask(void **state)
{
	_cleanup_run_ struct cli_run purge = { .main_fn = cli_main, .terminal = true };
	_cleanup_run_ struct cli_run scrub = { .main_fn = cli_main };

	(void)state;
	fake.n_volumes = 0;
	cli_run(&purge, "ephlvm purge");
	assert_int_equal(purge.code, 0);
	cli_run(&scrub, "ephlvm pool scrub");
	assert_int_equal(scrub.code, 0);
	assert_string_equal(
		fake.calls,
		"purge flags=0 method=- verify=- rate=0 names=\npool_scrub - flags=0\n");
}

static void pool_init_asks(void **state)
{
	static const struct {
		const char *line, *question;
	} cases[] = {
		{ "ephlvm pool init /dev/a", "Make pool \"ephlvm\" on /dev/a? [y/N]" },
		{ "ephlvm pool init --pool p /dev/a /dev/b",
		  "Make pool \"p\" on /dev/a and the other devices? [y/N]" },
		{ "ephlvm pool init --vg v",
		  "Take over volume group \"v\" as pool \"ephlvm\"? [y/N]" },
		{ "ephlvm pool init --loop /f --size 1G",
		  "Make pool \"ephlvm\" in the file \"/f\"? [y/N]" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_run_ struct cli_run yes = { .main_fn = cli_main,
						     .terminal = true,
						     .input = "y\n" };
		_cleanup_run_ struct cli_run no = yes;

		no.input = "n\n";
		cli_run(&no, cases[i].line);
		assert_int_equal(no.code, 2);
		assert_non_null(strstr(no.err, cases[i].question));
		assert_string_equal(fake.calls, "");
		cli_run(&yes, cases[i].line);
		assert_int_equal(yes.code, 0);
		assert_int_equal(strncmp(fake.calls, "pool_init flags=0", 17), 0);
		fake.calls[0] = '\0';
	}
}

static void wiping_wants_the_serial_typed(void **state)
{
	_cleanup_run_ struct cli_run right = { .main_fn = cli_main,
					       .terminal = true,
					       .input = "EPH0001\n" };
	_cleanup_run_ struct cli_run wrong = right, yes = right;

	(void)state;
	cli_run(&right, "ephlvm pool init --wipe /dev/a");
	assert_int_equal(right.code, 0);
	assert_non_null(strstr(right.err, "Everything on /dev/a will be destroyed"));
	assert_null(strstr(right.err, "[y/N]"));
	assert_non_null(strstr(fake.calls, "devices=/dev/a, serials=EPH0001,\n"));
	fake.calls[0] = '\0';
	wrong.input = "EPH0002\n";
	cli_run(&wrong, "ephlvm pool init --wipe /dev/a");
	assert_int_equal(wrong.code, 2);
	assert_string_equal(fake.calls, "device_serial /dev/a\n");
	/* --yes answers yes or no, it does not know a serial */
	fake.calls[0] = '\0';
	yes.input = "y\n";
	cli_run(&yes, "ephlvm pool init --yes --wipe /dev/a");
	assert_int_equal(yes.code, 2);
	assert_string_equal(fake.calls, "device_serial /dev/a\n");
}

/* A drive without a serial of its own must not be confirmed by an empty line. */
static void an_empty_serial_confirms_nothing(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main, .terminal = true, .input = "\n" };

	(void)state;
	fake.serial = "";
	cli_run(&run, "ephlvm pool init --wipe /dev/a");
	assert_int_equal(run.code, 2);
	assert_null(strstr(fake.calls, "pool_init"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(without_a_terminal_nothing_is_called, setup),
		cmocka_unit_test_setup(delete_asks_with_the_count, setup),
		cmocka_unit_test_setup(actions_are_counted_once, setup),
		cmocka_unit_test_setup(delete_tells_a_refusal_before_it_asks, setup),
		cmocka_unit_test_setup(delete_of_nothing_does_not_ask, setup),
		cmocka_unit_test_setup(purge_and_scrub_never_ask, setup),
		cmocka_unit_test_setup(pool_init_asks, setup),
		cmocka_unit_test_setup(wiping_wants_the_serial_typed, setup),
		cmocka_unit_test_setup(an_empty_serial_confirms_nothing, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
