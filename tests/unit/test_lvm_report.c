// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Reading LVM's reports: what a view holds, and that a report which cannot be understood is an error and
 * never a smaller view.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/context.h"
#include "edge/lvm_report.h"
#include "failing_alloc.h"
#include "util/cleanup.h"

#define VG1 "aaaaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaaaa"
#define VG2 "bbbbbb-bbbb-bbbb-bbbb-bbbb-bbbb-bbbbbb"
#define PV1 "cccccc-cccc-cccc-cccc-cccc-cccc-cccccc"
#define PV2 "dddddd-dddd-dddd-dddd-dddd-dddd-dddddd"
#define LV1 "eeeeee-eeee-eeee-eeee-eeee-eeee-eeeeee"
#define LV2 "ffffff-ffff-ffff-ffff-ffff-ffff-ffffff"

#define VG(uuid, name, attr, more)                                                                \
	"{\"vg_uuid\":\"" uuid "\", \"vg_name\":\"" name "\", \"vg_attr\":\"" attr                \
	"\", \"vg_tags\":\"ephlvm.pool=fast,other\", \"vg_size\":\"394264576\", "                 \
	"\"vg_free\":\"310378496\", \"vg_extent_size\":\"4194304\", \"vg_extent_count\":\"94\", " \
	"\"vg_free_count\":\"74\", \"vg_seqno\":\"12\", \"vg_mda_size\":\"68153344\", "           \
	"\"vg_mda_free\":\"34074112\"" more "}"
#define HEALTHY ", \"vg_missing_pv_count\":\"0\", \"vg_systemid\":\"\""
#define PV(uuid, name, attr)                                                                \
	"{\"pv_uuid\":\"" uuid "\", \"pv_name\":\"" name "\", \"pv_attr\":\"" attr          \
	"\", \"pv_size\":\"197132288\", \"pv_free\":\"113246208\", "                        \
	"\"pv_pe_count\":\"47\", \"pv_pe_alloc_count\":\"20\", \"pe_start\":\"68157440\", " \
	"\"pv_mda_size\":\"68153344\", \"pv_mda_free\":\"34074112\"}"
#define LV_MORE(uuid, name, attr, role, more)                                         \
	"{\"lv_uuid\":\"" uuid "\", \"lv_name\":\"" name "\", \"lv_attr\":\"" attr    \
	"\", \"lv_size\":\"83886080\", \"lv_layout\":\"linear\", \"lv_role\":\"" role \
	"\", \"lv_tags\":\"ephlvm,ephlvm.disk=eph0\"" more "}"
#define LV(uuid, name, attr) LV_MORE(uuid, name, attr, "public", "")
#define SEG(uuid, type, start, ranges)                                                   \
	"{\"lv_uuid\":\"" uuid "\", \"segtype\":\"" type "\", \"seg_start_pe\":\"" start \
	"\", \"seg_pe_ranges\":\"" ranges "\"}"
#define GROUP(vg, pv, lv, seg)                                                   \
	"{\"vg\": [" vg "], \"pv\": [" pv "], \"lv\": [" lv "], \"pvseg\": [], " \
	"\"seg\": [" seg "]}"
#define REPORT(groups) "  {\n  \"report\": [\n" groups "\n]\n  }\n"

#define ONE_VG VG(VG1, "vg-a", "wz--n-", HEALTHY)
#define ONE_PV PV(PV1, "/dev/nvme0n1", "a--")
#define ONE_LV LV(LV1, "lv0", "-wi-a-----")
#define ONE_SEG SEG(LV1, "linear", "0", "/dev/nvme0n1:0-19")

static int setup(void **state)
{
	struct ephlvm_ctx *ctx = NULL;

	assert_int_equal(ephlvm_ctx_new(&ctx), 0);
	*state = ctx;
	return 0;
}

static int teardown(void **state)
{
	ephlvm_ctx_unref(*state);
	return 0;
}

static struct eph_lvm_view *parse(struct ephlvm_ctx *ctx, const char *out, const char *err)
{
	struct eph_lvm_view *view = NULL;
	int r = eph_lvm_report_parse(ctx, out, err, &view);

	if (r < 0)
		print_error("%s\n", ephlvm_error_message(ctx));
	assert_int_equal(r, 0);
	assert_non_null(view);
	return view;
}

