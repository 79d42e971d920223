// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * purge_run.c - a list of trash, erased drive by drive, the drives beside each other, removed in batches.
 * Owns which volume's turn it is, and the report of each. What is done to one is purge_job.c's.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "edge/conffile.h"
#include "pure/config.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "workflow/purge.h"
#include "workflow/purge_job.h"
#include "workflow/trash.h"

/* Erased volumes are removed together, but none is kept long: their space is wanted. */
#define BATCH_MAX ((size_t)32)
#define BATCH_MS 30000
/* What libvirt said is believed so long. */
#define USES_MS 10000
#define LOOK_MS 200

struct run {
	const struct ephlvm_purge_opts *opts;
	struct eph_purge_policy policy;
	struct eph_virt_uses uses;
	int64_t uses_ms; /* when libvirt was asked; 0: not yet */
	struct eph_purge_job *jobs;
	size_t n, freed, failed;
	bool stopping;
	int result; /* of the first that failed */
	struct eph_error first;
};

void eph_purge_report(const struct ephlvm_purge_opts *opts, struct ephlvm_purged *purged)
{
	purged->size = sizeof(*purged);
	if (opts->purged_fn)
		opts->purged_fn(opts->data, purged);
}

static void report_freed(struct run *run, const struct eph_purge_job *job)
{
	struct ephlvm_purged purged = {
		.volume = job->was,
		.result = EPHLVM_PURGE_FREED,
		.erased_bytes = job->outcome.written_bytes,
		.receipt = job->receipt,
	};

	run->freed++;
	eph_purge_report(run->opts, &purged);
}

/* The error is in the context; the first one stays for the whole call. */
static void report_failed(struct ephlvm_ctx *ctx, struct run *run, const struct eph_purge_job *job,
			  int r)
{
	bool busy = ctx->error.kind == EPHLVM_ERROR_BUSY;
	struct ephlvm_purged purged = {
		.volume = job->was,
		.result = busy ? EPHLVM_PURGE_BUSY : EPHLVM_PURGE_FAILED,
		.erased_bytes = job->outcome.written_bytes,
		.errnum = -r,
		.message = ephlvm_error_message(ctx),
		.receipt = job->receipt,
	};

	run->failed++;
	eph_purge_report(run->opts, &purged);
	if (r == -ECANCELED)
		run->stopping = true;
	if (run->result == 0) {
		run->result = r;
		run->first = eph_error_take(ctx);
	}
	eph_error_clear(&ctx->error);
}

static void report_gone(struct ephlvm_ctx *ctx, struct run *run, const struct eph_purge_job *job)
{
	struct ephlvm_purged purged = { .volume = job->was, .result = EPHLVM_PURGE_GONE };

	eph_warn(ctx,
		 "\"%s\" was gone before its turn: purged by another process, or removed by hand",
		 job->was->name);
	eph_purge_report(run->opts, &purged);
}

/* --- whose turn it is --- */

static int ask_libvirt(struct ephlvm_ctx *ctx, struct run *run)
{
	if (run->uses_ms != 0 && eph_now_ms() - run->uses_ms < USES_MS)
		return 0;
	eph_virt_uses_clear(&run->uses);
	run->uses_ms = eph_now_ms();
	return eph_uses_read(ctx, &run->uses);
}

static bool share_a_drive(const struct ephlvm_volume *a, const struct ephlvm_volume *b)
{
	for (size_t i = 0; i < a->pv_uuids.n; i++)
		if (eph_strv_has(&b->pv_uuids, a->pv_uuids.v[i]))
			return true;
	return false;
}

/* Nothing of ours is erasing on its drives: another process may be, which its locks tell. */
static bool has_turn(const struct run *run, const struct eph_purge_job *job)
{
	if (job->stage != EPH_PURGE_WAITING || run->stopping || eph_now_ms() < job->retry_ms)
		return false;
	for (size_t i = 0; i < run->n; i++)
		if (run->jobs[i].stage == EPH_PURGE_ERASING &&
		    share_a_drive(run->jobs[i].was, job->was))
			return false;
	return true;
}

static bool start_those_whose_turn_it_is(struct ephlvm_ctx *ctx, struct run *run)
{
	bool moved = false;

	for (size_t i = 0; i < run->n; i++) {
		struct eph_purge_job *job = &run->jobs[i];
		int r;

		if (!has_turn(run, job))
			continue;
		r = ask_libvirt(ctx, run);
		if (r == 0)
			r = eph_purge_job_begin(ctx, &run->policy, &run->uses, job);
		if (r == -EAGAIN)
			continue;
		moved = true;
		if (r < 0) {
			job->stage = EPH_PURGE_DONE;
			report_failed(ctx, run, job, r);
		} else if (job->stage == EPH_PURGE_DONE) {
			report_gone(ctx, run, job);
		}
	}
	return moved;
}

