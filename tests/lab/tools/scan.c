// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * scan.c - look for tokens on a whole block device, past every cache: O_DIRECT reads.
 *
 *   ephlvm-scan DEVICE TOKEN...
 *
 * Prints for each token "TOKEN COUNT FIRST-OFFSET" (offset -1 for none), then "scanned BYTES".
 * Exit 0 when the whole device was read, whatever was found; 1 otherwise.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK ((uint64_t)4 << 20)
#define OVERLAP ((uint64_t)4096) /* longer than any token: one across a chunk's end is seen */
#define TOKENS_MAX 16

static int fd;
static uint64_t size_bytes, next_chunk;
static char **tokens;
static int n_tokens;
static uint64_t counts[TOKENS_MAX];
static int64_t firsts[TOKENS_MAX];
static int failed;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void note(int token, uint64_t offset)
{
	pthread_mutex_lock(&mutex);
	counts[token]++;
	if (firsts[token] < 0 || (uint64_t)firsts[token] > offset)
		firsts[token] = (int64_t)offset;
	pthread_mutex_unlock(&mutex);
}

/* Matches that begin in the first @own bytes; the rest belongs to the next chunk. */
static void look(const char *buf, size_t bytes, size_t own, uint64_t offset)
{
	if (buf[0] == 0 && memcmp(buf, buf + 1, bytes - 1) == 0)
		return;
	for (int t = 0; t < n_tokens; t++) {
		size_t len = strlen(tokens[t]);
		const char *at = buf;

		while ((at = memmem(at, bytes - (size_t)(at - buf), tokens[t], len))) {
			if ((size_t)(at - buf) < own)
				note(t, offset + (uint64_t)(at - buf));
			at++;
		}
	}
}

static void *worker(void *arg)
{
	char *buf;

	(void)arg;
	if (posix_memalign((void **)&buf, 4096, CHUNK + OVERLAP) != 0) {
		failed = 1;
		return NULL;
	}
	while (!failed) {
		uint64_t at = __atomic_fetch_add(&next_chunk, 1, __ATOMIC_RELAXED) * CHUNK, want;
		size_t have = 0;

		if (at >= size_bytes)
			break;
		want = size_bytes - at < CHUNK + OVERLAP ? size_bytes - at : CHUNK + OVERLAP;
		while (have < want) {
			ssize_t n = pread(fd, buf + have, want - have, (off_t)(at + have));

			if (n <= 0) {
				fprintf(stderr, "read at %llu: %s\n",
					(unsigned long long)(at + have),
					n < 0 ? strerror(errno) : "end of device");
				failed = 1;
				break;
			}
			have += (size_t)n;
		}
		look(buf, have, have < CHUNK ? have : CHUNK, at);
	}
	free(buf);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t other;
	struct stat st;

	if (argc < 3 || argc - 2 > TOKENS_MAX) {
		fprintf(stderr, "usage: ephlvm-scan DEVICE TOKEN...\n");
		return 2;
	}
	tokens = argv + 2;
	n_tokens = argc - 2;
	for (int t = 0; t < n_tokens; t++) {
		size_t len = strlen(tokens[t]);

		firsts[t] = -1;
		if (len < 8 || len >= OVERLAP) {
			fprintf(stderr, "a token has 8 to 4095 bytes\n");
			return 2;
		}
	}
	fd = open(argv[1], O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		perror(argv[1]);
		return 1;
	}
	if (S_ISBLK(st.st_mode) ? ioctl(fd, BLKGETSIZE64, &size_bytes) < 0 :
				  (size_bytes = (uint64_t)st.st_size, 0)) {
		perror(argv[1]);
		return 1;
	}
	if (pthread_create(&other, NULL, worker, NULL) != 0)
		return 1;
	worker(NULL);
	pthread_join(other, NULL);
	if (failed)
		return 1;
	for (int t = 0; t < n_tokens; t++)
		printf("%s %llu %lld\n", tokens[t], (unsigned long long)counts[t],
		       (long long)firsts[t]);
	printf("scanned %llu\n", (unsigned long long)size_bytes);
	return 0;
}
