// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * replay.c - a fuzz target as a plain test: every file of the directories named, once each. The file
 * at hand is named before it is tried, so that a crash says which. No file at all is a failure.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int replay_file(const char *dir, const char *name)
{
	char path[4096];
	uint8_t *data;
	struct stat st;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	printf("%s\n", path);
	fflush(stdout);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	data = malloc(st.st_size ? (size_t)st.st_size : 1);
	n = data ? read(fd, data, (size_t)st.st_size) : -1;
	if (n == st.st_size)
		LLVMFuzzerTestOneInput(data, (size_t)n);
	free(data);
	close(fd);
	return n == st.st_size ? 0 : -1;
}

/* Returns how many files were tried, or -1. */
static int replay_directory(const char *dir)
{
	struct dirent **entries;
	int n = scandir(dir, &entries, is_input, alphasort);
	int r = n;

	for (int i = 0; i < n; i++) {
		if (replay_file(dir, entries[i]->d_name) < 0) {
			fprintf(stderr, "%s/%s cannot be read\n", dir, entries[i]->d_name);
			r = -1;
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return r;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (replay_directory(argv[i]) > 0)
			continue;
		fprintf(stderr, "%s: no input, or not all could be read\n", argv[i]);
		return 1;
	}
	return argc > 1 ? 0 : 2;
}
