// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * LVM's verbs against the script: the exact argv of each, what is refused before anything is run, what LVM's
 * words are taken for, what is tried again and what is not.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/context.h"
#include "edge/lvm.h"
#include "failing_alloc.h"
#include "fakes/fake_lvm.h"
#include "pure/config.h"
#include "util/cleanup.h"

#define VG_UUID "aaaaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaaaa"
#define VG2_UUID "bbbbbb-bbbb-bbbb-bbbb-bbbb-bbbb-bbbbbb"
#define PV1_UUID "cccccc-cccc-cccc-cccc-cccc-cccc-cccccc"
#define PV2_UUID "dddddd-dddd-dddd-dddd-dddd-dddd-dddddd"
#define LV1_UUID "eeeeee-eeee-eeee-eeee-eeee-eeee-eeeeee"
#define LV2_UUID "ffffff-ffff-ffff-ffff-ffff-ffff-ffffff"
#define LV_NAME "11111111-2222-3333-4444-555555555555_disk.eph0"

#define CONFIG_ALL                                                                 \
	"backup{archive=0 backup=1} global{wait_for_locks=0} devices{scan_lvs=0} " \
	"log{verbose=0 indent=0 command_names=0 prefix=\"\" report_command_log=0} "
#define CONFIG_READ                                                                    \
	CONFIG_ALL "devices{hints=\"none\"} report{mark_hidden_devices=0 "             \
		   "list_item_separator=\",\" binary_values_as_numeric=0 "             \
		   "two_word_unknown_device=0 compact_output=0 buffered=1 headings=1 " \
		   "prefixes=0 quoted=1 columns_as_rows=0}"
#define CONFIG_WRITE CONFIG_ALL "activation{retry_deactivation=0}"
#define CONFIG_NARROW                                                            \
	CONFIG_WRITE " devices{use_devicesfile=0 filter=[\"a|^/dev/nvme0n1$|\"," \
		     "\"a|^/dev/disk/by-path/pci-0000:00:1f[.]2-nvme[+]1$|\",\"r|.*|\"]}"

#define FULLREPORT(locking)                                                                        \
	"fullreport " locking "--reportformat json --units b --nosuffix --all --foreign --shared " \
	"--configreport vg -o vg_uuid,vg_name,vg_attr,vg_tags,vg_systemid,vg_size,vg_free,"        \
	"vg_extent_size,vg_extent_count,vg_free_count,vg_seqno,vg_missing_pv_count,vg_mda_size,"   \
	"vg_mda_free --configreport pv -o pv_uuid,pv_name,pv_attr,pv_size,pv_free,pv_pe_count,"    \
	"pv_pe_alloc_count,pe_start,pv_mda_size,pv_mda_free --configreport lv -o lv_uuid,"         \
	"lv_name,lv_attr,lv_size,lv_layout,lv_role,lv_tags,lv_parent,pool_lv,lv_converting,"       \
	"lv_merging,origin --configreport seg -o lv_uuid,segtype,seg_start_pe,seg_pe_ranges "      \
	"--configreport pvseg -o pvseg_start"
#define VGS "vgs --reportformat json --units b --nosuffix --shared -o vg_uuid"

#define SELECT_IN(complete, uuids) \
	"-S 'vg_uuid=\"" VG_UUID "\"" complete " && lv_tags=\"ephlvm\" && (" uuids ")' fast"
#define COMPLETE " && vg_missing_pv_count=0"
#define SELECT(uuids) SELECT_IN(COMPLETE, uuids)
/* Removed are only those without snapshots. */
#define SELECT_ALONE(complete)                               \
	"-S 'vg_uuid=\"" VG_UUID "\"" complete               \
	" && lv_tags=\"ephlvm\" && lv_role!=\"origin\" && (" \
	"lv_uuid=\"" LV1_UUID "\" || lv_uuid=\"" LV2_UUID "\")' fast"
#define SELECT_ONE SELECT("lv_uuid=\"" LV1_UUID "\"")
#define SELECT_TWO SELECT("lv_uuid=\"" LV1_UUID "\" || lv_uuid=\"" LV2_UUID "\"")
#define CREATE                                                                         \
	"lvcreate --yes -Wn -Zn -ay --addtag ephlvm --addtag ephlvm.disk=eph0 --type " \
	"linear -l 6400 -n " LV_NAME " fast"
#define RENAME "lvrename --yes fast " LV_NAME " trash-1"
#define RETAG "lvchange --yes --deltag ephlvm.state=new --addtag ephlvm.state=ready " SELECT_ONE
#define DEACTIVATE "lvchange --yes -an " SELECT_TWO
#define REMOVE "lvremove --yes " SELECT_ALONE(COMPLETE)

#define LOCK_HELD                                                                  \
	"  /run/lock/lvm/V_fast: flock failed: Resource temporarily unavailable\n" \
	"  Can't get lock for fast.\n"
#define EMPTY "{\"report\": []}"

