// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_cli_args.c - command lines: what reaches the library, and what is refused before it. */
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
	return 0;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		n++;
	return n;
}

static void every_help_names_every_option(void **state)
{
	(void)state;
	for (size_t i = 0; cli_commands[i]; i++) {
		const struct cli_option *const tables[] = { cli_commands[i]->options,
							    cli_common_options };
		_cleanup_run_ struct cli_run run = { .main_fn = cli_main };
		char line[128], option[64];

		snprintf(line, sizeof(line), "ephlvm %s --help", cli_commands[i]->name);
		cli_run(&run, line);
		assert_int_equal(run.code, 0);
		assert_string_equal(run.err, "");
		assert_non_null(strstr(run.out, cli_commands[i]->name));
		for (size_t t = 0; t < 2; t++) {
			for (const struct cli_option *o = tables[t]; o && o->id; o++) {
				snprintf(option, sizeof(option), "--%s", o->name);
				if (!(o->flags & CLI_HIDDEN) && !strstr(run.out, option))
					fail_msg("%s: no %s", line, option);
			}
		}
	}
	assert_string_equal(fake.calls, "");
}

/* The table promises: names are unique, options of a command are too, and the parser has room. */
static void table_is_sound(void **state)
{
	(void)state;
	for (size_t i = 0; cli_commands[i]; i++) {
		const struct cli_command *c = cli_commands[i];
		bool seen[OPT_COUNT] = { false };
		size_t n = 0;

		for (const struct cli_option *o = cli_common_options; o->id; o++)
			seen[o->id] = true;
		for (const struct cli_option *o = c->options; o && o->id; o++, n++) {
			assert_false(seen[o->id]);
			seen[o->id] = true;
		}
		assert_true(n < 32);
		assert_true(c->min_operands <= c->max_operands);
		assert_non_null(c->summary);
		for (size_t j = i + 1; cli_commands[j]; j++)
			assert_string_not_equal(c->name, cli_commands[j]->name);
	}
}

static void help_in_all_its_forms(void **state)
{
	static const char *const lines[] = {
		"ephlvm help",	      "ephlvm --help",	    "ephlvm -h",
		"ephlvm help create", "ephlvm create -h",   "ephlvm help pool init",
		"ephlvm help pool",   "ephlvm pool --help", "ephlvm help help",
		"ephlvm --version",   "ephlvm version",	    "ephlvm -V",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		_cleanup_run_ struct cli_run run = { .main_fn = cli_main };

		cli_run(&run, lines[i]);
		assert_int_equal(run.code, 0);
		assert_string_equal(run.err, "");
		assert_true(run.out_bytes > 0);
	}
}

