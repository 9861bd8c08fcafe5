// SPDX-License-Identifier: GPL-2.0-only
/*
 * Base address registers: PCI Local Bus 3.0, 6.2.5.1.  A register is plain
 * storage whose low bits cannot be written, so that sizing needs no code: all
 * ones written, the mask read.  What needs care is when the BAR moves.
 */
#include <errno.h>
#include <string.h>

#include "private.h"

#define BAR_MIN_SIZE 0x1000ULL
#define BAR_MAX_SIZE 0x40000000ULL

static unsigned int bar_reg(unsigned int nr)
{
	return PCI_BASE_ADDRESS_0 + 4 * nr;
}

static void set_wmask32(struct pci_dev *dev, unsigned int off, uint32_t mask)
{
	for (unsigned int i = 0; i < 4; i++)
		dev->wmask[off + i] = mask >> (8 * i);
}

int pci_dev__add_bar(struct pci_dev *dev, unsigned int nr, uint64_t size, bool is64,
		     const struct bus_ops *ops, void *opaque)
{
	struct pci_bar *bar;

	if (nr >= PCI_BARS || (is64 && nr + 1 >= PCI_BARS))
		return -EINVAL;
	if (size < BAR_MIN_SIZE || size > BAR_MAX_SIZE || (size & (size - 1)) || !ops)
		return -EINVAL;
	bar = &dev->bar[nr];
	if (bar->size || (is64 && bar[1].size) || (nr && bar[-1].size && bar[-1].is64))
		return -EINVAL;
	*bar = (struct pci_bar) {.size = size, .is64 = is64, .ops = ops, .opaque = opaque};
	pci_config__set32(dev, bar_reg(nr), is64 ? PCI_BASE_ADDRESS_MEM_TYPE_64 : 0);
	set_wmask32(dev, bar_reg(nr), ~(uint32_t)(size - 1));
	if (is64)
		set_wmask32(dev, bar_reg(nr + 1), ~0U);
	return 0;
}

int pci_bar__place(struct pci_dev *dev)
{
	struct pci_bus *bus = dev->bus;
	uint64_t base[PCI_BARS], next = bus->bar_next;

	for (unsigned int i = 0; i < PCI_BARS; i++) {
		uint64_t size = dev->bar[i].size;

		if (!size)
			continue;
		base[i] = (next + size - 1) & ~(size - 1);
		next = base[i] + size;
		if (next > bus->bar_end)
			return -ENOSPC;
	}
	for (unsigned int i = 0; i < PCI_BARS; i++) {
		uint32_t type = pci_dev__get32(dev, bar_reg(i));

		if (!dev->bar[i].size)
			continue;
		pci_config__set32(dev, bar_reg(i), (uint32_t)base[i] | type);
		if (dev->bar[i].is64)
			pci_config__set32(dev, bar_reg(i + 1), base[i] >> 32);
	}
	bus->bar_next = next;
	return 0;
}

static uint64_t bar_value(const struct pci_dev *dev, unsigned int nr)
{
	uint64_t val = pci_dev__get32(dev, bar_reg(nr)) & (uint32_t)PCI_BASE_ADDRESS_MEM_MASK;

	if (dev->bar[nr].is64)
		val |= (uint64_t)pci_dev__get32(dev, bar_reg(nr + 1)) << 32;
	return val;
}

/*
 * Does the register hold the ones that sizing writes?  A guest may size with
 * decoding on and put the old value back: to move the BAR to the top of the
 * address space and back would lose the kicks that other vCPUs make meanwhile.
 * Neither place is one where a BAR can be of use: the last bytes below 4 GiB are
 * those of the reset vector, and no processor has 64 physical address bits.
 */
static bool bar_sizing(const struct pci_bar *bar, uint64_t val)
{
	uint32_t low_ones = ~(uint32_t)(bar->size - 1);

	return val == low_ones || (bar->is64 && val >> 32 == 0xffffffff);
}

static void bar_range(const struct pci_bar *bar, struct bus_range *range)
{
	*range = (struct bus_range) {bar->base, bar->size, bar->ops, bar->opaque};
}

static void bar_set(struct pci_dev *dev, unsigned int nr, uint64_t base, bool map)
{
	struct bus *mmio = &dev->bus->vm->mmio;
	struct pci_bar *bar = &dev->bar[nr];
	struct bus_range range;

	if (bar->mapped) {
		bar_range(bar, &range);
		bus__remove(mmio, &range);
	}
	bar->base = base;
	bar_range(bar, &range);
	bar->mapped = map && !bus__add(mmio, &range);
	if (dev->ops && dev->ops->bar_moved)
		dev->ops->bar_moved(dev, nr, base, bar->mapped);
}

/*
 * Where a BAR lies over RAM, RAM answers: KVM makes no exit there.  Over ECAM
 * or a BAR that was mapped earlier, the older range answers.  Two writes to the
 * halves of a 64-bit BAR with decoding on are two moves, as on hardware.
 */
static void bar_update(struct pci_dev *dev, unsigned int nr)
{
	struct pci_bar *bar = &dev->bar[nr];
	uint64_t base = bar_value(dev, nr);
	bool map = pci_dev__get16(dev, PCI_COMMAND) & PCI_COMMAND_MEMORY;

	if (map && bar_sizing(bar, base))
		return;
	if (!base || base + bar->size < base)
		map = false;
	if (map == bar->mapped && (!map || base == bar->base))
		return;
	bar_set(dev, nr, base, map);
}

void pci_bar__update(struct pci_dev *dev)
{
	for (unsigned int i = 0; i < PCI_BARS; i++) {
		if (dev->bar[i].size)
			bar_update(dev, i);
	}
}
