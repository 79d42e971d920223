/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * core/context.h - the inside of the context: error record, log, steps, and the edges that
 * workflows use. An edge hangs here as an opaque pointer; its own header says what it is.
 */
#ifndef EPH_CORE_CONTEXT_H
#define EPH_CORE_CONTEXT_H

#include <ephlvm/context.h>

struct eph_config;
struct eph_lvm_backend;

struct eph_error {
	enum ephlvm_error_kind kind;
	int errnum;
	int child_status;
	char *stage;
	char *subject;
	char *message;
	char *hint;
	char *detail;
};

struct ephlvm_ctx {
	unsigned int refs;
	struct eph_error error;
	const char *stage; /* name of the step under way, a literal */

	enum ephlvm_log_level log_level;
	ephlvm_log_fn log_fn;
	void *log_data;
	ephlvm_progress_fn progress_fn;
	void *progress_data;
	int64_t progress_ms; /* when it was last called, CLOCK_MONOTONIC */
	ephlvm_action_fn action_fn;
	void *action_data;
	ephlvm_cancel_fn cancel_fn;
	void *cancel_data;

	char *config_path; /* NULL: the default */
	struct eph_config *config; /* NULL until it is needed; eph_config_get() */
	void (*config_free)(struct eph_config *config);

	struct eph_lvm_backend *lvm; /* NULL until it is needed; eph_lvm_backend_get() */
	void (*lvm_free)(struct eph_lvm_backend *backend);
};

/* Entry of every public call that can fail: no error, no step. */
void eph_enter(struct ephlvm_ctx *ctx);

/*
 * Set the error record. @subject, @hint may be NULL. All text is escaped here, so that callers pass
 * untrusted values as they are. A second failure while one is recorded keeps the first: what failed
 * first is the fact, what failed during clean-up is logged.
 * Returns -@errnum, so that callers write `return eph_fail(...)`.
 */
__attribute__((format(printf, 6, 7))) int eph_fail(struct ephlvm_ctx *ctx,
						   enum ephlvm_error_kind kind, int errnum,
						   const char *subject, const char *hint,
						   const char *fmt, ...);

/*
 * The same for a file of the host that could not be had, kind SYSTEM. Where a right was lacking it is kind PERMISSION
 * with the advice to be root; root lacks none, so that it is a fault of the host then: an immutable file, a read-only
 * file system, a folder of another's. @hint is for all else. Returns -@errnum; -EACCES for EPERM of who is not root.
 */
__attribute__((format(printf, 5, 6))) int eph_fail_access(struct ephlvm_ctx *ctx, int errnum,
							  const char *subject, const char *hint,
							  const char *fmt, ...);

/*
 * Copy a caller's option struct, which starts with its size, over @dst of @dst_bytes: fields that an
 * older caller does not know are zero; fields that we do not know must be zero. 0 or -EINVAL.
 */
int eph_opts_import(struct ephlvm_ctx *ctx, void *dst, size_t dst_bytes, const void *opts);

/* -ENOMEM with its record. */
int eph_fail_oom(struct ephlvm_ctx *ctx);

/* Add the words and exit status of a failed tool to the record. Call after eph_fail(). */
void eph_fail_detail(struct ephlvm_ctx *ctx, int child_status, const char *detail);

/*
 * Put the record aside, so that clean-up or a retry can fail or succeed on its own; give it back or
 * drop it afterwards. A record taken is owned by the caller.
 */
struct eph_error eph_error_take(struct ephlvm_ctx *ctx);
void eph_error_give(struct ephlvm_ctx *ctx, struct eph_error *error);
void eph_error_clear(struct eph_error *error);

__attribute__((format(printf, 3, 4))) void
eph_log(struct ephlvm_ctx *ctx, enum ephlvm_log_level level, const char *fmt, ...);
#define eph_debug(ctx, ...) eph_log(ctx, EPHLVM_LOG_DEBUG, __VA_ARGS__)
#define eph_info(ctx, ...) eph_log(ctx, EPHLVM_LOG_INFO, __VA_ARGS__)
#define eph_warn(ctx, ...) eph_log(ctx, EPHLVM_LOG_WARNING, __VA_ARGS__)

/* At most five times a second, and at the end. */
void eph_progress(struct ephlvm_ctx *ctx, const char *step, const char *subject,
		  uint64_t done_bytes, uint64_t total_bytes);

/* Report a change that is planned or about to be made. */
void eph_action(struct ephlvm_ctx *ctx, const char *verb, const char *subject, uint64_t bytes);

/* -ECANCELED with its record when the caller asked to stop, else 0. */
int eph_cancelled(struct ephlvm_ctx *ctx);

/*
 * Mark a named step: just before something outside this process changes. @name is a literal. In
 * test builds (EPH_TEST_STOPS) the environment variable EPHLVM_STOP_AT=NAME[:COUNT] kills the process
 * with SIGKILL at the COUNTth mark of that name, EPHLVM_STOP_AT=#N at the Nth mark of any name, and
 * EPHLVM_FAIL_AT likewise makes the step fail with EIO. Returns 0 or that error.
 */
int eph_step(struct ephlvm_ctx *ctx, const char *name);

/*
 * The same mark, set by an edge around each single call, write or flush, so that none is without one. It
 * leaves the name of the workflow's step alone. @name need not be a literal.
 */
int eph_mark(struct ephlvm_ctx *ctx, const char *name);

#endif
