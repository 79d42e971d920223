// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * delete.c - ephlvm delete: an instance's volumes become trash.
 * Owns the question before it. Must call nothing that changes anything before the answer is yes.
 */
#include "commands.h"
#include "output.h"

/*
 * Ask with the count that a dry run gives, so that a volume in use, or a wrong UUID, is told before
 * the question and not after it.
 */
static enum cli_exit confirm(struct cli *cli, const struct ephlvm_delete_opts *wanted)
{
	struct ephlvm_delete_opts opts = *wanted;
	size_t count = 0;
	int r;

	if (cli->yes)
		return CLI_OK;
	if (cli_terminal()) {
		opts.flags |= EPHLVM_DRY_RUN;
		ephlvm_ctx_set_action(cli->ctx, NULL, NULL);
		r = ephlvm_delete(cli->ctx, &opts, &count);
		ephlvm_ctx_set_action(cli->ctx, cli_action_fn, cli);
		if (r < 0)
			return cli_fail(cli, r);
		/* Delete is still called: with --wait it waits for an erase under way. */
		if (count == 0)
			return CLI_OK;
	}
	return cli_confirm(cli, "Delete %zu volume%s of %s? [y/N]", count, count == 1 ? "" : "s",
			   opts.instance);
}

static enum cli_exit print_deleted(struct cli *cli, size_t count, bool waited)
{
	_cleanup_json_ struct json_object *doc = NULL;

	if (count > 0 && !waited)
		cli_say(cli, "%zu volume%s deleted; \"ephlvm purge\" erases and frees the space",
			count, count == 1 ? "" : "s");
	if (count == 0)
		cli_say(cli, "nothing to delete");
	if (!cli->json)
		return CLI_OK;
	doc = out_doc();
	if (!doc || out_put(doc, "deleted", json_object_new_uint64(count)) < 0)
		return cli_oom(cli);
	return out_done(cli, doc);
}

static enum cli_exit run(struct cli *cli, const struct cli_args *args)
{
	struct ephlvm_delete_opts opts = EPHLVM_DELETE_OPTS_INIT;
	bool waited = cli_given(args, OPT_WAIT);
	enum cli_exit e = CLI_OK;
	size_t count = 0;
	int r;

	opts.instance = args->operands[0];
	opts.disks = args->values[OPT_DISK];
	opts.flags = (cli->dry_run ? EPHLVM_DRY_RUN : 0) | (waited ? EPHLVM_WAIT : 0) |
		     (cli_given(args, OPT_DOMAIN_GONE) ? EPHLVM_DOMAIN_GONE : 0);
	if (!cli->dry_run)
		e = confirm(cli, &opts);
	if (e != CLI_OK)
		return e;
	r = ephlvm_delete(cli->ctx, &opts, &count);
	if (r < 0)
		return cli_fail(cli, r);
	return cli->dry_run ? out_plan(cli) : print_deleted(cli, count, waited);
}

static const struct cli_option options[] = {
	{ OPT_DISK, "disk", "DISK", "only this disk, as eph0; may be repeated", CLI_REPEAT, 0 },
	{ OPT_DOMAIN_GONE, "domain-gone", NULL,
	  "the instance is being deleted: its own domain, shut off, does not hold the disk", 0, 0 },
	{ OPT_WAIT, "wait", NULL, "erase and free the space before returning", 0, 0 },
	CLI_OPTION_YES,
	CLI_OPTION_DRY_RUN,
	CLI_OPTION_JSON,
	CLI_END,
};

const struct cli_command cli_delete = {
	.name = "delete",
	.operands = "UUID",
	.summary = "delete the volumes of an instance",
	.man = "ephlvm-delete(8)",
	.min_operands = 1,
	.max_operands = 1,
	.options = options,
	.run = run,
};
