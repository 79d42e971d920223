/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * flavor.h - flavors: what sizes an instance's disks.
 *
 * Six flavors are built in (cc.micro ... cc.2xlarge); the configuration can
 * replace or add some. Flavors belong to the context and live as long as it.
 */
#ifndef EPHLVM_FLAVOR_H
#define EPHLVM_FLAVOR_H

#include <ephlvm/context.h>

EPHLVM_BEGIN_DECLS

struct ephlvm_flavor;

/**
 * ephlvm_flavor_count - how many flavors there are
 * @ctx: context, not NULL
 * @ret_count: receives the number; not NULL
 *
 * Reads the configuration if that was not done yet.
 *
 * Return: 0, or -EINVAL (bad configuration), -EPERM (configuration not trustworthy), -EIO,
 * -ENOMEM.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_flavor_count(struct ephlvm_ctx *ctx, size_t *ret_count);

/**
 * ephlvm_flavor_at - one flavor by index, built-in ones first, in the order of the table
 * @ctx: context, not NULL
 * @index: 0 .. count - 1
 *
 * Return: the flavor, owned by @ctx; NULL beyond the end or before ephlvm_flavor_count().
 *
 * Since: 0.1
 */
EPHLVM_EXPORT const struct ephlvm_flavor *ephlvm_flavor_at(struct ephlvm_ctx *ctx, size_t index);

/**
 * ephlvm_flavor_find - one flavor by name
 * @ctx: context, not NULL
 * @name: exact name, not NULL
 * @ret_flavor: receives the flavor, owned by @ctx; not NULL
 *
 * Return: 0, or -ENOENT (no such flavor), or as ephlvm_flavor_count().
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_flavor_find(struct ephlvm_ctx *ctx, const char *name,
				     const struct ephlvm_flavor **ret_flavor);

/** ephlvm_flavor_name - name; never NULL. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_flavor_name(const struct ephlvm_flavor *flavor);
/** ephlvm_flavor_vcpus - number of virtual CPUs. Since: 0.1 */
EPHLVM_EXPORT unsigned int ephlvm_flavor_vcpus(const struct ephlvm_flavor *flavor);
/** ephlvm_flavor_ram_bytes - memory in bytes. Since: 0.1 */
EPHLVM_EXPORT uint64_t ephlvm_flavor_ram_bytes(const struct ephlvm_flavor *flavor);
/** ephlvm_flavor_root_bytes - size of the root disk in bytes. Since: 0.1 */
EPHLVM_EXPORT uint64_t ephlvm_flavor_root_bytes(const struct ephlvm_flavor *flavor);
/** ephlvm_flavor_ephemeral_bytes - size of the ephemeral disk in bytes, 0 for none. Since: 0.1 */
EPHLVM_EXPORT uint64_t ephlvm_flavor_ephemeral_bytes(const struct ephlvm_flavor *flavor);
/** ephlvm_flavor_swap_bytes - size of the swap disk in bytes, 0 for none. Since: 0.1 */
EPHLVM_EXPORT uint64_t ephlvm_flavor_swap_bytes(const struct ephlvm_flavor *flavor);
/** ephlvm_flavor_pool - pool of its own, NULL for the host's only one. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_flavor_pool(const struct ephlvm_flavor *flavor);
/** ephlvm_flavor_fs - file system of its ephemeral disk, NULL for the default. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_flavor_fs(const struct ephlvm_flavor *flavor);
/** ephlvm_flavor_kind - "thick" or "thin", NULL for the pool's. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_flavor_kind(const struct ephlvm_flavor *flavor);
/** ephlvm_flavor_layout - "linear", ..., NULL for the pool's. Since: 0.1 */
EPHLVM_EXPORT const char *ephlvm_flavor_layout(const struct ephlvm_flavor *flavor);
/** ephlvm_flavor_builtin - true unless the configuration defined it. Since: 0.1 */
EPHLVM_EXPORT bool ephlvm_flavor_builtin(const struct ephlvm_flavor *flavor);

EPHLVM_END_DECLS

#endif
