// SPDX-License-Identifier: GPL-2.0-only
/* Packed rings that are broken: flags, ids, chains without an end (virtio 1.2, 2.8). */
#include "hostile.h"

#define FAMILY "packed-ring"
#define W VRING_DESC_F_WRITE
#define AVAIL (1U << VRING_PACKED_DESC_F_AVAIL)
#define USED (1U << VRING_PACKED_DESC_F_USED)

static void begin(struct hostile *h)
{
	hostile__begin(h, VIRTIO_BLK_T_IN, 0);
	hostile__header(h);
	hostile__seg(h, (uintptr_t)h->in, SECTOR, W);
	hostile__status(h);
}

/* Descriptor @i of the chain that was added last, or of what follows it. */
static struct vring_packed_desc *entry(const struct ring *ring, unsigned int i)
{
	unsigned int at = ring->held - ring->packed;

	return &ring->packed[(at + i) % ring->size];
}

/* AVAIL and USED of one descriptor, the bits of this lap inverted. */
static const struct flags {
	const char *name;
	unsigned int at;
	uint16_t invert, set;
	struct hostile_want want;
} flags[] = {
	{"head of the lap before", 0, AVAIL | USED, 0, WANT_IGNORED},
	{"data of the lap before", 1, AVAIL | USED, 0, WANT_RESET},
	{"data marked used", 1, USED, 0, WANT_RESET},
	{"data not marked", 1, AVAIL, 0, WANT_RESET},
	{"status of the lap before", 2, AVAIL | USED, 0, WANT_RESET},
	{"status marked used", 2, USED, 0, WANT_RESET},
	{"status and next, nothing behind", 2, 0, VRING_DESC_F_NEXT, WANT_RESET},
	{"header and table", 0, 0, VRING_DESC_F_INDIRECT, WANT_RESET},
	{"data and table", 1, 0, VRING_DESC_F_INDIRECT, WANT_RESET},
	{"header is writable, data are too", 0, 0, W, WANT_IOERR},
};

static void spoil_flags(struct hostile *h, struct ring *ring)
{
	const struct flags *flag = &flags[h->which];
	struct vring_packed_desc *desc = entry(ring, flag->at);

	if (flag->at == 0)
		ring->held_flags = (ring->held_flags ^ flag->invert) | flag->set;
	else
		desc->flags = (desc->flags ^ flag->invert) | flag->set;
}

static void all_flags(struct hostile *h)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		begin(h);
		h->which = i;
		h->spoil = spoil_flags;
		hostile__run(h, FAMILY, flags[i].name, "2.8.1, 2.8.6", &flags[i].want);
	}
}

/* The id of a chain is that of its last descriptor (2.8.6). */
static void spoil_id(struct hostile *h, struct ring *ring)
{
	entry(ring, h->nr - 1)->id = h->which;
}

static void ids(struct hostile *h)
{
	static const struct hostile_want broken = WANT_RESET;
	static const uint16_t bad[] = {256, 257, 0x7fff, 0x8000, 0xff00, 0xffff};
	unsigned int i;
	char name[64];

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		begin(h);
		h->which = bad[i];
		h->spoil = spoil_id;
		fmt__snprintf(name, sizeof(name), "id 0x%x", bad[i]);
		hostile__run(h, FAMILY, name, "2.8.5", &broken);
	}
}

static void spoil_twice(struct hostile *h, struct ring *ring)
{
	h->legal = SECTOR;
	ring__add(ring, 0);
}

/* As often as the chain fits: all of it offered with one write. */
static void spoil_full(struct hostile *h, struct ring *ring)
{
	unsigned int i;

	h->legal = SECTOR;
	for (i = 2 * h->nr; i <= ring->size; i += h->nr)
		ring__add(ring, 0);
}

/* The chain goes on through the whole ring, into its own head. */
static void spoil_endless(struct hostile *h, struct ring *ring)
{
	unsigned int i;

	for (i = h->nr - 1; i < ring->size; i++) {
		bool wrapped = entry(ring, i) < ring->held;
		uint16_t lap = (ring->held_flags ^ (wrapped ? AVAIL | USED : 0)) & (AVAIL | USED);

		*entry(ring, i) = (struct vring_packed_desc) {
			.addr = (uintptr_t)h->in,
			.len = 0,
			.flags = lap | W | VRING_DESC_F_NEXT,
		};
	}
}

/* The same as long as the ring, each descriptor 32 MiB. */
static void spoil_huge(struct hostile *h, struct ring *ring)
{
	unsigned int i;

	spoil_endless(h, ring);
	for (i = h->nr - 1; i < ring->size; i++)
		entry(ring, i)->len = 0x2000000;
}

void hostile__packed_ring(struct hostile *h)
{
	static const struct hostile_want broken = WANT_RESET;
	static const struct {
		const char *name, *section;
		void (*spoil)(struct hostile *h, struct ring *ring);
	} cases[] = {
		{"one id twice", "2.8.5", spoil_twice},
		{"one id in the whole ring", "2.8.5", spoil_full},
		{"chain round the whole ring", "2.8.6", spoil_endless},
		{"chain round the whole ring of more than 4 GiB", "2.8.6", spoil_huge},
	};
	unsigned int i;

	if (!hostile__packed(h))
		return;
	all_flags(h);
	ids(h);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		begin(h);
		h->spoil = cases[i].spoil;
		hostile__run(h, FAMILY, cases[i].name, cases[i].section, &broken);
	}
}
