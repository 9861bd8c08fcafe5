// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where a driver finds the structures (virtio 1.2, 4.1.4), and the window into
 * the BARs that config space offers to firmware (4.1.4.9).
 */
#include <endian.h>
#include <stddef.h>
#include <string.h>

#include "pci_private.h"

#define WINDOW_DATA offsetof(struct virtio_pci_cfg_cap, pci_cfg_data)
#define WINDOW_DATA_SIZE 4U

static struct virtio_pci_cap make_cap(uint8_t type, unsigned int len, uint32_t offset,
				      uint32_t length)
{
	return (struct virtio_pci_cap) {
		.cap_vndr = PCI_CAP_ID_VNDR,
		.cap_len = len,
		.cfg_type = type,
		.bar = VP_BAR,
		.offset = htole32(offset),
		.length = htole32(length),
	};
}

static int add_plain(struct virtio_pci *vp, uint8_t type, uint32_t offset, uint32_t length)
{
	struct virtio_pci_cap cap = make_cap(type, sizeof(cap), offset, length);
	int off = pci_dev__add_cap(&vp->pci, &cap, sizeof(cap));

	return off < 0 ? off : 0;
}

static int add_notify(struct virtio_pci *vp)
{
	struct virtio_pci_notify_cap cap = {
		.cap = make_cap(VIRTIO_PCI_CAP_NOTIFY_CFG, sizeof(cap), VP_NOTIFY,
				VP_NOTIFY_MULTIPLIER * vp->dev->nr_queues),
		.notify_off_multiplier = htole32(VP_NOTIFY_MULTIPLIER),
	};
	int off = pci_dev__add_cap(&vp->pci, &cap, sizeof(cap));

	return off < 0 ? off : 0;
}

/* The driver chooses BAR, offset and length, then reads or writes the data. */
static int add_window(struct virtio_pci *vp)
{
	struct virtio_pci_cfg_cap cap = {
		.cap = make_cap(VIRTIO_PCI_CAP_PCI_CFG, sizeof(cap), 0, 0),
	};
	int off = pci_dev__add_cap(&vp->pci, &cap, sizeof(cap));

	if (off < 0)
		return off;
	vp->window = off;
	vp->pci.wmask[off + VIRTIO_PCI_CAP_BAR] = 0xff;
	memset(vp->pci.wmask + off + VIRTIO_PCI_CAP_OFFSET, 0xff, 4);
	memset(vp->pci.wmask + off + VIRTIO_PCI_CAP_LENGTH, 0xff, 4);
	memset(vp->pci.wmask + off + WINDOW_DATA, 0xff, WINDOW_DATA_SIZE);
	return 0;
}

/* 4.1.4.6: a device type without configuration space has no capability for one. */
int vp_caps__add(struct virtio_pci *vp)
{
	int ret = add_plain(vp, VIRTIO_PCI_CAP_COMMON_CFG, VP_COMMON,
			    sizeof(struct virtio_pci_common_cfg));

	if (!ret)
		ret = add_plain(vp, VIRTIO_PCI_CAP_ISR_CFG, VP_ISR, 1);
	if (!ret && vp->dev->config_size)
		ret = add_plain(vp, VIRTIO_PCI_CAP_DEVICE_CFG, VP_DEVICE, vp->dev->config_size);
	if (!ret)
		ret = add_notify(vp);
	if (!ret)
		ret = add_window(vp);
	return ret;
}

static struct virtio_pci *of_pci(struct pci_dev *pci)
{
	return (struct virtio_pci *)((char *)pci - offsetof(struct virtio_pci, pci));
}

static bool hits_data(struct virtio_pci *vp, unsigned int off, unsigned int len)
{
	unsigned int data = vp->window + WINDOW_DATA;

	return off < data + WINDOW_DATA_SIZE && data < off + len;
}

struct target {
	const struct pci_bar *bar;
	uint32_t offset, length;
};

/*
 * 4.1.4.9.1: length 1, 2 or 4, offset a multiple of it; anything else, or what
 * is not in a BAR of this function, goes nowhere.  The driver cannot be relied on.
 */
static bool find_target(struct virtio_pci *vp, struct target *to)
{
	unsigned int nr = vp->pci.config[vp->window + VIRTIO_PCI_CAP_BAR];

	to->offset = pci_dev__get32(&vp->pci, vp->window + VIRTIO_PCI_CAP_OFFSET);
	to->length = pci_dev__get32(&vp->pci, vp->window + VIRTIO_PCI_CAP_LENGTH);
	if (nr >= PCI_BARS || !vp->pci.bar[nr].size)
		return false;
	if (to->length != 1 && to->length != 2 && to->length != 4)
		return false;
	to->bar = &vp->pci.bar[nr];
	return !(to->offset % to->length) && to->offset < to->bar->size;
}

/* Handlers run with the bus lock held here, and never take it (lock order: pci.h). */
bool vp_window__read(struct pci_dev *pci, unsigned int off, void *data, unsigned int len)
{
	struct virtio_pci *vp = of_pci(pci);
	struct target to;

	if (hits_data(vp, off, len) && find_target(vp, &to))
		to.bar->ops->read(to.bar->opaque, to.offset, pci->config + vp->window + WINDOW_DATA,
				  to.length);
	(void)data; /* the plain read that follows finds what was stored */
	return false;
}

bool vp_window__write(struct pci_dev *pci, unsigned int off, const void *data, unsigned int len)
{
	struct virtio_pci *vp = of_pci(pci);
	struct target to;

	if (!hits_data(vp, off, len))
		return false;
	/* an access stays in its dword, and the data is one */
	memcpy(pci->config + off, data, len);
	if (find_target(vp, &to))
		to.bar->ops->write(to.bar->opaque, to.offset,
				   pci->config + vp->window + WINDOW_DATA, to.length);
	return true;
}
