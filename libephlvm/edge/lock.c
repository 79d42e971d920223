// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * lock.c - our own locks: flock on one file per instance, volume or pool in /run/ephlvm.
 * Owns the folder and the files in it. The lock is the flock, not the file: files come and go, so
 * after each flock the inode is compared with what the name shows. Who waits stands in a queue, so that
 * nobody is passed by until its deadline is over. Must not lock anything of LVM's.
 */
#include "edge/lock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "edge/state.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/text.h"

#define ID_MAX 128
#define NAME_SIZE (ID_MAX + 16)
#define FIRST_WAIT_MS 1
#define LONGEST_WAIT_MS 10

struct eph_lock {
	int dir_fd, fd;
	char name[NAME_SIZE];
	int how; /* LOCK_EX or LOCK_SH */
	bool stays; /* its file is not removed: others may share it */
	int64_t came; /* place in the queue: when it was asked for, in ns. 0: does not queue */
};

static const char *lock_dir(void)
{
#ifdef EPH_TEST_STOPS
	const char *dir = getenv("EPHLVM_LOCK_DIR");

	if (dir)
		return dir;
#endif
	return EPH_LOCK_DIR;
}

static const char *kind_word(enum eph_lock_kind kind)
{
	switch (kind) {
	case EPH_LOCK_INSTANCE:
		return "instance";
	case EPH_LOCK_VOLUME:
		return "volume";
	case EPH_LOCK_DRIVE:
		return "drive";
	case EPH_LOCK_POOL:
		return "pool";
	case EPH_LOCK_PROOF:
		return "proof";
	}
	return NULL;
}

