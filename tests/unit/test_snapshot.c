// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Somebody's copy-on-write snapshot of a volume, on the model of a host: an erase would copy the tenant's bytes into
 * it, and LVM removes it with its origin. So nothing is deleted, erased or removed before it is gone.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <ephlvm/ephlvm.h>

#include "fakes/model_host.h"
#include "fakes/model_ops.h"
#include "pure/naming.h"
#include "util/text.h"

#define A "11111111-0000-4000-8000-000000000001"
#define B "22222222-0000-4000-8000-000000000002"

static struct model_host *m;
static struct ephlvm_ctx *ctx;

static int setup(void **state)
{
	(void)state;
	model_host_reset(m);
	ctx = model_host_ctx(m);
	assert_int_equal(model_op_create(ctx, A, "none"), 0);
	assert_int_equal(model_op_create(ctx, B, "none"), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(m->snapshot_lost, 0);
	assert_int_equal(m->freed_unerased, 0);
	ephlvm_ctx_unref(ctx);
	return 0;
}

static struct model_lv *volume_of(const char *instance)
{
	for (unsigned int i = 0; i < MODEL_LVS; i++)
		if (m->lvs[i].there &&
		    eph_streq(model_lv_tag(&m->lvs[i], "ephlvm.instance="), instance))
			return &m->lvs[i];
	return NULL;
}

/* The snapshot is named, and the way out. */
static void refused(int r, const struct model_lv *snapshot)
{
	assert_int_equal(r, -EBUSY);
	assert_int_equal(ephlvm_error_kind(ctx), EPHLVM_ERROR_BUSY);
	assert_non_null(strstr(ephlvm_error_message(ctx), snapshot->name));
	assert_non_null(ephlvm_error_hint(ctx));
}

static void a_volume_with_a_snapshot_is_not_deleted(void **state)
{
	struct model_lv *snapshot = model_snapshot(m, volume_of(A));

	(void)state;
	refused(model_op_delete(ctx, A, 0), snapshot);
	assert_true(eph_streq(model_lv_tag(volume_of(A), "ephlvm.state="), "ready"));
	snapshot->there = false;
	assert_int_equal(model_op_delete(ctx, A, EPHLVM_WAIT), 0);
	assert_null(volume_of(A));
}

static void trash_with_a_snapshot_stays_and_the_others_go(void **state)
{
	struct model_lv *snapshot;

	(void)state;
	assert_int_equal(model_op_delete(ctx, A, 0), 0);
	assert_int_equal(model_op_delete(ctx, B, 0), 0);
	snapshot = model_snapshot(m, volume_of(A));
	assert_int_not_equal(model_op_purge(ctx, NULL), 0);
	assert_int_equal(ephlvm_error_kind(ctx), EPHLVM_ERROR_PARTIAL);
	assert_non_null(volume_of(A));
	assert_null(volume_of(B));
	assert_null(model_lv_tag(volume_of(A), "ephlvm.erase="));
	refused(model_op_purge(ctx, NULL), snapshot);
	snapshot->there = false;
	assert_int_equal(model_op_purge(ctx, NULL), 0);
	assert_null(volume_of(A));
}

/* Made between our last look and LVM's lock: LVM itself leaves the origin out then. */
static void a_snapshot_made_at_the_last_moment_is_not_taken_along(void **state)
{
	unsigned int at = 0;

	(void)state;
	assert_int_equal(model_op_delete(ctx, B, EPHLVM_WAIT), 0);
	assert_int_equal(model_op_delete(ctx, A, 0), 0);
	m->spoil = MODEL_SNAPSHOT_BEFORE;
	/* Before each change of a purge, until there is none more. */
	for (;;) {
		m->changes = 0;
		m->spoil_at = ++at;
		model_op_purge(ctx, NULL);
		assert_int_equal(m->snapshot_lost, 0);
		if (m->changes < at)
			break;
		assert_non_null(volume_of(A));
		for (unsigned int i = 0; i < MODEL_LVS; i++)
			if (m->lvs[i].origin[0])
				m->lvs[i].there = false;
	}
	/* The first was stopped behind its mark; the next ones activate and remove. */
	assert_true(at >= 3);
	assert_null(volume_of(A));
}

static void what_has_been_made_a_snapshot_is_left_alone(void **state)
{
	struct model_lv *a = volume_of(A);

	(void)state;
	assert_int_equal(model_op_delete(ctx, A, 0), 0);
	snprintf(a->origin, sizeof(a->origin), "elsewhere");
	assert_int_equal(model_op_purge(ctx, NULL), -EBUSY);
	assert_non_null(strstr(ephlvm_error_message(ctx), "snapshot"));
	assert_non_null(volume_of(A));
	a->origin[0] = '\0';
	assert_int_equal(model_op_purge(ctx, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_volume_with_a_snapshot_is_not_deleted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(trash_with_a_snapshot_stays_and_the_others_go,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_snapshot_made_at_the_last_moment_is_not_taken_along, setup, teardown),
		cmocka_unit_test_setup_teardown(what_has_been_made_a_snapshot_is_left_alone, setup,
						teardown),
	};
	int r;

	m = model_host_new();
	r = cmocka_run_group_tests(tests, NULL, NULL);
	model_host_free(m);
	return r;
}