/* --- those that are erasing --- */

static bool finish_those_that_ended(struct ephlvm_ctx *ctx, struct run *run)
{
	struct ephlvm_progress sum = { .step = "erase" }, one;
	size_t erasing = 0;
	bool moved = false;

	for (size_t i = 0; i < run->n; i++) {
		struct eph_purge_job *job = &run->jobs[i];
		int r;

		if (job->stage != EPH_PURGE_ERASING)
			continue;
		if (!eph_eraser_poll(ctx, job->eraser, &one)) {
			erasing++;
			if (one.step) {
				sum.step = one.step;
				sum.subject = one.subject;
				sum.done_bytes += one.done_bytes;
				sum.total_bytes += one.total_bytes;
			}
			continue;
		}
		moved = true;
		r = eph_purge_job_finish(ctx, &run->policy, job);
		if (r < 0)
			report_failed(ctx, run, job, r);
	}
	if (sum.subject)
		eph_progress(ctx, erasing > 1 ? "erase" : sum.step,
			     erasing > 1 ? "several volumes" : sum.subject, sum.done_bytes,
			     sum.total_bytes);
	return moved;
}

static void stop_all(struct ephlvm_ctx *ctx, struct run *run)
{
	if (run->stopping || eph_cancelled(ctx) == 0)
		return;
	run->stopping = true;
	for (size_t i = 0; i < run->n; i++)
		if (run->jobs[i].stage == EPH_PURGE_ERASING)
			eph_eraser_cancel(run->jobs[i].eraser);
	/* What has not begun is left as it was, and not reported. */
	if (run->result == 0) {
		run->result = -ECANCELED;
		run->first = eph_error_take(ctx);
	}
	eph_error_clear(&ctx->error);
}

/* --- those that are erased --- */

static size_t count(const struct run *run, enum eph_purge_stage stage)
{
	size_t n = 0;

	for (size_t i = 0; i < run->n; i++)
		n += run->jobs[i].stage == stage;
	return n;
}

static bool batch_is_due(const struct run *run)
{
	int64_t oldest = INT64_MAX;
	size_t erased = count(run, EPH_PURGE_ERASED);

	if (erased == 0)
		return false;
	if (erased >= BATCH_MAX || (count(run, EPH_PURGE_ERASING) == 0 &&
				    (run->stopping || count(run, EPH_PURGE_WAITING) == 0)))
		return true;
	for (size_t i = 0; i < run->n; i++)
		if (run->jobs[i].stage == EPH_PURGE_ERASED && run->jobs[i].erased_ms < oldest)
			oldest = run->jobs[i].erased_ms;
	return eph_now_ms() - oldest >= BATCH_MS;
}

static void remove_batch(struct ephlvm_ctx *ctx, struct run *run, const char *vg_uuid)
{
	struct eph_error errors[BATCH_MAX] = { { 0 } };
	struct eph_purge_job *batch[BATCH_MAX];
	int results[BATCH_MAX] = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < run->n && n < BATCH_MAX; i++)
		if (run->jobs[i].stage == EPH_PURGE_ERASED &&
		    strcmp(run->jobs[i].was->vg_uuid, vg_uuid) == 0)
			batch[n++] = &run->jobs[i];
	eph_purge_jobs_remove(ctx, batch, n, results, errors);
	for (size_t i = 0; i < n; i++) {
		if (results[i] < 0) {
			eph_error_give(ctx, &errors[i]);
			report_failed(ctx, run, batch[i], results[i]);
		} else {
			report_freed(run, batch[i]);
		}
		eph_purge_job_clear(batch[i]);
	}
}

static bool remove_those_that_are_erased(struct ephlvm_ctx *ctx, struct run *run)
{
	if (!batch_is_due(run))
		return false;
	for (size_t i = 0; i < run->n; i++)
		if (run->jobs[i].stage == EPH_PURGE_ERASED)
			remove_batch(ctx, run, run->jobs[i].was->vg_uuid);
	return true;
}

/* --- all of them --- */

