// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * LVM's verbs and reports against real LVM: what the unit tests' script takes for granted.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "pure/config.h"
#include "rig/rig.h"
#include "util/cleanup.h"

#define NO_UUID "zzzzzz-zzzz-zzzz-zzzz-zzzz-zzzz-zzzzzz"
#define MIB ((uint64_t)1 << 20)

static int setup(void **state)
{
	*state = rig_new();
	return 0;
}

static int teardown(void **state)
{
	rig_free(*state);
	return 0;
}

static int retag(struct rig *rig, const struct eph_vg *vg, const char *uuid, const char *del,
		 const char *add)
{
	_cleanup_strv_ struct eph_strv dels = EPH_STRV_INIT, adds = EPH_STRV_INIT;

	if (del)
		assert_int_equal(eph_strv_add(&dels, del), 0);
	if (add)
		assert_int_equal(eph_strv_add(&adds, add), 0);
	eph_enter(rig->ctx);
	return eph_lvm_lv_retag(rig->ctx, vg, uuid, &dels, &adds);
}

static int remove_lvs(struct rig *rig, const struct eph_vg *vg, const struct eph_strv *uuids)
{
	eph_enter(rig->ctx);
	return eph_lvm_lv_remove(rig->ctx, vg, uuids);
}

static int create(struct rig *rig, const struct eph_vg *vg, const char *name, uint64_t extents)
{
	const struct eph_lv_spec spec = { .name = name, .extents = extents, .segtype = "linear" };

	eph_enter(rig->ctx);
	return eph_lvm_lv_create(rig->ctx, vg, &spec, NULL);
}

static int rename_lv(struct rig *rig, const struct eph_vg *vg, const char *from, const char *to)
{
	eph_enter(rig->ctx);
	return eph_lvm_lv_rename(rig->ctx, vg, from, to);
}

static void reads_a_host_without_vgs(void **state)
{
	struct rig *rig = *state;

	rig_read(rig, NULL);
	assert_int_equal(rig->view->n_vgs, 0);
	assert_int_equal(rig->view->n_orphans, 0);
	rig_add(rig, 64);
	rig_read(rig, NULL);
	assert_int_equal(rig->view->n_orphans, 0); /* a drive that is no PV */
	rig_lvm(rig, "pvcreate", "--yes", rig->drives[0].device, NULL);
	rig_read(rig, NULL);
	assert_int_equal(rig->view->n_vgs, 0);
	assert_int_equal(rig->view->n_orphans, 1);
	assert_string_equal(rig->view->orphans[0].device, rig->drives[0].device);
}

static void makes_a_pool(void **state)
{
	struct rig *rig = *state;
	struct eph_vg *vg = rig_pool(rig, "fast", 2);
	_cleanup_free_ char *automatic = NULL;

	assert_int_equal(vg->n_pvs, 2);
	assert_int_equal(vg->n_lvs, 0);
	assert_int_equal(vg->extents, vg->free_extents);
	assert_int_equal(vg->extent_bytes, 4 * MIB);
	assert_int_equal(vg->extents, vg->pvs[0].extents + vg->pvs[1].extents);
	assert_in_range(vg->mda_bytes, 64 * MIB, 66 * MIB);
	/* Half of the area: LVM writes beside the old text. */
	assert_in_range(vg->mda_free_bytes, 31 * MIB, 33 * MIB);
	assert_in_range(vg->pvs[1].mda_bytes, 64 * MIB, 66 * MIB);
	assert_in_range(vg->pvs[0].pe_start_bytes, 64 * MIB, 68 * MIB);
	assert_true(eph_strv_has(&vg->tags, "ephlvm.pool=fast"));
	assert_false(vg->exported || vg->shared || vg->foreign);
	assert_int_equal(vg->missing_pvs, 0);
	automatic = rig_ask(rig, "vgs", "--noheadings", "-o", "vg_autoactivation", "fast", NULL);
	assert_string_equal(automatic, "");
	assert_int_equal(eph_lvm_flush(rig->ctx, vg), 0);
}

static void takes_auto_activation_from_a_vg(void **state)
{
	struct rig *rig = *state;
	_cleanup_free_ char *before = NULL, *after = NULL;
	struct eph_vg *vg;

	rig_add(rig, 64);
	rig_lvm(rig, "vgcreate", "--yes", "found", rig->drives[0].device, NULL);
	before = rig_ask(rig, "vgs", "--noheadings", "-o", "vg_autoactivation", "found", NULL);
	assert_string_equal(before, "enabled");
	vg = rig_read(rig, "found");
	assert_int_equal(eph_lvm_vg_no_autoactivation(rig->ctx, vg), 0);
	after = rig_ask(rig, "vgs", "--noheadings", "-o", "vg_autoactivation", "found", NULL);
	assert_string_equal(after, "");
}

