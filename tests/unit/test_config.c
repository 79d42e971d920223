// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_config.c - the configuration document: built-in values, every key, and every refusal. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "failing_alloc.h"
#include "pure/config.h"
#include "pure/json_keys.h"
#include "util/cleanup.h"
#include "util/text.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define FILE_NAME "/etc/ephlvm/ephlvm.json"
#define GIB ((uint64_t)1 << 30)

static int make_ctx(void **state)
{
	return ephlvm_ctx_new((struct ephlvm_ctx **)state);
}

static int drop_ctx(void **state)
{
	ephlvm_ctx_unref(*state);
	return 0;
}

static int parse(struct ephlvm_ctx *ctx, const char *json, struct eph_config **ret_config)
{
	eph_enter(ctx);
	return eph_config_parse(ctx, FILE_NAME, json, strlen(json), ret_config);
}

static struct eph_config *parse_good(struct ephlvm_ctx *ctx, const char *json)
{
	struct eph_config *config = NULL;
	int r = parse(ctx, json, &config);

	if (r < 0)
		print_error("%s: %s\n", json, ephlvm_error_message(ctx));
	assert_int_equal(r, 0);
	assert_int_equal(ephlvm_error_kind(ctx), EPHLVM_ERROR_NONE);
	return config;
}

static void the_flavor_table_is_exact(void **state)
{
	static const struct {
		const char *name;
		unsigned int vcpus;
		uint64_t ram, root, ephemeral;
	} want[] = {
		{ "cc.micro", 2, 2, 25, 25 },	 { "cc.small", 4, 2, 25, 25 },
		{ "cc.medium", 4, 4, 50, 50 },	 { "cc.large", 8, 4, 50, 80 },
		{ "cc.xlarge", 8, 8, 100, 120 }, { "cc.2xlarge", 16, 16, 100, 200 },
	};
	struct eph_config *config = parse_good(*state, "{}");

	assert_int_equal(config->n_flavors, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct ephlvm_flavor *f = &config->flavors[i];

		assert_string_equal(ephlvm_flavor_name(f), want[i].name);
		assert_int_equal(ephlvm_flavor_vcpus(f), want[i].vcpus);
		assert_true(ephlvm_flavor_ram_bytes(f) == want[i].ram * GIB);
		assert_true(ephlvm_flavor_root_bytes(f) == want[i].root * GIB);
		assert_true(ephlvm_flavor_ephemeral_bytes(f) == want[i].ephemeral * GIB);
		assert_true(ephlvm_flavor_swap_bytes(f) == 0);
		assert_true(ephlvm_flavor_builtin(f));
		assert_null(ephlvm_flavor_pool(f));
		assert_null(ephlvm_flavor_fs(f));
		assert_null(ephlvm_flavor_kind(f));
		assert_null(ephlvm_flavor_layout(f));
		assert_ptr_equal(eph_flavor_find(config, want[i].name), f);
	}
	assert_null(eph_flavor_find(config, "cc.smal"));
	assert_null(eph_flavor_find(config, "CC.SMALL"));
	eph_config_free(config);
}

static void built_in_values_are_these(void **state)
{
	struct eph_config *config = NULL;

	assert_int_equal(eph_config_default(*state, &config), 0);
	assert_string_equal(config->fs, "ext4");
	assert_string_equal(config->kind, "thick");
	assert_string_equal(config->layout, "linear");
	assert_string_equal(config->erase_method, "zero");
	assert_string_equal(config->erase_verify, "sample");
	assert_string_equal(config->libvirt_uri, "qemu:///system");
	assert_true(config->reserve_bytes == 0);
	assert_int_equal(config->lock_timeout_ms, 60000);
	assert_int_equal(config->command_timeout_ms, 300000);
	assert_int_equal(config->read_timeout_ms, 30000);
	assert_int_equal(config->detach_timeout_ms, 60000);
	assert_null(config->tool_lvm);
	assert_null(config->tool_mkswap);
	assert_false(config->from_file);
	eph_config_free(config);
	eph_config_free(NULL);
}

