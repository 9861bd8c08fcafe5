/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_VIRTIO_RNG_H
#define LKVM_VIRTIO_RNG_H

#include <lkvm/virtio.h>

/*
 * virtio-rng (virtio 1.2, 5.4): one queue, filled from getrandom(2).  No
 * configuration space: config_size is 0 and config_read NULL.
 */
#define VIRTIO_RNG_QUEUE_SIZE 64

struct virtio_rng {
	struct virtio_dev dev;
};

int virtio_rng__init(struct virtio_rng *rng, const struct guest_mem *mem); /* main thread */
void virtio_rng__fini(struct virtio_rng *rng);

#endif
