// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The proof that free space is clean: what sets it, what carries it over a commit, and all that
 * ends it. LVM is a script whose calls change PVs in memory as LVM would.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/context.h"
#include "edge/clean.h"
#include "failing_alloc.h"
#include "fakes/fake_lvm.h"
#include "fakes/fake_pv.h"
#include "pure/config.h"
#include "util/cleanup.h"

#define VG_UUID "aaaaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaaaa"
#define PV1_UUID "cccccc-cccc-cccc-cccc-cccc-cccc-cccccc"
#define PV2_UUID "dddddd-dddd-dddd-dddd-dddd-dddd-dddddd"
#define LV_UUID "eeeeee-eeee-eeee-eeee-eeee-eeee-eeeeee"
#define LV2_UUID "ffffff-ffff-ffff-ffff-ffff-ffff-ffffff"
#define AREA 8192

#define CREATED "Logical volume \"a\" created.\n"
#define RENAMED "Renamed \"a\" to \"b\" in volume group \"fast\"\n"
#define CHANGED "Logical volume fast/a changed.\n"
#define REMOVED "Logical volume \"a\" successfully removed.\n"
#define VG_CHANGED "Volume group \"fast\" successfully changed\n"

struct place {
	struct ephlvm_ctx *ctx, *other;
	struct eph_config *config;
	struct fake_lvm *fake;
	struct eph_vg vg;
	struct eph_pv pvs[2];
	struct fake_pv images[2];
	unsigned int seqno, commits;
	char root[64], proof[128];
	struct eph_strv one, two, tags, none;
	bool clean; /* what the last create said */
	bool was_there, was_locked; /* as LVM ran */
};

static bool flush_broken;
static unsigned int flushes; /* of PVs */

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
	char link[64], target[128] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (readlink(link, target, sizeof(target) - 1) > 0 && strstr(target, "fake-pv")) {
		flushes++;
		if (flush_broken) {
			errno = EIO;
			return -1;
		}
	}
	return __real_fsync(fd);
}

/* --- the place --- */

static void commit_as(struct place *p, unsigned int seqno)
{
	char text[256];

	p->seqno = seqno;
	snprintf(text, sizeof(text), "fast {\nid = \"" VG_UUID "\"\nseqno = %u\n}\n# commit %u\n",
		 seqno, ++p->commits);
	for (size_t i = 0; i < 2; i++)
		fake_pv_commit(&p->images[i], text);
}

static void commit_one(void *data)
{
	struct place *p = data;

	commit_as(p, p->seqno + 1);
}

static void commit_two(void *data)
{
	commit_one(data);
	commit_one(data);
}

/* What the world looks like while LVM runs. */
static void look(void *data)
{
	struct place *p = data;
	struct eph_lock *lock = NULL;

	p->was_there = access(p->proof, F_OK) == 0;
	p->was_locked = eph_lock_take(p->other, EPH_LOCK_PROOF, VG_UUID, 0, &lock) < 0;
	eph_lock_release(lock);
	eph_enter(p->other);
}

static void look_and_commit(void *data)
{
	look(data);
	commit_one(data);
}

static struct ephlvm_ctx *new_context(struct eph_config **ret_config)
{
	struct ephlvm_ctx *ctx = NULL;

	assert_int_equal(ephlvm_ctx_new(&ctx), 0);
	assert_int_equal(eph_config_default(ctx, ret_config), 0);
	(*ret_config)->lock_timeout_ms = 0;
	ctx->config = *ret_config;
	ctx->config_free = eph_config_free;
	return ctx;
}