struct place {
	char dir[64]; /* for state and locks */
	struct ephlvm_ctx *ctx;
	struct eph_config *config;
	struct fake_lvm *fake;
	struct eph_vg vg;
	struct eph_pv pvs[2];
	struct eph_strv tags, one, two, del, add, devices;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	snprintf(p->dir, sizeof(p->dir), "/tmp/ephlvm-verbs.XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	setenv("EPHLVM_STATE_DIR", p->dir, 1);
	assert_int_equal(ephlvm_ctx_new(&p->ctx), 0);
	assert_int_equal(eph_config_default(p->ctx, &p->config), 0);
	p->config->lock_timeout_ms = 0;
	p->ctx->config = p->config;
	p->ctx->config_free = eph_config_free;
	p->fake = fake_lvm_install(p->ctx);
	p->pvs[0] = (struct eph_pv){ .device = (char *)"/dev/nvme0n1", .uuid = (char *)PV1_UUID };
	p->pvs[1] = (struct eph_pv){
		.device = (char *)"/dev/disk/by-path/pci-0000:00:1f.2-nvme+1",
		.uuid = (char *)PV2_UUID,
	};
	p->vg = (struct eph_vg){
		.name = (char *)"fast", .uuid = (char *)VG_UUID, .pvs = p->pvs, .n_pvs = 2
	};
	assert_int_equal(eph_strv_add(&p->tags, "ephlvm"), 0);
	assert_int_equal(eph_strv_add(&p->tags, "ephlvm.disk=eph0"), 0);
	assert_int_equal(eph_strv_add(&p->one, LV1_UUID), 0);
	assert_int_equal(eph_strv_add(&p->two, LV1_UUID), 0);
	assert_int_equal(eph_strv_add(&p->two, LV2_UUID), 0);
	assert_int_equal(eph_strv_add(&p->del, "ephlvm.state=new"), 0);
	assert_int_equal(eph_strv_add(&p->add, "ephlvm.state=ready"), 0);
	assert_int_equal(eph_strv_add(&p->devices, "/dev/nvme0n1"), 0);
	assert_int_equal(eph_strv_add(&p->devices, "/dev/nvme1n1"), 0);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	char command[128];

	fake_lvm_done(p->fake);
	ephlvm_ctx_unref(p->ctx);
	eph_strv_clear(&p->tags);
	eph_strv_clear(&p->one);
	eph_strv_clear(&p->two);
	eph_strv_clear(&p->del);
	eph_strv_clear(&p->add);
	eph_strv_clear(&p->devices);
	snprintf(command, sizeof(command), "rm -rf %s", p->dir);
	assert_int_equal(system(command), 0);
	free(p);
	return 0;
}

static int create(struct place *p)
{
	const struct eph_lv_spec spec = {
		.name = LV_NAME,
		.extents = 6400,
		.segtype = "linear",
		.tags = &p->tags,
	};

	return eph_lvm_lv_create(p->ctx, &p->vg, &spec, NULL);
}

static int rename_lv(struct place *p)
{
	return eph_lvm_lv_rename(p->ctx, &p->vg, LV_NAME, "trash-1");
}

static int retag(struct place *p)
{
	return eph_lvm_lv_retag(p->ctx, &p->vg, LV1_UUID, &p->del, &p->add);
}

static int activate(struct place *p)
{
	return eph_lvm_lv_activate(p->ctx, &p->vg, &p->one);
}

static int deactivate(struct place *p)
{
	return eph_lvm_lv_deactivate(p->ctx, &p->vg, &p->two);
}

static int remove_lvs(struct place *p)
{
	return eph_lvm_lv_remove(p->ctx, &p->vg, &p->two);
}

static int vg_retag(struct place *p)
{
	return eph_lvm_vg_retag(p->ctx, &p->vg, &p->del, &p->add);
}

static int no_autoactivation(struct place *p)
{
	return eph_lvm_vg_no_autoactivation(p->ctx, &p->vg);
}

static int pv_create(struct place *p)
{
	return eph_lvm_pv_create(p->ctx, &p->devices, 64 << 20);
}

static int vg_create(struct place *p)
{
	return eph_lvm_vg_create(p->ctx, "fast", &p->devices, &p->add);
}

static int vg_remove(struct place *p)
{
	return eph_lvm_vg_remove(p->ctx, "fast", VG_UUID);
}

static int pv_remove(struct place *p)
{
	return eph_lvm_pv_remove(p->ctx, &p->devices);
}

#define VG_RETAG "vgchange --yes --deltag ephlvm.state=new --addtag ephlvm.state=ready "
#define NO_AUTO "vgchange --yes --setautoactivation n "
#define ONE "lv_uuid=\"" LV1_UUID "\""
#define TWO "lv_uuid=\"" LV1_UUID "\" || lv_uuid=\"" LV2_UUID "\""

static const struct verb {
	int (*run)(struct place *p);
	const char *call;
	bool narrowed; /* to the VG's devices, which are looked for */
	const char *partial_call; /* in a partial VG; NULL: refused */
} verbs[] = {
	{ create, CREATE, true, NULL },
	{ rename_lv, RENAME, true, NULL },
	{ retag, RETAG, true,
	  "lvchange --yes --deltag ephlvm.state=new --addtag ephlvm.state=ready " SELECT_IN("",
											    ONE) },
	{ activate, "lvchange --yes -ay -K " SELECT_ONE, true,
	  "lvchange --yes -ay -K " SELECT_IN("", ONE) },
	{ deactivate, DEACTIVATE, true, "lvchange --yes -an " SELECT_IN("", TWO) },
	{ remove_lvs, REMOVE, true, "lvremove --yes " SELECT_ALONE("") },
	{ vg_retag, VG_RETAG "-S 'vg_uuid=\"" VG_UUID "\"" COMPLETE "' fast", true,
	  VG_RETAG "-S vg_uuid=\"" VG_UUID "\" fast" },
	{ no_autoactivation, NO_AUTO "-S 'vg_uuid=\"" VG_UUID "\"" COMPLETE "' fast", true,
	  NO_AUTO "-S vg_uuid=\"" VG_UUID "\" fast" },
	{ pv_create, "pvcreate --yes --metadatasize 67108864b /dev/nvme0n1 /dev/nvme1n1", false,
	  NULL },
	{ vg_create,
	  "vgcreate --yes --setautoactivation n --addtag ephlvm.state=ready fast /dev/nvme0n1 "
	  "/dev/nvme1n1",
	  false, NULL },
	{ vg_remove, "vgremove --yes -S 'vg_uuid=\"" VG_UUID "\" && lv_count=0' fast", false,
	  NULL },
	{ pv_remove, "pvremove --yes /dev/nvme0n1 /dev/nvme1n1", false, NULL },
};
#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

/* --- what is run --- */

static void runs_exactly_this(void **state)
{
	struct place *p = *state;

	for (size_t i = 0; i < N_VERBS; i++) {
		unsigned int opened = fake_lvm_opened(p->fake);

		FAKE_LVM_EXPECT(p->fake, .call = verbs[i].call,
				.config = verbs[i].narrowed ? CONFIG_NARROW : CONFIG_WRITE);
		assert_int_equal(verbs[i].run(p), 0);
		assert_int_equal(fake_lvm_opened(p->fake) - opened, verbs[i].narrowed ? 2 : 0);
		assert_true(fake_lvm_last_mutating(p->fake));
		assert_int_equal(fake_lvm_last_timeout_ms(p->fake), p->config->command_timeout_ms);
	}
}

static void says_where_when_asked(void **state)
{
	struct place *p = *state;
	struct eph_strv where = EPH_STRV_INIT;
	const struct eph_lv_spec spec = {
		.name = "a",
		.extents = 3,
		.segtype = "linear",
		.where = &where,
	};

	assert_int_equal(eph_strv_add(&where, "/dev/nvme0n1:0-1"), 0);
	assert_int_equal(eph_strv_add(&where, "/dev/nvme1n1:7-7"), 0);
	FAKE_LVM_EXPECT(p->fake, .call = "lvcreate --yes -Wn -Zn -ay --type linear -l 3 -n a fast "
					 "/dev/nvme0n1:0-1 /dev/nvme1n1:7-7");
	assert_int_equal(eph_lvm_lv_create(p->ctx, &p->vg, &spec, NULL), 0);
	eph_strv_clear(&where);
}

static void activates_exclusively_in_a_shared_vg(void **state)
{
	struct place *p = *state;

	p->vg.shared = true;
	FAKE_LVM_EXPECT(p->fake, .call = "lvcreate --yes -Wn -Zn -aey --addtag ephlvm --addtag "
					 "ephlvm.disk=eph0 --type linear -l 6400 -n " LV_NAME
					 " fast");
	assert_int_equal(create(p), 0);
	FAKE_LVM_EXPECT(p->fake, .call = "lvchange --yes -aey -K " SELECT_ONE);
	assert_int_equal(activate(p), 0);
}

static void adds_what_the_backend_wants(void **state)
{
	struct place *p = *state;
	struct eph_lvm_backend *backend = fake_lvm_backend(p->fake);

	backend->metadata_only = true;
	backend->extra_config = "global{locking_dir=\"/x\"}";
	FAKE_LVM_EXPECT(p->fake,
			.call = "lvcreate --driverloaded n --yes -Wn -Zn -an --addtag ephlvm "
				"--addtag ephlvm.disk=eph0 --type linear -l 6400 -n " LV_NAME
				" fast",
			.config = CONFIG_NARROW " global{locking_dir=\"/x\"}");
	assert_int_equal(create(p), 0);
	/* There is no device-mapper: nothing to ask for. */
	assert_int_equal(activate(p), 0);
	assert_int_equal(deactivate(p), 0);
	assert_int_equal(fake_lvm_calls(p->fake), 1);
}

static void changes_many_lvs_in_slices(void **state)
{
	struct place *p = *state;
	struct eph_strv many = EPH_STRV_INIT;

	for (int i = 0; i < 450; i++)
		assert_int_equal(eph_strv_addf(&many, "eeeeee-eeee-eeee-eeee-eeee-eeee-eee%03d", i),
				 0);
	for (int i = 0; i < 3; i++)
		FAKE_LVM_EXPECT(p->fake, .call = NULL);
	assert_int_equal(eph_lvm_lv_remove(p->ctx, &p->vg, &many), 0);
	assert_int_equal(fake_lvm_calls(p->fake), 3);
	eph_strv_clear(&many);
}

static void does_nothing_for_nothing(void **state)
{
	struct place *p = *state;
	const struct eph_strv none = EPH_STRV_INIT;

	assert_int_equal(eph_lvm_lv_remove(p->ctx, &p->vg, &none), 0);
	assert_int_equal(eph_lvm_lv_retag(p->ctx, &p->vg, LV1_UUID, &none, NULL), 0);
	assert_int_equal(eph_lvm_vg_retag(p->ctx, &p->vg, NULL, &none), 0);
	assert_int_equal(fake_lvm_calls(p->fake), 0);
}

/* --- what is refused before anything is run --- */

static void refuses_while_a_pv_is_not_found(void **state)
{
	struct place *p = *state;

	for (size_t i = 0; i < N_VERBS; i++) {
		if (!verbs[i].narrowed)
			continue;
		for (unsigned int pv = 0; pv < 2; pv++) {
			eph_enter(p->ctx);
			fake_lvm_lose_pv_at(p->fake, pv);
			assert_int_equal(verbs[i].run(p), -EIO);
			assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_SYSTEM);
		}
	}
	assert_int_equal(fake_lvm_calls(p->fake), 0);
}

