// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Locks: two processes on one name, deadlines that name the holder, a holder that is killed, files
 * and folders that somebody else prepared, and children that must not keep a lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/context.h"
#include "edge/lock.h"
#include "util/spawn.h"

#define ID "11111111-2222-3333-4444-555555555555"
#define FILE_NAME "instance-" ID
#define LONG_MS 20000

struct place {
	char root[64];
	char dir[80]; /* the lock folder, not yet made */
	struct ephlvm_ctx *ctx;
};

static int setup(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	assert_non_null(p);
	snprintf(p->root, sizeof(p->root), "/tmp/ephlvm-lock.XXXXXX");
	assert_non_null(mkdtemp(p->root));
	snprintf(p->dir, sizeof(p->dir), "%s/locks", p->root);
	setenv("EPHLVM_LOCK_DIR", p->dir, 1);
	assert_int_equal(ephlvm_ctx_new(&p->ctx), 0);
	*state = p;
	return 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	char command[160];

	ephlvm_ctx_unref(p->ctx);
	snprintf(command, sizeof(command), "rm -rf %s", p->root);
	assert_int_equal(system(command), 0);
	free(p);
	return 0;
}

/* A path in the lock folder; valid until the call after the next. */
static const char *in_dir(const struct place *p, const char *name)
{
	static char paths[2][256];
	static unsigned int turn;
	char *path = paths[turn++ % 2];

	snprintf(path, sizeof(paths[0]), "%s/%s", p->dir, name);
	return path;
}

static int take(struct place *p, unsigned int timeout_ms, struct eph_lock **lock)
{
	eph_enter(p->ctx);
	return eph_lock_take(p->ctx, EPH_LOCK_INSTANCE, ID, timeout_ms, lock);
}

/*
 * A process that takes the lock, says so, and holds it until it is told to release or killed.
 * Returns its pid; a byte written to @ret_go releases.
 */
