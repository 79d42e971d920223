/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * model_ops.h - the public operations as tests on the model of a host ask for them: 0 or -errno.
 */
#ifndef TESTS_FAKES_MODEL_OPS_H
#define TESTS_FAKES_MODEL_OPS_H

#include <stdbool.h>

#include <ephlvm/ephlvm.h>

/* One slot of the model, eph0, with the file system named by @fs. */
int model_op_create(struct ephlvm_ctx *ctx, const char *instance, const char *fs);
int model_op_delete(struct ephlvm_ctx *ctx, const char *instance, unsigned int flags);
int model_op_restore(struct ephlvm_ctx *ctx, const char *instance);
int model_op_hold(struct ephlvm_ctx *ctx, const char *instance, bool release);
/* @method: NULL for the configured one. */
int model_op_purge(struct ephlvm_ctx *ctx, const char *method);
int model_op_scrub(struct ephlvm_ctx *ctx);
/* All of them, as at boot. */
int model_op_activate(struct ephlvm_ctx *ctx);

#endif
