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

#define MODEL_SLOTS 4
#define MODEL_SLOT_BYTES ((uint64_t)8 << 20)
#define MODEL_LVS 8
#define MODEL_TAGS 16

struct model_lv {
	bool there, active;
	char name[128], uuid[40], tags[MODEL_TAGS][100];
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
bool model_slot_free(const struct model_host *model, unsigned int slot);

#endif
