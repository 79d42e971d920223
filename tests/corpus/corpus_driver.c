// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * corpus_driver.c - every document of a directory through the domain XML room: added, added twice,
 * removed, and compared byte for byte; exit codes as in an EXPECT.tsv where there is one.
 * Writes what was added to a directory and a report of verdicts, both for corpus_oracle, which asks
 * libvirt. A document that hangs or kills this program is named in the file given by --current.
 *
 *	corpus_driver --out DIR --report FILE --current FILE [--expect FILE] [--shard I/N] DIR
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ephlvm/ephlvm.h>

#include "core/context.h"
#include "pure/domxml.h"
#include "util/cleanup.h"

#define SOURCE "/dev/ephemeral/11111111-2222-3333-4444-555555555555_disk.eph0"
/* Sanitizers included, no document takes a tenth of this. */
#define DEADLINE_SECONDS 20

struct expect {
	char file[256];
	int exit_code;
	char what[512];
	bool seen;
};

struct reason {
	char words[128];
	size_t n;
};

struct run {
	struct ephlvm_ctx *ctx;
	const char *dir;
	const char *out;
	FILE *report;
	int current;
	struct expect *expects;
	size_t n_expects;
	struct reason reasons[64];
	size_t n_reasons;
	size_t passed, failed, added, there, refused, taken;
	size_t warnings; /* of the last call */
	bool bad; /* the document at hand has failed */
	const char *name;
};

static char current_name[256];

static void on_alarm(int signal)
{
	static const char words[] = ": no answer before the deadline\n";
	ssize_t n;

	(void)signal;
	n = write(STDOUT_FILENO, "FAIL ", 5);
	n = write(STDOUT_FILENO, current_name, strlen(current_name));
	n = write(STDOUT_FILENO, words, sizeof(words) - 1);
	(void)n;
	_exit(3);
}

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

static void count_warning(void *data, enum ephlvm_log_level level, const char *message)
{
	struct run *run = data;

	(void)message;
	run->warnings += level == EPHLVM_LOG_WARNING;
}

static int read_file(const char *path, char **ret_text, size_t *ret_bytes)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	text = malloc((size_t)st.st_size + 1);
	if (!text)
		return -ENOMEM;
	n = read(fd, text, (size_t)st.st_size);
	if (n != st.st_size)
		return -EIO;
	/* No NUL behind it: the sanitizer then sees a read beyond the end. */
	*ret_text = n ? realloc(text, (size_t)n) : text;
	text = NULL;
	*ret_bytes = (size_t)n;
	return 0;
}

static int write_file(const char *dir, const char *name, const char *text, size_t bytes)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	if (!f)
		return -errno;
	fwrite(text, 1, bytes, f);
	return fclose(f) == 0 ? 0 : -EIO;
}

/* Is @out nothing but @in with one run of bytes put in? */
static bool is_insertion(const char *in, size_t in_bytes, const char *out, size_t out_bytes)
{
	size_t head = 0, tail = 0;

	if (out_bytes < in_bytes)
		return false;
	while (head < in_bytes && in[head] == out[head])
		head++;
	while (tail < in_bytes - head && in[in_bytes - 1 - tail] == out[out_bytes - 1 - tail])
		tail++;
	return head + tail == in_bytes;
}

static bool same(const char *a, size_t a_bytes, const char *b, size_t b_bytes)
{
	return a_bytes == b_bytes && memcmp(a, b, a_bytes) == 0;
}

static int exit_code(enum ephlvm_error_kind kind)
{
	switch (kind) {
	case EPHLVM_ERROR_NONE:
		return 0;
	case EPHLVM_ERROR_INVALID:
		return 2;
	case EPHLVM_ERROR_BUSY:
		return 4;
	default:
		return 1;
	}
}

