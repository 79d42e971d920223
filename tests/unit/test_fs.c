// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * File systems: limits are told before anything is made, every kind is really made on a device full
 * of old signatures, and what libblkid sees is what was asked for. Regular files stand in for the
 * device, so no privilege is needed; they lie in /var/tmp, which knows O_DIRECT where /tmp may not.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/context.h"
#include "edge/fs.h"
#include "pure/config.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define TIB ((uint64_t)1 << 40)

struct bench {
	struct ephlvm_ctx *ctx;
	struct eph_config *config; /* the context's, owned by it */
	char path[64];
	int fd;
};

static int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	assert_int_equal(ephlvm_ctx_new(&b->ctx), 0);
	assert_int_equal(eph_config_default(b->ctx, &b->config), 0);
	b->ctx->config = b->config;
	b->ctx->config_free = eph_config_free;
	snprintf(b->path, sizeof(b->path), "/var/tmp/ephlvm-fs.XXXXXX");
	b->fd = mkostemp(b->path, O_CLOEXEC);
	assert_true(b->fd >= 0);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	struct bench *b = *state;

	close(b->fd);
	unlink(b->path);
	ephlvm_ctx_unref(b->ctx);
	free(b);
	return 0;
}

static int check(struct bench *b, const char *fs, uint64_t size_bytes, const char *label)
{
	eph_enter(b->ctx);
	return eph_fs_check(b->ctx, fs, size_bytes, label);
}

static int make(struct bench *b, const char *fs, const char *label)
{
	eph_enter(b->ctx);
	return eph_fs_make(b->ctx, b->fd, "vg/lv", fs, label);
}

static void probe_is(struct bench *b, const char *type, const char *label, const char *pttype)
{
	struct eph_fs_found found = { 0 };

	eph_enter(b->ctx);
	assert_int_equal(eph_fs_probe(b->ctx, b->fd, "vg/lv", &found), 0);
	if (type)
		assert_string_equal(found.type ? found.type : "(nothing)", type);
	else
		assert_null(found.type);
	if (label)
		assert_string_equal(found.label ? found.label : "(nothing)", label);
	else
		assert_null(found.label);
	if (pttype)
		assert_string_equal(found.pttype ? found.pttype : "(nothing)", pttype);
	else
		assert_null(found.pttype);
	eph_fs_found_clear(&found);
}

static void put(struct bench *b, uint64_t offset, const void *data, size_t n)
{
	assert_int_equal(pwrite(b->fd, data, n, (off_t)offset), (ssize_t)n);
}

static void resize(struct bench *b, uint64_t size_bytes)
{
	assert_int_equal(ftruncate(b->fd, 0), 0);
	assert_int_equal(ftruncate(b->fd, (off_t)size_bytes), 0);
}

static void sh(const char *fmt, const char *path)
{
	char command[512];

	snprintf(command, sizeof(command), fmt, path);
	assert_int_equal(system(command), 0);
}

static void words_are_known(void **state)
{
	const char *known[] = { "ext4", "vfat", "xfs", "ntfs", "swap", "none", NULL };

	(void)state;
	for (size_t i = 0; known[i]; i++) {
		assert_true(eph_fs_known(known[i]));
		assert_non_null(strstr(eph_fs_allowed(), known[i]));
	}
	assert_false(eph_fs_known("ext3"));
	assert_false(eph_fs_known("EXT4"));
	assert_false(eph_fs_known(""));
	assert_false(eph_fs_known(NULL));
	assert_false(eph_fs_known("ext4;rm -rf /"));
}

static void unknown_word_is_refused_with_what_is_allowed(void **state)
{
	struct bench *b = *state;

	assert_int_equal(check(b, "btrfs", MIB, NULL), -EINVAL);
	assert_int_equal(ephlvm_error_kind(b->ctx), EPHLVM_ERROR_INVALID);
	assert_non_null(strstr(ephlvm_error_hint(b->ctx), "ext4, vfat, xfs, ntfs, swap, none"));
	assert_int_equal(check(b, NULL, MIB, NULL), -EINVAL);
}

