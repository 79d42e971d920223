// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * dm.c - device-mapper as the kernel tells it: an LV's device by its identity, and the proof that a
 * descriptor is that device.
 * Owns the process-wide mutex around libdevmapper, which is not thread-safe, and its log function.
 * Must not ask LVM, and must not change anything: LVM alone makes and removes devices.
 */
#include "edge/dm.h"

#include <errno.h>
#include <fcntl.h>
#include <libdevmapper.h>
#include <linux/fs.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "edge/holders.h"
#include "util/cleanup.h"

static pthread_mutex_t dm_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t dm_once = PTHREAD_ONCE_INIT;

/* libdevmapper prints to the caller's stderr unless it is given a function of ours. */
__attribute__((format(printf, 5, 6))) static void dm_silent(int level, const char *file, int line,
							    int dm_errno, const char *fmt, ...)
{
	(void)level;
	(void)file;
	(void)line;
	(void)dm_errno;
	(void)fmt;
}

static void dm_setup(void)
{
	dm_log_with_errno_init(dm_silent);
}

/* LVM writes UUIDs as 6-4-4-4-4-4-6 letters; device-mapper has the 32 letters alone. */
static int append_letters(const char *uuid, char *to)
{
	size_t n = 0;

	for (; *uuid; uuid++) {
		if (*uuid == '-')
			continue;
		if (!strchr("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!#",
			    *uuid) ||
		    n == 32)
			return -EINVAL;
		to[n++] = *uuid;
	}
	to[n] = '\0';
	return n == 32 ? 0 : -EINVAL;
}

int eph_dm_lv_uuid(const char *vg_uuid, const char *lv_uuid, char ret_uuid[EPH_DM_UUID_TEXT])
{
	char uuid[EPH_DM_UUID_TEXT] = "LVM-";
	int r;

	r = append_letters(vg_uuid, uuid + 4);
	if (r == 0)
		r = append_letters(lv_uuid, uuid + 36);
	if (r < 0)
		return r;
	memcpy(ret_uuid, uuid, sizeof(uuid));
	return 0;
}

int eph_dm_check(struct ephlvm_ctx *ctx)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/devices", "re");
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, " device-mapper\n"))
			return 0;
	return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, ENODEV, NULL,
			"run \"modprobe dm_mod\"; a container needs its host's device-mapper",
			"this kernel has no device-mapper");
}

/* Under the mutex: the task's answer, or an error. */
static int info_locked(const char *dm_uuid, struct dm_info *ret_info, char name[128])
{
	struct dm_task *dmt;
	int r = -EIO;

	dmt = dm_task_create(DM_DEVICE_INFO);
	if (!dmt)
		return -ENOMEM;
	if (dm_task_set_uuid(dmt, dm_uuid) && dm_task_run(dmt) && dm_task_get_info(dmt, ret_info)) {
		const char *n = ret_info->exists ? dm_task_get_name(dmt) : NULL;

		snprintf(name, 128, "%s", n ? n : "");
		r = 0;
	} else if (dm_task_get_errno(dmt) == ENXIO) {
		/* No such device: an answer, not a failure. */
		memset(ret_info, 0, sizeof(*ret_info));
		r = 0;
	} else if (dm_task_get_errno(dmt) != 0) {
		r = -dm_task_get_errno(dmt);
	}
	dm_task_destroy(dmt);
	return r;
}

/* What an LV of ours may consist of. Another target: somebody made a snapshot of it, or lvm2 has put "error" there. */
static bool is_known_target(const char *type)
{
	return type && strcmp(type, "linear") == 0;
}

/* Under the mutex: the first target of the live table that is not known, empty for none. */
static int strange_target_locked(const char *dm_uuid, char strange[64])
{
	struct dm_task *dmt;
	uint64_t start, length;
	char *type, *params;
	void *next = NULL;
	int r = 0;

	strange[0] = '\0';
	dmt = dm_task_create(DM_DEVICE_TABLE);
	if (!dmt)
		return -ENOMEM;
	if (!dm_task_set_uuid(dmt, dm_uuid) || !dm_task_run(dmt))
		r = dm_task_get_errno(dmt) ? -dm_task_get_errno(dmt) : -EIO;
	do {
		if (r < 0)
			break;
		next = dm_get_next_target(dmt, next, &start, &length, &type, &params);
		if (!is_known_target(type))
			snprintf(strange, 64, "%s", type ? type : "no");
	} while (next && !strange[0]);
	dm_task_destroy(dmt);
	return r;
}

