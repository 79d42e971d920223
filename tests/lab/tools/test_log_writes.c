// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Replay of hand-made logs: a flush makes what stands before it durable, FUA itself; the rest is
 * dropped. A log that makes no sense is refused before anything is taken for an entry.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "log_writes.h"

#define SECTOR 512
#define TARGET_SECTORS 8
#define DROP .keep_from_bytes = UINT64_MAX

struct place {
	char root[64], log_path[80];
	int log_fd, target;
	uint32_t sector;
	uint64_t n, offset;
	struct lw_log log;
};

static void put(struct place *p, const void *data, size_t bytes, uint64_t offset)
{
	assert_int_equal(pwrite(p->log_fd, data, bytes, (off_t)offset), bytes);
}

static void write_super(struct place *p, uint64_t magic, uint64_t version, uint64_t n)
{
	uint64_t words[4] = { htole64(magic), htole64(version), htole64(n), 0 };
	uint32_t sector = htole32(p->sector);

	memcpy(&words[3], &sector, sizeof(sector));
	put(p, words, sizeof(words), 0);
}

static void put_head(struct place *p, uint64_t sector, uint64_t n, uint64_t flags, uint64_t mark)
{
	uint64_t words[4] = { htole64(sector), htole64(n), htole64(flags), htole64(mark) };

	put(p, words, sizeof(words), p->offset);
	p->offset += p->sector;
	p->n++;
}

/* A write of sectors full of one letter. */
static void put_write(struct place *p, uint64_t sector, uint64_t n, uint64_t flags, char letter)
{
	char *data = malloc(n * p->sector);

	assert_non_null(data);
	memset(data, letter, n * p->sector);
	put_head(p, sector, n, flags, 0);
	put(p, data, n * p->sector, p->offset);
	p->offset += n * p->sector;
	free(data);
}

static void put_mark(struct place *p, const char *text)
{
	put(p, text, strlen(text), p->offset + 32);
	put_head(p, 0, 0, LW_MARK, strlen(text));
}

static void finish(struct place *p)
{
	write_super(p, UINT64_C(0x6a736677736872), 1, p->n);
	assert_int_equal(ftruncate(p->log_fd, (off_t)p->offset), 0);
	lw_close(&p->log);
	assert_int_equal(lw_open(&p->log, p->log_path), 0);
}

static void clear_target(struct place *p)
{
	assert_int_equal(ftruncate(p->target, 0), 0);
	assert_int_equal(ftruncate(p->target, (off_t)p->sector * TARGET_SECTORS), 0);
}

static void make_target(struct place *p)
{
	char path[80];

	snprintf(path, sizeof(path), "%s/target", p->root);
	p->target = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(p->target >= 0);
	clear_target(p);
}

static int setup_sector(void **state, uint32_t sector)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	p->sector = sector;
	p->offset = sector;
	p->log.fd = -1;
	snprintf(p->root, sizeof(p->root), "/tmp/ephlvm-log.XXXXXX");
	assert_non_null(mkdtemp(p->root));
	snprintf(p->log_path, sizeof(p->log_path), "%s/log", p->root);
	p->log_fd = open(p->log_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(p->log_fd >= 0);
	make_target(p);
	*state = p;
	return 0;
}

static int setup(void **state)
{
	return setup_sector(state, SECTOR);
}

static int setup_4k(void **state)
{
	return setup_sector(state, 4096);
}

static int teardown(void **state)
{
	struct place *p = *state;
	char path[80];

	lw_close(&p->log);
	close(p->log_fd);
	close(p->target);
	unlink(p->log_path);
	snprintf(path, sizeof(path), "%s/target", p->root);
	unlink(path);
	assert_int_equal(rmdir(p->root), 0);
	free(p);
	return 0;
}

static int replay(struct place *p, struct lw_replay plan, struct lw_replayed *ret_done)
{
	return lw_replay(&p->log, &plan, p->target, (uint64_t)p->sector * TARGET_SECTORS, ret_done);
}