static int setup(void **state)
{
	static const char *const uuids[] = { PV1_UUID, PV2_UUID };
	struct place *p = calloc(1, sizeof(*p));
	struct eph_config *unused;
	char path[128];

	assert_non_null(p);
	snprintf(p->root, sizeof(p->root), "/tmp/ephlvm-clean.XXXXXX");
	assert_non_null(mkdtemp(p->root));
	snprintf(path, sizeof(path), "%s/locks", p->root);
	setenv("EPHLVM_LOCK_DIR", path, 1);
	snprintf(path, sizeof(path), "%s/state", p->root);
	setenv("EPHLVM_STATE_DIR", path, 1);
	snprintf(p->proof, sizeof(p->proof), "%s/state/clean/" VG_UUID, p->root);
	p->ctx = new_context(&p->config);
	p->other = new_context(&unused);
	p->fake = fake_lvm_install(p->ctx);
	for (size_t i = 0; i < 2; i++) {
		p->pvs[i] = (struct eph_pv){ .device = (char *)(i ? "/dev/b" : "/dev/a"),
					     .uuid = (char *)uuids[i] };
		p->images[i] = fake_pv_new(uuids[i], AREA);
		fake_lvm_put_pv(p->fake, uuids[i], p->images[i].fd);
	}
	commit_as(p, 1);
	p->vg = (struct eph_vg){
		.name = (char *)"fast", .uuid = (char *)VG_UUID, .pvs = p->pvs, .n_pvs = 2
	};
	assert_int_equal(eph_strv_add(&p->one, LV_UUID), 0);
	assert_int_equal(eph_strv_add(&p->two, LV_UUID), 0);
	assert_int_equal(eph_strv_add(&p->two, LV2_UUID), 0);
	assert_int_equal(eph_strv_add(&p->tags, "x"), 0);
	flush_broken = false;
	flushes = 0;
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	char command[160];

	fake_lvm_done(p->fake);
	ephlvm_ctx_unref(p->ctx);
	ephlvm_ctx_unref(p->other);
	fake_pv_free(&p->images[0]);
	fake_pv_free(&p->images[1]);
	eph_strv_clear(&p->one);
	eph_strv_clear(&p->two);
	eph_strv_clear(&p->tags);
	snprintf(command, sizeof(command), "rm -rf %s", p->root);
	assert_int_equal(system(command), 0);
	free(p);
	return 0;
}

/* --- what is asked and done --- */

#define REPORT                                                                         \
	"{\"report\": [{\"vg\": [{\"vg_uuid\":\"" VG_UUID "\", \"vg_name\":\"fast\", " \
	"\"vg_attr\":\"wz--n-\", \"vg_tags\":\"\", \"vg_systemid\":\"\", "             \
	"\"vg_size\":\"8388608\", \"vg_free\":\"0\", \"vg_extent_size\":\"4194304\", " \
	"\"vg_extent_count\":\"2\", \"vg_free_count\":\"%u\", \"vg_seqno\":\"%u\", "   \
	"\"vg_missing_pv_count\":\"%u\"}], \"pv\": [" PV(PV1_UUID, "/dev/a") ", " PV(  \
		PV2_UUID, "/dev/b") "], \"lv\": [%s], \"seg\": [%s], \"pvseg\": []}]}"
#define PV(uuid, name)                                                                      \
	"{\"pv_uuid\":\"" uuid "\", \"pv_name\":\"" name "\", \"pv_attr\":\"a--\", "        \
	"\"pv_size\":\"4194304\", \"pv_free\":\"0\", \"pv_pe_count\":\"1\", "               \
	"\"pv_pe_alloc_count\":\"1\", \"pe_start\":\"1048576\", \"pv_mda_size\":\"8192\", " \
	"\"pv_mda_free\":\"1\"}"
#define AN_LV                                                                           \
	"{\"lv_uuid\":\"" LV_UUID "\", \"lv_name\":\"a\", \"lv_attr\":\"-wi-------\", " \
	"\"lv_size\":\"4194304\", \"lv_layout\":\"linear\", \"lv_role\":\"public\", "   \
	"\"lv_tags\":\"ephlvm\"}"

#define A_SEG                                                                            \
	"{\"lv_uuid\":\"" LV_UUID "\", \"segtype\":\"linear\", \"seg_start_pe\":\"0\", " \
	"\"seg_pe_ranges\":\"/dev/a:0-0\"}"

struct shown {
	unsigned int free, seqno, missing;
	const char *lvs;
	void (*before)(void *data);
};

static bool set(struct place *p, enum eph_clean_ground ground, const struct shown *shown)
{
	char out[2048];

	snprintf(out, sizeof(out), REPORT, shown->free, shown->seqno, shown->missing,
		 shown->lvs ? shown->lvs : "", shown->lvs ? A_SEG : "");
	FAKE_LVM_EXPECT(p->fake, .call = NULL, .out = out, .before = shown->before, .data = p);
	return eph_clean_set(p->ctx, &p->vg, ground);
}

static void prove(struct place *p)
{
	const struct shown shown = { .seqno = p->seqno };

	eph_enter(p->ctx);
	assert_true(set(p, EPH_CLEAN_NO_FREE, &shown));
	assert_true(eph_clean_holds(p->ctx, &p->vg, 0));
	flushes = 0;
}

