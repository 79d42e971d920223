// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Committed metadata read from real PVs, and the proof of clean space over real LVM's commits: how
 * many each verb makes, what LVM says of it, and what of others ends the proof.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <ephlvm/pool.h>

#include "edge/clean.h"
#include "edge/digest.h"
#include "pure/config.h"
#include "rig/rig.h"
#include "util/cleanup.h"

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

static struct eph_lvm_meta read_meta(struct rig *rig, const struct eph_vg *vg)
{
	struct eph_lvm_meta meta;

	eph_enter(rig->ctx);
	if (eph_lvm_meta_read(rig->ctx, vg, &meta) < 0)
		fail_msg("%s", ephlvm_error_message(rig->ctx));
	return meta;
}

/* What is read directly is what LVM reports and what LVM's own tool finds in the area. */
static struct eph_lvm_meta compare(struct rig *rig, const char *name, size_t drive)
{
	struct eph_vg *vg = rig_read(rig, name);
	struct eph_lvm_meta meta = read_meta(rig, vg);
	char file[128], hash[EPH_SHA256_TEXT];
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *text = calloc(1, 1 << 20);
	size_t bytes;

	assert_int_equal(meta.seqno, vg->seqno);
	snprintf(file, sizeof(file), "%s/dump", rig->dir);
	unlink(file); /* the tool writes over none */
	rig_lvm(rig, "pvck", "--dump", "metadata", "-f", file, rig->drives[drive].device, NULL);
	f = fopen(file, "r");
	assert_non_null(f);
	bytes = fread(text, 1, (1 << 20) - 1, f);
	/* The area holds a NUL behind the text, which the tool leaves out. */
	assert_int_equal(eph_sha256(text, bytes + 1, hash), 0);
	assert_string_equal(hash, meta.sha256);
	return meta;
}

static void prove(struct rig *rig, const char *name)
{
	struct eph_vg *vg = rig_read(rig, name);
	_cleanup_strv_ struct eph_strv uuids = EPH_STRV_INIT;

	assert_int_equal(eph_strv_add(&uuids, rig_create(rig, name, "all", vg->free_extents)->uuid),
			 0);
	vg = rig_read(rig, name);
	assert_true(eph_clean_set(rig->ctx, vg, EPH_CLEAN_NO_FREE));
	assert_int_equal(eph_lvm_lv_remove(rig->ctx, vg, &uuids), 0);
	assert_true(eph_clean_holds(rig->ctx, rig_read(rig, name), 0));
}

static bool holds(struct rig *rig, const char *name)
{
	return eph_clean_holds(rig->ctx, rig_read(rig, name), 0);
}

static int create(struct rig *rig, const char *name, const char *lv, bool *ret_clean)
{
	_cleanup_strv_ struct eph_strv tags = EPH_STRV_INIT;
	const struct eph_lv_spec spec = {
		.name = lv,
		.extents = 2,
		.segtype = "linear",
		.tags = &tags,
	};

	assert_int_equal(eph_strv_add(&tags, "ephlvm"), 0);
	assert_int_equal(eph_strv_add(&tags, "ephlvm.state=new"), 0);
	return eph_lvm_lv_create(rig->ctx, rig_read(rig, name), &spec, ret_clean);
}

static void retag(struct rig *rig, const char *name, const char *lv, const char *del,
		  const char *add)
{
	_cleanup_strv_ struct eph_strv dels = EPH_STRV_INIT, adds = EPH_STRV_INIT;
	const struct eph_lv *found = rig_lv(rig, name, lv);
	const struct eph_vg *vg = eph_lvm_vg_by_name(rig->view, name, NULL);

	assert_int_equal(eph_strv_add(&dels, del), 0);
	assert_int_equal(eph_strv_add(&adds, add), 0);
	assert_int_equal(eph_lvm_lv_retag(rig->ctx, vg, found->uuid, &dels, &adds), 0);
}

static int remove_all(struct rig *rig, const char *name, bool erased)
{
	_cleanup_strv_ struct eph_strv uuids = EPH_STRV_INIT;
	struct eph_vg *vg = rig_read(rig, name);

	for (size_t i = 0; i < vg->n_lvs; i++)
		assert_int_equal(eph_strv_add(&uuids, vg->lvs[i].uuid), 0);
	return erased ? eph_lvm_lv_remove(rig->ctx, vg, &uuids) :
			eph_lvm_lv_remove_unerased(rig->ctx, vg, &uuids);
}

