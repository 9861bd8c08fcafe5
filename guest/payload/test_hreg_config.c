// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device configuration written everywhere (virtio 1.2, 2.5, 5.2.4), and
 * configuration space of PCI likewise (PCI 3.0, 6.1), at every width, while the
 * device is in use.
 */
#include "test_hreg.h"

#include "acpi.h"

static const uint64_t garbage[] = {-1ULL, 0xa5a5a5a5a5a5a5a5ULL};
#define WCE offsetof(struct virtio_blk_config, wce)

/* Fields do not change, but writeback where that was negotiated (5.2.6.2): 0 or 1. */
static void config__case(struct hreg *h, unsigned int width, unsigned int step, bool wce)
{
	struct virtio *dev = hreg__dev(h);
	unsigned int off, i, bad = 0;
	uint8_t before[256];

	hreg__begin(h, "hostile-config");
	if (!virtio__negotiate(dev, virtio__ring_words() | VIRTIO_BIT(VIRTIO_BLK_F_FLUSH) |
					    (wce ? VIRTIO_BIT(VIRTIO_BLK_F_CONFIG_WCE) : 0)))
		panic("features are refused");
	hreg__queue(h);
	virtio__driver_ok(dev);
	for (off = 0; off < dev->device_len; off++)
		before[off] = mmio__read8(dev->device + off);
	for (i = 0; i < ARRAY_SIZE(garbage); i++)
		for (off = 0; off + width <= 4096; off += off < 64 ? step : 256)
			reg__write(dev->device + off, width, garbage[i]);
	for (off = 0; off < dev->device_len; off++) {
		uint8_t now = mmio__read8(dev->device + off);

		bad += off == WCE && wce ? now > 1 : now != before[off];
	}
	for (; off < 4096; off += 256)
		bad += mmio__read8(dev->device + off) != 0;
	hreg__end(h, VERDICT_IGNORED, !bad && hreg__read_ok(h) ? VERDICT_IGNORED : VERDICT_FAILED,
		  "device configuration, %u bytes each %u%s", width, step,
		  wce ? ", writeback is the driver's" : "");
}

/* Read-only or not there: an access that runs from one structure into another. */
static void config__check_crossing(struct hreg *h)
{
	static const struct {
		const char *name;
		uint32_t off;
		unsigned int width;
	} table[] = {
		{"common into ISR", 0xffc, 8},	   {"common into ISR, by a word", 0xfff, 2},
		{"ISR, 2 bytes", 0x1000, 2},	   {"ISR, 4 bytes", 0x1000, 4},
		{"ISR, 8 bytes", 0x1000, 8},	   {"ISR into device", 0x1ffd, 4},
		{"behind the ISR", 0x1001, 4},	   {"device into doorbells", 0x2ffe, 4},
		{"device, end", 0x203f, 8},	   {"doorbell read", 0x3000, 2},
		{"doorbells, 8 bytes", 0x3000, 8}, {"the last bytes of the BAR", 0x3ff8, 8},
	};
	uint64_t base = h->bar[0].base;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		hreg__begin(h, "hostile-config");
		(void)reg__read(base + table[i].off, table[i].width);
		reg__write(base + table[i].off, table[i].width, -1ULL);
		(void)reg__read(base + table[i].off, table[i].width);
		hreg__end(h, VERDICT_IGNORED, hreg__read_ok(h) ? VERDICT_IGNORED : VERDICT_FAILED,
			  "access across structures: %s", table[i].name);
	}
}

/* Config space as it is now, to be put back. */
struct saved {
	uint32_t reg[64];
};

static void saved__take(struct saved *s, pci_fn_t fn)
{
	unsigned int i;

	for (i = 0; i < 64; i++)
		s->reg[i] = pci__read(fn, 4 * i, 4);
}

/* Decoding off before BARs move; the window of virtio last, for a write to its data acts. */
static void saved__put(const struct saved *s, pci_fn_t fn)
{
	unsigned int i;

	pci__write(fn, PCI_COMMAND, 2, 0);
	for (i = 4; i < 0x40 / 4; i++)
		pci__write(fn, 4 * i, 4, s->reg[i]);
	for (i = 0x40 / 4; i < 64; i++)
		if ((s->reg[i] & 0xff) == PCI_CAP_ID_MSIX)
			pci__write(fn, 4 * i, 4, s->reg[i]);
	pci__write(fn, PCI_COMMAND, 2, s->reg[PCI_COMMAND / 4]);
}

static void way__write(pci_fn_t fn, bool ecam, unsigned int off, unsigned int width, uint64_t val)
{
	if (ecam)
		reg__write(acpi__ecam(NULL) + ((uint64_t)fn << 12) + off, width, val);
	else
		pci__write(fn, off, width, val);
}

