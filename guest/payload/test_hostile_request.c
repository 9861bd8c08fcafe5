// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests in order as chains and wrong as requests (virtio 1.2, 5.2.6).  The
 * image is looked at afterwards: none of them changes it.
 */
#include "hostile.h"

#define W VRING_DESC_F_WRITE
#define LAST UINT64_MAX
#define END (1ULL << 62) /* with an offset: sectors from the end of the disk */

#define IN VIRTIO_BLK_T_IN
#define OUT VIRTIO_BLK_T_OUT
#define FLUSH VIRTIO_BLK_T_FLUSH
#define ID VIRTIO_BLK_T_GET_ID

struct request {
	const char *name;
	uint32_t type;
	uint64_t sector;
	uint32_t out, in; /* bytes of data each way */
	struct hostile_want want;
};

static uint64_t sector__of(const struct hostile *h, uint64_t sector)
{
	if (sector >= END - 4096 && sector <= END + 4096)
		return sector - END + h->d.blk[0].capacity;
	return sector;
}

static void send(struct hostile *h, const char *family, const char *section,
		 const struct request *r)
{
	if (r->out)
		hostile__seg(h, (uintptr_t)h->out + 16, r->out, 0);
	if (r->in)
		hostile__seg(h, (uintptr_t)h->in, r->in, W);
	hostile__status(h);
	hostile__run(h, family, r->name, section, &r->want);
}

static void each(struct hostile *h, const char *family, const char *section,
		 const struct request *table, unsigned int nr)
{
	unsigned int i;

	for (h->indirect = false;; h->indirect = true) {
		for (i = 0; i < nr; i++) {
			hostile__begin(h, table[i].type, sector__of(h, table[i].sector));
			hostile__header(h);
			send(h, family, section, &table[i]);
		}
		if (h->indirect || !hostile__has_tables(h))
			break;
	}
	h->indirect = false;
}

static const struct request sectors[] = {
	{"read the last sector", IN, END - 1, 0, 512, WANT_OK(513)},
	{"read one past the end", IN, END, 0, 512, WANT_IOERR},
	{"read partly past the end", IN, END - 1, 0, 1024, WANT_IOERR},
	{"read all but one past the end", IN, END - 1, 0, 8192, WANT_IOERR},
	{"read far past the end", IN, 1ULL << 40, 0, 512, WANT_IOERR},
	{"read at sector 2^55", IN, 1ULL << 55, 0, 512, WANT_IOERR},
	{"read at the last sector whose bytes fit 64 bits", IN, (1ULL << 55) - 1, 0, 512,
	 WANT_IOERR},
	{"read at sector 2^63", IN, 1ULL << 63, 0, 512, WANT_IOERR},
	{"read at sector 2^64-1", IN, LAST, 0, 512, WANT_IOERR},
	{"read at sector 2^64-1, two of them", IN, LAST, 0, 1024, WANT_IOERR},
	{"read nothing", IN, 0, 0, 0, WANT_OK(1)},
	{"read nothing at the end", IN, END, 0, 0, WANT_OK(1)},
	{"read nothing past the end", IN, END + 1, 0, 0, WANT_IOERR},
	{"read nothing at sector 2^64-1", IN, LAST, 0, 0, WANT_IOERR},
	{"write one past the end", OUT, END, 512, 0, WANT_IOERR},
	{"write partly past the end", OUT, END - 1, 1024, 0, WANT_IOERR},
	{"write far past the end", OUT, 1ULL << 40, 512, 0, WANT_IOERR},
	{"write at sector 2^55", OUT, 1ULL << 55, 512, 0, WANT_IOERR},
	{"write at sector 2^63", OUT, 1ULL << 63, 512, 0, WANT_IOERR},
	{"write at sector 2^64-1", OUT, LAST, 512, 0, WANT_IOERR},
	{"write at sector 2^64-1, two of them", OUT, LAST, 1024, 0, WANT_IOERR},
	{"write nothing", OUT, 0, 0, 0, WANT_OK(1)},
	{"write nothing past the end", OUT, END + 1, 0, 0, WANT_IOERR},
};

static const struct request lengths[] = {
	{"read one byte", IN, 0, 0, 1, WANT_IOERR},
	{"read 511 bytes", IN, 0, 0, 511, WANT_IOERR},
	{"read 513 bytes", IN, 0, 0, 513, WANT_IOERR},
	{"read 4095 bytes", IN, 0, 0, 4095, WANT_IOERR},
	{"write one byte", OUT, 8, 1, 0, WANT_IOERR},
	{"write 511 bytes", OUT, 8, 511, 0, WANT_IOERR},
	{"write 513 bytes", OUT, 8, 513, 0, WANT_IOERR},
	{"identity of 0 bytes", ID, 0, 0, 0, WANT_IOERR},
	{"identity of 19 bytes", ID, 0, 0, 19, WANT_IOERR},
	{"identity of 512 bytes", ID, 0, 0, 512, WANT_OK(21)},
	{"identity at sector 2^64-1", ID, LAST, 0, 20, WANT_OK(21)},
	{"flush at sector 2^64-1", FLUSH, LAST, 0, 0, WANT_OK(1)},
	{"flush with data to read", FLUSH, 0, 512, 0, WANT_OK(1)},
	{"flush with data to write", FLUSH, 0, 0, 512, WANT_OK(1)},
};

static const struct request directions[] = {
	{"read into what is readable", IN, 0, 512, 0, WANT_IOERR},
	{"read with data both ways", IN, 0, 512, 512, WANT_IOERR},
	{"write from what is writable", OUT, 8, 0, 512, WANT_IOERR},
	{"write with data both ways", OUT, 8, 512, 512, WANT_IOERR},
	{"discard with data the other way", VIRTIO_BLK_T_DISCARD, 0, 0, 16, WANT_IOERR},
	{"discard with data both ways", VIRTIO_BLK_T_DISCARD, 0, 16, 16, WANT_IOERR},
	{"zeroes with data the other way", VIRTIO_BLK_T_WRITE_ZEROES, 0, 0, 16, WANT_IOERR},
	{"zeroes with data both ways", VIRTIO_BLK_T_WRITE_ZEROES, 0, 16, 16, WANT_IOERR},
	{"identity into what is readable", ID, 0, 20, 0, WANT_IOERR},
};

/* 5.2.6.2: a type that is not known or was not negotiated */
static void types(struct hostile *h)
{
	static const uint32_t type[] = {2,	    3,		5,	    6,	       7,
					9,	    10,		12,	    14,	       15,
					16,	    24,		0x100,	    0x10000,   0x7fffffff,
					0x80000000, 0x80000001, 0xffff0001, 0xffffffff};
	struct request r[3] = {{.want = WANT_UNSUPP},
			       {.out = 512, .want = WANT_UNSUPP},
			       {.in = 512, .want = WANT_UNSUPP}};
	char name[3][64];
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(type); i++) {
		for (j = 0; j < 3; j++) {
			fmt__snprintf(name[j], sizeof(name[j]), "type 0x%x, %u bytes out, %u in",
				      type[i], r[j].out, r[j].in);
			r[j].name = name[j];
			r[j].type = type[i];
		}
		each(h, "types", "5.2.6.2", r, 3);
	}
}

void hostile__requests(struct hostile *h)
{
	each(h, "sectors", "5.2.6", sectors, ARRAY_SIZE(sectors));
	each(h, "lengths", "5.2.6", lengths, ARRAY_SIZE(lengths));
	each(h, "directions", "5.2.6", directions, ARRAY_SIZE(directions));
	types(h);
}
