// SPDX-License-Identifier: GPL-2.0-only
/* ACPI tables: the frame.  RSDP, XSDT and what every table has in common. */
#include <errno.h>
#include <string.h>

#include <lkvm/acpi.h>

#include "acpi_int.h"

#define OEM_ID "LKVM  " /* 6 bytes */
#define OEM_TABLE_ID "LKVM    " /* 8 bytes */
#define CREATOR_ID "LKVM"

#define HEADER_LENGTH 4 /* offsets in the header of a table */
#define HEADER_CHECKSUM 9

#define RSDP_SIZE 36
#define RSDP_V1_SIZE 20 /* what the first checksum covers */

uint8_t acpi_checksum(const uint8_t *data, size_t len)
{
	uint8_t sum = 0;

	while (len--)
		sum += *data++;
	return -sum;
}

size_t acpi_table__begin(struct aml *aml, const char *signature, uint8_t revision)
{
	size_t start;

	while (aml->len % 16 && !aml->overflow)
		aml__u8(aml, 0);
	start = aml->len;
	aml__bytes(aml, signature, 4);
	aml__u32(aml, 0); /* length */
	aml__u8(aml, revision);
	aml__u8(aml, 0); /* checksum */
	aml__bytes(aml, OEM_ID, 6);
	aml__bytes(aml, OEM_TABLE_ID, 8);
	aml__u32(aml, 1); /* OEM revision */
	aml__bytes(aml, CREATOR_ID, 4);
	aml__u32(aml, 1); /* creator revision */
	return start;
}

void acpi_table__end(struct aml *aml, size_t start)
{
	uint8_t *table = aml->buf + start;
	struct aml field;

	if (aml->overflow)
		return;
	aml__init(&field, table + HEADER_LENGTH, 4);
	aml__u32(&field, aml->len - start);
	table[HEADER_CHECKSUM] = acpi_checksum(table, aml->len - start);
}

static size_t write_xsdt(struct aml *aml, const size_t *tables, unsigned int nr)
{
	size_t start = acpi_table__begin(aml, "XSDT", 1);

	for (unsigned int i = 0; i < nr; i++)
		aml__u64(aml, X86_ACPI_BASE + tables[i]);
	acpi_table__end(aml, start);
	return start;
}

/* Revision 2, without an RSDT (5.2.5.3). */
static void write_rsdp(uint8_t *rsdp, uint64_t xsdt)
{
	struct aml aml;

	aml__init(&aml, rsdp, RSDP_SIZE);
	aml__bytes(&aml, "RSD PTR ", 8);
	aml__u8(&aml, 0); /* checksum */
	aml__bytes(&aml, OEM_ID, 6);
	aml__u8(&aml, 2); /* revision */
	aml__u32(&aml, 0); /* RSDT */
	aml__u32(&aml, RSDP_SIZE);
	aml__u64(&aml, xsdt);
	aml__u32(&aml, 0); /* extended checksum, reserved */
	rsdp[8] = acpi_checksum(rsdp, RSDP_V1_SIZE);
	rsdp[32] = acpi_checksum(rsdp, RSDP_SIZE);
}

int acpi__build(const struct guest_mem *mem, const struct x86_map *map, unsigned int nr_cpus,
		uint64_t *rsdp, struct lk_err *err)
{
	uint8_t *area = guest_mem__ptr(mem, X86_ACPI_BASE, X86_ACPI_SIZE);
	size_t dsdt, tables[3], xsdt;
	struct aml aml;

	if (!area)
		return lk_err__set(err, -EFAULT,
				   "no guest memory at 0x%lx for the ACPI tables; "
				   "-m 1 is the least",
				   X86_ACPI_BASE);
	if (!nr_cpus)
		return lk_err__set(err, -EINVAL, "ACPI tables for no CPU");

	aml__init(&aml, area, X86_ACPI_SIZE);
	for (size_t i = 0; i < RSDP_SIZE; i++)
		aml__u8(&aml, 0);
	dsdt = acpi_dsdt__write(&aml, map, nr_cpus);
	tables[0] = acpi_fadt__write(&aml, X86_ACPI_BASE + dsdt);
	tables[1] = acpi_madt__write(&aml, nr_cpus);
	tables[2] = acpi_mcfg__write(&aml);
	xsdt = write_xsdt(&aml, tables, 3);
	if (aml.overflow)
		return lk_err__set(err, -ENOSPC,
				   "the ACPI tables for %u CPUs do not fit into %lu KiB; "
				   "use fewer CPUs (-c)",
				   nr_cpus, X86_ACPI_SIZE / 1024);
	write_rsdp(area, X86_ACPI_BASE + xsdt);
	*rsdp = X86_ACPI_BASE;
	return 0;
}
