// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * domxml_parse.c - the one place that knows libxml2: a domain document read by SAX, so that the
 * byte offsets of the elements that matter are had and no tree is built.
 * The parser gets the document from memory in pieces and no more of it after the first error or
 * refusal. It must not load anything, print anything, or see a document that
 * eph_domxml_scan() did not pass. Must not judge what libvirt would say to the document.
 */
#include "pure/domxml_doc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <libxml/parser.h>
#include <libxml/xmlerror.h>

#include "core/context.h"
#include "util/cleanup.h"
#include "util/text.h"

#if LIBXML_VERSION >= 21200
#define SAX_ERROR const xmlError
#else
#define SAX_ERROR xmlError
#endif

/* Where in the document an element stands. */
enum place {
	PLACE_TOP, /* the root's parent */
	PLACE_OTHER, /* of no interest, and so is all inside */
	PLACE_DOMAIN,
	PLACE_NAME,
	PLACE_UUID,
	PLACE_IOTHREADS,
	PLACE_IOTHREADIDS,
	PLACE_IOTHREADID,
	PLACE_OS,
	PLACE_OS_TYPE,
	PLACE_DEVICES,
	PLACE_DISK,
	PLACE_DISK_SERIAL,
	PLACE_EMULATOR,
	PLACE_DEVICE, /* any other child of devices */
	PLACE_INNER, /* deeper in a device */
	PLACE_BLOCK, /* <block> in a device: a path, as in <hostdev type='storage'> */
};

struct parse {
	struct ephlvm_ctx *ctx;
	struct eph_domxml_doc *doc;
	xmlParserCtxtPtr sax;
	int r; /* first failure; nothing is done any more */
	size_t fed;

	enum place places[EPH_DOMXML_MAX_DEPTH + 1];
	size_t depth;
	bool complete; /* the root's end was seen */
	bool lost; /* the offset of a tag could not be told */
	size_t child_start; /* of the child of devices that is open */

	char *text; /* of the element that is open, where its place has one */
	size_t text_bytes;
	size_t text_cap;
};

static const struct {
	enum place parent;
	const char *name;
	enum place place;
} places[] = {
	{ PLACE_TOP, "domain", PLACE_DOMAIN },
	{ PLACE_DOMAIN, "name", PLACE_NAME },
	{ PLACE_DOMAIN, "uuid", PLACE_UUID },
	{ PLACE_DOMAIN, "iothreads", PLACE_IOTHREADS },
	{ PLACE_DOMAIN, "iothreadids", PLACE_IOTHREADIDS },
	{ PLACE_IOTHREADIDS, "iothread", PLACE_IOTHREADID },
	{ PLACE_DOMAIN, "os", PLACE_OS },
	{ PLACE_OS, "type", PLACE_OS_TYPE },
	{ PLACE_DOMAIN, "devices", PLACE_DEVICES },
	{ PLACE_DEVICES, "disk", PLACE_DISK },
	{ PLACE_DISK, "serial", PLACE_DISK_SERIAL },
	{ PLACE_DEVICES, "emulator", PLACE_EMULATOR },
	{ PLACE_DEVICES, NULL, PLACE_DEVICE },
	{ PLACE_DEVICE, "block", PLACE_BLOCK },
	{ PLACE_INNER, "block", PLACE_BLOCK },
	{ PLACE_DEVICE, NULL, PLACE_INNER },
	{ PLACE_DISK, NULL, PLACE_INNER },
	{ PLACE_INNER, NULL, PLACE_INNER },
};

static enum place find_place(enum place parent, const char *name, const xmlChar *uri)
{
	if (uri)
		return PLACE_OTHER;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (places[i].parent == parent &&
		    (!places[i].name || strcmp(places[i].name, name) == 0))
			return places[i].place;
	return PLACE_OTHER;
}

static bool has_text(enum place place)
{
	return place == PLACE_NAME || place == PLACE_UUID || place == PLACE_IOTHREADS ||
	       place == PLACE_OS_TYPE || place == PLACE_BLOCK || place == PLACE_DISK_SERIAL;
}

static void fail_oom(struct parse *p)
{
	if (p->r == 0)
		p->r = eph_fail_oom(p->ctx);
}

