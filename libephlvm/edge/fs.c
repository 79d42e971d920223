// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * fs.c - file systems: which there are, their limits, making one, and what is on a device.
 * Owns all use of libblkid and of the mkfs tools. The tools get an inherited descriptor as
 * /proc/self/fd/3, never a path that could be swapped. Must not mount or check a file system, and
 * must not look at a volume that a guest has used except to name what is there.
 */
#include "edge/fs.h"

#include <blkid/blkid.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "edge/conffile.h"
#include "util/cleanup.h"
#include "util/spawn.h"
#include "util/text.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define TIB ((uint64_t)1 << 40)

/* What eph_spawn hands on, as the tool sees it. */
#define PASSED_PATH "/proc/self/fd/3"
_Static_assert(EPH_SPAWN_PASSED_FD == 3, "PASSED_PATH names another descriptor");

#define TOOL_GRACE_MS 2000

struct fs_kind {
	const char *name;
	const char *tool, *package;
	size_t tool_key; /* offset of the configured path in struct eph_config */
	const char *const *args;
	const char *label_arg;
	size_t label_max;
	/* What the tool needs, on drives with sectors of 512 and of 4096 bytes. */
	uint64_t min_bytes;
	uint64_t max_bytes; /* 0: none that a volume can reach */
	/* A tool that does not know this word yet is run again with @old_args. */
	const char *new_word;
	const char *const *old_args;
};

/*
 * No discard: the volume was erased a moment ago. For the same reason ext4's inode tables and
 * journal are zeros already: saying so (e2fsprogs 1.47) spares the guest hundreds of megabytes of
 * background writes after its first mount.
 */
static const char *const ext4_args[] = {
	"-q", "-F", "-t", "ext4", "-E", "nodiscard,lazy_itable_init=1,assume_storage_prezeroed=1",
	NULL,
};
static const char *const ext4_old_args[] = {
	"-q", "-F", "-t", "ext4", "-E", "nodiscard,lazy_itable_init=1", NULL,
};
static const char *const vfat_args[] = { "-I", NULL };
static const char *const xfs_args[] = { "-q", "-f", "-K", NULL };
/* Quick: without -Q it writes the whole volume. */
static const char *const ntfs_args[] = { "-q", "-F", "-Q", NULL };
static const char *const swap_args[] = { "-f", NULL };

static const struct fs_kind kinds[] = {
	/* Below 2048 blocks (of 4096 bytes on 4K drives) ext4 is made without a journal. */
	{ "ext4", "mkfs.ext4", "e2fsprogs", offsetof(struct eph_config, tool_mkfs_ext4), ext4_args,
	  "-L", 16, 8 * MIB, 0, "assume_storage_prezeroed", ext4_old_args },
	/* From 2 TiB on mkfs.vfat succeeds and leaves the rest of the device unused. */
	{ "vfat", "mkfs.vfat", "dosfstools", offsetof(struct eph_config, tool_mkfs_vfat), vfat_args,
	  "-n", 11, 64 * KIB, 2 * TIB - 512, NULL, NULL },
	{ "xfs", "mkfs.xfs", "xfsprogs", offsetof(struct eph_config, tool_mkfs_xfs), xfs_args, "-L",
	  12, 300 * MIB, 0, NULL, NULL },
	{ "ntfs", "mkfs.ntfs", "ntfs-3g", offsetof(struct eph_config, tool_mkfs_ntfs), ntfs_args,
	  "-L", 128, 2 * MIB, 0, NULL, NULL },
	{ "swap", "mkswap", "util-linux", offsetof(struct eph_config, tool_mkswap), swap_args, "-L",
	  16, 40 * KIB, 0, NULL, NULL },
	{ "none", NULL, NULL, 0, NULL, NULL, 0, 0, 0, NULL, NULL },
};

static const struct fs_kind *kind_find(const char *fs)
{
	for (size_t i = 0; fs && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (eph_streq(kinds[i].name, fs))
			return &kinds[i];
	return NULL;
}

bool eph_fs_known(const char *fs)
{
	return kind_find(fs) != NULL;
}

const char *eph_fs_allowed(void)
{
	return "ext4, vfat, xfs, ntfs, swap, none";
}

static int check_label(struct ephlvm_ctx *ctx, const struct fs_kind *kind, const char *label)
{
	if (!label || strlen(label) <= kind->label_max)
		return 0;
	return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, label,
			"choose another file system, or fewer disks",
			"label \"%s\" is longer than the %zu characters that %s takes", label,
			kind->label_max, kind->name);
}

