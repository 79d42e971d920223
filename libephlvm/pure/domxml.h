/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pure/domxml.h - domain XML as text: insert or remove one disk, and read which disks there are.
 * Pure: no I/O, no libvirt.
 */
#ifndef EPH_PURE_DOMXML_H
#define EPH_PURE_DOMXML_H

#include <ephlvm/domain.h>

#include "util/text.h"

/* One <disk> of /domain/devices. Strings are owned; NULL where the document has none. */
struct eph_domxml_disk {
	char *source; /* source dev= or file= */
	char *target;
	char *bus;
	char *alias;
};

struct eph_domxml_disks {
	char *domain_name;
	char *domain_uuid;
	struct eph_domxml_disk *disks;
	size_t n;
	/*
	 * Every path that any device refers to, those of @disks included, also in backing files,
	 * mirrors, passed-through block devices: what asks "is this volume wired?" must look here.
	 */
	struct eph_strv paths;
};

/*
 * Read the disks of a document that libvirt gave us, of any domain type.
 * 0, -EINVAL, -E2BIG, -ENOMEM (record set).
 */
int eph_domxml_read_disks(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
			  struct eph_domxml_disks *ret_disks);
void eph_domxml_disks_clear(struct eph_domxml_disks *disks);

/*
 * Whether two paths name one device: the same text, or one LV as /dev/VG/LV and as
 * /dev/mapper/VG-LV. Does not look at the machine.
 */
bool eph_domxml_same_device(const char *a, const char *b);

/*
 * The <disk> element alone, without indentation, as ephlvm_xml_add() would insert it: for
 * virDomainDetachDevice. @opts->target must be a name. The iothread is written as given, since
 * there is no document to look it up in. free() the result.
 */
int eph_domxml_disk_text(struct ephlvm_ctx *ctx, const struct ephlvm_xml_opts *opts,
			 char **ret_xml);

/*
 * The same for a domain whose document is at hand: for virDomainAttachDevice. What
 * ephlvm_xml_add() checks and chooses (target taken, "auto", iothread, alias, boot order) is
 * checked and chosen here; NULL in @ret_xml means that our disk is there already. free() the
 * results. Returns as ephlvm_xml_add().
 */
int eph_domxml_plan_text(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
			 const struct ephlvm_xml_opts *opts, char **ret_xml, char **ret_target);

#endif
