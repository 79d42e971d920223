// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * domxml.c - one disk into a domain document and out of it, as a transform of its text.
 * Owns the place of the disk and the white space that goes with it; whether it may go there is
 * domxml_plan.c. Every other byte of the document stays. Must not do I/O.
 *
 * What is added is one run of bytes directly behind the tag before it: either the element alone, or
 * a line end, the indentation and the element. So removal can take back exactly that.
 */
#include "pure/domxml.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/context.h"
#include "pure/domxml_doc.h"
#include "util/cleanup.h"

/* Indentation beyond this is not copied: ten lines of it would be longer than the document. */
#define INDENT_MAX 256

static const struct eph_domxml_layout one_line = { "", 0, "", 0, "", 0 };

/*
 * How the line of the element at @start begins: @ret_layout gets its line end and indentation.
 * False where something stands before it on its line.
 */
static bool read_indent(const struct eph_domxml_doc *doc, size_t start,
			struct eph_domxml_layout *ret_layout)
{
	const char *xml = doc->xml;
	size_t at = start;

	while (at > 0 && (xml[at - 1] == ' ' || xml[at - 1] == '\t') && start - at <= INDENT_MAX)
		at--;
	if (at == 0 || xml[at - 1] != '\n')
		return false;
	ret_layout->indent = xml + at;
	ret_layout->indent_bytes = start - at;
	ret_layout->eol = xml + at - 1;
	ret_layout->eol_bytes = 1;
	if (at >= 2 && xml[at - 2] == '\r') {
		ret_layout->eol--;
		ret_layout->eol_bytes++;
	}
	return true;
}

/* One step of indentation: what a child of <devices> has more than <devices>. */
static void read_unit(const struct eph_domxml_doc *doc, struct eph_domxml_layout *layout)
{
	struct eph_domxml_layout devices;

	layout->unit = layout->indent_bytes && layout->indent[0] == '\t' ? "\t" : "  ";
	layout->unit_bytes = strlen(layout->unit);
	if (!read_indent(doc, doc->devices_open.start, &devices) ||
	    devices.indent_bytes >= layout->indent_bytes ||
	    memcmp(devices.indent, layout->indent, devices.indent_bytes) != 0)
		return;
	layout->unit = layout->indent + devices.indent_bytes;
	layout->unit_bytes = layout->indent_bytes - devices.indent_bytes;
}

/*
 * <devices> without a child, over more than one line: one step deeper than it. <devices> is itself
 * one step deep, so that its own indentation is the step. @buf holds the result.
 */
static bool invent_indent(const struct eph_domxml_doc *doc, char buf[2 * INDENT_MAX + 2],
			  struct eph_domxml_layout *ret_layout)
{
	const char *inside = doc->xml + doc->devices_open.end;
	const char *eol = memchr(inside, '\n', doc->devices_close.start - doc->devices_open.end);
	struct eph_domxml_layout layout;

	if (!eol || !read_indent(doc, doc->devices_open.start, &layout))
		return false;
	layout.unit = layout.indent_bytes ? layout.indent : "  ";
	layout.unit_bytes = layout.indent_bytes ? layout.indent_bytes : 2;
	memcpy(buf, layout.indent, layout.indent_bytes);
	memcpy(buf + layout.indent_bytes, layout.unit, layout.unit_bytes);
	layout.indent = buf;
	layout.indent_bytes += layout.unit_bytes;
	*ret_layout = layout;
	return true;
}

/* Where the disk goes, and how its lines look. */
static size_t find_place(const struct eph_domxml_doc *doc, char buf[2 * INDENT_MAX + 2],
			 struct eph_domxml_layout *ret_layout)
{
	struct eph_domxml_span behind = doc->devices_open, model = doc->first_child;
	struct eph_domxml_layout layout;

	if (doc->n_disks > 0)
		behind = model = doc->disks[doc->n_disks - 1].span;
	else if (doc->emulator.end > 0)
		behind = model = doc->emulator;
	*ret_layout = one_line;
	if (model.end == 0) {
		if (invent_indent(doc, buf, &layout))
			*ret_layout = layout;
	} else if (read_indent(doc, model.start, &layout)) {
		read_unit(doc, &layout);
		*ret_layout = layout;
	}
	return behind.end;
}

/* A stream into memory, closed on every path. */
struct text {
	FILE *out;
	char *s;
	size_t bytes;
};

static void text_clear(struct text *text)
{
	if (text->out)
		fclose(text->out);
	free(text->s);
}
#define _cleanup_text_ __attribute__((cleanup(text_clear)))

static int text_open(struct ephlvm_ctx *ctx, struct text *text)
{
	text->out = open_memstream(&text->s, &text->bytes);
	return text->out ? 0 : eph_fail_oom(ctx);
}