static int check_size(struct ephlvm_ctx *ctx, const struct fs_kind *kind, uint64_t size_bytes)
{
	char size[EPH_SIZE_TEXT], limit[EPH_SIZE_TEXT];

	eph_size_format(size_bytes, size);
	if (size_bytes < kind->min_bytes)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, kind->name,
				"choose a larger size or another file system",
				"%s on %s: it needs at least %s", kind->name, size,
				eph_size_format(kind->min_bytes, limit));
	if (kind->max_bytes && size_bytes > kind->max_bytes)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, kind->name,
				"choose a smaller size or another file system",
				"%s on %s: it must be smaller than %s", kind->name, size,
				eph_size_format(kind->max_bytes + 512, limit));
	return 0;
}

/* Absolute path of the tool: the configured one, or from the fixed path. */
static int tool_find(struct ephlvm_ctx *ctx, const struct fs_kind *kind, char **ret_path)
{
	const struct eph_config *config;
	_cleanup_free_ char *hint = NULL;
	const char *set;
	int r;

	r = eph_config_get(ctx, &config);
	if (r < 0)
		return r;
	set = *(char *const *)((const char *)config + kind->tool_key);
	if (set && access(set, X_OK) < 0)
		return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, set,
				"correct the path in the configuration",
				"tool \"%s\" of the configuration cannot be run: %s", set,
				strerror(errno));
	if (set) {
		*ret_path = strdup(set);
		return *ret_path ? 0 : eph_fail_oom(ctx);
	}
	r = eph_spawn_find(kind->tool, ret_path);
	if (r == -ENOMEM)
		return eph_fail_oom(ctx);
	if (r == 0)
		return 0;
	if (asprintf(&hint, "install the package \"%s\", or choose another file system",
		     kind->package) < 0)
		hint = NULL;
	return eph_fail(ctx, EPHLVM_ERROR_NOT_FOUND, ENOENT, kind->tool, hint,
			"\"%s\" is not installed", kind->tool);
}

/* All that can be said beforehand; @ret_tool is NULL after success for "none". */
static int check(struct ephlvm_ctx *ctx, const char *fs, uint64_t size_bytes, const char *label,
		 const struct fs_kind **ret_kind, char **ret_tool)
{
	const struct fs_kind *kind = kind_find(fs);
	_cleanup_free_ char *hint = NULL;
	int r;

	if (!kind) {
		if (asprintf(&hint, "use one of %s", eph_fs_allowed()) < 0)
			hint = NULL;
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, fs, hint,
				"unknown file system \"%s\"", fs ? fs : "");
	}
	*ret_kind = kind;
	*ret_tool = NULL;
	if (!kind->tool)
		return 0;
	r = check_label(ctx, kind, label);
	if (r < 0)
		return r;
	r = check_size(ctx, kind, size_bytes);
	if (r < 0)
		return r;
	return tool_find(ctx, kind, ret_tool);
}

int eph_fs_check(struct ephlvm_ctx *ctx, const char *fs, uint64_t size_bytes, const char *label)
{
	_cleanup_free_ char *tool = NULL;
	const struct fs_kind *kind;

	return check(ctx, fs, size_bytes, label, &kind, &tool);
}

static int device_size(struct ephlvm_ctx *ctx, int fd, const char *subject, uint64_t *ret_bytes)
{
	struct stat st;
	uint64_t bytes;

	if (fstat(fd, &st) < 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, errno, subject, NULL,
				"\"%s\" cannot be looked at: %s", subject, strerror(errno));
	if (S_ISREG(st.st_mode)) {
		*ret_bytes = (uint64_t)st.st_size;
		return 0;
	}
	if (ioctl(fd, BLKGETSIZE64, &bytes) < 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, errno, subject, NULL,
				"size of \"%s\" cannot be read: %s", subject, strerror(errno));
	*ret_bytes = bytes;
	return 0;
}

static int run_once(struct ephlvm_ctx *ctx, const struct fs_kind *kind, const char *tool,
		    const char *const *args, int fd, const char *label,
		    struct eph_spawn_result *ret_result)
{
	const struct eph_config *config;
	const char *argv[16];
	size_t n = 0;
	int r;
	struct eph_spawn spec = {
		.argv = argv,
		.pass_fd = &fd,
		.grace_ms = TOOL_GRACE_MS,
	};