static void too_small_names_size_and_minimum(void **state)
{
	const struct {
		const char *fs, *least;
		uint64_t min_bytes;
	} limits[] = {
		{ "ext4", "8 MiB", 8 * MIB },	{ "xfs", "300 MiB", 300 * MIB },
		{ "vfat", "64 KiB", 64 * KIB }, { "ntfs", "2 MiB", 2 * MIB },
		{ "swap", "40 KiB", 40 * KIB },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		assert_int_equal(check(b, limits[i].fs, limits[i].min_bytes - 1, NULL), -EINVAL);
		assert_non_null(strstr(ephlvm_error_message(b->ctx), limits[i].least));
		assert_int_equal(check(b, limits[i].fs, limits[i].min_bytes, "ephemeral0"), 0);
	}
	assert_int_equal(check(b, "xfs", 299 * MIB, NULL), -EINVAL);
	assert_non_null(strstr(ephlvm_error_message(b->ctx), "299 MiB"));
	assert_int_equal(check(b, "none", 1, NULL), 0);
}

static void vfat_ends_below_2_tib(void **state)
{
	struct bench *b = *state;

	assert_int_equal(check(b, "vfat", 2 * TIB - 512, "ephemeral0"), 0);
	assert_int_equal(check(b, "vfat", 2 * TIB, "ephemeral0"), -EINVAL);
	assert_non_null(strstr(ephlvm_error_message(b->ctx), "smaller than 2 TiB"));
	assert_int_equal(check(b, "ext4", 16 * TIB, "ephemeral0"), 0);
}

static void label_limits(void **state)
{
	const struct {
		const char *fs;
		size_t max;
	} limits[] = {
		{ "vfat", 11 }, { "xfs", 12 }, { "ext4", 16 }, { "swap", 16 }, { "ntfs", 128 }
	};
	struct bench *b = *state;
	char label[200];

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		memset(label, 'a', sizeof(label));
		label[limits[i].max] = '\0';
		assert_int_equal(check(b, limits[i].fs, 1024 * MIB, label), 0);
		label[limits[i].max] = 'a';
		label[limits[i].max + 1] = '\0';
		assert_int_equal(check(b, limits[i].fs, 1024 * MIB, label), -EINVAL);
		assert_int_equal(ephlvm_error_kind(b->ctx), EPHLVM_ERROR_INVALID);
	}
	assert_int_equal(check(b, "vfat", 1024 * MIB, "ephemeral99"), 0);
	assert_int_equal(check(b, "vfat", 1024 * MIB, "ephemeral100"), -EINVAL);
}

static void missing_tool_is_told_beforehand(void **state)
{
	struct bench *b = *state;

	b->config->tool_mkfs_xfs = strdup("/nonexistent/mkfs.xfs");
	assert_int_equal(check(b, "xfs", 1024 * MIB, "ephemeral0"), -ENOENT);
	assert_int_equal(ephlvm_error_kind(b->ctx), EPHLVM_ERROR_NOT_FOUND);
	assert_non_null(strstr(ephlvm_error_message(b->ctx), "/nonexistent/mkfs.xfs"));
	assert_int_equal(check(b, "ext4", 1024 * MIB, "ephemeral0"), 0);
}

