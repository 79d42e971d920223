// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * lvm_report.c - LVM's JSON reports into views.
 * Owns the columns that are asked for and how each is read; the only file of the LVM room that knows
 * JSON. Must not run anything. What LVM prints is not trusted: a row that lacks what is needed,
 * a number that is none, a segment of no LV fail the whole report, because an incomplete view reads like
 * "not there".
 */
#include "edge/lvm_report.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#include "util/cleanup.h"

/* A report nests four deep. */
#define MAX_DEPTH 8

enum field_type {
	TEXT, /* must be there, and not be empty */
	TEXT_MAYBE, /* NULL where absent or empty */
	NUMBER, /* must be there: digits */
	NUMBER_MAYBE, /* 0 where absent or empty */
	LIST, /* tags, separated by commas; may be empty, must be there */
};

struct field {
	const char *name;
	enum field_type type;
	size_t offset;
};

struct vg_row {
	struct eph_vg vg; /* first: rows are read into it */
	char *attr;
};

struct pv_row {
	struct eph_pv pv;
	char *attr;
};

struct lv_row {
	struct eph_lv lv;
	char *converting, *merging;
};

struct seg_row {
	char *lv_uuid, *segtype, *ranges;
	uint64_t start;
};

static const struct field vg_fields[] = {
	{ "vg_uuid", TEXT, offsetof(struct vg_row, vg.uuid) },
	{ "vg_name", TEXT, offsetof(struct vg_row, vg.name) },
	{ "vg_attr", TEXT, offsetof(struct vg_row, attr) },
	{ "vg_tags", LIST, offsetof(struct vg_row, vg.tags) },
	{ "vg_systemid", TEXT_MAYBE, offsetof(struct vg_row, vg.system_id) },
	{ "vg_size", NUMBER, offsetof(struct vg_row, vg.size_bytes) },
	{ "vg_free", NUMBER, offsetof(struct vg_row, vg.free_bytes) },
	{ "vg_extent_size", NUMBER, offsetof(struct vg_row, vg.extent_bytes) },
	{ "vg_extent_count", NUMBER, offsetof(struct vg_row, vg.extents) },
	{ "vg_free_count", NUMBER, offsetof(struct vg_row, vg.free_extents) },
	{ "vg_seqno", NUMBER, offsetof(struct vg_row, vg.seqno) },
	{ "vg_missing_pv_count", NUMBER, offsetof(struct vg_row, vg.missing_pvs) },
	{ "vg_mda_size", NUMBER_MAYBE, offsetof(struct vg_row, vg.mda_bytes) },
	{ "vg_mda_free", NUMBER_MAYBE, offsetof(struct vg_row, vg.mda_free_bytes) },
};

static const struct field pv_fields[] = {
	{ "pv_uuid", TEXT, offsetof(struct pv_row, pv.uuid) },
	{ "pv_name", TEXT, offsetof(struct pv_row, pv.device) },
	{ "pv_attr", TEXT, offsetof(struct pv_row, attr) },
	{ "pv_size", NUMBER, offsetof(struct pv_row, pv.size_bytes) },
	{ "pv_free", NUMBER, offsetof(struct pv_row, pv.free_bytes) },
	{ "pv_pe_count", NUMBER, offsetof(struct pv_row, pv.extents) },
	{ "pv_pe_alloc_count", NUMBER, offsetof(struct pv_row, pv.extents_used) },
	{ "pe_start", NUMBER_MAYBE, offsetof(struct pv_row, pv.pe_start_bytes) },
	{ "pv_mda_size", NUMBER_MAYBE, offsetof(struct pv_row, pv.mda_bytes) },
	{ "pv_mda_free", NUMBER_MAYBE, offsetof(struct pv_row, pv.mda_free_bytes) },
};

