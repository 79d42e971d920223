// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Receipts: their form; the chain over lines, files and writers; what a crash cut short; what somebody changed;
 * that one which cannot be written is an error that leaves the file as it was; that the journal is told.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <ephlvm/receipt.h>

#include "core/context.h"
#include "edge/receipt.h"
#include "failing_alloc.h"

#define INSTANCE "11111111-2222-3333-4444-555555555555"

struct place {
	char root[64];
	char file[128];
	struct ephlvm_ctx *ctx;
	struct eph_receipt receipt;
	struct eph_strv drives;
};

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

static struct {
	int fsync_errno, write_errno;
	unsigned int fsync_at; /* which of them fails; 0: each */
	unsigned int fsyncs; /* so far */
	bool no_fsync; /* only counted */
	struct place *intruder; /* another writer, once, when the full file has just got its number */
	size_t write_most; /* bytes of the next write, then write_errno; 0: all */
	int journal_result;
	unsigned int journal_calls, journal_fsyncs; /* fsyncs before it was told */
	char journal[4096]; /* its fields, one a line */
} fake;

int __real_fsync(int fd);
ssize_t __real_write(int fd, const void *buf, size_t n);
int __real_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags);
int __wrap_fsync(int fd);
int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags);
ssize_t __wrap_write(int fd, const void *buf, size_t n);
int __wrap_sd_journal_send_with_location(const char *file, const char *line, const char *func,
					 const char *format, ...);

int __wrap_fsync(int fd)
{
	fake.fsyncs++;
	if (!fake.fsync_errno || (fake.fsync_at && fake.fsync_at != fake.fsyncs))
		return fake.no_fsync ? 0 : __real_fsync(fd);
	errno = fake.fsync_errno;
	return -1;
}

static int append(struct place *p);

int __wrap_renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags)
{
	struct place *intruder = fake.intruder;
	int r = __real_renameat2(from_fd, from, to_fd, to, flags);

	fake.intruder = NULL;
	if (intruder)
		assert_int_equal(append(intruder), 0);
	return r;
}

/* One field: "NAME=" and conversions of %s, %d and %llu. */
static void print_field(FILE *f, const char *format, va_list *ap)
{
	for (; *format; format++) {
		if (*format != '%')
			fputc(*format, f);
		else if (*++format == 's')
			fputs(va_arg(*ap, const char *), f);
		else if (*format == 'd')
			fprintf(f, "%d", va_arg(*ap, int));
		else if (strncmp(format, "llu", 3) == 0)
			fprintf(f, "%llu", va_arg(*ap, unsigned long long)), format += 2;
		else
			fail_msg("a conversion that this test does not know: %s", format);
	}
	fputc('\n', f);
}

int __wrap_sd_journal_send_with_location(const char *file, const char *line, const char *func,
					 const char *format, ...)
{
	FILE *f = fmemopen(fake.journal, sizeof(fake.journal), "w");
	va_list ap;

	(void)file, (void)line, (void)func;
	assert_non_null(f);
	va_start(ap, format);
	for (; format; format = va_arg(ap, const char *))
		print_field(f, format, &ap);
	va_end(ap);
	fclose(f);
	fake.journal_calls++;
	fake.journal_fsyncs = fake.fsyncs;
	return fake.journal_result;
}

ssize_t __wrap_write(int fd, const void *buf, size_t n)
{
	size_t most = fake.write_most;

	if (most) {
		fake.write_most = 0;
		return __real_write(fd, buf, most < n ? most : n);
	}
	if (!fake.write_errno)
		return __real_write(fd, buf, n);
	errno = fake.write_errno;
	return -1;
}

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	memset(&fake, 0, sizeof(fake));
	assert_non_null(p);
	snprintf(p->root, sizeof(p->root), "/tmp/ephlvm-receipt.XXXXXX");
	assert_non_null(mkdtemp(p->root));
	snprintf(p->file, sizeof(p->file), "%s/receipts/receipts.jsonl", p->root);
	setenv("EPHLVM_STATE_DIR", p->root, 1);
	assert_int_equal(ephlvm_ctx_new(&p->ctx), 0);
	assert_int_equal(eph_strv_add(&p->drives, "SERIAL-1"), 0);
	p->receipt = (struct eph_receipt){
		.vg = "vg",
		.lv = "trash-1",
		.vg_uuid = "v",
		.lv_uuid = "l",
		.instance = INSTANCE,
		.disk = "eph0",
		.pool = "p",
		.drives = &p->drives,
		.size_bytes = UINT64_C(214748364800),
		.method = "zero",
		.means = "io_uring",
		.passes = 1,
		.verify = "sample",
		.started_at = 1700000000,
		.ended_at = 1700000060,
	};
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	char command[160];

	ephlvm_ctx_unref(p->ctx);
	eph_strv_clear(&p->drives);
	snprintf(command, sizeof(command), "rm -rf %s", p->root);
	assert_int_equal(system(command), 0);
	free(p);
	return 0;
}

