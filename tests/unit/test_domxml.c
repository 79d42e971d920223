// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test_domxml.c - the domain XML room: what is written and where, what is taken out, what is refused.
 * The large corpus of documents is tests/corpus; here each rule has its smallest document.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <libxml/xmlmemory.h>

#include "core/context.h"
#include "failing_alloc.h"
#include "pure/domxml.h"
#include "pure/domxml_doc.h"
#include "util/cleanup.h"

#define SOURCE "/dev/vg/lv"
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A document around the inside of <devices>. */
#define HEAD                     \
	"<domain type='kvm'>\n"  \
	"  <name>guest</name>\n" \
	"  <os>\n"               \
	"    <type>hvm</type>\n" \
	"  </os>\n"
#define DOC(devices) HEAD "  <devices>\n" devices "  </devices>\n</domain>\n"
#define VDA                                        \
	"    <disk type='file' device='disk'>\n"   \
	"      <source file='/root.img'/>\n"       \
	"      <target dev='vda' bus='virtio'/>\n" \
	"    </disk>\n"
#define DISK(attrs, source, target)    \
	"    <disk " attrs ">\n"       \
	"      <source " source "/>\n" \
	"      <target " target "/>\n" \
	"    </disk>\n"
#define OURS                                                                                \
	"    <disk type='block' device='disk'>\n"                                           \
	"      <driver name='qemu' type='raw' cache='none' io='native' discard='unmap'/>\n" \
	"      <source dev='" SOURCE "'/>\n"                                                \
	"      <target dev='vdb' bus='virtio'/>\n"                                          \
	"      <serial>ephemeral0</serial>\n"                                               \
	"      <alias name='ua-ephemeral0'/>\n"                                             \
	"    </disk>\n"
#define OURS_ONE_LINE                                                               \
	"<disk type='block' device='disk'>"                                         \
	"<driver name='qemu' type='raw' cache='none' io='native' discard='unmap'/>" \
	"<source dev='" SOURCE "'/><target dev='vdb' bus='virtio'/>"                \
	"<serial>ephemeral0</serial><alias name='ua-ephemeral0'/></disk>"
#define NET "    <interface type='user'/>\n"

struct log {
	char text[4096];
	size_t n;
};

static void keep_warning(void *data, enum ephlvm_log_level level, const char *message)
{
	struct log *log = data;

	if (level != EPHLVM_LOG_WARNING)
		return;
	log->n++;
	strncat(log->text, message, sizeof(log->text) - strlen(log->text) - 1);
}

static struct ephlvm_ctx *ctx;
static struct log warnings;

static int set_up(void **state)
{
	(void)state;
	memset(&warnings, 0, sizeof(warnings));
	if (ephlvm_ctx_new(&ctx) < 0)
		return -1;
	ephlvm_ctx_set_log(ctx, EPHLVM_LOG_WARNING, keep_warning, &warnings);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	ctx = ephlvm_ctx_unref(ctx);
	return 0;
}

static struct ephlvm_xml_opts plain_opts(void)
{
	struct ephlvm_xml_opts opts = EPHLVM_XML_OPTS_INIT;

	opts.source = SOURCE;
	return opts;
}

typedef int (*transform_fn)(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
			    const struct ephlvm_xml_opts *opts, char **ret_xml, size_t *ret_bytes);

/* On a copy without a NUL behind it, so that the sanitizer sees a read beyond its end. */
static int run(transform_fn transform, const char *xml, size_t bytes,
	       const struct ephlvm_xml_opts *opts, char **ret_xml)
{
	_cleanup_free_ char *copy = malloc(bytes ? bytes : 1);
	char *out = NULL;
	size_t out_bytes = 42;
	int r;

	assert_non_null(copy);
	memcpy(copy, xml, bytes);
	warnings = (struct log){ .n = 0 };
	r = transform(ctx, copy, bytes, opts, &out, &out_bytes);
	assert_int_equal(ephlvm_error_errno(ctx), -r);
	if (r < 0) {
		assert_null(out);
		assert_int_equal(out_bytes, 42);
		assert_true(strlen(ephlvm_error_message(ctx)) > 0);
	} else {
		assert_int_equal(out[out_bytes], '\0');
		assert_int_equal(strlen(out), out_bytes);
	}
	*ret_xml = out;
	return r;
}

static char *added(const char *xml, const struct ephlvm_xml_opts *opts)
{
	char *out;

	if (run(ephlvm_xml_add, xml, strlen(xml), opts, &out) < 0)
		fail_msg("refused: %s", ephlvm_error_message(ctx));
	return out;
}

static char *removed(const char *xml, const struct ephlvm_xml_opts *opts)
{
	char *out;

	if (run(ephlvm_xml_remove, xml, strlen(xml), opts, &out) < 0)
		fail_msg("refused: %s", ephlvm_error_message(ctx));
	return out;
}

static void assert_adds(const char *xml, const char *want, const struct ephlvm_xml_opts *opts)
{
	_cleanup_free_ char *out = added(xml, opts);
	_cleanup_free_ char *again = added(out, opts);
	_cleanup_free_ char *back = removed(out, opts);

	assert_string_equal(out, want);
	assert_string_equal(again, want);
	assert_string_equal(back, xml);
}

static void assert_refused_bytes(transform_fn transform, const char *xml, size_t bytes,
				 const struct ephlvm_xml_opts *opts, int errnum, const char *words)
{
	_cleanup_free_ char *out = NULL;
	int r = run(transform, xml, bytes, opts, &out);

	if (r != -errnum || !strstr(ephlvm_error_message(ctx), words))
		fail_msg("%s\ngave %d \"%s\", not %d with \"%s\"", xml, r,
			 ephlvm_error_message(ctx), -errnum, words);
	assert_int_equal(ephlvm_error_kind(ctx),
			 errnum == EEXIST ? EPHLVM_ERROR_BUSY : EPHLVM_ERROR_INVALID);
}

static void assert_refused(const char *xml, int errnum, const char *words)
{
	struct ephlvm_xml_opts opts = plain_opts();

	assert_refused_bytes(ephlvm_xml_add, xml, strlen(xml), &opts, errnum, words);
}

static void the_disk_goes_behind_the_last_one(void **state)
{
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	assert_adds(DOC(VDA NET), DOC(VDA OURS NET), &opts);
	assert_adds(DOC(VDA NET DISK("type='file'", "file='/c'", "dev='vdc'") NET),
		    DOC(VDA NET DISK("type='file'", "file='/c'", "dev='vdc'") OURS NET), &opts);
	assert_int_equal(warnings.n, 0);
}

