// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_cli_output.c - tables, JSON against its schema, errors and exit codes, progress. */
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
#include "json_schema.h"

static const struct ephlvm_volume ready_volume = {
	.vg = "ephlvm",
	.lv = "5a7e_disk.eph0",
	.path = "/dev/ephlvm/5a7e_disk.eph0",
	.lv_uuid = "aaaa",
	.instance = "5a7e",
	.disk = "eph0",
	.flavor = "cc.small",
	.state = EPHLVM_STATE_READY,
	.pool = "ephlvm",
	.kind = "thick",
	.layout = "linear",
	.size_bytes = 25ULL << 30,
	.requested_bytes = 25ULL << 30,
	.fs = "ext4",
	.label = "ephemeral0",
	.active = true,
	.changed_at = 1800000000,
	.pe_ranges = "/dev/nvme0n1:0-6399",
};

static const struct ephlvm_volume trash_volume = {
	.vg = "ephlvm",
	.lv = "trash-1",
	.path = "/dev/ephlvm/trash-1",
	.lv_uuid = "bbbb",
	.state = EPHLVM_STATE_TRASH,
	.size_bytes = 1536ULL << 20,
	.erase_method = "zero",
	.erase_pass = 1,
	.erase_passes = 2,
	.erase_done_bytes = 1ULL << 30,
	.fail_errno = EIO,
	.fail_bytes = 1ULL << 30,
	.warnings = { "partial", "stale" },
};

#define RECEIPT                                                                                                      \
	"{\"schema\":1,\"started_at\":\"2026-12-01T00:00:00Z\",\"ended_at\":\"2026-12-01T00:01:00Z\","               \
	"\"vg\":\"vg\",\"lv\":\"trash-1\",\"vg_uuid\":\"v\",\"lv_uuid\":\"l\",\"instance\":\"i\",\"disk\":\"eph0\"," \
	"\"flavor\":null,\"pool\":\"p\",\"method\":\"zero\",\"means\":\"pwrite\",\"size_bytes\":1,\"passes\":1,"     \
	"\"written_bytes\":1,\"resumed_bytes\":0,\"drives\":[\"S1\",\"S2\"],"                                        \
	"\"verify\":{\"mode\":\"sample\",\"bytes\":1,\"places\":1},"                                                 \
	"\"caller\":{\"uid\":0,\"login_uid\":null,\"pid\":1,\"command\":\"ephlvm\"},\"prev\":\"00\"}"

static int setup(void **state)
{
	(void)state;
	fake_reset();
	fake.volumes[0] = ready_volume;
	fake.volumes[1] = trash_volume;
	fake.n_volumes = 2;
	fake.purged[0] = (struct ephlvm_purged){ .result = EPHLVM_PURGE_FREED,
						 .erased_bytes = 25ULL << 30,
						 .receipt = RECEIPT };
	fake.receipts[0] = fake.receipts[1] = RECEIPT;
	fake.purged[1] = (struct ephlvm_purged){ .result = EPHLVM_PURGE_FAILED,
						 .errnum = EIO,
						 .message = "read error" };
	fake.pools[0] = (struct ephlvm_pool){
		.name = "ephlvm",
		.vg = "ephlvm",
		.vg_uuid = "cccc",
		.size_bytes = 1ULL << 40,
		.free_bytes = 1ULL << 39,
		.volumes = 3,
		.devices = { "/dev/nvme0n1", "/dev/nvme1n1" },
	};
	fake.n_pools = 1;
	fake.flavors[0] = (struct ephlvm_flavor){
		.name = "cc.small",
		.vcpus = 4,
		.ram_bytes = 2ULL << 30,
		.root_bytes = 25ULL << 30,
		.ephemeral_bytes = 25ULL << 30,
		.builtin = true,
	};
	fake.n_flavors = 1;
	fake.actions[0] =
		(struct ephlvm_action){ .verb = "erase", .subject = "vg/a", .bytes = 4096 };
	fake.actions[1] = (struct ephlvm_action){ .verb = "remove", .subject = "vg/a" };
	fake.n_actions = 2;
	return 0;
}

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

