// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_text.c - sizes, UUIDs, escaping, string vectors. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "util/text.h"

static void size_units_are_powers_of_1024(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "1", 1 },
		{ "512", 512 },
		{ "1K", 1024 },
		{ "1k", 1024 },
		{ "25G", 25ULL << 30 },
		{ "25GiB", 25ULL << 30 },
		{ "2T", 2ULL << 40 },
		{ "9223372036854775807", INT64_MAX },
		{ "8388607T", 8388607ULL << 40 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint64_t bytes = 42;

		assert_int_equal(eph_size_parse(good[i].text, &bytes), 0);
		assert_true(bytes == good[i].bytes);
	}
}

static void size_refuses_what_it_cannot_mean(void **state)
{
	static const struct {
		const char *text;
		int r;
	} bad[] = {
		{ "", -EINVAL },
		{ "-1", -EINVAL },
		{ "+1", -EINVAL },
		{ " 1", -EINVAL },
		{ "1 ", -EINVAL },
		{ "1.5G", -EINVAL },
		{ "0x10", -EINVAL },
		{ "G", -EINVAL },
		{ "1GG", -EINVAL },
		{ "1Gi", -EINVAL },
		{ "1GB", -EPROTO },
		{ "1MB", -EPROTO },
		{ "1KB", -EPROTO },
		{ "9223372036854775808", -ERANGE },
		{ "18446744073709551616", -ERANGE },
		{ "8388608T", -ERANGE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t bytes = 42;

		assert_int_equal(eph_size_parse(bad[i].text, &bytes), bad[i].r);
		assert_true(bytes == 42);
	}
}

static void size_text_is_short(void **state)
{
	char buf[EPH_SIZE_TEXT];

	(void)state;
	assert_string_equal(eph_size_format(0, buf), "0 B");
	assert_string_equal(eph_size_format(25ULL << 30, buf), "25 GiB");
	assert_string_equal(eph_size_format(1536ULL << 20, buf), "1.50 GiB");
	assert_string_equal(eph_size_format(UINT64_MAX, buf), "15.99 EiB");
}

static void uuid_is_normalised_or_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"11111111-2222-3333-4444-55555555555",
		"11111111-2222-3333-4444-5555555555555",
		"11111111-2222-3333-4444-55555555555g",
		"111111112222-3333-4444-555555555555-",
		"../../../../../../../../../etc/passwd",
		"11111111-2222-3333-4444-5555555555\n5",
		"{1111111-2222-3333-4444-55555555555}",
	};
	char uuid[EPH_UUID_TEXT] = "untouched";

	(void)state;
	assert_int_equal(eph_uuid_normalise("ABCDEF01-2345-6789-abcd-EF0123456789", uuid), 0);
	assert_string_equal(uuid, "abcdef01-2345-6789-abcd-ef0123456789");
	strcpy(uuid, "untouched");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(eph_uuid_normalise(bad[i], uuid), -EINVAL);
		assert_string_equal(uuid, "untouched");
	}
}

static void escape_lets_no_control_through(void **state)
{
	static const struct {
		const char *in, *out, *lines;
	} t[] = {
		{ "plain", "plain", "plain" },
		{ "a\033[31mb\n", "a\\x1b[31mb\\x0a", "a\\x1b[31mb\n" },
		{ "\xc3\xa4", "\xc3\xa4", "\xc3\xa4" },
		{ "\xc2\x9b", "\\xc2\\x9b", "\\xc2\\x9b" }, /* C1 CSI */
		{ "\xc0\xaf", "\\xc0\\xaf", "\\xc0\\xaf" }, /* overlong */
		{ "\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80" }, /* surrogate */
		{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
		{ "\xe2\x82", "\\xe2\\x82", "\\xe2\\x82" }, /* cut short */
		{ "\x7f", "\\x7f", "\\x7f" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char *one = eph_escape(t[i].in, false), *many = eph_escape(t[i].in, true);

		assert_string_equal(one, t[i].out);
		assert_string_equal(many, t[i].lines);
		free(one);
		free(many);
	}
}

static void strv_owns_its_strings(void **state)
{
	_cleanup_strv_ struct eph_strv sv = EPH_STRV_INIT;

	(void)state;
	assert_int_equal(eph_strv_add(&sv, "a"), 0);
	assert_int_equal(eph_strv_addf(&sv, "%s-%d", "b", 2), 0);
	assert_int_equal(sv.n, 2);
	assert_null(sv.v[2]);
	assert_true(eph_strv_has(&sv, "b-2"));
	assert_false(eph_strv_has(&sv, "b"));
}

static void time_is_rfc3339_utc(void **state)
{
	char buf[EPH_TIME_TEXT];

	(void)state;
	assert_string_equal(eph_time_format(0, buf), "1970-01-01T00:00:00Z");
	assert_string_equal(eph_time_format(1767225600, buf), "2026-01-01T00:00:00Z");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(size_units_are_powers_of_1024),
		cmocka_unit_test(size_refuses_what_it_cannot_mean),
		cmocka_unit_test(size_text_is_short),
		cmocka_unit_test(uuid_is_normalised_or_refused),
		cmocka_unit_test(escape_lets_no_control_through),
		cmocka_unit_test(strv_owns_its_strings),
		cmocka_unit_test(time_is_rfc3339_utc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
