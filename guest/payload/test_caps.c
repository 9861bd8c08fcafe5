// SPDX-License-Identifier: GPL-2.0-only
/* Capability lists (PCI 3.0, 6.7) and what those of virtio and MSI-X say (virtio 1.2, 4.1.4). */
#include <linux/virtio_pci.h>

#include "test_pci.h"

#define FAMILY "pci-caps"

/* A range of a BAR that a capability names. */
struct place {
	struct pci_bar bar;
	uint32_t off, len;
};

static struct place virtio_cap__place(pci_fn_t fn, unsigned int cap)
{
	unsigned int nr = pci__read(fn, cap + VIRTIO_PCI_CAP_BAR, 1);
	struct place p = {.off = pci__read(fn, cap + VIRTIO_PCI_CAP_OFFSET, 4),
			  .len = pci__read(fn, cap + VIRTIO_PCI_CAP_LENGTH, 4)};

	if (nr < 6)
		p.bar = pci__bar(fn, nr);
	return p;
}

static bool place__fits(const struct place *p)
{
	return p->bar.size && p->len && (uint64_t)p->off + p->len <= p->bar.size;
}

/* By cfg_type: 4.1.4.3.1, 4.1.4.4.1, 4.1.4.5.1, 4.1.4.6.1. */
static const struct structure {
	const char *name;
	unsigned int cap_len, align, len;
} structures[] = {
	[VIRTIO_PCI_CAP_COMMON_CFG] = {"common", 16, 4, sizeof(struct virtio_pci_common_cfg)},
	[VIRTIO_PCI_CAP_NOTIFY_CFG] = {"notify", 20, 2, 2},
	[VIRTIO_PCI_CAP_ISR_CFG] = {"ISR", 16, 1, 1},
	[VIRTIO_PCI_CAP_DEVICE_CFG] = {"device", 16, 4, 1},
};

static void caps__check_structure(pci_fn_t fn, unsigned int cap, unsigned int type)
{
	const struct structure *s = &structures[type];
	struct place p = virtio_cap__place(fn, cap);
	uint32_t multiplier;

	verdict__check(FAMILY, place__fits(&p) && p.len >= s->len,
		       "slot %u: %s structure lies in its BAR", PCI_FN_SLOT(fn), s->name);
	verdict__check(FAMILY, !(p.off % s->align), "slot %u: %s structure is aligned",
		       PCI_FN_SLOT(fn), s->name);
	verdict__check(FAMILY, pci__read(fn, cap + VIRTIO_PCI_CAP_LEN, 1) >= s->cap_len,
		       "slot %u: length of the %s capability", PCI_FN_SLOT(fn), s->name);
	if (type != VIRTIO_PCI_CAP_NOTIFY_CFG)
		return;
	/* 4.1.4.4.1: an even power of 2, or 0 */
	multiplier = pci__read(fn, cap + VIRTIO_PCI_NOTIFY_CAP_MULT, 4);
	verdict__check(FAMILY, multiplier != 1 && !(multiplier & (multiplier - 1)),
		       "slot %u: notify_off_multiplier %u", PCI_FN_SLOT(fn), multiplier);
}

/* Through the window that config space has into the BARs (4.1.4.9.1). */
static uint32_t window__read(pci_fn_t fn, unsigned int cap, uint32_t off, unsigned int width)
{
	pci__write(fn, cap + VIRTIO_PCI_CAP_OFFSET, 4, off);
	pci__write(fn, cap + VIRTIO_PCI_CAP_LENGTH, 4, width);
	return pci__read(fn, cap + sizeof(struct virtio_pci_cap), width);
}

static void window__write(pci_fn_t fn, unsigned int cap, uint32_t off, unsigned int width,
			  uint32_t val)
{
	pci__write(fn, cap + VIRTIO_PCI_CAP_OFFSET, 4, off);
	pci__write(fn, cap + VIRTIO_PCI_CAP_LENGTH, 4, width);
	pci__write(fn, cap + sizeof(struct virtio_pci_cap), width, val);
}

static unsigned int caps__find_virtio(pci_fn_t fn, unsigned int type)
{
	unsigned int cap = pci__next_cap(fn, PCI_CAP_ID_VNDR, 0);

	while (cap && pci__read(fn, cap + VIRTIO_PCI_CAP_CFG_TYPE, 1) != type)
		cap = pci__next_cap(fn, PCI_CAP_ID_VNDR, cap);
	return cap;
}

static void caps__check_window(pci_fn_t fn, unsigned int cap)
{
	unsigned int common = caps__find_virtio(fn, VIRTIO_PCI_CAP_COMMON_CFG);
	struct place p = virtio_cap__place(fn, common);
	uint64_t base = p.bar.base + p.off;

	pci__write(fn, cap + VIRTIO_PCI_CAP_BAR, 1, pci__read(fn, common + VIRTIO_PCI_CAP_BAR, 1));
	paging__map(p.bar.base, p.bar.size, true);
	verdict__equal(FAMILY, mmio__read8(base + VIRTIO_PCI_COMMON_STATUS),
		       window__read(fn, cap, p.off + VIRTIO_PCI_COMMON_STATUS, 1),
		       "slot %u: the window reads a byte", PCI_FN_SLOT(fn));
	verdict__equal(FAMILY, mmio__read16(base + VIRTIO_PCI_COMMON_NUMQ),
		       window__read(fn, cap, p.off + VIRTIO_PCI_COMMON_NUMQ, 2),
		       "slot %u: the window reads a word", PCI_FN_SLOT(fn));
	window__write(fn, cap, p.off + VIRTIO_PCI_COMMON_DFSELECT, 4, 1);
	verdict__equal(FAMILY, 1, mmio__read32(base + VIRTIO_PCI_COMMON_DFSELECT),
		       "slot %u: the window writes a dword", PCI_FN_SLOT(fn));
	verdict__equal(FAMILY, mmio__read32(base + VIRTIO_PCI_COMMON_DF),
		       window__read(fn, cap, p.off + VIRTIO_PCI_COMMON_DF, 4),
		       "slot %u: the window reads a dword", PCI_FN_SLOT(fn));
	window__write(fn, cap, p.off + VIRTIO_PCI_COMMON_Q_SELECT, 2, 0);
	verdict__equal(FAMILY, 0, mmio__read16(base + VIRTIO_PCI_COMMON_Q_SELECT),
		       "slot %u: the window writes a word", PCI_FN_SLOT(fn));
}

