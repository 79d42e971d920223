// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * size.c - sizes as text, for callers: the public face of util/text.h.
 * Owns nothing. Must not decide anything itself: one parser serves command line and configuration.
 */
#include <errno.h>

#include <ephlvm/base.h>

#include "util/text.h"

_Static_assert(EPHLVM_SIZE_TEXT == EPH_SIZE_TEXT, "public and internal buffer sizes differ");

int ephlvm_size_parse(const char *text, uint64_t *ret_bytes)
{
	if (!text || !ret_bytes)
		return -EINVAL;
	return eph_size_parse(text, ret_bytes);
}

char *ephlvm_size_format(uint64_t bytes, char buf[EPHLVM_SIZE_TEXT])
{
	return eph_size_format(bytes, buf);
}
