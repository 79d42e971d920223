/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/conffile.h - the configuration file: opened once without following links, root-owned, not
 * writable by others (each parent too), bounded in size.
 */
#ifndef EPH_EDGE_CONFFILE_H
#define EPH_EDGE_CONFFILE_H

#include "core/context.h"
#include "pure/config.h"

#define EPH_CONFIG_PATH "/etc/ephlvm/ephlvm.json"
#define EPH_CONFIG_MAX_BYTES ((size_t)1 << 20)

/*
 * The context's configuration, read on first use. Owned by the context. A missing default file means
 * built-in values. 0, -EINVAL (what it says, or its path), -EPERM (not to be trusted, or no access),
 * -ENOENT (a file set by the caller is missing), -EIO, -ENOMEM (record set).
 */
int eph_config_get(struct ephlvm_ctx *ctx, const struct eph_config **ret_config);

#endif