static pid_t start_holder(struct place *p, int *ret_go)
{
	int ready[2], go[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct eph_lock *lock;

		close(go[1]);
		if (take(p, LONG_MS, &lock) < 0 || write(ready[1], "r", 1) != 1)
			_exit(1);
		if (read(go[0], &c, 1) != 1)
			_exit(2);
		eph_lock_release(lock);
		_exit(0);
	}
	close(ready[1]);
	close(go[0]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	*ret_go = go[1];
	return pid;
}

static int wait_status(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void take_makes_a_private_folder_and_leaves_nothing(void **state)
{
	struct place *p = *state;
	struct eph_lock *lock;
	struct stat st;

	assert_int_equal(take(p, 0, &lock), 0);
	assert_int_equal(stat(p->dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(in_dir(p, FILE_NAME), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	eph_lock_release(lock);
	assert_int_equal(access(in_dir(p, FILE_NAME), F_OK), -1);
	assert_int_equal(take(p, 0, &lock), 0);
	eph_lock_release(lock);
	eph_lock_release(NULL);
}

static void second_process_waits_and_then_has_it(void **state)
{
	struct place *p = *state;
	struct eph_lock *lock = NULL;
	int go, status;
	pid_t pid = start_holder(p, &go), waiter;

	waiter = fork();
	assert_true(waiter >= 0);
	if (waiter == 0)
		_exit(take(p, LONG_MS, &lock) == 0 ? 0 : 1);
	assert_int_equal(waitpid(waiter, &status, WNOHANG), 0);
	assert_int_equal(write(go, "g", 1), 1);
	assert_int_equal(wait_status(pid), 0);
	assert_int_equal(wait_status(waiter), 0);
	close(go);
}

static void deadline_names_the_holder(void **state)
{
	struct place *p = *state;
	struct eph_lock *lock = NULL;
	char who[64];
	int go;
	pid_t pid = start_holder(p, &go);

	for (unsigned int timeout_ms = 0; timeout_ms <= 30; timeout_ms += 30) {
		assert_int_equal(take(p, timeout_ms, &lock), -ETIMEDOUT);
		assert_null(lock);
		assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_BUSY);
		snprintf(who, sizeof(who), "process %d (%.15s)", (int)pid,
			 program_invocation_short_name);
		assert_non_null(strstr(ephlvm_error_message(p->ctx), who));
		assert_non_null(strstr(ephlvm_error_message(p->ctx), "instance \"" ID "\""));
	}
	kill(pid, SIGKILL);
	wait_status(pid);
	close(go);
}

static void killed_holder_frees_it(void **state)
{
	struct place *p = *state;
	struct eph_lock *lock;
	int go;
	pid_t pid = start_holder(p, &go);

	kill(pid, SIGKILL);
	wait_status(pid);
	/* Its file is still there, and no obstacle. */
	assert_int_equal(access(in_dir(p, FILE_NAME), F_OK), 0);
	assert_int_equal(take(p, 0, &lock), 0);
	eph_lock_release(lock);
	close(go);
}

static void one_process_excludes_itself(void **state)
{
	struct place *p = *state;
	struct eph_lock *lock, *second = NULL, *volume;

	assert_int_equal(take(p, 0, &lock), 0);
	assert_int_equal(take(p, 0, &second), -ETIMEDOUT);
	/* Another kind with the same id is another lock. */
	assert_int_equal(eph_lock_take(p->ctx, EPH_LOCK_VOLUME, ID, 0, &volume), 0);
	eph_lock_release(volume);
	eph_lock_release(lock);
}

/*
 * The file is removed under a holder and made anew by the next one: the first one's release must
 * leave the second one's file alone, or a third could enter beside the second.
 */
static void release_leaves_a_strangers_file(void **state)
{
	struct place *p = *state;
	struct eph_lock *first, *second, *third = NULL;

	assert_int_equal(take(p, 0, &first), 0);
	assert_int_equal(unlink(in_dir(p, FILE_NAME)), 0);
	assert_int_equal(take(p, 0, &second), 0);
	eph_lock_release(first);
	assert_int_equal(take(p, 0, &third), -ETIMEDOUT);
	eph_lock_release(second);
}

/*
 * Many processes take and release at once without a pause, each removing the file: a counter that
 * is read, then written, shows any two that were inside together.
 */
static void many_never_meet(void **state)
{
	enum { PROCESSES = 4, ROUNDS = 150 };
	struct place *p = *state;
	pid_t pids[PROCESSES];
	char path[128], text[16] = "0";
	int fd;

	snprintf(path, sizeof(path), "%s/counter", p->root);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, text, sizeof(text), 0), sizeof(text));
	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] > 0)
			continue;
		for (int round = 0; round < ROUNDS; round++) {
			struct eph_lock *lock;
			int n, r;

			do
				r = take(p, 0, &lock);
			while (r == -ETIMEDOUT);
			if (r < 0 || pread(fd, text, sizeof(text), 0) < 0)
				_exit(1);
			n = atoi(text);
			sched_yield();
			snprintf(text, sizeof(text), "%d", n + 1);
			if (pwrite(fd, text, sizeof(text), 0) < 0)
				_exit(1);
			eph_lock_release(lock);
		}
		_exit(0);
	}
	for (int i = 0; i < PROCESSES; i++)
		assert_int_equal(wait_status(pids[i]), 0);
	assert_int_equal(pread(fd, text, sizeof(text), 0), sizeof(text));
	assert_int_equal(atoi(text), PROCESSES * ROUNDS);
	close(fd);
}

static void planted_link_is_refused(void **state)
{
	struct place *p = *state;
	struct eph_lock *lock = NULL;
	char victim[128];

	snprintf(victim, sizeof(victim), "%s/victim", p->root);
	assert_int_equal(mkdir(p->dir, 0700), 0);
	assert_int_equal(symlink(victim, in_dir(p, FILE_NAME)), 0);
	assert_int_equal(take(p, 0, &lock), -EPERM);
	assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_PERMISSION);
	assert_int_equal(access(victim, F_OK), -1);
}

static void planted_fifo_is_refused(void **state)
{
	struct place *p = *state;
	struct eph_lock *lock = NULL;

	assert_int_equal(mkdir(p->dir, 0700), 0);
	assert_int_equal(mkfifo(in_dir(p, FILE_NAME), 0600), 0);
	assert_int_equal(take(p, 0, &lock), -EPERM);
}