/* Room for one more element of an array. */
static bool grow(struct parse *p, void **array, size_t n, size_t *cap, size_t size)
{
	size_t want = *cap ? *cap * 2 : 8;
	void *grown;

	if (n < *cap)
		return true;
	grown = reallocarray(*array, want, size);
	if (!grown) {
		fail_oom(p);
		return false;
	}
	*array = grown;
	*cap = want;
	return true;
}

/* SAX2 hands attributes as five pointers each: name, prefix, URI, value, end of the value. */
struct attrs {
	const xmlChar **v;
	int n;
};

/* A copy of an attribute of no namespace; NULL where it is not there, or out of memory. */
static char *attr_dup(struct parse *p, const struct attrs *attrs, const char *name)
{
	for (int i = 0; i < attrs->n; i++) {
		const xmlChar **attr = attrs->v + (ptrdiff_t)i * 5;
		char *copy;

		if (attr[2] || strcmp((const char *)attr[0], name) != 0)
			continue;
		copy = strndup((const char *)attr[3], (size_t)(attr[4] - attr[3]));
		if (!copy)
			fail_oom(p);
		return copy;
	}
	return NULL;
}

/* The first one counts, as with libvirt. */
static void keep_first(char **slot, char *value)
{
	if (*slot)
		free(value);
	else
		*slot = value;
}

static void add_ref(struct parse *p, enum eph_domxml_ref_kind kind, const char *value)
{
	struct eph_domxml_doc *doc = p->doc;
	char *copy;

	if (!value ||
	    !grow(p, (void **)&doc->refs, doc->n_refs, &doc->cap_refs, sizeof(*doc->refs)))
		return;
	copy = strdup(value);
	if (!copy) {
		fail_oom(p);
		return;
	}
	doc->refs[doc->n_refs++] = (struct eph_domxml_ref){ .kind = kind, .value = copy };
}

/* The offset up to which the parser has read; beyond the end where it does not know. */
static size_t parse_offset(struct parse *p)
{
	long at = xmlByteConsumed(p->sax);

	return at >= 0 && (size_t)at <= p->doc->bytes ? (size_t)at : p->doc->bytes + 1;
}

/*
 * Not where a tag ends. In a start tag that is not well-formed that is so, and the parser says it
 * just after; without such an error the parser is not the one we know.
 */
static struct eph_domxml_span tag_lost(struct parse *p)
{
	p->lost = true;
	return (struct eph_domxml_span){ 0, 0 };
}

/* No '<' can stand inside of a tag, quoted or not: the nearest one before its end is its start. */
static struct eph_domxml_span tag_span(struct parse *p, size_t end)
{
	const char *xml = p->doc->xml;
	size_t start = end;

	if (end == 0 || end > p->doc->bytes || xml[end - 1] != '>')
		return tag_lost(p);
	while (start > 0 && xml[start - 1] != '<')
		start--;
	if (start == 0)
		return tag_lost(p);
	return (struct eph_domxml_span){ start - 1, end };
}

/* In the callback of a start tag the parser stands before its ">" or "/>". */
static struct eph_domxml_span start_tag_span(struct parse *p)
{
	size_t at = parse_offset(p);

	if (at < p->doc->bytes && p->doc->xml[at] == '/')
		at++;
	return tag_span(p, at + 1);
}

/* In the callback of an end tag, or of the end of an empty element, it stands behind the ">". */
static struct eph_domxml_span end_tag_span(struct parse *p)
{
	return tag_span(p, parse_offset(p));
}

static void start_disk(struct parse *p, const struct attrs *attrs)
{
	struct eph_domxml_doc *doc = p->doc;
	struct eph_domxml_elem *disk;

	if (!grow(p, (void **)&doc->disks, doc->n_disks, &doc->cap_disks, sizeof(*doc->disks)))
		return;
	disk = &doc->disks[doc->n_disks++];
	memset(disk, 0, sizeof(*disk));
	disk->type = attr_dup(p, attrs, "type");
	disk->device = attr_dup(p, attrs, "device");
}

