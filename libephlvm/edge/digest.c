// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * digest.c - SHA-256, by libgcrypt.
 * Owns the library's one-time set-up. Must not know what is hashed.
 */
#include "edge/digest.h"

#include <errno.h>
#include <gcrypt.h>
#include <pthread.h>
#include <stdbool.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Only where the program has not done it: secure memory is for keys, and none are here. */
static void init(void)
{
	if (gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P))
		return;
	if (!gcry_check_version(NULL))
		return;
	gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
	gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
}

int eph_sha256(const void *data, size_t bytes, char ret_hex[EPH_SHA256_TEXT])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char sum[32];

	pthread_once(&once, init);
	if (gcry_md_test_algo(GCRY_MD_SHA256) != 0 ||
	    gcry_md_get_algo_dlen(GCRY_MD_SHA256) != sizeof(sum))
		return -ENOSYS;
	gcry_md_hash_buffer(GCRY_MD_SHA256, sum, data, bytes);
	for (size_t i = 0; i < sizeof(sum); i++) {
		ret_hex[2 * i] = digits[sum[i] >> 4];
		ret_hex[2 * i + 1] = digits[sum[i] & 15];
	}
	ret_hex[64] = '\0';
	return 0;
}
