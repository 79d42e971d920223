/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * context.h - the context: error record, log, progress, cancel, configuration.
 *
 * One context per thread: a context must not be used by two threads at once.
 * There is no process-wide state that a caller can see. Calls block.
 */
#ifndef EPHLVM_CONTEXT_H
#define EPHLVM_CONTEXT_H

#include <ephlvm/base.h>

EPHLVM_BEGIN_DECLS

struct ephlvm_ctx;

/**
 * enum ephlvm_error_kind - what kind of failure the error record holds
 * @EPHLVM_ERROR_NONE: no error
 * @EPHLVM_ERROR_INTERNAL: unexpected; a fault of the library or no memory
 * @EPHLVM_ERROR_INVALID: the caller's mistake: argument, configuration, document
 * @EPHLVM_ERROR_NOT_FOUND: a named thing does not exist
 * @EPHLVM_ERROR_BUSY: open, held, mounted, wired, taken, or a lock not had in time
 * @EPHLVM_ERROR_NO_SPACE: no space, metadata area full, or a limit
 * @EPHLVM_ERROR_PERMISSION: not allowed
 * @EPHLVM_ERROR_SYSTEM: LVM, libvirt, a tool or a device failed
 * @EPHLVM_ERROR_PARTIAL: several objects, some done and some not
 * @EPHLVM_ERROR_CANCELLED: the cancel callback asked to stop
 */
enum ephlvm_error_kind {
	EPHLVM_ERROR_NONE = 0,
	EPHLVM_ERROR_INTERNAL,
	EPHLVM_ERROR_INVALID,
	EPHLVM_ERROR_NOT_FOUND,
	EPHLVM_ERROR_BUSY,
	EPHLVM_ERROR_NO_SPACE,
	EPHLVM_ERROR_PERMISSION,
	EPHLVM_ERROR_SYSTEM,
	EPHLVM_ERROR_PARTIAL,
	EPHLVM_ERROR_CANCELLED,
};

/** enum ephlvm_log_level - severity of a log line, as in syslog(3) */
enum ephlvm_log_level {
	EPHLVM_LOG_ERROR = 3,
	EPHLVM_LOG_WARNING = 4,
	EPHLVM_LOG_INFO = 6,
	EPHLVM_LOG_DEBUG = 7,
};

/**
 * struct ephlvm_progress - where a long step stands
 * @size: sizeof(struct ephlvm_progress), grows with later versions
 * @step: name of the step ("erase", "format", "readback"); never NULL
 * @subject: what it works on, as "VG/LV"; never NULL
 * @done_bytes: bytes done so far
 * @total_bytes: bytes in all; 0 where unknown
 */
struct ephlvm_progress {
	size_t size;
	const char *step;
	const char *subject;
	uint64_t done_bytes;
	uint64_t total_bytes;
};

/**
 * struct ephlvm_action - one change outside this process, planned or about to be made
 * @size: sizeof(struct ephlvm_action), grows with later versions
 * @verb: "create", "erase", "format", "ready", "deactivate", "trash", "remove",
 *        "activate", "pool-init", ...; never NULL
 * @subject: what it is done to, as "VG/LV" or a device; never NULL
 * @bytes: size concerned, 0 where none
 *
 * A dry run reports the same actions, in the same order, as the real run takes.
 */
struct ephlvm_action {
	size_t size;
	const char *verb;
	const char *subject;
	uint64_t bytes;
};

typedef void (*ephlvm_log_fn)(void *data, enum ephlvm_log_level level, const char *message);
typedef void (*ephlvm_progress_fn)(void *data, const struct ephlvm_progress *progress);
typedef void (*ephlvm_action_fn)(void *data, const struct ephlvm_action *action);
typedef bool (*ephlvm_cancel_fn)(void *data);

/**
 * ephlvm_ctx_new - make a context
 * @ret_ctx: receives the context; not NULL. Free with ephlvm_ctx_unref().
 *
 * Reads no file and needs no privilege.
 *
 * Return: 0, or -EINVAL (@ret_ctx is NULL), -ENOMEM.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_ctx_new(struct ephlvm_ctx **ret_ctx);

/**
 * ephlvm_ctx_ref - take another reference
 * @ctx: context, or NULL
 *
 * Return: @ctx.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT struct ephlvm_ctx *ephlvm_ctx_ref(struct ephlvm_ctx *ctx);

/**
 * ephlvm_ctx_unref - drop a reference, free with the last one
 * @ctx: context, or NULL (nothing is done)
 *
 * Return: NULL, so that a variable can be cleared in one statement.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT struct ephlvm_ctx *ephlvm_ctx_unref(struct ephlvm_ctx *ctx);

/**
 * ephlvm_ctx_set_config_path - read the configuration from another file
 * @ctx: context, not NULL
 * @path: absolute path; NULL for the default /etc/ephlvm/ephlvm.json
 *
 * The file is read with the first call that needs it. A default file that does
 * not exist means built-in values; a file named here must exist.
 *
 * Return: 0, or -EINVAL (relative path, or the configuration was read already), -ENOMEM.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_ctx_set_config_path(struct ephlvm_ctx *ctx, const char *path);

/**
 * ephlvm_ctx_set_log - where log lines go
 * @ctx: context, not NULL
 * @level: least severe level that is passed on
 * @fn: called with one line, without a line end; NULL for none
 * @data: handed to @fn
 *
 * Since: 0.1
 */