static void creates_with_all_tags_in_one_commit(void **state)
{
	struct rig *rig = *state;
	struct eph_vg *vg = rig_pool(rig, "fast", 2);
	uint64_t seqno = vg->seqno;
	struct eph_lv *lv = rig_create(rig, "fast", "a", 1);

	vg = eph_lvm_vg_by_name(rig->view, "fast", NULL);
	assert_int_equal(vg->seqno, seqno + 1);
	assert_int_equal(lv->size_bytes, 4 * MIB);
	assert_int_equal(lv->tags.n, 2);
	assert_true(eph_strv_has(&lv->tags, "ephlvm.state=new"));
	assert_string_equal(lv->segtype, "linear");
	assert_int_equal(lv->n_ranges, 1);
	assert_int_equal(lv->ranges[0].count, 1);
	assert_false(lv->hidden || lv->partial || lv->locked);
	/* 13 extents: no power of anything */
	assert_int_equal(rig_create(rig, "fast", "b", 13)->size_bytes, 52 * MIB);
	vg = eph_lvm_vg_by_name(rig->view, "fast", NULL);
	assert_int_equal(vg->free_extents, vg->extents - 14);
}

static void creates_where_it_is_told(void **state)
{
	struct rig *rig = *state;
	struct eph_vg *vg = rig_pool(rig, "fast", 2);
	_cleanup_strv_ struct eph_strv where = EPH_STRV_INIT;
	const struct eph_lv_spec spec = {
		.name = "a",
		.extents = 5,
		.segtype = "linear",
		.where = &where,
	};
	struct eph_lv *lv;

	assert_int_equal(eph_strv_addf(&where, "%s:40-41", rig->drives[0].device), 0);
	assert_int_equal(eph_strv_addf(&where, "%s:7-9", rig->drives[1].device), 0);
	assert_int_equal(eph_lvm_lv_create(rig->ctx, vg, &spec, NULL), 0);
	lv = rig_lv(rig, "fast", "a");
	/* LVM may begin with either; both and nothing else. */
	assert_int_equal(lv->n_ranges, 2);
	for (size_t i = 0; i < 2; i++) {
		bool on_first = eph_streq(lv->ranges[i].device, rig->drives[0].device);

		assert_int_equal(lv->ranges[i].first, on_first ? 40 : 7);
		assert_int_equal(lv->ranges[i].count, on_first ? 2 : 3);
	}
	assert_string_not_equal(lv->ranges[0].device, lv->ranges[1].device);
}

static void renames_and_retags(void **state)
{
	struct rig *rig = *state;
	struct eph_vg *vg;
	struct eph_lv *lv;
	uint64_t seqno;
	_cleanup_free_ char *uuid = NULL;

	rig_pool(rig, "fast", 1);
	lv = rig_create(rig, "fast", "a", 2);
	uuid = strdup(lv->uuid);
	vg = eph_lvm_vg_by_name(rig->view, "fast", NULL);
	seqno = vg->seqno;
	assert_int_equal(rename_lv(rig, vg, "a", "trash-6a5b-x"), 0);
	lv = rig_lv(rig, "fast", "trash-6a5b-x");
	vg = eph_lvm_vg_by_name(rig->view, "fast", NULL);
	assert_string_equal(lv->uuid, uuid);
	assert_int_equal(lv->tags.n, 2);
	assert_int_equal(vg->seqno, seqno + 1);
	assert_int_equal(retag(rig, vg, uuid, "ephlvm.state=new", "ephlvm.state=trash"), 0);
	lv = rig_lv(rig, "fast", "trash-6a5b-x");
	assert_true(eph_strv_has(&lv->tags, "ephlvm.state=trash"));
	assert_false(eph_strv_has(&lv->tags, "ephlvm.state=new"));
	vg = eph_lvm_vg_by_name(rig->view, "fast", NULL);
	assert_int_equal(vg->seqno, seqno + 2);
	assert_int_equal(rename_lv(rig, vg, "gone", "b"), -EIO);
	assert_int_equal(ephlvm_error_kind(rig->ctx), EPHLVM_ERROR_SYSTEM);
}

static void retags_a_vg(void **state)
{
	struct rig *rig = *state;
	struct eph_vg *vg = rig_pool(rig, "fast", 1);
	_cleanup_strv_ struct eph_strv del = EPH_STRV_INIT, add = EPH_STRV_INIT;

	assert_int_equal(eph_strv_add(&del, "ephlvm.pool=fast"), 0);
	assert_int_equal(eph_strv_add(&add, "ephlvm.pool=slow"), 0);
	assert_int_equal(eph_lvm_vg_retag(rig->ctx, vg, &del, &add), 0);
	vg = rig_read(rig, "fast");
	assert_int_equal(vg->tags.n, 1);
	assert_string_equal(vg->tags.v[0], "ephlvm.pool=slow");
	vg->uuid[0] = vg->uuid[0] == 'x' ? 'y' : 'x'; /* of another VG */
	assert_int_equal(eph_lvm_vg_retag(rig->ctx, vg, &add, &del), 0);
	vg = rig_read(rig, "fast");
	assert_string_equal(vg->tags.v[0], "ephlvm.pool=slow");
}

