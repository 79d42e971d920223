// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * receipt.c - the file of receipts, and the journal.
 * Owns the form of a line, the chain, and that a line is on the drive before anybody acts on it. Must not
 * decide when a receipt is due, and must never change a line that is whole.
 */
#include "edge/receipt.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <systemd/sd-journal.h>
#include <time.h>
#include <unistd.h>

#include "edge/digest.h"
#include "edge/state.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define FOLDER "receipts"
#define FILE_NAME "receipts.jsonl"
#define OLD_FORM "receipts-%08u.jsonl" /* in the order of their numbers */
#define FILE_MAX ((off_t)16 << 20)
#define LOCK_PAUSE_MS 10
#define LINE_MAX_BYTES ((size_t)64 << 10)
#define MESSAGE_ID "5b1f7e0c1b7d4c0e9a4e6f3f8b0d2c67" /* of an erase's receipt */

static void json_putp(struct json_object **object)
{
	json_object_put(*object);
}
#define _cleanup_json_ __attribute__((cleanup(json_putp)))

/* --- one line --- */

/* @value is taken, also where it fails. */
static int put(struct json_object *doc, const char *key, struct json_object *value)
{
	if (json_object_object_add(doc, key, value) == 0)
		return 0;
	json_object_put(value);
	return -ENOMEM;
}

/* Names and serials may hold anything; a line must stay one line of UTF-8. */
static int put_text(struct json_object *doc, const char *key, const char *text)
{
	_cleanup_free_ char *safe = NULL;
	struct json_object *value;

	if (!text)
		return put(doc, key, NULL);
	safe = eph_escape(text, false);
	value = safe ? json_object_new_string(safe) : NULL;
	return value ? put(doc, key, value) : -ENOMEM;
}

static int put_number(struct json_object *doc, const char *key, uint64_t number)
{
	struct json_object *value = json_object_new_uint64(number);

	return value ? put(doc, key, value) : -ENOMEM;
}

static int put_time(struct json_object *doc, const char *key, int64_t seconds)
{
	char text[EPH_TIME_TEXT];

	return put_text(doc, key, eph_time_format(seconds, text));
}

static int put_drives(struct json_object *doc, const struct eph_strv *drives)
{
	struct json_object *array = json_object_new_array();

	if (!array || put(doc, "drives", array) < 0)
		return -ENOMEM;
	for (size_t i = 0; drives && i < drives->n; i++) {
		_cleanup_free_ char *safe = eph_escape(drives->v[i], false);
		struct json_object *serial = safe ? json_object_new_string(safe) : NULL;

		if (!serial || json_object_array_add(array, serial) < 0) {
			json_object_put(serial);
			return -ENOMEM;
		}
	}
	return 0;
}

static int put_verify(struct json_object *doc, const struct eph_receipt *r)
{
	struct json_object *verify = json_object_new_object();

	if (!verify || put(doc, "verify", verify) < 0)
		return -ENOMEM;
	return put_text(verify, "mode", r->verify) < 0 ||
			       put_number(verify, "bytes", r->verified_bytes) < 0 ||
			       put_number(verify, "places", r->verified_places) < 0 ?
		       -ENOMEM :
		       0;
}

/* The first line of a small file of /proc, without its end; "" where there is none. */
static void proc_line(const char *path, char *buf, size_t bytes)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	buf[0] = '\0';
	if (f && fgets(buf, (int)bytes, f))
		buf[strcspn(buf, "\n")] = '\0';
}

/* The audit login UID tells who it was before sudo; it is 2^32-1 where nobody logged in. */
static int put_caller(struct json_object *doc)
{
	struct json_object *caller = json_object_new_object();
	char login[32], command[64];
	uint64_t login_uid;
	int r;

	if (!caller || put(doc, "caller", caller) < 0)
		return -ENOMEM;
	proc_line("/proc/self/loginuid", login, sizeof(login));
	proc_line("/proc/self/comm", command, sizeof(command));
	r = put_number(caller, "uid", getuid());
	if (r == 0)
		r = eph_u64_parse(login, &login_uid) == 0 && login_uid != UINT32_MAX ?
			    put_number(caller, "login_uid", login_uid) :
			    put(caller, "login_uid", NULL);
	if (r == 0)
		r = put_number(caller, "pid", (uint64_t)getpid());
	return r < 0 ? r : put_text(caller, "command", command);
}

