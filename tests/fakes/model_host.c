// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * model_host.c - the host of model_host.h.
 * Owns what LVM would do to its metadata, as far as ephlvm asks for it; tests/rig shows the same of real LVM. Takes
 * the place of eph_dm_*, eph_holders_*, eph_drive_read, eph_virt_read and eph_fs_make at link time.
 */
#include "fakes/model_host.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "edge/dm.h"
#include "edge/drive.h"
#include "edge/fs.h"
#include "edge/holders.h"
#include "edge/virt.h"
#include "fakes/fake_lvm.h"
#include "fakes/fake_pv.h"
#include "pure/naming.h"

#define VG_UUID "vvvvvv-aaaa-aaaa-aaaa-aaaa-aaaa-aaaaaa"
#define EXTENT ((uint64_t)4 << 20)
#define PER_SLOT (MODEL_SLOT_BYTES / EXTENT)
#define BLOCK 4096

static struct model_host
	*host; /* of this process: the link-time replacements have no other way to it */
static bool dry; /* a change is tried, and not written */
static struct fake_pv *pv; /* shared too: where its next text goes */

/* --- the drive --- */

static int open_slot(const struct model_host *m, unsigned int slot)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/slot-%u", m->root, slot);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	return fd;
}

static off_t place(unsigned int i)
{
	static const uint64_t at[] = { 0, MODEL_SLOT_BYTES / 2, MODEL_SLOT_BYTES - BLOCK };

	return (off_t)at[i];
}

void model_plant(struct model_host *m, unsigned int slot, const char *token)
{
	char block[BLOCK] = { 0 };
	int fd = open_slot(m, slot);

	snprintf(block, sizeof(block), "%s", token);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(pwrite(fd, block, BLOCK, place(i)), BLOCK);
	close(fd);
}

static bool holds_any(struct model_host *m, unsigned int slot, const char *token)
{
	char block[BLOCK];
	int fd = open_slot(m, slot);
	bool found = false;

	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(pread(fd, block, BLOCK, place(i)), BLOCK);
		found = found || (token ? strncmp(block, token, strlen(token)) == 0 : block[0]);
	}
	close(fd);
	return found;
}

bool model_has(struct model_host *m, unsigned int slot, const char *token)
{
	return holds_any(m, slot, token);
}

bool model_whole(struct model_host *m, unsigned int slot, const char *token)
{
	char block[BLOCK];
	int fd = open_slot(m, slot);
	bool whole = true;

	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(pread(fd, block, BLOCK, place(i)), BLOCK);
		whole = whole && strcmp(block, token) == 0;
	}
	close(fd);
	return whole;
}

bool model_slot_free(const struct model_host *m, unsigned int slot)
{
	for (unsigned int i = 0; i < MODEL_LVS; i++)
		if (m->lvs[i].there && slot >= m->lvs[i].first &&
		    slot < m->lvs[i].first + m->lvs[i].slots)
			return false;
	return true;
}

/* --- LVM --- */

/* What LVM committed lies in the drive's cache until somebody flushes it. */
struct durable {
	struct model_lv lvs[MODEL_LVS];
	unsigned int seqno;
};

static struct durable *durable; /* shared */

static void make_durable(const struct model_host *m)
{
	memcpy(durable->lvs, m->lvs, sizeof(m->lvs));
	durable->seqno = m->seqno;
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);

int __wrap_fsync(int fd)
{
	struct stat drive, st;

	if (pv && pv->fd >= 0 && fstat(pv->fd, &drive) == 0 && fstat(fd, &st) == 0 &&
	    st.st_ino == drive.st_ino && st.st_dev == drive.st_dev)
		make_durable(host);
	return __real_fsync(fd);
}

/* Metadata as text: whatever changes in the model changes it. */
static void write_metadata(struct model_host *m)
{
	char *text = NULL;
	size_t bytes;
	FILE *f;

	if (dry)
		return;
	f = open_memstream(&text, &bytes);
	m->seqno++;
	fprintf(f, "vg {\nid = \"" VG_UUID "\"\nseqno = %u\n", m->seqno);
	for (unsigned int i = 0; i < MODEL_LVS; i++) {
		const struct model_lv *lv = &m->lvs[i];

		if (!lv->there)
			continue;
		fprintf(f, "lv%u {\nname = \"%s\"\nuuid = \"%s\"\nat = %u\ntags = [", i, lv->name,
			lv->uuid, lv->first);
		for (unsigned int t = 0; t < lv->n_tags; t++)
			fprintf(f, "%s\"%s\"", t ? ", " : "", lv->tags[t]);
		fprintf(f, "]\n}\n");
	}
	fprintf(f, "}\n");
	fclose(f);
	fake_pv_commit(pv, text);
	free(text);
}

