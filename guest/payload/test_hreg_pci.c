// SPDX-License-Identifier: GPL-2.0-only
/*
 * BARs and the command register while reads are under way (PCI 3.0, 6.2.2,
 * 6.2.5.1).  Each is put back afterwards; whatever was lost meanwhile is brought
 * back by a reset.
 */
#include "test_hreg.h"

#include "acpi.h"
#include "apic.h"

#define FAMILY "hostile-pci"
#define FLIGHT 32
#define ROUNDS 2
#define SWITCHES 40U

static const struct act {
	const char *name;
	uint16_t command_off, command_on; /* bits of PCI_COMMAND */
	uint64_t base; /* where the BAR goes; 0: it stays */
	bool all; /* every read comes back: the device was told nothing that concerns it */
} acts[] = {
	{"memory decoding off", PCI_COMMAND_MEMORY, 0, 0, true},
	{"bus mastering off", PCI_COMMAND_MASTER, 0, 0, false},
	{"both off", PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0, 0, false},
	{"all bits off", 0xffff, 0, 0, false},
	{"all bits on", 0, 0xffff, 0, true},
	{"INTx disabled", 0, PCI_COMMAND_INTX_DISABLE, 0, true},
	{"I/O decoding on", 0, PCI_COMMAND_IO, 0, true},
	{"BAR moved", 0, 0, 0xd0000000, true},
	{"BAR moved above 4 GiB", 0, 0, 0x800000000, true},
	{"BAR moved over RAM", 0, 0, 0x200000, true},
	{"BAR moved over the local APIC", 0, 0, APIC_BASE, true},
	{"BAR moved over the IOAPIC", 0, 0, 0xfec00000, true},
	{"BAR moved beyond what a CPU addresses", 0, 0, 1ULL << 60, true},
	{"BAR moved to the top", 0, 0, -0x4000ULL, true},
	{"BAR moved with decoding off", PCI_COMMAND_MEMORY, 0, 0xd0000000, true},
};

static struct blk_queue *flight__start(struct hreg *h, struct blk_queue *q)
{
	struct virtio *dev = hreg__dev(h);
	unsigned int i;

	hreg__negotiate(h);
	blk_queue__init(q, dev, 0, 0, VIRTIO_MSI_NO_VECTOR, FLIGHT, VIRTIO_BLK_T_IN, 4096);
	virtio__driver_ok(dev);
	for (i = 0; i < FLIGHT; i++)
		blk_queue__add(q, i, 8 * i);
	ring__publish(&q->ring);
	ring__notify(&q->ring);
	return q;
}

/* All back, each once and OK. */
static bool flight__lands(struct blk_queue *q)
{
	uint64_t end = time__deadline(HANG_MS);
	unsigned int nr = 0;

	while (nr < FLIGHT && time__tsc() < end) {
		if (blk_queue__get(q) >= 0)
			nr++;
		else
			cpu__relax();
	}
	return nr == FLIGHT && !q->errors && blk_queue__get(q) < 0;
}

static void act__case(struct hreg *h, const struct act *a)
{
	struct moving m = h->bar[0];
	uint16_t command = pci__read(m.fn, PCI_COMMAND, 2);
	static struct blk_queue q;
	bool good = true;
	unsigned int i;

	hreg__begin(h, FAMILY);
	for (i = 0; i < ROUNDS; i++) {
		flight__start(h, &q);
		pci__write(m.fn, PCI_COMMAND, 2, (command & ~a->command_off) | a->command_on);
		if (a->base) {
			moving__write(&m, a->base, i & 1);
			(void)disks__read_ok(&h->d, 1);
			moving__write(&m, m.base, i & 1);
		}
		pci__write(m.fn, PCI_COMMAND, 2, command);
		good &= flight__lands(&q) || !a->all;
	}
	hreg__end(h, VERDICT_COMPLETED, good ? VERDICT_COMPLETED : VERDICT_FAILED,
		  "%s while %u reads are under way", a->name, FLIGHT);
}

/* Without an end in sight: the BAR goes here and there while one read after another is made. */
static void storm__check(struct hreg *h)
{
	struct moving m = h->bar[0];
	static struct blk_queue q;
	unsigned int i;

	hreg__begin(h, FAMILY);
	flight__start(h, &q);
	for (i = 0; i < SWITCHES; i++) {
		moving__write(&m, 0xd0000000ULL + 0x4000 * (i % 7), i & 1);
		ring__notify(&q.ring);
	}
	moving__write(&m, m.base, true);
	ring__notify(&q.ring);
	hreg__end(h, VERDICT_COMPLETED, flight__lands(&q) ? VERDICT_COMPLETED : VERDICT_FAILED,
		  "BAR moved %u times while %u reads are under way", SWITCHES, FLIGHT);
	hreg__begin(h, FAMILY);
	flight__start(h, &q);
	for (i = 0; i < SWITCHES; i++)
		pci__decode(m.fn, i & 1);
	hreg__end(h, VERDICT_COMPLETED, flight__lands(&q) ? VERDICT_COMPLETED : VERDICT_FAILED,
		  "decoding switched %u times while %u reads are under way", SWITCHES, FLIGHT);
}

/* 2.4: a reset that goes where nothing answers is none; the next one is. */
static void unseen__check(struct hreg *h)
{
	struct moving m = h->bar[0];
	struct virtio *dev = hreg__dev(h);
	static struct blk_queue q;
	bool good;

	hreg__begin(h, FAMILY);
	flight__start(h, &q);
	pci__decode(m.fn, false);
	mmio__write8(dev->common + VIRTIO_PCI_COMMON_STATUS, 0);
	pci__decode(m.fn, true);
	good = virtio__status(dev) & VIRTIO_CONFIG_S_DRIVER_OK;
	hreg__end(h, VERDICT_IGNORED, good && flight__lands(&q) ? VERDICT_IGNORED : VERDICT_FAILED,
		  "reset with decoding off");
	hreg__begin(h, FAMILY);
	flight__start(h, &q);
	mmio__write8(dev->common + VIRTIO_PCI_COMMON_STATUS, 0);
	pci__decode(m.fn, false);
	pci__write(m.fn, PCI_COMMAND, 2, 0);
	pci__write(m.fn, PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	hreg__end(h, VERDICT_COMPLETED, virtio__reset(dev) ? VERDICT_COMPLETED : VERDICT_FAILED,
		  "everything off while a reset is under way");
}

void hreg__pci(struct hreg *h)
{
	unsigned int i;

	paging__map(0xd0000000, 0x200000, true);
	for (i = 0; i < ARRAY_SIZE(acts); i++)
		act__case(h, &acts[i]);
	storm__check(h);
	unseen__check(h);
}
