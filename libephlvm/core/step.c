// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * step.c - the marks that every workflow sets before each change outside this process.
 * Progress, error records and the crash tests hang on them. In test builds alone a mark can stop
 * the process or fail; a released library has no such switch, so no environment can trigger it.
 */
#include "core/context.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef EPH_TEST_STOPS
static _Atomic unsigned int marks_seen; /* several threads of a purge set marks */

/* True when @spec ("NAME", "NAME:COUNT" or "#N") names this mark. */
static bool mark_hit(const char *spec, const char *name, unsigned int mine,
		     _Atomic unsigned int *seen)
{
	size_t len = strcspn(spec, ":");
	unsigned long count = 1;

	if (spec[0] == '#')
		return strtoul(spec + 1, NULL, 10) == mine;
	if (strlen(name) != len || strncmp(spec, name, len) != 0)
		return false;
	if (spec[len] == ':')
		count = strtoul(spec + len + 1, NULL, 10);
	return ++*seen == count;
}

static int test_stop(struct ephlvm_ctx *ctx, const char *name)
{
	static _Atomic unsigned int stop_seen, fail_seen;
	const char *stop = getenv("EPHLVM_STOP_AT"), *fail = getenv("EPHLVM_FAIL_AT");
	unsigned int mine = ++marks_seen;

	if (stop && mark_hit(stop, name, mine, &stop_seen))
		kill(getpid(), SIGKILL);
	if (fail && mark_hit(fail, name, mine, &fail_seen))
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, NULL, NULL,
				"step \"%s\" made to fail by EPHLVM_FAIL_AT", name);
	return 0;
}
#endif

int eph_mark(struct ephlvm_ctx *ctx, const char *name)
{
	eph_debug(ctx, "step %s", name);
#ifdef EPH_TEST_STOPS
	return test_stop(ctx, name);
#else
	return 0;
#endif
}

int eph_step(struct ephlvm_ctx *ctx, const char *name)
{
	ctx->stage = name;
	return eph_mark(ctx, name);
}