/* Readers go together, a change alone; the file stays, because others may share it. */
static void turns_are_shared_by_readers_only(void **state)
{
	struct place *p = *state;
	struct eph_lock *a = NULL, *b = NULL, *c = NULL;

	assert_int_equal(eph_lock_take_turn(p->ctx, false, 0, &a), 0);
	assert_int_equal(eph_lock_take_turn(p->ctx, false, 0, &b), 0);
	assert_int_equal(eph_lock_take_turn(p->ctx, true, 20, &c), -ETIMEDOUT);
	assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_BUSY);
	eph_error_clear(&p->ctx->error);
	eph_lock_release(a);
	assert_int_equal(eph_lock_take_turn(p->ctx, true, 20, &c), -ETIMEDOUT);
	eph_error_clear(&p->ctx->error);
	eph_lock_release(b);
	assert_int_equal(eph_lock_take_turn(p->ctx, true, 0, &c), 0);
	assert_int_equal(eph_lock_take_turn(p->ctx, false, 0, &a), -ETIMEDOUT);
	eph_error_clear(&p->ctx->error);
	eph_lock_release(c);
	assert_int_equal(access(in_dir(p, "lvm"), F_OK), 0);
}

#define WAITERS 6

/* How many places of queues there are in the file of that name. */
static unsigned int queued(const struct place *p, const char *name)
{
	unsigned long long ino;
	unsigned int n = 0;
	char line[256];
	struct stat st;
	FILE *locks;

	if (stat(in_dir(p, name), &st) < 0)
		return 0;
	locks = fopen("/proc/locks", "re");
	assert_non_null(locks);
	while (fgets(line, sizeof(line), locks))
		n += sscanf(line, "%*d: OFDLCK ADVISORY %*s %*d %*x:%*x:%llu", &ino) == 1 &&
		     ino == st.st_ino;
	fclose(locks);
	return n;
}

static void wait_for_queue(const struct place *p, const char *name, unsigned int n)
{
	for (unsigned int ms = 0; queued(p, name) != n; ms++) {
		if (ms > LONG_MS)
			fail_msg("%u wait, not %u", queued(p, name), n);
		usleep(1000);
	}
}

/* A process that asks for a turn or the lock, writes @word to @fd when it has it, and lets go. */
static pid_t start_waiter(struct place *p, char word, int fd)
{
	struct eph_lock *lock;
	pid_t pid = fork();
	int r;

	assert_true(pid >= 0);
	if (pid > 0)
		return pid;
	if (word == 'R' || word == 'W')
		r = eph_lock_take_turn(p->ctx, word == 'W', LONG_MS, &lock);
	else
		r = take(p, LONG_MS, &lock);
	if (r < 0 || write(fd, &word, 1) != 1)
		_exit(1);
	eph_lock_release(lock);
	_exit(0);
}

/* The waiters had it in this order, one letter each, and ended well. */
static void they_had_it(int fd, const char *order, const pid_t *pids)
{
	char got[WAITERS + 1] = "";

	for (size_t i = 0; i < strlen(order); i++)
		assert_int_equal(read(fd, &got[i], 1), 1);
	assert_string_equal(got, order);
	for (size_t i = 0; i < strlen(order); i++)
		assert_int_equal(wait_status(pids[i]), 0);
}

static void who_came_first_has_it_first(void **state)
{
	struct place *p = *state;
	struct eph_lock *lock;
	pid_t pids[WAITERS];
	int out[2];

	assert_int_equal(pipe(out), 0);
	for (unsigned int round = 0; round < 4; round++) {
		assert_int_equal(take(p, LONG_MS, &lock), 0);
		for (unsigned int i = 0; i < WAITERS; i++) {
			pids[i] = start_waiter(p, (char)('a' + i), out[1]);
			wait_for_queue(p, FILE_NAME, i + 1);
		}
		eph_lock_release(lock);
		they_had_it(out[0], "abcdef", pids);
		assert_int_equal(access(in_dir(p, FILE_NAME), F_OK), -1);
	}
	close(out[0]);
	close(out[1]);
}