struct model_lv *model_lv_by_name(struct model_host *m, const char *name)
{
	for (unsigned int i = 0; i < MODEL_LVS; i++)
		if (m->lvs[i].there && strcmp(m->lvs[i].name, name) == 0)
			return &m->lvs[i];
	return NULL;
}

void model_power_cut(struct model_host *m)
{
	memcpy(m->lvs, durable->lvs, sizeof(m->lvs));
	for (unsigned int i = 0; i < MODEL_LVS; i++)
		m->lvs[i].active = false;
	m->seqno = durable->seqno - 1;
	write_metadata(m);
	make_durable(m);
}

static void new_uuid(struct model_host *m, struct model_lv *lv)
{
	snprintf(lv->uuid, sizeof(lv->uuid), "lvlv%02u-aaaa-aaaa-aaaa-aaaa-aaaa-aaaaaa", m->made++);
}

void model_other_program(struct model_host *m)
{
	struct model_lv *lv = model_lv_by_name(m, "foreign");
	unsigned int slot = 0;

	if (lv) {
		m->foreign_changed += !model_whole(m, lv->first, "former");
		lv->there = false;
		write_metadata(m);
		make_durable(m);
		return;
	}
	while (slot < MODEL_SLOTS && !model_slot_free(m, slot))
		slot++;
	for (lv = m->lvs; lv < m->lvs + MODEL_LVS && lv->there;)
		lv++;
	if (slot < MODEL_SLOTS && lv < m->lvs + MODEL_LVS) {
		*lv = (struct model_lv){ .there = true, .first = slot, .slots = 1 };
		snprintf(lv->name, sizeof(lv->name), "foreign");
		new_uuid(m, lv);
		model_plant(m, slot, "former");
	}
	write_metadata(m);
	make_durable(m);
}

/* It shares the slot: the model's snapshots have no store of their own. */
struct model_lv *model_snapshot(struct model_host *m, const struct model_lv *origin)
{
	struct model_lv *lv = m->lvs;

	while (lv < m->lvs + MODEL_LVS && lv->there)
		lv++;
	assert_true(lv < m->lvs + MODEL_LVS);
	*lv = (struct model_lv){ .there = true, .first = origin->first, .slots = origin->slots };
	snprintf(lv->name, sizeof(lv->name), "snap-%u", m->made);
	snprintf(lv->origin, sizeof(lv->origin), "%s", origin->name);
	new_uuid(m, lv);
	write_metadata(m);
	make_durable(m);
	return lv;
}

static struct model_lv *snapshot_of(struct model_host *m, const struct model_lv *origin)
{
	for (unsigned int i = 0; i < MODEL_LVS; i++)
		if (m->lvs[i].there && strcmp(m->lvs[i].origin, origin->name) == 0)
			return &m->lvs[i];
	return NULL;
}

static struct model_lv *by_uuid(struct model_host *m, const char *uuid)
{
	for (unsigned int i = 0; i < MODEL_LVS; i++)
		if (m->lvs[i].there && strncmp(m->lvs[i].uuid, uuid, 38) == 0)
			return &m->lvs[i];
	return NULL;
}

const char *model_lv_tag(const struct model_lv *lv, const char *key)
{
	for (unsigned int t = 0; t < lv->n_tags; t++)
		if (strncmp(lv->tags[t], key, strlen(key)) == 0)
			return lv->tags[t] + strlen(key);
	return NULL;
}

