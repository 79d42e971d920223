// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * corpus_oracle.c - a second opinion on what corpus_driver reports.
 * Verdicts: judged again from a libxml2 tree with XPath, written without a look at the library.
 * Results: libvirt's own parser (test driver, in this process) must accept every document that was
 * made from one that it accepts, and must keep the first hard disk first.
 *
 *	corpus_oracle --report FILE --in DIR --out DIR [--shard I/N]
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <libxml/xpath.h>

#define SOURCE "/dev/ephemeral/11111111-2222-3333-4444-555555555555_disk.eph0"
#define MAPPER "/dev/mapper/ephemeral-11111111--2222--3333--4444--555555555555_disk.eph0"

struct run {
	virConnectPtr conn;
	const char *in;
	const char *out;
	size_t passed, failed, judged, defined, not_asked;
	bool bad;
	const char *name;
};

__attribute__((format(printf, 2, 3))) static void complain(struct run *run, const char *fmt, ...)
{
	va_list ap;

	run->bad = true;
	printf("FAIL %s: ", run->name);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

static void silent_xml(void *data, const char *fmt, ...)
{
	(void)data;
	(void)fmt;
}

static void silent_virt(void *data, virErrorPtr error)
{
	(void)data;
	(void)error;
}

static char *read_file(const char *dir, const char *name, size_t *ret_bytes)
{
	char path[4096];
	char *text;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "re");
	if (!f)
		return NULL;
	text = malloc((8 << 20) + 2);
	n = fread(text, 1, (8 << 20) + 1, f);
	text[n] = '\0';
	fclose(f);
	*ret_bytes = n;
	return text;
}

/* NULL for all that is not well-formed, names and namespaces included. */
static xmlDocPtr parse(const char *text, size_t bytes)
{
	xmlParserCtxtPtr parser = xmlNewParserCtxt();
	xmlDocPtr doc = xmlCtxtReadMemory(parser, text, (int)bytes, NULL, NULL, XML_PARSE_NONET);
	bool good = parser->wellFormed && parser->nsWellFormed;

	xmlFreeParserCtxt(parser);
	if (good)
		return doc;
	xmlFreeDoc(doc);
	return NULL;
}

static double number(xmlDocPtr doc, const char *xpath)
{
	xmlXPathContextPtr context = xmlXPathNewContext(doc);
	xmlXPathObjectPtr object = xmlXPathEvalExpression(BAD_CAST xpath, context);
	double value = object ? xmlXPathCastToNumber(object) : -1;

	xmlXPathFreeObject(object);
	xmlXPathFreeContext(context);
	return value;
}

static bool truth(xmlDocPtr doc, const char *xpath)
{
	xmlXPathContextPtr context = xmlXPathNewContext(doc);
	xmlXPathObjectPtr object = xmlXPathEvalExpression(BAD_CAST xpath, context);
	bool value = object && xmlXPathCastToBoolean(object);

	xmlXPathFreeObject(object);
	xmlXPathFreeContext(context);
	return value;
}

static void string(xmlDocPtr doc, const char *xpath, char *buf, size_t size)
{
	xmlXPathContextPtr context = xmlXPathNewContext(doc);
	xmlXPathObjectPtr object = xmlXPathEvalExpression(BAD_CAST xpath, context);
	xmlChar *value = object ? xmlXPathCastToString(object) : NULL;

	snprintf(buf, size, "%s", value ? (const char *)value : "");
	xmlFree(value);
	xmlXPathFreeObject(object);
	xmlXPathFreeContext(context);
}

/* libvirt's list of disks, kept as libvirt keeps it: one insertion after the other. */
struct kept {
	char bus[32];
	double index;
	bool hard;
	bool ours;
};

static double name_index(const char *name)
{
	static const char *const prefixes[] = { "fd", "hd", "vd", "sd", "xvd", "ubd" };
	const char *letters = NULL;
	double index = 0;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
			letters = name + strlen(prefixes[i]);
			break;
		}
	if (!letters)
		return -1;
	name = letters;
	while (*name >= 'a' && *name <= 'z')
		index = index * 26 + (*name++ - 'a' + 1);
	if (name == letters || name[strspn(name, "0123456789")])
		return -1;
	return index - 1;
}

static void keep(struct kept *list, size_t *n, const struct kept *new)
{
	long at = -1;

	for (long i = (long)*n - 1; i >= 0; i--) {
		if (strcmp(list[i].bus, new->bus) != 0)
			continue;
		if (list[i].index > new->index)
			at = i;
		else if (at < 0)
			at = i + 1;
	}
	if (at < 0)
		at = (long)*n;
	memmove(list + at + 1, list + at, ((size_t)((long)*n - at)) * sizeof(*list));
	list[at] = *new;
	(*n)++;
}