static int put_all(struct json_object *doc, const struct eph_receipt *r, const char *prev)
{
	const struct {
		const char *key, *text;
	} texts[] = {
		{ "vg", r->vg },
		{ "lv", r->lv },
		{ "vg_uuid", r->vg_uuid },
		{ "lv_uuid", r->lv_uuid },
		{ "instance", r->instance },
		{ "disk", r->disk },
		{ "flavor", r->flavor },
		{ "pool", r->pool },
		{ "method", r->method },
		{ "means", r->means },
	};
	const struct {
		const char *key;
		uint64_t number;
	} numbers[] = {
		{ "size_bytes", r->size_bytes },
		{ "passes", r->passes },
		{ "written_bytes", r->written_bytes },
		{ "resumed_bytes", r->resumed_bytes },
	};

	if (put_number(doc, "schema", 1) < 0 || put_time(doc, "started_at", r->started_at) < 0 ||
	    put_time(doc, "ended_at", r->ended_at) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (put_text(doc, texts[i].key, texts[i].text) < 0)
			return -ENOMEM;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (put_number(doc, numbers[i].key, numbers[i].number) < 0)
			return -ENOMEM;
	if (put_drives(doc, r->drives) < 0 || put_verify(doc, r) < 0 || put_caller(doc) < 0)
		return -ENOMEM;
	return put_text(doc, "prev", prev);
}

static int make_line(const struct eph_receipt *receipt, const char *prev, char **ret_line)
{
	_cleanup_json_ struct json_object *doc = json_object_new_object();
	const char *text;

	if (!doc || put_all(doc, receipt, prev) < 0)
		return -ENOMEM;
	text = json_object_to_json_string_ext(doc, JSON_C_TO_STRING_PLAIN |
							   JSON_C_TO_STRING_NOSLASHESCAPE);
	*ret_line = text ? strdup(text) : NULL;
	return *ret_line ? 0 : -ENOMEM;
}

/* --- the file --- */

static int fail(struct ephlvm_ctx *ctx, int errnum, const char *doing)
{
	return eph_fail_access(ctx, errnum, FILE_NAME,
			       "see the space and the drive of " EPH_STATE_DIR,
			       "the receipts cannot be %s: %s", doing, strerror(errnum));
}

static int check_file(struct ephlvm_ctx *ctx, int fd, const char *name)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail(ctx, errno, "looked at");
	if (S_ISREG(st.st_mode) && (st.st_uid == 0 || st.st_uid == geteuid()) &&
	    !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return 0;
	return eph_fail(ctx, EPHLVM_ERROR_PERMISSION, EPERM, name,
			"look at it, then make it root's with mode 0600",
			"file of receipts \"%s\" is not root's alone", name);
}

static bool name_shows(int dir_fd, int fd)
{
	struct stat by_name, open_st;

	return fstat(fd, &open_st) == 0 &&
	       fstatat(dir_fd, FILE_NAME, &by_name, AT_SYMLINK_NOFOLLOW) == 0 &&
	       by_name.st_ino == open_st.st_ino && by_name.st_dev == open_st.st_dev;
}

#define TO_READ O_RDONLY
#define TO_WRITE (O_RDWR | O_CREAT | O_APPEND)

/* flock, until @deadline_ms: a holder may be stopped, and an erase that is over must not wait for ever. */
static int lock_until(struct ephlvm_ctx *ctx, int fd, int64_t deadline_ms)
{
	int r;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			return fail(ctx, errno, "locked");
		if (eph_now_ms() >= deadline_ms)
			return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, ETIMEDOUT, FILE_NAME,
					"find who holds it: fuser " EPH_STATE_DIR "/" FOLDER
					"/" FILE_NAME,
					"the receipts are locked by another process");
		r = eph_cancelled(ctx);
		if (r < 0)
			return r;
		eph_sleep_ms(LOCK_PAUSE_MS);
	}
	return 0;
}

/*
 * Open and locked, and still the one of that name: another writer may just have rotated it away. To read,
 * *@ret_fd is left alone where there is none.
 */