static const struct field lv_fields[] = {
	{ "lv_uuid", TEXT, offsetof(struct lv_row, lv.uuid) },
	{ "lv_name", TEXT, offsetof(struct lv_row, lv.name) },
	{ "lv_attr", TEXT, offsetof(struct lv_row, lv.attr) },
	{ "lv_size", NUMBER, offsetof(struct lv_row, lv.size_bytes) },
	{ "lv_layout", TEXT, offsetof(struct lv_row, lv.layout) },
	{ "lv_role", TEXT, offsetof(struct lv_row, lv.role) },
	{ "lv_tags", LIST, offsetof(struct lv_row, lv.tags) },
	{ "lv_parent", TEXT_MAYBE, offsetof(struct lv_row, lv.parent) },
	{ "pool_lv", TEXT_MAYBE, offsetof(struct lv_row, lv.pool_lv) },
	{ "lv_converting", TEXT_MAYBE, offsetof(struct lv_row, converting) },
	{ "lv_merging", TEXT_MAYBE, offsetof(struct lv_row, merging) },
	{ "origin", TEXT_MAYBE, offsetof(struct lv_row, lv.origin) },
};

static const struct field seg_fields[] = {
	{ "lv_uuid", TEXT, offsetof(struct seg_row, lv_uuid) },
	{ "segtype", TEXT, offsetof(struct seg_row, segtype) },
	{ "seg_start_pe", NUMBER, offsetof(struct seg_row, start) },
	{ "seg_pe_ranges", TEXT_MAYBE, offsetof(struct seg_row, ranges) },
};

#define N_FIELDS(fields) (sizeof(fields) / sizeof((fields)[0]))

/* --- the question --- */

static void columns(struct eph_lvm_args *args, const char *report, const struct field *fields,
		    size_t n)
{
	char list[512] = "";
	size_t used = 0;

	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? "," : "",
					 fields[i].name);
	eph_lvm_arg(args, "--configreport");
	eph_lvm_arg(args, report);
	eph_lvm_arg(args, "-o");
	eph_lvm_arg(args, list);
}

static void format_args(struct eph_lvm_args *args)
{
	static const char *const format[] = { "--reportformat", "json", "--units", "b",
					      "--nosuffix" };

	for (size_t i = 0; i < sizeof(format) / sizeof(format[0]); i++)
		eph_lvm_arg(args, format[i]);
}

void eph_lvm_report_args(struct eph_lvm_args *args)
{
	format_args(args);
	/* Sub-LVs too; and VGs that belong to others are to be seen as that, not to be missing. */
	eph_lvm_arg(args, "--all");
	eph_lvm_arg(args, "--foreign");
	eph_lvm_arg(args, "--shared");
	columns(args, "vg", vg_fields, N_FIELDS(vg_fields));
	columns(args, "pv", pv_fields, N_FIELDS(pv_fields));
	columns(args, "lv", lv_fields, N_FIELDS(lv_fields));
	columns(args, "seg", seg_fields, N_FIELDS(seg_fields));
	/* fullreport always adds this one; it is not read. */
	eph_lvm_arg(args, "--configreport");
	eph_lvm_arg(args, "pvseg");
	eph_lvm_arg(args, "-o");
	eph_lvm_arg(args, "pvseg_start");
}

void eph_lvm_report_vg_uuid_args(struct eph_lvm_args *args)
{
	format_args(args);
	eph_lvm_arg(args, "--shared");
	eph_lvm_arg(args, "-o");
	eph_lvm_arg(args, "vg_uuid");
}

/* --- memory --- */

static void vg_row_clear(struct vg_row *row)
{
	eph_lvm_vg_clear(&row->vg);
	free(row->attr);
}

static void pv_row_clear(struct pv_row *row)
{
	eph_lvm_pv_clear(&row->pv);
	free(row->attr);
}

static void lv_row_clear(struct lv_row *row)
{
	eph_lvm_lv_clear(&row->lv);
	free(row->converting);
	free(row->merging);
}