/* The whole purpose of selecting: neither a wrong uuid, nor a foreign LV, nor another VG is touched. */
static void touches_only_what_is_selected(void **state)
{
	struct rig *rig = *state;
	_cleanup_strv_ struct eph_strv wrong = EPH_STRV_INIT, foreign = EPH_STRV_INIT,
				       many = EPH_STRV_INIT, right = EPH_STRV_INIT;
	struct eph_vg *vg;
	uint64_t seqno;

	rig_pool(rig, "fast", 1);
	rig_lvm(rig, "lvcreate", "-an", "-Zn", "-Wn", "--yes", "-l1", "-n", "foreign", "fast",
		NULL);
	rig_create(rig, "fast", "a", 1);
	rig_create(rig, "fast", "b", 1);
	rig_create(rig, "fast", "c", 1);
	vg = eph_lvm_vg_by_name(rig->view, "fast", NULL);
	seqno = vg->seqno;
	assert_int_equal(eph_strv_add(&wrong, NO_UUID), 0);
	assert_int_equal(eph_strv_add(&foreign, eph_lvm_lv_by_name(vg, "foreign")->uuid), 0);
	assert_int_equal(remove_lvs(rig, vg, &wrong), 0);
	assert_int_equal(remove_lvs(rig, vg, &foreign), 0);
	assert_int_equal(retag(rig, vg, foreign.v[0], NULL, "ephlvm.state=trash"), 0);
	assert_int_equal(retag(rig, vg, NO_UUID, NULL, "ephlvm.state=trash"), 0);
	vg = rig_read(rig, "fast");
	assert_int_equal(vg->n_lvs, 4);
	assert_int_equal(vg->seqno, seqno);
	/* 199 that are not there, and one that is: a full slice, as LVM's parser must bear it */
	for (int i = 0; i < 199; i++)
		assert_int_equal(eph_strv_addf(&many, "zzzzzz-zzzz-zzzz-zzzz-zzzz-zzzz-zzz%03d", i),
				 0);
	assert_int_equal(eph_strv_add(&many, eph_lvm_lv_by_name(vg, "b")->uuid), 0);
	assert_int_equal(remove_lvs(rig, vg, &many), 0);
	vg = rig_read(rig, "fast");
	assert_int_equal(vg->n_lvs, 3);
	assert_null(eph_lvm_lv_by_name(vg, "b"));
	seqno = vg->seqno;
	assert_int_equal(eph_strv_add(&right, eph_lvm_lv_by_name(vg, "a")->uuid), 0);
	assert_int_equal(eph_strv_add(&right, eph_lvm_lv_by_name(vg, "c")->uuid), 0);
	assert_int_equal(remove_lvs(rig, vg, &right), 0);
	vg = rig_read(rig, "fast");
	assert_int_equal(vg->n_lvs, 1);
	assert_string_equal(vg->lvs[0].name, "foreign");
	assert_int_equal(vg->lvs[0].tags.n, 0);
	assert_int_equal(vg->seqno, seqno + 1);
}

static void says_when_there_is_no_space(void **state)
{
	struct rig *rig = *state;
	struct eph_vg *vg = rig_pool(rig, "fast", 2);
	_cleanup_strv_ struct eph_strv where = EPH_STRV_INIT;
	const struct eph_lv_spec spec = {
		.name = "b",
		.extents = 3,
		.segtype = "linear",
		.where = &where,
	};

	assert_int_equal(create(rig, vg, "a", vg->free_extents + 1), -ENOSPC);
	assert_int_equal(ephlvm_error_kind(rig->ctx), EPHLVM_ERROR_NO_SPACE);
	eph_enter(rig->ctx);
	assert_int_equal(eph_strv_addf(&where, "%s:0-1", rig->drives[0].device), 0);
	assert_int_equal(eph_lvm_lv_create(rig->ctx, vg, &spec, NULL), -ENOSPC);
	vg = rig_read(rig, "fast");
	assert_int_equal(vg->n_lvs, 0);
	assert_int_equal(create(rig, vg, "a", vg->free_extents), 0);
	assert_int_equal(rig_read(rig, "fast")->free_extents, 0);
}

/* Tags of 1000 characters fill LVM's default area soon. */
static void fill_metadata(struct rig *rig, unsigned int tags)
{
	char text[1001];
	struct eph_lvm_call call = { .timeout_ms = 60000 };
	struct eph_lvm_result result = { 0 };
	_cleanup_strv_ struct eph_strv argv = EPH_STRV_INIT;
	static unsigned int n;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(eph_strv_add(&argv, "lvchange"), 0);
	assert_int_equal(eph_strv_add(&argv, "--driverloaded"), 0);
	assert_int_equal(eph_strv_add(&argv, "n"), 0);
	assert_int_equal(eph_strv_add(&argv, "--config"), 0);
	assert_int_equal(eph_strv_add(&argv, rig->extra_config), 0);
	for (unsigned int i = 0; i < tags; i++) {
		assert_int_equal(eph_strv_add(&argv, "--addtag"), 0);
		assert_int_equal(eph_strv_addf(&argv, "%06u%.*s", n++, 990, text), 0);
	}
	assert_int_equal(eph_strv_add(&argv, "small/foreign"), 0);
	call.argv = (const char *const *)argv.v;
	assert_int_equal(rig->backend->call(rig->ctx, rig->backend, &call, &result), 0);
	assert_int_equal(result.status, 0);
	eph_lvm_result_clear(&result);
}

