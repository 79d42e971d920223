/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fake_lvm.h - an LVM backend that follows a script: which calls must come, in which order, and what each
 * answers. A call that is not the next one fails the test, and so does one that never came.
 */
#ifndef EPH_TESTS_FAKE_LVM_H
#define EPH_TESTS_FAKE_LVM_H

#include "edge/lvm.h"

struct fake_lvm;

struct fake_lvm_call {
	/*
	 * The argv in one line, without --config and its value; an argument with a space in it stands in
	 * single quotes: "lvchange --yes --addtag a -S 'lv_uuid="x" && ...' vg". NULL: any call.
	 */
	const char *call;
	const char *config; /* what the --config value must be; NULL: not looked at */
	int status;
	bool timed_out;
	const char *out, *err; /* NULL: nothing */
	int error; /* the backend itself fails with this negative errno */
	/* run before the call answers, to change what the next one will find; may be NULL */
	void (*before)(void *data);
	void *data;
};

/* Make one and hang it into @ctx, which owns it. */
struct fake_lvm *fake_lvm_install(struct ephlvm_ctx *ctx);
struct eph_lvm_backend *fake_lvm_backend(struct fake_lvm *fake);

/* Add a call to the script. Strings are copied. */
void fake_lvm_expect(struct fake_lvm *fake, const struct fake_lvm_call *call);
#define FAKE_LVM_EXPECT(fake, ...) \
	fake_lvm_expect((fake), &(const struct fake_lvm_call){ __VA_ARGS__ })

/* Take the last call off the script again, where it turned out not to come. */
void fake_lvm_drop_last(struct fake_lvm *fake);

/*
 * Calls come as they like and each is answered by @answer: for tests of what stands above the LVM room, with a
 * model of LVM of their own. The script is then not used.
 */
typedef void (*fake_lvm_answer_fn)(void *data, const char *call, struct fake_lvm_call *ret_answer);
void fake_lvm_answer_with(struct fake_lvm *fake, fake_lvm_answer_fn answer, void *data);

/* The @nth call from now on (from 0) fails in the backend with -EIO, and is not matched or answered. */
void fake_lvm_fail_at(struct fake_lvm *fake, unsigned int nth);
/* The @nth PV that is opened from now on (from 0) is not to be found. */
void fake_lvm_lose_pv_at(struct fake_lvm *fake, unsigned int nth);
/* What is found on the PV with this uuid from now on: the file behind @fd, which stays the test's. */
void fake_lvm_put_pv(struct fake_lvm *fake, const char *pv_uuid, int fd);
/* Descriptors of PVs cannot be flushed from now on. */
void fake_lvm_break_flush(struct fake_lvm *fake);

/* Calls and opened PVs so far; the timeout of the last call, and whether it was a mutating one. */
unsigned int fake_lvm_calls(const struct fake_lvm *fake);
unsigned int fake_lvm_opened(const struct fake_lvm *fake);
unsigned int fake_lvm_last_timeout_ms(const struct fake_lvm *fake);
bool fake_lvm_last_mutating(const struct fake_lvm *fake);

/* Fail the test unless the whole script was used and nothing else came. Without it the test aborts at the end. */
void fake_lvm_done(struct fake_lvm *fake);

#endif
