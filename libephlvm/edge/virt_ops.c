// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * virt_ops.c - the verbs of the libvirt edge, inside the program ephlvm-virt.
 * The only file that includes libvirt's headers. Owns connections for the time of one verb. May
 * block for ever: whoever started the program has the deadline. Must not decide whether a volume
 * may be attached or detached.
 */
#include "edge/virt_ops.h"

#include <errno.h>
#include <mntent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include "pure/domxml.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/text.h"

/* How often the running domain is looked at while the guest gives a disk up. */
#define POLL_MS 200
/*
 * How often the guest is asked again: one that is still booting drops the first request. QEMU
 * refuses a second one within about five seconds.
 */
#ifndef EPH_VIRT_RESEND_MS
#define EPH_VIRT_RESEND_MS 6000
#endif

static void conn_closep(virConnectPtr *conn)
{
	if (*conn)
		virConnectClose(*conn);
}
#define _cleanup_conn_ __attribute__((cleanup(conn_closep)))

static void dom_freep(virDomainPtr *dom)
{
	if (*dom)
		virDomainFree(*dom);
}
#define _cleanup_dom_ __attribute__((cleanup(dom_freep)))

static void domain_clearp(struct eph_virt_domain *domain)
{
	eph_virt_domain_clear(domain);
}
#define _cleanup_domain_ __attribute__((cleanup(domain_clearp)))

static void quiet(void *data, virErrorPtr error)
{
	(void)data;
	(void)error;
}

void eph_virt_ops_init(void)
{
	virSetErrorFunc(NULL, quiet);
}

static bool is_denial(const virError *error)
{
	switch (error->code) {
	case VIR_ERR_AUTH_FAILED:
	case VIR_ERR_AUTH_CANCELLED:
	case VIR_ERR_AUTH_UNAVAILABLE:
	case VIR_ERR_OPERATION_DENIED:
	case VIR_ERR_ACCESS_DENIED:
		return true;
	case VIR_ERR_SYSTEM_ERROR:
		return error->int1 == EACCES || error->int1 == EPERM;
	default:
		return false;
	}
}

/* The record for libvirt's last error; @doing completes "libvirt could not ...". */
static int virt_fail(struct ephlvm_ctx *ctx, const char *subject, const char *doing)
{
	const virError *error = virGetLastError();
	const char *words = error && error->message ? error->message : "no reason given";

	if (error && error->code == VIR_ERR_NO_DOMAIN)
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, subject,
				"see virsh list --all", "libvirt knows no domain \"%s\"", subject);
	if (error && is_denial(error))
		return eph_fail(ctx, EPHLVM_ERROR_PERMISSION, EACCES, subject, "run it as root",
				"libvirt refused to %s: %s", doing, words);
	return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, subject,
			"see whether libvirtd runs, and its log", "libvirt could not %s: %s", doing,
			words);
}

static int connect_to(struct ephlvm_ctx *ctx, const char *uri, bool write, virConnectPtr *ret_conn)
{
	*ret_conn = write ? virConnectOpen(uri) : virConnectOpenReadOnly(uri);
	if (!*ret_conn)
		return virt_fail(ctx, uri, "open a connection");
	return 0;
}

static bool no_domain(void)
{
	const virError *error = virGetLastError();

	return error && error->code == VIR_ERR_NO_DOMAIN;
}

/* A UUID first: a domain could bear another one's UUID as its name. */
static int find_domain(struct ephlvm_ctx *ctx, virConnectPtr conn, const char *domain,
		       virDomainPtr *ret_dom)
{
	char uuid[EPH_UUID_TEXT];

	*ret_dom = NULL;
	if (eph_uuid_normalise(domain, uuid) == 0) {
		*ret_dom = virDomainLookupByUUIDString(conn, uuid);
		if (!*ret_dom && !no_domain())
			return virt_fail(ctx, domain, "look for the domain");
	}
	if (!*ret_dom)
		*ret_dom = virDomainLookupByName(conn, domain);
	return *ret_dom ? 0 : virt_fail(ctx, domain, "look for the domain");
}

static int read_documents(struct ephlvm_ctx *ctx, virDomainPtr dom, struct eph_virt_domain *d)
{
	char uuid[VIR_UUID_STRING_BUFLEN];
	const char *name = virDomainGetName(dom);
	int active, persistent;

	if (!name || virDomainGetUUIDString(dom, uuid) < 0)
		return virt_fail(ctx, name ? name : "", "name a domain");
	d->name = strdup(name);
	d->uuid = strdup(uuid);
	if (!d->name || !d->uuid)
		return eph_fail_oom(ctx);
	active = virDomainIsActive(dom);
	persistent = active < 0 ? -1 : virDomainIsPersistent(dom);
	if (persistent < 0)
		return virt_fail(ctx, name, "tell the state of the domain");
	d->active = active > 0;
	d->persistent = persistent > 0;
	if (d->active) {
		d->live_xml = virDomainGetXMLDesc(dom, 0);
		if (!d->live_xml)
			return virt_fail(ctx, name, "give the domain's document");
	}
	if (d->persistent) {
		d->xml = virDomainGetXMLDesc(dom, VIR_DOMAIN_XML_INACTIVE);
		if (!d->xml)
			return virt_fail(ctx, name, "give the domain's document");
	}
	return 0;
}

