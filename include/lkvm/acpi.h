/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_ACPI_H
#define LKVM_ACPI_H

#include <stdint.h>

#include <lkvm/err.h>
#include <lkvm/mem.h>
#include <lkvm/x86_map.h>

/*
 * Hardware-reduced ACPI (ACPI 6.4, 4.1): RSDP, XSDT, FADT (reset and sleep
 * registers), MADT (x2APIC entries for ids of 255 and above), MCFG, and a DSDT
 * in AML with the PCI host bridge (_CRS with bus 0, BAR windows; _PRT: INTA of
 * slot s to GSI X86_GSI_PCI_BASE + s % 8, level), COM1, RTC, motherboard
 * resources for ECAM and lkvm's own ports, and \_S5.
 *
 * Builds all tables at X86_ACPI_BASE, in X86_ACPI_SIZE bytes at most.
 * Main thread, before any vCPU runs.  *@rsdp: guest physical address.
 */
int acpi__build(const struct guest_mem *mem, const struct x86_map *map, unsigned int nr_cpus,
		uint64_t *rsdp, struct lk_err *err);

#endif