/* The message without what comes from the document: "..." for values, N for numbers. */
static void strip_values(const char *message, char *words, size_t size)
{
	size_t n = 0;

	while (*message && n + 6 < size) {
		words[n++] = *message;
		if (*message == '"') {
			message += strcspn(message + 1, "\"") + 1;
			n += (size_t)sprintf(words + n, "...\"");
		} else if (strchr("0123456789", *message)) {
			message += strspn(message, "0123456789") - 1;
			words[n - 1] = 'N';
		} else if (*message == ':') {
			n--;
			break;
		}
		message += *message != '\0';
	}
	words[n] = '\0';
}

static void count_reason(struct run *run, const char *message)
{
	char words[128];
	size_t i;

	strip_values(message, words, sizeof(words));
	for (i = 0; i < run->n_reasons; i++)
		if (strcmp(run->reasons[i].words, words) == 0)
			break;
	if (i == sizeof(run->reasons) / sizeof(run->reasons[0]))
		return;
	if (i == run->n_reasons)
		strcpy(run->reasons[run->n_reasons++].words, words);
	run->reasons[i].n++;
}

static void check_refusal(struct run *run, int r, const char *out)
{
	const char *message = ephlvm_error_message(run->ctx);

	if (out)
		complain(run, "refused, and a document was given all the same");
	if (r != -ephlvm_error_errno(run->ctx))
		complain(run, "returned %d, and the record says %d", r,
			 ephlvm_error_errno(run->ctx));
	if (!*message || strchr(message, '\n') || message[strlen(message) - 1] == '.')
		complain(run, "message \"%s\" is not one line without a full stop", message);
}

static void check_removal(struct run *run, const struct ephlvm_xml_opts *opts, const char *in,
			  size_t in_bytes, const char *out, size_t out_bytes)
{
	_cleanup_free_ char *back = NULL;
	size_t back_bytes = 0;
	int r;

	r = ephlvm_xml_remove(run->ctx, out, out_bytes, opts, &back, &back_bytes);
	if (r < 0)
		complain(run, "remove: %s", ephlvm_error_message(run->ctx));
	else if (!same(in, in_bytes, back, back_bytes))
		complain(run, "remove does not give the document back");
}

static void check_again(struct run *run, const struct ephlvm_xml_opts *opts, const char *out,
			size_t out_bytes)
{
	_cleanup_free_ char *again = NULL;
	size_t again_bytes = 0;
	int r;

	r = ephlvm_xml_add(run->ctx, out, out_bytes, opts, &again, &again_bytes);
	if (r < 0)
		complain(run, "added twice: %s", ephlvm_error_message(run->ctx));
	else if (!same(out, out_bytes, again, again_bytes))
		complain(run, "adding twice is not adding once");
}

static const char *check_added(struct run *run, const struct ephlvm_xml_opts *opts, const char *in,
			       size_t in_bytes, const char *out, size_t out_bytes)
{
	char path[4096];

	if (out[out_bytes] != '\0')
		complain(run, "no NUL behind the document");
	check_again(run, opts, out, out_bytes);
	if (same(in, in_bytes, out, out_bytes))
		return "there";
	if (!is_insertion(in, in_bytes, out, out_bytes))
		complain(run, "more than one run of bytes was changed");
	check_removal(run, opts, in, in_bytes, out, out_bytes);
	snprintf(path, sizeof(path), "%s/%s", run->out, opts->target);
	if (write_file(path, run->name, out, out_bytes) < 0)
		complain(run, "cannot be written to %s", path);
	return "added";
}