/* Give the text away, with a NUL behind it. */
static int text_finish(struct ephlvm_ctx *ctx, struct text *text, char **ret_xml, size_t *ret_bytes)
{
	bool failed = ferror(text->out) != 0;

	failed |= fclose(text->out) != 0;
	text->out = NULL;
	if (failed)
		return eph_fail_oom(ctx);
	if (ret_bytes)
		*ret_bytes = text->bytes;
	*ret_xml = eph_steal(text->s);
	return 0;
}

/* The document with the planned disk in it. */
static int give_with(struct ephlvm_ctx *ctx, const struct eph_domxml_doc *doc,
		     const struct eph_domxml_plan *plan, char **ret_xml, size_t *ret_bytes)
{
	_cleanup_text_ struct text text = { 0 };
	struct eph_domxml_layout layout;
	char indent[2 * INDENT_MAX + 2];
	size_t at = find_place(doc, indent, &layout);
	int r;

	r = text_open(ctx, &text);
	if (r < 0)
		return r;
	fwrite(doc->xml, 1, at, text.out);
	fwrite(layout.eol, 1, layout.eol_bytes, text.out);
	fwrite(layout.indent, 1, layout.indent_bytes, text.out);
	eph_domxml_write(text.out, &plan->want, plan->target, plan->alias, &layout);
	fwrite(doc->xml + at, 1, doc->bytes - at, text.out);
	return text_finish(ctx, &text, ret_xml, ret_bytes);
}

/* The document with [cut.start, cut.end) taken out. */
static int give_without(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
			struct eph_domxml_span cut, char **ret_xml, size_t *ret_bytes)
{
	size_t bytes = xml_bytes - (cut.end - cut.start);
	char *copy = malloc(bytes + 1);

	if (!copy)
		return eph_fail_oom(ctx);
	memcpy(copy, xml, cut.start);
	memcpy(copy + cut.start, xml + cut.end, xml_bytes - cut.end);
	copy[bytes] = '\0';
	*ret_xml = copy;
	*ret_bytes = bytes;
	return 0;
}

static int check_arguments(struct ephlvm_ctx *ctx, const void *xml, const void *opts,
			   const void *ret_xml, const void *ret_bytes)
{
	if (xml && opts && ret_xml && ret_bytes)
		return 0;
	return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
			"a required argument is NULL");
}

int ephlvm_xml_add(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
		   const struct ephlvm_xml_opts *opts, char **ret_xml, size_t *ret_bytes)
{
	_cleanup_domxml_doc_ struct eph_domxml_doc doc = { 0 };
	struct eph_domxml_want want;
	struct eph_domxml_plan plan;
	int r;

	eph_enter(ctx);
	r = check_arguments(ctx, xml, opts, ret_xml, ret_bytes);
	if (r < 0)
		return r;
	r = eph_domxml_want_check(ctx, opts, &want);
	if (r < 0)
		return r;
	r = eph_domxml_read(ctx, xml, xml_bytes, &doc);
	if (r < 0)
		return r;
	r = eph_domxml_plan_make(ctx, &doc, &want, &plan);
	if (r < 0)
		return r;
	if (plan.ours)
		return give_without(ctx, xml, xml_bytes, (struct eph_domxml_span){ 0, 0 }, ret_xml,
				    ret_bytes);
	return give_with(ctx, &doc, &plan, ret_xml, ret_bytes);
}

/* The element, and before it the line end and indentation, where it begins its line. */
static struct eph_domxml_span with_indent(const struct eph_domxml_doc *doc,
					  struct eph_domxml_span span)
{
	const char *xml = doc->xml;
	size_t at = span.start;

	while (at > 0 && (xml[at - 1] == ' ' || xml[at - 1] == '\t'))
		at--;
	if (at == 0 || xml[at - 1] != '\n')
		return span;
	at--;
	if (at > 0 && xml[at - 1] == '\r')
		at--;
	span.start = at;
	return span;
}

int ephlvm_xml_remove(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
		      const struct ephlvm_xml_opts *opts, char **ret_xml, size_t *ret_bytes)
{
	_cleanup_domxml_doc_ struct eph_domxml_doc doc = { 0 };
	struct eph_domxml_span cut = { 0, 0 };
	const struct eph_domxml_elem *ours;
	struct eph_domxml_want want;
	int r;

	eph_enter(ctx);
	r = check_arguments(ctx, xml, opts, ret_xml, ret_bytes);
	if (r < 0)
		return r;
	r = eph_domxml_want_check(ctx, opts, &want);
	if (r < 0)
		return r;
	r = eph_domxml_read(ctx, xml, xml_bytes, &doc);
	if (r < 0)
		return r;
	r = eph_domxml_find_ours(ctx, &doc, &want, &ours);
	if (r < 0)
		return r;
	if (ours)
		cut = with_indent(&doc, ours->span);
	return give_without(ctx, xml, xml_bytes, cut, ret_xml, ret_bytes);
}

