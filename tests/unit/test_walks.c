// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Walks over the model of a host: operations in any order, most of them disturbed - killed at a mark, a mark made to
 * fail, LVM that does not do what it says, another program in the volume group - and after each what must hold is
 * checked; so crashes after crashes are met too, which test_kills does not try. What is not disturbed has to succeed,
 * from whatever was left.
 *
 * EPHLVM_SEED=N is printed and repeats a run; EPHLVM_WALKS=N says how many walks; EPHLVM_WALK_TELL=1 tells each step.
 */
#include <setjmp.h>
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

#define STEPS 24
#define KNOWN 64

static const char *const instances[] = {
	"11111111-0000-4000-8000-000000000001",
	"22222222-0000-4000-8000-000000000002",
	"33333333-0000-4000-8000-000000000003",
};
#define INSTANCES 3

static struct model_host *m;

/* --- chance --- */

static uint64_t chance;

static unsigned int any(unsigned int n)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return (unsigned int)((chance >> 20) % n);
}

/* --- operations --- */

enum verb {
	CREATE,
	DELETE,
	DELETE_WAIT,
	RESTORE,
	HOLD,
	UNHOLD,
	PURGE,
	PURGE_SHRED,
	PURGE_DISCARD,
	PURGE_NONE,
	SCRUB,
	ACTIVATE,
	VERBS,
};

static const char *const verb_names[] = {
	"create",
	"delete",
	"delete --wait",
	"restore",
	"hold",
	"unhold",
	"purge",
	"purge --method shred",
	"purge --method discard",
	"purge --method none",
	"scrub",
	"activate",
};

struct op {
	enum verb verb;
	unsigned int who;
};

static int run_op(struct ephlvm_ctx *ctx, const struct op *op)
{
	const char *who = instances[op->who];

	switch (op->verb) {
	case CREATE:
		return model_op_create(ctx, who, op->who == 0 ? "ext4" : "none");
	case DELETE:
		return model_op_delete(ctx, who, 0);
	case DELETE_WAIT:
		return model_op_delete(ctx, who, EPHLVM_WAIT);
	case RESTORE:
		return model_op_restore(ctx, who);
	case HOLD:
	case UNHOLD:
		return model_op_hold(ctx, who, op->verb == UNHOLD);
	case PURGE:
		return model_op_purge(ctx, NULL);
	case PURGE_SHRED:
		return model_op_purge(ctx, "shred");
	case PURGE_DISCARD:
		return model_op_purge(ctx, "discard");
	case PURGE_NONE:
		return model_op_purge(ctx, "none");
	case SCRUB:
		return model_op_scrub(ctx);
	default:
		return model_op_activate(ctx);
	}
}

/* --- disturbance --- */

enum disturb { NOTHING, KILL, POWER, FAIL, SPOIL, DISTURBS };

struct disturbance {
	enum disturb kind;
	unsigned int at;
	enum model_spoil spoil;
};

static struct disturbance any_disturbance(void)
{
	struct disturbance d = { .kind = any(DISTURBS) };

	/* Early ones are met by all, late ones by long operations only. */
	d.at = 1 + any(1u << any(d.kind == SPOIL ? 4 : 7));
	if (d.kind == SPOIL)
		d.spoil = 1 + any(MODEL_SPOILS - 1);
	return d;
}

enum result { SUCCEEDED, FAILED, KILLED };

static enum result run(const struct op *op, const struct disturbance *d)
{
	int status;
	pid_t pid;

	m->changes = 0;
	m->spoil = d->kind == SPOIL ? d->spoil : MODEL_AS_ASKED;
	m->spoil_at = d->kind == SPOIL ? d->at : 0;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct ephlvm_ctx *ctx;
		char spec[16];
		int r;

		snprintf(spec, sizeof(spec), "#%u", d->at);
		if (d->kind == KILL || d->kind == POWER)
			setenv("EPHLVM_STOP_AT", spec, 1);
		if (d->kind == FAIL)
			setenv("EPHLVM_FAIL_AT", spec, 1);
		ctx = model_host_ctx(m);
		r = run_op(ctx, op);
		if (r < 0 && getenv("EPHLVM_WALK_TELL"))
			fprintf(stderr, "      %s (%s)\n", ephlvm_error_message(ctx),
				ephlvm_error_stage(ctx));
		_exit(r < 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	m->spoil_at = 0;
	/* It goes also behind a command that was done. */
	if (d->kind == POWER)
		model_power_cut(m);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return KILLED;
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) <= 1);
	return WEXITSTATUS(status) == 0 ? SUCCEEDED : FAILED;
}

/* --- what must hold --- */