/* One commit of LVM's in all since @before, seen directly; and the proof held over it. */
static struct eph_lvm_meta one_commit(struct rig *rig, const struct eph_lvm_meta *before)
{
	struct eph_lvm_meta now = compare(rig, "fast", 0);

	assert_int_equal(now.seqno, before->seqno + 1);
	assert_true(holds(rig, "fast"));
	return now;
}

static void carries_the_proof_over_each_verb(void **state)
{
	struct rig *rig = *state;
	_cleanup_strv_ struct eph_strv none = EPH_STRV_INIT, add = EPH_STRV_INIT;
	struct eph_lvm_meta meta;
	bool clean = false;

	rig_pool(rig, "fast", 2);
	assert_true(eph_clean_set(rig->ctx, rig_read(rig, "fast"), EPH_CLEAN_NEW_VG));
	meta = compare(rig, "fast", 1);
	assert_int_equal(meta.seqno, 1);
	assert_int_equal(create(rig, "fast", "a", &clean), 0);
	assert_true(clean);
	meta = one_commit(rig, &meta);
	assert_int_equal(create(rig, "fast", "c-d--e.f", &clean), 0);
	assert_true(clean);
	meta = one_commit(rig, &meta);
	retag(rig, "fast", "a", "ephlvm.state=new", "ephlvm.state=ready");
	meta = one_commit(rig, &meta);
	assert_int_equal(eph_lvm_lv_rename(rig->ctx, rig_read(rig, "fast"), "a", "trash-1"), 0);
	meta = one_commit(rig, &meta);
	assert_int_equal(eph_strv_add(&add, "one"), 0);
	assert_int_equal(eph_lvm_vg_retag(rig->ctx, rig_read(rig, "fast"), &none, &add), 0);
	meta = one_commit(rig, &meta);
	/* Nothing to change is no commit. */
	assert_int_equal(eph_lvm_vg_no_autoactivation(rig->ctx, rig_read(rig, "fast")), 0);
	assert_true(holds(rig, "fast"));
	/* Two in one commit, then one. */
	assert_int_equal(remove_all(rig, "fast", true), 0);
	meta = one_commit(rig, &meta);
	assert_int_equal(create(rig, "fast", "a", &clean), 0);
	meta = one_commit(rig, &meta);
	assert_int_equal(remove_all(rig, "fast", true), 0);
	meta = one_commit(rig, &meta);
	assert_int_equal(rig_read(rig, "fast")->n_lvs, 0);
}

static void ends_by_an_unerased_removal(void **state)
{
	struct rig *rig = *state;
	bool clean = true;

	rig_pool(rig, "fast", 1);
	prove(rig, "fast");
	assert_int_equal(create(rig, "fast", "a", &clean), 0);
	assert_true(clean);
	assert_int_equal(remove_all(rig, "fast", false), 0);
	assert_false(holds(rig, "fast"));
	assert_int_equal(create(rig, "fast", "b", &clean), 0);
	assert_false(clean);
}

static void stays_over_what_changes_nothing(void **state)
{
	struct rig *rig = *state;
	_cleanup_strv_ struct eph_strv wrong = EPH_STRV_INIT, add = EPH_STRV_INIT;
	struct eph_vg *vg;
	bool clean;

	rig_pool(rig, "fast", 1);
	prove(rig, "fast");
	assert_int_equal(create(rig, "fast", "a", &clean), 0);
	vg = rig_read(rig, "fast");
	assert_int_equal(eph_strv_add(&wrong, "zzzzzz-zzzz-zzzz-zzzz-zzzz-zzzz-zzzzzz"), 0);
	assert_int_equal(eph_strv_add(&add, "x"), 0);
	assert_int_equal(eph_lvm_lv_remove(rig->ctx, vg, &wrong), 0);
	assert_int_equal(eph_lvm_lv_retag(rig->ctx, vg, wrong.v[0], NULL, &add), 0);
	assert_true(create(rig, "fast", "a", &clean) < 0); /* the name is taken */
	assert_false(clean);
	eph_enter(rig->ctx);
	assert_true(holds(rig, "fast"));
}