	r = eph_config_get(ctx, &config);
	if (r < 0)
		return r;
	spec.timeout_ms = config->command_timeout_ms;
	argv[n++] = tool;
	while (*args)
		argv[n++] = *args++;
	if (label) {
		argv[n++] = kind->label_arg;
		argv[n++] = label;
	}
	argv[n++] = PASSED_PATH;
	argv[n] = NULL;
	r = eph_mark(ctx, "mkfs-call");
	if (r < 0)
		return r;
	r = eph_spawn_run(&spec, ret_result);
	if (r == -ENOMEM)
		return eph_fail_oom(ctx);
	if (r < 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, -r, tool, NULL,
				"\"%s\" cannot be run: %s", tool, strerror(-r));
	return eph_mark(ctx, "mkfs-called");
}

static int run_tool(struct ephlvm_ctx *ctx, const struct fs_kind *kind, const char *tool, int fd,
		    const char *subject, const char *label)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };
	int r;

	r = run_once(ctx, kind, tool, kind->args, fd, label, &result);
	if (r < 0)
		return r;
	if (result.status != 0 && kind->new_word && strstr(result.err, kind->new_word)) {
		eph_spawn_result_clear(&result);
		r = run_once(ctx, kind, tool, kind->old_args, fd, label, &result);
		if (r < 0)
			return r;
	}
	if (result.status == 0 && !result.timed_out)
		return 0;
	if (result.timed_out)
		r = eph_fail(ctx, EPHLVM_ERROR_SYSTEM, ETIMEDOUT, subject,
			     "see the kernel log for trouble with the drive",
			     "\"%s\" did not end in time on \"%s\"", kind->tool, subject);
	else
		r = eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, subject,
			     "see the tool's own words, and the kernel log for the drive",
			     "\"%s\" failed on \"%s\"", kind->tool, subject);
	eph_fail_detail(ctx, result.status, result.err);
	return r;
}

/* A descriptor of our own that is not O_DIRECT: neither libblkid's memory nor ours is aligned. */
static int reopen(int fd, int mode)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, mode | O_CLOEXEC | O_NONBLOCK);
}

static int clear_range(int fd, uint64_t from_bytes, uint64_t to_bytes)
{
	static const char zeros[64 * 1024];

	while (from_bytes < to_bytes) {
		uint64_t left = to_bytes - from_bytes;
		ssize_t n = pwrite(fd, zeros, left < sizeof(zeros) ? left : sizeof(zeros),
				   (off_t)from_bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		from_bytes += (uint64_t)n;
	}
	return 0;
}

/*
 * No tool clears all foreign signatures, and one left beside the new file system makes both
 * ambivalent for whoever probes. They live in the first and the last megabyte.
 */
static int clear_ends(struct ephlvm_ctx *ctx, int fd, const char *subject, uint64_t size_bytes)
{
	_cleanup_close_ int own = reopen(fd, O_WRONLY);
	uint64_t end = size_bytes < MIB ? size_bytes : MIB;
	int r = own < 0 ? -errno : 0;

	if (r == 0)
		r = clear_range(own, 0, end);
	if (r == 0)
		r = clear_range(own, size_bytes - end, size_bytes);
	if (r == 0 && fsync(own) < 0)
		r = -errno;
	if (r == 0)
		return 0;
	return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, -r, subject,
			"see the kernel log for trouble with the drive",
			"old signatures on \"%s\" cannot be cleared: %s", subject, strerror(-r));
}

/*
 * The tool's exit status is not proof: the superblock is, as the drive gives it back. What the host remembers
 * of its own writes says nothing of a drive that acknowledges them and drops them.
 */
static int verify(struct ephlvm_ctx *ctx, const struct fs_kind *kind, int fd, const char *subject,
		  const char *label)
{
	__attribute__((cleanup(eph_fs_found_clear))) struct eph_fs_found found = { 0 };
	int r;

	if (fsync(fd) < 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, errno, subject,
				"see the kernel log for trouble with the drive",
				"\"%s\" cannot be flushed: %s", subject, strerror(errno));
	r = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (r != 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, r, subject, NULL,
				"\"%s\" cannot be read back from its drive: %s", subject,
				strerror(r));
	r = eph_fs_probe(ctx, fd, subject, &found);
	if (r < 0)
		return r;
	if (eph_streq(found.type, kind->name) && eph_streq(found.label, label))
		return 0;
	return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EIO, subject,
			"see the kernel log for trouble with the drive",
			"\"%s\" shows \"%s\" with label \"%s\" after %s with label \"%s\" was made",
			subject, found.type ? found.type : "nothing",
			found.label ? found.label : "", kind->name, label ? label : "");
}