static void says_when_the_metadata_area_is_full(void **state)
{
	struct rig *rig = *state;
	_cleanup_strv_ struct eph_strv big = EPH_STRV_INIT, uuids = EPH_STRV_INIT;
	const struct eph_lv_spec spec = {
		.name = "b",
		.extents = 1,
		.segtype = "linear",
		.tags = &big,
	};
	struct eph_vg *vg;
	char text[1000];

	rig_add(rig, 64);
	rig_lvm(rig, "vgcreate", "--yes", "small", rig->drives[0].device, NULL);
	rig_lvm(rig, "lvcreate", "-an", "-Zn", "-Wn", "--yes", "-l1", "-n", "foreign", "small",
		NULL);
	rig_create(rig, "small", "a-long-name-to-begin-with", 1);
	for (int i = 0; i < 5; i++)
		fill_metadata(rig, 100);
	vg = rig_read(rig, "small");
	assert_in_range(vg->mda_free_bytes, 1, 20000);
	memset(text, 'y', sizeof(text));
	for (int i = 0; i < 30; i++)
		assert_int_equal(eph_strv_addf(&big, "%02d%.*s", i, 990, text), 0);
	eph_enter(rig->ctx);
	assert_int_equal(eph_lvm_lv_create(rig->ctx, vg, &spec, NULL), -ENOSPC);
	assert_int_equal(ephlvm_error_kind(rig->ctx), EPHLVM_ERROR_NO_SPACE);
	assert_non_null(strstr(ephlvm_error_message(rig->ctx), "metadata"));
	vg = rig_read(rig, "small");
	assert_int_equal(vg->n_lvs, 2);
	/* A rename to a shorter name and a removal always work. */
	assert_int_equal(rename_lv(rig, vg, "a-long-name-to-begin-with", "t"), 0);
	assert_int_equal(eph_strv_add(&uuids, rig_lv(rig, "small", "t")->uuid), 0);
	assert_int_equal(remove_lvs(rig, eph_lvm_vg_by_name(rig->view, "small", NULL), &uuids), 0);
	assert_int_equal(rig_read(rig, "small")->n_lvs, 1);
}

static void works_on_in_a_partial_vg(void **state)
{
	struct rig *rig = *state;
	_cleanup_strv_ struct eph_strv where = EPH_STRV_INIT, healthy = EPH_STRV_INIT;
	const struct eph_lv_spec on_second = {
		.name = "second",
		.extents = 2,
		.segtype = "linear",
		.where = &where,
	};
	struct eph_vg *vg;
	struct eph_lv *lv;
	size_t missing;

	rig_pool(rig, "fast", 2);
	rig_create(rig, "fast", "a", 2);
	vg = rig_read(rig, "fast");
	assert_int_equal(eph_strv_add(&where, rig->drives[1].device), 0);
	assert_int_equal(eph_lvm_lv_create(rig->ctx, vg, &on_second, NULL), 0);
	rig_pull(rig, 1);

	vg = rig_read(rig, "fast");
	assert_int_equal(vg->missing_pvs, 1);
	missing = vg->pvs[0].missing ? 0 : 1;
	assert_true(vg->pvs[missing].missing);
	assert_null(vg->pvs[missing].device);
	assert_false(vg->pvs[1 - missing].missing);
	lv = eph_lvm_lv_by_name(vg, "second");
	assert_true(lv->partial);
	assert_string_equal(lv->ranges[0].device, "[unknown]");
	assert_false(eph_lvm_lv_by_name(vg, "a")->partial);

	assert_int_equal(create(rig, vg, "b", 1), -EIO);
	assert_int_equal(rename_lv(rig, vg, "a", "b"), -EIO);
	lv = eph_lvm_lv_by_name(vg, "a");
	assert_int_equal(retag(rig, vg, lv->uuid, "ephlvm.state=new", "ephlvm.state=trash"), 0);
	lv = rig_lv(rig, "fast", "a");
	assert_true(eph_strv_has(&lv->tags, "ephlvm.state=trash"));
	vg = eph_lvm_vg_by_name(rig->view, "fast", NULL);
	assert_int_equal(vg->missing_pvs, 1);
	assert_int_equal(eph_lvm_flush(rig->ctx, vg), 0);
	assert_int_equal(eph_strv_add(&healthy, lv->uuid), 0);
	assert_int_equal(remove_lvs(rig, vg, &healthy), 0);
	vg = rig_read(rig, "fast");
	assert_null(eph_lvm_lv_by_name(vg, "a"));
	assert_non_null(eph_lvm_lv_by_name(vg, "second"));
	assert_int_equal(vg->missing_pvs, 1);
}