/* Every key once, none with its built-in value. */
static const char everything[] =
	"{\n"
	"  \"defaults\": { \"fs\": \"xfs\", \"kind\": \"thick\", \"layout\": \"linear\",\n"
	"    \"erase\": { \"method\": \"zero\", \"verify\": \"full\" }, \"reserve\": \"10G\" },\n"
	"  \"libvirt\": { \"uri\": \"test:///default\" },\n"
	"  \"timeouts\": { \"lock\": 1, \"command\": 86400, \"read\": 7, \"detach\": 8 },\n"
	"  \"tools\": { \"lvm\": \"/opt/lvm/sbin/lvm\", \"mkfs.ext4\": \"/a/mkfs.ext4\",\n"
	"    \"mkfs.vfat\": \"/a/mkfs.vfat\", \"mkfs.xfs\": \"/a/mkfs..xfs\",\n"
	"    \"mkfs.ntfs\": \"/a/mkfs.ntfs\", \"mkswap\": \"/a/mkswap\" },\n"
	"  \"flavors\": {\n"
	"    \"cc.small\": { \"ephemeral\": \"30GiB\", \"fs\": \"vfat\" },\n"
	"    \"cc.micro\": null,\n"
	"    \"own/1\": { \"vcpus\": 4096, \"ram\": \"512M\", \"root\": 0, \"ephemeral\": 1048577,\n"
	"      \"swap\": \"1T\", \"pool\": \"fast-1\", \"fs\": \"none\", \"kind\": \"thick\",\n"
	"      \"layout\": \"linear\", \"cache\": \"directsync\",\n"
	"      \"iotune\": { \"read_bytes_sec\": \"500M\", \"write_bytes_sec\": 1,\n"
	"        \"total_iops_sec\": 1000000000000000 } },\n"
	"    \"own/2\": { \"vcpus\": 1, \"ram\": \"1G\", \"root\": \"1G\", \"ephemeral\": 0,\n"
	"      \"iotune\": { \"total_bytes_sec\": 3, \"read_iops_sec\": 4, \"write_iops_sec\": 5 } }\n"
	"  }\n"
	"}\n";

static void every_key_has_its_place(void **state)
{
	struct eph_config *c = parse_good(*state, everything);
	const struct ephlvm_flavor *f;

	assert_string_equal(c->fs, "xfs");
	assert_string_equal(c->erase_verify, "full");
	assert_true(c->reserve_bytes == 10 * GIB);
	assert_string_equal(c->libvirt_uri, "test:///default");
	assert_int_equal(c->lock_timeout_ms, 1000);
	assert_int_equal(c->command_timeout_ms, 86400000);
	assert_int_equal(c->read_timeout_ms, 7000);
	assert_int_equal(c->detach_timeout_ms, 8000);
	assert_string_equal(c->tool_lvm, "/opt/lvm/sbin/lvm");
	assert_string_equal(c->tool_mkfs_ext4, "/a/mkfs.ext4");
	assert_string_equal(c->tool_mkfs_vfat, "/a/mkfs.vfat");
	assert_string_equal(c->tool_mkfs_xfs, "/a/mkfs..xfs");
	assert_string_equal(c->tool_mkfs_ntfs, "/a/mkfs.ntfs");
	assert_string_equal(c->tool_mkswap, "/a/mkswap");

	f = eph_flavor_find(c, "own/1");
	assert_non_null(f);
	assert_false(f->builtin);
	assert_int_equal(f->vcpus, 4096);
	assert_true(f->ram_bytes == GIB / 2);
	assert_true(f->root_bytes == 0);
	assert_true(f->ephemeral_bytes == 1048577);
	assert_true(f->swap_bytes == 1024 * GIB);
	assert_string_equal(f->pool, "fast-1");
	assert_string_equal(f->fs, "none");
	assert_string_equal(f->kind, "thick");
	assert_string_equal(f->layout, "linear");
	assert_string_equal(f->cache, "directsync");
	assert_true(f->iotune.read_bytes_sec == 500ULL << 20);
	assert_true(f->iotune.write_bytes_sec == 1);
	assert_true(f->iotune.total_bytes_sec == 0);
	assert_true(f->iotune.total_iops_sec == 1000000000000000);
	f = eph_flavor_find(c, "own/2");
	assert_non_null(f);
	assert_true(f->swap_bytes == 0);
	assert_null(f->cache);
	assert_true(f->iotune.total_bytes_sec == 3);
	assert_true(f->iotune.read_iops_sec == 4);
	assert_true(f->iotune.write_iops_sec == 5);
	eph_config_free(c);
}

static void a_replaced_flavor_keeps_its_place_and_the_rest(void **state)
{
	struct eph_config *c = parse_good(*state, everything);

	/* cc.micro is removed, so that cc.small is the first; own ones come last, in their order */
	assert_int_equal(c->n_flavors, 7);
	assert_null(eph_flavor_find(c, "cc.micro"));
	assert_string_equal(c->flavors[0].name, "cc.small");
	assert_int_equal(c->flavors[0].vcpus, 4);
	assert_true(c->flavors[0].ram_bytes == 2 * GIB);
	assert_true(c->flavors[0].root_bytes == 25 * GIB);
	assert_true(c->flavors[0].ephemeral_bytes == 30 * GIB);
	assert_string_equal(c->flavors[0].fs, "vfat");
	assert_false(c->flavors[0].builtin);
	assert_string_equal(c->flavors[1].name, "cc.medium");
	assert_true(c->flavors[1].builtin);
	assert_string_equal(c->flavors[5].name, "own/1");
	assert_string_equal(c->flavors[6].name, "own/2");
	eph_config_free(c);
}

