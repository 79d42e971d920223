/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/erase_write.h - direct writes of zeroes or random bytes, many under way at a time where the kernel has
 * io_uring, else one after the other.
 */
#ifndef EPH_EDGE_ERASE_WRITE_H
#define EPH_EDGE_ERASE_WRITE_H

#include "core/context.h"

struct eph_writer;

/* One write, and the alignment that every drive of today takes. */
#define EPH_WRITE_BYTES ((size_t)1 << 20)
#define EPH_WRITE_ALIGN 4096

/* 0 or -ENOMEM. That there is no io_uring, or no leave to use it, is no failure. */
int eph_writer_new(struct ephlvm_ctx *ctx, int fd, struct eph_writer **ret_writer);

/* Takes NULL. Nothing is under way any more. */
void eph_writer_free(struct eph_writer *writer);

/*
 * Write @bytes at @offset. @ret_done: how many of them, without a gap, are written, also on failure.
 * 0 or -errno of the first that failed, without a record.
 */
int eph_writer_run(struct eph_writer *writer, bool random, uint64_t offset, uint64_t bytes,
		   uint64_t *ret_done);

/* Literal: "io_uring" or "pwrite". */
const char *eph_writer_means(const struct eph_writer *writer);

/* The kernel's random bytes. 0 or -EIO. */
int eph_fill_random(void *buf, size_t bytes);

#endif
