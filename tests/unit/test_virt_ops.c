// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The verbs of ephlvm-virt on a libvirt of the test's own: the functions of its client library that
 * are used are defined here, and nothing links the real one. A guest that gives its disk up late,
 * never, or only when asked twice; refusals that mean something and such that mean nothing.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include "core/context.h"
#include "edge/virt_ops.h"
#include "failing_alloc.h"

#define UUID "11111111-1111-1111-1111-111111111111"
#define OURS "/dev/vg/" UUID "_disk.eph0"

struct disk {
	const char *source, *target; /* source NULL: no disk in this place */
};

/* The one domain that the fake libvirt knows, and what it is told to do. */
static struct {
	bool unreachable, denied;
	bool exists, active, persistent;
	struct disk config[3], live[3];
	bool gone_while_read; /* the domain ends between list and document */
	int give_up_after; /* reads of the live document until the guest gives the disk up; -1 never */
	int ignored; /* requests that the guest does not hear */
	int busy_errors; /* requests that QEMU refuses, being at it already */
	bool later_fail; /* every request but the first is refused, in other words */
	bool fails; /* a change is refused, nothing done */
	bool fails_yet_done; /* a change is refused, and was made all the same */
	bool ends_on_detach; /* the domain shuts down instead */

	/* what was seen */
	int opens, closes, write_opens, requests;
	bool pending;
	unsigned int attach_flags;
	char attach_xml[512];
	char detach_xml[512];
	bool lies; /* a change is said to be made, and is not */
} fake;

static virError last_error;
static char last_words[128];

static int fail_with(int code, const char *words)
{
	memset(&last_error, 0, sizeof(last_error));
	last_error.code = code;
	snprintf(last_words, sizeof(last_words), "%s", words);
	last_error.message = last_words;
	return -1;
}

virErrorPtr virGetLastError(void)
{
	return last_error.code ? &last_error : NULL;
}

void virSetErrorFunc(void *data, virErrorFunc handler)
{
	(void)data;
	(void)handler;
}

static virConnectPtr open_fake(void)
{
	if (fake.unreachable)
		fail_with(VIR_ERR_SYSTEM_ERROR, "no such socket");
	else if (fake.denied)
		fail_with(VIR_ERR_AUTH_FAILED, "polkit says no");
	else
		fake.opens++;
	return fake.unreachable || fake.denied ? NULL : (virConnectPtr)&fake;
}

virConnectPtr virConnectOpen(const char *uri)
{
	(void)uri;
	fake.write_opens++;
	return open_fake();
}

virConnectPtr virConnectOpenReadOnly(const char *uri)
{
	(void)uri;
	return open_fake();
}

int virConnectClose(virConnectPtr conn)
{
	(void)conn;
	fake.closes++;
	return 0;
}

static virDomainPtr dom_or_error(bool match)
{
	if (match && fake.exists)
		return (virDomainPtr)&fake;
	fail_with(VIR_ERR_NO_DOMAIN, "Domain not found");
	return NULL;
}

virDomainPtr virDomainLookupByUUIDString(virConnectPtr conn, const char *uuid)
{
	(void)conn;
	return dom_or_error(strcmp(uuid, UUID) == 0);
}

virDomainPtr virDomainLookupByName(virConnectPtr conn, const char *name)
{
	(void)conn;
	return dom_or_error(strcmp(name, "guest") == 0);
}

void *__real_malloc(size_t n);

int virConnectListAllDomains(virConnectPtr conn, virDomainPtr **doms, unsigned int flags)
{
	(void)conn;
	(void)flags;
	/* libvirt's own memory: not one of the allocations that are made to fail. */
	*doms = __real_malloc(2 * sizeof(**doms));
	assert_non_null(*doms);
	(*doms)[0] = (virDomainPtr)&fake;
	return fake.exists ? 1 : 0;
}

int virDomainFree(virDomainPtr dom)
{
	(void)dom;
	return 0;
}

