// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What the configuration says of erasing reaches the volumes, and what it cannot change; volumes whose configuration
 * is gone; one failure among several; what changes while a purge waits. On the model of a host.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <ephlvm/ephlvm.h>

#include "edge/lock.h"
#include "fakes/model_host.h"
#include "fakes/model_ops.h"
#include "pure/naming.h"
#include "util/text.h"

#define A "11111111-0000-4000-8000-000000000001"
#define B "22222222-0000-4000-8000-000000000002"

static struct model_host *m;
static char
	folder[64]; /* below /run, whose parents are root's alone: else no configuration is read */

/* A context that reads this configuration. */
static struct ephlvm_ctx *configured(const char *text)
{
	struct ephlvm_ctx *ctx = model_host_ctx(m);
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "%s/ephlvm.json", folder);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(ephlvm_ctx_set_config_path(ctx, path), 0);
	return ctx;
}

static int setup(void **state)
{
	(void)state;
	model_host_reset(m);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(m->freed_unerased, 0);
	assert_int_equal(m->freed_without_receipt, 0);
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

static bool is_ready(const char *instance)
{
	return volume_of(instance) &&
	       eph_streq(model_lv_tag(volume_of(instance), "ephlvm.state="), "ready");
}

static void must_create(struct ephlvm_ctx *ctx, const char *instance)
{
	assert_int_equal(model_op_create(ctx, instance, "none"), 0);
	model_plant(m, volume_of(instance)->first, "token");
}

/* The one receipt there is has these words. */
static void receipt_says(struct ephlvm_ctx *ctx, const char *const *words)
{
	struct ephlvm_receipts *receipts = NULL;

	assert_int_equal(ephlvm_receipts_read(ctx, NULL, &receipts), 0);
	assert_int_equal(ephlvm_receipts_count(receipts), 1);
	for (; *words; words++)
		if (!strstr(ephlvm_receipts_at(receipts, 0), *words))
			fail_msg("no %s in %s", *words, ephlvm_receipts_at(receipts, 0));
	ephlvm_receipts_free(receipts);
}

/* --- the configuration's words --- */

static void erase_words_reach_the_purge(void **state)
{
	static const struct {
		const char *erase;
		const char *words[4];
	} cases[] = {
		{ "{}", { "\"method\":\"zero\"", "\"passes\":1", "\"mode\":\"sample\"" } },
		{ "{\"method\":\"shred\",\"passes\":2,\"verify\":\"full\"}",
		  { "\"method\":\"shred\"", "\"passes\":3", "\"mode\":\"full\"" } },
		{ "{\"method\":\"discard\",\"verify\":\"off\"}",
		  { "\"method\":\"discard\"", "\"passes\":1", "\"mode\":\"off\"" } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ephlvm_ctx *ctx;
		char text[160];

		setup(state);
		snprintf(text, sizeof(text), "{\"defaults\":{\"erase\":%s}}", cases[i].erase);
		ctx = configured(text);
		must_create(ctx, A);
		assert_int_equal(model_op_delete(ctx, A, EPHLVM_WAIT), 0);
		receipt_says(ctx, cases[i].words);
		ephlvm_ctx_unref(ctx);
	}
}

/* A word that is not known is an error before anything is touched, never "unerased". */
static void unknown_words_stop_everything(void **state)
{
	static const char *const texts[] = {
		"{\"defaults\":{\"erase\":{\"method\":\"non_existent_clearer\"}}}",
		"{\"defaults\":{\"erase\":{\"verify\":\"no\"}}}",
		"{\"defaults\":{\"erase\":{\"passes\":0}}}",
		"{\"defaults\":{\"volume_clear\":\"none\"}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct ephlvm_ctx *plain = model_host_ctx(m), *ctx = configured(texts[i]);

		if (!volume_of(A))
			must_create(plain, A);
		assert_int_equal(model_op_delete(ctx, A, EPHLVM_WAIT), -EINVAL);
		assert_int_equal(model_op_purge(ctx, NULL), -EINVAL);
		assert_int_equal(model_op_create(ctx, B, "none"), -EINVAL);
		assert_true(is_ready(A));
		assert_null(volume_of(B));
		ephlvm_ctx_unref(ctx);
		ephlvm_ctx_unref(plain);
	}
}

/* Whatever is said of trash: what a create gives out shows nothing, also where its size is rounded up. */
static void create_shows_no_former_bytes(void **state)
{
	static const char *const methods[] = { "zero", "discard", "shred", "none" };

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		struct ephlvm_create_opts o = EPHLVM_CREATE_OPTS_INIT;
		struct ephlvm_volumes *volumes = NULL;
		struct ephlvm_ctx *ctx;
		char text[160];

		setup(state);
		snprintf(text, sizeof(text), "{\"defaults\":{\"erase\":{\"method\":\"%s\"}}}",
			 methods[i]);
		ctx = configured(text);
		o.instance = A;
		o.flavor = "cc.micro";
		o.size_bytes = MODEL_SLOT_BYTES - 8192;
		o.fs = "none";
		assert_int_equal(ephlvm_create(ctx, &o, &volumes), 0);
		ephlvm_volumes_free(volumes);
		/* It was planted at the start, in the middle and in the last block of the slot, behind what is asked. */
		assert_int_equal(volume_of(A)->slots, 1);
		assert_false(model_has(m, volume_of(A)->first, "former"));
		ephlvm_ctx_unref(ctx);
	}
}

static void trash_hold_keeps_what_is_not_named(void **state)
{
	struct ephlvm_ctx *ctx = configured("{\"defaults\":{\"trash_hold\":3600}}");
	struct ephlvm_purge_opts o = EPHLVM_PURGE_OPTS_INIT;
	const char *const names[] = { A, NULL };

	(void)state;
	must_create(ctx, A);
	assert_int_equal(model_op_delete(ctx, A, 0), 0);
	assert_int_equal(model_op_purge(ctx, NULL), 0);
	assert_non_null(volume_of(A));
	o.names = names;
	assert_int_equal(ephlvm_purge(ctx, &o), 0);
	assert_null(volume_of(A));
	ephlvm_ctx_unref(ctx);
}

/* The flavor it was made of, and the file that told of it, are gone: it is listed, deleted and erased all the same. */
static void a_flavor_that_is_gone_keeps_nothing(void **state)
{
	struct ephlvm_ctx *ctx = configured(
		"{\"flavors\":{\"x.gone\":{\"vcpus\":1,\"ram\":\"1G\",\"root\":\"1G\",\"ephemeral\":\"8M\"}}}");
	struct ephlvm_create_opts o = EPHLVM_CREATE_OPTS_INIT;
	struct ephlvm_volumes *volumes = NULL;

	(void)state;
	o.instance = A;
	o.flavor = "x.gone";
	o.fs = "none";
	assert_int_equal(ephlvm_create(ctx, &o, &volumes), 0);
	ephlvm_volumes_free(volumes);
	model_plant(m, volume_of(A)->first, "token");
	ephlvm_ctx_unref(ctx);
	ctx = model_host_ctx(m);
	assert_int_equal(model_op_delete(ctx, A, 0), 0);
	assert_int_equal(model_op_purge(ctx, NULL), 0);
	assert_null(volume_of(A));
	ephlvm_ctx_unref(ctx);
}

/* --- one of several --- */

/* The erase of one fails; the other is erased and freed, the failed one stays and says why. */
static void one_failure_does_not_stop_the_others(void **state)
{
	struct ephlvm_ctx *ctx = model_host_ctx(m);
	unsigned int left = 0;
	int status;
	pid_t pid;

	(void)state;
	must_create(ctx, A);
	must_create(ctx, B);
	assert_int_equal(model_op_delete(ctx, A, 0), 0);
	assert_int_equal(model_op_delete(ctx, B, 0), 0);
	pid = fork();
	if (pid == 0) {
		struct ephlvm_ctx *child = model_host_ctx(m);

		setenv("EPHLVM_FAIL_AT", "erase-write:1", 1);
		model_op_purge(child, NULL);
		_exit(ephlvm_error_kind(child));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), EPHLVM_ERROR_PARTIAL);
	for (unsigned int i = 0; i < MODEL_LVS; i++) {
		if (!m->lvs[i].there)
			continue;
		left++;
		assert_non_null(model_lv_tag(&m->lvs[i], "ephlvm.fail="));
	}
	assert_int_equal(left, 1);
	assert_int_equal(model_op_purge(ctx, NULL), 0);
	assert_true(!volume_of(A) && !volume_of(B));
	ephlvm_ctx_unref(ctx);
}