/* A child of a <disk>. */
static void start_disk_child(struct parse *p, const char *name, const struct attrs *attrs)
{
	struct eph_domxml_elem *disk = &p->doc->disks[p->doc->n_disks - 1];

	if (strcmp(name, "source") == 0) {
		keep_first(&disk->source_dev, attr_dup(p, attrs, "dev"));
		keep_first(&disk->source_file, attr_dup(p, attrs, "file"));
	} else if (strcmp(name, "target") == 0) {
		_cleanup_free_ char *target = attr_dup(p, attrs, "dev");

		add_ref(p, EPH_DOMXML_REF_TARGET, target);
		keep_first(&disk->target, eph_steal(target));
		keep_first(&disk->bus, attr_dup(p, attrs, "bus"));
	} else if (strcmp(name, "alias") == 0) {
		keep_first(&disk->alias, attr_dup(p, attrs, "name"));
	}
}

/* Anything inside of a device: what it refers to, however deep (backing files, mirrors). */
static void start_inner(struct parse *p, enum place parent, const char *name,
			const struct attrs *attrs)
{
	static const char *const paths[] = { "dev", "file", "path" };

	if (strcmp(name, "source") == 0) {
		for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
			_cleanup_free_ char *path = attr_dup(p, attrs, paths[i]);

			add_ref(p, EPH_DOMXML_REF_SOURCE, path);
		}
	}
	if (parent != PLACE_DISK && parent != PLACE_DEVICE)
		return;
	if (strcmp(name, "alias") == 0) {
		_cleanup_free_ char *alias = attr_dup(p, attrs, "name");

		add_ref(p, EPH_DOMXML_REF_ALIAS, alias);
	} else if (strcmp(name, "boot") == 0) {
		_cleanup_free_ char *order = attr_dup(p, attrs, "order");

		p->doc->boot_order |= order != NULL;
	}
}

static void start_iothread(struct parse *p, const struct attrs *attrs)
{
	_cleanup_free_ char *id = attr_dup(p, attrs, "id");
	struct eph_domxml_doc *doc = p->doc;
	uint64_t value;

	if (!id || eph_u64_parse(id, &value) < 0)
		return;
	if (!grow(p, (void **)&doc->iothread_ids, doc->n_iothread_ids, &doc->cap_iothread_ids,
		  sizeof(*doc->iothread_ids)))
		return;
	doc->iothread_ids[doc->n_iothread_ids++] = value;
}

static void start_devices(struct parse *p)
{
	struct eph_domxml_doc *doc = p->doc;

	if (doc->devices_count++ == 0)
		doc->devices_open = start_tag_span(p);
}

static void start_devices_child(struct parse *p)
{
	struct eph_domxml_span span = start_tag_span(p);

	p->child_start = span.start;
	if (p->doc->devices_count == 1 && p->doc->first_child.end == 0)
		p->doc->first_child = span;
}

static int refuse_root(struct parse *p, const char *name, const xmlChar *uri)
{
	if (uri)
		return eph_fail(
			p->ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL,
			"give a libvirt domain document, as from virsh dumpxml",
			"root element \"%s\" is in the namespace \"%s\", not libvirt's <domain>",
			name, (const char *)uri);
	return eph_fail(p->ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL,
			"give a libvirt domain document, as from virsh dumpxml",
			"root element is \"%s\", not \"domain\"", name);
}

static bool enter(struct parse *p, enum place place)
{
	if (p->depth == EPH_DOMXML_MAX_DEPTH) {
		p->r = eph_fail(p->ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
				"document is nested deeper than %d elements", EPH_DOMXML_MAX_DEPTH);
		return false;
	}
	p->places[++p->depth] = place;
	if (has_text(place))
		p->text_bytes = 0;
	return true;
}

