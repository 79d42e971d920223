/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * config.h - the configuration as a whole: is it good, and what is in force.
 */
#ifndef EPHLVM_CONFIG_H
#define EPHLVM_CONFIG_H

#include <ephlvm/context.h>

EPHLVM_BEGIN_DECLS

/**
 * ephlvm_config_check - read the configuration and say whether it is good
 * @ctx: context, not NULL
 * @ret_exists: receives whether there was a file to read; may be NULL
 *
 * Return: 0, or -EINVAL (record names file, key and what is allowed), -EPERM (owner, mode or
 * a link), -ENOENT (a file set by ephlvm_ctx_set_config_path() is missing), -EIO, -ENOMEM.
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_config_check(struct ephlvm_ctx *ctx, bool *ret_exists);

/**
 * ephlvm_config_show - the configuration in force, defaults filled in
 * @ctx: context, not NULL
 * @ret_json: receives a JSON document in the form of the file; free() it; not NULL
 *
 * Return: as ephlvm_config_check().
 *
 * Since: 0.1
 */
EPHLVM_EXPORT int ephlvm_config_show(struct ephlvm_ctx *ctx, char **ret_json);

EPHLVM_END_DECLS

#endif