/* What a guest wrote to a volume, as soon as it was ready. */
static struct known {
	char uuid[40], token[24];
	unsigned int who;
	bool given; /* as ready, by a command that succeeded: so it stays, whatever happens */
	bool ready, held_trash; /* before the step */
} known[KNOWN];
static unsigned int n_known;

static bool is_trash(const struct model_lv *lv)
{
	return eph_trash_name_match(lv->name) ||
	       eph_streq(model_lv_tag(lv, "ephlvm.state="), "trash");
}

static bool is_ready(const struct model_lv *lv)
{
	return !is_trash(lv) && eph_streq(model_lv_tag(lv, "ephlvm.state="), "ready");
}

static struct model_lv *lv_of(const char *uuid)
{
	for (unsigned int i = 0; i < MODEL_LVS; i++)
		if (m->lvs[i].there && strcmp(m->lvs[i].uuid, uuid) == 0)
			return &m->lvs[i];
	return NULL;
}

/* The volume that bears the instance's name. */
static struct model_lv *volume_of(unsigned int who)
{
	char name[80];

	snprintf(name, sizeof(name), "%s_disk.eph0", instances[who]);
	return model_lv_by_name(m, name);
}

static unsigned int free_slots(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < MODEL_SLOTS; i++)
		n += model_slot_free(m, i);
	return n;
}

static void look_before(void)
{
	for (unsigned int i = 0; i < n_known; i++) {
		const struct model_lv *lv = lv_of(known[i].uuid);

		known[i].ready = lv && is_ready(lv);
		known[i].given = known[i].given && known[i].ready;
		known[i].held_trash = lv && is_trash(lv) && model_lv_tag(lv, "ephlvm.hold=");
	}
}

static struct known *know(const char *uuid)
{
	for (unsigned int i = 0; i < n_known; i++)
		if (strcmp(known[i].uuid, uuid) == 0)
			return &known[i];
	return NULL;
}

/* A volume that is ready for the first time shows nothing; once it was given out, the guest writes. */
static void first_ready(const struct op *op, const struct model_lv *lv, bool given)
{
	struct known *k = &known[n_known];

	assert_false(model_has(m, lv->first, "former"));
	assert_false(model_has(m, lv->first, "token"));
	if (!given)
		return;
	assert_true(n_known < KNOWN);
	*k = (struct known){ .who = op->who, .given = true };
	snprintf(k->uuid, sizeof(k->uuid), "%s", lv->uuid);
	snprintf(k->token, sizeof(k->token), "token-%u", n_known++);
	model_plant(m, lv->first, k->token);
}

static void check_volumes(const struct op *op, bool done)
{
	for (unsigned int i = 0; i < MODEL_LVS; i++) {
		const struct model_lv *lv = &m->lvs[i];
		struct known *k = lv->there ? know(lv->uuid) : NULL;
		bool given;

		if (!lv->there || !is_ready(lv))
			continue;
		given = done && (op->verb == CREATE || op->verb == RESTORE) &&
			eph_streq(model_lv_tag(lv, "ephlvm.instance="), instances[op->who]);
		if (!k) {
			first_ready(op, lv, given);
			continue;
		}
		k->given = k->given || given;
		assert_true(model_whole(m, lv->first, k->token));
	}
	for (unsigned int i = 0; i < n_known; i++) {
		const struct known *k = &known[i];
		const struct model_lv *lv = lv_of(k->uuid);
		bool mine = k->who == op->who;

		if (k->given && !(mine && (op->verb == DELETE || op->verb == DELETE_WAIT)))
			assert_true(lv && is_ready(lv));
		if (k->held_trash && !(mine && op->verb == UNHOLD))
			assert_non_null(lv);
	}
}

static bool is_proven(struct ephlvm_ctx *ctx)
{
	struct eph_lvm_view *view = NULL;
	bool proven;

	assert_int_equal(eph_lvm_read(ctx, 0, &view), 0);
	proven = eph_clean_holds(ctx, &view->vgs[0], 0);
	eph_lvm_view_free(view);
	return proven;
}

static void check_always(const struct op *op, bool done)
{
	struct ephlvm_ctx *ctx = model_host_ctx(m);
	struct ephlvm_receipts *receipts = NULL;

	if (op->verb == PURGE_NONE)
		m->freed_unerased = 0;
	assert_int_equal(m->freed_unerased, 0);
	assert_int_equal(m->freed_without_receipt, 0);
	assert_int_equal(m->formatted_ready, 0);
	assert_int_equal(m->erased_by_others, 0);
	assert_int_equal(m->unmarked, 0);
	assert_int_equal(m->foreign_changed, 0);
	assert_int_equal(m->removed_ready, 0);
	if (is_proven(ctx))
		for (unsigned int i = 0; i < MODEL_SLOTS; i++)
			assert_false(model_slot_free(m, i) &&
				     (model_has(m, i, "former") || model_has(m, i, "token")));
	assert_int_equal(ephlvm_receipts_read(ctx, NULL, &receipts), 0);
	assert_null(ephlvm_receipts_broken(receipts));
	ephlvm_receipts_free(receipts);
	ephlvm_ctx_unref(ctx);
	check_volumes(op, done);
}

