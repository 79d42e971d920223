/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * edge/state.h - folders that are root's alone, and the small files kept in them.
 *
 * LVM's metadata is the truth about volumes. What lies in /var/lib/ephlvm only saves work, or tells of
 * what was done: how far an erase got, that free space is clean, receipts. Losing the first two means
 * doing the work again.
 */
#ifndef EPH_EDGE_STATE_H
#define EPH_EDGE_STATE_H

#include "core/context.h"
#include "util/text.h"

#define EPH_STATE_DIR "/var/lib/ephlvm"

/*
 * Open the folder @path, made with mode 0700 where it is not there (its parent must be). Refused
 * (-EPERM) where it is a link, or not root's (or the caller's) alone: who can write it can put files in the
 * place of ours. @what says in errors what the folder is for ("locks"). 0, -EPERM, -EACCES, -errno.
 */
int eph_folder_open(struct ephlvm_ctx *ctx, const char *path, const char *what, int *ret_fd);

/*
 * Open the folder @name below the state folder; both are made where they are not there. The
 * environment variable EPHLVM_STATE_DIR moves the state folder in test builds only.
 */
int eph_state_open(struct ephlvm_ctx *ctx, const char *name, int *ret_fd);

/*
 * Replace the file @name in @dir_fd, mode 0600: written beside it, fsynced, renamed over it, and the
 * folder fsynced, so that a reader sees the old content or the new, also after a power cut. @name is a
 * plain file name. 0 or -errno with its record.
 */
int eph_state_write(struct ephlvm_ctx *ctx, int dir_fd, const char *name, const void *data,
		    size_t bytes);

/*
 * Read the file whole, with a NUL behind it. Absent: 0 and *@ret_data NULL. A link, no plain file,
 * another's file, one that others can write, or one longer than @max_bytes: -EPERM or -EFBIG, with its record.
 * @ret_bytes may be NULL.
 */
int eph_state_read(struct ephlvm_ctx *ctx, int dir_fd, const char *name, size_t max_bytes,
		   char **ret_data, size_t *ret_bytes);

/* The names of all in @dir_fd, in no order. 0 or -errno with its record. */
int eph_state_names(struct ephlvm_ctx *ctx, int dir_fd, struct eph_strv *ret_names);

/* Remove the file and fsync the folder. What is not there is removed. */
int eph_state_remove(struct ephlvm_ctx *ctx, int dir_fd, const char *name);

#endif
