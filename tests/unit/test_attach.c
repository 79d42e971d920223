// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * An instance's ephemeral disks in its domain document, with a fake LVM: which volumes count, in
 * which order they come, and what their flavor adds. Attaching through libvirt needs a kernel and a
 * daemon: the lab has both.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/context.h"
#include "fakes/fake_lvm.h"
#include "pure/config.h"

#include <ephlvm/domain.h>
#include <ephlvm/volume.h>

#define INSTANCE "11111111-2222-3333-4444-555555555555"
#define OTHER "99999999-2222-3333-4444-555555555555"
#define VG1 "aaaaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaaaa"
#define VG2 "bbbbbb-bbbb-bbbb-bbbb-bbbb-bbbb-bbbbbb"

#define HEAD                                                                                    \
	"<domain type='kvm'>\n  <name>guest</name>\n  <os><type>hvm</type></os>\n  <devices>\n" \
	"    <disk type='block' device='disk'>\n      <source dev='/dev/ceph/root'/>\n"         \
	"      <target dev='vda' bus='virtio'/>\n    </disk>\n"
#define TAIL "    <memballoon model='none'/>\n  </devices>\n</domain>\n"

struct bench {
	struct ephlvm_ctx *ctx;
	struct eph_config *config; /* the context's */
	struct fake_lvm *lvm;
	/* what LVM has: JSON rows of both VGs */
	char lvs[2][8192], segs[2][4096], report[32768];
	unsigned int n;
};

static void answer(void *data, const char *call, struct fake_lvm_call *ret_answer)
{
	struct bench *b = data;

	(void)call;
	ret_answer->out = b->report;
}

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	assert_int_equal(ephlvm_ctx_new(&b->ctx), 0);
	assert_int_equal(eph_config_default(b->ctx, &b->config), 0);
	b->ctx->config = b->config;
	b->ctx->config_free = eph_config_free;
	b->lvm = fake_lvm_install(b->ctx);
	fake_lvm_answer_with(b->lvm, answer, b);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	ephlvm_ctx_unref(b->ctx);
	free(b);
	return 0;
}

static void more(char *to, size_t size, const char *row)
{
	size_t n = strlen(to);

	assert_true((size_t)snprintf(to + n, size - n, "%s%s", n ? "," : "", row) < size - n);
}

static void one_vg(char *to, size_t size, const char *uuid, const char *name, const char *lvs,
		   const char *segs)
{
	char device = name[strlen(name) - 1];

	assert_true(
		(size_t)snprintf(
			to, size,
			"{\"vg\":[{\"vg_uuid\":\"%s\",\"vg_name\":\"%s\",\"vg_attr\":\"wz--n-\","
			"\"vg_tags\":\"ephlvm.pool=%s\",\"vg_size\":\"394264576\","
			"\"vg_free\":\"310378496\",\"vg_extent_size\":\"4194304\","
			"\"vg_extent_count\":\"94\",\"vg_free_count\":\"74\",\"vg_seqno\":\"12\","
			"\"vg_mda_size\":\"68153344\",\"vg_mda_free\":\"34074112\","
			"\"vg_missing_pv_count\":\"0\",\"vg_systemid\":\"\"}],"
			"\"pv\":[{\"pv_uuid\":\"cccccc-cccc-cccc-cccc-cccc-cccc-ccccc%c\","
			"\"pv_name\":\"/dev/nvme%cn1\",\"pv_attr\":\"a--\","
			"\"pv_size\":\"197132288\",\"pv_free\":\"113246208\","
			"\"pv_pe_count\":\"47\",\"pv_pe_alloc_count\":\"20\","
			"\"pe_start\":\"68157440\",\"pv_mda_size\":\"68153344\","
			"\"pv_mda_free\":\"34074112\"}],\"lv\":[%s],\"pvseg\":[],\"seg\":[%s]}",
			uuid, name, name, device, device, lvs, segs) < size);
}