static void report(struct model_host *m, FILE *f)
{
	unsigned int used = 0;

	for (unsigned int i = 0; i < MODEL_SLOTS; i++)
		used += model_slot_free(m, i) ? 0 : PER_SLOT;
	fprintf(f,
		"{\"report\":[{\"vg\":[{\"vg_uuid\":\"" VG_UUID
		"\",\"vg_name\":\"vg\",\"vg_attr\":\"wz--n-\",\"vg_tags\":\"ephlvm,ephlvm.pool=vg\","
		"\"vg_systemid\":\"\",\"vg_size\":\"%llu\",\"vg_free\":\"%llu\","
		"\"vg_extent_size\":\"%llu\",\"vg_extent_count\":\"%llu\",\"vg_free_count\":\"%llu\","
		"\"vg_seqno\":\"%u\",\"vg_missing_pv_count\":\"0\",\"vg_mda_size\":\"68153344\","
		"\"vg_mda_free\":\"34074112\"}],",
		(unsigned long long)(MODEL_SLOTS * MODEL_SLOT_BYTES),
		(unsigned long long)((MODEL_SLOTS * PER_SLOT - used) * EXTENT),
		(unsigned long long)EXTENT, (unsigned long long)(MODEL_SLOTS * PER_SLOT),
		(unsigned long long)(MODEL_SLOTS * PER_SLOT - used), m->seqno);
	fprintf(f,
		"\"pv\":[{\"pv_uuid\":\"" MODEL_PV_UUID
		"\",\"pv_name\":\"/dev/model\",\"pv_attr\":\"a--\",\"pv_size\":\"%llu\","
		"\"pv_free\":\"%llu\",\"pv_pe_count\":\"%llu\",\"pv_pe_alloc_count\":\"%u\","
		"\"pe_start\":\"1048576\",\"pv_mda_size\":\"68153344\",\"pv_mda_free\":\"34074112\"}],",
		(unsigned long long)(MODEL_SLOTS * MODEL_SLOT_BYTES),
		(unsigned long long)((MODEL_SLOTS * PER_SLOT - used) * EXTENT),
		(unsigned long long)(MODEL_SLOTS * PER_SLOT), used);
	fprintf(f, "\"lv\":[");
	for (unsigned int i = 0, n = 0; i < MODEL_LVS; i++) {
		const struct model_lv *lv = &m->lvs[i];

		if (!lv->there)
			continue;
		fprintf(f,
			"%s{\"lv_uuid\":\"%s\",\"lv_name\":\"%s\",\"lv_attr\":\"%cwi-%c-----\","
			"\"lv_size\":\"%llu\",\"lv_layout\":\"linear\",\"lv_role\":\"public%s\","
			"\"origin\":\"%s\",\"lv_tags\":\"",
			n++ ? "," : "", lv->uuid, lv->name,
			lv->origin[0]	   ? 's' :
			snapshot_of(m, lv) ? 'o' :
					     '-',
			lv->active ? 'a' : '-', (unsigned long long)(lv->slots * MODEL_SLOT_BYTES),
			lv->origin[0]	   ? ",snapshot,thicksnapshot" :
			snapshot_of(m, lv) ? ",origin,thickorigin" :
					     "",
			lv->origin);
		for (unsigned int t = 0; t < lv->n_tags; t++)
			fprintf(f, "%s%s", t ? "," : "", lv->tags[t]);
		fprintf(f, "\"}");
	}
	fprintf(f, "],\"seg\":[");
	for (unsigned int i = 0, n = 0; i < MODEL_LVS; i++) {
		const struct model_lv *lv = &m->lvs[i];

		if (lv->there)
			fprintf(f,
				"%s{\"lv_uuid\":\"%s\",\"segtype\":\"linear\",\"seg_start_pe\":\"0\","
				"\"seg_pe_ranges\":\"/dev/model:%llu-%llu\"}",
				n++ ? "," : "", lv->uuid,
				(unsigned long long)(lv->first * PER_SLOT),
				(unsigned long long)((lv->first + lv->slots) * PER_SLOT - 1));
	}
	fprintf(f, "],\"pvseg\":[]}]}");
}

/* The word behind "@option ", the @nth one; false where there is none. */
static bool option(const char *call, const char *name, unsigned int nth, char *ret, size_t bytes)
{
	char find[40];

	snprintf(find, sizeof(find), " %s ", name);
	for (const char *at = strstr(call, find); at; at = strstr(at + 1, find)) {
		if (nth-- > 0)
			continue;
		at += strlen(find);
		snprintf(ret, bytes, "%.*s", (int)strcspn(at, " "), at);
		return true;
	}
	return false;
}

static void add_tag(struct model_lv *lv, const char *tag)
{
	assert_true(lv->n_tags < MODEL_TAGS);
	snprintf(lv->tags[lv->n_tags++], sizeof(lv->tags[0]), "%s", tag);
}

