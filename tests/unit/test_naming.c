// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_naming.c - LV names and back, trash names, which names of VG and pool are taken. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <libdevmapper.h>
#include <linux/dm-ioctl.h> /* DM_NAME_LEN, with the NUL */

#include "failing_alloc.h"
#include "pure/naming.h"
#include "util/cleanup.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define INSTANCE "0a1b2c3d-1111-2222-3333-444455556666"
#define LV_UUID "aBcDeF-1234-5678-9aBc-DeFg-hIjK-lMnOpQ"
#define LONGEST_LV INSTANCE "_disk.eph99"

static int make_ctx(void **state)
{
	return ephlvm_ctx_new((struct ephlvm_ctx **)state);
}

static int drop_ctx(void **state)
{
	ephlvm_ctx_unref(*state);
	return 0;
}

static void disks_have_one_spelling(void **state)
{
	static const char *const good[] = { "root", "swap",  "image", "eph0",
					    "eph9", "eph10", "eph99" };
	static const char *const bad[] = { "",	    "eph",  "eph00", "eph01", "eph100", "eph-1",
					   "eph1x", "Eph0", "root ", "disk",  "eph 1",	"swap0" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(eph_disk_valid(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(eph_disk_valid(bad[i]));
}

static void labels_are_those_of_cloud_init(void **state)
{
	char buf[32];

	(void)state;
	assert_string_equal(eph_disk_label("eph0", buf), "ephemeral0");
	assert_string_equal(eph_disk_label("eph99", buf), "ephemeral99");
	assert_null(eph_disk_label("root", buf));
	assert_null(eph_disk_label("swap", buf));
	assert_null(eph_disk_label("eph07", buf));
}

static void lv_names_are_novas_own(void **state)
{
	static const struct {
		const char *disk, *name;
	} t[] = {
		{ "root", INSTANCE "_disk" },
		{ "eph0", INSTANCE "_disk.eph0" },
		{ "eph12", INSTANCE "_disk.eph12" },
		{ "swap", INSTANCE "_disk.swap" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		_cleanup_free_ char *name = NULL;

		assert_int_equal(eph_lv_name(INSTANCE, t[i].disk, &name), 0);
		assert_string_equal(name, t[i].name);
	}
}

static void lv_name_refuses_what_is_not_normal(void **state)
{
	char *name = (char *)"untouched";

	(void)state;
	assert_int_equal(eph_lv_name("0A1B2C3D-1111-2222-3333-444455556666", "eph0", &name),
			 -EINVAL);
	assert_int_equal(eph_lv_name("", "eph0", &name), -EINVAL);
	assert_int_equal(eph_lv_name("../../../etc/passwd", "eph0", &name), -EINVAL);
	assert_int_equal(eph_lv_name(INSTANCE, "eph100", &name), -EINVAL);
	assert_int_equal(eph_lv_name(INSTANCE, "", &name), -EINVAL);
	assert_int_equal(eph_lv_name(INSTANCE, "image", &name), -EINVAL);
	assert_string_equal(name, "untouched");
}

/* lvm2 2.03 lib/misc/lvm-string.c: names that begin so, and parts that may be nowhere in a name. */
static bool lvm_reserves(const char *name)
{
	static const char *const prefixes[] = { "snapshot", "pvmove" };
	static const char *const parts[] = {
		"_cdata", "_cmeta",  "_corig", "_cpool",   "_cvol",   "_imeta",
		"_iorig", "_mimage", "_mlog",  "_pmspare", "_rimage", "_rmeta",
		"_tdata", "_tmeta",  "_vdata", "_vorigin", "_wcorig",
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (eph_startswith(name, prefixes[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

static void for_every_disk(void (*check)(const char *disk, const char *name))
{
	for (int i = -2; i < 100; i++) {
		_cleanup_free_ char *name = NULL;
		char disk[16];

		if (i < 0)
			strcpy(disk, i == -1 ? "root" : "swap");
		else
			snprintf(disk, sizeof(disk), "eph%d", i);
		assert_int_equal(eph_lv_name(INSTANCE, disk, &name), 0);
		check(disk, name);
	}
}

static void parses_back(const char *disk, const char *name)
{
	char instance[EPH_UUID_TEXT], got[16];

	assert_true(eph_lv_name_parse(name, instance, got));
	assert_string_equal(instance, INSTANCE);
	assert_string_equal(got, disk);
	assert_true(eph_lv_name_parse(name, NULL, NULL));
	assert_false(eph_trash_name_match(name));
	assert_false(lvm_reserves(name));
	assert_true(strlen(name) <= strlen(LONGEST_LV));
}

static void every_lv_name_parses_back(void **state)
{
	(void)state;
	for_every_disk(parses_back);
}

static void lv_name_parse_refuses_neighbours(void **state)
{
	static const char *const bad[] = {
		"",
		"_disk",
		INSTANCE,
		INSTANCE "_",
		INSTANCE "_dis",
		INSTANCE "_disk.",
		INSTANCE "_disk.root",
		INSTANCE "_disk.image",
		INSTANCE "_disk.eph",
		INSTANCE "_disk.eph01",
		INSTANCE "_disk.eph100",
		INSTANCE "_disk.eph0 ",
		INSTANCE "_disk.local",
		INSTANCE "_disk.config",
		INSTANCE "_disk_x",
		INSTANCE "_diskeph0",
		"x" INSTANCE "_disk",
		"0A1B2C3D-1111-2222-3333-444455556666_disk",
		"0a1b2c3d-1111-2222-3333-44445555666_disk",
		"instance-0000001_disk",
	};
	char instance[EPH_UUID_TEXT] = "untouched", disk[16] = "untouched";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(eph_lv_name_parse(bad[i], instance, disk));
	assert_string_equal(instance, "untouched");
	assert_string_equal(disk, "untouched");
}

static void trash_name_has_its_form(void **state)
{
	_cleanup_free_ char *name = NULL, *epoch = NULL, *last = NULL;

	(void)state;
	assert_int_equal(eph_trash_name(0x65a0b1c2, LV_UUID, &name), 0);
	assert_true(eph_trash_name_time(name) == 0x65a0b1c2);
	assert_true(eph_trash_name_time("trash-65a0b1c2-short") == 0);
	assert_string_equal(name, "trash-65a0b1c2-aBcDeF123456789aBcDeFghI");
	assert_int_equal(eph_trash_name(0, LV_UUID, &epoch), 0);
	assert_string_equal(epoch, "trash-00000000-aBcDeF123456789aBcDeFghI");
	assert_int_equal(eph_trash_name(UINT32_MAX, LV_UUID, &last), 0);
	assert_true(eph_trash_name_match(name));
	assert_true(eph_trash_name_match(epoch));
	assert_true(eph_trash_name_match(last));
	assert_false(lvm_reserves(name));
	assert_false(eph_lv_name_parse(name, NULL, NULL));
}

/* A nearly full metadata area must never stop a delete. */
static void longer_than_trash(const char *disk, const char *name)
{
	_cleanup_free_ char *trash = NULL;

	(void)disk;
	assert_int_equal(eph_trash_name(UINT32_MAX, LV_UUID, &trash), 0);
	assert_true(strlen(trash) <= strlen(name));
}

static void no_trash_name_is_longer_than_the_name_before(void **state)
{
	(void)state;
	for_every_disk(longer_than_trash);
}

static void trash_name_refuses_what_it_cannot_hold(void **state)
{
	char *name = (char *)"untouched";

	(void)state;
	assert_int_equal(eph_trash_name(-1, LV_UUID, &name), -EINVAL);
	assert_int_equal(eph_trash_name((int64_t)UINT32_MAX + 1, LV_UUID, &name), -EINVAL);
	assert_int_equal(eph_trash_name(1, "", &name), -EINVAL);
	assert_int_equal(eph_trash_name(1, "aBcDeF-1234", &name), -EINVAL);
	assert_int_equal(eph_trash_name(1, LV_UUID "x", &name), -EINVAL);
	assert_int_equal(eph_trash_name(1, "../../-1234-5678-9aBc-DeFg-hIjK-lMnOpQ", &name),
			 -EINVAL);
	assert_int_equal(eph_trash_name(1,
					"\xe4"
					"BcDeF-1234-5678-9aBc-DeFg-hIjK-lMnOpQ",
					&name),
			 -EINVAL);
	assert_string_equal(name, "untouched");
}

static void trash_match_is_exact(void **state)
{
	static const char *const bad[] = {
		"",
		"trash",
		"trash-",
		"trash-65a0b1c2",
		"trash-65a0b1c2-",
		"trash-65a0b1c2-aBcDeF123456789aBcDeFgh", /* 23 */
		"trash-65a0b1c2-aBcDeF123456789aBcDeFghIj", /* 25 */
		"trash-65A0B1C2-aBcDeF123456789aBcDeFghI",
		"trash-65a0b1c-aBcDeF123456789aBcDeFghIj",
		"trash-65a0b1c2_aBcDeF123456789aBcDeFghI",
		"trash-65a0b1c2-aBcDeF-23456789aBcDeFghI",
		"Trash-65a0b1c2-aBcDeF123456789aBcDeFghI",
		"trash-65a0b1c2-aBcDeF123456789aBcDeFghI_rimage_0",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(eph_trash_name_match(bad[i]));
}

static int vg_check(struct ephlvm_ctx *ctx, const char *name)
{
	eph_enter(ctx);
	return eph_vg_name_check(ctx, name);
}

static void vg_names_of_the_field_are_taken(void **state)
{
	static const char *const good[] = { "ephlvm", "nova-local", "0nvme", "vg.1",	"_vg",
					    "a+b",    "...",	    "dev",   "nvme0n1x" };

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(vg_check(*state, good[i]), 0);
		assert_int_equal(ephlvm_error_kind(*state), EPHLVM_ERROR_NONE);
	}
}

static void vg_names_that_lvm_cannot_take_are_refused(void **state)
{
	static const char *const bad[] = {
		"",	".",	      "..",	"-vg",	"a b", "a/b",	    "vg:1",
		"vg\n", "v\xc3\xa4g", "mapper", "disk", "shm", "$(reboot)", "vg@1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(vg_check(*state, bad[i]), -EINVAL);
		assert_int_equal(ephlvm_error_kind(*state), EPHLVM_ERROR_INVALID);
		assert_string_not_equal(ephlvm_error_hint(*state), "");
		assert_null(strchr(ephlvm_error_message(*state), '\n'));
	}
}

/* libdevmapper's own words on how long the name of a device gets. */
static size_t dm_name_length(const char *vg)
{
	struct dm_pool *mem = dm_pool_create("test", 1024);
	size_t n;

	assert_non_null(mem);
	n = strlen(dm_build_dm_name(mem, vg, LONGEST_LV, NULL));
	dm_pool_destroy(mem);
	return n;
}

static void vg_name_leaves_room_for_our_longest_lv(void **state)
{
	for (unsigned int every = 1; every < 12; every++) {
		char vg[EPH_LV_NAME_MAX] = "";
		bool fitted = false, refused = false;

		/* a hyphen at each @every-th place, 1 for none */
		for (size_t n = 0; n + 1 < sizeof(vg); n++) {
			vg[n] = n > 0 && every > 1 && n % every == 0 ? '-' : 'v';
			vg[n + 1] = '\0';
			if (dm_name_length(vg) < DM_NAME_LEN) {
				assert_int_equal(vg_check(*state, vg), 0);
				assert_true(eph_pool_name_valid(vg));
				fitted = true;
			} else {
				assert_int_equal(vg_check(*state, vg), -EINVAL);
				refused = true;
			}
		}
		assert_true(fitted && refused);
	}
}

static void lv_names_end_where_lvms_do(void **state)
{
	_cleanup_free_ char *vg = NULL, *lv = NULL;
	char *no_vg = NULL, *no_lv = NULL;
	char name[3 + EPH_LV_NAME_MAX + 1] = "vg/";

	memset(name + 3, 'l', EPH_LV_NAME_MAX - 1);
	eph_enter(*state);
	assert_int_equal(eph_volume_name_parse(*state, name, &vg, &lv), 0);
	assert_int_equal(strlen(lv), 127);
	name[3 + EPH_LV_NAME_MAX - 1] = 'l';
	assert_int_equal(eph_volume_name_parse(*state, name, &no_vg, &no_lv), -EINVAL);
}

static void instances_are_uuids(void **state)
{
	static const char *const bad[] = { "", "x", INSTANCE "0",
					   "../../../../../../../../../etc/passwd",
					   "0a1b2c3d-1111-2222-3333-44445555666\n" };
	char instance[EPH_UUID_TEXT] = "untouched";

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		eph_enter(*state);
		assert_int_equal(eph_instance_parse(*state, bad[i], instance), -EINVAL);
		assert_int_equal(ephlvm_error_kind(*state), EPHLVM_ERROR_INVALID);
		assert_null(strchr(ephlvm_error_message(*state), '\n'));
	}
	eph_enter(*state);
	assert_int_equal(eph_instance_parse(*state, NULL, instance), -EINVAL);
	assert_string_equal(instance, "untouched");
	eph_enter(*state);
	assert_int_equal(
		eph_instance_parse(*state, "0A1B2C3D-1111-2222-3333-444455556666", instance), 0);
	assert_string_equal(instance, INSTANCE);
}

static void pool_names_fit_into_a_tag(void **state)
{
	char longest[EPH_TAG_VALUE_MAX + 2];

	memset(longest, 'p', sizeof(longest));
	longest[EPH_TAG_VALUE_MAX] = '\0';
	eph_enter(*state);
	assert_int_equal(eph_pool_name_check(*state, longest), 0);
	longest[EPH_TAG_VALUE_MAX] = 'p';
	longest[EPH_TAG_VALUE_MAX + 1] = '\0';
	assert_int_equal(eph_pool_name_check(*state, longest), -EINVAL);
	assert_false(eph_pool_name_valid("a/b"));
	assert_false(eph_pool_name_valid(""));
	assert_false(eph_pool_name_valid("-p"));
	assert_false(eph_pool_name_valid("a,b"));
	assert_true(eph_pool_name_valid("mapper"));
}

static void volume_names_are_two_words(void **state)
{
	static const char *const good[] = { "vg-1/lv.x", "/dev/vg-1/lv.x" };
	static const char *const bad[] = {
		"",	  "vg",	     "vg/",    "/lv",	   "/dev/vg",		"/dev/mapper/vg-lv",
		"vg/a/b", "../lv",   "vg/..",  "/dev//lv", "/dev/vg/lv/",	"/etc/passwd",
		"vg/a b", "vg/\x1b", "-vg/lv", "vg/-lv",   "/dev/../dev/vg/lv",
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		_cleanup_free_ char *vg = NULL, *lv = NULL;

		eph_enter(*state);
		assert_int_equal(eph_volume_name_parse(*state, good[i], &vg, &lv), 0);
		assert_string_equal(vg, "vg-1");
		assert_string_equal(lv, "lv.x");
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char *vg = NULL, *lv = NULL;

		eph_enter(*state);
		assert_int_equal(eph_volume_name_parse(*state, bad[i], &vg, &lv), -EINVAL);
		assert_int_equal(ephlvm_error_kind(*state), EPHLVM_ERROR_INVALID);
		assert_null(vg);
		assert_null(lv);
	}
}

static int all_names(struct ephlvm_ctx *ctx)
{
	_cleanup_free_ char *name = NULL, *trash = NULL, *vg = NULL, *lv = NULL;
	int r;

	eph_enter(ctx);
	r = eph_lv_name(INSTANCE, "eph0", &name);
	if (r == 0)
		r = eph_trash_name(1, LV_UUID, &trash);
	if (r == 0)
		r = eph_volume_name_parse(ctx, "vg/lv", &vg, &lv);
	return r;
}

static void no_memory_is_said(void **state)
{
	unsigned int nth = 0;
	int r;

	do {
		failing_alloc_arm(nth++);
		r = all_names(*state);
		if (failing_alloc_disarm())
			assert_int_equal(r, -ENOMEM);
	} while (r != 0);
	assert_int_equal(nth, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(disks_have_one_spelling),
		cmocka_unit_test(labels_are_those_of_cloud_init),
		cmocka_unit_test(lv_names_are_novas_own),
		cmocka_unit_test(lv_name_refuses_what_is_not_normal),
		cmocka_unit_test(every_lv_name_parses_back),
		cmocka_unit_test(lv_name_parse_refuses_neighbours),
		cmocka_unit_test(trash_name_has_its_form),
		cmocka_unit_test(no_trash_name_is_longer_than_the_name_before),
		cmocka_unit_test(trash_name_refuses_what_it_cannot_hold),
		cmocka_unit_test(trash_match_is_exact),
		cmocka_unit_test_setup_teardown(vg_names_of_the_field_are_taken, make_ctx,
						drop_ctx),
		cmocka_unit_test_setup_teardown(vg_names_that_lvm_cannot_take_are_refused, make_ctx,
						drop_ctx),
		cmocka_unit_test_setup_teardown(vg_name_leaves_room_for_our_longest_lv, make_ctx,
						drop_ctx),
		cmocka_unit_test_setup_teardown(lv_names_end_where_lvms_do, make_ctx, drop_ctx),
		cmocka_unit_test_setup_teardown(instances_are_uuids, make_ctx, drop_ctx),
		cmocka_unit_test_setup_teardown(pool_names_fit_into_a_tag, make_ctx, drop_ctx),
		cmocka_unit_test_setup_teardown(volume_names_are_two_words, make_ctx, drop_ctx),
		cmocka_unit_test_setup_teardown(no_memory_is_said, make_ctx, drop_ctx),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