/* The file may go while they wait, as by hand: their places do not. */
static void the_order_outlives_the_file(void **state)
{
	struct place *p = *state;
	struct eph_lock *lock, *other;
	pid_t pids[3];
	int out[2];

	assert_int_equal(pipe(out), 0);
	assert_int_equal(take(p, 0, &lock), 0);
	for (unsigned int i = 0; i < 3; i++) {
		pids[i] = start_waiter(p, (char)('a' + i), out[1]);
		wait_for_queue(p, FILE_NAME, i + 1);
	}
	for (unsigned int i = 0; i < 3; i++) {
		int status;

		assert_int_equal(kill(pids[i], SIGSTOP), 0);
		assert_int_equal(waitpid(pids[i], &status, WUNTRACED), pids[i]);
		assert_true(WIFSTOPPED(status));
	}
	assert_int_equal(unlink(in_dir(p, FILE_NAME)), 0);
	assert_int_equal(take(p, 0, &other), 0);
	for (unsigned int i = 3; i-- > 0;) {
		assert_int_equal(kill(pids[i], SIGCONT), 0);
		wait_for_queue(p, FILE_NAME, 3 - i);
	}
	eph_lock_release(lock);
	eph_lock_release(other);
	they_had_it(out[0], "abc", pids);
	close(out[0]);
	close(out[1]);
}

/* Readers that come and go keep no change waiting: those behind it in the queue wait for it. */
static void readers_do_not_pass_a_change(void **state)
{
	struct place *p = *state;
	struct eph_lock *reader;
	pid_t pids[3];
	int out[2];

	assert_int_equal(pipe(out), 0);
	assert_int_equal(eph_lock_take_turn(p->ctx, false, LONG_MS, &reader), 0);
	for (unsigned int i = 0; i < 3; i++) {
		pids[i] = start_waiter(p, "WRR"[i], out[1]);
		wait_for_queue(p, "lvm", i + 1);
	}
	eph_lock_release(reader);
	they_had_it(out[0], "WRR", pids);
	close(out[0]);
	close(out[1]);
}

static void killed_waiter_keeps_nobody_waiting(void **state)
{
	struct place *p = *state;
	struct eph_lock *lock;
	pid_t killed, next;
	char got = 0;
	int out[2];

	assert_int_equal(pipe(out), 0);
	assert_int_equal(take(p, 0, &lock), 0);
	killed = start_waiter(p, 'k', out[1]);
	wait_for_queue(p, FILE_NAME, 1);
	next = start_waiter(p, 'n', out[1]);
	wait_for_queue(p, FILE_NAME, 2);
	assert_int_equal(kill(killed, SIGKILL), 0);
	assert_true(WIFSIGNALED(wait_status(killed)));
	assert_int_equal(queued(p, FILE_NAME), 1);
	eph_lock_release(lock);
	assert_int_equal(read(out[0], &got, 1), 1);
	assert_int_equal(got, 'n');
	assert_int_equal(wait_status(next), 0);
	close(out[0]);
	close(out[1]);
}

static void folder_of_others_is_refused(void **state)
{
	struct place *p = *state;
	struct eph_lock *lock = NULL;

	assert_int_equal(mkdir(p->dir, 0700), 0);
	assert_int_equal(chmod(p->dir, 0770), 0);
	assert_int_equal(take(p, 0, &lock), -EPERM);
	assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_PERMISSION);
	assert_non_null(strstr(ephlvm_error_message(p->ctx), "0770"));
	assert_int_equal(chmod(p->dir, 01777), 0);
	assert_int_equal(take(p, 0, &lock), -EPERM);
	/* Readable by others does no harm. */
	assert_int_equal(chmod(p->dir, 0755), 0);
	assert_int_equal(take(p, 0, &lock), 0);
	eph_lock_release(lock);
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(p->dir, 65534, 65534), 0);
	assert_int_equal(take(p, 0, &lock), -EPERM);
	assert_non_null(strstr(ephlvm_error_message(p->ctx), "owner 65534"));
}

static void folder_that_is_a_link_is_refused(void **state)
{
	struct place *p = *state;
	struct eph_lock *lock = NULL;
	char real[128];

	snprintf(real, sizeof(real), "%s/real", p->root);
	assert_int_equal(mkdir(real, 0700), 0);
	assert_int_equal(symlink(real, p->dir), 0);
	assert_int_equal(take(p, 0, &lock), -EPERM);
	assert_int_equal(unlink(p->dir), 0);
	assert_int_equal(mkfifo(p->dir, 0600), 0);
	assert_int_equal(take(p, 0, &lock), -EPERM);
}

