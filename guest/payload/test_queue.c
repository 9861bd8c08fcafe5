// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registers of the common structure, queue by queue: widths, queues that
 * are not there, sizes, notify addresses, queues that the driver leaves alone
 * (virtio 1.2, 4.1.3.1, 4.1.4.3, 4.1.4.4).
 */
#include "disks.h"
#include "verdict.h"

#define FAMILY "virtio-queue"
#define MAX_QUEUES 16

struct reg {
	const char *name;
	unsigned int off, width;
	uint32_t absent; /* what it reads where the queue is not there */
};

/* Of the selected queue. */
static const struct reg queue_regs[] = {
	{"queue_size", VIRTIO_PCI_COMMON_Q_SIZE, 2, 0},
	{"queue_msix_vector", VIRTIO_PCI_COMMON_Q_MSIX, 2, VIRTIO_MSI_NO_VECTOR},
	{"queue_enable", VIRTIO_PCI_COMMON_Q_ENABLE, 2, 0},
	{"queue_notify_off", VIRTIO_PCI_COMMON_Q_NOFF, 2, 0},
	{"queue_desc_lo", VIRTIO_PCI_COMMON_Q_DESCLO, 4, 0},
	{"queue_desc_hi", VIRTIO_PCI_COMMON_Q_DESCHI, 4, 0},
	{"queue_driver_lo", VIRTIO_PCI_COMMON_Q_AVAILLO, 4, 0},
	{"queue_driver_hi", VIRTIO_PCI_COMMON_Q_AVAILHI, 4, 0},
	{"queue_device_lo", VIRTIO_PCI_COMMON_Q_USEDLO, 4, 0},
	{"queue_device_hi", VIRTIO_PCI_COMMON_Q_USEDHI, 4, 0},
};

/* Of the device. */
static const struct reg device_regs[] = {
	{"device_feature_select", VIRTIO_PCI_COMMON_DFSELECT, 4, 0},
	{"device_feature", VIRTIO_PCI_COMMON_DF, 4, 0},
	{"driver_feature_select", VIRTIO_PCI_COMMON_GFSELECT, 4, 0},
	{"driver_feature", VIRTIO_PCI_COMMON_GF, 4, 0},
	{"config_msix_vector", VIRTIO_PCI_COMMON_MSIX, 2, 0},
	{"num_queues", VIRTIO_PCI_COMMON_NUMQ, 2, 0},
	{"device_status", VIRTIO_PCI_COMMON_STATUS, 1, 0},
	{"config_generation", VIRTIO_PCI_COMMON_CFGGENERATION, 1, 0},
	{"queue_select", VIRTIO_PCI_COMMON_Q_SELECT, 2, 0},
};

static uint32_t reg__read(uint64_t addr, unsigned int width)
{
	return width == 1   ? mmio__read8(addr)
	       : width == 2 ? mmio__read16(addr)
			    : mmio__read32(addr);
}

static void reg__write(uint64_t addr, unsigned int width, uint32_t val)
{
	if (width == 1)
		mmio__write8(addr, val);
	else if (width == 2)
		mmio__write16(addr, val);
	else
		mmio__write32(addr, val);
}

static void queue__select(const struct virtio *dev, uint16_t index)
{
	mmio__write16(dev->common + VIRTIO_PCI_COMMON_Q_SELECT, index);
}

/* All registers of all queues that there are, folded into one number. */
static uint64_t queues__sum(const struct virtio *dev)
{
	unsigned int nr = mmio__read16(dev->common + VIRTIO_PCI_COMMON_NUMQ), q, i;
	uint64_t sum = 0;

	for (q = 0; q < nr; q++) {
		queue__select(dev, q);
		for (i = 0; i < ARRAY_SIZE(queue_regs); i++)
			sum = sum * 0x100000001b3ULL +
			      reg__read(dev->common + queue_regs[i].off, queue_regs[i].width);
	}
	return sum;
}