/* The fault that narrowing could make: LVM, shown one PV of two, calls the other missing for good. */
static void never_calls_a_healthy_pv_missing(void **state)
{
	struct rig *rig = *state;
	_cleanup_free_ char *device = NULL, *uuid = NULL;
	struct eph_vg *vg;
	uint64_t seqno;

	rig_pool(rig, "fast", 2);
	uuid = strdup(rig_create(rig, "fast", "a", 2)->uuid);
	vg = eph_lvm_vg_by_name(rig->view, "fast", NULL);
	seqno = vg->seqno;
	/* Gone between the reading and the change: refused, and nothing written. */
	device = strdup(rig->drives[1].device);
	rig_pull(rig, 1);
	assert_int_equal(retag(rig, vg, uuid, NULL, "ephlvm.state=trash"), -EIO);
	assert_int_equal(create(rig, vg, "b", 1), -EIO);
	assert_int_equal(eph_lvm_flush(rig->ctx, vg), -EIO);
	rig_plug(rig, 1, device);
	vg = rig_read(rig, "fast");
	assert_int_equal(vg->seqno, seqno);
	assert_int_equal(vg->missing_pvs, 0);
	/* And with both there, a narrowed change leaves both there. */
	assert_int_equal(retag(rig, vg, uuid, NULL, "ephlvm.state=trash"), 0);
	vg = rig_read(rig, "fast");
	assert_int_equal(vg->seqno, seqno + 1);
	assert_int_equal(vg->missing_pvs, 0);
	assert_false(vg->pvs[0].missing || vg->pvs[1].missing);
	assert_int_equal(create(rig, vg, "b", 1), 0);
}

/* A drive that joined the VG after it was read is not in the filter: LVM must not be let write. */
static void writes_nothing_when_a_drive_has_joined(void **state)
{
	struct rig *rig = *state;
	_cleanup_strv_ struct eph_strv uuids = EPH_STRV_INIT, add = EPH_STRV_INIT;
	struct eph_lvm_view *old;
	struct eph_vg *vg;
	uint64_t seqno;

	rig_pool(rig, "fast", 1);
	assert_int_equal(eph_strv_add(&uuids, rig_create(rig, "fast", "a", 1)->uuid), 0);
	assert_int_equal(eph_strv_add(&add, "x"), 0);
	old = eph_steal(rig->view);
	rig_add(rig, 128);
	rig_lvm(rig, "vgextend", "--yes", "fast", rig->drives[1].device, NULL);
	seqno = rig_read(rig, "fast")->seqno;
	vg = eph_lvm_vg_by_name(old, "fast", NULL);
	retag(rig, vg, uuids.v[0], NULL, "ephlvm.state=trash");
	remove_lvs(rig, vg, &uuids);
	eph_enter(rig->ctx);
	eph_lvm_vg_retag(rig->ctx, vg, NULL, &add);
	assert_int_equal(create(rig, vg, "b", 1), -EIO);
	assert_int_equal(rename_lv(rig, vg, "a", "b"), -EIO);
	eph_lvm_view_free(old);
	vg = rig_read(rig, "fast");
	assert_int_equal(vg->seqno, seqno);
	assert_int_equal(vg->n_pvs, 2);
	assert_int_equal(vg->missing_pvs, 0);
	assert_int_equal(retag(rig, vg, uuids.v[0], NULL, "ephlvm.state=trash"), 0);
	vg = rig_read(rig, "fast");
	assert_int_equal(vg->seqno, seqno + 1);
	assert_int_equal(vg->missing_pvs, 0);
}

/* The drives of two VGs change their names: what the view says is on one is on the other now. */
static void knows_a_pv_by_its_label(void **state)
{
	struct rig *rig = *state;
	_cleanup_free_ char *uuid = NULL;
	char first[64], second[64];
	struct eph_vg *vg;

	rig_pool(rig, "fast", 1);
	rig_add(rig, 128);
	rig_lvm(rig, "vgcreate", "--yes", "other", rig->drives[1].device, NULL);
	uuid = strdup(rig_create(rig, "fast", "a", 1)->uuid);
	vg = eph_lvm_vg_by_name(rig->view, "fast", NULL);
	snprintf(first, sizeof(first), "%s", rig->drives[0].device);
	snprintf(second, sizeof(second), "%s", rig->drives[1].device);
	rig_pull(rig, 0);
	rig_pull(rig, 1);
	rig_plug(rig, 0, second);
	rig_plug(rig, 1, first);
	assert_int_equal(retag(rig, vg, uuid, NULL, "ephlvm.state=trash"), -EIO);
	assert_non_null(strstr(ephlvm_error_message(rig->ctx), "any more"));
	assert_int_equal(eph_lvm_flush(rig->ctx, vg), -EIO);
	vg = rig_read(rig, "fast");
	assert_string_equal(vg->pvs[0].device, second);
	assert_int_equal(retag(rig, vg, uuid, NULL, "ephlvm.state=trash"), 0);
	assert_int_equal(eph_lvm_flush(rig->ctx, vg), 0);
}

