// SPDX-License-Identifier: GPL-2.0-only
/*
 * The MSI-X table as it must not be written (PCI 3.0, 6.8.2), while reads that
 * interrupt are under way.  Afterwards a good entry delivers.  Messages that
 * the CPU takes for INIT, NMI or SMI are left out: those are the guest's harm.
 */
#include "test_hreg.h"

#include "apic.h"
#include "trap.h"

#define FAMILY "hostile-msix"
#define VECTOR (VEC_EDGE + 9)

struct entry {
	const char *name;
	uint64_t address;
	uint32_t data, control;
	uint16_t flags; /* of the capability */
};

#define ON PCI_MSIX_FLAGS_ENABLE

static const struct entry entries[] = {
	{"address 0", 0, VECTOR, 0, ON},
	{"address in RAM", 0x200000, VECTOR, 0, ON},
	{"address where nothing is", 0xd0000000, VECTOR, 0, ON},
	{"address of the IOAPIC", 0xfec00000, VECTOR, 0, ON},
	{"address above 4 GiB", 0x100000000ULL | APIC_BASE, VECTOR, 0, ON},
	{"address of all ones", -4ULL, VECTOR, 0, ON},
	{"address askew", APIC_BASE | 3, VECTOR, 0, ON},
	{"a CPU that is not there", APIC_BASE | 0x77000, VECTOR, 0, ON},
	{"logical destination none", APIC_BASE | 0x0000c, VECTOR, 0, ON},
	{"vector 0", APIC_BASE, 0, 0, ON},
	{"vector 1", APIC_BASE, 1, 0, ON},
	{"vector 15", APIC_BASE, 15, 0, ON},
	{"vector 0, level triggered", APIC_BASE, 0xc000, 0, ON},
	{"reserved delivery mode", APIC_BASE, 0x300 | VECTOR, 0, ON},
	{"reserved bits of the data", APIC_BASE, 0xffff0000 | VECTOR, 0, ON},
	{"masked", APIC_BASE, VECTOR, 1, ON},
	{"reserved bits of the control", APIC_BASE, VECTOR, 0xfffffffe, ON},
	{"all bits of the control", APIC_BASE, VECTOR, -1U, ON},
	{"function masked", APIC_BASE, VECTOR, 0, ON | PCI_MSIX_FLAGS_MASKALL},
	{"MSI-X off", APIC_BASE, VECTOR, 0, 0},
	{"MSI-X off, function masked", APIC_BASE, VECTOR, 0, PCI_MSIX_FLAGS_MASKALL},
	{"garbage, function masked", -1ULL, 0xa0000000 | VECTOR, -1U, ON | PCI_MSIX_FLAGS_MASKALL},
};

static void entry__write(const struct msix *msix, unsigned int nr, const struct entry *e)
{
	uint64_t at = msix->table + nr * PCI_MSIX_ENTRY_SIZE;

	mmio__write32(at + PCI_MSIX_ENTRY_LOWER_ADDR, e->address);
	mmio__write32(at + PCI_MSIX_ENTRY_UPPER_ADDR, e->address >> 32);
	mmio__write32(at + PCI_MSIX_ENTRY_DATA, e->data);
	mmio__write32(at + PCI_MSIX_ENTRY_VECTOR_CTRL, e->control);
	pci__write(msix->fn, msix->cap + PCI_MSIX_FLAGS, 2, e->flags);
}

/* Disk 0 with queue 0 on entry 1, which is good. */
static void msix__set_up(struct hreg *h)
{
	struct virtio *dev = hreg__dev(h);
	struct blk *blk = &h->d.blk[0];

	hreg__negotiate(h);
	msix__enable(&dev->msix, true);
	msix__set(&dev->msix, 0, VECTOR);
	msix__set(&dev->msix, 1, VECTOR);
	if (!virtio__setup_queue(dev, &blk->ring, 0, 0, 1))
		panic("no queue 0 with a vector");
	ring__slots(&blk->ring, blk->ring.size);
	virtio__driver_ok(dev);
}

static bool read__good(struct hreg *h)
{
	ring__irq(&h->d.blk[0].ring, true);
	return disks__read_ok(&h->d, 0);
}

/* With a good entry the interrupt of a read arrives. */
static bool delivers(struct hreg *h)
{
	uint64_t before;
	bool good;

	msix__set_up(h);
	irq__on(); /* what was sent before comes now */
	before = irq_count[VECTOR];
	good = read__good(h) && irq__wait(VECTOR, before + 1, HANG_MS);
	irq__off();
	return good;
}

static void finish(struct hreg *h, bool good, const char *name, const char *when)
{
	good &= delivers(h);
	msix__enable(&hreg__dev(h)->msix, false);
	hreg__end(h, VERDICT_COMPLETED, good ? VERDICT_COMPLETED : VERDICT_FAILED, "%s%s", name,
		  when);
}

