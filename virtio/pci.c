// SPDX-License-Identifier: GPL-2.0-only
/*
 * The modern virtio-pci transport: virtio 1.2, 4.1.  This file makes the PCI
 * function and hands accesses to BAR 0 to the structure that they hit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pci_private.h"

#define VIRTIO_VENDOR 0x1af4
#define VIRTIO_DEVICE_BASE 0x1040 /* 4.1.2: plus the device type */
#define VIRTIO_REVISION 1
#define VIRTIO_SUBSYS 0x1100 /* 4.1.2.1: 0x40 or higher for a modern device */

/* Device configuration: what lies behind config_size reads zero and takes no write. */
static void device_read(struct virtio_pci *vp, unsigned int off, void *data, unsigned int len)
{
	struct virtio_dev *dev = vp->dev;

	memset(data, 0, len);
	if (off >= dev->config_size || !dev->ops->config_read)
		return;
	if (len > dev->config_size - off)
		len = dev->config_size - off;
	dev->ops->config_read(dev, off, data, len);
}

static void device_write(struct virtio_pci *vp, unsigned int off, const void *data,
			 unsigned int len)
{
	struct virtio_dev *dev = vp->dev;

	if (vp->resetting || off >= dev->config_size || !dev->ops->config_write)
		return;
	if (len > dev->config_size - off)
		len = dev->config_size - off;
	dev->ops->config_write(dev, off, data, len);
}

/* 4.1.4.5: one byte; reading it acknowledges. */
static void isr_read(struct virtio_pci *vp, unsigned int off, uint8_t *data, unsigned int len)
{
	memset(data, 0, len);
	if (!off)
		data[0] = vp_isr__read(vp);
}

static void bar_read(void *opaque, uint64_t off, void *data, unsigned int len)
{
	unsigned int in_page = off % VP_PAGE;
	struct virtio_pci *vp = opaque;

	pthread_mutex_lock(&vp->lock);
	switch (off - in_page) {
	case VP_COMMON:
		vp_common__read(vp, in_page, data, len);
		break;
	case VP_ISR:
		isr_read(vp, in_page, data, len);
		break;
	case VP_DEVICE:
		device_read(vp, in_page, data, len);
		break;
	default: /* notify: write only */
		memset(data, 0, len);
	}
	pthread_mutex_unlock(&vp->lock);
}

static void bar_write(void *opaque, uint64_t off, const void *data, unsigned int len)
{
	unsigned int in_page = off % VP_PAGE;
	struct virtio_pci *vp = opaque;

	pthread_mutex_lock(&vp->lock);
	switch (off - in_page) {
	case VP_COMMON:
		vp_common__write(vp, in_page, data, len);
		break;
	case VP_DEVICE:
		device_write(vp, in_page, data, len);
		break;
	case VP_NOTIFY:
		vp_kick__write(vp, in_page);
		break;
	default: /* ISR: read only */
		break;
	}
	pthread_mutex_unlock(&vp->lock);
}

static const struct bus_ops bar_ops = {
	.read = bar_read,
	.write = bar_write,
};

static struct virtio_pci *of_pci(struct pci_dev *pci)
{
	return (struct virtio_pci *)((char *)pci - offsetof(struct virtio_pci, pci));
}

static void bar_moved(struct pci_dev *pci, unsigned int bar, uint64_t base, bool mapped)
{
	struct virtio_pci *vp = of_pci(pci);

	if (bar != VP_BAR)
		return;
	pthread_mutex_lock(&vp->lock);
	vp_kick__moved(vp, mapped ? base + VP_NOTIFY : 0);
	pthread_mutex_unlock(&vp->lock);
}

static void config_written(struct pci_dev *pci, unsigned int off, unsigned int len)
{
	struct virtio_pci *vp = of_pci(pci);

	if (!vp->msix.nr)
		return;
	msix__config_written(&vp->msix, off, len);
	vp_isr__sync(vp);
}

static const struct pci_dev_ops pci_ops = {
	.bar_moved = bar_moved,
	.config_written = config_written,
	.config_read = vp_window__read,
	.config_write = vp_window__write,
};

/* Capabilities and BARs; vp->pci has its identity. */
static int build_function(struct virtio_pci *vp)
{
	int ret = pci_dev__add_bar(&vp->pci, VP_BAR, VP_BAR_SIZE, true, &bar_ops, vp);

	if (!ret)
		ret = vp_caps__add(vp);
	if (!ret && vp->nr_vectors)
		ret = msix__init(&vp->msix, &vp->pci, vp->nr_vectors, VP_MSIX_BAR);
	return ret;
}

static int init_locks(struct virtio_pci *vp)
{
	int ret = -pthread_mutex_init(&vp->lock, NULL);

	if (ret)
		return ret;
	ret = -pthread_mutex_init(&vp->isr_lock, NULL);
	if (ret)
		pthread_mutex_destroy(&vp->lock);
	return ret;
}

static void release(struct virtio_pci *vp)
{
	if (vp->msix.nr)
		msix__fini(&vp->msix);
	pci_dev__fini(&vp->pci);
	pthread_mutex_destroy(&vp->isr_lock);
	pthread_mutex_destroy(&vp->lock);
	free(vp->kick_addr);
	vp->kick_addr = NULL;
}

int virtio_pci__init(struct virtio_pci *vp, struct virtio_dev *dev, struct pci_bus *bus,
		     unsigned int nr_vectors, uint32_t class_code)
{
	int ret;

	memset(vp, 0, sizeof(*vp));
	if (dev->nr_queues > VP_MAX_QUEUES || dev->config_size > VP_PAGE ||
	    nr_vectors > dev->nr_queues + 1)
		return -EINVAL;
	vp->dev = dev;
	vp->vm = bus->vm;
	vp->nr_vectors = nr_vectors;
	vp->kick_addr = calloc(dev->nr_queues, sizeof(*vp->kick_addr));
	if (!vp->kick_addr)
		return -ENOMEM;
	ret = init_locks(vp);
	if (ret) {
		free(vp->kick_addr);
		return ret;
	}
	pci_dev__ident(&vp->pci, VIRTIO_VENDOR, VIRTIO_DEVICE_BASE + dev->ops->id, VIRTIO_REVISION,
		       class_code, VIRTIO_VENDOR, VIRTIO_SUBSYS);
	vp->pci.bus = bus;
	vp->pci.ops = &pci_ops;
	dev->transport = &vp_transport_ops;
	dev->transport_data = vp;
	dev->offered |= 1ULL << VIRTIO_F_VERSION_1;
	vp_registers__init(vp);
	ret = build_function(vp);
	if (!ret)
		ret = pci__add(bus, &vp->pci);
	if (ret < 0)
		release(vp);
	return ret < 0 ? ret : 0;
}

void virtio_pci__fini(struct virtio_pci *vp)
{
	pci__remove(&vp->pci); /* ioeventfds go with the BAR */
	release(vp);
}
