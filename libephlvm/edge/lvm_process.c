// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * lvm_process.c - the one-shot backend: each call is a process of the lvm binary.
 * Owns what that process gets from us: path, environment, deadline, grace. Must not look into what LVM says,
 * beyond refusing text with a NUL in it. Nothing of the caller's environment reaches LVM.
 */
#include "edge/lvm.h"

#include <string.h>

#include "edge/conffile.h"
#include "edge/lock.h"
#include "edge/lvm_pv.h"
#include "util/cleanup.h"
#include "util/spawn.h"

/* From TERM to KILL. Killed in mid-commit, LVM leaves work behind, so what changes gets longer. */
#define READ_GRACE_MS 1000
#define CHANGE_GRACE_MS 10000

struct process_backend {
	struct eph_lvm_backend backend;
	char *path;
};

/*
 * LVM_SUPPRESS_FD_WARNINGS: no descriptor of ours reaches it, but 2.03.24 to 2.03.30 warn about their own.
 * HOME: where it would look for a shell's history.
 */
static const char *const environment[] = {
	"PATH=" EPH_SPAWN_PATH, "LC_ALL=C", "HOME=/", "LVM_SUPPRESS_FD_WARNINGS=1", NULL,
};

void eph_lvm_result_clear(struct eph_lvm_result *result)
{
	free(result->out);
	free(result->err);
	memset(result, 0, sizeof(*result));
}

static int process_begin(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend)
{
	(void)ctx;
	(void)backend;
	return 0;
}

static void process_end(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend)
{
	(void)ctx;
	(void)backend;
}

static int fail_run(struct ephlvm_ctx *ctx, const char *path, int r)
{
	switch (r) {
	case -ENOMEM:
		return eph_fail_oom(ctx);
	case -EMSGSIZE:
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, path, NULL,
				"LVM wrote more than %zu bytes", EPH_SPAWN_OUT_MAX);
	case -ECHILD:
		return eph_fail(
			ctx, EPHLVM_ERROR_SYSTEM, EIO, path,
			"the calling program must leave children of the library alone and must "
			"not ignore SIGCHLD",
			"the exit status of LVM was taken by somebody else");
	case -ENOENT:
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, path,
				"install the package lvm2, or name the tool in the configuration",
				"\"%s\" does not exist", path);
	default:
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, path, NULL, "cannot run \"%s\": %s",
				path, strerror(-r));
	}
}

static int run(struct ephlvm_ctx *ctx, const char *path, const struct eph_lvm_call *call,
	       struct eph_spawn_result *result)
{
	struct eph_spawn spec = {
		.env = environment,
		.timeout_ms = call->timeout_ms,
		.grace_ms = call->mutating ? CHANGE_GRACE_MS : READ_GRACE_MS,
	};
	_cleanup_free_ const char **argv = NULL;
	size_t n = 0;
	int r;

	while (call->argv[n])
		n++;
	argv = calloc(n + 2, sizeof(*argv));
	if (!argv)
		return eph_fail_oom(ctx);
	argv[0] = path;
	memcpy(argv + 1, call->argv, n * sizeof(*argv));
	spec.argv = argv;
	r = eph_spawn_run(&spec, result);
	return r < 0 ? fail_run(ctx, path, r) : 0;
}

/* List does not wait for anybody: it asks LVM to take no lock. */
static bool takes_locks(const struct eph_lvm_call *call)
{
	for (size_t i = 0; call->argv[i]; i++)
		if (strcmp(call->argv[i], "--nolocking") == 0)
			return false;
	return true;
}

static int take_turn(struct ephlvm_ctx *ctx, const struct eph_lvm_call *call,
		     struct eph_lock **ret_turn)
{
	const struct eph_config *config;
	int r;

	if (!takes_locks(call))
		return 0;
	r = eph_config_get(ctx, &config);
	return r < 0 ? r :
		       eph_lock_take_turn(ctx, call->mutating, config->lock_timeout_ms, ret_turn);
}

static int process_call(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend,
			const struct eph_lvm_call *call, struct eph_lvm_result *ret_result)
{
	struct process_backend *process = (struct process_backend *)backend;
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };
	_cleanup_lock_ struct eph_lock *turn = NULL;
	int r;

	r = take_turn(ctx, call, &turn);
	if (r == 0)
		r = run(ctx, process->path, call, &result);
	if (r < 0)
		return r;
	if (strlen(result.out) != result.out_bytes)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, process->path, NULL,
				"LVM wrote a NUL byte");
	*ret_result = (struct eph_lvm_result){
		.status = result.status,
		.timed_out = result.timed_out,
		.out = eph_steal(result.out),
		.out_bytes = result.out_bytes,
		.err = eph_steal(result.err),
	};
	return 0;
}

static void process_free(struct eph_lvm_backend *backend)
{
	struct process_backend *process = (struct process_backend *)backend;

	if (!process)
		return;
	free(process->path);
	free(process);
}

int eph_lvm_process_new(struct ephlvm_ctx *ctx, const char *lvm_path,
			struct eph_lvm_backend **ret_backend)
{
	_cleanup_free_ char *path = NULL;
	struct process_backend *process;
	int r;

	if (lvm_path)
		path = strdup(lvm_path);
	r = lvm_path ? (path ? 0 : -ENOMEM) : eph_spawn_find("lvm", &path);
	if (r == -ENOENT)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, "lvm",
				"install the package lvm2, or name the tool in the configuration",
				"there is no \"lvm\" in " EPH_SPAWN_PATH);
	if (r < 0)
		return eph_fail_oom(ctx);
	if (path[0] != '/')
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, path, "give an absolute path",
				"path of LVM \"%s\" is not absolute", path);
	process = calloc(1, sizeof(*process));
	if (!process)
		return eph_fail_oom(ctx);
	process->path = eph_steal(path);
	process->backend = (struct eph_lvm_backend){
		.begin = process_begin,
		.call = process_call,
		.end = process_end,
		.open_pv = eph_lvm_pv_open,
		.free = process_free,
	};
	*ret_backend = &process->backend;
	return 0;
}

int eph_lvm_backend_get(struct ephlvm_ctx *ctx, struct eph_lvm_backend **ret_backend)
{
	const struct eph_config *config;
	int r;

	if (!ctx->lvm) {
		r = eph_config_get(ctx, &config);
		if (r < 0)
			return r;
		r = eph_lvm_process_new(ctx, config->tool_lvm, &ctx->lvm);
		if (r < 0)
			return r;
		ctx->lvm_free = ctx->lvm->free;
	}
	*ret_backend = ctx->lvm;
	return 0;
}
