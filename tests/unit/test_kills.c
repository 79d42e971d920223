// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Every operation is killed at each of its marks, and each mark is made to fail, on a model of a host; then the next
 * command settles it, and what must hold is checked. A mark stands before and behind each change outside the process,
 * so that no state in which a crash can leave the host is left out (but for a drive's cache: that is the lab's).
 *
 * EPHLVM_KILLS_ALL=1 takes all marks, as "./check kills" does, else a sample; EPHLVM_KILLS_ONLY=OPERATION one operation.
 * EPHLVM_KILLS_TABLE=FILE writes what was found: operation, number and name of the mark, what was done there, what of
 * instance A was there then, what settled it.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <ephlvm/ephlvm.h>

#include "edge/clean.h"
#include "edge/lvm.h"
#include "fakes/model_host.h"
#include "fakes/model_ops.h"
#include "pure/naming.h"
#include "util/text.h"

#define A "11111111-0000-4000-8000-000000000001"
#define B "22222222-0000-4000-8000-000000000002"
#define C "33333333-0000-4000-8000-000000000003"

static struct model_host *m;
static FILE *table;

/* --- operations: 0 or -errno, in a child or not --- */

static int create_a(struct ephlvm_ctx *ctx)
{
	return model_op_create(ctx, A, "ext4");
}

static int create_b(struct ephlvm_ctx *ctx)
{
	return model_op_create(ctx, B, "none");
}

static int create_c(struct ephlvm_ctx *ctx)
{
	return model_op_create(ctx, C, "none");
}

static int delete_a(struct ephlvm_ctx *ctx)
{
	return model_op_delete(ctx, A, 0);
}

static int delete_a_wait(struct ephlvm_ctx *ctx)
{
	return model_op_delete(ctx, A, EPHLVM_WAIT);
}

static int delete_all(struct ephlvm_ctx *ctx)
{
	int r = model_op_delete(ctx, A, 0);

	if (r == 0)
		r = model_op_delete(ctx, B, 0);
	return r < 0 ? r : model_op_delete(ctx, C, 0);
}

static int restore_a(struct ephlvm_ctx *ctx)
{
	return model_op_restore(ctx, A);
}

static int hold_a(struct ephlvm_ctx *ctx)
{
	return model_op_hold(ctx, A, false);
}

static int unhold_a(struct ephlvm_ctx *ctx)
{
	return model_op_hold(ctx, A, true);
}

static int purge(struct ephlvm_ctx *ctx)
{
	return model_op_purge(ctx, NULL);
}

static int purge_shred(struct ephlvm_ctx *ctx)
{
	return model_op_purge(ctx, "shred");
}

static int purge_discard(struct ephlvm_ctx *ctx)
{
	return model_op_purge(ctx, "discard");
}

static int purge_none(struct ephlvm_ctx *ctx)
{
	return model_op_purge(ctx, "none");
}

typedef int (*operation)(struct ephlvm_ctx *ctx);

/* In a child, with @variable=@spec in its environment. Its wait status; exit 0 and 1 for done and failed. */
static int in_child(operation op, const char *variable, const char *spec)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct ephlvm_ctx *ctx;
		int r;

		if (variable)
			setenv(variable, spec, 1);
		ctx = model_host_ctx(m);
		r = op(ctx);
		if (r < 0 && !variable)
			fprintf(stderr, "    failed: %s (%s)\n", ephlvm_error_message(ctx),
				ephlvm_error_stage(ctx));
		_exit(r < 0 ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void must(operation op)
{
	int status = in_child(op, NULL, NULL);

	if (status != 0)
		fail_msg("status %d", status);
}

/* --- what must hold --- */

static struct model_lv *volume_of(const char *instance)
{
	char name[80];

	snprintf(name, sizeof(name), "%s_disk.eph0", instance);
	return model_lv_by_name(m, name);
}

static bool is_trash(const struct model_lv *lv)
{
	return eph_trash_name_match(lv->name) ||
	       strcmp(model_lv_tag(lv, "ephlvm.state="), "trash") == 0;
}

static bool is_ready(const struct model_lv *lv)
{
	return lv && !is_trash(lv) && strcmp(model_lv_tag(lv, "ephlvm.state="), "ready") == 0;
}

static unsigned int lvs(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < MODEL_LVS; i++)
		n += m->lvs[i].there;
	return n;
}

