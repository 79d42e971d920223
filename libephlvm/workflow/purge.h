/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * workflow/purge.h - erase and free trash; used by purge, delete --wait and scrub.
 */
#ifndef EPH_WORKFLOW_PURGE_H
#define EPH_WORKFLOW_PURGE_H

#include "core/context.h"
#include "object/volume.h"

/*
 * Erase and free each of @volumes (trash when they were read; looked at again under their lock).
 * @wait_ms: how long to wait for another process that erases one. Goes on after a failure. Calls
 * @opts->purged_fn. Returns as ephlvm_purge().
 */
int eph_purge_volumes(struct ephlvm_ctx *ctx, const struct ephlvm_volumes *volumes,
		      const struct ephlvm_purge_opts *opts, unsigned int wait_ms);

/* Are the options of a purge, and the configuration's, such that one can begin? */
int eph_purge_check(struct ephlvm_ctx *ctx, const struct ephlvm_purge_opts *opts);

/* What a dry run says of one volume. @method: as in the options; NULL for the configuration's. */
void eph_purge_plan(struct ephlvm_ctx *ctx, const struct ephlvm_volume *volume, const char *method);

/* Tell the caller of one volume; fills in the size. */
void eph_purge_report(const struct ephlvm_purge_opts *opts, struct ephlvm_purged *purged);

/*
 * Volumes that became trash just now, in the order and under the names that the caller knew them by
 * (@former), behind the other trash: so that a plan and the real run say the same.
 */
int eph_volumes_keep_names(struct ephlvm_ctx *ctx, struct ephlvm_volumes *trash,
			   const struct ephlvm_volumes *former);

#endif