/* PCI 3.0, 6.8.2.4: at most 2048 entries, table and PBA in BARs and apart. */
static void caps__check_msix(pci_fn_t fn, unsigned int cap)
{
	uint32_t table = pci__read(fn, cap + PCI_MSIX_TABLE, 4);
	uint32_t pba = pci__read(fn, cap + PCI_MSIX_PBA, 4);
	unsigned int nr = (pci__read(fn, cap + PCI_MSIX_FLAGS, 2) & PCI_MSIX_FLAGS_QSIZE) + 1;
	struct place t = {pci__bar(fn, table & PCI_MSIX_TABLE_BIR), table & PCI_MSIX_TABLE_OFFSET,
			  nr * PCI_MSIX_ENTRY_SIZE};
	struct place p = {pci__bar(fn, pba & PCI_MSIX_PBA_BIR), pba & PCI_MSIX_PBA_OFFSET,
			  (nr + 63) / 64 * 8};

	verdict__check(FAMILY, place__fits(&t), "slot %u: MSI-X table of %u in its BAR",
		       PCI_FN_SLOT(fn), nr);
	verdict__check(FAMILY, place__fits(&p), "slot %u: MSI-X pending bits in their BAR",
		       PCI_FN_SLOT(fn));
	verdict__check(FAMILY,
		       t.bar.base + t.off + t.len <= p.bar.base + p.off ||
			       p.bar.base + p.off + p.len <= t.bar.base + t.off,
		       "slot %u: MSI-X table and pending bits are apart", PCI_FN_SLOT(fn));
}

/*
 * All that a capability says is read-only, but MSI-X control bits 14 and 15 and
 * the fields of the window (bar, offset, length, data).
 */
static void caps__check_writes(pci_fn_t fn, unsigned int cap, unsigned int len, const char *name)
{
	unsigned int id = pci__read(fn, cap, 1), off, bad = 0;
	bool window = id == PCI_CAP_ID_VNDR &&
		      pci__read(fn, cap + VIRTIO_PCI_CAP_CFG_TYPE, 1) == VIRTIO_PCI_CAP_PCI_CFG;

	for (off = 0; off < len; off++) {
		uint32_t old = pci__read(fn, cap + off, 1), keep = 0;

		if (id == PCI_CAP_ID_MSIX && off == PCI_MSIX_FLAGS + 1)
			keep = (PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL) >> 8;
		if (window && (off == VIRTIO_PCI_CAP_BAR || off >= VIRTIO_PCI_CAP_OFFSET))
			continue;
		pci__write(fn, cap + off, 1, ~old);
		bad += (pci__read(fn, cap + off, 1) ^ old) & ~keep;
		pci__write(fn, cap + off, 1, old);
	}
	verdict__equal(FAMILY, 0, bad, "slot %u: capability %s at %02x is read-only",
		       PCI_FN_SLOT(fn), name, cap);
}

static void caps__check_one(pci_fn_t fn, unsigned int cap)
{
	unsigned int type;

	switch (pci__read(fn, cap, 1)) {
	case PCI_CAP_ID_MSIX:
		caps__check_msix(fn, cap);
		caps__check_writes(fn, cap, PCI_CAP_MSIX_SIZEOF, "MSI-X");
		break;
	case PCI_CAP_ID_VNDR:
		if (pci__read(fn, PCI_VENDOR_ID, 2) != 0x1af4)
			break;
		type = pci__read(fn, cap + VIRTIO_PCI_CAP_CFG_TYPE, 1);
		caps__check_writes(fn, cap, pci__read(fn, cap + VIRTIO_PCI_CAP_LEN, 1), "virtio");
		if (type == VIRTIO_PCI_CAP_PCI_CFG)
			caps__check_window(fn, cap);
		else if (type && type < ARRAY_SIZE(structures))
			caps__check_structure(fn, cap, type);
		break;
	default:
		break;
	}
}

/* Inside the device dependent region, dword aligned, ends, no offset twice. */
bool caps__check(pci_fn_t fn, void *arg)
{
	unsigned int off, nr = 0;
	bool good = true, seen[64] = {false};

	(void)arg;
	if (!(pci__read(fn, PCI_STATUS, 2) & PCI_STATUS_CAP_LIST) || PCI_FN_SLOT(fn) > FULL_SLOTS)
		return false;
	off = pci__read(fn, PCI_CAPABILITY_LIST, 1);
	for (; off && good; nr++) {
		good = off >= 0x40 && !(off & 3) && !seen[off / 4];
		seen[off / 4] = true;
		caps__check_one(fn, off);
		off = pci__read(fn, off + PCI_CAP_LIST_NEXT, 1);
	}
	verdict__check(FAMILY, good && nr, "slot %u: list of %u capabilities", PCI_FN_SLOT(fn), nr);
	return false;
}