static void expect_clean(struct place *p)
{
	assert_true(eph_clean_holds(p->ctx, &p->vg, 0));
}

static void expect_ended(struct place *p)
{
	assert_false(eph_clean_holds(p->ctx, &p->vg, 0));
	assert_int_not_equal(access(p->proof, F_OK), 0);
}

static int create(struct place *p)
{
	const struct eph_lv_spec spec = { .name = "a", .extents = 1, .segtype = "linear" };

	p->clean = true;
	return eph_lvm_lv_create(p->ctx, &p->vg, &spec, &p->clean);
}

static int rename_lv(struct place *p)
{
	return eph_lvm_lv_rename(p->ctx, &p->vg, "a", "b");
}

static int retag(struct place *p)
{
	return eph_lvm_lv_retag(p->ctx, &p->vg, LV_UUID, NULL, &p->tags);
}

static int remove_one(struct place *p)
{
	return eph_lvm_lv_remove(p->ctx, &p->vg, &p->one);
}

static int remove_two(struct place *p)
{
	return eph_lvm_lv_remove(p->ctx, &p->vg, &p->two);
}

static int remove_unerased(struct place *p)
{
	return eph_lvm_lv_remove_unerased(p->ctx, &p->vg, &p->one);
}

static int vg_retag(struct place *p)
{
	return eph_lvm_vg_retag(p->ctx, &p->vg, NULL, &p->tags);
}

static int no_autoactivation(struct place *p)
{
	return eph_lvm_vg_no_autoactivation(p->ctx, &p->vg);
}

static const struct verb {
	int (*run)(struct place *p);
	const char *words, *almost;
} verbs[] = {
	{ create, CREATED, "Logical volume \"aa\" created.\n" },
	{ rename_lv, RENAMED, "Renamed \"b\" to \"a\" in volume group \"fast\"\n" },
	{ retag, CHANGED, CHANGED CHANGED },
	{ remove_one, REMOVED, "Logical volume \"a\" removed.\n" },
	{ remove_two, "  " REMOVED "  Logical volume \"c\" successfully removed.\n", REMOVED },
	{ vg_retag, VG_CHANGED, "Volume group \"slow\" successfully changed\n" },
	{ no_autoactivation, VG_CHANGED, "" },
};
#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

static int run_as(struct place *p, const struct verb *verb, const struct fake_lvm_call *answer)
{
	struct fake_lvm_call call = *answer;

	eph_enter(p->ctx);
	call.data = p;
	fake_lvm_expect(p->fake, &call);
	return verb->run(p);
}
#define RUN(p, verb, ...) run_as(p, verb, &(const struct fake_lvm_call){ __VA_ARGS__ })

/* --- setting --- */

static void is_not_there_by_itself(void **state)
{
	struct place *p = *state;
	unsigned int opened = fake_lvm_opened(p->fake);

	assert_false(eph_clean_holds(p->ctx, &p->vg, 0));
	assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_NONE);
	/* Without a proof nothing is read, locked or waited for. */
	assert_int_equal(fake_lvm_opened(p->fake), opened);
	for (size_t i = 0; i < N_VERBS; i++) {
		opened = fake_lvm_opened(p->fake);
		assert_int_equal(
			RUN(p, &verbs[i], .out = verbs[i].words, .before = look_and_commit), 0);
		assert_false(p->was_locked);
		assert_int_equal(fake_lvm_opened(p->fake) - opened, 2);
		expect_ended(p);
	}
	assert_false(p->clean);
	assert_int_equal(flushes, 0);
}

static void stands_on_a_new_vg(void **state)
{
	struct place *p = *state;

	assert_false(set(p, EPH_CLEAN_NEW_VG, &(const struct shown){ .seqno = 2, .free = 9 }));
	assert_false(set(p, EPH_CLEAN_NEW_VG,
			 &(const struct shown){ .seqno = 1, .free = 9, .lvs = AN_LV }));
	assert_false(set(p, EPH_CLEAN_NEW_VG,
			 &(const struct shown){ .seqno = 1, .free = 9, .missing = 1 }));
	expect_ended(p);
	assert_true(set(p, EPH_CLEAN_NEW_VG, &(const struct shown){ .seqno = 1, .free = 9 }));
	expect_clean(p);
	assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_NONE);
	/* Made, and changed since: the number alone tells. */
	commit_as(p, 2);
	assert_false(set(p, EPH_CLEAN_NEW_VG, &(const struct shown){ .seqno = 2, .free = 9 }));
}

