// SPDX-License-Identifier: GPL-2.0-only
/* Indirect tables that are none (virtio 1.2, 2.7.5.3 and 2.8.7, 2.8.19). */
#include "acpi.h"
#include "apic.h"
#include "hostile.h"

#define FAMILY "tables"
#define W VRING_DESC_F_WRITE
#define ENTRY ((uint32_t)sizeof(struct vring_desc))

static const struct hostile_want broken = WANT_RESET;

/* A plain read of sector 0, by way of a table. */
static void begin(struct hostile *h)
{
	hostile__begin(h, VIRTIO_BLK_T_IN, 0);
	hostile__header(h);
	hostile__seg(h, (uintptr_t)h->in, SECTOR, W);
	hostile__status(h);
	h->indirect = true;
}

static void lengths(struct hostile *h)
{
	static const struct {
		const char *name;
		uint32_t len;
	} bad[] = {
		{"table of 1 byte", 1},
		{"table of 8 bytes", 8},
		{"table of 15 bytes", 15},
		{"table of 17 bytes", 17},
		{"table of 3 entries less a byte", 3 * ENTRY - 1},
		{"table of 3 entries and a byte", 3 * ENTRY + 1},
		{"table of one entry more than the queue", 257 * ENTRY},
		{"table of 65536 entries", 65536 * ENTRY},
		{"table of 2^31 bytes", 1U << 31},
		{"table of 2^32-16 bytes", UINT32_MAX - 15},
		{"table of 2^32-1 bytes", UINT32_MAX},
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		begin(h);
		h->table_len = bad[i].len;
		hostile__run(h, FAMILY, bad[i].name, "2.7.5.3", &broken);
	}
}

/* The descriptor in the ring that refers to the table. */
static void set_ref(struct hostile *h, struct ring *ring, uint64_t addr, uint32_t len,
		    uint16_t more)
{
	if (!hostile__packed(h)) {
		ring->desc[0].addr = addr;
		ring->desc[0].len = len;
		ring->desc[0].flags |= more;
		return;
	}
	/* its flags are held back until all is exposed */
	ring->held->addr = addr;
	ring->held->len = len;
	ring->held_flags |= more;
}

static void empty(struct hostile *h, struct ring *ring)
{
	set_ref(h, ring, (uintptr_t)h->table, 0, 0);
}

static void and_next(struct hostile *h, struct ring *ring)
{
	set_ref(h, ring, (uintptr_t)h->table, h->nr * ENTRY, VRING_DESC_F_NEXT);
}

static void elsewhere(struct hostile *h, struct ring *ring)
{
	set_ref(h, ring, h->which, h->nr * ENTRY, 0);
}

static void places(struct hostile *h)
{
	uint64_t end =
		boot_info.ram[boot_info.nr_ram - 1].base + boot_info.ram[boot_info.nr_ram - 1].size;
	const struct {
		const char *name;
		uint64_t addr;
	} bad[] = {
		{"behind RAM", end},
		{"across the end of RAM", end - ENTRY},
		{"a byte across the end of RAM", end - 3 * ENTRY + 1},
		{"in the PCI hole", 0xd0000000},
		{"in the disk's own BAR", disks__bar(&h->d, 0).base},
		{"in the IOAPIC", 0xfec00000},
		{"in the local APIC", APIC_BASE},
		{"in ECAM", acpi__ecam(NULL)},
		{"at 2^52", 1ULL << 52},
		{"at 2^63", 1ULL << 63},
		{"ending at 2^64", -3ULL * ENTRY},
		{"wrapping at 2^64", -1ULL * ENTRY},
	};
	unsigned int i;
	char name[64];

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		begin(h);
		h->which = bad[i].addr;
		h->spoil = elsewhere;
		fmt__snprintf(name, sizeof(name), "table %s", bad[i].name);
		hostile__run(h, FAMILY, name, "2.7.5.3", &broken);
	}
}

/* Split: a table in a table breaks the rule (2.7.5.3.1).  Packed: of the flags WRITE
 * alone counts there (2.8.7), so the entry is data like any other. */
static void nested(struct hostile *h)
{
	static const struct hostile_want read = WANT_OK(SECTOR + 1);
	unsigned int i;
	char name[64];

	for (i = 0; i < 3; i++) {
		begin(h);
		h->seg[i].flags |= VRING_DESC_F_INDIRECT;
		fmt__snprintf(name, sizeof(name), "entry %u of a table refers to a table", i);
		hostile__run(h, FAMILY, name, "2.7.5.3.1, 2.8.7",
			     hostile__packed(h) ? &read : &broken);
	}
}

void hostile__tables(struct hostile *h)
{
	lengths(h);
	places(h);
	nested(h);
	begin(h);
	h->spoil = empty;
	hostile__run(h, FAMILY, "table of 0 bytes", "2.7.5.3", &broken);
	begin(h);
	h->spoil = and_next;
	hostile__run(h, FAMILY, "table and next", "2.7.5.3.1, 2.8.19", &broken);
	h->indirect = false;
}