static void refuses_while_a_pv_is_there_twice(void **state)
{
	struct place *p = *state;

	p->pvs[1].duplicate = true;
	for (size_t i = 0; i < N_VERBS; i++) {
		if (!verbs[i].narrowed)
			continue;
		eph_enter(p->ctx);
		assert_int_equal(verbs[i].run(p), -EIO);
		assert_string_equal(ephlvm_error_subject(p->ctx), p->pvs[1].device);
	}
	assert_int_equal(fake_lvm_calls(p->fake), 0);
}

/* Where a PV is missing LVM must see everything: what we hid it would call missing for good. */
static void does_not_narrow_a_partial_vg(void **state)
{
	struct place *p = *state;

	p->pvs[1].missing = true;
	p->pvs[1].device = NULL;
	p->vg.missing_pvs = 1;
	for (size_t i = 0; i < N_VERBS; i++) {
		if (!verbs[i].narrowed)
			continue;
		eph_enter(p->ctx);
		if (verbs[i].partial_call)
			FAKE_LVM_EXPECT(p->fake, .call = verbs[i].partial_call,
					.config = CONFIG_WRITE);
		assert_int_equal(verbs[i].run(p), verbs[i].partial_call ? 0 : -EIO);
		if (!verbs[i].partial_call)
			assert_non_null(strstr(ephlvm_error_message(p->ctx), "misses a drive"));
	}
}

