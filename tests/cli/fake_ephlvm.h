/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fake_ephlvm.h - the whole public interface over values that a test sets, for tests of the
 * command.
 *
 * Each call is written to a log in shared memory, so that the test sees it although the command
 * runs in a child. A call answers with the failure that is set, if any, else with the objects that
 * are set.
 */
#ifndef FAKE_EPHLVM_H
#define FAKE_EPHLVM_H

#include <ephlvm/ephlvm.h>

struct ephlvm_volume {
	const char *vg, *lv, *path, *lv_uuid, *instance, *disk, *flavor, *pool, *kind, *layout, *fs,
		*label, *pe_ranges, *erase_method;
	enum ephlvm_volume_state state;
	uint64_t size_bytes, requested_bytes, erase_done_bytes, fail_bytes;
	bool active, open;
	int64_t changed_at, held_at;
	unsigned int erase_pass, erase_passes;
	int fail_errno;
	const char *warnings[3];
};

struct ephlvm_pool {
	const char *name, *vg, *vg_uuid;
	uint64_t size_bytes, free_bytes, allocatable_bytes, trash_bytes, extent_bytes,
		metadata_bytes, metadata_free_bytes;
	size_t volumes, foreign, missing;
	bool clean;
	const char *devices[3];
};

struct ephlvm_flavor {
	const char *name;
	unsigned int vcpus;
	uint64_t ram_bytes, root_bytes, ephemeral_bytes, swap_bytes;
	const char *pool, *fs, *kind, *layout;
	bool builtin;
};

struct fake {
	/* what the next calls answer with */
	enum ephlvm_error_kind kind;
	int errnum, child_status;
	const char *stage, *subject, *message, *hint, *detail;
	const char *warning; /* logged by every call */
	struct ephlvm_volume volumes[3];
	size_t n_volumes;
	struct ephlvm_pool pools[2];
	size_t n_pools;
	struct ephlvm_flavor flavors[4];
	size_t n_flavors;
	struct ephlvm_purged purged[3]; /* result, erased_bytes, errnum, message of volumes[i] */
	struct ephlvm_action actions[3];
	size_t n_actions;
	size_t n_progress; /* so many reports of 1 GiB each, of 16 */
	const char *receipts[3]; /* lines */
	const char *broken; /* where their chain is */
	const char *serial; /* of every device */

	char *calls; /* shared with the child */
	size_t calls_size;
};
extern struct fake fake;

/* Nothing set, no calls. */
void fake_reset(void);

#endif
