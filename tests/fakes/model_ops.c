// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * model_ops.c - the public operations, asked for on the model of a host. Owns no rule: what must hold behind
 * them is the tests'.
 */
#include "fakes/model_ops.h"

#include "fakes/model_host.h"

int model_op_create(struct ephlvm_ctx *ctx, const char *instance, const char *fs)
{
	struct ephlvm_create_opts o = EPHLVM_CREATE_OPTS_INIT;
	struct ephlvm_volumes *volumes = NULL;
	int r;

	o.instance = instance;
	o.flavor = "cc.micro";
	o.size_bytes = MODEL_SLOT_BYTES;
	o.fs = fs;
	r = ephlvm_create(ctx, &o, &volumes);
	ephlvm_volumes_free(volumes);
	return r;
}

int model_op_delete(struct ephlvm_ctx *ctx, const char *instance, unsigned int flags)
{
	struct ephlvm_delete_opts o = EPHLVM_DELETE_OPTS_INIT;

	o.instance = instance;
	o.flags = flags;
	return ephlvm_delete(ctx, &o, NULL);
}

int model_op_restore(struct ephlvm_ctx *ctx, const char *instance)
{
	struct ephlvm_restore_opts o = EPHLVM_RESTORE_OPTS_INIT;
	struct ephlvm_volumes *volumes = NULL;
	int r;

	o.name = instance;
	r = ephlvm_restore(ctx, &o, &volumes);
	ephlvm_volumes_free(volumes);
	return r;
}

int model_op_hold(struct ephlvm_ctx *ctx, const char *instance, bool release)
{
	struct ephlvm_hold_opts o = EPHLVM_HOLD_OPTS_INIT;

	o.name = instance;
	o.release = release;
	return ephlvm_hold(ctx, &o, NULL);
}

int model_op_purge(struct ephlvm_ctx *ctx, const char *method)
{
	struct ephlvm_purge_opts o = EPHLVM_PURGE_OPTS_INIT;

	o.method = method;
	return ephlvm_purge(ctx, &o);
}

int model_op_scrub(struct ephlvm_ctx *ctx)
{
	return ephlvm_pool_scrub(ctx, NULL, 0);
}

int model_op_activate(struct ephlvm_ctx *ctx)
{
	struct ephlvm_activate_opts o = EPHLVM_ACTIVATE_OPTS_INIT;

	o.flags = EPHLVM_ALL;
	return ephlvm_activate(ctx, &o, NULL);
}