static void seg_row_clear(struct seg_row *row)
{
	free(row->lv_uuid);
	free(row->segtype);
	free(row->ranges);
}

static void json_freep(json_object **object)
{
	json_object_put(*object);
}

static void tokener_freep(json_tokener **tokener)
{
	if (*tokener)
		json_tokener_free(*tokener);
}

#define _cleanup_json_ __attribute__((cleanup(json_freep)))
#define _cleanup_tokener_ __attribute__((cleanup(tokener_freep)))

/* --- one row --- */

static int fail_report(struct ephlvm_ctx *ctx, const char *name, const char *value)
{
	if (!value)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, NULL, NULL,
				"LVM's report lacks \"%s\"", name);
	return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, NULL, NULL,
			"LVM's report has \"%s\" as \"%s\"", name, value);
}

static int read_list(const char *value, struct eph_strv *list)
{
	while (*value) {
		size_t len = strcspn(value, ",");
		int r = eph_strv_addf(list, "%.*s", (int)len, value);

		if (r < 0)
			return r;
		value += len + (value[len] == ',');
	}
	return 0;
}

/* @value: NULL where the row does not have it. */
static int read_value(struct ephlvm_ctx *ctx, const struct field *field, const char *value,
		      void *into)
{
	bool none = !value || !*value;
	char *copy;

	switch (field->type) {
	case TEXT:
	case TEXT_MAYBE:
		if (none)
			return field->type == TEXT ? fail_report(ctx, field->name, value) : 0;
		copy = strdup(value);
		if (!copy)
			return eph_fail_oom(ctx);
		free(*(char **)into); /* a key can be in a row twice */
		*(char **)into = copy;
		return 0;
	case NUMBER:
	case NUMBER_MAYBE:
		if (none && field->type == NUMBER_MAYBE)
			return 0;
		if (none || eph_u64_parse(value, into) < 0)
			return fail_report(ctx, field->name, value);
		return 0;
	case LIST:
		if (!value)
			return fail_report(ctx, field->name, value);
		return read_list(value, into) < 0 ? eph_fail_oom(ctx) : 0;
	}
	return 0;
}

