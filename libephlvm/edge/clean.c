// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * clean.c - the proof that free space holds zeros: one file per VG, its form, and when it is
 * carried on.
 * Owns the rule. Must not erase anything and must not know volumes: who frees space says whether it
 * was erased. In any doubt there is no proof. The file is compared as a whole with what the
 * metadata of now would give; nothing is read out of it.
 */
#include "edge/clean.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "edge/conffile.h"
#include "edge/lvm_args.h"
#include "edge/state.h"
#include "util/cleanup.h"

#define PROOF_MAX 256

/* --- the file --- */

static int open_folder(struct ephlvm_ctx *ctx, int *ret_fd)
{
	return eph_state_open(ctx, "clean", ret_fd);
}

static int check_uuid(struct ephlvm_ctx *ctx, const char *vg_uuid)
{
	if (eph_lvm_is_uuid(vg_uuid))
		return 0;
	return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, vg_uuid, NULL,
			"\"%s\" is not a valid LVM uuid", vg_uuid ? vg_uuid : "");
}

/* Also true of what is not a file, and where it cannot be told: then there may be one. */
static bool is_there(int dir_fd, const char *vg_uuid)
{
	struct stat st;

	return fstatat(dir_fd, vg_uuid, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

static int render(const char *vg_uuid, const struct eph_lvm_meta *meta, char text[PROOF_MAX])
{
	return snprintf(text, PROOF_MAX, "ephlvm-clean 1\nvg %s\nseqno %llu\nsha256 %s\n", vg_uuid,
			(unsigned long long)meta->seqno, meta->sha256);
}

static int write_proof(struct ephlvm_ctx *ctx, int dir_fd, const struct eph_vg *vg,
		       const struct eph_lvm_meta *meta)
{
	char text[PROOF_MAX];
	int n = render(vg->uuid, meta, text);

	return eph_state_write(ctx, dir_fd, vg->uuid, text, (size_t)n);
}

/* The proof is there and is of the metadata that is committed now. *@ret_meta is then that. */
static int compare(struct ephlvm_ctx *ctx, int dir_fd, const struct eph_vg *vg,
		   struct eph_lvm_meta *ret_meta, bool *ret_same)
{
	_cleanup_free_ char *have = NULL;
	char want[PROOF_MAX];
	size_t bytes = 0;
	int n, r;

	*ret_same = false;
	r = eph_state_read(ctx, dir_fd, vg->uuid, PROOF_MAX, &have, &bytes);
	if (r < 0 || !have)
		return r;
	r = eph_lvm_meta_read(ctx, vg, ret_meta);
	if (r < 0)
		return r;
	n = render(vg->uuid, ret_meta, want);
	*ret_same = bytes == (size_t)n && memcmp(have, want, bytes) == 0;
	return 0;
}

/* compare(), with a failure for "no" and without a record: an earlier one stays as it is. */
static bool is_proven(struct ephlvm_ctx *ctx, int dir_fd, const struct eph_vg *vg,
		      struct eph_lvm_meta *ret_meta)
{
	struct eph_error before = eph_error_take(ctx);
	bool same;

	if (compare(ctx, dir_fd, vg, ret_meta, &same) < 0) {
		eph_warn(ctx, "free space of \"%s\" counts as dirty: %s", vg->name,
			 ephlvm_error_message(ctx));
		same = false;
	}
	eph_error_clear(&ctx->error);
	eph_error_give(ctx, &before);
	return same;
}

static int take_lock(struct ephlvm_ctx *ctx, const char *vg_uuid, struct eph_lock **ret_lock)
{
	const struct eph_config *config;
	int r;

	r = eph_config_get(ctx, &config);
	return r < 0 ? r :
		       eph_lock_take(ctx, EPH_LOCK_PROOF, vg_uuid, config->lock_timeout_ms,
				     ret_lock);
}

/* --- asking --- */

static bool holds(struct ephlvm_ctx *ctx, const struct eph_vg *vg, unsigned int wait_ms)
{
	_cleanup_lock_ struct eph_lock *lock = NULL;
	_cleanup_close_ int dir_fd = -1;
	struct eph_lvm_meta meta;

	if (open_folder(ctx, &dir_fd) < 0 || !is_there(dir_fd, vg->uuid))
		return false;
	if (is_proven(ctx, dir_fd, vg, &meta))
		return true;
	/* A commit of ours may be under way; behind it the proof is of the new metadata. */
	return eph_lock_take(ctx, EPH_LOCK_PROOF, vg->uuid, wait_ms, &lock) == 0 &&
	       is_proven(ctx, dir_fd, vg, &meta);
}

bool eph_clean_holds(struct ephlvm_ctx *ctx, const struct eph_vg *vg, unsigned int wait_ms)
{
	struct eph_error before;
	bool clean;

	if (!eph_lvm_is_uuid(vg->uuid))
		return false;
	before = eph_error_take(ctx);
	clean = holds(ctx, vg, wait_ms);
	if (ctx->error.kind != EPHLVM_ERROR_NONE)
		eph_warn(ctx, "free space of \"%s\" counts as dirty: %s", vg->name,
			 ephlvm_error_message(ctx));
	eph_error_clear(&ctx->error);
	eph_error_give(ctx, &before);
	return clean;
}

/* --- setting and dropping --- */

static int fail_ground(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const char *why)
{
	return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, vg->name, "see \"ephlvm pool scrub\"", "%s",
			why);
}

static int check_ground(struct ephlvm_ctx *ctx, const struct eph_vg *now,
			enum eph_clean_ground ground)
{
	if (eph_lvm_is_partial(now))
		return fail_ground(ctx, now, "a drive is missing");
	/* vgcreate makes the VG in one commit, the first. */
	if (ground == EPH_CLEAN_NEW_VG && (now->seqno != 1 || now->n_lvs > 0))
		return fail_ground(ctx, now, "it was changed after it was made");
	if (ground == EPH_CLEAN_NO_FREE && now->free_extents > 0)
		return fail_ground(ctx, now,
				   "space became free meanwhile, or lies on a drive that takes no "
				   "new volumes");
	return 0;
}

static int set_locked(struct ephlvm_ctx *ctx, const struct eph_vg *vg, enum eph_clean_ground ground)
{
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	_cleanup_close_ int dir_fd = -1;
	struct eph_lvm_meta before, after;
	struct eph_vg *now;
	int r;

	r = open_folder(ctx, &dir_fd);
	if (r == 0)
		r = eph_lvm_meta_read(ctx, vg, &before);
	if (r == 0)
		r = eph_lvm_read(ctx, 0, &view);
	if (r < 0)
		return r;
	now = eph_lvm_vg_by_uuid(view, vg->uuid);
	if (!now)
		return fail_ground(ctx, vg, "the volume group is not to be seen any more");
	r = check_ground(ctx, now, ground);
	if (r == 0)
		r = eph_mark(ctx, "clean-flush");
	if (r == 0)
		r = eph_lvm_flush(ctx, now);
	/* The same before and after: it is what LVM showed in between. */
	if (r == 0)
		r = eph_lvm_meta_read(ctx, now, &after);
	if (r < 0)
		return r;
	if (!eph_lvm_meta_same(&before, &after) || now->seqno != after.seqno)
		return fail_ground(ctx, vg, "another program changed it meanwhile");
	return write_proof(ctx, dir_fd, now, &after);
}

bool eph_clean_set(struct ephlvm_ctx *ctx, const struct eph_vg *vg, enum eph_clean_ground ground)
{
	struct eph_error first = eph_error_take(ctx);
	struct eph_lock *lock = NULL;
	int r;

	r = check_uuid(ctx, vg->uuid);
	if (r == 0)
		r = take_lock(ctx, vg->uuid, &lock);
	if (r == 0)
		r = set_locked(ctx, vg, ground);
	eph_lock_release(lock);
	if (r < 0)
		eph_warn(ctx, "free space of \"%s\" stays unproven: %s", vg->name,
			 ephlvm_error_message(ctx));
	eph_error_clear(&ctx->error);
	eph_error_give(ctx, &first);
	return r == 0;
}

int eph_clean_drop(struct ephlvm_ctx *ctx, const char *vg_uuid)
{
	_cleanup_lock_ struct eph_lock *lock = NULL;
	_cleanup_close_ int dir_fd = -1;
	int r;

	r = check_uuid(ctx, vg_uuid);
	if (r == 0)
		r = take_lock(ctx, vg_uuid, &lock);
	if (r == 0)
		r = open_folder(ctx, &dir_fd);
	return r < 0 ? r : eph_state_remove(ctx, dir_fd, vg_uuid);
}

/* --- around a change --- */

void eph_clean_carry_clear(struct eph_clean_carry *carry)
{
	eph_lock_release(carry->lock);
	carry->lock = NULL;
}

/*
 * A stale proof that cannot be removed matters where free space is given out or dirtied: a power
 * cut could take the commit back, to the metadata that it is of. Else that metadata tells the truth
 * again.
 */
static int bear(struct ephlvm_ctx *ctx, const struct eph_vg *vg, enum eph_clean_use use, int r,
		struct eph_error *before)
{
	if (r < 0 && use == EPH_CLEAN_KEEPS) {
		eph_warn(ctx, "the proof that free space of \"%s\" is clean cannot be kept: %s",
			 vg->name, ephlvm_error_message(ctx));
		eph_error_clear(&ctx->error);
		r = 0;
	}
	/* An earlier failure keeps the record. */
	if (before->kind != EPHLVM_ERROR_NONE) {
		eph_error_clear(&ctx->error);
		eph_error_give(ctx, before);
	}
	return r;
}

static int remove_proof(struct ephlvm_ctx *ctx, int dir_fd, const struct eph_vg *vg,
			enum eph_clean_use use)
{
	struct eph_error before = eph_error_take(ctx);

	return bear(ctx, vg, use, eph_state_remove(ctx, dir_fd, vg->uuid), &before);
}

static int begin_locked(struct ephlvm_ctx *ctx, int dir_fd, const struct eph_vg *vg,
			struct eph_clean_carry *carry)
{
	if (carry->use != EPH_CLEAN_DIRTIES)
		carry->held = is_proven(ctx, dir_fd, vg, &carry->before);
	if (carry->held)
		return 0;
	if (carry->use != EPH_CLEAN_DIRTIES)
		eph_info(ctx, "free space of \"%s\" is not proven clean any more", vg->name);
	return remove_proof(ctx, dir_fd, vg, carry->use);
}

int eph_clean_begin(struct ephlvm_ctx *ctx, const struct eph_vg *vg, enum eph_clean_use use,
		    struct eph_clean_carry *ret_carry)
{
	_cleanup_carry_ struct eph_clean_carry carry = { .use = use };
	_cleanup_close_ int dir_fd = -1;
	struct eph_error before = eph_error_take(ctx);
	int r;

	*ret_carry = carry;
	r = open_folder(ctx, &dir_fd);
	r = bear(ctx, vg, use, r, &before);
	if (r < 0 || dir_fd < 0)
		return r;
	if (use != EPH_CLEAN_DIRTIES && !is_there(dir_fd, vg->uuid))
		return 0;
	r = take_lock(ctx, vg->uuid, &carry.lock);
	if (r == 0)
		r = begin_locked(ctx, dir_fd, vg, &carry);
	if (r < 0)
		return r;
	*ret_carry = carry;
	carry.lock = NULL;
	return 0;
}

/* Flush first: a proof must not outlive the metadata that it is of when the power goes. */
static int carry_on(struct ephlvm_ctx *ctx, int dir_fd, const struct eph_vg *vg,
		    const struct eph_lvm_meta *meta)
{
	int r = eph_mark(ctx, "clean-flush");

	if (r == 0)
		r = eph_lvm_flush(ctx, vg);
	return r < 0 ? r : write_proof(ctx, dir_fd, vg, meta);
}

enum moved { NOT, BY_US, ELSE };

static enum moved how_moved(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
			    const struct eph_clean_carry *carry, bool done,
			    struct eph_lvm_meta *after)
{
	if (eph_lvm_meta_read(ctx, vg, after) < 0)
		return ELSE;
	if (eph_lvm_meta_same(after, &carry->before))
		return NOT;
	/*
	 * LVM did commit, under its lock: so of one commit in all it is the one. Without its word,
	 * the one may be another's.
	 */
	return done && after->seqno == carry->before.seqno + 1 ? BY_US : ELSE;
}

int eph_clean_end(struct ephlvm_ctx *ctx, const struct eph_vg *vg, struct eph_clean_carry *carry,
		  bool done, bool *ret_clean)
{
	_cleanup_close_ int dir_fd = -1;
	struct eph_lvm_meta after;
	struct eph_error before;
	enum moved moved;
	int r;

	*ret_clean = false;
	if (!carry->held)
		return 0;
	before = eph_error_take(ctx);
	r = open_folder(ctx, &dir_fd);
	if (r < 0)
		return bear(ctx, vg, carry->use, r, &before);
	moved = how_moved(ctx, vg, carry, done, &after);
	if (moved == BY_US && carry_on(ctx, dir_fd, vg, &after) == 0)
		*ret_clean = true;
	if (moved != NOT && !*ret_clean) {
		eph_warn(ctx, "free space of \"%s\" is not proven clean any more%s%s", vg->name,
			 ctx->error.message ? ": " : "",
			 ctx->error.message ? ctx->error.message : "");
		eph_error_clear(&ctx->error);
		r = eph_state_remove(ctx, dir_fd, vg->uuid);
	}
	return bear(ctx, vg, carry->use, r, &before);
}