static void odd_ids_are_refused(void **state)
{
	struct place *p = *state;
	struct eph_lock *lock = NULL;
	char longest[160];
	const char *bad[] = { "", "a/b", "../x", "a b", "a\n", "\xc3\xa9", NULL };

	for (size_t i = 0; bad[i]; i++) {
		eph_enter(p->ctx);
		assert_int_equal(eph_lock_take(p->ctx, EPH_LOCK_POOL, bad[i], 0, &lock), -EINVAL);
	}
	assert_int_equal(eph_lock_take(p->ctx, EPH_LOCK_POOL, NULL, 0, &lock), -EINVAL);
	memset(longest, 'v', sizeof(longest));
	longest[129] = '\0';
	assert_int_equal(eph_lock_take(p->ctx, EPH_LOCK_POOL, longest, 0, &lock), -EINVAL);
	longest[128] = '\0';
	assert_int_equal(eph_lock_take(p->ctx, EPH_LOCK_POOL, longest, 0, &lock), 0);
	eph_lock_release(lock);
	/* LVM allows these as names of a VG. */
	assert_int_equal(eph_lock_take(p->ctx, EPH_LOCK_POOL, "vg.a+b_c-d", 0, &lock), 0);
	eph_lock_release(lock);
}

/* A program started while the lock is held, and still running after the release, holds nothing. */
static void program_does_not_inherit(void **state)
{
	struct place *p = *state;
	struct eph_lock *lock, *again;
	int hold[2], up[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe2(hold, O_CLOEXEC), 0);
	assert_int_equal(pipe2(up, O_CLOEXEC), 0);
	assert_int_equal(take(p, 0, &lock), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(hold[0], 0);
		dup2(up[1], 1);
		execl("/bin/sh", "sh", "-c", "echo up; read line", (char *)NULL);
		_exit(127);
	}
	close(up[1]);
	assert_int_equal(read(up[0], &c, 1), 1);
	/* The descriptor alone, as a crash would: no unlink that would hide who holds the flock. */
	assert_int_equal(link(in_dir(p, FILE_NAME), in_dir(p, "kept")), 0);
	eph_lock_release(lock);
	assert_int_equal(rename(in_dir(p, "kept"), in_dir(p, FILE_NAME)), 0);
	assert_int_equal(take(p, 0, &again), 0);
	eph_lock_release(again);
	close(hold[1]);
	wait_status(pid);
	close(hold[0]);
	close(up[0]);
}

static bool stop_at_once(void *data)
{
	++*(int *)data;
	return true;
}

static void waiting_can_be_cancelled(void **state)
{
	struct place *p = *state;
	struct eph_lock *lock = NULL;
	int go, asked = 0;
	pid_t pid = start_holder(p, &go);

	ephlvm_ctx_set_cancel(p->ctx, stop_at_once, &asked);
	assert_int_equal(take(p, LONG_MS, &lock), -ECANCELED);
	assert_int_equal(asked, 1);
	assert_int_equal(ephlvm_error_kind(p->ctx), EPHLVM_ERROR_CANCELLED);
	ephlvm_ctx_set_cancel(p->ctx, NULL, NULL);
	kill(pid, SIGKILL);
	wait_status(pid);
	close(go);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(take_makes_a_private_folder_and_leaves_nothing),
		T(second_process_waits_and_then_has_it),
		T(deadline_names_the_holder),
		T(killed_holder_frees_it),
		T(one_process_excludes_itself),
		T(release_leaves_a_strangers_file),
		T(many_never_meet),
		T(planted_link_is_refused),
		T(planted_fifo_is_refused),
		T(folder_of_others_is_refused),
		T(turns_are_shared_by_readers_only),
		T(who_came_first_has_it_first),
		T(the_order_outlives_the_file),
		T(readers_do_not_pass_a_change),
		T(killed_waiter_keeps_nobody_waiting),
		T(folder_that_is_a_link_is_refused),
		T(odd_ids_are_refused),
		T(program_does_not_inherit),
		T(waiting_can_be_cancelled),
	};

	return cmocka_run_group_tests_name("lock", tests, NULL, NULL);
}
