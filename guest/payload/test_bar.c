// SPDX-License-Identifier: GPL-2.0-only
/*
 * BARs of a device in use: sized, moved, laid over each other and over what
 * must not be covered, and switched off (PCI 3.0, 6.2.2 and 6.2.5.1).
 */
#include "acpi.h"
#include "apic.h"
#include "disks.h"
#include "pattern.h"
#include "trap.h"
#include "verdict.h"

#define FAMILY "pci-bar"

/* Nothing is there, neither in lkvm nor in a PC of QEMU with little RAM. */
#define PLACE_LOW 0xd0000000ULL
#define PLACE_HIGH 0x800000000ULL /* for any processor with 36 physical address bits */

#define DEAD_MS 5 /* how long a kick that must do nothing may take to do something */

static uint16_t numq__at(const struct disks *d, const struct moving *m, uint64_t base)
{
	paging__map(base, m->size, true);
	return mmio__read16(base + d->blk[0].dev.common - m->base + VIRTIO_PCI_COMMON_NUMQ);
}

/* New place answers, the old one does not, and a request gets through. */
static void move__check(struct disks *d, struct moving *m, uint64_t to, const char *name)
{
	uint16_t numq = numq__at(d, m, to), before = numq__at(d, m, m->base);

	verdict__check(FAMILY, numq && numq != 0xffff, "%s: answers at the new place", name);
	verdict__equal(FAMILY, 0xffff, before, "%s: nothing at the old one", name);
	disks__rebase(d, 0, m->base, to);
	m->base = to;
	verdict__check(FAMILY, disks__read_ok(d, 0) && disks__read_ok(d, 1),
		       "%s: kicks are heard at the new place", name);
}

static void bar__check_moves(struct disks *d)
{
	static const struct {
		const char *name;
		uint64_t base;
		bool decoding, high_first;
	} moves[] = {
		{"moved with decoding off", PLACE_LOW, false, false},
		{"moved above 4 GiB with decoding off", PLACE_HIGH, false, true},
		{"moved above 4 GiB, low half first", PLACE_HIGH + 0x10000000, true, false},
		{"moved above 4 GiB, high half first", PLACE_HIGH * 2, true, true},
		{"moved below 4 GiB, low half first", PLACE_LOW + 0x200000, true, false},
		{"moved from below to above, high half first", PLACE_HIGH, true, true},
		{"moved from above to below, high half first", PLACE_LOW, true, true},
		{"moved from below to above, low half first", PLACE_HIGH + 0x4000000, true, false},
	};
	struct moving m = disks__bar(d, 0);
	const uint64_t home = m.base;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(moves); i++) {
		pci__decode(m.fn, moves[i].decoding);
		moving__write(&m, moves[i].base, moves[i].high_first);
		pci__decode(m.fn, true);
		move__check(d, &m, moves[i].base, moves[i].name);
	}
	moving__write(&m, home, false);
	move__check(d, &m, home, "moved home");
}

