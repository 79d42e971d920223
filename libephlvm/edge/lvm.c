// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * lvm.c - the verbs: reading everything, and each change that LVM makes for us.
 * Owns the argv of each verb, and that LVM is shown no device but those of the VG at hand, all of them.
 * Must not decide anything about volumes, and must not believe that a change happened because LVM
 * said so: callers read again.
 */
#include "edge/lvm.h"

#include <string.h>

#include "edge/clean.h"
#include "edge/lvm_args.h"
#include "edge/lvm_report.h"
#include "edge/lvm_run.h"
#include "util/cleanup.h"

/* So many LVs go into one selection: far below the limit for one argument (128 KiB). */
#define LVS_PER_CALL 200

/* --- reading --- */

/* Put LVM's words beside a report that could not be read. */
static int with_words(struct ephlvm_ctx *ctx, bool first, int r,
		      const struct eph_lvm_result *result)
{
	if (r < 0 && first)
		eph_fail_detail(ctx, result->status, result->err);
	return r;
}

static void read_begin(struct eph_lvm_args *args, const struct eph_lvm_backend *backend,
		       const char *verb, unsigned int flags)
{
	eph_lvm_args_begin(args, backend, verb, eph_lvm_config_read);
	if (flags & EPH_LVM_NOLOCKING)
		eph_lvm_arg(args, "--nolocking");
}

/*
 * Which of the VGs with a system ID are ours? LVM knows (local ID, extra IDs, lvmlocal.conf): asked without
 * --foreign, it lists those only.
 */
static int mark_ours(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend, unsigned int flags,
		     struct eph_lvm_view *view)
{
	static const struct eph_lvm_job job = { .subject = "all volume groups" };
	_cleanup_lvm_args_ struct eph_lvm_args args = { 0 };
	_cleanup_lvm_result_ struct eph_lvm_result result = { 0 };
	_cleanup_strv_ struct eph_strv ours = EPH_STRV_INIT;
	bool first = ctx->error.kind == EPHLVM_ERROR_NONE;
	int r;

	read_begin(&args, backend, "vgs", flags);
	eph_lvm_report_vg_uuid_args(&args);
	r = eph_lvm_run(ctx, backend, &args, &job, &result);
	if (r < 0)
		return r;
	r = eph_lvm_report_vg_uuids(ctx, result.out, &ours);
	if (r < 0)
		return with_words(ctx, first, r, &result);
	for (size_t i = 0; i < view->n_vgs; i++)
		view->vgs[i].foreign = !eph_strv_has(&ours, view->vgs[i].uuid);
	return 0;
}

int eph_lvm_read(struct ephlvm_ctx *ctx, unsigned int flags, struct eph_lvm_view **ret_view)
{
	static const struct eph_lvm_job job = { .subject = "all volume groups" };
	_cleanup_lvm_args_ struct eph_lvm_args args = { 0 };
	_cleanup_lvm_result_ struct eph_lvm_result result = { 0 };
	_cleanup_view_ struct eph_lvm_view *view = NULL;
	bool first = ctx->error.kind == EPHLVM_ERROR_NONE;
	struct eph_lvm_backend *backend;
	int r;

	r = eph_lvm_backend_get(ctx, &backend);
	if (r < 0)
		return r;
	read_begin(&args, backend, "fullreport", flags);
	eph_lvm_report_args(&args);
	r = eph_lvm_run(ctx, backend, &args, &job, &result);
	if (r < 0)
		return r;
	r = eph_lvm_report_parse(ctx, result.out, result.err, &view);
	if (r < 0)
		return with_words(ctx, first, r, &result);
	view->stale = flags & EPH_LVM_NOLOCKING;
	if (eph_lvm_view_has_system_id(view)) {
		r = mark_ours(ctx, backend, flags, view);
		if (r < 0)
			return r;
	}
	*ret_view = eph_steal(view);
	return 0;
}

/* --- what a change needs --- */

static int fail_word(struct ephlvm_ctx *ctx, const char *what, const char *word)
{
	return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, word, NULL, "\"%s\" is not a valid %s",
			word ? word : "", what);
}

