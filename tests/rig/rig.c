// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * rig.c - real LVM on loop devices.
 * Owns the loop devices, their files and the folder, and takes all of them away again. Must not let LVM
 * see any device of the host's.
 */
#include "rig/rig.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "edge/lvm_args.h"
#include "pure/config.h"
#include "util/cleanup.h"
#include "util/spawn.h"

#define MDA_BYTES ((uint64_t)64 << 20)

/* What a program printed, without the line end. */
static int run(const char *program, const char *const *args, char *out, size_t size)
{
	_cleanup_spawn_result_ struct eph_spawn_result result = { 0 };
	_cleanup_free_ char *path = NULL;
	const char *argv[8] = { NULL };
	struct eph_spawn spec = { .argv = argv, .timeout_ms = 30000, .grace_ms = 1000 };

	if (eph_spawn_find(program, &path) < 0)
		return -ENOENT;
	argv[0] = path;
	for (size_t i = 0; args[i]; i++)
		argv[i + 1] = args[i];
	if (eph_spawn_run(&spec, &result) < 0 || result.timed_out || result.status != 0) {
		fprintf(stderr, "%s: %s", program, result.err ? result.err : "failed\n");
		return -EIO;
	}
	if (out)
		snprintf(out, size, "%.*s", (int)strcspn(result.out, "\n"), result.out);
	return 0;
}

static int make_file(const char *path, unsigned int mib)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), r;

	if (fd < 0)
		return -errno;
	r = ftruncate(fd, (off_t)mib << 20) < 0 ? -errno : 0;
	close(fd);
	return r;
}

bool rig_possible(void)
{
	char file[] = "/tmp/ephlvm-rig-try.XXXXXX", device[64] = "";
	int fd;
	bool can;

	if (geteuid() != 0) {
		fprintf(stderr, "the rig needs root\n");
		return false;
	}
	fd = mkstemp(file);
	if (fd < 0 || ftruncate(fd, 1 << 20) < 0)
		return false;
	can = run("losetup", (const char *const[]){ "-f", "--show", file, NULL }, device,
		  sizeof(device)) == 0;
	if (can)
		run("losetup", (const char *const[]){ "-d", device, NULL }, NULL, 0);
	else
		fprintf(stderr, "the rig needs a loop device\n");
	close(fd);
	unlink(file);
	return can;
}

void rig_configure(struct rig *rig, const char *more)
{
	char *text;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	assert_non_null(f);
	fputs("devices{use_devicesfile=0 global_filter=[", f);
	for (size_t i = 0; i < rig->n; i++)
		if (rig->drives[i].device[0])
			fprintf(f, "\"a|^%s$|\",", rig->drives[i].device);
	fprintf(f,
		"\"r|.*|\"]} global{locking_dir=\"%s/locks\"} backup{backup_dir=\"%s/backup\"}%s%s",
		rig->dir, rig->dir, more ? " " : "", more ? more : "");
	assert_int_equal(fclose(f), 0);
	free(rig->extra_config);
	rig->extra_config = text;
	rig->backend->extra_config = text;
}

struct rig *rig_new(void)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	char path[128];

	assert_non_null(rig);
	snprintf(rig->dir, sizeof(rig->dir), "%s/XXXXXX",
		 getenv("EPHLVM_RIG_DIR") ? getenv("EPHLVM_RIG_DIR") : "/tmp");
	assert_non_null(mkdtemp(rig->dir));
	snprintf(path, sizeof(path), "%s/locks", rig->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/ours", rig->dir);
	setenv("EPHLVM_LOCK_DIR", path, 1);
	snprintf(path, sizeof(path), "%s/state", rig->dir);
	setenv("EPHLVM_STATE_DIR", path, 1);
	assert_int_equal(ephlvm_ctx_new(&rig->ctx), 0);
	assert_int_equal(eph_config_default(rig->ctx, &rig->config), 0);
	rig->ctx->config = rig->config;
	rig->ctx->config_free = eph_config_free;
	assert_int_equal(eph_lvm_process_new(rig->ctx, NULL, &rig->backend), 0);
	rig->ctx->lvm = rig->backend;
	rig->ctx->lvm_free = rig->backend->free;
	rig->backend->metadata_only = true;
	rig_configure(rig, NULL);
	return rig;
}

void rig_free(struct rig *rig)
{
	if (!rig)
		return;
	for (size_t i = 0; i < rig->n; i++)
		if (rig->drives[i].device[0])
			rig_pull(rig, i);
	eph_lvm_view_free(rig->view);
	ephlvm_ctx_unref(rig->ctx);
	run("rm", (const char *const[]){ "-rf", rig->dir, NULL }, NULL, 0);
	free(rig->extra_config);
	free(rig);
}

size_t rig_add(struct rig *rig, unsigned int mib)
{
	struct rig_drive *drive = &rig->drives[rig->n];
	char file[sizeof(
		drive->file)]; /* of its own: both are in *rig, and an optimizer takes that for overlapping */

	assert_true(rig->n < RIG_MAX);
	assert_true(snprintf(file, sizeof(file), "%s/drive%zu", rig->dir, rig->n) <
		    (int)sizeof(file));
	memcpy(drive->file, file, sizeof(file));
	assert_int_equal(make_file(drive->file, mib), 0);
	rig->n++;
	rig_plug(rig, rig->n - 1, NULL);
	return rig->n - 1;
}

