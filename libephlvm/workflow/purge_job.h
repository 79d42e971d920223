/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * workflow/purge_job.h - one volume of a purge, from trash to gone: begun, erased in a thread, removed
 * together with others.
 */
#ifndef EPH_WORKFLOW_PURGE_JOB_H
#define EPH_WORKFLOW_PURGE_JOB_H

#include "core/context.h"
#include "edge/erase.h"
#include "edge/lock.h"
#include "edge/virt.h"
#include "object/volume.h"
#include "workflow/eraser.h"

/* How a purge erases. */
struct eph_purge_policy {
	enum eph_erase_method method;
	enum eph_erase_verify verify;
	unsigned int random_passes;
	uint64_t rate_bytes_sec;
	int bell_fd; /* eventfd that each ended erase rings */
};

enum eph_purge_stage {
	EPH_PURGE_WAITING, /* for a lock, or for its turn on a drive */
	EPH_PURGE_ERASING,
	EPH_PURGE_ERASED, /* receipt written; still open and locked; to be removed */
	EPH_PURGE_DONE,
};

struct eph_purge_job {
	const struct ephlvm_volume *was; /* as selected */
	enum eph_purge_stage stage;
	int64_t deadline_ms; /* CLOCK_MONOTONIC: until when its own lock is waited for */
	int64_t retry_ms; /* not to be tried before */
	bool told; /* that it waits has been said */

	struct eph_lock *lock, **drive_locks;
	size_t n_drive_locks;
	struct eph_lvm_view *view;
	struct eph_vg *vg; /* in @view */
	struct ephlvm_volume *now;
	int fd;
	bool unerased; /* by policy */
	bool proven; /* its last proof held, or nothing was erased that could be another's */
	struct eph_eraser *eraser;
	struct eph_erase_point from;
	struct eph_erase_outcome outcome;
	int64_t started_at, erased_ms;
	char *receipt; /* the line as written; NULL until then */
};

void eph_purge_job_init(struct eph_purge_job *job, const struct ephlvm_volume *was,
			int64_t deadline_ms);
void eph_purge_job_clear(struct eph_purge_job *job);

/*
 * Lock it, look again, mark it, start its erase: stage ERASING, or ERASED where the method is none, or DONE
 * where it was gone already. -EAGAIN, without a record: a lock is not to be had yet. Other errors: it is
 * DONE and stays trash.
 */
int eph_purge_job_begin(struct ephlvm_ctx *ctx, const struct eph_purge_policy *policy,
			const struct eph_virt_uses *uses, struct eph_purge_job *job);

/* Its thread has ended. 0: stage ERASED. Else it is DONE, and why is in its tags where it is the drive's fault. */
int eph_purge_job_finish(struct ephlvm_ctx *ctx, const struct eph_purge_policy *policy,
			 struct eph_purge_job *job);

/*
 * Remove those of one VG together: proven once more, closed, one LVM call, looked for again. Stage DONE for
 * each; @ret_results[i] is 0 for gone. Errors are in @errors, one each, owned by the caller.
 */
void eph_purge_jobs_remove(struct ephlvm_ctx *ctx, struct eph_purge_job *const *jobs, size_t n,
			   int *ret_results, struct eph_error *ret_errors);

#endif
