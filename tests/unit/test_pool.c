// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_pool.c - pools in a view: finding, writability, admission. No LVM: views are made here. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "edge/dm.h"
#include "object/pool.h"
#include "object/volume.h"

#define EXTENT ((uint64_t)4 << 20)

static struct eph_pv pvs[2];
static struct eph_vg vgs[3];
static struct eph_lvm_view view;
static struct ephlvm_ctx *ctx;
static char *tag_fast[] = { (char *)"ephlvm", (char *)"ephlvm.pool=fast", NULL };
static char *tag_bulk[] = { (char *)"ephlvm.pool=bulk", NULL };

static int setup(void **state)
{
	(void)state;
	memset(pvs, 0, sizeof(pvs));
	memset(vgs, 0, sizeof(vgs));
	for (size_t i = 0; i < 2; i++)
		pvs[i] = (struct eph_pv){
			.device = (char *)"/dev/x",
			.extents = 100,
			.extents_used = 40,
			.allocatable = true,
		};
	vgs[0] = (struct eph_vg){
		.name = (char *)"fast",
		.uuid = (char *)"uuid-of-fast",
		.tags = { tag_fast, 2 },
		.extent_bytes = EXTENT,
		.mda_bytes = 64 << 20,
		.mda_free_bytes = 32 << 20,
		.pvs = pvs,
		.n_pvs = 2,
	};
	vgs[1] = (struct eph_vg){ .name = (char *)"bulk",
				  .uuid = (char *)"uuid-of-bulk",
				  .tags = { tag_bulk, 1 } };
	vgs[2] = (struct eph_vg){ .name = (char *)"root", .uuid = (char *)"uuid-of-root" };
	view = (struct eph_lvm_view){ .vgs = vgs, .n_vgs = 3 };
	return ephlvm_ctx_new(&ctx);
}

static int teardown(void **state)
{
	(void)state;
	ctx = ephlvm_ctx_unref(ctx);
	return 0;
}

static void pools_are_found_by_their_tag(void **state)
{
	struct eph_vg *vg = NULL;

	(void)state;
	assert_int_equal(eph_pool_find(ctx, &view, "bulk", &vg), 0);
	assert_ptr_equal(vg, &vgs[1]);
	assert_int_equal(eph_pool_find(ctx, &view, "root", &vg), -ENOENT);
	assert_int_equal(ephlvm_error_kind(ctx), EPHLVM_ERROR_NOT_FOUND);
	eph_enter(ctx);
	/* No prefix of a name is the name. */
	assert_int_equal(eph_pool_find(ctx, &view, "fas", &vg), -ENOENT);
}

static void without_a_name_there_must_be_one(void **state)
{
	struct eph_vg *vg = NULL;

	(void)state;
	assert_int_equal(eph_pool_find(ctx, &view, NULL, &vg), -EINVAL);
	assert_int_equal(ephlvm_error_kind(ctx), EPHLVM_ERROR_INVALID);
	eph_enter(ctx);
	view.n_vgs = 1;
	assert_int_equal(eph_pool_find(ctx, &view, NULL, &vg), 0);
	view.n_vgs = 0;
	assert_int_equal(eph_pool_find(ctx, &view, NULL, &vg), -ENOENT);
}

static void doubled_names_are_refused_with_both_uuids(void **state)
{
	struct eph_vg *vg = NULL;

	(void)state;
	vgs[1].tags = vgs[0].tags;
	assert_int_equal(eph_pool_find(ctx, &view, "fast", &vg), -EEXIST);
	assert_non_null(strstr(ephlvm_error_message(ctx), "uuid-of-fast"));
	assert_non_null(strstr(ephlvm_error_message(ctx), "uuid-of-bulk"));
	eph_enter(ctx);
	vgs[2].name = (char *)"fast";
	assert_int_equal(eph_pool_check_writable(ctx, &view, &vgs[0]), -EEXIST);
	assert_non_null(strstr(ephlvm_error_message(ctx), "uuid-of-root"));
}