static int append(struct place *p)
{
	char *line = NULL;
	int r;

	eph_enter(p->ctx);
	r = eph_receipt_append(p->ctx, &p->receipt, 60000, &line);
	assert_true((r == 0) == (line != NULL));
	free(line);
	return r;
}

/* How many there are; the chain holds, or is broken where @broken says. */
static size_t count(struct place *p, const char *instance, const char *broken)
{
	struct ephlvm_receipts_opts opts = EPHLVM_RECEIPTS_OPTS_INIT;
	struct ephlvm_receipts *receipts = NULL;
	size_t n;

	opts.instance = instance;
	assert_int_equal(ephlvm_receipts_read(p->ctx, &opts, &receipts), 0);
	if (!broken && ephlvm_receipts_broken(receipts))
		fail_msg("%s", ephlvm_receipts_broken(receipts));
	if (broken) {
		assert_non_null(ephlvm_receipts_broken(receipts));
		assert_string_equal(ephlvm_receipts_broken(receipts), broken);
	}
	n = ephlvm_receipts_count(receipts);
	for (size_t i = 0; i < n; i++)
		assert_non_null(strchr(ephlvm_receipts_at(receipts, i), '{'));
	assert_null(ephlvm_receipts_at(receipts, n));
	ephlvm_receipts_free(receipts);
	return n;
}

static off_t size_of(const char *file)
{
	struct stat st;

	assert_int_equal(stat(file, &st), 0);
	return st.st_size;
}

static void shell(const char *form, const char *file)
{
	char command[400];

	snprintf(command, sizeof(command), form, file, file);
	assert_int_equal(system(command), 0);
}