static void entry__case(struct hreg *h, const struct entry *e, bool in_flight)
{
	struct msix *msix = &hreg__dev(h)->msix;
	struct blk *blk = &h->d.blk[0];
	bool good = true;
	unsigned int i;

	hreg__begin(h, FAMILY);
	msix__set_up(h);
	ring__irq(&blk->ring, true);
	for (i = 0; i < 2; i++) {
		if (in_flight) {
			blk__submit(blk, VIRTIO_BLK_T_IN, 0, h->d.buf, SECTOR);
			entry__write(msix, 1, e);
			good &= blk__wait(blk, NULL) == VIRTIO_BLK_S_OK;
		} else {
			entry__write(msix, 1, e);
			good &= read__good(h);
		}
	}
	finish(h, good, e->name, in_flight ? ", written while a read is under way" : "");
}

/* 6.8.2: aligned dwords and qwords are all that software shall use. */
static void table__check(struct hreg *h)
{
	static const struct {
		const char *name;
		uint32_t from, to;
		unsigned int width, step;
	} table[] = {
		{"table written by bytes", 0, 0x100, 1, 1},
		{"table written by words askew", 0, 0x100, 2, 1},
		{"table written by dwords askew", 1, 0x100, 4, 4},
		{"table written by qwords askew", 4, 0x100, 8, 8},
		{"behind the table", 0x100, 0x800, 4, 64},
		{"PBA written by dwords", 0x800, 0x880, 4, 4},
		{"PBA written by qwords", 0x800, 0x880, 8, 8},
		{"PBA written by bytes", 0x800, 0x880, 1, 1},
		{"behind the PBA", 0x880, 0x1000, 8, 64},
		{"across the end of the BAR", 0xffc, 0x1000, 8, 8},
	};
	struct msix *msix = &hreg__dev(h)->msix;
	uint64_t base = msix->table & -0x1000ULL;
	unsigned int i;
	uint32_t off;

	paging__map(base, 0x2000, true);
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		bool good;

		hreg__begin(h, FAMILY);
		msix__set_up(h);
		for (off = table[i].from; off < table[i].to; off += table[i].step) {
			reg__write(base + off, table[i].width, -1ULL);
			(void)reg__read(base + off, table[i].width);
		}
		good = !msix__pending(msix, 0) && !msix__pending(msix, 1) &&
		       mmio__read32(msix->table + PCI_MSIX_ENTRY_SIZE + PCI_MSIX_ENTRY_DATA) ==
			       VECTOR;
		finish(h, good && read__good(h), table[i].name, "");
	}
}

/* On, off, masked and not, as fast as it goes, while reads are made. */
static void flags__check(struct hreg *h)
{
	struct msix *msix = &hreg__dev(h)->msix;
	bool good = true;
	unsigned int i;

	hreg__begin(h, FAMILY);
	msix__set_up(h);
	for (i = 0; i < 64; i++) {
		if (!(i & 7))
			good &= read__good(h);
		pci__write(msix->fn, msix->cap + PCI_MSIX_FLAGS, 2, (i & 3) << 14);
		msix__mask(msix, 1, i & 4);
	}
	finish(h, good, "flags and mask changed 64 times", "");
	hreg__begin(h, FAMILY);
	msix__set_up(h);
	for (i = 0; i < 64; i++) {
		if (!(i & 7))
			good &= read__good(h);
		pci__write(msix->fn, PCI_COMMAND, 2,
			   PCI_COMMAND_MEMORY | (i & 1 ? PCI_COMMAND_INTX_DISABLE : 0) |
				   (i & 2 ? PCI_COMMAND_MASTER : 0));
	}
	pci__write(msix->fn, PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	finish(h, good, "bus mastering and INTx disable changed 64 times", "");
}

/* 4.1.5.1.2: the vector of the queue changed while reads are made. */
static void vector__check(struct hreg *h)
{
	static const uint16_t vectors[] = {0, VIRTIO_MSI_NO_VECTOR, 63, 1, 0xfffe, 2};
	uint64_t c = hreg__dev(h)->common;
	bool good = true;
	unsigned int i;

	hreg__begin(h, FAMILY);
	msix__set_up(h);
	for (i = 0; i < 24; i++) {
		mmio__write16(c + VIRTIO_PCI_COMMON_Q_MSIX, vectors[i % ARRAY_SIZE(vectors)]);
		mmio__write16(c + VIRTIO_PCI_COMMON_MSIX, vectors[(i + 1) % ARRAY_SIZE(vectors)]);
		good &= read__good(h);
	}
	finish(h, good, "vectors changed 24 times while reads are made", "");
}

void hreg__msix(struct hreg *h)
{
	unsigned int i;

	if (hreg__dev(h)->msix.nr < 2)
		return;
	for (i = 0; i < ARRAY_SIZE(entries); i++) {
		entry__case(h, &entries[i], false);
		entry__case(h, &entries[i], true);
	}
	table__check(h);
	flags__check(h);
	vector__check(h);
}