static void stands_on_a_vg_without_free_space(void **state)
{
	struct place *p = *state;

	commit_as(p, 12);
	assert_false(set(p, EPH_CLEAN_NO_FREE,
			 &(const struct shown){ .seqno = 12, .free = 1, .lvs = AN_LV }));
	/* LVM showed another state than was read before and after. */
	assert_false(set(p, EPH_CLEAN_NO_FREE, &(const struct shown){ .seqno = 11 }));
	assert_false(set(p, EPH_CLEAN_NO_FREE,
			 &(const struct shown){ .seqno = 12, .before = commit_one }));
	assert_false(set(p, EPH_CLEAN_NO_FREE,
			 &(const struct shown){ .seqno = 14, .before = commit_one }));
	expect_ended(p);
	assert_true(set(p, EPH_CLEAN_NO_FREE,
			&(const struct shown){ .seqno = 14, .lvs = AN_LV, .before = look }));
	assert_true(p->was_locked);
	assert_true(flushes >= 2);
	expect_clean(p);
}

static void is_not_set_without_a_flush(void **state)
{
	struct place *p = *state;

	flush_broken = true;
	assert_false(set(p, EPH_CLEAN_NO_FREE, &(const struct shown){ .seqno = 1 }));
	flush_broken = false;
	expect_ended(p);
}

/* --- carrying --- */

static void is_carried_over_our_own_commits(void **state)
{
	struct place *p = *state;

	prove(p);
	for (size_t i = 0; i < N_VERBS; i++) {
		flushes = 0;
		assert_int_equal(
			RUN(p, &verbs[i], .out = verbs[i].words, .before = look_and_commit), 0);
		assert_true(p->was_there && p->was_locked);
		/* LVM does not flush: without that a power cut could leave the proof alone. */
		assert_int_equal(flushes, 2);
		expect_clean(p);
	}
	assert_true(p->clean);
	/* As lvm2 2.03.11 says it. */
	assert_int_equal(RUN(p, &verbs[3], .out = "  Logical volume \"a\" successfully removed\n",
			     .before = commit_one),
			 0);
	expect_clean(p);
}

static void stays_where_nothing_was_changed(void **state)
{
	struct place *p = *state;

	prove(p);
	for (size_t i = 0; i < N_VERBS; i++) {
		/* A selection that matches nothing, and a refusal. */
		RUN(p, &verbs[i], .out = "");
		assert_false(verbs[i].run == create && p->clean);
		RUN(p, &verbs[i], .status = 5, .err = "  refused\n");
		assert_false(verbs[i].run == create && p->clean);
		expect_clean(p);
		assert_int_equal(flushes, 0);
	}
}

static void ends_by_a_commit_before_ours(void **state)
{
	struct place *p = *state;

	for (size_t i = 0; i < N_VERBS; i++) {
		prove(p);
		commit_one(p);
		assert_int_equal(
			RUN(p, &verbs[i], .out = verbs[i].words, .before = look_and_commit), 0);
		/* Gone before anything is changed, and nobody else sets one meanwhile. */
		assert_false(p->was_there);
		assert_true(p->was_locked);
		assert_false(verbs[i].run == create && p->clean);
		expect_ended(p);
	}
}

/* vgcfgrestore, or a commit that a power cut took back: the same number, other content. */
static void ends_by_the_same_number_of_other_content(void **state)
{
	struct place *p = *state;

	for (size_t i = 0; i < N_VERBS; i++) {
		prove(p);
		commit_as(p, p->seqno);
		assert_false(eph_clean_holds(p->ctx, &p->vg, 0));
		assert_int_equal(RUN(p, &verbs[i], .out = verbs[i].words, .before = commit_one), 0);
		assert_false(verbs[i].run == create && p->clean);
		expect_ended(p);
	}
}

static void ends_by_a_commit_beside_ours(void **state)
{
	struct place *p = *state;

	for (size_t i = 0; i < N_VERBS; i++) {
		prove(p);
		assert_int_equal(RUN(p, &verbs[i], .out = verbs[i].words, .before = commit_two), 0);
		assert_false(verbs[i].run == create && p->clean);
		expect_ended(p);
	}
}

