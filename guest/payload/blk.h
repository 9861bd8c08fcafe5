/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_BLK_H
#define PAYLOAD_BLK_H

#include <linux/virtio_blk.h>

#include "virtio.h"

#define SECTOR 512U
#define BLK_TIMEOUT (-1) /* no answer within HANG_MS */
#define BLK_NO_STATUS 0xee /* what the status byte holds before the device writes it */

/* A virtio-blk device with one queue in use, one request at a time (blk.c). */
struct blk {
	struct virtio dev;
	struct ring ring;
	uint64_t capacity; /* sectors */
	struct virtio_blk_outhdr *header;
	uint8_t *status;
};

/*
 * The @nth disk: negotiate @features, queue 0 on MSI-X vector @msix (or
 * VIRTIO_MSI_NO_VECTOR), DRIVER_OK.  False: no such disk; panics where it does
 * not come up.
 */
bool blk__open(struct blk *blk, unsigned int nth, uint64_t features, uint16_t msix);

uint64_t blk__capacity(const struct virtio *dev);
unsigned int blk__block(const struct blk *blk); /* bytes; needs VIRTIO_BLK_F_BLK_SIZE accepted */

/* Put a request into the ring, not waiting. */
void blk__submit(struct blk *blk, uint32_t type, uint64_t sector, void *buf, uint32_t len);

/* The same for any chain; blk->header and blk->status are there to be pointed at. */
void blk__submit_chain(struct blk *blk, const struct ring_seg *seg, unsigned int nr);

/* Its status byte, or BLK_TIMEOUT; *used: bytes the device says it wrote (may be NULL). */
int blk__wait(struct blk *blk, uint32_t *used);

/* Both. */
int blk__request(struct blk *blk, uint32_t type, uint64_t sector, void *buf, uint32_t len,
		 uint32_t *used);

/* test_request.c: every type of request; @buf has 64 KiB and a page */
void request__check(struct blk *blk, char *buf);

/*
 * A queue that keeps many requests of one kind in flight (blk_queue.c): slot i
 * of the ring is request i, prepared once, so that starting it again costs a
 * few stores.
 */
struct blk_slot {
	struct virtio_blk_outhdr header;
	struct vring_desc table[3]; /* of an indirect descriptor, either format */
	uint8_t status; /* a cache line of its own: the device writes it */
} __attribute__((aligned(128)));

struct blk_queue {
	struct ring ring;
	struct blk_slot *slot;
	unsigned int depth;
	uint64_t errors;
};

/*
 * Queue @index of a device that is negotiated and not yet DRIVER_OK, with
 * @entries (0: all): @depth requests of @type, VIRTIO_BLK_T_IN or OUT, with
 * @bytes each; indirect where that was negotiated.  Panics where it cannot be.
 */
void blk_queue__init(struct blk_queue *q, struct virtio *dev, unsigned int index,
		     unsigned int entries, uint16_t msix, unsigned int depth, uint32_t type,
		     uint32_t bytes);

/* Request @i once more, at @sector; shown to the device by ring__publish(). */
static inline void blk_queue__add(struct blk_queue *q, unsigned int i, uint64_t sector)
{
	q->slot[i].header.sector = sector;
	q->slot[i].status = BLK_NO_STATUS;
	ring__add(&q->ring, i);
}

/* A request that has come back, or -1.  Its status goes into q->errors. */
static inline int blk_queue__get(struct blk_queue *q)
{
	struct ring_used used;

	if (!ring__get(&q->ring, &used))
		return -1;
	q->errors += q->slot[used.slot].status != VIRTIO_BLK_S_OK;
	return used.slot;
}

#endif