static bool held(unsigned int who)
{
	for (unsigned int i = 0; i < MODEL_LVS; i++)
		if (m->lvs[i].there && model_lv_tag(&m->lvs[i], "ephlvm.hold=") &&
		    eph_streq(model_lv_tag(&m->lvs[i], "ephlvm.instance="), instances[who]))
			return true;
	return false;
}

/* Has it to succeed, from whatever there is? Asked before it. */
static bool has_to_succeed(const struct op *op)
{
	switch (op->verb) {
	case CREATE:
		return free_slots() > 0 || volume_of(op->who);
	case DELETE_WAIT:
		return !held(op->who);
	case RESTORE:
	case HOLD:
	case UNHOLD:
		return false;
	default:
		return true;
	}
}

/* Is it one that a purge takes? */
static bool is_left(const struct model_lv *lv)
{
	return lv->there && is_trash(lv) && !model_lv_tag(lv, "ephlvm.hold=");
}

static void check_done(const struct op *op)
{
	struct ephlvm_ctx *ctx;

	switch (op->verb) {
	case CREATE:
	case RESTORE:
		assert_true(volume_of(op->who) && is_ready(volume_of(op->who)));
		assert_true(volume_of(op->who)->active);
		break;
	case DELETE:
	case DELETE_WAIT:
		assert_null(volume_of(op->who));
		break;
	case PURGE:
	case PURGE_SHRED:
	case PURGE_DISCARD:
	case PURGE_NONE:
		for (unsigned int i = 0; i < MODEL_LVS; i++)
			assert_false(is_left(&m->lvs[i]));
		break;
	case SCRUB:
		ctx = model_host_ctx(m);
		assert_true(is_proven(ctx));
		ephlvm_ctx_unref(ctx);
		break;
	case ACTIVATE:
		for (unsigned int i = 0; i < MODEL_LVS; i++)
			assert_true(!m->lvs[i].there || is_trash(&m->lvs[i]) ||
				    !model_lv_tag(&m->lvs[i], "ephlvm") ||
				    (is_ready(&m->lvs[i]) && m->lvs[i].active));
		break;
	default:
		break;
	}
}

/* --- a walk --- */

static bool has_trash_of(unsigned int who)
{
	for (unsigned int i = 0; i < MODEL_LVS; i++)
		if (m->lvs[i].there && is_trash(&m->lvs[i]) &&
		    eph_streq(model_lv_tag(&m->lvs[i], "ephlvm.instance="), instances[who]))
			return true;
	return false;
}

static bool has_trash(void)
{
	for (unsigned int i = 0; i < MODEL_LVS; i++)
		if (m->lvs[i].there && is_trash(&m->lvs[i]))
			return true;
	return false;
}

static unsigned int whose_trash(void)
{
	unsigned int who = any(INSTANCES);

	for (unsigned int i = 0; i < INSTANCES && !has_trash_of(who); i++)
		who = (who + 1) % INSTANCES;
	return who;
}

/* Is there anything to do for it? */
static bool has_effect(const struct op *op)
{
	const struct model_lv *volume = volume_of(op->who);

	switch (op->verb) {
	case CREATE:
		return volume ? !is_ready(volume) : free_slots() > 0;
	case DELETE:
	case DELETE_WAIT:
	case HOLD:
		return volume;
	case RESTORE:
		return has_trash_of(op->who);
	case UNHOLD:
		return held(op->who);
	case SCRUB:
		return free_slots() == 1;
	case ACTIVATE:
		return true;
	default:
		return has_trash();
	}
}

static struct op any_op(void)
{
	struct op op;
	unsigned int tries = 0;

	do {
		op = (struct op){ .verb = any(VERBS), .who = any(INSTANCES) };
		if (any(3) == 0)
			op.verb = any(2) ? CREATE : DELETE;
	} while (!has_effect(&op) && tries++ < 4);
	return op;
}

static unsigned int steps, killed, failed, spoilt, plain;

/* As at boot. */
static void plain_activate(void)
{
	const struct op op = { .verb = ACTIVATE };
	const struct disturbance none = { 0 };

	look_before();
	assert_int_equal(run(&op, &none), SUCCEEDED);
	check_always(&op, true);
}

