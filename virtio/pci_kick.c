// SPDX-License-Identifier: GPL-2.0-only
/*
 * virtio over PCI, driver to device: available buffer notifications (virtio
 * 1.2, 4.1.5.2).  A queue in use has an ioeventfd at its notify address, so
 * that a kick goes from KVM straight to the I/O thread.  Where KVM has none
 * (another BAR at the same address, or the BAR has just moved) the same write
 * comes through the MMIO bus.
 */
#include "pci_private.h"

bool vp_kick__active(struct virtio_pci *vp, struct virtio_queue *queue)
{
	return queue->enabled && !vp->resetting &&
	       (atomic_load(&vp->status) & VIRTIO_CONFIG_S_DRIVER_OK);
}

void vp_kick__attach(struct virtio_pci *vp, struct virtio_queue *queue)
{
	uint64_t addr = vp->notify_base + VP_NOTIFY_MULTIPLIER * queue->index;

	if (!vp->notify_base || vp->kick_addr[queue->index] || !vp_kick__active(vp, queue))
		return;
	if (!vm__ioeventfd(vp->vm, addr, queue->wakefd, true))
		vp->kick_addr[queue->index] = addr;
}

void vp_kick__detach(struct virtio_pci *vp, struct virtio_queue *queue)
{
	uint64_t *addr = &vp->kick_addr[queue->index];

	if (*addr)
		vm__ioeventfd(vp->vm, *addr, queue->wakefd, false);
	*addr = 0;
}

void vp_kick__moved(struct virtio_pci *vp, uint64_t notify_base)
{
	struct virtio_dev *dev = vp->dev;

	for (unsigned int i = 0; i < dev->nr_queues; i++)
		vp_kick__detach(vp, &dev->queues[i]);
	vp->notify_base = notify_base;
	for (unsigned int i = 0; i < dev->nr_queues; i++)
		vp_kick__attach(vp, &dev->queues[i]);
}

/*
 * A kick that reached user space.  The address says which queue; without
 * NOTIFICATION_DATA the value says it once more.  Where the ioeventfd is missing
 * because its address was taken, it may be free by now: the next kick is fast again.
 */
void vp_kick__write(struct virtio_pci *vp, unsigned int off)
{
	unsigned int index = off / VP_NOTIFY_MULTIPLIER;
	struct virtio_queue *queue;

	if (off % VP_NOTIFY_MULTIPLIER || index >= vp->dev->nr_queues)
		return;
	queue = &vp->dev->queues[index];
	if (!vp_kick__active(vp, queue))
		return;
	vp_kick__attach(vp, queue);
	virtio_queue__kick(queue);
}
