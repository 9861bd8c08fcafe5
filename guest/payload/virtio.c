// SPDX-License-Identifier: GPL-2.0-only
#include "virtio.h"

#define VENDOR 0x1af4
#define DEVICE_BASE 0x1040 /* 4.1.2.1: plus the device type */

/* 4.1.4: find one structure and map the BAR it lies in. */
static uint64_t virtio__structure(pci_fn_t fn, unsigned int type, uint32_t *len, uint32_t *extra)
{
	unsigned int cap = pci__next_cap(fn, PCI_CAP_ID_VNDR, 0);
	struct pci_bar bar;

	for (; cap; cap = pci__next_cap(fn, PCI_CAP_ID_VNDR, cap)) {
		if (pci__read(fn, cap + VIRTIO_PCI_CAP_CFG_TYPE, 1) != type)
			continue;
		bar = pci__bar(fn, pci__read(fn, cap + VIRTIO_PCI_CAP_BAR, 1));
		if (bar.io || !bar.size)
			continue;
		paging__map(bar.base, bar.size, true);
		if (len)
			*len = pci__read(fn, cap + VIRTIO_PCI_CAP_LENGTH, 4);
		if (extra)
			*extra = pci__read(fn, cap + VIRTIO_PCI_NOTIFY_CAP_MULT, 4);
		return bar.base + pci__read(fn, cap + VIRTIO_PCI_CAP_OFFSET, 4);
	}
	return 0;
}

struct search {
	unsigned int id, nth;
	pci_fn_t fn;
};

static bool virtio__match(pci_fn_t fn, void *arg)
{
	struct search *s = arg;

	if (pci__read(fn, PCI_VENDOR_ID, 2) != VENDOR ||
	    pci__read(fn, PCI_DEVICE_ID, 2) != DEVICE_BASE + s->id)
		return false;
	s->fn = fn;
	return !s->nth--;
}

