// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * fuzz_domxml.c - domain documents of arbitrary bytes. What is added is one run of bytes; removal
 * gives the document back; adding twice is adding once; what is removed is gone; and no document is
 * anything but taken or refused.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/context.h"
#include "pure/domxml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct text {
	char *s;
	size_t bytes;
};

static void must(bool holds)
{
	if (!holds)
		abort();
}

static bool same(const struct text *a, const struct text *b)
{
	return a->bytes == b->bytes && memcmp(a->s, b->s, a->bytes) == 0;
}

/* Is @longer nothing but @shorter with one run of bytes put in? */
static bool is_insertion(const struct text *shorter, const struct text *longer)
{
	size_t head = 0, tail = 0, bytes = shorter->bytes;

	if (longer->bytes < bytes)
		return false;
	while (head < bytes && shorter->s[head] == longer->s[head])
		head++;
	while (tail < bytes - head &&
	       shorter->s[bytes - 1 - tail] == longer->s[longer->bytes - 1 - tail])
		tail++;
	return head + tail == bytes;
}

static void check_refusal(struct ephlvm_ctx *ctx)
{
	enum ephlvm_error_kind kind = ephlvm_error_kind(ctx);

	must(kind == EPHLVM_ERROR_INVALID || kind == EPHLVM_ERROR_BUSY);
	must(ephlvm_error_message(ctx)[0] != '\0' && !strchr(ephlvm_error_message(ctx), '\n'));
}

static bool try_add(struct ephlvm_ctx *ctx, const struct text *in, const char *target,
		    struct text *ret_out)
{
	struct ephlvm_xml_opts opts = EPHLVM_XML_OPTS_INIT;

	opts.source = "/dev/vg/lv";
	opts.target = target;
	opts.iothread = 1;
	opts.read_bytes_sec = 1;
	if (ephlvm_xml_add(ctx, in->s, in->bytes, &opts, &ret_out->s, &ret_out->bytes) == 0)
		return true;
	check_refusal(ctx);
	return false;
}

static bool try_remove(struct ephlvm_ctx *ctx, const struct text *in, struct text *ret_out)
{
	struct ephlvm_xml_opts opts = EPHLVM_XML_OPTS_INIT;

	opts.source = "/dev/vg/lv";
	if (ephlvm_xml_remove(ctx, in->s, in->bytes, &opts, &ret_out->s, &ret_out->bytes) == 0)
		return true;
	check_refusal(ctx);
	return false;
}

static void check_add(struct ephlvm_ctx *ctx, const struct text *in, const char *target)
{
	struct text once = { NULL, 0 }, twice = { NULL, 0 }, back = { NULL, 0 };

	if (!try_add(ctx, in, target, &once))
		return;
	must(is_insertion(in, &once));
	must(try_add(ctx, &once, target, &twice) && same(&once, &twice));
	must(try_remove(ctx, &once, &back));
	must(same(&once, in) || same(&back, in));
	free(once.s);
	free(twice.s);
	free(back.s);
}

static void check_remove(struct ephlvm_ctx *ctx, const struct text *in)
{
	struct text once = { NULL, 0 }, twice = { NULL, 0 };

	if (!try_remove(ctx, in, &once))
		return;
	must(is_insertion(&once, in));
	must(try_remove(ctx, &once, &twice) && same(&once, &twice));
	free(once.s);
	free(twice.s);
}

static void check_read(struct ephlvm_ctx *ctx, const struct text *in)
{
	struct eph_domxml_disks disks;

	eph_enter(ctx);
	if (eph_domxml_read_disks(ctx, in->s, in->bytes, &disks) == 0)
		eph_domxml_disks_clear(&disks);
	else
		check_refusal(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct text in = { (char *)(uintptr_t)data, size };
	struct ephlvm_ctx *ctx;

	if (!data || ephlvm_ctx_new(&ctx) < 0)
		return 0;
	check_add(ctx, &in, "vdb");
	check_add(ctx, &in, "auto");
	check_remove(ctx, &in);
	check_read(ctx, &in);
	ephlvm_ctx_unref(ctx);
	return 0;
}
