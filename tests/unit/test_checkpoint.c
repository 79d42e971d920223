// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Checkpoints of an erase: what is written is read, what was tampered with or belongs to another volume is
 * not believed, and a removed one is gone.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/context.h"
#include "edge/checkpoint.h"

#define LV "abcdef-0123-4567-89ab-cdef-0123-456789"
#define OTHER "ghijkl-0123-4567-89ab-cdef-0123-456789"

struct place {
	char root[64];
	struct ephlvm_ctx *ctx;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	snprintf(p->root, sizeof(p->root), "/tmp/ephlvm-checkpoint.XXXXXX");
	assert_non_null(mkdtemp(p->root));
	setenv("EPHLVM_STATE_DIR", p->root, 1);
	assert_int_equal(ephlvm_ctx_new(&p->ctx), 0);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	char command[160];

	ephlvm_ctx_unref(p->ctx);
	snprintf(command, sizeof(command), "rm -rf %s", p->root);
	assert_int_equal(system(command), 0);
	free(p);
	return 0;
}

static const struct eph_checkpoint shred = {
	.method = EPH_ERASE_SHRED,
	.passes = 4,
	.size_bytes = UINT64_C(214748364800),
	.point = { .pass = 2, .done_bytes = UINT64_C(107374182400) },
};

static void put_at(const struct place *p, const char *name, const char *text)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/erase/%s", p->root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put(const struct place *p, const char *text)
{
	put_at(p, LV, text);
}

static void written_read_removed(void **state)
{
	struct place *p = *state;
	struct eph_checkpoint c;

	assert_int_equal(eph_checkpoint_read(p->ctx, LV, &c), 0);
	assert_int_equal(c.point.pass, 0);
	assert_int_equal(eph_checkpoint_write(p->ctx, LV, &shred), 0);
	assert_int_equal(eph_checkpoint_read(p->ctx, LV, &c), 0);
	assert_int_equal(c.method, EPH_ERASE_SHRED);
	assert_int_equal(c.passes, 4);
	assert_int_equal(c.point.pass, 2);
	assert_true(c.size_bytes == shred.size_bytes);
	assert_true(c.point.done_bytes == shred.point.done_bytes);
	assert_int_equal(eph_checkpoint_read(p->ctx, OTHER, &c), 0);
	assert_int_equal(c.point.pass, 0);
	assert_int_equal(eph_checkpoint_remove(p->ctx, LV), 0);
	assert_int_equal(eph_checkpoint_remove(p->ctx, LV), 0);
	assert_int_equal(eph_checkpoint_read(p->ctx, LV, &c), 0);
	assert_int_equal(c.point.pass, 0);
}

static void what_is_not_exactly_ours_is_not_believed(void **state)
{
	static const char *const bad[] = {
		"",
		"erase",
		"erase 2 zero 1/1 0 67108864 " LV "\n",
		"erase 1 zero 1/1 0 67108864 " OTHER "\n",
		"erase 1 zero 1/1 0 67108864 " LV,
		"erase 1 zero 1/1 0 67108864 " LV "\n\n",
		"erase 1 zero 1/1 0 67108864 " LV "\nx",
		"erase 1 zero 2/1 0 67108864 " LV "\n",
		"erase 1 zero 0/1 0 67108864 " LV "\n",
		"erase 1 zero 1/1 67108865 67108864 " LV "\n",
		"erase 1 zero 1/1 -1 67108864 " LV "\n",
		"erase 1 zero 1/1 007 67108864 " LV "\n",
		"erase 1 nothing 1/1 0 67108864 " LV "\n",
		"erase 1 zero 4294967297/4294967297 0 67108864 " LV "\n",
		"erase  1 zero 1/1 0 67108864 " LV "\n",
	};
	struct place *p = *state;
	struct eph_checkpoint c;

	assert_int_equal(eph_checkpoint_write(p->ctx, LV, &shred), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		put(p, bad[i]);
		assert_int_equal(eph_checkpoint_read(p->ctx, LV, &c), 0);
		if (c.point.pass != 0)
			fail_msg("believed: \"%s\"", bad[i]);
	}
	/* The same form with the right words is. */
	put(p, "erase 1 zero 1/1 67108864 67108864 " LV "\n");
	assert_int_equal(eph_checkpoint_read(p->ctx, LV, &c), 0);
	assert_int_equal(c.point.pass, 1);
}

/* Each volume once, with what killed writers left of it; nothing that is another's. */
static void listed_and_removed_with_its_halves(void **state)
{
	static const char *const others[] = { "x",	"README",  LV "x", LV ".~",
					      LV ".12", LV ".1x~", "a" LV };
	struct eph_strv found = EPH_STRV_INIT;
	struct place *p = *state;
	char path[160];

	assert_int_equal(eph_checkpoint_list(p->ctx, &found), 0);
	assert_int_equal(found.n, 0);
	assert_int_equal(eph_checkpoint_write(p->ctx, LV, &shred), 0);
	put_at(p, LV ".12~", "half");
	put_at(p, LV ".345678~", "half");
	put_at(p, OTHER ".9~", "half");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		put_at(p, others[i], "theirs");
	assert_int_equal(eph_checkpoint_list(p->ctx, &found), 0);
	assert_int_equal(found.n, 2);
	assert_true(eph_strv_has(&found, LV) && eph_strv_has(&found, OTHER));
	eph_strv_clear(&found);
	assert_int_equal(eph_checkpoint_remove(p->ctx, LV), 0);
	assert_int_equal(eph_checkpoint_list(p->ctx, &found), 0);
	assert_int_equal(found.n, 1);
	assert_true(eph_strv_has(&found, OTHER));
	eph_strv_clear(&found);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		snprintf(path, sizeof(path), "%s/erase/%s", p->root, others[i]);
		assert_int_equal(access(path, F_OK), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(written_read_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_not_exactly_ours_is_not_believed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(listed_and_removed_with_its_halves, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
