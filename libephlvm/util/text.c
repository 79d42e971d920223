// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * text.c - string vectors, escaping, sizes, UUIDs and numbers.
 * Owns no state. Must not log, and must not know the context.
 */
#include "util/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "util/cleanup.h"

static int strv_take(struct eph_strv *sv, char *s)
{
	char **grown;

	grown = reallocarray(sv->v, sv->n + 2, sizeof(*grown));
	if (!grown) {
		free(s);
		return -ENOMEM;
	}
	sv->v = grown;
	sv->v[sv->n++] = s;
	sv->v[sv->n] = NULL;
	return 0;
}

int eph_strv_add(struct eph_strv *sv, const char *s)
{
	char *copy = strdup(s);

	if (!copy)
		return -ENOMEM;
	return strv_take(sv, copy);
}

int eph_strv_addf(struct eph_strv *sv, const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (r < 0)
		return -ENOMEM;
	return strv_take(sv, s);
}

bool eph_strv_has(const struct eph_strv *sv, const char *s)
{
	for (size_t i = 0; i < sv->n; i++)
		if (strcmp(sv->v[i], s) == 0)
			return true;
	return false;
}

void eph_strv_clear(struct eph_strv *sv)
{
	for (size_t i = 0; i < sv->n; i++)
		free(sv->v[i]);
	free(sv->v);
	sv->v = NULL;
	sv->n = 0;
}

/*
 * Length of the valid UTF-8 sequence at @s, 0 when it is not one. Overlong forms, surrogates and
 * values above U+10FFFF are not valid; the C1 controls (U+0080..U+009F) count as not valid too,
 * because terminals act on them.
 */
static size_t utf8_printable(const unsigned char *s)
{
	uint32_t c;
	size_t len;

	if (s[0] < 0x80)
		return s[0] >= 0x20 && s[0] != 0x7f ? 1 : 0;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		len = 2, c = s[0] & 0x1f;
	else if ((s[0] & 0xf0) == 0xe0)
		len = 3, c = s[0] & 0x0f;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		len = 4, c = s[0] & 0x07;
	else
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < 0xa0 || (len == 3 && c < 0x800) || (c >= 0xd800 && c <= 0xdfff) ||
	    (len == 4 && (c < 0x10000 || c > 0x10ffff)))
		return 0;
	return len;
}

char *eph_escape(const char *s, bool keep_lines)
{
	const unsigned char *in = (const unsigned char *)s;
	char *out, *o;

	out = malloc(strlen(s) * 4 + 1);
	if (!out)
		return NULL;
	for (o = out; *in;) {
		size_t len = utf8_printable(in);

		if (len == 0 && keep_lines && *in == '\n')
			len = 1;
		if (len == 0) {
			o += sprintf(o, "\\x%02x", *in++);
			continue;
		}
		memcpy(o, in, len);
		o += len;
		in += len;
	}
	*o = '\0';
	return out;
}

bool eph_streq(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

bool eph_startswith(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

int eph_u64_parse(const char *s, uint64_t *ret_value)
{
	uint64_t v = 0;

	if (!*s)
		return -EINVAL;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			return -ERANGE;
	}
	*ret_value = v;
	return 0;
}

/* Power of 1024 that @unit stands for; -EPROTO for a power of 1000, -EINVAL for anything else. */
static int size_unit(const char *unit)
{
	static const char letters[] = "KMGTP";
	const char *l;

	if (!*unit)
		return 0;
	l = strchr(letters, toupper((unsigned char)unit[0]));
	if (!l)
		return -EINVAL;
	if (unit[1] == '\0' || strcmp(unit + 1, "iB") == 0)
		return (int)(l - letters) + 1;
	if (strcmp(unit + 1, "B") == 0 || strcmp(unit + 1, "b") == 0)
		return -EPROTO;
	return -EINVAL;
}

int eph_size_parse(const char *s, uint64_t *ret_bytes)
{
	_cleanup_free_ char *digits = NULL;
	size_t n = strspn(s, "0123456789");
	uint64_t v;
	int power, r;

	if (n == 0)
		return -EINVAL;
	power = size_unit(s + n);
	if (power < 0)
		return power;
	digits = strndup(s, n);
	if (!digits)
		return -ENOMEM;
	r = eph_u64_parse(digits, &v);
	if (r < 0)
		return r;
	if (v > (uint64_t)INT64_MAX >> (10 * power))
		return -ERANGE;
	*ret_bytes = v << (10 * power);
	return 0;
}

char *eph_size_format(uint64_t bytes, char buf[EPH_SIZE_TEXT])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t u = 0;
	uint64_t whole = bytes, rest = 0;

	while (whole >= 1024 && u + 1 < sizeof(units) / sizeof(units[0])) {
		rest = whole & 1023;
		whole >>= 10;
		u++;
	}
	if (u == 0 || rest == 0)
		snprintf(buf, EPH_SIZE_TEXT, "%llu %s", (unsigned long long)whole, units[u]);
	else
		snprintf(buf, EPH_SIZE_TEXT, "%llu.%02llu %s", (unsigned long long)whole,
			 (unsigned long long)(rest * 100 / 1024), units[u]);
	return buf;
}

int eph_uuid_normalise(const char *s, char ret_uuid[EPH_UUID_TEXT])
{
	char out[EPH_UUID_TEXT];

	for (size_t i = 0; i < EPH_UUID_TEXT - 1; i++) {
		bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;

		if (hyphen ? s[i] != '-' : !isxdigit((unsigned char)s[i]))
			return -EINVAL;
		out[i] = (char)tolower((unsigned char)s[i]);
	}
	if (s[EPH_UUID_TEXT - 1] != '\0')
		return -EINVAL;
	out[EPH_UUID_TEXT - 1] = '\0';
	memcpy(ret_uuid, out, sizeof(out));
	return 0;
}

char *eph_time_format(int64_t seconds, char buf[EPH_TIME_TEXT])
{
	time_t t = (time_t)seconds;
	struct tm tm;

	if (!gmtime_r(&t, &tm) || !strftime(buf, EPH_TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", &tm))
		snprintf(buf, EPH_TIME_TEXT, "@%lld", (long long)seconds);
	return buf;
}