static bool is_over(const struct run *run)
{
	return count(run, EPH_PURGE_ERASING) == 0 && count(run, EPH_PURGE_ERASED) == 0 &&
	       (run->stopping || count(run, EPH_PURGE_WAITING) == 0);
}

static void wait_for_the_bell(struct run *run)
{
	struct pollfd bell = { .fd = run->policy.bell_fd, .events = POLLIN };
	uint64_t rung;

	/* An interrupted wait only means to look sooner. */
	if (poll(&bell, 1, LOOK_MS) > 0 &&
	    read(run->policy.bell_fd, &rung, sizeof(rung)) != sizeof(rung))
		return;
}

static int make_policy(struct ephlvm_ctx *ctx, const struct eph_config *config,
		       const struct ephlvm_purge_opts *o, struct eph_purge_policy *ret_policy)
{
	const char *method = o->method ? o->method : config->erase_method;
	const char *verify = o->verify ? o->verify : config->erase_verify;

	if (eph_erase_method_parse(method, &ret_policy->method) < 0)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, method,
				"methods are zero, discard, shred, none",
				"\"%s\" is no way to erase", method);
	if (eph_erase_verify_parse(verify, &ret_policy->verify) < 0)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, verify,
				"words are sample, full, off", "\"%s\" is no way to read back",
				verify);
	ret_policy->random_passes = config->erase_passes;
	ret_policy->rate_bytes_sec = o->rate_bytes_sec ? o->rate_bytes_sec :
							 config->erase_rate_bytes_sec;
	return 0;
}

int eph_purge_check(struct ephlvm_ctx *ctx, const struct ephlvm_purge_opts *opts)
{
	const struct eph_config *config;
	struct eph_purge_policy policy;
	int r;

	r = eph_config_get(ctx, &config);
	return r < 0 ? r : make_policy(ctx, config, opts, &policy);
}

void eph_purge_plan(struct ephlvm_ctx *ctx, const struct ephlvm_volume *volume, const char *method)
{
	const struct eph_config *config;

	if (!method && eph_config_get(ctx, &config) == 0)
		method = config->erase_method;
	if (!eph_streq(method, "none"))
		eph_action(ctx, "erase", volume->name, volume->size_bytes);
	eph_action(ctx, "remove", volume->name, volume->size_bytes);
}

static int run_all(struct ephlvm_ctx *ctx, struct run *run)
{
	while (!is_over(run)) {
		bool moved;

		stop_all(ctx, run);
		moved = finish_those_that_ended(ctx, run);
		moved = start_those_whose_turn_it_is(ctx, run) || moved;
		moved = remove_those_that_are_erased(ctx, run) || moved;
		if (!moved && !is_over(run))
			wait_for_the_bell(run);
	}
	if (run->result == 0)
		return 0;
	eph_error_give(ctx, &run->first);
	/* One object has its own code; several, some of them done, have the one for that. */
	if (run->freed == 0 || run->result == -ECANCELED)
		return run->result;
	ctx->error.kind = EPHLVM_ERROR_PARTIAL;
	ctx->error.errnum = EREMOTEIO;
	eph_warn(ctx, "%zu volumes were freed, %zu were not", run->freed, run->failed);
	return -EREMOTEIO;
}

int eph_purge_volumes(struct ephlvm_ctx *ctx, const struct ephlvm_volumes *volumes,
		      const struct ephlvm_purge_opts *opts, unsigned int wait_ms)
{
	_cleanup_close_ int bell = -1;
	struct run run = { .opts = opts, .n = volumes->n };
	const struct eph_config *config;
	int64_t deadline = wait_ms == UINT32_MAX ? INT64_MAX : eph_now_ms() + wait_ms;
	int r;

	r = eph_config_get(ctx, &config);
	if (r == 0)
		r = make_policy(ctx, config, opts, &run.policy);
	if (r < 0 || volumes->n == 0)
		return r;
	bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (bell < 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, errno, NULL, NULL,
				"no event descriptor could be made: %s", strerror(errno));
	run.policy.bell_fd = bell;
	run.jobs = calloc(volumes->n, sizeof(*run.jobs));
	if (!run.jobs)
		return eph_fail_oom(ctx);
	for (size_t i = 0; i < volumes->n; i++)
		eph_purge_job_init(&run.jobs[i], volumes->v[i], deadline);
	r = run_all(ctx, &run);
	for (size_t i = 0; i < run.n; i++)
		eph_purge_job_clear(&run.jobs[i]);
	eph_virt_uses_clear(&run.uses);
	free(run.jobs);
	return r;
}