/* --- what domains use --- */

/*
 * Is @path on a file system whose server may not answer? Looking at it could hang, and nothing
 * there is a volume of this host.
 */
static bool on_network(const char *path)
{
	static const char *const types[] = { "nfs", "nfs4", "cifs",  "smb3",   "ceph", "9p",
					     "afs", "gfs2", "ocfs2", "lustre", NULL };
	size_t best = 0;
	bool network = false;
	struct mntent *m;
	FILE *mounts = setmntent("/proc/self/mounts", "re");

	if (!mounts)
		return true;
	while ((m = getmntent(mounts))) {
		size_t len = strlen(m->mnt_dir);

		if (len < best || strncmp(path, m->mnt_dir, len) != 0 ||
		    (len > 1 && path[len] != '/' && path[len] != '\0'))
			continue;
		best = len;
		network = eph_startswith(m->mnt_type, "fuse.");
		for (size_t i = 0; types[i]; i++)
			network = network || eph_streq(m->mnt_type, types[i]);
	}
	endmntent(mounts);
	return network;
}

/* The device behind a path, links resolved; nothing is opened. */
static dev_t device_of(const char *path)
{
	struct stat st;

	if (path[0] != '/' || (!eph_startswith(path, "/dev/") && on_network(path)))
		return 0;
	if (stat(path, &st) < 0 || !S_ISBLK(st.st_mode))
		return 0;
	return st.st_rdev;
}

static bool uses_have(const struct eph_virt_uses *uses, const struct eph_virt_domain *d,
		      const char *source, const char *target)
{
	for (size_t i = uses->n; i-- > 0;) {
		const struct eph_virt_use *u = &uses->uses[i];

		if (!eph_streq(u->domain_uuid, d->uuid))
			return false;
		if (eph_streq(u->source, source) && (!target || eph_streq(u->target, target)))
			return true;
	}
	return false;
}

static int add_use(struct ephlvm_ctx *ctx, struct eph_virt_uses *uses,
		   const struct eph_virt_domain *d, const char *source, const char *target,
		   bool live)
{
	struct eph_virt_use *u, *grown;

	if (uses_have(uses, d, source, target))
		return 0;
	/* Room for a power of two: grown when the count reaches one. */
	if ((uses->n & (uses->n - 1)) == 0) {
		grown = realloc(uses->uses, (uses->n ? uses->n * 2 : 1) * sizeof(*grown));
		if (!grown)
			return eph_fail_oom(ctx);
		uses->uses = grown;
	}
	u = &uses->uses[uses->n++];
	memset(u, 0, sizeof(*u));
	u->domain_name = strdup(d->name);
	u->domain_uuid = strdup(d->uuid);
	u->source = strdup(source);
	u->target = target ? strdup(target) : NULL;
	if (!u->domain_name || !u->domain_uuid || !u->source || (target && !u->target))
		return eph_fail_oom(ctx);
	u->devno = device_of(source);
	u->active = d->active;
	u->live = live;
	return 0;
}

