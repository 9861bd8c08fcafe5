// SPDX-License-Identifier: GPL-2.0-only
/* What configuration space says, by both ways in and at every width; BARs and capabilities. */
#include "acpi.h"
#include "pci.h"

struct seen {
	uint64_t ecam;
	unsigned int functions;
	struct pci_bar bar[64];
	unsigned int nr_bars;
};

static void pci__check_widths(pci_fn_t fn, uint64_t ecam)
{
	unsigned int off, bad_width = 0, bad_ecam = 0;

	for (off = 0; off < 256; off += 4) {
		uint32_t dword = pci__read(fn, off, 4), parts = 0;

		parts = pci__read(fn, off, 1) | pci__read(fn, off + 1, 1) << 8 |
			pci__read(fn, off + 2, 2) << 16;
		bad_width += parts != dword;
		if (!ecam)
			continue;
		bad_ecam += pci__ecam_read(fn, off, 4) != dword;
		bad_ecam += pci__ecam_read(fn, off + 2, 2) != dword >> 16;
		bad_ecam += pci__ecam_read(fn, off + 3, 1) != dword >> 24;
	}
	report(!bad_width, "slot %u: bytes and words make up the dwords", PCI_FN_SLOT(fn));
	if (ecam)
		report(!bad_ecam, "slot %u: ECAM equals CF8", PCI_FN_SLOT(fn));
}

/* PCI 3.0, 6.7: inside the device dependent region, dword aligned, ends, no offset twice. */
static void pci__check_caps(pci_fn_t fn)
{
	unsigned int off, nr = 0;
	bool good = true, seen[64] = {false};

	if (!(pci__read(fn, PCI_STATUS, 2) & PCI_STATUS_CAP_LIST))
		return;
	off = pci__read(fn, PCI_CAPABILITY_LIST, 1);
	for (; off && good; nr++) {
		good = off >= 0x40 && !(off & 3) && !seen[off / 4];
		seen[off / 4] = true;
		print("payload: slot %u: capability %02x at %02x\n", PCI_FN_SLOT(fn),
		      pci__read(fn, off, 1), off);
		off = pci__read(fn, off + PCI_CAP_LIST_NEXT, 1);
	}
	report(good && nr, "slot %u: list of %u capabilities", PCI_FN_SLOT(fn), nr);
}

static bool pci__overlaps(const struct seen *seen, const struct pci_bar *bar)
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

static void pci__check_bars(pci_fn_t fn, struct seen *seen)
{
	uint32_t command = pci__read(fn, PCI_COMMAND, 2);
	unsigned int nr, off;

	for (nr = 0; nr < 6; nr++) {
		uint32_t lo, hi;
		struct pci_bar bar;

		off = PCI_BASE_ADDRESS_0 + 4 * nr;
		lo = pci__read(fn, off, 4);
		hi = pci__read(fn, off + 4, 4);
		bar = pci__bar(fn, nr);
		if (!bar.size) {
			report(!lo, "slot %u: BAR %u is not there and reads 0", PCI_FN_SLOT(fn),
			       nr);
			continue;
		}
		print("payload: slot %u: BAR %u %s %llx + %llx\n", PCI_FN_SLOT(fn), nr,
		      bar.io ? "ports" : "memory", (unsigned long long)bar.base,
		      (unsigned long long)bar.size);
		report(!(bar.size & (bar.size - 1)), "slot %u: size of BAR %u", PCI_FN_SLOT(fn),
		       nr);
		report(!(bar.base & (bar.size - 1)), "slot %u: BAR %u is aligned to its size",
		       PCI_FN_SLOT(fn), nr);
		report(pci__read(fn, off, 4) == lo &&
			       (!bar.is64 || pci__read(fn, off + 4, 4) == hi),
		       "slot %u: BAR %u is as before it was sized", PCI_FN_SLOT(fn), nr);
		report(!pci__overlaps(seen, &bar), "slot %u: BAR %u is alone at its place",
		       PCI_FN_SLOT(fn), nr);
		if (seen->nr_bars < ARRAY_SIZE(seen->bar))
			seen->bar[seen->nr_bars++] = bar;
		nr += bar.is64;
	}
	report(pci__read(fn, PCI_COMMAND, 2) == command, "slot %u: command register is as before",
	       PCI_FN_SLOT(fn));
}

static bool pci__check_function(pci_fn_t fn, void *arg)
{
	struct seen *seen = arg;

	seen->functions++;
	print("payload: slot %u: %04x:%04x class %06x pin %u\n", PCI_FN_SLOT(fn),
	      pci__read(fn, PCI_VENDOR_ID, 2), pci__read(fn, PCI_DEVICE_ID, 2),
	      pci__read(fn, PCI_CLASS_REVISION, 4) >> 8, pci__read(fn, PCI_INTERRUPT_PIN, 1));
	pci__check_widths(fn, seen->ecam);
	pci__check_caps(fn);
	pci__check_bars(fn, seen);
	return false;
}

/* Identity is read-only (PCI 3.0, 6.2.1). */
static bool pci__check_readonly(pci_fn_t fn, void *arg)
{
	uint32_t id = pci__read(fn, PCI_VENDOR_ID, 4), class = pci__read(fn, PCI_CLASS_REVISION, 4);

	(void)arg;
	pci__write(fn, PCI_VENDOR_ID, 4, ~id);
	pci__write(fn, PCI_CLASS_REVISION, 4, ~class);
	report(pci__read(fn, PCI_VENDOR_ID, 4) == id &&
		       pci__read(fn, PCI_CLASS_REVISION, 4) == class,
	       "slot %u: identity cannot be written", PCI_FN_SLOT(fn));
	return false;
}

static void pci__check_absent(uint64_t ecam)
{
	unsigned int slot, bad = 0, absent = 0;

	for (slot = 0; slot < 32; slot++) {
		pci_fn_t fn = PCI_FN(0, slot, 0);

		if (pci__read(fn, PCI_VENDOR_ID, 2) != 0xffff)
			continue;
		absent++;
		bad += pci__read(fn, PCI_VENDOR_ID, 4) != UINT32_MAX ||
		       pci__read(fn, PCI_BASE_ADDRESS_0, 4) != UINT32_MAX;
		bad += ecam && pci__ecam_read(fn, PCI_VENDOR_ID, 4) != UINT32_MAX;
	}
	report(!bad, "%u empty slots read all ones", absent);
}

int test__pci(void)
{
	static struct seen seen;
	uint64_t devices = cmdline__num("devices", 0);

	seen.ecam = acpi__ecam(NULL);
	report(seen.ecam, "ACPI tells where ECAM is: %llx", (unsigned long long)seen.ecam);
	pci__walk(pci__check_function, &seen);
	pci__walk(pci__check_readonly, NULL);
	pci__check_absent(seen.ecam);
	print("payload: pci functions=%u\n", seen.functions);
	if (devices)
		report(seen.functions == devices, "%u functions, %llu expected", seen.functions,
		       (unsigned long long)devices);
	return report__summary();
}
