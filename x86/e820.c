// SPDX-License-Identifier: GPL-2.0-only
/* The memory map as the guest is told it (boot.rst; types: ACPI 6.4, 15.1). */
#include "boot_int.h"

enum {
	E820_RAM = 1,
	E820_RESERVED = 2,
	E820_ACPI = 3,
};

static void add(struct boot_params *params, uint64_t start, uint64_t end, uint32_t type)
{
	if (end <= start || params->e820_entries >= E820_MAX_ENTRIES_ZEROPAGE)
		return;
	params->e820_table[params->e820_entries++] = (struct boot_e820_entry) {
		.addr = start,
		.size = end - start,
		.type = type,
	};
}

/* Ascending, as some guests want it. */
void e820__fill(struct boot_params *params, const struct x86_map *map)
{
	params->e820_entries = 0;
	add(params, 0, X86_EBDA, E820_RAM);
	add(params, X86_EBDA, X86_ACPI_BASE, E820_RESERVED);
	add(params, X86_ACPI_BASE, X86_ACPI_BASE + X86_ACPI_SIZE, E820_ACPI);
	add(params, X86_HIGH_START, map->ram[0].size, E820_RAM);
	/* Linux wants to see ECAM reserved before it believes the MCFG table. */
	add(params, X86_ECAM_BASE, X86_ECAM_BASE + X86_ECAM_SIZE, E820_RESERVED);
	add(params, X86_TSS_BASE, X86_TSS_BASE + 0x4000, E820_RESERVED);
	for (unsigned int i = 1; i < map->nr_ram; i++)
		add(params, map->ram[i].base, map->ram[i].base + map->ram[i].size, E820_RAM);
}
