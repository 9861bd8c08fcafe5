// SPDX-License-Identifier: GPL-2.0-only
/*
 * virtio over PCI, device to driver: used buffer and configuration change
 * notifications (virtio 1.2, 4.1.5.3, 4.1.5.4) by MSI-X, or by INTx and the ISR
 * status byte.
 */
#include "pci_private.h"

/* isr_lock held.  With MSI-X on a function must not use INTx (PCI 3.0, 6.8.2). */
static void sync_intx(struct virtio_pci *vp)
{
	pci_dev__intx(&vp->pci, vp->isr && !msix__enabled(&vp->msix));
}

void vp_isr__sync(struct virtio_pci *vp)
{
	pthread_mutex_lock(&vp->isr_lock);
	sync_intx(vp);
	pthread_mutex_unlock(&vp->isr_lock);
}

/*
 * The bit and the line change together under isr_lock.  Otherwise a read of the
 * ISR between the two would leave the line up with nothing to acknowledge.
 * True where the bit is new: the driver has not been told since it last looked.
 */
static bool raise_isr(struct virtio_pci *vp, unsigned int bit)
{
	bool fresh;

	pthread_mutex_lock(&vp->isr_lock);
	fresh = !(vp->isr & bit);
	vp->isr |= bit;
	sync_intx(vp);
	pthread_mutex_unlock(&vp->isr_lock);
	return fresh;
}

uint8_t vp_isr__read(struct virtio_pci *vp)
{
	unsigned int isr;

	pthread_mutex_lock(&vp->isr_lock);
	isr = vp->isr;
	vp->isr = 0;
	sync_intx(vp);
	pthread_mutex_unlock(&vp->isr_lock);
	return isr;
}

void vp_isr__clear(struct virtio_pci *vp)
{
	(void)vp_isr__read(vp);
}

/* The path of every completed batch: with MSI-X no lock, one write. */
static bool signal_queue(struct virtio_dev *dev, struct virtio_queue *queue)
{
	struct virtio_pci *vp = vp_of(dev);

	if (!msix__enabled(&vp->msix))
		return raise_isr(vp, VP_ISR_QUEUE);
	/* VIRTIO_MSI_NO_VECTOR is beyond any table: nothing is sent */
	return msix__signal(&vp->msix, atomic_load(&queue->vector));
}

/* 4.1.5.4.1: the ISR bit is set with MSI-X too. */
static void signal_config(struct virtio_pci *vp)
{
	if (!(atomic_load(&vp->status) & VIRTIO_CONFIG_S_DRIVER_OK))
		return; /* 2.1.2: no notification before DRIVER_OK */
	raise_isr(vp, VIRTIO_PCI_ISR_CONFIG);
	if (msix__enabled(&vp->msix))
		msix__signal(&vp->msix, atomic_load(&vp->msix_config));
}

static void config_changed(struct virtio_dev *dev)
{
	struct virtio_pci *vp = vp_of(dev);

	atomic_fetch_add(&vp->generation, 1);
	signal_config(vp);
}

static void fail(struct virtio_dev *dev)
{
	struct virtio_pci *vp = vp_of(dev);

	if (atomic_fetch_or(&vp->status, VIRTIO_CONFIG_S_NEEDS_RESET) & VIRTIO_CONFIG_S_NEEDS_RESET)
		return;
	for (unsigned int i = 0; i < dev->nr_queues; i++)
		virtio_queue__stop(&dev->queues[i]);
	signal_config(vp);
}

const struct virtio_transport_ops vp_transport_ops = {
	.signal = signal_queue,
	.config_changed = config_changed,
	.needs_reset = fail,
};
