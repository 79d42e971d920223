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

/** EPHLVM_SIZE_TEXT - bytes that ephlvm_size_format() writes at most, the NUL included */
#define EPHLVM_SIZE_TEXT 32

/**
 * ephlvm_size_parse - read a size as operators write it
 * @text: decimal digits, then nothing (bytes) or one of K M G T P, KiB MiB ... (powers of
 *        1024); not NULL
 * @ret_bytes: receives the size in bytes; not NULL
 *
 * Does no I/O and needs no context.
 *
 * Return: 0, or -EINVAL (not a size), -EPROTO (KB, MB ...: a power of 1000 is never meant),
 * -ERANGE (above 2^63 - 1), -ENOMEM.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_size_parse(const char *text, uint64_t *ret_bytes);

/**
 * ephlvm_size_format - write a size for people: "25 GiB", "1.50 GiB", "512 B"
 * @bytes: size in bytes
 * @buf: receives the text; EPHLVM_SIZE_TEXT bytes are always enough; not NULL
 *
 * Return: @buf.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT char *ephlvm_size_format(uint64_t bytes, char buf[EPHLVM_SIZE_TEXT]);

EPHLVM_END_DECLS

#endif
