// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * consumer.c - a program of somebody else: prints the library's version and a built-in flavor.
 */
#include <stdio.h>

#include <ephlvm/ephlvm.h>

int main(void)
{
	const struct ephlvm_flavor *flavor = NULL;
	struct ephlvm_ctx *ctx = NULL;
	int r;

	r = ephlvm_ctx_new(&ctx);
	if (r == 0)
		r = ephlvm_flavor_find(ctx, "cc.small", &flavor);
	if (r == 0)
		printf("%s %s\n", ephlvm_version(), ephlvm_flavor_name(flavor));
	else
		fprintf(stderr, "%s\n", ctx ? ephlvm_error_message(ctx) : "no context");
	ephlvm_ctx_unref(ctx);
	return r == 0 ? 0 : 1;
}