/* What holds at any moment, also right after the kill. */
static void check_always(void)
{
	struct ephlvm_ctx *ctx = model_host_ctx(m);
	struct eph_lvm_view *view = NULL;
	struct ephlvm_receipts *receipts = NULL;

	assert_int_equal(m->freed_unerased, 0);
	assert_int_equal(m->freed_without_receipt, 0);
	assert_int_equal(m->formatted_ready, 0);
	assert_int_equal(m->erased_by_others, 0);
	assert_int_equal(m->unmarked, 0);
	assert_int_equal(m->foreign_changed, 0);
	assert_int_equal(m->removed_ready, 0);
	assert_int_equal(eph_lvm_read(ctx, 0, &view), 0);
	/* A proof that is believed is true. */
	if (eph_clean_holds(ctx, &view->vgs[0], 0))
		for (unsigned int i = 0; i < MODEL_SLOTS; i++)
			assert_false(model_slot_free(m, i) &&
				     (model_has(m, i, "former") || model_has(m, i, "token")));
	eph_lvm_view_free(view);
	/* What is ready shows nothing of a former tenant, and each is formatted once at most. */
	for (unsigned int i = 0; i < MODEL_LVS; i++) {
		if (!m->lvs[i].there || !is_ready(&m->lvs[i]))
			continue;
		assert_false(model_has(m, m->lvs[i].first, "former"));
		assert_false(model_has(m, m->lvs[i].first, "token-gone"));
	}
	assert_int_equal(ephlvm_receipts_read(ctx, NULL, &receipts), 0);
	assert_null(ephlvm_receipts_broken(receipts));
	ephlvm_receipts_free(receipts);
	ephlvm_ctx_unref(ctx);
}

/* Checkpoints of volumes that are gone. (Half of one may stay until its volume goes.) */
static unsigned int stale_checkpoints(void)
{
	char path[200];
	unsigned int n = 0;
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/state/erase", m->root);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		bool has_volume = false;

		for (unsigned int i = 0; i < MODEL_LVS; i++)
			has_volume = has_volume ||
				     (m->lvs[i].there && strncmp(entry->d_name, m->lvs[i].uuid,
								 strlen(m->lvs[i].uuid)) == 0);
		n += entry->d_name[0] != '.' && !has_volume;
	}
	if (dir)
		closedir(dir);
	return n;
}

/* Nothing is left over: every LV is ready or trash, and a purge takes all trash that is not held. */
static void check_settled(void)
{
	must(model_op_activate);
	for (unsigned int i = 0; i < MODEL_LVS; i++)
		if (m->lvs[i].there)
			assert_true(is_ready(&m->lvs[i]) ? m->lvs[i].active : is_trash(&m->lvs[i]));
	must(purge);
	check_always();
	for (unsigned int i = 0; i < MODEL_LVS; i++)
		assert_false(m->lvs[i].there && is_trash(&m->lvs[i]) &&
			     !model_lv_tag(&m->lvs[i], "ephlvm.hold="));
	assert_int_equal(stale_checkpoints(), 0);
}

static void free_slots_hold_no_token(void)
{
	for (unsigned int i = 0; i < MODEL_SLOTS; i++)
		assert_false(model_slot_free(m, i) && model_has(m, i, "token"));
}

/* --- scenarios --- */

static void with_volume_a(void)
{
	must(create_a);
	model_plant(m, volume_of(A)->first, "token-a");
	m->planted_a = true;
}

static void with_trash_a(void)
{
	with_volume_a();
	must(delete_a);
}

static void with_three(void)
{
	with_volume_a();
	must(create_b);
	must(create_c);
	model_plant(m, volume_of(B)->first, "token-b");
	model_plant(m, volume_of(C)->first, "token-c");
}

static void with_three_trash(void)
{
	with_three();
	must(delete_all);
}

