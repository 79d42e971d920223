// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * lvm_args.c - argv and --config text for LVM.
 * Owns how values are written so that LVM reads them back as they are. Must not run anything and must
 * not know what a verb is for.
 */
#include "edge/lvm_args.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/cleanup.h"

#define ALNUM "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

/*
 * No archives: they are never pruned by size and slow every commit. Backups stay, they are what an
 * operator restores from. LVM does not wait for locks: we do, so that a deadline can bound it. Nothing
 * inside an LV is ever scanned: a tenant who writes a PV header there would make a VG on the host.
 */
#define CONFIG_ALL                                                                 \
	"backup{archive=0 backup=1} global{wait_for_locks=0} devices{scan_lvs=0} " \
	"log{verbose=0 indent=0 command_names=0 prefix=\"\" report_command_log=0} "

/*
 * The report as we parse it, whatever the host prefers. Hints are a cache of which devices are PVs; a
 * stale one hides a PV, so reading goes without. Not so for what changes: with hints="none" LVM would not
 * drop the hints that a new PV makes stale for others.
 */
const char eph_lvm_config_read[] = CONFIG_ALL
	"devices{hints=\"none\"} report{mark_hidden_devices=0 list_item_separator=\",\" "
	"binary_values_as_numeric=0 two_word_unknown_device=0 compact_output=0 buffered=1 "
	"headings=1 prefixes=0 quoted=1 columns_as_rows=0}";

/* An open LV fails at once instead of after 5 s of tries under the VG's lock: we try again outside. */
const char eph_lvm_config_write[] = CONFIG_ALL "activation{retry_deactivation=0}";

void eph_lvm_args_clear(struct eph_lvm_args *args)
{
	eph_strv_clear(&args->v);
	args->error = 0;
}

void eph_lvm_arg(struct eph_lvm_args *args, const char *s)
{
	int r = eph_strv_add(&args->v, s);

	if (args->error == 0)
		args->error = r;
}

void eph_lvm_argf(struct eph_lvm_args *args, const char *fmt, ...)
{
	_cleanup_free_ char *s = NULL;
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = vasprintf(&s, fmt, ap);
	va_end(ap);
	if (r < 0) {
		s = NULL;
		args->error = -ENOMEM;
		return;
	}
	eph_lvm_arg(args, s);
}

void eph_lvm_arg_each(struct eph_lvm_args *args, const char *option, const struct eph_strv *values)
{
	for (size_t i = 0; values && i < values->n; i++) {
		eph_lvm_arg(args, option);
		eph_lvm_arg(args, values->v[i]);
	}
}

void eph_lvm_args_begin(struct eph_lvm_args *args, const struct eph_lvm_backend *backend,
			const char *verb, const char *config)
{
	eph_lvm_arg(args, verb);
	eph_lvm_arg(args, "--config");
	if (backend->extra_config)
		eph_lvm_argf(args, "%s %s", config, backend->extra_config);
	else
		eph_lvm_arg(args, config);
	if (backend->metadata_only) {
		eph_lvm_arg(args, "--driverloaded");
		eph_lvm_arg(args, "n");
	}
}

/*
 * @path as a regular expression that matches it and nothing else. What is special goes into brackets; what
 * is special there too, or in the quotes around, is in no device name that anybody uses.
 */
static int write_pattern(FILE *f, const char *path)
{
	for (const char *c = path; *c; c++) {
		if (strchr(ALNUM "/_:@=,-", *c))
			fputc(*c, f);
		else if (strchr(".+*?()[{}$#%~", *c))
			fprintf(f, "[%c]", *c);
		else
			return -EINVAL;
	}
	return 0;
}

int eph_lvm_filter_text(const struct eph_vg *vg, char **ret_text)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	size_t bytes;
	int r = 0;

	f = open_memstream(&text, &bytes);
	if (!f)
		return -ENOMEM;
	fputs("devices{use_devicesfile=0 filter=[", f);
	for (size_t i = 0; i < vg->n_pvs; i++) {
		if (vg->pvs[i].missing)
			continue;
		fputs("\"a|^", f);
		r = write_pattern(f, vg->pvs[i].device);
		if (r < 0)
			return r;
		fputs("$|\",", f);
	}
	fputs("\"r|.*|\"]}", f);
	if (ferror(f))
		return -ENOMEM;
	r = fclose(f);
	f = NULL;
	if (r != 0)
		return -ENOMEM;
	*ret_text = eph_steal(text);
	return 0;
}

bool eph_lvm_is_partial(const struct eph_vg *vg)
{
	if (vg->missing_pvs > 0)
		return true;
	for (size_t i = 0; i < vg->n_pvs; i++)
		if (vg->pvs[i].missing)
			return true;
	return false;
}

char *eph_lvm_select_vg(const struct eph_vg *vg)
{
	char *text;

	return asprintf(&text, "vg_uuid=\"%s\"%s", vg->uuid,
			eph_lvm_is_partial(vg) ? "" : " && vg_missing_pv_count=0") < 0 ?
		       NULL :
		       text;
}

char *eph_lvm_select_lvs(const struct eph_vg *vg, const char *const *lv_uuids, size_t n,
			 bool no_origin)
{
	_cleanup_free_ char *select_vg = eph_lvm_select_vg(vg);
	_cleanup_free_ char *text = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	size_t bytes;
	int r;

	if (!select_vg)
		return NULL;
	f = open_memstream(&text, &bytes);
	if (!f)
		return NULL;
	fprintf(f, "%s && lv_tags=\"ephlvm\" && %s(", select_vg,
		no_origin ? "lv_role!=\"origin\" && " : "");
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%slv_uuid=\"%s\"", i ? " || " : "", lv_uuids[i]);
	fputs(")", f);
	r = ferror(f) | fclose(f);
	f = NULL;
	return r == 0 ? eph_steal(text) : NULL;
}

static bool consists_of(const char *s, const char *chars, size_t max)
{
	size_t len = strlen(s);

	return len > 0 && len <= max && strspn(s, chars) == len;
}

bool eph_lvm_is_name(const char *s)
{
	return s && s[0] != '-' && consists_of(s, ALNUM "+_.-", 127);
}

bool eph_lvm_is_uuid(const char *s)
{
	return s && consists_of(s, ALNUM "-", 38) && strlen(s) == 38;
}

bool eph_lvm_is_tag(const char *s)
{
	return s && consists_of(s, ALNUM "_+.-/=!:&#", 1024);
}