static void drop_tag(struct model_lv *lv, const char *tag)
{
	for (unsigned int t = 0; t < lv->n_tags; t++) {
		if (strcmp(lv->tags[t], tag) != 0)
			continue;
		lv->n_tags--;
		memmove(lv->tags[t], lv->tags[lv->n_tags], sizeof(lv->tags[0]));
		return;
	}
}

/* The lowest free slots in a row, as LVM's allocation would. */
static bool allocate(const struct model_host *m, unsigned int want, unsigned int *ret_first)
{
	for (unsigned int first = 0; first + want <= MODEL_SLOTS; first++) {
		unsigned int n = 0;

		while (n < want && model_slot_free(m, first + n))
			n++;
		if (n == want) {
			*ret_first = first;
			return true;
		}
	}
	return false;
}

static int lvcreate(struct model_host *m, const char *call, FILE *out)
{
	char name[128], extents[16], tag[100];
	struct model_lv *lv = m->lvs;

	assert_true(option(call, "-n", 0, name, sizeof(name)));
	assert_true(option(call, "-l", 0, extents, sizeof(extents)));
	while (lv < m->lvs + MODEL_LVS && lv->there)
		lv++;
	assert_true(lv < m->lvs + MODEL_LVS);
	memset(lv, 0, sizeof(*lv));
	lv->slots = (unsigned int)(strtoul(extents, NULL, 10) / PER_SLOT);
	if (model_lv_by_name(m, name) || !allocate(m, lv->slots, &lv->first))
		return 5;
	snprintf(lv->name, sizeof(lv->name), "%s", name);
	new_uuid(m, lv);
	for (unsigned int i = 0; option(call, "--addtag", i, tag, sizeof(tag)); i++)
		add_tag(lv, tag);
	lv->there = lv->active = true;
	write_metadata(m);
	fprintf(out, "  Logical volume \"%s\" created.\n", name);
	return 0;
}

static int lvrename(struct model_host *m, const char *call, FILE *out)
{
	char from[128], to[128];
	struct model_lv *lv;

	assert_int_equal(sscanf(call, "lvrename --yes vg %127s %127s", from, to), 2);
	lv = model_lv_by_name(m, from);
	if (!lv || model_lv_by_name(m, to))
		return 5;
	snprintf(lv->name, sizeof(lv->name), "%s", to);
	write_metadata(m);
	fprintf(out, "  Renamed \"%s\" to \"%s\" in volume group \"vg\"\n", from, to);
	return 0;
}

static void note_removal(struct model_host *m, const struct model_lv *lv)
{
	char command[256];
	bool trash = eph_trash_name_match(lv->name) ||
		     eph_streq(model_lv_tag(lv, "ephlvm.state="), "trash");

	if (!trash) {
		m->removed_ready += eph_streq(model_lv_tag(lv, "ephlvm.state="), "ready");
		return;
	}
	for (unsigned int i = 0; i < lv->slots; i++)
		m->freed_unerased += holds_any(m, lv->first + i, NULL);
	snprintf(command, sizeof(command),
		 "grep -q %s %s/state/receipts/receipts.jsonl 2>/dev/null", lv->uuid, m->root);
	m->freed_without_receipt += system(command) != 0;
}

/* To each LV of the selection: its UUIDs, of those that bear our tag. */
static int change(struct model_host *m, const char *call, FILE *out)
{
	bool remove = strncmp(call, "lvremove", 8) == 0;
	bool on = strstr(call, " -ay "), off = strstr(call, " -an ");
	char tag[100];
	unsigned int n = 0;

	assert_non_null(strstr(call, "lv_tags=\"ephlvm\""));
	for (const char *at = strstr(call, "lv_uuid=\""); at; at = strstr(at + 1, "lv_uuid=\"")) {
		struct model_lv *lv = by_uuid(m, at + strlen("lv_uuid=\""));

		if (!lv || !model_lv_tag(lv, "ephlvm"))
			continue;
		if (snapshot_of(m, lv) && strstr(call, "lv_role!=\"origin\""))
			continue;
		if (n > 0 && m->spoil == MODEL_DOES_ONE && m->changes == m->spoil_at)
			break;
		n++;
		if (on || off) {
			lv->active = on;
		} else if (remove) {
			note_removal(m, lv);
			for (struct model_lv *s; (s = snapshot_of(m, lv)); s->there = false)
				m->snapshot_lost++;
			fprintf(out, "  Logical volume \"%s\" successfully removed.\n", lv->name);
			lv->there = false;
		} else {
			for (unsigned int i = 0; option(call, "--deltag", i, tag, sizeof(tag)); i++)
				drop_tag(lv, tag);
			for (unsigned int i = 0; option(call, "--addtag", i, tag, sizeof(tag)); i++)
				add_tag(lv, tag);
			write_metadata(m);
			fprintf(out, "  Logical volume vg/%s changed.\n", lv->name);
		}
	}
	if (remove && n > 0)
		write_metadata(m);
	return 0;
}