static int add_document(struct ephlvm_ctx *ctx, struct eph_virt_uses *uses,
			const struct eph_virt_domain *d, const char *xml, bool live)
{
	__attribute__((cleanup(eph_domxml_disks_clear))) struct eph_domxml_disks disks = { 0 };
	int r;

	r = eph_domxml_read_disks(ctx, xml, strlen(xml), &disks);
	if (r < 0)
		return r;
	for (size_t i = 0; i < disks.n; i++) {
		if (!disks.disks[i].source)
			continue;
		r = add_use(ctx, uses, d, disks.disks[i].source, disks.disks[i].target, live);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < disks.paths.n; i++) {
		r = add_use(ctx, uses, d, disks.paths.v[i], NULL, live);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_domain(struct ephlvm_ctx *ctx, struct eph_virt_uses *uses, virDomainPtr dom)
{
	_cleanup_domain_ struct eph_virt_domain d = { 0 };
	struct eph_error gone;
	int r;

	r = read_documents(ctx, dom, &d);
	if (r == -ENOENT) {
		gone = eph_error_take(ctx);
		eph_error_clear(&gone);
		return 0;
	}
	if (r == 0 && d.live_xml)
		r = add_document(ctx, uses, &d, d.live_xml, true);
	if (r == 0 && d.xml)
		r = add_document(ctx, uses, &d, d.xml, false);
	return r;
}

int eph_virt_ops_read(struct ephlvm_ctx *ctx, const char *uri, struct eph_virt_uses *ret_uses)
{
	__attribute__((cleanup(eph_virt_uses_clear))) struct eph_virt_uses uses = { .asked = true };
	_cleanup_conn_ virConnectPtr conn = NULL;
	virDomainPtr *doms = NULL;
	int r, n;

	r = connect_to(ctx, uri, false, &conn);
	if (r < 0)
		return r;
	n = virConnectListAllDomains(conn, &doms, 0);
	if (n < 0)
		return virt_fail(ctx, uri, "list the domains");
	for (int i = 0; i < n; i++) {
		if (r == 0)
			r = add_domain(ctx, &uses, doms[i]);
		virDomainFree(doms[i]);
	}
	free(doms);
	if (r < 0)
		return r;
	*ret_uses = uses;
	memset(&uses, 0, sizeof(uses));
	return 0;
}

int eph_virt_ops_domain(struct ephlvm_ctx *ctx, const char *uri, const char *domain,
			struct eph_virt_domain *ret_domain)
{
	_cleanup_domain_ struct eph_virt_domain d = { 0 };
	_cleanup_conn_ virConnectPtr conn = NULL;
	_cleanup_dom_ virDomainPtr dom = NULL;
	int r;

	r = connect_to(ctx, uri, false, &conn);
	if (r < 0)
		return r;
	r = find_domain(ctx, conn, domain, &dom);
	if (r < 0)
		return r;
	r = read_documents(ctx, dom, &d);
	if (r < 0)
		return r;
	*ret_domain = d;
	memset(&d, 0, sizeof(d));
	return 0;
}

/* --- attach --- */

static unsigned int affect_flags(unsigned int where)
{
	return (where & EPH_VIRT_CONFIG ? VIR_DOMAIN_AFFECT_CONFIG : 0) |
	       (where & EPH_VIRT_LIVE ? VIR_DOMAIN_AFFECT_LIVE : 0);
}

int eph_virt_ops_attach(struct ephlvm_ctx *ctx, const char *uri, const char *domain,
			const char *disk_xml, unsigned int where)
{
	_cleanup_conn_ virConnectPtr conn = NULL;
	_cleanup_dom_ virDomainPtr dom = NULL;
	int r;

	r = connect_to(ctx, uri, true, &conn);
	if (r < 0)
		return r;
	r = find_domain(ctx, conn, domain, &dom);
	if (r < 0)
		return r;
	if (virDomainAttachDeviceFlags(dom, disk_xml, affect_flags(where)) < 0)
		return virt_fail(ctx, domain, "attach the disk");
	return 0;
}

/* --- detach --- */

struct detach {
	virDomainPtr dom;
	const char *domain, *source;
	dev_t devno;
};

static void write_escaped(FILE *out, const char *s)
{
	for (; *s; s++) {
		if (strchr("&<>'\"", *s) || (unsigned char)*s < 0x20)
			fprintf(out, "&#%u;", (unsigned int)(unsigned char)*s);
		else
			fputc(*s, out);
	}
}

/* The element that names a disk for libvirt, which finds it by its target. */
static int write_element(struct ephlvm_ctx *ctx, const struct eph_domxml_disk *disk,
			 char **ret_element)
{
	_cleanup_free_ char *text = NULL;
	size_t text_bytes;
	bool bad;
	FILE *out = open_memstream(&text, &text_bytes);

	if (!out)
		return eph_fail_oom(ctx);
	fputs("<disk type='block' device='disk'><source dev='", out);
	write_escaped(out, disk->source);
	fputs("'/><target dev='", out);
	write_escaped(out, disk->target);
	if (disk->bus) {
		fputs("' bus='", out);
		write_escaped(out, disk->bus);
	}
	fputs("'/></disk>", out);
	bad = ferror(out);
	if (fclose(out) != 0 || bad)
		return eph_fail_oom(ctx);
	*ret_element = eph_steal(text);
	return 0;
}

/* The element of our disk in @xml; NULL where it is not there, or @xml is NULL. */
static int find_disk(struct ephlvm_ctx *ctx, const struct detach *job, const char *xml,
		     char **ret_element)
{
	__attribute__((cleanup(eph_domxml_disks_clear))) struct eph_domxml_disks disks = { 0 };
	int r;

	*ret_element = NULL;
	if (!xml)
		return 0;
	r = eph_domxml_read_disks(ctx, xml, strlen(xml), &disks);
	if (r < 0)
		return r;
	for (size_t i = 0; i < disks.n; i++) {
		const struct eph_domxml_disk *disk = &disks.disks[i];

		if (!disk->source || !disk->target)
			continue;
		if (eph_domxml_same_device(disk->source, job->source) ||
		    (job->devno != 0 && device_of(disk->source) == job->devno))
			return write_element(ctx, disk, ret_element);
	}
	return 0;
}

/* The same in the domain as it is now. A domain that is gone has no disks. */
static int find_now(struct ephlvm_ctx *ctx, const struct detach *job, bool live, char **ret_element)
{
	_cleanup_domain_ struct eph_virt_domain d = { 0 };
	struct eph_error gone;
	int r;

	*ret_element = NULL;
	r = read_documents(ctx, job->dom, &d);
	if (r == -ENOENT) {
		gone = eph_error_take(ctx);
		eph_error_clear(&gone);
		return 0;
	}
	return r < 0 ? r : find_disk(ctx, job, live ? d.live_xml : d.xml, ret_element);
}

/* After a refusal: 0 where the disk is gone all the same, else the refusal with its record. */
static int unless_gone(struct ephlvm_ctx *ctx, const struct detach *job, bool live, int refusal)
{
	_cleanup_free_ char *left = NULL;
	struct eph_error record = eph_error_take(ctx), later;
	int r = find_now(ctx, job, live, &left);

	if (r == 0 && !left) {
		eph_error_clear(&record);
		return 0;
	}
	later = eph_error_take(ctx);
	eph_error_clear(&later);
	eph_error_give(ctx, &record);
	return refusal;
}

static int detach_config(struct ephlvm_ctx *ctx, const struct detach *job)
{
	_cleanup_free_ char *element = NULL, *left = NULL;
	int r;

	r = find_now(ctx, job, false, &element);
	if (r < 0 || !element)
		return r;
	if (virDomainDetachDeviceFlags(job->dom, element, VIR_DOMAIN_AFFECT_CONFIG) < 0)
		return unless_gone(ctx, job, false,
				   virt_fail(ctx, job->domain,
					     "detach the disk from the definition"));
	r = find_now(ctx, job, false, &left);
	if (r < 0 || !left)
		return r;
	return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, job->domain, "see virsh dumpxml",
			"libvirt said that the disk is out of the definition, and it is not");
}

/*
 * Ask the guest. Refusals that only say "I am at it already" are none, and neither is one for a disk
 * that has just gone: the document decides that.
 */
static int ask_guest(struct ephlvm_ctx *ctx, const struct detach *job, const char *element,
		     bool first)
{
	const virError *error;

	if (virDomainDetachDeviceFlags(job->dom, element, VIR_DOMAIN_AFFECT_LIVE) == 0)
		return 0;
	error = virGetLastError();
	if (!first || (error && error->message && strstr(error->message, "process of unplug")))
		return 0;
	return unless_gone(ctx, job, true,
			   virt_fail(ctx, job->domain, "detach the disk from the running domain"));
}

static int detach_live(struct ephlvm_ctx *ctx, const struct detach *job, unsigned int timeout_ms)
{
	const struct timespec pause = { .tv_nsec = POLL_MS * 1000000L };
	int64_t deadline = eph_now_ms() + timeout_ms, asked = 0;
	bool first = true;
	int r;

	for (;;) {
		_cleanup_free_ char *element = NULL;

		r = find_now(ctx, job, true, &element);
		if (r < 0 || !element)
			return r;
		if (first || eph_now_ms() - asked >= EPH_VIRT_RESEND_MS) {
			r = ask_guest(ctx, job, element, first);
			if (r < 0)
				return r;
			first = false;
			asked = eph_now_ms();
			continue;
		}
		if (eph_now_ms() >= deadline)
			return eph_fail(ctx, EPHLVM_ERROR_BUSY, ETIMEDOUT, job->domain,
					"unmount it in the guest and try again, or shut the domain "
					"down",
					"the guest of domain \"%s\" keeps the disk", job->domain);
		nanosleep(&pause, NULL);
	}
}

int eph_virt_ops_detach(struct ephlvm_ctx *ctx, const char *uri, const char *domain,
			const char *source, unsigned int timeout_ms)
{
	_cleanup_conn_ virConnectPtr conn = NULL;
	_cleanup_dom_ virDomainPtr dom = NULL;
	struct detach job = { .domain = domain, .source = source };
	int r;

	r = connect_to(ctx, uri, true, &conn);
	if (r < 0)
		return r;
	r = find_domain(ctx, conn, domain, &dom);
	if (r < 0)
		return r;
	job.dom = dom;
	job.devno = device_of(source);
	/* The definition first: whatever the guest does, the next start is without the disk. */
	r = detach_config(ctx, &job);
	return r < 0 ? r : detach_live(ctx, &job, timeout_ms);
}