static int check_name(struct ephlvm_ctx *ctx, const char *name)
{
	return eph_lvm_is_name(name) ? 0 : fail_word(ctx, "name for LVM", name);
}

static int check_tags(struct ephlvm_ctx *ctx, const struct eph_strv *tags)
{
	for (size_t i = 0; tags && i < tags->n; i++)
		if (!eph_lvm_is_tag(tags->v[i]))
			return fail_word(ctx, "tag for LVM", tags->v[i]);
	return 0;
}

static int check_uuids(struct ephlvm_ctx *ctx, const struct eph_strv *uuids)
{
	for (size_t i = 0; i < uuids->n; i++)
		if (!eph_lvm_is_uuid(uuids->v[i]))
			return fail_word(ctx, "LVM uuid", uuids->v[i]);
	return 0;
}

static int check_devices(struct ephlvm_ctx *ctx, const struct eph_strv *devices)
{
	if (devices->n == 0)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, NULL, NULL,
				"no device is named");
	for (size_t i = 0; i < devices->n; i++)
		if (devices->v[i][0] != '/')
			return fail_word(ctx, "absolute path", devices->v[i]);
	return 0;
}

static int check_vg(struct ephlvm_ctx *ctx, const struct eph_vg *vg)
{
	if (!eph_lvm_is_uuid(vg->uuid))
		return fail_word(ctx, "LVM uuid", vg->uuid);
	return check_name(ctx, vg->name);
}

/* Every PV of @vg is where the view says, at this moment, and nowhere else. */
static int find_pvs(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend,
		    const struct eph_vg *vg)
{
	if (vg->n_pvs == 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, vg->name, NULL,
				"volume group \"%s\" has no physical volume", vg->name);
	for (size_t i = 0; i < vg->n_pvs; i++) {
		_cleanup_close_ int fd = -1;
		int r;

		if (vg->pvs[i].duplicate)
			return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, vg->pvs[i].device,
					"take the copy away, or hide it from LVM with a filter",
					"another device is a copy of \"%s\", a drive of volume "
					"group \"%s\"",
					vg->pvs[i].device, vg->name);
		r = backend->open_pv(ctx, backend, &vg->pvs[i], &fd);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * The --config text for a change of @vg. Normally LVM is narrowed to the PVs of @vg. Were one of them
 * hidden from it, LVM would write "missing" about a healthy drive; so all are looked up first, and where
 * some really are missing LVM gets to see everything and decides itself.
 */
static int change_config(struct ephlvm_ctx *ctx, struct eph_lvm_backend *backend,
			 const struct eph_vg *vg, char **ret_config)
{
	_cleanup_free_ char *filter = NULL;
	char *config;
	int r;

	if (!eph_lvm_is_partial(vg)) {
		r = find_pvs(ctx, backend, vg);
		if (r < 0)
			return r;
		r = eph_lvm_filter_text(vg, &filter);
		if (r == -EINVAL)
			return eph_fail(
				ctx, EPHLVM_ERROR_SYSTEM, EIO, vg->name,
				"give the drive another name in /dev",
				"a drive of volume group \"%s\" has a name that LVM's filter "
				"cannot hold",
				vg->name);
		if (r < 0)
			return eph_fail_oom(ctx);
	}
	if (asprintf(&config, "%s%s%s", eph_lvm_config_write, filter ? " " : "",
		     filter ? filter : "") < 0)
		return eph_fail_oom(ctx);
	*ret_config = config;
	return 0;
}

/* Begin the argv of a change of @vg, checked and narrowed. */
static int change_begin(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const char *verb,
			struct eph_lvm_args *args, struct eph_lvm_backend **ret_backend)
{
	_cleanup_free_ char *config = NULL;
	struct eph_lvm_backend *backend;
	int r;

	r = eph_lvm_backend_get(ctx, &backend);
	if (r < 0)
		return r;
	r = check_vg(ctx, vg);
	if (r < 0)
		return r;
	r = change_config(ctx, backend, vg, &config);
	if (r < 0)
		return r;
	eph_lvm_args_begin(args, backend, verb, config);
	eph_lvm_arg(args, "--yes");
	*ret_backend = backend;
	return 0;
}

static int refuse_partial(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const char *what)
{
	if (!eph_lvm_is_partial(vg))
		return 0;
	return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, vg->name,
			"bring the drive back, or retire it with vgreduce --removemissing",
			"volume group \"%s\" misses a drive; LVM can %s nothing in it", vg->name,
			what);
}

