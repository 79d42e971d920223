// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * holders.c - who uses a block device, from sysfs and procfs.
 * Owns nothing. Must not open the device: that would make us a user of it. Texts hold names that
 * others chose (mount points, commands): whoever prints them escapes them.
 */
#include "edge/holders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "util/cleanup.h"

static void closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}
#define _cleanup_dir_ __attribute__((cleanup(closedirp)))

static bool is_device(const char *path, dev_t devno)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISBLK(st.st_mode) && st.st_rdev == devno;
}

/* First line of @path into @buf, "" where there is none. */
static void read_line(const char *path, char *buf, size_t bytes)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	buf[0] = '\0';
	if (f && fgets(buf, (int)bytes, f))
		buf[strcspn(buf, "\n")] = '\0';
}

/*
 * Mounts as one mount namespace sees them; @whose is said behind each. The device number of the file system is compared, and
 * where that is an anonymous one (btrfs) the source, if it is in /dev: a look at any other path may hang.
 */
static int find_mounts(const char *mountinfo, dev_t devno, const char *whose,
		       struct eph_strv *holders)
{
	_cleanup_fclose_ FILE *f = fopen(mountinfo, "re");
	_cleanup_free_ char *line = NULL;
	size_t room = 0;

	while (f && getline(&line, &room, f) > 0) {
		char where[1024], source[1024], text[1300];
		unsigned int maj, min;
		const char *rest;
		int r;

		if (sscanf(line, "%*u %*u %u:%u %*s %1023s", &maj, &min, where) != 3)
			continue;
		rest = strstr(line, " - ");
		if (!rest || sscanf(rest, " - %*s %1023s", source) != 1)
			source[0] = '\0';
		if (makedev(maj, min) != devno &&
		    !(strncmp(source, "/dev/", 5) == 0 && is_device(source, devno)))
			continue;
		snprintf(text, sizeof(text), "mounted on %s%s", where, whose);
		if (eph_strv_has(holders, text))
			continue;
		r = eph_strv_add(holders, text);
		if (r < 0)
			return r;
	}
	return 0;
}

static int find_swap(dev_t devno, struct eph_strv *holders)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/swaps", "re");
	char line[1200], path[1024];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%1023s", path) == 1 && path[0] == '/' && is_device(path, devno))
			return eph_strv_add(holders, "swap");
	return 0;
}

/* Devices on top of it: dm, md, bcache. */
static int find_stacked(dev_t devno, struct eph_strv *holders)
{
	_cleanup_dir_ DIR *above = NULL;
	char path[400], name[160];
	struct dirent *e;
	int r = 0;

	snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/holders", major(devno), minor(devno));
	above = opendir(path);
	while (above && r == 0 && (e = readdir(above))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/sys/block/%.200s/dm/name", e->d_name);
		read_line(path, name, sizeof(name));
		r = eph_strv_addf(holders, name[0] ? "device %s (%s)" : "device %s", e->d_name,
				  name);
	}
	return r;
}

/* "MAJOR:MINOR" of a partition directory in sysfs; 0 for anything else in there. */
static dev_t partition_devno(const char *disk, const char *name)
{
	unsigned int maj, min;
	char path[400], text[32];

	snprintf(path, sizeof(path), "%s/%.200s/partition", disk, name);
	if (name[0] == '.' || access(path, F_OK) < 0)
		return 0;
	snprintf(path, sizeof(path), "%s/%.200s/dev", disk, name);
	read_line(path, text, sizeof(text));
	return sscanf(text, "%u:%u", &maj, &min) == 2 ? makedev(maj, min) : 0;
}

int eph_holders_find_partitions(dev_t devno, struct eph_strv *partitions, struct eph_strv *holders)
{
	_cleanup_dir_ DIR *d = NULL;
	struct dirent *e;
	char disk[64];
	int r = 0;

	snprintf(disk, sizeof(disk), "/sys/dev/block/%u:%u", major(devno), minor(devno));
	d = opendir(disk);
	while (d && r == 0 && (e = readdir(d))) {
		dev_t part = partition_devno(disk, e->d_name);

		if (part == 0)
			continue;
		r = eph_strv_add(partitions, e->d_name);
		if (r == 0)
			r = eph_holders_find_static(part, holders);
	}
	return r;
}