static void refuses_a_vg_without_pvs(void **state)
{
	struct place *p = *state;

	p->vg.n_pvs = 0;
	assert_int_equal(create(p), -EIO);
	assert_int_equal(fake_lvm_calls(p->fake), 0);
}

static void refuses_a_device_that_no_filter_can_hold(void **state)
{
	static const char *const odd[] = { "/dev/a|b", "/dev/a\"b", "/dev/a\\b",
					   "/dev/a^b", "/dev/a]b",  "/dev/a\nb" };
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		p->pvs[0].device = (char *)odd[i];
		eph_enter(p->ctx);
		assert_int_equal(create(p), -EIO);
		assert_non_null(strstr(ephlvm_error_message(p->ctx), "filter"));
	}
	assert_int_equal(fake_lvm_calls(p->fake), 0);
}

static void refuses_words_that_lvm_could_read_otherwise(void **state)
{
	static const char *const names[] = { "",     "-x",   "a b",	     "a/b", "a\"b",
					     "@tag", "a\nb", "/dev/nvme0n1", NULL };
	struct place *p = *state;
	struct eph_lv_spec spec = { .name = "a", .extents = 1, .segtype = "linear" };
	struct eph_strv bad = EPH_STRV_INIT;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		eph_enter(p->ctx);
		spec.name = names[i];
		assert_int_equal(eph_lvm_lv_create(p->ctx, &p->vg, &spec, NULL), -EINVAL);
		assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_INVALID);
		assert_int_equal(eph_lvm_lv_rename(p->ctx, &p->vg, "a", names[i]), -EINVAL);
		assert_int_equal(eph_lvm_lv_rename(p->ctx, &p->vg, names[i], "a"), -EINVAL);
		assert_int_equal(eph_lvm_vg_remove(p->ctx, names[i], VG_UUID), -EINVAL);
		assert_int_equal(eph_lvm_vg_remove(p->ctx, "fast", names[i]), -EINVAL);
		assert_int_equal(eph_lvm_lv_retag(p->ctx, &p->vg, names[i], &p->del, &p->add),
				 -EINVAL);
	}
	spec.name = "a";
	spec.extents = 0;
	assert_int_equal(eph_lvm_lv_create(p->ctx, &p->vg, &spec, NULL), -EINVAL);
	spec.extents = 1;
	spec.segtype = "mirror";
	assert_int_equal(eph_lvm_lv_create(p->ctx, &p->vg, &spec, NULL), -EINVAL);
	assert_int_equal(eph_strv_add(&bad, "a,b"), 0);
	spec.segtype = "linear";
	spec.tags = &bad;
	assert_int_equal(eph_lvm_lv_create(p->ctx, &p->vg, &spec, NULL), -EINVAL);
	assert_int_equal(eph_lvm_lv_retag(p->ctx, &p->vg, LV1_UUID, &bad, NULL), -EINVAL);
	assert_int_equal(eph_lvm_vg_retag(p->ctx, &p->vg, NULL, &bad), -EINVAL);
	assert_int_equal(eph_lvm_lv_remove(p->ctx, &p->vg, &bad), -EINVAL);
	assert_int_equal(eph_lvm_pv_create(p->ctx, &bad, 1), -EINVAL);
	eph_strv_clear(&bad);
	assert_int_equal(eph_lvm_pv_remove(p->ctx, &bad), -EINVAL);
	p->vg.uuid = (char *)"\" || lv_name=\"x";
	assert_int_equal(remove_lvs(p), -EINVAL);
	p->vg.name = (char *)"--force";
	assert_int_equal(vg_retag(p), -EINVAL);
	assert_int_equal(fake_lvm_calls(p->fake), 0);
}