int eph_fs_make(struct ephlvm_ctx *ctx, int fd, const char *subject, const char *fs,
		const char *label)
{
	_cleanup_free_ char *tool = NULL;
	const struct fs_kind *kind;
	uint64_t size_bytes;
	int r;

	r = device_size(ctx, fd, subject, &size_bytes);
	if (r < 0)
		return r;
	r = check(ctx, fs, size_bytes, label, &kind, &tool);
	if (r < 0 || !tool)
		return r;
	r = clear_ends(ctx, fd, subject, size_bytes);
	if (r < 0)
		return r;
	r = run_tool(ctx, kind, tool, fd, subject, label);
	if (r < 0)
		return r;
	return verify(ctx, kind, fd, subject, label);
}

static void probe_freep(blkid_probe *probe)
{
	blkid_free_probe(*probe);
}

static int take_value(blkid_probe probe, const char *name, char **ret_value)
{
	const char *value = NULL;

	if (blkid_probe_lookup_value(probe, name, &value, NULL) < 0 || !value || !*value)
		return 0;
	*ret_value = strdup(value);
	return *ret_value ? 0 : -ENOMEM;
}

static int take_found(blkid_probe probe, int outcome, struct eph_fs_found *found)
{
	int r;

	if (outcome == -2) {
		/* Several signatures at once: which one does not matter, it is not empty. */
		found->type = strdup("ambivalent");
		return found->type ? 0 : -ENOMEM;
	}
	r = take_value(probe, "TYPE", &found->type);
	if (r < 0)
		return r;
	r = take_value(probe, "LABEL", &found->label);
	if (r < 0)
		return r;
	return take_value(probe, "PTTYPE", &found->pttype);
}

static blkid_probe probe_new(int fd)
{
	blkid_probe probe = blkid_new_probe();

	if (!probe)
		return NULL;
	if (blkid_probe_set_device(probe, fd, 0, 0) < 0 ||
	    blkid_probe_enable_superblocks(probe, 1) < 0 ||
	    blkid_probe_set_superblocks_flags(probe, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_LABEL |
							     BLKID_SUBLKS_USAGE) < 0 ||
	    blkid_probe_enable_partitions(probe, 1) < 0 ||
	    blkid_probe_set_partitions_flags(probe, BLKID_PARTS_FORCE_GPT) < 0) {
		blkid_free_probe(probe);
		return NULL;
	}
	return probe;
}

int eph_fs_probe(struct ephlvm_ctx *ctx, int fd, const char *subject,
		 struct eph_fs_found *ret_found)
{
	__attribute__((cleanup(eph_fs_found_clear))) struct eph_fs_found found = { 0 };
	__attribute__((cleanup(probe_freep))) blkid_probe probe = NULL;
	_cleanup_close_ int own = -1;
	int outcome;

	own = reopen(fd, O_RDONLY);
	if (own < 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, errno, subject, NULL,
				"\"%s\" cannot be opened for reading: %s", subject,
				strerror(errno));
	errno = 0;
	probe = probe_new(own);
	if (!probe)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, errno ? errno : EIO, subject, NULL,
				"\"%s\" cannot be probed for signatures", subject);
	errno = 0;
	outcome = blkid_do_safeprobe(probe);
	/* 0: found, 1: nothing, -2: several; a read error must not pass for "nothing". */
	if (outcome != 0 && outcome != 1 && outcome != -2)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, errno ? errno : EIO, subject,
				"see the kernel log for trouble with the drive",
				"\"%s\" cannot be read for signatures", subject);
	if (outcome != 1 && take_found(probe, outcome, &found) < 0)
		return eph_fail_oom(ctx);
	*ret_found = found;
	memset(&found, 0, sizeof(found));
	return 0;
}

void eph_fs_found_clear(struct eph_fs_found *found)
{
	free(found->type);
	free(found->label);
	free(found->pttype);
	memset(found, 0, sizeof(*found));
}