static void guess_bus(struct kept *disk, const char *device, const char *target)
{
	const char *bus = "ide";

	if (disk->bus[0])
		return;
	if (strcmp(device, "floppy") == 0)
		bus = "fdc";
	else if (strncmp(target, "sd", 2) == 0)
		bus = "scsi";
	else if (strncmp(target, "vd", 2) == 0)
		bus = "virtio";
	else if (strncmp(target, "xvd", 3) == 0)
		bus = "xen";
	strcpy(disk->bus, bus);
}

/* Would a virtio disk at vdb become the first hard disk of those that are there? */
static bool displaces(xmlDocPtr doc, bool guess)
{
	size_t n = 0, count = (size_t)number(doc, "count(/domain/devices/disk)");
	struct kept *list = calloc(count + 1, sizeof(*list));
	struct kept ours = { .bus = "virtio", .index = 1, .hard = true, .ours = true };
	bool any = false, result = false;

	for (size_t i = 1; i <= count; i++) {
		char xpath[128], device[64], target[64];
		struct kept disk = { .ours = false };

		snprintf(xpath, sizeof(xpath), "string(/domain/devices/disk[%zu]/@device)", i);
		string(doc, xpath, device, sizeof(device));
		snprintf(xpath, sizeof(xpath), "string(/domain/devices/disk[%zu]/target/@dev)", i);
		string(doc, xpath, target, sizeof(target));
		snprintf(xpath, sizeof(xpath), "string(/domain/devices/disk[%zu]/target/@bus)", i);
		string(doc, xpath, disk.bus, sizeof(disk.bus));
		if (guess)
			guess_bus(&disk, device, target);
		disk.index = name_index(target);
		disk.hard = !device[0] || strcmp(device, "disk") == 0 || strcmp(device, "lun") == 0;
		any |= disk.hard;
		keep(list, &n, &disk);
	}
	keep(list, &n, &ours);
	for (size_t i = 0; i < n; i++)
		if (list[i].hard) {
			result = any && list[i].ours;
			break;
		}
	free(list);
	return result;
}

static bool is_hvm_domain(xmlDocPtr doc)
{
	return truth(doc, "/domain[@type='kvm' or @type='qemu' or @type='test']") &&
	       truth(doc, "string(/domain/os[1]/type[1]) = 'hvm'");
}

/* No deeper than 256 elements, and no element of more than 256 attributes, xmlns included. */
static bool within_limits(const xmlNode *node)
{
	size_t level = 1;

	while (node) {
		size_t attrs = 0;

		if (node->type == XML_ELEMENT_NODE) {
			for (const xmlAttr *attr = node->properties; attr; attr = attr->next)
				attrs++;
			for (const xmlNs *ns = node->nsDef; ns; ns = ns->next)
				attrs++;
			if (level > 256 || attrs > 256)
				return false;
			if (node->children) {
				node = node->children;
				level++;
				continue;
			}
		}
		while (node && !node->next) {
			node = node->parent;
			level--;
		}
		if (node)
			node = node->next;
	}
	return true;
}

/* The exit code of `xml add --source SOURCE --target vdb`; whether the disk is there already. */
static int judge(xmlDocPtr doc, const char *text, size_t bytes, bool *ret_there)
{
	const char *xpath = "count(/domain/devices//source/@*[(name()='dev' or name()='file' or "
			    "name()='path') and (.='" SOURCE "' or .='" MAPPER
			    "')]) + count(/domain/devices//block[.='" SOURCE "'])";
	bool mine;

	*ret_there = false;
	if (!doc || doc->intSubset || memchr(text, 0, bytes) ||
	    !within_limits(xmlDocGetRootElement(doc)))
		return 2;
	if (doc->encoding && strcasecmp((const char *)doc->encoding, "UTF-8") != 0)
		return 2;
	if (!is_hvm_domain(doc) || number(doc, "count(/domain/devices)") != 1)
		return 2;
	if (truth(doc, "not(/domain/devices/node())") && strstr(text, "<devices/>"))
		return 2;
	mine = number(doc,
		      "count(/domain/devices/disk[@type='block' and (not(@device) or "
		      "@device='disk') and source/@dev='" SOURCE "' and target/@dev='vdb'])") == 1;
	if (mine && number(doc, xpath) == 1 &&
	    number(doc, "count(/domain/devices/disk/target[@dev='vdb'])") == 1) {
		*ret_there = true;
		return 0;
	}
	if (number(doc, xpath) > 0 || truth(doc, "/domain/devices/disk/target[@dev='vdb']"))
		return 4;
	if (truth(doc, "/domain/devices/*/boot/@order"))
		return 0;
	return displaces(doc, false) || displaces(doc, true) ? 2 : 0;
}

