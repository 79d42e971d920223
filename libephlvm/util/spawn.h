/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * spawn.h - run one program to its end, shut off from this process's surroundings.
 *
 * The child gets a fixed environment, "/" as its folder, stdin from /dev/null, no descriptor but
 * 0, 1, 2 (and one that is handed on), default signals and its own session. Both streams are
 * drained together. Knows no context, never logs.
 */
#ifndef EPH_UTIL_SPAWN_H
#define EPH_UTIL_SPAWN_H

#include <stdbool.h>
#include <stddef.h>

/* Where programs are looked for, and PATH of every child. */
#define EPH_SPAWN_PATH "/usr/sbin:/usr/bin:/sbin:/bin"

/* The descriptor number that eph_spawn.pass_fd has in the child. */
#define EPH_SPAWN_PASSED_FD 3

struct eph_spawn {
	const char *const *argv; /* argv[0]: absolute path of the program; NULL-terminated */
	/* the child's whole environment, NULL-terminated; NULL: PATH, LC_ALL=C and HOME=/ only */
	const char *const *env;
	const int *pass_fd; /* handed on as descriptor 3; NULL for none */
	unsigned int timeout_ms; /* then TERM for the whole process group; 0: never */
	unsigned int grace_ms; /* from TERM to KILL */
	size_t out_max; /* bytes of stdout accepted; 0: EPH_SPAWN_OUT_MAX */
};
#define EPH_SPAWN_OUT_MAX ((size_t)64 << 20)
#define EPH_SPAWN_ERR_KEPT ((size_t)64 << 10)

struct eph_spawn_result {
	int status; /* exit status; 256 + number of the signal that ended it */
	bool timed_out; /* ended by us at the deadline */
	bool stuck; /* not even KILL ended it: it hangs in the kernel and was left behind */
	char *out; /* all of stdout, with a NUL behind it; never NULL after success */
	size_t out_bytes;
	char *err; /* the last EPH_SPAWN_ERR_KEPT bytes of stderr, NULs in it shown as spaces */
};

/*
 * Run @spec to its end. 0 when the program ran, however it ended: look at the result. Else nothing is
 * in @ret and the cause is: -ENOENT, -EACCES ... (it could not be started), -EMSGSIZE (it ran, and
 * wrote more than out_max to stdout), -ECHILD (it ran, but its status was taken from us by another
 * waiter), -ENOMEM (it may have run). A child is never killed for what it writes.
 */
int eph_spawn_run(const struct eph_spawn *spec, struct eph_spawn_result *ret);
void eph_spawn_result_clear(struct eph_spawn_result *result);
#define _cleanup_spawn_result_ __attribute__((cleanup(eph_spawn_result_clear)))

/* Absolute path of the executable regular file @name in EPH_SPAWN_PATH. 0, -ENOENT, -ENOMEM. */
int eph_spawn_find(const char *name, char **ret_path);

#endif