/* The target's sectors, a letter each; '.' is zero, '!' is a sector of several. */
static void expect_target(struct place *p, const char *want)
{
	char have[TARGET_SECTORS + 1] = "", *buf = malloc(p->sector);

	assert_non_null(buf);
	for (int i = 0; i < TARGET_SECTORS; i++) {
		assert_int_equal(pread(p->target, buf, p->sector, (off_t)i * p->sector), p->sector);
		have[i] = buf[0] ? buf[0] : '.';
		if (memcmp(buf, buf + 1, p->sector - 1) != 0)
			have[i] = '!';
	}
	free(buf);
	assert_string_equal(have, want);
}

/*
 *  0 mark begin      5 write 0 'e'           9 discard 2..3
 *  1 write 0..1 'a'  6 write 4 'f', FUA     10 write 6 'g'
 *  2 write 2..3 'b'  7 mark returned        11 flush
 *  3 write 0 'c'     8 write 5 'F', FUA     12 write 7 'h', not flushed
 *  4 flush                                  13 mark dm-log-writes-end
 */
static void make_log(struct place *p)
{
	put_mark(p, "begin");
	put_write(p, 0, 2, 0, 'a');
	put_write(p, 2, 2, LW_METADATA, 'b');
	put_write(p, 0, 1, 0, 'c');
	put_head(p, 0, 0, LW_FLUSH, 0);
	put_write(p, 0, 1, 0, 'e');
	put_write(p, 4, 1, LW_FUA, 'f');
	put_mark(p, "returned");
	put_write(p, 5, 1, LW_FUA, 'F');
	put_head(p, 2, 2, LW_DISCARD, 0);
	put_write(p, 6, 1, 0, 'g');
	put_head(p, 0, 0, LW_FLUSH, 0);
	put_write(p, 7, 1, 0, 'h');
	put_mark(p, "dm-log-writes-end");
	finish(p);
}

static void entries_are_read(void **state)
{
	static const uint64_t flags[] = { LW_MARK, 0,	   LW_METADATA, 0, LW_FLUSH, 0, LW_FUA,
					  LW_MARK, LW_FUA, LW_DISCARD,	0, LW_FLUSH, 0, LW_MARK };
	struct place *p = *state;
	struct lw_entry e;
	bool more;

	make_log(p);
	assert_int_equal(p->log.n_entries, 14);
	for (uint64_t i = 0; i < 14; i++) {
		assert_int_equal(lw_next(&p->log, &e, &more), 0);
		assert_true(more);
		assert_int_equal(e.index, i);
		assert_int_equal(e.flags, flags[i]);
		if (i == 2) {
			assert_int_equal(e.offset_bytes, 2 * p->sector);
			assert_int_equal(e.size_bytes, 2 * p->sector);
		}
		if (i == 7)
			assert_string_equal(e.mark, "returned");
		else if (!(e.flags & LW_MARK))
			assert_string_equal(e.mark, "");
	}
	assert_string_equal(e.mark, "dm-log-writes-end");
	assert_int_equal(lw_next(&p->log, &e, &more), 0);
	assert_false(more);
}

static void flush_makes_durable(void **state)
{
	struct place *p = *state;
	struct lw_replayed done;

	make_log(p);
	assert_int_equal(replay(p, (struct lw_replay){ DROP, .to = 4 }, &done), 0);
	expect_target(p, "cabb....");
	assert_int_equal(done.writes, 3);
	assert_int_equal(done.bytes, 5 * p->sector);
	assert_int_equal(done.flushes, 1);
	assert_int_equal(done.dropped, 0);
	/* On from there, as one goes from point to point. */
	assert_int_equal(replay(p, (struct lw_replay){ DROP, .from = 5, .to = 11 }, &done), 0);
	expect_target(p, "eabbfFg.");
	assert_int_equal(done.discards, 1);
}