/* The same drive under a name that needs care in a regular expression. */
static void narrows_to_odd_device_names(void **state)
{
	struct rig *rig = *state;
	_cleanup_free_ char *link = NULL;
	struct eph_vg *vg;
	struct eph_lv *lv;
	int r;

	rig_pool(rig, "fast", 1);
	lv = rig_create(rig, "fast", "a", 1);
	vg = eph_lvm_vg_by_name(rig->view, "fast", NULL);
	assert_true(asprintf(&link, "/dev/ephlvm-rig-%d:1f.2+x,=@_", (int)getpid()) > 0);
	assert_int_equal(symlink(rig->drives[0].device, link), 0);
	free(vg->pvs[0].device);
	vg->pvs[0].device = strdup(link);
	r = retag(rig, vg, lv->uuid, NULL, "ephlvm.state=ready");
	unlink(link);
	assert_int_equal(r, 0);
	assert_true(eph_strv_has(&rig_lv(rig, "fast", "a")->tags, "ephlvm.state=ready"));
}

static void reads_an_exported_vg(void **state)
{
	struct rig *rig = *state;
	struct eph_vg *vg;

	rig_pool(rig, "fast", 1);
	rig_create(rig, "fast", "a", 1);
	rig_lvm(rig, "vgexport", "fast", NULL);
	vg = rig_read(rig, "fast");
	assert_true(vg->exported);
	assert_int_equal(vg->n_lvs, 1);
	assert_int_equal(create(rig, vg, "b", 1), -EIO);
	rig_lvm(rig, "vgimport", "fast", NULL);
	assert_false(rig_read(rig, "fast")->exported);
}

static void tells_foreign_vgs_from_ours(void **state)
{
	static const char we[] = "global{system_id_source=\"lvmlocal\"} local{system_id=\"we\"}";
	static const char they[] =
		"global{system_id_source=\"lvmlocal\"} local{system_id=\"they\"}";
	struct rig *rig = *state;
	struct eph_vg *vg;

	rig_add(rig, 256);
	rig_configure(rig, we);
	vg = rig_pool(rig, "ours", 1);
	assert_non_null(vg->system_id);
	assert_string_equal(vg->system_id, "we");
	assert_false(vg->foreign);
	rig_configure(rig, they);
	vg = rig_read(rig, "ours");
	assert_true(vg->foreign);
	assert_int_equal(create(rig, vg, "a", 1), -EIO);
	rig_configure(rig, NULL); /* a host without an ID */
	assert_true(rig_read(rig, "ours")->foreign);
	rig_configure(rig, we);
	assert_int_equal(create(rig, rig_read(rig, "ours"), "a", 1), 0);
}

static void keeps_two_vgs_of_one_name_apart(void **state)
{
	struct rig *rig = *state;
	_cleanup_free_ char *uuid = NULL;
	struct eph_vg *vg, *other;
	size_t n;

	rig_pool(rig, "fast", 1);
	uuid = strdup(rig_create(rig, "fast", "a", 1)->uuid);
	/* A second drive, from a host that has the same names. */
	rig_pull(rig, 0);
	rig_add(rig, 256);
	rig_lvm(rig, "vgcreate", "--yes", "fast", rig->drives[1].device, NULL);
	rig_create(rig, "fast", "a", 3);
	rig_plug(rig, 0, NULL);

	rig_read(rig, NULL);
	vg = eph_lvm_vg_by_name(rig->view, "fast", &n);
	assert_int_equal(n, 2);
	assert_int_equal(rig->view->vgs[0].n_lvs, 1);
	assert_int_equal(rig->view->vgs[1].n_lvs, 1);
	vg = eph_lvm_lv_by_uuid(&rig->view->vgs[0], uuid) ? &rig->view->vgs[0] : &rig->view->vgs[1];
	assert_int_equal(retag(rig, vg, uuid, NULL, "ephlvm.state=trash"), 0);
	assert_int_equal(rename_lv(rig, vg, "a", "mine"), 0);
	rig_read(rig, NULL);
	vg = &rig->view->vgs[eph_lvm_lv_by_uuid(&rig->view->vgs[0], uuid) ? 0 : 1];
	other = vg == &rig->view->vgs[0] ? &rig->view->vgs[1] : &rig->view->vgs[0];
	assert_string_equal(vg->lvs[0].name, "mine");
	assert_true(eph_strv_has(&vg->lvs[0].tags, "ephlvm.state=trash"));
	assert_string_equal(other->lvs[0].name, "a");
	assert_false(eph_strv_has(&other->lvs[0].tags, "ephlvm.state=trash"));
}

