// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses that are not the driver's to give: each place, for each part of a
 * request, in the ring and in an indirect table.
 */
#include "acpi.h"
#include "apic.h"
#include "hostile.h"

#define FAMILY "memory"
#define W VRING_DESC_F_WRITE

struct place {
	const char *name;
	uint64_t addr;
};

enum role {
	HEADER,
	READ_DATA,
	WRITTEN_DATA,
	STATUS,
	DATA_AND_STATUS,
	RANGE,
	SERIAL,
	NR_ROLES
};

/* Bytes wanted of the place; the last one is never in RAM. */
static const struct {
	const char *name;
	uint32_t type, len;
	struct hostile_want want;
} roles[NR_ROLES] = {
	[HEADER] = {"header", VIRTIO_BLK_T_IN, 16, WANT_IOERR},
	[READ_DATA] = {"data of a read", VIRTIO_BLK_T_IN, 512, WANT_IOERR},
	[WRITTEN_DATA] = {"data of a write", VIRTIO_BLK_T_OUT, 512, WANT_IOERR},
	[STATUS] = {"status", VIRTIO_BLK_T_IN, 1, WANT_RETURNED},
	[DATA_AND_STATUS] = {"data and status", VIRTIO_BLK_T_IN, 513, WANT_RETURNED},
	[RANGE] = {"range of a discard", VIRTIO_BLK_T_DISCARD, 16, WANT_IOERR},
	[SERIAL] = {"identity", VIRTIO_BLK_T_GET_ID, 20, WANT_IOERR},
};

static void one(struct hostile *h, enum role role, const struct place *place, uint64_t addr)
{
	uint32_t len = roles[role].len;
	char name[80];

	fmt__snprintf(name, sizeof(name), "%s %s", roles[role].name, place->name);
	hostile__begin(h, roles[role].type, 8);
	if (role == HEADER)
		hostile__seg(h, addr, len, 0);
	else
		hostile__header(h);
	switch (role) {
	case HEADER:
	case STATUS:
		hostile__seg(h, (uintptr_t)h->in, 512, W);
		break;
	case WRITTEN_DATA:
	case RANGE:
		hostile__seg(h, addr, len, 0);
		break;
	default:
		hostile__seg(h, addr, len, W);
	}
	if (role == STATUS)
		hostile__seg(h, addr, len, W);
	else if (role != DATA_AND_STATUS)
		hostile__status(h);
	hostile__run(h, FAMILY, name, "2.7.5, 2.7.4", &roles[role].want);
}

static void all_roles(struct hostile *h, const struct place *place, bool across)
{
	unsigned int role;

	for (role = 0; role < NR_ROLES; role++) {
		uint32_t back = across ? roles[role].len - 1 : 0;

		/* a single byte lies across nothing */
		if (across && !back)
			continue;
		for (h->indirect = false;; h->indirect = true) {
			one(h, role, place, place->addr - back);
			if (h->indirect || !hostile__has_tables(h))
				break;
		}
	}
	h->indirect = false;
}

void hostile__memory(struct hostile *h)
{
	uint64_t end =
		boot_info.ram[boot_info.nr_ram - 1].base + boot_info.ram[boot_info.nr_ram - 1].size;
	struct moving bar = disks__bar(&h->d, 0);
	const struct place places[] = {
		{"behind RAM", end},
		{"in the PCI hole", 0xd0000000},
		{"in the disk's own BAR", bar.base},
		{"in the IOAPIC", 0xfec00000},
		{"in the local APIC", APIC_BASE},
		{"in ECAM", acpi__ecam(NULL)},
		{"at 2^40", 1ULL << 40},
		{"at 2^52", 1ULL << 52},
		{"at 2^63", 1ULL << 63},
		{"below 2^64", -4096ULL},
	};
	/* where the last byte lies */
	const struct place across[] = {{"across the end of RAM", end}, {"wrapping at 2^64", 0}};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i].addr)
			all_roles(h, &places[i], false);
	for (i = 0; i < ARRAY_SIZE(across); i++)
		all_roles(h, &across[i], true);
}