/* One commit, and LVM does not say that it was its own. */
static void ends_where_lvm_does_not_say_so(void **state)
{
	struct place *p = *state;

	for (size_t i = 0; i < N_VERBS; i++) {
		const char *const words[] = { "", verbs[i].almost, "x" };

		for (size_t j = 0; j < sizeof(words) / sizeof(words[0]); j++) {
			prove(p);
			assert_int_equal(RUN(p, &verbs[i], .out = words[j], .before = commit_one),
					 0);
			assert_false(verbs[i].run == create && p->clean);
			expect_ended(p);
		}
		prove(p);
		/* On the wrong stream. */
		assert_int_equal(RUN(p, &verbs[i], .err = verbs[i].words, .before = commit_one), 0);
		expect_ended(p);
	}
}

static void ends_by_a_failure_that_committed(void **state)
{
	struct place *p = *state;

	for (size_t i = 0; i < N_VERBS; i++) {
		prove(p);
		assert_true(RUN(p, &verbs[i], .status = 5, .out = verbs[i].words,
				.before = commit_one) < 0);
		expect_ended(p);
		prove(p);
		assert_true(RUN(p, &verbs[i], .timed_out = true, .out = verbs[i].words,
				.before = commit_one) < 0);
		assert_false(verbs[i].run == create && p->clean);
		expect_ended(p);
		prove(p);
		assert_true(RUN(p, &verbs[i], .status = 256 + SIGKILL, .out = verbs[i].words,
				.before = commit_one) < 0);
		expect_ended(p);
		prove(p);
		assert_true(RUN(p, &verbs[i], .error = -EIO, .before = commit_one) < 0);
		expect_ended(p);
	}
}

static void ends_where_it_cannot_be_flushed(void **state)
{
	struct place *p = *state;

	for (size_t i = 0; i < N_VERBS; i++) {
		prove(p);
		flush_broken = true;
		assert_int_equal(RUN(p, &verbs[i], .out = verbs[i].words, .before = commit_one), 0);
		flush_broken = false;
		assert_false(verbs[i].run == create && p->clean);
		assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_NONE);
		expect_ended(p);
	}
}

static void tear(void *data)
{
	struct place *p = data;

	commit_one(p);
	fake_pv_spoil(&p->images[1], FAKE_PV_AREA + 100);
}

static void ends_where_the_metadata_cannot_be_read(void **state)
{
	struct place *p = *state;

	prove(p);
	assert_int_equal(RUN(p, &verbs[0], .out = CREATED, .before = tear), 0);
	assert_false(p->clean);
	expect_ended(p);
	fake_pv_spoil(&p->images[1], FAKE_PV_AREA + 100);
	prove(p);
	fake_pv_spoil(&p->images[1], FAKE_PV_AREA + 100);
	assert_false(eph_clean_holds(p->ctx, &p->vg, 0));
	assert_int_equal(RUN(p, &verbs[0], .out = CREATED, .before = look), 0);
	assert_false(p->was_there);
	assert_false(p->clean);
	expect_ended(p);
}

/* A removal of what was not erased. */
static void ends_before_what_is_not_erased_is_freed(void **state)
{
	static const struct verb verb = { remove_unerased, REMOVED, "" };
	struct place *p = *state;

	prove(p);
	assert_int_equal(RUN(p, &verb, .out = REMOVED, .before = look_and_commit), 0);
	assert_false(p->was_there);
	assert_true(p->was_locked);
	expect_ended(p);
	/* Locked also where there is none: nobody proves "no free space" just before it becomes free. */
	p->was_locked = false;
	assert_int_equal(RUN(p, &verb, .out = REMOVED, .before = look_and_commit), 0);
	assert_true(p->was_locked);
	expect_ended(p);
	/* And where nothing was removed in the end. */
	prove(p);
	assert_int_equal(RUN(p, &verb, .status = 5), -EIO);
	expect_ended(p);
}

static void is_dropped(void **state)
{
	struct place *p = *state;

	assert_int_equal(eph_clean_drop(p->ctx, VG_UUID), 0);
	prove(p);
	assert_int_equal(eph_clean_drop(p->ctx, VG_UUID), 0);
	expect_ended(p);
	assert_int_equal(eph_clean_drop(p->ctx, "../x"), -EINVAL);
	eph_enter(p->ctx);
	assert_int_equal(eph_clean_drop(p->ctx, NULL), -EINVAL);
}

/* --- who else is there --- */

