// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The runner of programs: what a child gets from us, what we get from it, and that it is gone afterwards,
 * whatever it did and whatever the caller's own state was.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "failing_alloc.h"
#include "util/cleanup.h"
#include "util/spawn.h"

#define LONG_MS 60000

static int sh(const char *script, const struct eph_spawn *how, struct eph_spawn_result *ret)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	struct eph_spawn spec = *how;

	spec.argv = argv;
	return eph_spawn_run(&spec, ret);
}

static void run_sh(const char *script, struct eph_spawn_result *ret)
{
	const struct eph_spawn how = { .timeout_ms = LONG_MS, .grace_ms = 1000 };

	assert_int_equal(sh(script, &how, ret), 0);
	assert_false(ret->timed_out);
	assert_false(ret->stuck);
}

static unsigned int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void assert_no_children(void)
{
	errno = 0;
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* Gone, or a zombie that whoever adopted it has not reaped yet. */
static bool is_dead(pid_t pid)
{
	char path[64], line[256] = "", *state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	state = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	return !state || state[2] == 'Z' || state[2] == 'X';
}

static bool dies(pid_t pid)
{
	const struct timespec tick = { .tv_nsec = 10000000 };

	for (int i = 0; i < 1000; i++) {
		if (is_dead(pid))
			return true;
		nanosleep(&tick, NULL);
	}
	return false;
}

/* Run @fn in a process of its own, whose state it may spoil. It returns 0 for success. */
static void in_a_process(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(fn());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void gives_streams_and_status(void **state)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };

	(void)state;
	run_sh("echo one; echo two >&2; echo three; exit 7", &result);
	assert_int_equal(result.status, 7);
	assert_string_equal(result.out, "one\nthree\n");
	assert_int_equal(result.out_bytes, 10);
	assert_string_equal(result.err, "two\n");
	assert_no_children();
}

static void gives_empty_streams(void **state)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };

	(void)state;
	run_sh(":", &result);
	assert_int_equal(result.status, 0);
	assert_string_equal(result.out, "");
	assert_string_equal(result.err, "");
}

static void tells_a_signal_from_a_status(void **state)
{
	_cleanup_spawn_result_ struct eph_spawn_result killed = { 0 }, exited = { 0 };

	(void)state;
	run_sh("ulimit -c 0; kill -SEGV $$", &killed);
	assert_int_equal(killed.status, 256 + SIGSEGV);
	run_sh("exit 139", &exited);
	assert_int_equal(exited.status, 139);
}

/* More than a pipe holds on stderr before anything is on stdout. */
static void drains_both_streams_together(void **state)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };

	(void)state;
	run_sh("head -c 1048576 /dev/zero | tr '\\0' e >&2; echo end >&2; "
	       "head -c 1048576 /dev/zero | tr '\\0' o; echo done",
	       &result);
	assert_int_equal(result.status, 0);
	assert_int_equal(result.out_bytes, 1048576 + 5);
	assert_string_equal(result.out + 1048576, "done\n");
	assert_in_range(strlen(result.err), EPH_SPAWN_ERR_KEPT / 2, EPH_SPAWN_ERR_KEPT);
	assert_string_equal(result.err + strlen(result.err) - 5, "eend\n");
}

static void refuses_too_much_and_lets_it_finish(void **state)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };
	const struct eph_spawn how = { .timeout_ms = LONG_MS, .out_max = 1000 };
	char path[] = "/tmp/ephlvm-spawn.XXXXXX", script[256];
	struct stat st;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	snprintf(script, sizeof(script), "head -c 300000 /dev/zero; echo finished > %s", path);
	assert_int_equal(sh(script, &how, &result), -EMSGSIZE);
	assert_null(result.out);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 9);
	unlink(path);
	assert_int_equal(sh("head -c 1000 /dev/zero", &how, &result), 0);
	assert_int_equal(result.out_bytes, 1000);
	assert_no_children();
}

static void shows_nul_bytes(void **state)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };

	(void)state;
	run_sh("printf 'a\\0b'; printf 'c\\0d' >&2", &result);
	assert_int_equal(result.out_bytes, 3);
	assert_memory_equal(result.out, "a\0b", 4);
	assert_string_equal(result.err, "c d");
}

/* The child and what it started ignore TERM. */
static void kills_the_whole_group_at_the_deadline(void **state)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };
	const struct eph_spawn how = { .timeout_ms = 300, .grace_ms = 100 };
	int leader, other;

	(void)state;
	assert_int_equal(
		sh("trap '' TERM; sleep 1000 & echo $$ $!; wait; sleep 1000", &how, &result), 0);
	assert_true(result.timed_out);
	assert_false(result.stuck);
	assert_int_equal(result.status, 256 + SIGKILL);
	assert_int_equal(sscanf(result.out, "%d %d", &leader, &other), 2);
	assert_int_equal(kill(leader, 0), -1);
	assert_true(dies(other));
	assert_no_children();
}

