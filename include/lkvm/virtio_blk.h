/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_VIRTIO_BLK_H
#define LKVM_VIRTIO_BLK_H

#include <linux/virtio_blk.h>

#include <lkvm/disk.h>
#include <lkvm/virtio.h>

/*
 * virtio-blk (virtio 1.2, 5.2).  Features by disk: SEG_MAX, BLK_SIZE,
 * TOPOLOGY, FLUSH, MQ (more than one queue), RO.  The request array, one
 * request a descriptor head, and the engine context are per queue.  A driver
 * that does not accept FLUSH gets write-through: each write is followed by a
 * flush before it completes (5.2.6.2).
 */
struct virtio_blk {
	struct virtio_dev dev;
	struct disk *disk; /* the caller's; outlives the device */
	struct virtio_blk_config config; /* little endian, constant */
	char serial[VIRTIO_BLK_ID_BYTES]; /* NUL padded, not terminated at 20 */
};

struct virtio_blk_params {
	struct disk *disk;
	const struct guest_mem *mem;
	unsigned int nr_queues; /* 1 to 16 */
	uint16_t queue_size; /* power of two, 16 to 1024 */
	const char *serial; /* at most 20 bytes; NULL: none, all NUL */
};

/* Main thread.  0 or -errno with a message (engine limits). */
int virtio_blk__init(struct virtio_blk *blk, const struct virtio_blk_params *params,
		     struct lk_err *err);
void virtio_blk__fini(struct virtio_blk *blk); /* threads have ended */

#endif
