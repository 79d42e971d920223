// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The libvirt edge through its real program, on libvirt's own test driver (no daemon), and with
 * programs of the test's own in its place: hanging, cut, lying. What needs a daemon is in the lab;
 * attach and detach step by step are in test_virt_ops.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/context.h"
#include "edge/virt.h"
#include "pure/config.h"

#define RUNS "11111111-1111-1111-1111-111111111111"
#define SHUT "22222222-2222-2222-2222-222222222222"

struct host {
	struct ephlvm_ctx *ctx;
	struct eph_config *config; /* the context's */
	char dir[64];
	char path[96];
};

static void put_file(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static int setup(void **state)
{
	struct host *h = calloc(1, sizeof(*h));

	assert_non_null(h);
	snprintf(h->dir, sizeof(h->dir), "/tmp/ephlvm-virt.XXXXXX");
	assert_non_null(mkdtemp(h->dir));
	snprintf(h->path, sizeof(h->path), "%s/node.xml", h->dir);
	assert_int_equal(ephlvm_ctx_new(&h->ctx), 0);
	assert_int_equal(eph_config_default(h->ctx, &h->config), 0);
	h->ctx->config = h->config;
	h->ctx->config_free = eph_config_free;
	*state = h;
	return 0;
}

static int teardown(void **state)
{
	struct host *h = *state;
	char command[128];

	ephlvm_ctx_unref(h->ctx);
	snprintf(command, sizeof(command), "rm -rf %s", h->dir);
	assert_int_equal(system(command), 0);
	free(h);
	return 0;
}

static void use_uri(struct host *h, const char *uri)
{
	free(h->config->libvirt_uri);
	h->config->libvirt_uri = strdup(uri);
	assert_non_null(h->config->libvirt_uri);
}

#define DOMAIN(name, uuid, extra, devices)                                              \
	"<domain type='test'><name>" name "</name><uuid>" uuid "</uuid>"                \
	"<memory>1024</memory><os><type arch='x86_64'>hvm</type></os><devices>" devices \
	"</devices>" extra "</domain>"
#define DISK(attr, source, target)                                                             \
	"<disk type='block' device='disk'><source " attr "='" source "'/><target dev='" target \
	"' bus='virtio'/></disk>"
#define SHUT_OFF \
	"<test:runstate xmlns:test='http://libvirt.org/schemas/domain/test/1.0'>5</test:runstate>"

static void use_domains(struct host *h, const char *domains)
{
	char *text, *uri;

	assert_true(asprintf(&text, "<node>%s</node>", domains) > 0);
	put_file(h->path, text, 0600);
	free(text);
	assert_true(asprintf(&uri, "test://%s", h->path) > 0);
	use_uri(h, uri);
	free(uri);
}

static void read_uses(struct host *h, struct eph_virt_uses *uses)
{
	memset(uses, 0xff, sizeof(*uses));
	eph_enter(h->ctx);
	assert_int_equal(eph_virt_read(h->ctx, uses), 0);
	assert_int_equal(ephlvm_error_kind(h->ctx), EPHLVM_ERROR_NONE);
}

static void every_domain_is_read(void **state)
{
	struct host *h = *state;
	struct eph_virt_uses uses;
	size_t at;

	use_domains(h, DOMAIN("runs", RUNS, "",
			      DISK("dev", "/dev/vg/a", "vda") DISK("dev", "/dev/vg/b", "vdb"))
			       DOMAIN("shut &amp; off", SHUT, SHUT_OFF,
				      DISK("dev", "/dev/mapper/vg-c--d", "vda")));
	read_uses(h, &uses);
	assert_true(uses.asked);
	assert_null(uses.why);

	at = eph_virt_find(&uses, 0, "vg", "b", 0);
	assert_true(at > 0);
	assert_string_equal(uses.uses[at - 1].domain_name, "runs");
	assert_string_equal(uses.uses[at - 1].domain_uuid, RUNS);
	assert_string_equal(uses.uses[at - 1].target, "vdb");
	assert_true(uses.uses[at - 1].active);
	assert_true(uses.uses[at - 1].live);
	assert_int_equal(uses.uses[at - 1].devno, 0);

	at = eph_virt_find(&uses, 0, "vg", "c-d", 0);
	assert_true(at > 0);
	assert_string_equal(uses.uses[at - 1].domain_name, "shut & off");
	assert_false(uses.uses[at - 1].active);
	assert_false(uses.uses[at - 1].live);
	assert_int_equal(eph_virt_find(&uses, at, "vg", "c-d", 0), 0);
	assert_int_equal(eph_virt_find(&uses, 0, "vg", "d", 0), 0);
	eph_virt_uses_clear(&uses);
}

static void no_domain_is_an_answer(void **state)
{
	struct host *h = *state;
	struct eph_virt_uses uses;

	use_domains(h, "");
	read_uses(h, &uses);
	assert_true(uses.asked);
	assert_int_equal(uses.n, 0);
	eph_virt_uses_clear(&uses);
}

/* A path through links is known by the device behind it. */
static void links_are_followed_to_the_device(void **state)
{
	static const char *const devices[] = { "/dev/loop0", "/dev/vda", "/dev/sda", "/dev/nvme0n1",
					       NULL };
	struct host *h = *state;
	struct eph_virt_uses uses;
	const char *device = NULL;
	char link[96], text[1024];
	struct stat st;

	for (size_t i = 0; devices[i]; i++) {
		device = devices[i];
		if (stat(device, &st) == 0 && S_ISBLK(st.st_mode))
			break;
	}
	assert_true(S_ISBLK(st.st_mode));
	snprintf(link, sizeof(link), "%s/link", h->dir);
	assert_int_equal(symlink(device, link), 0);
	snprintf(text, sizeof(text),
		 DOMAIN("runs", RUNS, "", DISK("dev", "/dev/vg/a", "vda") DISK("dev", "%s", "vdb")),
		 link);
	use_domains(h, text);
	read_uses(h, &uses);
	assert_int_equal(eph_virt_find(&uses, 0, "vg", "x", st.st_rdev), 2);
	assert_int_equal(eph_virt_find(&uses, 0, "vg", "x", makedev(254, 99)), 0);
	eph_virt_uses_clear(&uses);
}

static void spellings_of_one_volume(void **state)
{
	static const char *const same[] = {
		"/dev/v-g/l-v",
		"/dev//v-g/./l-v",
		"/dev/mapper/v--g-l--v",
		"/dev/disk/by-id/dm-name-v--g-l--v",
		"/dev/dm-7",
		NULL,
	};
	static const char *const other[] = {
		"/dev/v-g/l-v2", "/dev/v-g/l", "/dev/mapper/v-g-l-v", "/dev/dm-70", "l-v", "", NULL,
	};
	struct eph_virt_use use = { 0 };
	struct eph_virt_uses uses = { .uses = &use, .n = 1, .asked = true };

	(void)state;
	for (size_t i = 0; same[i]; i++) {
		use.source = (char *)(uintptr_t)same[i];
		assert_int_equal(eph_virt_find(&uses, 0, "v-g", "l-v", makedev(254, 7)), 1);
	}
	for (size_t i = 0; other[i]; i++) {
		use.source = (char *)(uintptr_t)other[i];
		assert_int_equal(eph_virt_find(&uses, 0, "v-g", "l-v", makedev(254, 7)), 0);
	}
	/* An inactive volume has no number: /dev/dm-0 is somebody else's. */
	use.source = (char *)(uintptr_t) "/dev/dm-0";
	assert_int_equal(eph_virt_find(&uses, 0, "v-g", "l-v", 0), 0);
}

static void not_reached_is_not_asked(void **state)
{
	struct host *h = *state;
	struct eph_virt_uses uses;

	use_uri(h, "qemu+unix:///system?socket=/nonexistent/sock");
	read_uses(h, &uses);
	assert_false(uses.asked);
	assert_int_equal(uses.n, 0);
	assert_non_null(uses.why);
	assert_non_null(strstr(uses.why, "/nonexistent/sock"));
	eph_virt_uses_clear(&uses);
}

static void environment_has_no_say(void **state)
{
	struct host *h = *state;
	struct eph_virt_uses uses;
	char trap[96];

	snprintf(trap, sizeof(trap), "1:file:%s/trap", h->dir);
	setenv("LIBVIRT_LOG_OUTPUTS", trap, 1);
	setenv("LIBVIRT_DEBUG", "1", 1);
	setenv("LIBVIRT_DEFAULT_URI", "test:///default", 1);
	use_domains(h, "");
	read_uses(h, &uses);
	assert_true(uses.asked);
	assert_int_equal(uses.n, 0);
	eph_virt_uses_clear(&uses);
	snprintf(trap, sizeof(trap), "%s/trap", h->dir);
	assert_int_equal(access(trap, F_OK), -1);
	unsetenv("LIBVIRT_LOG_OUTPUTS");
	unsetenv("LIBVIRT_DEBUG");
	unsetenv("LIBVIRT_DEFAULT_URI");
}

/* A daemon that takes the connection and then says nothing. */
static void hanging_daemon_is_left_at_the_deadline(void **state)
{
	struct host *h = *state;
	struct eph_virt_uses uses;
	struct eph_virt_domain domain = { 0 };

	/* The program that libvirt starts as its transport plays the daemon. */
	snprintf(h->path, sizeof(h->path), "%s/mute", h->dir);
	put_file(h->path, "#!/bin/sh\nexec sleep 600\n", 0700);
	use_uri(h, "");
	free(h->config->libvirt_uri);
	assert_true(asprintf(&h->config->libvirt_uri, "qemu+ext:///system?command=%s", h->path) >
		    0);
	h->config->read_timeout_ms = 500;
	read_uses(h, &uses);
	assert_false(uses.asked);
	assert_non_null(strstr(uses.why, "did not answer"));
	eph_virt_uses_clear(&uses);
	eph_enter(h->ctx);
	assert_int_equal(eph_virt_domain_read(h->ctx, "x", &domain), -ETIMEDOUT);
	assert_int_equal(ephlvm_error_kind(h->ctx), EPHLVM_ERROR_SYSTEM);
}

static void a_record_that_was_there_stays(void **state)
{
	struct host *h = *state;
	struct eph_virt_uses uses;

	use_uri(h, "qemu+unix:///system?socket=/nonexistent/sock");
	eph_enter(h->ctx);
	eph_fail(h->ctx, EPHLVM_ERROR_BUSY, EBUSY, "vg/lv", NULL, "earlier");
	assert_int_equal(eph_virt_read(h->ctx, &uses), 0);
	assert_string_equal(ephlvm_error_message(h->ctx), "earlier");
	eph_virt_uses_clear(&uses);
}

static void one_domain_by_name_and_by_uuid(void **state)
{
	static const char *const names[] = { "runs", RUNS, NULL };
	struct host *h = *state;

	use_domains(h, DOMAIN("runs", RUNS, "", DISK("dev", "/dev/vg/a", "vda"))
			       DOMAIN("shut", SHUT, SHUT_OFF, ""));
	for (size_t i = 0; names[i]; i++) {
		struct eph_virt_domain d = { 0 };

		eph_enter(h->ctx);
		assert_int_equal(eph_virt_domain_read(h->ctx, names[i], &d), 0);
		assert_string_equal(d.name, "runs");
		assert_string_equal(d.uuid, RUNS);
		assert_true(d.active);
		assert_true(d.persistent);
		assert_non_null(strstr(d.xml, "/dev/vg/a"));
		assert_non_null(strstr(d.live_xml, "/dev/vg/a"));
		eph_virt_domain_clear(&d);
	}
}

static void domain_that_does_not_run_has_one_document(void **state)
{
	struct host *h = *state;
	struct eph_virt_domain d = { 0 };

	use_domains(h, DOMAIN("shut", SHUT, SHUT_OFF, ""));
	assert_int_equal(eph_virt_domain_read(h->ctx, "shut", &d), 0);
	assert_false(d.active);
	assert_non_null(d.xml);
	assert_null(d.live_xml);
	eph_virt_domain_clear(&d);
}

static void unknown_domain_is_not_found(void **state)
{
	static const char *const names[] = { "nobody", SHUT, "", "\x1b[31m", "--help", NULL };
	struct host *h = *state;
	struct eph_virt_domain d = { 0 };

	use_domains(h, DOMAIN("runs", RUNS, "", ""));
	for (size_t i = 0; names[i]; i++) {
		eph_enter(h->ctx);
		assert_int_equal(eph_virt_domain_read(h->ctx, names[i], &d), -ENOENT);
		assert_int_equal(ephlvm_error_kind(h->ctx), EPHLVM_ERROR_NOT_FOUND);
		assert_null(strchr(ephlvm_error_message(h->ctx), '\x1b'));
	}
	eph_enter(h->ctx);
	assert_int_equal(eph_virt_attach(h->ctx, "nobody", "<disk/>", EPH_VIRT_CONFIG), -ENOENT);
	eph_enter(h->ctx);
	assert_int_equal(eph_virt_detach(h->ctx, "nobody", "/dev/vg/lv", 100), -ENOENT);
}

/* The test driver cannot attach: libvirt's refusal arrives as an error in its own words. */
static void refusal_arrives_in_libvirts_words(void **state)
{
	struct host *h = *state;

	use_domains(h, DOMAIN("runs", RUNS, "", ""));
	eph_enter(h->ctx);
	assert_int_equal(eph_virt_attach(h->ctx, "runs", DISK("dev", "/dev/vg/lv", "vdb"),
					 EPH_VIRT_CONFIG | EPH_VIRT_LIVE),
			 -EIO);
	assert_int_equal(ephlvm_error_kind(h->ctx), EPHLVM_ERROR_SYSTEM);
	assert_non_null(strstr(ephlvm_error_message(h->ctx), "not supported"));
	/* Nothing to detach is done already. */
	eph_enter(h->ctx);
	assert_int_equal(eph_virt_detach(h->ctx, "runs", "/dev/vg/lv", 100), 0);
}

/* A document beyond what we read makes the whole answer "not asked": never a shorter list. */
static void one_unreadable_domain_spoils_the_answer(void **state)
{
	struct host *h = *state;
	struct eph_virt_uses uses;
	size_t size = (size_t)1 << 20, n = 0;
	char *text = malloc(16 * size);

	assert_non_null(text);
	/* libvirt keeps the metadata of an application as it is, whatever its size. */
	n += (size_t)sprintf(text,
			     "%s<domain type='test'><name>big</name><memory>1</memory>"
			     "<metadata><a:b xmlns:a='urn:a'>",
			     DOMAIN("runs", RUNS, "", DISK("dev", "/dev/vg/a", "vda")));
	memset(text + n, 'x', 9 * size);
	n += 9 * size;
	sprintf(text + n, "</a:b></metadata><os><type>hvm</type></os></domain>");
	use_domains(h, text);
	free(text);
	read_uses(h, &uses);
	assert_false(uses.asked);
	assert_int_equal(uses.n, 0);
	assert_non_null(uses.why);
	eph_virt_uses_clear(&uses);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(every_domain_is_read),
		T(no_domain_is_an_answer),
		T(links_are_followed_to_the_device),
		cmocka_unit_test(spellings_of_one_volume),
		T(not_reached_is_not_asked),
		T(environment_has_no_say),
		T(hanging_daemon_is_left_at_the_deadline),
		T(a_record_that_was_there_stays),
		T(one_domain_by_name_and_by_uuid),
		T(domain_that_does_not_run_has_one_document),
		T(unknown_domain_is_not_found),
		T(refusal_arrives_in_libvirts_words),
		T(one_unreadable_domain_spoils_the_answer),
	};

	return cmocka_run_group_tests_name("virt", tests, NULL, NULL);
}
