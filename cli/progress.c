// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * progress.c - one line on a terminal for work that takes longer than a second: bytes, rate, time
 * left.
 * Owns that line: whoever writes to standard error clears it first. Must draw nothing on a pipe.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

#define QUIET_MS 1000
#define REDRAW_MS 200

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static size_t terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 20)
		return 80;
	return size.ws_col;
}

static void time_left(char *buf, size_t size, uint64_t seconds)
{
	if (seconds >= 3600)
		snprintf(buf, size, "%" PRIu64 " h %02" PRIu64 " min", seconds / 3600,
			 seconds / 60 % 60);
	else if (seconds >= 60)
		snprintf(buf, size, "%" PRIu64 " min %02" PRIu64 " s", seconds / 60, seconds % 60);
	else
		snprintf(buf, size, "%" PRIu64 " s", seconds);
}

void cli_progress_text(char buf[CLI_PROGRESS_TEXT], const struct ephlvm_progress *progress,
		       uint64_t first_bytes, int64_t elapsed_ms)
{
	char done[EPHLVM_SIZE_TEXT], total[EPHLVM_SIZE_TEXT], rate[EPHLVM_SIZE_TEXT], left[32];
	uint64_t moved, per_second;
	size_t n;

	ephlvm_size_format(progress->done_bytes, done);
	ephlvm_size_format(progress->total_bytes, total);
	n = (size_t)snprintf(buf, CLI_PROGRESS_TEXT, "%.31s %.95s %s", progress->step,
			     progress->subject, done);
	if (progress->total_bytes > 0)
		n += (size_t)snprintf(
			buf + n, CLI_PROGRESS_TEXT - n, " of %s (%d%%)", total,
			(int)((double)progress->done_bytes * 100 / (double)progress->total_bytes));
	/* An erase that resumes starts in the middle: only what moved since then counts. */
	moved = progress->done_bytes > first_bytes ? progress->done_bytes - first_bytes : 0;
	if (moved == 0 || elapsed_ms <= 0)
		return;
	per_second = (uint64_t)((double)moved * 1000 / (double)elapsed_ms);
	if (per_second == 0)
		return;
	n += (size_t)snprintf(buf + n, CLI_PROGRESS_TEXT - n, ", %s/s",
			      ephlvm_size_format(per_second, rate));
	if (progress->total_bytes < progress->done_bytes)
		return;
	time_left(left, sizeof(left), (progress->total_bytes - progress->done_bytes) / per_second);
	snprintf(buf + n, CLI_PROGRESS_TEXT - n, ", %s left", left);
}

void cli_progress_clear(struct cli *cli)
{
	if (cli->progress.width == 0)
		return;
	fprintf(stderr, "\r%*s\r", (int)cli->progress.width, "");
	fflush(stderr);
	cli->progress.width = 0;
}

static void draw(struct cli *cli, const char *text)
{
	size_t width = terminal_width() - 1;
	size_t n = strlen(text) < width ? strlen(text) : width;
	size_t rest = cli->progress.width > n ? cli->progress.width - n : 0;

	/* Spaces over what is left of a longer line: works on every terminal. */
	fprintf(stderr, "\r%.*s%*s", (int)n, text, (int)rest, "");
	fflush(stderr);
	cli->progress.width = n + rest;
}

/* Is it still the step that was shown last? */
static bool same_step(const struct cli_progress *shown, const struct ephlvm_progress *progress)
{
	return shown->since_ms != 0 &&
	       strncmp(shown->step, progress->step, sizeof(shown->step) - 1) == 0 &&
	       strncmp(shown->subject, progress->subject, sizeof(shown->subject) - 1) == 0;
}

void cli_progress_fn(void *data, const struct ephlvm_progress *progress)
{
	struct cli *cli = data;
	struct cli_progress *shown = &cli->progress;
	_cleanup_free_ char *safe = NULL;
	char text[CLI_PROGRESS_TEXT];
	int64_t now = now_ms();

	if (cli->quiet || !isatty(STDERR_FILENO))
		return;
	if (!same_step(shown, progress)) {
		cli_progress_clear(cli);
		snprintf(shown->step, sizeof(shown->step), "%s", progress->step);
		snprintf(shown->subject, sizeof(shown->subject), "%s", progress->subject);
		shown->since_ms = now;
		shown->shown_ms = 0;
		shown->first_bytes = progress->done_bytes;
	}
	if (now - shown->since_ms < QUIET_MS || now - shown->shown_ms < REDRAW_MS)
		return;
	cli_progress_text(text, progress, shown->first_bytes, now - shown->since_ms);
	safe = cli_escape(text);
	if (!safe)
		return;
	draw(cli, safe);
	shown->shown_ms = now;
}