/* 4.1.4.3.1: a queue that is not there has size 0; nothing that is written to it has an effect. */
static void queue__check_absent(struct disks *d, uint16_t index, const char *when)
{
	struct virtio *dev = &d->blk[0].dev;
	uint64_t before = queues__sum(dev);
	unsigned int i, width, at;

	for (i = 0; i < ARRAY_SIZE(queue_regs); i++) {
		const struct reg *reg = &queue_regs[i];

		for (width = 1; width <= 4; width *= 2) {
			queue__select(dev, index);
			for (at = 0; at < reg->width; at += width)
				reg__write(dev->common + reg->off + at, width, 1);
			/* at another width than its own only that nothing breaks */
			(void)reg__read(dev->common + reg->off, width);
			verdict__f(FAMILY, VERDICT_IGNORED,
				   reg__read(dev->common + reg->off, reg->width) == reg->absent
					   ? VERDICT_IGNORED
					   : VERDICT_FAILED,
				   "%s of queue %04x, not there, by %u bytes, %s", reg->name, index,
				   width, when);
		}
	}
	verdict__f(FAMILY, VERDICT_IGNORED,
		   queues__sum(dev) == before ? VERDICT_IGNORED : VERDICT_FAILED,
		   "queue %04x, not there: the others are as before, %s", index, when);
}

static void queue__check_select(struct disks *d)
{
	uint16_t nr = mmio__read16(d->blk[0].dev.common + VIRTIO_PCI_COMMON_NUMQ);
	const uint16_t absent[] = {nr, nr + 1, 0x7fff, 0xffff};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(absent); i++)
		queue__check_absent(d, absent[i], "running");
	verdict__equal(FAMILY, 100, disks__reads(d, 0, 100), "100 reads after all that");
	virtio__reset(&d->blk[0].dev);
	for (i = 0; i < ARRAY_SIZE(absent); i++)
		queue__check_absent(d, absent[i], "after reset");
	disks__reopen(d, 0);
	verdict__equal(FAMILY, 100, disks__reads(d, 0, 100), "100 reads after a reset");
	verdict__equal(FAMILY, 1, disks__reads(d, 1, 1), "and one of the other disk");
}

/*
 * A register reads the same by parts.  Written by parts it is not to change: the
 * driver must not (4.1.3.1), and half a value is worse than none.
 */
static void reg__check_widths(const struct virtio *dev, const struct reg *reg)
{
	uint64_t addr = dev->common + reg->off;
	uint32_t val = reg__read(addr, reg->width), parts = 0;
	unsigned int i;

	for (i = 0; i < reg->width; i++)
		parts |= (uint32_t)mmio__read8(addr + i) << 8 * i;
	verdict__equal(FAMILY, val, parts, "%s read by bytes", reg->name);
	if (reg->width == 4)
		verdict__equal(FAMILY, val,
			       mmio__read16(addr) | (uint32_t)mmio__read16(addr + 2) << 16,
			       "%s read by words", reg->name);
	if (reg->width == 1)
		return;
	for (i = 0; i < reg->width; i++)
		mmio__write8(addr + i, ~(val >> 8 * i));
	verdict__f(FAMILY, VERDICT_IGNORED,
		   reg__read(addr, reg->width) == val ? VERDICT_IGNORED : VERDICT_FAILED,
		   "%s written by bytes", reg->name);
}

static void queue__check_widths(struct disks *d)
{
	struct virtio *dev = &d->blk[0].dev;
	unsigned int i;

	virtio__negotiate(dev, virtio__ring_words());
	queue__select(dev, 0);
	for (i = 0; i < ARRAY_SIZE(device_regs); i++)
		reg__check_widths(dev, &device_regs[i]);
	for (i = 0; i < ARRAY_SIZE(queue_regs); i++)
		reg__check_widths(dev, &queue_regs[i]);
	for (i = 4; i < ARRAY_SIZE(queue_regs); i++) { /* the addresses */
		mmio__write32(dev->common + queue_regs[i].off, 0x12345000 + i);
		verdict__equal(FAMILY, 0x12345000 + i,
			       mmio__read32(dev->common + queue_regs[i].off),
			       "%s holds what was written", queue_regs[i].name);
	}
	/* 4.1.3.1: two halves, or the whole where the CPU can */
	for (i = 4; i < ARRAY_SIZE(queue_regs); i += 2) {
		mmio__write64(dev->common + queue_regs[i].off, 0x0000000123456000ULL);
		verdict__check(FAMILY,
			       mmio__read32(dev->common + queue_regs[i].off) == 0x23456000 &&
				       mmio__read32(dev->common + queue_regs[i].off + 4) == 1,
			       "%s and its other half written at once", queue_regs[i].name);
	}
}

