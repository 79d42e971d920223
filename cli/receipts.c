// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * receipts.c - ephlvm receipts: what was erased, and whether the chain of receipts holds.
 * Owns the rows. A receipt is a document of the library's: its fields are looked up, not made.
 */
#include <errno.h>

#include "commands.h"
#include "output.h"

static void receiptsp(struct ephlvm_receipts **receipts)
{
	ephlvm_receipts_free(*receipts);
}

static int add_rows(const struct ephlvm_receipts *receipts, struct json_object *rows)
{
	for (size_t i = 0; i < ephlvm_receipts_count(receipts); i++) {
		struct json_object *row = json_tokener_parse(ephlvm_receipts_at(receipts, i));

		if (!row || json_object_array_add(rows, row) < 0) {
			json_object_put(row);
			return -1;
		}
	}
	return 0;
}

static enum cli_exit print(struct cli *cli, const struct cli_args *args, struct json_object *rows)
{
	_cleanup_json_ struct json_object *doc = NULL;

	if (!cli->json)
		return out_table(cli, args, out_receipt_columns, rows);
	doc = out_doc();
	if (!doc || out_put(doc, "receipts", json_object_get(rows)) < 0)
		return cli_oom(cli);
	return out_json(cli, doc);
}

static enum cli_exit run(struct cli *cli, const struct cli_args *args)
{
	__attribute__((cleanup(receiptsp))) struct ephlvm_receipts *receipts = NULL;
	struct ephlvm_receipts_opts opts = EPHLVM_RECEIPTS_OPTS_INIT;
	_cleanup_json_ struct json_object *rows = json_object_new_array();
	const char *broken;
	enum cli_exit e;
	int r;

	e = out_check(cli, args, out_receipt_columns);
	if (e != CLI_OK)
		return e;
	opts.instance = args->n_operands > 0 ? args->operands[0] : NULL;
	r = ephlvm_receipts_read(cli->ctx, &opts, &receipts);
	if (r < 0)
		return cli_fail(cli, r);
	if (!rows || add_rows(receipts, rows) < 0)
		return cli_oom(cli);
	e = print(cli, args, rows);
	broken = ephlvm_receipts_broken(receipts);
	if (e != CLI_OK || !broken)
		return e;
	return cli_error(cli, EPHLVM_ERROR_SYSTEM, EBADMSG, broken,
			 "somebody changed the file; the journal has each receipt too",
			 "the chain of receipts is broken: %s", broken);
}

static const struct cli_option options[] = {
	CLI_OPTION_OUTPUT,
	CLI_OPTION_NO_HEADINGS,
	CLI_OPTION_JSON,
	CLI_END,
};

const struct cli_command cli_receipts = {
	.name = "receipts",
	.operands = "[UUID]",
	.summary = "show what was erased, and check that no receipt was changed",
	.man = "ephlvm-receipts(8)",
	.max_operands = 1,
	.options = options,
	.run = run,
};