static char *last_mark; /* the one that the log told last */

static int do_change(struct model_host *m, const char *call, FILE *out)
{
	if (strncmp(call, "lvcreate", 8) == 0)
		return lvcreate(m, call, out);
	if (strncmp(call, "lvrename", 8) == 0)
		return lvrename(m, call, out);
	return change(m, call, out);
}

/* As asked, or spoilt where this is the one. */
static void do_or_spoil(struct model_host *m, const char *call, FILE *out,
			struct fake_lvm_call *ret_answer)
{
	bool now = ++m->changes == m->spoil_at;
	enum model_spoil spoil = now ? m->spoil : MODEL_AS_ASKED;

	if (spoil == MODEL_OTHER_BEFORE || spoil == MODEL_OTHER_ALONE)
		model_other_program(m);
	for (unsigned int i = 0; i < MODEL_LVS && spoil == MODEL_SNAPSHOT_BEFORE; i++)
		if (m->lvs[i].there && model_lv_tag(&m->lvs[i], "ephlvm"))
			model_snapshot(m, &m->lvs[i]);
	if (spoil == MODEL_SAYS_AND_DOES_NOT) {
		static struct model_host was;

		was = *m;
		dry = true;
		ret_answer->status = do_change(m, call, out);
		dry = false;
		*m = was;
	} else if (spoil != MODEL_MATCHES_NOTHING && spoil != MODEL_DIES_BEFORE &&
		   spoil != MODEL_OTHER_ALONE) {
		ret_answer->status = do_change(m, call, out);
	}
	if (spoil == MODEL_OTHER_AFTER)
		model_other_program(m);
	if (spoil == MODEL_DOES_AND_FAILS || spoil == MODEL_DOES_ONE)
		ret_answer->status = 5;
	ret_answer->timed_out = spoil == MODEL_DIES_BEFORE || spoil == MODEL_DIES_AFTER;
}

static void answer(void *data, const char *call, struct fake_lvm_call *ret_answer)
{
	static char *text;
	struct model_host *m = data;
	char want[40];
	size_t bytes;
	FILE *out;

	free(text);
	text = NULL;
	out = open_memstream(&text, &bytes);
	if (strncmp(call, "fullreport", 10) == 0) {
		report(m, out);
	} else {
		snprintf(want, sizeof(want), "step %.*s-call", (int)strcspn(call, " "), call);
		m->unmarked += !eph_streq(last_mark, want);
		do_or_spoil(m, call, out, ret_answer);
	}
	fclose(out);
	ret_answer->out = text;
}

/* --- what stands in the place of the other edges --- */

int __wrap_eph_mark(struct ephlvm_ctx *ctx, const char *name);
int __real_eph_mark(struct ephlvm_ctx *ctx, const char *name);
int __wrap_eph_step(struct ephlvm_ctx *ctx, const char *name);
int __real_eph_step(struct ephlvm_ctx *ctx, const char *name);
int __wrap_eph_dm_check(struct ephlvm_ctx *ctx);
int __wrap_eph_dm_info(struct ephlvm_ctx *ctx, const char *vg_uuid, const char *lv_uuid,
		       struct eph_dm_info *ret_info);
int __wrap_eph_dm_open_lv(struct ephlvm_ctx *ctx, const char *vg_uuid, const char *lv_uuid,
			  const char *subject, uint64_t size_bytes, bool exclusive, int flags,
			  int *ret_fd);
int __wrap_eph_dm_prove_lv(struct ephlvm_ctx *ctx, int fd, const char *vg_uuid, const char *lv_uuid,
			   const char *subject, uint64_t size_bytes, unsigned int own_opens);
