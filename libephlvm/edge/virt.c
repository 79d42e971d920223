// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * virt.c - libvirt, asked through the program ephlvm-virt with a deadline.
 * Owns starting that program, reading its answer, and comparing what domains use with a volume.
 * Must not include libvirt's headers, and must not take a failed or cut answer for an empty one.
 */
#include "edge/virt.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "edge/conffile.h"
#include "edge/virt_wire.h"
#include "pure/domxml.h"
#include "util/cleanup.h"
#include "util/spawn.h"
#include "util/text.h"

#define HELPER "ephlvm/ephlvm-virt"
#define HELPER_GRACE_MS 500
/* What the program may take beside waiting for the guest. */
#define DETACH_EXTRA_MS 30000

/* --- the program --- */

/*
 * It lies beside the library that is running, wherever that was installed or built: no search path
 * and no environment has a say. Programs that have the library inside (tests) name it at build time.
 */
static int helper_path(char **ret_path)
{
	_cleanup_free_ char *own = NULL, *path = NULL;
	Dl_info info;
	char *slash;

	if (dladdr((const void *)&eph_virt_read, &info) != 0 && info.dli_fname)
		own = realpath(info.dli_fname, NULL);
	slash = own ? strrchr(own, '/') : NULL;
	if (slash) {
		if (asprintf(&path, "%.*s/" HELPER, (int)(slash - own), own) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		if (access(path, X_OK) == 0) {
			*ret_path = eph_steal(path);
			return 0;
		}
	}
#ifdef EPH_VIRT_HELPER_BUILT
	*ret_path = strdup(EPH_VIRT_HELPER_BUILT);
	return *ret_path ? 0 : -ENOMEM;
#else
	return -ENOENT;
#endif
}

/* The answer, cut into fields. */
struct answer {
	struct eph_spawn_result result;
	const char **fields;
	size_t n, at;
};

static void answer_clear(struct answer *a)
{
	eph_spawn_result_clear(&a->result);
	free(a->fields);
}
#define _cleanup_answer_ __attribute__((cleanup(answer_clear)))

static int cut_fields(struct answer *a)
{
	const char *p = a->result.out, *end = p + a->result.out_bytes;
	size_t n = 0;

	for (const char *c = p; c < end; c++)
		n += *c == '\0';
	a->fields = calloc(n + 1, sizeof(*a->fields));
	if (!a->fields)
		return -ENOMEM;
	for (; a->n < n; p += strlen(p) + 1)
		a->fields[a->n++] = p;
	return 0;
}

/* Whole: ended by the last word, and nothing behind it. */
static bool is_whole(const struct answer *a)
{
	return a->result.status == 0 && a->n >= 2 && eph_streq(a->fields[a->n - 1], EPH_VIRT_END) &&
	       a->result.out[a->result.out_bytes - 1] == '\0';
}

static size_t left(const struct answer *a)
{
	return a->n - 1 - a->at;
}

static const char *next(struct answer *a)
{
	return left(a) > 0 ? a->fields[a->at++] : "";
}

static uint64_t next_number(struct answer *a)
{
	uint64_t n = 0;

	return eph_u64_parse(next(a), &n) < 0 ? 0 : n;
}

/* A copy of the next field; with @may_be_null NULL where it was. false when out of memory. */
static bool next_copy(struct answer *a, bool may_be_null, char **ret)
{
	bool null = may_be_null && !eph_streq(next(a), "+");
	const char *field = next(a);

	*ret = null ? NULL : strdup(field);
	return null || *ret;
}

static int not_answered(struct ephlvm_ctx *ctx, const struct answer *a, const char *uri,
			unsigned int timeout_ms)
{
	int r;

	if (a->result.timed_out)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, ETIMEDOUT, uri,
				"see whether libvirtd hangs, and its log",
				"libvirt did not answer within %u s", (timeout_ms + 999) / 1000);
	r = eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, uri, "see whether libvirt is installed",
		     "libvirt could not be asked: \"%s\" failed", HELPER);
	eph_fail_detail(ctx, a->result.status, a->result.err);
	return r;
}

static int told_failure(struct ephlvm_ctx *ctx, struct answer *a)
{
	enum ephlvm_error_kind kind = (enum ephlvm_error_kind)next_number(a);
	int errnum = (int)next_number(a);
	const char *subject = next(a), *message = next(a), *hint = next(a);

	if (kind == EPHLVM_ERROR_NONE || errnum <= 0)
		return eph_fail(ctx, EPHLVM_ERROR_INTERNAL, EIO, NULL, NULL,
				"\"%s\" failed without a reason", HELPER);
	return eph_fail(ctx, kind, errnum, subject, hint, "%s", message);
}