#define NEW(more) \
	"{\"flavors\":{\"f\":{\"vcpus\":1,\"ram\":\"1G\",\"root\":0,\"ephemeral\":0" more "}}}"
#define SMALL(key_and_value) "{\"flavors\":{\"cc.small\":{" key_and_value "}}}"

/* @key and @allowed are what the message must hold beside the file. */
static const struct {
	const char *json, *key, *allowed;
} refused[] = {
	/* unknown keys, at every level */
	{ "{\"flavor\":{}}", "\"flavor\"", "defaults, libvirt, timeouts, tools, flavors" },
	{ "{\"\":1}", "\"\"", "defaults" },
	{ "{\"Defaults\":{}}", "\"Defaults\"", "defaults" },
	{ "{\"defaults\":{\"filesystem\":\"ext4\"}}", "\"defaults.filesystem\"", "fs, kind" },
	{ "{\"defaults\":{\"erase\":{\"times\":3}}}", "\"defaults.erase.times\"",
	  "method, verify, passes, rate" },
	{ "{\"defaults\":{\"erase\":{\"passes\":33}}}", "\"defaults.erase.passes\"", "1 to 32" },
	{ "{\"defaults\":{\"erase\":{\"passes\":0}}}", "\"defaults.erase.passes\"", "1 to 32" },
	{ "{\"defaults\":{\"erase\":{\"rate\":-1}}}", "\"defaults.erase.rate\"", "bytes" },
	{ "{\"defaults\":{\"trash_hold\":31536001}}", "\"defaults.trash_hold\"", "31536000" },
	{ "{\"defaults\":{\"erase\":{\"method\":\"dd\"}}}", "\"defaults.erase.method\"",
	  "zero, discard, shred, none" },
	{ "{\"tools\":{\"mkfs.btrfs\":\"/x\"}}", "\"tools.mkfs.btrfs\"", "mkfs.ext4" },
	{ SMALL("\"disk\":1"), "\"flavors.cc.small.disk\"", "vcpus, ram, root, ephemeral" },
	{ SMALL("\"iotune\":{\"bytes\":1}"), "\"flavors.cc.small.iotune.bytes\"",
	  "total_iops_sec" },
	/* wrong types */
	{ "{\"defaults\":[]}", "\"defaults\"", "an object" },
	{ "{\"defaults\":null}", "\"defaults\"", "an object" },
	{ "{\"flavors\":\"cc.small\"}", "\"flavors\"", "an object" },
	{ "{\"flavors\":{\"cc.small\":1}}", "\"flavors.cc.small\"", "an object" },
	{ "{\"defaults\":{\"fs\":1}}", "\"defaults.fs\"", "ext4, vfat, xfs, ntfs, swap, none" },
	{ "{\"defaults\":{\"fs\":null}}", "\"defaults.fs\"", "ext4" },
	{ "{\"libvirt\":{\"uri\":true}}", "\"libvirt.uri\"", "URI" },
	{ SMALL("\"ram\":true"), "\"flavors.cc.small.ram\"", "25G" },
	{ SMALL("\"ram\":[1]"), "\"flavors.cc.small.ram\"", "25G" },
	{ SMALL("\"ram\":1.5"), "\"flavors.cc.small.ram\"", "25G" },
	{ SMALL("\"ram\":1e10"), "\"flavors.cc.small.ram\"", "25G" },
	{ SMALL("\"ram\":NaN"), "\"flavors.cc.small.ram\"", "25G" },
	{ SMALL("\"vcpus\":\"4\""), "\"flavors.cc.small.vcpus\"", "whole numbers from 1 to 4096" },
	{ SMALL("\"iotune\":{\"read_iops_sec\":\"1K\"}"),
	  "\"flavors.cc.small.iotune.read_iops_sec\"", "whole numbers" },
	{ "{\"timeouts\":{\"lock\":\"60\"}}", "\"timeouts.lock\"", "1 to 86400" },
	/* unknown words */
	{ "{\"defaults\":{\"fs\":\"btrfs\"}}", "\"defaults.fs\"",
	  "ext4, vfat, xfs, ntfs, swap, none" },
	{ "{\"defaults\":{\"fs\":\"EXT4\"}}", "\"defaults.fs\"", "ext4" },
	{ "{\"defaults\":{\"kind\":\"thin\"}}", "\"defaults.kind\"", "thick" },
	{ "{\"defaults\":{\"layout\":\"raid1\"}}", "\"defaults.layout\"", "linear" },
	{ "{\"defaults\":{\"erase\":{\"method\":\"random\"}}}", "\"defaults.erase.method\"",
	  "zero" },
	{ "{\"defaults\":{\"erase\":{\"verify\":\"no\"}}}", "\"defaults.erase.verify\"",
	  "sample, full, off" },
	{ SMALL("\"cache\":\"writeback\""), "\"flavors.cc.small.cache\"", "none, directsync" },
	{ SMALL("\"fs\":\"ext4\\u0000\""), "\"flavors.cc.small.fs\"", "ext4" },
	{ SMALL("\"pool\":\"a/b\""), "\"flavors.cc.small.pool\"", "letters, digits" },
	{ SMALL("\"pool\":\"\""), "\"flavors.cc.small.pool\"", "letters, digits" },
	/* out of range */
	{ SMALL("\"vcpus\":0"), "\"flavors.cc.small.vcpus\"", "1 to 4096" },
	{ SMALL("\"vcpus\":4097"), "\"flavors.cc.small.vcpus\"", "1 to 4096" },
	{ SMALL("\"vcpus\":-1"), "\"flavors.cc.small.vcpus\"", "1 to 4096" },
	{ SMALL("\"vcpus\":4294967297"), "\"flavors.cc.small.vcpus\"", "1 to 4096" },
	{ SMALL("\"root\":25"), "\"flavors.cc.small.root\"", "1 MiB" },
	{ SMALL("\"root\":-1"), "\"flavors.cc.small.root\"", "1 MiB" },
	{ SMALL("\"root\":\"-1\""), "\"flavors.cc.small.root\"", "1 MiB" },
	{ SMALL("\"root\":\"\""), "\"flavors.cc.small.root\"", "1 MiB" },
	{ SMALL("\"root\":\"25G\\u0000\""), "\"flavors.cc.small.root\"", "1 MiB" },
	{ SMALL("\"root\":\"1025P\""), "\"flavors.cc.small.root\"", "1 EiB" },
	{ SMALL("\"root\":9223372036854775807"), "\"flavors.cc.small.root\"", "1 EiB" },
	{ SMALL("\"root\":9223372036854775808"), "\"flavors.cc.small.root\"", "1 EiB" },
	{ SMALL("\"root\":99999999999999999999999"), "\"flavors.cc.small.root\"", "1 EiB" },
	{ SMALL("\"ram\":0"), "\"flavors.cc.small\"", "ram" },
	{ SMALL("\"ram\":1048577"), "\"flavors.cc.small\"", "ram" },
	{ SMALL("\"iotune\":{\"read_bytes_sec\":1000000000000001}"),
	  "\"flavors.cc.small.iotune.read_bytes_sec\"", "1000000000000000" },
	{ SMALL("\"iotune\":{\"read_bytes_sec\":-1}"), "\"flavors.cc.small.iotune.read_bytes_sec\"",
	  "1000000000000000" },
	{ SMALL("\"iotune\":{\"total_iops_sec\":1000000000000001}"),
	  "\"flavors.cc.small.iotune.total_iops_sec\"", "1000000000000000" },
	{ "{\"timeouts\":{\"lock\":0}}", "\"timeouts.lock\"", "1 to 86400" },
	{ "{\"timeouts\":{\"command\":86401}}", "\"timeouts.command\"", "1 to 86400" },
	{ "{\"timeouts\":{\"read\":4294968}}", "\"timeouts.read\"", "1 to 86400" },
	/* paths and URIs */
	{ "{\"tools\":{\"lvm\":\"lvm\"}}", "\"tools.lvm\"", "absolute" },
	{ "{\"tools\":{\"lvm\":\"\"}}", "\"tools.lvm\"", "absolute" },
	{ "{\"tools\":{\"lvm\":\"/sbin/../lvm\"}}", "\"tools.lvm\"", "absolute" },
	{ "{\"tools\":{\"lvm\":\"/sbin/..\"}}", "\"tools.lvm\"", "absolute" },
	{ "{\"tools\":{\"lvm\":\"/sbin/\"}}", "\"tools.lvm\"", "absolute" },
	{ "{\"tools\":{\"lvm\":\"/sbin/lvm -x\"}}", "\"tools.lvm\"", "absolute" },
	{ "{\"tools\":{\"lvm\":\"/sbin/lvm\\u0000x\"}}", "\"tools.lvm\"", "absolute" },
	{ "{\"tools\":{\"lvm\":null}}", "\"tools.lvm\"", "absolute" },
	{ "{\"libvirt\":{\"uri\":\"\"}}", "\"libvirt.uri\"", "URI" },
	{ "{\"libvirt\":{\"uri\":\"qemu\"}}", "\"libvirt.uri\"", "URI" },
	{ "{\"libvirt\":{\"uri\":\"qemu:///system \"}}", "\"libvirt.uri\"", "URI" },
	/* flavors */
	{ "{\"flavors\":{\"none\":null}}", "\"flavors.none\"", "built-in" },
	{ "{\"flavors\":{\"\":{}}}", "\"flavors.\"", "1 to 64" },
	{ "{\"flavors\":{\"a b\":{}}}", "\"flavors.a b\"", "1 to 64" },
	{ "{\"flavors\":{\"a,b\":null}}", "\"flavors.a,b\"", "1 to 64" },
	{ "{\"flavors\":{\"12345678901234567890123456789012345678901234567890123456789012345\":{}}}",
	  "\"flavors.1234567890", "1 to 64" },
	{ "{\"flavors\":{\"f\":{}}}", "\"flavors.f\"", "\"vcpus\"" },
	{ "{\"flavors\":{\"f\":{\"vcpus\":1,\"ram\":\"1G\",\"root\":0}}}", "\"flavors.f\"",
	  "\"ephemeral\"" },
	{ NEW(",\"iotune\":{\"total_bytes_sec\":1,\"read_bytes_sec\":1}"), "\"flavors.f\"",
	  "total_bytes_sec" },
	{ NEW(",\"iotune\":{\"write_bytes_sec\":1,\"total_bytes_sec\":1}"), "\"flavors.f\"",
	  "total_bytes_sec" },
	{ NEW(",\"iotune\":{\"total_iops_sec\":1,\"write_iops_sec\":1}"), "\"flavors.f\"",
	  "total_iops_sec" },
	/* twice: json-c would take the last one */
	{ "{\"tools\":{},\"tools\":{}}", "\"tools\"", "once" },
	{ SMALL("\"ram\":\"2G\",\"root\":0,\"ram\":\"2G\""), "\"flavors.cc.small.ram\"", "once" },
	{ "{\"flavors\":{\"cc.small\":null,\"cc.small\":{}}}", "\"flavors.cc.small\"", "once" },
	{ "{\"defaults\":{\"fs\":\"\\\"\",\"fs\":\"ext4\"}}", "\"defaults.fs\"", "once" },
	{ "{\n\n\"defaults\":{\"fs\":\"xfs\",\n\"fs\":\"ext4\"}}", "line 4", "once" },
	/* a second spelling */
	{ "{\"tools\":{},\"t\\u006fols\":{}}", "line 1", "escape in a key" },
	{ SMALL("\"r\\u0061m\":\"2G\""), "line 1", "escape in a key" },
	{ SMALL("\"ram\\u0000\":\"2G\""), "line 1", "escape in a key" },
	/* not JSON, or not one document */
	{ "", "line 1", "empty or cut short" },
	{ "  \n", "line 2", "empty or cut short" },
	{ "{\"defaults\":", "line 1", "empty or cut short" },
	{ "{\"defaults\":{}", "line 1", "empty or cut short" },
	{ "[]", "line 1", "not an object" },
	{ "\"x\" ", "line 1", "not an object" },
	{ "null ", "line 1", "not an object" },
	{ "{}{}", "line 1", "unexpected" },
	{ "{}\n}", "line 2", "unexpected" },
	{ "{\n\"defaults\":{},\n}", "line 3", "unexpected" },
	{ "{'defaults':{}}", "line 1", "single quotes" },
	{ "{defaults:{}}", "line 1", "quoted" },
	{ "# x\n{}", "line 1", "unexpected" },
	{ "/* x */{}", "line 1", "unexpected" },
	{ "{\"defaults\":{}/**/}", "line 1", "expected" },
	{ "\xef\xbb\xbf{}", "line 1", "utf-8" },
	{ "{\"libvirt\":{\"uri\":\"\xff\"}}", "line 1", "utf-8" },
	{ "{\"libvirt\":{\"uri\":\"a\nb\"}}", "line 1", "control character" },
	{ "{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":{}}}}}}}}}", "line 1",
	  "nesting" },
};

