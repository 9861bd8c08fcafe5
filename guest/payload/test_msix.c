// SPDX-License-Identifier: GPL-2.0-only
/*
 * MSI-X (PCI 3.0, 6.8.2; virtio 1.2, 4.1.5.1.2 and 4.1.5.3): the table, masks,
 * pending bits and their replay, vectors that are not there.
 *
 * A device shows a completion first and then looks whether an interrupt is due.
 * That it has done so is certain once a pending bit is set, or after a reset
 * (virtio 1.2, 2.4.1): so "none" is tested behind one of the two.
 */
#include "test_irq.h"

#define FAMILY "msix"

static bool pending__wait(const struct msix *msix, unsigned int nr)
{
	uint64_t end = time__deadline(HANG_MS);

	while (!msix__pending(msix, nr))
		if (time__tsc() > end)
			return false;
	return true;
}

/* Entry i to vector VEC_EDGE + i; all unmasked, none pending. */
static void msix__arm(struct disks *d)
{
	struct msix *msix = &d->blk[0].dev.msix;
	unsigned int i;

	msix__enable(msix, true);
	for (i = 0; i < msix->nr; i++)
		msix__set(msix, i, VEC_EDGE + i);
}

static void msix__check_table(struct disks *d)
{
	static const struct {
		const char *name;
		unsigned int off;
		uint32_t holds; /* bits that are stored; the others read 0 */
	} fields[] = {
		{"address", PCI_MSIX_ENTRY_LOWER_ADDR, 0xfffffffc},
		{"upper address", PCI_MSIX_ENTRY_UPPER_ADDR, UINT32_MAX},
		{"data", PCI_MSIX_ENTRY_DATA, UINT32_MAX},
		{"vector control", PCI_MSIX_ENTRY_VECTOR_CTRL, PCI_MSIX_ENTRY_CTRL_MASKBIT},
	};
	struct msix *msix = &d->blk[0].dev.msix;
	unsigned int nr, i;

	for (nr = 0; nr < msix->nr; nr++) {
		uint64_t entry = msix->table + nr * PCI_MSIX_ENTRY_SIZE, pair;

		msix__mask(msix, nr, true);
		for (i = 0; i < ARRAY_SIZE(fields); i++) {
			uint32_t ones, zeroes;

			mmio__write32(entry + fields[i].off, UINT32_MAX);
			ones = mmio__read32(entry + fields[i].off);
			mmio__write32(entry + fields[i].off, 0);
			zeroes = mmio__read32(entry + fields[i].off);
			verdict__check(FAMILY, !zeroes && ones == fields[i].holds,
				       "entry %u: %s holds what is written", nr, fields[i].name);
			msix__mask(msix, nr, true);
		}
		mmio__write64(entry, 0x12345678fee00000ULL);
		pair = mmio__read64(entry);
		verdict__check(FAMILY,
			       pair == 0x12345678fee00000ULL &&
				       mmio__read32(entry + 4) == 0x12345678,
			       "entry %u: written and read by eight bytes", nr);
	}
	mmio__write32(msix->pba, UINT32_MAX);
	mmio__write64(msix->pba, UINT64_MAX);
	verdict__equal(FAMILY, 0, mmio__read64(msix->pba), "pending bits are read-only");
}

/* Every entry delivers its own vector and no other. */
static void msix__check_entries(struct disks *d)
{
	struct msix *msix = &d->blk[0].dev.msix;
	uint64_t before[16];
	unsigned int nr, i, others;

	for (nr = 0; nr < msix->nr && nr < ARRAY_SIZE(before); nr++) {
		msix__arm(d);
		irq__open(d, nr);
		for (i = 0; i < msix->nr; i++)
			before[i] = irq_count[VEC_EDGE + i];
		irq__read(d);
		verdict__check(FAMILY, irq__wait(VEC_EDGE + nr, before[nr] + 1, HANG_MS),
			       "entry %u: its vector comes", nr);
		virtio__reset(&d->blk[0].dev);
		for (i = others = 0; i < msix->nr; i++)
			others += irq_count[VEC_EDGE + i] - before[i];
		verdict__equal(FAMILY, 1, others, "entry %u: one interrupt in all", nr);
	}
}

/* Ways to hold a message back. */
static void block__entry(struct msix *msix, bool on)
{
	msix__mask(msix, 0, on);
}

static void block__function(struct msix *msix, bool on)
{
	uint32_t flags = pci__read(msix->fn, msix->cap + PCI_MSIX_FLAGS, 2);

	flags &= ~PCI_MSIX_FLAGS_MASKALL;
	pci__write(msix->fn, msix->cap + PCI_MSIX_FLAGS, 2,
		   flags | (on ? PCI_MSIX_FLAGS_MASKALL : 0));
}