static void writes_nothing_beside_a_copy_of_a_drive(void **state)
{
	struct rig *rig = *state;
	char command[320];
	struct eph_vg *vg;

	rig_pool(rig, "fast", 1);
	rig_create(rig, "fast", "a", 1);
	rig_add(rig, 256);
	rig_pull(rig, 1);
	snprintf(command, sizeof(command), "cp --sparse=always %s %s", rig->drives[0].file,
		 rig->drives[1].file);
	assert_int_equal(system(command), 0);
	rig_plug(rig, 1, NULL);
	vg = rig_read(rig, "fast");
	assert_int_equal(rig->view->n_vgs, 1);
	assert_true(vg->pvs[0].duplicate);
	assert_int_equal(create(rig, vg, "b", 1), -EIO);
	rig_pull(rig, 1);
	vg = rig_read(rig, "fast");
	assert_false(vg->pvs[0].duplicate);
	assert_int_equal(vg->n_lvs, 1);
}

static int hold_lock(const struct rig *rig, const char *name)
{
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/locks/%s", rig->dir, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	return fd;
}

static void does_not_wait_on_a_held_lock_for_ever(void **state)
{
	struct rig *rig = *state;
	struct eph_lvm_view *view = NULL;
	struct eph_vg *vg;
	int lock;

	rig_pool(rig, "fast", 1);
	vg = rig_read(rig, "fast");
	rig->config->lock_timeout_ms = 300;
	lock = hold_lock(rig, "V_fast");
	assert_int_equal(create(rig, vg, "a", 1), -ETIMEDOUT);
	assert_int_equal(ephlvm_error_kind(rig->ctx), EPHLVM_ERROR_BUSY);
	eph_enter(rig->ctx);
	assert_int_equal(eph_lvm_read(rig->ctx, 0, &view), -ETIMEDOUT);
	assert_null(view);
	eph_enter(rig->ctx);
	assert_int_equal(eph_lvm_read(rig->ctx, EPH_LVM_NOLOCKING, &view), 0);
	assert_true(view->stale);
	assert_int_equal(view->n_vgs, 1);
	eph_lvm_view_free(view);
	close(lock);
	assert_int_equal(rig_read(rig, "fast")->n_lvs, 0);
	/* The lock of the whole host, which pvcreate and vgcreate take. */
	lock = hold_lock(rig, "P_global");
	eph_enter(rig->ctx);
	assert_int_equal(eph_lvm_vg_remove(rig->ctx, "fast", rig->view->vgs[0].uuid), -ETIMEDOUT);
	close(lock);
	assert_int_equal(rig_read(rig, "fast")->n_lvs, 0);
}

static void gets_the_lock_when_it_comes_free(void **state)
{
	struct rig *rig = *state;
	struct eph_vg *vg;
	int lock, status, go[2];
	pid_t pid;

	rig_pool(rig, "fast", 1);
	vg = rig_read(rig, "fast");
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		lock = hold_lock(rig, "V_fast");
		if (write(go[1], "x", 1) != 1)
			_exit(1);
		usleep(500000);
		close(lock);
		_exit(0);
	}
	assert_int_equal(read(go[0], &status, 1), 1);
	assert_int_equal(create(rig, vg, "a", 1), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(go[0]);
	close(go[1]);
	rig_lv(rig, "fast", "a");
}

static void counts_an_lv_of_several_segments_once(void **state)
{
	struct rig *rig = *state;
	struct eph_lv *lv;

	rig_pool(rig, "fast", 1);
	rig_create(rig, "fast", "a", 2);
	rig_create(rig, "fast", "b", 1);
	rig_lvm(rig, "lvextend", "-l", "+3", "fast/a", NULL);
	rig_create(rig, "fast", "c", 1);
	rig_lvm(rig, "lvextend", "-l", "+1", "fast/a", NULL);
	lv = rig_lv(rig, "fast", "a");
	assert_int_equal(eph_lvm_vg_by_name(rig->view, "fast", NULL)->n_lvs, 3);
	assert_int_equal(lv->size_bytes, 6 * 4 * MIB);
	assert_int_equal(lv->n_ranges, 3);
	assert_int_equal(lv->ranges[0].first, 0);
	assert_int_equal(lv->ranges[0].count, 2);
	assert_int_equal(lv->ranges[1].first, 3);
	assert_int_equal(lv->ranges[1].count, 3);
	assert_int_equal(lv->ranges[2].first, 7);
	assert_string_equal(lv->segtype, "linear");
}

static void reads_stripes_in_order(void **state)
{
	struct rig *rig = *state;
	struct eph_lv *lv;

	rig_pool(rig, "fast", 2);
	rig_lvm(rig, "lvcreate", "-an", "-Zn", "-Wn", "--yes", "--type", "striped", "-i2", "-l4",
		"-n", "s", "fast", NULL);
	lv = rig_lv(rig, "fast", "s");
	assert_string_equal(lv->segtype, "striped");
	assert_int_equal(lv->n_ranges, 2);
	assert_int_equal(lv->ranges[0].count, 2);
	assert_string_not_equal(lv->ranges[0].device, lv->ranges[1].device);
}

