// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test_domxml_limits.c - domain documents of hostile size and depth, no memory, no words on stderr.
 */
#include <unistd.h>

#include "domxml_case.h"
#include "failing_alloc.h"
#include "pure/domxml_doc.h"

#include <libxml/xmlerror.h>
#include <libxml/xmlmemory.h>

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
						  EPHLVM_XML_MAX_BYTES / 4);
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

/* @head, @n attributes of different names, @tail. */
static char *with_attributes(const char *head, const char *prefix, size_t n, const char *tail)
{
	char *out = malloc(strlen(head) + strlen(tail) + n * (strlen(prefix) + 16) + 1), *o;

	assert_non_null(out);
	o = stpcpy(out, head);
	for (size_t i = 0; i < n; i++)
		o += sprintf(o, " %s%zu='u'", prefix, i);
	strcpy(o, tail);
	return out;
}

static void attributes_have_a_limit(void **state)
{
	static const char tail[] = "/><devices></devices></domain>";
	_cleanup_free_ char *most = with_attributes(HEAD "<a", "b", EPH_DOMXML_MAX_ATTRS, tail);
	_cleanup_free_ char *more = with_attributes(HEAD "<a", "b", EPH_DOMXML_MAX_ATTRS + 1, tail);
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	free(added(most, &opts));
	assert_refused(more, EINVAL, "more than 256 attributes");
}

/* They are compared with each other wherever they stand. */
static void namespaces_have_a_limit(void **state)
{
	static const char end[] = "<devices></devices></domain>";
	_cleanup_free_ char *unit = with_attributes("<a", "xmlns:b", 128, "/>");
	_cleanup_free_ char *most = filled(HEAD, unit, end, 8 * strlen(unit));
	_cleanup_free_ char *more = filled(HEAD "<a xmlns:b='u'/>", unit, end, 8 * strlen(unit));
	struct ephlvm_xml_opts opts = plain_opts();

	(void)state;
	free(added(most, &opts));
	assert_refused(more, EINVAL, "more than 1024 namespaces");
}

/*
 * Comparing that many attributes takes minutes. What looks like a comment or an instruction may be
 * something else to the parser once the document is not well-formed: nothing may cost time then.
 */
static void attributes_that_would_take_minutes(void **state)
{
	static const char *const heads[] = { HEAD "<a",		  HEAD "<?1 <a",
					     HEAD "<a<!-- <b",	  HEAD "&x <?b <a",
					     HEAD "<a b=<!-- <a", HEAD "<1 <![CDATA[ <a" };
	_cleanup_free_ char *many = with_attributes("", "b", 600000, "/></domain>");

	(void)state;
	for (size_t i = 0; i < COUNT(heads); i++) {
		_cleanup_free_ char *xml = filled(heads[i], many, "", strlen(many));

		assert_refused(xml, EINVAL, "");
	}
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

__attribute__((format(printf, 2, 3))) static void be_silent(void *data, const char *fmt, ...)
{
	(void)data;
	(void)fmt;
}

static void each_allocation_fails_in_turn(void **state)
{
	_cleanup_free_ char *want = NULL;
	unsigned int n = 0;
	bool reached = true;

	(void)state;
	assert_int_equal(add_remove_read(&want), 0);
	/* Without memory for its context the parser has nothing to report to but this. */
	xmlSetGenericErrorFunc(NULL, be_silent);
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
	xmlSetGenericErrorFunc(NULL, NULL);
	assert_true(n > 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(nothing_is_printed),
		CASE(large_documents_take_no_time),
		CASE(a_document_that_is_too_long),
		CASE(nesting_has_a_limit),
		CASE(attributes_have_a_limit),
		CASE(namespaces_have_a_limit),
		CASE(attributes_that_would_take_minutes),
		CASE(each_allocation_fails_in_turn),
	};

	/* Before the parser allocates anything: its memory then fails along with ours. */
	xmlMemSetup(free, malloc, realloc, strdup);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