/* While a queue is enabled its registers stay (4.1.4.3.2: the driver must not). */
static void queue__check_enabled(struct disks *d)
{
	struct virtio *dev = &d->blk[0].dev;
	unsigned int i;

	disks__reopen(d, 0);
	queue__select(dev, 0);
	for (i = 0; i < ARRAY_SIZE(queue_regs); i++) {
		uint64_t addr = dev->common + queue_regs[i].off;
		uint32_t val = reg__read(addr, queue_regs[i].width);

		if (queue_regs[i].off == VIRTIO_PCI_COMMON_Q_MSIX)
			continue; /* may change at any time */
		reg__write(addr, queue_regs[i].width,
			   queue_regs[i].off == VIRTIO_PCI_COMMON_Q_ENABLE ? 0 : val ^ 0x10);
		verdict__f(FAMILY, VERDICT_IGNORED,
			   reg__read(addr, queue_regs[i].width) == val ? VERDICT_IGNORED
								       : VERDICT_FAILED,
			   "%s written while the queue is enabled", queue_regs[i].name);
	}
	verdict__equal(FAMILY, 100, disks__reads(d, 0, 100), "100 reads after that");
}

static bool size__works(struct disks *d, unsigned int size)
{
	struct blk *blk = &d->blk[0];

	if (!virtio__negotiate(&blk->dev, virtio__ring_words()) ||
	    !virtio__setup_queue(&blk->dev, &blk->ring, 0, size, VIRTIO_MSI_NO_VECTOR))
		return false;
	ring__slots(&blk->ring, blk->ring.size);
	queue__select(&blk->dev, 0);
	virtio__driver_ok(&blk->dev);
	/* twice round the ring, of three descriptors a request */
	return mmio__read16(blk->dev.common + VIRTIO_PCI_COMMON_Q_SIZE) == size &&
	       disks__reads(d, 0, 16) == 16;
}

/* 4.1.4.3.2: a split ring has a power of two, no ring more than the device said. */
static void queue__check_sizes(struct disks *d)
{
	struct virtio *dev = &d->blk[0].dev;
	unsigned int size, i;
	uint16_t max;

	virtio__negotiate(dev, virtio__ring_words());
	queue__select(dev, 0);
	max = mmio__read16(dev->common + VIRTIO_PCI_COMMON_Q_SIZE);
	for (size = 4; size <= max; size *= 2)
		verdict__check(FAMILY, size__works(d, size), "a queue of %u entries", size);
	if (virtio__ring_words() & VIRTIO_BIT(VIRTIO_F_RING_PACKED)) {
		for (i = 0, size = 3; i < 4; i++, size += 4)
			verdict__check(FAMILY, size__works(d, size), "a packed queue of %u entries",
				       size);
		virtio__negotiate(dev, virtio__ring_words());
		return;
	}
	const uint16_t bad[] = {0, 3, 5, max - 1, max + 1, max * 2, 0x8000, 0xffff};

	virtio__negotiate(dev, virtio__ring_words());
	queue__select(dev, 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		mmio__write16(dev->common + VIRTIO_PCI_COMMON_Q_SIZE, bad[i]);
		verdict__f(FAMILY, VERDICT_IGNORED,
			   mmio__read16(dev->common + VIRTIO_PCI_COMMON_Q_SIZE) == max
				   ? VERDICT_IGNORED
				   : VERDICT_FAILED,
			   "a split queue of %u entries", bad[i]);
	}
}

