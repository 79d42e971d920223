// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test_command.c - the command as it is built, over the real library: everything that needs neither
 * LVM nor root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <json-c/json.h>

#include "cli_run.h"
#include "json_schema.h"

static const char *program;

static const char domain[] = "<domain type='kvm'>\n"
			     "  <name>a</name>\n"
			     "  <os><type>hvm</type></os>\n"
			     "  <devices>\n"
			     "    <disk type='file' device='disk'>\n"
			     "      <source file='/a'/>\n"
			     "      <target dev='vda' bus='virtio'/>\n"
			     "    </disk>\n"
			     "  </devices>\n"
			     "</domain>\n";

static void assert_fits(const char *name, const char *text)
{
	char path[512], why[512];
	char *schema;

	snprintf(path, sizeof(path), "%s/docs/schema/%s.json", SOURCE_DIR, name);
	schema = cli_read_file(path);
	assert_non_null(schema);
	if (json_schema_check(schema, text, why, sizeof(why)))
		fail_msg("%s: %s\n%s", name, why, text);
	free(schema);
}

static void version(void **state)
{
	_cleanup_run_ struct cli_run run = { .program = program }, json = run;

	(void)state;
	cli_run(&run, "ephlvm version");
	assert_int_equal(run.code, 0);
	assert_int_equal(strncmp(run.out, "ephlvm 0.", 9), 0);
	cli_run(&json, "ephlvm version --json");
	assert_fits("version", json.out);
}

static void xml_round_trip(void **state)
{
	_cleanup_run_ struct cli_run add = { .program = program, .input = domain };
	_cleanup_run_ struct cli_run again = { .program = program };
	_cleanup_run_ struct cli_run gone = { .program = program };

	(void)state;
	cli_run(&add, "ephlvm xml add --source /dev/ephlvm/a_disk.eph0");
	assert_int_equal(add.code, 0);
	assert_string_equal(add.err, "");
	assert_non_null(strstr(add.out, "vdb"));
	assert_non_null(strstr(add.out, "/dev/ephlvm/a_disk.eph0"));
	again.input = gone.input = add.out;
	cli_run(&again, "ephlvm xml add --source /dev/ephlvm/a_disk.eph0");
	assert_int_equal(again.code, 0);
	assert_string_equal(again.out, add.out);
	cli_run(&gone, "ephlvm xml remove --source /dev/ephlvm/a_disk.eph0");
	assert_int_equal(gone.code, 0);
	assert_string_equal(gone.out, domain);
}

