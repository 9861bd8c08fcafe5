/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_DISK_FAULT_H
#define LKVM_DISK_FAULT_H

#include "engine.h"

/*
 * Faults on purpose, for tests alone: a layer between a queue and its engine,
 * whichever that is.  A disk without faults does not have it.
 *
 *	faults = rule *("+" rule)            at most DISK_FAULT_RULES
 *	rule   = kind ":" which
 *	kind   = "eio"     the request fails with -EIO and does nothing
 *	       | "enospc"  the same with -ENOSPC
 *	       | "short"   a read or write stops after about half, at a block, and
 *	                   is continued, so that it succeeds
 *	       | "eagain"  the engine has no room: the request waits until another
 *	                   one completes, or nothing is under way, and succeeds
 *	which  = N         each Nth request
 *	       | P "/" N   the Pth of each N
 *	       | "@" P     the Pth of each batch (what is queued before a submit)
 *
 * P and N are decimal and start at 1; requests are counted for each queue, all
 * kinds together.  The first rule that fits a request is the one that counts.
 * Examples: "eio:3", "enospc:1/8", "short:2+eagain:@1".
 */
#define DISK_FAULT_RULES 8

/* Sets disk->fault.  0, -EINVAL with a line in @err, or -ENOMEM. */
int disk_fault__parse(struct disk *disk, const char *faults, struct lk_err *err);
void disk_fault__free(struct disk *disk);
/* Main thread: put the layer on top of the engine of an initialised queue.  0 or -ENOMEM. */
int disk_fault__wrap(struct disk_queue *q);

#endif