static void on_start(void *data, const xmlChar *localname, const xmlChar *prefix,
		     const xmlChar *uri, int n_namespaces, const xmlChar **namespaces, int n_attrs,
		     int n_defaulted, const xmlChar **attributes)
{
	struct attrs attrs = { .v = attributes, .n = n_attrs };
	const char *name = (const char *)localname;
	struct parse *p = data;
	enum place parent = p->places[p->depth], place;

	(void)prefix;
	(void)n_namespaces;
	(void)namespaces;
	(void)n_defaulted;
	if (p->r < 0)
		return;
	place = find_place(parent, name, uri);
	if (parent == PLACE_TOP && place != PLACE_DOMAIN) {
		p->r = refuse_root(p, name, uri);
		return;
	}
	if (!enter(p, place))
		return;
	if (place == PLACE_DOMAIN)
		p->doc->type = attr_dup(p, &attrs, "type");
	else if (place == PLACE_IOTHREADID)
		start_iothread(p, &attrs);
	else if (place == PLACE_DEVICES)
		start_devices(p);
	if (parent == PLACE_DEVICES)
		start_devices_child(p);
	if (place == PLACE_DISK)
		start_disk(p, &attrs);
	if (p->r == 0 && parent == PLACE_DISK && place != PLACE_OTHER)
		start_disk_child(p, name, &attrs);
	if (p->r == 0 && (place == PLACE_INNER || place == PLACE_BLOCK))
		start_inner(p, parent, name, &attrs);
}

static char *text_dup(struct parse *p)
{
	char *copy = strndup(p->text ? p->text : "", p->text_bytes);

	if (!copy)
		fail_oom(p);
	return copy;
}

static void end_text(struct parse *p, enum place place)
{
	struct eph_domxml_doc *doc = p->doc;
	_cleanup_free_ char *text = text_dup(p);

	if (place == PLACE_NAME)
		keep_first(&doc->name, eph_steal(text));
	else if (place == PLACE_UUID)
		keep_first(&doc->uuid, eph_steal(text));
	else if (place == PLACE_IOTHREADS)
		keep_first(&doc->iothreads, eph_steal(text));
	else if (place == PLACE_OS_TYPE)
		keep_first(&doc->os_type, eph_steal(text));
	else if (place == PLACE_DISK_SERIAL)
		keep_first(&doc->disks[doc->n_disks - 1].serial, eph_steal(text));
	else if (place == PLACE_BLOCK)
		add_ref(p, EPH_DOMXML_REF_SOURCE, text);
}

static void on_end(void *data, const xmlChar *localname, const xmlChar *prefix, const xmlChar *uri)
{
	struct parse *p = data;
	struct eph_domxml_span span;
	enum place place;

	(void)localname;
	(void)prefix;
	(void)uri;
	if (p->r < 0)
		return;
	place = p->places[p->depth--];
	p->complete = p->depth == 0;
	if (has_text(place))
		end_text(p, place);
	if (place == PLACE_DEVICES && p->doc->devices_count == 1)
		p->doc->devices_close = end_tag_span(p);
	if (place != PLACE_DISK && place != PLACE_EMULATOR)
		return;
	span = end_tag_span(p);
	span.start = p->child_start;
	if (place == PLACE_DISK)
		p->doc->disks[p->doc->n_disks - 1].span = span;
	else if (p->doc->devices_count == 1)
		p->doc->emulator = span;
}

static void on_text(void *data, const xmlChar *text, int n)
{
	struct parse *p = data;
	size_t bytes = (size_t)n, want;
	char *grown;

	if (p->r < 0 || !has_text(p->places[p->depth]))
		return;
	want = p->text_cap ? p->text_cap : 256;
	while (want < p->text_bytes + bytes)
		want *= 2;
	if (want > p->text_cap) {
		grown = reallocarray(p->text, 1, want);
		if (!grown) {
			fail_oom(p);
			return;
		}
		p->text = grown;
		p->text_cap = want;
	}
	memcpy(p->text + p->text_bytes, text, bytes);
	p->text_bytes += bytes;
}

static void on_doctype(void *data, const xmlChar *name, const xmlChar *external,
		       const xmlChar *system)
{
	struct parse *p = data;

	(void)name;
	(void)external;
	(void)system;
	if (p->r == 0)
		p->r = eph_fail(p->ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL,
				"take the DOCTYPE and its entities out",
				"document has a DOCTYPE, and no libvirt document needs one");
}

static void on_error(void *data, SAX_ERROR *error)
{
	struct parse *p = data;
	const char *words = error->message ? error->message : "error";
	size_t len = strcspn(words, "\n");

	if (p->r < 0 || error->level < XML_ERR_ERROR)
		return;
	if (error->code == XML_ERR_NO_MEMORY) {
		fail_oom(p);
		return;
	}
	p->r = eph_fail(p->ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, "xmllint --noout shows where",
			"document is not well-formed: line %d: %.*s", error->line,
			(int)(len < 200 ? len : 200), words);
}

