/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * cleanup.h - typed cleanup attributes for plain memory, descriptors and streams.
 * Each object room defines its own attribute beside its own destructor.
 */
#ifndef EPH_UTIL_CLEANUP_H
#define EPH_UTIL_CLEANUP_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void eph_freep(void *p)
{
	free(*(void **)p);
}

static inline void eph_closep(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

static inline void eph_fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

#define _cleanup_free_ __attribute__((cleanup(eph_freep)))
#define _cleanup_close_ __attribute__((cleanup(eph_closep)))
#define _cleanup_fclose_ __attribute__((cleanup(eph_fclosep)))

/* Hand a pointer or a descriptor on: the cleanup of the old variable then does nothing. */
#define eph_steal(p)                         \
	({                                   \
		__typeof__(p) stolen_ = (p); \
		(p) = NULL;                  \
		stolen_;                     \
	})

static inline int eph_steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -1;
	return stolen;
}

#endif
