/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/receipt.h - the record of each finished erase: a line of JSON in
 * /var/lib/ephlvm/receipts/receipts.jsonl, appended and fsynced before the volume is removed, and the same in
 * the journal. Each line carries the SHA-256 of the one before.
 */
#ifndef EPH_EDGE_RECEIPT_H
#define EPH_EDGE_RECEIPT_H

#include "core/context.h"
#include "util/text.h"

struct eph_receipt {
	/* all text is owned by the caller when appended; NULL where unknown */
	const char *vg, *lv, *vg_uuid, *lv_uuid, *instance, *disk, *flavor, *pool;
	const struct eph_strv *drives; /* serials of the drives that the volume lay on */
	uint64_t size_bytes;
	const char *method; /* "zero", "discard", "shred", "none" */
	const char *means; /* as eph_erase_outcome.means; NULL for method none */
	unsigned int passes;
	uint64_t written_bytes; /* by the process that finished it; more may have been written before */
	const char *verify; /* "off", "sample", "full" */
	uint64_t verified_bytes, verified_places;
	int64_t started_at, ended_at; /* unix seconds; of the process that finished it */
	uint64_t resumed_bytes; /* what had been done when that process began; 0 for a whole erase */
};

/*
 * Append the receipt, adding who called (uid, audit login uid, pid, command), fsync file and folder, and
 * hand it to the journal (no journal is no error). One writer at a time, over processes; waits for
 * the other up to @timeout_ms (-ETIMEDOUT) and may be cancelled then. A last line that a crash
 * cut short is taken off first: its volume was not removed. @ret_line receives the line as written, without
 * its end; owned by the caller. 0, or -errno with its record (kind SYSTEM for root, whatever the errno): then the
 * volume must not be removed.
 */
int eph_receipt_append(struct ephlvm_ctx *ctx, const struct eph_receipt *receipt,
		       unsigned int timeout_ms, char **ret_line);

/* Each line in order, also of files that were rotated; a failure of it ends the reading. */
typedef int (*eph_receipt_line_fn)(struct ephlvm_ctx *ctx, void *data, const char *line,
				   const char *instance);

/*
 * Read all receipts; @timeout_ms as above. @instance of the callback is "" where the line has none, or is none. @ret_broken: where the
 * chain is broken first, as "FILE, line N: why"; NULL where it holds; owned by the caller. A last line that a
 * crash cut short is left out, and breaks nothing. Writers are held up while the files are counted only, not
 * while they are read; memory for one line is used. 0 or -errno with its record.
 */
int eph_receipt_read(struct ephlvm_ctx *ctx, unsigned int timeout_ms, eph_receipt_line_fn fn,
		     void *data, char **ret_broken);

#endif