/* Add the disk at @target; returns the exit code of the command. */
static int try_target(struct run *run, const char *target, const char *in, size_t in_bytes,
		      const char **ret_status)
{
	struct ephlvm_xml_opts opts = EPHLVM_XML_OPTS_INIT;
	_cleanup_free_ char *out = NULL;
	size_t out_bytes = 0;
	int r, code;

	opts.source = SOURCE;
	opts.target = target;
	/* Asked for where the document says anything of them; written only where declared. */
	if (memmem(in, in_bytes, "<iothread", strlen("<iothread")))
		opts.iothread = 1;
	run->warnings = 0;
	r = ephlvm_xml_add(run->ctx, in, in_bytes, &opts, &out, &out_bytes);
	code = exit_code(ephlvm_error_kind(run->ctx));
	*ret_status = "refused";
	if (r < 0) {
		count_reason(run, ephlvm_error_message(run->ctx));
		check_refusal(run, r, out);
	} else {
		size_t warnings = run->warnings;

		*ret_status = check_added(run, &opts, in, in_bytes, out, out_bytes);
		run->warnings = warnings;
	}
	fprintf(run->report, "%s\t%s\t%d\t%s\n", run->name, target, code, *ret_status);
	return code;
}

static struct expect *find_expect(struct run *run, const char *name)
{
	for (size_t i = 0; i < run->n_expects; i++)
		if (strcmp(run->expects[i].file, name) == 0)
			return &run->expects[i];
	return NULL;
}

static void check_next_name(struct run *run, const char *name)
{
	char path[4096], want[64];
	_cleanup_free_ char *out = NULL;
	size_t bytes;

	snprintf(path, sizeof(path), "%s/auto/%s", run->out, run->name);
	snprintf(want, sizeof(want), "<target dev='%.*s' bus='virtio'/>",
		 (int)strspn(name, "abcdefghijklmnopqrstuvwxyz"), name);
	if (read_file(path, &out, &bytes) < 0 || !memmem(out, bytes, want, strlen(want)))
		complain(run, "auto does not write %s", want);
}

/* What the words of the third column say that can be seen. */
static void check_expect(struct run *run, int code, const char *status, size_t warnings)
{
	static const char next[] = "next free name is ";
	struct expect *expect = find_expect(run, run->name);
	const char *name;

	if (run->n_expects == 0)
		return;
	if (!expect) {
		complain(run, "is not in EXPECT.tsv");
		return;
	}
	expect->seen = true;
	if (code != expect->exit_code)
		complain(run, "exit %d, expected %d (%s): %s", code, expect->exit_code,
			 expect->what, ephlvm_error_message(run->ctx));
	if (strstr(expect->what, "output equals input") && strcmp(status, "there") != 0)
		complain(run, "the output should equal the input");
	if (strstr(expect->what, "warn:") && warnings == 0)
		complain(run, "a warning is missing");
	if (strstr(expect->what, "no warning") && warnings > 0)
		complain(run, "there is a warning");
	name = strstr(expect->what, next);
	if (name)
		check_next_name(run, name + strlen(next));
}

static void check_reading(struct run *run, const char *in, size_t in_bytes)
{
	struct eph_domxml_disks disks;
	int r;

	eph_enter(run->ctx);
	r = eph_domxml_read_disks(run->ctx, in, in_bytes, &disks);
	if (r == 0)
		eph_domxml_disks_clear(&disks);
	else if (r != -EINVAL)
		complain(run, "reading its disks: %s", ephlvm_error_message(run->ctx));
}

static void check_document(struct run *run, const char *name)
{
	_cleanup_free_ char *in = NULL;
	const char *status, *auto_status;
	size_t in_bytes, warnings;
	char path[4096];
	int code;

	run->name = name;
	run->bad = false;
	snprintf(current_name, sizeof(current_name), "%s", name);
	if (ftruncate(run->current, 0) < 0 || pwrite(run->current, name, strlen(name), 0) < 0)
		complain(run, "its name cannot be written");
	snprintf(path, sizeof(path), "%s/%s", run->dir, name);
	if (read_file(path, &in, &in_bytes) < 0) {
		complain(run, "cannot be read");
		run->failed++;
		return;
	}
	alarm(DEADLINE_SECONDS);
	code = try_target(run, "vdb", in, in_bytes, &status);
	warnings = run->warnings;
	if (code == 1)
		complain(run, "%s", ephlvm_error_message(run->ctx));
	if (code == 4)
		try_target(run, "auto", in, in_bytes, &auto_status);
	check_expect(run, code, status, warnings);
	check_reading(run, in, in_bytes);
	alarm(0);
	run->added += strcmp(status, "added") == 0;
	run->there += strcmp(status, "there") == 0;
	run->taken += code == 4;
	run->refused += code == 2;
	if (run->bad)
		run->failed++;
	else
		run->passed++;
}

