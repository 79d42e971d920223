/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/checkpoint.h - how far the erase of a volume got: a file per LV UUID in /var/lib/ephlvm/erase.
 *
 * A tag would cost a commit under the volume group's lock each time, some hundred times what the file
 * costs. Losing the file means that the erase starts again; that an erase has begun at all is a tag.
 */
#ifndef EPH_EDGE_CHECKPOINT_H
#define EPH_EDGE_CHECKPOINT_H

#include "core/context.h"
#include "edge/erase.h"
#include "util/text.h"

struct eph_checkpoint {
	enum eph_erase_method method;
	unsigned int passes; /* in all */
	uint64_t size_bytes; /* of the volume */
	struct eph_erase_point point;
};

/* Absent: 0 and point.pass 0. One that cannot be believed is warned of, and absent. -errno otherwise. */
int eph_checkpoint_read(struct ephlvm_ctx *ctx, const char *lv_uuid,
			struct eph_checkpoint *ret_checkpoint);

/* What it says must be on the drive already. */
int eph_checkpoint_write(struct ephlvm_ctx *ctx, const char *lv_uuid,
			 const struct eph_checkpoint *checkpoint);

/* With what a killed writer left of it. The volume's lock is held, or the volume is gone. */
int eph_checkpoint_remove(struct ephlvm_ctx *ctx, const char *lv_uuid);

/*
 * LV UUIDs that the folder has files of, each once. What a kill or a power cut left is told by listing first and
 * reading LVM then: an LV is older than its file, so that the reading shows it unless it is gone. All else in the
 * folder is left alone.
 */
int eph_checkpoint_list(struct ephlvm_ctx *ctx, struct eph_strv *ret_lv_uuids);

#endif