/* PCI 3.0, 6.2.2: a message is a write that the function masters. */
static void block__master(struct msix *msix, bool on)
{
	uint32_t command = pci__read(msix->fn, PCI_COMMAND, 2) & ~PCI_COMMAND_MASTER;

	pci__write(msix->fn, PCI_COMMAND, 2, command | (on ? 0 : PCI_COMMAND_MASTER));
}

static const struct block {
	const char *name;
	void (*set)(struct msix *msix, bool on);
} blocks[] = {
	{"entry masked", block__entry},
	{"function masked", block__function},
	{"bus mastering off", block__master},
};

/* Held back, shown as pending, sent once when let go. */
static void msix__check_blocks(struct disks *d)
{
	struct msix *msix = &d->blk[0].dev.msix;
	uint64_t before = irq_count[VEC_EDGE];
	unsigned int i;

	msix__arm(d);
	irq__open(d, 0);
	for (i = 0; i < ARRAY_SIZE(blocks); i++, before++) {
		blocks[i].set(msix, true);
		blocks[i].set(msix, false);
		blocks[i].set(msix, true);
		irq__read(d);
		verdict__check(FAMILY, pending__wait(msix, 0), "%s: the pending bit is set",
			       blocks[i].name);
		verdict__equal(FAMILY, before, irq_count[VEC_EDGE], "%s: no interrupt",
			       blocks[i].name);
		blocks[i].set(msix, false);
		verdict__check(FAMILY, irq__wait(VEC_EDGE, before + 1, HANG_MS),
			       "%s, and no more: one comes", blocks[i].name);
		verdict__check(FAMILY, !msix__pending(msix, 0),
			       "%s, and no more: the pending bit is clear", blocks[i].name);
		time__delay_us(2000);
		verdict__equal(FAMILY, before + 1, irq_count[VEC_EDGE],
			       "%s, and no more: one in all", blocks[i].name);
	}
}

/* With two reasons the last one that goes lets the message through. */
static void msix__check_pairs(struct disks *d)
{
	struct msix *msix = &d->blk[0].dev.msix;
	uint64_t before = irq_count[VEC_EDGE];
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(blocks); i++) {
		for (j = 0; j < ARRAY_SIZE(blocks); j++) {
			bool held;

			if (i == j)
				continue;
			blocks[i].set(msix, true);
			blocks[j].set(msix, true);
			irq__read(d);
			held = pending__wait(msix, 0);
			blocks[i].set(msix, false);
			held &= msix__pending(msix, 0) && irq_count[VEC_EDGE] == before;
			blocks[j].set(msix, false);
			verdict__check(FAMILY, held && irq__wait(VEC_EDGE, ++before, HANG_MS),
				       "%s and %s, let go one by one", blocks[i].name,
				       blocks[j].name);
		}
	}
}

/* While masked the message may change: the new one is sent (6.8.2.2). */
static void msix__check_change(struct disks *d)
{
	struct msix *msix = &d->blk[0].dev.msix;
	uint64_t old = irq_count[VEC_EDGE], new = irq_count[VEC_EDGE + 9];
	unsigned int i;

	msix__mask(msix, 0, true);
	irq__read(d);
	verdict__check(FAMILY, pending__wait(msix, 0), "masked, a driver that waits for the bit");
	msix__set(msix, 0, VEC_EDGE + 9);
	verdict__check(FAMILY, irq__wait(VEC_EDGE + 9, new + 1, HANG_MS),
		       "changed while masked: the new vector comes");
	verdict__check(FAMILY, !msix__pending(msix, 0), "changed while masked: not pending");
	for (i = 0; i < 100; i++)
		msix__mask(msix, 0, i & 1);
	msix__mask(msix, 0, false);
	virtio__reset(&d->blk[0].dev);
	verdict__check(FAMILY, irq_count[VEC_EDGE] == old && irq_count[VEC_EDGE + 9] == new + 1,
		       "changed while masked: one, not the old vector, none from masking");
}

/* A reset of the device ends what was pending, and leaves the table alone (4.1.5.1.2). */
static void msix__check_reset(struct disks *d)
{
	struct msix *msix = &d->blk[0].dev.msix;
	uint64_t before;

	msix__arm(d);
	irq__open(d, 0);
	before = irq_count[VEC_EDGE];
	msix__mask(msix, 0, true);
	irq__read(d);
	pending__wait(msix, 0);
	virtio__reset(&d->blk[0].dev);
	verdict__check(FAMILY, !msix__pending(msix, 0), "reset: nothing is pending");
	msix__mask(msix, 0, false);
	irq__open(d, VIRTIO_MSI_NO_VECTOR);
	verdict__equal(FAMILY, before, irq_count[VEC_EDGE], "reset: nothing is sent");
	verdict__equal(FAMILY, VEC_EDGE, mmio__read32(msix->table + PCI_MSIX_ENTRY_DATA),
		       "reset: the table stays");
	verdict__check(FAMILY,
		       pci__read(msix->fn, msix->cap + PCI_MSIX_FLAGS, 2) & PCI_MSIX_FLAGS_ENABLE,
		       "reset: MSI-X stays on");
}