/* "VG/LV", for the record. NULL when out of memory, which a record can live with. */
static char *full_name(const struct eph_vg *vg, const char *lv_name)
{
	char *name;

	return asprintf(&name, "%s/%s", vg->name, lv_name) < 0 ? NULL : name;
}

static char *lvs_name(const struct eph_vg *vg, const char *const *lv_uuids, size_t n)
{
	const struct eph_lv *lv = n == 1 ? eph_lvm_lv_by_uuid(vg, lv_uuids[0]) : NULL;

	return lv ? full_name(vg, lv->name) : strdup(vg->name);
}

/* --- a change that commits --- */

/*
 * What LVM prints on stdout when it did it (lvm2 2.03.11 to 2.03.39 in the C locale): @lines lines that
 * begin and end so; some versions put a full stop behind. Its exit status does not tell: a selection that
 * matches nothing is a success.
 */
struct word {
	const char *start, *end;
	size_t lines;
};

static bool line_is(const char *line, size_t len, const struct word *word)
{
	size_t start = strlen(word->start), end = strlen(word->end);

	len -= len > 0 && line[len - 1] == '.';
	return len >= start + end && memcmp(line, word->start, start) == 0 &&
	       memcmp(line + len - end, word->end, end) == 0;
}

static bool says_done(const char *out, const struct word *word)
{
	size_t n = 0;

	while (*out) {
		size_t indent = strspn(out, " "), len = strcspn(out + indent, "\n");

		n += line_is(out + indent, len, word);
		out += indent + len;
		out += *out == '\n';
	}
	return n == word->lines;
}

/*
 * Every change of a VG's metadata goes through here: it knows what becomes of the proof that free space
 * is clean. @ret_clean may be NULL.
 */
static int commit(struct ephlvm_ctx *ctx, const struct eph_vg *vg, struct eph_lvm_backend *backend,
		  const struct eph_lvm_args *args, const struct eph_lvm_job *job,
		  enum eph_clean_use use, const struct word *word, bool *ret_clean)
{
	_cleanup_lvm_result_ struct eph_lvm_result result = { 0 };
	_cleanup_carry_ struct eph_clean_carry carry = { 0 };
	bool clean = false;
	int r, failed;

	r = eph_clean_begin(ctx, vg, use, &carry);
	if (r < 0)
		return r;
	failed = eph_lvm_run(ctx, backend, args, job, &result);
	r = eph_clean_end(ctx, vg, &carry, failed == 0 && says_done(result.out, word), &clean);
	if (failed < 0 || r < 0)
		return failed < 0 ? failed : r;
	if (ret_clean)
		*ret_clean = clean;
	return 0;
}

/* --- LVs --- */

static int check_spec(struct ephlvm_ctx *ctx, const struct eph_lv_spec *spec)
{
	int r;

	r = check_name(ctx, spec->name);
	if (r < 0)
		return r;
	if (!eph_streq(spec->segtype, "linear"))
		return fail_word(ctx, "segment type", spec->segtype);
	if (spec->extents == 0)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, spec->name, NULL,
				"\"%s\" would have no extents", spec->name);
	return check_tags(ctx, spec->tags);
}