int __wrap_eph_dm_check_path(struct ephlvm_ctx *ctx, const char *vg_uuid, const char *lv_uuid,
			     const char *path);
int __wrap_eph_holders_find(dev_t devno, struct eph_strv *holders);
int __wrap_eph_holders_find_static(dev_t devno, struct eph_strv *holders);
int __wrap_eph_drive_read(struct ephlvm_ctx *ctx, const char *path, struct eph_drive *ret_drive);
int __wrap_eph_virt_read(struct ephlvm_ctx *ctx, struct eph_virt_uses *ret_uses);
int __wrap_eph_fs_make(struct ephlvm_ctx *ctx, int fd, const char *subject, const char *fs,
		       const char *label);

/* Where a process that is killed was: the log of a purge's threads comes too late for that. */
int __wrap_eph_mark(struct ephlvm_ctx *ctx, const char *name)
{
	snprintf(host->mark, sizeof(host->mark), "%s", name);
	return __real_eph_mark(ctx, name);
}

int __wrap_eph_step(struct ephlvm_ctx *ctx, const char *name)
{
	snprintf(host->mark, sizeof(host->mark), "%s", name);
	return __real_eph_step(ctx, name);
}

int __wrap_eph_dm_check(struct ephlvm_ctx *ctx)
{
	(void)ctx;
	return 0;
}

int __wrap_eph_dm_info(struct ephlvm_ctx *ctx, const char *vg_uuid, const char *lv_uuid,
		       struct eph_dm_info *ret_info)
{
	const struct model_lv *lv = by_uuid(host, lv_uuid);

	(void)ctx;
	(void)vg_uuid;
	*ret_info = (struct eph_dm_info){ 0 };
	if (!lv || !lv->active)
		return 0;
	*ret_info = (struct eph_dm_info){
		.exists = true,
		.devno = makedev(253, lv->first),
		.live_table = true,
		.size_bytes = lv->slots * MODEL_SLOT_BYTES,
	};
	return 0;
}

/* The scenarios see to it that each LV has one slot: a descriptor cannot begin in the middle of a file. */
int __wrap_eph_dm_open_lv(struct ephlvm_ctx *ctx, const char *vg_uuid, const char *lv_uuid,
			  const char *subject, uint64_t size_bytes, bool exclusive, int flags,
			  int *ret_fd)
{
	const struct model_lv *lv = by_uuid(host, lv_uuid);

	if (lv && snapshot_of(host, lv))
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, subject, NULL, "snapshot-origin");
	(void)vg_uuid;
	(void)exclusive;
	(void)flags;
	if (!lv || !lv->active || size_bytes != lv->slots * MODEL_SLOT_BYTES)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, ENXIO, subject, NULL, "not active");
	assert_int_equal(lv->slots, 1);
	*ret_fd = open_slot(host, lv->first);
	return 0;
}

int __wrap_eph_dm_prove_lv(struct ephlvm_ctx *ctx, int fd, const char *vg_uuid, const char *lv_uuid,
			   const char *subject, uint64_t size_bytes, unsigned int own_opens)
{
	const struct model_lv *lv = by_uuid(host, lv_uuid);
	struct stat a, b;
	int slot;

	(void)vg_uuid;
	(void)size_bytes;
	(void)own_opens;
	if (!lv || !lv->active)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, ESTALE, subject, NULL, "not that LV");
	if (snapshot_of(host, lv))
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, subject, NULL, "snapshot-origin");
	slot = open_slot(host, lv->first);
	assert_int_equal(fstat(fd, &a), 0);
	assert_int_equal(fstat(slot, &b), 0);
	close(slot);
	host->erased_by_others += a.st_ino != b.st_ino;
	return 0;
}

/* The model has no /dev; its links are right. */
int __wrap_eph_dm_check_path(struct ephlvm_ctx *ctx, const char *vg_uuid, const char *lv_uuid,
			     const char *path)
{
	const struct model_lv *lv = by_uuid(host, lv_uuid);

	(void)vg_uuid;
	if (!lv || !lv->active || !eph_streq(strrchr(path, '/') + 1, lv->name))
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, ENOENT, path, NULL, "no such link");
	return 0;
}

