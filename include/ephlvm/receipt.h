/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * receipt.h - receipts: what was erased, how, when, on which drives, and for whom.
 *
 * Each finished erase appends a line to /var/lib/ephlvm/receipts/receipts.jsonl before its volume is
 * removed, and each line carries the SHA-256 of the one before: a line that was changed or taken out breaks the
 * chain. docs/schema/receipts.json describes a line. A volume can have two, where a crash came between its receipt
 * and its removal. Bytes of names and serials that are no printable UTF-8 stand in it as \xNN.
 */
#ifndef EPHLVM_RECEIPT_H
#define EPHLVM_RECEIPT_H

#include <ephlvm/context.h>

EPHLVM_BEGIN_DECLS

struct ephlvm_receipts;

/**
 * struct ephlvm_receipts_opts - which receipts
 * @size: sizeof(struct ephlvm_receipts_opts); set by EPHLVM_RECEIPTS_OPTS_INIT
 * @instance: only this instance's; NULL for all
 */
struct ephlvm_receipts_opts {
	size_t size;
	const char *instance;
};
#define EPHLVM_RECEIPTS_OPTS_INIT                           \
	{                                                   \
		.size = sizeof(struct ephlvm_receipts_opts) \
	}

/**
 * ephlvm_receipts_read - read receipts, and follow their chain
 * @ctx: context, not NULL
 * @opts: filter, or NULL for all
 * @ret_receipts: receives the receipts, oldest first; free with ephlvm_receipts_free(); not NULL
 *
 * A broken chain is no failure of the call: ephlvm_receipts_broken() tells it. Waits for a
 * writer, which takes milliseconds. Needs root.
 *
 * Return: 0, or -EINVAL (filter), -EACCES or -EPERM (kind PERMISSION: not root, or a file or
 * folder that is not root's alone), -EIO or another errno (kind SYSTEM), -ENOMEM.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_receipts_read(struct ephlvm_ctx *ctx,
				       const struct ephlvm_receipts_opts *opts,
				       struct ephlvm_receipts **ret_receipts);

/** ephlvm_receipts_count - number of receipts; 0 for NULL. Since: 0.1 */
EPHLVM_EXPORT size_t ephlvm_receipts_count(const struct ephlvm_receipts *receipts);
/** ephlvm_receipts_at - one receipt as a JSON object in one line, owned by @receipts; NULL beyond
 * the end. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_receipts_at(const struct ephlvm_receipts *receipts, size_t index);
/** ephlvm_receipts_broken - where the chain over all receipts is broken first, and how; NULL where
 * it holds. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_receipts_broken(const struct ephlvm_receipts *receipts);
/** ephlvm_receipts_free - free a list; takes NULL. Since: 0.1 */
EPHLVM_EXPORT void ephlvm_receipts_free(struct ephlvm_receipts *receipts);

EPHLVM_END_DECLS

#endif