static int open_locked(struct ephlvm_ctx *ctx, int dir_fd, int how, unsigned int timeout_ms,
		       int *ret_fd)
{
	int64_t deadline = eph_now_ms() + timeout_ms;

	for (;;) {
		_cleanup_close_ int fd =
			openat(dir_fd, FILE_NAME, how | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
		int r;

		if (fd < 0 && errno == ENOENT && how == TO_READ)
			return 0;
		if (fd < 0)
			return fail(ctx, errno, "opened");
		r = check_file(ctx, fd, FILE_NAME);
		if (r < 0)
			return r;
		r = lock_until(ctx, fd, deadline);
		if (r < 0)
			return r;
		if (!name_shows(dir_fd, fd))
			continue;
		*ret_fd = eph_steal_fd(&fd);
		return 0;
	}
}

static ssize_t read_at(int fd, char *buf, size_t bytes, off_t at)
{
	size_t have = 0;

	while (have < bytes) {
		ssize_t n = pread(fd, buf + have, bytes - have, at + (off_t)have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

/*
 * The last whole line of the file, NULL for an empty one. What stands behind the last line end was cut short
 * by a crash: it is taken off, *ret_size is what is left.
 */
static int last_line(struct ephlvm_ctx *ctx, int fd, char **ret_line, off_t *ret_size)
{
	_cleanup_free_ char *tail = malloc(2 * LINE_MAX_BYTES + 1);
	struct stat st;
	char *end, *start;
	ssize_t n;
	off_t from;
	int r;

	*ret_line = NULL;
	if (!tail)
		return eph_fail_oom(ctx);
	if (fstat(fd, &st) < 0)
		return fail(ctx, errno, "looked at");
	from = st.st_size > (off_t)(2 * LINE_MAX_BYTES) ? st.st_size - (off_t)(2 * LINE_MAX_BYTES) :
							  0;
	n = read_at(fd, tail, 2 * LINE_MAX_BYTES, from);
	if (n < 0)
		return fail(ctx, (int)-n, "read");
	end = memrchr(tail, '\n', (size_t)n);
	if (!end && (from > 0 || n == (ssize_t)(2 * LINE_MAX_BYTES)))
		return fail(ctx, EFBIG, "read: a line has no end");
	*ret_size = end ? from + (end - tail) + 1 : 0;
	if (*ret_size < st.st_size) {
		eph_warn(ctx, "the last receipt was cut short by a crash, and is taken off");
		r = eph_mark(ctx, "receipt-shorten");
		if (r < 0)
			return r;
		if (ftruncate(fd, *ret_size) < 0)
			return fail(ctx, errno, "shortened");
		r = eph_mark(ctx, "receipt-shortened");
		if (r < 0)
			return r;
	}
	if (!end)
		return 0;
	*end = '\0';
	start = memrchr(tail, '\n', (size_t)(end - tail));
	*ret_line = strdup(start ? start + 1 : tail);
	return *ret_line ? 0 : eph_fail_oom(ctx);
}

static bool old_number(const char *name, unsigned int *ret_number)
{
	char again[NAME_MAX + 1];

	if (sscanf(name, OLD_FORM, ret_number) != 1)
		return false;
	snprintf(again, sizeof(again), OLD_FORM, *ret_number);
	return strcmp(again, name) == 0;
}

static int add_sorted(unsigned int **numbers, size_t *n, unsigned int number)
{
	unsigned int *more = reallocarray(*numbers, *n + 1, sizeof(**numbers));
	size_t at = *n;

	if (!more)
		return -ENOMEM;
	for (; at > 0 && more[at - 1] > number; at--)
		more[at] = more[at - 1];
	more[at] = number;
	*numbers = more;
	(*n)++;
	return 0;
}

/* Numbers of the files that were rotated away, sorted. */
static int old_files(struct ephlvm_ctx *ctx, int dir_fd, unsigned int **ret_numbers, size_t *ret_n)
{
	_cleanup_strv_ struct eph_strv names = EPH_STRV_INIT;
	_cleanup_free_ unsigned int *numbers = NULL;
	unsigned int number;
	size_t n = 0;
	int r;

	/* Half a list would begin the chain anew, or call it broken. */
	r = eph_state_names(ctx, dir_fd, &names);
	for (size_t i = 0; r == 0 && i < names.n; i++)
		if (old_number(names.v[i], &number) && add_sorted(&numbers, &n, number) < 0)
			r = eph_fail_oom(ctx);
	if (r < 0)
		return r;
	*ret_numbers = eph_steal(numbers);
	*ret_n = n;
	return 0;
}

/* Give the full file a number; the chain goes on in a new one. */
static int rotate(struct ephlvm_ctx *ctx, int dir_fd, unsigned int timeout_ms, int *fd)
{
	_cleanup_free_ unsigned int *numbers = NULL;
	char name[NAME_MAX + 1];
	size_t n = 0;
	int r;

	r = old_files(ctx, dir_fd, &numbers, &n);
	if (r < 0)
		return r;
	snprintf(name, sizeof(name), OLD_FORM, n > 0 ? numbers[n - 1] + 1 : 1);
	r = eph_mark(ctx, "receipt-rotate");
	if (r < 0)
		return r;
	/* What was taken off its end must not come back once the chain goes on elsewhere. */
	if (fsync(*fd) < 0)
		return fail(ctx, errno, "rotated");
	if (renameat2(dir_fd, FILE_NAME, dir_fd, name, RENAME_NOREPLACE) < 0)
		return fail(ctx, errno, "rotated");
	/* The lock on the old one goes; whoever waited for it sees that the name shows another file. */
	eph_closep(fd);
	*fd = -1;
	return open_locked(ctx, dir_fd, TO_WRITE, timeout_ms, fd);
}

/* The last line of all, in whichever file it is. */
static int chain_end(struct ephlvm_ctx *ctx, int dir_fd, char **line)
{
	_cleanup_free_ unsigned int *numbers = NULL;
	_cleanup_close_ int fd = -1;
	char name[NAME_MAX + 1];
	off_t size;
	size_t n = 0;
	int r;

	if (*line)
		return 0;
	r = old_files(ctx, dir_fd, &numbers, &n);
	if (r < 0 || n == 0)
		return r;
	snprintf(name, sizeof(name), OLD_FORM, numbers[n - 1]);
	fd = openat(dir_fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return fail(ctx, errno, "opened");
	r = check_file(ctx, fd, name);
	return r < 0 ? r : last_line(ctx, fd, line, &size);
}

static int hash_of(struct ephlvm_ctx *ctx, const char *line, char hex[EPH_SHA256_TEXT])
{
	int r = 0;

	if (line)
		r = eph_sha256(line, strlen(line), hex);
	else
		snprintf(hex, EPH_SHA256_TEXT, "%064d", 0);
	return r < 0 ? fail(ctx, -r, "chained") : 0;
}

/* All of it on the drive, or nothing of it in the file. */
static int append(struct ephlvm_ctx *ctx, int dir_fd, int fd, const char *line, off_t size)
{
	_cleanup_free_ char *text = NULL;
	size_t bytes, done = 0;
	int r, length = asprintf(&text, "%s\n", line);

	if (length < 0) {
		text = NULL;
		return eph_fail_oom(ctx);
	}
	bytes = (size_t)length;
	r = eph_mark(ctx, "receipt-write");
	if (r < 0)
		return r;
	while (r == 0 && done < bytes) {
		ssize_t n = write(fd, text + done, bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			r = n < 0 ? -errno : -EIO;
		else
			done += (size_t)n;
	}
	if (r == 0)
		r = eph_mark(ctx, "receipt-fsync") < 0 ? -EIO : 0;
	if (r == 0 && (fsync(fd) < 0 || fsync(dir_fd) < 0))
		r = -errno;
	if (r == 0)
		return eph_mark(ctx, "receipt-written");
	if (ftruncate(fd, size) < 0)
		eph_warn(ctx, "half a receipt stays in the file: %s", strerror(errno));
	return fail(ctx, -r, "written");
}

/* No journal is no error, and sd_journal_send() says 0 then. */
static void tell_journal(struct ephlvm_ctx *ctx, const struct eph_receipt *r, const char *line)
{
	int e = sd_journal_send("MESSAGE_ID=%s", MESSAGE_ID, "PRIORITY=%d", 6,
				"MESSAGE=%s of %s/%s: method %s, %llu bytes",
				strcmp(r->method, "none") == 0 ? "no erase" : "erase", r->vg, r->lv,
				r->method, (unsigned long long)r->size_bytes, "EPHLVM_INSTANCE=%s",
				r->instance ? r->instance : "", "EPHLVM_LV_UUID=%s", r->lv_uuid,
				"EPHLVM_VG=%s", r->vg, "EPHLVM_METHOD=%s", r->method,
				"EPHLVM_RECEIPT=%s", line, NULL);

	if (e < 0)
		eph_debug(ctx, "the journal did not take the receipt: %s", strerror(-e));
}

static int append_line(struct ephlvm_ctx *ctx, const struct eph_receipt *receipt,
		       unsigned int timeout_ms, char **ret_line)
{
	_cleanup_close_ int dir_fd = -1, fd = -1;
	_cleanup_free_ char *before = NULL, *line = NULL;
	char prev[EPH_SHA256_TEXT];
	off_t size = 0;
	int r;

	r = eph_state_open(ctx, FOLDER, &dir_fd);
	if (r == 0)
		r = open_locked(ctx, dir_fd, TO_WRITE, timeout_ms, &fd);
	if (r == 0)
		r = last_line(ctx, fd, &before, &size);
	if (r == 0 && size >= FILE_MAX) {
		r = rotate(ctx, dir_fd, timeout_ms, &fd);
		/* The new file may have lines already: of a writer that waited for the lock of the old one. */
		free(eph_steal(before));
		if (r == 0)
			r = last_line(ctx, fd, &before, &size);
	}
	if (r == 0)
		r = chain_end(ctx, dir_fd, &before);
	if (r == 0)
		r = hash_of(ctx, before, prev);
	if (r < 0)
		return r;
	if (make_line(receipt, prev, &line) < 0)
		return eph_fail_oom(ctx);
	if (strlen(line) >= LINE_MAX_BYTES)
		return fail(ctx, EMSGSIZE, "written");
	r = append(ctx, dir_fd, fd, line, size);
	if (r == 0)
		*ret_line = eph_steal(line);
	return r;
}

int eph_receipt_append(struct ephlvm_ctx *ctx, const struct eph_receipt *receipt,
		       unsigned int timeout_ms, char **ret_line)
{
	_cleanup_free_ char *line = NULL;
	int r = append_line(ctx, receipt, timeout_ms, &line);

	/* Root lacks no right: a file or folder that others may write to is a fault of this host. */
	if (r < 0 && ctx->error.kind == EPHLVM_ERROR_PERMISSION && geteuid() == 0)
		ctx->error.kind = EPHLVM_ERROR_SYSTEM;
	if (r < 0)
		return r;
	/* The lock is free again: a journal that is slow holds up no other writer. */
	tell_journal(ctx, receipt, line);
	*ret_line = eph_steal(line);
	return 0;
}

/* --- reading --- */

struct reader {
	struct ephlvm_ctx *ctx;
	eph_receipt_line_fn fn;
	void *data;
	char *before; /* the line before, NULL for the first */
	char *broken;
};

static int set_broken(struct reader *rd, const char *name, size_t number, const char *why)
{
	if (rd->broken)
		return 0;
	if (asprintf(&rd->broken, "%s, line %zu: %s", name, number, why) < 0) {
		rd->broken = NULL;
		return eph_fail_oom(rd->ctx);
	}
	return 0;
}

static const char *text_in(struct json_object *doc, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(doc, key, &value) ||
	    !json_object_is_type(value, json_type_string))
		return NULL;
	return json_object_get_string(value);
}

static int take_line(struct reader *rd, const char *name, size_t number, char *line)
{
	_cleanup_json_ struct json_object *doc = json_tokener_parse(line);
	char want[EPH_SHA256_TEXT];
	const char *prev, *instance;
	int r;

	r = hash_of(rd->ctx, rd->before, want);
	if (r < 0)
		return r;
	prev = json_object_is_type(doc, json_type_object) ? text_in(doc, "prev") : NULL;
	if (!prev)
		r = set_broken(rd, name, number, "it is no receipt");
	else if (strcmp(prev, want) != 0)
		r = set_broken(rd, name, number, "it does not follow the line before it");
	if (r < 0)
		return r;
	free(rd->before);
	rd->before = strdup(line);
	if (!rd->before)
		return eph_fail_oom(rd->ctx);
	if (!prev)
		return 0;
	instance = text_in(doc, "instance");
	return rd->fn(rd->ctx, rd->data, line, instance ? instance : "");
}

enum line_end {
	END_OF_FILE, /* nothing more */
	END_OF_LINE,
	END_MISSING, /* the file ends within the line */
	END_TOO_FAR, /* longer than a receipt; read over up to its end */
};

/* The next line without its end, in @buf of LINE_MAX_BYTES. getline() would grow with whatever is there. */
static enum line_end next_line(FILE *f, char *buf, size_t *ret_length, off_t *left)
{
	size_t n = 0;
	int c = EOF;

	while (*left > 0 && (c = getc_unlocked(f)) != EOF) {
		(*left)--;
		if (c == '\n')
			break;
		if (n < LINE_MAX_BYTES)
			buf[n] = (char)c;
		n++;
	}
	*ret_length = n;
	if (c != '\n')
		return n == 0 ? END_OF_FILE : END_MISSING;
	if (n >= LINE_MAX_BYTES)
		return END_TOO_FAR;
	buf[n] = '\0';
	return END_OF_LINE;
}

/* @left: how much of it counts. */
static int read_lines(struct reader *rd, FILE *f, const char *name, off_t left)
{
	_cleanup_free_ char *line = malloc(LINE_MAX_BYTES);
	size_t n;

	if (!line)
		return eph_fail_oom(rd->ctx);
	for (size_t number = 1;; number++) {
		enum line_end end = next_line(f, line, &n, &left);
		int r;

		if (ferror(f))
			return fail(rd->ctx, EIO, "read");
		if (end == END_OF_FILE)
			return 0;
		/* An unfinished last line: its writer died, and did not act on it. */
		if (end == END_MISSING)
			return strcmp(name, FILE_NAME) == 0 ?
				       0 :
				       set_broken(rd, name, number, "it has no end");
		if (end == END_TOO_FAR || strlen(line) != n)
			r = set_broken(rd, name, number, "it is no receipt");
		else
			r = take_line(rd, name, number, line);
		if (r < 0)
			return r;
	}
}

static int read_open_file(struct reader *rd, int *fd, const char *name, off_t left)
{
	_cleanup_fclose_ FILE *f = fdopen(*fd, "r");

	if (!f)
		return eph_fail_oom(rd->ctx);
	*fd = -1;
	return read_lines(rd, f, name, left);
}

static int read_old_file(struct reader *rd, int dir_fd, unsigned int number)
{
	_cleanup_close_ int fd = -1;
	char name[NAME_MAX + 1];
	struct stat st;
	int r;

	snprintf(name, sizeof(name), OLD_FORM, number);
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return fail(rd->ctx, errno, "opened");
	r = check_file(rd->ctx, fd, name);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return fail(rd->ctx, errno, "looked at");
	return read_open_file(rd, &fd, name, st.st_size);
}

/*
 * Which files there are, and how long the last one is. Under the lock, so that no line is half written and no file
 * half rotated; given up at once, so that reading holds up no erase: what is there then is only added to.
 */
static int survey(struct ephlvm_ctx *ctx, int dir_fd, unsigned int timeout_ms, int *fd,
		  off_t *ret_size, unsigned int **ret_numbers, size_t *ret_n)
{
	struct stat st = { 0 };
	int r;

	r = open_locked(ctx, dir_fd, TO_READ, timeout_ms, fd);
	if (r == 0)
		r = old_files(ctx, dir_fd, ret_numbers, ret_n);
	if (r < 0)
		return r;
	if (*fd >= 0 && (fstat(*fd, &st) < 0 || flock(*fd, LOCK_UN) < 0))
		return fail(ctx, errno, "looked at");
	*ret_size = st.st_size;
	return 0;
}

int eph_receipt_read(struct ephlvm_ctx *ctx, unsigned int timeout_ms, eph_receipt_line_fn fn,
		     void *data, char **ret_broken)
{
	_cleanup_free_ unsigned int *numbers = NULL;
	_cleanup_close_ int dir_fd = -1, fd = -1;
	struct reader rd = { .ctx = ctx, .fn = fn, .data = data };
	off_t size = 0;
	size_t n = 0;
	int r;

	r = eph_state_open(ctx, FOLDER, &dir_fd);
	if (r == 0)
		r = survey(ctx, dir_fd, timeout_ms, &fd, &size, &numbers, &n);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = read_old_file(&rd, dir_fd, numbers[i]);
	if (r == 0 && fd >= 0)
		r = read_open_file(&rd, &fd, FILE_NAME, size);
	free(rd.before);
	if (r < 0) {
		free(rd.broken);
		return r;
	}
	*ret_broken = rd.broken;
	return 0;
}
