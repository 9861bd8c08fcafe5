// SPDX-License-Identifier: GPL-2.0-only
#include "acpi.h"

/* ACPI 6.4, 5.2.5.3 */
struct rsdp {
	char signature[8];
	uint8_t checksum;
	char oem_id[6];
	uint8_t revision;
	uint32_t rsdt, length;
	uint64_t xsdt;
	uint8_t checksum2, reserved[3];
} __attribute__((packed));

struct madt_entry {
	uint8_t type, length;
	union {
		struct {
			uint8_t uid, id;
			uint32_t flags;
		} __attribute__((packed)) lapic; /* type 0 */
		struct {
			uint16_t reserved;
			uint32_t id, flags, uid;
		} __attribute__((packed)) x2apic; /* type 9 */
	};
} __attribute__((packed));

#define MADT_HEADER 44 /* then entries */
#define MCFG_HEADER 44

struct mcfg_entry {
	uint64_t base;
	uint16_t segment;
	uint8_t first_bus, last_bus;
	uint32_t reserved;
} __attribute__((packed));

bool acpi__sum_ok(const void *table, size_t length)
{
	const uint8_t *p = table;
	uint8_t sum = 0;

	while (length--)
		sum += *p++;
	return !sum;
}

/* 5.2.5.1: the loader's word for it, else the BIOS area on 16-byte boundaries. */
static const struct rsdp *acpi__rsdp(void)
{
	uint64_t addr;

	if (boot_info.rsdp)
		return (const struct rsdp *)boot_info.rsdp;
	for (addr = 0xe0000; addr < 0x100000; addr += 16)
		if (!memcmp((const void *)addr, "RSD PTR ", 8))
			return (const struct rsdp *)addr;
	return NULL;
}

const struct acpi_header *acpi__find(const char *signature)
{
	const struct rsdp *rsdp = acpi__rsdp();
	const struct acpi_header *root, *table;
	unsigned int width, i;
	uint64_t addr;

	if (!rsdp)
		return NULL;
	width = rsdp->revision >= 2 && rsdp->xsdt ? 8 : 4;
	root = (const void *)(width == 8 ? rsdp->xsdt : rsdp->rsdt);
	for (i = 0; root && sizeof(*root) + (i + 1) * width <= root->length; i++) {
		addr = 0;
		memcpy(&addr, (const uint8_t *)(root + 1) + i * width, width);
		table = (const void *)addr;
		if (!memcmp(table->signature, signature, 4))
			return table;
	}
	return NULL;
}

unsigned int acpi__apic_ids(uint32_t *ids, unsigned int max)
{
	const struct acpi_header *madt = acpi__find("APIC");
	unsigned int off, nr = 0;

	for (off = MADT_HEADER; madt && off + 2 <= madt->length;) {
		const struct madt_entry *e = (const void *)((const uint8_t *)madt + off);
		bool is_lapic = e->type == 0 && e->lapic.flags & 1;
		bool is_x2apic = e->type == 9 && e->x2apic.flags & 1;

		if ((is_lapic || is_x2apic) && nr < max)
			ids[nr] = is_lapic ? e->lapic.id : e->x2apic.id;
		nr += is_lapic || is_x2apic;
		if (!e->length)
			break;
		off += e->length;
	}
	return nr;
}

uint64_t acpi__ecam(unsigned int *last_bus)
{
	const struct acpi_header *mcfg = acpi__find("MCFG");
	unsigned int off;

	for (off = MCFG_HEADER; mcfg && off + sizeof(struct mcfg_entry) <= mcfg->length;
	     off += sizeof(struct mcfg_entry)) {
		const struct mcfg_entry *e = (const void *)((const uint8_t *)mcfg + off);

		if (e->segment || e->first_bus)
			continue;
		if (last_bus)
			*last_bus = e->last_bus;
		return e->base;
	}
	return 0;
}