static void gives_grace_before_the_kill(void **state)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };
	const struct eph_spawn how = { .timeout_ms = 300, .grace_ms = LONG_MS };

	(void)state;
	assert_int_equal(sh("trap 'echo tidied; exit 3' TERM; sleep 1000 & wait", &how, &result),
			 0);
	assert_true(result.timed_out);
	assert_int_equal(result.status, 3);
	assert_string_equal(result.out, "tidied\n");
	assert_no_children();
}

/* dmeventd and the like: started by the child, holding its pipes, never ending. */
static void does_not_wait_for_what_is_left_behind(void **state)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };
	int left;

	(void)state;
	run_sh("sleep 1000 & echo $!", &result);
	assert_int_equal(result.status, 0);
	assert_int_equal(sscanf(result.out, "%d", &left), 1);
	assert_false(is_dead(left));
	assert_int_equal(kill(left, SIGKILL), 0);
}

/* Who never stops talking must not keep us from seeing the deadline, nor from ending. */
static void is_not_held_up_by_endless_talk(void **state)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 }, left = { 0 };
	const struct eph_spawn how = { .timeout_ms = 300, .grace_ms = 100, .out_max = 1000 };
	int talker;

	(void)state;
	assert_int_equal(sh("trap '' TERM; yes >&2", &how, &result), 0);
	assert_true(result.timed_out);
	assert_int_equal(sh("yes", &how, &left), -EMSGSIZE);
	run_sh("yes >&2 & echo $!", &left);
	assert_int_equal(sscanf(left.out, "%d", &talker), 1);
	assert_true(dies(talker)); /* of the broken pipe */
	assert_no_children();
}

static void passes_no_environment_on(void **state)
{
	static const char *const hostile[] = { "LD_PRELOAD",
					       "LD_LIBRARY_PATH",
					       "LVM_SYSTEM_DIR",
					       "TMPDIR",
					       "DM_DISABLE_UDEV",
					       "LANG",
					       "LC_ALL",
					       "HOME",
					       "PATH",
					       "GCONV_PATH",
					       "LVM_LOG_FILE_EPOCH" };
	const char *const argv[] = { "/usr/bin/env", NULL };
	const char *const own_env[] = { "A=1", "B=2", NULL };
	struct eph_spawn spec = { .argv = argv, .timeout_ms = LONG_MS };
	_cleanup_spawn_result_ struct eph_spawn_result plain = { 0 }, own = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++)
		setenv(hostile[i], "/nowhere", 1);
	assert_int_equal(eph_spawn_run(&spec, &plain), 0);
	spec.env = own_env;
	assert_int_equal(eph_spawn_run(&spec, &own), 0);
	for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++)
		unsetenv(hostile[i]);
	assert_string_equal(plain.out, "PATH=" EPH_SPAWN_PATH "\nLC_ALL=C\nHOME=/\n");
	assert_string_equal(own.out, "A=1\nB=2\n");
}

#define LIST_DESCRIPTORS                                                                 \
	"i=0; while [ $i -lt 300 ]; do [ -e /proc/$$/fd/$i ] && echo $i; i=$((i + 1)); " \
	"done; true"

static void passes_no_descriptor_on(void **state)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };
	int fds[50];

	(void)state;
	for (size_t i = 0; i < 50; i++) {
		fds[i] = open("/dev/zero", O_RDONLY); /* inheritable on purpose */
		assert_true(fds[i] >= 0);
	}
	run_sh(LIST_DESCRIPTORS, &result);
	assert_string_equal(result.out, "0\n1\n2\n");
	for (size_t i = 0; i < 50; i++)
		close(fds[i]);
}

static void hands_one_descriptor_on(void **state)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };
	char path[] = "/tmp/ephlvm-spawn.XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	const struct eph_spawn how = { .timeout_ms = LONG_MS, .pass_fd = &fd };
	char got[8] = "";

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(sh("echo hello >&3; " LIST_DESCRIPTORS, &how, &result), 0);
	assert_string_equal(result.out, "0\n1\n2\n3\n");
	assert_int_equal(pread(fd, got, sizeof(got), 0), 6);
	assert_string_equal(got, "hello\n");
	/* Ours stays as it was. */
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

static int run_without_standard_descriptors(void)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };
	const struct eph_spawn how = { .timeout_ms = LONG_MS };

	close(0);
	close(1);
	close(2);
	if (sh("echo out; echo err >&2; " LIST_DESCRIPTORS, &how, &result) != 0)
		return 1;
	if (strcmp(result.out, "out\n0\n1\n2\n") != 0)
		return 2;
	return strcmp(result.err, "err\n") != 0 ? 3 : 0;
}

static void works_without_standard_descriptors(void **state)
{
	(void)state;
	in_a_process(run_without_standard_descriptors);
}

static int run_with_odd_signals(void)
{
	_cleanup_spawn_result_ struct eph_spawn_result piped = { 0 }, termed = { 0 };
	const struct eph_spawn how = { .timeout_ms = LONG_MS };
	sigset_t all;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	if (sh("kill -PIPE $$; exit 9", &how, &piped) != 0 || piped.status != 256 + SIGPIPE)
		return 1;
	if (sh("kill -TERM $$; exit 9", &how, &termed) != 0 || termed.status != 256 + SIGTERM)
		return 2;
	return 0;
}