/* @out is refused, and the message names @word. */
static void refuse(struct ephlvm_ctx *ctx, const char *out, const char *word)
{
	struct eph_lvm_view *view = NULL;

	eph_enter(ctx);
	assert_int_equal(eph_lvm_report_parse(ctx, out, "", &view), -EIO);
	assert_null(view);
	assert_int_equal(ephlvm_error_kind(ctx), EPHLVM_ERROR_SYSTEM);
	if (!strstr(ephlvm_error_message(ctx), word))
		fail_msg("\"%s\" does not name %s", ephlvm_error_message(ctx), word);
}

static void reads_a_whole_vg(void **state)
{
	_cleanup_view_ struct eph_lvm_view *view =
		parse(*state, REPORT(GROUP(ONE_VG, ONE_PV, ONE_LV, ONE_SEG)), "");
	const struct eph_vg *vg = eph_lvm_vg_by_uuid(view, VG1);
	const struct eph_lv *lv;

	assert_int_equal(view->n_vgs, 1);
	assert_null(view->warnings);
	assert_false(view->stale);
	assert_ptr_equal(vg, &view->vgs[0]);
	assert_string_equal(vg->name, "vg-a");
	assert_int_equal(vg->tags.n, 2);
	assert_string_equal(vg->tags.v[1], "other");
	assert_int_equal(vg->size_bytes, 394264576);
	assert_int_equal(vg->free_bytes, 310378496);
	assert_int_equal(vg->extent_bytes, 4194304);
	assert_int_equal(vg->extents, 94);
	assert_int_equal(vg->free_extents, 74);
	assert_int_equal(vg->seqno, 12);
	assert_int_equal(vg->missing_pvs, 0);
	assert_int_equal(vg->mda_bytes, 68153344);
	assert_int_equal(vg->mda_free_bytes, 34074112);
	assert_false(vg->exported || vg->shared || vg->foreign);

	assert_int_equal(vg->n_pvs, 1);
	assert_string_equal(vg->pvs[0].device, "/dev/nvme0n1");
	assert_string_equal(vg->pvs[0].uuid, PV1);
	assert_int_equal(vg->pvs[0].extents, 47);
	assert_int_equal(vg->pvs[0].extents_used, 20);
	assert_int_equal(vg->pvs[0].pe_start_bytes, 68157440);
	assert_int_equal(vg->pvs[0].mda_free_bytes, 34074112);
	assert_true(vg->pvs[0].allocatable);
	assert_false(vg->pvs[0].missing || vg->pvs[0].duplicate);

	lv = eph_lvm_lv_by_name(vg, "lv0");
	assert_non_null(lv);
	assert_ptr_equal(lv, eph_lvm_lv_by_uuid(vg, LV1));
	assert_int_equal(lv->size_bytes, 83886080);
	assert_string_equal(lv->segtype, "linear");
	assert_string_equal(lv->layout, "linear");
	assert_true(eph_strv_has(&lv->tags, "ephlvm.disk=eph0"));
	assert_null(lv->parent);
	assert_null(lv->pool_lv);
	assert_int_equal(lv->n_ranges, 1);
	assert_string_equal(lv->ranges[0].device, "/dev/nvme0n1");
	assert_int_equal(lv->ranges[0].first, 0);
	assert_int_equal(lv->ranges[0].count, 20);
	assert_true(lv->active);
	assert_false(lv->open || lv->suspended || lv->partial || lv->locked || lv->hidden);
}

static void finds_nothing_that_is_not_there(void **state)
{
	_cleanup_view_ struct eph_lvm_view *view =
		parse(*state, REPORT(GROUP(ONE_VG, ONE_PV, ONE_LV, ONE_SEG)), "");
	size_t n = 7;

	assert_null(eph_lvm_vg_by_uuid(view, VG2));
	assert_null(eph_lvm_vg_by_name(view, "vg", &n));
	assert_int_equal(n, 0);
	assert_null(eph_lvm_lv_by_uuid(&view->vgs[0], LV2));
	assert_null(eph_lvm_lv_by_name(&view->vgs[0], "lv"));
}

static void reads_an_empty_host(void **state)
{
	_cleanup_view_ struct eph_lvm_view *view = parse(*state, REPORT(""), "");

	assert_int_equal(view->n_vgs, 0);
	assert_int_equal(view->n_orphans, 0);
}

