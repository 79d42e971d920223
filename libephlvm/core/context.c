// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * context.c - the context object: life, error record, log, progress, cancel.
 * Owns the error record's memory. Must not do I/O, and must not know any edge: those hang on the
 * context with their own destructor.
 */
#include "core/context.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/text.h"

#define OPTS_MAX_BYTES 4096 /* more is an uninitialised struct */

#define STRINGIFY_(x) #x
#define STRINGIFY(x) STRINGIFY_(x)

const char *ephlvm_version(void)
{
	return STRINGIFY(EPHLVM_VERSION_MAJOR) "." STRINGIFY(EPHLVM_VERSION_MINOR) "." STRINGIFY(
		EPHLVM_VERSION_PATCH);
}

int ephlvm_ctx_new(struct ephlvm_ctx **ret_ctx)
{
	struct ephlvm_ctx *ctx;

	if (!ret_ctx)
		return -EINVAL;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	ctx->refs = 1;
	ctx->error.child_status = -1;
	*ret_ctx = ctx;
	return 0;
}

struct ephlvm_ctx *ephlvm_ctx_ref(struct ephlvm_ctx *ctx)
{
	if (ctx)
		ctx->refs++;
	return ctx;
}

struct ephlvm_ctx *ephlvm_ctx_unref(struct ephlvm_ctx *ctx)
{
	if (!ctx || --ctx->refs > 0)
		return NULL;
	if (ctx->lvm)
		ctx->lvm_free(ctx->lvm);
	if (ctx->config)
		ctx->config_free(ctx->config);
	free(ctx->config_path);
	eph_error_clear(&ctx->error);
	free(ctx);
	return NULL;
}

int ephlvm_ctx_set_config_path(struct ephlvm_ctx *ctx, const char *path)
{
	char *copy = NULL;

	eph_enter(ctx);
	if (ctx->config)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, path, NULL,
				"the configuration was read already");
	if (path && path[0] != '/')
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, path, "give an absolute path",
				"configuration path \"%s\" is not absolute", path);
	if (path) {
		copy = strdup(path);
		if (!copy)
			return eph_fail_oom(ctx);
	}
	free(ctx->config_path);
	ctx->config_path = copy;
	return 0;
}

void ephlvm_ctx_set_log(struct ephlvm_ctx *ctx, enum ephlvm_log_level level, ephlvm_log_fn fn,
			void *data)
{
	ctx->log_level = level;
	ctx->log_fn = fn;
	ctx->log_data = data;
}

void ephlvm_ctx_set_progress(struct ephlvm_ctx *ctx, ephlvm_progress_fn fn, void *data)
{
	ctx->progress_fn = fn;
	ctx->progress_data = data;
}

void ephlvm_ctx_set_action(struct ephlvm_ctx *ctx, ephlvm_action_fn fn, void *data)
{
	ctx->action_fn = fn;
	ctx->action_data = data;
}

void ephlvm_ctx_set_cancel(struct ephlvm_ctx *ctx, ephlvm_cancel_fn fn, void *data)
{
	ctx->cancel_fn = fn;
	ctx->cancel_data = data;
}

void eph_error_clear(struct eph_error *error)
{
	free(error->stage);
	free(error->subject);
	free(error->message);
	free(error->hint);
	free(error->detail);
	memset(error, 0, sizeof(*error));
	error->child_status = -1;
}

void eph_enter(struct ephlvm_ctx *ctx)
{
	eph_error_clear(&ctx->error);
	ctx->stage = NULL;
}

struct eph_error eph_error_take(struct ephlvm_ctx *ctx)
{
	struct eph_error taken = ctx->error;

	memset(&ctx->error, 0, sizeof(ctx->error));
	ctx->error.child_status = -1;
	return taken;
}

void eph_error_give(struct ephlvm_ctx *ctx, struct eph_error *error)
{
	eph_error_clear(&ctx->error);
	ctx->error = *error;
	memset(error, 0, sizeof(*error));
	error->child_status = -1;
}

static char *escaped(const char *s)
{
	return s ? eph_escape(s, false) : NULL;
}

__attribute__((format(printf, 6, 0))) static int vfail(struct ephlvm_ctx *ctx,
						       enum ephlvm_error_kind kind, int errnum,
						       const char *subject, const char *hint,
						       const char *fmt, va_list ap)
{
	_cleanup_free_ char *message = NULL;

	if (vasprintf(&message, fmt, ap) < 0)
		message = NULL;
	if (ctx->error.kind != EPHLVM_ERROR_NONE) {
		eph_warn(ctx, "then: %s", message ? message : "out of memory");
		return -errnum;
	}
	/* Out of memory while reporting leaves the kind and errno, which need none. */
	ctx->error.kind = kind;
	ctx->error.errnum = errnum;
	ctx->error.stage = escaped(ctx->stage);
	ctx->error.subject = escaped(subject);
	ctx->error.hint = escaped(hint);
	ctx->error.message = escaped(message);
	return -errnum;
}

int eph_fail(struct ephlvm_ctx *ctx, enum ephlvm_error_kind kind, int errnum, const char *subject,
	     const char *hint, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vfail(ctx, kind, errnum, subject, hint, fmt, ap);
	va_end(ap);
	return r;
}

