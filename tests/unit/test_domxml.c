// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * test_domxml.c - the disk put into a domain document and taken out of it: what is written, where,
 * and what of the document changes (nothing else).
 */
#include "domxml_case.h"

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
	assert_adds(DOC(NET "<a/>\n"), DOC(OURS NET "<a/>\n"), &opts);
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

static void a_taken_alias_is_left_out(void **state)
{
	struct ephlvm_xml_opts opts = plain_opts();
	_cleanup_free_ char *out =
		added(DOC(VDA "<input><alias name='ua-ephemeral0'/></input>"), &opts);

	(void)state;
	assert_null(strstr(out, "</serial>\n      <alias"));
	assert_non_null(strstr(out, "</serial>\n    </disk>"));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_disk_goes_behind_the_last_one),
		CASE(without_a_disk_it_goes_behind_the_emulator),
		CASE(without_both_it_is_the_first_child),
		CASE(lines_look_like_those_of_the_neighbour),
		CASE(a_line_stays_a_line),
		CASE(every_option_is_written),
		CASE(an_escaped_source_is_found_again),
		CASE(a_taken_alias_is_left_out),
		CASE(options_that_are_refused),
		CASE(options_of_another_version),
		CASE(arguments_that_are_null),
		CASE(removal_after_libvirt_wrote_it_anew),
		CASE(removal_takes_no_other_white_space),
		CASE(removal_of_what_is_not_there),
		CASE(removal_refuses_what_is_not_plainly_ours),
		CASE(reading_the_disks),
		CASE(the_element_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