/* --- while it waits --- */

static void tell(void *data, enum ephlvm_log_level level, const char *message)
{
	(void)level;
	if (strstr(message, " waits: "))
		assert_int_equal(write(*(int *)data, "w", 1), 1);
}

/* A purge of A that waits for its drive, and what @meanwhile does; its exit status. */
static int purge_waits(struct ephlvm_ctx *ctx, int (*meanwhile)(struct ephlvm_ctx *ctx))
{
	struct eph_lock *drive = NULL;
	int bell[2], status;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(bell), 0);
	assert_int_equal(eph_lock_take(ctx, EPH_LOCK_DRIVE, MODEL_PV_UUID, 0, &drive), 0);
	pid = fork();
	if (pid == 0) {
		struct ephlvm_ctx *child = model_host_ctx(m);

		ephlvm_ctx_set_log(child, EPHLVM_LOG_WARNING, tell, &bell[1]);
		_exit(model_op_purge(child, NULL) < 0 ? ephlvm_error_kind(child) : 0);
	}
	close(bell[1]);
	assert_int_equal(read(bell[0], &byte, 1), 1);
	assert_int_equal(meanwhile(ctx), 0);
	eph_lock_release(drive);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(bell[0]);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int restored(struct ephlvm_ctx *ctx)
{
	return model_op_restore(ctx, A);
}

static int held(struct ephlvm_ctx *ctx)
{
	return model_op_hold(ctx, A, false);
}

