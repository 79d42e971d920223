/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * domain.h - a volume in a libvirt domain: as a pure text transform of the
 * domain XML, and attached to or detached from a domain that libvirt knows.
 */
#ifndef EPHLVM_DOMAIN_H
#define EPHLVM_DOMAIN_H

#include <ephlvm/context.h>

EPHLVM_BEGIN_DECLS

/**
 * struct ephlvm_xml_opts - the disk that is added to or removed from a document
 * @size: sizeof(struct ephlvm_xml_opts); set by EPHLVM_XML_OPTS_INIT
 * @source: absolute path of the block device, not NULL: UTF-8 without control characters, "//",
 *          "/./" and "/../", at most 4095 bytes
 * @target: target name ("vda" to "vdzzz"), "auto" for the next free one from "vdb" on; NULL for
 *          "vdb"
 * @bus: "virtio"; NULL for "virtio". Later versions add others.
 * @serial: serial number the guest sees, 1 to 20 of A-Z a-z 0-9 _ . + - and space; NULL for
 *          "ephemeral0". The alias is "ua-" and this, with "_" for what an alias cannot hold.
 * @read_bytes_sec: limit of reads in bytes a second, at most 10^15, 0 for none; likewise the
 *                  others
 * @write_bytes_sec: see @read_bytes_sec
 * @total_bytes_sec: see @read_bytes_sec; not together with the two before
 * @read_iops_sec: limit of read operations a second, 0 for none
 * @write_iops_sec: see @read_iops_sec
 * @total_iops_sec: see @read_iops_sec; not together with the two before
 * @cache: "none" or "directsync"; NULL for "none"
 * @iothread: iothread that serves the disk, 0 for none; written only where the document
 *            declares that id
 */
struct ephlvm_xml_opts {
	size_t size;
	const char *source;
	const char *target;
	const char *bus;
	const char *serial;
	uint64_t read_bytes_sec;
	uint64_t write_bytes_sec;
	uint64_t total_bytes_sec;
	uint64_t read_iops_sec;
	uint64_t write_iops_sec;
	uint64_t total_iops_sec;
	const char *cache;
	unsigned int iothread;
};
#define EPHLVM_XML_OPTS_INIT                           \
	{                                              \
		.size = sizeof(struct ephlvm_xml_opts) \
	}

/** EPHLVM_XML_MAX_BYTES - longest document that is read */
#define EPHLVM_XML_MAX_BYTES ((size_t)8 << 20)

