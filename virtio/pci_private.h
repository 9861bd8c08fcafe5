/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VIRTIO_PCI_PRIVATE_H
#define VIRTIO_PCI_PRIVATE_H

#include <lkvm/virtio_pci.h>

/* Shared by the files of the transport.  Where nothing else is said: vp->lock held. */

/* BAR 0: one page a structure */
#define VP_BAR 0
#define VP_MSIX_BAR 2
#define VP_BAR_SIZE 0x4000U
#define VP_PAGE 0x1000U
#define VP_COMMON 0x0000U
#define VP_ISR 0x1000U
#define VP_DEVICE 0x2000U
#define VP_NOTIFY 0x3000U
#define VP_NOTIFY_MULTIPLIER 4U
#define VP_MAX_QUEUES (VP_PAGE / VP_NOTIFY_MULTIPLIER)

#define VP_ISR_QUEUE 0x1U /* 4.1.4.5; UAPI names the other bit alone */

static inline struct virtio_pci *vp_of(struct virtio_dev *dev)
{
	return dev->transport_data;
}

/* pci_caps.c: capability list and configuration access window.  Bus lock, not vp->lock. */
int vp_caps__add(struct virtio_pci *vp);
bool vp_window__read(struct pci_dev *pci, unsigned int off, void *data, unsigned int len);
bool vp_window__write(struct pci_dev *pci, unsigned int off, const void *data, unsigned int len);

/* pci_common.c: the common configuration structure */
void vp_common__read(struct virtio_pci *vp, unsigned int off, uint8_t *data, unsigned int len);
void vp_common__write(struct virtio_pci *vp, unsigned int off, const uint8_t *data,
		      unsigned int len);

/* pci_state.c: device status, reset, activation of queues */
void vp_status__write(struct virtio_pci *vp, uint8_t val);
void vp_queue__enable(struct virtio_pci *vp, struct virtio_queue *queue);
void vp_reset__try(struct virtio_pci *vp); /* finish a pending reset where all threads are idle */
void vp_registers__init(struct virtio_pci *vp); /* the state after reset */

/* pci_kick.c: notifications from the driver */
bool vp_kick__active(struct virtio_pci *vp, struct virtio_queue *queue);
void vp_kick__attach(struct virtio_pci *vp, struct virtio_queue *queue);
void vp_kick__detach(struct virtio_pci *vp, struct virtio_queue *queue);
void vp_kick__write(struct virtio_pci *vp, unsigned int off);
void vp_kick__moved(struct virtio_pci *vp, uint64_t notify_base);

/* pci_irq.c: notifications to the driver.  Any thread, vp->lock held or not. */
extern const struct virtio_transport_ops vp_transport_ops;
uint8_t vp_isr__read(struct virtio_pci *vp);
void vp_isr__clear(struct virtio_pci *vp);
void vp_isr__sync(struct virtio_pci *vp); /* MSI-X went on or off */

#endif