static enum result step(const struct op *op, const struct disturbance *d)
{
	bool has_to = d->kind == NOTHING && has_to_succeed(op);
	enum result result;

	look_before();
	result = run(op, d);
	if (getenv("EPHLVM_WALK_TELL"))
		print_message("    %s %u: %s at %u (%d) -> %s\n", verb_names[op->verb], op->who,
			      d->kind == NOTHING ? "plain" :
			      d->kind == KILL	 ? "killed" :
			      d->kind == POWER	 ? "power cut" :
			      d->kind == FAIL	 ? "failing" :
						   "spoilt",
			      d->at, d->spoil,
			      result == SUCCEEDED ? "done" :
			      result == FAILED	  ? "failed" :
						    "killed");
	steps++;
	killed += result == KILLED;
	failed += d->kind == FAIL && result == FAILED;
	spoilt += d->kind == SPOIL && m->changes >= d->at;
	plain += d->kind == NOTHING;
	check_always(op, result == SUCCEEDED);
	if (has_to)
		assert_int_equal(result, SUCCEEDED);
	if (d->kind == POWER)
		plain_activate();
	if (result == SUCCEEDED)
		check_done(op);
	return result;
}

static void plain_step(enum verb verb, unsigned int who)
{
	const struct op op = { .verb = verb, .who = who };
	const struct disturbance none = { 0 };

	step(&op, &none);
}

/* All can be settled, and nothing leaks. */
static void settle(bool dirty)
{
	if (model_lv_by_name(m, "foreign"))
		model_other_program(m);
	for (unsigned int i = 0; i < INSTANCES; i++)
		plain_step(UNHOLD, i);
	plain_step(ACTIVATE, 0);
	plain_step(PURGE, 0);
	for (unsigned int i = 0; i < INSTANCES; i++)
		plain_step(DELETE, i);
	/* What was held while it was ready. */
	for (unsigned int i = 0; i < INSTANCES; i++)
		plain_step(UNHOLD, i);
	plain_step(PURGE, 0);
	assert_int_equal(free_slots(), MODEL_SLOTS);
	for (unsigned int i = 0; i < MODEL_SLOTS && !dirty; i++)
		assert_false(model_has(m, i, "token"));
}

/* Free space that is proven clean: carved and erased while the others were in use. */
static void begin_clean(void)
{
	for (unsigned int i = 0; i < INSTANCES; i++)
		plain_step(CREATE, i);
	plain_step(SCRUB, 0);
	for (unsigned int i = 0; i <= any(INSTANCES); i++)
		plain_step(DELETE_WAIT, i);
}

static void walk(void)
{
	struct op op = { 0 };
	enum result result = SUCCEEDED;
	bool dirty = false;

	model_host_reset(m);
	memset(known, 0, sizeof(known));
	n_known = 0;
	if (any(3) > 0)
		begin_clean();
	for (unsigned int i = 0; i < STEPS; i++) {
		struct disturbance d = any_disturbance();

		/* Whoever sees a command fail runs it again, or wants his data back. */
		if (result == SUCCEEDED || any(2))
			op = any_op();
		if (result != SUCCEEDED && any(4) == 0)
			op = (struct op){ .verb = RESTORE, .who = whose_trash() };
		/* A slot is a file: what is carved cannot be two of them. */
		if (op.verb == SCRUB && free_slots() > 1)
			op.verb = CREATE;
		dirty = dirty || op.verb == PURGE_NONE;
		result = step(&op, &d);
		if (any(12) == 0)
			model_other_program(m);
	}
	settle(dirty);
}

static void disturbed_walks_lose_and_show_nothing(void **state)
{
	const char *given = getenv("EPHLVM_SEED"), *n = getenv("EPHLVM_WALKS");
	unsigned int seed = given ? (unsigned int)atoi(given) : (unsigned int)getpid(),
		     walks = n ? (unsigned int)atoi(n) : 6;

	(void)state;
	for (unsigned int i = 0; i < walks; i++) {
		/* Each can be repeated alone. */
		chance = ((uint64_t)(seed + i) << 32 | 0x9e3779b9) + 1;
		for (unsigned int j = 0; j < 8; j++)
			any(2);
		print_message("             EPHLVM_SEED=%u EPHLVM_WALKS=1\n", seed + i);
		walk();
	}
	print_message("             %u steps: %u killed, %u failed, %u spoilt by LVM, %u plain\n",
		      steps, killed, failed, spoilt, plain);
	assert_true(killed > 0 && failed > 0 && spoilt > 0 && plain > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(disturbed_walks_lose_and_show_nothing),
	};
	int r;

	m = model_host_new();
	r = cmocka_run_group_tests(tests, NULL, NULL);
	model_host_free(m);
	return r;
}
