/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/lvm_run.h - inside the LVM room: one call through the backend, with the tries that it is worth,
 * and its failure in the error record.
 */
#ifndef EPH_EDGE_LVM_RUN_H
#define EPH_EDGE_LVM_RUN_H

#include "edge/lvm_args.h"

struct eph_lvm_job {
	const char *subject; /* what the call is about, for the record */
	bool mutating;
	bool retry_in_use; /* somebody may hold the LV for a moment only (udev): try again */
};

/*
 * Run @args. A held lock is tried again until the lock deadline; a reading call that crashed is run once
 * more. 0 when LVM exited with 0 in time, else -errno with the record set. @ret_result may be NULL.
 */
int eph_lvm_run(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend,
		const struct eph_lvm_args *args, const struct eph_lvm_job *job,
		struct eph_lvm_result *ret_result);

#define _cleanup_lvm_result_ __attribute__((cleanup(eph_lvm_result_clear)))

#endif
