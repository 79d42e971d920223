// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * replay.c - what a drive with a volatile cache holds after its power went, from a log of dm-log-writes.
 *
 *   ephlvm-replay LOG count-flushes
 *   ephlvm-replay LOG list
 *   ephlvm-replay LOG replay TARGET [--from N] [--to M] [--discard keep|zero]
 *                [--keep-unflushed] [--keep-below SECTOR] [--keep-from SECTOR]
 *
 * list: a line an entry, "INDEX SECTOR SECTORS FLAGS [MARK]" (sectors of 512 bytes; flags by their
 * letters: F flush, U FUA, D discard, M mark, m metadata, - none).
 * replay: the entries N to M (from 0, both included; all of them) applied to a drive or an image. Of
 * them, plain writes and discards behind the last flush are dropped, but for those that are to be kept:
 * all of them, those below a sector, or those from a sector on.
 * A discard leaves what was there (keep, the worst for an erase) or zeros.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log_writes.h"

static int usage(void)
{
	fprintf(stderr, "usage: ephlvm-replay LOG count-flushes|list|replay TARGET [--from N] "
			"[--to M] [--discard keep|zero] [--keep-unflushed] "
			"[--keep-below SECTOR] [--keep-from SECTOR]\n");
	return 2;
}

static int count_flushes(struct lw_log *log)
{
	struct lw_entry entry;
	uint64_t n = 0;
	bool more;
	int r;

	while ((r = lw_next(log, &entry, &more)) == 0 && more)
		n += (entry.flags & LW_FLUSH) != 0;
	if (r == 0)
		printf("%" PRIu64 "\n", n);
	return r;
}

static int list(struct lw_log *log)
{
	static const char letters[] = "FUDMm";
	struct lw_entry entry;
	bool more;
	int r;

	while ((r = lw_next(log, &entry, &more)) == 0 && more) {
		char flags[sizeof(letters)] = "", *at = flags;

		for (size_t i = 0; letters[i]; i++)
			if (entry.flags & (UINT64_C(1) << i))
				*at++ = letters[i];
		printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %s%s%s\n", entry.index,
		       entry.offset_bytes / 512, entry.size_bytes / 512, *flags ? flags : "-",
		       *entry.mark ? " " : "", entry.mark);
	}
	return r;
}

static bool parse_number(const char *text, uint64_t *ret_number)
{
	char *end;

	errno = 0;
	*ret_number = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && errno == 0;
}

static bool parse_sector(const char *text, uint64_t *ret_bytes)
{
	uint64_t sector;

	if (!parse_number(text, &sector) || sector > INT64_MAX / 512)
		return false;
	*ret_bytes = sector * 512;
	return true;
}

static bool parse_replay(int argc, char **argv, struct lw_replay *replay)
{
	for (int i = 0; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : "";

		if (strcmp(argv[i], "--keep-unflushed") == 0) {
			replay->keep_from_bytes = 0;
			continue;
		}
		if (strcmp(argv[i], "--from") == 0 && parse_number(value, &replay->from)) {
			i++;
		} else if (strcmp(argv[i], "--to") == 0 && parse_number(value, &replay->to)) {
			i++;
		} else if (strcmp(argv[i], "--keep-below") == 0 &&
			   parse_sector(value, &replay->keep_below_bytes)) {
			i++;
		} else if (strcmp(argv[i], "--keep-from") == 0 &&
			   parse_sector(value, &replay->keep_from_bytes)) {
			i++;
		} else if (strcmp(argv[i], "--discard") == 0 &&
			   (strcmp(value, "keep") == 0 || strcmp(value, "zero") == 0)) {
			replay->discard = *value == 'z' ? LW_DISCARD_ZEROES : LW_DISCARD_KEEPS;
			i++;
		} else {
			return false;
		}
	}
	return true;
}

static int open_target(const char *path, uint64_t *ret_size_bytes)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint64_t size = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || (S_ISBLK(st.st_mode) && ioctl(fd, BLKGETSIZE64, &size) < 0)) {
		int error = errno;

		close(fd);
		return -error;
	}
	*ret_size_bytes = S_ISBLK(st.st_mode) ? size : (uint64_t)st.st_size;
	return fd;
}

static int replay(struct lw_log *log, const char *target, const struct lw_replay *replay)
{
	struct lw_replayed done;
	uint64_t size_bytes;
	int fd = open_target(target, &size_bytes), r;

	if (fd < 0) {
		snprintf(log->error, sizeof(log->error), "\"%s\": %s", target, strerror(-fd));
		return fd;
	}
	r = lw_replay(log, replay, fd, size_bytes, &done);
	if (close(fd) < 0 && r == 0) {
		snprintf(log->error, sizeof(log->error), "\"%s\": %s", target, strerror(errno));
		return -EIO;
	}
	if (r == 0)
		printf("writes %" PRIu64 " bytes %" PRIu64 " discards %" PRIu64 " flushes %" PRIu64
		       " dropped %" PRIu64 "\n",
		       done.writes, done.bytes, done.discards, done.flushes, done.dropped);
	return r;
}

int main(int argc, char **argv)
{
	struct lw_replay plan = { .to = UINT64_MAX, .keep_from_bytes = UINT64_MAX };
	struct lw_log log;
	int r;

	if (argc < 3)
		return usage();
	if (strcmp(argv[2], "replay") == 0 ? argc < 4 || !parse_replay(argc - 4, argv + 4, &plan) :
					     argc != 3 || (strcmp(argv[2], "list") != 0 &&
							   strcmp(argv[2], "count-flushes") != 0))
		return usage();
	r = lw_open(&log, argv[1]);
	if (r == 0 && argv[2][0] == 'c')
		r = count_flushes(&log);
	else if (r == 0 && argv[2][0] == 'l')
		r = list(&log);
	else if (r == 0) {
		if (plan.to == UINT64_MAX && log.n_entries > 0)
			plan.to = log.n_entries - 1;
		r = replay(&log, argv[3], &plan);
	}
	if (r < 0)
		fprintf(stderr, "ephlvm-replay: %s\n", log.error);
	lw_close(&log);
	return r < 0 || fflush(stdout) != 0;
}
