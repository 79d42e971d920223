// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * failing_alloc.c - the wrappers that the linker puts before the allocators (ld --wrap).
 * They see the calls of our own objects only; those within shared libraries go on as ever.
 */
#include "failing_alloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
int __real_vasprintf(char **ret, const char *fmt, va_list ap);

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap);
int __wrap_asprintf(char **ret, const char *fmt, ...);

static struct {
	bool armed, reached;
	unsigned int left;
} state;

void failing_alloc_arm(unsigned int nth)
{
	state.armed = true;
	state.reached = false;
	state.left = nth;
}

bool failing_alloc_disarm(void)
{
	state.armed = false;
	return state.reached;
}

static bool fails(void)
{
	if (!state.armed || state.reached || state.left-- > 0)
		return false;
	state.reached = true;
	errno = ENOMEM;
	return true;
}

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
	return fails() ? NULL : __real_strndup(s, n);
}

/* The real ones leave *@ret undefined on failure: poison it, so that a free() of it shows. */
int __wrap_vasprintf(char **ret, const char *fmt, va_list ap)
{
	if (fails()) {
		*ret = (char *)16;
		return -1;
	}
	return __real_vasprintf(ret, fmt, ap);
}

int __wrap_asprintf(char **ret, const char *fmt, ...)
{
	va_list ap;
	int r;

	va_start(ap, fmt);
	r = __wrap_vasprintf(ret, fmt, ap);
	va_end(ap);
	return r;
}