bool virtio__find(struct virtio *dev, unsigned int id, unsigned int nth)
{
	struct search s = {.id = id, .nth = nth};

	if (!pci__walk(virtio__match, &s))
		return false;
	memset(dev, 0, sizeof(*dev));
	dev->fn = s.fn;
	pci__write(s.fn, PCI_COMMAND, 2,
		   pci__read(s.fn, PCI_COMMAND, 2) | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	dev->common = virtio__structure(s.fn, VIRTIO_PCI_CAP_COMMON_CFG, NULL, NULL);
	dev->isr = virtio__structure(s.fn, VIRTIO_PCI_CAP_ISR_CFG, NULL, NULL);
	dev->device = virtio__structure(s.fn, VIRTIO_PCI_CAP_DEVICE_CFG, &dev->device_len, NULL);
	dev->notify =
		virtio__structure(s.fn, VIRTIO_PCI_CAP_NOTIFY_CFG, NULL, &dev->notify_multiplier);
	msix__find(&dev->msix, s.fn);
	return dev->common && dev->isr && dev->notify;
}

bool virtio__reset(struct virtio *dev)
{
	uint64_t end = time__deadline(HANG_MS);

	mmio__write8(dev->common + VIRTIO_PCI_COMMON_STATUS, 0);
	while (virtio__status(dev)) {
		if (time__tsc() > end)
			return false;
		cpu__relax();
	}
	return true;
}

uint64_t virtio__offered(const struct virtio *dev)
{
	uint64_t lo;

	mmio__write32(dev->common + VIRTIO_PCI_COMMON_DFSELECT, 0);
	lo = mmio__read32(dev->common + VIRTIO_PCI_COMMON_DF);
	mmio__write32(dev->common + VIRTIO_PCI_COMMON_DFSELECT, 1);
	return lo | (uint64_t)mmio__read32(dev->common + VIRTIO_PCI_COMMON_DF) << 32;
}

/* 3.1.1: the order of these steps is the driver's duty. */
bool virtio__negotiate(struct virtio *dev, uint64_t wanted)
{
	uint8_t status = VIRTIO_CONFIG_S_ACKNOWLEDGE;

	if (!virtio__reset(dev))
		return false;
	mmio__write8(dev->common + VIRTIO_PCI_COMMON_STATUS, status);
	status |= VIRTIO_CONFIG_S_DRIVER;
	mmio__write8(dev->common + VIRTIO_PCI_COMMON_STATUS, status);
	dev->features = virtio__offered(dev) & (wanted | VIRTIO_BIT(VIRTIO_F_VERSION_1));
	mmio__write32(dev->common + VIRTIO_PCI_COMMON_GFSELECT, 0);
	mmio__write32(dev->common + VIRTIO_PCI_COMMON_GF, dev->features);
	mmio__write32(dev->common + VIRTIO_PCI_COMMON_GFSELECT, 1);
	mmio__write32(dev->common + VIRTIO_PCI_COMMON_GF, dev->features >> 32);
	status |= VIRTIO_CONFIG_S_FEATURES_OK;
	mmio__write8(dev->common + VIRTIO_PCI_COMMON_STATUS, status);
	return virtio__has(dev, VIRTIO_F_VERSION_1) && virtio__status(dev) == status;
}

void virtio__driver_ok(struct virtio *dev)
{
	mmio__write8(dev->common + VIRTIO_PCI_COMMON_STATUS,
		     virtio__status(dev) | VIRTIO_CONFIG_S_DRIVER_OK);
}

static void virtio__write64(const struct virtio *dev, unsigned int lo, unsigned int hi, void *addr)
{
	mmio__write32(dev->common + lo, (uintptr_t)addr);
	mmio__write32(dev->common + hi, (uintptr_t)addr >> 32);
}

uint64_t virtio__ring_words(void)
{
	uint64_t features = 0;
	char rings[16] = "split";

	cmdline__get("rings", rings, sizeof(rings));
	if (!strcmp(rings, "packed"))
		features |= VIRTIO_BIT(VIRTIO_F_RING_PACKED);
	else if (strcmp(rings, "split"))
		panic("rings=%s is neither split nor packed", rings);
	if (cmdline__bool("event_idx", true))
		features |= VIRTIO_BIT(VIRTIO_RING_F_EVENT_IDX);
	if (cmdline__bool("indirect", true))
		features |= VIRTIO_BIT(VIRTIO_RING_F_INDIRECT_DESC);
	return features;
}

bool virtio__setup_queue(struct virtio *dev, struct ring *ring, unsigned int index,
			 unsigned int size, uint16_t msix)
{
	uint64_t c = dev->common;

	memset(ring, 0, sizeof(*ring));
	mmio__write16(c + VIRTIO_PCI_COMMON_Q_SELECT, index);
	ring->size = mmio__read16(c + VIRTIO_PCI_COMMON_Q_SIZE);
	if (!ring->size || size > ring->size)
		return false;
	if (size)
		ring->size = size;
	ring->index = index;
	ring->event_idx = virtio__has(dev, VIRTIO_RING_F_EVENT_IDX);
	ring->ops = virtio__has(dev, VIRTIO_F_RING_PACKED) ? &ring_packed_ops : &ring_split_ops;
	ring->ops->init(ring);
	ring__slots(ring, 3);
	mmio__write16(c + VIRTIO_PCI_COMMON_Q_SIZE, ring->size);
	mmio__write16(c + VIRTIO_PCI_COMMON_Q_MSIX, msix);
	if (mmio__read16(c + VIRTIO_PCI_COMMON_Q_MSIX) != msix)
		return false;
	virtio__write64(dev, VIRTIO_PCI_COMMON_Q_DESCLO, VIRTIO_PCI_COMMON_Q_DESCHI,
			ring->areas[0]);
	virtio__write64(dev, VIRTIO_PCI_COMMON_Q_AVAILLO, VIRTIO_PCI_COMMON_Q_AVAILHI,
			ring->areas[1]);
	virtio__write64(dev, VIRTIO_PCI_COMMON_Q_USEDLO, VIRTIO_PCI_COMMON_Q_USEDHI,
			ring->areas[2]);
	ring->notify = dev->notify + (uint64_t)mmio__read16(c + VIRTIO_PCI_COMMON_Q_NOFF) *
					     dev->notify_multiplier;
	mmio__write16(c + VIRTIO_PCI_COMMON_Q_ENABLE, 1);
	ring__irq(ring, msix != VIRTIO_MSI_NO_VECTOR);
	return mmio__read16(c + VIRTIO_PCI_COMMON_Q_ENABLE) == 1;
}