/* Does this process have the device open? Descriptors are looked at by number only. */
static bool process_has_open(const char *pid, dev_t devno)
{
	_cleanup_dir_ DIR *d = NULL;
	struct dirent *e;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		struct stat st;

		if (e->d_name[0] != '.' && fstatat(dirfd(d), e->d_name, &st, 0) == 0 &&
		    S_ISBLK(st.st_mode) && st.st_rdev == devno)
			return true;
	}
	return false;
}

/* "mnt:[INODE]" of a process, "" where it cannot be told. */
static void mount_namespace(const char *pid, char *buf, size_t bytes)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%.20s/ns/mnt", pid);
	n = readlink(path, buf, bytes - 1);
	buf[n > 0 ? n : 0] = '\0';
}

/* A container, or a service with a private /tmp, has its own mounts. One process of each namespace is asked. */
static int find_other_namespaces(dev_t devno, struct eph_strv *holders)
{
	_cleanup_strv_ struct eph_strv seen = EPH_STRV_INIT;
	_cleanup_dir_ DIR *proc = opendir("/proc");
	struct dirent *e;
	char ns[64];
	int r;

	mount_namespace("self", ns, sizeof(ns));
	r = eph_strv_add(&seen, ns);
	mount_namespace("1", ns, sizeof(ns));
	if (r == 0)
		r = eph_strv_add(&seen, ns);
	while (proc && r == 0 && (e = readdir(proc))) {
		char path[64], comm[64], whose[160];

		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		mount_namespace(e->d_name, ns, sizeof(ns));
		if (!ns[0] || eph_strv_has(&seen, ns))
			continue;
		r = eph_strv_add(&seen, ns);
		snprintf(path, sizeof(path), "/proc/%.20s/comm", e->d_name);
		read_line(path, comm, sizeof(comm));
		snprintf(whose, sizeof(whose), " in the mount namespace of process %.20s (%s)",
			 e->d_name, comm);
		snprintf(path, sizeof(path), "/proc/%.20s/mountinfo", e->d_name);
		if (r == 0)
			r = find_mounts(path, devno, whose, holders);
	}
	return r;
}

static int find_processes(dev_t devno, struct eph_strv *holders)
{
	_cleanup_dir_ DIR *proc = opendir("/proc");
	struct dirent *e;

	while (proc && (e = readdir(proc))) {
		char path[64], comm[64];
		int r;

		if (e->d_name[0] < '0' || e->d_name[0] > '9' ||
		    strtol(e->d_name, NULL, 10) == (long)getpid() ||
		    !process_has_open(e->d_name, devno))
			continue;
		snprintf(path, sizeof(path), "/proc/%.20s/comm", e->d_name);
		read_line(path, comm, sizeof(comm));
		r = eph_strv_addf(holders, "process %s (%s)", e->d_name, comm);
		if (r < 0)
			return r;
	}
	return 0;
}

int eph_holders_find_static(dev_t devno, struct eph_strv *holders)
{
	int r;

	/* Our own mount namespace, and the host's where we are in another. */
	r = find_mounts("/proc/self/mountinfo", devno, "", holders);
	if (r == 0)
		r = find_mounts("/proc/1/mountinfo", devno, "", holders);
	if (r == 0)
		r = find_swap(devno, holders);
	if (r == 0)
		r = find_stacked(devno, holders);
	return r;
}

int eph_holders_find(dev_t devno, struct eph_strv *holders)
{
	int r;

	r = eph_holders_find_static(devno, holders);
	if (r == 0)
		r = find_other_namespaces(devno, holders);
	if (r == 0)
		r = find_processes(devno, holders);
	return r;
}

int eph_holders_text(const struct eph_strv *holders, char **ret_text)
{
	size_t bytes = 1;
	char *text;

	if (holders->n == 0) {
		text = strdup("by a user that /proc does not show");
		if (!text)
			return -ENOMEM;
		*ret_text = text;
		return 0;
	}
	for (size_t i = 0; i < holders->n; i++)
		bytes += strlen(holders->v[i]) + 2;
	text = malloc(bytes);
	if (!text)
		return -ENOMEM;
	text[0] = '\0';
	for (size_t i = 0; i < holders->n; i++) {
		if (i > 0)
			strcat(text, ", ");
		strcat(text, holders->v[i]);
	}
	*ret_text = text;
	return 0;
}