static void ends_by_what_others_do(void **state)
{
	struct rig *rig = *state;
	char backup[128];
	bool clean;

	rig_pool(rig, "fast", 1);
	/* One LV made and removed: as much free space as before. */
	prove(rig, "fast");
	snprintf(backup, sizeof(backup), "%s/kept", rig->dir);
	rig_lvm(rig, "vgcfgbackup", "-f", backup, "fast", NULL);
	assert_true(holds(rig, "fast"));
	rig_lvm(rig, "lvcreate", "-an", "-Zn", "-Wn", "--yes", "-l1", "-n", "x", "fast", NULL);
	assert_false(holds(rig, "fast"));
	rig_lvm(rig, "lvremove", "--yes", "fast/x", NULL);
	assert_false(holds(rig, "fast"));
	/* The metadata of then brought back, number and all. */
	rig_lvm(rig, "vgcfgrestore", "--yes", "-f", backup, "fast", NULL);
	assert_false(holds(rig, "fast"));
	assert_int_equal(create(rig, "fast", "a", &clean), 0);
	assert_false(clean);
	prove(rig, "fast");
	rig_lvm(rig, "lvchange", "--addtag", "x", "fast/a", NULL);
	assert_false(holds(rig, "fast"));
	prove(rig, "fast");
	rig_add(rig, 128);
	rig_lvm(rig, "vgextend", "--yes", "fast", rig->drives[1].device, NULL);
	assert_false(holds(rig, "fast"));
	/* A drive less: nobody knows what is on it when it comes back. */
	prove(rig, "fast");
	rig_pull(rig, 1);
	assert_false(holds(rig, "fast"));
	rig_plug(rig, 1, NULL);
	assert_true(holds(rig, "fast"));
	rig_pull(rig, 1);
	retag(rig, "fast", "a", "x", "y");
	rig_plug(rig, 1, NULL);
	assert_false(holds(rig, "fast"));
}

static void stands_on_no_space_that_is_free(void **state)
{
	struct rig *rig = *state;
	struct eph_vg *vg;

	rig_pool(rig, "fast", 2);
	vg = rig_read(rig, "fast");
	assert_false(eph_clean_set(rig->ctx, vg, EPH_CLEAN_NO_FREE));
	rig_create(rig, "fast", "a", vg->free_extents - 1);
	vg = rig_read(rig, "fast");
	assert_false(eph_clean_set(rig->ctx, vg, EPH_CLEAN_NO_FREE));
	assert_false(eph_clean_set(rig->ctx, vg, EPH_CLEAN_NEW_VG));
	/* On a drive that takes no volumes it is free all the same. */
	rig_lvm(rig, "pvchange", "-xn", rig->drives[0].device, NULL);
	rig_lvm(rig, "pvchange", "-xn", rig->drives[1].device, NULL);
	assert_false(eph_clean_set(rig->ctx, rig_read(rig, "fast"), EPH_CLEAN_NO_FREE));
	assert_false(holds(rig, "fast"));
}

/* LVM's default area of 1 MiB, a text of some 150 KiB: it goes around the end more than once. */
static void reads_around_the_end_of_an_area(void **state)
{
	struct rig *rig = *state;
	struct eph_lvm_meta last = { 0 };
	char text[1001];

	rig_add(rig, 128);
	rig_lvm(rig, "vgcreate", "--yes", "fast", rig->drives[0].device, NULL);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 30; i++) {
		_cleanup_strv_ struct eph_strv none = EPH_STRV_INIT, add = EPH_STRV_INIT;

		for (int j = 0; j < 10; j++)
			assert_int_equal(eph_strv_addf(&add, "%03d%.*s", i * 10 + j, 990, text), 0);
		assert_int_equal(eph_lvm_vg_retag(rig->ctx, rig_read(rig, "fast"), &none, &add), 0);
		if (i == 14) {
			/* From here the proof goes along. */
			prove(rig, "fast");
		}
		last = read_meta(rig, rig_read(rig, "fast"));
		assert_int_equal(last.seqno, eph_lvm_vg_by_name(rig->view, "fast", NULL)->seqno);
		assert_true(i < 14 || holds(rig, "fast"));
	}
	compare(rig, "fast", 0);
}

static void reads_where_areas_are_ignored_or_none(void **state)
{
	struct rig *rig = *state;
	struct eph_lvm_meta meta;

	for (int i = 0; i < 3; i++)
		rig_add(rig, 128);
	rig_lvm(rig, "pvcreate", "--yes", "--metadatacopies", "0", rig->drives[1].device, NULL);
	rig_lvm(rig, "pvcreate", "--yes", "--metadatacopies", "2", rig->drives[2].device, NULL);
	rig_lvm(rig, "vgcreate", "--yes", "fast", rig->drives[0].device, rig->drives[1].device,
		rig->drives[2].device, NULL);
	compare(rig, "fast", 0);
	prove(rig, "fast");
	rig_lvm(rig, "pvchange", "--yes", "--metadataignore", "y", rig->drives[0].device, NULL);
	assert_false(holds(rig, "fast"));
	prove(rig, "fast");
	meta = compare(rig, "fast", 2);
	rig_create(rig, "fast", "a", 1);
	assert_int_equal(compare(rig, "fast", 2).seqno, meta.seqno + 1);
	assert_true(holds(rig, "fast"));
}

