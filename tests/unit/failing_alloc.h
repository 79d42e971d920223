/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * failing_alloc.h - make each allocation of the code under test fail in turn. For programs that
 * eph_failing_alloc() of CMakeLists.txt has prepared.
 */
#ifndef EPH_TESTS_FAILING_ALLOC_H
#define EPH_TESTS_FAILING_ALLOC_H

#include <stdbool.h>

/* The @nth allocation from now on fails, counted from 0. */
void failing_alloc_arm(unsigned int nth);
/* Allocations work again. Returns whether that one was reached. */
bool failing_alloc_disarm(void);

#endif
