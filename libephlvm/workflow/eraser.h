/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * workflow/eraser.h - an erase in a thread of its own, so that drives are erased beside each other while
 * the caller goes on with LVM. The thread has a context of its own; what it logs and how far it is are
 * handed on by the caller's thread, so that a caller's callbacks never run in another one.
 */
#ifndef EPH_WORKFLOW_ERASER_H
#define EPH_WORKFLOW_ERASER_H

#include "core/context.h"
#include "edge/erase.h"

struct eph_eraser;

/*
 * Start. @bell_fd is an eventfd that is rung at the end. @request is copied; its descriptor and subject stay the
 * caller's, until eph_eraser_end(). @lv_uuid: keep checkpoints for that volume; NULL for none.
 */
int eph_eraser_start(struct ephlvm_ctx *ctx, const struct eph_erase_request *request,
		     const char *lv_uuid, int bell_fd, struct eph_eraser **ret_eraser);

/* Hand on what it logged. True when it has ended. @ret_progress: as last reported. */
bool eph_eraser_poll(struct ephlvm_ctx *ctx, struct eph_eraser *eraser,
		     struct ephlvm_progress *ret_progress);

/* It is to stop at its next step, at a place that can be resumed. */
void eph_eraser_cancel(struct eph_eraser *eraser);

/*
 * Wait for the end and free it. Returns what the erase returned, its record in @ctx.
 * @ret_outcome is filled in any case.
 */
int eph_eraser_end(struct ephlvm_ctx *ctx, struct eph_eraser *eraser,
		   struct eph_erase_outcome *ret_outcome);

#endif
