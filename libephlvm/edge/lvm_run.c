// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * lvm_run.c - one LVM call, with the tries that it is worth, and its failure in the error record.
 * Owns which of LVM's words mean what (lvm2 2.03.16 in the C locale; only known texts mean something) and
 * how long is waited for LVM's locks. Must not know verbs, and must not take a failed call for
 * anything but a failure.
 */
#include "edge/lvm_run.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "edge/conffile.h"
#include "util/cleanup.h"
#include "util/clock.h"

/* Pauses between tries; each try is a process of LVM, so there is no point in short ones. */
#define LOCK_PAUSE_FIRST_MS 50
#define LOCK_PAUSE_MAX_MS 400

/* 50 + 100 + 200 ms: time enough for udev to look at a device, not for a person to close it. */
#define IN_USE_TRIES 4

/* A report that fails is made again: it changes nothing. */
#define READ_TRIES 3

enum outcome {
	DONE,
	LOCKED, /* somebody else holds LVM's lock; nothing was done */
	IN_USE, /* an LV is open or has a holder */
	CRASHED, /* ended by SIGSEGV */
	TOO_LATE, /* ended by us */
	NO_SPACE,
	METADATA_FULL,
	FAILED,
};

static bool says(const struct eph_lvm_result *result, const char *words)
{
	return strstr(result->err, words) != NULL;
}

static enum outcome judge(const struct eph_lvm_result *result)
{
	if (result->timed_out)
		return TOO_LATE;
	if (result->status == 0)
		return DONE;
	if (result->status == 256 + SIGSEGV)
		return CRASHED;
	if (says(result, ": flock failed: Resource temporarily unavailable"))
		return LOCKED;
	if (says(result, " exceeds maximum metadata size"))
		return METADATA_FULL;
	if (says(result, " insufficient free space") || says(result, "Insufficient free space: ") ||
	    says(result, "Insufficient suitable allocatable extents "))
		return NO_SPACE;
	if (says(result, " in use.") || says(result, "Unable to deactivate open ") ||
	    says(result, " is used by another device.") ||
	    says(result, " contains a filesystem in use.") ||
	    /* Opened between LVM's look at the open count and the ioctl. */
	    (says(result, "remove ioctl on ") && says(result, "Device or resource busy")))
		return IN_USE;
	return FAILED;
}

static int fail_words(struct ephlvm_ctx *ctx, enum outcome outcome, const char *verb,
		      const struct eph_lvm_job *job, const struct eph_lvm_call *call, int status)
{
	const char *subject = job->subject ? job->subject : "";

	switch (outcome) {
	case LOCKED:
		return eph_fail(
			ctx, EPHLVM_ERROR_BUSY, ETIMEDOUT, subject,
			"another LVM command is at work; look for it with ps, or try again later",
			"%s did not get LVM's lock in time", verb);
	case IN_USE:
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, subject,
				"close what holds it and run the same command again",
				"%s: \"%s\" is in use", verb, subject);
	case NO_SPACE:
		return eph_fail(ctx, EPHLVM_ERROR_NO_SPACE, ENOSPC, subject,
				"purge trash, or extend the pool by a drive",
				"%s: not enough free space for \"%s\"", verb, subject);
	case METADATA_FULL:
		return eph_fail(ctx, EPHLVM_ERROR_NO_SPACE, ENOSPC, subject,
				"purge trash, or remove volumes or tags that are not needed: the "
				"metadata area of a volume group cannot grow",
				"%s: the metadata area is too full for \"%s\"", verb, subject);
	case TOO_LATE:
		return eph_fail(
			ctx, EPHLVM_ERROR_SYSTEM, EIO, subject,
			"look at the drive and at udev; what was done meanwhile is found by "
			"the same command run again",
			"%s was ended because it took longer than %u ms", verb, call->timeout_ms);
	default:
		break;
	}
	if (status > 256)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, subject, NULL,
				"%s for \"%s\" was ended by signal %d", verb, subject,
				status - 256);
	return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, subject, NULL,
			"%s for \"%s\" failed with exit status %d", verb, subject, status);
}

static int fail_outcome(struct ephlvm_ctx *ctx, enum outcome outcome, const char *verb,
			const struct eph_lvm_job *job, const struct eph_lvm_call *call,
			const struct eph_lvm_result *result)
{
	/* An earlier failure keeps the record: LVM's words of this one are not its detail. */
	bool first = ctx->error.kind == EPHLVM_ERROR_NONE;
	int r = fail_words(ctx, outcome, verb, job, call, result->status);

	if (first)
		eph_fail_detail(ctx, result->status, result->err);
	return r;
}