/* Let LVM have one more volume, in VG "vg1" or "vg2". */
static void have(struct bench *b, unsigned int vg, const char *instance, const char *disk,
		 const char *flavor, const char *state)
{
	char row[1024], one[16384], two[16384];

	snprintf(row, sizeof(row),
		 "{\"lv_uuid\":\"eeeeee-eeee-eeee-eeee-eeee-eeee-eeee%02u\","
		 "\"lv_name\":\"%s_disk%s%s\",\"lv_attr\":\"-wi-a-----\",\"lv_size\":\"83886080\","
		 "\"lv_layout\":\"linear\",\"lv_role\":\"public\",\"lv_tags\":\"ephlvm,ephlvm.v=1,"
		 "ephlvm.instance=%s,ephlvm.disk=%s,ephlvm.flavor=%s,ephlvm.state=%s,"
		 "ephlvm.size=83886080,ephlvm.fs=ext4,ephlvm.at=1700000000\"}",
		 b->n, instance, strcmp(disk, "root") == 0 ? "" : ".",
		 strcmp(disk, "root") == 0 ? "" : disk, instance, disk, flavor, state);
	more(b->lvs[vg - 1], sizeof(b->lvs[0]), row);
	snprintf(row, sizeof(row),
		 "{\"lv_uuid\":\"eeeeee-eeee-eeee-eeee-eeee-eeee-eeee%02u\","
		 "\"segtype\":\"linear\",\"seg_start_pe\":\"0\","
		 "\"seg_pe_ranges\":\"/dev/nvme%un1:%u-%u\"}",
		 b->n, vg, b->n * 20, b->n * 20 + 19);
	more(b->segs[vg - 1], sizeof(b->segs[0]), row);
	b->n++;
	one_vg(one, sizeof(one), VG1, "vg1", b->lvs[0], b->segs[0]);
	one_vg(two, sizeof(two), VG2, "vg2", b->lvs[1], b->segs[1]);
	assert_true((size_t)snprintf(b->report, sizeof(b->report), "{\"report\":[%s,%s]}", one,
				     two) < sizeof(b->report));
}

/* Both are free()d by the caller. */
static char *add(struct bench *b, const char *xml)
{
	char *out = NULL;
	size_t n = 0;

	assert_int_equal(ephlvm_instance_xml_add(b->ctx, INSTANCE, xml, strlen(xml), &out, &n), 0);
	assert_int_equal(strlen(out), n);
	return out;
}

static char *take_out(struct bench *b, const char *xml)
{
	char *out = NULL;
	size_t n = 0;

	assert_int_equal(ephlvm_instance_xml_remove(b->ctx, INSTANCE, xml, strlen(xml), &out, &n),
			 0);
	return out;
}

/* Where @what stands in @xml; the test fails where it does not. */
static size_t place(const char *xml, const char *what)
{
	const char *at = strstr(xml, what);

	if (!at)
		fail_msg("\"%s\" is not in\n%s", what, xml);
	return (size_t)(at - xml);
}

static void disks_come_in_their_order(void **state)
{
	struct bench *b = *state;
	char *out;

	have(b, 1, INSTANCE, "eph10", "cc.small", "ready");
	have(b, 1, INSTANCE, "eph2", "cc.small", "ready");
	have(b, 1, INSTANCE, "eph0", "cc.small", "ready");
	out = add(b, HEAD TAIL);
	assert_true(place(out, "<source dev='/dev/vg1/" INSTANCE "_disk.eph0'/>") <
		    place(out, "<source dev='/dev/vg1/" INSTANCE "_disk.eph2'/>"));
	assert_true(place(out, "_disk.eph2'/>") < place(out, "_disk.eph10'/>"));
	assert_true(place(out, "_disk.eph0'/>") < place(out, "<target dev='vdb'"));
	assert_true(place(out, "_disk.eph2'/>") < place(out, "<target dev='vdc'"));
	assert_true(place(out, "_disk.eph10'/>") < place(out, "<target dev='vdd'"));
	place(out, "<serial>ephemeral0</serial>");
	place(out, "<serial>ephemeral2</serial>");
	place(out, "<serial>ephemeral10</serial>");
	free(out);
}

static void only_ready_ephemeral_ones_of_this_instance(void **state)
{
	struct bench *b = *state;
	char *out;

	have(b, 1, INSTANCE, "root", "cc.small", "ready");
	have(b, 1, INSTANCE, "swap", "cc.small", "ready");
	have(b, 1, INSTANCE, "eph0", "cc.small", "ready");
	have(b, 1, INSTANCE, "eph1", "cc.small", "new");
	have(b, 1, OTHER, "eph2", "cc.small", "ready");
	out = add(b, HEAD TAIL);
	place(out, "_disk.eph0'/>");
	assert_null(strstr(out, "eph1"));
	assert_null(strstr(out, "eph2"));
	assert_null(strstr(out, "swap"));
	assert_null(strstr(out, "_disk'"));
	free(out);
}

static void twice_is_once_and_remove_is_the_way_back(void **state)
{
	struct bench *b = *state;
	char *once, *twice, *back;

	have(b, 1, INSTANCE, "eph0", "cc.small", "ready");
	have(b, 2, INSTANCE, "eph1", "cc.small", "ready");
	once = add(b, HEAD TAIL);
	assert_string_not_equal(once, HEAD TAIL);
	twice = add(b, once);
	assert_string_equal(once, twice);
	back = take_out(b, once);
	assert_string_equal(back, HEAD TAIL);
	free(once);
	free(twice);
	free(back);
}

