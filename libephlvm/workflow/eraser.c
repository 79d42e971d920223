// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * eraser.c - an erase in a thread of its own.
 * Owns the thread, its context, and what passes between the two. The thread runs the erase and writes
 * its checkpoints; it must not touch LVM, the caller's context, or anything else of the caller's.
 */
#include "workflow/eraser.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "edge/checkpoint.h"
#include "util/cleanup.h"

/* A line that the thread logged, until the caller's thread hands it on. */
struct line {
	struct line *next;
	enum ephlvm_log_level level;
	char text[];
};

struct eph_eraser {
	pthread_t thread;
	struct ephlvm_ctx *ctx; /* the thread's */
	struct eph_erase_request request;
	struct eph_erase_outcome outcome;
	char *lv_uuid;
	unsigned int passes;
	int bell_fd;
	int result;
	atomic_bool stop, ended;

	pthread_mutex_t mutex; /* of what follows */
	struct line *first, **last;
	struct ephlvm_progress progress;
};

static void log_fn(void *data, enum ephlvm_log_level level, const char *message)
{
	struct eph_eraser *e = data;
	size_t bytes = strlen(message) + 1;
	struct line *line = malloc(sizeof(*line) + bytes);

	/* A lost line of the log stops no erase. */
	if (!line)
		return;
	line->next = NULL;
	line->level = level;
	memcpy(line->text, message, bytes);
	pthread_mutex_lock(&e->mutex);
	*e->last = line;
	e->last = &line->next;
	pthread_mutex_unlock(&e->mutex);
}

static void progress_fn(void *data, const struct ephlvm_progress *progress)
{
	struct eph_eraser *e = data;

	pthread_mutex_lock(&e->mutex);
	/* The step is a literal, the subject the caller's string: both outlive the thread. */
	e->progress = *progress;
	pthread_mutex_unlock(&e->mutex);
}

static bool cancel_fn(void *data)
{
	return atomic_load(&((struct eph_eraser *)data)->stop);
}

/* One that cannot be kept costs work after a crash, no more: a full /var must not stop an erase. */
static int checkpoint_fn(struct ephlvm_ctx *ctx, void *data, const struct eph_erase_point *point)
{
	struct eph_eraser *e = data;
	struct eph_checkpoint checkpoint = {
		.method = e->request.method,
		.passes = e->passes,
		.size_bytes = e->request.size_bytes,
		.point = *point,
	};

	if (eph_checkpoint_write(ctx, e->lv_uuid, &checkpoint) < 0) {
		eph_warn(ctx, "cannot keep how far the erase is: %s", ephlvm_error_message(ctx));
		eph_error_clear(&ctx->error);
	}
	return 0;
}

static void *run(void *data)
{
	struct eph_eraser *e = data;
	const uint64_t one = 1;

	e->result = eph_erase_run(e->ctx, &e->request, &e->outcome);
	atomic_store(&e->ended, true);
	/* A bell that cannot be rung is looked for by poll's own clock. */
	if (write(e->bell_fd, &one, sizeof(one)) < 0)
		eph_debug(e->ctx, "the end of an erase could not be signalled");
	return NULL;
}

static void eraser_free(struct eph_eraser *e)
{
	if (!e)
		return;
	while (e->first) {
		struct line *next = e->first->next;

		free(e->first);
		e->first = next;
	}
	ephlvm_ctx_unref(e->ctx);
	pthread_mutex_destroy(&e->mutex);
	free(e->lv_uuid);
	free(e);
}

static void eraser_freep(struct eph_eraser **eraser)
{
	eraser_free(*eraser);
}

/* Signals are for the caller's threads. */
static int start_thread(struct eph_eraser *e)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&e->thread, NULL, run, e);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int eph_eraser_start(struct ephlvm_ctx *ctx, const struct eph_erase_request *request,
		     const char *lv_uuid, int bell_fd, struct eph_eraser **ret_eraser)
{
	__attribute__((cleanup(eraser_freep))) struct eph_eraser *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return eph_fail_oom(ctx);
	pthread_mutex_init(&e->mutex, NULL);
	e->last = &e->first;
	e->bell_fd = bell_fd;
	e->request = *request;
	e->passes = eph_erase_passes(request->method, request->random_passes);
	r = ephlvm_ctx_new(&e->ctx);
	if (r < 0)
		return eph_fail_oom(ctx);
	ephlvm_ctx_set_log(e->ctx, ctx->log_level, log_fn, e);
	ephlvm_ctx_set_progress(e->ctx, progress_fn, e);
	ephlvm_ctx_set_cancel(e->ctx, cancel_fn, e);
	e->ctx->stage = ctx->stage;
	if (lv_uuid) {
		e->lv_uuid = strdup(lv_uuid);
		if (!e->lv_uuid)
			return eph_fail_oom(ctx);
		e->request.checkpoint_fn = checkpoint_fn;
		e->request.checkpoint_data = e;
	}
	r = start_thread(e);
	if (r != 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, r, request->subject, NULL,
				"no thread could be started to erase \"%s\": %s", request->subject,
				strerror(r));
	*ret_eraser = eph_steal(e);
	return 0;
}

bool eph_eraser_poll(struct ephlvm_ctx *ctx, struct eph_eraser *e,
		     struct ephlvm_progress *ret_progress)
{
	/* First: what is logged before the end must be found below. */
	bool ended = atomic_load(&e->ended);
	struct line *line;

	pthread_mutex_lock(&e->mutex);
	line = e->first;
	e->first = NULL;
	e->last = &e->first;
	*ret_progress = e->progress;
	pthread_mutex_unlock(&e->mutex);
	while (line) {
		struct line *next = line->next;

		eph_log(ctx, line->level, "%s", line->text);
		free(line);
		line = next;
	}
	return ended;
}

void eph_eraser_cancel(struct eph_eraser *e)
{
	atomic_store(&e->stop, true);
}

int eph_eraser_end(struct ephlvm_ctx *ctx, struct eph_eraser *e,
		   struct eph_erase_outcome *ret_outcome)
{
	struct ephlvm_progress progress;
	struct eph_error error;
	int result;

	pthread_join(e->thread, NULL);
	eph_eraser_poll(ctx, e, &progress);
	*ret_outcome = e->outcome;
	result = e->result;
	if (result < 0) {
		error = eph_error_take(e->ctx);
		eph_error_give(ctx, &error);
	}
	eraser_free(e);
	return result;
}
