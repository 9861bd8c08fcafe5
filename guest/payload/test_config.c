// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every way into configuration space gives the same bytes, and what is
 * read-only stays (PCI 3.0, 3.2.2.3.2 and 6.2; PCI Express 7.2.2).
 */
#include "test_pci.h"

#define FAMILY "pci-config"

#define CF8 0xcf8
#define CFC 0xcfc
#define CF8_ENABLE (1U << 31)

struct way {
	const char *name;
	uint32_t (*read)(pci_fn_t fn, unsigned int off, unsigned int width);
	void (*write)(pci_fn_t fn, unsigned int off, unsigned int width, uint32_t val);
};

static const struct way ways[] = {
	{"CF8", pci__read, pci__write},
	{"ECAM", pci__ecam_read, pci__ecam_write},
};

/* What a driver may change in the header of type 0, a byte each. */
struct reg {
	const char *name;
	unsigned int off, len;
	uint32_t may; /* bits that may change; the others must not */
	uint32_t must; /* bits that must be writable */
};

/* Whatever a function has: 6.2.2 (reserved bits 11 to 15 too), 6.2.3, 6.2.4. */
static const struct reg regs[] = {
	{"vendor and device", PCI_VENDOR_ID, 4, 0, 0},
	{"command", PCI_COMMAND, 2, 0x7ff,
	 PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_INTX_DISABLE},
	{"status", PCI_STATUS, 2, 0, 0},
	{"revision and class", PCI_CLASS_REVISION, 4, 0, 0},
	{"cache line size", PCI_CACHE_LINE_SIZE, 1, 0xff, 0},
	{"latency timer", PCI_LATENCY_TIMER, 1, 0xff, 0},
	{"header type", PCI_HEADER_TYPE, 1, 0, 0},
	{"BIST", PCI_BIST, 1, 0, 0},
	{"CardBus pointer", PCI_CARDBUS_CIS, 4, 0, 0},
	{"subsystem", PCI_SUBSYSTEM_VENDOR_ID, 4, 0, 0},
	{"expansion ROM, none", PCI_ROM_ADDRESS, 4, 0, 0},
	{"capability pointer", PCI_CAPABILITY_LIST, 1, 0, 0},
	{"reserved at 35", 0x35, 1, 0, 0},
	{"reserved at 36", 0x36, 2, 0, 0},
	{"reserved at 38", 0x38, 4, 0, 0},
	{"interrupt line", PCI_INTERRUPT_LINE, 1, 0xff, 0xff},
	{"interrupt pin", PCI_INTERRUPT_PIN, 1, 0, 0},
	{"MIN_GNT and MAX_LAT", PCI_MIN_GNT, 2, 0, 0},
};

static const char *width__name(unsigned int width)
{
	return width == 1 ? "bytes" : width == 2 ? "words" : "dwords";
}

/* Bits that no written value of @width at a time changes are stuck; the old value goes back. */
static void reg__try(pci_fn_t fn, const struct way *way, const struct reg *reg, unsigned int width)
{
	static const uint32_t values[] = {UINT32_MAX, 0, 0x55555555, 0xaaaaaaaa};
	uint32_t old = way->read(fn, reg->off, reg->len), ones = 0, zeroes = 0, now;
	unsigned int i, at;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		for (at = 0; at < reg->len; at += width)
			way->write(fn, reg->off + at, width, values[i]);
		now = way->read(fn, reg->off, reg->len);
		ones |= now;
		zeroes |= ~now;
	}
	for (at = 0; at < reg->len; at += width)
		way->write(fn, reg->off + at, width, old >> 8 * at);
	now = ones & zeroes; /* changed */
	if (reg->len < 4)
		now &= (1U << 8 * reg->len) - 1;
	verdict__check(FAMILY,
		       !(now & ~reg->may) && (now & reg->must) == reg->must &&
			       way->read(fn, reg->off, reg->len) == old,
		       "slot %u: %s written in %s by %s", PCI_FN_SLOT(fn), reg->name,
		       width__name(width), way->name);
}

bool config__check_writes(pci_fn_t fn, void *arg)
{
	const struct pci_seen *seen = arg;
	unsigned int i, w, width;

	if (pci__read(fn, PCI_VENDOR_ID, 2) != 0x1af4 || PCI_FN_SLOT(fn) > FULL_SLOTS)
		return false; /* a bridge has registers of its own */
	for (w = 0; w < (seen->ecam ? 2 : 1); w++)
		for (i = 0; i < ARRAY_SIZE(regs); i++)
			for (width = 1; width <= regs[i].len; width *= 2)
				reg__try(fn, &ways[w], &regs[i], width);
	return false;
}

