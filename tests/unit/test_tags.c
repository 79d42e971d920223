// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_tags.c - tags of a volume: built, read back, changed, and seen through when damaged. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "failing_alloc.h"
#include "pure/naming.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define INSTANCE "0a1b2c3d-1111-2222-3333-444455556666"
#define OTHER "99999999-1111-2222-3333-444455556666"
#define NAME INSTANCE "_disk.eph0"
#define TRASH "trash-65a0b1c2-aBcDeF123456789aBcDeFghI"

#define MINIMAL "ephlvm", "ephlvm.v=1", "ephlvm.instance=" INSTANCE, "ephlvm.disk=eph0"
#define READY MINIMAL, "ephlvm.state=ready"

/* Parse the tags given, ended by NULL; @ret_tags is to be cleared. */
static void parse_list(struct eph_tags *ret_tags, const char *const *list)
{
	_cleanup_strv_ struct eph_strv sv = EPH_STRV_INIT;

	for (; *list; list++)
		assert_int_equal(eph_strv_add(&sv, *list), 0);
	assert_int_equal(eph_tags_parse(&sv, ret_tags), 0);
}
#define parse(ret_tags, ...) parse_list(ret_tags, (const char *const[]){ __VA_ARGS__, NULL })

static const struct eph_tag_values full = {
	.instance = INSTANCE,
	.disk = "eph0",
	.flavor = "cc.small",
	.fs = "ext4",
	.state = EPHLVM_STATE_NEW,
	.size_bytes = 25ULL << 30,
	.at = 1767225600,
};

