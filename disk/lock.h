/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DISK_LOCK_H
#define DISK_LOCK_H

#include <lkvm/disk.h>

/*
 * Keep other programs off the open image @fd: one that may write (@read_only
 * false) is alone, readers share.  The lock belongs to the open file description
 * and goes with its last descriptor, also when the process is killed.
 *
 * 0.  -EBUSY: in use, with a line in @err.  -ENOLCK: the file system has no
 * locks; nothing is held, and the caller says so.  Main thread.
 */
int disk_lock__take(int fd, const char *path, bool read_only, struct lk_err *err);

/*
 * Before @fd is closed: an io_uring keeps the description of a registered file,
 * and the lock on it, until the kernel takes the ring apart, some time later.
 */
void disk_lock__release(int fd);

/*
 * In use: wait a little and say whether to try once more.  After a kill -9 the
 * kernel needs a moment, as above, to give up what the process had.  @tries
 * begins with 0.
 */
bool disk_lock__again(unsigned int *tries);

#endif