void rig_pull(struct rig *rig, size_t drive)
{
	struct rig_drive *d = &rig->drives[drive];

	assert_int_equal(run("losetup", (const char *const[]){ "-d", d->device, NULL }, NULL, 0),
			 0);
	d->device[0] = '\0';
	rig_configure(rig, NULL);
}

void rig_plug(struct rig *rig, size_t drive, const char *device)
{
	struct rig_drive *d = &rig->drives[drive];

	if (device) {
		snprintf(d->device, sizeof(d->device), "%s", device);
		assert_int_equal(run("losetup", (const char *const[]){ d->device, d->file, NULL },
				     NULL, 0),
				 0);
	} else {
		assert_int_equal(run("losetup",
				     (const char *const[]){ "-f", "--show", d->file, NULL },
				     d->device, sizeof(d->device)),
				 0);
	}
	rig_configure(rig, NULL);
}

static char *lvm(struct rig *rig, const char *verb, va_list ap)
{
	_cleanup_lvm_args_ struct eph_lvm_args args = { 0 };
	struct eph_lvm_call call = { .timeout_ms = 60000 };
	struct eph_lvm_result result = { 0 };
	const char *arg;
	char *text, *end;

	eph_lvm_args_begin(&args, rig->backend, verb, eph_lvm_config_read);
	while ((arg = va_arg(ap, const char *)))
		eph_lvm_arg(&args, arg);
	assert_int_equal(args.error, 0);
	call.argv = (const char *const *)args.v.v;
	assert_int_equal(rig->backend->call(rig->ctx, rig->backend, &call, &result), 0);
	if (result.status != 0)
		fail_msg("%s: status %d\n%s", verb, result.status, result.err);
	text = result.out + strspn(result.out, " \n");
	text = strdup(text);
	for (end = text + strlen(text); end > text && isspace((unsigned char)end[-1]); end--)
		end[-1] = '\0';
	eph_lvm_result_clear(&result);
	return text;
}

void rig_lvm(struct rig *rig, const char *verb, ...)
{
	va_list ap;

	va_start(ap, verb);
	free(lvm(rig, verb, ap));
	va_end(ap);
}

char *rig_ask(struct rig *rig, const char *verb, ...)
{
	va_list ap;
	char *text;

	va_start(ap, verb);
	text = lvm(rig, verb, ap);
	va_end(ap);
	return text;
}

struct eph_vg *rig_read(struct rig *rig, const char *name)
{
	eph_lvm_view_free(rig->view);
	rig->view = NULL;
	eph_enter(rig->ctx);
	if (eph_lvm_read(rig->ctx, 0, &rig->view) < 0)
		fail_msg("%s\n%s", ephlvm_error_message(rig->ctx), ephlvm_error_detail(rig->ctx));
	return name ? eph_lvm_vg_by_name(rig->view, name, NULL) : NULL;
}

struct eph_lv *rig_lv(struct rig *rig, const char *name, const char *lv)
{
	struct eph_vg *vg = rig_read(rig, name);
	struct eph_lv *found;

	assert_non_null(vg);
	found = eph_lvm_lv_by_name(vg, lv);
	assert_non_null(found);
	return found;
}

struct eph_vg *rig_pool(struct rig *rig, const char *name, size_t n)
{
	_cleanup_strv_ struct eph_strv devices = EPH_STRV_INIT, tags = EPH_STRV_INIT;
	struct eph_vg *vg;

	while (rig->n < n)
		rig_add(rig, 256);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(eph_strv_add(&devices, rig->drives[i].device), 0);
	assert_int_equal(eph_strv_addf(&tags, "ephlvm.pool=%s", name), 0);
	assert_int_equal(eph_lvm_pv_create(rig->ctx, &devices, MDA_BYTES), 0);
	assert_int_equal(eph_lvm_vg_create(rig->ctx, name, &devices, &tags), 0);
	vg = rig_read(rig, name);
	assert_non_null(vg);
	return vg;
}

struct eph_lv *rig_create(struct rig *rig, const char *name, const char *lv, uint64_t extents)
{
	_cleanup_strv_ struct eph_strv tags = EPH_STRV_INIT;
	const struct eph_lv_spec spec = {
		.name = lv,
		.extents = extents,
		.segtype = "linear",
		.tags = &tags,
	};

	assert_int_equal(eph_strv_add(&tags, "ephlvm"), 0);
	assert_int_equal(eph_strv_add(&tags, "ephlvm.state=new"), 0);
	if (eph_lvm_lv_create(rig->ctx, rig_read(rig, name), &spec, NULL) < 0)
		fail_msg("%s\n%s", ephlvm_error_message(rig->ctx), ephlvm_error_detail(rig->ctx));
	return rig_lv(rig, name, lv);
}