static int vanished(struct ephlvm_ctx *ctx)
{
	(void)ctx;
	/* By another program: not counted as ours. */
	volume_of(A)->there = false;
	return 0;
}

static void what_is_restored_while_purge_waits_is_kept(void **state)
{
	struct ephlvm_ctx *ctx = model_host_ctx(m);

	(void)state;
	must_create(ctx, A);
	assert_int_equal(model_op_delete(ctx, A, 0), 0);
	purge_waits(ctx, restored);
	assert_true(is_ready(A));
	assert_true(model_whole(m, volume_of(A)->first, "token"));
	ephlvm_ctx_unref(ctx);
}

static void what_is_held_while_purge_waits_is_kept(void **state)
{
	struct ephlvm_ctx *ctx = model_host_ctx(m);

	(void)state;
	must_create(ctx, A);
	assert_int_equal(model_op_delete(ctx, A, 0), 0);
	purge_waits(ctx, held);
	assert_non_null(volume_of(A));
	assert_true(model_whole(m, volume_of(A)->first, "token"));
	ephlvm_ctx_unref(ctx);
}

static void what_vanishes_while_purge_waits_is_no_failure(void **state)
{
	struct ephlvm_ctx *ctx = model_host_ctx(m);

	(void)state;
	must_create(ctx, A);
	assert_int_equal(model_op_delete(ctx, A, 0), 0);
	assert_int_equal(purge_waits(ctx, vanished), 0);
	ephlvm_ctx_unref(ctx);
}

/* --- a drive that cannot be flushed --- */

static void tell_doubt(void *data, enum ephlvm_log_level level, const char *message)
{
	(void)level;
	if (strstr(message, "may come back after a power cut"))
		*(bool *)data = true;
}

/* In a process whose first flush of a drive fails: the exit status, 100 added where the doubt was told. */
static int without_flush(int (*op)(struct ephlvm_ctx *ctx))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct ephlvm_ctx *ctx = model_host_ctx(m);
		bool told = false;
		int kind;

		ephlvm_ctx_set_log(ctx, EPHLVM_LOG_WARNING, tell_doubt, &told);
		setenv("EPHLVM_FAIL_AT", "pv-fsync", 1);
		kind = op(ctx) < 0 ? (int)ephlvm_error_kind(ctx) : 0;
		_exit(kind + (told ? 100 : 0));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int purge_all(struct ephlvm_ctx *ctx)
{
	return model_op_purge(ctx, NULL);
}

static int delete_a(struct ephlvm_ctx *ctx)
{
	return model_op_delete(ctx, A, 0);
}

/* Nothing was done that could be lost; what another did is in doubt, and that is said. */
static void purge_of_nothing_only_warns(void **state)
{
	(void)state;
	assert_int_equal(without_flush(purge_all), 100);
}

/* That it is trash already may be what a power cut takes back: then it was not deleted. */
/* LVM says that it renamed, and did not: what is ready still is as it was, active. */
static void delete_that_did_nothing_leaves_it_active(void **state)
{
	struct ephlvm_ctx *ctx = configured("{}");

	(void)state;
	must_create(ctx, A);
	m->changes = 0;
	m->spoil_at = 2; /* behind the deactivation */
	m->spoil = MODEL_SAYS_AND_DOES_NOT;
	assert_int_equal(model_op_delete(ctx, A, 0), -EIO);
	assert_non_null(strstr(ephlvm_error_message(ctx), "is ready where it should be trash"));
	assert_true(is_ready(A));
	assert_true(volume_of(A)->active);
	m->spoil_at = 0;
	ephlvm_ctx_unref(ctx);
}

static void delete_of_trash_fails(void **state)
{
	struct ephlvm_ctx *ctx = model_host_ctx(m);

	(void)state;
	must_create(ctx, A);
	assert_int_equal(model_op_delete(ctx, A, 0), 0);
	assert_int_equal(without_flush(delete_a), EPHLVM_ERROR_SYSTEM);
	assert_int_equal(model_op_delete(ctx, A, 0), 0);
	ephlvm_ctx_unref(ctx);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(erase_words_reach_the_purge),
		TEST(unknown_words_stop_everything),
		TEST(create_shows_no_former_bytes),
		TEST(trash_hold_keeps_what_is_not_named),
		TEST(a_flavor_that_is_gone_keeps_nothing),
		TEST(one_failure_does_not_stop_the_others),
		TEST(what_is_restored_while_purge_waits_is_kept),
		TEST(what_is_held_while_purge_waits_is_kept),
		TEST(what_vanishes_while_purge_waits_is_no_failure),
		TEST(purge_of_nothing_only_warns),
		TEST(delete_that_did_nothing_leaves_it_active),
		TEST(delete_of_trash_fails),
	};
	char command[96];
	int r;

	snprintf(folder, sizeof(folder), "/run/ephlvm-policies.XXXXXX");
	if (!mkdtemp(folder) || chmod(folder, 0755) < 0)
		return 1;
	m = model_host_new();
	r = cmocka_run_group_tests(tests, NULL, NULL);
	model_host_free(m);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) == 0 ? r : 1;
}
