/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_X86_ACPI_INT_H
#define LKVM_X86_ACPI_INT_H

#include <stddef.h>
#include <stdint.h>

#include <lkvm/x86_map.h>

#include "aml.h"

/*
 * Open a table: pads to 16 bytes, writes the header (ACPI 6.4, 5.2.6) and
 * returns where it starts.  acpi_table__end() fills in length and checksum.
 * Internal to x86/.
 */
size_t acpi_table__begin(struct aml *aml, const char *signature, uint8_t revision);
void acpi_table__end(struct aml *aml, size_t start);

/* The byte that makes the sum of all zero. */
uint8_t acpi_checksum(const uint8_t *data, size_t len);

/* Each writes one table and returns where it starts. */
size_t acpi_dsdt__write(struct aml *aml, const struct x86_map *map, unsigned int nr_cpus);
size_t acpi_fadt__write(struct aml *aml, uint64_t dsdt);
size_t acpi_madt__write(struct aml *aml, unsigned int nr_cpus);
size_t acpi_mcfg__write(struct aml *aml);

#endif
