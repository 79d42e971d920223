/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * rig.h - real LVM on loop devices, for hosts whose kernel has no device-mapper: metadata, sizes, errors, locks,
 * partial and exported VGs are the real thing, activation is not there. Everything lies in one folder of its
 * own (locks and backups too), and LVM sees nothing but the rig's drives.
 */
#ifndef EPH_TESTS_RIG_H
#define EPH_TESTS_RIG_H

#include "core/context.h"
#include "edge/lvm.h"

#define RIG_MAX 4

struct rig_drive {
	char file[128];
	char device[64]; /* empty while it is away */
};

struct rig {
	char dir[64];
	char *extra_config;
	struct ephlvm_ctx *ctx;
	struct eph_config *config;
	struct eph_lvm_backend *backend;
	struct rig_drive drives[RIG_MAX];
	size_t n;
	struct eph_lvm_view *view; /* of the last rig_read() */
};

/* Room for @n drives of @mib each; none is made or attached yet. */
struct rig *rig_new(void);
void rig_free(struct rig *rig);

/* Whether this host lets us; says why when not. */
bool rig_possible(void);

/* Add a drive of @mib. Returns its index. */
size_t rig_add(struct rig *rig, unsigned int mib);
/* Take a drive away as if it were pulled; bring it back under the device name @device (NULL: any). */
void rig_pull(struct rig *rig, size_t drive);
void rig_plug(struct rig *rig, size_t drive, const char *device);
/* More text for --config of every call from now on; NULL for none. */
void rig_configure(struct rig *rig, const char *more);

/* Run an LVM command that the product never runs; its arguments end with NULL. Fails the test unless it ends
 * with 0. */
void rig_lvm(struct rig *rig, const char *verb, ...) __attribute__((sentinel));
/* The same, giving what it printed without the white space around. free() it. */
char *rig_ask(struct rig *rig, const char *verb, ...) __attribute__((sentinel));

/* Read again; the VG @name, or NULL. */
struct eph_vg *rig_read(struct rig *rig, const char *name);
/* Read and expect VG @name and LV @lv in it. */
struct eph_lv *rig_lv(struct rig *rig, const char *name, const char *lv);

/* A pool as ephlvm makes one, on drives 0 to @n - 1 (added where they are not there). */
struct eph_vg *rig_pool(struct rig *rig, const char *name, size_t n);
/* An LV of ours in it. */
struct eph_lv *rig_create(struct rig *rig, const char *vg, const char *lv, uint64_t extents);

#endif
