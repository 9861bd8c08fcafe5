/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_PCI_H
#define PAYLOAD_PCI_H

#include <linux/pci_regs.h>

#include "payload.h"

/* A function: bus, slot and function number as in configuration addresses. */
typedef uint16_t pci_fn_t;
#define PCI_FN(bus, slot, fn) ((bus) << 8 | (slot) << 3 | (fn))
#define PCI_FN_SLOT(f) ((f) >> 3 & 31)

/* Configuration space through CF8/CFC; @width bytes (1, 2, 4), naturally aligned. */
uint32_t pci__read(pci_fn_t fn, unsigned int off, unsigned int width);
void pci__write(pci_fn_t fn, unsigned int off, unsigned int width, uint32_t val);

/* The same through ECAM, which must be there (acpi__ecam()). */
uint32_t pci__ecam_read(pci_fn_t fn, unsigned int off, unsigned int width);
void pci__ecam_write(pci_fn_t fn, unsigned int off, unsigned int width, uint32_t val);

/* Call @each for every function of bus 0 that exists; stops where it returns true. */
bool pci__walk(bool (*each)(pci_fn_t fn, void *arg), void *arg);

/* Offset of the next capability @id behind @from (0: from the start), 0: none. */
unsigned int pci__next_cap(pci_fn_t fn, unsigned int id, unsigned int from);

struct pci_bar {
	uint64_t base, size; /* size 0: no BAR here */
	bool io, is64;
};
/* Size a BAR with decoding off; base and command register are put back. */
struct pci_bar pci__bar(pci_fn_t fn, unsigned int nr);

/* MSI-X: a function's table, mapped. */
struct msix {
	pci_fn_t fn;
	unsigned int cap, nr;
	uint64_t table, pba;
};
bool msix__find(struct msix *msix, pci_fn_t fn); /* false: no such capability */
void msix__enable(const struct msix *msix, bool on);
/* Entry @nr: @vector on this CPU. */
void msix__set(const struct msix *msix, unsigned int nr, unsigned int vector);
void msix__mask(const struct msix *msix, unsigned int nr, bool on);
bool msix__pending(const struct msix *msix, unsigned int nr);

#endif
