// SPDX-License-Identifier: GPL-2.0-only
/* What configuration space says, by both ways in and at every width; BARs and capabilities. */
#include "test_pci.h"
#include "acpi.h"

#define FAMILY "pci-bar"

static bool pci__overlaps(const struct pci_seen *seen, const struct pci_bar *bar)
{
	unsigned int i;

	for (i = 0; i < boot_info.nr_ram; i++)
		if (!bar->io && bar->base < boot_info.ram[i].base + boot_info.ram[i].size &&
		    boot_info.ram[i].base < bar->base + bar->size)
			return true;
	for (i = 0; i < seen->nr_bars; i++)
		if (seen->bar[i].io == bar->io &&
		    bar->base < seen->bar[i].base + seen->bar[i].size &&
		    seen->bar[i].base < bar->base + bar->size)
			return true;
	return false;
}

static void pci__check_bar(pci_fn_t fn, unsigned int nr, const struct pci_bar *bar,
			   struct pci_seen *seen)
{
	unsigned int slot = PCI_FN_SLOT(fn);

	print("payload: slot %u: BAR %u %s %llx + %llx\n", slot, nr, bar->io ? "ports" : "memory",
	      (unsigned long long)bar->base, (unsigned long long)bar->size);
	verdict__check(FAMILY, !(bar->size & (bar->size - 1)), "slot %u: size of BAR %u", slot, nr);
	verdict__check(FAMILY, !(bar->base & (bar->size - 1)),
		       "slot %u: BAR %u is aligned to its size", slot, nr);
	verdict__check(FAMILY, !pci__overlaps(seen, bar), "slot %u: BAR %u is alone at its place",
		       slot, nr);
	if (seen->nr_bars < ARRAY_SIZE(seen->bar))
		seen->bar[seen->nr_bars++] = *bar;
}

static void pci__check_bars(pci_fn_t fn, struct pci_seen *seen)
{
	uint32_t command = pci__read(fn, PCI_COMMAND, 2);
	unsigned int nr, off, slot = PCI_FN_SLOT(fn);

	for (nr = 0; nr < 6; nr++) {
		uint32_t lo, hi;
		struct pci_bar bar;

		off = PCI_BASE_ADDRESS_0 + 4 * nr;
		lo = pci__read(fn, off, 4);
		hi = pci__read(fn, off + 4, 4);
		bar = pci__bar(fn, nr);
		if (!bar.size) {
			verdict__equal(FAMILY, 0, lo, "slot %u: BAR %u is not there and reads 0",
				       slot, nr);
			continue;
		}
		pci__check_bar(fn, nr, &bar, seen);
		verdict__check(FAMILY,
			       pci__read(fn, off, 4) == lo &&
				       (!bar.is64 || pci__read(fn, off + 4, 4) == hi),
			       "slot %u: BAR %u is as before it was sized", slot, nr);
		nr += bar.is64;
	}
	verdict__equal(FAMILY, command, pci__read(fn, PCI_COMMAND, 2),
		       "slot %u: command register is as before", slot);
}

static bool pci__check_function(pci_fn_t fn, void *arg)
{
	struct pci_seen *seen = arg;

	seen->functions++;
	print("payload: slot %u: %04x:%04x class %06x pin %u\n", PCI_FN_SLOT(fn),
	      pci__read(fn, PCI_VENDOR_ID, 2), pci__read(fn, PCI_DEVICE_ID, 2),
	      pci__read(fn, PCI_CLASS_REVISION, 4) >> 8, pci__read(fn, PCI_INTERRUPT_PIN, 1));
	if (PCI_FN_SLOT(fn) <= FULL_SLOTS)
		config__check_reads(fn, seen);
	pci__check_bars(fn, seen);
	return false;
}

/* ecam=off: none is expected (a machine of QEMU without it). */
int test__pci(void)
{
	static struct pci_seen seen;
	uint64_t devices = cmdline__num("devices", 0);

	seen.ecam = acpi__ecam(NULL);
	if (cmdline__bool("ecam", true))
		report(seen.ecam, "ACPI tells where ECAM is: %llx", (unsigned long long)seen.ecam);
	pci__walk(pci__check_function, &seen);
	pci__walk(caps__check, &seen);
	pci__walk(config__check_writes, &seen);
	config__check_rest(&seen);
	print("payload: pci functions=%u\n", seen.functions);
	if (devices)
		report(seen.functions == devices, "%u functions, %llu expected", seen.functions,
		       (unsigned long long)devices);
	return verdict__summary();
}