/* @from to @to of config space: what may change is put back, and then it works. */
static void space__case(struct hreg *h, bool ecam, unsigned int width, unsigned int step,
			uint64_t val, unsigned int from, unsigned int to)
{
	pci_fn_t fn = hreg__dev(h)->fn;
	struct saved s;
	unsigned int off;
	bool good;

	hreg__begin(h, "hostile-space");
	saved__take(&s, fn);
	for (off = from; off < to; off += step)
		way__write(fn, ecam, off, width, val);
	good = pci__read(fn, 0, 4) == s.reg[0] &&
	       pci__read(fn, PCI_CLASS_REVISION, 4) == s.reg[PCI_CLASS_REVISION / 4] &&
	       pci__read(fn, PCI_CAPABILITY_LIST, 1) == (s.reg[PCI_CAPABILITY_LIST / 4] & 0xff);
	saved__put(&s, fn);
	hreg__end(h, VERDICT_COMPLETED, good ? VERDICT_COMPLETED : VERDICT_FAILED,
		  "%s %03x to %03x, %u bytes each %u, %llx", ecam ? "ECAM" : "CF8", from, to, width,
		  step, (unsigned long long)val);
}

static void space__check(struct hreg *h)
{
	static const unsigned int ways[][3] = {/* ECAM, width, step */
					       {0, 1, 1}, {0, 2, 2}, {0, 2, 1}, {0, 4, 4},
					       {0, 4, 1}, {1, 1, 1}, {1, 2, 1}, {1, 4, 4},
					       {1, 4, 1}, {1, 8, 8}, {1, 8, 1}};
	unsigned int w, i;

	for (w = 0; w < ARRAY_SIZE(ways); w++) {
		if (ways[w][0] && !acpi__ecam(NULL))
			continue;
		for (i = 0; i < ARRAY_SIZE(garbage); i++) {
			space__case(h, ways[w][0], ways[w][1], ways[w][2], garbage[i], 0, 256);
			/* capabilities alone: MSI-X and the window into the BARs */
			space__case(h, ways[w][0], ways[w][1], ways[w][2], garbage[i], 0x40, 256);
		}
		/* the end of what there is, and from one function into the next */
		if (ways[w][0])
			space__case(h, true, ways[w][1], ways[w][2], -1ULL, 0xfe0, 0x1000);
	}
}

/* The configuration mechanism itself: widths and addresses that are none (3.2.2.3.2). */
static void mechanism__check(struct hreg *h)
{
	static const struct {
		uint32_t address;
		uint16_t port;
		unsigned int width;
	} table[] = {
		{0x80000000, 0xcfa, 4}, {0x80000000, 0xcfb, 4}, {0x80000000, 0xcf9 + 1, 2},
		{0x80000800, 0xcfd, 4}, {0x80000800, 0xcfe, 4}, {0x80000800, 0xcff, 4},
		{0x80000800, 0xcff, 2}, {0x80000803, 0xcfc, 4}, {0x80000b00, 0xcfc, 4},
		{0x8000f800, 0xcfc, 4}, {0x80ff0800, 0xcfc, 4}, {0x00000804, 0xcfc, 4},
		{0xff000804, 0xcfc, 4}, {0x800008fc, 0xcff, 4}, {0x80000804, 0xcfe, 4},
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		pci_fn_t fn = hreg__dev(h)->fn;
		struct saved s;

		hreg__begin(h, "hostile-space");
		saved__take(&s, fn);
		outl(0xcf8, table[i].address);
		(void)(table[i].width == 2 ? inw(table[i].port) : inl(table[i].port));
		if (table[i].width == 2)
			outw(table[i].port, 0);
		else
			outl(table[i].port, 0);
		saved__put(&s, fn);
		hreg__end(h, VERDICT_COMPLETED,
			  pci__read(fn, 0, 4) == s.reg[0] ? VERDICT_COMPLETED : VERDICT_FAILED,
			  "CF8 %08x, %u bytes at port %x", table[i].address, table[i].width,
			  table[i].port);
	}
}

void hreg__config(struct hreg *h)
{
	static const unsigned int widths[][2] = {{1, 1}, {2, 2}, {2, 1}, {4, 4},
						 {4, 1}, {8, 8}, {8, 1}};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(widths); i++) {
		config__case(h, widths[i][0], widths[i][1], false);
		config__case(h, widths[i][0], widths[i][1], true);
	}
	config__check_crossing(h);
	space__check(h);
	mechanism__check(h);
}