static void json_fits_its_schema(void **state)
{
	static const struct {
		const char *line, *schema;
	} cases[] = {
		{ "ephlvm list --json", "volumes" },
		{ "ephlvm show 5a7e --json", "volumes" },
		{ "ephlvm create 5a7e --flavor f --json", "volumes" },
		{ "ephlvm create 5a7e --flavor f --json --dry-run", "actions" },
		{ "ephlvm delete 5a7e --yes --json", "actions" },
		{ "ephlvm delete 5a7e --dry-run --json", "actions" },
		{ "ephlvm purge --json", "purge" },
		{ "ephlvm purge --json --dry-run", "purge" },
		{ "ephlvm restore 5a7e --json", "volumes" },
		{ "ephlvm hold 5a7e --json", "actions" },
		{ "ephlvm unhold 5a7e --json --dry-run", "actions" },
		{ "ephlvm receipts --json", "receipts" },
		{ "ephlvm activate --all --json", "actions" },
		{ "ephlvm attach 5a7e --json", "actions" },
		{ "ephlvm detach 5a7e --json --dry-run", "actions" },
		{ "ephlvm pool init /dev/a --yes --json", "pools" },
		{ "ephlvm pool init /dev/a --dry-run --json", "actions" },
		{ "ephlvm pool show --json", "pools" },
		{ "ephlvm pool scrub --json", "actions" },
		{ "ephlvm flavor list --json", "flavors" },
		{ "ephlvm flavor show cc.small --json", "flavors" },
		{ "ephlvm config check --json", "config-check" },
		{ "ephlvm version --json", "version" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_run_ struct cli_run run = { .main_fn = cli_main };

		cli_run(&run, cases[i].line);
		if (run.code != 0)
			fail_msg("%s: code %d: %s", cases[i].line, run.code, run.err);
		assert_fits(cases[i].schema, run.out);
		assert_string_equal(run.err, "");
	}
}

static void schema_check_can_fail(void **state)
{
	static const char schema[] =
		"{\"type\":\"object\",\"required\":[\"a\"],\"properties\":{\"a\":{\"type\":"
		"[\"integer\",\"null\"]}},\"additionalProperties\":false}";
	char why[128];

	(void)state;
	assert_null(json_schema_check(schema, "{\"a\":1}", why, sizeof(why)));
	assert_null(json_schema_check(schema, "{\"a\":null}", why, sizeof(why)));
	assert_non_null(json_schema_check(schema, "{\"a\":\"1\"}", why, sizeof(why)));
	assert_non_null(json_schema_check(schema, "{}", why, sizeof(why)));
	assert_non_null(json_schema_check(schema, "{\"a\":1,\"b\":1}", why, sizeof(why)));
	assert_non_null(json_schema_check("{\"minimum\":1}", "{}", why, sizeof(why)));
}

/* What the schema cannot say: values arrive where they belong. */
static void json_carries_the_values(void **state)
{
	static const char *const parts[] = {
		"\"size_bytes\": 26843545600",
		"\"changed_at\": \"2027-01-15T08:00:00Z\"",
		"\"changed_at\": null",
		"\"instance\": null",
		"\"erase\": null",
		"\"method\": \"zero\"",
		"\"done_bytes\": 1073741824",
		"\"warnings\": [\n      ]",
		"\"path\": \"/dev/ephlvm/trash-1\"",
		"\"active\": true",
	};
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main };

	(void)state;
	cli_run(&run, "ephlvm list --json");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!strstr(run.out, parts[i]))
			fail_msg("no %s in %s", parts[i], run.out);
}

static void an_empty_list_is_an_empty_array(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main }, table = run;

	(void)state;
	fake.n_volumes = 0;
	cli_run(&run, "ephlvm list --json");
	assert_int_equal(run.code, 0);
	assert_non_null(strstr(run.out, "\"volumes\": [\n  ]"));
	cli_run(&table, "ephlvm list");
	assert_int_equal(table.code, 0);
	assert_string_equal(table.out, "");
}