static void what_is_not_understood_is_refused(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct eph_config *config = NULL;
		int r = parse(*state, refused[i].json, &config);
		const char *message = ephlvm_error_message(*state);

		if (r != -EINVAL || !strstr(message, refused[i].key) ||
		    !strstr(message, refused[i].allowed))
			fail_msg("%s: %d: %s", refused[i].json, r, message);
		assert_null(config);
		assert_int_equal(ephlvm_error_kind(*state), EPHLVM_ERROR_INVALID);
		assert_int_equal(ephlvm_error_errno(*state), EINVAL);
		assert_string_equal(ephlvm_error_subject(*state), FILE_NAME);
		assert_non_null(strstr(message, "\"" FILE_NAME "\""));
		assert_null(strchr(message, '\n'));
		assert_int_not_equal(message[strlen(message) - 1], '.');
	}
}

static void thousands_are_refused_with_the_hint(void **state)
{
	struct eph_config *config;

	assert_int_equal(parse(*state, SMALL("\"ram\":\"2GB\""), &config), -EINVAL);
	assert_non_null(strstr(ephlvm_error_hint(*state), "1024"));
	assert_int_equal(parse(*state, SMALL("\"iotune\":{\"read_bytes_sec\":\"2MB\"}"), &config),
			 -EINVAL);
	assert_non_null(strstr(ephlvm_error_hint(*state), "1024"));
	assert_int_equal(parse(*state, SMALL("\"root\":25"), &config), -EINVAL);
	assert_non_null(strstr(ephlvm_error_hint(*state), "unit"));
}