int eph_fail_access(struct ephlvm_ctx *ctx, int errnum, const char *subject, const char *hint,
		    const char *fmt, ...)
{
	enum ephlvm_error_kind kind = EPHLVM_ERROR_SYSTEM;
	va_list ap;
	int r;

	if ((errnum == EACCES || errnum == EPERM) && geteuid() != 0) {
		kind = EPHLVM_ERROR_PERMISSION;
		errnum = EACCES;
		hint = "run it as root";
	} else if (errnum == EACCES || errnum == EPERM || errnum == EROFS) {
		hint = "see its attributes (lsattr) and how it is mounted";
	}
	va_start(ap, fmt);
	r = vfail(ctx, kind, errnum, subject, hint, fmt, ap);
	va_end(ap);
	return r;
}

int eph_fail_oom(struct ephlvm_ctx *ctx)
{
	return eph_fail(ctx, EPHLVM_ERROR_INTERNAL, ENOMEM, NULL, NULL, "out of memory");
}

int eph_opts_import(struct ephlvm_ctx *ctx, void *dst, size_t dst_bytes, const void *opts)
{
	size_t bytes;

	if (!opts)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
				"no options were given");
	memcpy(&bytes, opts, sizeof(bytes));
	if (bytes < sizeof(bytes) || bytes > OPTS_MAX_BYTES)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL,
				"initialise the option struct with its INIT macro",
				"an option struct says that it has %zu bytes", bytes);
	for (size_t i = dst_bytes; i < bytes; i++)
		if (((const char *)opts)[i] != 0)
			return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL,
					"use the library that the program was built for",
					"an option struct has a field that this version lacks");
	memset(dst, 0, dst_bytes);
	memcpy(dst, opts, bytes < dst_bytes ? bytes : dst_bytes);
	return 0;
}

void eph_fail_detail(struct ephlvm_ctx *ctx, int child_status, const char *detail)
{
	if (ctx->error.kind == EPHLVM_ERROR_NONE || ctx->error.detail)
		return;
	ctx->error.child_status = child_status;
	if (detail)
		ctx->error.detail = eph_escape(detail, true);
}

enum ephlvm_error_kind ephlvm_error_kind(const struct ephlvm_ctx *ctx)
{
	return ctx->error.kind;
}

int ephlvm_error_errno(const struct ephlvm_ctx *ctx)
{
	return ctx->error.errnum;
}

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

const char *ephlvm_error_stage(const struct ephlvm_ctx *ctx)
{
	return or_empty(ctx->error.stage);
}

const char *ephlvm_error_subject(const struct ephlvm_ctx *ctx)
{
	return or_empty(ctx->error.subject);
}

const char *ephlvm_error_message(const struct ephlvm_ctx *ctx)
{
	return or_empty(ctx->error.message);
}

const char *ephlvm_error_hint(const struct ephlvm_ctx *ctx)
{
	return or_empty(ctx->error.hint);
}

const char *ephlvm_error_detail(const struct ephlvm_ctx *ctx)
{
	return or_empty(ctx->error.detail);
}

int ephlvm_error_child_status(const struct ephlvm_ctx *ctx)
{
	return ctx->error.child_status;
}

void eph_log(struct ephlvm_ctx *ctx, enum ephlvm_log_level level, const char *fmt, ...)
{
	_cleanup_free_ char *line = NULL, *clean = NULL;
	va_list ap;
	int r;

	if (!ctx->log_fn || level > ctx->log_level)
		return;
	va_start(ap, fmt);
	r = vasprintf(&line, fmt, ap);
	va_end(ap);
	if (r < 0) {
		line = NULL;
		return;
	}
	clean = eph_escape(line, false);
	if (clean)
		ctx->log_fn(ctx->log_data, level, clean);
}

void eph_progress(struct ephlvm_ctx *ctx, const char *step, const char *subject,
		  uint64_t done_bytes, uint64_t total_bytes)
{
	struct ephlvm_progress progress = {
		.size = sizeof(progress),
		.step = step,
		.subject = subject,
		.done_bytes = done_bytes,
		.total_bytes = total_bytes,
	};

	struct timespec now;
	int64_t now_ms;

	if (!ctx->progress_fn)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
	if (done_bytes != total_bytes && now_ms - ctx->progress_ms < 200)
		return;
	ctx->progress_ms = now_ms;
	ctx->progress_fn(ctx->progress_data, &progress);
}

void eph_action(struct ephlvm_ctx *ctx, const char *verb, const char *subject, uint64_t bytes)
{
	struct ephlvm_action action = {
		.size = sizeof(action),
		.verb = verb,
		.subject = subject,
		.bytes = bytes,
	};

	eph_debug(ctx, "action %s %s %llu", verb, subject, (unsigned long long)bytes);
	if (ctx->action_fn)
		ctx->action_fn(ctx->action_data, &action);
}

int eph_cancelled(struct ephlvm_ctx *ctx)
{
	if (!ctx->cancel_fn || !ctx->cancel_fn(ctx->cancel_data))
		return 0;
	return eph_fail(ctx, EPHLVM_ERROR_CANCELLED, ECANCELED, NULL,
			"run the same command again to go on", "stopped by the caller");
}