/* Free space proven clean: scrub of the last slot, the others in use. */
static void with_clean_space(void)
{
	with_three();
	must(model_op_scrub);
	must(delete_a_wait);
	m->planted_a = false;
}

static void with_held_trash(void)
{
	with_volume_a();
	must(hold_a);
	must(delete_a);
}

static void with_inactive(void)
{
	with_three();
	for (unsigned int i = 0; i < MODEL_LVS; i++)
		m->lvs[i].active = false;
}

static void a_is_ready_and_new(void)
{
	assert_true(is_ready(volume_of(A)));
	assert_true(volume_of(A)->active);
	assert_false(model_has(m, volume_of(A)->first, "token"));
	assert_true(volume_of(A)->formats >= 1);
}

static void a_is_ready_and_whole(void)
{
	assert_true(is_ready(volume_of(A)));
	assert_true(volume_of(A)->active);
	assert_true(model_has(m, volume_of(A)->first, "token-a"));
}

static void a_is_trash(void)
{
	assert_null(volume_of(A));
	assert_int_equal(lvs(), 1);
}

static void a_is_held(void)
{
	assert_non_null(model_lv_tag(volume_of(A), "ephlvm.hold="));
}

static void trash_is_free_to_go(void)
{
	assert_int_equal(lvs(), 1);
}

static void nothing_is_left(void)
{
	assert_int_equal(lvs(), 0);
	free_slots_hold_no_token();
}

static void all_are_active(void)
{
	for (unsigned int i = 0; i < MODEL_LVS; i++)
		assert_true(!m->lvs[i].there || m->lvs[i].active);
	a_is_ready_and_whole();
}

static void free_space_is_erased(void)
{
	for (unsigned int i = 0; i < MODEL_SLOTS; i++)
		assert_false(model_slot_free(m, i) && model_has(m, i, "former"));
	a_is_ready_and_whole();
}

static const struct scenario {
	const char *name;
	void (*prepare)(void);
	operation op;
	void (*done)(void); /* after the operation, repeated where it was cut */
} scenarios[] = {
	{ "create", NULL, create_a, a_is_ready_and_new },
	{ "create on clean space", with_clean_space, create_a, a_is_ready_and_new },
	{ "delete", with_volume_a, delete_a, a_is_trash },
	{ "delete --wait", with_volume_a, delete_a_wait, nothing_is_left },
	{ "restore", with_trash_a, restore_a, a_is_ready_and_whole },
	{ "hold", with_volume_a, hold_a, a_is_held },
	{ "unhold", with_held_trash, unhold_a, trash_is_free_to_go },
	{ "purge", with_trash_a, purge, nothing_is_left },
	{ "purge of three", with_three_trash, purge, nothing_is_left },
	{ "purge --method shred", with_trash_a, purge_shred, nothing_is_left },
	{ "purge --method discard", with_trash_a, purge_discard, nothing_is_left },
	{ "pool scrub", with_three, model_op_scrub, free_space_is_erased },
	{ "activate", with_inactive, model_op_activate, all_are_active },
};

/*
 * Whatever was cut, what can be restored afterwards is whole: it was ready once, and no byte of it is erased. What is
 * ready shows nothing of former tenants, which check_always() sees.
 */
static void check_restore(void)
{
	bool planted = m->planted_a;

	must(model_op_activate);
	in_child(restore_a, "EPHLVM_QUIET", "1");
	check_always();
	if (is_ready(volume_of(A)) && planted)
		assert_true(model_has(m, volume_of(A)->first, "token-a"));
}

static void prepare(const struct scenario *s)
{
	model_host_reset(m);
	if (s->prepare)
		s->prepare();
}

/* What a cut left, as the next command finds it. */
static struct found {
	char mark[40];
	const char *volume;
} found;

static void look(void)
{
	const struct model_lv *lv = NULL;

	for (unsigned int i = 0; i < MODEL_LVS && !lv; i++)
		if (m->lvs[i].there && eph_streq(model_lv_tag(&m->lvs[i], "ephlvm.instance="), A))
			lv = &m->lvs[i];
	snprintf(found.mark, sizeof(found.mark), "%s", m->mark);
	found.volume = !lv						   ? "no volume" :
		       model_lv_tag(lv, "ephlvm.erase=")		   ? "trash, erase begun" :
		       eph_trash_name_match(lv->name)			   ? "trash" :
		       eph_streq(model_lv_tag(lv, "ephlvm.state="), "new") ? "half-made" :
									     "ready";
}