static void hostile_text_is_shown_short_and_escaped(void **state)
{
	_cleanup_free_ char *json = malloc(100000);
	struct eph_config *config;

	strcpy(json, "{\"\x7f");
	memset(json + 3, 'k', 90000);
	strcpy(json + 90003, "\":1}");
	assert_int_equal(parse(*state, json, &config), -EINVAL);
	assert_non_null(strstr(ephlvm_error_message(*state), "\\x7fkkk"));
	assert_true(strlen(ephlvm_error_message(*state)) < 400);
	strcpy(json, "{\"libvirt\":{\"uri\":\"");
	memset(json + 19, 'k', 90000);
	strcpy(json + 90019, "\"}}");
	assert_int_equal(parse(*state, json, &config), -EINVAL);
	assert_true(strlen(ephlvm_error_message(*state)) < 400);
}

static void the_length_given_bounds_the_document(void **state)
{
	static const char nul[] = "{\"defaults\":{}\0}";
	static const char behind[] = "{}\0{}";
	struct eph_config *config = NULL;

	eph_enter(*state);
	assert_int_equal(eph_config_parse(*state, FILE_NAME, "{}garbage", 2, &config), 0);
	eph_config_free(config);
	eph_enter(*state);
	assert_int_equal(eph_config_parse(*state, FILE_NAME, nul, sizeof(nul) - 1, &config),
			 -EINVAL);
	eph_enter(*state);
	assert_int_equal(eph_config_parse(*state, FILE_NAME, behind, sizeof(behind) - 1, &config),
			 -EINVAL);
}