static void keeps_pvs_without_a_vg_apart(void **state)
{
	_cleanup_view_ struct eph_lvm_view *view =
		parse(*state,
		      REPORT(GROUP(ONE_VG, ONE_PV, ONE_LV, ONE_SEG) ", {\"pv\": [" PV(
			      PV2, "/dev/sdb", "---") ", " PV("", "/dev/sdc",
							      "---") "], \"pvseg\": [{}]}"),
		      "");

	assert_int_equal(view->n_vgs, 1);
	assert_int_equal(view->vgs[0].n_pvs, 1);
	assert_int_equal(view->n_orphans, 1);
	assert_string_equal(view->orphans[0].device, "/dev/sdb");
	assert_false(view->orphans[0].missing);
}

static void keeps_two_vgs_of_one_name_and_their_lvs(void **state)
{
	_cleanup_view_ struct eph_lvm_view *view = parse(
		*state,
		REPORT(GROUP(ONE_VG, ONE_PV, ONE_LV, ONE_SEG) ", " GROUP(
			VG(VG2, "vg-a", "wz--n-", HEALTHY), PV(PV2, "/dev/nvme1n1", "a--"),
			LV(LV2, "lv0", "-wi-------"), SEG(LV2, "linear", "0", "/dev/nvme1n1:5-5"))),
		"  WARNING: VG name vg-a is used by VGs " VG1 " and " VG2 ".\n");
	size_t n;

	assert_int_equal(view->n_vgs, 2);
	assert_non_null(eph_lvm_vg_by_name(view, "vg-a", &n));
	assert_int_equal(n, 2);
	assert_string_equal(eph_lvm_lv_by_name(eph_lvm_vg_by_uuid(view, VG1), "lv0")->uuid, LV1);
	assert_string_equal(eph_lvm_lv_by_name(eph_lvm_vg_by_uuid(view, VG2), "lv0")->uuid, LV2);
}

/* Rows come in the report's order, not in the LV's. */
static void counts_an_lv_of_many_segments_once(void **state)
{
	_cleanup_view_ struct eph_lvm_view *view = parse(
		*state,
		REPORT(GROUP(
			ONE_VG, ONE_PV,
			LV(LV2, "other", "-wi-a-----") ", " LV(LV1, "lv0", "-wi-a-----"),
			SEG(LV1, "linear", "10", "/dev/nvme1n1:0-1") ", " SEG(
				LV2, "striped", "0",
				"/dev/nvme0n1:23-24 /dev/nvme1n1:30-31") ", " ONE_SEG
									 ", " SEG(
										 LV1, "linear", "9",
										 "/dev/nvme0n1:40-40"))),
		"");
	const struct eph_vg *vg = &view->vgs[0];
	const struct eph_lv *lv = eph_lvm_lv_by_uuid(vg, LV1);

	assert_int_equal(vg->n_lvs, 2);
	assert_int_equal(lv->size_bytes, 83886080);
	assert_string_equal(lv->segtype, "linear");
	assert_int_equal(lv->n_ranges, 3);
	assert_int_equal(lv->ranges[0].first, 0);
	assert_int_equal(lv->ranges[1].first, 40);
	assert_int_equal(lv->ranges[1].count, 1);
	assert_string_equal(lv->ranges[2].device, "/dev/nvme1n1");
	lv = eph_lvm_lv_by_uuid(vg, LV2);
	assert_string_equal(lv->segtype, "striped");
	assert_int_equal(lv->n_ranges, 2);
	assert_string_equal(lv->ranges[1].device, "/dev/nvme1n1");
	assert_int_equal(lv->ranges[1].first, 30);
}

static void calls_different_segments_mixed(void **state)
{
	_cleanup_view_ struct eph_lvm_view *view =
		parse(*state,
		      REPORT(GROUP(ONE_VG, ONE_PV, ONE_LV,
				   ONE_SEG
				   ", " SEG(LV1, "striped", "20", "/dev/a:1-2 /dev/b:1-2") ", " SEG(
					   LV1, "striped", "24", "/dev/a:3-3 /dev/b:3-3"))),
		      "");

	assert_string_equal(view->vgs[0].lvs[0].segtype, "mixed");
	assert_int_equal(view->vgs[0].lvs[0].n_ranges, 5);
}