/* Sizing with decoding on is no move: mask, value and function are as they were. */
static void bar__check_sizing(struct disks *d)
{
	struct moving m = disks__bar(d, 0);
	unsigned int reg = PCI_BASE_ADDRESS_0 + 4 * m.nr;
	uint32_t lo = pci__read(m.fn, reg, 4), hi = pci__read(m.fn, reg + 4, 4), mask;

	pci__write(m.fn, reg, 4, UINT32_MAX);
	mask = pci__read(m.fn, reg, 4);
	pci__write(m.fn, reg, 4, lo);
	verdict__equal(FAMILY, (uint32_t)-m.size, mask & (uint32_t)PCI_BASE_ADDRESS_MEM_MASK,
		       "low half sized with decoding on");
	verdict__equal(FAMILY, lo & 15, mask & 15, "type bits are read-only");
	pci__write(m.fn, reg + 4, 4, UINT32_MAX);
	mask = pci__read(m.fn, reg + 4, 4);
	pci__write(m.fn, reg + 4, 4, hi);
	verdict__equal(FAMILY, UINT32_MAX, mask, "high half sized with decoding on");
	verdict__check(FAMILY, disks__read_ok(d, 0), "works after each half was sized by itself");
	pci__write(m.fn, reg, 4, UINT32_MAX);
	pci__write(m.fn, reg + 4, 4, UINT32_MAX);
	mask = pci__read(m.fn, reg, 4);
	pci__write(m.fn, reg + 4, 4, hi);
	pci__write(m.fn, reg, 4, lo);
	verdict__equal(FAMILY, (uint32_t)-m.size, mask & (uint32_t)PCI_BASE_ADDRESS_MEM_MASK,
		       "both halves sized with decoding on");
	verdict__equal(FAMILY, m.base, disks__bar(d, 0).base, "base is as before");
	verdict__check(FAMILY, disks__read_ok(d, 0), "works after both were sized");
	for (mask = 0; mask < 4; mask++)
		pci__write(m.fn, reg + mask, 1, 0xff);
	mask = pci__read(m.fn, reg, 4);
	pci__write(m.fn, reg, 2, lo);
	pci__write(m.fn, reg + 2, 2, lo >> 16);
	verdict__equal(FAMILY, (uint32_t)-m.size, mask & (uint32_t)PCI_BASE_ADDRESS_MEM_MASK,
		       "sized by bytes, put back by words");
	verdict__check(FAMILY, disks__read_ok(d, 0), "works after it was sized by bytes");
}

/* Without memory decoding nothing of the device answers and no kick is heard. */
static void bar__check_decoding(struct disks *d)
{
	struct blk *blk = &d->blk[0];

	pci__decode(blk->dev.fn, false);
	verdict__equal(FAMILY, UINT32_MAX, mmio__read32(blk->dev.common),
		       "decoding off: nothing answers");
	verdict__equal(FAMILY, 0xffff, mmio__read16(blk->dev.common + VIRTIO_PCI_COMMON_NUMQ),
		       "decoding off: nothing answers a word");
	verdict__check(FAMILY, pci__read(blk->dev.fn, PCI_VENDOR_ID, 2) == 0x1af4,
		       "decoding off: configuration space answers");
	mmio__write8(blk->dev.common + VIRTIO_PCI_COMMON_STATUS, 0);
	blk__submit(blk, VIRTIO_BLK_T_IN, 0, d->buf, SECTOR);
	ring__notify(&blk->ring);
	verdict(FAMILY, "decoding off: a kick", VERDICT_IGNORED,
		disks__used(d, 0, DEAD_MS) ? VERDICT_FAILED : VERDICT_IGNORED);
	pci__decode(blk->dev.fn, true);
	verdict__check(FAMILY, virtio__status(&blk->dev) & VIRTIO_CONFIG_S_DRIVER_OK,
		       "decoding off: a reset goes nowhere");
	ring__notify(&blk->ring);
	verdict__equal(FAMILY, VIRTIO_BLK_S_OK, blk__wait(blk, NULL),
		       "decoding on again: what waited is done");
	verdict__check(FAMILY, disks__read_ok(d, 0) && disks__read_ok(d, 1),
		       "decoding on again: works");
}

