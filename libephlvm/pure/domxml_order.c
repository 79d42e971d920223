// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * domxml_order.c - the order in which libvirt keeps the disks of a domain, which is not that of
 * the document: it decides which disk is booted and what the guest calls each.
 * libvirt inserts each disk behind those of its bus, before the first of them with a greater target
 * index (virDomainDiskInsert, as of 9.0): buses by first appearance, targets ascending in each.
 * Must not change anything, and must stay linear.
 */
#include "pure/domxml_doc.h"

#include <limits.h>
#include <string.h>

#include "util/text.h"

static bool is_hard_disk(const struct eph_domxml_elem *disk)
{
	return !disk->device || eph_streq(disk->device, "disk") || eph_streq(disk->device, "lun");
}

/* The bus that libvirt takes where the document names none. */
static const char *inferred_bus(const struct eph_domxml_elem *disk)
{
	const char *target = disk->target ? disk->target : "";

	if (eph_streq(disk->device, "floppy"))
		return "fdc";
	if (eph_startswith(target, "sd"))
		return "scsi";
	if (eph_startswith(target, "vd"))
		return "virtio";
	if (eph_startswith(target, "xvd"))
		return "xen";
	return "ide";
}

/*
 * @as_parsed: the order of a document that libvirt reads for the first time, in which disks
 * without bus= are a bus of their own. When libvirt has written it down once, they are not.
 */
static const char *disk_bus(const struct eph_domxml_elem *disk, bool as_parsed)
{
	if (disk->bus)
		return disk->bus;
	return as_parsed ? "" : inferred_bus(disk);
}

static long disk_index(const struct eph_domxml_elem *disk)
{
	return disk->target ? eph_domxml_target_index(disk->target) : -1;
}

/* Buses that libvirt knows; it refuses any other, so that those may share the last place. */
static const char *const buses[] = { "virtio", "ide", "fdc",  "scsi", "xen",
				     "usb",    "uml", "sata", "sd",   "" };
#define N_BUSES (sizeof(buses) / sizeof(buses[0]) + 1)
#define BUS_VIRTIO 0

static size_t bus_number(const char *bus)
{
	size_t i = 0;

	while (i < N_BUSES - 1 && strcmp(buses[i], bus) != 0)
		i++;
	return i;
}

static void read_order(const struct eph_domxml_doc *doc, bool as_parsed,
		       struct eph_domxml_order *order)
{
	size_t first[N_BUSES], leading = SIZE_MAX, leader = N_BUSES;
	long first_virtio = LONG_MAX;
	bool hard[N_BUSES] = { false };

	memset(first, 0xff, sizeof(first)); /* SIZE_MAX: no disk */
	for (size_t i = 0; i < doc->n_disks; i++) {
		const struct eph_domxml_elem *disk = &doc->disks[i];
		size_t bus = bus_number(disk_bus(disk, as_parsed));

		if (first[bus] == SIZE_MAX)
			first[bus] = i;
		if (!is_hard_disk(disk))
			continue;
		hard[bus] = true;
		if (bus == BUS_VIRTIO && disk_index(disk) < first_virtio)
			first_virtio = disk_index(disk);
	}
	for (size_t bus = 0; bus < N_BUSES; bus++)
		if (hard[bus] && first[bus] < leading) {
			leading = first[bus];
			leader = bus;
		}
	if (leader == BUS_VIRTIO && first_virtio > order->first_virtio)
		order->first_virtio = first_virtio;
	if (leader < N_BUSES && leader != BUS_VIRTIO && first[BUS_VIRTIO] < leading)
		order->displaced = true;
}

void eph_domxml_order_read(const struct eph_domxml_doc *doc, struct eph_domxml_order *ret_order)
{
	struct eph_domxml_order order = { .displaced = false, .first_virtio = -1 };

	read_order(doc, true, &order);
	read_order(doc, false, &order);
	*ret_order = order;
}

size_t eph_domxml_order_before(const struct eph_domxml_doc *doc, long index)
{
	size_t n = 0;

	for (size_t i = 0; i < doc->n_disks; i++) {
		const struct eph_domxml_elem *disk = &doc->disks[i];

		if (is_hard_disk(disk) && strcmp(disk_bus(disk, false), "virtio") == 0 &&
		    disk_index(disk) <= index)
			n++;
	}
	return n;
}