static void waits_for_another_commit_of_ours(void **state)
{
	struct place *p = *state;
	struct eph_lock *lock;

	prove(p);
	assert_int_equal(eph_lock_take(p->other, EPH_LOCK_PROOF, VG_UUID, 0, &lock), 0);
	for (size_t i = 0; i < N_VERBS; i++) {
		eph_enter(p->ctx);
		assert_int_equal(verbs[i].run(p), -ETIMEDOUT);
		assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_BUSY);
	}
	eph_enter(p->ctx);
	assert_int_equal(remove_unerased(p), -ETIMEDOUT);
	assert_false(p->clean);
	/* What is true now is true without a lock; what is not may only not be yet. */
	expect_clean(p);
	commit_one(p);
	eph_enter(p->ctx);
	assert_false(eph_clean_holds(p->ctx, &p->vg, 1));
	assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_NONE);
	assert_int_equal(access(p->proof, F_OK), 0);
	eph_lock_release(lock);
}

static void kill_self(void *data)
{
	commit_one(data);
	kill(getpid(), SIGKILL);
}

static void is_stale_after_a_kill(void **state)
{
	struct place *p = *state;
	int status;
	pid_t pid;

	for (size_t i = 0; i < N_VERBS; i++) {
		prove(p);
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			RUN(p, &verbs[i], .out = verbs[i].words, .before = kill_self);
			_exit(1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		p->seqno++;
		p->commits++;
		for (size_t j = 0; j < 2; j++)
			p->images[j].next = FAKE_PV_HEADER + 1024;
		assert_int_equal(access(p->proof, F_OK), 0);
		assert_false(eph_clean_holds(p->ctx, &p->vg, 0));
		assert_int_equal(RUN(p, &verbs[0], .out = CREATED, .before = look_and_commit), 0);
		assert_false(p->was_there || p->clean);
	}
}

/* --- the file --- */

static void trusts_nobody_elses_file(void **state)
{
	struct place *p = *state;
	FILE *f;

	prove(p);
	assert_int_equal(chmod(p->proof, 0622), 0);
	assert_false(eph_clean_holds(p->ctx, &p->vg, 0));
	assert_int_equal(chmod(p->proof, 0600), 0);
	expect_clean(p);
	f = fopen(p->proof, "a");
	assert_non_null(f);
	fputs("\n", f);
	fclose(f);
	assert_false(eph_clean_holds(p->ctx, &p->vg, 0));
	assert_int_equal(truncate(p->proof, 10), 0);
	assert_false(eph_clean_holds(p->ctx, &p->vg, 0));
	assert_int_equal(truncate(p->proof, 0), 0);
	assert_false(eph_clean_holds(p->ctx, &p->vg, 0));
	/* Of another VG. */
	prove(p);
	p->vg.uuid = (char *)"bbbbbb-bbbb-bbbb-bbbb-bbbb-bbbb-bbbbbb";
	assert_false(eph_clean_holds(p->ctx, &p->vg, 0));
	p->vg.uuid = (char *)"../../etc/passwd";
	assert_false(eph_clean_holds(p->ctx, &p->vg, 0));
	p->vg.uuid = (char *)VG_UUID;
}

/* In the place of the file stands what cannot be removed. */
static void gives_out_no_space_beside_a_stale_proof(void **state)
{
	static const struct verb unerased = { remove_unerased, REMOVED, "" };
	struct place *p = *state;

	prove(p);
	assert_int_equal(unlink(p->proof), 0);
	assert_int_equal(mkdir(p->proof, 0700), 0);
	assert_false(eph_clean_holds(p->ctx, &p->vg, 0));
	for (size_t i = 0; i < N_VERBS; i++) {
		if (verbs[i].run == create) {
			eph_enter(p->ctx);
			assert_true(create(p) < 0);
			assert_false(p->clean);
			assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_SYSTEM);
			continue;
		}
		/* What keeps free space as it is goes on: a delete must not hang on this. */
		assert_int_equal(RUN(p, &verbs[i], .out = verbs[i].words, .before = commit_one), 0);
		assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_NONE);
	}
	eph_enter(p->ctx);
	assert_true(unerased.run(p) < 0);
	assert_true(eph_clean_drop(p->ctx, VG_UUID) < 0);
}

