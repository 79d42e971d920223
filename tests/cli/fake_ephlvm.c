// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * fake_ephlvm.c - see fake_ephlvm.h.
 * Owns the log of calls. Must decide nothing itself: a test says what each call answers.
 */
#include "fake_ephlvm.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct fake fake;

struct ephlvm_ctx {
	bool failed;
	enum ephlvm_log_level level;
	ephlvm_log_fn log_fn;
	void *log_data;
	ephlvm_progress_fn progress_fn;
	void *progress_data;
	ephlvm_action_fn action_fn;
	void *action_data;
};

struct ephlvm_volumes {
	size_t n;
};

struct ephlvm_pools {
	size_t n;
};

void fake_reset(void)
{
	char *calls = fake.calls;

	memset(&fake, 0, sizeof(fake));
	fake.child_status = -1;
	fake.calls_size = 8192;
	if (!calls)
		calls = mmap(NULL, fake.calls_size, PROT_READ | PROT_WRITE,
			     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (calls == MAP_FAILED)
		abort();
	calls[0] = '\0';
	fake.calls = calls;
}

static const char *dash(const char *s)
{
	return s ? s : "-";
}

__attribute__((format(printf, 1, 2))) static void called(const char *fmt, ...)
{
	size_t n = strlen(fake.calls);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(fake.calls + n, fake.calls_size - n, fmt, ap);
	va_end(ap);
}

static void called_list(const char *name, const char *const *list)
{
	called(" %s=", name);
	for (; list && *list; list++)
		called("%s,", *list);
}

/* Behind each call: its log, progress and actions, then the failure that is set. */
static int answer(struct ephlvm_ctx *ctx)
{
	called("\n");
	ctx->failed = false;
	if (fake.warning && ctx->log_fn)
		ctx->log_fn(ctx->log_data, EPHLVM_LOG_WARNING, fake.warning);
	for (size_t i = 0; ctx->progress_fn && i < fake.n_progress; i++) {
		struct ephlvm_progress progress = {
			.size = sizeof(progress),
			.step = "erase",
			.subject = "vg/lv",
			.done_bytes = (uint64_t)i << 30,
			.total_bytes = 16ULL << 30,
		};

		ctx->progress_fn(ctx->progress_data, &progress);
	}
	for (size_t i = 0; ctx->action_fn && i < fake.n_actions; i++)
		ctx->action_fn(ctx->action_data, &fake.actions[i]);
	if (fake.kind == EPHLVM_ERROR_NONE && fake.errnum == 0)
		return 0;
	ctx->failed = true;
	return -(fake.errnum ? fake.errnum : EIO);
}

const char *ephlvm_version(void)
{
	return "0.1.0";
}

int ephlvm_ctx_new(struct ephlvm_ctx **ret_ctx)
{
	*ret_ctx = calloc(1, sizeof(**ret_ctx));
	return *ret_ctx ? 0 : -ENOMEM;
}

struct ephlvm_ctx *ephlvm_ctx_ref(struct ephlvm_ctx *ctx)
{
	return ctx;
}

struct ephlvm_ctx *ephlvm_ctx_unref(struct ephlvm_ctx *ctx)
{
	free(ctx);
	return NULL;
}

int ephlvm_ctx_set_config_path(struct ephlvm_ctx *ctx, const char *path)
{
	(void)ctx;
	called("config_path %s\n", path);
	return 0;
}

void ephlvm_ctx_set_log(struct ephlvm_ctx *ctx, enum ephlvm_log_level level, ephlvm_log_fn fn,
			void *data)
{
	ctx->level = level;
	ctx->log_fn = fn;
	ctx->log_data = data;
}

void ephlvm_ctx_set_progress(struct ephlvm_ctx *ctx, ephlvm_progress_fn fn, void *data)
{
	ctx->progress_fn = fn;
	ctx->progress_data = data;
}

void ephlvm_ctx_set_action(struct ephlvm_ctx *ctx, ephlvm_action_fn fn, void *data)
{
	ctx->action_fn = fn;
	ctx->action_data = data;
}

void ephlvm_ctx_set_cancel(struct ephlvm_ctx *ctx, ephlvm_cancel_fn fn, void *data)
{
	(void)ctx;
	(void)fn;
	(void)data;
}

enum ephlvm_error_kind ephlvm_error_kind(const struct ephlvm_ctx *ctx)
{
	return ctx->failed ? fake.kind : EPHLVM_ERROR_NONE;
}

int ephlvm_error_errno(const struct ephlvm_ctx *ctx)
{
	return ctx->failed ? fake.errnum : 0;
}

#define ERROR_TEXT(field)                                              \
	const char *ephlvm_error_##field(const struct ephlvm_ctx *ctx) \
	{                                                              \
		return ctx->failed && fake.field ? fake.field : "";    \
	}

ERROR_TEXT(stage)
ERROR_TEXT(subject)
ERROR_TEXT(message)
ERROR_TEXT(hint)
ERROR_TEXT(detail)

int ephlvm_error_child_status(const struct ephlvm_ctx *ctx)
{
	return ctx->failed ? fake.child_status : -1;
}

int ephlvm_config_check(struct ephlvm_ctx *ctx, bool *ret_exists)
{
	called("config_check");
	*ret_exists = true;
	return answer(ctx);
}

int ephlvm_config_show(struct ephlvm_ctx *ctx, char **ret_json)
{
	int r;

	called("config_show");
	r = answer(ctx);
	if (r < 0)
		return r;
	*ret_json = strdup("{ }");
	return *ret_json ? 0 : -ENOMEM;
}

static int give_volumes(struct ephlvm_ctx *ctx, struct ephlvm_volumes **ret_volumes, size_t n)
{
	int r = answer(ctx);

	if (r < 0)
		return r;
	*ret_volumes = calloc(1, sizeof(**ret_volumes));
	if (!*ret_volumes)
		return -ENOMEM;
	(*ret_volumes)->n = n;
	return 0;
}

int ephlvm_create(struct ephlvm_ctx *ctx, const struct ephlvm_create_opts *opts,
		  struct ephlvm_volumes **ret_volumes)
{
	called("create %s flags=%u flavor=%s boot=%d size=%llu fs=%s pool=%s domain=%s",
	       dash(opts->instance), opts->flags, dash(opts->flavor), (int)opts->boot,
	       (unsigned long long)opts->size_bytes, dash(opts->fs), dash(opts->pool),
	       dash(opts->domain));
	called_list("disks", opts->disks);
	return give_volumes(ctx, ret_volumes, opts->flags & EPHLVM_DRY_RUN ? 0 : fake.n_volumes);
}

int ephlvm_list(struct ephlvm_ctx *ctx, const struct ephlvm_list_opts *opts,
		struct ephlvm_volumes **ret_volumes)
{
	called("list instance=%s pool=%s states=%u name=%s", dash(opts->instance), dash(opts->pool),
	       opts->states, dash(opts->name));
	return give_volumes(ctx, ret_volumes, fake.n_volumes);
}

int ephlvm_delete(struct ephlvm_ctx *ctx, const struct ephlvm_delete_opts *opts, size_t *ret_count)
{
	int r;

	called("delete %s flags=%u", opts->instance, opts->flags);
	called_list("disks", opts->disks);
	r = answer(ctx);
	if (r == 0 && ret_count)
		*ret_count = fake.n_volumes;
	return r;
}

int ephlvm_restore(struct ephlvm_ctx *ctx, const struct ephlvm_restore_opts *opts,
		   struct ephlvm_volumes **ret_volumes)
{
	called("restore %s flags=%u", opts->name, opts->flags);
	return give_volumes(ctx, ret_volumes, opts->flags & EPHLVM_DRY_RUN ? 0 : fake.n_volumes);
}

int ephlvm_hold(struct ephlvm_ctx *ctx, const struct ephlvm_hold_opts *opts, size_t *ret_count)
{
	int r;

	called("hold %s flags=%u release=%d", opts->name, opts->flags, opts->release);
	r = answer(ctx);
	if (r == 0 && ret_count)
		*ret_count = fake.n_volumes;
	return r;
}

struct ephlvm_receipts {
	size_t n;
};

int ephlvm_receipts_read(struct ephlvm_ctx *ctx, const struct ephlvm_receipts_opts *opts,
			 struct ephlvm_receipts **ret_receipts)
{
	int r;

	called("receipts %s", dash(opts->instance));
	r = answer(ctx);
	if (r < 0)
		return r;
	*ret_receipts = calloc(1, sizeof(**ret_receipts));
	if (!*ret_receipts)
		return -ENOMEM;
	while ((*ret_receipts)->n < 3 && fake.receipts[(*ret_receipts)->n])
		(*ret_receipts)->n++;
	return 0;
}

size_t ephlvm_receipts_count(const struct ephlvm_receipts *receipts)
{
	return receipts ? receipts->n : 0;
}

const char *ephlvm_receipts_at(const struct ephlvm_receipts *receipts, size_t index)
{
	return index < receipts->n ? fake.receipts[index] : NULL;
}

const char *ephlvm_receipts_broken(const struct ephlvm_receipts *receipts)
{
	(void)receipts;
	return fake.broken;
}

void ephlvm_receipts_free(struct ephlvm_receipts *receipts)
{
	free(receipts);
}

int64_t ephlvm_volume_held_at(const struct ephlvm_volume *volume)
{
	return volume->held_at;
}

int ephlvm_purge(struct ephlvm_ctx *ctx, const struct ephlvm_purge_opts *opts)
{
	called("purge flags=%u method=%s verify=%s rate=%llu", opts->flags, dash(opts->method),
	       dash(opts->verify), (unsigned long long)opts->rate_bytes_sec);
	called_list("names", opts->names);
	for (size_t i = 0; i < fake.n_volumes; i++) {
		struct ephlvm_purged purged = fake.purged[i];

		purged.size = sizeof(purged);
		purged.volume = &fake.volumes[i];
		opts->purged_fn(opts->data, &purged);
	}
	return answer(ctx);
}

int ephlvm_activate(struct ephlvm_ctx *ctx, const struct ephlvm_activate_opts *opts,
		    size_t *ret_count)
{
	int r;

	called("activate %s flags=%u", dash(opts->instance), opts->flags);
	r = answer(ctx);
	if (r == 0 && ret_count)
		*ret_count = fake.n_volumes;
	return r;
}

size_t ephlvm_volumes_count(const struct ephlvm_volumes *volumes)
{
	return volumes ? volumes->n : 0;
}

const struct ephlvm_volume *ephlvm_volumes_at(const struct ephlvm_volumes *volumes, size_t index)
{
	return volumes && index < volumes->n ? &fake.volumes[index] : NULL;
}

void ephlvm_volumes_free(struct ephlvm_volumes *volumes)
{
	free(volumes);
}

#define FIELD(noun, type, field)                                       \
	type ephlvm_##noun##_##field(const struct ephlvm_##noun *noun) \
	{                                                              \
		return noun->field;                                    \
	}

FIELD(volume, const char *, vg)
FIELD(volume, const char *, lv)
FIELD(volume, const char *, path)
FIELD(volume, const char *, lv_uuid)
FIELD(volume, const char *, instance)
FIELD(volume, const char *, disk)
FIELD(volume, const char *, flavor)
FIELD(volume, const char *, pool)
FIELD(volume, const char *, kind)
FIELD(volume, const char *, layout)
FIELD(volume, const char *, fs)
FIELD(volume, const char *, label)
FIELD(volume, const char *, pe_ranges)
FIELD(volume, const char *, erase_method)
FIELD(volume, enum ephlvm_volume_state, state)
FIELD(volume, uint64_t, size_bytes)
FIELD(volume, uint64_t, requested_bytes)
FIELD(volume, uint64_t, erase_done_bytes)
FIELD(volume, uint64_t, fail_bytes)
FIELD(volume, bool, active)
FIELD(volume, bool, open)
FIELD(volume, int64_t, changed_at)
FIELD(volume, unsigned int, erase_pass)
FIELD(volume, unsigned int, erase_passes)
FIELD(volume, int, fail_errno)

const char *ephlvm_volume_state_name(const struct ephlvm_volume *volume)
{
	switch (volume->state) {
	case EPHLVM_STATE_NEW:
		return "new";
	case EPHLVM_STATE_READY:
		return "ready";
	case EPHLVM_STATE_TRASH:
		return "trash";
	case EPHLVM_STATE_DAMAGED:
		break;
	}
	return "damaged";
}

const char *ephlvm_volume_warning_at(const struct ephlvm_volume *volume, size_t index)
{
	return index < 3 ? volume->warnings[index] : NULL;
}

int ephlvm_pool_init(struct ephlvm_ctx *ctx, const struct ephlvm_pool_init_opts *opts)
{
	called("pool_init flags=%u pool=%s vg=%s loop=%s loop_bytes=%llu no_erase=%d", opts->flags,
	       dash(opts->pool), dash(opts->vg), dash(opts->loop_file),
	       (unsigned long long)opts->loop_bytes, opts->no_erase);
	called_list("devices", opts->devices);
	called_list("serials", opts->wipe_serials);
	return answer(ctx);
}

int ephlvm_pool_device_serial(struct ephlvm_ctx *ctx, const char *device, char **ret_serial)
{
	int r;

	called("device_serial %s", device);
	r = answer(ctx);
	if (r < 0)
		return r;
	*ret_serial = strdup(fake.serial);
	return *ret_serial ? 0 : -ENOMEM;
}

int ephlvm_pool_scrub(struct ephlvm_ctx *ctx, const char *pool, unsigned int flags)
{
	called("pool_scrub %s flags=%u", dash(pool), flags);
	return answer(ctx);
}

int ephlvm_pool_list(struct ephlvm_ctx *ctx, const char *pool, struct ephlvm_pools **ret_pools)
{
	int r;

	called("pool_list %s", dash(pool));
	r = answer(ctx);
	if (r < 0)
		return r;
	*ret_pools = calloc(1, sizeof(**ret_pools));
	if (!*ret_pools)
		return -ENOMEM;
	(*ret_pools)->n = fake.n_pools;
	return 0;
}

size_t ephlvm_pools_count(const struct ephlvm_pools *pools)
{
	return pools ? pools->n : 0;
}

const struct ephlvm_pool *ephlvm_pools_at(const struct ephlvm_pools *pools, size_t index)
{
	return pools && index < pools->n ? &fake.pools[index] : NULL;
}

void ephlvm_pools_free(struct ephlvm_pools *pools)
{
	free(pools);
}

FIELD(pool, const char *, name)
FIELD(pool, const char *, vg)
FIELD(pool, const char *, vg_uuid)
FIELD(pool, uint64_t, size_bytes)
FIELD(pool, uint64_t, free_bytes)
FIELD(pool, uint64_t, allocatable_bytes)
FIELD(pool, uint64_t, trash_bytes)
FIELD(pool, uint64_t, extent_bytes)
FIELD(pool, uint64_t, metadata_bytes)
FIELD(pool, uint64_t, metadata_free_bytes)
FIELD(pool, bool, clean)

size_t ephlvm_pool_volume_count(const struct ephlvm_pool *pool)
{
	return pool->volumes;
}

size_t ephlvm_pool_foreign_count(const struct ephlvm_pool *pool)
{
	return pool->foreign;
}

size_t ephlvm_pool_missing_count(const struct ephlvm_pool *pool)
{
	return pool->missing;
}

const char *ephlvm_pool_device_at(const struct ephlvm_pool *pool, size_t index)
{
	return index < 3 ? pool->devices[index] : NULL;
}

int ephlvm_flavor_count(struct ephlvm_ctx *ctx, size_t *ret_count)
{
	called("flavor_count");
	*ret_count = fake.n_flavors;
	return answer(ctx);
}

const struct ephlvm_flavor *ephlvm_flavor_at(struct ephlvm_ctx *ctx, size_t index)
{
	(void)ctx;
	return index < fake.n_flavors ? &fake.flavors[index] : NULL;
}

int ephlvm_flavor_find(struct ephlvm_ctx *ctx, const char *name,
		       const struct ephlvm_flavor **ret_flavor)
{
	called("flavor_find %s", name);
	*ret_flavor = &fake.flavors[0];
	return answer(ctx);
}

FIELD(flavor, const char *, name)
FIELD(flavor, unsigned int, vcpus)
FIELD(flavor, uint64_t, ram_bytes)
FIELD(flavor, uint64_t, root_bytes)
FIELD(flavor, uint64_t, ephemeral_bytes)
FIELD(flavor, uint64_t, swap_bytes)
FIELD(flavor, const char *, pool)
FIELD(flavor, const char *, fs)
FIELD(flavor, const char *, kind)
FIELD(flavor, const char *, layout)
FIELD(flavor, bool, builtin)

/* The document comes back between two marks, with what was asked for. */
static int give_xml(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes, char **ret_xml,
		    size_t *ret_bytes)
{
	int r = answer(ctx);

	if (r < 0)
		return r;
	*ret_xml = malloc(xml_bytes + 3);
	if (!*ret_xml)
		return -ENOMEM;
	(*ret_xml)[0] = '<';
	memcpy(*ret_xml + 1, xml, xml_bytes);
	(*ret_xml)[xml_bytes + 1] = '>';
	(*ret_xml)[xml_bytes + 2] = '\0';
	*ret_bytes = xml_bytes + 2;
	return 0;
}

int ephlvm_xml_add(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
		   const struct ephlvm_xml_opts *opts, char **ret_xml, size_t *ret_bytes)
{
	called("xml_add %s target=%s bus=%s serial=%s", opts->source, dash(opts->target),
	       dash(opts->bus), dash(opts->serial));
	return give_xml(ctx, xml, xml_bytes, ret_xml, ret_bytes);
}

int ephlvm_xml_remove(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
		      const struct ephlvm_xml_opts *opts, char **ret_xml, size_t *ret_bytes)
{
	called("xml_remove %s target=%s", opts->source, dash(opts->target));
	return give_xml(ctx, xml, xml_bytes, ret_xml, ret_bytes);
}

int ephlvm_instance_xml_add(struct ephlvm_ctx *ctx, const char *instance, const char *xml,
			    size_t xml_bytes, char **ret_xml, size_t *ret_bytes)
{
	called("instance_xml_add %s", instance);
	return give_xml(ctx, xml, xml_bytes, ret_xml, ret_bytes);
}

int ephlvm_instance_xml_remove(struct ephlvm_ctx *ctx, const char *instance, const char *xml,
			       size_t xml_bytes, char **ret_xml, size_t *ret_bytes)
{
	called("instance_xml_remove %s", instance);
	return give_xml(ctx, xml, xml_bytes, ret_xml, ret_bytes);
}

static int wired(struct ephlvm_ctx *ctx, const char *verb, const char *instance,
		 const struct ephlvm_attach_opts *opts)
{
	called("%s %s domain=%s target=%s flags=%u", verb, instance, dash(opts->domain),
	       dash(opts->target), opts->flags);
	return answer(ctx);
}

int ephlvm_attach(struct ephlvm_ctx *ctx, const char *instance,
		  const struct ephlvm_attach_opts *opts)
{
	return wired(ctx, "attach", instance, opts);
}

int ephlvm_detach(struct ephlvm_ctx *ctx, const char *instance,
		  const struct ephlvm_attach_opts *opts)
{
	return wired(ctx, "detach", instance, opts);
}