int eph_lvm_lv_create(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
		      const struct eph_lv_spec *spec, bool *ret_clean)
{
	_cleanup_lvm_args_ struct eph_lvm_args args = { 0 };
	_cleanup_free_ char *subject = full_name(vg, spec->name), *said = NULL;
	struct eph_lvm_job job = { .subject = subject, .mutating = true };
	struct word word = { .end = "", .lines = 1 };
	struct eph_lvm_backend *backend;
	int r;

	if (ret_clean)
		*ret_clean = false;
	r = check_spec(ctx, spec);
	if (r < 0)
		return r;
	r = refuse_partial(ctx, vg, "create");
	if (r < 0)
		return r;
	r = change_begin(ctx, vg, "lvcreate", &args, &backend);
	if (r < 0)
		return r;
	/* Every byte is erased by the caller: LVM's own clearing would only cost, and ask. */
	eph_lvm_arg(&args, "-Wn");
	eph_lvm_arg(&args, "-Zn");
	eph_lvm_arg(&args, backend->metadata_only ? "-an" : vg->shared ? "-aey" : "-ay");
	eph_lvm_arg_each(&args, "--addtag", spec->tags);
	eph_lvm_arg(&args, "--type");
	eph_lvm_arg(&args, spec->segtype);
	eph_lvm_arg(&args, "-l");
	eph_lvm_argf(&args, "%llu", (unsigned long long)spec->extents);
	eph_lvm_arg(&args, "-n");
	eph_lvm_arg(&args, spec->name);
	eph_lvm_arg(&args, vg->name);
	for (size_t i = 0; spec->where && i < spec->where->n; i++)
		eph_lvm_arg(&args, spec->where->v[i]);
	if (asprintf(&said, "Logical volume \"%s\" created", spec->name) < 0) {
		said = NULL;
		return eph_fail_oom(ctx);
	}
	word.start = said;
	return commit(ctx, vg, backend, &args, &job, EPH_CLEAN_TAKES, &word, ret_clean);
}

int eph_lvm_lv_rename(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const char *from,
		      const char *to)
{
	_cleanup_lvm_args_ struct eph_lvm_args args = { 0 };
	_cleanup_free_ char *subject = full_name(vg, from), *said = NULL;
	struct eph_lvm_job job = { .subject = subject, .mutating = true };
	struct word word = { .end = "", .lines = 1 };
	struct eph_lvm_backend *backend;
	int r;

	r = check_name(ctx, from);
	if (r < 0)
		return r;
	r = check_name(ctx, to);
	if (r < 0)
		return r;
	r = refuse_partial(ctx, vg, "rename");
	if (r < 0)
		return r;
	r = change_begin(ctx, vg, "lvrename", &args, &backend);
	if (r < 0)
		return r;
	eph_lvm_arg(&args, vg->name);
	eph_lvm_arg(&args, from);
	eph_lvm_arg(&args, to);
	if (asprintf(&said, "Renamed \"%s\" to \"%s\" in volume group \"%s\"", from, to, vg->name) <
	    0) {
		said = NULL;
		return eph_fail_oom(ctx);
	}
	word.start = said;
	return commit(ctx, vg, backend, &args, &job, EPH_CLEAN_KEEPS, &word, NULL);
}

/* What is done to LVs that are selected by uuid. */
struct lvs_verb {
	const char *verb;
	const char *const *options; /* NULL-terminated */
	const struct eph_strv *del, *add;
	bool retry_in_use;
	/*
	 * LVM would take the snapshots of an origin along: one that got some a moment ago is not selected, which is
	 * decided under LVM's own lock.
	 */
	bool no_origin;
	enum eph_clean_use use;
	struct word word; /* a line of it for each LV; nothing is committed where there is none */
};

static int change_slice(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
			const struct lvs_verb *verb, const char *const *lv_uuids, size_t n)
{
	_cleanup_lvm_args_ struct eph_lvm_args args = { 0 };
	_cleanup_free_ char *subject = lvs_name(vg, lv_uuids, n);
	_cleanup_free_ char *selection = eph_lvm_select_lvs(vg, lv_uuids, n, verb->no_origin);
	struct eph_lvm_job job = {
		.subject = subject,
		.mutating = true,
		.retry_in_use = verb->retry_in_use,
	};
	struct word word = { .start = verb->word.start, .end = verb->word.end, .lines = n };
	struct eph_lvm_backend *backend;
	int r;

	if (!selection)
		return eph_fail_oom(ctx);
	r = change_begin(ctx, vg, verb->verb, &args, &backend);
	if (r < 0)
		return r;
	for (size_t i = 0; verb->options[i]; i++)
		eph_lvm_arg(&args, verb->options[i]);
	eph_lvm_arg_each(&args, "--deltag", verb->del);
	eph_lvm_arg_each(&args, "--addtag", verb->add);
	eph_lvm_arg(&args, "-S");
	eph_lvm_arg(&args, selection);
	eph_lvm_arg(&args, vg->name);
	if (!word.start)
		return eph_lvm_run(ctx, backend, &args, &job, NULL);
	return commit(ctx, vg, backend, &args, &job, verb->use, &word, NULL);
}

