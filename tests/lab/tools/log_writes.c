// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * log_writes.c - reads what the kernel's dm-log-writes wrote, and replays it.
 * The log: sector 0 is the super block; from sector 1 on each entry is a sector of its own, followed
 * by the data of a write (nothing for a discard; a mark's text is in the entry's sector). All numbers
 * are little endian, sectors are of the size that the super block names.
 * Trusts nothing in the log: every length is checked before it is used.
 */
#include "log_writes.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x6a736677736872)
#define VERSION 1
#define SECTOR_MAX 65536
#define CHUNK ((size_t)1 << 20)
#define KNOWN_FLAGS (LW_FLUSH | LW_FUA | LW_DISCARD | LW_MARK | LW_METADATA)

struct super {
	uint64_t magic;
	uint64_t version;
	uint64_t n_entries;
	uint32_t sector_bytes;
} __attribute__((packed));

struct head {
	uint64_t sector;
	uint64_t n_sectors;
	uint64_t flags;
	uint64_t mark_bytes;
} __attribute__((packed));

__attribute__((format(printf, 3, 4))) static int fail(struct lw_log *log, int error,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(log->error, sizeof(log->error), format, args);
	va_end(args);
	return -error;
}

static int read_at(struct lw_log *log, void *buf, size_t bytes, uint64_t offset)
{
	size_t have = 0;

	while (have < bytes) {
		ssize_t n =
			pread(log->fd, (char *)buf + have, bytes - have, (off_t)(offset + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(log, n < 0 ? errno : EIO, "log at byte %" PRIu64 ": %s",
				    offset + have, n < 0 ? strerror(errno) : "it ends there");
		have += (size_t)n;
	}
	return 0;
}

static int write_at(struct lw_log *log, int fd, const void *buf, size_t bytes, uint64_t offset)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t n =
			pwrite(fd, (const char *)buf + done, bytes - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(log, n < 0 ? errno : EIO, "target at byte %" PRIu64 ": %s",
				    offset + done, n < 0 ? strerror(errno) : "it takes no more");
		done += (size_t)n;
	}
	return 0;
}

/* --- reading --- */

static int measure(struct lw_log *log)
{
	struct stat st;

	if (fstat(log->fd, &st) < 0)
		return fail(log, errno, "log: %s", strerror(errno));
	log->size_bytes = (uint64_t)st.st_size;
	if (S_ISBLK(st.st_mode) && ioctl(log->fd, BLKGETSIZE64, &log->size_bytes) < 0)
		return fail(log, errno, "log: %s", strerror(errno));
	return 0;
}

static int read_super(struct lw_log *log)
{
	struct super super;
	uint32_t sector;
	int r = read_at(log, &super, sizeof(super), 0);

	if (r < 0)
		return r;
	if (le64toh(super.magic) != MAGIC)
		return fail(log, EINVAL, "this is no log of dm-log-writes");
	if (le64toh(super.version) != VERSION)
		return fail(log, EINVAL, "version %" PRIu64 " of the log is not known",
			    le64toh(super.version));
	sector = le32toh(super.sector_bytes);
	if (sector < 512 || sector > SECTOR_MAX || (sector & (sector - 1)) != 0)
		return fail(log, EINVAL, "sectors of %" PRIu32 " bytes make no sense", sector);
	log->sector_bytes = sector;
	log->n_entries = le64toh(super.n_entries);
	if (log->n_entries >= log->size_bytes / sector)
		return fail(log, EINVAL, "%" PRIu64 " entries do not fit into the log",
			    log->n_entries);
	lw_rewind(log);
	return 0;
}

int lw_open(struct lw_log *log, const char *path)
{
	int r;

	*log = (struct lw_log){ .fd = open(path, O_RDONLY | O_CLOEXEC) };
	if (log->fd < 0)
		return fail(log, errno, "\"%s\": %s", path, strerror(errno));
	r = measure(log);
	return r < 0 ? r : read_super(log);
}

void lw_close(struct lw_log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	log->fd = -1;
}

void lw_rewind(struct lw_log *log)
{
	log->next_index = 0;
	log->next_offset = log->sector_bytes;
}

static int broken(struct lw_log *log, const char *why)
{
	return fail(log, EINVAL, "entry %" PRIu64 " at byte %" PRIu64 " %s", log->next_index,
		    log->next_offset, why);
}

static int read_mark(struct lw_log *log, uint64_t bytes, char mark[LW_MARK_MAX])
{
	size_t want = bytes < LW_MARK_MAX ? (size_t)bytes : LW_MARK_MAX - 1;
	int r;

	if (bytes > log->sector_bytes - sizeof(struct head))
		return broken(log, "has a mark longer than its sector");
	r = read_at(log, mark, want, log->next_offset + sizeof(struct head));
	if (r < 0)
		return r;
	for (size_t i = 0; i < want; i++)
		if (mark[i] <= ' ' || mark[i] > '~')
			mark[i] = '?';
	mark[want] = '\0';
	return 0;
}

/* Where its data ends lies inside the log, and where it goes to is a place that a drive can have. */
static int check_lengths(struct lw_log *log, const struct head *head, uint64_t data_sectors)
{
	uint64_t left = (log->size_bytes - log->next_offset) / log->sector_bytes - 1;
	uint64_t most = (uint64_t)INT64_MAX / log->sector_bytes;

	if (data_sectors > left)
		return broken(log, "reaches beyond the log");
	if (head->n_sectors > most || head->sector > most - head->n_sectors)
		return broken(log, "reaches beyond every drive");
	return 0;
}

int lw_next(struct lw_log *log, struct lw_entry *ret_entry, bool *ret_more)
{
	struct lw_entry entry = { .index = log->next_index };
	struct head head;
	uint64_t data_sectors;
	int r;

	if (log->next_index >= log->n_entries) {
		*ret_more = false;
		return 0;
	}
	if (log->size_bytes - log->next_offset < log->sector_bytes)
		return broken(log, "lies beyond the log");
	r = read_at(log, &head, sizeof(head), log->next_offset);
	if (r < 0)
		return r;
	head = (struct head){ le64toh(head.sector), le64toh(head.n_sectors), le64toh(head.flags),
			      le64toh(head.mark_bytes) };
	/* What is not known may be a write: rather no replay than one without it. */
	if (head.flags & ~(uint64_t)KNOWN_FLAGS)
		return broken(log, "has unknown flags");
	if ((head.flags & LW_MARK) && head.n_sectors > 0)
		return broken(log, "is a mark with sectors");
	data_sectors = head.flags & LW_DISCARD ? 0 : head.n_sectors;
	r = check_lengths(log, &head, data_sectors);
	if (r == 0 && (head.flags & LW_MARK))
		r = read_mark(log, head.mark_bytes, entry.mark);
	if (r < 0)
		return r;
	entry.flags = head.flags;
	entry.offset_bytes = head.sector * log->sector_bytes;
	entry.size_bytes = head.n_sectors * log->sector_bytes;
	entry.data_offset = log->next_offset + log->sector_bytes;
	log->next_offset = entry.data_offset + data_sectors * log->sector_bytes;
	log->next_index++;
	*ret_entry = entry;
	*ret_more = true;
	return 0;
}

/* --- replaying --- */

/* Behind it, up to @to, only FUA writes are on the drive. *@ret_flush: its index and one, 0 for none. */
static int find_last_flush(struct lw_log *log, uint64_t to, uint64_t *ret_flush)
{
	struct lw_entry entry;
	uint64_t flush = 0;
	bool more;
	int r;

	lw_rewind(log);
	while ((r = lw_next(log, &entry, &more)) == 0 && more && entry.index <= to)
		if (entry.flags & LW_FLUSH)
			flush = entry.index + 1;
	if (r == 0)
		*ret_flush = flush;
	return r;
}

static int copy(struct lw_log *log, const struct lw_entry *entry, int fd, char *buf)
{
	int r = 0;

	for (uint64_t at = 0; r == 0 && at < entry->size_bytes; at += CHUNK) {
		uint64_t left = entry->size_bytes - at;
		size_t bytes = left < CHUNK ? (size_t)left : CHUNK;

		r = read_at(log, buf, bytes, entry->data_offset + at);
		if (r == 0)
			r = write_at(log, fd, buf, bytes, entry->offset_bytes + at);
	}
	return r;
}

static int zero(struct lw_log *log, const struct lw_entry *entry, int fd, char *buf)
{
	int r = 0;

	memset(buf, 0, CHUNK);
	for (uint64_t at = 0; r == 0 && at < entry->size_bytes; at += CHUNK) {
		uint64_t left = entry->size_bytes - at;

		r = write_at(log, fd, buf, left < CHUNK ? (size_t)left : CHUNK,
			     entry->offset_bytes + at);
	}
	return r;
}

static int apply(struct lw_log *log, const struct lw_replay *replay, const struct lw_entry *entry,
		 int fd, char *buf, struct lw_replayed *count)
{
	count->flushes += (entry->flags & LW_FLUSH) != 0;
	if (entry->flags & LW_DISCARD) {
		count->discards++;
		return replay->discard == LW_DISCARD_ZEROES ? zero(log, entry, fd, buf) : 0;
	}
	if (entry->size_bytes > 0) {
		count->writes++;
		count->bytes += entry->size_bytes;
	}
	return copy(log, entry, fd, buf);
}

static bool reached_drive(const struct lw_replay *replay, const struct lw_entry *entry,
			  uint64_t durable)
{
	return entry->index < durable || (entry->flags & LW_FUA) ||
	       entry->offset_bytes >= replay->keep_from_bytes ||
	       entry->offset_bytes + entry->size_bytes <= replay->keep_below_bytes;
}

static int apply_all(struct lw_log *log, const struct lw_replay *replay, uint64_t durable, int fd,
		     uint64_t size_bytes, char *buf, struct lw_replayed *count)
{
	struct lw_entry entry;
	bool more;
	int r;

	lw_rewind(log);
	while ((r = lw_next(log, &entry, &more)) == 0 && more && entry.index <= replay->to) {
		if (entry.index < replay->from)
			continue;
		if (entry.offset_bytes + entry.size_bytes > size_bytes)
			return fail(log, ENOSPC,
				    "entry %" PRIu64 " ends behind the target: %" PRIu64
				    " + %" PRIu64,
				    entry.index, entry.offset_bytes, entry.size_bytes);
		if (!reached_drive(replay, &entry, durable)) {
			count->dropped += entry.size_bytes > 0;
			continue;
		}
		r = apply(log, replay, &entry, fd, buf, count);
		if (r < 0)
			return r;
	}
	return r;
}

int lw_replay(struct lw_log *log, const struct lw_replay *replay, int fd, uint64_t size_bytes,
	      struct lw_replayed *ret_replayed)
{
	struct lw_replayed count = { 0 };
	uint64_t durable;
	char *buf;
	int r;

	if (replay->from > replay->to || replay->to >= log->n_entries)
		return fail(log, EINVAL, "the log has the entries 0 to %" PRIu64 ", in this order",
			    log->n_entries - 1);
	r = find_last_flush(log, replay->to, &durable);
	if (r < 0)
		return r;
	buf = malloc(CHUNK);
	if (!buf)
		return fail(log, ENOMEM, "out of memory");
	r = apply_all(log, replay, durable, fd, size_bytes, buf, &count);
	free(buf);
	if (r == 0 && fsync(fd) < 0)
		return fail(log, errno, "target: %s", strerror(errno));
	if (r == 0)
		*ret_replayed = count;
	return r;
}