static void limits_and_cache_are_the_flavors(void **state)
{
	struct bench *b = *state;
	char *out;

	for (size_t i = 0; i < b->config->n_flavors; i++) {
		struct ephlvm_flavor *f = &b->config->flavors[i];

		if (strcmp(f->name, "cc.small") != 0)
			continue;
		f->iotune.total_iops_sec = 4321;
		f->iotune.read_bytes_sec = 1234567;
		f->cache = strdup("directsync");
	}
	have(b, 1, INSTANCE, "eph0", "cc.small", "ready");
	have(b, 1, INSTANCE, "eph1", "cc.gone", "ready");
	out = add(b, HEAD TAIL);
	place(out, "<total_iops_sec>4321</total_iops_sec>");
	place(out, "<read_bytes_sec>1234567</read_bytes_sec>");
	place(out, "cache='directsync'");
	/* A flavor that the configuration has lost: the disk all the same, without limits. */
	assert_true(place(out, "cache='none'") > place(out, "_disk.eph0'/>"));
	assert_null(strstr(strstr(out, "_disk.eph1'/>"), "<iotune>"));
	free(out);
}

static void nothing_ready_is_not_found(void **state)
{
	struct bench *b = *state;
	char *out = NULL;
	size_t n = 0;

	have(b, 1, INSTANCE, "eph0", "cc.small", "new");
	have(b, 1, INSTANCE, "swap", "cc.small", "ready");
	assert_int_equal(ephlvm_instance_xml_add(b->ctx, INSTANCE, HEAD TAIL, strlen(HEAD TAIL),
						 &out, &n),
			 -ENOENT);
	assert_int_equal(ephlvm_error_kind(b->ctx), EPHLVM_ERROR_NOT_FOUND);
	assert_int_equal(ephlvm_instance_xml_remove(b->ctx, OTHER, HEAD TAIL, strlen(HEAD TAIL),
						    &out, &n),
			 -ENOENT);
	assert_null(out);
}

static void two_of_one_disk_are_refused(void **state)
{
	struct bench *b = *state;
	char *out = NULL;
	size_t n = 0;

	have(b, 1, INSTANCE, "eph0", "cc.small", "ready");
	have(b, 2, INSTANCE, "eph0", "cc.small", "ready");
	assert_int_equal(ephlvm_instance_xml_add(b->ctx, INSTANCE, HEAD TAIL, strlen(HEAD TAIL),
						 &out, &n),
			 -EUCLEAN);
	assert_non_null(strstr(ephlvm_error_message(b->ctx), "vg1/"));
	assert_non_null(strstr(ephlvm_error_message(b->ctx), "vg2/"));
	assert_null(out);
}

static void taken_target_leaves_nothing(void **state)
{
	static const char doc[] = HEAD
		"    <disk type='block' device='disk'>\n      <source dev='/dev/vg/x'/>\n"
		"      <target dev='vdb' bus='virtio'/>\n    </disk>\n" TAIL;
	struct bench *b = *state;
	char *out = NULL;
	size_t n = 0;

	have(b, 1, INSTANCE, "eph0", "cc.small", "ready");
	assert_int_equal(ephlvm_instance_xml_add(b->ctx, INSTANCE, doc, strlen(doc), &out, &n),
			 -EEXIST);
	assert_int_equal(ephlvm_error_kind(b->ctx), EPHLVM_ERROR_BUSY);
	assert_null(out);
}

static void bad_arguments_never_reach_lvm(void **state)
{
	static const char *const bad[] = { "", "x", INSTANCE "0", "../etc", NULL };
	struct ephlvm_attach_opts opts = EPHLVM_ATTACH_OPTS_INIT;
	struct bench *b = *state;
	char *out = NULL;
	size_t n = 0;

	for (size_t i = 0; bad[i]; i++) {
		assert_int_equal(ephlvm_instance_xml_add(b->ctx, bad[i], HEAD TAIL, 1, &out, &n),
				 -EINVAL);
		assert_int_equal(ephlvm_attach(b->ctx, bad[i], NULL), -EINVAL);
		assert_int_equal(ephlvm_detach(b->ctx, bad[i], NULL), -EINVAL);
	}
	opts.flags = EPHLVM_WAIT;
	assert_int_equal(ephlvm_attach(b->ctx, INSTANCE, &opts), -EINVAL);
	assert_int_equal(ephlvm_error_kind(b->ctx), EPHLVM_ERROR_INVALID);
	assert_int_equal(fake_lvm_calls(b->lvm), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(disks_come_in_their_order),
		T(only_ready_ephemeral_ones_of_this_instance),
		T(twice_is_once_and_remove_is_the_way_back),
		T(limits_and_cache_are_the_flavors),
		T(nothing_ready_is_not_found),
		T(two_of_one_disk_are_refused),
		T(taken_target_leaves_nothing),
		T(bad_arguments_never_reach_lvm),
	};

	return cmocka_run_group_tests_name("attach", tests, NULL, NULL);
}
