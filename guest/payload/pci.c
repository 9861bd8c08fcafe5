// SPDX-License-Identifier: GPL-2.0-only
#include "pci.h"

#include "acpi.h"
#include "apic.h"

#define CF8 0xcf8
#define CFC 0xcfc
#define MAX_CAPS 48 /* as many as fit */

uint32_t pci__read(pci_fn_t fn, unsigned int off, unsigned int width)
{
	uint16_t port = CFC + (off & 3);

	outl(CF8, 1U << 31 | fn << 8 | (off & 0xfc));
	switch (width) {
	case 1:
		return inb(port);
	case 2:
		return inw(port);
	default:
		return inl(port);
	}
}

void pci__write(pci_fn_t fn, unsigned int off, unsigned int width, uint32_t val)
{
	uint16_t port = CFC + (off & 3);

	outl(CF8, 1U << 31 | fn << 8 | (off & 0xfc));
	switch (width) {
	case 1:
		outb(port, val);
		break;
	case 2:
		outw(port, val);
		break;
	default:
		outl(port, val);
	}
}

uint32_t pci__ecam_read(pci_fn_t fn, unsigned int off, unsigned int width)
{
	uint64_t addr = acpi__ecam(NULL) + ((uint64_t)fn << 12) + off;

	switch (width) {
	case 1:
		return mmio__read8(addr);
	case 2:
		return mmio__read16(addr);
	default:
		return mmio__read32(addr);
	}
}

void pci__ecam_write(pci_fn_t fn, unsigned int off, unsigned int width, uint32_t val)
{
	uint64_t addr = acpi__ecam(NULL) + ((uint64_t)fn << 12) + off;

	switch (width) {
	case 1:
		mmio__write8(addr, val);
		break;
	case 2:
		mmio__write16(addr, val);
		break;
	default:
		mmio__write32(addr, val);
	}
}

bool pci__walk(bool (*each)(pci_fn_t fn, void *arg), void *arg)
{
	unsigned int slot, fn, last;

	for (slot = 0; slot < 32; slot++) {
		last = 0;
		for (fn = 0; fn <= last; fn++) {
			pci_fn_t f = PCI_FN(0, slot, fn);

			if (pci__read(f, PCI_VENDOR_ID, 2) == 0xffff)
				continue;
			if (!fn && pci__read(f, PCI_HEADER_TYPE, 1) & 0x80)
				last = 7;
			if (each(f, arg))
				return true;
		}
	}
	return false;
}

/* PCI 3.0, 6.7.  Bounded, should the list be a loop. */
unsigned int pci__next_cap(pci_fn_t fn, unsigned int id, unsigned int from)
{
	unsigned int off, i;

	if (!(pci__read(fn, PCI_STATUS, 2) & PCI_STATUS_CAP_LIST))
		return 0;
	off = pci__read(fn, from ? from + PCI_CAP_LIST_NEXT : PCI_CAPABILITY_LIST, 1) & ~3;
	for (i = 0; off && i < MAX_CAPS; i++) {
		if (pci__read(fn, off, 1) == id)
			return off;
		off = pci__read(fn, off + PCI_CAP_LIST_NEXT, 1) & ~3;
	}
	return 0;
}

/* PCI 3.0, 6.2.5.1 */
struct pci_bar pci__bar(pci_fn_t fn, unsigned int nr)
{
	unsigned int off = PCI_BASE_ADDRESS_0 + 4 * nr;
	uint32_t command = pci__read(fn, PCI_COMMAND, 2);
	uint32_t lo = pci__read(fn, off, 4), hi = 0;
	struct pci_bar bar = {.io = lo & PCI_BASE_ADDRESS_SPACE_IO};
	uint64_t mask;

	bar.is64 = !bar.io && (lo & PCI_BASE_ADDRESS_MEM_TYPE_MASK) == PCI_BASE_ADDRESS_MEM_TYPE_64;
	pci__write(fn, PCI_COMMAND, 2, command & ~(PCI_COMMAND_IO | PCI_COMMAND_MEMORY));
	pci__write(fn, off, 4, UINT32_MAX);
	mask = pci__read(fn, off, 4) | 0xffffffff00000000ULL;
	pci__write(fn, off, 4, lo);
	if (bar.is64) {
		hi = pci__read(fn, off + 4, 4);
		pci__write(fn, off + 4, 4, UINT32_MAX);
		mask &= (uint64_t)pci__read(fn, off + 4, 4) << 32 | UINT32_MAX;
		pci__write(fn, off + 4, 4, hi);
	}
	pci__write(fn, PCI_COMMAND, 2, command);
	mask &= bar.io ? PCI_BASE_ADDRESS_IO_MASK : PCI_BASE_ADDRESS_MEM_MASK;
	bar.base = (uint64_t)hi << 32 |
		   (lo & (bar.io ? PCI_BASE_ADDRESS_IO_MASK : PCI_BASE_ADDRESS_MEM_MASK));
	if (!bar.is64 && !(uint32_t)mask)
		mask = 0; /* no bit sticks: not implemented */
	bar.size = -mask;
	return bar;
}

bool msix__find(struct msix *msix, pci_fn_t fn)
{
	unsigned int cap = pci__next_cap(fn, PCI_CAP_ID_MSIX, 0);
	uint32_t table, pba;
	struct pci_bar bar;

	if (!cap)
		return false;
	table = pci__read(fn, cap + PCI_MSIX_TABLE, 4);
	pba = pci__read(fn, cap + PCI_MSIX_PBA, 4);
	msix->fn = fn;
	msix->cap = cap;
	msix->nr = (pci__read(fn, cap + PCI_MSIX_FLAGS, 2) & PCI_MSIX_FLAGS_QSIZE) + 1;
	bar = pci__bar(fn, table & PCI_MSIX_TABLE_BIR);
	paging__map(bar.base, bar.size, true);
	msix->table = bar.base + (table & PCI_MSIX_TABLE_OFFSET);
	bar = pci__bar(fn, pba & PCI_MSIX_PBA_BIR);
	paging__map(bar.base, bar.size, true);
	msix->pba = bar.base + (pba & PCI_MSIX_PBA_OFFSET);
	return true;
}

void msix__enable(const struct msix *msix, bool on)
{
	uint32_t flags = pci__read(msix->fn, msix->cap + PCI_MSIX_FLAGS, 2);

	flags &= ~(PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	pci__write(msix->fn, msix->cap + PCI_MSIX_FLAGS, 2,
		   flags | (on ? PCI_MSIX_FLAGS_ENABLE : 0));
}

void msix__mask(const struct msix *msix, unsigned int nr, bool on)
{
	uint64_t entry = msix->table + nr * PCI_MSIX_ENTRY_SIZE;

	mmio__write32(entry + PCI_MSIX_ENTRY_VECTOR_CTRL, on ? PCI_MSIX_ENTRY_CTRL_MASKBIT : 0);
}

void msix__set(const struct msix *msix, unsigned int nr, unsigned int vector)
{
	uint64_t entry = msix->table + nr * PCI_MSIX_ENTRY_SIZE;

	msix__mask(msix, nr, true);
	mmio__write32(entry + PCI_MSIX_ENTRY_LOWER_ADDR, apic__msi_addr(apic__id()));
	mmio__write32(entry + PCI_MSIX_ENTRY_UPPER_ADDR, 0);
	mmio__write32(entry + PCI_MSIX_ENTRY_DATA, vector);
	msix__mask(msix, nr, false);
}

bool msix__pending(const struct msix *msix, unsigned int nr)
{
	return mmio__read32(msix->pba + nr / 32 * 4) >> nr % 32 & 1;
}