static void pause_ms(unsigned int ms)
{
	struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

/* State over the tries of one job. */
struct tries {
	int64_t lock_deadline;
	unsigned int pause_ms;
	unsigned int n;
	bool crashed;
};

/* Whether to run it once more; waits before it says yes. */
static bool again(struct tries *tries, enum outcome outcome, const struct eph_lvm_job *job)
{
	tries->n++;
	switch (outcome) {
	case CRASHED:
		/* lvm2 2.03.11 to 2.03.16 now and then crash over a device that just went away. */
		if (job->mutating || tries->crashed)
			return false;
		tries->crashed = true;
		return true;
	case LOCKED:
		if (eph_now_ms() + tries->pause_ms > tries->lock_deadline)
			return false;
		break;
	case IN_USE:
		if (!job->retry_in_use || tries->n >= IN_USE_TRIES)
			return false;
		break;
	case FAILED:
		/* 2.03.16: a report beside another program's commit can end with 5 and not a word. */
		if (job->mutating || tries->n >= READ_TRIES)
			return false;
		break;
	default:
		return false;
	}
	pause_ms(tries->pause_ms);
	tries->pause_ms *= 2;
	if (tries->pause_ms > LOCK_PAUSE_MAX_MS)
		tries->pause_ms = LOCK_PAUSE_MAX_MS;
	return true;
}

static void log_call(struct ephlvm_ctx *ctx, const struct eph_lvm_args *args,
		     const struct eph_lvm_result *result, int64_t took_ms)
{
	_cleanup_free_ char *line = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	size_t bytes;

	if (!ctx->log_fn || ctx->log_level < EPHLVM_LOG_DEBUG)
		return;
	f = open_memstream(&line, &bytes);
	if (!f)
		return;
	for (size_t i = 0; i < args->v.n; i++)
		fprintf(f, " %s", args->v.v[i]);
	if (fflush(f) == 0)
		eph_debug(ctx, "lvm%s: status %d after %lld ms", line, result->status,
			  (long long)took_ms);
}

/* No change by LVM without a mark before it and behind it: tests kill at each. */
static int mark(struct ephlvm_ctx *ctx, const struct eph_lvm_call *call, const char *when)
{
	char name[32];

	if (!call->mutating)
		return 0;
	snprintf(name, sizeof(name), "%s-%s", call->argv[0], when);
	return eph_mark(ctx, name);
}

static int run_tries(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend,
		     const struct eph_lvm_args *args, const struct eph_lvm_job *job,
		     struct eph_lvm_result *ret_result)
{
	const struct eph_config *config;
	struct eph_lvm_call call = {
		.argv = (const char *const *)args->v.v,
		.mutating = job->mutating,
	};
	struct tries tries = { .pause_ms = LOCK_PAUSE_FIRST_MS };
	int r;

	r = eph_config_get(ctx, &config);
	if (r < 0)
		return r;
	call.timeout_ms = job->mutating ? config->command_timeout_ms : config->read_timeout_ms;
	tries.lock_deadline = eph_now_ms() + config->lock_timeout_ms;
	for (;;) {
		_cleanup_lvm_result_ struct eph_lvm_result result = { 0 };
		int64_t started = eph_now_ms();
		enum outcome outcome;

		r = mark(ctx, &call, "call");
		if (r == 0)
			r = backend->call(ctx, backend, &call, &result);
		if (r == 0)
			r = mark(ctx, &call, "called");
		if (r < 0)
			return r;
		log_call(ctx, args, &result, eph_now_ms() - started);
		outcome = judge(&result);
		if (outcome == DONE) {
			*ret_result = result;
			memset(&result, 0, sizeof(result));
			return 0;
		}
		if (again(&tries, outcome, job))
			continue;
		return fail_outcome(ctx, outcome, args->v.v[0], job, &call, &result);
	}
}

int eph_lvm_run(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend,
		const struct eph_lvm_args *args, const struct eph_lvm_job *job,
		struct eph_lvm_result *ret_result)
{
	_cleanup_lvm_result_ struct eph_lvm_result result = { 0 };
	int r;

	if (args->error < 0)
		return eph_fail_oom(ctx);
	r = backend->begin(ctx, backend);
	if (r < 0)
		return r;
	r = run_tries(ctx, backend, args, job, &result);
	backend->end(ctx, backend);
	if (r < 0)
		return r;
	if (ret_result) {
		*ret_result = result;
		memset(&result, 0, sizeof(result));
	}
	return 0;
}
