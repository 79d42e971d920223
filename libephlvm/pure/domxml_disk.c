// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * domxml_disk.c - the <disk> element that is written: the caller's options checked, the element put
 * into words, target names.
 * What is written is understood by libvirt 9.0 and later. Must not look at a document.
 */
#include "pure/domxml_doc.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "core/context.h"
#include "util/text.h"

/* What QEMU's block throttling takes (libvirt refuses more). */
#define IOTUNE_MAX UINT64_C(1000000000000000)
/* virtio-blk shows this much of a serial number to the guest. */
#define SERIAL_MAX 20

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/* Has "//", "/./", "/../", or such an end: two spellings of one path would not compare equal. */
static bool path_is_plain(const char *path)
{
	for (const char *s = path; *s; s++) {
		size_t len;

		if (*s != '/')
			continue;
		len = strcspn(s + 1, "/");
		if (len == 0 || (len == 1 && s[1] == '.') ||
		    (len == 2 && memcmp(s + 1, "..", 2) == 0))
			return false;
	}
	return true;
}

static int check_source(struct ephlvm_ctx *ctx, const char *source)
{
	size_t len;

	if (!source || source[0] != '/')
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, source,
				"give an absolute path such as /dev/VG/LV",
				"source \"%s\" is not an absolute path", source ? source : "");
	len = strnlen(source, PATH_MAX);
	if (len >= PATH_MAX)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
				"source is longer than %d bytes", PATH_MAX - 1);
	if (eph_domxml_utf8_span(source, len) < len)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, source, NULL,
				"source \"%s\" is not UTF-8", source);
	for (const char *s = source; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f ||
		    /* U+FFFE and U+FFFF cannot be written in XML. */
		    strncmp(s, "\xef\xbf\xbe", 3) == 0 || strncmp(s, "\xef\xbf\xbf", 3) == 0)
			return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, source, NULL,
					"source \"%s\" has a control character", source);
	if (!path_is_plain(source))
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, source,
				"give the path without \"//\", \"/./\" and \"/../\"",
				"source \"%s\" is not a plain path", source);
	return 0;
}

static int check_target(struct ephlvm_ctx *ctx, const char *target)
{
	size_t letters;

	if (strncmp(target, "vd", 2) == 0) {
		letters = strspn(target + 2, "abcdefghijklmnopqrstuvwxyz");
		if (letters >= 1 && letters <= 3 && target[2 + letters] == '\0')
			return 0;
	}
	return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, target,
			"give vda to vdzzz, or auto for the next free name",
			"target \"%s\" is not the name of a virtio disk", target);
}

static int check_words(struct ephlvm_ctx *ctx, const struct ephlvm_xml_opts *opts)
{
	size_t len;

	if (opts->bus && strcmp(opts->bus, "virtio") != 0)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, opts->bus,
				"only virtio is written", "bus \"%s\" is not known", opts->bus);
	if (opts->cache && strcmp(opts->cache, "none") != 0 &&
	    strcmp(opts->cache, "directsync") != 0)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, opts->cache,
				"give none or directsync: native I/O needs the host's cache off",
				"cache \"%s\" is not allowed", opts->cache);
	if (!opts->serial)
		return 0;
	len = strspn(opts->serial, ALNUM "_.+ -");
	if (opts->serial[len] || len < 1 || len > SERIAL_MAX)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, opts->serial,
				"give 1 to 20 of the letters A-Z a-z 0-9 _ . + - and space",
				"serial \"%s\" is not allowed", opts->serial);
	return 0;
}

static int check_iotune(struct ephlvm_ctx *ctx, const struct ephlvm_xml_opts *opts)
{
	const struct {
		const char *name;
		uint64_t value;
	} limits[] = {
		{ "read_bytes_sec", opts->read_bytes_sec },
		{ "write_bytes_sec", opts->write_bytes_sec },
		{ "total_bytes_sec", opts->total_bytes_sec },
		{ "read_iops_sec", opts->read_iops_sec },
		{ "write_iops_sec", opts->write_iops_sec },
		{ "total_iops_sec", opts->total_iops_sec },
	};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (limits[i].value > IOTUNE_MAX)
			return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, limits[i].name, NULL,
					"%s %" PRIu64 " is more than %" PRIu64, limits[i].name,
					limits[i].value, IOTUNE_MAX);
	if ((opts->total_bytes_sec && (opts->read_bytes_sec || opts->write_bytes_sec)) ||
	    (opts->total_iops_sec && (opts->read_iops_sec || opts->write_iops_sec)))
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL,
				"give the total, or reads and writes apart",
				"a limit of the total excludes those of reads and writes");
	return 0;
}

int eph_domxml_want_check(struct ephlvm_ctx *ctx, const struct ephlvm_xml_opts *opts,
			  struct eph_domxml_want *ret_want)
{
	struct ephlvm_xml_opts taken;
	const char *target;
	int r;