static void tables_have_columns(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main }, chosen = run, bare = run;

	(void)state;
	cli_run(&run, "ephlvm list");
	assert_int_equal(run.code, 0);
	assert_int_equal(strncmp(run.out, "INSTANCE", 8), 0);
	assert_non_null(strstr(run.out, "25 GiB"));
	assert_non_null(strstr(run.out, "partial,stale"));
	cli_run(&chosen, "ephlvm list -o lv,erase,failure,pe_ranges");
	assert_string_equal(chosen.out,
			    "LV             ERASE          FAILURE                     "
			    "EXTENTS\n"
			    "5a7e_disk.eph0 -              -                           "
			    "/dev/nvme0n1:0-6399\n"
			    "trash-1        zero 1/2 1 GiB Input/output error at 1 GiB -\n");
	cli_run(&bare, "ephlvm list --noheadings -o lv,state");
	assert_string_equal(bare.out, "5a7e_disk.eph0 ready\ntrash-1        trash\n");
}

static void create_prints_a_path_a_line(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main };

	(void)state;
	cli_run(&run, "ephlvm create 5a7e --flavor cc.small");
	assert_int_equal(run.code, 0);
	assert_string_equal(run.out, "/dev/ephlvm/5a7e_disk.eph0\n/dev/ephlvm/trash-1\n");
	assert_string_equal(run.err, "");
}

static void show_of_nothing_is_not_found(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main };

	(void)state;
	fake.n_volumes = 0;
	cli_run(&run, "ephlvm show 5a7e");
	assert_int_equal(run.code, 3);
	assert_string_equal(run.out, "");
}

static void dry_run_prints_the_plan(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main };

	(void)state;
	cli_run(&run, "ephlvm delete 5a7e --dry-run");
	assert_int_equal(run.code, 0);
	assert_string_equal(run.out, "ACTION SUBJECT  SIZE\nerase  vg/a    4 KiB\n"
				     "remove vg/a      0 B\n");
}

/* Programs compare the two: the plan is what the real run did. */
static void plan_equals_real_run(void **state)
{
	_cleanup_run_ struct cli_run plan = { .main_fn = cli_main }, real = plan;
	const char *a, *b;

	(void)state;
	cli_run(&plan, "ephlvm create 5a7e --flavor f --json --dry-run");
	cli_run(&real, "ephlvm create 5a7e --flavor f --json");
	a = strstr(plan.out, "\"actions\"");
	b = strstr(real.out, "\"actions\"");
	assert_non_null(a);
	assert_non_null(b);
	assert_string_equal(a, b);
}

static void purge_reports_also_when_it_fails(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main }, json = run;

	(void)state;
	fake.kind = EPHLVM_ERROR_PARTIAL;
	fake.errnum = EREMOTEIO;
	fake.message = "1 of 2 volumes could not be erased";
	cli_run(&run, "ephlvm purge");
	assert_int_equal(run.code, 8);
	assert_non_null(strstr(run.out, "freed"));
	assert_non_null(strstr(run.out, "read error"));
	assert_string_equal(run.err, "ephlvm: 1 of 2 volumes could not be erased\n");
	cli_run(&json, "ephlvm purge --json");
	assert_int_equal(json.code, 8);
	assert_fits("purge", json.out);
	assert_fits("error", json.err);
	assert_non_null(strstr(json.out, "\"result\": \"failed\""));
}

static void flavors_as_horizon_and_openstack_want_them(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main }, commands = run;

	(void)state;
	fake.flavors[1] = (struct ephlvm_flavor){ .name = "it's $(bad)",
						  .vcpus = 1,
						  .ram_bytes = (1ULL << 20) + 1,
						  .root_bytes = (1ULL << 30) + 1 };
	fake.flavors[2] = (struct ephlvm_flavor){ .name = "-x" };
	fake.n_flavors = 3;
	cli_run(&run, "ephlvm flavor list");
	assert_int_equal(strncmp(run.out,
				 "Flavor Name VCPUs   RAM Root Disk Ephemeral Disk Swap Disk "
				 "RX/TX factor ID",
				 74),
			 0);
	cli_run(&commands, "ephlvm flavor list --openstack");
	assert_string_equal(commands.out,
			    "openstack flavor create --vcpus 4 --ram 2048 --disk 25 --ephemeral 25 "
			    "--swap 0 --public cc.small\n"
			    "openstack flavor create --vcpus 1 --ram 2 --disk 2 --ephemeral 0 "
			    "--swap 0 --public 'it'\\''s $(bad)'\n"
			    "openstack flavor create --vcpus 0 --ram 0 --disk 0 --ephemeral 0 "
			    "--swap 0 --public -- -x\n");
	assert_non_null(strstr(commands.err, "ephlvm: warning: flavor \"it's $(bad)\""));
}