static void lines_are_private_chained_and_filtered(void **state)
{
	struct place *p = *state;
	struct stat st;

	assert_int_equal(count(p, NULL, NULL), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(append(p), 0);
	p->receipt.instance = NULL;
	assert_int_equal(append(p), 0);
	assert_int_equal(count(p, NULL, NULL), 4);
	assert_int_equal(count(p, INSTANCE, NULL), 3);
	assert_int_equal(count(p, "99999999-2222-3333-4444-555555555555", NULL), 0);
	assert_int_equal(stat(p->file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	*strrchr(p->file, '/') = '\0';
	assert_int_equal(stat(p->file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void what_was_changed_or_taken_out_breaks_the_chain(void **state)
{
	static const struct {
		const char *change, *broken;
	} changes[] = {
		{ "sed -i '2s/zero/none/' %s", "line 3: it does not follow the line before it" },
		{ "sed -i 2d %s", "line 2: it does not follow the line before it" },
		{ "sed -i 1d %s", "line 1: it does not follow the line before it" },
		{ "sed -i '2p' %s", "line 3: it does not follow the line before it" },
		{ "sed -i '2s/.*/{}/' %s", "line 2: it is no receipt" },
		{ "sed -i '2s/.*/no json/' %s", "line 2: it is no receipt" },
		{ "sed -i '3s/^/ /;2s/^/ /' %s", "line 3: it does not follow the line before it" },
		{ "printf 'x\\0y\\n' >>%s", "line 5: it is no receipt" },
		/* What a reader of JSON would not see. */
		{ "truncate -s -1 %s; printf '\\0y\\n' >>%s", "line 4: it is no receipt" },
		{ "truncate -s -1 %s; printf '%%70000s\\n' '' >>%s", "line 4: it is no receipt" },
	};
	struct place *p = *state;
	char broken[120];

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		unlink(p->file);
		for (int n = 0; n < 4; n++)
			assert_int_equal(append(p), 0);
		count(p, NULL, NULL);
		shell(changes[i].change, p->file);
		snprintf(broken, sizeof(broken), "receipts.jsonl, %s", changes[i].broken);
		count(p, NULL, broken);
	}
}

static void a_line_cut_short_is_taken_off(void **state)
{
	struct place *p = *state;
	off_t before;

	assert_int_equal(append(p), 0);
	before = size_of(p->file);
	shell("printf '{\"schema\":1,\"started' >>%s", p->file);
	assert_int_equal(count(p, NULL, NULL), 1);
	assert_int_equal(append(p), 0);
	assert_int_equal(count(p, NULL, NULL), 2);
	assert_true(size_of(p->file) < 2 * before + 200);
	/* Also where nothing else is there. */
	shell("printf '{\"schema\":1,\"started' >%s", p->file);
	assert_int_equal(append(p), 0);
	assert_int_equal(count(p, NULL, NULL), 1);
}

static void one_that_cannot_be_written_is_an_error(void **state)
{
	static const struct {
		int fsync_errno, write_errno;
		size_t most;
		unsigned int fsync_at; /* 1: the file, 2: its folder */
	} cases[] = {
		{ EIO, 0, 0, 1 }, { EIO, 0, 0, 2 }, { 0, ENOSPC, 0, 0 }, { 0, EDQUOT, 100, 0 }
	};
	struct place *p = *state;
	off_t before;

	assert_int_equal(append(p), 0);
	before = size_of(p->file);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(&fake, 0, sizeof(fake));
		fake.fsync_errno = cases[i].fsync_errno;
		fake.fsync_at = cases[i].fsync_at;
		fake.write_errno = cases[i].write_errno;
		fake.write_most = cases[i].most;
		assert_int_equal(append(p), cases[i].fsync_errno ? -EIO : -cases[i].write_errno);
		assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_SYSTEM);
		assert_int_equal(fake.journal_calls, 0);
		memset(&fake, 0, sizeof(fake));
		assert_true(size_of(p->file) == before);
	}
	assert_int_equal(append(p), 0);
	assert_int_equal(count(p, NULL, NULL), 2);
}

static void files_of_others_are_not_written(void **state)
{
	struct place *p = *state;

	assert_int_equal(append(p), 0);
	assert_int_equal(chmod(p->file, 0666), 0);
	assert_int_equal(append(p), -EPERM);
	/* To root it is a fault of the host, to others a right that they lack. */
	assert_int_equal(ephlvm_error_kind(p->ctx),
			 geteuid() == 0 ? EPHLVM_ERROR_SYSTEM : EPHLVM_ERROR_PERMISSION);
	assert_int_equal(unlink(p->file), 0);
	assert_int_equal(symlink("/tmp/ephlvm-nowhere", p->file), 0);
	assert_true(append(p) < 0);
	assert_int_equal(access("/tmp/ephlvm-nowhere", F_OK), -1);
	assert_int_equal(unlink(p->file), 0);
	assert_int_equal(mkfifo(p->file, 0600), 0);
	assert_int_equal(append(p), -EPERM);
}

/* Some 270 such fill a file. */
static void make_it_long(struct place *p)
{
	char serial[60001];

	memset(serial, 'S', sizeof(serial) - 1);
	serial[sizeof(serial) - 1] = '\0';
	assert_int_equal(eph_strv_add(&p->drives, serial), 0);
	fake.no_fsync = true;
}

static void old_name(const struct place *p, unsigned int number, char name[160])
{
	snprintf(name, 160, "%s/receipts/receipts-%08u.jsonl", p->root, number);
}

static size_t fill(struct place *p)
{
	size_t n = 0;

	do {
		assert_int_equal(append(p), 0);
		n++;
	} while (size_of(p->file) < 16 << 20);
	return n;
}

/* Also at the moment when the file is full, which one of them sees to. */
static bool at_once(void *data)
{
	(void)data;
	return true;
}

/* Who holds the lock may be stopped. The file stays as it is, and the next one has its turn. */
static void a_lock_that_is_not_let_go_ends_the_waiting(void **state)
{
	struct place *p = *state;
	char *line = NULL;
	off_t before;
	int fd;

	assert_int_equal(append(p), 0);
	before = size_of(p->file);
	fd = open(p->file, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	eph_enter(p->ctx);
	assert_int_equal(eph_receipt_append(p->ctx, &p->receipt, 20, &line), -ETIMEDOUT);
	assert_null(line);
	assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_SYSTEM);
	assert_non_null(strstr(ephlvm_error_message(p->ctx), "locked by another process"));
	assert_true(size_of(p->file) == before);
	ephlvm_ctx_set_cancel(p->ctx, at_once, NULL);
	eph_enter(p->ctx);
	assert_int_equal(eph_receipt_append(p->ctx, &p->receipt, 60000, &line), -ECANCELED);
	assert_null(line);
	close(fd);
}

static void writers_take_turns(void **state)
{
	struct place *p = *state;
	char old[160];
	pid_t pids[8];

	make_it_long(p);
	for (size_t i = 0; i < 8; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			for (int n = 0; n < 40; n++)
				if (append(p) < 0)
					_exit(1);
			_exit(0);
		}
	}
	for (size_t i = 0; i < 8; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(count(p, NULL, NULL), 320);
	old_name(p, 1, old);
	assert_int_equal(access(old, F_OK), 0);
	old_name(p, 2, old);
	assert_int_equal(access(old, F_OK), -1);
}

/* A writer that is killed at @mark. */
static void killed_at(struct place *p, const char *mark)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("EPHLVM_STOP_AT", mark, 1);
		append(p);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* A file of 16 MiB gets a number; the chain goes on in another, whoever is killed there. */
static void the_chain_goes_on_over_files(void **state)
{
	struct place *p = *state;
	char old[160], third[160];
	size_t n = 0;

	make_it_long(p);
	for (unsigned int i = 1; i <= 2; i++) {
		n += fill(p);
		old_name(p, i, old);
		shell("printf '{\"schema\":1,\"started' >>%s", p->file);
		killed_at(p, "receipt-rotate");
		assert_int_equal(access(old, F_OK), -1);
		fake.fsyncs = 0;
		assert_int_equal(append(p), 0);
		n++;
		/* The full one without its torn end, the new one, and the folder with both names. */
		assert_int_equal(fake.fsyncs, 3);
		assert_int_equal(access(old, F_OK), 0);
		assert_true(size_of(p->file) < 1 << 20);
		assert_int_equal(count(p, NULL, NULL), n);
	}
	/* Killed when it had its number, and the new one was not made. */
	old_name(p, 3, third);
	assert_int_equal(rename(p->file, third), 0);
	assert_int_equal(count(p, NULL, NULL), n);
	assert_int_equal(append(p), 0);
	assert_int_equal(count(p, NULL, NULL), n + 1);
	/* A file that is taken out, or cut, is seen in the next. */
	assert_int_equal(truncate(third, size_of(third) - 1), 0);
	assert_int_equal(count(p, NULL, "receipts-00000003.jsonl, line 1: it has no end"), n);
	assert_int_equal(unlink(third), 0);
	assert_int_equal(
		count(p, NULL, "receipts.jsonl, line 1: it does not follow the line before it"), n);
	old_name(p, 1, old);
	assert_int_equal(unlink(old), 0);
	count(p, NULL, "receipts-00000002.jsonl, line 1: it does not follow the line before it");
}

/* The one that rotates comes second in the new file: it follows that line, and does not cut it off. */
static void another_writer_is_first_in_the_new_file(void **state)
{
	struct place *p = *state;
	size_t n;

	make_it_long(p);
	n = fill(p);
	fake.intruder = p;
	assert_int_equal(append(p), 0);
	assert_null(fake.intruder);
	assert_int_equal(count(p, NULL, NULL), n + 2);
	fill(p);
	fake.intruder = p;
	n = count(p, NULL, NULL);
	fake.fsyncs = 0;
	fake.fsync_errno = EIO;
	fake.fsync_at = 4; /* the full file, the other's two, and then ours */
	assert_int_equal(append(p), -EIO);
	assert_int_equal(count(p, NULL, NULL), n + 1);
}

static void a_killed_writer_leaves_a_whole_chain(void **state)
{
	struct place *p = *state;

	assert_int_equal(append(p), 0);
	killed_at(p, "receipt-write");
	assert_int_equal(count(p, NULL, NULL), 1);
	killed_at(p, "receipt-written");
	assert_int_equal(count(p, NULL, NULL), 2);
	assert_int_equal(append(p), 0);
	assert_int_equal(count(p, NULL, NULL), 3);
}

/* Each key, in its order: what docs/schema/receipts.json says. */
static void the_form_of_a_line_stays(void **state)
{
	static const char head[] =
		"{\"schema\":1,\"started_at\":\"2023-11-14T22:13:20Z\",\"ended_at\":\"2023-11-14T22:14:20Z\","
		"\"vg\":\"vg\",\"lv\":\"trash-1\",\"vg_uuid\":\"v\",\"lv_uuid\":\"l\","
		"\"instance\":\"" INSTANCE "\",\"disk\":\"eph0\",\"flavor\":null,\"pool\":\"p\","
		"\"method\":\"zero\",\"means\":\"io_uring\",\"size_bytes\":214748364800,\"passes\":1,"
		"\"written_bytes\":18446744073709551615,\"resumed_bytes\":3,\"drives\":[\"SERIAL-1\"],"
		"\"verify\":{\"mode\":\"sample\",\"bytes\":5,\"places\":7},\"caller\":{\"uid\":";
	struct place *p = *state;
	char *line = NULL, *next = NULL, tail[160];

	p->receipt.written_bytes = UINT64_MAX;
	p->receipt.resumed_bytes = 3;
	p->receipt.verified_bytes = 5;
	p->receipt.verified_places = 7;
	assert_int_equal(eph_receipt_append(p->ctx, &p->receipt, 60000, &line), 0);
	assert_memory_equal(line, head, sizeof(head) - 1);
	assert_non_null(strstr(line, ",\"login_uid\":"));
	snprintf(tail, sizeof(tail),
		 ",\"pid\":%d,\"command\":\"test_receipt\"},\"prev\":\"" ZEROS "\"}",
		 (int)getpid());
	assert_string_equal(line + strlen(line) - strlen(tail), tail);
	/* SHA-256 of the bytes of the line before, as sha256sum has it. */
	assert_int_equal(eph_receipt_append(p->ctx, &p->receipt, 60000, &next), 0);
	shell("test \"$(head -n 1 %s | tr -d '\\n' | sha256sum | cut -c 1-64)\" = "
	      "\"$(tail -n 1 %s | sed 's/.*\"prev\":\"//; s/\"}$//')\"",
	      p->file);
	free(line);
	free(next);
}

static void the_journal_is_told_what_is_on_the_drive(void **state)
{
	struct place *p = *state;
	char *line = NULL, field[2048];

	fake.journal_result = -ENOBUFS; /* a fault of the journal is none of the receipt */
	assert_int_equal(eph_receipt_append(p->ctx, &p->receipt, 60000, &line), 0);
	assert_int_equal(fake.journal_calls, 1);
	assert_int_equal(fake.journal_fsyncs, 2);
	snprintf(field, sizeof(field), "\nEPHLVM_RECEIPT=%s\n", line);
	assert_non_null(strstr(fake.journal, field));
	assert_non_null(strstr(fake.journal, "\nEPHLVM_INSTANCE=" INSTANCE "\n"));
	assert_non_null(strstr(fake.journal, "\nEPHLVM_LV_UUID=l\n"));
	assert_non_null(strstr(fake.journal, "MESSAGE_ID=5b1f7e0c1b7d4c0e9a4e6f3f8b0d2c67\n"));
	free(line);
}

static int append_another(struct ephlvm_ctx *ctx, void *data, const char *line,
			  const char *instance)
{
	struct place *p = data;
	char *written = NULL;
	int r;

	(void)line;
	assert_string_equal(instance, INSTANCE);
	r = eph_receipt_append(ctx, &p->receipt, 60000, &written);
	free(written);
	return r;
}

static void reading_holds_up_no_writer(void **state)
{
	struct place *p = *state;
	char *broken = NULL;

	assert_int_equal(append(p), 0);
	assert_int_equal(append(p), 0);
	/* It ends, too: what is added meanwhile is for the next reading. */
	assert_int_equal(eph_receipt_read(p->ctx, 60000, append_another, p, &broken), 0);
	assert_null(broken);
	assert_int_equal(count(p, NULL, NULL), 4);
}

/* A child of nobody's, or ours where we are not root. 0, or the line of the first step that went wrong. */
static int as_nobody(struct place *p, int (*steps)(struct place *p))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(geteuid() == 0 && setresuid(65534, 65534, 65534) < 0 ? 255 : steps(p));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int read_is_denied(struct place *p)
{
	struct ephlvm_receipts *receipts = NULL;

	if (ephlvm_receipts_read(p->ctx, NULL, &receipts) != -EACCES)
		return 1;
	return ephlvm_error_kind(p->ctx) == EPHLVM_ERROR_PERMISSION ? 0 : 2;
}

static void others_cannot_read(void **state)
{
	struct place *p = *state;

	assert_int_equal(append(p), 0);
	assert_int_equal(chmod(p->root, geteuid() == 0 ? 0700 : 0), 0);
	assert_int_equal(as_nobody(p, read_is_denied), 0);
	assert_int_equal(chmod(p->root, 0700), 0);
}

static int reads_what_it_cannot_write(struct place *p)
{
	struct ephlvm_receipts *receipts = NULL;
	int status = 0;

	if (ephlvm_receipts_read(p->ctx, NULL, &receipts) < 0)
		return 1;
	ephlvm_receipts_free(receipts);
	/* It made no file. */
	if (access(p->file, F_OK) == 0)
		return 2;
	if (append(p) < 0 || chmod(p->file, 0400) < 0)
		return 3;
	if (append(p) != -EACCES || ephlvm_error_kind(p->ctx) != EPHLVM_ERROR_PERMISSION)
		return 4;
	receipts = NULL;
	if (ephlvm_receipts_read(p->ctx, NULL, &receipts) < 0)
		return 5;
	if (ephlvm_receipts_count(receipts) != 1)
		status = 6;
	ephlvm_receipts_free(receipts);
	return status;
}

/* As on a file system that went read-only after an error. */
static void reading_needs_no_writing(void **state)
{
	struct place *p = *state;

	if (geteuid() == 0)
		assert_int_equal(chown(p->root, 65534, 65534), 0);
	assert_int_equal(as_nobody(p, reads_what_it_cannot_write), 0);
}

static void no_memory_is_an_error_that_leaves_the_file(void **state)
{
	struct place *p = *state;
	struct ephlvm_receipts *receipts = NULL;
	size_t n = 1;
	bool reached = true;

	assert_int_equal(append(p), 0);
	for (unsigned int i = 0; reached; i++) {
		int r;

		failing_alloc_arm(i);
		r = append(p);
		reached = failing_alloc_disarm();
		n += r == 0;
		assert_true(r == 0 || (reached && r == -ENOMEM));
		assert_int_equal(count(p, NULL, NULL), n);
	}
	reached = true;
	for (unsigned int i = 0; reached; i++) {
		int r;

		failing_alloc_arm(i);
		r = ephlvm_receipts_read(p->ctx, NULL, &receipts);
		reached = failing_alloc_disarm();
		assert_true(r == 0 || (reached && r == -ENOMEM));
		if (r == 0)
			ephlvm_receipts_free(receipts);
	}
}

static void text_of_any_kind_stays_one_line(void **state)
{
	struct place *p = *state;
	struct ephlvm_receipts *receipts = NULL;

	eph_strv_clear(&p->drives);
	assert_int_equal(eph_strv_add(&p->drives, "a\n\"b\xff\033[31m\\"), 0);
	p->receipt.lv = "x\ny\"z\xc3\x28";
	assert_int_equal(append(p), 0);
	assert_int_equal(append(p), 0);
	assert_int_equal(count(p, NULL, NULL), 2);
	assert_int_equal(ephlvm_receipts_read(p->ctx, NULL, &receipts), 0);
	for (const char *c = ephlvm_receipts_at(receipts, 0); *c; c++)
		assert_true(*c >= ' ' && *c <= '~');
	ephlvm_receipts_free(receipts);
}

static void bad_filters_are_refused(void **state)
{
	struct place *p = *state;
	struct ephlvm_receipts_opts opts = EPHLVM_RECEIPTS_OPTS_INIT;
	struct ephlvm_receipts *receipts = NULL;

	opts.instance = "../../etc";
	assert_int_equal(ephlvm_receipts_read(p->ctx, &opts, &receipts), -EINVAL);
	assert_null(receipts);
	assert_int_equal(ephlvm_receipts_count(NULL), 0);
	ephlvm_receipts_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_are_private_chained_and_filtered),
		TEST(what_was_changed_or_taken_out_breaks_the_chain),
		TEST(a_line_cut_short_is_taken_off),
		TEST(one_that_cannot_be_written_is_an_error),
		TEST(files_of_others_are_not_written),
		TEST(a_lock_that_is_not_let_go_ends_the_waiting),
		TEST(writers_take_turns),
		TEST(the_chain_goes_on_over_files),
		TEST(another_writer_is_first_in_the_new_file),
		TEST(a_killed_writer_leaves_a_whole_chain),
		TEST(the_form_of_a_line_stays),
		TEST(the_journal_is_told_what_is_on_the_drive),
		TEST(reading_holds_up_no_writer),
		TEST(others_cannot_read),
		TEST(reading_needs_no_writing),
		TEST(no_memory_is_an_error_that_leaves_the_file),
		TEST(text_of_any_kind_stays_one_line),
		TEST(bad_filters_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