static int is_document(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 4 && strcmp(entry->d_name + len - 4, ".xml") == 0;
}

static int read_expects(struct run *run, const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	char line[2048];

	if (!f)
		return -errno;
	run->expects = calloc(1024, sizeof(*run->expects));
	if (!run->expects)
		return -ENOMEM;
	while (run->n_expects < 1024 && fgets(line, sizeof(line), f)) {
		struct expect *expect = &run->expects[run->n_expects];

		if (line[0] == '#')
			continue;
		if (sscanf(line, "%255[^\t]\t%d\t%511[^\n]", expect->file, &expect->exit_code,
			   expect->what) != 3)
			return -EINVAL;
		run->n_expects++;
	}
	return 0;
}

static int check_directory(struct run *run, unsigned int shard, unsigned int shards)
{
	struct dirent **entries;
	int n = scandir(run->dir, &entries, is_document, alphasort);

	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		if ((unsigned int)i % shards == shard)
			check_document(run, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	for (size_t i = 0; i < run->n_expects && shards == 1; i++) {
		if (run->expects[i].seen)
			continue;
		printf("FAIL %s: is in EXPECT.tsv and not there\n", run->expects[i].file);
		run->failed++;
	}
	return 0;
}

static void print_summary(const struct run *run)
{
	printf("count added %zu\ncount there-already %zu\ncount refused %zu\ncount taken %zu\n",
	       run->added, run->there, run->refused, run->taken);
	for (size_t i = 0; i < run->n_reasons; i++)
		printf("reason %zu %s\n", run->reasons[i].n, run->reasons[i].words);
	printf("result %zu %zu\n", run->passed, run->failed);
}

static int parse_options(struct run *run, int argc, char **argv, unsigned int *shard,
			 unsigned int *shards)
{
	static const struct option options[] = {
		{ "out", required_argument, NULL, 'o' },
		{ "report", required_argument, NULL, 'r' },
		{ "current", required_argument, NULL, 'c' },
		{ "expect", required_argument, NULL, 'e' },
		{ "shard", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (c == 'o')
			run->out = optarg;
		else if (c == 'r')
			run->report = fopen(optarg, "we");
		else if (c == 'c')
			run->current = open(optarg, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		else if (c == 'e' && read_expects(run, optarg) < 0)
			return -EINVAL;
		else if (c == 's' && sscanf(optarg, "%u/%u", shard, shards) != 2)
			return -EINVAL;
		else if (c == '?')
			return -EINVAL;
	}
	if (optind != argc - 1 || !run->out || !run->report || run->current < 0 || *shards == 0)
		return -EINVAL;
	run->dir = argv[optind];
	return 0;
}

int main(int argc, char **argv)
{
	struct run run = { .current = -1 };
	unsigned int shard = 0, shards = 1;
	int r;

	if (parse_options(&run, argc, argv, &shard, &shards) < 0) {
		fprintf(stderr, "usage: see the head of corpus_driver.c\n");
		return 2;
	}
	if (ephlvm_ctx_new(&run.ctx) < 0)
		return 2;
	ephlvm_ctx_set_log(run.ctx, EPHLVM_LOG_WARNING, count_warning, &run);
	signal(SIGALRM, on_alarm);
	r = check_directory(&run, shard, shards);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", run.dir, strerror(-r));
	print_summary(&run);
	fclose(run.report);
	close(run.current);
	free(run.expects);
	ephlvm_ctx_unref(run.ctx);
	return r < 0 || run.failed ? 1 : 0;
}
