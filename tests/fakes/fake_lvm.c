// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * fake_lvm.c - an LVM backend that follows a script.
 * Owns the script and the count of what came. Must not be lenient: what is not in the script
 * fails the test, at once and by name.
 */
#include "fakes/fake_lvm.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "util/cleanup.h"

#define NEVER (~0u)
#define PVS_MAX 4

struct fake_lvm {
	struct eph_lvm_backend backend;
	struct fake_lvm_call *script;
	size_t n, next;
	fake_lvm_answer_fn answer;
	void *answer_data;
	unsigned int calls, opened;
	unsigned int fail_in, lose_pv_in;
	unsigned int last_timeout_ms;
	bool last_mutating;
	bool flush_broken;
	bool in_sequence;
	bool checked;
	struct {
		char *uuid;
		int fd;
	} pvs[PVS_MAX];
	size_t n_pvs;
	char *surprise; /* the first call that was not in the script */
};

static char *copy(const char *s)
{
	char *c = s ? strdup(s) : NULL;

	if (s)
		assert_non_null(c);
	return c;
}

static int fake_begin(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend)
{
	struct fake_lvm *fake = (struct fake_lvm *)backend;

	(void)ctx;
	assert_false(fake->in_sequence);
	fake->in_sequence = true;
	return 0;
}

static void fake_end(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend)
{
	struct fake_lvm *fake = (struct fake_lvm *)backend;

	(void)ctx;
	assert_true(fake->in_sequence);
	fake->in_sequence = false;
}

/* The argv as one line, and the --config value apart. */
static char *render(const char *const *argv, const char **ret_config)
{
	char *line;
	size_t bytes;
	FILE *f = open_memstream(&line, &bytes);

	assert_non_null(f);
	*ret_config = NULL;
	for (size_t i = 0; argv[i]; i++) {
		if (strcmp(argv[i], "--config") == 0) {
			*ret_config = argv[++i];
			continue;
		}
		fprintf(f, strchr(argv[i], ' ') || !*argv[i] ? "%s'%s'" : "%s%s", i ? " " : "",
			argv[i]);
	}
	assert_int_equal(fclose(f), 0);
	return line;
}

static int answer(struct ephlvm_ctx *ctx, const struct fake_lvm_call *call,
		  struct eph_lvm_result *ret_result)
{
	if (call->before)
		call->before(call->data);
	if (call->error)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, -call->error, "lvm", NULL,
				"the backend failed");
	/* Tests make allocations fail: that is no fault of the test. */
	*ret_result = (struct eph_lvm_result){
		.status = call->status,
		.timed_out = call->timed_out,
		.out = strdup(call->out ? call->out : ""),
		.out_bytes = call->out ? strlen(call->out) : 0,
		.err = strdup(call->err ? call->err : ""),
	};
	if (ret_result->out && ret_result->err)
		return 0;
	eph_lvm_result_clear(ret_result);
	return eph_fail_oom(ctx);
}

static bool matches(const struct fake_lvm_call *expected, const char *line, const char *config)
{
	if (expected->call && strcmp(expected->call, line) != 0)
		return false;
	return !expected->config || (config && strcmp(expected->config, config) == 0);
}

static int surprise(struct ephlvm_ctx *ctx, struct fake_lvm *fake, const char *line,
		    const char *config)
{
	const struct fake_lvm_call *expected = fake->next < fake->n ? &fake->script[fake->next] :
								      NULL;

	if (!fake->surprise) {
		fake->surprise = copy(line);
		print_error("not in the script: %s\n          --config %s\n", line,
			    config ? config : "(none)");
		if (expected)
			print_error("      expected: %s\n          --config %s\n",
				    expected->call ? expected->call : "(any)",
				    expected->config ? expected->config : "(any)");
	}
	return eph_fail(ctx, EPHLVM_ERROR_INTERNAL, EIO, "lvm", NULL,
			"the script does not have this call");
}

static int fake_call(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend,
		     const struct eph_lvm_call *call, struct eph_lvm_result *ret_result)
{
	struct fake_lvm *fake = (struct fake_lvm *)backend;
	_cleanup_free_ char *line = NULL;
	const char *config;

	assert_true(fake->in_sequence);
	fake->calls++;
	fake->last_timeout_ms = call->timeout_ms;
	fake->last_mutating = call->mutating;
	if (fake->fail_in != NEVER && fake->fail_in-- == 0) {
		fake->fail_in = NEVER;
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, "lvm", NULL, "the backend failed");
	}
	line = render(call->argv, &config);
	if (fake->answer) {
		struct fake_lvm_call given = { 0 };

		fake->answer(fake->answer_data, line, &given);
		return answer(ctx, &given, ret_result);
	}
	if (fake->next >= fake->n || !matches(&fake->script[fake->next], line, config))
		return surprise(ctx, fake, line, config);
	return answer(ctx, &fake->script[fake->next++], ret_result);
}

