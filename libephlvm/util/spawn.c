// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * spawn.c - run one program to its end, shut off from this process's surroundings.
 * Owns the child from start to reaping, its process group, and the memory of what it wrote. Must
 * not know what the program does, must not log, and must not touch this process's own state:
 * signals, umask, folder, environment and the descriptors of others stay as they are.
 */
#include "util/spawn.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "util/cleanup.h"
#include "util/clock.h"

/* How long a killed process may take to go: it is past helping when it hangs in the kernel. */
#define KILL_WAIT_MS 5000

/* Four times what a pipe holds. */
#define DRAIN_MAX ((size_t)256 << 10)

/* Descriptors of ours that the child's set is made from: above all that it is to have. */
#define FIRST_OWN_FD 16

static const char *const plain_env[] = { "PATH=" EPH_SPAWN_PATH, "LC_ALL=C", "HOME=/", NULL };

struct stream {
	int fd; /* -1 after its end */
	char *data;
	size_t used, size;
	size_t max;
	bool keep_tail; /* past max: drop the oldest, else drop the newest and remember */
	bool overflow;
	int error; /* -ENOMEM: what follows is read and dropped, so that the child does not block */
};

struct child {
	pid_t pid;
	int pidfd;
	struct stream out, err;
	bool exited; /* not yet reaped: until then its process group cannot become another's */
};

static void closep_stream(struct stream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->data);
}

static void child_clear(struct child *c)
{
	closep_stream(&c->out);
	closep_stream(&c->err);
	eph_closep(&c->pidfd);
}

/* A copy of @fd that no dup2() of the child's set-up can hit; closes @fd when @take. */
static int move_up(int fd, bool take)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
	int r = moved < 0 ? -errno : moved;

	if (take)
		close(fd);
	return r;
}

static int make_pipe(int *ret_read, int *ret_write)
{
	_cleanup_close_ int rd = -1, wr = -1;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	rd = move_up(fds[0], true);
	wr = move_up(fds[1], true);
	if (rd < 0 || wr < 0)
		return rd < 0 ? rd : wr;
	/* Only our end: the child's writes are to block, not to fail. */
	if (fcntl(rd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	*ret_read = eph_steal_fd(&rd);
	*ret_write = eph_steal_fd(&wr);
	return 0;
}

/* posix_spawn's calls return a positive errno; the first one that failed stays. */
static void also(int *r, int error)
{
	if (*r == 0)
		*r = -error;
}

static int file_actions(posix_spawn_file_actions_t *fa, int null, int out, int err, int pass)
{
	int r = 0;

	also(&r, posix_spawn_file_actions_addchdir_np(fa, "/"));
	also(&r, posix_spawn_file_actions_adddup2(fa, null, 0));
	also(&r, posix_spawn_file_actions_adddup2(fa, out, 1));
	also(&r, posix_spawn_file_actions_adddup2(fa, err, 2));
	if (pass >= 0)
		also(&r, posix_spawn_file_actions_adddup2(fa, pass, EPH_SPAWN_PASSED_FD));
	also(&r, posix_spawn_file_actions_addclosefrom_np(fa, pass >= 0 ? EPH_SPAWN_PASSED_FD + 1 :
									  EPH_SPAWN_PASSED_FD));
	return r;
}

static int attributes(posix_spawnattr_t *attr)
{
	sigset_t none, all;
	int r = 0;

	sigemptyset(&none);
	sigfillset(&all);
	also(&r, posix_spawnattr_setsigmask(attr, &none));
	also(&r, posix_spawnattr_setsigdefault(attr, &all));
	also(&r, posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
							POSIX_SPAWN_SETSID));
	return r;
}

static int spawn_with(const struct eph_spawn *spec, int null, int out, int err, int pass,
		      pid_t *ret_pid)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	int r;

	r = -posix_spawn_file_actions_init(&fa);
	if (r < 0)
		return r;
	r = -posix_spawnattr_init(&attr);
	if (r < 0)
		goto out_fa;
	r = file_actions(&fa, null, out, err, pass);
	if (r == 0)
		r = attributes(&attr);
	/* posix_spawn shares memory until exec: safe beside threads, cheap in a large process. */
	if (r == 0)
		r = -posix_spawn(ret_pid, spec->argv[0], &fa, &attr, (char *const *)spec->argv,
				 (char *const *)(spec->env ? spec->env : plain_env));
	posix_spawnattr_destroy(&attr);
out_fa:
	posix_spawn_file_actions_destroy(&fa);
	return r;
}

