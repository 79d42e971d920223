/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * base.h - what every public header needs: the version, the export mark and
 * the C linkage brackets. Only standard headers are included from here.
 */
#ifndef EPHLVM_BASE_H
#define EPHLVM_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EPHLVM_VERSION_MAJOR 0
#define EPHLVM_VERSION_MINOR 1
#define EPHLVM_VERSION_PATCH 0

#if defined(__GNUC__)
#define EPHLVM_EXPORT __attribute__((visibility("default")))
#else
#define EPHLVM_EXPORT
#endif

#ifdef __cplusplus
#define EPHLVM_BEGIN_DECLS extern "C" {
#define EPHLVM_END_DECLS }
#else
#define EPHLVM_BEGIN_DECLS
#define EPHLVM_END_DECLS
#endif

EPHLVM_BEGIN_DECLS

/**
 * ephlvm_version - version of the library that is running
 *
 * Return: a static string "MAJOR.MINOR.PATCH". Never NULL.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT const char *ephlvm_version(void);

EPHLVM_END_DECLS

#endif
