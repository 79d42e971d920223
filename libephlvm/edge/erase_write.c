// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * erase_write.c - the writer of an erase: io_uring with registered buffers, else pwrite.
 * Owns the ring and its buffers. Must return with nothing under way: the kernel reads a buffer until its
 * write has ended, whatever became of the others.
 */
#include "edge/erase_write.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "util/cleanup.h"

#define DEPTH 16

/* One write under way, of one part of the buffer. */
struct slot {
	uint64_t offset;
	size_t bytes, done;
	bool busy;
};

struct eph_writer {
	int fd;
	bool ring_ready, registered;
	struct io_uring ring;
	struct slot slots[DEPTH];
	unsigned int busy, flying; /* flying: those of them that the kernel has */
	char *buf; /* DEPTH parts; zeroes, unless random bytes are written */
	bool dirty; /* not zeroes any more */
};

int eph_fill_random(void *buf, size_t bytes)
{
	for (size_t have = 0; have < bytes;) {
		ssize_t n = getrandom((char *)buf + have, bytes - have, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		have += (size_t)n;
	}
	return 0;
}

/* A kernel without io_uring (ENOSYS), one that forbids it (EPERM), or too little memory: write plainly. */
static void set_up_ring(struct ephlvm_ctx *ctx, struct eph_writer *w)
{
	const struct iovec whole = { .iov_base = w->buf, .iov_len = DEPTH * EPH_WRITE_BYTES };
	int r = io_uring_queue_init(DEPTH, &w->ring, 0);

	if (r < 0) {
		eph_debug(ctx, "no io_uring (%s): writing plainly", strerror(-r));
		return;
	}
	w->ring_ready = true;
	/* Locked memory is limited where CAP_IPC_LOCK is not had: then the kernel maps it each time. */
	r = io_uring_register_buffers(&w->ring, &whole, 1);
	w->registered = r == 0;
	if (r < 0)
		eph_debug(ctx, "buffers are not registered: %s", strerror(-r));
}

int eph_writer_new(struct ephlvm_ctx *ctx, int fd, struct eph_writer **ret_writer)
{
	struct eph_writer *w = calloc(1, sizeof(*w));
	void *buf;

	if (!w)
		return eph_fail_oom(ctx);
	if (posix_memalign(&buf, EPH_WRITE_ALIGN, DEPTH * EPH_WRITE_BYTES) != 0) {
		free(w);
		return eph_fail_oom(ctx);
	}
	memset(buf, 0, DEPTH * EPH_WRITE_BYTES);
	w->buf = buf;
	w->fd = fd;
	set_up_ring(ctx, w);
	*ret_writer = w;
	return 0;
}

void eph_writer_free(struct eph_writer *w)
{
	if (!w)
		return;
	if (w->ring_ready)
		io_uring_queue_exit(&w->ring);
	free(w->buf);
	free(w);
}

const char *eph_writer_means(const struct eph_writer *w)
{
	return w->ring_ready ? "io_uring" : "pwrite";
}

static char *part(const struct eph_writer *w, unsigned int i)
{
	return w->buf + (size_t)i * EPH_WRITE_BYTES;
}

static int fill(struct eph_writer *w, unsigned int i, bool random, size_t bytes)
{
	if (random) {
		w->dirty = true;
		return eph_fill_random(part(w, i), bytes);
	}
	return 0;
}

static void make_zero(struct eph_writer *w)
{
	if (!w->dirty)
		return;
	memset(w->buf, 0, DEPTH * EPH_WRITE_BYTES);
	w->dirty = false;
}

/* --- plainly --- */

static int run_plain(struct eph_writer *w, bool random, uint64_t offset, uint64_t bytes,
		     uint64_t *done)
{
	while (*done < bytes) {
		uint64_t left = bytes - *done;
		size_t n = left < EPH_WRITE_BYTES ? (size_t)left : EPH_WRITE_BYTES;
		ssize_t written;

		if (fill(w, 0, random, n) < 0)
			return -EIO;
		written = pwrite(w->fd, part(w, 0), n, (off_t)(offset + *done));
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -EIO;
		*done += (uint64_t)written;
	}
	return 0;
}

/* --- by the ring --- */

/* Where the first failure is; what lies before it is written once all have ended. */
struct failure {
	int error; /* negative; 0: none */
	uint64_t offset;
};

static void note(struct failure *failure, int error, uint64_t offset)
{
	if (failure->error == 0 || offset < failure->offset)
		*failure = (struct failure){ error, offset };
}

static bool submit(struct eph_writer *w, unsigned int i)
{
	struct slot *slot = &w->slots[i];
	struct io_uring_sqe *sqe = io_uring_get_sqe(&w->ring);
	const char *from = part(w, i) + slot->done;
	unsigned int bytes = (unsigned int)(slot->bytes - slot->done);

	if (!sqe)
		return false;
	if (w->registered)
		io_uring_prep_write_fixed(sqe, w->fd, from, bytes, slot->offset + slot->done, 0);
	else
		io_uring_prep_write(sqe, w->fd, from, bytes, slot->offset + slot->done);
	io_uring_sqe_set_data64(sqe, i);
	return true;
}

/* One has ended: whole, in part (the rest is asked for again), or not at all. */
static void complete(struct eph_writer *w, const struct io_uring_cqe *cqe, struct failure *failure)
{
	struct slot *slot = &w->slots[io_uring_cqe_get_data64(cqe)];
	int res = cqe->res;
	bool again = res == -EINTR || res == -EAGAIN;

	if (res > 0)
		slot->done += (size_t)res;
	else if (!again)
		note(failure, res < 0 ? res : -EIO, slot->offset + slot->done);
	if ((res > 0 || again) && slot->done < slot->bytes) {
		if (submit(w, (unsigned int)(slot - w->slots)))
			return;
		note(failure, -EIO, slot->offset + slot->done);
	}
	slot->busy = false;
	w->busy--;
}

/* Hand over what is prepared, and wait for one to end. -errno: the kernel takes no more. */
static int turn(struct eph_writer *w, struct failure *failure)
{
	struct io_uring_cqe *cqe;
	int r = io_uring_submit_and_wait(&w->ring, 1);

	if (r < 0 && r != -EINTR)
		return r;
	w->flying += r > 0 ? (unsigned int)r : 0;
	while (io_uring_peek_cqe(&w->ring, &cqe) == 0) {
		w->flying--;
		complete(w, cqe, failure);
		io_uring_cqe_seen(&w->ring, cqe);
	}
	return 0;
}

/*
 * Give the ring up. What the kernel has is waited for, however it takes that; what it never saw goes with the
 * ring. Returns the first byte that is not written, of those before @next.
 */
static uint64_t give_up_ring(struct eph_writer *w, uint64_t next)
{
	const struct timespec retry = { .tv_nsec = 1000000 };

	for (; w->flying > 0; w->flying--) {
		struct io_uring_cqe *cqe;
		struct slot *slot;

		/* It looks before it waits: this ends also where waiting itself fails each time. */
		while (io_uring_wait_cqe(&w->ring, &cqe) < 0)
			nanosleep(&retry, NULL);
		slot = &w->slots[io_uring_cqe_get_data64(cqe)];
		if (cqe->res > 0)
			slot->done += (size_t)cqe->res;
		io_uring_cqe_seen(&w->ring, cqe);
	}
	io_uring_queue_exit(&w->ring);
	w->ring_ready = false;
	w->busy = 0;
	for (unsigned int i = 0; i < DEPTH; i++) {
		const struct slot *slot = &w->slots[i];

		if (slot->busy && slot->done < slot->bytes && slot->offset + slot->done < next)
			next = slot->offset + slot->done;
		w->slots[i].busy = false;
	}
	return next;
}

/* Give each free slot its next part. */
static void prepare(struct eph_writer *w, bool random, uint64_t end, uint64_t *next,
		    struct failure *failure)
{
	for (unsigned int i = 0; i < DEPTH && *next < end && failure->error == 0; i++) {
		struct slot *slot = &w->slots[i];
		uint64_t left = end - *next;

		if (slot->busy)
			continue;
		*slot = (struct slot){
			.offset = *next,
			.bytes = left < EPH_WRITE_BYTES ? (size_t)left : EPH_WRITE_BYTES,
		};
		if (fill(w, i, random, slot->bytes) < 0 || !submit(w, i)) {
			note(failure, -EIO, slot->offset);
			return;
		}
		slot->busy = true;
		w->busy++;
		*next += slot->bytes;
	}
}

static int run_ring(struct eph_writer *w, bool random, uint64_t offset, uint64_t bytes,
		    uint64_t *done)
{
	struct failure failure = { 0 };
	uint64_t next = offset, end = offset + bytes;
	int r;

	for (;;) {
		prepare(w, random, end, &next, &failure);
		if (w->busy == 0)
			break;
		r = turn(w, &failure);
		if (r < 0) {
			/* Without it from there on: a failure already seen is met again. */
			next = give_up_ring(w, failure.error ? failure.offset : next);
			*done = next - offset;
			return 0;
		}
	}
	*done = failure.error ? failure.offset - offset : bytes;
	return failure.error;
}

int eph_writer_run(struct eph_writer *w, bool random, uint64_t offset, uint64_t bytes,
		   uint64_t *ret_done)
{
	int r = 0;

	*ret_done = 0;
	if (!random)
		make_zero(w);
	if (w->ring_ready)
		r = run_ring(w, random, offset, bytes, ret_done);
	/* No ring, or none any more. */
	if (r == 0 && !w->ring_ready)
		r = run_plain(w, random, offset, bytes, ret_done);
	return r;
}