static uint32_t crc32_of(const void *data, size_t n)
{
	const uint8_t *p = data;
	uint32_t crc = ~(uint32_t)0;

	while (n--) {
		crc ^= *p++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

struct gpt_header {
	char magic[8];
	uint32_t revision, size, crc, reserved;
	uint64_t own_lba, other_lba, first_lba, last_lba;
	uint8_t guid[16];
	uint64_t entries_lba;
	uint32_t n_entries, entry_size, entries_crc;
	uint8_t pad[420];
} __attribute__((packed));

/* One of the two headers, with its table of 128 entries of which the first is in use. */
static void put_gpt_half(struct bench *b, uint64_t own, uint64_t other, uint64_t table,
			 uint64_t last)
{
	static uint8_t entries[128 * 128];
	struct gpt_header h = {
		.magic = { 'E', 'F', 'I', ' ', 'P', 'A', 'R', 'T' },
		.revision = 0x10000,
		.size = 92,
		.own_lba = own,
		.other_lba = other,
		.first_lba = 34,
		.last_lba = last,
		.entries_lba = table,
		.n_entries = 128,
		.entry_size = 128,
	};

	memset(entries, 0, sizeof(entries));
	memset(entries, 0xab, 32);
	entries[32] = 64; /* first sector */
	entries[40] = 128; /* last sector */
	h.entries_crc = crc32_of(entries, sizeof(entries));
	h.crc = crc32_of(&h, 92);
	put(b, own * 512, &h, sizeof(h));
	put(b, table * 512, entries, sizeof(entries));
}

/* A master boot record with one partition of @type. */
static void put_mbr(struct bench *b, uint8_t type)
{
	uint8_t entry[16] = { 0, 0, 2, 0, type, 0, 0, 0, 1, 0, 0, 0, 0xff, 0, 0, 0 };

	put(b, 446, entry, sizeof(entry));
	put(b, 510, "\x55\xaa", 2);
}

static void put_gpt(struct bench *b, uint64_t size_bytes)
{
	uint64_t end = size_bytes / 512 - 1;

	put_mbr(b, 0xee);
	put_gpt_half(b, 1, end, 2, end - 33);
	put_gpt_half(b, end, 1, end - 32, end - 33);
}

/* Old signatures of all sorts, left where they hurt most. */
static void soil(struct bench *b, uint64_t size_bytes)
{
	put_gpt(b, size_bytes);
	put(b, 1024 + 0x38, "\x53\xef", 2); /* ext2's magic */
	put(b, 512, "LABELONE", 8); /* LVM2 label in sector 1 */
	put(b, 4096 - 10, "SWAPSPACE2", 10); /* swap */
	put(b, 4096 + 0x18, "bcache", 6); /* something where bcache's block is */
	put(b, 65536 + 0x40, "_BHRfS_M", 8); /* btrfs */
}

/* Each kind over old signatures: made without a question, and read back with its exact label. */
static void every_kind_is_made(void **state)
{
	const struct {
		const char *fs;
		uint64_t size_bytes;
		const char *label;
	} wanted[] = {
		{ "ext4", 64 * MIB, "ephemeral0" },   { "ext4", 8 * MIB, "ephemeral1" },
		{ "vfat", 64 * MIB, "ephemeral0" },   { "vfat", 64 * KIB, "ephemeral99" },
		{ "vfat", 2048 * MIB, "ephemeral0" }, { "xfs", 300 * MIB, "ephemeral0" },
		{ "ntfs", 64 * MIB, "ephemeral0" },   { "ntfs", 2 * MIB, "ephemeral0" },
		{ "swap", 64 * MIB, "swap0" },	      { "swap", 40 * KIB, NULL },
		{ "ext4", 64 * MIB, NULL },	      { "xfs", 300 * MIB, "ephemeral99" },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		resize(b, wanted[i].size_bytes);
		if (wanted[i].size_bytes >= MIB)
			soil(b, wanted[i].size_bytes);
		assert_int_equal(make(b, wanted[i].fs, wanted[i].label), 0);
		probe_is(b, wanted[i].fs, wanted[i].label, NULL);
	}
}

static void ext4_has_its_journal_and_is_clean(void **state)
{
	struct bench *b = *state;

	resize(b, 8 * MIB);
	assert_int_equal(make(b, "ext4", "ephemeral0"), 0);
	sh("PATH=$PATH:/sbin:/usr/sbin; dumpe2fs -h %s 2>/dev/null | grep -q has_journal", b->path);
	sh("PATH=$PATH:/sbin:/usr/sbin; e2fsck -fn %s >/dev/null 2>&1", b->path);
}

static void one_kind_over_another(void **state)
{
	const char *kinds[] = { "ext4", "xfs", "vfat", "ntfs", "swap", NULL };
	struct bench *b = *state;

	for (size_t i = 0; kinds[i]; i++) {
		for (size_t k = 0; kinds[k]; k++) {
			resize(b, 300 * MIB);
			assert_int_equal(make(b, kinds[i], "old"), 0);
			assert_int_equal(make(b, kinds[k], "ephemeral0"), 0);
			probe_is(b, kinds[k], "ephemeral0", NULL);
		}
	}
}

static void none_leaves_every_byte(void **state)
{
	struct bench *b = *state;
	struct stat st;

	resize(b, MIB);
	assert_int_equal(make(b, "none", "ephemeral0"), 0);
	assert_int_equal(fstat(b->fd, &st), 0);
	assert_int_equal(st.st_blocks, 0);
	probe_is(b, NULL, NULL, NULL);
}

static void size_of_the_device_counts(void **state)
{
	struct bench *b = *state;
	struct stat st;

	resize(b, 4 * MIB);
	assert_int_equal(make(b, "ext4", "ephemeral0"), -EINVAL);
	assert_int_equal(fstat(b->fd, &st), 0);
	assert_int_equal(st.st_blocks, 0);
}

/* A tool of the test's own, written beside the file. */
static void fake_tool(struct bench *b, char **key, const char *script)
{
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "%s.tool", b->path);
	f = fopen(path, "we");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", script);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, 0700), 0);
	free(*key);
	*key = strdup(path);
}

static void drop_tool(struct bench *b)
{
	char path[96];

	snprintf(path, sizeof(path), "%s.tool", b->path);
	unlink(path);
}

static void failing_tool_is_told_with_its_words(void **state)
{
	struct bench *b = *state;

	resize(b, 64 * MIB);
	fake_tool(b, &b->config->tool_mkfs_ext4, "echo 'no luck today' >&2; exit 3");
	assert_int_equal(make(b, "ext4", "ephemeral0"), -EIO);
	assert_int_equal(ephlvm_error_kind(b->ctx), EPHLVM_ERROR_SYSTEM);
	assert_int_equal(ephlvm_error_child_status(b->ctx), 3);
	assert_non_null(strstr(ephlvm_error_detail(b->ctx), "no luck today"));
	assert_non_null(strstr(ephlvm_error_message(b->ctx), "\"vg/lv\""));
	drop_tool(b);
}

static void success_without_a_file_system_is_not_believed(void **state)
{
	struct bench *b = *state;

	resize(b, 64 * MIB);
	fake_tool(b, &b->config->tool_mkfs_ext4, "exit 0");
	assert_int_equal(make(b, "ext4", "ephemeral0"), -EIO);
	/* The label lost, as some callers of mkfs do. */
	fake_tool(b, &b->config->tool_mkfs_ext4, "exec /sbin/mkfs.ext4 -q -F /proc/self/fd/3");
	assert_int_equal(make(b, "ext4", "ephemeral0"), -EIO);
	assert_non_null(strstr(ephlvm_error_message(b->ctx), "label \"\""));
	drop_tool(b);
}

static void hanging_tool_is_ended(void **state)
{
	struct bench *b = *state;

	resize(b, 64 * MIB);
	b->config->command_timeout_ms = 200;
	fake_tool(b, &b->config->tool_mkfs_ext4, "sleep 600");
	assert_int_equal(make(b, "ext4", "ephemeral0"), -ETIMEDOUT);
	drop_tool(b);
}

static void older_mkfs_is_asked_again(void **state)
{
	struct bench *b = *state;

	resize(b, 64 * MIB);
	fake_tool(b, &b->config->tool_mkfs_ext4,
		  "case \"$*\" in *assume_storage_prezeroed*)\n"
		  "echo 'Bad option(s) specified: assume_storage_prezeroed' >&2; exit 1;; esac\n"
		  "exec /sbin/mkfs.ext4 \"$@\"");
	assert_int_equal(make(b, "ext4", "ephemeral0"), 0);
	probe_is(b, "ext4", "ephemeral0", NULL);
	drop_tool(b);
}

/* The tool gets the device as a descriptor, and no name, environment or other descriptor of ours. */
static void tool_sees_the_descriptor_only(void **state)
{
	struct bench *b = *state;

	resize(b, 64 * MIB);
	setenv("MKE2FS_CONFIG", "/nonexistent/hostile", 1);
	fake_tool(b, &b->config->tool_mkfs_ext4,
		  "[ -z \"$MKE2FS_CONFIG\" ] || { echo environment >&2; exit 9; }\n"
		  "for a; do case $a in /var/tmp/*) echo path >&2; exit 9;; esac; done\n"
		  "exec /sbin/mkfs.ext4 \"$@\"");
	assert_int_equal(make(b, "ext4", "ephemeral0"), 0);
	unsetenv("MKE2FS_CONFIG");
	drop_tool(b);
}

static void probe_names_what_is_there(void **state)
{
	struct bench *b = *state;

	resize(b, 64 * MIB);
	probe_is(b, NULL, NULL, NULL);

	put_gpt(b, 64 * MIB);
	probe_is(b, NULL, NULL, "gpt");
	resize(b, 64 * MIB);
	put_mbr(b, 0x83);
	probe_is(b, NULL, NULL, "dos");

	resize(b, 64 * MIB);
	put(b, 0, "LUKS\xba\xbe\x00\x01", 8);
	probe_is(b, "crypto_LUKS", NULL, NULL);
}

/* The backup table at the end alone still says that a GPT was here. */
static void probe_sees_a_gpt_without_its_head(void **state)
{
	struct bench *b = *state;
	static const char zeros[4096];

	resize(b, 64 * MIB);
	put_gpt(b, 64 * MIB);
	put(b, 0, zeros, sizeof(zeros));
	probe_is(b, NULL, NULL, "gpt");
}

static void probe_counts_several_as_found(void **state)
{
	struct bench *b = *state;
	struct eph_fs_found found = { 0 };

	resize(b, 64 * MIB);
	assert_int_equal(make(b, "ext4", "one"), 0);
	put(b, 4096 - 10, "SWAPSPACE2", 10);
	put(b, 1024, "\x01\x00\x00\x00\xff\x00\x00\x00", 8); /* swap header: version, last page */
	eph_enter(b->ctx);
	assert_int_equal(eph_fs_probe(b->ctx, b->fd, "vg/lv", &found), 0);
	assert_non_null(found.type);
	eph_fs_found_clear(&found);
}

static void probe_reads_through_a_direct_descriptor(void **state)
{
	struct bench *b = *state;
	struct eph_fs_found found = { 0 };
	int fd;

	resize(b, 64 * MIB);
	assert_int_equal(make(b, "ext4", "ephemeral0"), 0);
	fd = open(b->path, O_RDWR | O_DIRECT | O_CLOEXEC);
	assert_true(fd >= 0);
	eph_enter(b->ctx);
	assert_int_equal(eph_fs_probe(b->ctx, fd, "vg/lv", &found), 0);
	assert_string_equal(found.type, "ext4");
	eph_fs_found_clear(&found);
	assert_int_equal(eph_fs_make(b->ctx, fd, "vg/lv", "xfs", NULL), -EINVAL);
	assert_int_equal(eph_fs_make(b->ctx, fd, "vg/lv", "vfat", "ephemeral0"), 0);
	close(fd);
}

static void unreadable_is_an_error_not_nothing(void **state)
{
	struct bench *b = *state;
	struct eph_fs_found found = { 0 };
	int fd;

	eph_enter(b->ctx);
	assert_true(eph_fs_probe(b->ctx, -1, "vg/lv", &found) < 0);
	assert_int_equal(ephlvm_error_kind(b->ctx), EPHLVM_ERROR_SYSTEM);
	fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	eph_enter(b->ctx);
	assert_true(eph_fs_probe(b->ctx, fd, "vg/lv", &found) < 0);
	assert_null(found.type);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		cmocka_unit_test(words_are_known),
		T(unknown_word_is_refused_with_what_is_allowed),
		T(too_small_names_size_and_minimum),
		T(vfat_ends_below_2_tib),
		T(label_limits),
		T(missing_tool_is_told_beforehand),
		T(every_kind_is_made),
		T(ext4_has_its_journal_and_is_clean),
		T(one_kind_over_another),
		T(none_leaves_every_byte),
		T(size_of_the_device_counts),
		T(failing_tool_is_told_with_its_words),
		T(success_without_a_file_system_is_not_believed),
		T(hanging_tool_is_ended),
		T(older_mkfs_is_asked_again),
		T(tool_sees_the_descriptor_only),
		T(probe_names_what_is_there),
		T(probe_sees_a_gpt_without_its_head),
		T(probe_counts_several_as_found),
		T(probe_reads_through_a_direct_descriptor),
		T(unreadable_is_an_error_not_nothing),
	};

	return cmocka_run_group_tests_name("fs", tests, NULL, NULL);
}