/* Two BARs at one base: no matter which answers, both work once they are apart. */
static void bar__check_shared(struct disks *d)
{
	struct moving m[2] = {disks__bar(d, 0), disks__bar(d, 1)};
	unsigned int i;

	for (i = 0; i < 2; i++)
		pci__decode(m[i].fn, false);
	for (i = 0; i < 2; i++)
		moving__write(&m[i], PLACE_LOW, false);
	for (i = 0; i < 2; i++)
		pci__decode(m[i].fn, true);
	verdict__check(FAMILY, numq__at(d, &m[0], PLACE_LOW) != 0xffff,
		       "two devices at one base: one answers");
	moving__write(&m[1], m[1].base, false);
	disks__rebase(d, 0, m[0].base, PLACE_LOW);
	verdict__equal(FAMILY, 100, disks__reads(d, 0, 100), "one moved away: the other works");
	verdict__equal(FAMILY, 100, disks__reads(d, 1, 100), "one moved away: it works");
	pci__decode(m[1].fn, false);
	moving__write(&m[1], PLACE_LOW, false);
	pci__decode(m[1].fn, true);
	moving__write(&m[0], m[0].base, true);
	disks__rebase(d, 0, PLACE_LOW, m[0].base);
	disks__rebase(d, 1, m[1].base, PLACE_LOW);
	verdict__equal(FAMILY, 100, disks__reads(d, 0, 100), "the first moved away: it works");
	verdict__equal(FAMILY, 100, disks__reads(d, 1, 100),
		       "the first moved away: the other works");
	moving__write(&m[1], m[1].base, true);
	disks__rebase(d, 1, PLACE_LOW, m[1].base);
	verdict__check(FAMILY, disks__read_ok(d, 0) && disks__read_ok(d, 1), "both at home work");
}

/* Both BARs of one device at one base. */
static void bar__check_own(struct disks *d)
{
	struct moving m = disks__bar(d, 0), other = m;
	uint32_t table;

	if (!d->blk[0].dev.msix.nr)
		return;
	table = pci__read(m.fn, d->blk[0].dev.msix.cap + PCI_MSIX_TABLE, 4);
	other.nr = table & PCI_MSIX_TABLE_BIR;
	if (other.nr == m.nr)
		return;
	other.base = pci__bar(m.fn, other.nr).base;
	pci__decode(m.fn, false);
	moving__write(&other, m.base, false);
	pci__decode(m.fn, true);
	(void)mmio__read32(m.base);
	moving__write(&other, other.base, false);
	verdict__equal(FAMILY, 100, disks__reads(d, 0, 100),
		       "both BARs of a device at one base, then apart: works");
	mmio__write32(d->blk[0].dev.msix.table + PCI_MSIX_ENTRY_DATA, 0x41);
	verdict__equal(FAMILY, 0x41, mmio__read32(d->blk[0].dev.msix.table + PCI_MSIX_ENTRY_DATA),
		       "and so does the MSI-X table");
}

static uint64_t physbits__end(void)
{
	uint32_t id[4];

	cpu__cpuid(0x80000008, 0, id);
	return 1ULL << (id[0] & 0xff);
}

/* Where a BAR must not get in the way; 4.1 of the PC: RAM, APICs and ECAM win. */
static void bar__check_place(struct disks *d, struct moving *m, const char *name, uint64_t base)
{
	volatile uint64_t *ram = (volatile uint64_t *)(boot_info.heap_end - m->size);
	uint32_t id = apic__id(), pin, ecam = 0;
	bool good;

	*ram = 0x0123456789abcdefULL;
	if (acpi__ecam(NULL))
		ecam = pci__ecam_read(m->fn, 0, 4);
	mmio__write32(0xfec00000, 1); /* IOAPIC version */
	pin = mmio__read32(0xfec00010);
	moving__write(m, base, false);
	good = *ram == 0x0123456789abcdefULL && apic__id() == id;
	*ram = 42;
	good &= *ram == 42 && mmio__read32(0xfec00010) == pin;
	if (acpi__ecam(NULL))
		good &= pci__ecam_read(m->fn, 0, 4) == ecam;
	good &= disks__read_ok(d, 1);
	verdict__check(FAMILY, good, "BAR laid over %s: all that was there works", name);
	moving__write(m, m->base, false);
	verdict__check(FAMILY, disks__read_ok(d, 0), "BAR laid over %s and taken back: works",
		       name);
}