/* --- what LVM's words are taken for --- */

static void takes_words_for_what_they_mean(void **state)
{
	static const struct {
		int status;
		const char *out, *err;
		int r;
		enum ephlvm_error_kind kind;
	} cases[] = {
		{ 5, NULL,
		  "  Volume group \"fast\" has insufficient free space (3 extents): 6400 required.\n",
		  -ENOSPC, EPHLVM_ERROR_NO_SPACE },
		{ 5, NULL, "  Insufficient free space: 4 extents needed, but only 2 available\n",
		  -ENOSPC, EPHLVM_ERROR_NO_SPACE },
		{ 5, NULL,
		  "  Insufficient suitable allocatable extents for logical volume a: 3 more "
		  "required\n",
		  -ENOSPC, EPHLVM_ERROR_NO_SPACE },
		{ 5, NULL,
		  "  VG fast 522900 metadata on /dev/nvme0n1 (521903 bytes) exceeds maximum "
		  "metadata size (521472 bytes)\n  Failed to write VG fast.\n",
		  -ENOSPC, EPHLVM_ERROR_NO_SPACE },
		{ 5, NULL, "  Logical volume fast/a in use.\n", -EBUSY, EPHLVM_ERROR_BUSY },
		{ 5, NULL, "  Logical volume fast/a is used by another device.\n", -EBUSY,
		  EPHLVM_ERROR_BUSY },
		{ 5, NULL, "  Logical volume fast/a contains a filesystem in use.\n", -EBUSY,
		  EPHLVM_ERROR_BUSY },
		{ 5, NULL,
		  "  device-mapper: remove ioctl on  (253:0) failed: Device or resource busy\n"
		  "  Unable to deactivate fast-a (253:0).\n",
		  -EBUSY, EPHLVM_ERROR_BUSY },
		{ 5, NULL,
		  "  Unable to deactivate open fast-a (253:0).\n"
		  "  libdevmapper exiting with 1 device(s) still suspended.\n",
		  -EBUSY, EPHLVM_ERROR_BUSY },
		{ 5, NULL, LOCK_HELD, -ETIMEDOUT, EPHLVM_ERROR_BUSY },
		/* not a held lock: waiting would not help */
		{ 5, NULL,
		  "  /run/lock/lvm/V_fast: open failed: Permission denied\n"
		  "  Can't get lock for fast.\n",
		  -EIO, EPHLVM_ERROR_SYSTEM },
		{ 5, NULL, "  Cannot process volume group fast\n", -EIO, EPHLVM_ERROR_SYSTEM },
		/* said to be done, yet failed */
		{ 5, "  Logical volume fast/a changed.\n", "  Failed to suspend a.\n", -EIO,
		  EPHLVM_ERROR_SYSTEM },
		/* words on stdout mean nothing */
		{ 5, "  Logical volume fast/a in use.\n", "", -EIO, EPHLVM_ERROR_SYSTEM },
		{ 3, NULL, "  Invalid argument for --addtag: a\n", -EIO, EPHLVM_ERROR_SYSTEM },
		{ 256 + SIGKILL, NULL, "", -EIO, EPHLVM_ERROR_SYSTEM },
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		eph_enter(p->ctx);
		FAKE_LVM_EXPECT(p->fake, .call = RETAG, .status = cases[i].status,
				.out = cases[i].out, .err = cases[i].err);
		assert_int_equal(retag(p), cases[i].r);
		assert_int_equal(ephlvm_error_kind(p->ctx), cases[i].kind);
		assert_int_equal(ephlvm_error_child_status(p->ctx), cases[i].status);
		assert_string_equal(ephlvm_error_detail(p->ctx), cases[i].err);
	}
}

/* A warning does not make a success a failure, whatever it says. */
/* LVM fails where there is nothing to change (exit 5); any other failure is one. */
static void auto_activation_that_is_off_already_is_no_failure(void **state)
{
	struct place *p = *state;

	FAKE_LVM_EXPECT(p->fake, .status = 5,
			.err = "  Volume group autoactivation is already no.\n");
	assert_int_equal(no_autoactivation(p), 0);
	assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_NONE);
	FAKE_LVM_EXPECT(p->fake, .status = 5, .err = "  Volume group \"fast\" is exported\n");
	assert_int_equal(no_autoactivation(p), -EIO);
}

static void believes_the_status_before_the_words(void **state)
{
	struct place *p = *state;

	FAKE_LVM_EXPECT(p->fake, .call = RETAG,
			.err = "  WARNING: Logical volume fast/b in use.\n" LOCK_HELD);
	assert_int_equal(retag(p), 0);
	assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_NONE);
}

