// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ring addresses that a device must not use: misaligned (virtio 1.2, 2.7,
 * 2.8.10.1), where no RAM is, across the end of RAM, around the end of the
 * address space.  The driver has to know better (4.1.4.3.2); a device that
 * cannot go on says DEVICE_NEEDS_RESET (2.1.2).
 */
#include "test_hreg.h"

#define FAMILY "hostile-ring"

enum base {
	FRESH, /* memory of its own, as it should be */
	RAM_END, /* the end of the RAM below 4 GiB */
	RAM_FIT, /* as high as the area fits */
	OWN_BAR, /* registers of this very device */
	OTHER_BAR, /* and of disk 1 */
	ABSOLUTE,
};

struct place {
	const char *name;
	enum base base;
	uint64_t add;
	unsigned int areas; /* in which it is wrong: bit 0 descriptors, 1 driver's, 2 device's */
	unsigned int expected;
};

#define ALL 7
#define BROKEN VERDICT_NEEDS_RESET

/* Packed rings want 4 for the driver's area too, where split ones want 2. */
static const struct place places[] = {
	{"1 byte off", FRESH, 1, ALL, BROKEN},
	{"2 bytes off", FRESH, 2, 5, BROKEN},
	{"8 bytes off", FRESH, 8, 1, BROKEN},
	{"15 bytes off", FRESH, 15, ALL, BROKEN},
	{"as high in RAM as it fits", RAM_FIT, 0, ALL, VERDICT_COMPLETED},
	{"one step over the end of RAM", RAM_FIT, 16, ALL, BROKEN},
	{"at the end of RAM", RAM_END, 0, ALL, BROKEN},
	{"beyond the end of RAM", RAM_END, 0x1000000, ALL, BROKEN},
	{"in the device's own registers", OWN_BAR, 0, ALL, BROKEN},
	{"in its doorbells", OWN_BAR, 0x3000, ALL, BROKEN},
	{"in another disk's registers", OTHER_BAR, 0, ALL, BROKEN},
	{"where nothing is", ABSOLUTE, 0xd0000000, ALL, BROKEN},
	{"in the IOAPIC", ABSOLUTE, 0xfec00000, ALL, BROKEN},
	{"in the local APIC", ABSOLUTE, 0xfee00000, ALL, BROKEN},
	{"across 4 GiB", ABSOLUTE, 0xfffffff0, ALL, BROKEN},
	{"beyond 36 bits", ABSOLUTE, 1ULL << 36, ALL, BROKEN},
	{"beyond 52 bits", ABSOLUTE, 1ULL << 52, ALL, BROKEN},
	{"in the upper half", ABSOLUTE, 1ULL << 63, ALL, BROKEN},
	{"across the end of the address space", ABSOLUTE, -16ULL, ALL, BROKEN},
};

static const char *const area_names[] = {"descriptors", "driver area", "device area"};
static const unsigned int area_regs[] = {VIRTIO_PCI_COMMON_Q_DESCLO, VIRTIO_PCI_COMMON_Q_AVAILLO,
					 VIRTIO_PCI_COMMON_Q_USEDLO};

static uint64_t ram__end(void)
{
	uint64_t end = 0, to;
	unsigned int i;

	for (i = 0; i < boot_info.nr_ram; i++) {
		to = boot_info.ram[i].base + boot_info.ram[i].size;
		if (to > end && to <= 1ULL << 32)
			end = to;
	}
	return end;
}

/* Bytes of an area, its event field included, rounded up to what all are aligned by. */
static uint64_t area__size(const struct ring *ring, unsigned int area)
{
	bool packed = ring->ops == &ring_packed_ops;
	uint64_t size = 16 * ring->size;

	if (area && packed)
		size = sizeof(struct vring_packed_desc_event);
	else if (area == 1)
		size = 6 + 2 * ring->size;
	else if (area == 2)
		size = 6 + 8 * ring->size;
	return (size + 15) & -16ULL;
}

static uint64_t place__address(struct hreg *h, const struct place *p, unsigned int area)
{
	struct ring *ring = &h->d.blk[0].ring;

	switch (p->base) {
	case FRESH:
		return (uintptr_t)ring->areas[area] + p->add;
	case RAM_END:
		return ram__end() + p->add;
	case RAM_FIT:
		return ram__end() - area__size(ring, area) + p->add;
	case OWN_BAR:
		return h->bar[0].base + p->add;
	case OTHER_BAR:
		return h->bar[1].base + p->add;
	default:
		return p->add;
	}
}

