/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/lvm_meta.h - inside the LVM room: which metadata a VG has committed, read from its PVs
 * themselves.
 */
#ifndef EPH_EDGE_LVM_META_H
#define EPH_EDGE_LVM_META_H

#include "edge/digest.h"
#include "edge/lvm.h"

/*
 * What was committed last. The number alone does not tell: a restored backup, or a commit that a
 * power cut took back, can bring a number again with other content.
 */
struct eph_lvm_meta {
	uint64_t seqno;
	char sha256[EPH_SHA256_TEXT]; /* of the whole text, in hexadecimal */
};
bool eph_lvm_meta_same(const struct eph_lvm_meta *a, const struct eph_lvm_meta *b);

/*
 * Read it, without LVM and its locks: milliseconds. Every PV of @vg must be there and bear its
 * label, every metadata area in use must give the same text, at least one there must be, and the
 * text must be that of @vg by its uuid. One that is just being written is read again a few times.
 * 0; -EIO or -ENOMEM with the record set.
 */
int eph_lvm_meta_read(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
		      struct eph_lvm_meta *ret_meta);

/* The VG's uuid and number in a text of @bytes. 0; -EBADMSG where it is not the text of exactly one VG. */
int eph_lvm_meta_parse(const char *text, size_t bytes, const char *vg_uuid, uint64_t *ret_seqno);

#endif