static void check_written(struct run *run, const char *target, xmlDocPtr was, xmlDocPtr is)
{
	const char *ours = "/domain/devices/disk[source/@dev='" SOURCE "']";
	char xpath[512], name[32];
	bool declared;

	snprintf(xpath, sizeof(xpath), "count(%s)", ours);
	if (number(is, xpath) != 1 ||
	    number(is, "count(/domain/devices/*)") != number(was, "count(/domain/devices/*)") + 1)
		complain(run, "not exactly one disk was added");
	snprintf(xpath, sizeof(xpath), "string(%s/target/@dev)", ours);
	string(is, xpath, name, sizeof(name));
	if (strcmp(target, "auto") != 0 && strcmp(name, target) != 0)
		complain(run, "target is \"%s\"", name);
	snprintf(xpath, sizeof(xpath), "/domain/devices/disk/target[@dev='%s']", name);
	if (truth(was, xpath))
		complain(run, "target \"%s\" was taken before", name);
	if (strncmp(name, "vd", 2) != 0 || strcmp(name, "vda") == 0)
		complain(run, "target is \"%s\"", name);
	snprintf(xpath, sizeof(xpath), "%s[following-sibling::disk or address or boot]", ours);
	if (truth(is, xpath))
		complain(run, "it is not the last disk, or has an address or a boot order");
	declared = truth(was, "/domain/iothreadids/iothread[@id=1] or /domain/iothreads > "
			      "count(/domain/iothreadids/iothread)");
	snprintf(xpath, sizeof(xpath), "%s/driver/@iothread", ours);
	if (truth(is, xpath) != declared)
		complain(run, "iothread is %swritten", declared ? "not " : "");
}

/* As the test driver takes it: of its type, of any architecture, of a name that is free there. */
static char *for_test_driver(xmlDocPtr doc)
{
	xmlDocPtr copy = xmlCopyDoc(doc, 1);
	xmlNodePtr root = xmlDocGetRootElement(copy);
	xmlChar *text = NULL;
	int bytes;

	xmlSetProp(root, BAD_CAST "type", BAD_CAST "test");
	for (xmlNodePtr node = root->children; node; node = node->next) {
		if (node->type != XML_ELEMENT_NODE || node->ns)
			continue;
		if (strcmp((const char *)node->name, "name") == 0 && node->children &&
		    xmlStrEqual(node->children->content, BAD_CAST "test"))
			xmlNodeSetContent(node, BAD_CAST "corpus");
		if (strcmp((const char *)node->name, "os") != 0)
			continue;
		for (xmlNodePtr type = node->children; type; type = type->next)
			if (type->type == XML_ELEMENT_NODE &&
			    strcmp((const char *)type->name, "type") == 0)
				xmlUnsetProp(type, BAD_CAST "arch");
	}
	xmlDocDumpMemory(copy, &text, &bytes);
	xmlFreeDoc(copy);
	return (char *)text;
}

/* What libvirt answers. */
struct answer {
	bool taken;
	char first[64]; /* target of the first hard disk */
	char message[512];
};

static void define(virConnectPtr conn, const char *text, unsigned int flags, struct answer *answer)
{
	virDomainPtr domain = virDomainDefineXMLFlags(conn, text, flags);
	char *dump = domain ? virDomainGetXMLDesc(domain, VIR_DOMAIN_XML_INACTIVE) : NULL;
	xmlDocPtr doc = dump ? parse(dump, strlen(dump)) : NULL;

	if (!doc) {
		snprintf(answer->message, sizeof(answer->message), "%s", virGetLastErrorMessage());
		return;
	}
	answer->taken = true;
	string(doc, "string(/domain/devices/disk[@device='disk' or @device='lun']/target/@dev)",
	       answer->first, sizeof(answer->first));
}

/*
 * In a child: the answer cannot depend on what was defined before, and libvirt 9.0 crashes on a few
 * documents of later versions.
 */
static struct answer ask(struct run *run, const char *text, unsigned int flags)
{
	struct answer answer = { .message = "libvirt crashed" };
	int fds[2], status;
	pid_t child;

