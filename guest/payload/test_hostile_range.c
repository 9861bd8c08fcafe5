// SPDX-License-Identifier: GPL-2.0-only
/* Ranges of discard and write zeroes that no driver may ask for (virtio 1.2, 5.2.6). */
#include "hostile.h"

#define FAMILY "ranges"
#define END (1ULL << 62) /* with an offset: sectors from the end of the disk */
#define BOTH 3U
#define DISCARD 1U
#define ZEROES 2U

static const struct {
	const char *name;
	unsigned int types;
	uint64_t sector;
	uint32_t nr, flags;
	uint32_t bytes; /* of ranges: 16 each, the same one over and over */
	struct hostile_want want;
} ranges[] = {
	{"no sectors", BOTH, 0, 0, 0, 16, WANT_OK(1)},
	{"no sectors at the end", BOTH, END, 0, 0, 16, WANT_OK(1)},
	{"no sectors past the end", BOTH, END + 1, 0, 0, 16, WANT_IOERR},
	{"no sectors at 2^64-1", BOTH, UINT64_MAX, 0, 0, 16, WANT_IOERR},
	{"one sector past the end", BOTH, END, 1, 0, 16, WANT_IOERR},
	{"partly past the end", BOTH, END - 8, 9, 0, 16, WANT_IOERR},
	{"as many sectors as a number holds", BOTH, 0, UINT32_MAX, 0, 16, WANT_IOERR},
	{"last sector, as many as a number holds", BOTH, END - 1, UINT32_MAX, 0, 16, WANT_IOERR},
	{"sector 2^64-1", BOTH, UINT64_MAX, 1, 0, 16, WANT_IOERR},
	{"sector 2^64-8, 16 of them", BOTH, -8ULL, 16, 0, 16, WANT_IOERR},
	{"sector 2^55, bytes overflow", BOTH, 1ULL << 55, 8, 0, 16, WANT_IOERR},
	{"sector 2^63", BOTH, 1ULL << 63, 8, 0, 16, WANT_IOERR},
	{"unmap", DISCARD, 8, 8, 1, 16, WANT_UNSUPP},
	{"unmap, no sectors", ZEROES, 8, 0, 1, 16, WANT_OK(1)},
	{"unmap, past the end", ZEROES, END, 8, 1, 16, WANT_IOERR},
	{"flag 1", BOTH, 8, 8, 2, 16, WANT_UNSUPP},
	{"flags 0 and 1", BOTH, 8, 8, 3, 16, WANT_UNSUPP},
	{"flag 31", BOTH, 8, 8, 0x80000000, 16, WANT_UNSUPP},
	{"every flag", BOTH, 8, 8, UINT32_MAX, 16, WANT_UNSUPP},
	{"unknown flag, no sectors", BOTH, 8, 0, 4, 16, WANT_UNSUPP},
	{"one byte of a range", BOTH, 8, 8, 0, 1, WANT_IOERR},
	{"8 bytes of a range", BOTH, 8, 8, 0, 8, WANT_IOERR},
	{"15 bytes of a range", BOTH, 8, 8, 0, 15, WANT_IOERR},
	{"a range and a byte", BOTH, 8, 8, 0, 17, WANT_IOERR},
	{"a range twice, which overlap", BOTH, 8, 8, 0, 32, WANT_IOERR},
	{"256 times the same range", BOTH, 8, 8, 0, 4096, WANT_IOERR},
};

static bool offered(const struct hostile *h, unsigned int type)
{
	return virtio__has(&h->d.blk[0].dev,
			   type == DISCARD ? VIRTIO_BLK_F_DISCARD : VIRTIO_BLK_F_WRITE_ZEROES);
}

static void one(struct hostile *h, unsigned int i, unsigned int type)
{
	static const struct hostile_want unsupported = WANT_UNSUPP;
	struct virtio_blk_discard_write_zeroes range = {
		.sector = ranges[i].sector,
		.num_sectors = ranges[i].nr,
		.flags = ranges[i].flags,
	};
	char name[80];
	uint32_t at;

	if (range.sector >= END - 4096 && range.sector <= END + 4096)
		range.sector += h->d.blk[0].capacity - END;
	hostile__begin(h, type == DISCARD ? VIRTIO_BLK_T_DISCARD : VIRTIO_BLK_T_WRITE_ZEROES, 0);
	for (at = 0; at < ranges[i].bytes; at += sizeof(range))
		memcpy(h->out + 16 + at, &range, sizeof(range));
	fmt__snprintf(name, sizeof(name), "%s: %s", type == DISCARD ? "discard" : "zeroes",
		      ranges[i].name);
	hostile__header(h);
	hostile__seg(h, (uintptr_t)h->out + 16, ranges[i].bytes, 0);
	hostile__status(h);
	hostile__run(h, FAMILY, name, "5.2.6.2", offered(h, type) ? &ranges[i].want : &unsupported);
}

void hostile__ranges(struct hostile *h)
{
	unsigned int i, type;

	for (h->indirect = false;; h->indirect = true) {
		for (i = 0; i < ARRAY_SIZE(ranges); i++)
			for (type = DISCARD; type <= ZEROES; type <<= 1)
				if (ranges[i].types & type)
					one(h, i, type);
		if (h->indirect || !hostile__has_tables(h))
			break;
	}
	h->indirect = false;
}
