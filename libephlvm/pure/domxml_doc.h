/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pure/domxml_doc.h - a domain document as the domain XML room sees it: where its devices are, to
 * the byte, and what they refer to. Inside of the room; other rooms use pure/domxml.h.
 */
#ifndef EPH_PURE_DOMXML_DOC_H
#define EPH_PURE_DOMXML_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <ephlvm/domain.h>

/* [start, end) in bytes from the start of the document; end 0 means there is none. */
struct eph_domxml_span {
	size_t start;
	size_t end;
};

/* One <disk> of /domain/devices; the first of each child counts. NULL where there is none. */
struct eph_domxml_elem {
	struct eph_domxml_span span;
	char *type;
	char *device;
	char *source_dev;
	char *source_file;
	char *target;
	char *bus;
	char *alias;
	char *serial;
};

enum eph_domxml_ref_kind {
	EPH_DOMXML_REF_TARGET, /* target dev= of a disk */
	EPH_DOMXML_REF_SOURCE, /* path of any device: dev=, file=, path= of a <source>, <block> */
	EPH_DOMXML_REF_ALIAS, /* alias name= of any device */
};

struct eph_domxml_ref {
	enum eph_domxml_ref_kind kind;
	char *value;
};

struct eph_domxml_doc {
	const char *xml; /* borrowed */
	size_t bytes;

	char *type;
	char *name;
	char *uuid;
	char *os_type;

	size_t devices_count;
	struct eph_domxml_span devices_open; /* <devices> of the first of them */
	struct eph_domxml_span devices_close; /* </devices>; equals devices_open for <devices/> */
	struct eph_domxml_span first_child; /* of that <devices> */
	struct eph_domxml_span emulator;

	struct eph_domxml_elem *disks;
	size_t n_disks;
	size_t cap_disks;
	struct eph_domxml_ref *refs;
	size_t n_refs;
	size_t cap_refs;

	bool boot_order; /* a device has <boot order=> */
	char *iothreads; /* text of <iothreads> */
	uint64_t *iothread_ids; /* <iothreadids> */
	size_t n_iothread_ids;
	size_t cap_iothread_ids;
};

/* "vd", up to three letters and a NUL. */
#define EPH_DOMXML_TARGET_TEXT 8

/* The limits that a document must keep beside EPHLVM_XML_MAX_BYTES. */
#define EPH_DOMXML_MAX_DEPTH 256
#define EPH_DOMXML_MAX_ATTRS 256 /* of one element */
#define EPH_DOMXML_MAX_XMLNS 1024 /* namespace declarations in all */

/*
 * Read a document. Refuses what is not a well-formed UTF-8 document without DOCTYPE and within the
 * limits, with the root <domain> of no namespace; everything else is for the caller to judge.
 * 0, -EINVAL, -E2BIG, -ENOMEM (record set).
 */
int eph_domxml_parse(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
		     struct eph_domxml_doc *ret_doc);
void eph_domxml_doc_clear(struct eph_domxml_doc *doc);
#define _cleanup_domxml_doc_ __attribute__((cleanup(eph_domxml_doc_clear)))

/*
 * Check the bytes before a parser sees them: UTF-8, no other encoding declared, no element with so
 * many attributes that comparing them pairwise would take minutes.
 */
int eph_domxml_scan(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes);

/* Number of leading bytes of @s that are valid UTF-8 without NUL; @bytes when all are. */
size_t eph_domxml_utf8_span(const char *s, size_t bytes);

/*
 * The caller's options, checked, with the defaults filled in. Strings are borrowed from the caller.
 */
struct eph_domxml_want {
	const char *source;
	const char *target; /* NULL for "auto" */
	bool target_given; /* the caller named one, or said "auto" */
	const char *serial;
	const char *cache;
	unsigned int iothread;
	uint64_t read_bytes_sec;
	uint64_t write_bytes_sec;
	uint64_t total_bytes_sec;
	uint64_t read_iops_sec;
	uint64_t write_iops_sec;
	uint64_t total_iops_sec;
};

/* 0 or -EINVAL (record set). */
int eph_domxml_want_check(struct ephlvm_ctx *ctx, const struct ephlvm_xml_opts *opts,
			  struct eph_domxml_want *ret_want);

/* "ua-" and the serial, in the letters that libvirt allows in an alias. */
#define EPH_DOMXML_ALIAS_TEXT 32
char *eph_domxml_want_alias(const struct eph_domxml_want *want, char buf[EPH_DOMXML_ALIAS_TEXT]);

/* How the lines of an element are broken; all empty for one line. Not NUL-terminated. */
struct eph_domxml_layout {
	const char *eol;
	size_t eol_bytes;
	const char *indent;
	size_t indent_bytes;
	const char *unit;
	size_t unit_bytes;
};

/* Write the <disk> element, without white space before and after. @alias may be "" for none. */
void eph_domxml_write(FILE *out, const struct eph_domxml_want *want, const char *target,
		      const char *alias, const struct eph_domxml_layout *layout);

/* What is written, settled for one document. */
struct eph_domxml_plan {
	struct eph_domxml_want want;
	const struct eph_domxml_elem *ours; /* there already, of the document: nothing is written */
	char target[EPH_DOMXML_TARGET_TEXT];
	char alias[EPH_DOMXML_ALIAS_TEXT]; /* "" for none */
};

/*
 * Parse a document and refuse those that get no disk here: 0, or as eph_domxml_parse(). The disk is
 * put into the first and only <devices>.
 */
int eph_domxml_read(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
		    struct eph_domxml_doc *ret_doc);

/*
 * 0, -EINVAL (boot order), -EEXIST (taken), -ENOMEM (record set). Warns of what the guest will not
 * see as asked.
 */
int eph_domxml_plan_make(struct ephlvm_ctx *ctx, const struct eph_domxml_doc *doc,
			 const struct eph_domxml_want *want, struct eph_domxml_plan *ret_plan);

/*
 * The one element of ours, of the document, or NULL. What has our source and is not ours is an
 * error: -EINVAL (record set).
 */
int eph_domxml_find_ours(struct ephlvm_ctx *ctx, const struct eph_domxml_doc *doc,
			 const struct eph_domxml_want *want,
			 const struct eph_domxml_elem **ret_ours);

/*
 * Index of a target name as libvirt orders by it: "vda" is 0, "vdaa" 26, "vdb1" 1; -1 for a name
 * that it cannot order, INT_MAX or more for one of too many letters.
 */
#define EPH_DOMXML_MAX_INDEX 18277 /* of "zzz" */
long eph_domxml_target_index(const char *target);

/* The name with that index: "vd" and up to three letters. */
char *eph_domxml_target_name(long index, char buf[EPH_DOMXML_TARGET_TEXT]);

/*
 * The order in which libvirt keeps hard disks: buses by their first appearance, then targets. It
 * boots the first, and the guest numbers virtio disks along it.
 */
struct eph_domxml_order {
	bool displaced; /* a virtio disk would come before today's first hard disk, whatever its target */
	long first_virtio; /* index of today's first hard disk where that is a virtio one, else -1 */
};
void eph_domxml_order_read(const struct eph_domxml_doc *doc, struct eph_domxml_order *ret_order);

/* How many virtio hard disks stand before one with that index. */
size_t eph_domxml_order_before(const struct eph_domxml_doc *doc, long index);

#endif