const char *virDomainGetName(virDomainPtr dom)
{
	(void)dom;
	return "guest";
}

int virDomainGetUUIDString(virDomainPtr dom, char *buf)
{
	(void)dom;
	strcpy(buf, UUID);
	return 0;
}

int virDomainIsActive(virDomainPtr dom)
{
	(void)dom;
	if (!fake.exists || fake.gone_while_read)
		return fail_with(VIR_ERR_NO_DOMAIN, "Domain not found");
	return fake.active;
}

int virDomainIsPersistent(virDomainPtr dom)
{
	(void)dom;
	return fake.persistent;
}

static void drop(struct disk *disks, const char *target_text)
{
	char want[64];

	for (size_t i = 0; i < 3; i++) {
		if (!disks[i].source)
			continue;
		snprintf(want, sizeof(want), "<target dev='%s'", disks[i].target);
		if (strstr(target_text, want))
			disks[i].source = NULL;
	}
}

static void guest_gives_up(void)
{
	for (size_t i = 0; i < 3; i++)
		if (fake.live[i].source && strcmp(fake.live[i].source, OURS) == 0)
			fake.live[i].source = NULL;
}

char *virDomainGetXMLDesc(virDomainPtr dom, unsigned int flags)
{
	bool config = flags & VIR_DOMAIN_XML_INACTIVE;
	const struct disk *disks = config ? fake.config : fake.live;
	char *text = NULL;
	size_t text_bytes;
	FILE *out = open_memstream(&text, &text_bytes);

	(void)dom;
	assert_non_null(out);
	if (!config && fake.pending && fake.give_up_after >= 0 && fake.give_up_after-- == 0)
		guest_gives_up();
	fputs("<domain type='kvm'><name>guest</name><uuid>" UUID "</uuid><os><type>hvm</type></os>"
	      "<devices>",
	      out);
	for (size_t i = 0; i < 3; i++)
		if (disks[i].source)
			fprintf(out,
				"<disk type='block' device='disk'><source dev='%s'/>"
				"<target dev='%s' bus='virtio'/></disk>",
				disks[i].source, disks[i].target);
	fputs("</devices></domain>", out);
	assert_int_equal(fclose(out), 0);
	return text;
}

int virDomainAttachDeviceFlags(virDomainPtr dom, const char *xml, unsigned int flags)
{
	(void)dom;
	fake.attach_flags = flags;
	snprintf(fake.attach_xml, sizeof(fake.attach_xml), "%s", xml);
	if (fake.fails)
		return fail_with(VIR_ERR_OPERATION_FAILED, "target vdb already exists");
	return 0;
}

int virDomainDetachDeviceFlags(virDomainPtr dom, const char *xml, unsigned int flags)
{
	(void)dom;
	snprintf(fake.detach_xml, sizeof(fake.detach_xml), "%s", xml);
	if (fake.fails_yet_done || (!fake.fails && !fake.lies))
		if (flags & VIR_DOMAIN_AFFECT_CONFIG)
			drop(fake.config, xml);
	if (!(flags & VIR_DOMAIN_AFFECT_LIVE))
		return fake.fails ? fail_with(VIR_ERR_INTERNAL_ERROR, "disk is full") : 0;
	fake.requests++;
	if (fake.ends_on_detach) {
		fake.exists = false;
		return fail_with(VIR_ERR_NO_DOMAIN, "Domain not found");
	}
	if (fake.fails) {
		if (fake.fails_yet_done)
			guest_gives_up();
		return fail_with(VIR_ERR_INTERNAL_ERROR, "monitor is gone");
	}
	if (fake.later_fail && fake.requests > 1)
		return fail_with(VIR_ERR_OPERATION_FAILED, "unplug of device was rejected");
	if (fake.busy_errors > 0) {
		fake.busy_errors--;
		fake.pending = true;
		return fail_with(VIR_ERR_INTERNAL_ERROR,
				 "unable to execute QEMU command 'device_del': Device virtio-disk1 "
				 "is already in the process of unplug");
	}
	if (fake.ignored > 0)
		fake.ignored--;
	else
		fake.pending = true;
	return 0;
}