static void error_kinds_become_exit_codes(void **state)
{
	static const struct {
		enum ephlvm_error_kind kind;
		int code;
		const char *name;
	} cases[] = {
		{ EPHLVM_ERROR_INTERNAL, 1, "internal" },
		{ EPHLVM_ERROR_INVALID, 2, "invalid" },
		{ EPHLVM_ERROR_NOT_FOUND, 3, "not_found" },
		{ EPHLVM_ERROR_BUSY, 4, "busy" },
		{ EPHLVM_ERROR_NO_SPACE, 5, "no_space" },
		{ EPHLVM_ERROR_PERMISSION, 6, "permission" },
		{ EPHLVM_ERROR_SYSTEM, 7, "system" },
		{ EPHLVM_ERROR_PARTIAL, 8, "partial" },
		{ EPHLVM_ERROR_CANCELLED, 1, "cancelled" },
		/* a library that fails without saying so, and one that is newer */
		{ EPHLVM_ERROR_NONE, 1, "internal" },
		{ (enum ephlvm_error_kind)99, 1, "internal" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_run_ struct cli_run run = { .main_fn = cli_main };
		char kind[64];

		fake.kind = cases[i].kind;
		fake.errnum = EIO;
		fake.message = "it failed";
		cli_run(&run, "ephlvm list --json");
		assert_int_equal(run.code, cases[i].code);
		assert_string_equal(run.out, "");
		assert_fits("error", run.err);
		snprintf(kind, sizeof(kind), "\"kind\":\"%s\"", cases[i].name);
		assert_non_null(strstr(run.err, kind));
	}
}

static void errors_are_told_with_hint_and_last_words(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main }, json = run;

	(void)state;
	fake.kind = EPHLVM_ERROR_SYSTEM;
	fake.errnum = EIO;
	fake.stage = "read";
	fake.subject = "ephlvm";
	fake.message = "lvm failed";
	fake.hint = "look at the drive";
	fake.detail = "first line\n\nlast line\n";
	fake.child_status = 5;
	cli_run(&run, "ephlvm list");
	assert_string_equal(run.err, "ephlvm: lvm failed\nhint: look at the drive\n  first line\n"
				     "  last line\n");
	cli_run(&json, "ephlvm list --json");
	assert_string_equal(
		json.err,
		"{\"schema\":1,\"error\":{\"kind\":\"system\",\"errno\":5,\"exit\":7,\"stage\":"
		"\"read\",\"subject\":\"ephlvm\",\"message\":\"lvm failed\",\"hint\":\"look at the "
		"drive\",\"detail\":\"first line\\n\\nlast line\\n\",\"child_status\":5}}\n");
}

static void warnings_go_to_stderr_unless_quiet(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main }, quiet = run;

	(void)state;
	fake.warning = "udev is slow";
	cli_run(&run, "ephlvm create 5a7e --flavor f");
	assert_string_equal(run.err, "ephlvm: warning: udev is slow\n");
	cli_run(&quiet, "ephlvm create 5a7e --flavor f --quiet");
	assert_string_equal(quiet.err, "");
}

/* A guest can write a PV header with names of its own into its disk. */
static void hostile_names_are_escaped(void **state)
{
	static const char *const lines[] = {
		"ephlvm list -o lv,warnings", "ephlvm list --json", "ephlvm show x",
		"ephlvm create x --flavor f", "ephlvm purge",	    "ephlvm delete x --dry-run",
	};

	(void)state;
	fake.volumes[0].lv = fake.volumes[0].path = "a\033[31mb\nc\xffz";
	fake.volumes[0].warnings[0] = "w\033x";
	fake.purged[0].message = "m\033x";
	fake.actions[0].subject = "s\033\ny";
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		_cleanup_run_ struct cli_run run = { .main_fn = cli_main };

		cli_run(&run, lines[i]);
		assert_int_equal(run.code, 0);
		assert_null(strchr(run.out, '\033'));
		assert_null(strchr(run.out, '\xff'));
		assert_null(strstr(run.out, "b\nc"));
		assert_non_null(strstr(run.out, "x1b"));
	}
}