static void gives_default_signals(void **state)
{
	(void)state;
	in_a_process(run_with_odd_signals);
}

static int run_with_children_ignored(void)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };
	const struct eph_spawn how = { .timeout_ms = LONG_MS };

	signal(SIGCHLD, SIG_IGN);
	return sh("exit 0", &how, &result) != -ECHILD || result.out ? 1 : 0;
}

/* The kernel then throws the status away: that must not read as success. */
static void fails_when_the_status_is_lost(void **state)
{
	(void)state;
	in_a_process(run_with_children_ignored);
}

static void runs_apart_from_the_caller(void **state)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };
	int pid, group, session;

	(void)state;
	run_sh("set -- $(cat /proc/$$/stat); echo $1 $5 $6; pwd; readlink /proc/$$/fd/0; "
	       "read x || echo nothing",
	       &result);
	assert_int_equal(sscanf(result.out, "%d %d %d", &pid, &group, &session), 3);
	assert_int_equal(group, pid);
	assert_int_equal(session, pid);
	assert_string_equal(strchr(result.out, '\n'), "\n/\n/dev/null\nnothing\n");
}

static void says_why_it_cannot_start(void **state)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };
	const char *argv[] = { "/nowhere/tool", NULL };
	struct eph_spawn spec = { .argv = argv, .timeout_ms = LONG_MS };
	unsigned int before = count_descriptors();

	(void)state;
	assert_int_equal(eph_spawn_run(&spec, &result), -ENOENT);
	argv[0] = "/etc/passwd";
	assert_int_equal(eph_spawn_run(&spec, &result), -EACCES);
	argv[0] = "/etc";
	assert_int_equal(eph_spawn_run(&spec, &result), -EACCES);
	assert_null(result.out);
	assert_int_equal(count_descriptors(), before);
	assert_no_children();
}

static void survives_want_of_descriptors(void **state)
{
	struct rlimit old, low;
	const struct eph_spawn how = { .timeout_ms = LONG_MS };
	unsigned int before = count_descriptors();
	int r = -1;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	/* From none to all that it takes: above 16 lie its own, and it has six at the most. */
	for (low.rlim_cur = 3; low.rlim_cur < 40; low.rlim_cur++) {
		_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };

		assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
		r = sh("echo x", &how, &result);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
		assert_true(r == 0 || r == -EMFILE || r == -EINVAL);
		assert_int_equal(count_descriptors(), before);
		assert_no_children();
		if (r == 0)
			assert_string_equal(result.out, "x\n");
	}
	assert_int_equal(r, 0);
}

static void survives_want_of_memory(void **state)
{
	const struct eph_spawn how = { .timeout_ms = LONG_MS };
	unsigned int before = count_descriptors(), failed = 0;
	bool reached = true;

	(void)state;
	for (unsigned int nth = 0; reached; nth++) {
		_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };
		int r;

		failing_alloc_arm(nth);
		r = sh("head -c 20000 /dev/zero; head -c 20000 /dev/zero >&2", &how, &result);
		reached = failing_alloc_disarm();
		assert_int_equal(r, reached ? -ENOMEM : 0);
		assert_int_equal(result.out_bytes, reached ? 0 : 20000);
		assert_int_equal(count_descriptors(), before);
		assert_no_children();
		failed += reached;
	}
	assert_true(failed >= 2);
}

static void finds_programs_in_the_fixed_path(void **state)
{
	_cleanup_free_ char *path = NULL;
	char *none = NULL;

	(void)state;
	setenv("PATH", "/nowhere", 1);
	assert_int_equal(eph_spawn_find("sh", &path), 0);
	assert_string_equal(strrchr(path, '/'), "/sh");
	assert_int_equal(access(path, X_OK), 0);
	assert_int_equal(eph_spawn_find("no-such-program-here", &none), -ENOENT);
	assert_null(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_streams_and_status),
		cmocka_unit_test(gives_empty_streams),
		cmocka_unit_test(tells_a_signal_from_a_status),
		cmocka_unit_test(drains_both_streams_together),
		cmocka_unit_test(refuses_too_much_and_lets_it_finish),
		cmocka_unit_test(shows_nul_bytes),
		cmocka_unit_test(kills_the_whole_group_at_the_deadline),
		cmocka_unit_test(gives_grace_before_the_kill),
		cmocka_unit_test(does_not_wait_for_what_is_left_behind),
		cmocka_unit_test(is_not_held_up_by_endless_talk),
		cmocka_unit_test(passes_no_environment_on),
		cmocka_unit_test(passes_no_descriptor_on),
		cmocka_unit_test(hands_one_descriptor_on),
		cmocka_unit_test(works_without_standard_descriptors),
		cmocka_unit_test(gives_default_signals),
		cmocka_unit_test(fails_when_the_status_is_lost),
		cmocka_unit_test(runs_apart_from_the_caller),
		cmocka_unit_test(says_why_it_cannot_start),
		cmocka_unit_test(survives_want_of_descriptors),
		cmocka_unit_test(survives_want_of_memory),
		cmocka_unit_test(finds_programs_in_the_fixed_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