static void bears_unusual_names(void **state)
{
	static const char *const names[] = { "0nvme", "a-b--c", "x.y+z_", "ephlvm" };
	struct rig *rig = *state;

	rig_add(rig, 256);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct eph_vg *vg = rig_pool(rig, names[i], 1);
		_cleanup_strv_ struct eph_strv uuids = EPH_STRV_INIT;

		assert_int_equal(
			eph_strv_add(&uuids, rig_create(rig, names[i], "c-d--e.f", 1)->uuid), 0);
		vg = rig_read(rig, names[i]);
		assert_int_equal(rename_lv(rig, vg, "c-d--e.f", "0-x"), 0);
		assert_int_equal(remove_lvs(rig, vg, &uuids), 0);
		vg = rig_read(rig, names[i]);
		assert_int_equal(vg->n_lvs, 0);
		assert_int_equal(eph_lvm_vg_remove(rig->ctx, names[i], vg->uuid), 0);
	}
}

static void removes_only_the_vg_that_it_made(void **state)
{
	struct rig *rig = *state;
	_cleanup_strv_ struct eph_strv devices = EPH_STRV_INIT, uuids = EPH_STRV_INIT;
	struct eph_vg *vg;

	rig_pool(rig, "fast", 1);
	assert_int_equal(eph_strv_add(&devices, rig->drives[0].device), 0);
	assert_int_equal(eph_lvm_vg_remove(rig->ctx, "fast", NO_UUID), 0);
	vg = rig_read(rig, "fast");
	assert_non_null(vg);
	assert_int_equal(eph_strv_add(&uuids, rig_create(rig, "fast", "a", 1)->uuid), 0);
	vg = rig_read(rig, "fast");
	/* --yes would answer "remove the LVs too?" */
	assert_int_equal(eph_lvm_vg_remove(rig->ctx, "fast", vg->uuid), 0);
	vg = rig_read(rig, "fast");
	assert_non_null(vg);
	assert_int_equal(vg->n_lvs, 1);
	assert_int_equal(eph_lvm_pv_remove(rig->ctx, &devices), -EIO);
	assert_int_equal(remove_lvs(rig, vg, &uuids), 0);
	assert_int_equal(eph_lvm_vg_remove(rig->ctx, "fast", vg->uuid), 0);
	assert_null(rig_read(rig, "fast"));
	assert_int_equal(rig->view->n_orphans, 1);
	assert_int_equal(eph_lvm_pv_remove(rig->ctx, &devices), 0);
	rig_read(rig, NULL);
	assert_int_equal(rig->view->n_orphans, 0);
}

static void makes_no_second_vg_of_a_name(void **state)
{
	struct rig *rig = *state;
	_cleanup_strv_ struct eph_strv devices = EPH_STRV_INIT;
	size_t n;

	rig_pool(rig, "fast", 1);
	rig_add(rig, 128);
	assert_int_equal(eph_strv_add(&devices, rig->drives[1].device), 0);
	assert_int_equal(eph_lvm_pv_create(rig->ctx, &devices, MIB), 0);
	assert_int_equal(eph_lvm_vg_create(rig->ctx, "fast", &devices, NULL), -EIO);
	rig_read(rig, NULL);
	assert_non_null(eph_lvm_vg_by_name(rig->view, "fast", &n));
	assert_int_equal(n, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(reads_a_host_without_vgs),
		TEST(makes_a_pool),
		TEST(takes_auto_activation_from_a_vg),
		TEST(creates_with_all_tags_in_one_commit),
		TEST(creates_where_it_is_told),
		TEST(renames_and_retags),
		TEST(retags_a_vg),
		TEST(touches_only_what_is_selected),
		TEST(says_when_there_is_no_space),
		TEST(says_when_the_metadata_area_is_full),
		TEST(works_on_in_a_partial_vg),
		TEST(never_calls_a_healthy_pv_missing),
		TEST(writes_nothing_when_a_drive_has_joined),
		TEST(knows_a_pv_by_its_label),
		TEST(narrows_to_odd_device_names),
		TEST(reads_an_exported_vg),
		TEST(tells_foreign_vgs_from_ours),
		TEST(keeps_two_vgs_of_one_name_apart),
		TEST(writes_nothing_beside_a_copy_of_a_drive),
		TEST(does_not_wait_on_a_held_lock_for_ever),
		TEST(gets_the_lock_when_it_comes_free),
		TEST(counts_an_lv_of_several_segments_once),
		TEST(reads_stripes_in_order),
		TEST(bears_unusual_names),
		TEST(removes_only_the_vg_that_it_made),
		TEST(makes_no_second_vg_of_a_name),
	};
	const size_t n = sizeof(tests) / sizeof(tests[0]);
	int failed;

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	if (!rig_possible()) {
		printf("0 passed, 0 failed, %zu skipped\n", n);
		return 0;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (failed < 0)
		failed = (int)n;
	if (argc == 1)
		printf("%zu passed, %d failed, 0 skipped\n", n - (size_t)failed, failed);
	return failed ? 1 : 0;
}
