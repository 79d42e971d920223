/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * domxml_case.h - what the tests of the domain XML room share: small documents in words, and calls
 * that check what holds for every call. To be included once in a test program.
 */
#ifndef EPH_TESTS_DOMXML_CASE_H
#define EPH_TESTS_DOMXML_CASE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/context.h"
#include "pure/domxml.h"
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

static inline void keep_warning(void *data, enum ephlvm_log_level level, const char *message)
{
	struct log *log = data;

	if (level != EPHLVM_LOG_WARNING)
		return;
	log->n++;
	strncat(log->text, message, sizeof(log->text) - strlen(log->text) - 1);
}

static struct ephlvm_ctx *ctx;
static struct log warnings;

static inline int set_up(void **state)
{
	(void)state;
	memset(&warnings, 0, sizeof(warnings));
	if (ephlvm_ctx_new(&ctx) < 0)
		return -1;
	ephlvm_ctx_set_log(ctx, EPHLVM_LOG_WARNING, keep_warning, &warnings);
	return 0;
}

static inline int tear_down(void **state)
{
	(void)state;
	ctx = ephlvm_ctx_unref(ctx);
	return 0;
}

static inline struct ephlvm_xml_opts plain_opts(void)
{
	struct ephlvm_xml_opts opts = EPHLVM_XML_OPTS_INIT;

	opts.source = SOURCE;
	return opts;
}

typedef int (*transform_fn)(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
			    const struct ephlvm_xml_opts *opts, char **ret_xml, size_t *ret_bytes);

/* On a copy without a NUL behind it, so that the sanitizer sees a read beyond its end. */
static inline int run(transform_fn transform, const char *xml, size_t bytes,
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

/* The document with the disk; a refusal fails the test. */
static inline char *added(const char *xml, const struct ephlvm_xml_opts *opts)
{
	char *out;

	if (run(ephlvm_xml_add, xml, strlen(xml), opts, &out) < 0)
		fail_msg("refused: %s", ephlvm_error_message(ctx));
	return out;
}

static inline char *removed(const char *xml, const struct ephlvm_xml_opts *opts)
{
	char *out;

	if (run(ephlvm_xml_remove, xml, strlen(xml), opts, &out) < 0)
		fail_msg("refused: %s", ephlvm_error_message(ctx));
	return out;
}

static inline void assert_adds(const char *xml, const char *want,
			       const struct ephlvm_xml_opts *opts)
{
	_cleanup_free_ char *out = added(xml, opts);
	_cleanup_free_ char *again = added(out, opts);
	_cleanup_free_ char *back = removed(out, opts);

	assert_string_equal(out, want);
	assert_string_equal(again, want);
	assert_string_equal(back, xml);
}

static inline void assert_refused_bytes(transform_fn transform, const char *xml, size_t bytes,
					const struct ephlvm_xml_opts *opts, int errnum,
					const char *words)
{
	_cleanup_free_ char *out = NULL;
	int r = run(transform, xml, bytes, opts, &out);

	if (r != -errnum || !strstr(ephlvm_error_message(ctx), words))
		fail_msg("%.500s\ngave %d \"%s\", not %d with \"%s\"", xml, r,
			 ephlvm_error_message(ctx), -errnum, words);
	assert_int_equal(ephlvm_error_kind(ctx),
			 errnum == EEXIST ? EPHLVM_ERROR_BUSY : EPHLVM_ERROR_INVALID);
}

static inline void assert_refused(const char *xml, int errnum, const char *words)
{
	struct ephlvm_xml_opts opts = plain_opts();

	assert_refused_bytes(ephlvm_xml_add, xml, strlen(xml), &opts, errnum, words);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

#endif