static void without_a_disk_it_goes_behind_the_emulator(void **state)
{
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	assert_adds(DOC("    <emulator>/q</emulator>\n" NET),
		    DOC("    <emulator>/q</emulator>\n" OURS NET), &opts);
	assert_adds(DOC(NET "    <emulator/>\n"), DOC(NET "    <emulator/>\n" OURS), &opts);
}

static void without_both_it_is_the_first_child(void **state)
{
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	assert_adds(DOC(NET), DOC(OURS NET), &opts);
	assert_adds(DOC(""), DOC(OURS), &opts);
	assert_adds(HEAD "  <devices></devices>\n</domain>",
		    HEAD "  <devices>" OURS_ONE_LINE "</devices>\n</domain>", &opts);
}

/* In @s each @from becomes @to. */
static char *replaced(const char *s, const char *from, const char *to)
{
	char *out = calloc(1, strlen(s) * (strlen(to) + 1) + 1), *o = out;

	assert_non_null(out);
	while (*s) {
		if (strncmp(s, from, strlen(from)) != 0) {
			*o++ = *s++;
			continue;
		}
		o = stpcpy(o, to);
		s += strlen(from);
	}
	return out;
}

static void lines_look_like_those_of_the_neighbour(void **state)
{
	static const struct {
		const char *from;
		const char *to;
	} styles[] = {
		{ "\n", "\r\n" }, { "  ", "\t" },	{ "  ", "   " },
		{ "  ", "" },	  { "\n  ", "\r\n\t" },
	};
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	for (size_t i = 0; i < COUNT(styles); i++) {
		_cleanup_free_ char *in = replaced(DOC(VDA NET), styles[i].from, styles[i].to);
		_cleanup_free_ char *want =
			replaced(DOC(VDA OURS NET), styles[i].from, styles[i].to);

		/* Without indentation there is none to copy for the children: two spaces. */
		if (styles[i].to[0])
			assert_adds(in, want, &opts);
	}
}

static void a_line_stays_a_line(void **state)
{
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	assert_adds(
		"<domain type='kvm'>  <os><type>hvm</type></os>  <devices>    <disk/>  </devices>"
		"</domain>",
		"<domain type='kvm'>  <os><type>hvm</type></os>  <devices>    <disk/>" OURS_ONE_LINE
		"  </devices></domain>",
		&opts);
	/* Something before the neighbour on its line: nothing to copy. */
	assert_adds(DOC("    <emulator/><disk/>\n"),
		    DOC("    <emulator/><disk/>" OURS_ONE_LINE "\n"), &opts);
}

static void every_option_is_written(void **state)
{
	struct ephlvm_xml_opts opts = plain_opts();
	_cleanup_free_ char *out = NULL;

	(void)state;
	opts.source = "/dev/v&g/l'v<>\"";
	opts.target = "vdc";
	opts.serial = "a b.c";
	opts.cache = "directsync";
	opts.iothread = 2;
	opts.read_bytes_sec = 1;
	opts.write_bytes_sec = 2;
	opts.total_iops_sec = UINT64_C(1000000000000000);
	out = added(
		"<domain type='kvm'><iothreads>2</iothreads><os><type>hvm</type></os><devices>\n"
		"<disk/></devices></domain>",
		&opts);
	assert_string_equal(
		out,
		"<domain type='kvm'><iothreads>2</iothreads><os><type>hvm</type></os><devices>\n"
		"<disk/>\n"
		"<disk type='block' device='disk'>\n"
		"  <driver name='qemu' type='raw' cache='directsync' io='native' discard='unmap' "
		"iothread='2'/>\n"
		"  <source dev='/dev/v&amp;g/l&apos;v&lt;&gt;\"'/>\n"
		"  <target dev='vdc' bus='virtio'/>\n"
		"  <iotune>\n"
		"    <read_bytes_sec>1</read_bytes_sec>\n"
		"    <write_bytes_sec>2</write_bytes_sec>\n"
		"    <total_iops_sec>1000000000000000</total_iops_sec>\n"
		"  </iotune>\n"
		"  <serial>a b.c</serial>\n"
		"  <alias name='ua-a_b_c'/>\n"
		"</disk></devices></domain>");
}

static void an_escaped_source_is_found_again(void **state)
{
	struct ephlvm_xml_opts opts = plain_opts();
	_cleanup_free_ char *out = NULL, *again = NULL, *back = NULL;

	(void)state;
	opts.source = "/dev/a&b/<'\">\xc3\xbc";
	out = added(DOC(VDA), &opts);
	again = added(out, &opts);
	back = removed(out, &opts);
	assert_string_equal(again, out);
	assert_string_equal(back, DOC(VDA));
}

static void what_is_there_already_stays(void **state)
{
	static const char *const docs[] = {
		DOC(VDA OURS),
		DOC(OURS VDA),
		DOC(VDA DISK("device=\"disk\" type=\"block\"", "index='1' dev=\"" SOURCE "\"",
			     "bus='virtio' dev='vdb'")),
		DOC(VDA DISK("type='block'", "dev='/dev/v&#x67;/lv'", "dev='v&#100;b'")),
	};
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	for (size_t i = 0; i < COUNT(docs); i++) {
		_cleanup_free_ char *out = added(docs[i], &opts), *out_auto = NULL;

		assert_string_equal(out, docs[i]);
		opts.target = "auto";
		out_auto = added(docs[i], &opts);
		assert_string_equal(out_auto, docs[i]);
		opts.target = NULL;
	}
}

