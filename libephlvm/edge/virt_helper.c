// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * virt_helper.c - the program ephlvm-virt: one verb of the libvirt edge, its answer on stdout.
 * Started by edge/virt.c and by nobody else; see there for the form of the answer. Must not do
 * anything but call the verb and write.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/context.h"
#include "edge/virt_ops.h"
#include "edge/virt_wire.h"
#include "util/text.h"

static void put(const char *field)
{
	fputs(field ? field : "", stdout);
	fputc('\0', stdout);
}

/* NULL and "" are two things here: a field that may be NULL has a mark before it. */
static void put_or_null(const char *field)
{
	put(field ? "+" : "-");
	put(field);
}

static void put_number(uint64_t n)
{
	printf("%llu", (unsigned long long)n);
	fputc('\0', stdout);
}

static void put_failure(const struct ephlvm_ctx *ctx)
{
	put(EPH_VIRT_FAILED);
	put_number((uint64_t)ephlvm_error_kind(ctx));
	put_number((uint64_t)ephlvm_error_errno(ctx));
	put(ephlvm_error_subject(ctx));
	put(ephlvm_error_message(ctx));
	put(ephlvm_error_hint(ctx));
}

static int do_read(struct ephlvm_ctx *ctx, const char *uri)
{
	struct eph_virt_uses uses = { 0 };
	int r;

	r = eph_virt_ops_read(ctx, uri, &uses);
	if (r < 0)
		return r;
	put(EPH_VIRT_DONE);
	for (size_t i = 0; i < uses.n; i++) {
		const struct eph_virt_use *u = &uses.uses[i];

		put(u->domain_name);
		put(u->domain_uuid);
		put(u->source);
		put_or_null(u->target);
		put_number(u->devno);
		put_number(u->active);
		put_number(u->live);
	}
	eph_virt_uses_clear(&uses);
	return 0;
}

static int do_domain(struct ephlvm_ctx *ctx, const char *uri, const char *domain)
{
	struct eph_virt_domain d = { 0 };
	int r;

	r = eph_virt_ops_domain(ctx, uri, domain, &d);
	if (r < 0)
		return r;
	put(EPH_VIRT_DONE);
	put(d.name);
	put(d.uuid);
	put_number(d.active);
	put_number(d.persistent);
	put_or_null(d.xml);
	put_or_null(d.live_xml);
	eph_virt_domain_clear(&d);
	return 0;
}

/* @argv: VERB URI [DOMAIN ...]. -EINVAL without a record where it is none of ours. */
static int run(struct ephlvm_ctx *ctx, int argc, char **argv)
{
	uint64_t number = 0;
	int r = 0;

	if (argc == 6)
		r = eph_u64_parse(argv[5], &number);
	if (r < 0 || argc < 3)
		return -EINVAL;
	if (argc == 3 && eph_streq(argv[1], EPH_VIRT_VERB_READ))
		return do_read(ctx, argv[2]);
	if (argc == 4 && eph_streq(argv[1], EPH_VIRT_VERB_DOMAIN))
		return do_domain(ctx, argv[2], argv[3]);
	if (argc == 6 && eph_streq(argv[1], EPH_VIRT_VERB_ATTACH))
		r = eph_virt_ops_attach(ctx, argv[2], argv[3], argv[4], (unsigned int)number);
	else if (argc == 6 && eph_streq(argv[1], EPH_VIRT_VERB_DETACH))
		r = eph_virt_ops_detach(ctx, argv[2], argv[3], argv[4], (unsigned int)number);
	else
		return -EINVAL;
	if (r == 0)
		put(EPH_VIRT_DONE);
	return r;
}

int main(int argc, char **argv)
{
	struct ephlvm_ctx *ctx;
	int r;

	if (ephlvm_ctx_new(&ctx) < 0)
		return EXIT_FAILURE;
	eph_virt_ops_init();
	r = run(ctx, argc, argv);
	if (r < 0 && ephlvm_error_kind(ctx) == EPHLVM_ERROR_NONE) {
		fputs("ephlvm-virt is a part of libephlvm, not to be called by hand\n", stderr);
		ephlvm_ctx_unref(ctx);
		return 2;
	}
	if (r < 0)
		put_failure(ctx);
	put(EPH_VIRT_END);
	ephlvm_ctx_unref(ctx);
	return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