/* Run one verb. @args: what follows the URI, ended by NULL. */
static int ask(struct ephlvm_ctx *ctx, const char *verb, const char *const *args,
	       unsigned int timeout_ms, struct answer *a)
{
	const struct eph_config *config;
	_cleanup_free_ char *path = NULL;
	const char *argv[8];
	size_t n = 0;
	int r;
	struct eph_spawn spec = {
		.argv = argv,
		.timeout_ms = timeout_ms,
		.grace_ms = HELPER_GRACE_MS,
	};

	r = eph_config_get(ctx, &config);
	if (r < 0)
		return r;
	r = helper_path(&path);
	if (r == -ENOMEM)
		return eph_fail_oom(ctx);
	if (r < 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, ENOENT, HELPER,
				"install it beside the library",
				"libvirt could not be asked: \"%s\" is not installed", HELPER);
	argv[n++] = path;
	argv[n++] = verb;
	argv[n++] = config->libvirt_uri;
	while (*args && n < sizeof(argv) / sizeof(argv[0]) - 1)
		argv[n++] = *args++;
	argv[n] = NULL;
	r = eph_spawn_run(&spec, &a->result);
	if (r == -ENOMEM)
		return eph_fail_oom(ctx);
	if (r < 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, -r, path, NULL,
				"libvirt could not be asked: \"%s\" cannot be run: %s", path,
				strerror(-r));
	if (cut_fields(a) < 0)
		return eph_fail_oom(ctx);
	if (!is_whole(a))
		return not_answered(ctx, a, config->libvirt_uri, timeout_ms);
	return eph_streq(next(a), EPH_VIRT_DONE) ? 0 : told_failure(ctx, a);
}

/* --- reading --- */

#define FIELDS_OF_USE 8

static int take_uses(struct ephlvm_ctx *ctx, struct answer *a, struct eph_virt_uses *uses)
{
	uses->uses = calloc(left(a) / FIELDS_OF_USE + 1, sizeof(*uses->uses));
	if (!uses->uses)
		return eph_fail_oom(ctx);
	while (left(a) >= FIELDS_OF_USE) {
		struct eph_virt_use *u = &uses->uses[uses->n++];

		if (!next_copy(a, false, &u->domain_name) ||
		    !next_copy(a, false, &u->domain_uuid) || !next_copy(a, false, &u->source) ||
		    !next_copy(a, true, &u->target))
			return eph_fail_oom(ctx);
		u->devno = (dev_t)next_number(a);
		u->active = next_number(a) != 0;
		u->live = next_number(a) != 0;
	}
	if (left(a) > 0)
		return eph_fail(ctx, EPHLVM_ERROR_INTERNAL, EIO, NULL, NULL,
				"the answer of \"%s\" is not in its form", HELPER);
	uses->asked = true;
	return 0;
}

static int read_uses(struct ephlvm_ctx *ctx, struct eph_virt_uses *uses)
{
	_cleanup_answer_ struct answer a = { 0 };
	const struct eph_config *config;
	int r;

	r = eph_config_get(ctx, &config);
	if (r < 0)
		return r;
	r = ask(ctx, EPH_VIRT_VERB_READ, (const char *const[]){ NULL }, config->read_timeout_ms,
		&a);
	return r < 0 ? r : take_uses(ctx, &a, uses);
}

int eph_virt_read(struct ephlvm_ctx *ctx, struct eph_virt_uses *ret_uses)
{
	__attribute__((cleanup(eph_virt_uses_clear))) struct eph_virt_uses uses = { 0 };
	struct eph_error earlier = eph_error_take(ctx), why;
	int r;

	r = read_uses(ctx, &uses);
	/* Only a configuration that cannot be read, and no memory, are errors of this call. */
	if (r == -ENOMEM || (r < 0 && !ctx->config)) {
		eph_error_clear(&earlier);
		return r;
	}
	why = eph_error_take(ctx);
	eph_error_give(ctx, &earlier);
	if (r < 0) {
		eph_virt_uses_clear(&uses);
		uses.why = eph_steal(why.message);
	}
	eph_error_clear(&why);
	*ret_uses = uses;
	memset(&uses, 0, sizeof(uses));
	return 0;
}

void eph_virt_uses_clear(struct eph_virt_uses *uses)
{
	for (size_t i = 0; i < uses->n; i++) {
		free(uses->uses[i].domain_name);
		free(uses->uses[i].domain_uuid);
		free(uses->uses[i].source);
		free(uses->uses[i].target);
	}
	free(uses->uses);
	free(uses->why);
	memset(uses, 0, sizeof(*uses));
}

int eph_virt_domain_read(struct ephlvm_ctx *ctx, const char *domain,
			 struct eph_virt_domain *ret_domain)
{
	__attribute__((cleanup(eph_virt_domain_clear))) struct eph_virt_domain d = { 0 };
	_cleanup_answer_ struct answer a = { 0 };
	const struct eph_config *config;
	int r;

