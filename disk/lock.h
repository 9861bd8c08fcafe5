/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef DISK_LOCK_H
#define DISK_LOCK_H

#include <sys/stat.h>

#include <lkvm/disk.h>

/*
 * Keep other programs off the image that is open as disk->fd with @st: one that
 * may write is alone, readers share.  A block device that the host uses is
 * refused without @force.
 *
 * 0, also where the file system has no locks (disk->unlocked: the caller says
 * so).  -EBUSY: in use, or another -errno, with a line in @err; what is held
 * then is for disk_lock__drop().  Main thread.
 */
int disk_lock__take(struct disk *disk, const struct disk_params *params, const struct stat *st,
		    struct lk_err *err);
void disk_lock__drop(struct disk *disk);

#endif