/* After a failure the document ends here, so that the parser does not go on with the rest. */
static int on_read(void *data, char *buf, int room)
{
	struct parse *p = data;
	size_t n = p->doc->bytes - p->fed;

	if (p->r < 0 || room <= 0)
		return 0;
	if (n > (size_t)room)
		n = (size_t)room;
	memcpy(buf, p->doc->xml + p->fed, n);
	p->fed += n;
	return (int)n;
}

static void free_parserp(xmlParserCtxtPtr *parser)
{
	if (*parser)
		xmlFreeParserCtxt(*parser);
}

static int run_parser(struct parse *p)
{
	__attribute__((cleanup(free_parserp))) xmlParserCtxtPtr parser = xmlNewParserCtxt();
	xmlDocPtr tree;

	if (!parser)
		return eph_fail_oom(p->ctx);
	/* Nothing of the default handler stays: it would build a tree and print errors. */
	memset(parser->sax, 0, sizeof(*parser->sax));
	parser->sax->initialized = XML_SAX2_MAGIC;
	parser->sax->startElementNs = on_start;
	parser->sax->endElementNs = on_end;
	parser->sax->characters = on_text;
	parser->sax->ignorableWhitespace = on_text;
	parser->sax->cdataBlock = on_text;
	parser->sax->internalSubset = on_doctype;
	parser->sax->serror = on_error;
	parser->userData = p;
	p->sax = parser;
	/*
	 * NOENT only for attributes: without it the parser hands on "&" in them as "&#38;". There are
	 * no entities to replace, for none can be declared without a DOCTYPE.
	 */
	tree = xmlCtxtReadIO(parser, on_read, NULL, p, NULL, NULL,
			     XML_PARSE_NONET | XML_PARSE_NOENT);
	if (tree)
		xmlFreeDoc(tree);
	if (p->r < 0)
		return p->r;
	if (parser->wellFormed && parser->nsWellFormed && p->complete && p->lost)
		return eph_fail(p->ctx, EPHLVM_ERROR_INTERNAL, EIO, NULL, NULL,
				"the XML parser does not tell where elements are");
	if (parser->wellFormed && parser->nsWellFormed && p->complete)
		return 0;
	/* Each error was reported to on_error(), but for memory that was short before it could be. */
	if (parser->wellFormed || parser->errNo == XML_ERR_NO_MEMORY)
		return eph_fail_oom(p->ctx);
	return eph_fail(p->ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, "xmllint --noout shows where",
			"document is not well-formed");
}

int eph_domxml_parse(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
		     struct eph_domxml_doc *ret_doc)
{
	_cleanup_domxml_doc_ struct eph_domxml_doc doc = { .xml = xml, .bytes = xml_bytes };
	struct parse p = { .ctx = ctx, .doc = &doc };
	int r;

	if (xml_bytes > EPHLVM_XML_MAX_BYTES)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, E2BIG, NULL, NULL,
				"document of %zu bytes is longer than %zu", xml_bytes,
				EPHLVM_XML_MAX_BYTES);
	r = eph_domxml_scan(ctx, xml, xml_bytes);
	if (r < 0)
		return r;
	r = run_parser(&p);
	free(p.text);
	if (r < 0)
		return r;
	*ret_doc = doc;
	memset(&doc, 0, sizeof(doc));
	return 0;
}

void eph_domxml_doc_clear(struct eph_domxml_doc *doc)
{
	for (size_t i = 0; i < doc->n_disks; i++) {
		struct eph_domxml_elem *disk = &doc->disks[i];

		free(disk->type);
		free(disk->device);
		free(disk->source_dev);
		free(disk->source_file);
		free(disk->target);
		free(disk->bus);
		free(disk->alias);
		free(disk->serial);
	}
	for (size_t i = 0; i < doc->n_refs; i++)
		free(doc->refs[i].value);
	free(doc->disks);
	free(doc->refs);
	free(doc->iothread_ids);
	free(doc->iothreads);
	free(doc->type);
	free(doc->name);
	free(doc->uuid);
	free(doc->os_type);
	memset(doc, 0, sizeof(*doc));
}