static void bar__check_places(struct disks *d)
{
	struct moving m = disks__bar(d, 0);
	const struct {
		const char *name;
		uint64_t base;
	} places[] = {
		{"RAM", boot_info.heap_end - m.size},
		{"RAM at 1 MiB", 0x100000},
		{"address 0", 0},
		{"the local APIC", APIC_BASE},
		{"the IOAPIC", 0xfec00000},
		{"ECAM", acpi__ecam(NULL)},
		{"the reset vector", 0x100000000ULL - m.size},
		{"the end of what the processor addresses", physbits__end() - m.size},
		{"what the processor cannot address", physbits__end()},
		{"the last address of all", -m.size},
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i].base || i == 2)
			bar__check_place(d, &m, places[i].name, places[i].base);
}

#define FLIGHT 16

/* Every one of the requests comes back once, and OK. */
static bool flight__lands(struct blk_queue *q)
{
	uint64_t end = time__deadline(HANG_MS);
	bool back[FLIGHT] = {false};
	unsigned int nr = 0;
	int slot;

	while (nr < FLIGHT && time__tsc() < end) {
		slot = blk_queue__get(q);
		if (slot < 0) {
			cpu__relax();
			continue;
		}
		if (slot >= FLIGHT || back[slot])
			return false;
		back[slot] = true;
		nr++;
	}
	return nr == FLIGHT && !q->errors && blk_queue__get(q) < 0;
}

static void flight__add(struct blk_queue *q)
{
	unsigned int i;

	for (i = 0; i < FLIGHT; i++)
		blk_queue__add(q, i, i * 8);
	ring__expose(&q->ring);
	(void)q->ring.ops->wants_kick(&q->ring);
}

/* Sixteen reads are there, the BAR moves: before it is kicked, and while they are under way. */
static void bar__check_flight(struct disks *d)
{
	struct moving m = disks__bar(d, 0);
	struct virtio *dev = &d->blk[0].dev;
	static struct blk_queue q;

	if (!virtio__negotiate(dev, virtio__ring_words()))
		panic("features are refused");
	blk_queue__init(&q, dev, 0, 0, VIRTIO_MSI_NO_VECTOR, FLIGHT, VIRTIO_BLK_T_IN, 4096);
	virtio__driver_ok(dev);
	flight__add(&q);
	ring__notify(&q.ring);
	verdict__check(FAMILY, flight__lands(&q), "16 reads in place");
	time__delay_us(1000 * DEAD_MS); /* the disk looks at its ring once more, then sleeps */
	moving__write(&m, PLACE_LOW, false);
	paging__map(PLACE_LOW, m.size, true);
	flight__add(&q);
	ring__notify(&q.ring);
	time__delay_us(1000 * DEAD_MS);
	verdict(FAMILY, "moved, a kick at the old place", VERDICT_IGNORED,
		q.slot[0].status == BLK_NO_STATUS ? VERDICT_IGNORED : VERDICT_FAILED);
	q.ring.notify += PLACE_LOW - m.base;
	ring__notify(&q.ring);
	verdict__check(FAMILY, flight__lands(&q), "moved, a kick at the new place: 16 reads once");
	flight__add(&q);
	ring__notify(&q.ring);
	moving__write(&m, m.base, true);
	verdict__check(FAMILY, flight__lands(&q), "moved while 16 reads are under way: all once");
	q.ring.notify += m.base - PLACE_LOW;
	flight__add(&q);
	ring__notify(&q.ring);
	pci__decode(m.fn, false);
	verdict__check(FAMILY, flight__lands(&q),
		       "decoding off while 16 reads are under way: all once");
	pci__decode(m.fn, true);
	disks__reopen(d, 0);
	verdict__check(FAMILY, disks__read_ok(d, 0) && disks__read_ok(d, 1),
		       "and works after that");
}

int test__bar(void)
{
	static struct disks d;

	if (!disks__open(&d)) {
		print("payload: fewer than two virtio-blk devices\n");
		return EXIT_SKIP;
	}
	apic__enable();
	bar__check_moves(&d);
	bar__check_sizing(&d);
	bar__check_decoding(&d);
	bar__check_shared(&d);
	bar__check_own(&d);
	bar__check_places(&d);
	bar__check_flight(&d);
	return verdict__summary();
}
