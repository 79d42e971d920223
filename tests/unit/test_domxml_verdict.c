// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test_domxml_verdict.c - which domain documents get a disk and which are refused, what is taken,
 * what is warned of. The large corpus is tests/corpus; here each rule has its smallest document.
 */
#include "domxml_case.h"
#include "pure/domxml_doc.h"

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
		{ DOC(VDA DISK("type='file'", "dev='" SOURCE "'", "dev='vdb'")), "source" },
		{ DOC(VDA OURS DISK("type='file'", "file='/x'", "dev='vdb'")), "target" },
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
		DOC(VDA "    <disk xmlns:x='urn:x'><target x:dev='vdb'/></disk>\n"),
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
		{ DOC("\xe0\x80\xaf"), "not UTF-8" },
		{ DOC("\xf0\x80\x80\xaf"), "not UTF-8" },
		{ DOC("\xe2\x82x"), "not UTF-8" },
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
		"<domain type='kvm'><os><type>h<x/>vm</type></os><devices></devices></domain>",
		"<domain xmlns:x='urn:x' x:type='xen' type='kvm'><os><type>hvm</type></os><devices></devices>"
		"</domain>",
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
		/* Until libvirt has written it down, the root is of a bus of its own, after virtio. */
		DOC(DISK("device='cdrom'", "file='/x'", "dev='vdz' bus='virtio'")
			    DISK("", "file='/x'", "dev='vda'")),
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
		{ DOC(VDA DISK("", "file='/x'", "dev='vdc' bus='virtio'")), NULL },
		{ DOC(VDA DISK("", "file='/x'", "dev='vdb1' bus='virtio'")),
		  "\"vdb\" as /dev/vdc" },
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
	assert_true(eph_domxml_target_index("vdzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz") >= INT32_MAX);
	for (long i = 0; i <= EPH_DOMXML_MAX_INDEX; i++)
		assert_int_equal(eph_domxml_target_index(eph_domxml_target_name(i, buf)), i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_is_there_already_stays),
		CASE(a_taken_target_or_source_is_refused),
		CASE(other_names_do_not_take_ours),
		CASE(documents_that_get_no_disk),
		CASE(nul_bytes_are_refused),
		CASE(odd_but_good_documents_are_taken),
		CASE(auto_takes_the_next_free_name),
		CASE(auto_beyond_all_letters),
		CASE(what_is_booted_today_stays_first),
		CASE(a_boot_order_that_is_none_does_not_count),
		CASE(another_name_in_the_guest_is_warned_of),
		CASE(an_iothread_is_written_where_declared),
		CASE(errors_say_what_to_do),
		CASE(one_device_under_two_paths),
		CASE(planning_checks_as_adding_does),
		CASE(target_names_and_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