static void a_broken_chain_of_receipts_is_an_error(void **state)
{
	_cleanup_run_ struct cli_run whole = { .main_fn = cli_main };
	_cleanup_run_ struct cli_run broken = { .main_fn = cli_main };

	(void)state;
	cli_run(&whole, "ephlvm receipts --noheadings -o instance,drives,verify,passes");
	assert_int_equal(whole.code, 0);
	assert_string_equal(
		whole.out,
		"i        S1,S2  sample 1 B      1\ni        S1,S2  sample 1 B      1\n");
	fake.broken = "receipts.jsonl, line 2: it does not follow the line before it";
	cli_run(&broken, "ephlvm receipts --noheadings -o instance");
	assert_int_equal(broken.code, 7);
	assert_string_equal(broken.out, "i\ni\n");
	assert_non_null(strstr(broken.err, "line 2"));
}

static void lost_output_is_an_error(void **state)
{
	static const char *const lines[] = { "ephlvm list", "ephlvm list --json", "ephlvm help",
					     "ephlvm flavor list --openstack",
					     "ephlvm xml add --source /dev/a/b" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		_cleanup_run_ struct cli_run full = { .main_fn = cli_main,
						      .stdout_path = "/dev/full" };

		cli_run(&full, lines[i]);
		assert_int_equal(full.code, 1);
		assert_non_null(strstr(full.err, "cannot write the output"));
	}
}

static void a_failure_outlives_lost_output(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main, .stdout_path = "/dev/full" };

	(void)state;
	fake.kind = EPHLVM_ERROR_PARTIAL;
	fake.errnum = EREMOTEIO;
	cli_run(&run, "ephlvm purge");
	assert_int_equal(run.code, 8);
}

static void a_document_passes_through_or_nothing_does(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main,
					     .input = "<a\0b>",
					     .input_bytes = 5 };
	_cleanup_run_ struct cli_run refused = { .main_fn = cli_main, .input = "<a/>" };

	(void)state;
	cli_run(&run, "ephlvm xml add --source /dev/a/b");
	assert_int_equal(run.code, 0);
	assert_int_equal(run.out_bytes, 7);
	assert_memory_equal(run.out, "<<a\0b>>", 7);
	fake.kind = EPHLVM_ERROR_INVALID;
	fake.errnum = EINVAL;
	fake.message = "not a domain";
	cli_run(&refused, "ephlvm xml add --source /dev/a/b");
	assert_int_equal(refused.code, 2);
	assert_int_equal(refused.out_bytes, 0);
}

static void a_document_is_bounded(void **state)
{
	_cleanup_run_ struct cli_run most = { .main_fn = cli_main }, more = most;
	char *document = malloc(EPHLVM_XML_MAX_BYTES + 1);

	(void)state;
	assert_non_null(document);
	memset(document, ' ', EPHLVM_XML_MAX_BYTES + 1);
	most.input = more.input = document;
	most.input_bytes = EPHLVM_XML_MAX_BYTES;
	more.input_bytes = EPHLVM_XML_MAX_BYTES + 1;
	cli_run(&most, "ephlvm xml add --source /dev/a/b");
	assert_int_equal(most.code, 0);
	assert_int_equal(most.out_bytes, EPHLVM_XML_MAX_BYTES + 2);
	fake_reset();
	cli_run(&more, "ephlvm xml add --source /dev/a/b");
	free(document);
	assert_int_equal(more.code, 2);
	assert_int_equal(more.out_bytes, 0);
	assert_string_equal(fake.calls, "");
}

