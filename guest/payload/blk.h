/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_BLK_H
#define PAYLOAD_BLK_H

#include <linux/virtio_blk.h>

#include "virtio.h"

#define SECTOR 512U

/* A virtio-blk device with one queue in use, one request at a time. */
struct blk {
	struct virtio dev;
	struct ring ring;
	uint64_t capacity; /* sectors */
	struct virtio_blk_outhdr *header;
	uint8_t *status;
};

#define BLK_TIMEOUT (-1) /* no answer within two seconds */
#define BLK_NO_STATUS 0xee /* what the status byte holds before the device writes it */

/*
 * The @nth disk: negotiate @features, queue 0 on MSI-X vector @msix (or
 * VIRTIO_MSI_NO_VECTOR), DRIVER_OK.  False: no such disk; panics where it does
 * not come up.
 */
bool blk__open(struct blk *blk, unsigned int nth, uint64_t features, uint16_t msix);

/* Put a request into the ring, not waiting. */
void blk__submit(struct blk *blk, uint32_t type, uint64_t sector, void *buf, uint32_t len);

/* Its status byte, or BLK_TIMEOUT; *used: bytes the device says it wrote (may be NULL). */
int blk__wait(struct blk *blk, uint32_t *used);

/* Both. */
int blk__request(struct blk *blk, uint32_t type, uint64_t sector, void *buf, uint32_t len,
		 uint32_t *used);

#endif