static void tell(const struct scenario *s, unsigned int mark, const char *how, const char *outcome)
{
	if (table)
		fprintf(table, "%s\t%u\t%s\t%s\t%s\t%s\n", s->name, mark, found.mark, how,
			found.volume, outcome);
}

/* Cut at mark @n; then the same command again, or those that run at boot and from a timer. */
static bool cut(const struct scenario *s, const char *variable, unsigned int n, bool again)
{
	bool kill = strcmp(variable, "EPHLVM_STOP_AT") == 0, done;
	char spec[16];
	int status;

	prepare(s);
	snprintf(spec, sizeof(spec), "#%u", n);
	status = in_child(s->op, variable, spec);
	if (kill && WIFEXITED(status))
		return false; /* no such mark any more */
	assert_true(kill ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : WIFEXITED(status));
	look();
	done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	check_always();
	if (again) {
		must(s->op);
		s->done();
		check_always();
	} else if (done) {
		s->done();
	}
	if (!again)
		check_restore();
	check_settled();
	tell(s, n, kill ? "kill" : "fail", again ? "same command again" : "settled by the others");
	return true;
}

/* All marks, or one in @stride, from the @first on. */
static void marks_of(const struct scenario *s, unsigned int first, unsigned int stride)
{
	unsigned int n, cuts = 0;

	prepare(s);
	/* Twice: the second time there is nothing to do. */
	for (n = 0; n < 2; n++) {
		must(s->op);
		s->done();
		check_always();
	}
	check_settled();
	for (n = first; cut(s, "EPHLVM_STOP_AT", n, cuts % 2 == 0); n += stride) {
		cut(s, "EPHLVM_FAIL_AT", n, cuts % 2 == 0);
		if (stride == 1)
			cut(s, "EPHLVM_STOP_AT", n, cuts % 2 == 1);
		cuts++;
	}
	assert_true(stride > 1 || cuts >= 3);
	print_message("             %s: cut at %u marks\n", s->name, cuts);
}

static void every_mark_of_every_operation(void **state)
{
	const char *only = getenv("EPHLVM_KILLS_ONLY"), *seed = getenv("EPHLVM_SEED");
	bool all = getenv("EPHLVM_KILLS_ALL");
	unsigned int stride = all ? 1 : 8,
		     at = seed ? (unsigned int)atoi(seed) : (unsigned int)getpid();

	(void)state;
	if (!all)
		print_message("             one mark in %u, EPHLVM_SEED=%u\n", stride, at);
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (!only || strcmp(only, scenarios[i].name) == 0)
			marks_of(&scenarios[i], all ? 1 : 1 + (at + (unsigned int)i) % stride,
				 stride);
}

/* --- what was told to be done, and LVM that does otherwise --- */

/* Cut, run again with success, and then the power goes: what was acknowledged is still so. */
static bool cut_then_power(const struct scenario *s, unsigned int n)
{
	char spec[16];
	int status;

	prepare(s);
	snprintf(spec, sizeof(spec), "#%u", n);
	status = in_child(s->op, "EPHLVM_STOP_AT", spec);
	look();
	must(s->op);
	model_power_cut(m);
	must(model_op_activate);
	check_always();
	s->done();
	check_settled();
	tell(s, n, "kill", "same command again, then a power cut");
	return WIFSIGNALED(status);
}

static void what_was_acknowledged_survives_a_power_cut(void **state)
{
	const char *only = getenv("EPHLVM_KILLS_ONLY");
	unsigned int stride = getenv("EPHLVM_KILLS_ALL") ? 1 : 8, n;

	(void)state;
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		for (n = 1; (!only || strcmp(only, scenarios[i].name) == 0) &&
			    cut_then_power(&scenarios[i], n);
		     n += stride)
			;
}

