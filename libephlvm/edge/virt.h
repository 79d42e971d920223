/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/virt.h - libvirt: which domains use which block devices, attach and detach.
 *
 * libvirt's client runs in a program of its own, ephlvm-virt, started for each call here. A daemon
 * that hangs can then be waited for with a deadline and left by killing, without event loop or
 * abandoned threads in the caller's process; what libvirt prints, which error handler it has and
 * what LIBVIRT_* in the environment say stays outside of the caller too.
 */
#ifndef EPH_EDGE_VIRT_H
#define EPH_EDGE_VIRT_H

#include <sys/types.h>

#include "core/context.h"

/* One path that a domain refers to, in its live or its persistent definition. */
struct eph_virt_use {
	char *domain_name, *domain_uuid;
	char *source;
	char *target; /* NULL: not the source of a disk, but a backing file, a mirror ... */
	dev_t devno; /* where @source is a block device, or a link to one; else 0 */
	bool active; /* the domain runs */
	bool live; /* the use is in the live definition (else in the persistent one only) */
};

struct eph_virt_uses {
	struct eph_virt_use *uses;
	size_t n;
	bool asked; /* false: libvirt could not be asked; @why says why */
	char *why;
};

/*
 * Every path that a device of any domain refers to, active or not. Not reaching libvirt is no
 * error here: @ret_uses->asked is false then. A domain that goes away while being read is left out;
 * any other failure means not asked. Bounded time.
 */
int eph_virt_read(struct ephlvm_ctx *ctx, struct eph_virt_uses *ret_uses);
void eph_virt_uses_clear(struct eph_virt_uses *uses);

/*
 * Next use whose source is this volume: one of its paths (/dev/VG/LV, /dev/mapper/NAME with hyphens
 * doubled, /dev/dm-N, by-id by name), or a node or link that was device @devno when libvirt was
 * asked (0: not active). Start with @from = 0. Returns its index + 1, or 0 for none.
 */
size_t eph_virt_find(const struct eph_virt_uses *uses, size_t from, const char *vg, const char *lv,
		     dev_t devno);

/* One domain, with its documents as libvirt gives them. */
struct eph_virt_domain {
	char *name, *uuid;
	bool active, persistent;
	char *xml; /* persistent definition; NULL for a transient domain */
	char *live_xml; /* NULL where it does not run */
};

/* Read the domain with that name or UUID. 0; -ENOENT (no such domain); -ETIMEDOUT; -EIO; -EACCES. */
int eph_virt_domain_read(struct ephlvm_ctx *ctx, const char *domain,
			 struct eph_virt_domain *ret_domain);
void eph_virt_domain_clear(struct eph_virt_domain *domain);

enum eph_virt_where {
	EPH_VIRT_CONFIG = 1 << 0, /* the persistent definition */
	EPH_VIRT_LIVE = 1 << 1, /* the running domain */
};

/*
 * Attach the <disk> text @disk_xml, in one request of libvirt's: both or none. The caller has
 * looked that it is not there and its target is free (eph_domxml_plan_text()), and reads the domain again
 * afterwards, however this ended. 0; -ENOENT (no such domain); -ETIMEDOUT; -EIO; -EACCES.
 */
int eph_virt_attach(struct ephlvm_ctx *ctx, const char *domain, const char *disk_xml,
		    unsigned int where);

/*
 * Detach the disk whose source is @source (or another path of the same device) from the persistent
 * definition and then from the running domain, where it is in them. Waits up to @timeout_ms until
 * the guest gave the device up, asking it again now and then.
 * 0, also where it was not attached; -ENOENT (no such domain); -ETIMEDOUT (kind BUSY: the guest
 * keeps it); -EIO; -EACCES.
 */
int eph_virt_detach(struct ephlvm_ctx *ctx, const char *domain, const char *source,
		    unsigned int timeout_ms);

#endif
