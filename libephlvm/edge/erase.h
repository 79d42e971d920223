/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/erase.h - make the bytes behind a descriptor unreadable, and prove it by reading back.
 * One room for create, purge, scrub and pool init. It knows descriptors, not LVs.
 */
#ifndef EPH_EDGE_ERASE_H
#define EPH_EDGE_ERASE_H

#include "core/context.h"

enum eph_erase_method {
	EPH_ERASE_ZERO, /* every byte is zero afterwards */
	EPH_ERASE_DISCARD, /* discarded, and proven by markers and read-back to be zero; else as zero */
	EPH_ERASE_SHRED, /* random passes, then zero */
	EPH_ERASE_NONE, /* only by an explicit word; never handed to eph_erase_run() */
};

enum eph_erase_verify {
	EPH_VERIFY_OFF,
	EPH_VERIFY_SAMPLE, /* start, end, and random places */
	EPH_VERIFY_FULL,
};

/* How far an erase is: all passes before @pass, and the first @done_bytes of @pass, are on the drive. */
struct eph_erase_point {
	unsigned int pass; /* from 1; 0: not begun */
	uint64_t done_bytes;
};

/*
 * Called each time the drive has flushed what was written so far, at least every 1 GiB or 5 s and at the end of
 * each pass: what is kept now can be resumed from. A failure stops the erase.
 */
typedef int (*eph_erase_checkpoint_fn)(struct ephlvm_ctx *ctx, void *data,
				       const struct eph_erase_point *point);

struct eph_erase_request {
	int fd; /* block device or regular file, opened read-write with O_DIRECT */
	const char *subject; /* "VG/LV" for progress and errors */
	uint64_t size_bytes; /* end of the range, a multiple of the logical block */
	enum eph_erase_method method;
	unsigned int random_passes; /* of shred: 1 to 32 */
	struct eph_erase_point from; /* resume here; all 0 to begin */
	enum eph_erase_verify verify;
	uint64_t rate_bytes_sec; /* 0: as fast as it goes */
	bool idle; /* the calling thread has idle I/O priority meanwhile */
	eph_erase_checkpoint_fn checkpoint_fn; /* may be NULL */
	void *checkpoint_data;
};

struct eph_erase_outcome {
	struct eph_erase_point point; /* where it stands or failed */
	unsigned int passes; /* in all */
	uint64_t written_bytes; /* by this call: written, zeroed or discarded, all passes */
	uint64_t verified_bytes, verified_places; /* read back and found zero */
	const char *
		means; /* literal: how, at the end: "write-zeroes", "discard", "io_uring", "pwrite" */
};

/* Passes that a method takes: 1, for shred its random ones and the zeroes. */
unsigned int eph_erase_passes(enum eph_erase_method method, unsigned int random_passes);

/*
 * Erase [0, @size_bytes): by the device's own Write Zeroes where it has it, which is tried and not looked up
 * (only "not supported" means it has not), else by O_DIRECT writes (io_uring, else pwrite); flush; read back.
 * Progress and cancel between steps.
 * 0; -EIO or the device's errno with the offset in the record and in @ret_outcome (filled on
 * failure too); -ECANCELED; -EILSEQ when bytes read back are not zero.
 */
int eph_erase_run(struct ephlvm_ctx *ctx, const struct eph_erase_request *request,
		  struct eph_erase_outcome *ret_outcome);

/* "zero", "discard", "shred", "none"; "off", "sample", "full" to the value; -EINVAL for other words. */
int eph_erase_method_parse(const char *word, enum eph_erase_method *ret_method);
const char *eph_erase_method_word(enum eph_erase_method method);
int eph_erase_verify_parse(const char *word, enum eph_erase_verify *ret_verify);
const char *eph_erase_verify_word(enum eph_erase_verify verify);

#endif