/* Write @n flavors of one kind into a document. free() it. */
static char *many_flavors(unsigned int n)
{
	char *json = NULL;
	size_t size;
	FILE *f = open_memstream(&json, &size);

	fputs("{\"flavors\":{", f);
	for (unsigned int i = 0; i < n; i++)
		fprintf(f, "%s\"f%u\":{\"vcpus\":1,\"ram\":\"1G\",\"root\":0,\"ephemeral\":0}",
			i ? "," : "", i);
	fputs("}}", f);
	fclose(f);
	return json;
}

static void the_number_of_flavors_is_bounded(void **state)
{
	_cleanup_free_ char *most = many_flavors(250), *more = many_flavors(251);
	struct eph_config *config = parse_good(*state, most);

	assert_int_equal(config->n_flavors, 256);
	assert_string_equal(config->flavors[255].name, "f249");
	eph_config_free(config);
	assert_int_equal(parse(*state, more, &config), -EINVAL);
	assert_non_null(strstr(ephlvm_error_message(*state), "\"flavors.f250\""));
}

/* A megabyte of keys must not cost more than sorting them. */
static void many_keys_take_no_time(void **state)
{
	struct eph_json_fault fault;
	char *json = NULL;
	size_t size;
	FILE *f = open_memstream(&json, &size);

	(void)state;
	fputs("{\"0\":0", f);
	for (unsigned int i = 1; i < 80000; i++)
		fprintf(f, ",\"%u\":0", i);
	fputs("}", f);
	fclose(f);
	assert_int_equal(eph_json_keys_check(json, size, &fault), 0);
	memcpy(strstr(json, "\"79999\""), "\"12345\"", 7);
	assert_int_equal(eph_json_keys_check(json, size, &fault), -EINVAL);
	assert_string_equal(fault.path, "12345");
	assert_true(fault.at > size - 20);
	free(json);
}

static void equal_keys_of_different_objects_are_two(void **state)
{
	static const char *const good[] = {
		"{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":1}}",
		"[{\"a\":1},{\"a\":1}]",
		"{\"a\":\"a\",\"b\":[\"a\",\"a\",{\"a\":1},{\"a\":1}]}",
		"{\"a\":1,\"ab\":1,\"A\":1}",
		"{\"a\":\"\\\",\\\"a\\\":1\"}",
	};
	struct eph_json_fault fault;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(eph_json_keys_check(good[i], strlen(good[i]), &fault), 0);
}