/* Refused in words, and before anything is changed. */
static int restore_a_is_refused(struct ephlvm_ctx *ctx)
{
	unsigned int changes = m->changes;
	int r = restore_a(ctx);

	return r == -EBUSY && strstr(ephlvm_error_message(ctx), "half-made") &&
			       m->changes == changes ?
		       0 :
		       -EPROTO;
}

static void what_is_half_made_is_not_restored(void **state)
{
	unsigned int refused = 0;
	int status = SIGKILL;

	(void)state;
	for (unsigned int n = 1; WIFSIGNALED(status); n++) {
		const char *was;
		char spec[16];

		model_host_reset(m);
		snprintf(spec, sizeof(spec), "#%u", n);
		status = in_child(create_a, "EPHLVM_STOP_AT", spec);
		was = volume_of(A) ? model_lv_tag(volume_of(A), "ephlvm.state=") : NULL;
		if (!eph_streq(was, "new"))
			continue;
		must(delete_a);
		must(restore_a_is_refused);
		refused++;
	}
	assert_true(refused >= 3);
}

/* One change by LVM goes wrong in each way; false where there is no such change any more. */
static bool spoilt(const struct scenario *s, unsigned int nth, enum model_spoil how, bool again)
{
	bool done, other = how == MODEL_OTHER_BEFORE || how == MODEL_OTHER_AFTER ||
			   how == MODEL_OTHER_ALONE;
	int status;

	prepare(s);
	m->changes = 0;
	m->spoil = how;
	m->spoil_at = nth;
	status = in_child(s->op, "EPHLVM_QUIET", "1");
	m->spoil_at = 0;
	if (m->changes < nth)
		return false;
	look();
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
	done = WEXITSTATUS(status) == 0;
	if (other && model_lv_by_name(m, "foreign"))
		model_other_program(m);
	check_always();
	if (done && !other)
		s->done();
	if (again) {
		must(s->op);
		s->done();
		check_always();
	} else {
		check_restore();
	}
	check_settled();
	tell(s, nth, "LVM", again ? "same command again" : "settled by the others");
	return true;
}

static void lvm_does_not_do_what_it_says(void **state)
{
	const char *only = getenv("EPHLVM_KILLS_ONLY"), *seed = getenv("EPHLVM_SEED");
	unsigned int at = seed ? (unsigned int)atoi(seed) : (unsigned int)getpid(), n = 0;
	bool all = getenv("EPHLVM_KILLS_ALL");

	(void)state;
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (only && strcmp(only, scenarios[i].name) != 0)
			continue;
		for (unsigned int how = all ? 1 : 1 + (at + i) % 4; how < MODEL_SPOILS;
		     how += all ? 1 : 4)
			for (unsigned int nth = 1; spoilt(&scenarios[i], nth, how, (nth + how) % 2);
			     nth++)
				n++;
	}
	print_message("             %u changes\n", n);
}

/* The checks themselves can fail. */
static void the_model_sees_what_it_is_to_see(void **state)
{
	struct model_lv *lv;

	(void)state;
	model_host_reset(m);
	with_trash_a();
	lv = &m->lvs[0];
	assert_true(model_has(m, lv->first, "token-a"));
	assert_true(model_has(m, 3, "former"));
	must(purge);
	assert_int_equal(m->freed_unerased, 0);
	/* By policy, the bytes stay, and that is seen. */
	with_trash_a();
	must(purge_none);
	assert_int_equal(m->freed_unerased, 1);
	assert_int_equal(m->freed_without_receipt, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_model_sees_what_it_is_to_see),
		cmocka_unit_test(every_mark_of_every_operation),
		cmocka_unit_test(what_was_acknowledged_survives_a_power_cut),
		cmocka_unit_test(what_is_half_made_is_not_restored),
		cmocka_unit_test(lvm_does_not_do_what_it_says),
	};
	const char *file = getenv("EPHLVM_KILLS_TABLE");
	int r;

	table = file ? fopen(file, "w") : NULL;
	m = model_host_new();
	r = cmocka_run_group_tests(tests, NULL, NULL);
	model_host_free(m);
	if (table)
		fclose(table);
	return r;
}