	fflush(NULL);
	if (pipe(fds) < 0 || (child = fork()) < 0) {
		complain(run, "no pipe or process");
		return answer;
	}
	if (child == 0) {
		memset(&answer, 0, sizeof(answer));
		define(run->conn, text, flags, &answer);
		_exit(write(fds[1], &answer, sizeof(answer)) == sizeof(answer) ? 0 : 1);
	}
	close(fds[1]);
	if (read(fds[0], &answer, sizeof(answer)) != sizeof(answer))
		answer.taken = false;
	close(fds[0]);
	waitpid(child, &status, 0);
	return answer;
}

static void ask_libvirt(struct run *run, xmlDocPtr was, xmlDocPtr is)
{
	char *before = for_test_driver(was), *after = for_test_driver(is);
	unsigned int flags = VIR_DOMAIN_DEFINE_VALIDATE;
	struct answer old, new;

	old = ask(run, before, flags);
	if (!old.taken) {
		flags = 0;
		old = ask(run, before, flags);
	}
	if (old.taken)
		new = ask(run, after, flags);
	if (!old.taken)
		run->not_asked++;
	else if (!new.taken)
		complain(run, "libvirt takes the document, and not the result: %s", new.message);
	else
		run->defined++;
	if (old.taken && new.taken && old.first[0] && strcmp(old.first, new.first) != 0 &&
	    !truth(was, "/domain/devices/*/boot/@order"))
		complain(run, "libvirt's first hard disk was \"%s\" and is \"%s\"", old.first,
			 new.first);
	xmlFree(before);
	xmlFree(after);
}

static void check_row(struct run *run, const char *target, int code, const char *status)
{
	size_t bytes = 0, out_bytes = 0;
	char *text = read_file(run->in, run->name, &bytes), *out_text;
	bool is_auto = strcmp(target, "auto") == 0, there;
	xmlDocPtr was, is;
	char path[4096];
	int verdict;

	if (!text) {
		complain(run, "cannot be read");
		return;
	}
	was = parse(text, bytes);
	verdict = judge(was, text, bytes, &there);
	run->judged += !is_auto;
	if (!is_auto && (verdict != code || there != (strcmp(status, "there") == 0)))
		complain(run, "exit %d (%s), and the second opinion is %d%s", code, status, verdict,
			 there ? " (there)" : "");
	if (was && strcmp(status, "added") == 0) {
		snprintf(path, sizeof(path), "%s/%s", run->out, target);
		out_text = read_file(path, run->name, &out_bytes);
		is = out_text ? parse(out_text, out_bytes) : NULL;
		if (is) {
			check_written(run, target, was, is);
			ask_libvirt(run, was, is);
		} else {
			complain(run, "the result is not well-formed");
		}
		xmlFreeDoc(is);
		free(out_text);
	}
	xmlFreeDoc(was);
	free(text);
}

static void check_report(struct run *run, FILE *report, unsigned int shard, unsigned int shards)
{
	char line[1024], name[512], target[16], status[16];
	unsigned int n = 0;
	int code;

	while (fgets(line, sizeof(line), report)) {
		if (n++ % shards != shard)
			continue;
		run->bad = false;
		run->name = name;
		if (sscanf(line, "%511[^\t]\t%15[^\t]\t%d\t%15s", name, target, &code, status) != 4)
			complain(run, "report has a bad line");
		else
			check_row(run, target, code, status);
		if (run->bad)
			run->failed++;
		else
			run->passed++;
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "report", required_argument, NULL, 'r' },
		{ "in", required_argument, NULL, 'i' },
		{ "out", required_argument, NULL, 'o' },
		{ "shard", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	unsigned int shard = 0, shards = 1;
	struct run run = { .conn = NULL };
	FILE *report = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (c == 'r')
			report = fopen(optarg, "re");
		else if (c == 'i')
			run.in = optarg;
		else if (c == 'o')
			run.out = optarg;
		else if (c == 's' && sscanf(optarg, "%u/%u", &shard, &shards) != 2)
			shards = 0;
	}
	if (!report || !run.in || !run.out || shards == 0) {
		fprintf(stderr, "usage: see the head of corpus_oracle.c\n");
		return 2;
	}
	xmlSetGenericErrorFunc(NULL, silent_xml);
	virSetErrorFunc(NULL, silent_virt);
	run.conn = virConnectOpen("test:///default");
	if (!run.conn) {
		fprintf(stderr, "libvirt's test driver: %s\n", virGetLastErrorMessage());
		return 2;
	}
	check_report(&run, report, shard, shards);
	virConnectClose(run.conn);
	fclose(report);
	printf("count judged-again %zu\ncount taken-by-libvirt %zu\ncount not-of-test-driver %zu\n",
	       run.judged, run.defined, run.not_asked);
	printf("result %zu %zu\n", run.passed, run.failed);
	return run.failed ? 1 : 0;
}