/* It cannot be written anew: then it is gone, and the volume that was just made counts as dirty. */
static void ends_where_it_cannot_be_written(void **state)
{
	struct place *p = *state;

	prove(p);
	setenv("EPHLVM_FAIL_AT", "state-write", 1);
	assert_int_equal(RUN(p, &verbs[0], .out = CREATED, .before = commit_one), 0);
	unsetenv("EPHLVM_FAIL_AT");
	assert_false(p->clean);
	expect_ended(p);
}

static void block(void *data)
{
	struct place *p = data;

	commit_one(p);
	assert_int_equal(unlink(p->proof), 0);
	assert_int_equal(mkdir(p->proof, 0700), 0);
}

/* Nor removed: then nobody may write into the volume, and the caller hears of it. */
static void fails_where_it_cannot_be_ended(void **state)
{
	struct place *p = *state;

	prove(p);
	assert_true(RUN(p, &verbs[0], .out = CREATED, .before = block) < 0);
	assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_SYSTEM);
	assert_false(p->clean);
	assert_false(eph_clean_holds(p->ctx, &p->vg, 0));
}

static void does_without_a_state_folder(void **state)
{
	struct place *p = *state;

	setenv("EPHLVM_STATE_DIR", "/proc/self/nowhere", 1);
	assert_false(eph_clean_holds(p->ctx, &p->vg, 0));
	for (size_t i = 0; i < N_VERBS; i++) {
		if (verbs[i].run == create) {
			eph_enter(p->ctx);
			assert_true(create(p) < 0);
			continue;
		}
		assert_int_equal(RUN(p, &verbs[i], .out = verbs[i].words, .before = commit_one), 0);
		assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_NONE);
	}
	eph_enter(p->ctx);
	assert_true(remove_unerased(p) < 0);
}

/* A failure that led to the clean-up keeps its record. */
static void keeps_an_earlier_record(void **state)
{
	struct place *p = *state;

	prove(p);
	eph_fail(p->ctx, EPHLVM_ERROR_SYSTEM, ENXIO, "mkfs", NULL, "mkfs failed");
	FAKE_LVM_EXPECT(p->fake, .call = NULL, .out = REMOVED, .before = commit_two, .data = p);
	assert_int_equal(remove_one(p), 0);
	assert_string_equal(ephlvm_error_message(p->ctx), "mkfs failed");
	expect_ended(p);
	assert_string_equal(ephlvm_error_message(p->ctx), "mkfs failed");
}

static void is_never_kept_for_want_of_memory(void **state)
{
	struct place *p = *state;

	for (size_t i = 0; i < N_VERBS; i++) {
		bool reached = true;

		for (unsigned int nth = 0; reached; nth++) {
			struct fake_lvm_call call = { .out = verbs[i].words,
						      .before = commit_two,
						      .data = p };
			unsigned int before;

			prove(p);
			before = fake_lvm_calls(p->fake);
			fake_lvm_expect(p->fake, &call);
			failing_alloc_arm(nth);
			verbs[i].run(p);
			reached = failing_alloc_disarm();
			assert_false(verbs[i].run == create && p->clean);
			if (fake_lvm_calls(p->fake) == before)
				fake_lvm_drop_last(p->fake);
			else
				expect_ended(p);
			eph_enter(p->ctx);
		}
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(is_not_there_by_itself),
		TEST(stands_on_a_new_vg),
		TEST(stands_on_a_vg_without_free_space),
		TEST(is_not_set_without_a_flush),
		TEST(is_carried_over_our_own_commits),
		TEST(stays_where_nothing_was_changed),
		TEST(ends_by_a_commit_before_ours),
		TEST(ends_by_the_same_number_of_other_content),
		TEST(ends_by_a_commit_beside_ours),
		TEST(ends_where_lvm_does_not_say_so),
		TEST(ends_by_a_failure_that_committed),
		TEST(ends_where_it_cannot_be_flushed),
		TEST(ends_where_the_metadata_cannot_be_read),
		TEST(ends_before_what_is_not_erased_is_freed),
		TEST(is_dropped),
		TEST(waits_for_another_commit_of_ours),
		TEST(is_stale_after_a_kill),
		TEST(trusts_nobody_elses_file),
		TEST(gives_out_no_space_beside_a_stale_proof),
		TEST(ends_where_it_cannot_be_written),
		TEST(fails_where_it_cannot_be_ended),
		TEST(does_without_a_state_folder),
		TEST(keeps_an_earlier_record),
		TEST(is_never_kept_for_want_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