/* A memory file can be flushed like a drive; a pipe cannot. */
static int fake_descriptor(const struct fake_lvm *fake, const char *pv_uuid)
{
	char path[64];
	int fds[2];

	for (size_t i = 0; i < fake->n_pvs; i++) {
		if (!eph_streq(fake->pvs[i].uuid, pv_uuid))
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fake->pvs[i].fd);
		return open(path, O_RDONLY | O_CLOEXEC);
	}
	if (!fake->flush_broken)
		return memfd_create("pv", MFD_CLOEXEC);
	assert_int_equal(pipe(fds), 0);
	close(fds[1]);
	return fds[0];
}

static int fake_open_pv(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend,
			const struct eph_pv *pv, int *ret_fd)
{
	struct fake_lvm *fake = (struct fake_lvm *)backend;
	int fd;

	fake->opened++;
	if (fake->lose_pv_in != NEVER && fake->lose_pv_in-- == 0) {
		fake->lose_pv_in = NEVER;
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, pv->device, NULL,
				"\"%s\" is not the physical volume \"%s\" any more", pv->device,
				pv->uuid);
	}
	fd = fake_descriptor(fake, pv->uuid);
	assert_true(fd >= 0);
	*ret_fd = fd;
	return 0;
}

static void clear_call(struct fake_lvm_call *call)
{
	free((char *)call->call);
	free((char *)call->config);
	free((char *)call->out);
	free((char *)call->err);
}

static void fake_free(struct eph_lvm_backend *backend)
{
	struct fake_lvm *fake = (struct fake_lvm *)backend;

	if (!fake->checked && (fake->surprise || fake->next < fake->n)) {
		fprintf(stderr, "the script of the fake LVM was not followed and not checked\n");
		abort();
	}
	for (size_t i = 0; i < fake->n; i++)
		clear_call(&fake->script[i]);
	for (size_t i = 0; i < fake->n_pvs; i++)
		free(fake->pvs[i].uuid);
	free(fake->script);
	free(fake->surprise);
	free(fake);
}

struct fake_lvm *fake_lvm_install(struct ephlvm_ctx *ctx)
{
	struct fake_lvm *fake = calloc(1, sizeof(*fake));

	assert_non_null(fake);
	assert_null(ctx->lvm);
	fake->backend = (struct eph_lvm_backend){
		.begin = fake_begin,
		.call = fake_call,
		.end = fake_end,
		.open_pv = fake_open_pv,
		.free = fake_free,
	};
	fake->fail_in = NEVER;
	fake->lose_pv_in = NEVER;
	ctx->lvm = &fake->backend;
	ctx->lvm_free = fake_free;
	return fake;
}

struct eph_lvm_backend *fake_lvm_backend(struct fake_lvm *fake)
{
	return &fake->backend;
}

void fake_lvm_expect(struct fake_lvm *fake, const struct fake_lvm_call *call)
{
	struct fake_lvm_call *grown;

	grown = realloc(fake->script, (fake->n + 1) * sizeof(*grown));
	assert_non_null(grown);
	fake->script = grown;
	grown += fake->n++;
	*grown = *call;
	grown->call = copy(call->call);
	grown->config = copy(call->config);
	grown->out = copy(call->out);
	grown->err = copy(call->err);
	fake->checked = false;
}

void fake_lvm_drop_last(struct fake_lvm *fake)
{
	assert_true(fake->n > fake->next);
	clear_call(&fake->script[--fake->n]);
}

void fake_lvm_answer_with(struct fake_lvm *fake, fake_lvm_answer_fn answer_fn, void *data)
{
	fake->answer = answer_fn;
	fake->answer_data = data;
}

void fake_lvm_fail_at(struct fake_lvm *fake, unsigned int nth)
{
	fake->fail_in = nth;
}

void fake_lvm_lose_pv_at(struct fake_lvm *fake, unsigned int nth)
{
	fake->lose_pv_in = nth;
}

void fake_lvm_put_pv(struct fake_lvm *fake, const char *pv_uuid, int fd)
{
	for (size_t i = 0; i < fake->n_pvs; i++) {
		if (strcmp(fake->pvs[i].uuid, pv_uuid) == 0) {
			fake->pvs[i].fd = fd;
			return;
		}
	}
	assert_true(fake->n_pvs < PVS_MAX);
	fake->pvs[fake->n_pvs].uuid = copy(pv_uuid);
	fake->pvs[fake->n_pvs++].fd = fd;
}

void fake_lvm_break_flush(struct fake_lvm *fake)
{
	fake->flush_broken = true;
}

unsigned int fake_lvm_calls(const struct fake_lvm *fake)
{
	return fake->calls;
}

unsigned int fake_lvm_opened(const struct fake_lvm *fake)
{
	return fake->opened;
}

unsigned int fake_lvm_last_timeout_ms(const struct fake_lvm *fake)
{
	return fake->last_timeout_ms;
}

bool fake_lvm_last_mutating(const struct fake_lvm *fake)
{
	return fake->last_mutating;
}

void fake_lvm_done(struct fake_lvm *fake)
{
	fake->checked = true;
	if (fake->surprise)
		fail_msg("a call that is not in the script: %s", fake->surprise);
	if (fake->next < fake->n)
		fail_msg("a call that never came: %s",
			 fake->script[fake->next].call ? fake->script[fake->next].call : "(any)");
}
