// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * checkpoint.c - how far the erase of a volume got, one small file each.
 * Owns the form of that file. Must not decide whether it fits the erase that is to be done.
 */
#include "edge/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "edge/state.h"
#include "util/cleanup.h"

#define FOLDER "erase"
#define TEXT_MAX ((size_t)256)
#define UUID_LEN 38 /* of LVM, with its hyphens */

/* "erase 1 METHOD PASS/PASSES DONE SIZE LV-UUID\n": the UUID again, lest a file be taken for another's. */
#define FORM "erase 1 %s %u/%u %" PRIu64 " %" PRIu64 " %s\n"

static void text_of(const struct eph_checkpoint *c, const char *lv_uuid, char text[TEXT_MAX])
{
	snprintf(text, TEXT_MAX, FORM, eph_erase_method_word(c->method), c->point.pass, c->passes,
		 c->point.done_bytes, c->size_bytes, lv_uuid);
}

static bool parse(const char *text, const char *lv_uuid, struct eph_checkpoint *ret_checkpoint)
{
	struct eph_checkpoint c = { 0 };
	char method[16], again[TEXT_MAX];

	if (sscanf(text, "erase 1 %15s %u/%u %" SCNu64 " %" SCNu64 " ", method, &c.point.pass,
		   &c.passes, &c.point.done_bytes, &c.size_bytes) != 5 ||
	    eph_erase_method_parse(method, &c.method) < 0)
		return false;
	/* It must be, letter by letter, what would be written for these values. */
	text_of(&c, lv_uuid, again);
	if (strcmp(text, again) != 0 || c.point.pass < 1 || c.point.pass > c.passes ||
	    c.point.done_bytes > c.size_bytes)
		return false;
	*ret_checkpoint = c;
	return true;
}

int eph_checkpoint_read(struct ephlvm_ctx *ctx, const char *lv_uuid,
			struct eph_checkpoint *ret_checkpoint)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int dir = -1;
	int r;

	*ret_checkpoint = (struct eph_checkpoint){ 0 };
	r = eph_state_open(ctx, FOLDER, &dir);
	if (r == 0)
		r = eph_state_read(ctx, dir, lv_uuid, TEXT_MAX - 1, &text, NULL);
	if (r < 0 || !text)
		return r;
	if (!parse(text, lv_uuid, ret_checkpoint))
		eph_warn(ctx, "the checkpoint of the erase of %s is not readable: it begins again",
			 lv_uuid);
	return 0;
}

int eph_checkpoint_write(struct ephlvm_ctx *ctx, const char *lv_uuid,
			 const struct eph_checkpoint *checkpoint)
{
	_cleanup_close_ int dir = -1;
	char text[TEXT_MAX];
	int r;

	text_of(checkpoint, lv_uuid, text);
	r = eph_state_open(ctx, FOLDER, &dir);
	return r < 0 ? r : eph_state_write(ctx, dir, lv_uuid, text, strlen(text));
}

/* "UUID" or "UUID.TID~", as eph_state_write() makes them; then the UUID is in @lv_uuid. */
static bool is_ours(const char *name, char lv_uuid[UUID_LEN + 1])
{
	static const char letters[] =
		"-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	const char *end = name + strspn(name, letters);
	size_t digits;

	if (end - name != UUID_LEN)
		return false;
	memcpy(lv_uuid, name, UUID_LEN);
	lv_uuid[UUID_LEN] = '\0';
	if (*end == '\0')
		return true;
	digits = *end == '.' ? strspn(end + 1, "0123456789") : 0;
	return digits > 0 && strcmp(end + 1 + digits, "~") == 0;
}

int eph_checkpoint_remove(struct ephlvm_ctx *ctx, const char *lv_uuid)
{
	_cleanup_strv_ struct eph_strv all = EPH_STRV_INIT;
	_cleanup_close_ int dir = -1;
	char of[UUID_LEN + 1];
	int r = eph_state_open(ctx, FOLDER, &dir);

	if (r == 0)
		r = eph_state_remove(ctx, dir, lv_uuid);
	if (r == 0)
		r = eph_state_names(ctx, dir, &all);
	for (size_t i = 0; r == 0 && i < all.n; i++)
		if (is_ours(all.v[i], of) && strcmp(of, lv_uuid) == 0)
			r = eph_state_remove(ctx, dir, all.v[i]);
	return r;
}

int eph_checkpoint_list(struct ephlvm_ctx *ctx, struct eph_strv *ret_lv_uuids)
{
	_cleanup_strv_ struct eph_strv all = EPH_STRV_INIT;
	_cleanup_close_ int dir = -1;
	char of[UUID_LEN + 1];
	int r = eph_state_open(ctx, FOLDER, &dir);

	if (r == 0)
		r = eph_state_names(ctx, dir, &all);
	for (size_t i = 0; r == 0 && i < all.n; i++)
		if (is_ours(all.v[i], of) && !eph_strv_has(ret_lv_uuids, of) &&
		    eph_strv_add(ret_lv_uuids, of) < 0)
			r = eph_fail_oom(ctx);
	return r;
}