static void a_taken_target_or_source_is_refused(void **state)
{
	static const struct {
		const char *xml;
		const char *words;
	} taken[] = {
		{ DOC(VDA DISK("type='file'", "file='/x'", "dev='vdb'")),
		  "target \"vdb\" is taken" },
		{ DOC(VDA DISK("device='cdrom'", "file='/x'", "dev='vdb' bus='sata'")), "target" },
		{ DOC(VDA DISK("type='file'", "file='/x'", "\nbus=\"virtio\"\ndev = \"vdb\"\n")),
		  "target" },
		{ DOC(VDA DISK("type='file'", "file='/x'", "dev='&#118;d&#x62;'")), "target" },
		{ DOC(VDA DISK("type='block'", "dev='" SOURCE "'", "dev='vdc'")),
		  "source \"" SOURCE
		  "\" is in use by another device of the domain, target \"vdc\"" },
		{ DOC(VDA OURS DISK("type='block'", "dev='" SOURCE "'", "dev='vdc'")), "source" },
		{ DOC(VDA DISK("type='block' device='cdrom'", "dev='" SOURCE "'", "dev='sda'")),
		  "source" },
		{ DOC(VDA DISK("type='block' device='lun'", "dev='" SOURCE "'", "dev='vdb'")),
		  "source" },
		{ DOC(VDA DISK("type='file'", "file='" SOURCE "'", "dev='vdb'")), "source" },
		{ DOC(VDA DISK("type='block'", "dev='/dev/mapper/vg-lv'", "dev='vdb'")), "source" },
		{ DOC("    <disk><backingStore><source dev='" SOURCE "'/></backingStore></disk>\n"),
		  "source" },
		{ DOC("    <hostdev><source><block>" SOURCE "</block></source></hostdev>\n"),
		  "source" },
		{ DOC("    <serial type='dev'><source path='" SOURCE "'/></serial>\n"), "source" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(taken); i++)
		assert_refused(taken[i].xml, EEXIST, taken[i].words);
}

static void other_names_do_not_take_ours(void **state)
{
	static const char *const docs[] = {
		DOC(VDA DISK("type='file'", "file='/x'", "dev='vdb1'")),
		DOC(VDA DISK("type='file'", "file='/x'", "dev='vdbb'")),
		DOC(VDA DISK("type='block'", "dev='" SOURCE "2'", "dev='vdc'")),
		DOC(VDA "    <interface><target dev='vdb'/></interface>\n"),
		DOC(VDA "    <!-- <disk><target dev='vdb'/></disk> -->\n"),
		DOC(VDA "    <x:disk xmlns:x='urn:x'><x:target dev='vdb'/></x:disk>\n"),
		DOC(VDA "    <disk xmlns='urn:x'><target dev='vdb'/></disk>\n"),
		"<domain type='kvm'><metadata><devices><disk><target dev='vdb'/></disk></devices>"
		"</metadata><os><type>hvm</type></os><devices></devices></domain>",
	};
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	for (size_t i = 0; i < COUNT(docs); i++) {
		_cleanup_free_ char *out = added(docs[i], &opts), *back = removed(out, &opts);

		assert_non_null(strstr(out, "<target dev='vdb' bus='virtio'/>"));
		assert_string_equal(back, docs[i]);
	}
}

static void documents_that_get_no_disk(void **state)
{
	static const struct {
		const char *xml;
		const char *words;
	} bad[] = {
		{ "", "not well-formed" },
		{ " \n", "not well-formed" },
		{ "words", "not well-formed" },
		{ "<!-- -->", "not well-formed" },
		{ DOC("") DOC(""), "not well-formed" },
		{ DOC("") "x", "not well-formed" },
		{ HEAD, "not well-formed" },
		{ HEAD "<devices></devices></domian>", "not well-formed: line 6: " },
		{ DOC("<a b='1' b='2'/>"), "not well-formed: line 7: " },
		{ DOC("<a b=1/>"), "not well-formed" },
		{ DOC("<a b='<'/>"), "not well-formed" },
		{ DOC("&x;"), "not well-formed" },
		{ DOC("&#1;"), "not well-formed" },
		{ DOC("<!-- -- -->"), "not well-formed" },
		{ DOC("<x:a/>"), "not well-formed" },
		{ DOC("<a xmlns:x='u' xmlns:y='u' x:b='1' y:b='2'/>"), "not well-formed" },
		{ "<!DOCTYPE domain>" DOC(""), "DOCTYPE" },
		{ "<!DOCTYPE domain SYSTEM 'file:///etc/passwd'>" DOC(""), "DOCTYPE" },
		{ "<!DOCTYPE domain [<!ENTITY a 'b'>]>" DOC(""), "DOCTYPE" },
		{ "<?xml version='1.0' encoding='latin1'?>" DOC(""), "encoding \"latin1\"" },
		{ "\xef\xbb\xbf<?xml version='1.0' encoding=\"UTF-16\"?>" DOC(""),
		  "encoding \"UTF-16\"" },
		{ DOC("\x80"), "not UTF-8: byte 0x80 at offset" },
		{ DOC("\xc0\xaf"), "not UTF-8" },
		{ DOC("\xed\xa0\x80"), "not UTF-8" },
		{ DOC("\xf4\x90\x80\x80"), "not UTF-8" },
		{ DOC("") "\xe2\x82", "not UTF-8" },
		{ "<domains/>", "root element is \"domains\"" },
		{ "<domain xmlns='urn:x' type='kvm'/>", "namespace \"urn:x\"" },
		{ "<x:domain xmlns:x='urn:x' type='kvm'/>", "namespace \"urn:x\"" },
		{ "<domain type='xen'><os><type>hvm</type></os><devices></devices></domain>",
		  "domain type \"xen\"" },
		{ "<domain><os><type>hvm</type></os><devices></devices></domain>",
		  "domain type \"\"" },
		{ "<domain type='kvm'><os><type>exe</type></os><devices></devices></domain>",
		  "os type \"exe\"" },
		{ "<domain type='kvm'><devices></devices></domain>", "os type \"\"" },
		{ HEAD "</domain>", "no <devices>" },
		{ HEAD "<devices/></domain>", "empty element" },
		{ HEAD "<devices\n/></domain>", "empty element" },
		{ HEAD "<devices></devices><devices></devices></domain>", "2 <devices>" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct ephlvm_xml_opts opts = plain_opts();

		assert_refused(bad[i].xml, EINVAL, bad[i].words);
		assert_refused_bytes(ephlvm_xml_remove, bad[i].xml, strlen(bad[i].xml), &opts,
				     EINVAL, bad[i].words);
	}
}

static void nul_bytes_are_refused(void **state)
{
	static const char inside[] = "<domain type='kvm'>\0</domain>", behind[] = DOC(VDA);
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	assert_refused_bytes(ephlvm_xml_add, inside, sizeof(inside) - 1, &opts, EINVAL,
			     "not UTF-8");
	assert_refused_bytes(ephlvm_xml_add, behind, sizeof(behind), &opts, EINVAL, "not UTF-8");
}

static void odd_but_good_documents_are_taken(void **state)
{
	static const char *const docs[] = {
		"\xef\xbb\xbf" DOC(VDA),
		"\xef\xbb\xbf<?xml version='1.0' encoding='utf-8'?>\r\n" DOC(VDA),
		"<?xml version = \"1.0\"\tencoding = \"UTF-8\" standalone='no' ?>" DOC(VDA),
		"<?xml-stylesheet href='encoding=\"x\"'?>" DOC(VDA),
		"<!-- </domain> --><?a <b?>" DOC(VDA) "<!-- --><?c?>\n\n",
		DOC(VDA "    <!-- </devices> --><![CDATA[</devices>]]><?p </devices>?>\n"),
		DOC(VDA "    <a b='>' c=\"/>\" d='&lt;&amp;&#60;'/>\n"),
		"<domain\ntype\n=\n'kvm'\n><os\t><type>h&#118;<![CDATA[m]]></type\n></os ><devices >"
		"<disk\n/></devices\t></domain\n>",
		"<domain type='test'><os><type>hvm</type></os><devices>text</devices></domain>",
		DOC("    <disk>/x</disk>/\n"),
	};
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	for (size_t i = 0; i < COUNT(docs); i++) {
		_cleanup_free_ char *out = added(docs[i], &opts), *back = removed(out, &opts);

		assert_string_equal(back, docs[i]);
		assert_true(strlen(out) > strlen(docs[i]));
	}
}

static void auto_takes_the_next_free_name(void **state)
{
	static const struct {
		const char *xml;
		const char *target;
	} cases[] = {
		{ DOC(""), "vdb" },
		{ DOC(VDA), "vdb" },
		{ DOC(VDA DISK("", "file='/x'", "dev='vdb'")), "vdc" },
		{ DOC(VDA DISK("", "file='/x'", "dev='vdb'") DISK("", "file='/y'", "dev='vdd'")),
		  "vdc" },
		{ DOC(VDA DISK("device='cdrom'", "file='/x'", "dev='vdb' bus='sata'")), "vdc" },
		/* A name before the root's would be booted instead. */
		{ DOC(DISK("", "file='/x'", "dev='vdc' bus='virtio'")), "vdd" },
		{ DOC(DISK("", "file='/x'", "dev='vdz' bus='virtio'")), "vdaa" },
		{ DOC("<disk><target dev='vdc' bus='virtio'/><boot order='1'/></disk>"), "vdb" },
		{ DOC(DISK("", "file='/x'", "dev='vdzz' bus='virtio'")), "vdaaa" },
	};
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	opts.target = "auto";
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_free_ char *out = added(cases[i].xml, &opts), *want = NULL;

		assert_true(asprintf(&want, "<target dev='%s' bus='virtio'/>", cases[i].target) >
			    0);
		if (!strstr(out, want))
			fail_msg("%s\nlacks %s", out, want);
	}
	assert_refused_bytes(ephlvm_xml_add, DOC(DISK("", "file='/x'", "dev='vdzzz' bus='virtio'")),
			     strlen(DOC(DISK("", "file='/x'", "dev='vdzzz' bus='virtio'"))), &opts,
			     EEXIST, "no target name");
}

static void auto_beyond_all_letters(void **state)
{
	_cleanup_free_ char *devices = calloc(27, 64), *xml = NULL, *out = NULL;
	struct ephlvm_xml_opts opts = plain_opts();
	char *end = devices;

	(void)state;
	for (char c = 'a'; c <= 'z'; c++)
		end += sprintf(end, "<disk><target dev='vd%c' bus='virtio'/></disk>\n", c);
	assert_true(asprintf(&xml, HEAD "<devices>\n%s</devices></domain>", devices) > 0);
	opts.target = "auto";
	out = added(xml, &opts);
	assert_non_null(strstr(out, "<target dev='vdaa' bus='virtio'/>"));
	assert_int_equal(warnings.n, 0);
}

static void what_is_booted_today_stays_first(void **state)
{
	static const char *const refused[] = {
		DOC(DISK("", "file='/x'", "dev='vdc' bus='virtio'")),
		DOC(DISK("device='lun'", "dev='/x'", "dev='vdc' bus='virtio'")),
		DOC(DISK("", "file='/x'", "dev='vdc'")),
		DOC(DISK("device='cdrom'", "file='/x'", "dev='sda' bus='sata'")
			    DISK("", "file='/x'", "dev='vdz' bus='virtio'")),
		/* The virtio bus is there before the bus of the root. */
		DOC(DISK("device='cdrom'", "file='/x'", "dev='vdz' bus='virtio'")
			    DISK("", "file='/x'", "dev='hda' bus='ide'")),
		/* libvirt 9.0 overflows on it, and then sorts it behind ours. */
		DOC(DISK("", "file='/x'", "dev='vdaxxxxxxxxxx' bus='virtio'")),
	};
	static const char *const taken[] = {
		DOC(DISK("", "file='/x'", "dev='vdc' bus='virtio'") VDA),
		DOC(DISK("", "file='/x'", "dev='sda' bus='scsi'")
			    DISK("", "file='/x'", "dev='vdc' bus='virtio'")),
		DOC(DISK("", "file='/x'", "dev='hdc' bus='ide'")),
		DOC(DISK("device='cdrom'", "file='/x'", "dev='hda' bus='ide'")),
		DOC(DISK("device='cdrom'", "file='/x'", "dev='vdz' bus='virtio'")),
		DOC("<disk><target dev='vdc' bus='virtio'/><boot order='1'/></disk>"),
		DOC("<disk><target dev='vdc' bus='virtio'/></disk><interface><boot order='1'/></interface>"),
	};
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	for (size_t i = 0; i < COUNT(refused); i++)
		assert_refused(refused[i], EINVAL, "before the one that is booted today");
	for (size_t i = 0; i < COUNT(taken); i++)
		free(added(taken[i], &opts));
	opts.target = "vda";
	free(added(DOC(""), &opts));
	assert_refused_bytes(ephlvm_xml_add, DOC(DISK("", "file='/x'", "dev='vdb'")),
			     strlen(DOC(DISK("", "file='/x'", "dev='vdb'"))), &opts, EINVAL,
			     "target \"vda\" the disk would come before");
}

static void a_boot_order_that_is_none_does_not_count(void **state)
{
	(void)state;
	assert_refused(DOC("<disk><target dev='vdc' bus='virtio'/><boot/></disk>"), EINVAL,
		       "before");
	assert_refused(DOC("<disk><target dev='vdc' bus='virtio'/><x><boot order='1'/></x></disk>"),
		       EINVAL, "before");
}

static void another_name_in_the_guest_is_warned_of(void **state)
{
	static const struct {
		const char *xml;
		const char *words; /* NULL: no warning */
	} cases[] = {
		{ DOC(VDA), NULL },
		{ DOC(DISK("device='cdrom'", "file='/x'", "dev='sda' bus='sata'") VDA), NULL },
		{ DOC(DISK("", "file='/x'", "dev='vda'")), NULL },
		{ DOC(""), "\"vdb\" as /dev/vda" },
		{ DOC(DISK("", "file='/x'", "dev='sda' bus='scsi'")), "\"vdb\" as /dev/vda" },
		{ DOC(VDA DISK("", "file='/x'", "dev='vda1' bus='virtio'")),
		  "\"vdb\" as /dev/vdc" },
		{ DOC(VDA "<disk><alias name='ua-ephemeral0'/></disk>"),
		  "alias \"ua-ephemeral0\"" },
		{ DOC(VDA "<interface><alias name='ua-ephemeral0'/></interface>"), "alias" },
		{ DOC(VDA "<disk><serial>ephemeral0</serial></disk>"), "serial \"ephemeral0\"" },
	};
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_free_ char *out = added(cases[i].xml, &opts);

		if (cases[i].words ? !strstr(warnings.text, cases[i].words) : warnings.n > 0)
			fail_msg("%s\nwarned \"%s\", not \"%s\"", cases[i].xml, warnings.text,
				 cases[i].words ? cases[i].words : "");
	}
}