static void foreign_and_exported_groups_are_not_written(void **state)
{
	(void)state;
	assert_int_equal(eph_pool_check_writable(ctx, &view, &vgs[0]), 0);
	vgs[0].exported = true;
	assert_true(eph_pool_check_writable(ctx, &view, &vgs[0]) < 0);
	assert_int_equal(eph_pool_free_extents(&vgs[0]), 0);
	eph_enter(ctx);
	vgs[0].exported = false;
	vgs[0].foreign = true;
	assert_true(eph_pool_check_writable(ctx, &view, &vgs[0]) < 0);
	assert_int_equal(eph_pool_free_extents(&vgs[0]), 0);
	eph_enter(ctx);
	vgs[0].foreign = false;
	vgs[0].shared = true;
	assert_int_equal(eph_pool_check_writable(ctx, &view, &vgs[0]), -EOPNOTSUPP);
	assert_int_equal(eph_pool_free_extents(&vgs[0]), 0);
}

static void free_extents_are_what_can_be_allocated(void **state)
{
	(void)state;
	assert_int_equal(eph_pool_free_extents(&vgs[0]), 120);
	pvs[1].allocatable = false;
	assert_int_equal(eph_pool_free_extents(&vgs[0]), 60);
	pvs[0].extents_used = 101; /* LVM says nonsense: no wrap to 2^64 */
	assert_int_equal(eph_pool_free_extents(&vgs[0]), 0);
	pvs[0].extents_used = 0;
	vgs[0].missing_pvs = 1;
	assert_int_equal(eph_pool_free_extents(&vgs[0]), 0);
}

static void admission_is_exact_at_the_edge(void **state)
{
	(void)state;
	assert_int_equal(eph_pool_admit(ctx, &vgs[0], 120, 1, 0), 0);
	assert_int_equal(eph_pool_admit(ctx, &vgs[0], 121, 1, 0), -ENOSPC);
	assert_int_equal(ephlvm_error_kind(ctx), EPHLVM_ERROR_NO_SPACE);
	assert_non_null(strstr(ephlvm_error_message(ctx), "507510784")); /* asked */
	assert_non_null(strstr(ephlvm_error_message(ctx), "503316480")); /* there */
	eph_enter(ctx);
	/* The reserve, rounded up to whole extents, is left free. */
	assert_int_equal(eph_pool_admit(ctx, &vgs[0], 119, 1, 1), 0);
	assert_int_equal(eph_pool_admit(ctx, &vgs[0], 120, 1, 1), -ENOSPC);
	eph_enter(ctx);
	assert_int_equal(eph_pool_admit(ctx, &vgs[0], 1, 1, UINT64_MAX), -ENOSPC);
}

static void metadata_counts(void **state)
{
	(void)state;
	vgs[0].mda_free_bytes = 40 << 10;
	assert_int_equal(eph_pool_admit(ctx, &vgs[0], 1, 1, 0), 0);
	assert_int_equal(eph_pool_admit(ctx, &vgs[0], 1, 100, 0), -ENOSPC);
	assert_non_null(strstr(ephlvm_error_message(ctx), "metadata area"));
	assert_non_null(strstr(ephlvm_error_message(ctx), "40960 of 67108864"));
	eph_enter(ctx);
	vgs[0].mda_free_bytes = 10 << 10;
	assert_int_equal(eph_pool_admit(ctx, &vgs[0], 1, 1, 0), -ENOSPC);
}

static void partial_group_creates_nothing(void **state)
{
	(void)state;
	vgs[0].missing_pvs = 1;
	assert_int_equal(eph_pool_admit(ctx, &vgs[0], 1, 1, 0), -EIO);
	assert_int_equal(ephlvm_error_kind(ctx), EPHLVM_ERROR_SYSTEM);
}

static void bytes_round_up_to_extents(void **state)
{
	uint64_t extents = 0;

	(void)state;
	assert_int_equal(eph_pool_extents(&vgs[0], 1, &extents), 0);
	assert_int_equal(extents, 1);
	assert_int_equal(eph_pool_extents(&vgs[0], EXTENT, &extents), 0);
	assert_int_equal(extents, 1);
	assert_int_equal(eph_pool_extents(&vgs[0], EXTENT + 1, &extents), 0);
	assert_int_equal(extents, 2);
	assert_int_equal(eph_pool_extents(&vgs[0], UINT64_MAX, &extents), -EOVERFLOW);
	vgs[0].extent_bytes = 0;
	assert_int_equal(eph_pool_extents(&vgs[0], 1, &extents), -EOVERFLOW);
}