	r = eph_opts_import(ctx, &taken, sizeof(taken), opts);
	if (r < 0)
		return r;
	r = check_source(ctx, taken.source);
	if (r < 0)
		return r;
	target = taken.target ? taken.target : "vdb";
	if (strcmp(target, "auto") == 0)
		target = NULL;
	if (target) {
		r = check_target(ctx, target);
		if (r < 0)
			return r;
	}
	r = check_words(ctx, &taken);
	if (r < 0)
		return r;
	r = check_iotune(ctx, &taken);
	if (r < 0)
		return r;
	*ret_want = (struct eph_domxml_want){
		.source = taken.source,
		.target = target,
		.target_given = taken.target != NULL,
		.serial = taken.serial ? taken.serial : "ephemeral0",
		.cache = taken.cache ? taken.cache : "none",
		.iothread = taken.iothread,
		.read_bytes_sec = taken.read_bytes_sec,
		.write_bytes_sec = taken.write_bytes_sec,
		.total_bytes_sec = taken.total_bytes_sec,
		.read_iops_sec = taken.read_iops_sec,
		.write_iops_sec = taken.write_iops_sec,
		.total_iops_sec = taken.total_iops_sec,
	};
	return 0;
}

char *eph_domxml_want_alias(const struct eph_domxml_want *want, char buf[EPH_DOMXML_ALIAS_TEXT])
{
	snprintf(buf, EPH_DOMXML_ALIAS_TEXT, "ua-%s", want->serial);
	for (char *s = buf; *s; s++)
		if (!strchr(ALNUM "_-", *s))
			*s = '_';
	return buf;
}

long eph_domxml_target_index(const char *target)
{
	static const char *const prefixes[] = { "fd", "hd", "vd", "sd", "xvd", "ubd" };
	long index = 0;
	size_t len = 0;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]) && len == 0; i++)
		if (eph_startswith(target, prefixes[i]))
			len = strlen(prefixes[i]);
	target += len;
	if (len == 0 || *target < 'a' || *target > 'z')
		return -1;
	/* Where libvirt's own index overflows (9.0 takes any number of letters) it counts as last. */
	for (; *target >= 'a' && *target <= 'z'; target++)
		if (index < INT_MAX)
			index = index * 26 + (*target - 'a') + 1;
	/* A number behind is a partition, and does not order. */
	return target[strspn(target, "0123456789")] == '\0' ? index - 1 : -1;
}

char *eph_domxml_target_name(long index, char buf[EPH_DOMXML_TARGET_TEXT])
{
	char letters[4];
	size_t n = 0;

	for (index++; index > 0 && n < 3; index = (index - 1) / 26)
		letters[n++] = (char)('a' + (index - 1) % 26);
	memcpy(buf, "vd", 2);
	for (size_t i = 0; i < n; i++)
		buf[2 + i] = letters[n - 1 - i];
	buf[2 + n] = '\0';
	return buf;
}

static void write_escaped(FILE *out, const char *s)
{
	for (; *s; s++) {
		switch (*s) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '\'':
			fputs("&apos;", out);
			break;
		default:
			fputc(*s, out);
		}
	}
}

static void new_line(FILE *out, const struct eph_domxml_layout *layout, int level)
{
	fwrite(layout->eol, 1, layout->eol_bytes, out);
	fwrite(layout->indent, 1, layout->indent_bytes, out);
	while (level-- > 0)
		fwrite(layout->unit, 1, layout->unit_bytes, out);
}

static void write_iotune(FILE *out, const struct eph_domxml_want *want,
			 const struct eph_domxml_layout *layout)
{
	const struct {
		const char *name;
		uint64_t value;
	} limits[] = {
		{ "total_bytes_sec", want->total_bytes_sec },
		{ "read_bytes_sec", want->read_bytes_sec },
		{ "write_bytes_sec", want->write_bytes_sec },
		{ "total_iops_sec", want->total_iops_sec },
		{ "read_iops_sec", want->read_iops_sec },
		{ "write_iops_sec", want->write_iops_sec },
	};
	bool any = false;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (limits[i].value == 0)
			continue;
		if (!any) {
			new_line(out, layout, 1);
			fputs("<iotune>", out);
		}
		any = true;
		new_line(out, layout, 2);
		fprintf(out, "<%s>%" PRIu64 "</%s>", limits[i].name, limits[i].value,
			limits[i].name);
	}
	if (!any)
		return;
	new_line(out, layout, 1);
	fputs("</iotune>", out);
}

/*
 * Children in the order in which libvirt writes them. No <address>: libvirt finds a free slot. No
 * <boot>: it excludes <os><boot>, and this disk is none to boot from.
 */
void eph_domxml_write(FILE *out, const struct eph_domxml_want *want, const char *target,
		      const char *alias, const struct eph_domxml_layout *layout)
{
	fputs("<disk type='block' device='disk'>", out);
	new_line(out, layout, 1);
	fprintf(out, "<driver name='qemu' type='raw' cache='%s' io='native' discard='unmap'",
		want->cache);
	if (want->iothread)
		fprintf(out, " iothread='%u'", want->iothread);
	fputs("/>", out);
	new_line(out, layout, 1);
	fputs("<source dev='", out);
	write_escaped(out, want->source);
	fputs("'/>", out);
	new_line(out, layout, 1);
	fprintf(out, "<target dev='%s' bus='virtio'/>", target);
	write_iotune(out, want, layout);
	new_line(out, layout, 1);
	fprintf(out, "<serial>%s</serial>", want->serial);
	if (alias[0]) {
		new_line(out, layout, 1);
		fprintf(out, "<alias name='%s'/>", alias);
	}
	new_line(out, layout, 0);
	fputs("</disk>", out);
}
