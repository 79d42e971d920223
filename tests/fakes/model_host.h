/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * model_host.h - a host in a test: one volume group on one drive, LVM, device-mapper, mkfs, no libvirt. The whole
 * workflows run on it, in child processes that can be killed at any mark; what LVM and the drive know lies in shared
 * memory and files, and survives them.
 *
 * The drive is a few files of one size, a slot each; an LV lies on one slot or on several, in order. What is written
 * there stays when the LV goes, as on a drive.
 */
#ifndef EPH_TESTS_MODEL_HOST_H
#define EPH_TESTS_MODEL_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/context.h"

#define MODEL_PV_UUID "pppppp-aaaa-aaaa-aaaa-aaaa-aaaa-aaaaaa" /* of its one drive */
#define MODEL_SLOTS 4
#define MODEL_SLOT_BYTES ((uint64_t)8 << 20)
#define MODEL_LVS 8
#define MODEL_TAGS 16

/* How one change by LVM goes wrong; the model's own count of changes says which. */
enum model_spoil {
	MODEL_AS_ASKED,
	MODEL_DOES_AND_FAILS, /* committed, then exit 5 */
	MODEL_SAYS_AND_DOES_NOT, /* "changed", exit 0, and nothing is */
	MODEL_MATCHES_NOTHING, /* exit 0, no word, nothing done */
	MODEL_DIES_BEFORE, /* ended at its deadline, nothing done */
	MODEL_DIES_AFTER, /* ended at its deadline, committed */
	MODEL_DOES_ONE, /* of several; then exit 5 */
	MODEL_OTHER_BEFORE, /* another program makes its one commit just before */
	MODEL_OTHER_AFTER, /* or just after */
	MODEL_OTHER_ALONE, /* or instead: exit 0, no word, nothing done */
	MODEL_SPOILS, /* of those above any may be met */
	MODEL_SNAPSHOT_BEFORE, /* another program makes a snapshot of all of ours just before */
};

struct model_lv {
	bool there, active;
	char name[128], uuid[40], tags[MODEL_TAGS][100];
	char origin[128]; /* of a snapshot; empty for none */
	unsigned int n_tags, first, slots; /* which slots */
	unsigned int formats; /* how often it was formatted */
};

struct model_host {
	char root[64]; /* the test's folder */
	unsigned int seqno, made;
	bool planted_a; /* for the test: instance A has its token */
	struct model_lv lvs[MODEL_LVS];
	/* what must never happen; each is counted where it does */
	unsigned int freed_unerased; /* trash removed with a token of a former tenant in it */
	unsigned int freed_without_receipt;
	unsigned int formatted_ready; /* a volume formatted that was ready before */
	unsigned int erased_by_others; /* a device opened that is not the LV's */
	unsigned int removed_ready; /* a volume removed that never was trash */
	unsigned int foreign_changed; /* an LV that is not ours was written to */
	unsigned int snapshot_lost; /* a snapshot removed with its origin, or written to through it */
	enum model_spoil spoil;
	unsigned int spoil_at, changes; /* the how maniest change since changes was 0; 0: none */
	char mark[40]; /* the one that was met last, by any thread */
	unsigned int unmarked; /* a change by LVM without a mark of its own before it */
};

/* Shared with children. Fresh: an empty pool, no state, slots full of the token "former". */
struct model_host *model_host_new(void);
void model_host_reset(struct model_host *model);
void model_host_free(struct model_host *model);

/* A context whose LVM and devices are the model. In a child, and for looking on in the parent. */
struct ephlvm_ctx *model_host_ctx(struct model_host *model);

struct model_lv *model_lv_by_name(struct model_host *model, const char *name);
const char *model_lv_tag(const struct model_lv *lv,
			 const char *key); /* "ephlvm.state="; NULL for none */

/* A block full of @token at start, middle and end of a slot; is one there? */
void model_plant(struct model_host *model, unsigned int slot, const char *token);
bool model_has(struct model_host *model, unsigned int slot, const char *token);
/* Is it at all of the three? */
bool model_whole(struct model_host *model, unsigned int slot, const char *token);
/* The metadata is as it was at the last flush of the drive, and nothing is active; written bytes stay. */
void model_power_cut(struct model_host *model);
/* Another program makes an LV and writes "former" to it, or removes it again: one commit. */
void model_other_program(struct model_host *model);
/* Another program makes a copy-on-write snapshot "snap-N" of it. */
struct model_lv *model_snapshot(struct model_host *model, const struct model_lv *origin);
bool model_slot_free(const struct model_host *model, unsigned int slot);

#endif