static void dm_uuid_is_both_uuids_without_hyphens(void **state)
{
	char uuid[EPH_DM_UUID_TEXT] = "untouched";

	(void)state;
	assert_int_equal(eph_dm_lv_uuid("abcdef-1234-5678-9012-3456-7890-ABCDEF",
					"ghijkl-1234-5678-9012-3456-7890-GHIJKL", uuid),
			 0);
	assert_string_equal(uuid, "LVM-abcdef12345678901234567890ABCDEF"
				  "ghijkl12345678901234567890GHIJKL");
	assert_int_equal(eph_dm_lv_uuid("abcdef", "ghijkl", uuid), -EINVAL);
	assert_int_equal(eph_dm_lv_uuid("abcdef-1234-5678-9012-3456-7890-ABCDEFG",
					"ghijkl-1234-5678-9012-3456-7890-GHIJKL", uuid),
			 -EINVAL);
	assert_int_equal(eph_dm_lv_uuid("abcdef-1234-5678-9012-3456-7890-ABC/EF",
					"ghijkl-1234-5678-9012-3456-7890-GHIJKL", uuid),
			 -EINVAL);
}

static void volume_object_copies_the_view(void **state)
{
	char *tags[] = { (char *)"ephlvm",
			 (char *)"ephlvm.v=1",
			 (char *)"ephlvm.instance=11111111-2222-3333-4444-555555555555",
			 (char *)"ephlvm.disk=eph0",
			 (char *)"ephlvm.flavor=cc.small",
			 (char *)"ephlvm.state=ready",
			 (char *)"ephlvm.size=1048576",
			 (char *)"ephlvm.fs=ext4",
			 (char *)"ephlvm.at=1700000000",
			 (char *)"their.tag" };
	struct eph_range ranges[] = { { (char *)"/dev/a", 0, 10 }, { (char *)"/dev/b", 5, 1 } };
	struct eph_lv lv = {
		.name = (char *)"11111111-2222-3333-4444-555555555555_disk.eph0",
		.uuid = (char *)"lv-uuid",
		.segtype = (char *)"linear",
		.tags = { tags, 10 },
		.size_bytes = EXTENT,
		.ranges = ranges,
		.n_ranges = 2,
		.partial = true,
	};
	struct ephlvm_volume *v;

	(void)state;
	assert_true(eph_lv_is_ours(&lv));
	assert_int_equal(eph_volume_new(ctx, &vgs[0], &lv, &v), 0);
	assert_string_equal(ephlvm_volume_path(v),
			    "/dev/fast/11111111-2222-3333-4444-555555555555_disk.eph0");
	assert_string_equal(ephlvm_volume_pe_ranges(v), "/dev/a:0-9 /dev/b:5-5");
	assert_string_equal(ephlvm_volume_label(v), "ephemeral0");
	assert_string_equal(ephlvm_volume_state_name(v), "ready");
	assert_string_equal(ephlvm_volume_kind(v), "thick");
	assert_non_null(strstr(ephlvm_volume_warning_at(v, 0), "partial"));
	assert_null(ephlvm_volume_warning_at(v, 1));
	assert_int_equal(eph_volume_check_ours(ctx, v), 0);
	eph_volume_free(v);

	lv.hidden = true;
	assert_false(eph_lv_is_ours(&lv));
	lv.hidden = false;
	tags[0] = (char *)"ephlvm2";
	assert_false(eph_lv_is_ours(&lv));
	tags[0] = (char *)"ephlvm";
	tags[9] = (char *)"ephlvm.state=trash";
	assert_int_equal(eph_volume_new(ctx, &vgs[0], &lv, &v), 0);
	assert_string_equal(ephlvm_volume_state_name(v), "damaged");
	assert_int_equal(eph_volume_check_ours(ctx, v), -EUCLEAN);
	eph_volume_free(v);
	eph_enter(ctx);
	tags[9] = (char *)"their.tag";
	tags[1] = (char *)"ephlvm.v=2";
	assert_int_equal(eph_volume_new(ctx, &vgs[0], &lv, &v), 0);
	assert_int_equal(eph_volume_check_ours(ctx, v), -EUCLEAN);
	eph_volume_free(v);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pools_are_found_by_their_tag),
		TEST(without_a_name_there_must_be_one),
		TEST(doubled_names_are_refused_with_both_uuids),
		TEST(foreign_and_exported_groups_are_not_written),
		TEST(free_extents_are_what_can_be_allocated),
		TEST(admission_is_exact_at_the_edge),
		TEST(metadata_counts),
		TEST(partial_group_creates_nothing),
		TEST(bytes_round_up_to_extents),
		TEST(dm_uuid_is_both_uuids_without_hyphens),
		TEST(volume_object_copies_the_view),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
