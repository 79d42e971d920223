// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * receipts.c - the list of receipts that a caller asks for.
 * Owns the list. Must not write: purge does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ephlvm/receipt.h>

#include "edge/conffile.h"
#include "edge/receipt.h"
#include "pure/naming.h"
#include "util/cleanup.h"

struct ephlvm_receipts {
	struct eph_strv lines;
	char *broken;
};

struct filter {
	struct ephlvm_receipts *receipts;
	const char *instance;
};

static int take(struct ephlvm_ctx *ctx, void *data, const char *line, const char *instance)
{
	struct filter *filter = data;

	if (filter->instance && strcmp(filter->instance, instance) != 0)
		return 0;
	return eph_strv_add(&filter->receipts->lines, line) < 0 ? eph_fail_oom(ctx) : 0;
}

static void receipts_freep(struct ephlvm_receipts **receipts)
{
	ephlvm_receipts_free(*receipts);
}

int ephlvm_receipts_read(struct ephlvm_ctx *ctx, const struct ephlvm_receipts_opts *opts,
			 struct ephlvm_receipts **ret_receipts)
{
	__attribute__((cleanup(receipts_freep))) struct ephlvm_receipts *receipts = NULL;
	struct ephlvm_receipts_opts o = EPHLVM_RECEIPTS_OPTS_INIT;
	char instance[EPH_UUID_TEXT];
	struct filter filter = { 0 };
	const struct eph_config *config;
	int r;

	eph_enter(ctx);
	r = opts ? eph_opts_import(ctx, &o, sizeof(o), opts) : 0;
	if (r == 0 && o.instance) {
		r = eph_instance_parse(ctx, o.instance, instance);
		filter.instance = instance;
	}
	if (r == 0)
		r = eph_config_get(ctx, &config);
	if (r < 0)
		return r;
	receipts = calloc(1, sizeof(*receipts));
	if (!receipts)
		return eph_fail_oom(ctx);
	filter.receipts = receipts;
	r = eph_receipt_read(ctx, config->lock_timeout_ms, take, &filter, &receipts->broken);
	if (r == 0)
		*ret_receipts = eph_steal(receipts);
	return r;
}

size_t ephlvm_receipts_count(const struct ephlvm_receipts *receipts)
{
	return receipts ? receipts->lines.n : 0;
}

const char *ephlvm_receipts_at(const struct ephlvm_receipts *receipts, size_t index)
{
	return index < receipts->lines.n ? receipts->lines.v[index] : NULL;
}

const char *ephlvm_receipts_broken(const struct ephlvm_receipts *receipts)
{
	return receipts->broken;
}

void ephlvm_receipts_free(struct ephlvm_receipts *receipts)
{
	if (!receipts)
		return;
	eph_strv_clear(&receipts->lines);
	free(receipts->broken);
	free(receipts);
}