static void refused_documents_print_nothing(void **state)
{
	static const struct {
		const char *line, *input;
		int code;
	} cases[] = {
		{ "ephlvm xml add --source /dev/v/l", "", 2 },
		{ "ephlvm xml add --source /dev/v/l", "<domain type='kvm'", 2 },
		{ "ephlvm xml add --source /dev/v/l", "<!DOCTYPE domain><domain/>", 2 },
		{ "ephlvm xml add --source relative", domain, 2 },
		{ "ephlvm xml add --source /dev/v/l --bus floppy", domain, 2 },
		{ "ephlvm xml add --source /dev/v/l --target vda", domain, 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_run_ struct cli_run run = { .program = program, .input = cases[i].input };
		_cleanup_run_ struct cli_run json = run;
		char line[128];

		cli_run(&run, cases[i].line);
		if (run.code != cases[i].code)
			fail_msg("%s: code %d: %s", cases[i].line, run.code, run.err);
		assert_int_equal(run.out_bytes, 0);
		assert_int_equal(strncmp(run.err, "ephlvm: ", 8), 0);
		snprintf(line, sizeof(line), "%s --json", cases[i].line);
		cli_run(&json, line);
		assert_int_equal(json.code, cases[i].code);
		assert_fits("error", json.err);
	}
}

static void flavors(void **state)
{
	static const char *const lines[] = { "cc.micro", "cc.small",  "cc.medium",
					     "cc.large", "cc.xlarge", "cc.2xlarge" };
	_cleanup_run_ struct cli_run list = { .program = program }, json = list, openstack = list;
	_cleanup_run_ struct cli_run unknown = list;

	(void)state;
	cli_run(&list, "ephlvm flavor list");
	assert_int_equal(list.code, 0);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_non_null(strstr(list.out, lines[i]));
	cli_run(&json, "ephlvm flavor list --json");
	assert_fits("flavors", json.out);
	cli_run(&openstack, "ephlvm flavor list --openstack");
	assert_non_null(strstr(openstack.out,
			       "openstack flavor create --vcpus 16 --ram 16384 --disk 100 "
			       "--ephemeral 200 --swap 0 --public cc.2xlarge\n"));
	cli_run(&unknown, "ephlvm flavor show nonsense");
	assert_int_equal(unknown.code, 3);
	assert_string_equal(unknown.out, "");
}

/* Keys of the configuration, down to where the names of flavors begin. */
static void keys_are_in_page(const char *page, struct json_object *object)
{
	json_object_object_foreach(object, key, value)
	{
		if (!strstr(page, key))
			fail_msg("ephlvm.json(5) does not describe \"%s\"", key);
		if (strcmp(key, "flavors") == 0) {
			json_object_object_foreach(value, name, flavor)
			{
				(void)name;
				keys_are_in_page(page, flavor);
			}
		} else if (json_object_is_type(value, json_type_object)) {
			keys_are_in_page(page, value);
		}
	}
}

static void every_configuration_key_is_described(void **state)
{
	_cleanup_run_ struct cli_run run = { .program = program };
	char *page = cli_read_file(SOURCE_DIR "/docs/man/ephlvm.json.5");
	struct json_object *config;

	(void)state;
	assert_non_null(page);
	cli_run(&run, "ephlvm config show");
	assert_int_equal(run.code, 0);
	config = json_tokener_parse(run.out);
	assert_non_null(config);
	keys_are_in_page(page, config);
	json_object_put(config);
	free(page);
}

static void a_missing_configuration_is_not_found(void **state)
{
	_cleanup_run_ struct cli_run run = { .program = program }, json = run, relative = run;

	(void)state;
	cli_run(&run, "ephlvm config check --config /nonexistent/ephlvm.json");
	assert_int_equal(run.code, 3);
	cli_run(&json, "ephlvm --config /nonexistent/ephlvm.json config check --json");
	assert_int_equal(json.code, 3);
	assert_fits("error", json.err);
	cli_run(&relative, "ephlvm config check --config ephlvm.json");
	assert_int_equal(relative.code, 2);
}

static void hostile_names_come_back_escaped(void **state)
{
	static const char *const argv[] = { "ephlvm", "flavor", "show", "a\033[2J\nb", NULL };
	_cleanup_run_ struct cli_run run = { .program = program };

	(void)state;
	cli_run_argv(&run, argv);
	assert_int_equal(run.code, 3);
	assert_null(strchr(run.err, '\033'));
	assert_non_null(strstr(run.err, "\\x1b[2J\\x0ab"));
}

/* The number of a closed stream must not go to a device, and what is lost must be noticed. */
static void closed_output_is_an_error(void **state)
{
	_cleanup_run_ struct cli_run run = { .program = program, .stdout_closed = true };

	(void)state;
	cli_run(&run, "ephlvm version");
	assert_int_equal(run.code, 1);
	assert_non_null(strstr(run.err, "cannot write the output"));
}

static void full_output_is_an_error(void **state)
{
	_cleanup_run_ struct cli_run run = { .program = program, .stdout_path = "/dev/full" };

	(void)state;
	cli_run(&run, "ephlvm flavor list");
	assert_int_equal(run.code, 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version),
		cmocka_unit_test(xml_round_trip),
		cmocka_unit_test(refused_documents_print_nothing),
		cmocka_unit_test(flavors),
		cmocka_unit_test(every_configuration_key_is_described),
		cmocka_unit_test(a_missing_configuration_is_not_found),
		cmocka_unit_test(hostile_names_come_back_escaped),
		cmocka_unit_test(closed_output_is_an_error),
		cmocka_unit_test(full_output_is_an_error),
	};

	if (argc != 2)
		return 2;
	program = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