static void a_taken_alias_is_left_out(void **state)
{
	struct ephlvm_xml_opts opts = plain_opts();
	_cleanup_free_ char *out =
		added(DOC(VDA "<input><alias name='ua-ephemeral0'/></input>"), &opts);

	(void)state;
	assert_null(strstr(out, "</serial>\n      <alias"));
	assert_non_null(strstr(out, "</serial>\n    </disk>"));
}

static void an_iothread_is_written_where_declared(void **state)
{
	static const struct {
		const char *threads;
		unsigned int id;
		bool declared;
	} cases[] = {
		{ "", 1, false },
		{ "<iothreads>0</iothreads>", 1, false },
		{ "<iothreads>1</iothreads>", 1, true },
		{ "<iothreads>\n 2 </iothreads>", 2, true },
		{ "<iothreads>2</iothreads>", 3, false },
		{ "<iothreads>x</iothreads>", 1, false },
		{ "<iothreads>99999999999999999999</iothreads>", 1, false },
		{ "<iothreadids><iothread id='3'/></iothreadids>", 3, true },
		{ "<iothreadids><iothread id='3'/></iothreadids>", 1, false },
		/* Filled up with the lowest ids that are not named. */
		{ "<iothreads>2</iothreads><iothreadids><iothread id='3'/></iothreadids>", 1,
		  true },
		{ "<iothreads>2</iothreads><iothreadids><iothread id='3'/></iothreadids>", 2,
		  false },
		{ "<iothreads>2</iothreads><iothreadids><iothread id='1'/></iothreadids>", 2,
		  true },
		{ "<x><iothreads>2</iothreads></x>", 1, false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_free_ char *xml = NULL, *out = NULL;
		struct ephlvm_xml_opts opts = plain_opts();

		assert_true(asprintf(&xml, HEAD "%s<devices>\n" VDA "</devices></domain>",
				     cases[i].threads) > 0);
		opts.iothread = cases[i].id;
		out = added(xml, &opts);
		if ((strstr(out, " iothread='") != NULL) != cases[i].declared)
			fail_msg("%s: iothread %u", cases[i].threads, cases[i].id);
		assert_int_equal(warnings.n, cases[i].declared ? 0 : 1);
	}
}

static void options_that_are_refused(void **state)
{
	static char long_path[5000];
	struct ephlvm_xml_opts bad[32];
	size_t n = 0;

	(void)state;
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[0] = '/';
	for (size_t i = 0; i < COUNT(bad); i++)
		bad[i] = plain_opts();
	bad[n++].source = NULL;
	bad[n++].source = "";
	bad[n++].source = "vg/lv";
	bad[n++].source = "/dev/vg/l\nv";
	bad[n++].source = "/dev/vg/l\x7fv";
	bad[n++].source = "/dev/vg/l\x1bv";
	bad[n++].source = "/dev/vg/l\xffv";
	bad[n++].source = "/dev/vg/l\xef\xbf\xbev";
	bad[n++].source = "/dev//lv";
	bad[n++].source = "/dev/vg/";
	bad[n++].source = "/dev/./lv";
	bad[n++].source = "/dev/vg/..";
	bad[n++].source = long_path;
	bad[n++].target = "";
	bad[n++].target = "vd";
	bad[n++].target = "vdB";
	bad[n++].target = "vdb1";
	bad[n++].target = "vdaaaa";
	bad[n++].target = "sdb";
	bad[n++].target = "vdb'/>";
	bad[n++].bus = "scsi";
	bad[n++].serial = "";
	bad[n++].serial = "123456789012345678901";
	bad[n++].serial = "a<b";
	bad[n++].serial = "\xc3\xbc";
	bad[n++].cache = "writeback";
	bad[n++].read_bytes_sec = UINT64_C(1000000000000001);
	bad[n++].total_iops_sec = UINT64_MAX;
	bad[n].total_bytes_sec = 1;
	bad[n++].read_bytes_sec = 1;
	bad[n].total_iops_sec = 1;
	bad[n++].write_iops_sec = 1;
	assert_true(n <= COUNT(bad));
	for (size_t i = 0; i < n; i++) {
		assert_refused_bytes(ephlvm_xml_add, DOC(VDA), strlen(DOC(VDA)), &bad[i], EINVAL,
				     "");
		assert_refused_bytes(ephlvm_xml_remove, DOC(VDA), strlen(DOC(VDA)), &bad[i], EINVAL,
				     "");
	}
}

static void options_of_another_version(void **state)
{
	struct {
		struct ephlvm_xml_opts opts;
		uint64_t later;
	} longer = { .opts = plain_opts() };
	struct ephlvm_xml_opts opts = plain_opts();
	_cleanup_free_ char *out = NULL, *out_longer = NULL;

	(void)state;
	/* An older caller: what is behind its structure is not read. */
	opts.size = offsetof(struct ephlvm_xml_opts, target);
	opts.target = "nonsense";
	opts.cache = "nonsense";
	out = added(DOC(VDA), &opts);
	assert_string_equal(out, DOC(VDA OURS));
	opts.size = 0;
	assert_refused_bytes(ephlvm_xml_add, DOC(VDA), strlen(DOC(VDA)), &opts, EINVAL, "");
	opts.size = SIZE_MAX;
	assert_refused_bytes(ephlvm_xml_add, DOC(VDA), strlen(DOC(VDA)), &opts, EINVAL, "");
	longer.opts.size = sizeof(longer);
	out_longer = added(DOC(VDA), &longer.opts);
	assert_string_equal(out_longer, DOC(VDA OURS));
	longer.later = 1;
	assert_refused_bytes(ephlvm_xml_add, DOC(VDA), strlen(DOC(VDA)), &longer.opts, EINVAL, "");
}

static void arguments_that_are_null(void **state)
{
	struct ephlvm_xml_opts opts = plain_opts();
	size_t bytes;
	char *out;

	(void)state;
	assert_int_equal(ephlvm_xml_add(ctx, NULL, 1, &opts, &out, &bytes), -EINVAL);
	assert_int_equal(ephlvm_xml_add(ctx, "<a/>", 4, NULL, &out, &bytes), -EINVAL);
	assert_int_equal(ephlvm_xml_add(ctx, "<a/>", 4, &opts, NULL, &bytes), -EINVAL);
	assert_int_equal(ephlvm_xml_remove(ctx, "<a/>", 4, &opts, &out, NULL), -EINVAL);
}

/* As libvirt 9.0 writes what was added, with what it adds to a running domain. */
static void removal_after_libvirt_wrote_it_anew(void **state)
{
	static const char anew[] = DOC(
		VDA
		"    <disk type='block' device='disk'>\n"
		"      <driver name='qemu' type='raw' cache='none' io='native' discard='unmap'/>\n"
		"      <source dev='" SOURCE "' index='1'/>\n"
		"      <backingStore/>\n"
		"      <target dev='vdb' bus='virtio'/>\n"
		"      <iotune>\n"
		"        <read_bytes_sec>1</read_bytes_sec>\n"
		"      </iotune>\n"
		"      <serial>ephemeral0</serial>\n"
		"      <alias name='ua-ephemeral0'/>\n"
		"      <address type='pci' domain='0x0000' bus='0x04' slot='0x00' function='0x0'/>\n"
		"    </disk>\n" NET);
	struct ephlvm_xml_opts opts = plain_opts();
	_cleanup_free_ char *plain = removed(anew, &opts), *named = NULL, *any = NULL;

	(void)state;
	assert_string_equal(plain, DOC(VDA NET));
	opts.target = "vdb";
	named = removed(anew, &opts);
	assert_string_equal(named, DOC(VDA NET));
	opts.target = "auto";
	any = removed(anew, &opts);
	assert_string_equal(any, DOC(VDA NET));
}

static void removal_takes_no_other_white_space(void **state)
{
	static const struct {
		const char *xml;
		const char *want;
	} cases[] = {
		{ DOC(VDA "\n" OURS NET), DOC(VDA "\n" NET) },
		{ DOC(VDA "    <!-- a -->\n" OURS), DOC(VDA "    <!-- a -->\n") },
		{ DOC("    <disk/> " OURS_ONE_LINE " <a/>\n"), DOC("    <disk/>  <a/>\n") },
		{ DOC("x" OURS_ONE_LINE "y"), DOC("xy") },
	};
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_free_ char *out = removed(cases[i].xml, &opts);

		assert_string_equal(out, cases[i].want);
	}
}