static void names_the_lv_that_it_is_about(void **state)
{
	struct place *p = *state;
	struct eph_lv lv = { .name = (char *)"lv0", .uuid = (char *)LV1_UUID };

	p->vg.lvs = &lv;
	p->vg.n_lvs = 1;
	FAKE_LVM_EXPECT(p->fake, .call = RETAG, .status = 5);
	assert_int_equal(retag(p), -EIO);
	assert_string_equal(ephlvm_error_subject(p->ctx), "fast/lv0");
	assert_non_null(strstr(ephlvm_error_message(p->ctx), "lvchange for \"fast/lv0\""));
	p->vg.lvs = NULL;
	p->vg.n_lvs = 0;
}

static void does_not_believe_an_end_at_the_deadline(void **state)
{
	struct place *p = *state;

	FAKE_LVM_EXPECT(p->fake, .call = CREATE, .timed_out = true, .status = 0,
			.out = "  Logical volume \"x\" created.\n");
	assert_int_equal(create(p), -EIO);
	assert_non_null(strstr(ephlvm_error_message(p->ctx), "300000 ms"));
	eph_enter(p->ctx);
	FAKE_LVM_EXPECT(p->fake, .call = CREATE, .timed_out = true, .status = 256 + SIGKILL,
			.err = LOCK_HELD);
	assert_int_equal(create(p), -EIO);
	assert_string_equal(ephlvm_error_detail(p->ctx), LOCK_HELD);
}

/* A failure during clean-up must not put its words under the failure that led there. */
static void keeps_an_earlier_record(void **state)
{
	struct place *p = *state;

	eph_fail(p->ctx, EPHLVM_ERROR_SYSTEM, ENXIO, "mkfs", NULL, "mkfs failed");
	FAKE_LVM_EXPECT(p->fake, .call = REMOVE, .status = 5, .err = "  other words\n");
	assert_int_equal(remove_lvs(p), -EIO);
	assert_string_equal(ephlvm_error_message(p->ctx), "mkfs failed");
	assert_string_equal(ephlvm_error_detail(p->ctx), "");
	assert_int_equal(ephlvm_error_errno(p->ctx), ENXIO);
}

/* --- what is tried again --- */

static void waits_for_the_lock(void **state)
{
	struct place *p = *state;

	p->config->lock_timeout_ms = 60000;
	for (int i = 0; i < 3; i++)
		FAKE_LVM_EXPECT(p->fake, .call = RENAME, .status = 5, .err = LOCK_HELD);
	FAKE_LVM_EXPECT(p->fake, .call = RENAME);
	assert_int_equal(rename_lv(p), 0);
	assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_NONE);
	/* Also for reading, and for the lock of the whole host. */
	FAKE_LVM_EXPECT(p->fake, .call = FULLREPORT(""), .status = 5, .out = EMPTY,
			.err = "  /run/lock/lvm/P_global: flock failed: Resource temporarily "
			       "unavailable\n");
	FAKE_LVM_EXPECT(p->fake, .call = FULLREPORT(""), .out = EMPTY);
	struct eph_lvm_view *view = NULL;

	assert_int_equal(eph_lvm_read(p->ctx, 0, &view), 0);
	eph_lvm_view_free(view);
}

static void gives_up_on_the_lock_at_the_deadline(void **state)
{
	struct place *p = *state;

	/* 50 ms of pause fit, the 100 ms after that do not. */
	p->config->lock_timeout_ms = 120;
	FAKE_LVM_EXPECT(p->fake, .call = RENAME, .status = 5, .err = LOCK_HELD);
	FAKE_LVM_EXPECT(p->fake, .call = RENAME, .status = 5, .err = LOCK_HELD);
	assert_int_equal(rename_lv(p), -ETIMEDOUT);
	assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_BUSY);
	assert_string_equal(ephlvm_error_subject(p->ctx), "fast/" LV_NAME);
}

static void tries_again_while_udev_looks_at_it(void **state)
{
	struct place *p = *state;

	for (int i = 0; i < 2; i++)
		FAKE_LVM_EXPECT(p->fake, .call = DEACTIVATE, .status = 5,
				.err = "  Logical volume fast/a in use.\n");
	FAKE_LVM_EXPECT(p->fake, .call = DEACTIVATE, .status = 5,
			.err = "  Unable to deactivate open fast-a (253:0).\n");
	FAKE_LVM_EXPECT(p->fake, .call = DEACTIVATE);
	assert_int_equal(deactivate(p), 0);
	for (int i = 0; i < 4; i++)
		FAKE_LVM_EXPECT(p->fake, .call = DEACTIVATE, .status = 5,
				.err = "  Logical volume fast/a in use.\n");
	assert_int_equal(deactivate(p), -EBUSY);
	assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_BUSY);
}

