/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/erase.h - make the bytes behind a descriptor unreadable, and prove it by reading back.
 * One room for create, purge, scrub and pool init. It knows descriptors, not LVs.
 */
#ifndef EPH_EDGE_ERASE_H
#define EPH_EDGE_ERASE_H

#include "core/context.h"

enum eph_erase_verify {
	EPH_VERIFY_OFF,
	EPH_VERIFY_SAMPLE, /* start, end, and random places */
	EPH_VERIFY_FULL,
};

struct eph_erase_request {
	int fd; /* block device or regular file, opened read-write with O_DIRECT */
	const char *subject; /* "VG/LV" for progress and errors */
	uint64_t from_bytes; /* start here: resume */
	uint64_t size_bytes; /* end of the range, a multiple of the logical block */
	enum eph_erase_verify verify;
};

struct eph_erase_outcome {
	uint64_t done_bytes; /* where it stands or failed */
	uint64_t written_bytes;
	uint64_t verified_bytes;
	const char *method; /* literal: "write-zeroes" or "write" */
};

/*
 * Zero by the kernel's Write Zeroes offload in steps where the device has it (only "not supported" means
 * it has not), else by O_DIRECT writes; flush; read back. Progress and cancel between steps.
 * 0; -EIO or the device's errno with the offset in the record and in @ret_outcome (filled on
 * failure too); -ECANCELED; -EILSEQ when bytes read back are not zero.
 */
int eph_erase_run(struct ephlvm_ctx *ctx, const struct eph_erase_request *request,
		  struct eph_erase_outcome *ret_outcome);

/* "off", "sample", "full" to the value; -EINVAL for other words. */
int eph_erase_verify_parse(const char *word, enum eph_erase_verify *ret_verify);

#endif
