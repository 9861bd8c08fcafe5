// SPDX-License-Identifier: GPL-2.0-only
/*
 * virtio over PCI: device status (virtio 1.2, 2.1), feature negotiation (2.2),
 * activation of queues and reset (2.4).
 */
#include <lkvm/timeline.h>

#include "pci_private.h"

/* NEEDS_RESET is the device's to set. */
#define DRIVER_BITS                                                                           \
	(VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER | VIRTIO_CONFIG_S_FEATURES_OK | \
	 VIRTIO_CONFIG_S_DRIVER_OK | VIRTIO_CONFIG_S_FAILED)

static void reset_queue(struct virtio_queue *queue)
{
	queue->size = queue->size_max;
	queue->enabled = false;
	queue->desc = queue->avail = queue->used = 0;
	atomic_store(&queue->vector, VIRTIO_MSI_NO_VECTOR);
}

/* config_generation goes on: a driver compares it over one read of the configuration. */
void vp_registers__init(struct virtio_pci *vp)
{
	struct virtio_dev *dev = vp->dev;

	for (unsigned int i = 0; i < dev->nr_queues; i++)
		reset_queue(&dev->queues[i]);
	vp->device_feature_select = vp->driver_feature_select = 0;
	vp->driver_features = 0;
	vp->queue_select = 0;
	virtio_dev__set_features(dev, 0);
	atomic_store(&vp->msix_config, VIRTIO_MSI_NO_VECTOR);
	vp_isr__clear(vp);
	vp->resetting = false;
	atomic_store(&vp->status, 0);
}

/*
 * Only with every I/O thread idle does the device forget its state: no thread
 * signals or touches guest memory after device_status has read 0 (2.4.1).
 */
void vp_reset__try(struct virtio_pci *vp)
{
	if (!vp->resetting || !virtio_dev__idle(vp->dev))
		return;
	vp_registers__init(vp);
	msix__forget(&vp->msix);
}

static void reset(struct virtio_pci *vp)
{
	struct virtio_dev *dev = vp->dev;

	vp->resetting = true;
	for (unsigned int i = 0; i < dev->nr_queues; i++) {
		vp_kick__detach(vp, &dev->queues[i]);
		virtio_queue__stop(&dev->queues[i]);
	}
	vp_reset__try(vp);
}

/* 2.2.2: what the driver took must be offered; a modern device insists on VERSION_1. */
static bool features_ok(struct virtio_pci *vp)
{
	uint64_t taken = vp->driver_features;

	return !(taken & ~vp->dev->offered) && (taken & (1ULL << VIRTIO_F_VERSION_1));
}

/* The queue is enabled and DRIVER_OK is set: its addresses are looked at now. */
static void start_queue(struct virtio_pci *vp, struct virtio_queue *queue)
{
	struct virtio_dev *dev = vp->dev;
	struct virtq_layout layout = {
		.size = queue->size,
		.desc = queue->desc,
		.avail = queue->avail,
		.used = queue->used,
		.packed = virtio_dev__has(dev, VIRTIO_F_RING_PACKED),
		.indirect = virtio_dev__has(dev, VIRTIO_RING_F_INDIRECT_DESC),
		.event_idx = virtio_dev__has(dev, VIRTIO_RING_F_EVENT_IDX),
	};

	/* a queue that a failure has stopped keeps its ring until reset */
	if (atomic_load(&vp->status) & VIRTIO_CONFIG_S_NEEDS_RESET)
		return;
	if (atomic_load(&queue->state) != VIRTIO_QUEUE_IDLE)
		return;
	if (virtq__init(&queue->ring, dev->mem, &layout)) {
		virtio_dev__fail(dev);
		return;
	}
	virtio_queue__start(queue);
	vp_kick__attach(vp, queue);
}

void vp_queue__enable(struct virtio_pci *vp, struct virtio_queue *queue)
{
	if (queue->enabled)
		return;
	queue->enabled = true;
	if (vp_kick__active(vp, queue))
		start_queue(vp, queue);
}

static void driver_ok(struct virtio_pci *vp)
{
	struct virtio_dev *dev = vp->dev;

	for (unsigned int i = 0; i < dev->nr_queues; i++) {
		if (dev->queues[i].enabled)
			start_queue(vp, &dev->queues[i]);
	}
}

/* 2.1.1: bits are only ever added, but for 0, which resets. */
void vp_status__write(struct virtio_pci *vp, uint8_t val)
{
	unsigned int old = atomic_load(&vp->status);
	unsigned int add = val & DRIVER_BITS & ~old;

	if (!val) {
		reset(vp);
		return;
	}
	if ((add & VIRTIO_CONFIG_S_FEATURES_OK) && !features_ok(vp))
		add &= ~VIRTIO_CONFIG_S_FEATURES_OK;
	if (!((old | add) & VIRTIO_CONFIG_S_FEATURES_OK))
		add &= ~VIRTIO_CONFIG_S_DRIVER_OK; /* 3.1.1: negotiation was not finished */
	if (add & VIRTIO_CONFIG_S_FEATURES_OK)
		virtio_dev__set_features(vp->dev, vp->driver_features);
	/* not a store: an I/O thread may be setting NEEDS_RESET */
	atomic_fetch_or(&vp->status, add);
	if (!(add & VIRTIO_CONFIG_S_DRIVER_OK))
		return;
	if (!vp->driver_ok_at)
		vp->driver_ok_at = timeline__now();
	driver_ok(vp);
}