EPHLVM_EXPORT void ephlvm_ctx_set_log(struct ephlvm_ctx *ctx, enum ephlvm_log_level level,
				      ephlvm_log_fn fn, void *data);

/**
 * ephlvm_ctx_set_progress - be told how long steps proceed
 * @ctx: context, not NULL
 * @fn: called from within the blocking call, at most a few times a second; NULL for none.
 *      It must not call the library with the same context.
 * @data: handed to @fn
 *
 * Since: 0.1
 */
EPHLVM_EXPORT void ephlvm_ctx_set_progress(struct ephlvm_ctx *ctx, ephlvm_progress_fn fn,
					   void *data);

/**
 * ephlvm_ctx_set_action - be told each change, planned (dry run) or about to be made
 * @ctx: context, not NULL
 * @fn: called before the change; NULL for none. It must not call the library with the
 *      same context.
 * @data: handed to @fn
 *
 * Since: 0.1
 */
EPHLVM_EXPORT void ephlvm_ctx_set_action(struct ephlvm_ctx *ctx, ephlvm_action_fn fn, void *data);

/**
 * ephlvm_ctx_set_cancel - let long calls be stopped
 * @ctx: context, not NULL
 * @fn: asked between batches of long work; true stops the call with -ECANCELED and a
 *      state that the next call settles; NULL for never
 * @data: handed to @fn
 *
 * Since: 0.1
 */
EPHLVM_EXPORT void ephlvm_ctx_set_cancel(struct ephlvm_ctx *ctx, ephlvm_cancel_fn fn, void *data);

/**
 * ephlvm_error_kind - kind of the last call's failure
 * @ctx: context, not NULL
 *
 * The error record belongs to the context, is reset at entry of each public call that can
 * fail, and is set once, where the fact is known.
 *
 * Return: the kind; EPHLVM_ERROR_NONE when the last call succeeded.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT enum ephlvm_error_kind ephlvm_error_kind(const struct ephlvm_ctx *ctx);

/**
 * ephlvm_error_errno - positive errno of the last call's failure
 * @ctx: context, not NULL
 *
 * Return: positive errno, or 0 when the last call succeeded.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_error_errno(const struct ephlvm_ctx *ctx);

/**
 * ephlvm_error_stage - name of the step that failed
 * @ctx: context, not NULL
 *
 * Return: the step, "" when no step had begun. Valid until the next call.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT const char *ephlvm_error_stage(const struct ephlvm_ctx *ctx);

/**
 * ephlvm_error_subject - what the failure is about
 * @ctx: context, not NULL
 *
 * Return: a volume, device, file or key; "" for none. Valid until the next call.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT const char *ephlvm_error_subject(const struct ephlvm_ctx *ctx);

/**
 * ephlvm_error_message - one line that says what failed, values quoted
 * @ctx: context, not NULL
 *
 * Return: the message without a full stop or line end, control characters escaped; "" for
 * none. Valid until the next call.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT const char *ephlvm_error_message(const struct ephlvm_ctx *ctx);

/**
 * ephlvm_error_hint - what the operator can do next
 * @ctx: context, not NULL
 *
 * Return: the hint, "" for none. Valid until the next call.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT const char *ephlvm_error_hint(const struct ephlvm_ctx *ctx);

/**
 * ephlvm_error_detail - last words of the tool that failed
 * @ctx: context, not NULL
 *
 * Return: what LVM, mkfs or libvirt said, control characters escaped, perhaps several
 * lines; "" for none. Valid until the next call.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT const char *ephlvm_error_detail(const struct ephlvm_ctx *ctx);

/**
 * ephlvm_error_child_status - exit status of the tool that failed
 * @ctx: context, not NULL
 *
 * Return: exit status 0..255, 256 + signal when a signal ended it, -1 when no tool was
 * concerned.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_error_child_status(const struct ephlvm_ctx *ctx);

EPHLVM_END_DECLS

#endif