static void the_path_of_a_key_that_is_twice_is_right(void **state)
{
	static const struct {
		const char *json, *path;
	} t[] = {
		{ "{\"a\":{\"b\":1},\"c\":{\"d\":{\"e\":1,\"f\":2,\"e\":3}}}", "c.d.e" },
		{ "{\"a\":1,\"b\":[{\"c\":1},{\"d\":1,\"d\":1}]}", "b.d" },
		{ "{\"z\":{\"y\":1,\"y\":1},\"a\":{\"b\":1,\"b\":1}}", "z.y" },
		{ "[{\"a\":1,\"a\":1}]", "a" },
	};
	struct eph_json_fault fault;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		assert_int_equal(eph_json_keys_check(t[i].json, strlen(t[i].json), &fault),
				 -EINVAL);
		assert_string_equal(fault.path, t[i].path);
	}
}

/* It is asked about accepted documents only, but nothing may go wrong on others. */
static void the_key_check_is_safe_on_any_text(void **state)
{
	static const char *const bad[] = { "{\"a", "{\"a\":\"b\\", "}", "]", "{}}", "{\"a\":1\"" };
	struct eph_json_fault fault;
	char deep[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(eph_json_keys_check(bad[i], strlen(bad[i]), &fault), -EINVAL);
	memset(deep, '[', sizeof(deep));
	assert_int_equal(eph_json_keys_check(deep, sizeof(deep), &fault), -EINVAL);
	assert_int_equal(eph_json_keys_check(deep, 32, &fault), 0);
	assert_int_equal(eph_json_keys_check("", 0, &fault), 0);
}

/* The end of a path too long to be shown is what tells the reader where to look. */
static void a_long_path_keeps_its_end(void **state)
{
	_cleanup_free_ char *json = NULL;
	struct eph_json_fault fault;
	char name[200];

	(void)state;
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_true(asprintf(&json, "{\"%s\":{\"%s\":{\"x\":1,\"x\":1}}}", name, name) > 0);
	assert_int_equal(eph_json_keys_check(json, strlen(json), &fault), -EINVAL);
	assert_int_equal(strlen(fault.path), strlen(name) + 2);
	assert_string_equal(fault.path + strlen(name), ".x");
}

static void assert_same_flavor(const struct ephlvm_flavor *a, const struct ephlvm_flavor *b)
{
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->vcpus, b->vcpus);
	assert_true(a->ram_bytes == b->ram_bytes && a->root_bytes == b->root_bytes);
	assert_true(a->ephemeral_bytes == b->ephemeral_bytes && a->swap_bytes == b->swap_bytes);
	assert_true(eph_streq(a->pool, b->pool) && eph_streq(a->fs, b->fs));
	assert_true(eph_streq(a->kind, b->kind) && eph_streq(a->layout, b->layout));
	assert_true(eph_streq(a->cache, b->cache));
	assert_memory_equal(&a->iotune, &b->iotune, sizeof(a->iotune));
}

static void assert_same_config(const struct eph_config *a, const struct eph_config *b)
{
	assert_true(eph_streq(a->fs, b->fs) && eph_streq(a->kind, b->kind));
	assert_true(eph_streq(a->layout, b->layout) && eph_streq(a->libvirt_uri, b->libvirt_uri));
	assert_true(eph_streq(a->erase_method, b->erase_method));
	assert_true(eph_streq(a->erase_verify, b->erase_verify));
	assert_true(a->reserve_bytes == b->reserve_bytes);
	assert_int_equal(a->lock_timeout_ms, b->lock_timeout_ms);
	assert_int_equal(a->command_timeout_ms, b->command_timeout_ms);
	assert_int_equal(a->read_timeout_ms, b->read_timeout_ms);
	assert_int_equal(a->detach_timeout_ms, b->detach_timeout_ms);
	assert_true(eph_streq(a->tool_lvm, b->tool_lvm));
	assert_true(eph_streq(a->tool_mkfs_ext4, b->tool_mkfs_ext4));
	assert_true(eph_streq(a->tool_mkfs_vfat, b->tool_mkfs_vfat));
	assert_true(eph_streq(a->tool_mkfs_xfs, b->tool_mkfs_xfs));
	assert_true(eph_streq(a->tool_mkfs_ntfs, b->tool_mkfs_ntfs));
	assert_true(eph_streq(a->tool_mkswap, b->tool_mkswap));
	assert_int_equal(a->n_flavors, b->n_flavors);
	for (size_t i = 0; i < a->n_flavors; i++)
		assert_same_flavor(&a->flavors[i], &b->flavors[i]);
}

