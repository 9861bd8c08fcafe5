/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_VIRTIO_PCI_H
#define LKVM_VIRTIO_PCI_H

#include <linux/virtio_pci.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <lkvm/msix.h>
#include <lkvm/pci.h>
#include <lkvm/virtio.h>

/*
 * Modern virtio over PCI (virtio 1.2, 4.1).  BAR 0 (64-bit) holds the common,
 * ISR, device and notify structures, BAR 2 (64-bit) the MSI-X table and PBA.
 * One notify address a queue, each an ioeventfd that follows the BAR.
 *
 * Reset never blocks a vCPU: writing 0 to device_status tells the I/O threads
 * to finish, and device_status reads non-zero until they have (2.1, 4.1.4.3.1:
 * the driver waits for 0).
 *
 * Bus mastering off holds MSI-X messages back as pending bits until it is on
 * again.  Requests that a driver has made available are still served then.
 *
 * ioeventfds exist for queues in use alone: a kick of any other queue reaches
 * user space and is dropped there.  Lock order: see pci.h.
 */
struct virtio_pci {
	struct pci_dev pci;
	struct msix msix;
	struct virtio_dev *dev;
	struct vm *vm;
	pthread_mutex_t lock; /* register file, ioeventfds; vCPU threads; never held across I/O */
	pthread_mutex_t isr_lock; /* isr and INTx go together; vCPU and I/O threads (INTx) */
	unsigned int nr_vectors; /* 0: no MSI-X capability, INTx alone */
	atomic_uint status; /* device_status */
	unsigned int isr; /* 1: queue, VIRTIO_PCI_ISR_CONFIG; isr_lock */
	atomic_uint msix_config; /* vector or VIRTIO_MSI_NO_VECTOR */
	atomic_uint generation;
	bool resetting;
	uint32_t device_feature_select, driver_feature_select;
	uint64_t driver_features;
	uint64_t driver_ok_at; /* CLOCK_MONOTONIC of the first DRIVER_OK, 0: none */
	uint16_t queue_select;
	uint64_t notify_base; /* where the notify structure answers now, 0: unmapped */
	uint64_t *kick_addr; /* per queue: address of its ioeventfd, 0: none; owned */
	unsigned int window; /* offset of the PCI configuration access capability */
};

/*
 * Attach @dev to a new PCI function.  @nr_vectors: 0 for INTx alone, 1 for one
 * shared vector, up to the number of queues + 1.  @class_code: 24 bits.
 * Main thread.  0 or -errno, nothing left behind.  The virtio_pci and dev stay
 * the caller's and outlive the vCPUs.
 */
int virtio_pci__init(struct virtio_pci *vp, struct virtio_dev *dev, struct pci_bus *bus,
		     unsigned int nr_vectors, uint32_t class_code);
/* Main thread: vCPUs and I/O threads have ended.  Before pci__fini(). */
void virtio_pci__fini(struct virtio_pci *vp);

#endif
