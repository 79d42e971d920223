/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * log_writes.h - a log of dm-log-writes, entry by entry, and its entries applied to another drive.
 *
 * The log is in the order in which writes became durable: a plain write or a discard stands right
 * before the first flush that began after its completion, a FUA write where it completed. What
 * stands behind the last flush and is not FUA was in the drive's cache only.
 */
#ifndef EPHLVM_LAB_LOG_WRITES_H
#define EPHLVM_LAB_LOG_WRITES_H

#include <stdbool.h>
#include <stdint.h>

#define LW_MARK_MAX 256

enum lw_flag {
	LW_FLUSH = 1 << 0,
	LW_FUA = 1 << 1,
	LW_DISCARD = 1 << 2,
	LW_MARK = 1 << 3,
	LW_METADATA = 1 << 4,
};

struct lw_log {
	int fd;
	uint64_t size_bytes;
	uint32_t sector_bytes; /* the unit of everything in the log */
	uint64_t n_entries;
	uint64_t next_index; /* of what lw_next() gives */
	uint64_t next_offset;
	char error[256];
};

struct lw_entry {
	uint64_t index; /* from 0 */
	uint64_t offset_bytes, size_bytes; /* on the logged drive */
	uint64_t flags;
	uint64_t data_offset; /* in the log, size_bytes long; none for a discard */
	char mark[LW_MARK_MAX]; /* "" if it is none; anything but plain characters is '?' */
};

/* Each returns 0 or a negative errno with the words in @log->error. lw_close() fits after any of them. */
int lw_open(struct lw_log *log, const char *path);
void lw_close(struct lw_log *log);
void lw_rewind(struct lw_log *log);
/* *@ret_more is false behind the last entry. */
int lw_next(struct lw_log *log, struct lw_entry *ret_entry, bool *ret_more);

/* What a drive is left with where it was told to discard: both are allowed to it. */
enum lw_discard { LW_DISCARD_KEEPS, LW_DISCARD_ZEROES };

struct lw_replay {
	uint64_t from, to; /* indexes, both included */
	enum lw_discard discard;
	/*
	 * What of the cache got to the drive after all: of the entries behind the last flush, those that
	 * end at or before @keep_below_bytes or begin at or behind @keep_from_bytes. 0 and UINT64_MAX:
	 * none of it.
	 */
	uint64_t keep_below_bytes, keep_from_bytes;
};
struct lw_replayed {
	uint64_t writes, bytes, discards, flushes;
	uint64_t dropped; /* were in the cache only */
};

/* Apply the entries to @fd, a drive or an image of @size_bytes, and flush it. */
int lw_replay(struct lw_log *log, const struct lw_replay *replay, int fd, uint64_t size_bytes,
	      struct lw_replayed *ret_replayed);

#endif
