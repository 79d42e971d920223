/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * commands.h - the rows of the command table, each defined beside its handler, and how rows are
 * found.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli.h"

extern const struct cli_command cli_create;
extern const struct cli_command cli_list;
extern const struct cli_command cli_show;
extern const struct cli_command cli_delete;
extern const struct cli_command cli_restore;
extern const struct cli_command cli_hold;
extern const struct cli_command cli_unhold;
extern const struct cli_command cli_purge;
extern const struct cli_command cli_receipts;
extern const struct cli_command cli_attach;
extern const struct cli_command cli_detach;
extern const struct cli_command cli_xml_add;
extern const struct cli_command cli_xml_remove;
extern const struct cli_command cli_pool_init;
extern const struct cli_command cli_pool_show;
extern const struct cli_command cli_pool_scrub;
extern const struct cli_command cli_flavor_list;
extern const struct cli_command cli_flavor_show;
extern const struct cli_command cli_config_check;
extern const struct cli_command cli_config_show;
extern const struct cli_command cli_activate;
extern const struct cli_command cli_version;
extern const struct cli_command cli_help_command;

/* The command of one or two words, NULL for none; @second may be NULL. @ret_words: how many. */
const struct cli_command *cli_find(const char *first, const char *second, int *ret_words);
/* Is @word the first of several commands of two words? */
bool cli_is_group(const char *word);
enum cli_exit cli_help_group(const char *group);
enum cli_exit cli_unknown(struct cli *cli, const char *first, const char *second);

#endif
