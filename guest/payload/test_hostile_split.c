// SPDX-License-Identifier: GPL-2.0-only
/* Split rings that are broken: links, heads and indices (virtio 1.2, 2.7.5, 2.7.13). */
#include "hostile.h"

#define FAMILY "split-ring"
#define W VRING_DESC_F_WRITE

static void next_is(struct vring_desc *desc, uint16_t next)
{
	desc->flags |= VRING_DESC_F_NEXT;
	desc->next = next;
}

/* The links of a chain of three, in the ring or in a table: @next of descriptor @at. */
static const struct {
	const char *name;
	unsigned int at;
	int next; /* negative: that many from the end of the table */
} links[] = {
	{"header links to itself", 0, 0},	{"data link to the header", 1, 0},
	{"data link to themselves", 1, 1},	{"status links to the header", 2, 0},
	{"status links to itself", 2, 2},	{"status links to the data", 2, 1},
	{"header links behind the end", 0, -1}, {"data link behind the end", 1, -1},
	{"status links behind the end", 2, -1}, {"header links to 0x7fff", 0, 0x7fff},
	{"header links to 0x8000", 0, 0x8000},	{"header links to 0xffff", 0, 0xffff},
	{"status links to 0xffff", 2, 0xffff},
};

static void spoil_link(struct hostile *h, struct ring *ring)
{
	struct vring_desc *table = h->indirect ? h->table : ring->desc;
	int next = links[h->which].next, end = h->indirect ? h->nr : ring->size;

	next_is(&table[links[h->which].at], next < 0 ? end : next);
}

static void begin(struct hostile *h, uint32_t len)
{
	hostile__begin(h, VIRTIO_BLK_T_IN, 0);
	hostile__header(h);
	hostile__seg(h, (uintptr_t)h->in, len, W);
	hostile__status(h);
}

static void all_links(struct hostile *h, uint32_t len)
{
	static const struct hostile_want broken = WANT_RESET;
	char name[80];

	for (h->indirect = false;; h->indirect = true) {
		for (h->which = 0; h->which < ARRAY_SIZE(links); h->which++) {
			begin(h, len);
			h->spoil = spoil_link;
			fmt__snprintf(name, sizeof(name), "%s, %u bytes", links[h->which].name,
				      len);
			hostile__run(h, FAMILY, name, "2.7.5.2", &broken);
		}
		if (h->indirect || !hostile__has_tables(h))
			break;
	}
	h->indirect = false;
}

/* ---- the available ring ---- */

/* What the driver says is available, beyond the one chain that is there. */
static const struct {
	const char *name;
	uint16_t jump;
	struct hostile_want want;
} jumps[] = {
	{"index ahead by the queue size and 1", 257, WANT_RESET},
	{"index ahead by twice the queue size", 512, WANT_RESET},
	{"index ahead by 0x7fff", 0x7fff, WANT_RESET},
	{"index ahead by 0x8000", 0x8000, WANT_RESET},
	{"index back by 1", 0xffff, WANT_RESET},
	{"index back by 2", 0xfffe, WANT_RESET},
	{"index back by the queue size", (uint16_t)-256, WANT_RESET},
	{"index as it was", 0, WANT_IGNORED},
};

static void spoil_index(struct hostile *h, struct ring *ring)
{
	ring->avail_idx += jumps[h->which].jump - 1;
}

static void spoil_head(struct hostile *h, struct ring *ring)
{
	ring->avail->ring[(uint16_t)(ring->avail_idx - 1) & (ring->size - 1)] = h->which;
}

/* The one head once more, before the first has come back. */
static void spoil_twice(struct hostile *h, struct ring *ring)
{
	h->legal = SECTOR;
	ring__add(ring, 0);
}

static void spoil_full(struct hostile *h, struct ring *ring)
{
	unsigned int i;

	h->legal = SECTOR;
	for (i = 1; i < ring->size; i++)
		ring__add(ring, 0);
}

/* Every descriptor of the ring in one chain, the last of which links to the first. */
static void spoil_round(struct hostile *h, struct ring *ring)
{
	unsigned int i;

	(void)h;
	for (i = 2; i < ring->size; i++) {
		ring->desc[i] = ring->desc[1];
		next_is(&ring->desc[i - 1], i);
	}
	next_is(&ring->desc[i - 1], 0);
}

static void heads(struct hostile *h)
{
	static const struct hostile_want broken = WANT_RESET;
	static const uint16_t bad[] = {256, 257, 0x7fff, 0x8000, 0xff00, 0xffff};
	unsigned int i;
	char name[64];

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		begin(h, SECTOR);
		h->which = bad[i];
		h->spoil = spoil_head;
		fmt__snprintf(name, sizeof(name), "head 0x%x", bad[i]);
		hostile__run(h, FAMILY, name, "2.7.13.2", &broken);
	}
}

void hostile__split(struct hostile *h)
{
	static const struct hostile_want broken = WANT_RESET;

	if (hostile__packed(h))
		return;
	all_links(h, SECTOR);
	all_links(h, 0); /* a loop of nothing never gets longer */
	all_links(h, 0x2000000); /* and one of 32 MiB soon passes 4 GiB */
	heads(h);
	for (h->which = 0; h->which < ARRAY_SIZE(jumps); h->which++) {
		begin(h, SECTOR);
		h->spoil = spoil_index;
		hostile__run(h, FAMILY, jumps[h->which].name, "2.7.13.3", &jumps[h->which].want);
	}
	begin(h, SECTOR);
	h->spoil = spoil_twice;
	hostile__run(h, FAMILY, "one head twice", "2.7.13.1", &broken);
	begin(h, SECTOR);
	h->spoil = spoil_full;
	hostile__run(h, FAMILY, "one head as often as the queue is long", "2.7.13.1", &broken);
	begin(h, 0);
	h->spoil = spoil_round;
	hostile__run(h, FAMILY, "chain round the whole ring", "2.7.5.2", &broken);
}