static void removal_of_what_is_not_there(void **state)
{
	struct ephlvm_xml_opts opts = plain_opts();
	_cleanup_free_ char *out = removed(DOC(VDA NET), &opts), *other = NULL;

	(void)state;
	assert_string_equal(out, DOC(VDA NET));
	/* Our serial and alias on another source are not ours. */
	opts.source = "/dev/vg/other";
	other = removed(DOC(VDA OURS), &opts);
	assert_string_equal(other, DOC(VDA OURS));
}

static void removal_refuses_what_is_not_plainly_ours(void **state)
{
	static const struct {
		const char *xml;
		const char *target;
		const char *words;
	} cases[] = {
		{ DOC(OURS OURS), NULL, "in use by 2 devices" },
		{ DOC(OURS DISK("type='block'", "dev='" SOURCE "'", "dev='vdc'")), "vdb",
		  "2 devices" },
		{ DOC(DISK("type='block' device='cdrom'", "dev='" SOURCE "'", "dev='sda'")), NULL,
		  "no plain block disk" },
		{ DOC(DISK("type='block' device='lun'", "dev='" SOURCE "'", "dev='sda'")), NULL,
		  "no plain block disk" },
		{ DOC(DISK("type='file'", "file='" SOURCE "'", "dev='vdb'")), NULL,
		  "no plain block disk" },
		{ DOC("<disk><mirror><source dev='" SOURCE "'/></mirror></disk>"), NULL,
		  "no plain block disk" },
		{ DOC(OURS), "vdc", "there as target \"vdb\", not \"vdc\"" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct ephlvm_xml_opts opts = plain_opts();

		opts.target = cases[i].target;
		assert_refused_bytes(ephlvm_xml_remove, cases[i].xml, strlen(cases[i].xml), &opts,
				     EINVAL, cases[i].words);
	}
}

static void errors_say_what_to_do(void **state)
{
	(void)state;
	assert_refused(DOC(DISK("", "file='/x'", "dev='vdb'")), EEXIST, "");
	assert_string_equal(ephlvm_error_hint(ctx),
			    "give another target, or auto for the next free one");
	assert_string_equal(ephlvm_error_subject(ctx), "vdb");
	/* What the document says is shown escaped. */
	assert_refused("<domain type='a&#10;\xc2\x9b'/>", EINVAL, "\"a\\x0a\\xc2\\x9b\"");
}

/* The parser's own words must not reach the terminal of the program that uses the library. */
static void nothing_is_printed(void **state)
{
	static const char *const docs[] = { "<a", DOC("<x:a/>"), DOC("&x;"),
					    "<!DOCTYPE a SYSTEM 'x'><a/>",
					    DOC("<a xmlns='\x01'/>") };
	struct ephlvm_xml_opts opts = plain_opts();
	FILE *words = tmpfile();
	int saved = dup(2);
	long length;

	(void)state;
	assert_non_null(words);
	fflush(stderr);
	assert_int_equal(dup2(fileno(words), 2), 2);
	for (size_t i = 0; i < COUNT(docs); i++) {
		size_t bytes;
		char *out;

		if (ephlvm_xml_add(ctx, docs[i], strlen(docs[i]), &opts, &out, &bytes) == 0)
			free(out);
	}
	fflush(stderr);
	length = lseek(2, 0, SEEK_END);
	dup2(saved, 2);
	close(saved);
	fclose(words);
	assert_int_equal(length, 0);
}

/* @head, @unit as often as fits into @bytes, @tail. */
static char *filled(const char *head, const char *unit, const char *tail, size_t bytes)
{
	char *out = malloc(bytes + strlen(head) + strlen(tail) + 1), *o;

	assert_non_null(out);
	o = stpcpy(out, head);
	for (size_t n = bytes / strlen(unit); n > 0; n--)
		o = stpcpy(o, unit);
	strcpy(o, tail);
	return out;
}

/* Each would take minutes if any of it were quadratic; the test has a time limit. */
static void large_documents_take_no_time(void **state)
{
	static const struct {
		const char *head, *unit, *tail;
		int r;
	} cases[] = {
		{ "<!-- ", "a=\"b\" ", " -->" DOC(VDA), 0 },
		{ HEAD "<devices>", "<disk/>", "</devices></domain>", 0 },
		{ HEAD "<devices>", "<disk><target dev='vdc' bus='virtio'/></disk>",
		  "</devices></domain>", -EINVAL },
		{ HEAD "<devices>", "<disk><source dev='/a'/></disk>", "</devices></domain>", 0 },
		{ HEAD "<devices>", " ", "<disk/></devices></domain>", 0 },
		{ HEAD "<devices>\n<disk/></devices>", "<!---->", "</domain>", 0 },
		{ HEAD "<devices>\n<disk/></devices>", "<a b='c'/>", "</domain>", 0 },
		{ HEAD "<devices>\n<disk/></devices><description>", "&amp;",
		  "</description></domain>", 0 },
		{ HEAD "<devices>\n<disk/></devices><description>", "]]&gt;\r\n",
		  "</description></domain>", 0 },
		{ HEAD "<iothreadids>", "<iothread id='1'/>",
		  "</iothreadids><devices>\n<disk/></devices></domain>", 0 },
		{ "<domain a='", "x",
		  "' type='kvm'><os><type>hvm</type></os><devices><disk/></devices>"
		  "</domain>",
		  0 },
		{ "", "<a>", "", -EINVAL },
		{ HEAD, "<a>", "", -EINVAL },
		{ HEAD "<a ", " b=''", "/></domain>", -EINVAL },
		{ HEAD "<a ", " b='", "", -EINVAL },
		{ HEAD, "<a xmlns:b='c'/>", "</domain>", -EINVAL },
		{ HEAD "<!", "<a b='' ", ">", -EINVAL },
		{ HEAD "<?1 <a", " b=''", "/>", -EINVAL },
		{ HEAD "<devices>", "<", "", -EINVAL },
		{ HEAD, "&", "", -EINVAL },
	};
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_free_ char *xml = filled(cases[i].head, cases[i].unit, cases[i].tail,
						  EPHLVM_XML_MAX_BYTES - 1024);
		_cleanup_free_ char *out = NULL, *back = NULL;
		int r = run(ephlvm_xml_add, xml, strlen(xml), &opts, &out);

		if (r != cases[i].r)
			fail_msg("%s...: %d, %s", cases[i].head, r, ephlvm_error_message(ctx));
		if (r < 0)
			continue;
		back = removed(out, &opts);
		assert_int_equal(strcmp(back, xml), 0);
	}
}

