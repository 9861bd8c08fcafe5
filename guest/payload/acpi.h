/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_ACPI_H
#define PAYLOAD_ACPI_H

#include "payload.h"

/* ACPI 6.4, 5.2.6 */
struct acpi_header {
	char signature[4];
	uint32_t length;
	uint8_t revision, checksum;
	char oem_id[6], oem_table_id[8];
	uint32_t oem_revision, creator_id, creator_revision;
} __attribute__((packed));

/* The table with this signature, or NULL. */
const struct acpi_header *acpi__find(const char *signature);
/* The bytes of a table add up to zero, as they must. */
bool acpi__sum_ok(const void *table, size_t length);

/* MADT: APIC ids of enabled CPUs; their number (at most @max are stored). */
unsigned int acpi__apic_ids(uint32_t *ids, unsigned int max);

/* MCFG: ECAM address of bus 0 on segment 0, 0: none.  *last_bus may be NULL. */
uint64_t acpi__ecam(unsigned int *last_bus);

#endif