static int read_row(struct ephlvm_ctx *ctx, json_object *object, const struct field *fields,
		    size_t n, void *row)
{
	if (!json_object_is_type(object, json_type_object))
		return fail_report(ctx, "row", json_object_to_json_string(object));
	for (size_t i = 0; i < n; i++) {
		json_object *value = NULL;
		int r;

		if (json_object_object_get_ex(object, fields[i].name, &value) &&
		    !json_object_is_type(value, json_type_string))
			return fail_report(ctx, fields[i].name, json_object_to_json_string(value));
		r = read_value(ctx, &fields[i], value ? json_object_get_string(value) : NULL,
			       (char *)row + fields[i].offset);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The array @name of @group; an absent one gives NULL. */
static int get_rows(struct ephlvm_ctx *ctx, json_object *group, const char *name,
		    json_object **ret_rows)
{
	json_object *rows = NULL;

	if (json_object_object_get_ex(group, name, &rows) &&
	    !json_object_is_type(rows, json_type_array))
		return fail_report(ctx, name, json_object_to_json_string(rows));
	*ret_rows = rows;
	return 0;
}

static size_t count(const json_object *rows)
{
	return rows ? json_object_array_length(rows) : 0;
}

/* Character @i of an attribute string; '-' beyond its end. */
static char attr_at(const char *attr, size_t i)
{
	return i < strlen(attr) ? attr[i] : '-';
}

/* --- PVs --- */

static int read_pv(struct ephlvm_ctx *ctx, json_object *object, struct eph_pv *pv)
{
	__attribute__((cleanup(pv_row_clear))) struct pv_row row = { 0 };
	int r;

	r = read_row(ctx, object, pv_fields, N_FIELDS(pv_fields), &row);
	if (r < 0)
		return r;
	row.pv.allocatable = attr_at(row.attr, 0) == 'a';
	row.pv.missing = attr_at(row.attr, 2) == 'm';
	/* "[unknown]" is LVM's name for the device of a missing PV. */
	if (row.pv.device[0] != '/') {
		free(row.pv.device);
		row.pv.device = NULL;
		row.pv.missing = true;
	}
	*pv = row.pv;
	memset(&row.pv, 0, sizeof(row.pv));
	return 0;
}

/* Some versions list devices that are no PV at all along with the orphans. */
static bool is_pv(json_object *object)
{
	json_object *uuid = NULL;

	if (!json_object_object_get_ex(object, "pv_uuid", &uuid))
		return true;
	return !json_object_is_type(uuid, json_type_string) || json_object_get_string_len(uuid) > 0;
}

static int read_pvs(struct ephlvm_ctx *ctx, json_object *rows, struct eph_pv **pvs, size_t *n)
{
	struct eph_pv *grown;

	grown = reallocarray(*pvs, *n + count(rows) + 1, sizeof(*grown));
	if (!grown)
		return eph_fail_oom(ctx);
	*pvs = grown;
	for (size_t i = 0; i < count(rows); i++) {
		json_object *object = json_object_array_get_idx(rows, i);
		int r;

		if (!is_pv(object))
			continue;
		r = read_pv(ctx, object, &grown[*n]);
		if (r < 0)
			return r;
		(*n)++;
	}
	return 0;
}

/* --- LVs and their segments --- */

/*
 * lv_attr: type, permissions, allocation (a capital: locked), fixed minor, state, open, target, zero,
 * health, skip. "X" stands for what LVM could not find out; dm decides then.
 */
static void read_lv_attr(struct lv_row *row)
{
	struct eph_lv *lv = &row->lv;
	char type = attr_at(lv->attr, 0), allocation = attr_at(lv->attr, 2);
	char state = attr_at(lv->attr, 4);

	lv->active = !strchr("-Xh", state);
	lv->suspended = strchr("sSMC", state) != NULL;
	lv->open = attr_at(lv->attr, 5) == 'o';
	lv->partial = attr_at(lv->attr, 8) == 'p';
	/* p: pvmove, c: under conversion, O and S: being merged */
	lv->locked = strchr("pcOS", type) || (allocation >= 'A' && allocation <= 'Z') ||
		     row->converting || row->merging;
	lv->hidden = strstr(lv->role, "private") != NULL;
	/* Also an external origin of thin volumes, which they read through. Thin snapshots stand for themselves. */
	lv->thick_origin = strstr(lv->role, "origin") && !strstr(lv->role, "thinorigin");
	lv->thick_snapshot = strstr(lv->role, "thicksnapshot") != NULL;
}

static int read_lv(struct ephlvm_ctx *ctx, json_object *object, struct eph_lv *lv)
{
	__attribute__((cleanup(lv_row_clear))) struct lv_row row = { 0 };
	int r;

	r = read_row(ctx, object, lv_fields, N_FIELDS(lv_fields), &row);
	if (r < 0)
		return r;
	read_lv_attr(&row);
	*lv = row.lv;
	memset(&row.lv, 0, sizeof(row.lv));
	return 0;
}

static int read_lvs(struct ephlvm_ctx *ctx, json_object *rows, struct eph_vg *vg)
{
	vg->lvs = calloc(count(rows) + 1, sizeof(*vg->lvs));
	if (!vg->lvs)
		return eph_fail_oom(ctx);
	for (size_t i = 0; i < count(rows); i++) {
		int r = read_lv(ctx, json_object_array_get_idx(rows, i), &vg->lvs[i]);

		if (r < 0)
			return r;
		vg->n_lvs++;
	}
	return 0;
}

/* "DEVICE:FIRST-LAST"; the device may hold colons itself. */
static int add_range(struct eph_lv *lv, char *text)
{
	struct eph_range range = { 0 }, *grown;
	char *colon = strrchr(text, ':'), *dash = colon ? strchr(colon, '-') : NULL;
	uint64_t last;

	if (!dash)
		return -EINVAL;
	*colon = '\0';
	*dash = '\0';
	if (eph_u64_parse(colon + 1, &range.first) < 0 || eph_u64_parse(dash + 1, &last) < 0 ||
	    last < range.first || last - range.first == UINT64_MAX)
		return -EINVAL;
	range.count = last - range.first + 1;
	grown = reallocarray(lv->ranges, lv->n_ranges + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	lv->ranges = grown;
	range.device = strdup(text);
	if (!range.device)
		return -ENOMEM;
	grown[lv->n_ranges++] = range;
	return 0;
}

static int add_ranges(struct ephlvm_ctx *ctx, struct eph_lv *lv, const struct seg_row *seg)
{
	_cleanup_free_ char *copy = NULL;
	char *rest, *one;
	int r;

	if (!seg->ranges)
		return 0;
	copy = strdup(seg->ranges);
	if (!copy)
		return eph_fail_oom(ctx);
	for (rest = copy; (one = strsep(&rest, " "));) {
		r = add_range(lv, one);
		if (r == -ENOMEM)
			return eph_fail_oom(ctx);
		if (r < 0)
			return fail_report(ctx, "seg_pe_ranges", seg->ranges);
	}
	return 0;
}

static int add_segment(struct ephlvm_ctx *ctx, struct eph_lv *lv, const struct seg_row *seg)
{
	char *segtype;

	if (!lv->segtype || !eph_streq(lv->segtype, seg->segtype)) {
		segtype = strdup(lv->segtype ? "mixed" : seg->segtype);
		if (!segtype)
			return eph_fail_oom(ctx);
		free(lv->segtype);
		lv->segtype = segtype;
	}
	return add_ranges(ctx, lv, seg);
}

static int compare_segs(const void *a, const void *b)
{
	const struct seg_row *x = a, *y = b;
	int by_lv = strcmp(x->lv_uuid, y->lv_uuid);

	return by_lv ? by_lv : (x->start > y->start) - (x->start < y->start);
}

static int compare_lvs(const void *a, const void *b)
{
	return strcmp((*(struct eph_lv *const *)a)->uuid, (*(struct eph_lv *const *)b)->uuid);
}

/*
 * Both sorted by uuid, the segments by their place in the LV too: then one walk through both hands each LV
 * its segments in logical order. Every LV has a segment and every segment has an LV.
 */
static int join_segments(struct ephlvm_ctx *ctx, struct eph_lv **lvs, size_t n_lvs,
			 const struct seg_row *segs, size_t n_segs)
{
	size_t s = 0;

	for (size_t l = 0; l < n_lvs; l++) {
		if (l > 0 && eph_streq(lvs[l]->uuid, lvs[l - 1]->uuid))
			return fail_report(ctx, "lv_uuid", lvs[l]->uuid);
		for (; s < n_segs && eph_streq(segs[s].lv_uuid, lvs[l]->uuid); s++) {
			int r = add_segment(ctx, lvs[l], &segs[s]);

			if (r < 0)
				return r;
		}
		if (!lvs[l]->segtype)
			return fail_report(ctx, "segtype", NULL);
	}
	return s == n_segs ? 0 : fail_report(ctx, "lv_uuid", segs[s].lv_uuid);
}

struct segs {
	struct seg_row *v;
	size_t n;
};

static void segs_clear(struct segs *segs)
{
	for (size_t i = 0; i < segs->n; i++)
		seg_row_clear(&segs->v[i]);
	free(segs->v);
}

static int read_segs(struct ephlvm_ctx *ctx, json_object *rows, struct eph_vg *vg)
{
	__attribute__((cleanup(segs_clear))) struct segs segs = { 0 };
	_cleanup_free_ struct eph_lv **lvs = NULL;

	segs.v = calloc(count(rows) + 1, sizeof(*segs.v));
	lvs = calloc(vg->n_lvs + 1, sizeof(struct eph_lv *));
	if (!segs.v || !lvs)
		return eph_fail_oom(ctx);
	for (size_t i = 0; i < count(rows); i++) {
		int r = read_row(ctx, json_object_array_get_idx(rows, i), seg_fields,
				 N_FIELDS(seg_fields), &segs.v[segs.n++]);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < vg->n_lvs; i++)
		lvs[i] = &vg->lvs[i];
	qsort(segs.v, segs.n, sizeof(*segs.v), compare_segs);
	qsort(lvs, vg->n_lvs, sizeof(struct eph_lv *), compare_lvs);
	return join_segments(ctx, lvs, vg->n_lvs, segs.v, segs.n);
}

/* --- VGs --- */

static int read_vg(struct ephlvm_ctx *ctx, json_object *object, struct eph_vg *vg)
{
	__attribute__((cleanup(vg_row_clear))) struct vg_row row = { 0 };
	int r;

	r = read_row(ctx, object, vg_fields, N_FIELDS(vg_fields), &row);
	if (r < 0)
		return r;
	if (row.vg.extent_bytes == 0)
		return fail_report(ctx, "vg_extent_size", "0");
	row.vg.exported = attr_at(row.attr, 2) == 'x';
	row.vg.shared = strchr("cs", attr_at(row.attr, 5)) != NULL;
	/* Anybody's who names one, until LVM says that it is ours. */
	row.vg.foreign = row.vg.system_id != NULL;
	*vg = row.vg;
	memset(&row.vg, 0, sizeof(row.vg));
	return 0;
}

/* The PVs that have no VG: a group without "vg", and so without LVs. */
static int read_orphans(struct ephlvm_ctx *ctx, json_object *const rows[4],
			struct eph_lvm_view *view)
{
	if (count(rows[2]) || count(rows[3]))
		return fail_report(ctx, "vg", NULL);
	return read_pvs(ctx, rows[1], &view->orphans, &view->n_orphans);
}

/* The report of one VG, or of the PVs that have none. */
static int read_group(struct ephlvm_ctx *ctx, json_object *group, struct eph_lvm_view *view)
{
	json_object *rows[4];
	static const char *const names[4] = { "vg", "pv", "lv", "seg" };
	struct eph_vg *vg = &view->vgs[view->n_vgs];
	int r;

	if (!json_object_is_type(group, json_type_object))
		return fail_report(ctx, "report", json_object_to_json_string(group));
	for (size_t i = 0; i < 4; i++) {
		r = get_rows(ctx, group, names[i], &rows[i]);
		if (r < 0)
			return r;
	}
	if (!rows[0])
		return read_orphans(ctx, rows, view);
	if (count(rows[0]) != 1)
		return fail_report(ctx, "vg", json_object_to_json_string(rows[0]));
	r = read_vg(ctx, json_object_array_get_idx(rows[0], 0), vg);
	if (r < 0)
		return r;
	view->n_vgs++;
	r = read_pvs(ctx, rows[1], &vg->pvs, &vg->n_pvs);
	if (r < 0)
		return r;
	r = read_lvs(ctx, rows[2], vg);
	if (r < 0)
		return r;
	return read_segs(ctx, rows[3], vg);
}

/* --- the document --- */

/* Where the JSON document begins: at the first line that opens one. NULL for nowhere. */
static const char *find_document(const char *out)
{
	for (const char *line = out; line;) {
		if (line[strspn(line, " \t")] == '{')
			return line;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return NULL;
}

/* The groups in {"report": [...]}, and nothing behind it. The array belongs to @ret_document. */
static int parse_document(struct ephlvm_ctx *ctx, const char *text, json_object **ret_document,
			  json_object **ret_groups)
{
	_cleanup_tokener_ json_tokener *tokener = json_tokener_new_ex(MAX_DEPTH);
	_cleanup_json_ json_object *document = NULL;
	json_object *groups = NULL;
	size_t end;

	if (!tokener)
		return eph_fail_oom(ctx);
	document = json_tokener_parse_ex(tokener, text, (int)strlen(text));
	if (!document)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, NULL, NULL,
				"LVM's report is not JSON: %s",
				json_tokener_error_desc(json_tokener_get_error(tokener)));
	end = json_tokener_get_parse_end(tokener);
	if (text[end + strspn(text + end, " \t\r\n")])
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, NULL, NULL,
				"LVM's report goes on behind its end");
	if (!json_object_object_get_ex(document, "report", &groups) ||
	    !json_object_is_type(groups, json_type_array))
		return fail_report(ctx, "report", NULL);
	*ret_document = eph_steal(document);
	*ret_groups = groups;
	return 0;
}

static int open_document(struct ephlvm_ctx *ctx, const char *out, json_object **ret_document,
			 json_object **ret_groups)
{
	const char *text = find_document(out);

	if (!text)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, NULL, NULL, "LVM gave no report");
	return parse_document(ctx, text, ret_document, ret_groups);
}

static int keep_warnings(struct ephlvm_ctx *ctx, const char *out, const char *err,
			 struct eph_lvm_view *view)
{
	int before = (int)(find_document(out) - out);

	if (before == 0 && !*err)
		return 0;
	if (asprintf(&view->warnings, "%s%.*s", err, before, out) < 0) {
		view->warnings = NULL;
		return eph_fail_oom(ctx);
	}
	return 0;
}

int eph_lvm_report_parse(struct ephlvm_ctx *ctx, const char *out, const char *err,
			 struct eph_lvm_view **ret_view)
{
	_cleanup_json_ json_object *document = NULL;
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	json_object *groups;
	int r;

	r = open_document(ctx, out, &document, &groups);
	if (r < 0)
		return r;
	view = calloc(1, sizeof(*view));
	if (!view)
		return eph_fail_oom(ctx);
	view->vgs = calloc(count(groups) + 1, sizeof(*view->vgs));
	if (!view->vgs)
		return eph_fail_oom(ctx);
	for (size_t i = 0; i < count(groups); i++) {
		r = read_group(ctx, json_object_array_get_idx(groups, i), view);
		if (r < 0)
			return r;
	}
	r = keep_warnings(ctx, out, err, view);
	if (r < 0)
		return r;
	eph_lvm_view_mark_duplicates(view);
	*ret_view = eph_steal(view);
	return 0;
}

int eph_lvm_report_vg_uuids(struct ephlvm_ctx *ctx, const char *out, struct eph_strv *ret_uuids)
{
	static const struct field uuid_field = { "vg_uuid", TEXT, 0 };
	_cleanup_json_ json_object *document = NULL;
	_cleanup_strv_ struct eph_strv uuids = EPH_STRV_INIT;
	json_object *groups, *rows = NULL;
	int r;

	r = open_document(ctx, out, &document, &groups);
	if (r < 0)
		return r;
	if (count(groups) != 1)
		return fail_report(ctx, "report", json_object_to_json_string(groups));
	r = get_rows(ctx, json_object_array_get_idx(groups, 0), "vg", &rows);
	if (r < 0)
		return r;
	if (!rows)
		return fail_report(ctx, "vg", NULL);
	for (size_t i = 0; i < count(rows); i++) {
		_cleanup_free_ char *uuid = NULL;

		r = read_row(ctx, json_object_array_get_idx(rows, i), &uuid_field, 1, &uuid);
		if (r < 0)
			return r;
		if (eph_strv_add(&uuids, uuid) < 0)
			return eph_fail_oom(ctx);
	}
	*ret_uuids = uuids;
	uuids = (struct eph_strv)EPH_STRV_INIT;
	return 0;
}
