/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/lvm.h - LVM, the only room that talks to it.
 *
 * Two layers. A *backend* runs one argv and gives back its streams and status: a one-shot process
 * (edge/lvm_process.c), later a long-lived lvm shell, and a scripted fake in the tests. A *sequence*
 * (begin, calls, end) is how it is used, so that a shell can serve several calls. Above it, typed
 * verbs build the argv, parse JSON reports and turn failures into the error record.
 *
 * Nothing here decides anything about volumes: callers re-read after every change and every
 * failure, and act on what is there (exit status proves nothing either way).
 */
#ifndef EPH_EDGE_LVM_H
#define EPH_EDGE_LVM_H

#include "core/context.h"
#include "util/text.h"

/* --- backend --- */

struct eph_pv;

struct eph_lvm_call {
	/* "lvs", "--reportformat", ...; NULL-terminated; no path, no "lvm" */
	const char *const *argv;
	unsigned int timeout_ms; /* for the whole call */
	bool mutating; /* past the deadline it gets TERM and a longer grace, then KILL */
};

struct eph_lvm_result {
	int status; /* exit status; 256 + signal */
	bool timed_out; /* ended by us at the deadline */
	char *out; /* NUL-terminated; owned */
	size_t out_bytes;
	char *err; /* NUL-terminated, the last 64 KiB; owned */
};
void eph_lvm_result_clear(struct eph_lvm_result *result);

struct eph_lvm_backend {
	/* each returns 0 or -errno with the record set; a tool that ran and failed is 0 with its status */
	int (*begin)(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend);
	int (*call)(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend,
		    const struct eph_lvm_call *call, struct eph_lvm_result *ret_result);
	void (*end)(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend);
	/*
	 * Open the device of a PV for reading and prove by its label that it is that PV at this moment.
	 * 0 or -EIO with the record set. eph_lvm_pv_open() outside of tests.
	 */
	int (*open_pv)(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend,
		       const struct eph_pv *pv, int *ret_fd);
	void (*free)(struct eph_lvm_backend *backend);
	/*
	 * For metadata work on a host without device-mapper (tests/rig): --driverloaded n is added,
	 * activation is asked for nowhere, nothing is zeroed or wiped by LVM.
	 */
	bool metadata_only;
	/* Extra text for --config of every call, NULL for none (tests/rig: folders, global_filter). */
	const char *extra_config;
};

/* The one-shot process backend. @lvm_path: absolute path of the lvm binary, NULL to look in the
 * fixed path. */
int eph_lvm_process_new(struct ephlvm_ctx *ctx, const char *lvm_path,
			struct eph_lvm_backend **ret_backend);

/* The context's backend, made on first use. Owned by the context. Tests put their own in
 * ctx->lvm (with ctx->lvm_free) before. */
int eph_lvm_backend_get(struct ephlvm_ctx *ctx, struct eph_lvm_backend **ret_backend);

/* --- what LVM says --- */

struct eph_range { /* physical extents of one segment on one PV (or sub-LV) */
	char *device;
	uint64_t first, count;
};

struct eph_lv {
	char *name, *uuid;
	char *attr; /* lv_attr, 10 characters */
	char *segtype; /* of its first segment; "mixed" where they differ */
	char *layout, *role; /* lv_layout, lv_role: "linear", "public" ... */
	char *pool_lv; /* thin pool, NULL for none */
	char *parent; /* lv_parent, NULL for none */
	char *origin; /* of a snapshot: the LV it is of; NULL for none */
	struct eph_strv tags;
	uint64_t size_bytes;
	struct eph_range *ranges; /* in logical order; NULL where there are none */
	size_t n_ranges;
	bool active, open, suspended; /* as LVM says; dm decides */
	bool partial; /* a PV of it is missing */
	bool locked; /* pvmove or conversion in progress: must not be deactivated */
	bool hidden; /* a sub-LV: never a volume of ours */
	/* Copy-on-write: what is written to the origin goes to its snapshots, which go when it goes. */
	bool thick_origin, thick_snapshot;
};

struct eph_pv {
	char *device; /* path; NULL or "[unknown]" becomes NULL where missing */
	char *uuid;
	uint64_t size_bytes, free_bytes, extents, extents_used;
	uint64_t mda_bytes, mda_free_bytes; /* 0 where unknown */
	uint64_t pe_start_bytes;
	bool missing, allocatable;
	bool duplicate; /* another device bears the same PV uuid: nothing may be written */
};

struct eph_vg {
	char *name, *uuid;
	char *system_id; /* NULL for none */
	struct eph_strv tags;
	uint64_t size_bytes, free_bytes, extent_bytes, extents, free_extents;
	uint64_t seqno;
	uint64_t missing_pvs;
	uint64_t mda_bytes, mda_free_bytes; /* of the smallest area; 0 where unknown */
	bool exported, shared, foreign; /* foreign: another host's system ID */
	struct eph_pv *pvs;
	size_t n_pvs;
	struct eph_lv *lvs;
	size_t n_lvs;
};

struct eph_lvm_view {
	struct eph_vg *vgs;
	size_t n_vgs;
	struct eph_pv *orphans; /* PVs without a VG */
	size_t n_orphans;
	char *warnings; /* what LVM said on stderr; NULL for nothing */
	bool stale; /* read without locks */
};