/* Each queue has a notify address inside the structure (4.1.4.4.1), and its own here. */
static void queue__check_notify(struct disks *d)
{
	struct virtio *dev = &d->blk[0].dev;
	unsigned int nr = mmio__read16(dev->common + VIRTIO_PCI_COMMON_NUMQ), q;
	unsigned int cap = pci__next_cap(dev->fn, PCI_CAP_ID_VNDR, 0);
	uint32_t len;

	while (cap &&
	       pci__read(dev->fn, cap + VIRTIO_PCI_CAP_CFG_TYPE, 1) != VIRTIO_PCI_CAP_NOTIFY_CFG)
		cap = pci__next_cap(dev->fn, PCI_CAP_ID_VNDR, cap);
	len = pci__read(dev->fn, cap + VIRTIO_PCI_CAP_LENGTH, 4);
	for (q = 0; q < nr; q++) {
		queue__select(dev, q);
		verdict__check(FAMILY,
			       (uint64_t)mmio__read16(dev->common + VIRTIO_PCI_COMMON_Q_NOFF) *
						       dev->notify_multiplier +
					       2 <=
				       len,
			       "notify address of queue %u lies in the structure", q);
	}
}

/* Only the queues in @mask; a few reads on each, and no effect of kicking the others. */
static bool subset__works(struct disks *d, unsigned int nr, unsigned int mask)
{
	struct blk *blk = &d->blk[0];
	struct virtio *dev = &blk->dev;
	struct ring ring[MAX_QUEUES];
	unsigned int q, good = 0, want = 0;

	if (!virtio__negotiate(dev, virtio__ring_words() | VIRTIO_BIT(VIRTIO_BLK_F_MQ)))
		return false;
	for (q = 0; q < nr; q++) {
		if (!(mask >> q & 1))
			continue;
		if (!virtio__setup_queue(dev, &ring[q], q, 16, VIRTIO_MSI_NO_VECTOR))
			return false;
		ring__slots(&ring[q], ring[q].size);
	}
	virtio__driver_ok(dev);
	for (q = 0; q < nr; q++) {
		if (!(mask >> q & 1)) {
			queue__select(dev, q);
			mmio__write16(dev->notify +
					      (uint64_t)mmio__read16(dev->common +
								     VIRTIO_PCI_COMMON_Q_NOFF) *
						      dev->notify_multiplier,
				      q);
			continue;
		}
		blk->ring = ring[q];
		good += disks__reads(d, 0, 50);
		ring[q] = blk->ring;
		want += 50;
	}
	return good == want &&
	       virtio__status(dev) == (VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER |
				       VIRTIO_CONFIG_S_FEATURES_OK | VIRTIO_CONFIG_S_DRIVER_OK);
}

static void queue__check_subsets(struct disks *d)
{
	unsigned int nr = mmio__read16(d->blk[0].dev.common + VIRTIO_PCI_COMMON_NUMQ), mask;

	for (mask = 0; nr > 1 && nr <= 4 && mask < 1U << nr; mask++)
		verdict__check(FAMILY, subset__works(d, nr, mask),
			       "of %u queues those in mask %x are enabled, all are kicked", nr,
			       mask);
	if (nr > 1 && nr <= MAX_QUEUES)
		verdict__check(FAMILY, subset__works(d, nr, (1U << nr) - 1),
			       "then all %u queues after a reset", nr);
	verdict__check(FAMILY, disks__read_ok(d, 1), "and the other disk works");
}

int test__queue(void)
{
	static struct disks d;

	if (!disks__open(&d)) {
		print("payload: fewer than two virtio-blk devices\n");
		return EXIT_SKIP;
	}
	queue__check_select(&d);
	queue__check_widths(&d);
	queue__check_enabled(&d);
	queue__check_sizes(&d);
	queue__check_notify(&d);
	queue__check_subsets(&d);
	return verdict__summary();
}