/* The look may as well come between the erase and the removal. */
static void tries_a_removal_again_while_udev_looks_at_it(void **state)
{
	static const char *const words[] = {
		"  Logical volume fast/a in use.\n",
		"  Unable to deactivate open fast-a (253:0).\n",
		"  device-mapper: remove ioctl on  (253:0) failed: Device or resource busy\n",
	};
	struct place *p = *state;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		FAKE_LVM_EXPECT(p->fake, .call = REMOVE, .status = 5, .err = words[i]);
	FAKE_LVM_EXPECT(p->fake, .call = REMOVE);
	assert_int_equal(remove_lvs(p), 0);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		FAKE_LVM_EXPECT(p->fake, .call = REMOVE, .status = 5, .err = words[i]);
	FAKE_LVM_EXPECT(p->fake, .call = REMOVE, .status = 5,
			.err = "  Logical volume fast/last in use.\n");
	assert_int_equal(remove_lvs(p), -EBUSY);
	assert_non_null(strstr(ephlvm_error_detail(p->ctx), "fast/last"));
}

static void never_runs_a_crashed_change_again(void **state)
{
	struct place *p = *state;

	for (size_t i = 0; i < N_VERBS; i++) {
		eph_enter(p->ctx);
		FAKE_LVM_EXPECT(p->fake, .call = verbs[i].call, .status = 256 + SIGSEGV);
		assert_int_equal(verbs[i].run(p), -EIO);
	}
	assert_int_equal(fake_lvm_calls(p->fake), N_VERBS);
}

static void passes_a_backend_failure_on(void **state)
{
	struct place *p = *state;
	struct eph_lvm_view *view = NULL;

	for (size_t i = 0; i < N_VERBS; i++) {
		eph_enter(p->ctx);
		fake_lvm_fail_at(p->fake, 0);
		assert_int_equal(verbs[i].run(p), -EIO);
		assert_string_equal(ephlvm_error_message(p->ctx), "the backend failed");
	}
	eph_enter(p->ctx);
	fake_lvm_fail_at(p->fake, 0);
	assert_int_equal(eph_lvm_read(p->ctx, 0, &view), -EIO);
	assert_null(view);
}

static void survives_want_of_memory(void **state)
{
	struct place *p = *state;

	for (size_t i = 0; i < N_VERBS; i++) {
		bool reached = true;

		for (unsigned int nth = 0; reached; nth++) {
			unsigned int before = fake_lvm_calls(p->fake);
			int r;

			eph_enter(p->ctx);
			fake_lvm_expect(p->fake,
					&(const struct fake_lvm_call){ .call = verbs[i].call });
			failing_alloc_arm(nth);
			r = verbs[i].run(p);
			reached = failing_alloc_disarm();
			/* What only names things in the record can be done without. */
			assert_true(r == 0 || (reached && r == -ENOMEM));
			if (fake_lvm_calls(p->fake) == before)
				fake_lvm_drop_last(p->fake);
		}
	}
}

/* --- reading --- */

static void reads_with_and_without_locks(void **state)
{
	struct place *p = *state;
	struct eph_lvm_view *view = NULL;

	FAKE_LVM_EXPECT(p->fake, .call = FULLREPORT(""), .config = CONFIG_READ, .out = EMPTY);
	assert_int_equal(eph_lvm_read(p->ctx, 0, &view), 0);
	assert_false(view->stale);
	assert_false(fake_lvm_last_mutating(p->fake));
	assert_int_equal(fake_lvm_last_timeout_ms(p->fake), p->config->read_timeout_ms);
	eph_lvm_view_free(view);
	FAKE_LVM_EXPECT(p->fake, .call = FULLREPORT("--nolocking "), .config = CONFIG_READ,
			.out = EMPTY);
	assert_int_equal(eph_lvm_read(p->ctx, EPH_LVM_NOLOCKING, &view), 0);
	assert_true(view->stale);
	eph_lvm_view_free(view);
}