static void progress_text(void **state)
{
	struct ephlvm_progress progress = {
		.size = sizeof(progress),
		.step = "erase",
		.subject = "vg/lv",
		.done_bytes = 8ULL << 30,
		.total_bytes = 16ULL << 30,
	};
	char text[CLI_PROGRESS_TEXT];

	(void)state;
	cli_progress_text(text, &progress, 0, 4000);
	assert_string_equal(text, "erase vg/lv 8 GiB of 16 GiB (50%), 2 GiB/s, 4 s left");
	/* resumed at 6 GiB: the rate is that of the 2 GiB since */
	cli_progress_text(text, &progress, 6ULL << 30, 200000);
	assert_string_equal(text,
			    "erase vg/lv 8 GiB of 16 GiB (50%), 10.23 MiB/s, 13 min 20 s left");
	cli_progress_text(text, &progress, 8ULL << 30, 4000);
	assert_string_equal(text, "erase vg/lv 8 GiB of 16 GiB (50%)");
	progress.total_bytes = 0;
	cli_progress_text(text, &progress, 0, 4000);
	assert_string_equal(text, "erase vg/lv 8 GiB, 2 GiB/s");
	progress.total_bytes = 1ULL << 50;
	cli_progress_text(text, &progress, 0, 4000);
	assert_string_equal(text, "erase vg/lv 8 GiB of 1 PiB (0%), 2 GiB/s, 145 h 38 min left");
}

/* A step that began long ago is drawn at once: no test has to wait for it. */
static int slow_main(int argc, char **argv)
{
	struct ephlvm_progress progress = {
		.size = sizeof(progress),
		.step = "erase",
		.subject = "vg/\033lv",
		.done_bytes = 1ULL << 30,
		.total_bytes = 2ULL << 30,
	};
	struct cli cli = { .progress = { .step = "erase", .subject = "vg/\033lv", .since_ms = 1 } };

	(void)argc;
	cli.quiet = strcmp(argv[1], "quiet") == 0;
	cli_progress_fn(&cli, &progress);
	cli_progress_clear(&cli);
	return 0;
}

static void progress_is_for_terminals(void **state)
{
	_cleanup_run_ struct cli_run tty = { .main_fn = slow_main, .terminal = true };
	_cleanup_run_ struct cli_run quiet = tty, pipe = { .main_fn = slow_main };
	_cleanup_run_ struct cli_run young = { .main_fn = cli_main, .terminal = true };
	const char *end;

	(void)state;
	cli_run(&tty, "ephlvm loud");
	assert_non_null(strstr(tty.err, "\rerase vg/\\x1blv 1 GiB of 2 GiB (50%)"));
	/* the line is wiped at the end */
	end = strrchr(tty.err, '\r');
	assert_string_equal(end, "\r");
	cli_run(&quiet, "ephlvm quiet");
	assert_string_equal(quiet.err, "");
	cli_run(&pipe, "ephlvm loud");
	assert_string_equal(pipe.err, "");
	/* and nothing is drawn in the first second */
	fake.n_progress = 16;
	cli_run(&young, "ephlvm create 5a7e --flavor f");
	assert_int_equal(young.code, 0);
	assert_string_equal(young.err, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(json_fits_its_schema, setup),
		cmocka_unit_test_setup(schema_check_can_fail, setup),
		cmocka_unit_test_setup(json_carries_the_values, setup),
		cmocka_unit_test_setup(an_empty_list_is_an_empty_array, setup),
		cmocka_unit_test_setup(tables_have_columns, setup),
		cmocka_unit_test_setup(create_prints_a_path_a_line, setup),
		cmocka_unit_test_setup(show_of_nothing_is_not_found, setup),
		cmocka_unit_test_setup(dry_run_prints_the_plan, setup),
		cmocka_unit_test_setup(plan_equals_real_run, setup),
		cmocka_unit_test_setup(purge_reports_also_when_it_fails, setup),
		cmocka_unit_test_setup(a_broken_chain_of_receipts_is_an_error, setup),
		cmocka_unit_test_setup(flavors_as_horizon_and_openstack_want_them, setup),
		cmocka_unit_test_setup(error_kinds_become_exit_codes, setup),
		cmocka_unit_test_setup(errors_are_told_with_hint_and_last_words, setup),
		cmocka_unit_test_setup(warnings_go_to_stderr_unless_quiet, setup),
		cmocka_unit_test_setup(hostile_names_are_escaped, setup),
		cmocka_unit_test_setup(lost_output_is_an_error, setup),
		cmocka_unit_test_setup(a_failure_outlives_lost_output, setup),
		cmocka_unit_test_setup(a_document_passes_through_or_nothing_does, setup),
		cmocka_unit_test_setup(a_document_is_bounded, setup),
		cmocka_unit_test_setup(progress_text, setup),
		cmocka_unit_test_setup(progress_is_for_terminals, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
