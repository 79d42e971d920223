/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/lvm_args.h - inside the LVM room: building argv and the text for --config.
 */
#ifndef EPH_EDGE_LVM_ARGS_H
#define EPH_EDGE_LVM_ARGS_H

#include "edge/lvm.h"

/* An argv under construction. The first failure to grow stays in @error, so that one check at the end
 * does for all. */
struct eph_lvm_args {
	struct eph_strv v;
	int error;
};
void eph_lvm_args_clear(struct eph_lvm_args *args);
#define _cleanup_lvm_args_ __attribute__((cleanup(eph_lvm_args_clear)))

void eph_lvm_arg(struct eph_lvm_args *args, const char *s);
__attribute__((format(printf, 2, 3))) void eph_lvm_argf(struct eph_lvm_args *args, const char *fmt,
							...);
/* @option before each of @values; @values may be NULL. */
void eph_lvm_arg_each(struct eph_lvm_args *args, const char *option, const struct eph_strv *values);

/* The verb, --config and what the backend wants in every call. @config: the text for --config. */
void eph_lvm_args_begin(struct eph_lvm_args *args, const struct eph_lvm_backend *backend,
			const char *verb, const char *config);

/* What every call of ours sets, whatever the host's lvm.conf says. */
extern const char eph_lvm_config_read[], eph_lvm_config_write[];

/*
 * devices{} text that lets LVM see nothing but the present PVs of @vg. 0, -ENOMEM, or -EINVAL when
 * the path of one of them cannot be written as LVM's regular expression.
 */
int eph_lvm_filter_text(const struct eph_vg *vg, char **ret_text);

/*
 * -S text: this VG, and where it is complete in the view only if LVM finds it so too, under its lock: a PV that
 * somebody added after the view was read is hidden from LVM by our filter, and a commit would call it missing. The
 * second: these LVs of it, if they bear our tag, and with @no_origin if they have no snapshots. NULL when out of
 * memory.
 */
char *eph_lvm_select_vg(const struct eph_vg *vg);
char *eph_lvm_select_lvs(const struct eph_vg *vg, const char *const *lv_uuids, size_t n,
			 bool no_origin);

/* True where a PV of @vg is missing. */
bool eph_lvm_is_partial(const struct eph_vg *vg);

/* A VG or LV name, an LVM uuid, a tag: nothing that an option, a selection or a filter could be read
 * into. */
bool eph_lvm_is_name(const char *s);
bool eph_lvm_is_uuid(const char *s);
bool eph_lvm_is_tag(const char *s);

#endif