/* 4.1.5.1.2.1: a vector that is not there reads back as NO_VECTOR. */
static void msix__check_range(struct disks *d, const char *when)
{
	struct virtio *dev = &d->blk[0].dev;
	const uint16_t vectors[] = {dev->msix.nr, dev->msix.nr + 1, 0x7fff, 0xfffe, 0xffff};
	const struct {
		const char *name;
		unsigned int reg;
	} regs[] = {
		{"queue_msix_vector", VIRTIO_PCI_COMMON_Q_MSIX},
		{"config_msix_vector", VIRTIO_PCI_COMMON_MSIX},
	};
	unsigned int i, r;

	mmio__write16(dev->common + VIRTIO_PCI_COMMON_Q_SELECT, 0);
	for (r = 0; r < ARRAY_SIZE(regs); r++) {
		for (i = 0; i < ARRAY_SIZE(vectors); i++) {
			mmio__write16(dev->common + regs[r].reg, 0);
			verdict__equal(FAMILY, 0, mmio__read16(dev->common + regs[r].reg),
				       "%s 0, %s", regs[r].name, when);
			mmio__write16(dev->common + regs[r].reg, vectors[i]);
			verdict__equal(FAMILY, VIRTIO_MSI_NO_VECTOR,
				       mmio__read16(dev->common + regs[r].reg), "%s %x, %s",
				       regs[r].name, vectors[i], when);
		}
	}
}

static void msix__check_vectors(struct disks *d)
{
	struct virtio *dev = &d->blk[0].dev;
	uint64_t before, second;

	virtio__negotiate(dev, virtio__ring_words());
	msix__check_range(d, "before DRIVER_OK");
	irq__open(d, 0);
	msix__check_range(d, "after DRIVER_OK");
	before = irq_count[VEC_EDGE];
	verdict__equal(FAMILY, 100, disks__reads(d, 0, 100), "100 reads without a vector");
	/* the vector may change at any time, and counts from then on */
	if (dev->msix.nr > 1) {
		second = irq_count[VEC_EDGE + 1];
		mmio__write16(dev->common + VIRTIO_PCI_COMMON_Q_MSIX, 1);
		irq__read(d);
		verdict__check(FAMILY, irq__wait(VEC_EDGE + 1, second + 1, HANG_MS),
			       "a vector given after DRIVER_OK is used");
	}
	virtio__reset(dev);
	verdict__equal(FAMILY, before, irq_count[VEC_EDGE], "and no interrupt came without one");
}

/* 2.7.7, 2.8.10: none where the driver wants none. */
static void msix__check_wish(struct disks *d)
{
	uint64_t before;

	irq__open(d, 0);
	before = irq_count[VEC_EDGE];
	ring__irq(&d->blk[0].ring, false);
	blk__request(&d->blk[0], VIRTIO_BLK_T_IN, 0, d->buf, SECTOR, NULL);
	irq__open(d, 0);
	verdict__equal(FAMILY, before, irq_count[VEC_EDGE], "none where the driver wants none");
	irq__read(d);
	verdict__check(FAMILY, irq__wait(VEC_EDGE, before + 1, HANG_MS), "one where it wants one");
}

/* 2.1.2, 4.1.5.4: a device that fails says so on the vector for changes. */
static void msix__check_config(struct disks *d)
{
	unsigned int nr = d->blk[0].dev.msix.nr - 1;
	uint64_t before = irq_count[VEC_EDGE + nr];

	verdict(FAMILY, "a queue that lies where nothing is", VERDICT_NEEDS_RESET,
		irq__break(d, nr) ? VERDICT_NEEDS_RESET : VERDICT_FAILED);
	verdict__check(FAMILY, irq__wait(VEC_EDGE + nr, before + 1, HANG_MS),
		       "it is told on the vector for changes");
	virtio__reset(&d->blk[0].dev);
	verdict__equal(FAMILY, before + 1, irq_count[VEC_EDGE + nr], "once");
}

void msix__check(struct disks *d)
{
	virtio__reset(&d->blk[0].dev);
	msix__check_table(d);
	msix__check_entries(d);
	msix__check_blocks(d);
	msix__check_pairs(d);
	msix__check_change(d);
	msix__check_reset(d);
	msix__check_vectors(d);
	msix__check_wish(d);
	msix__check_config(d);
	virtio__reset(&d->blk[0].dev);
	msix__enable(&d->blk[0].dev.msix, false);
}