static int change_lvs(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const struct lvs_verb *verb,
		      const struct eph_strv *lv_uuids)
{
	int r;

	r = check_vg(ctx, vg);
	if (r < 0)
		return r;
	r = check_uuids(ctx, lv_uuids);
	if (r < 0)
		return r;
	for (size_t i = 0; i < lv_uuids->n; i += LVS_PER_CALL) {
		size_t n = lv_uuids->n - i < LVS_PER_CALL ? lv_uuids->n - i : LVS_PER_CALL;

		r = change_slice(ctx, vg, verb, (const char *const *)lv_uuids->v + i, n);
		if (r < 0)
			return r;
	}
	return 0;
}

static const char *const no_options[] = { NULL };

int eph_lvm_lv_retag(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const char *lv_uuid,
		     const struct eph_strv *del, const struct eph_strv *add)
{
	const struct lvs_verb verb = {
		.verb = "lvchange",
		.options = no_options,
		.del = del,
		.add = add,
		.use = EPH_CLEAN_KEEPS,
		.word = { .start = "Logical volume ", .end = " changed" },
	};
	char *one[] = { (char *)lv_uuid, NULL };
	const struct eph_strv lv_uuids = { .v = one, .n = 1 };
	int r;

	r = check_tags(ctx, del);
	if (r < 0)
		return r;
	r = check_tags(ctx, add);
	if (r < 0)
		return r;
	if ((!del || del->n == 0) && (!add || add->n == 0))
		return 0;
	return change_lvs(ctx, vg, &verb, &lv_uuids);
}

static int set_active(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
		      const struct eph_strv *lv_uuids, const struct lvs_verb *verb)
{
	struct eph_lvm_backend *backend;
	int r;

	r = eph_lvm_backend_get(ctx, &backend);
	if (r < 0)
		return r;
	return backend->metadata_only ? 0 : change_lvs(ctx, vg, verb, lv_uuids);
}

int eph_lvm_lv_activate(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
			const struct eph_strv *lv_uuids)
{
	/* -K: also where an LV is marked to be skipped. */
	const char *const options[] = { vg->shared ? "-aey" : "-ay", "-K", NULL };
	const struct lvs_verb verb = { .verb = "lvchange", .options = options };

	return set_active(ctx, vg, lv_uuids, &verb);
}

int eph_lvm_lv_deactivate(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
			  const struct eph_strv *lv_uuids)
{
	static const char *const options[] = { "-an", NULL };
	const struct lvs_verb verb = {
		.verb = "lvchange",
		.options = options,
		.retry_in_use = true,
	};

	return set_active(ctx, vg, lv_uuids, &verb);
}

static int remove_lvs(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
		      const struct eph_strv *lv_uuids, enum eph_clean_use use)
{
	const struct lvs_verb verb = {
		.verb = "lvremove",
		.options = no_options,
		.retry_in_use = true,
		.no_origin = true,
		.use = use,
		.word = { .start = "Logical volume \"", .end = "\" successfully removed" },
	};

	return change_lvs(ctx, vg, &verb, lv_uuids);
}

int eph_lvm_lv_remove(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
		      const struct eph_strv *lv_uuids)
{
	return remove_lvs(ctx, vg, lv_uuids, EPH_CLEAN_KEEPS);
}

int eph_lvm_lv_remove_unerased(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
			       const struct eph_strv *lv_uuids)
{
	return remove_lvs(ctx, vg, lv_uuids, EPH_CLEAN_DIRTIES);
}

/* --- VGs and PVs --- */