static void unflushed_is_dropped_and_fua_is_not(void **state)
{
	struct place *p = *state;
	struct lw_replayed done;

	make_log(p);
	assert_int_equal(replay(p, (struct lw_replay){ DROP, .to = 3 }, &done), 0);
	expect_target(p, "........");
	assert_int_equal(done.dropped, 3);
	assert_int_equal(replay(p, (struct lw_replay){ DROP, .to = 10 }, &done), 0);
	expect_target(p, "cabbfF..");
	assert_int_equal(done.dropped, 3);
	assert_int_equal(done.writes, 5);
	assert_int_equal(replay(p, (struct lw_replay){ DROP, .to = 13 }, &done), 0);
	expect_target(p, "eabbfFg.");
	assert_int_equal(replay(p, (struct lw_replay){ .to = 13 }, &done), 0);
	expect_target(p, "eabbfFgh");
	assert_int_equal(done.dropped, 0);
}

/* A cache writes back in an order of its own. */
static void part_of_the_cache_is_kept(void **state)
{
	struct place *p = *state;
	struct lw_replay plan = { DROP, .from = 5, .to = 10, .keep_below_bytes = p->sector };
	struct lw_replayed done;

	make_log(p);
	assert_int_equal(replay(p, (struct lw_replay){ DROP, .to = 4 }, &done), 0);
	assert_int_equal(replay(p, plan, &done), 0);
	expect_target(p, "eabbfF..");
	assert_int_equal(done.dropped, 2);
	plan = (struct lw_replay){ .from = 5, .to = 10, .keep_from_bytes = 6 * p->sector };
	clear_target(p);
	assert_int_equal(replay(p, plan, &done), 0);
	expect_target(p, "....fFg.");
	/* One that only reaches into the part is not in it. */
	plan = (struct lw_replay){ DROP, .to = 3, .keep_below_bytes = p->sector };
	clear_target(p);
	assert_int_equal(replay(p, plan, &done), 0);
	expect_target(p, "c.......");
}

static void discard_is_what_was_asked(void **state)
{
	struct lw_replay plan = { DROP, .to = 11, .discard = LW_DISCARD_ZEROES };
	struct place *p = *state;
	struct lw_replayed done;

	make_log(p);
	assert_int_equal(replay(p, plan, &done), 0);
	expect_target(p, "ea..fFg.");
	/* In the cache only, as a write. */
	plan = (struct lw_replay){ DROP, .to = 10, .discard = LW_DISCARD_ZEROES };
	assert_int_equal(replay(p, plan, &done), 0);
	expect_target(p, "cabbfFg.");
	assert_int_equal(done.discards, 0);
}

static void large_write_is_whole(void **state)
{
	struct place *p = *state;
	uint64_t bytes = (3 << 20) + p->sector;
	struct lw_replay plan = { DROP, .to = 1 };
	struct lw_replayed done;
	char last;

	put_write(p, 1, bytes / p->sector, 0, 'L');
	put_head(p, 0, 0, LW_FLUSH, 0);
	finish(p);
	assert_int_equal(lw_replay(&p->log, &plan, p->target, bytes, &done), -ENOSPC);
	assert_int_equal(lw_replay(&p->log, &plan, p->target, bytes + p->sector, &done), 0);
	assert_int_equal(done.bytes, bytes);
	assert_int_equal(pread(p->target, &last, 1, (off_t)(bytes + p->sector - 1)), 1);
	assert_int_equal(last, 'L');
}

static void wrong_ranges_are_refused(void **state)
{
	struct place *p = *state;
	struct lw_replayed done;

	make_log(p);
	assert_int_equal(replay(p, (struct lw_replay){ DROP, .to = 14 }, &done), -EINVAL);
	assert_int_equal(replay(p, (struct lw_replay){ DROP, .from = 5, .to = 4 }, &done), -EINVAL);
	expect_target(p, "........");
}