static void reads_device_names_with_odd_characters(void **state)
{
	_cleanup_view_ struct eph_lvm_view *view = parse(
		*state,
		REPORT(GROUP(
			ONE_VG, PV(PV1, "/dev/disk/by-path/pci-0000:00:1f,2|x-1", "a--"), ONE_LV,
			SEG(LV1, "linear", "0", "/dev/disk/by-path/pci-0000:00:1f,2|x-1:7-9"))),
		"");
	const struct eph_range *range = &view->vgs[0].lvs[0].ranges[0];

	assert_string_equal(view->vgs[0].pvs[0].device, "/dev/disk/by-path/pci-0000:00:1f,2|x-1");
	assert_string_equal(range->device, "/dev/disk/by-path/pci-0000:00:1f,2|x-1");
	assert_int_equal(range->first, 7);
	assert_int_equal(range->count, 3);
}

static void reads_a_partial_vg(void **state)
{
	_cleanup_view_ struct eph_lvm_view *view = parse(
		*state,
		REPORT(GROUP(VG(VG1, "vg-a", "wz-pn-", ", \"vg_missing_pv_count\":\"1\""),
			     ONE_PV ", " PV(PV2, "[unknown]", "a-m"), LV(LV1, "lv0", "-wi-----p-"),
			     SEG(LV1, "linear", "0", "[unknown]:0-19"))),
		"  WARNING: Couldn't find device with uuid " PV2 ".\n");
	const struct eph_vg *vg = &view->vgs[0];

	assert_int_equal(vg->missing_pvs, 1);
	assert_false(vg->pvs[0].missing);
	assert_true(vg->pvs[1].missing);
	assert_null(vg->pvs[1].device);
	assert_true(vg->lvs[0].partial);
	assert_string_equal(vg->lvs[0].ranges[0].device, "[unknown]");
	assert_string_equal(view->warnings, "  WARNING: Couldn't find device with uuid " PV2 ".\n");
}

/* A healthy name in the report is not enough: the "m" decides. */
static void believes_missing_with_a_device_name(void **state)
{
	_cleanup_view_ struct eph_lvm_view *view = parse(
		*state, REPORT(GROUP(ONE_VG, PV(PV1, "/dev/nvme0n1", "a-m"), ONE_LV, ONE_SEG)), "");

	assert_true(view->vgs[0].pvs[0].missing);
}

