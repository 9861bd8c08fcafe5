// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chains that make a queue stuck where a device takes them wrongly, each on a disk
 * of its own, and then nothing: a thread that still works on one shows from outside
 * (tests/payload/run).  After a chain that comes back the queue goes on; a ring that
 * is broken (virtio 1.2, 2.1.2) is left so.
 *
 * test=wedge RING, as many disks as there are cases
 */
#include "disks.h"

#define W VRING_DESC_F_WRITE
#define GOOD_READS 8
#define PIECE (32U << 20) /* of a chain of more than 4 GiB */
#define PIECES 131U

struct wedge {
	const char *name;
	unsigned int header, nr; /* bytes; descriptors, 3 being whole */
	void (*spoil)(struct ring *ring);
	bool broken; /* the ring is, rather than the request */
};

static void next_is(struct ring *ring, unsigned int at, uint16_t next)
{
	ring->desc[at].flags |= VRING_DESC_F_NEXT;
	ring->desc[at].next = next;
}

static void loop(struct ring *ring)
{
	next_is(ring, 2, 0);
}

static void out_of_range(struct ring *ring)
{
	next_is(ring, 2, ring->size);
}

static void ahead_by_more_than_the_queue(struct ring *ring)
{
	ring->avail_idx += ring->size;
}

static void ahead_by_half_of_all(struct ring *ring)
{
	ring->avail_idx += 0x8000 - 1;
}

static const struct wedge split[] = {
	{"a header alone", 16, 1, NULL, false},
	{"no status byte", 16, 2, NULL, false},
	{"a header of 15 bytes", 15, 3, NULL, false},
	{"more than 4 GiB", 16, PIECES, NULL, false},
	{"a loop", 16, 3, loop, true},
	{"next out of range", 16, 3, out_of_range, true},
	{"ahead by the queue size and 1", 16, 3, ahead_by_more_than_the_queue, true},
	{"ahead by 0x8000", 16, 3, ahead_by_half_of_all, true},
};

/* The last descriptor says that there is another, which is not available. */
static void no_end(struct ring *ring)
{
	ring->packed[2].flags |= VRING_DESC_F_NEXT;
}

/* Every descriptor of the ring is available, and each says that there is another. */
static void no_end_anywhere(struct ring *ring)
{
	unsigned int i;

	for (i = 1; i < ring->size; i++) {
		ring->packed[i] = ring->packed[1];
		ring->packed[i].flags |= VRING_DESC_F_NEXT;
	}
}

static void id_out_of_range(struct ring *ring)
{
	ring->packed[2].id = ring->size;
}

static const struct wedge packed[] = {
	{"a header alone", 16, 1, NULL, false},
	{"no status byte", 16, 2, NULL, false},
	{"a header of 15 bytes", 15, 3, NULL, false},
	{"more than 4 GiB", 16, PIECES, NULL, false},
	{"no end", 16, 3, no_end, true},
	{"no end in the whole ring", 16, 3, no_end_anywhere, true},
	{"id out of range", 16, 3, id_out_of_range, true},
};

/* Descriptors of 32 MiB all of the same memory, which have more than 32 bits of length in all. */
static void submit(struct blk *blk, const struct wedge *w, char *buf)
{
	static struct ring_seg seg[PIECES];
	bool long_one = w->nr == PIECES;
	unsigned int i;

	*blk->header = (struct virtio_blk_outhdr) {.type = VIRTIO_BLK_T_IN};
	*blk->status = BLK_NO_STATUS;
	seg[0] = (struct ring_seg) {blk->header, w->header, 0};
	for (i = 1; i < w->nr; i++)
		seg[i] = (struct ring_seg) {buf, long_one ? PIECE : SECTOR, W};
	if (w->nr > 2)
		seg[w->nr - 1] = (struct ring_seg) {blk->status, 1, W};
	ring__prepare(&blk->ring, 0, seg, w->nr);
	ring__add(&blk->ring, 0);
	if (w->spoil)
		w->spoil(&blk->ring);
	ring__expose(&blk->ring);
	ring__notify(&blk->ring);
}

/* The head has come back, or the device says that it needs a reset. */
static bool settled(struct blk *blk, bool *broken)
{
	uint64_t end = time__deadline(HANG_MS);
	struct ring_used used;

	while (time__tsc() < end) {
		*broken = virtio__status(&blk->dev) & VIRTIO_CONFIG_S_NEEDS_RESET;
		if (*broken || ring__get(&blk->ring, &used))
			return true;
		cpu__relax();
	}
	return false;
}

static unsigned int good_reads(struct blk *blk, char *buf)
{
	unsigned int i, good = 0;

	for (i = 0; i < GOOD_READS; i++)
		good += blk__request(blk, VIRTIO_BLK_T_IN, 0, buf, SECTOR, NULL) == VIRTIO_BLK_S_OK;
	return good;
}

int test__wedge(void)
{
	uint64_t features = virtio__ring_words();
	bool is_packed = features & VIRTIO_BIT(VIRTIO_F_RING_PACKED);
	const struct wedge *w = is_packed ? packed : split;
	unsigned int nr = is_packed ? ARRAY_SIZE(packed) : ARRAY_SIZE(split), i;
	char *buf = mem__alloc(PIECE, PAGE_SIZE);
	static struct blk blk;

	for (i = 0; i < nr; i++, w++) {
		bool broken = false, in_time;

		if (!blk__open(&blk, i, features, VIRTIO_MSI_NO_VECTOR))
			panic("%u disks are too few", i);
		submit(&blk, w, buf);
		in_time = settled(&blk, &broken);
		report(in_time && broken == w->broken &&
			       (broken || good_reads(&blk, buf) == GOOD_READS),
		       "%s, %s ring: %s", w->name, blk.ring.ops->name,
		       !in_time ? "no outcome"
		       : broken ? "needs a reset"
				: "comes back, and the queue goes on");
	}
	return report__summary();
}