static void a_document_that_is_too_long(void **state)
{
	_cleanup_free_ char *xml = filled(DOC(VDA), " ", "", EPHLVM_XML_MAX_BYTES + 1);
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	assert_refused_bytes(ephlvm_xml_add, xml, EPHLVM_XML_MAX_BYTES + 1, &opts, E2BIG, "longer");
	xml[EPHLVM_XML_MAX_BYTES] = '\0';
	free(added(xml, &opts));
}

static void nesting_has_a_limit(void **state)
{
	struct ephlvm_xml_opts opts = plain_opts();
	char opened[300 * 3 + 1] = "", closed[300 * 4 + 1] = "";

	(void)state;
	for (int i = 1; i <= 300; i++) {
		_cleanup_free_ char *xml = NULL, *out = NULL;

		strcat(opened, "<a>");
		strcat(closed, "</a>");
		assert_true(asprintf(&xml, HEAD "%s%s<devices></devices></domain>", opened,
				     closed) > 0);
		/* The root is one. */
		assert_int_equal(run(ephlvm_xml_add, xml, strlen(xml), &opts, &out),
				 i <= 255 ? 0 : -EINVAL);
	}
}

static void reading_the_disks(void **state)
{
	static const char xml[] =
		"<domain type='xen' id='3'><name>a&amp;b</name><uuid>u-u</uuid><name>second</name><devices>"
		"<disk type='block'><source dev='/dev/vg/a'/><target dev='vda' bus='virtio'/>"
		"<alias name='ua-x'/><backingStore><source file='/base'/></backingStore></disk>"
		"<disk type='file' device='cdrom'><source file='/iso'/><target dev='sda'/></disk>"
		"<disk type='network'><source protocol='rbd' name='p/i'/></disk>"
		"<hostdev><source><block>/dev/vg/b</block></source></hostdev>"
		"</devices></domain>";
	static const char *const paths[] = { "/dev/vg/a", "/base", "/iso", "/dev/vg/b" };
	struct eph_domxml_disks disks;

	(void)state;
	assert_int_equal(eph_domxml_read_disks(ctx, xml, strlen(xml), &disks), 0);
	assert_string_equal(disks.domain_name, "a&b");
	assert_string_equal(disks.domain_uuid, "u-u");
	assert_int_equal(disks.n, 3);
	assert_string_equal(disks.disks[0].source, "/dev/vg/a");
	assert_string_equal(disks.disks[0].target, "vda");
	assert_string_equal(disks.disks[0].bus, "virtio");
	assert_string_equal(disks.disks[0].alias, "ua-x");
	assert_string_equal(disks.disks[1].source, "/iso");
	assert_string_equal(disks.disks[1].target, "sda");
	assert_null(disks.disks[1].bus);
	assert_null(disks.disks[1].alias);
	assert_null(disks.disks[2].source);
	assert_null(disks.disks[2].target);
	assert_int_equal(disks.paths.n, COUNT(paths));
	for (size_t i = 0; i < COUNT(paths); i++)
		assert_string_equal(disks.paths.v[i], paths[i]);
	eph_domxml_disks_clear(&disks);
	assert_int_equal(disks.n, 0);

	/* A domain without devices has no disks; what is no domain is an error. */
	assert_int_equal(eph_domxml_read_disks(ctx, "<domain/>", 9, &disks), 0);
	assert_int_equal(disks.n, 0);
	assert_null(disks.domain_name);
	eph_domxml_disks_clear(&disks);
	assert_int_equal(eph_domxml_read_disks(ctx, "<domain>", 8, &disks), -EINVAL);
}

