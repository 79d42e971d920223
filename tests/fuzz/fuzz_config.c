// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * fuzz_config.c - the configuration document under arbitrary bytes. What is accepted must show itself
 * as a document that is accepted again and shows itself the same way.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pure/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct eph_config *parse(struct ephlvm_ctx *ctx, const char *json, size_t n)
{
	struct eph_config *config = NULL;

	eph_enter(ctx);
	if (eph_config_parse(ctx, "fuzz", json, n, &config) < 0)
		return NULL;
	return config;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct eph_config *once, *twice;
	char *text = NULL, *again = NULL;
	struct ephlvm_ctx *ctx;

	if (ephlvm_ctx_new(&ctx) < 0)
		return 0;
	once = parse(ctx, (const char *)data, size);
	if (once) {
		if (eph_config_text(ctx, once, &text) < 0)
			abort();
		twice = parse(ctx, text, strlen(text));
		if (!twice || eph_config_text(ctx, twice, &again) < 0 || strcmp(text, again) != 0)
			abort();
		eph_config_free(twice);
	}
	eph_config_free(once);
	free(text);
	free(again);
	ephlvm_ctx_unref(ctx);
	return 0;
}