static void takes_no_failed_read_for_an_empty_host(void **state)
{
	struct place *p = *state;
	struct eph_lvm_view *view = NULL;
	static const struct {
		unsigned int tries;
		struct fake_lvm_call call;
	} cases[] = {
		{ 3, { .call = FULLREPORT(""), .status = 5, .out = EMPTY } },
		{ 3,
		  { .call = FULLREPORT(""),
		    .status = 5,
		    .out = EMPTY,
		    .err = "  Cannot process volume group fast\n" } },
		{ 1, { .call = FULLREPORT(""), .status = 0, .timed_out = true, .out = EMPTY } },
		{ 1, { .call = FULLREPORT(""), .status = 0, .out = "", .err = "  hm\n" } },
		{ 3, { .call = FULLREPORT(""), .status = 256 + SIGTERM, .out = EMPTY } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *words = cases[i].call.err;

		eph_enter(p->ctx);
		for (unsigned int t = 0; t < cases[i].tries; t++)
			fake_lvm_expect(p->fake, &cases[i].call);
		assert_int_equal(eph_lvm_read(p->ctx, 0, &view), -EIO);
		assert_null(view);
		assert_string_equal(ephlvm_error_detail(p->ctx), words ? words : "");
	}
}

/* Beside another program's commit; one that changes something is never run again. */
static void reads_again_what_failed(void **state)
{
	struct place *p = *state;
	struct eph_lvm_view *view = NULL;

	FAKE_LVM_EXPECT(p->fake, .call = FULLREPORT(""), .status = 5, .out = EMPTY);
	FAKE_LVM_EXPECT(p->fake, .call = FULLREPORT(""), .status = 5, .out = EMPTY,
			.err = "  Failed to udev_enumerate_scan_devices.\n");
	FAKE_LVM_EXPECT(p->fake, .call = FULLREPORT(""), .out = EMPTY);
	assert_int_equal(eph_lvm_read(p->ctx, 0, &view), 0);
	eph_lvm_view_free(view);
	FAKE_LVM_EXPECT(p->fake, .call = RENAME, .status = 5);
	assert_int_equal(rename_lv(p), -EIO);
}

#define SYSTEM_ID_VG(uuid, name)                                                                 \
	"{\"vg\": [{\"vg_uuid\":\"" uuid "\", \"vg_name\":\"" name                               \
	"\", \"vg_attr\":\"wz--n-\", \"vg_tags\":\"\", \"vg_systemid\":\"" name                  \
	"\", \"vg_size\":\"8388608\", \"vg_free\":\"8388608\", \"vg_extent_size\":\"4194304\", " \
	"\"vg_extent_count\":\"2\", \"vg_free_count\":\"2\", \"vg_seqno\":\"1\", "               \
	"\"vg_missing_pv_count\":\"0\"}]}"
#define TWO_SYSTEM_IDS \
	"{\"report\": [" SYSTEM_ID_VG(VG_UUID, "here") ", " SYSTEM_ID_VG(VG2_UUID, "there") "]}"

static void asks_lvm_whose_a_system_id_is(void **state)
{
	struct place *p = *state;
	struct eph_lvm_view *view = NULL;

	FAKE_LVM_EXPECT(p->fake, .call = FULLREPORT(""), .out = TWO_SYSTEM_IDS);
	FAKE_LVM_EXPECT(p->fake, .call = VGS, .config = CONFIG_READ,
			.out = "{\"report\": [{\"vg\": [{\"vg_uuid\":\"" VG_UUID "\"}]}]}",
			.err = "  Cannot access VG there with system ID there\n");
	assert_int_equal(eph_lvm_read(p->ctx, 0, &view), 0);
	assert_int_equal(view->n_vgs, 2);
	assert_false(eph_lvm_vg_by_uuid(view, VG_UUID)->foreign);
	assert_true(eph_lvm_vg_by_uuid(view, VG2_UUID)->foreign);
	eph_lvm_view_free(view);
	view = NULL;
	FAKE_LVM_EXPECT(p->fake, .call = FULLREPORT(""), .out = TWO_SYSTEM_IDS);
	for (unsigned int t = 0; t < 3; t++)
		FAKE_LVM_EXPECT(p->fake, .call = VGS, .status = 5, .out = EMPTY);
	assert_int_equal(eph_lvm_read(p->ctx, 0, &view), -EIO);
	assert_null(view);
}

/* --- flushing --- */

static void flushes_every_pv_that_is_there(void **state)
{
	struct place *p = *state;

	assert_int_equal(eph_lvm_flush(p->ctx, &p->vg), 0);
	assert_int_equal(fake_lvm_opened(p->fake), 2);
	p->pvs[0].missing = true;
	assert_int_equal(eph_lvm_flush(p->ctx, &p->vg), 0);
	assert_int_equal(fake_lvm_opened(p->fake), 3);
	fake_lvm_lose_pv_at(p->fake, 0);
	assert_int_equal(eph_lvm_flush(p->ctx, &p->vg), -EIO);
	eph_enter(p->ctx);
	fake_lvm_break_flush(p->fake);
	assert_int_equal(eph_lvm_flush(p->ctx, &p->vg), -EIO);
	assert_string_equal(ephlvm_error_subject(p->ctx), p->pvs[1].device);
	assert_int_equal(fake_lvm_calls(p->fake), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(runs_exactly_this),
		TEST(says_where_when_asked),
		TEST(activates_exclusively_in_a_shared_vg),
		TEST(adds_what_the_backend_wants),
		TEST(changes_many_lvs_in_slices),
		TEST(does_nothing_for_nothing),
		TEST(refuses_while_a_pv_is_not_found),
		TEST(refuses_while_a_pv_is_there_twice),
		TEST(does_not_narrow_a_partial_vg),
		TEST(refuses_a_vg_without_pvs),
		TEST(refuses_a_device_that_no_filter_can_hold),
		TEST(refuses_words_that_lvm_could_read_otherwise),
		TEST(takes_words_for_what_they_mean),
		TEST(believes_the_status_before_the_words),
		TEST(auto_activation_that_is_off_already_is_no_failure),
		TEST(names_the_lv_that_it_is_about),
		TEST(does_not_believe_an_end_at_the_deadline),
		TEST(keeps_an_earlier_record),
		TEST(waits_for_the_lock),
		TEST(gives_up_on_the_lock_at_the_deadline),
		TEST(tries_again_while_udev_looks_at_it),
		TEST(tries_a_removal_again_while_udev_looks_at_it),
		TEST(never_runs_a_crashed_change_again),
		TEST(passes_a_backend_failure_on),
		TEST(survives_want_of_memory),
		TEST(reads_with_and_without_locks),
		TEST(takes_no_failed_read_for_an_empty_host),
		TEST(reads_again_what_failed),
		TEST(asks_lvm_whose_a_system_id_is),
		TEST(flushes_every_pv_that_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
