/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_VIRTIO_H
#define PAYLOAD_VIRTIO_H

#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_pci.h>

#include "pci.h"
#include "ring.h"

/* A modern virtio device on PCI (virtio 1.2, 4.1): where its structures answer. */
struct virtio {
	pci_fn_t fn;
	uint64_t common, isr, device, notify;
	uint32_t notify_multiplier, device_len;
	struct msix msix; /* nr 0: none */
	uint64_t features; /* negotiated */
};

#define VIRTIO_BIT(n) (1ULL << (n))

/* The @nth device of type @id on bus 0; decoding and bus mastering on.  False: none. */
bool virtio__find(struct virtio *dev, unsigned int id, unsigned int nth);

/* Access to struct virtio_pci_common_cfg by VIRTIO_PCI_COMMON_* offset. */
static inline uint8_t virtio__status(const struct virtio *dev)
{
	return mmio__read8(dev->common + VIRTIO_PCI_COMMON_STATUS);
}

/* Device reset (2.4): write 0, wait until 0 is read.  False: it hangs. */
bool virtio__reset(struct virtio *dev);

uint64_t virtio__offered(const struct virtio *dev);

/*
 * Reset, ACKNOWLEDGE, DRIVER, the offered ones of @wanted (VERSION_1 always),
 * FEATURES_OK.  False: the device does not agree.
 */
bool virtio__negotiate(struct virtio *dev, uint64_t wanted);
void virtio__driver_ok(struct virtio *dev);

static inline bool virtio__has(const struct virtio *dev, unsigned int bit)
{
	return dev->features >> bit & 1;
}

/*
 * The ring features that the command line asks for, from all that there are:
 * rings=split|packed, event_idx=on|off, indirect=on|off.
 */
uint64_t virtio__ring_words(void);

/*
 * Queue @index with @size entries (0: as many as the device has) in fresh
 * memory, split or packed as negotiated, enabled; MSI-X vector number @msix or
 * VIRTIO_MSI_NO_VECTOR.  False: no such queue, or it does not take size or vector.
 */
bool virtio__setup_queue(struct virtio *dev, struct ring *ring, unsigned int index,
			 unsigned int size, uint16_t msix);

#endif