static void mistakes_exit_2_with_one_error(void **state)
{
	static const struct {
		const char *line, *message;
	} bad[] = {
		{ "ephlvm", "no command given" },
		{ "ephlvm --foo list", "unknown option \"--foo\"" },
		{ "ephlvm lsit", "unknown command \"lsit\"" },
		{ "ephlvm pool", "\"pool\" needs a second word" },
		{ "ephlvm pool --json", "\"pool\" needs a second word" },
		{ "ephlvm pool inti", "unknown command \"pool inti\"" },
		{ "ephlvm audit", "unknown command \"audit\"" },
		{ "ephlvm adopt u", "unknown command \"adopt\"" },
		{ "ephlvm help lsit", "unknown command \"lsit\"" },
		{ "ephlvm help list more", "unexpected argument \"more\"" },
		{ "ephlvm list --foo", "unknown option \"--foo\"" },
		{ "ephlvm list -x", "unknown option \"-x\"" },
		{ "ephlvm list extra", "unexpected argument \"extra\"" },
		{ "ephlvm list -- extra", "unexpected argument \"extra\"" },
		{ "ephlvm list --pool", "option \"--pool\" needs a value" },
		{ "ephlvm list -o", "option \"--output\" needs a value" },
		{ "ephlvm list --noheadings=1", "option \"--noheadings\" takes no value" },
		{ "ephlvm list --pool a --pool b", "option \"--pool\" is given twice" },
		{ "ephlvm --config /a list --config /b", "option \"--config\" is given twice" },
		{ "ephlvm list --state old", "unknown state \"old\"" },
		{ "ephlvm list -o vg,foo", "unknown column \"foo\"" },
		{ "ephlvm list -o vg,", "unknown column \"\"" },
		{ "ephlvm show", "\"show\" needs UUID|VG/LV" },
		{ "ephlvm show a b", "unexpected argument \"b\"" },
		{ "ephlvm create --flavor f", "\"create\" needs the UUID of the instance" },
		{ "ephlvm create u", "\"create\" needs --flavor" },
		{ "ephlvm create u --instance v --flavor f", "the instance is given twice" },
		{ "ephlvm create u v --flavor f", "unexpected argument \"v\"" },
		{ "ephlvm create u --flavor f --boot net",
		  "boot source \"net\" is neither volume nor image" },
		{ "ephlvm create u --flavor f --size 1GB", "size \"1GB\" is in powers of 1000" },
		{ "ephlvm create u --flavor f --size 0", "size \"0\" is zero" },
		{ "ephlvm create u --flavor f --size -1", "\"-1\" is not a size" },
		{ "ephlvm create u --flavor f --size 95%VG", "\"95%VG\" is not a size" },
		{ "ephlvm create u --flavor f --size 9223372036854775808",
		  "size \"9223372036854775808\" is too large" },
		{ "ephlvm delete", "\"delete\" needs UUID" },
		{ "ephlvm attach", "\"attach\" needs UUID" },
		{ "ephlvm detach a b", "unexpected argument \"b\"" },
		{ "ephlvm activate", "give the UUID of an instance, or --all" },
		{ "ephlvm activate u --all", "give the UUID of an instance, or --all" },
		{ "ephlvm xml add", "give the UUID of an instance, or --source" },
		{ "ephlvm xml add u --source /dev/a/b", "give an instance or --source, not both" },
		{ "ephlvm xml add u --target vdc", "--target, --bus and --serial need --source" },
		{ "ephlvm pool init", "give devices, --loop, or --vg to take over a volume group" },
		{ "ephlvm pool init --loop /f", "--loop and --size go together" },
		{ "ephlvm pool init --size 1G /dev/a", "--loop and --size go together" },
		{ "ephlvm pool init --loop /f --size 1G /dev/a",
		  "give devices or --loop, not both" },
		{ "ephlvm pool init --vg v --wipe=S", "--wipe needs devices" },
		{ "ephlvm pool show a b", "unexpected argument \"b\"" },
		{ "ephlvm flavor show", "\"flavor show\" needs FLAVOR" },
		{ "ephlvm flavor list --openstack --json",
		  "\"--openstack\" and \"--json\" exclude each other" },
		{ "ephlvm list --json -o vg", "\"--output\" and \"--json\" exclude each other" },
		{ "ephlvm config", "\"config\" needs a second word" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		_cleanup_run_ struct cli_run run = { .main_fn = cli_main, .input = "y\n" };
		bool json = strstr(bad[i].line, "--json") != NULL;
		char expected[256];

		cli_run(&run, bad[i].line);
		snprintf(expected, sizeof(expected), "ephlvm: %s\n", bad[i].message);
		if (run.code != 2 || (!json && !strstr(run.err, expected)))
			fail_msg("%s: code %d: %s", bad[i].line, run.code, run.err);
		assert_int_equal(count(run.err, "ephlvm: "), json ? 0 : 1);
		assert_int_equal(count(run.err, "\"error\""), json ? 1 : 0);
		assert_string_equal(run.out, "");
		/* The configuration path is the only thing a mistake may have reached. */
		assert_null(strstr(fake.calls, "flags"));
		fake_reset();
	}
}

static void close_words_are_suggested(void **state)
{
	static const struct {
		const char *line, *word;
	} cases[] = {
		{ "ephlvm lsit", "did you mean \"list\"?" },
		{ "ephlvm delet u", "did you mean \"delete\"?" },
		{ "ephlvm pool inti", "did you mean \"pool init\"?" },
		{ "ephlvm frobnicate", "see \"ephlvm help\"" },
		{ "ephlvm x", "see \"ephlvm help\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_run_ struct cli_run run = { .main_fn = cli_main };

		cli_run(&run, cases[i].line);
		if (!strstr(run.err, cases[i].word))
			fail_msg("%s: %s", cases[i].line, run.err);
	}
}

static void arguments_reach_the_library(void **state)
{
	static const struct {
		const char *line, *call;
	} good[] = {
		{ "ephlvm create u --flavor f",
		  "create u flags=0 flavor=f boot=0 size=0 fs=- pool=- domain=- disks=\n" },
		{ "ephlvm create --flavor=f --instance u --boot image --disk eph0 --disk eph1 --size "
		  "3G --fs xfs --pool p --domain d --dry-run",
		  "create u flags=1 flavor=f boot=1 size=3221225472 fs=xfs pool=p domain=d "
		  "disks=eph0,eph1,\n" },
		{ "ephlvm create --flavor f -- -u",
		  "create -u flags=0 flavor=f boot=0 size=0 fs=- pool=- domain=- disks=\n" },
		{ "ephlvm create u --flavor f --size 1073741825",
		  "create u flags=0 flavor=f boot=0 size=1073741825 fs=- pool=- domain=- disks=\n" },
		{ "ephlvm list", "list instance=- pool=- states=0 name=-\n" },
		{ "ephlvm list --pool p --instance u --state ready --state trash",
		  "list instance=u pool=p states=6 name=-\n" },
		{ "ephlvm --config /c list", "config_path /c\nlist " },
		{ "ephlvm list --config /c", "config_path /c\nlist " },
		{ "ephlvm show u", "list instance=u pool=- states=0 name=-\n" },
		{ "ephlvm show vg/lv", "list instance=- pool=- states=0 name=vg/lv\n" },
		{ "ephlvm show /dev/vg/lv", "list instance=- pool=- states=0 name=vg/lv\n" },
		{ "ephlvm delete u --yes", "delete u flags=0 disks=\n" },
		{ "ephlvm delete -y u --disk eph0 --domain-gone --wait",
		  "delete u flags=6 disks=eph0,\n" },
		{ "ephlvm delete u --dry-run", "delete u flags=1 disks=\n" },
		{ "ephlvm purge", "purge flags=0 method=- verify=- rate=0 names=\n" },
		{ "ephlvm purge u /dev/vg/lv --dry-run",
		  "purge flags=1 method=- verify=- rate=0 names=u,vg/lv,\n" },
		{ "ephlvm purge --rate 500M --method shred --verify=full",
		  "purge flags=0 method=shred verify=full rate=524288000 names=\n" },
		{ "ephlvm restore u", "restore u flags=0\n" },
		{ "ephlvm restore /dev/vg/lv --dry-run", "restore vg/lv flags=1\n" },
		{ "ephlvm hold u", "hold u flags=0 release=0\n" },
		{ "ephlvm unhold /dev/vg/lv --dry-run", "hold vg/lv flags=1 release=1\n" },
		{ "ephlvm receipts", "receipts -\n" },
		{ "ephlvm receipts u", "receipts u\n" },
		{ "ephlvm attach u --domain d --target auto",
		  "attach u domain=d target=auto flags=0\n" },
		{ "ephlvm detach u --dry-run", "detach u domain=- target=- flags=1\n" },
		{ "ephlvm activate --all", "activate - flags=8\n" },
		{ "ephlvm activate u --dry-run", "activate u flags=1\n" },
		{ "ephlvm xml add --source /dev/a/b --target vdc --bus virtio --serial s",
		  "xml_add /dev/a/b target=vdc bus=virtio serial=s\n" },
		{ "ephlvm xml remove --source /dev/a/b", "xml_remove /dev/a/b target=-\n" },
		{ "ephlvm xml add u", "instance_xml_add u\n" },
		{ "ephlvm xml remove u", "instance_xml_remove u\n" },
		{ "ephlvm pool init /dev/a /dev/b --yes",
		  "pool_init flags=0 pool=- vg=- loop=- loop_bytes=0 no_erase=0 "
		  "devices=/dev/a,/dev/b, serials=\n" },
		{ "ephlvm pool init --yes --wipe=S1 --wipe=S2 /dev/a --pool p --vg v --no-erase",
		  "pool_init flags=0 pool=p vg=v loop=- loop_bytes=0 no_erase=1 devices=/dev/a, "
		  "serials=S1,S2,\n" },
		{ "ephlvm pool init --yes --loop /f --size 8G",
		  "pool_init flags=0 pool=- vg=- loop=/f loop_bytes=8589934592 no_erase=0 devices= "
		  "serials=\n" },
		{ "ephlvm pool init --yes --vg v",
		  "pool_init flags=0 pool=- vg=v loop=- loop_bytes=0 no_erase=0 devices= "
		  "serials=\n" },
		{ "ephlvm pool init --dry-run /dev/a",
		  "pool_init flags=1 pool=- vg=- loop=- loop_bytes=0 no_erase=0 devices=/dev/a, "
		  "serials=\n" },
		{ "ephlvm pool init --dry-run --wipe /dev/a",
		  "device_serial /dev/a\npool_init flags=1 pool=- vg=- loop=- loop_bytes=0 "
		  "no_erase=0 devices=/dev/a, serials=S1,\n" },
		{ "ephlvm pool show", "pool_list -\n" },
		{ "ephlvm pool show p", "pool_list p\n" },
		{ "ephlvm pool scrub p --dry-run", "pool_scrub p flags=1\n" },
		{ "ephlvm flavor list", "flavor_count\n" },
		{ "ephlvm flavor show f", "flavor_find f\n" },
		{ "ephlvm config check", "config_check\n" },
		{ "ephlvm config show", "config_show\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		_cleanup_run_ struct cli_run run = { .main_fn = cli_main };

		fake_reset();
		fake.serial = "S1";
		fake.n_volumes = 1;
		fake.volumes[0] = (struct ephlvm_volume){ .vg = "vg", .lv = "lv", .path = "/p" };
		fake.flavors[0] = (struct ephlvm_flavor){ .name = "f" };
		cli_run(&run, good[i].line);
		if (run.code != 0 || strncmp(fake.calls, good[i].call, strlen(good[i].call)) != 0)
			fail_msg("%s: code %d\n%s%s", good[i].line, run.code, fake.calls, run.err);
	}
}

static void sizes_of_the_public_header(void **state)
{
	char text[EPHLVM_SIZE_TEXT];
	uint64_t bytes = 42;

	(void)state;
	assert_int_equal(ephlvm_size_parse("25G", &bytes), 0);
	assert_true(bytes == 25ULL << 30);
	assert_int_equal(ephlvm_size_parse("25GB", &bytes), -EPROTO);
	assert_int_equal(ephlvm_size_parse("", &bytes), -EINVAL);
	assert_int_equal(ephlvm_size_parse("9223372036854775808", &bytes), -ERANGE);
	assert_int_equal(ephlvm_size_parse(NULL, &bytes), -EINVAL);
	assert_true(bytes == 25ULL << 30);
	assert_string_equal(ephlvm_size_format(25ULL << 30, text), "25 GiB");
	assert_string_equal(ephlvm_size_format(UINT64_MAX, text), "15.99 EiB");
}

/* Options may stand behind operands, whatever the caller's environment says. */
static void posixly_correct_changes_nothing(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main };

	(void)state;
	setenv("POSIXLY_CORRECT", "1", 1);
	cli_run(&run, "ephlvm purge u --dry-run");
	unsetenv("POSIXLY_CORRECT");
	assert_int_equal(run.code, 0);
	assert_string_equal(fake.calls, "purge flags=1 method=- verify=- rate=0 names=u,\n");
}

static void hostile_arguments_are_escaped(void **state)
{
	static const char *const argv[] = { "ephlvm", "\033[2Jlist\nx\xff", NULL };
	static const char *const option[] = { "ephlvm", "list", "--\033]0;x", NULL };
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main }, second = run;

	(void)state;
	cli_run_argv(&run, argv);
	assert_int_equal(run.code, 2);
	assert_null(strchr(run.err, '\033'));
	assert_non_null(strstr(run.err, "unknown command \"\\x1b[2Jlist\\x0ax\\xff\"\n"));
	cli_run_argv(&second, option);
	assert_int_equal(second.code, 2);
	assert_null(strchr(second.err, '\033'));
	assert_non_null(strstr(second.err, "\\x1b]0;x"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(every_help_names_every_option, setup),
		cmocka_unit_test_setup(table_is_sound, setup),
		cmocka_unit_test_setup(help_in_all_its_forms, setup),
		cmocka_unit_test_setup(mistakes_exit_2_with_one_error, setup),
		cmocka_unit_test_setup(close_words_are_suggested, setup),
		cmocka_unit_test_setup(arguments_reach_the_library, setup),
		cmocka_unit_test(sizes_of_the_public_header),
		cmocka_unit_test_setup(posixly_correct_changes_nothing, setup),
		cmocka_unit_test_setup(hostile_arguments_are_escaped, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