/* UUIDs, LVM's UUIDs and VG names: no separator, so that "kind-id" is always one plain name. */
static int lock_name(struct ephlvm_ctx *ctx, enum eph_lock_kind kind, const char *id,
		     char name[NAME_SIZE])
{
	const char *word = kind_word(kind);
	size_t len = id ? strlen(id) : 0;

	if (!word || len == 0 || len > ID_MAX ||
	    strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+.-") != len)
		return eph_fail(ctx, EPHLVM_ERROR_INVALID, EINVAL, id, NULL,
				"\"%s\" cannot name a lock", id ? id : "");
	snprintf(name, NAME_SIZE, "%s-%s", word, id);
	return 0;
}

static int lock_fail(struct ephlvm_ctx *ctx, const char *path, int errnum, const char *doing)
{
	return eph_fail_access(ctx, errnum, path, NULL, "\"%s\" for locks cannot be %s: %s", path,
			       doing, strerror(errnum));
}

/*
 * The process that holds the flock of this inode, from a line of /proc/locks such as
 * "1: FLOCK  ADVISORY  WRITE 1234 00:18:5678 0 EOF". Waiters ("->") do not match.
 */
static bool line_names_holder(const char *line, const struct stat *st, long *ret_pid)
{
	unsigned int maj, min;
	uint64_t ino;
	long pid;

	if (sscanf(line, "%*d: FLOCK ADVISORY WRITE %ld %x:%x:%" SCNu64 " ", &pid, &maj, &min,
		   &ino) != 4)
		return false;
	if (ino != st->st_ino || maj != major(st->st_dev) || min != minor(st->st_dev) || pid <= 0)
		return false;
	*ret_pid = pid;
	return true;
}

static void holder_text(int fd, char *text, size_t text_bytes)
{
	_cleanup_fclose_ FILE *locks = NULL, *comm = NULL;
	char line[256], path[64], name[64] = "";
	bool found = false;
	struct stat st;
	long pid = 0;

	snprintf(text, text_bytes, "another process");
	locks = fopen("/proc/locks", "re");
	if (!locks || fstat(fd, &st) < 0)
		return;
	while (!found && fgets(line, sizeof(line), locks))
		found = line_names_holder(line, &st, &pid);
	if (!found)
		return;
	snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	comm = fopen(path, "re");
	if (comm && fgets(name, sizeof(name), comm))
		name[strcspn(name, "\n")] = '\0';
	snprintf(text, text_bytes, "process %ld%s%s%s", pid, *name ? " (" : "", name,
		 *name ? ")" : "");
}

static int busy(struct ephlvm_ctx *ctx, const struct eph_lock *lock, const char *id)
{
	char holder[128];

	holder_text(lock->fd, holder, sizeof(holder));
	return eph_fail(ctx, EPHLVM_ERROR_BUSY, ETIMEDOUT, id,
			"wait until it has ended, then try again", "%.*s \"%s\" is locked by %s",
			(int)strcspn(lock->name, "-"), lock->name, id, holder);
}

static int open_file(struct ephlvm_ctx *ctx, struct eph_lock *lock)
{
	struct stat st;

	/* O_NONBLOCK: should a fifo have been planted, opening it must not hang. */
	lock->fd = openat(lock->dir_fd, lock->name,
			  O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	if (lock->fd < 0 && errno == ELOOP)
		return eph_fail(ctx, EPHLVM_ERROR_PERMISSION, EPERM, lock->name, "remove the link",
				"lock file \"%s\" is a link", lock->name);
	if (lock->fd < 0)
		return lock_fail(ctx, lock->name, errno, "opened");
	if (fstat(lock->fd, &st) < 0)
		return lock_fail(ctx, lock->name, errno, "looked at");
	if (!S_ISREG(st.st_mode))
		return eph_fail(ctx, EPHLVM_ERROR_PERMISSION, EPERM, lock->name, "remove it",
				"lock file \"%s\" is not a plain file", lock->name);
	return 0;
}

/* Does the name still show the file that is open? */
static bool same_file(const struct eph_lock *lock)
{
	struct stat open_st, name_st;

	if (fstat(lock->fd, &open_st) < 0 ||
	    fstatat(lock->dir_fd, lock->name, &name_st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	return open_st.st_dev == name_st.st_dev && open_st.st_ino == name_st.st_ino;
}

/* --- the queue --- */

/*
 * Who waits locks one byte of the file, at the offset of the moment it came: those before it have lower ones, and
 * none is left where a waiter dies. It keeps the order and nothing else: the flock decides.
 */
static struct flock places(const struct eph_lock *lock, int64_t from, int64_t n)
{
	return (struct flock){
		.l_type = lock->how == LOCK_EX ? F_WRLCK : F_RDLCK,
		.l_whence = SEEK_SET,
		.l_start = from,
		.l_len = n,
	};
}

/* One that finds no place only waits without one. */
static void queue_up(const struct eph_lock *lock)
{
	struct flock place = places(lock, lock->came, 1);

	if (lock->came > 0)
		(void)fcntl(lock->fd, F_OFD_SETLK, &place);
}

static void leave_queue(const struct eph_lock *lock)
{
	struct flock place = places(lock, lock->came, 1);

	place.l_type = F_UNLCK;
	if (lock->came > 0)
		(void)fcntl(lock->fd, F_OFD_SETLK, &place);
}

/* Nobody came before that it cannot share with. */
static bool is_first(const struct eph_lock *lock)
{
	struct flock before = places(lock, 0, lock->came);

	return lock->came == 0 || fcntl(lock->fd, F_OFD_GETLK, &before) < 0 ||
	       before.l_type == F_UNLCK;
}

static bool others_wait(const struct eph_lock *lock)
{
	struct flock all = places(lock, 0, 0);

	return fcntl(lock->fd, F_OFD_GETLK, &all) == 0 && all.l_type != F_UNLCK;
}

/* --- waiting --- */

/* 0; -EWOULDBLOCK without a record: held, or others are first; the file stays open to look at. */
static int try_once(struct ephlvm_ctx *ctx, struct eph_lock *lock)
{
	int r;

	for (;;) {
		/* Its holder may have removed it meanwhile: then the new one, in the same place. */
		if (lock->fd < 0 || !same_file(lock)) {
			eph_closep(&lock->fd);
			r = open_file(ctx, lock);
			if (r < 0)
				return r;
			queue_up(lock);
		}
		if (!is_first(lock))
			return -EWOULDBLOCK;
		do
			r = flock(lock->fd, lock->how | LOCK_NB);
		while (r < 0 && errno == EINTR);
		if (r < 0 && errno == EWOULDBLOCK)
			return -EWOULDBLOCK;
		if (r < 0)
			return lock_fail(ctx, lock->name, errno, "locked");
		if (same_file(lock))
			break;
	}
	leave_queue(lock);
	return 0;
}

static void lock_free(struct eph_lock *lock)
{
	eph_closep(&lock->fd);
	eph_closep(&lock->dir_fd);
	free(lock);
}

static void lock_freep(struct eph_lock **lock)
{
	if (*lock)
		lock_free(*lock);
}

static int wait_for(struct ephlvm_ctx *ctx, struct eph_lock *lock, const char *id,
		    unsigned int timeout_ms)
{
	int64_t deadline = eph_now_ms() + timeout_ms, wait = FIRST_WAIT_MS, left;
	int r;

	if (timeout_ms > 0)
		lock->came = eph_now_ns();
	for (;;) {
		r = try_once(ctx, lock);
		if (r != -EWOULDBLOCK)
			return r;
		left = deadline - eph_now_ms();
		if (left <= 0)
			return busy(ctx, lock, id);
		r = eph_cancelled(ctx);
		if (r < 0)
			return r;
		eph_sleep_ms(wait < left ? wait : left);
		wait = wait * 2 < LONGEST_WAIT_MS ? wait * 2 : LONGEST_WAIT_MS;
	}
}

static struct eph_lock *lock_new(void)
{
	struct eph_lock *lock = calloc(1, sizeof(*lock));

	if (!lock)
		return NULL;
	lock->dir_fd = lock->fd = -1;
	lock->how = LOCK_EX;
	return lock;
}

int eph_lock_take_turn(struct ephlvm_ctx *ctx, bool change, unsigned int timeout_ms,
		       struct eph_lock **ret_lock)
{
	__attribute__((cleanup(lock_freep))) struct eph_lock *lock = lock_new();
	int r;

	if (!lock)
		return eph_fail_oom(ctx);
	snprintf(lock->name, sizeof(lock->name), "lvm");
	lock->how = change ? LOCK_EX : LOCK_SH;
	lock->stays = true;
	r = eph_folder_open(ctx, lock_dir(), "locks", &lock->dir_fd);
	if (r == 0)
		r = wait_for(ctx, lock, "lvm", timeout_ms);
	if (r < 0)
		return r;
	*ret_lock = eph_steal(lock);
	return 0;
}

int eph_lock_take(struct ephlvm_ctx *ctx, enum eph_lock_kind kind, const char *id,
		  unsigned int timeout_ms, struct eph_lock **ret_lock)
{
	__attribute__((cleanup(lock_freep))) struct eph_lock *lock = lock_new();
	int r;

	if (!lock)
		return eph_fail_oom(ctx);
	r = lock_name(ctx, kind, id, lock->name);
	if (r < 0)
		return r;
	r = eph_folder_open(ctx, lock_dir(), "locks", &lock->dir_fd);
	if (r < 0)
		return r;
	r = wait_for(ctx, lock, id, timeout_ms);
	if (r < 0)
		return r;
	*ret_lock = eph_steal(lock);
	return 0;
}

void eph_lock_release(struct eph_lock *lock)
{
	if (!lock)
		return;
	/*
	 * Only our own file: a name that shows another one is somebody else's lock by now. Those who wait keep it,
	 * and the last of them removes it.
	 */
	if (!lock->stays && !others_wait(lock) && same_file(lock))
		unlinkat(lock->dir_fd, lock->name, 0);
	/* Said, not left to the close: a child between fork and exec has the descriptor too. */
	(void)flock(lock->fd, LOCK_UN);
	lock_free(lock);
}
