// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * domxml_scan.c - what is checked in a document's bytes before a parser sees them.
 * The parser compares the attributes of an element, and the namespaces in scope, pairwise: a few
 * megabytes of them would hold it for minutes. Must not judge what the document says, and must
 * stay linear.
 */
#include "pure/domxml_doc.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "core/context.h"

/* Length of the UTF-8 sequence at @s, of which @n bytes are there; 0 for none. */
static size_t utf8_sequence(const unsigned char *s, size_t n)
{
	unsigned char low = 0x80, high = 0xbf;
	size_t len;

	if (s[0] < 0x80)
		return s[0] != 0;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		len = 2;
	else if ((s[0] & 0xf0) == 0xe0)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		len = 4;
	else
		return 0;
	if (n < len)
		return 0;
	/* Overlong forms, surrogates and what lies above U+10FFFF show in the second byte. */
	if (s[0] == 0xe0)
		low = 0xa0;
	else if (s[0] == 0xed)
		high = 0x9f;
	else if (s[0] == 0xf0)
		low = 0x90;
	else if (s[0] == 0xf4)
		high = 0x8f;
	if (s[1] < low || s[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

size_t eph_domxml_utf8_span(const char *s, size_t bytes)
{
	size_t at = 0;

	while (at < bytes) {
		size_t len = utf8_sequence((const unsigned char *)s + at, bytes - at);

		if (len == 0)
			break;
		at += len;
	}
	return at;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static size_t skip_space(const char *s, size_t at, size_t end)
{
	while (at < end && is_space(s[at]))
		at++;
	return at;
}

/* Offset behind the next @mark at or after @at; @end where there is none. It ends with ">". */
static size_t behind(const char *s, size_t at, size_t end, const char *mark)
{
	size_t len = strlen(mark);

	for (size_t from = at; from < end;) {
		const char *close = memchr(s + from, '>', end - from);

		if (!close)
			return end;
		from = (size_t)(close - s) + 1;
		if (from - at >= len && memcmp(s + from - len, mark, len) == 0)
			return from;
	}
	return end;
}

static bool starts(const char *s, size_t at, size_t end, const char *prefix)
{
	size_t len = strlen(prefix);

	return end - at >= len && memcmp(s + at, prefix, len) == 0;
}

/*
 * Find encoding= in the XML declaration that starts at @at. Looks at names and quoted values only:
 * what is wrong with the rest is for the parser to say.
 */
static bool declared_encoding(const char *s, size_t at, size_t end, const char **ret_value,
			      size_t *ret_len)
{
	for (at += strlen("<?xml"); at < end;) {
		size_t name, name_len, value;
		const char *close;

		name = at = skip_space(s, at, end);
		while (at < end && !is_space(s[at]) && s[at] != '=')
			at++;
		name_len = at - name;
		at = skip_space(s, at, end);
		if (at >= end || s[at] != '=')
			return false;
		at = skip_space(s, at + 1, end);
		if (at >= end || (s[at] != '"' && s[at] != '\''))
			return false;
		value = at + 1;
		close = memchr(s + value, s[at], end - value);
		if (!close)
			return false;
		at = (size_t)(close - s) + 1;
		if (name_len == strlen("encoding") && memcmp(s + name, "encoding", name_len) == 0) {
			*ret_value = s + value;
			*ret_len = (size_t)(close - s) - value;
			return true;
		}
	}
	return false;
}

static int check_encoding(struct ephlvm_ctx *ctx, const char *xml, size_t bytes)
{
	size_t good, at, len;
	const char *value;

	good = eph_domxml_utf8_span(xml, bytes);
	if (good < bytes)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL,
				"convert the document to UTF-8",
				"document is not UTF-8: byte 0x%02x at offset %zu",
				(unsigned char)xml[good], good);
	at = starts(xml, 0, bytes, "\xef\xbb\xbf") ? 3 : 0;
	if (!starts(xml, at, bytes, "<?xml") || bytes - at < 6 || !is_space(xml[at + 5]))
		return 0;
	if (!declared_encoding(xml, at, behind(xml, at, bytes, "?>"), &value, &len))
		return 0;
	if (len == strlen("UTF-8") && strncasecmp(value, "UTF-8", len) == 0)
		return 0;
	return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL,
			"convert the document to UTF-8, its declaration too",
			"document declares the encoding \"%.*s\", and only UTF-8 is read",
			(int)(len < 64 ? len : 64), value);
}

/* Offset of the end of the tag at @at; counts attributes, and those that declare a namespace. */
static size_t scan_tag(const char *s, size_t at, size_t end, size_t *attrs, size_t *xmlns)
{
	for (at++; at < end && s[at] != '>'; at++) {
		const char *close;

		if (is_space(s[at]) && starts(s, at + 1, end, "xmlns"))
			(*xmlns)++;
		if (s[at] != '"' && s[at] != '\'')
			continue;
		(*attrs)++;
		close = memchr(s + at + 1, s[at], end - at - 1);
		if (!close)
			return end;
		at = (size_t)(close - s);
	}
	return at;
}

/*
 * Walk over the markup as a parser would. In a well-formed document both see the same elements; in
 * any other the parser is stopped at its first error, so that what follows costs nothing.
 */
static int check_limits(struct ephlvm_ctx *ctx, const char *xml, size_t bytes)
{
	size_t at = 0, xmlns = 0;

	while (at < bytes) {
		const char *open = memchr(xml + at, '<', bytes - at);
		size_t attrs = 0;

		if (!open)
			return 0;
		at = (size_t)(open - xml);
		if (starts(xml, at, bytes, "<!--")) {
			at = behind(xml, at + 4, bytes, "-->");
		} else if (starts(xml, at, bytes, "<![CDATA[")) {
			at = behind(xml, at, bytes, "]]>");
		} else if (starts(xml, at, bytes, "<?")) {
			at = behind(xml, at, bytes, "?>");
		} else if (starts(xml, at, bytes, "<!")) {
			return 0; /* a DOCTYPE: the parser refuses it and reads no further */
		} else {
			at = scan_tag(xml, at, bytes, &attrs, &xmlns);
		}
		if (attrs > EPH_DOMXML_MAX_ATTRS)
			return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
					"document has an element of more than %d attributes",
					EPH_DOMXML_MAX_ATTRS);
		if (xmlns > EPH_DOMXML_MAX_XMLNS)
			return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
					"document declares more than %d namespaces",
					EPH_DOMXML_MAX_XMLNS);
	}
	return 0;
}

int eph_domxml_scan(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes)
{
	int r;

	r = check_encoding(ctx, xml, xml_bytes);
	if (r < 0)
		return r;
	return check_limits(ctx, xml, xml_bytes);
}
