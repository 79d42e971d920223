/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/digest.h - SHA-256, by libgcrypt.
 */
#ifndef EPH_EDGE_DIGEST_H
#define EPH_EDGE_DIGEST_H

#include <stddef.h>

/* 64 hexadecimal digits and NUL. */
#define EPH_SHA256_TEXT 65

/* 0, or -ENOSYS where the library has no SHA-256 (it refuses in some FIPS states). */
int eph_sha256(const void *data, size_t bytes, char ret_hex[EPH_SHA256_TEXT]);

#endif
