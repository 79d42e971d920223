/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * clock.h - time that only goes on: for deadlines and pauses, the same in all processes of the host.
 */
#ifndef EPH_UTIL_CLOCK_H
#define EPH_UTIL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t eph_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static inline int64_t eph_now_ms(void)
{
	return eph_now_ns() / 1000000;
}

static inline void eph_sleep_ms(int64_t ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

#endif
