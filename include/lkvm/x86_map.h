/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_X86_MAP_H
#define LKVM_X86_MAP_H

#include <stdint.h>

#include <lkvm/err.h>

/*
 * The physical address space of the guest.  Fixed places below 1 MiB belong to
 * the boot data; RAM ends at 3 GiB at the latest and goes on at 4 GiB.
 */
#define X86_BOOT_GDT 0x500UL
#define X86_BOOT_PARAMS 0x7000UL /* zero page */
#define X86_BOOT_PGTABLE 0x9000UL /* PML4, PDPT, 4 PDs: identity map of 4 GiB */
#define X86_CMDLINE 0x20000UL
#define X86_CMDLINE_MAX 0x10000UL
#define X86_EBDA 0x9fc00UL /* end of usable conventional memory */
#define X86_ACPI_BASE 0xe0000UL /* RSDP first, where a legacy scan finds it */
#define X86_ACPI_SIZE 0x20000UL
#define X86_HIGH_START 0x100000UL /* 1 MiB */

#define X86_HOLE_START 0xc0000000ULL /* 3 GiB: no RAM from here to 4 GiB */
#define X86_HOLE_END 0x100000000ULL
#define X86_BAR32_BASE 0xc0000000ULL
#define X86_BAR32_SIZE 0x20000000ULL
#define X86_ECAM_BASE 0xe0000000ULL
#define X86_ECAM_SIZE 0x100000ULL /* bus 0 alone */
#define X86_IOAPIC_BASE 0xfec00000UL
#define X86_LAPIC_BASE 0xfee00000UL
#define X86_TSS_BASE 0xfeffc000UL /* three pages for KVM, then the identity map page */

/* AMD hosts keep the last 12 GiB below 1 TiB to themselves: no RAM and no BAR there. */
#define X86_HT_HOLE_START 0xfd00000000ULL
#define X86_HT_HOLE_END 0x10000000000ULL

#define X86_MAP_RAM 3

struct x86_map {
	struct {
		uint64_t base, size;
	} ram[X86_MAP_RAM]; /* ascending */
	unsigned int nr_ram;
	uint64_t bar64_base, bar64_size; /* above RAM, below 2^phys_bits */
};

/* GSIs */
#define X86_GSI_COM1 4
#define X86_GSI_PCI_BASE 16 /* INTA of PCI slot s: 16 + s % 8 */
#define X86_GSI_PCI_COUNT 8

/* I/O ports */
#define X86_PORT_COM1 0x3f8
#define X86_PORT_RTC 0x70
#define X86_PORT_I8042 0x60 /* data 0x60, command and status 0x64 */
#define X86_PORT_RESET 0xcf9 /* ACPI reset register */
#define X86_RESET_VALUE 0x06
#define X86_PORT_SLEEP 0x600 /* ACPI sleep control, sleep status at +1 */
#define X86_S5_TYPE 5
#define X86_PORT_PVPANIC 0x505 /* where QEMU has it */
#define X86_PORT_EXIT 0xf4 /* one byte: exit status chosen by the guest */

/*
 * Lay out @ram bytes (a multiple of 4 KiB, at least 1 MiB) for a guest with
 * @phys_bits physical address bits.  Pure.  -EINVAL with the figures where it
 * does not fit below 2^phys_bits.
 */
int x86_map__init(struct x86_map *map, uint64_t ram, unsigned int phys_bits, struct lk_err *err);

#endif