static int setup(void **state)
{
	struct ephlvm_ctx *ctx;

	memset(&fake, 0, sizeof(fake));
	memset(&last_error, 0, sizeof(last_error));
	fake.exists = fake.active = fake.persistent = true;
	fake.config[0] = fake.live[0] = (struct disk){ "/dev/vg/root", "vda" };
	fake.config[1] = fake.live[1] = (struct disk){ OURS, "vdb" };
	assert_int_equal(ephlvm_ctx_new(&ctx), 0);
	*state = ctx;
	return 0;
}

static int teardown(void **state)
{
	ephlvm_ctx_unref(*state);
	assert_int_equal(fake.opens, fake.closes);
	return 0;
}

static int detach(struct ephlvm_ctx *ctx, unsigned int timeout_ms)
{
	eph_enter(ctx);
	return eph_virt_ops_detach(ctx, "qemu:///system", "guest", OURS, timeout_ms);
}

static void root_is_still_there(void)
{
	assert_string_equal(fake.config[0].source, "/dev/vg/root");
	assert_string_equal(fake.live[0].source, "/dev/vg/root");
}

static void detach_takes_it_out_of_both(void **state)
{
	assert_int_equal(detach(*state, 5000), 0);
	assert_null(fake.config[1].source);
	assert_null(fake.live[1].source);
	root_is_still_there();
	assert_int_equal(fake.requests, 1);
	/* A second time there is nothing to do, and nothing is asked. */
	assert_int_equal(detach(*state, 5000), 0);
	assert_int_equal(fake.requests, 1);
}

static void detach_finds_each_by_its_own_target(void **state)
{
	fake.config[1] = (struct disk){ "/dev/vg/other", "vdb" };
	fake.config[2] = (struct disk){ OURS, "vdc" };
	assert_int_equal(detach(*state, 5000), 0);
	assert_string_equal(fake.config[1].source, "/dev/vg/other");
	assert_null(fake.config[2].source);
	assert_null(fake.live[1].source);
	root_is_still_there();
}

static void detach_knows_the_mapper_name(void **state)
{
	fake.active = false;
	fake.config[1].source = "/dev/mapper/vg-11111111--1111--1111--1111--111111111111_disk.eph0";
	assert_int_equal(detach(*state, 5000), 0);
	assert_null(fake.config[1].source);
	assert_int_equal(fake.requests, 0);
}

static void detach_escapes_what_the_document_says(void **state)
{
	fake.active = false;
	fake.lies = true;
	fake.config[1] = (struct disk){ OURS "&apos;", "v&quot;&lt;" };
	eph_enter(*state);
	assert_int_equal(eph_virt_ops_detach(*state, "", "guest", OURS "'", 100), -EIO);
	assert_non_null(strstr(fake.detach_xml, "<source dev='" OURS "&#39;'/>"));
	assert_non_null(strstr(fake.detach_xml, "<target dev='v&#34;&#60;' bus='virtio'/>"));
}

static void said_and_not_done_is_an_error(void **state)
{
	fake.active = false;
	fake.lies = true;
	assert_int_equal(detach(*state, 100), -EIO);
	assert_non_null(strstr(ephlvm_error_message(*state), "it is not"));
}

static void detach_waits_for_the_guest(void **state)
{
	fake.give_up_after = 3;
	assert_int_equal(detach(*state, 20000), 0);
	assert_null(fake.live[1].source);
}

static void detach_asks_a_deaf_guest_again(void **state)
{
	fake.ignored = 2;
	assert_int_equal(detach(*state, 20000), 0);
	assert_int_equal(fake.requests, 3);
	assert_null(fake.live[1].source);
}

static void unplug_under_way_is_no_failure(void **state)
{
	fake.busy_errors = 1;
	fake.give_up_after = 1;
	assert_int_equal(detach(*state, 20000), 0);
	assert_null(fake.live[1].source);
}

