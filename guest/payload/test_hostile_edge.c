// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffers that end with the last byte of a RAM region, all of which must work,
 * and one byte further, of which none may.
 */
#include "hostile.h"

#define FAMILY "edges"
#define W VRING_DESC_F_WRITE
#define KEEP 65536U /* of the end of RAM, which mem__alloc() leaves alone */

enum part {
	READ_4096,
	READ_512,
	STATUS,
	HEADER,
	WRITE_512,
	TABLE,
	NR_PARTS
};

static const struct {
	const char *name;
	uint32_t len;
	struct hostile_want fits, over;
} parts[NR_PARTS] = {
	[READ_4096] = {"4096 bytes to be read", 4096, WANT_OK(4097), WANT_IOERR},
	[READ_512] = {"512 bytes to be read", 512, WANT_OK(513), WANT_IOERR},
	[STATUS] = {"the status byte", 1, WANT_OK(513), WANT_RETURNED},
	[HEADER] = {"the header", 16, WANT_OK(513), WANT_IOERR},
	[WRITE_512] = {"512 bytes to be written", 512, WANT_OK(1), WANT_IOERR},
	[TABLE] = {"the indirect table", 48, WANT_OK(513), WANT_RESET},
};

/* The part lies at @addr; where it fits, what stands there counts. */
static void one(struct hostile *h, enum part part, uint64_t addr, bool fits, const char *where)
{
	void *table = h->table;
	char name[96];

	hostile__begin(h, part == WRITE_512 ? VIRTIO_BLK_T_OUT : VIRTIO_BLK_T_IN, 0);
	if (fits && part == HEADER)
		memcpy((void *)addr, h->out, 16);
	if (fits && part == WRITE_512)
		memcpy((void *)addr, h->d.buf, SECTOR); /* sector 0 as it is */
	if (fits && part == STATUS)
		h->status = (uint8_t *)addr;
	hostile__seg(h, part == HEADER ? addr : (uintptr_t)h->out, 16, 0);
	if (part == READ_4096 || part == READ_512)
		hostile__seg(h, addr, parts[part].len, W);
	else if (part == WRITE_512)
		hostile__seg(h, addr, SECTOR, 0);
	else
		hostile__seg(h, (uintptr_t)h->in, SECTOR, W);
	hostile__seg(h, part == STATUS ? addr : (uintptr_t)h->status, 1, W);
	h->indirect = part == TABLE;
	if (part == TABLE)
		h->table = (void *)addr;
	h->elsewhere = part == READ_4096 || part == READ_512;
	fmt__snprintf(name, sizeof(name), "%s %s %s", parts[part].name,
		      fits ? "ends with the last byte" : "one byte further", where);
	hostile__run(h, FAMILY, name, "2.7.5", fits ? &parts[part].fits : &parts[part].over);
	h->table = table;
	h->indirect = h->elsewhere = false;
}

/* Nothing but the part itself was written in the end of the region. */
static bool clean(const uint8_t *from, const uint8_t *to)
{
	while (from < to)
		if (*from++ != HOSTILE_GUARD)
			return false;
	return true;
}

static void region(struct hostile *h, uint64_t end, const char *where)
{
	uint8_t *keep = (uint8_t *)(end - KEEP), *last = (uint8_t *)end;
	unsigned int part;

	paging__map(end - KEEP, KEEP, false);
	for (part = 0; part < NR_PARTS; part++) {
		uint32_t len = parts[part].len;

		if (part == TABLE && !hostile__has_tables(h))
			continue;
		memset(keep, HOSTILE_GUARD, KEEP);
		if (!disks__read_ok(&h->d, 0))
			panic("disk 0 is not well");
		one(h, part, end - len, true, where);
		verdict__check(FAMILY, clean(keep, last - len), "%s %s: nothing in front of it",
			       parts[part].name, where);
		if (part == READ_4096 || part == READ_512)
			verdict__check(FAMILY, !memcmp(last - len, "sector 0 ", 9),
				       "%s %s: content", parts[part].name, where);
		memset(keep, HOSTILE_GUARD, KEEP);
		if (part != TABLE) /* which test_hostile_table.c has */
			one(h, part, end - len + 1, false, where);
		verdict__check(FAMILY, clean(keep, last), "%s %s: nothing written one byte further",
			       parts[part].name, where);
	}
}

/* One buffer from the end of low RAM to the start of high RAM, which fits the disk. */
static void through_the_hole(struct hostile *h, uint64_t low_end, uint64_t high)
{
	static const struct hostile_want refused = WANT_IOERR;
	uint64_t addr = low_end - SECTOR, len = high + SECTOR - addr;
	uint8_t *from = (uint8_t *)addr, *to = (uint8_t *)high;
	unsigned int write;

	if (len > UINT32_MAX || h->d.blk[0].capacity < len / SECTOR)
		panic("the hole is %lu bytes, the disk %lu sectors", len, h->d.blk[0].capacity);
	paging__map(high, PAGE_SIZE, false);
	for (write = 0; write < 2; write++) {
		memset(from, HOSTILE_GUARD, SECTOR);
		memset(to, HOSTILE_GUARD, PAGE_SIZE);
		hostile__begin(h, write ? VIRTIO_BLK_T_OUT : VIRTIO_BLK_T_IN, 0);
		hostile__header(h);
		hostile__seg(h, addr, len, write ? 0 : W);
		hostile__status(h);
		h->elsewhere = true;
		hostile__run(h, FAMILY,
			     write ? "written from low RAM through the hole"
				   : "read to low RAM through the hole",
			     "2.7.5", &refused);
		h->elsewhere = false;
		verdict__check(FAMILY, clean(from, from + SECTOR) && clean(to, to + PAGE_SIZE),
			       "%s through the hole: nothing written on either side",
			       write ? "write" : "read");
	}
}

void hostile__edges(struct hostile *h)
{
	uint64_t low_end = 0;
	unsigned int i;

	for (i = 0; i < boot_info.nr_ram; i++) {
		uint64_t end = boot_info.ram[i].base + boot_info.ram[i].size;

		if (end > 0x100000)
			region(h, end, end > 1ULL << 32 ? "of high RAM" : "of low RAM");
		if (end <= 1ULL << 32)
			low_end = end;
		else if (low_end)
			through_the_hole(h, low_end, boot_info.ram[i].base);
	}
}