/* Does it map to extents, all of it? LVM's report may be older than a snapshot of it. */
static int check_targets(struct ephlvm_ctx *ctx, const char *vg_uuid, const char *lv_uuid,
			 const char *subject)
{
	char dm_uuid[EPH_DM_UUID_TEXT], strange[64];
	int r;

	r = eph_dm_lv_uuid(vg_uuid, lv_uuid, dm_uuid);
	if (r == 0) {
		pthread_once(&dm_once, dm_setup);
		pthread_mutex_lock(&dm_mutex);
		r = strange_target_locked(dm_uuid, strange);
		pthread_mutex_unlock(&dm_mutex);
	}
	if (r < 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, -r, subject, NULL,
				"device-mapper does not show the table of \"%s\": %s", subject,
				strerror(-r));
	if (strange[0])
		return eph_fail(
			ctx, EPHLVM_ERROR_BUSY, EBUSY, subject,
			"see \"lvs -a -o name,origin,role\" and \"dmsetup table\"; if it has "
			"a snapshot, that goes first",
			"the device of \"%s\" has a %s target where only linear ones are "
			"expected",
			subject, strange);
	return 0;
}

/* Size of a block device by number, from sysfs: opening it would count as an opener. */
static int sysfs_size(dev_t devno, uint64_t *ret_bytes)
{
	_cleanup_fclose_ FILE *f = NULL;
	unsigned long long sectors;
	char path[64];

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/size", major(devno), minor(devno));
	f = fopen(path, "re");
	if (!f)
		return -errno;
	if (fscanf(f, "%llu", &sectors) != 1)
		return -EIO;
	*ret_bytes = sectors * 512;
	return 0;
}

int eph_dm_info(struct ephlvm_ctx *ctx, const char *vg_uuid, const char *lv_uuid,
		struct eph_dm_info *ret_info)
{
	struct eph_dm_info info = { 0 };
	char dm_uuid[EPH_DM_UUID_TEXT];
	struct dm_info dmi = { 0 };
	int r;

	r = eph_dm_lv_uuid(vg_uuid, lv_uuid, dm_uuid);
	if (r < 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, EINVAL, lv_uuid, NULL,
				"LVM gave the malformed UUIDs \"%s\" and \"%s\"", vg_uuid, lv_uuid);
	r = eph_dm_check(ctx);
	if (r < 0)
		return r;
	pthread_once(&dm_once, dm_setup);
	pthread_mutex_lock(&dm_mutex);
	r = info_locked(dm_uuid, &dmi, info.name);
	pthread_mutex_unlock(&dm_mutex);
	if (r < 0)
		return eph_fail(
			ctx,
			r == -EACCES || r == -EPERM ? EPHLVM_ERROR_PERMISSION : EPHLVM_ERROR_SYSTEM,
			-r, dm_uuid, "this needs root",
			"device-mapper does not answer for \"%s\": %s", dm_uuid, strerror(-r));
	if (dmi.exists) {
		info.exists = true;
		info.devno = makedev(dmi.major, dmi.minor);
		info.open_count = (unsigned int)dmi.open_count;
		info.suspended = dmi.suspended;
		info.live_table = dmi.live_table;
		info.inactive_table = dmi.inactive_table;
		/* Without a live table the kernel shows no disk, and there is no size. */
		r = info.live_table ? sysfs_size(info.devno, &info.size_bytes) : 0;
		if (r < 0)
			return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, -r, dm_uuid, NULL,
					"no size in sysfs for device %u:%u: %s", major(info.devno),
					minor(info.devno), strerror(-r));
	}
	*ret_info = info;
	return 0;
}

bool eph_dm_usable(const struct eph_dm_info *info)
{
	return info->exists && info->live_table && !info->inactive_table && !info->suspended;
}

int eph_dm_check_path(struct ephlvm_ctx *ctx, const char *vg_uuid, const char *lv_uuid,
		      const char *path)
{
	struct eph_dm_info info;
	struct stat st;
	int r;

	r = eph_dm_info(ctx, vg_uuid, lv_uuid, &info);
	if (r < 0)
		return r;
	if (stat(path, &st) < 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, errno, path,
				"see whether systemd-udevd runs; \"vgmknodes\" makes the links",
				"the volume is active, and \"%s\" does not lead to it: %s", path,
				strerror(errno));
	if (!info.exists || !S_ISBLK(st.st_mode) || st.st_rdev != info.devno)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, ESTALE, path,
				"remove it, then run \"vgmknodes\" or \"udevadm trigger\"",
				"\"%s\" is not the volume's device but something else", path);
	return 0;
}