static void one_device_under_two_paths(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} cases[] = {
		{ "/dev/vg/lv", "/dev/vg/lv", true },
		{ "/dev/vg/lv", "/dev/mapper/vg-lv", true },
		{ "/dev/v-g/l-v", "/dev/mapper/v--g-l--v", true },
		{ "/dev/vg/lv", "/dev/mapper/vg--lv", false },
		{ "/dev/v-g/lv", "/dev/mapper/v-g-lv", false },
		{ "/dev/vg/lv", "/dev/mapper/vg-lv2", false },
		{ "/dev/vg/lv2", "/dev/mapper/vg-lv", false },
		{ "/dev/vg/lv", "/dev/vg/lv2", false },
		{ "/dev/vg/a/b", "/dev/mapper/vg-a-b", false },
		{ "/dev/sda", "/dev/mapper/sda", false },
		{ "/dev/mapper/vg-lv", "/dev/mapper/vg-lv", true },
		{ "/vg/lv", "/dev/mapper/vg-lv", false },
		{ "/dev/vg/lv-", "/dev/mapper/vg-lv-", false },
		{ "", "/dev/mapper/", false },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(eph_domxml_same_device(cases[i].a, cases[i].b), cases[i].same);
		assert_int_equal(eph_domxml_same_device(cases[i].b, cases[i].a), cases[i].same);
	}
}