	r = eph_config_get(ctx, &config);
	if (r < 0)
		return r;
	r = ask(ctx, EPH_VIRT_VERB_DOMAIN, (const char *const[]){ domain, NULL },
		config->read_timeout_ms, &a);
	if (r < 0)
		return r;
	if (!next_copy(&a, false, &d.name) || !next_copy(&a, false, &d.uuid))
		return eph_fail_oom(ctx);
	d.active = next_number(&a) != 0;
	d.persistent = next_number(&a) != 0;
	if (!next_copy(&a, true, &d.xml) || !next_copy(&a, true, &d.live_xml))
		return eph_fail_oom(ctx);
	*ret_domain = d;
	memset(&d, 0, sizeof(d));
	return 0;
}

void eph_virt_domain_clear(struct eph_virt_domain *domain)
{
	free(domain->name);
	free(domain->uuid);
	free(domain->xml);
	free(domain->live_xml);
	memset(domain, 0, sizeof(*domain));
}

/* --- comparing --- */

/* The name that LVM gives a device: hyphens within VG and LV doubled. */
static void dm_name(const char *vg, const char *lv, char *name, size_t name_bytes)
{
	const char *parts[] = { vg, "\n", lv };
	size_t n = 0;

	for (size_t i = 0; i < 3; i++) {
		for (const char *p = parts[i]; *p && n + 2 < name_bytes; p++) {
			if (*p == '-')
				name[n++] = '-';
			name[n++] = *p == '\n' ? '-' : *p;
		}
	}
	name[n] = '\0';
}

/* @path without doubled slashes and "." parts, which libvirt keeps as they were written. */
static void squeeze(const char *path, char *out, size_t out_bytes)
{
	size_t n = 0;

	while (*path && n + 1 < out_bytes) {
		if (path[0] == '/' && path[1] == '/') {
			path++;
		} else if (path[0] == '/' && path[1] == '.' &&
			   (path[2] == '/' || path[2] == '\0')) {
			path += 2;
		} else {
			out[n++] = *path++;
		}
	}
	out[n] = '\0';
}

size_t eph_virt_find(const struct eph_virt_uses *uses, size_t from, const char *vg, const char *lv,
		     dev_t devno)
{
	char name[264], text[4][PATH_MAX], source[PATH_MAX];

	dm_name(vg, lv, name, sizeof(name));
	snprintf(text[0], sizeof(text[0]), "/dev/%s/%s", vg, lv);
	snprintf(text[1], sizeof(text[1]), "/dev/mapper/%s", name);
	snprintf(text[2], sizeof(text[2]), "/dev/disk/by-id/dm-name-%s", name);
	snprintf(text[3], sizeof(text[3]), "/dev/dm-%u", minor(devno));
	for (size_t i = from; i < uses->n; i++) {
		const struct eph_virt_use *u = &uses->uses[i];

		if (devno != 0 && u->devno == devno)
			return i + 1;
		squeeze(u->source, source, sizeof(source));
		for (size_t k = 0; k < (devno != 0 ? 4 : 3); k++)
			if (eph_streq(source, text[k]))
				return i + 1;
	}
	return 0;
}

/* --- changing --- */

int eph_virt_attach(struct ephlvm_ctx *ctx, const char *domain, const char *disk_xml,
		    unsigned int where)
{
	_cleanup_answer_ struct answer a = { 0 };
	const struct eph_config *config;
	char number[16];
	int r;

	r = eph_config_get(ctx, &config);
	if (r < 0)
		return r;
	snprintf(number, sizeof(number), "%u", where);
	r = eph_mark(ctx, "libvirt-attach");
	if (r < 0)
		return r;
	r = ask(ctx, EPH_VIRT_VERB_ATTACH, (const char *const[]){ domain, disk_xml, number, NULL },
		config->command_timeout_ms, &a);
	return r < 0 ? r : eph_mark(ctx, "libvirt-attached");
}

int eph_virt_detach(struct ephlvm_ctx *ctx, const char *domain, const char *source,
		    unsigned int timeout_ms)
{
	_cleanup_answer_ struct answer a = { 0 };
	char number[16];
	int r;

	snprintf(number, sizeof(number), "%u", timeout_ms);
	r = eph_mark(ctx, "libvirt-detach");
	if (r < 0)
		return r;
	r = ask(ctx, EPH_VIRT_VERB_DETACH, (const char *const[]){ domain, source, number, NULL },
		timeout_ms + DETACH_EXTRA_MS, &a);
	return r < 0 ? r : eph_mark(ctx, "libvirt-detached");
}
