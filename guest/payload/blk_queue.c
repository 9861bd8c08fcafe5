// SPDX-License-Identifier: GPL-2.0-only
#include "blk.h"

static void slot__prepare(struct blk_queue *q, unsigned int i, bool indirect, uint32_t type,
			  void *data, uint32_t bytes)
{
	struct blk_slot *s = &q->slot[i];
	struct ring_seg seg[3] = {
		{&s->header, sizeof(s->header), 0},
		{data, bytes, type == VIRTIO_BLK_T_IN ? VRING_DESC_F_WRITE : 0},
		{&s->status, 1, VRING_DESC_F_WRITE},
	};
	struct ring_seg table = {s->table, sizeof(s->table), VRING_DESC_F_INDIRECT};

	s->header.type = type;
	if (indirect) {
		q->ring.ops->table(s->table, seg, ARRAY_SIZE(seg));
		ring__prepare(&q->ring, i, &table, 1);
	} else {
		ring__prepare(&q->ring, i, seg, ARRAY_SIZE(seg));
	}
}

void blk_queue__init(struct blk_queue *q, struct virtio *dev, unsigned int index,
		     unsigned int entries, uint16_t msix, unsigned int depth, uint32_t type,
		     uint32_t bytes)
{
	bool indirect = virtio__has(dev, VIRTIO_RING_F_INDIRECT_DESC);
	uint8_t *data = mem__alloc((size_t)depth * bytes, PAGE_SIZE);
	unsigned int i;

	if (!virtio__setup_queue(dev, &q->ring, index, entries, msix))
		panic("no queue %u with %u entries", index, entries);
	ring__slots(&q->ring, indirect ? 1 : 3);
	if (depth > q->ring.nr_slots)
		panic("depth %u, but the %u entries of the ring hold %u requests", depth,
		      q->ring.size, q->ring.nr_slots);
	q->depth = depth;
	q->errors = 0;
	q->slot = mem__alloc(depth * sizeof(*q->slot), 128);
	for (i = 0; i < depth; i++)
		slot__prepare(q, i, indirect, type, data + (size_t)i * bytes, bytes);
}