static int start(const struct eph_spawn *spec, struct child *c)
{
	_cleanup_close_ int null = -1, out = -1, err = -1, pass = -1;
	int r;

	r = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (r < 0)
		return -errno;
	null = move_up(r, true);
	if (null < 0)
		return null;
	if (spec->pass_fd) {
		pass = move_up(*spec->pass_fd, false);
		if (pass < 0)
			return pass;
	}
	r = make_pipe(&c->out.fd, &out);
	if (r < 0)
		return r;
	r = make_pipe(&c->err.fd, &err);
	if (r < 0)
		return r;
	r = spawn_with(spec, null, out, err, pass, &c->pid);
	if (r < 0)
		return r;
	c->pidfd = pidfd_open(c->pid, 0);
	if (c->pidfd >= 0)
		return 0;
	/* Nothing that we cannot watch may run on. ESRCH: somebody else reaped it already. */
	r = errno == ESRCH ? -ECHILD : -errno;
	if (r == -ECHILD)
		return r;
	kill(-c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	return r;
}

/* Room for one more read, or room made by dropping; false when there can be none. */
static bool make_room(struct stream *s)
{
	size_t size;
	char *grown;

	if (s->used < s->size)
		return true;
	if (s->size < s->max) {
		size = s->size ? s->size * 2 : 4096;
		if (size > s->max)
			size = s->max;
		grown = reallocarray(s->data, size + 1, 1);
		if (!grown) {
			s->error = -ENOMEM;
			return false;
		}
		s->data = grown;
		s->size = size;
		return true;
	}
	if (!s->keep_tail)
		return false;
	/* Half at a time, so that a long talker costs one move of memory per half. */
	s->used = s->size / 2;
	memmove(s->data, s->data + s->size - s->used, s->used);
	return true;
}

/* Read what is there now: more than a pipe holds, yet not for ever from one that never stops talking. */
static void drain(struct stream *s)
{
	char dropped[4096];
	size_t got = 0;

	while (s->fd >= 0 && got < DRAIN_MAX) {
		bool room = !s->error && !s->overflow && make_room(s);
		ssize_t n = room ? read(s->fd, s->data + s->used, s->size - s->used) :
				   read(s->fd, dropped, sizeof(dropped));

		if (n > 0) {
			s->used += room ? (size_t)n : 0;
			s->overflow = s->overflow || !room;
			got += (size_t)n;
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		close(s->fd);
		s->fd = -1;
	}
}

/* Wait until the child has exited, draining; @deadline_ms of eph_now_ms(), negative for none. */
static void watch(struct child *c, int64_t deadline_ms)
{
	while (!c->exited) {
		struct pollfd fds[] = {
			{ .fd = c->pidfd, .events = POLLIN },
			{ .fd = c->out.fd, .events = POLLIN },
			{ .fd = c->err.fd, .events = POLLIN },
		};
		int64_t left = deadline_ms < 0 ? -1 : deadline_ms - eph_now_ms();

		if (deadline_ms >= 0 && left <= 0)
			return;
		if (left > INT_MAX)
			left = INT_MAX;
		if (poll(fds, 3, (int)left) <= 0)
			continue;
		if (fds[1].revents)
			drain(&c->out);
		if (fds[2].revents)
			drain(&c->err);
		c->exited = fds[0].revents != 0;
	}
	/*
	 * All that the child itself wrote is in the pipes now. Somebody it left behind (dmeventd) may
	 * hold them open for ever: that end is not waited for.
	 */
	drain(&c->out);
	drain(&c->err);
}

static int64_t after(unsigned int ms)
{
	return eph_now_ms() + (int64_t)ms;
}

/* To its end, or past the deadline to the end of its whole group. */
static void see_through(struct child *c, const struct eph_spawn *spec, bool *ret_timed_out)
{
	watch(c, spec->timeout_ms ? after(spec->timeout_ms) : -1);
	*ret_timed_out = !c->exited;
	if (c->exited)
		return;
	kill(-c->pid, SIGTERM);
	watch(c, after(spec->grace_ms));
	/* Also when it is gone: not yet reaped, so its group is still its own, and others may live. */
	kill(-c->pid, SIGKILL);
	watch(c, after(KILL_WAIT_MS));
}

static int reap(struct child *c, int *ret_status)
{
	int status;
	pid_t r;

	do
		r = waitpid(c->pid, &status, 0);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	*ret_status = WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
	return 0;
}

static int take_text(struct stream *s, char **ret_text)
{
	if (s->error)
		return s->error;
	if (s->overflow)
		return -EMSGSIZE;
	if (!s->data) {
		s->data = malloc(1);
		if (!s->data)
			return -ENOMEM;
	}
	s->data[s->used] = '\0';
	*ret_text = eph_steal(s->data);
	return 0;
}

static int take_result(struct child *c, struct eph_spawn_result *result)
{
	int r;

	result->out_bytes = c->out.used;
	r = take_text(&c->out, &result->out);
	if (r < 0)
		return r;
	r = take_text(&c->err, &result->err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < c->err.used; i++)
		if (result->err[i] == '\0')
			result->err[i] = ' ';
	return 0;
}

int eph_spawn_run(const struct eph_spawn *spec, struct eph_spawn_result *ret)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };
	__attribute__((cleanup(child_clear))) struct child c = {
		.pidfd = -1,
		.out = { .fd = -1, .max = spec->out_max ? spec->out_max : EPH_SPAWN_OUT_MAX },
		.err = { .fd = -1, .max = EPH_SPAWN_ERR_KEPT, .keep_tail = true },
	};
	int r;

	r = start(spec, &c);
	if (r < 0)
		return r;
	see_through(&c, spec, &result.timed_out);
	if (c.exited) {
		r = reap(&c, &result.status);
		if (r < 0)
			return r;
	} else {
		result.status = 256 + SIGKILL;
		result.stuck = true;
	}
	r = take_result(&c, &result);
	if (r < 0)
		return r;
	*ret = result;
	memset(&result, 0, sizeof(result));
	return 0;
}

void eph_spawn_result_clear(struct eph_spawn_result *result)
{
	free(result->out);
	free(result->err);
	memset(result, 0, sizeof(*result));
}

int eph_spawn_find(const char *name, char **ret_path)
{
	const char *dir = EPH_SPAWN_PATH;

	while (*dir) {
		_cleanup_free_ char *path = NULL;
		size_t len = strcspn(dir, ":");
		struct stat st;

		if (asprintf(&path, "%.*s/%s", (int)len, dir, name) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0) {
			*ret_path = eph_steal(path);
			return 0;
		}
		dir += len + (dir[len] == ':');
	}
	return -ENOENT;
}