/* Begin the argv of a change that is about devices, not about a VG that is there. */
static int plain_begin(struct ephlvm_ctx *ctx, const char *verb, struct eph_lvm_args *args,
		       struct eph_lvm_backend **ret_backend)
{
	struct eph_lvm_backend *backend;
	int r;

	r = eph_lvm_backend_get(ctx, &backend);
	if (r < 0)
		return r;
	eph_lvm_args_begin(args, backend, verb, eph_lvm_config_write);
	eph_lvm_arg(args, "--yes");
	*ret_backend = backend;
	return 0;
}

static void add_devices(struct eph_lvm_args *args, const struct eph_strv *devices)
{
	for (size_t i = 0; i < devices->n; i++)
		eph_lvm_arg(args, devices->v[i]);
}

int eph_lvm_pv_create(struct ephlvm_ctx *ctx, const struct eph_strv *devices, uint64_t mda_bytes)
{
	_cleanup_lvm_args_ struct eph_lvm_args args = { 0 };
	struct eph_lvm_job job = { .mutating = true };
	struct eph_lvm_backend *backend;
	int r;

	r = check_devices(ctx, devices);
	if (r < 0)
		return r;
	job.subject = devices->v[0];
	r = plain_begin(ctx, "pvcreate", &args, &backend);
	if (r < 0)
		return r;
	eph_lvm_arg(&args, "--metadatasize");
	eph_lvm_argf(&args, "%llub", (unsigned long long)mda_bytes);
	add_devices(&args, devices);
	return eph_lvm_run(ctx, backend, &args, &job, NULL);
}

int eph_lvm_pv_remove(struct ephlvm_ctx *ctx, const struct eph_strv *devices)
{
	_cleanup_lvm_args_ struct eph_lvm_args args = { 0 };
	struct eph_lvm_job job = { .mutating = true };
	struct eph_lvm_backend *backend;
	int r;

	r = check_devices(ctx, devices);
	if (r < 0)
		return r;
	job.subject = devices->v[0];
	r = plain_begin(ctx, "pvremove", &args, &backend);
	if (r < 0)
		return r;
	add_devices(&args, devices);
	return eph_lvm_run(ctx, backend, &args, &job, NULL);
}

int eph_lvm_vg_create(struct ephlvm_ctx *ctx, const char *name, const struct eph_strv *devices,
		      const struct eph_strv *tags)
{
	_cleanup_lvm_args_ struct eph_lvm_args args = { 0 };
	struct eph_lvm_job job = { .subject = name, .mutating = true };
	struct eph_lvm_backend *backend;
	int r;

	r = check_name(ctx, name);
	if (r < 0)
		return r;
	r = check_devices(ctx, devices);
	if (r < 0)
		return r;
	r = check_tags(ctx, tags);
	if (r < 0)
		return r;
	r = plain_begin(ctx, "vgcreate", &args, &backend);
	if (r < 0)
		return r;
	eph_lvm_arg(&args, "--setautoactivation");
	eph_lvm_arg(&args, "n");
	eph_lvm_arg_each(&args, "--addtag", tags);
	eph_lvm_arg(&args, name);
	add_devices(&args, devices);
	return eph_lvm_run(ctx, backend, &args, &job, NULL);
}

static int select_vg(struct ephlvm_ctx *ctx, struct eph_lvm_args *args, const struct eph_vg *vg)
{
	_cleanup_free_ char *selection = eph_lvm_select_vg(vg);

	if (!selection)
		return eph_fail_oom(ctx);
	eph_lvm_arg(args, "-S");
	eph_lvm_arg(args, selection);
	eph_lvm_arg(args, vg->name);
	return 0;
}

/* The selection, and the run, of a vgchange. */
static int change_vg(struct ephlvm_ctx *ctx, const struct eph_vg *vg,
		     struct eph_lvm_backend *backend, struct eph_lvm_args *args,
		     const struct eph_lvm_job *job)
{
	_cleanup_free_ char *said = NULL;
	struct word word = { .end = "", .lines = 1 };
	int r;

	r = select_vg(ctx, args, vg);
	if (r < 0)
		return r;
	if (asprintf(&said, "Volume group \"%s\" successfully changed", vg->name) < 0) {
		said = NULL;
		return eph_fail_oom(ctx);
	}
	word.start = said;
	return commit(ctx, vg, backend, args, job, EPH_CLEAN_KEEPS, &word, NULL);
}

