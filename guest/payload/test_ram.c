// SPDX-License-Identifier: GPL-2.0-only
/*
 * The RAM that the memory map promises is there, at both ends of each region
 * and between, every page its own; and nothing else lies in it.
 */
#include "acpi.h"
#include "payload.h"

#define BETWEEN 14 /* pages probed between the first and the last */

extern char __image_end[];

struct probe {
	volatile uint64_t *word;
	uint64_t old;
};

static struct probe probes[BOOT_MAX_RAM * (BETWEEN + 2)];

static bool ram__is_ours(uint64_t page)
{
	return page >= 0x100000 && page < boot_info.heap;
}

static bool ram__has_cmdline(uint64_t page)
{
	uint64_t start = (uintptr_t)boot_info.cmdline;

	return page + PAGE_SIZE > start && page < start + strlen(boot_info.cmdline) + 1;
}

static uint64_t ram__pattern(const volatile uint64_t *word)
{
	return (uintptr_t)word * 0x9e3779b97f4a7c15ULL | 1;
}

/* First word of a page, last word of the last one: the very end counts. */
static unsigned int ram__choose(unsigned int region, struct probe *probe)
{
	uint64_t base = (boot_info.ram[region].base + PAGE_SIZE - 1) & -PAGE_SIZE;
	uint64_t end = (boot_info.ram[region].base + boot_info.ram[region].size) & -PAGE_SIZE;
	uint64_t pages = (end - base) / PAGE_SIZE, step = pages / (BETWEEN + 1), i;
	unsigned int nr = 0;

	if (end <= base)
		return 0;
	paging__map(base, end - base, false);
	for (i = 0; i <= BETWEEN; i++) {
		uint64_t page = base + (step ? i * step : 0) * PAGE_SIZE;

		if ((i && !step) || ram__is_ours(page) || ram__has_cmdline(page))
			continue;
		probe[nr++].word = (volatile uint64_t *)page;
	}
	if (!ram__is_ours(end - PAGE_SIZE) && !ram__has_cmdline(end - PAGE_SIZE))
		probe[nr++].word = (volatile uint64_t *)(end - 8);
	return nr;
}

static void ram__check_pages(struct probe *probe, unsigned int nr)
{
	unsigned int i, bad = 0;

	for (i = 0; i < nr; i++) {
		probe[i].old = *probe[i].word;
		*probe[i].word = ram__pattern(probe[i].word);
	}
	/* All written before the first is read back: two pages on one would show. */
	for (i = 0; i < nr; i++) {
		if (*probe[i].word != ram__pattern(probe[i].word)) {
			print("payload: %p does not hold its value\n", (void *)probe[i].word);
			bad++;
		}
	}
	for (i = nr; i; i--)
		*probe[i - 1].word = probe[i - 1].old;
	report(!bad, "%u pages hold what was written", nr);
}

static bool ram__overlaps(uint64_t base, uint64_t size)
{
	unsigned int i;

	for (i = 0; i < boot_info.nr_ram; i++)
		if (base < boot_info.ram[i].base + boot_info.ram[i].size &&
		    boot_info.ram[i].base < base + size)
			return true;
	return false;
}

int test__ram(void)
{
	uint64_t total = 0, ecam, want = cmdline__num("ram", 0);
	unsigned int i, nr = 0, last_bus = 0;

	for (i = 0; i < boot_info.nr_ram; i++) {
		print("payload: ram %llx + %llx\n", (unsigned long long)boot_info.ram[i].base,
		      (unsigned long long)boot_info.ram[i].size);
		total += boot_info.ram[i].size;
		report(!i || boot_info.ram[i].base >=
				       boot_info.ram[i - 1].base + boot_info.ram[i - 1].size,
		       "region %u lies above the one before", i);
		nr += ram__choose(i, probes + nr);
	}
	print("payload: ram total=%llu regions=%u\n", (unsigned long long)total, boot_info.nr_ram);
	if (want)
		report(total == want, "%llu bytes of RAM, %llu asked for",
		       (unsigned long long)total, (unsigned long long)want);
	ram__check_pages(probes, nr);
	ecam = acpi__ecam(&last_bus);
	if (ecam)
		report(!ram__overlaps(ecam, (last_bus + 1ULL) << 20), "no RAM in ECAM");
	report(!ram__overlaps(0xfec00000, PAGE_SIZE), "no RAM at the IOAPIC");
	report(!ram__overlaps(0xfee00000, PAGE_SIZE), "no RAM at the local APIC");
	return report__summary();
}