static void the_tags_of_a_new_volume_are_these(void **state)
{
	static const char *const want[] = {
		"ephlvm",
		"ephlvm.v=1",
		"ephlvm.instance=" INSTANCE,
		"ephlvm.disk=eph0",
		"ephlvm.flavor=cc.small",
		"ephlvm.state=new",
		"ephlvm.size=26843545600",
		"ephlvm.fs=ext4",
		"ephlvm.at=1767225600",
	};
	_cleanup_strv_ struct eph_strv sv = EPH_STRV_INIT;

	(void)state;
	assert_int_equal(eph_tags_build(&full, &sv), 0);
	assert_int_equal(sv.n, ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		assert_true(eph_strv_has(&sv, want[i]));
}

static void assert_same(const struct eph_tags *t, const struct eph_tag_values *v)
{
	assert_true(t->ours);
	assert_false(t->newer);
	assert_false(t->damaged);
	assert_null(t->why);
	assert_int_equal(t->state, v->state);
	assert_string_equal(t->instance, v->instance ? v->instance : "");
	assert_string_equal(t->disk, v->disk);
	assert_true(eph_streq(t->flavor, v->flavor));
	assert_true(eph_streq(t->fs, v->fs));
	assert_true(t->size_bytes == v->size_bytes);
	assert_true(t->at == v->at);
	assert_null(t->erase_method);
	assert_int_equal(t->fail_errno, 0);
	assert_int_equal(t->orphan_at, 0);
}

static void what_is_built_is_read_back(void **state)
{
	static const char *const disks[] = { "root", "eph0", "eph99", "swap", "image" };
	static const char *const flavors[] = { NULL, "cc.small", "a/b=c:d#e&f!g", "=" };
	static const char *const filesystems[] = { NULL, "ext4", "none" };
	static const enum ephlvm_volume_state states[] = { EPHLVM_STATE_NEW, EPHLVM_STATE_READY,
							   EPHLVM_STATE_TRASH };

	(void)state;
	for (unsigned int i = 0; i < 5 * 4 * 3 * 3; i++) {
		struct eph_tag_values v = {
			.disk = disks[i % 5],
			.flavor = flavors[i / 5 % 4],
			.fs = filesystems[i / 20 % 3],
			.state = states[i / 60],
			.size_bytes = i % 2 ? UINT64_MAX : i,
			.at = i % 3 ? INT64_MAX : i,
		};
		_cleanup_strv_ struct eph_strv sv = EPH_STRV_INIT;
		struct eph_tags t;

		v.instance = strcmp(v.disk, "image") == 0 ? NULL : INSTANCE;
		assert_int_equal(eph_tags_build(&v, &sv), 0);
		assert_int_equal(eph_tags_parse(&sv, &t), 0);
		assert_same(&t, &v);
		eph_tags_clear(&t);
	}
}

static void build_refuses_what_a_tag_cannot_hold(void **state)
{
	char longest[EPH_TAG_VALUE_MAX + 2];
	struct eph_tag_values bad[] = { full, full, full, full, full, full, full, full, full, full };
	_cleanup_strv_ struct eph_strv sv = EPH_STRV_INIT;

	(void)state;
	memset(longest, 'f', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	bad[0].instance = "0A1B2C3D-1111-2222-3333-444455556666";
	bad[1].instance = NULL;
	bad[2].disk = "eph100";
	bad[3].disk = NULL;
	bad[4].flavor = "a b";
	bad[5].flavor = "";
	bad[6].fs = "ext4,x";
	bad[7].state = EPHLVM_STATE_DAMAGED;
	bad[8].at = -1;
	bad[9].flavor = longest;
	assert_int_equal(eph_strv_add(&sv, "before"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(eph_tags_build(&bad[i], &sv), -EINVAL);
	assert_int_equal(sv.n, 1);
}

static void erase_fail_and_orphan_are_read(void **state)
{
	struct eph_tags t;

	(void)state;
	parse(&t, MINIMAL, "ephlvm.state=trash", "ephlvm.erase=zero:2/3:1048576",
	      "ephlvm.fail=5:4096", "ephlvm.orphan=1767225600");
	assert_false(t.damaged);
	assert_string_equal(t.erase_method, "zero");
	assert_int_equal(t.erase_pass, 2);
	assert_int_equal(t.erase_passes, 3);
	assert_true(t.erase_done_bytes == 1048576);
	assert_int_equal(t.fail_errno, 5);
	assert_true(t.fail_bytes == 4096);
	assert_true(t.orphan_at == 1767225600);
	eph_tags_clear(&t);
	assert_null(t.erase_method);
}

static void foreign_tags_are_not_ours(void **state)
{
	struct eph_tags t;

	(void)state;
	parse(&t, "backup", "ephlvmx", "ephlvm.instance=bad", "ephlvm.state=trash");
	assert_false(t.ours);
	assert_false(t.damaged);
	assert_int_equal(eph_volume_state(TRASH, &t), EPHLVM_STATE_DAMAGED);
	eph_tags_clear(&t);
	parse_list(&t, (const char *const[]){ NULL });
	assert_false(t.ours);
	eph_tags_clear(&t);
}

static void unknown_tags_do_no_harm(void **state)
{
	struct eph_tags t;

	(void)state;
	parse(&t, READY, "ephlvm.colour=blue", "ephlvm.statement=x", "ephlvm.", "ephlvm.state",
	      "ephlvm.pool=p", "ephlvm.key=value=value", "operator/tag", "ephlvm.colour=red");
	assert_false(t.damaged);
	assert_int_equal(t.state, EPHLVM_STATE_READY);
	eph_tags_clear(&t);
}

static void contradictions_are_damage(void **state)
{
	static const struct {
		const char *tags[8];
		const char *why;
	} t[] = {
		{ { READY, "ephlvm.state=trash" }, "two states" },
		{ { READY, "ephlvm.state=new" }, "two states" },
		{ { READY, "ephlvm.instance=" OTHER }, "two instances" },
		{ { READY, "ephlvm.disk=root" }, "two disks" },
		{ { READY, "ephlvm.v=2" }, "two versions" },
		{ { "ephlvm.v=2", READY }, "two versions" },
		{ { READY, "ephlvm.flavor=a", "ephlvm.flavor=b" }, "two flavors" },
		{ { READY, "ephlvm.size=1", "ephlvm.size=2" }, "two sizes" },
		{ { "ephlvm" }, "no version" },
		{ { "ephlvm", "ephlvm.v=1", "ephlvm.disk=eph0", "ephlvm.state=ready" },
		  "no instance" },
		{ { "ephlvm", "ephlvm.v=1", "ephlvm.instance=" INSTANCE }, "no disk" },
		{ { "ephlvm", "ephlvm.instance=" INSTANCE, "ephlvm.disk=eph0" }, "no version" },
		{ { MINIMAL, "ephlvm.state=gone" }, "unknown state" },
		{ { MINIMAL, "ephlvm.state=" }, "unknown state" },
		{ { READY, "ephlvm.size=-1" }, "unreadable size" },
		{ { READY, "ephlvm.size=18446744073709551616" }, "unreadable size" },
		{ { READY, "ephlvm.at=9223372036854775808" }, "unreadable time of change" },
		{ { READY, "ephlvm.fs=" }, "unreadable file system" },
		{ { READY, "ephlvm.orphan=soon" }, "unreadable orphan time" },
		{ { "ephlvm", "ephlvm.v=1", "ephlvm.instance=x", "ephlvm.disk=eph0" },
		  "unreadable instance" },
		{ { "ephlvm", "ephlvm.v=1", "ephlvm.instance=" INSTANCE, "ephlvm.disk=vdb" },
		  "unreadable disk" },
		{ { "ephlvm", "ephlvm.v=0", "ephlvm.instance=" INSTANCE, "ephlvm.disk=eph0" },
		  "unreadable version" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct eph_tags tags;

		parse_list(&tags, t[i].tags);
		assert_true(tags.ours);
		assert_true(tags.damaged);
		assert_string_equal(tags.why, t[i].why);
		assert_int_equal(eph_volume_state(NAME, &tags), EPHLVM_STATE_DAMAGED);
		assert_int_equal(eph_volume_state(TRASH, &tags), EPHLVM_STATE_DAMAGED);
		eph_tags_clear(&tags);
	}
}

static void checkpoints_are_read_strictly(void **state)
{
	static const char *const bad[] = {
		"ephlvm.erase=",
		"ephlvm.erase=zero",
		"ephlvm.erase=zero:1",
		"ephlvm.erase=zero:1/1",
		"ephlvm.erase=zero:0/1:0",
		"ephlvm.erase=zero:2/1:0",
		"ephlvm.erase=:1/1:0",
		"ephlvm.erase=zero:1/1:-1",
		"ephlvm.erase=zero:1/1:0:0",
		"ephlvm.erase=zero:1:1/0",
		"ephlvm.erase=zero:+1/1:0",
		"ephlvm.erase=zero:1/1:",
		"ephlvm.erase=zero:4294967296/4294967296:0",
		"ephlvm.erase=zero:1/1:99999999999999999999999999",
		"ephlvm.fail=",
		"ephlvm.fail=5",
		"ephlvm.fail=0:1",
		"ephlvm.fail=4096:1",
		"ephlvm.fail=5:",
		"ephlvm.fail=5:1:2",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct eph_tags t;

		parse(&t, MINIMAL, "ephlvm.state=trash", bad[i]);
		assert_true(t.damaged);
		assert_null(t.erase_method);
		assert_int_equal(t.fail_errno, 0);
		eph_tags_clear(&t);
	}
}

static void a_newer_version_is_no_damage(void **state)
{
	struct eph_tags t;

	(void)state;
	parse(&t, "ephlvm", "ephlvm.v=2", "ephlvm.state=frozen", "ephlvm.instance=" INSTANCE,
	      "ephlvm.disk=nvme0", "ephlvm.erase=what");
	assert_true(t.ours);
	assert_true(t.newer);
	assert_false(t.damaged);
	assert_string_equal(t.instance, INSTANCE);
	assert_int_equal(eph_volume_state(NAME, &t), EPHLVM_STATE_DAMAGED);
	eph_tags_clear(&t);
}

static void name_and_tags_together_give_the_state(void **state)
{
	static const struct {
		const char *name, *tag;
		enum ephlvm_volume_state state;
	} t[] = {
		{ NAME, "ephlvm.state=new", EPHLVM_STATE_NEW },
		{ NAME, "ephlvm.state=ready", EPHLVM_STATE_READY },
		{ NAME, "ephlvm.state=trash", EPHLVM_STATE_TRASH },
		{ NAME, NULL, EPHLVM_STATE_DAMAGED },
		{ TRASH, "ephlvm.state=new", EPHLVM_STATE_TRASH },
		{ TRASH, "ephlvm.state=ready", EPHLVM_STATE_TRASH },
		{ TRASH, "ephlvm.state=trash", EPHLVM_STATE_TRASH },
		{ TRASH, NULL, EPHLVM_STATE_TRASH },
		/* renamed by an operator: the tags hold */
		{ "kept", "ephlvm.state=ready", EPHLVM_STATE_READY },
		{ "trash-mine", "ephlvm.state=ready", EPHLVM_STATE_READY },
		/* named as another one */
		{ OTHER "_disk.eph0", "ephlvm.state=ready", EPHLVM_STATE_DAMAGED },
		{ INSTANCE "_disk.eph1", "ephlvm.state=ready", EPHLVM_STATE_DAMAGED },
		{ INSTANCE "_disk", "ephlvm.state=trash", EPHLVM_STATE_DAMAGED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		struct eph_tags tags;

		parse(&tags, MINIMAL, t[i].tag);
		assert_int_equal(eph_volume_state(t[i].name, &tags), t[i].state);
		eph_tags_clear(&tags);
	}
}

static void a_change_names_what_goes_and_what_comes(void **state)
{
	static const char *const present[] = { READY, "ephlvm.statement=x", "ephlvm.state=new" };
	_cleanup_strv_ struct eph_strv sv = EPH_STRV_INIT, del = EPH_STRV_INIT, add = EPH_STRV_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(present); i++)
		assert_int_equal(eph_strv_add(&sv, present[i]), 0);
	assert_int_equal(eph_tags_change(&sv, "ephlvm.state", "trash", &del, &add), 0);
	assert_int_equal(del.n, 2);
	assert_true(eph_strv_has(&del, "ephlvm.state=ready"));
	assert_true(eph_strv_has(&del, "ephlvm.state=new"));
	assert_int_equal(add.n, 1);
	assert_string_equal(add.v[0], "ephlvm.state=trash");

	/* goes on in the same lists, so that several keys are one commit */
	assert_int_equal(eph_tags_change(&sv, "ephlvm.at", "7", &del, &add), 0);
	assert_int_equal(del.n, 2);
	assert_int_equal(add.n, 2);
	assert_int_equal(eph_tags_change(&sv, "ephlvm.disk", NULL, &del, &add), 0);
	assert_int_equal(del.n, 3);
	assert_int_equal(add.n, 2);

	assert_int_equal(eph_tags_change(&sv, "ephlvm.state", "a b", &del, &add), -EINVAL);
	assert_int_equal(eph_tags_change(&sv, "", "x", &del, &add), -EINVAL);
	assert_int_equal(del.n, 3);
	assert_int_equal(add.n, 2);
}

static void a_tag_that_is_there_stays(void **state)
{
	static const char *const present[] = { READY };
	_cleanup_strv_ struct eph_strv sv = EPH_STRV_INIT, del = EPH_STRV_INIT, add = EPH_STRV_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(present); i++)
		assert_int_equal(eph_strv_add(&sv, present[i]), 0);
	assert_int_equal(eph_tags_change(&sv, "ephlvm.state", "ready", &del, &add), 0);
	assert_int_equal(del.n + add.n, 0);
}

static int all_tags(void)
{
	_cleanup_strv_ struct eph_strv sv = EPH_STRV_INIT, del = EPH_STRV_INIT, add = EPH_STRV_INIT;
	struct eph_tags t;
	int r;

	r = eph_tags_build(&full, &sv);
	if (r < 0) {
		assert_int_equal(sv.n, 0);
		return r;
	}
	r = eph_tags_change(&sv, "ephlvm.state", "trash", &del, &add);
	if (r < 0) {
		assert_int_equal(del.n + add.n, 0);
		return r;
	}
	r = eph_strv_add(&sv, "ephlvm.erase=zero:1/1:0");
	if (r < 0)
		return r;
	r = eph_tags_parse(&sv, &t);
	if (r == 0)
		eph_tags_clear(&t);
	return r;
}

static void no_memory_is_said(void **state)
{
	unsigned int nth = 0;
	int r;

	(void)state;
	do {
		failing_alloc_arm(nth++);
		r = all_tags();
		if (failing_alloc_disarm())
			assert_int_equal(r, -ENOMEM);
	} while (r != 0);
	assert_true(nth > 20);
}

/* Tags come from other hosts and hands: whatever they are, they are read within bounds. */
static void any_text_is_read_safely(void **state)
{
	static const char *const parts[] = {
		"ephlvm", ".",	  "v",	   "=",	    "1",     "instance", INSTANCE,
		"disk",	  "eph0", "state", "ready", "erase", "zero",	 ":",
		"/",	  "fail", "\xff",  "",	    "at",    "size",	 "99999999999999999999",
		"trash"
	};
	unsigned int seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		_cleanup_strv_ struct eph_strv sv = EPH_STRV_INIT;
		struct eph_tags t;

		for (int n = rand_r(&seed) % 8; n > 0; n--) {
			char tag[256] = "";

			for (int p = rand_r(&seed) % 6; p > 0; p--)
				strcat(tag, parts[(size_t)rand_r(&seed) % ARRAY_SIZE(parts)]);
			assert_int_equal(eph_strv_add(&sv, tag), 0);
		}
		assert_int_equal(eph_tags_parse(&sv, &t), 0);
		if (!t.ours || t.damaged)
			assert_int_equal(eph_volume_state(NAME, &t), EPHLVM_STATE_DAMAGED);
		assert_int_equal(t.damaged, t.why != NULL);
		eph_tags_clear(&t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tags_of_a_new_volume_are_these),
		cmocka_unit_test(what_is_built_is_read_back),
		cmocka_unit_test(build_refuses_what_a_tag_cannot_hold),
		cmocka_unit_test(erase_fail_and_orphan_are_read),
		cmocka_unit_test(foreign_tags_are_not_ours),
		cmocka_unit_test(unknown_tags_do_no_harm),
		cmocka_unit_test(contradictions_are_damage),
		cmocka_unit_test(checkpoints_are_read_strictly),
		cmocka_unit_test(a_newer_version_is_no_damage),
		cmocka_unit_test(name_and_tags_together_give_the_state),
		cmocka_unit_test(a_change_names_what_goes_and_what_comes),
		cmocka_unit_test(a_tag_that_is_there_stays),
		cmocka_unit_test(no_memory_is_said),
		cmocka_unit_test(any_text_is_read_safely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