/**
 * ephlvm_xml_add - insert one disk into a domain document
 * @ctx: context, not NULL
 * @xml: document in UTF-8, not NULL; need not end in NUL
 * @xml_bytes: its length, at most EPHLVM_XML_MAX_BYTES
 * @opts: the disk, not NULL
 * @ret_xml: receives the new document, with a NUL behind it; free() it; not NULL
 * @ret_bytes: receives its length without the NUL; not NULL
 *
 * A pure text transform: every byte of @xml stays, one <disk> element is added after the last
 * <disk> of /domain/devices (without one after <emulator>, else as the first child), indented as
 * its neighbour. Where our own disk (this source, and this target or "auto") is there already the
 * output equals the input. Warnings go to the log: the guest will not see it as @target; the
 * iothread is not declared, or the alias taken, and so left out; the serial is there twice. Does
 * no I/O and needs no privilege.
 *
 * Return: 0, or -EINVAL (option refused; or document refused: not UTF-8, not well-formed, a
 * DOCTYPE, no kvm, qemu or test domain of os type hvm, not one <devices> to put it into, or the
 * disk would come before the one that is booted today), -EEXIST (target or source taken by another
 * device), -E2BIG (document too long), -ENOMEM.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_xml_add(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
				 const struct ephlvm_xml_opts *opts, char **ret_xml,
				 size_t *ret_bytes);

/**
 * ephlvm_xml_remove - take exactly our disk out of a domain document
 * @ctx: context, not NULL
 * @xml: document in UTF-8, not NULL; need not end in NUL
 * @xml_bytes: its length, at most EPHLVM_XML_MAX_BYTES
 * @opts: the disk, not NULL; @source (and @target, where given) say which one
 * @ret_xml: receives the new document, with a NUL behind it; free() it; not NULL
 * @ret_bytes: receives its length without the NUL; not NULL
 *
 * Takes out the element with that source and the white space that came with it, also after
 * libvirt wrote the document anew: what ephlvm_xml_add() gave becomes again what it was given.
 * Where the source is not there the output equals the input.
 *
 * Return: as ephlvm_xml_add(), without -EEXIST; -EINVAL also where the source is there more than
 * once, at another target than @target, or in a device that is no plain block disk.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_xml_remove(struct ephlvm_ctx *ctx, const char *xml, size_t xml_bytes,
				    const struct ephlvm_xml_opts *opts, char **ret_xml,
				    size_t *ret_bytes);

/**
 * ephlvm_instance_xml_add - insert an instance's ephemeral disk into its domain document
 * @ctx: context, not NULL
 * @instance: instance UUID, not NULL
 * @xml: as in ephlvm_xml_add()
 * @xml_bytes: as in ephlvm_xml_add()
 * @ret_xml: as in ephlvm_xml_add()
 * @ret_bytes: as in ephlvm_xml_add()
 *
 * Source, iotune and cache come from the volume and its flavor. Reads LVM: blocks for its
 * time, needs root.
 *
 * Return: as ephlvm_xml_add(), or -ENOENT (no ready volume), -EIO (LVM failed).
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_instance_xml_add(struct ephlvm_ctx *ctx, const char *instance,
					  const char *xml, size_t xml_bytes, char **ret_xml,
					  size_t *ret_bytes);

/**
 * ephlvm_instance_xml_remove - take an instance's ephemeral disk out of a domain document
 * @ctx: context, not NULL
 * @instance: instance UUID, not NULL
 * @xml: as in ephlvm_xml_remove()
 * @xml_bytes: as in ephlvm_xml_remove()
 * @ret_xml: as in ephlvm_xml_remove()
 * @ret_bytes: as in ephlvm_xml_remove()
 *
 * Return: as ephlvm_xml_remove(), or -ENOENT (no such volume), -EIO (LVM failed).
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_instance_xml_remove(struct ephlvm_ctx *ctx, const char *instance,
					     const char *xml, size_t xml_bytes, char **ret_xml,
					     size_t *ret_bytes);

/**
 * struct ephlvm_attach_opts - where a volume is attached or detached
 * @size: sizeof(struct ephlvm_attach_opts); set by EPHLVM_ATTACH_OPTS_INIT
 * @domain: name or UUID of the domain; NULL for the domain with the instance's UUID
 * @target: target name, "auto" for the next free one; NULL for "vdb"
 * @flags: EPHLVM_DRY_RUN, or 0
 */
struct ephlvm_attach_opts {
	size_t size;
	const char *domain;
	const char *target;
	unsigned int flags;
};
#define EPHLVM_ATTACH_OPTS_INIT                           \
	{                                                 \
		.size = sizeof(struct ephlvm_attach_opts) \
	}

/**
 * ephlvm_attach - attach an instance's ephemeral disk to its domain
 * @ctx: context, not NULL
 * @instance: instance UUID, not NULL
 * @opts: options, or NULL for defaults
 *
 * Changes the persistent definition and, where the domain runs, the running domain too.
 * Attached already: nothing to do. Activates the volume. Blocks for LVM and libvirt; needs
 * root.
 *
 * Return: 0, or -ENOENT (no such volume or domain), -EEXIST (target taken), -EBUSY (wired
 * into another domain, mounted or open on the host), -EINVAL, -EIO (LVM or libvirt failed),
 * -ETIMEDOUT (libvirt or a lock: see the kind), -EACCES.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_attach(struct ephlvm_ctx *ctx, const char *instance,
				const struct ephlvm_attach_opts *opts);

/**
 * ephlvm_detach - detach an instance's ephemeral disk from its domain
 * @ctx: context, not NULL
 * @instance: instance UUID, not NULL
 * @opts: options, or NULL for defaults
 *
 * From the running domain it waits until the guest gave the disk up, up to the configured
 * deadline. Not attached: nothing to do.
 *
 * Return: as ephlvm_attach(), or -ETIMEDOUT (the guest keeps the disk).
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_detach(struct ephlvm_ctx *ctx, const char *instance,
				const struct ephlvm_attach_opts *opts);

EPHLVM_END_DECLS

#endif