static int live(struct rig *rig, unsigned int number, unsigned int rounds)
{
	int clean_ones = 0;

	for (unsigned int i = 0; i < rounds; i++) {
		_cleanup_strv_ struct eph_strv uuids = EPH_STRV_INIT;
		char name[32], trash[32];
		bool clean = false;

		snprintf(name, sizeof(name), "lv-%u-%u", number, i);
		snprintf(trash, sizeof(trash), "trash-%u-%u", number, i);
		if (create(rig, "fast", name, &clean) < 0)
			return -1;
		clean_ones += clean;
		if (eph_lvm_lv_rename(rig->ctx, rig_read(rig, "fast"), name, trash) < 0 ||
		    eph_strv_add(&uuids, rig_lv(rig, "fast", trash)->uuid) < 0 ||
		    eph_lvm_lv_remove(rig->ctx, rig_read(rig, "fast"), &uuids) < 0)
			return -1;
	}
	return clean_ones;
}

/* Our own processes, at the same time: none ends the proof for the others. */
static void is_carried_by_many_at_once(void **state)
{
	struct rig *rig = *state;
	pid_t pids[4];
	uint64_t seqno;

	rig_pool(rig, "fast", 2);
	prove(rig, "fast");
	seqno = rig_read(rig, "fast")->seqno;
	for (unsigned int i = 0; i < 4; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0)
			_exit(live(rig, i, 3) == 3 ? 0 : 1);
	}
	for (unsigned int i = 0; i < 4; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(rig_read(rig, "fast")->seqno, seqno + 4 * 3 * 3);
	assert_true(holds(rig, "fast"));
}

static bool shown_clean(struct rig *rig, const char *pool)
{
	struct ephlvm_pools *pools;
	bool clean;

	assert_int_equal(ephlvm_pool_list(rig->ctx, pool, &pools), 0);
	assert_int_equal(ephlvm_pools_count(pools), 1);
	clean = ephlvm_pool_clean(ephlvm_pools_at(pools, 0));
	ephlvm_pools_free(pools);
	return clean;
}

static void is_shown_with_the_pool(void **state)
{
	struct rig *rig = *state;

	rig_pool(rig, "fast", 1);
	assert_false(shown_clean(rig, "fast"));
	prove(rig, "fast");
	assert_true(shown_clean(rig, "fast"));
	rig_lvm(rig, "vgchange", "--addtag", "x", "fast", NULL);
	assert_false(shown_clean(rig, "fast"));
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* No promise but a measurement: what a direct read costs beside a process of LVM's. */
static void costs_little(void **state)
{
	struct rig *rig = *state;
	double direct[31], process[31];
	struct eph_vg *vg;

	rig_pool(rig, "fast", 2);
	for (int i = 0; i < 20; i++) {
		char name[16];

		snprintf(name, sizeof(name), "a%d", i);
		rig_create(rig, "fast", name, 1);
	}
	vg = rig_read(rig, "fast");
	for (size_t i = 0; i < 31; i++) {
		double start = now_ms();

		read_meta(rig, vg);
		direct[i] = now_ms() - start;
		start = now_ms();
		rig_lvm(rig, "vgs", "--noheadings", "-o", "vg_seqno", "fast", NULL);
		process[i] = now_ms() - start;
	}
	qsort(direct, 31, sizeof(*direct), by_size);
	qsort(process, 31, sizeof(*process), by_size);
	printf("           metadata of 20 volumes on 2 drives, medians of 31 interleaved: direct "
	       "%.2f ms, vgs %.1f ms\n",
	       direct[15], process[15]);
	assert_true(direct[15] < process[15]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(carries_the_proof_over_each_verb),
		TEST(ends_by_an_unerased_removal),
		TEST(stays_over_what_changes_nothing),
		TEST(ends_by_what_others_do),
		TEST(stands_on_no_space_that_is_free),
		TEST(reads_around_the_end_of_an_area),
		TEST(reads_where_areas_are_ignored_or_none),
		TEST(is_carried_by_many_at_once),
		TEST(is_shown_with_the_pool),
		TEST(costs_little),
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