static void the_element_alone(void **state)
{
	_cleanup_free_ char *text = NULL, *want = replaced(OURS, "\n    ", "\n"), *planned = NULL,
			    *target = NULL;
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	want[strlen(want) - 1] = '\0';
	assert_int_equal(eph_domxml_disk_text(ctx, &opts, &text), 0);
	assert_string_equal(text, want + 4);

	opts.target = "auto";
	assert_int_equal(
		eph_domxml_plan_text(ctx, DOC(VDA), strlen(DOC(VDA)), &opts, &planned, &target), 0);
	assert_string_equal(planned, want + 4);
	assert_string_equal(target, "vdb");
	assert_int_equal(eph_domxml_disk_text(ctx, &opts, &text), -EINVAL);
}

static void planning_checks_as_adding_does(void **state)
{
	static const char there[] = DOC(VDA OURS),
			  taken[] = DOC(VDA DISK("", "file='/x'", "dev='vdb'"));
	_cleanup_free_ char *text = NULL, *target = NULL;
	struct ephlvm_xml_opts opts = plain_opts();
	char *untouched = NULL;

	(void)state;
	opts.target = "auto";
	assert_int_equal(eph_domxml_plan_text(ctx, there, strlen(there), &opts, &text, &target), 0);
	assert_null(text);
	assert_string_equal(target, "vdb");
	opts.target = "vdb";
	assert_int_equal(eph_domxml_plan_text(ctx, taken, strlen(taken), &opts, &untouched,
					      &untouched),
			 -EEXIST);
	assert_null(untouched);
}

static void target_names_and_their_order(void **state)
{
	static const struct {
		const char *name;
		long index;
	} names[] = {
		{ "vda", 0 },	    { "vdz", 25 },	{ "vdaa", 26 }, { "vdzz", 701 },
		{ "vdaaa", 702 },   { "vdzzz", 18277 }, { "hdb", 1 },	{ "xvdc", 2 },
		{ "sda12", 0 },	    { "vdb1x", -1 },	{ "vd", -1 },	{ "vd1", -1 },
		{ "/dev/vda", -1 }, { "", -1 },		{ "vdB", -1 },
	};
	char buf[EPH_DOMXML_TARGET_TEXT];

	(void)state;
	for (size_t i = 0; i < COUNT(names); i++)
		assert_int_equal(eph_domxml_target_index(names[i].name), names[i].index);
	for (long i = 0; i <= EPH_DOMXML_MAX_INDEX; i++)
		assert_int_equal(eph_domxml_target_index(eph_domxml_target_name(i, buf)), i);
}

static int add_remove_read(char **ret_xml)
{
	static const char xml[] = HEAD
		"<iothreadids><iothread id='1'/></iothreadids><devices>\n" VDA
		"<hostdev><alias name='a'/><source><block>/b</block></source></hostdev></devices>"
		"</domain>";
	struct ephlvm_xml_opts opts = plain_opts();
	struct eph_domxml_disks disks;
	_cleanup_free_ char *out = NULL, *back = NULL;
	size_t bytes, back_bytes;
	int r;

	opts.target = "auto";
	opts.iothread = 1;
	r = ephlvm_xml_add(ctx, xml, strlen(xml), &opts, &out, &bytes);
	if (r < 0)
		return r;
	r = ephlvm_xml_remove(ctx, out, bytes, &opts, &back, &back_bytes);
	if (r < 0)
		return r;
	r = eph_domxml_read_disks(ctx, back, back_bytes, &disks);
	if (r < 0)
		return r;
	eph_domxml_disks_clear(&disks);
	*ret_xml = eph_steal(out);
	return 0;
}

static void each_allocation_fails_in_turn(void **state)
{
	_cleanup_free_ char *want = NULL;
	unsigned int n = 0;
	bool reached = true;

	(void)state;
	assert_int_equal(add_remove_read(&want), 0);
	for (n = 0; reached; n++) {
		_cleanup_free_ char *out = NULL;
		int r;

		failing_alloc_arm(n);
		r = add_remove_read(&out);
		reached = failing_alloc_disarm();
		/* Without memory a warning, or words of the record, may be missing; never a part of the
		 * document. */
		if (r == 0)
			assert_string_equal(out, want);
		else
			assert_int_equal(r, -ENOMEM);
		if (r < 0)
			assert_int_equal(ephlvm_error_errno(ctx), ENOMEM);
	}
	assert_true(n > 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_disk_goes_behind_the_last_one, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_a_disk_it_goes_behind_the_emulator, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_both_it_is_the_first_child, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(lines_look_like_those_of_the_neighbour, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_line_stays_a_line, set_up, tear_down),
		cmocka_unit_test_setup_teardown(every_option_is_written, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_escaped_source_is_found_again, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_there_already_stays, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_taken_target_or_source_is_refused, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(other_names_do_not_take_ours, set_up, tear_down),
		cmocka_unit_test_setup_teardown(documents_that_get_no_disk, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nul_bytes_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(odd_but_good_documents_are_taken, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(auto_takes_the_next_free_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(auto_beyond_all_letters, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_booted_today_stays_first, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_boot_order_that_is_none_does_not_count, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(another_name_in_the_guest_is_warned_of, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_taken_alias_is_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_iothread_is_written_where_declared, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(options_that_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(options_of_another_version, set_up, tear_down),
		cmocka_unit_test_setup_teardown(arguments_that_are_null, set_up, tear_down),
		cmocka_unit_test_setup_teardown(removal_after_libvirt_wrote_it_anew, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(removal_takes_no_other_white_space, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(removal_of_what_is_not_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(removal_refuses_what_is_not_plainly_ours, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(errors_say_what_to_do, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_is_printed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(large_documents_take_no_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_document_that_is_too_long, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nesting_has_a_limit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reading_the_disks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_device_under_two_paths, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_element_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(planning_checks_as_adding_does, set_up, tear_down),
		cmocka_unit_test_setup_teardown(target_names_and_their_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_allocation_fails_in_turn, set_up, tear_down),
	};

	/* Before the parser allocates anything: its memory then fails along with ours. */
	xmlMemSetup(free, malloc, realloc, strdup);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