static void expect_no_log(struct place *p, const char *words)
{
	struct lw_log log;

	assert_int_equal(lw_open(&log, p->log_path), -EINVAL);
	assert_non_null(strstr(log.error, words));
	lw_close(&log);
}

static void super_blocks_that_lie_are_refused(void **state)
{
	static const uint32_t sectors[] = { 0, 256, 513, 1 << 17, UINT32_MAX };
	struct place *p = *state;
	struct lw_log log;

	make_log(p);
	write_super(p, 1, 1, p->n);
	expect_no_log(p, "no log of dm-log-writes");
	write_super(p, UINT64_C(0x6a736677736872), 2, p->n);
	expect_no_log(p, "version 2");
	write_super(p, UINT64_C(0x6a736677736872), 1, UINT64_MAX);
	expect_no_log(p, "do not fit");
	for (size_t i = 0; i < sizeof(sectors) / sizeof(*sectors); i++) {
		p->sector = sectors[i];
		write_super(p, UINT64_C(0x6a736677736872), 1, 3);
		expect_no_log(p, "make no sense");
	}
	assert_int_equal(ftruncate(p->log_fd, 20), 0);
	assert_int_equal(lw_open(&log, p->log_path), -EIO);
	lw_close(&log);
	assert_int_equal(lw_open(&log, "/nonesuch/log"), -ENOENT);
	lw_close(&log);
}

static void expect_broken(struct place *p, const char *words)
{
	struct lw_replayed done;

	finish(p);
	assert_int_equal(replay(p, (struct lw_replay){ DROP, .to = p->n - 1 }, &done), -EINVAL);
	assert_non_null(strstr(p->log.error, words));
	expect_target(p, "........");
	p->n = 0;
	p->offset = p->sector;
}

static void entries_that_lie_are_refused(void **state)
{
	struct place *p = *state;

	put_head(p, 0, 1, 0, 0); /* its data is not there */
	expect_broken(p, "beyond the log");
	put_head(p, 0, UINT64_MAX, 0, 0);
	expect_broken(p, "beyond the log");
	put_head(p, 0, UINT64_MAX, LW_DISCARD, 0);
	expect_broken(p, "beyond every drive");
	put_head(p, UINT64_MAX / p->sector, 1, LW_DISCARD, 0);
	expect_broken(p, "beyond every drive");
	put_head(p, 0, 0, LW_FLUSH | 1 << 5, 0);
	expect_broken(p, "unknown flags");
	put_head(p, 0, 0, LW_MARK, p->sector - 31);
	expect_broken(p, "longer than its sector");
	put_head(p, 0, 1, LW_MARK, 4);
	expect_broken(p, "mark with sectors");
	put_write(p, 0, 6, 0, 'x');
	p->n += 2; /* two entries that are not there */
	expect_broken(p, "beyond the log");
}

static void marks_are_plain_text(void **state)
{
	struct place *p = *state;
	char text[400], want[LW_MARK_MAX];
	struct lw_entry e;
	bool more;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "a b\n\033\xff", 6);
	put_mark(p, text);
	finish(p);
	memset(want, 'x', sizeof(want) - 1);
	want[sizeof(want) - 1] = '\0';
	memcpy(want, "a?b???", 6);
	assert_int_equal(lw_next(&p->log, &e, &more), 0);
	assert_string_equal(e.mark, want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(entries_are_read, setup, teardown),
		cmocka_unit_test_setup_teardown(flush_makes_durable, setup, teardown),
		cmocka_unit_test_setup_teardown(flush_makes_durable, setup_4k, teardown),
		cmocka_unit_test_setup_teardown(unflushed_is_dropped_and_fua_is_not, setup,
						teardown),
		cmocka_unit_test_setup_teardown(part_of_the_cache_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(discard_is_what_was_asked, setup, teardown),
		cmocka_unit_test_setup_teardown(large_write_is_whole, setup, teardown),
		cmocka_unit_test_setup_teardown(wrong_ranges_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(super_blocks_that_lie_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(entries_that_lie_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(marks_are_plain_text, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