enum eph_lvm_read_flags {
	EPH_LVM_NOLOCKING = 1 << 0, /* never wait; the view may be stale */
};

/*
 * Everything on the host, one LVM call (a second one where a VG bears a system ID). Never gives an
 * empty view for a failed call. Two VGs of one name are two entries. With locks, one that is held is
 * waited for up to the lock deadline (-ETIMEDOUT).
 */
int eph_lvm_read(struct ephlvm_ctx *ctx, unsigned int flags, struct eph_lvm_view **ret_view);
void eph_lvm_view_free(struct eph_lvm_view *view);
static inline void eph_lvm_view_freep(struct eph_lvm_view **view)
{
	eph_lvm_view_free(*view);
}
#define _cleanup_view_ __attribute__((cleanup(eph_lvm_view_freep)))

struct eph_vg *eph_lvm_vg_by_uuid(const struct eph_lvm_view *view, const char *vg_uuid);
struct eph_vg *eph_lvm_vg_by_name(const struct eph_lvm_view *view, const char *name,
				  size_t *ret_count);
struct eph_lv *eph_lvm_lv_by_uuid(const struct eph_vg *vg, const char *lv_uuid);
struct eph_lv *eph_lvm_lv_by_name(const struct eph_vg *vg, const char *name);

/* --- verbs that change --- */

/*
 * Each narrows LVM to the devices of @vg by filter, refuses (-EIO) before anything is run when a PV of
 * @vg is not to be found by its uuid at that moment or is there twice, except where the verb says that a
 * partial VG is allowed (then LVM sees every device, so that what is missing is LVM's own "missing",
 * never merely hidden by us), waits for LVM's lock without waiting inside LVM, up to the configured
 * deadline (-ETIMEDOUT, kind BUSY), and passes --yes. VGs are named by name; that it is @vg follows
 * from the PV uuids or from selection by the VG's uuid. A return of 0 means that LVM said so, no more:
 * a selection that matches nothing is no error, and in a VG that a drive joined after the view was read
 * it never matches. Failures: -ENOSPC (space or metadata area), -EBUSY (in
 * use), -EINVAL (a name that is none), else -EIO, with LVM's words in the record.
 */

struct eph_lv_spec {
	const char *name;
	uint64_t extents;
	const char *segtype; /* "linear" */
	const struct eph_strv *tags;
	/* "DEVICE:FIRST-LAST" arguments that say where; NULL lets LVM choose */
	const struct eph_strv *where;
};
/*
 * lvcreate, active, no signature wiping or zeroing by LVM (the caller erases every byte). *ret_clean: free
 * space was proven to hold zeros and still is (edge/clean.h), so this LV holds nothing else. May be
 * NULL; false on failure too.
 */
int eph_lvm_lv_create(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
		      const struct eph_lv_spec *spec, bool *ret_clean);
/* lvchange --deltag/--addtag of one LV, selected by uuid and by being ours: 1 commit. Allowed in
 * a partial VG. */
int eph_lvm_lv_retag(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const char *lv_uuid,
		     const struct eph_strv *del, const struct eph_strv *add);
/* lvrename; refused by LVM in a partial VG. */
int eph_lvm_lv_rename(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const char *from,
		      const char *to);
/* lvchange -ay -K / -an of LVs selected by uuid and by being ours; allowed in a partial VG. -an of an
 * open LV fails with -EBUSY, after less than a second of tries outside LVM's lock. */
int eph_lvm_lv_activate(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
			const struct eph_strv *lv_uuids);
int eph_lvm_lv_deactivate(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
			  const struct eph_strv *lv_uuids);
/*
 * lvremove -y -S, by uuid and by bearing our tag, 200 a call and a commit. Allowed in a partial VG. The
 * first is for what was erased whole: a proof that free space is clean outlives it. The second is for all
 * else: the proof goes first, and where it cannot, nothing is removed.
 */
int eph_lvm_lv_remove(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
		      const struct eph_strv *lv_uuids);
int eph_lvm_lv_remove_unerased(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
			       const struct eph_strv *lv_uuids);

/* pvcreate with a metadata area of @mda_bytes; then vgcreate with tags and without auto-activation.
 * Devices are paths that the caller has checked. Not narrowed: LVM is to see a VG of the same name. */
int eph_lvm_pv_create(struct ephlvm_ctx *ctx, const struct eph_strv *devices, uint64_t mda_bytes);
int eph_lvm_vg_create(struct ephlvm_ctx *ctx, const char *name, const struct eph_strv *devices,
		      const struct eph_strv *tags);
int eph_lvm_vg_retag(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const struct eph_strv *del,
		     const struct eph_strv *add);
int eph_lvm_vg_no_autoactivation(struct ephlvm_ctx *ctx, const struct eph_vg *vg);
/* vgremove of an empty VG / pvremove, of what this call made: undo of pool init. */
int eph_lvm_vg_remove(struct ephlvm_ctx *ctx, const char *name, const char *vg_uuid);
int eph_lvm_pv_remove(struct ephlvm_ctx *ctx, const struct eph_strv *devices);

/* fsync every PV of @vg that is present: LVM itself does not flush after a commit. 0 or -EIO. */
int eph_lvm_flush(struct ephlvm_ctx *ctx, const struct eph_vg *vg);

#endif