int __wrap_eph_holders_find(dev_t devno, struct eph_strv *holders)
{
	(void)devno;
	(void)holders;
	return 0;
}

int __wrap_eph_holders_find_static(dev_t devno, struct eph_strv *holders)
{
	(void)devno;
	(void)holders;
	return 0;
}

int __wrap_eph_drive_read(struct ephlvm_ctx *ctx, const char *path, struct eph_drive *ret_drive)
{
	(void)ctx;
	(void)path;
	*ret_drive = (struct eph_drive){ .serial = strdup("MODEL-1") };
	return 0;
}

int __wrap_eph_virt_read(struct ephlvm_ctx *ctx, struct eph_virt_uses *ret_uses)
{
	(void)ctx;
	*ret_uses = (struct eph_virt_uses){ .asked = true };
	return 0;
}

int __wrap_eph_fs_make(struct ephlvm_ctx *ctx, int fd, const char *subject, const char *fs,
		       const char *label)
{
	struct model_lv *lv = model_lv_by_name(host, strchr(subject, '/') + 1);

	(void)ctx;
	(void)fs;
	(void)label;
	assert_non_null(lv);
	lv->formats++;
	host->formatted_ready += !eph_streq(model_lv_tag(lv, "ephlvm.state="), "new");
	assert_int_equal(pwrite(fd, "ext4", 4, BLOCK), 4);
	return 0;
}

/* --- the whole --- */

struct model_host *model_host_new(void)
{
	struct model_host *m =
		mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(m != MAP_FAILED);
	pv = mmap(NULL, sizeof(*pv), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(pv != MAP_FAILED);
	*pv = (struct fake_pv){ .fd = -1 };
	durable = mmap(NULL, sizeof(*durable), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	assert_true(durable != MAP_FAILED);
	host = m;
	return m;
}

void model_host_reset(struct model_host *m)
{
	char command[160], path[128];

	if (m->root[0]) {
		snprintf(command, sizeof(command), "rm -rf %s", m->root);
		assert_int_equal(system(command), 0);
	}
	fake_pv_free(pv);
	memset(m, 0, sizeof(*m));
	snprintf(m->root, sizeof(m->root), "/tmp/ephlvm-model.XXXXXX");
	assert_non_null(mkdtemp(m->root));
	snprintf(path, sizeof(path), "%s/state", m->root);
	setenv("EPHLVM_STATE_DIR", path, 1);
	snprintf(path, sizeof(path), "%s/locks", m->root);
	setenv("EPHLVM_LOCK_DIR", path, 1);
	for (unsigned int i = 0; i < MODEL_SLOTS; i++) {
		int fd = open_slot(m, i);

		assert_int_equal(ftruncate(fd, (off_t)MODEL_SLOT_BYTES), 0);
		close(fd);
		model_plant(m, i, "former");
	}
	*pv = fake_pv_new(MODEL_PV_UUID, (uint64_t)256 << 10);
	write_metadata(m);
	make_durable(m);
}

void model_host_free(struct model_host *m)
{
	char command[160];

	snprintf(command, sizeof(command), "rm -rf %s", m->root);
	assert_int_equal(system(command), 0);
	fake_pv_free(pv);
	munmap(pv, sizeof(*pv));
	munmap(durable, sizeof(*durable));
	munmap(m, sizeof(*m));
	host = NULL;
}

/* Marks are told in the log; a purge's threads hand theirs on later, and do not count for LVM's calls. */
static void log_fn(void *data, enum ephlvm_log_level level, const char *message)
{
	(void)data;
	(void)level;
	if (getenv("MODEL_LOG"))
		fprintf(stderr, "    %s\n", message);
	if (strncmp(message, "step ", 5) != 0)
		return;
	free(last_mark);
	last_mark = strdup(message);
}

struct ephlvm_ctx *model_host_ctx(struct model_host *m)
{
	struct ephlvm_ctx *ctx = NULL;
	struct fake_lvm *fake;

	assert_int_equal(ephlvm_ctx_new(&ctx), 0);
	ephlvm_ctx_set_log(ctx, EPHLVM_LOG_DEBUG, log_fn, NULL);
	fake = fake_lvm_install(ctx);
	fake_lvm_answer_with(fake, answer, m);
	fake_lvm_put_pv(fake, MODEL_PV_UUID, pv->fd);
	return ctx;
}