/* Every offset of config space, @width at a time, against the dword by CF8. */
static unsigned int config__differs(pci_fn_t fn, const struct way *way, unsigned int width)
{
	unsigned int off, bad = 0;
	uint32_t dword = 0, part;

	for (off = 0; off < 256; off += width) {
		if (!(off & 3))
			dword = pci__read(fn, off, 4);
		part = dword >> 8 * (off & 3);
		if (width < 4)
			part &= (1U << 8 * width) - 1;
		bad += way->read(fn, off, width) != part;
	}
	return bad;
}

/* A word in the middle of a dword is one cycle too: bytes 1 and 2. */
static unsigned int config__middle_differs(pci_fn_t fn, const struct way *way)
{
	unsigned int off, bad = 0;

	for (off = 1; off < 256; off += 4)
		bad += way->read(fn, off, 2) != ((pci__read(fn, off - 1, 4) >> 8) & 0xffff);
	return bad;
}

/* PCI Express 7.9.1: no extended capability is an ID of 0 or all ones at 0x100. */
static void config__check_extended(pci_fn_t fn)
{
	uint32_t first = pci__ecam_read(fn, 256, 4);
	unsigned int off, bad = 0;

	verdict__check(FAMILY, !(first & 0xffff) || (first & 0xffff) == 0xffff,
		       "slot %u: no extended capability", PCI_FN_SLOT(fn));
	for (off = 256; off < 4096; off += 4) {
		pci__ecam_write(fn, off, 4, ~first);
		bad += pci__ecam_read(fn, off, 4) != first;
	}
	verdict__equal(FAMILY, 0, bad,
		       "slot %u: the space above 256 reads the same, written or not",
		       PCI_FN_SLOT(fn));
}

bool config__check_reads(pci_fn_t fn, void *arg)
{
	const struct pci_seen *seen = arg;
	unsigned int w, width;

	for (w = 0; w < (seen->ecam ? 2 : 1); w++) {
		for (width = 1; width <= 4; width *= 2)
			verdict__equal(FAMILY, 0, config__differs(fn, &ways[w], width),
				       "slot %u: %s by %s at every offset", PCI_FN_SLOT(fn),
				       width__name(width), ways[w].name);
		verdict__equal(FAMILY, 0, config__middle_differs(fn, &ways[w]),
			       "slot %u: words at odd offsets by %s", PCI_FN_SLOT(fn),
			       ways[w].name);
	}
	if (seen->ecam)
		config__check_extended(fn);
	return false;
}

/* Where nothing is: all ones, and a write goes nowhere. */
static void config__check_absent(const struct pci_seen *seen)
{
	unsigned int slot, fn, bad = 0, nr = 0;

	for (slot = 0; slot < 32; slot++) {
		bool there = pci__read(PCI_FN(0, slot, 0), PCI_VENDOR_ID, 2) != 0xffff;
		bool multi = there && pci__read(PCI_FN(0, slot, 0), PCI_HEADER_TYPE, 1) & 0x80;

		for (fn = there; fn < (multi ? 1 : 8); fn++, nr++) {
			pci__write(PCI_FN(0, slot, fn), PCI_COMMAND, 2, 0);
			bad += pci__read(PCI_FN(0, slot, fn), PCI_VENDOR_ID, 4) != UINT32_MAX;
			if (seen->ecam)
				bad += pci__ecam_read(PCI_FN(0, slot, fn), PCI_BASE_ADDRESS_0, 4) !=
				       UINT32_MAX;
		}
	}
	verdict__equal(FAMILY, 0, bad, "%u absent functions read all ones", nr);
}

static uint32_t cf8__read(uint32_t address)
{
	outl(CF8, address);
	return inl(CFC);
}

/* 3.2.2.3.2: the address register takes whole dwords; without the enable bit no cycle. */
static void config__check_mechanism(void)
{
	uint32_t id = cf8__read(CF8_ENABLE);

	verdict__equal(FAMILY, CF8_ENABLE, inl(CF8), "the address register reads back");
	outb(CF8 + 2, 0xff); /* not 0xcf9: the reset register */
	verdict__equal(FAMILY, CF8_ENABLE, inl(CF8), "a byte does not change the address");
	outw(CF8, 0xffff);
	verdict__equal(FAMILY, CF8_ENABLE, inl(CF8), "nor does a word");
	verdict__equal(FAMILY, UINT32_MAX, cf8__read(0), "no cycle without the enable bit");
	verdict__equal(FAMILY, UINT32_MAX, cf8__read(CF8_ENABLE | 255 << 16),
		       "a bus that is not there reads all ones");
	verdict__equal(FAMILY, id, cf8__read(CF8_ENABLE), "and the bridge answers as before");
}

void config__check_rest(const struct pci_seen *seen)
{
	config__check_absent(seen);
	config__check_mechanism();
}