/* Once the guest was asked, only the document and the deadline end the waiting. */
static void later_refusals_are_waited_out(void **state)
{
	fake.later_fail = true;
	fake.give_up_after = 3;
	assert_int_equal(detach(*state, 20000), 0);
	assert_true(fake.requests > 1);
	assert_null(fake.live[1].source);
}

static void guest_that_keeps_it_is_busy(void **state)
{
	struct ephlvm_ctx *ctx = *state;

	fake.give_up_after = -1;
	assert_int_equal(detach(ctx, 100), -ETIMEDOUT);
	assert_int_equal(ephlvm_error_kind(ctx), EPHLVM_ERROR_BUSY);
	assert_non_null(strstr(ephlvm_error_message(ctx), "\"guest\""));
	/* The next start is without it all the same. */
	assert_null(fake.config[1].source);
	assert_string_equal(fake.live[1].source, OURS);
}

static void refused_detach_is_told(void **state)
{
	struct ephlvm_ctx *ctx = *state;

	fake.fails = true;
	assert_int_equal(detach(ctx, 100), -EIO);
	assert_non_null(strstr(ephlvm_error_message(ctx), "disk is full"));
	assert_string_equal(fake.config[1].source, OURS);
	fake.persistent = false;
	assert_int_equal(detach(ctx, 100), -EIO);
	assert_non_null(strstr(ephlvm_error_message(ctx), "monitor is gone"));
}

static void refused_yet_done_is_done(void **state)
{
	struct ephlvm_ctx *ctx = *state;

	fake.fails = fake.fails_yet_done = true;
	assert_int_equal(detach(ctx, 100), 0);
	assert_int_equal(ephlvm_error_kind(ctx), EPHLVM_ERROR_NONE);
	assert_null(fake.config[1].source);
	assert_null(fake.live[1].source);
}

static void domain_that_ends_has_no_disk(void **state)
{
	fake.persistent = false;
	fake.ends_on_detach = true;
	assert_int_equal(detach(*state, 5000), 0);
}

static void attach_passes_text_and_place(void **state)
{
	struct ephlvm_ctx *ctx = *state;

	assert_int_equal(
		eph_virt_ops_attach(ctx, "", UUID, "<disk/>", EPH_VIRT_CONFIG | EPH_VIRT_LIVE), 0);
	assert_string_equal(fake.attach_xml, "<disk/>");
	assert_int_equal(fake.attach_flags, VIR_DOMAIN_AFFECT_CONFIG | VIR_DOMAIN_AFFECT_LIVE);
	assert_int_equal(eph_virt_ops_attach(ctx, "", UUID, "<disk/>", EPH_VIRT_LIVE), 0);
	assert_int_equal(fake.attach_flags, VIR_DOMAIN_AFFECT_LIVE);
	fake.fails = true;
	assert_int_equal(eph_virt_ops_attach(ctx, "", UUID, "<disk/>", EPH_VIRT_LIVE), -EIO);
	assert_non_null(strstr(ephlvm_error_message(ctx), "already exists"));
}

static void no_connection_and_no_right(void **state)
{
	struct ephlvm_ctx *ctx = *state;
	struct eph_virt_uses uses = { 0 };

	fake.unreachable = true;
	assert_int_equal(eph_virt_ops_read(ctx, "qemu:///system", &uses), -EIO);
	assert_false(uses.asked);
	fake.unreachable = false;
	fake.denied = true;
	eph_enter(ctx);
	assert_int_equal(eph_virt_ops_attach(ctx, "", "guest", "<disk/>", EPH_VIRT_LIVE), -EACCES);
	assert_int_equal(ephlvm_error_kind(ctx), EPHLVM_ERROR_PERMISSION);
}