static int fail_in_use(struct ephlvm_ctx *ctx, dev_t devno, const char *subject)
{
	_cleanup_strv_ struct eph_strv holders = EPH_STRV_INIT;
	_cleanup_free_ char *text = NULL;

	if (eph_holders_find(devno, &holders) < 0 || eph_holders_text(&holders, &text) < 0)
		return eph_fail_oom(ctx);
	return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, subject, "stop its user, then try again",
			"\"%s\" is in use: %s", subject, text);
}

int eph_dm_prove_lv(struct ephlvm_ctx *ctx, int fd, const char *vg_uuid, const char *lv_uuid,
		    const char *subject, uint64_t size_bytes, unsigned int own_opens)
{
	struct eph_dm_info info;
	uint64_t bytes = 0;
	struct stat st;
	int r;

	/*
	 * udev opens a device for a moment after each change of it; a user stays. So a count that is
	 * too high is looked at again for two seconds before it is believed.
	 */
	for (unsigned int tries = 0;; tries++) {
		const struct timespec pause = { 0, 50000000 };

		r = eph_dm_info(ctx, vg_uuid, lv_uuid, &info);
		if (r < 0)
			return r;
		if (!info.exists || info.open_count <= own_opens || tries == 40)
			break;
		nanosleep(&pause, NULL);
	}
	if (fstat(fd, &st) < 0 || ioctl(fd, BLKGETSIZE64, &bytes) < 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, errno, subject, NULL,
				"cannot examine the device of \"%s\": %s", subject,
				strerror(errno));
	if (!info.exists || !S_ISBLK(st.st_mode) || st.st_rdev != info.devno)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, ESTALE, subject, "try again",
				"the device opened for \"%s\" is not that volume any more",
				subject);
	if (bytes != size_bytes || info.size_bytes != size_bytes)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, ESTALE, subject, "try again",
				"the device of \"%s\" has %llu bytes where LVM says %llu", subject,
				(unsigned long long)bytes, (unsigned long long)size_bytes);
	if (info.suspended || info.inactive_table)
		return eph_fail(ctx, EPHLVM_ERROR_BUSY, EBUSY, subject,
				"see \"dmsetup info\"; wait for the command that changes it",
				"the device of \"%s\" is %s", subject,
				info.suspended ? "suspended" : "being changed (a table is loaded)");
	if (info.open_count > own_opens)
		return fail_in_use(ctx, info.devno, subject);
	return check_targets(ctx, vg_uuid, lv_uuid, subject);
}

int eph_dm_open_lv(struct ephlvm_ctx *ctx, const char *vg_uuid, const char *lv_uuid,
		   const char *subject, uint64_t size_bytes, bool exclusive, int flags, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	struct eph_dm_info info;
	char path[32];
	int r;

	r = eph_dm_info(ctx, vg_uuid, lv_uuid, &info);
	if (r < 0)
		return r;
	if (!info.exists)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, ENXIO, subject, NULL,
				"\"%s\" is not active", subject);
	/*
	 * devtmpfs names the node after the number; links (/dev/VG/LV, /dev/mapper) are udev's and may
	 * be missing, stale, or somebody's. The number is checked again on the descriptor.
	 */
	snprintf(path, sizeof(path), "/dev/dm-%u", minor(info.devno));
	for (unsigned int tries = 0;; tries++) {
		const struct timespec pause = { 0, 50000000 };

		fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | (exclusive ? O_EXCL : 0) | flags);
		if (fd >= 0 || errno != EBUSY || tries == 40)
			break;
		nanosleep(&pause, NULL);
	}
	if (fd < 0 && errno == EBUSY)
		return fail_in_use(ctx, info.devno, subject);
	if (fd < 0)
		return eph_fail(ctx, EPHLVM_ERROR_SYSTEM, errno, subject, NULL,
				"cannot open \"%s\" for \"%s\": %s", path, subject,
				strerror(errno));
	r = eph_dm_prove_lv(ctx, fd, vg_uuid, lv_uuid, subject, size_bytes,
			    exclusive ? 1 : UINT32_MAX);
	if (r < 0)
		return r;
	*ret_fd = eph_steal_fd(&fd);
	return 0;
}
