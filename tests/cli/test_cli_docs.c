// SPDX-License-Identifier: LGPL-2.1-or-later
/* test_cli_docs.c - man pages and completion lists say what the command table says, and no more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../cli/output.h"
#include "cli_run.h"
#include "fake_ephlvm.h"

/* The page "ephlvm-pool(8)" as a file. */
static char *read_page(const char *page)
{
	size_t name = strcspn(page, "(");
	char path[512];

	snprintf(path, sizeof(path), "%s/docs/man/%.*s.%c", SOURCE_DIR, (int)name, page,
		 page[name + 1]);
	return cli_read_file(path);
}

/* Does @text have @word, not as a part of a longer one? */
static bool has_word(const char *text, const char *word)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";
	size_t n = strlen(word);

	for (const char *s = strstr(text, word); s; s = strstr(s + 1, word))
		if ((s == text || !strchr(letters, s[-1])) && (!s[n] || !strchr(letters, s[n])))
			return true;
	return false;
}

static void has_options(const char *page, const char *text, const struct cli_option *options)
{
	for (; options && options->id != OPT_NONE; options++) {
		char flag[64];

		snprintf(flag, sizeof(flag), "Fl -%s", options->name);
		if (!(options->flags & CLI_HIDDEN) && !has_word(text, flag))
			fail_msg("%s does not mention --%s", page, options->name);
	}
}

static void every_option_is_in_its_page(void **state)
{
	(void)state;
	for (size_t i = 0; cli_commands[i]; i++) {
		char *text = read_page(cli_commands[i]->man);

		if (!text)
			fail_msg("%s is missing", cli_commands[i]->man);
		has_options(cli_commands[i]->man, text, cli_commands[i]->options);
		has_options(cli_commands[i]->man, text, cli_common_options);
		free(text);
	}
}

static bool option_of_page(const char *page, const char *name, size_t length)
{
	for (size_t i = 0; cli_commands[i]; i++) {
		const struct cli_option *const tables[] = { cli_commands[i]->options,
							    cli_common_options };

		/* The general page may speak of every option. */
		if (strcmp(page, "ephlvm(8)") != 0 && strcmp(cli_commands[i]->man, page) != 0)
			continue;
		for (size_t t = 0; t < 2; t++)
			for (const struct cli_option *o = tables[t]; o && o->id; o++)
				if (strlen(o->name) == length &&
				    strncmp(o->name, name, length) == 0)
					return true;
	}
	return length == strlen("version") && strncmp(name, "version", length) == 0;
}

static void no_page_mentions_an_option_that_is_not(void **state)
{
	(void)state;
	for (size_t i = 0; cli_commands[i]; i++) {
		const char *page = cli_commands[i]->man;
		char *text = read_page(page);

		assert_non_null(text);
		for (const char *s = strstr(text, "Fl -"); s; s = strstr(s + 1, "Fl -")) {
			size_t n = strspn(s + 4, "abcdefghijklmnopqrstuvwxyz-");

			if (!option_of_page(page, s + 4, n))
				fail_msg("%s mentions --%.*s", page, (int)n, s + 4);
		}
		free(text);
	}
}

static void every_command_is_in_the_general_page(void **state)
{
	char *text = read_page("ephlvm(8)");

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; cli_commands[i]; i++) {
		char name[64];

		if (!has_word(text, cli_commands[i]->name))
			fail_msg("ephlvm(8) does not mention %s", cli_commands[i]->name);
		snprintf(name, sizeof(name), "Xr %s", cli_commands[i]->man);
		name[strcspn(name, "(")] = '\0';
		if (strcmp(cli_commands[i]->man, "ephlvm(8)") != 0 && !has_word(text, name))
			fail_msg("ephlvm(8) does not refer to %s", cli_commands[i]->man);
	}
	free(text);
}

static void pages_have_the_sections_readers_look_for(void **state)
{
	static const char *const sections[] = { ".Sh NAME",	   ".Sh SYNOPSIS",
						".Sh DESCRIPTION", ".Sh EXIT STATUS",
						".Sh EXAMPLES",	   ".Sh SEE ALSO" };

	(void)state;
	for (size_t i = 0; cli_commands[i]; i++) {
		char *text = read_page(cli_commands[i]->man);

		assert_non_null(text);
		for (size_t s = 0; s < sizeof(sections) / sizeof(sections[0]); s++)
			if (!strstr(text, sections[s]))
				fail_msg("%s has no %s", cli_commands[i]->man, sections[s]);
		free(text);
	}
}

static void every_column_is_described(void **state)
{
	static const struct {
		const char *page;
		const struct out_column *columns;
	} tables[] = {
		{ "ephlvm-list(8)", out_volume_columns },
		{ "ephlvm-pool(8)", out_pool_columns },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		char *text = read_page(tables[i].page);

		assert_non_null(text);
		for (const struct out_column *c = tables[i].columns; c->key; c++)
			if (!has_word(text, c->key))
				fail_msg("%s does not describe %s", tables[i].page, c->key);
		free(text);
	}
}

static void completion_lists_equal_the_table(void **state)
{
	_cleanup_run_ struct cli_run run = { .main_fn = cli_main };
	size_t lines = 0, expected = 0;
	char line[160];

	(void)state;
	fake_reset();
	cli_run(&run, "ephlvm help --complete");
	assert_int_equal(run.code, 0);
	for (size_t i = 0; cli_commands[i]; i++) {
		const struct cli_option *const tables[] = { cli_commands[i]->options,
							    cli_common_options };

		expected++;
		snprintf(line, sizeof(line), "%s\t=\t", cli_commands[i]->name);
		assert_non_null(strstr(run.out, line));
		for (size_t t = 0; t < 2; t++) {
			for (const struct cli_option *o = tables[t]; o && o->id; o++) {
				if (o->flags & CLI_HIDDEN)
					continue;
				expected++;
				snprintf(line, sizeof(line), "%s\t--%s\t", cli_commands[i]->name,
					 o->name);
				if (!strstr(run.out, line))
					fail_msg("no completion of %s", line);
			}
		}
	}
	for (const char *s = run.out; *s; s++)
		lines += *s == '\n';
	assert_int_equal(lines, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_option_is_in_its_page),
		cmocka_unit_test(no_page_mentions_an_option_that_is_not),
		cmocka_unit_test(every_command_is_in_the_general_page),
		cmocka_unit_test(pages_have_the_sections_readers_look_for),
		cmocka_unit_test(every_column_is_described),
		cmocka_unit_test(completion_lists_equal_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
