// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test_cli_alloc.c - each allocation of the command, and each call into json-c and libsmartcols
 * that allocates, fails in turn: the output is then complete with exit code 0, or the exit code is
 * 1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include <json-c/json.h>
#include <libsmartcols.h>

#include "../../cli/cli.h"
#include "../unit/failing_alloc.h"
#include "cli_run.h"
#include "fake_ephlvm.h"

/* Shared with the child: what to break there, and whether it came to that. */
static struct shared {
	bool libraries; /* calls into json-c and libsmartcols, not allocations */
	unsigned int nth;
	bool armed, reached;
} * shared;

static bool fails(void)
{
	if (!shared->armed || !shared->libraries || shared->reached || shared->nth-- > 0)
		return false;
	shared->reached = true;
	return true;
}

#define WRAP(type, failure, name, parameters, arguments) \
	type __real_##name parameters;                   \
	type __wrap_##name parameters;                   \
	type __wrap_##name parameters                    \
	{                                                \
		if (fails())                             \
			return failure;                  \
		return __real_##name arguments;          \
	}

WRAP(struct json_object *, NULL, json_object_new_object, (void), ())
WRAP(struct json_object *, NULL, json_object_new_array, (void), ())
WRAP(struct json_object *, NULL, json_object_new_string, (const char *s), (s))
WRAP(struct json_object *, NULL, json_object_new_uint64, (uint64_t n), (n))
WRAP(struct json_object *, NULL, json_object_new_int, (int32_t n), (n))
WRAP(struct json_object *, NULL, json_object_new_boolean, (json_bool b), (b))
WRAP(int, -1, json_object_object_add,
     (struct json_object * o, const char *key, struct json_object *value), (o, key, value))
WRAP(int, -1, json_object_array_add, (struct json_object * o, struct json_object *value),
     (o, value))
WRAP(const char *, NULL, json_object_to_json_string_ext, (struct json_object * o, int flags),
     (o, flags))
WRAP(struct libscols_table *, NULL, scols_new_table, (void), ())
WRAP(struct libscols_column *, NULL, scols_table_new_column,
     (struct libscols_table * t, const char *name, double width, int flags),
     (t, name, width, flags))
WRAP(struct libscols_line *, NULL, scols_table_new_line,
     (struct libscols_table * t, struct libscols_line *parent), (t, parent))
WRAP(int, -1, scols_line_refer_data, (struct libscols_line * l, size_t n, char *data), (l, n, data))

static int breaking_main(int argc, char **argv)
{
	int code;

	shared->armed = true;
	shared->reached = false;
	if (!shared->libraries)
		failing_alloc_arm(shared->nth);
	code = cli_main(argc, argv);
	if (!shared->libraries)
		shared->reached = failing_alloc_disarm();
	return code;
}

/* Break the first, the second ... until one is not reached any more; how many there were. */
static unsigned int break_all(const char *line, bool libraries, const char *good)
{
	for (unsigned int n = 0;; n++) {
		_cleanup_run_ struct cli_run run = { .main_fn = breaking_main };

		shared->libraries = libraries;
		shared->nth = n;
		cli_run(&run, line);
		shared->armed = false;
		if (!shared->reached) {
			assert_int_equal(run.code, 0);
			return n;
		}
		if (run.code != 1 && (run.code != 0 || strcmp(run.out, good) != 0))
			fail_msg("%s: number %u: code %d\n%s%s", line, n, run.code, run.out,
				 run.err);
		assert_true(run.code == 0 || *run.err);
	}
}

static void every_failure_is_noticed(void **state)
{
	static const char *const lines[] = {
		"ephlvm list --json",
		"ephlvm list -o lv,warnings,erase",
		"ephlvm show u",
		"ephlvm create u --flavor f --disk eph0 --json",
		"ephlvm create u --flavor f --dry-run",
		"ephlvm purge u",
		"ephlvm purge --json",
		"ephlvm pool init --yes --wipe=S /dev/a --json",
		"ephlvm flavor list --openstack",
		"ephlvm xml add --source /dev/a/b",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		_cleanup_run_ struct cli_run good = { .main_fn = cli_main };

		cli_run(&good, lines[i]);
		assert_int_equal(good.code, 0);
		assert_true(break_all(lines[i], false, good.out) > 2);
		break_all(lines[i], true, good.out);
	}
}

static int setup(void **state)
{
	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		return -1;
	fake_reset();
	fake.volumes[0] = (struct ephlvm_volume){ .vg = "vg",
						  .lv = "lv",
						  .path = "/dev/vg/lv",
						  .erase_method = "zero",
						  .fail_errno = 5,
						  .changed_at = 1,
						  .warnings = { "a", "b" } };
	fake.n_volumes = 1;
	fake.purged[0].message = "m";
	fake.pools[0] = (struct ephlvm_pool){ .name = "p", .vg = "v", .devices = { "/dev/a" } };
	fake.n_pools = 1;
	fake.flavors[0] = (struct ephlvm_flavor){ .name = "f", .root_bytes = 1 };
	fake.n_flavors = 1;
	fake.actions[0] = (struct ephlvm_action){ .verb = "erase", .subject = "vg/lv" };
	fake.n_actions = 1;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_failure_is_noticed),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