/* What this side uses follows the area where it is good; else it stays in fresh memory. */
static void ring__move_area(struct ring *ring, unsigned int area, uint64_t to)
{
	bool packed = ring->ops == &ring_packed_ops;
	void *at = (void *)to;

	memcpy(at, ring->areas[area], area__size(ring, area));
	if (area == 0 && packed)
		ring->packed = at;
	else if (area == 0)
		ring->desc = at;
	else if (area == 1 && packed)
		ring->driver = at;
	else if (area == 1)
		ring->avail = at;
	else if (packed)
		ring->device = at;
	else
		ring->used = at;
}

static void area__write(struct hreg *h, unsigned int area, uint64_t addr)
{
	uint64_t reg = hreg__dev(h)->common + area_regs[area];

	mmio__write32(reg, addr);
	mmio__write32(reg + 4, addr >> 32);
}

/* Set up as always but for one address; @late: the queue is enabled after DRIVER_OK. */
static void ring__case(struct hreg *h, const struct place *p, unsigned int area, bool late)
{
	struct blk *blk = &h->d.blk[0];
	uint64_t addr, common = blk->dev.common;

	hreg__begin(h, FAMILY);
	hreg__negotiate(h);
	hreg__queue(h); /* for its memory; enabled, so once more */
	addr = place__address(h, p, area);
	if (p->expected == VERDICT_COMPLETED)
		ring__move_area(&blk->ring, area, addr);
	hreg__negotiate(h);
	area__write(h, 0, (uintptr_t)blk->ring.areas[0]);
	area__write(h, 1, (uintptr_t)blk->ring.areas[1]);
	area__write(h, 2, (uintptr_t)blk->ring.areas[2]);
	area__write(h, area, addr);
	if (late)
		virtio__driver_ok(&blk->dev);
	mmio__write16(common + VIRTIO_PCI_COMMON_Q_ENABLE, 1);
	if (!late)
		virtio__driver_ok(&blk->dev);
	hreg__end(h, p->expected,
		  hreg__read(h, p->expected == VERDICT_COMPLETED ? HANG_MS : HREG_DEAD_MS),
		  "%s %s%s", area_names[area], p->name, late ? ", enabled after DRIVER_OK" : "");
}

/* Areas over each other: nothing the device can tell from what they hold.  It has to live. */
static void ring__check_overlap(struct hreg *h)
{
	static const struct {
		const char *name;
		unsigned int from[3]; /* which area's memory each takes */
		uint8_t fill;
	} table[] = {
		{"all three areas in one place, zeroes", {0, 0, 0}, 0},
		{"all three areas in one place, ones", {0, 0, 0}, 0xff},
		{"driver and device area in one place", {0, 1, 1}, 0},
		{"device area over the descriptors", {0, 1, 0}, 0},
		{"driver area over the descriptors", {0, 0, 2}, 0x7f},
	};
	struct blk *blk = &h->d.blk[0];
	unsigned int i, area;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		hreg__begin(h, FAMILY);
		hreg__negotiate(h);
		hreg__queue(h);
		hreg__negotiate(h);
		for (area = 0; area < 3; area++) {
			memset(blk->ring.areas[area], table[i].fill, area__size(&blk->ring, area));
			area__write(h, area, (uintptr_t)blk->ring.areas[table[i].from[area]]);
		}
		mmio__write16(blk->dev.common + VIRTIO_PCI_COMMON_Q_ENABLE, 1);
		virtio__driver_ok(&blk->dev);
		blk__submit(blk, VIRTIO_BLK_T_IN, 0, h->d.buf, SECTOR);
		ring__notify(&blk->ring);
		disks__used(&h->d, 0, HREG_DEAD_MS);
		hreg__end(h, VERDICT_IGNORED | VERDICT_NEEDS_RESET | VERDICT_COMPLETED,
			  hreg__needs_reset(h, 0)	  ? VERDICT_NEEDS_RESET
			  : *blk->status == BLK_NO_STATUS ? VERDICT_IGNORED
							  : VERDICT_COMPLETED,
			  "%s", table[i].name);
	}
}

void hreg__ring(struct hreg *h)
{
	unsigned int i, area;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		for (area = 0; area < 3; area++)
			if (places[i].areas >> area & 1) {
				ring__case(h, &places[i], area, false);
				ring__case(h, &places[i], area, true);
			}
	ring__check_overlap(h);
}