static void reads_exported_shared_and_foreign_vgs(void **state)
{
	struct {
		const char *out;
		bool exported, shared, foreign;
	} cases[] = {
		{ REPORT(GROUP(VG(VG1, "v", "wzx-n-", HEALTHY), ONE_PV, "", "")), true, false,
		  false },
		{ REPORT(GROUP(VG(VG1, "v", "wz--ns", HEALTHY), ONE_PV, "", "")), false, true,
		  false },
		{ REPORT(GROUP(VG(VG1, "v", "wz--nc", HEALTHY), ONE_PV, "", "")), false, true,
		  false },
		{ REPORT(GROUP(VG(VG1, "v", "wz--n-",
				  ", \"vg_missing_pv_count\":\"0\", \"vg_systemid\":\"host2\""),
			       ONE_PV, "", "")),
		  false, false, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_view_ struct eph_lvm_view *view = parse(*state, cases[i].out, "");

		assert_int_equal(view->vgs[0].exported, cases[i].exported);
		assert_int_equal(view->vgs[0].shared, cases[i].shared);
		assert_int_equal(view->vgs[0].foreign, cases[i].foreign);
		assert_int_equal(eph_lvm_view_has_system_id(view), cases[i].foreign);
	}
}

static void reads_lv_states(void **state)
{
	enum { ACTIVE = 1, OPEN = 2, SUSPENDED = 4, LOCKED = 8, HIDDEN = 16, PARTIAL = 32 };
#define ATTR(attr) REPORT(GROUP(ONE_VG, ONE_PV, LV(LV1, "lv0", attr), ONE_SEG))
#define ROLE(attr, role, more) \
	REPORT(GROUP(ONE_VG, ONE_PV, LV_MORE(LV1, "lv0", attr, role, more), ONE_SEG))
	const struct {
		const char *out;
		unsigned int want;
	} cases[] = {
		{ ATTR("-wi-------"), 0 },
		{ ATTR("-wi-a-----"), ACTIVE },
		{ ATTR("-wi-ao----"), ACTIVE | OPEN },
		{ ATTR("-wi-s-----"), ACTIVE | SUSPENDED },
		{ ATTR("-wi-i-----"), ACTIVE }, /* a dm node with an inactive table only */
		{ ATTR("-wi-d-----"), ACTIVE }, /* a dm node without a table */
		{ ATTR("-wi-XX----"), 0 },
		{ ATTR("-wI-ao----"), ACTIVE | OPEN | LOCKED }, /* pvmove under way */
		{ ATTR("pwC-aom---"), ACTIVE | OPEN | LOCKED },
		{ ATTR("cwi-a-----"), ACTIVE | LOCKED },
		{ ATTR("rwi-a-r---"), ACTIVE },
		{ ATTR("rwi-a-r-p-"), ACTIVE | PARTIAL },
		{ ROLE("iwi-aor---", "private,raid,image", ", \"lv_parent\":\"lv1\""),
		  ACTIVE | OPEN | HIDDEN },
		{ ROLE("-wi-a-----", "public", ", \"lv_converting\":\"converting\""),
		  ACTIVE | LOCKED },
		{ ROLE("-wi-a-----", "public", ", \"lv_merging\":\"merging\""), ACTIVE | LOCKED },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_view_ struct eph_lvm_view *view = parse(*state, cases[i].out, "");
		const struct eph_lv *lv = &view->vgs[0].lvs[0];
		unsigned int got = (lv->active ? ACTIVE : 0) | (lv->open ? OPEN : 0) |
				   (lv->suspended ? SUSPENDED : 0) | (lv->locked ? LOCKED : 0) |
				   (lv->hidden ? HIDDEN : 0) | (lv->partial ? PARTIAL : 0);

		if (got != cases[i].want)
			fail_msg("%s: %u, not %u", lv->attr, got, cases[i].want);
	}
}

/* A thin volume has a pool and no extents of its own. */
static void reads_an_lv_without_ranges(void **state)
{
	_cleanup_view_ struct eph_lvm_view *view =
		parse(*state,
		      REPORT(GROUP(ONE_VG, ONE_PV,
				   LV_MORE(LV1, "thin0", "Vwi-a-tz--", "public",
					   ", \"pool_lv\":\"pool\""),
				   SEG(LV1, "thin", "0", ""))),
		      "");

	assert_string_equal(view->vgs[0].lvs[0].pool_lv, "pool");
	assert_int_equal(view->vgs[0].lvs[0].n_ranges, 0);
	assert_string_equal(view->vgs[0].lvs[0].segtype, "thin");
}

static void keeps_what_is_said_besides(void **state)
{
	_cleanup_view_ struct eph_lvm_view *view = parse(
		*state,
		"Consider pruning vg-a VG archive with more then 8 MiB in 8207 files.\n" REPORT(
			GROUP(ONE_VG, ONE_PV, ONE_LV, ONE_SEG)),
		"File descriptor 9 leaked\n");

	assert_int_equal(view->n_vgs, 1);
	assert_string_equal(
		view->warnings,
		"File descriptor 9 leaked\n"
		"Consider pruning vg-a VG archive with more then 8 MiB in 8207 files.\n");
}

static void marks_a_pv_that_is_there_twice(void **state)
{
	_cleanup_view_ struct eph_lvm_view *view = parse(
		*state,
		REPORT(GROUP(ONE_VG, ONE_PV ", " PV(PV2, "/dev/nvme1n1", "a--"), ONE_LV, ONE_SEG)),
		"WARNING: Not using device /dev/sdz for PV gggggg-gggg.\n"
		"  WARNING: Not using device /dev/nvme7n1 for PV " PV2 ".\n"
		"  WARNING: PV " PV2 " prefers device /dev/nvme1n1 because of size.\n");

	assert_false(view->vgs[0].pvs[0].duplicate);
	assert_true(view->vgs[0].pvs[1].duplicate);
}

static void refuses_what_is_no_report(void **state)
{
	refuse(*state, "", "no report");
	refuse(*state, "  WARNING: nothing here\n", "no report");
	refuse(*state, "{\"report\": [", "not JSON");
	refuse(*state, "{\"report\": [}", "not JSON");
	refuse(*state, "{ noise\n" REPORT(""), "not JSON");
	refuse(*state, REPORT("") "trailing", "behind its end");
	refuse(*state, REPORT("") REPORT(""), "behind its end");
	refuse(*state, "{}", "report");
	refuse(*state, "{\"report\": {}}", "report");
	refuse(*state, "{\"report\": [[[[[[[[[[[[1]]]]]]]]]]]]}", "not JSON");
	refuse(*state, "{\"report\": [1]}", "report");
	refuse(*state, "{\"report\": [{\"vg\": {}}]}", "vg");
	refuse(*state, "{\"report\": [{\"pv\": \"x\"}]}", "pv");
}

/* A group whose VG is not said, or that has two, must not shrink to less. */
static void refuses_groups_that_do_not_fit(void **state)
{
	refuse(*state, REPORT(GROUP("", ONE_PV, ONE_LV, ONE_SEG)), "vg");
	refuse(*state, REPORT(GROUP(ONE_VG ", " ONE_VG, ONE_PV, ONE_LV, ONE_SEG)), "vg");
	refuse(*state, REPORT("{\"pv\": [], \"lv\": [" ONE_LV "]}"), "vg");
	refuse(*state, REPORT("{\"pv\": [], \"seg\": [" ONE_SEG "]}"), "vg");
	refuse(*state, REPORT(GROUP(ONE_VG, ONE_PV, ONE_LV, "")), "segtype");
	refuse(*state, REPORT(GROUP(ONE_VG, ONE_PV, "", ONE_SEG)), "lv_uuid");
	refuse(*state, REPORT(GROUP(ONE_VG, ONE_PV, ONE_LV ", " ONE_LV, ONE_SEG)), "lv_uuid");
	refuse(*state,
	       REPORT(GROUP(ONE_VG, ONE_PV, ONE_LV, ONE_SEG ", " SEG(LV2, "linear", "0", ""))),
	       "lv_uuid");
}

/* @good with each of @from replaced once; NULL when it is not in it. */
static char *replaced(const char *good, const char *from, const char *to)
{
	const char *at = strstr(good, from);
	char *s = NULL;

	if (at)
		assert_true(asprintf(&s, "%.*s%s%s", (int)(at - good), good, to,
				     at + strlen(from)) >= 0);
	return s;
}

static void refuses_rows_that_lack_or_twist_a_value(void **state)
{
	static const char good[] = REPORT(GROUP(ONE_VG, ONE_PV, ONE_LV, ONE_SEG));
	static const struct {
		const char *from, *to, *word;
	} cases[] = {
		{ "\"vg_size\":\"394264576\", ", "", "vg_size" },
		{ "\"394264576\"", "\"\"", "vg_size" },
		{ "\"394264576\"", "\"394264576B\"", "vg_size" },
		{ "\"394264576\"", "\"12,33\"", "vg_size" },
		{ "\"394264576\"", "\"-1\"", "vg_size" },
		{ "\"394264576\"", "\" 1\"", "vg_size" },
		{ "\"394264576\"", "\"1.5\"", "vg_size" },
		{ "\"394264576\"", "\"18446744073709551616\"", "vg_size" },
		{ "\"394264576\"", "394264576", "vg_size" },
		{ "\"394264576\"", "null", "vg_size" },
		{ "\"394264576\"", "[]", "vg_size" },
		{ "\"394264576\"", "{\"a\":\"1\"}", "vg_size" },
		{ "\"4194304\"", "\"0\"", "vg_extent_size" },
		{ "\"vg_name\":\"vg-a\"", "\"vg_name\":\"\"", "vg_name" },
		{ "\"vg_uuid\":\"" VG1 "\", ", "", "vg_uuid" },
		{ ", \"vg_missing_pv_count\":\"0\"", "", "vg_missing_pv_count" },
		{ "\"vg_tags\":\"ephlvm.pool=fast,other\", ", "", "vg_tags" },
		{ "\"vg_seqno\":\"12\"", "\"vg_seqno\":\"unknown\"", "vg_seqno" },
		{ "\"pv_uuid\":\"" PV1 "\", ", "", "pv_uuid" },
		{ "\"pv_free\":\"113246208\"", "\"pv_free\":\"\"", "pv_free" },
		{ "\"pv_name\":\"/dev/nvme0n1\"", "\"pv_name\":\"\"", "pv_name" },
		{ "\"pv_attr\":\"a--\"", "\"pv_attr\":true", "pv_attr" },
		{ "\"lv_attr\":\"-wi-a-----\"", "\"lv_attr\":\"\"", "lv_attr" },
		{ "\"lv_size\":\"83886080\"", "\"lv_size\":\"80m\"", "lv_size" },
		{ ", \"lv_tags\":\"ephlvm,ephlvm.disk=eph0\"", "", "lv_tags" },
		{ "\"lv_role\":\"public\"", "\"lv_role\":\"\"", "lv_role" },
		{ "\"seg_start_pe\":\"0\"", "\"seg_start_pe\":\"\"", "seg_start_pe" },
		{ "/dev/nvme0n1:0-19", "/dev/nvme0n1", "seg_pe_ranges" },
		{ "/dev/nvme0n1:0-19", "/dev/nvme0n1:0", "seg_pe_ranges" },
		{ "/dev/nvme0n1:0-19", "/dev/nvme0n1:19-0", "seg_pe_ranges" },
		{ "/dev/nvme0n1:0-19", "/dev/nvme0n1:0-18446744073709551615", "seg_pe_ranges" },
		{ "/dev/nvme0n1:0-19", "/dev/nvme0n1:0-19 ", "seg_pe_ranges" },
		{ "/dev/nvme0n1:0-19", "/dev/nvme0n1:a-b", "seg_pe_ranges" },
		{ ONE_SEG, "\"row\"", "row" },
		{ ONE_LV, "[]", "row" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ char *bad = replaced(good, cases[i].from, cases[i].to);

		if (!bad)
			fail_msg("%s is not in the report", cases[i].from);
		refuse(*state, bad, cases[i].word);
	}
}

/* What is not needed may be unknown. */
static void accepts_unknown_metadata_sizes(void **state)
{
	_cleanup_free_ char *bare =
		replaced(REPORT(GROUP(ONE_VG, ONE_PV, ONE_LV, ONE_SEG)),
			 "\"vg_mda_size\":\"68153344\", \"vg_mda_free\":\"34074112\"",
			 "\"vg_mda_size\":\"\"");
	_cleanup_view_ struct eph_lvm_view *view = parse(*state, bare, "");

	assert_int_equal(view->vgs[0].mda_bytes, 0);
	assert_int_equal(view->vgs[0].mda_free_bytes, 0);
}

static void escapes_what_it_quotes(void **state)
{
	struct eph_lvm_view *view = NULL;
	_cleanup_free_ char *bad = replaced(REPORT(GROUP(ONE_VG, ONE_PV, ONE_LV, ONE_SEG)),
					    "\"394264576\"", "\"\\u001b[2J\\n\"");

	assert_int_equal(eph_lvm_report_parse(*state, bad, "", &view), -EIO);
	assert_null(strchr(ephlvm_error_message(*state), '\033'));
	assert_null(strchr(ephlvm_error_message(*state), '\n'));
	assert_non_null(strstr(ephlvm_error_message(*state), "\\x1b[2J"));
}

static void reads_a_thousand_lvs(void **state)
{
	_cleanup_free_ char *out = NULL;
	size_t bytes;
	FILE *f = open_memstream(&out, &bytes);
	struct eph_lvm_view *view;

	fputs("{\"report\": [{\"vg\": [" ONE_VG "], \"pv\": [" ONE_PV "], \"lv\": [", f);
	for (int i = 0; i < 1000; i++)
		fprintf(f,
			"%s{\"lv_uuid\":\"u%d\", \"lv_name\":\"n%d\", \"lv_attr\":\"-wi-a-----\", "
			"\"lv_size\":\"4194304\", \"lv_layout\":\"linear\", "
			"\"lv_role\":\"public\", \"lv_tags\":\"\"}",
			i ? "," : "", i, i);
	fputs("], \"seg\": [", f);
	for (int i = 999; i >= 0; i--)
		fprintf(f,
			"%s{\"lv_uuid\":\"u%d\", \"segtype\":\"linear\", \"seg_start_pe\":\"0\", "
			"\"seg_pe_ranges\":\"/dev/x:%d-%d\"}",
			i < 999 ? "," : "", i, i, i);
	fputs("]}]}", f);
	assert_int_equal(fclose(f), 0);
	view = parse(*state, out, "");
	assert_int_equal(view->vgs[0].n_lvs, 1000);
	for (size_t i = 0; i < 1000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "n%zu", i);
		assert_int_equal(eph_lvm_lv_by_name(&view->vgs[0], name)->ranges[0].first, i);
	}
	eph_lvm_view_free(view);
}

static void lists_vg_uuids(void **state)
{
	_cleanup_strv_ struct eph_strv uuids = EPH_STRV_INIT, none = EPH_STRV_INIT,
				       bad = EPH_STRV_INIT;

	assert_int_equal(eph_lvm_report_vg_uuids(*state,
						 REPORT("{\"vg\": [{\"vg_uuid\":\"" VG1
							"\"}, {\"vg_uuid\":\"" VG2 "\"}]}"),
						 &uuids),
			 0);
	assert_int_equal(uuids.n, 2);
	assert_string_equal(uuids.v[1], VG2);
	assert_int_equal(eph_lvm_report_vg_uuids(*state, REPORT("{\"vg\": []}"), &none), 0);
	assert_int_equal(none.n, 0);
	assert_int_equal(eph_lvm_report_vg_uuids(*state, REPORT(""), &bad), -EIO);
	eph_enter(*state);
	assert_int_equal(eph_lvm_report_vg_uuids(*state, REPORT("{}"), &bad), -EIO);
	eph_enter(*state);
	assert_int_equal(eph_lvm_report_vg_uuids(*state, REPORT("{\"vg\": [{\"vg_uuid\":\"\"}]}"),
						 &bad),
			 -EIO);
	assert_int_equal(bad.n, 0);
}

static void survives_want_of_memory(void **state)
{
	static const char out[] = "noise\n" REPORT(GROUP(
		ONE_VG, ONE_PV, ONE_LV,
		ONE_SEG ", " SEG(LV1, "striped", "20",
				 "/dev/a:1-2")) ", {\"pv\": [" PV(PV2, "/dev/sdb", "---") "]}");
	bool reached = true;
	unsigned int nth;

	for (nth = 0; reached; nth++) {
		struct eph_lvm_view *view = NULL;
		int r;

		eph_enter(*state);
		failing_alloc_arm(nth);
		r = eph_lvm_report_parse(*state, out, "err\n", &view);
		reached = failing_alloc_disarm();
		assert_int_equal(r, reached ? -ENOMEM : 0);
		assert_int_equal(view != NULL, !reached);
		eph_lvm_view_free(view);
	}
	assert_true(nth > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(reads_a_whole_vg, setup, teardown),
		cmocka_unit_test_setup_teardown(finds_nothing_that_is_not_there, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_an_empty_host, setup, teardown),
		cmocka_unit_test_setup_teardown(keeps_pvs_without_a_vg_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(keeps_two_vgs_of_one_name_and_their_lvs, setup,
						teardown),
		cmocka_unit_test_setup_teardown(counts_an_lv_of_many_segments_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(calls_different_segments_mixed, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_device_names_with_odd_characters, setup,
						teardown),
		cmocka_unit_test_setup_teardown(reads_a_partial_vg, setup, teardown),
		cmocka_unit_test_setup_teardown(believes_missing_with_a_device_name, setup,
						teardown),
		cmocka_unit_test_setup_teardown(reads_exported_shared_and_foreign_vgs, setup,
						teardown),
		cmocka_unit_test_setup_teardown(reads_lv_states, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_an_lv_without_ranges, setup, teardown),
		cmocka_unit_test_setup_teardown(keeps_what_is_said_besides, setup, teardown),
		cmocka_unit_test_setup_teardown(marks_a_pv_that_is_there_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(refuses_what_is_no_report, setup, teardown),
		cmocka_unit_test_setup_teardown(refuses_groups_that_do_not_fit, setup, teardown),
		cmocka_unit_test_setup_teardown(refuses_rows_that_lack_or_twist_a_value, setup,
						teardown),
		cmocka_unit_test_setup_teardown(accepts_unknown_metadata_sizes, setup, teardown),
		cmocka_unit_test_setup_teardown(escapes_what_it_quotes, setup, teardown),
		cmocka_unit_test_setup_teardown(reads_a_thousand_lvs, setup, teardown),
		cmocka_unit_test_setup_teardown(lists_vg_uuids, setup, teardown),
		cmocka_unit_test_setup_teardown(survives_want_of_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
