// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * xml.c - ephlvm xml add and ephlvm xml remove: a domain document from standard input to standard
 * output.
 * Owns reading it, bounded. Must write nothing to standard output unless the whole of it succeeded.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "commands.h"

/* All of standard input; free() @ret_xml. */
static enum cli_exit read_document(struct cli *cli, char **ret_xml, size_t *ret_bytes)
{
	/* One byte more than is allowed shows that it is too long. */
	const size_t most = EPHLVM_XML_MAX_BYTES + 1;
	_cleanup_free_ char *xml = malloc(most);
	size_t n;

	if (!xml)
		return cli_oom(cli);
	errno = 0;
	n = fread(xml, 1, most, stdin);
	if (ferror(stdin))
		return cli_error(cli, EPHLVM_ERROR_SYSTEM, errno, "standard input", NULL,
				 "cannot read the document: %s", strerror(errno));
	if (n == most)
		return cli_error(cli, EPHLVM_ERROR_INVALID, E2BIG, "standard input", NULL,
				 "the document is longer than %zu bytes", most - 1);
	*ret_xml = xml;
	*ret_bytes = n;
	xml = NULL;
	return CLI_OK;
}

static enum cli_exit get_opts(struct cli *cli, const struct cli_args *args,
			      struct ephlvm_xml_opts *opts)
{
	opts->source = cli_value(args, OPT_SOURCE);
	opts->target = cli_value(args, OPT_TARGET);
	opts->bus = cli_value(args, OPT_BUS);
	opts->serial = cli_value(args, OPT_SERIAL);
	if (opts->source && args->n_operands > 0)
		return cli_usage(cli, "give an instance or --source, not both");
	if (!opts->source && args->n_operands == 0)
		return cli_usage(cli, "give the UUID of an instance, or --source");
	/* For an instance, the volume and its flavor decide these. */
	if (!opts->source && (opts->target || opts->bus || opts->serial))
		return cli_usage(cli, "--target, --bus and --serial need --source");
	return CLI_OK;
}

static enum cli_exit transform(struct cli *cli, const struct cli_args *args, bool add)
{
	struct ephlvm_xml_opts opts = EPHLVM_XML_OPTS_INIT;
	_cleanup_free_ char *xml = NULL, *out = NULL;
	size_t bytes = 0, out_bytes = 0;
	enum cli_exit e;
	int r;

	e = get_opts(cli, args, &opts);
	if (e == CLI_OK)
		e = read_document(cli, &xml, &bytes);
	if (e != CLI_OK)
		return e;
	if (opts.source && add)
		r = ephlvm_xml_add(cli->ctx, xml, bytes, &opts, &out, &out_bytes);
	else if (opts.source)
		r = ephlvm_xml_remove(cli->ctx, xml, bytes, &opts, &out, &out_bytes);
	else if (add)
		r = ephlvm_instance_xml_add(cli->ctx, args->operands[0], xml, bytes, &out,
					    &out_bytes);
	else
		r = ephlvm_instance_xml_remove(cli->ctx, args->operands[0], xml, bytes, &out,
					       &out_bytes);
	if (r < 0)
		return cli_fail(cli, r);
	fwrite(out, 1, out_bytes, stdout);
	return CLI_OK;
}

static enum cli_exit run_add(struct cli *cli, const struct cli_args *args)
{
	return transform(cli, args, true);
}

static enum cli_exit run_remove(struct cli *cli, const struct cli_args *args)
{
	return transform(cli, args, false);
}

static const struct cli_option options[] = {
	{ OPT_SOURCE, "source", "PATH",
	  "the block device, instead of an instance: LVM and configuration are not read", 0, 0 },
	{ OPT_TARGET, "target", "TARGET", "target name: vdb (the default), vdc, ..., or auto", 0,
	  0 },
	{ OPT_BUS, "bus", "virtio", "bus of the disk", 0, 0 },
	{ OPT_SERIAL, "serial", "SERIAL", "serial number the guest sees, instead of ephemeral0", 0,
	  0 },
	{ OPT_JSON, "json", NULL, "print errors as JSON", 0, 0 },
	CLI_END,
};

const struct cli_command cli_xml_add = {
	.name = "xml add",
	.operands = "UUID",
	.summary = "insert the ephemeral disk into a domain document",
	.man = "ephlvm-xml(8)",
	.max_operands = 1,
	.options = options,
	.run = run_add,
};

const struct cli_command cli_xml_remove = {
	.name = "xml remove",
	.operands = "UUID",
	.summary = "take the ephemeral disk out of a domain document",
	.man = "ephlvm-xml(8)",
	.max_operands = 1,
	.options = options,
	.run = run_remove,
};