static void reading_cannot_write(void **state)
{
	struct ephlvm_ctx *ctx = *state;
	struct eph_virt_uses uses = { 0 };
	struct eph_virt_domain d = { 0 };

	assert_int_equal(eph_virt_ops_read(ctx, "", &uses), 0);
	assert_int_equal(eph_virt_ops_domain(ctx, "", "guest", &d), 0);
	assert_int_equal(fake.write_opens, 0);
	assert_int_equal(fake.opens, 2);
	eph_virt_uses_clear(&uses);
	eph_virt_domain_clear(&d);
}

/* The same disk in both documents is one use, a live one; what is in one alone says which. */
static void uses_say_where_they_are(void **state)
{
	struct eph_virt_uses uses = { 0 };

	fake.config[2] = (struct disk){ "/dev/vg/next", "vdc" };
	assert_int_equal(eph_virt_ops_read(*state, "", &uses), 0);
	assert_int_equal(uses.n, 3);
	for (size_t i = 0; i < uses.n; i++)
		assert_int_equal(uses.uses[i].live, strcmp(uses.uses[i].target, "vdc") != 0);
	eph_virt_uses_clear(&uses);
}

static void domain_that_goes_while_read_is_left_out(void **state)
{
	struct ephlvm_ctx *ctx = *state;
	struct eph_virt_uses uses = { 0 };

	fake.gone_while_read = true;
	assert_int_equal(eph_virt_ops_read(ctx, "", &uses), 0);
	assert_true(uses.asked);
	assert_int_equal(uses.n, 0);
	assert_int_equal(ephlvm_error_kind(ctx), EPHLVM_ERROR_NONE);
	eph_virt_uses_clear(&uses);
}

static void each_allocation_may_fail(void **state)
{
	struct ephlvm_ctx *ctx = *state;
	bool reached = true;

	for (unsigned int nth = 0; reached; nth++) {
		struct eph_virt_uses uses = { 0 };
		struct eph_virt_domain d = { 0 };
		int r_read, r_domain, r_detach;

		setup(state);
		ephlvm_ctx_unref(ctx);
		ctx = *state;
		fake.config[2] = (struct disk){ "/dev/vg/next", "vdc" };
		failing_alloc_arm(nth);
		eph_enter(ctx);
		r_read = eph_virt_ops_read(ctx, "", &uses);
		if (r_read == 0)
			eph_enter(ctx);
		r_domain = eph_virt_ops_domain(ctx, "", "guest", &d);
		if (r_domain == 0)
			eph_enter(ctx);
		r_detach = eph_virt_ops_detach(ctx, "", "guest", OURS, 1000);
		reached = failing_alloc_disarm();
		assert_true(r_read == 0 || (r_read == -ENOMEM && !uses.asked));
		assert_true(r_domain == 0 || (r_domain == -ENOMEM && !d.name));
		/* Not known to be out: never said to be. */
		assert_true(r_detach == 0 || r_detach == -ENOMEM);
		if (r_detach == 0)
			assert_null(fake.live[1].source);
		eph_virt_uses_clear(&uses);
		eph_virt_domain_clear(&d);
		assert_int_equal(fake.opens, fake.closes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(detach_takes_it_out_of_both),	   T(detach_finds_each_by_its_own_target),
		T(detach_knows_the_mapper_name),   T(detach_escapes_what_the_document_says),
		T(said_and_not_done_is_an_error),  T(detach_waits_for_the_guest),
		T(detach_asks_a_deaf_guest_again), T(unplug_under_way_is_no_failure),
		T(later_refusals_are_waited_out),  T(guest_that_keeps_it_is_busy),
		T(refused_detach_is_told),	   T(refused_yet_done_is_done),
		T(domain_that_ends_has_no_disk),   T(attach_passes_text_and_place),
		T(no_connection_and_no_right),	   T(reading_cannot_write),
		T(uses_say_where_they_are),	   T(domain_that_goes_while_read_is_left_out),
		T(each_allocation_may_fail),
	};

	return cmocka_run_group_tests_name("virt_ops", tests, NULL, NULL);
}