static int write_text(struct ephlvm_ctx *ctx, const struct eph_domxml_want *want,
		      const char *target, const char *alias, char **ret_xml)
{
	static const struct eph_domxml_layout lines = { "\n", 1, "", 0, "  ", 2 };
	_cleanup_text_ struct text text = { 0 };
	int r;

	r = text_open(ctx, &text);
	if (r < 0)
		return r;
	eph_domxml_write(text.out, want, target, alias, &lines);
	return text_finish(ctx, &text, ret_xml, NULL);
}

int eph_domxml_disk_text(struct ephlvm_ctx *ctx, const struct ephlvm_xml_opts *opts, char **ret_xml)
{
	char alias[EPH_DOMXML_ALIAS_TEXT];
	struct eph_domxml_want want;
	int r;

	r = eph_domxml_want_check(ctx, opts, &want);
	if (r < 0)
		return r;
	if (!want.target)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, "auto", "give a target",
				"target \"auto\" needs a document to choose in");
	return write_text(ctx, &want, want.target, eph_domxml_want_alias(&want, alias), ret_xml);
}

int eph_domxml_plan_text(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
			 const struct ephlvm_xml_opts *opts, char **ret_xml, char **ret_target)
{
	_cleanup_domxml_doc_ struct eph_domxml_doc doc = { 0 };
	_cleanup_free_ char *target = NULL, *text = NULL;
	struct eph_domxml_want want;
	struct eph_domxml_plan plan;
	int r;

	r = eph_domxml_want_check(ctx, opts, &want);
	if (r < 0)
		return r;
	r = eph_domxml_read(ctx, xml, xml_bytes, &doc);
	if (r < 0)
		return r;
	r = eph_domxml_plan_make(ctx, &doc, &want, &plan);
	if (r < 0)
		return r;
	target = strdup(plan.ours ? plan.ours->target : plan.target);
	if (!target)
		return eph_fail_oom(ctx);
	if (!plan.ours) {
		r = write_text(ctx, &plan.want, plan.target, plan.alias, &text);
		if (r < 0)
			return r;
	}
	*ret_xml = eph_steal(text);
	*ret_target = eph_steal(target);
	return 0;
}

static int take_paths(struct ephlvm_ctx *ctx, struct eph_domxml_doc *doc, struct eph_strv *paths)
{
	/* One allocation for all: a vector that grows by one would copy itself for each. */
	paths->v = calloc(doc->n_refs + 1, sizeof(*paths->v));
	if (!paths->v)
		return eph_fail_oom(ctx);
	for (size_t i = 0; i < doc->n_refs; i++)
		if (doc->refs[i].kind == EPH_DOMXML_REF_SOURCE)
			paths->v[paths->n++] = eph_steal(doc->refs[i].value);
	return 0;
}

int eph_domxml_read_disks(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
			  struct eph_domxml_disks *ret_disks)
{
	_cleanup_domxml_doc_ struct eph_domxml_doc doc = { 0 };
	struct eph_domxml_disks disks = { 0 };
	int r;

	r = eph_domxml_parse(ctx, xml, xml_bytes, &doc);
	if (r < 0)
		return r;
	disks.disks = calloc(doc.n_disks + 1, sizeof(*disks.disks));
	if (!disks.disks)
		return eph_fail_oom(ctx);
	r = take_paths(ctx, &doc, &disks.paths);
	if (r < 0) {
		eph_domxml_disks_clear(&disks);
		return r;
	}
	for (size_t i = 0; i < doc.n_disks; i++) {
		struct eph_domxml_elem *from = &doc.disks[i];
		struct eph_domxml_disk *to = &disks.disks[disks.n++];

		to->source = from->source_dev ? eph_steal(from->source_dev) :
						eph_steal(from->source_file);
		to->target = eph_steal(from->target);
		to->bus = eph_steal(from->bus);
		to->alias = eph_steal(from->alias);
	}
	disks.domain_name = eph_steal(doc.name);
	disks.domain_uuid = eph_steal(doc.uuid);
	*ret_disks = disks;
	return 0;
}

void eph_domxml_disks_clear(struct eph_domxml_disks *disks)
{
	for (size_t i = 0; i < disks->n; i++) {
		free(disks->disks[i].source);
		free(disks->disks[i].target);
		free(disks->disks[i].bus);
		free(disks->disks[i].alias);
	}
	free(disks->disks);
	free(disks->domain_name);
	free(disks->domain_uuid);
	eph_strv_clear(&disks->paths);
	memset(disks, 0, sizeof(*disks));
}