static void what_is_shown_parses_back(void **state)
{
	static const char *const documents[] = {
		"{}",
		everything,
		"{\"flavors\":{\"cc.micro\":null,\"cc.small\":null,\"cc.medium\":null,"
		"\"cc.large\":null,\"cc.xlarge\":null,\"cc.2xlarge\":null}}",
		NEW(""),
	};

	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		struct eph_config *once = parse_good(*state, documents[i]), *twice;
		_cleanup_free_ char *text = NULL, *again = NULL;

		assert_int_equal(eph_config_text(*state, once, &text), 0);
		twice = parse_good(*state, text);
		assert_same_config(once, twice);
		assert_int_equal(eph_config_text(*state, twice, &again), 0);
		assert_string_equal(text, again);
		eph_config_free(once);
		eph_config_free(twice);
	}
}

static void sizes_are_shown_as_people_write_them(void **state)
{
	struct eph_config *config = parse_good(*state, everything);
	_cleanup_free_ char *text = NULL;

	assert_int_equal(eph_config_text(*state, config, &text), 0);
	assert_non_null(strstr(text, "\"ephemeral\": \"30G\""));
	assert_non_null(strstr(text, "\"ephemeral\": 1048577"));
	assert_non_null(strstr(text, "\"read_bytes_sec\": \"500M\""));
	assert_non_null(strstr(text, "\"cc.micro\": null"));
	assert_non_null(strstr(text, "\"lvm\": \"/opt/lvm/sbin/lvm\""));
	eph_config_free(config);
}

static int whole_way(struct ephlvm_ctx *ctx, const char *json)
{
	struct eph_config *config = NULL;
	char *text = NULL;
	int r;

	r = parse(ctx, json, &config);
	if (r == 0)
		r = eph_config_text(ctx, config, &text);
	eph_config_free(config);
	free(text);
	return r;
}

/* Number of allocations that were made to fail before the end was reached with @want. */
static unsigned int fail_each(struct ephlvm_ctx *ctx, const char *json, int want)
{
	unsigned int nth = 0;
	bool reached;

	do {
		int r;

		failing_alloc_arm(nth++);
		r = whole_way(ctx, json);
		reached = failing_alloc_disarm();
		/* the record of a refusal can lack its text for want of memory, never its kind */
		if (!reached)
			assert_int_equal(r, want);
		else if (r == want && want < 0)
			assert_int_equal(ephlvm_error_kind(ctx), EPHLVM_ERROR_INVALID);
		else
			assert_int_equal(r, -ENOMEM);
	} while (reached);
	return nth;
}

static void no_memory_is_said(void **state)
{
	assert_true(fail_each(*state, everything, 0) > 80);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		fail_each(*state, refused[i].json, -EINVAL);
}

/* Bytes changed, cut and doubled at random: refused or read, never more. */
static void any_text_is_read_safely(void **state)
{
	unsigned int seed = 1, good = 0, bad = 0;

	for (int round = 0; round < 6000; round++) {
		_cleanup_free_ char *json = strdup(everything);
		size_t n = strlen(json);
		struct eph_config *config = NULL;
		int r;

		for (int k = rand_r(&seed) % 4; k > 0; k--)
			json[(size_t)rand_r(&seed) % n] =
				"\"'{}[]:,\\ 0-eGn\n\xc3\x01/"[rand_r(&seed) % 20];
		if (rand_r(&seed) % 8 == 0)
			n = (size_t)rand_r(&seed) % n;
		eph_enter(*state);
		r = eph_config_parse(*state, FILE_NAME, json, n, &config);
		if (r == 0) {
			good++;
			eph_config_free(config);
		} else {
			bad++;
			assert_int_equal(r, -EINVAL);
			assert_null(config);
		}
	}
	assert_true(good > 100 && bad > 100);
}

#define test(name) cmocka_unit_test_setup_teardown(name, make_ctx, drop_ctx)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(the_flavor_table_is_exact),
		test(built_in_values_are_these),
		test(every_key_has_its_place),
		test(a_replaced_flavor_keeps_its_place_and_the_rest),
		test(what_is_not_understood_is_refused),
		test(thousands_are_refused_with_the_hint),
		test(hostile_text_is_shown_short_and_escaped),
		test(the_length_given_bounds_the_document),
		test(the_number_of_flavors_is_bounded),
		test(many_keys_take_no_time),
		test(equal_keys_of_different_objects_are_two),
		test(the_path_of_a_key_that_is_twice_is_right),
		test(the_key_check_is_safe_on_any_text),
		test(a_long_path_keeps_its_end),
		test(what_is_shown_parses_back),
		test(sizes_are_shown_as_people_write_them),
		test(no_memory_is_said),
		test(any_text_is_read_safely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
