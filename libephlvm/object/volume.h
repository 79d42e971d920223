/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * object/volume.h - the inside of a volume object and of a list of them.
 */
#ifndef EPH_OBJECT_VOLUME_H
#define EPH_OBJECT_VOLUME_H

#include <ephlvm/volume.h>

#include "core/context.h"
#include "edge/lvm.h"
#include "pure/naming.h"

struct ephlvm_volume {
	char *vg, *vg_uuid, *lv, *lv_uuid;
	char *name; /* "VG/LV" */
	char *path; /* "/dev/VG/LV" */
	char *pool;
	char *layout, *label, *ranges;
	const char *kind; /* literal */
	struct eph_tags tags;
	struct eph_strv raw_tags;
	struct eph_strv pv_uuids; /* of the drives that it lies on, sorted, each once */
	enum ephlvm_volume_state state;
	uint64_t size_bytes;
	bool active, open, partial, locked;
	bool vg_partial;
	char *snapshot; /* of an LV with copy-on-write snapshots: one of them, "VG/LV"; NULL for none */
	bool is_snapshot; /* somebody made it one: what it shows is not all its own */
	struct eph_strv warnings;
};

struct ephlvm_volumes {
	struct ephlvm_volume **v;
	size_t n;
};

/* Copy what the view says of one LV that is ours. 0 or -ENOMEM (record set). */
int eph_volume_new(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const struct eph_lv *lv,
		   struct ephlvm_volume **ret_volume);
void eph_volume_free(struct ephlvm_volume *volume);

/* Append; takes @volume over, also on failure. */
int eph_volumes_add(struct ephlvm_ctx *ctx, struct ephlvm_volumes *volumes,
		    struct ephlvm_volume *volume);
int eph_volumes_new(struct ephlvm_ctx *ctx, struct ephlvm_volumes **ret_volumes);

/* Is this LV a volume of ours: it bears our tag, in a pool, and is no sub-LV. */
bool eph_lv_is_ours(const struct eph_lv *lv);

/*
 * Every volume of ours in every pool, filtered; sorted by VG and name. NULL, NULL, 0 for all.
 * @instance is normalised.
 */
int eph_volumes_select(struct ephlvm_ctx *ctx, const struct eph_lvm_view *view, const char *pool,
		       const char *instance, unsigned int states,
		       struct ephlvm_volumes **ret_volumes);

/* May a destructive step act on it at all? -EUCLEAN for damaged or newer tags (record set). */
int eph_volume_check_ours(struct ephlvm_ctx *ctx, const struct ephlvm_volume *volume);

/*
 * Is it a whole LV by itself? -EBUSY while LVM moves or converts it (deactivation would abort a pvmove, and other
 * volumes' with it), where it has snapshots (an erase would copy the tenant's bytes into them, the removal would take
 * them along and free their space unerased), or where it has been made one.
 */
int eph_volume_check_alone(struct ephlvm_ctx *ctx, const struct ephlvm_volume *volume);

static inline void eph_volume_freep(struct ephlvm_volume **volume)
{
	eph_volume_free(*volume);
}
static inline void eph_volumes_freep(struct ephlvm_volumes **volumes)
{
	ephlvm_volumes_free(*volumes);
}
#define _cleanup_volume_ __attribute__((cleanup(eph_volume_freep)))
#define _cleanup_volumes_ __attribute__((cleanup(eph_volumes_freep)))

#endif
