/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/holders.h - who uses a block device: mounts, swap, devices on top, processes.
 */
#ifndef EPH_EDGE_HOLDERS_H
#define EPH_EDGE_HOLDERS_H

#include <sys/types.h>

#include "util/text.h"

/*
 * Append one text per user of device @devno: "mounted on /mnt", "swap", "device dm-3 (vg-lv)",
 * "partition nvme0n1p1", "process 123 (qemu-system-x86)". What cannot be read is left out: an empty
 * list proves nothing, open counts and O_EXCL do. 0 or -ENOMEM.
 */
int eph_holders_find(dev_t devno, struct eph_strv *holders);

/* As above, without the look through every process: mounts, swap, devices on top. */
int eph_holders_find_static(dev_t devno, struct eph_strv *holders);

/* Names of a whole disk's partitions, and who uses those. 0 or -ENOMEM. */
int eph_holders_find_partitions(dev_t devno, struct eph_strv *partitions, struct eph_strv *holders);

/* "a, b, c", or "by a user that /proc does not show" for an empty list. free() it. */
int eph_holders_text(const struct eph_strv *holders, char **ret_text);

#endif