int eph_lvm_vg_retag(struct ephlvm_ctx *ctx, const struct eph_vg *vg, const struct eph_strv *del,
		     const struct eph_strv *add)
{
	_cleanup_lvm_args_ struct eph_lvm_args args = { 0 };
	struct eph_lvm_job job = { .subject = vg->name, .mutating = true };
	struct eph_lvm_backend *backend;
	int r;

	r = check_tags(ctx, del);
	if (r < 0)
		return r;
	r = check_tags(ctx, add);
	if (r < 0)
		return r;
	if ((!del || del->n == 0) && (!add || add->n == 0))
		return 0;
	r = change_begin(ctx, vg, "vgchange", &args, &backend);
	if (r < 0)
		return r;
	eph_lvm_arg_each(&args, "--deltag", del);
	eph_lvm_arg_each(&args, "--addtag", add);
	return change_vg(ctx, vg, backend, &args, &job);
}

int eph_lvm_vg_no_autoactivation(struct ephlvm_ctx *ctx, const struct eph_vg *vg)
{
	_cleanup_lvm_args_ struct eph_lvm_args args = { 0 };
	struct eph_lvm_job job = { .subject = vg->name, .mutating = true };
	bool first = ctx->error.kind == EPHLVM_ERROR_NONE;
	struct eph_lvm_backend *backend;
	int r;

	r = change_begin(ctx, vg, "vgchange", &args, &backend);
	if (r < 0)
		return r;
	eph_lvm_arg(&args, "--setautoactivation");
	eph_lvm_arg(&args, "n");
	r = change_vg(ctx, vg, backend, &args, &job);
	/* LVM makes a failure of it (exit 5) where there is nothing to change. */
	if (r < 0 && first && ctx->error.detail &&
	    strstr(ctx->error.detail, "autoactivation is already no")) {
		eph_error_clear(&ctx->error);
		return 0;
	}
	return r;
}

int eph_lvm_vg_remove(struct ephlvm_ctx *ctx, const char *name, const char *vg_uuid)
{
	_cleanup_lvm_args_ struct eph_lvm_args args = { 0 };
	struct eph_lvm_job job = { .subject = name, .mutating = true };
	struct eph_lvm_backend *backend;
	int r;

	r = check_name(ctx, name);
	if (r < 0)
		return r;
	if (!eph_lvm_is_uuid(vg_uuid))
		return fail_word(ctx, "LVM uuid", vg_uuid);
	r = plain_begin(ctx, "vgremove", &args, &backend);
	if (r < 0)
		return r;
	/* --yes would remove the LVs in it without asking. */
	eph_lvm_arg(&args, "-S");
	eph_lvm_argf(&args, "vg_uuid=\"%s\" && lv_count=0", vg_uuid);
	eph_lvm_arg(&args, name);
	return eph_lvm_run(ctx, backend, &args, &job, NULL);
}

int eph_lvm_flush(struct ephlvm_ctx *ctx, const struct eph_vg *vg)
{
	struct eph_lvm_backend *backend;
	int r;

	r = eph_lvm_backend_get(ctx, &backend);
	if (r < 0)
		return r;
	for (size_t i = 0; i < vg->n_pvs; i++) {
		const struct eph_pv *pv = &vg->pvs[i];
		_cleanup_close_ int fd = -1;

		if (pv->missing)
			continue;
		r = backend->open_pv(ctx, backend, pv, &fd);
		if (r < 0)
			return r;
		r = eph_mark(ctx, "pv-fsync");
		if (r < 0)
			return r;
		if (fsync(fd) < 0)
			return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, pv->device,
					"look at the kernel's log for errors of the drive",
					"cannot flush \"%s\": %s", pv->device, strerror(errno));
	}
	return eph_mark(ctx, "pv-fsynced");
}
