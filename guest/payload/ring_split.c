// SPDX-License-Identifier: GPL-2.0-only
/* Split virtqueue, the driver's side (virtio 1.2, 2.7). */
#include "ring.h"

static void split__init(struct ring *ring)
{
	ring->desc = mem__alloc(ring->size * sizeof(*ring->desc), PAGE_SIZE);
	ring->avail = mem__alloc(6 + 2 * ring->size, 64);
	ring->used = mem__alloc(6 + 8 * ring->size, PAGE_SIZE);
	ring->areas[0] = ring->desc;
	ring->areas[1] = ring->avail;
	ring->areas[2] = ring->used;
}

/* Descriptors @first and on of a table, linked. */
static void split__link(struct vring_desc *table, unsigned int first, const struct ring_seg *seg,
			unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		table[first + i] = (struct vring_desc) {
			.addr = (uintptr_t)seg[i].addr,
			.len = seg[i].len,
			.flags = seg[i].flags | (i + 1 < nr ? VRING_DESC_F_NEXT : 0),
			.next = i + 1 < nr ? first + i + 1 : 0,
		};
}

static void split__prepare(struct ring *ring, unsigned int slot, const struct ring_seg *seg,
			   unsigned int nr)
{
	split__link(ring->desc, slot * ring->per_slot, seg, nr);
}

static void split__table(void *table, const struct ring_seg *seg, unsigned int nr)
{
	split__link(table, 0, seg, nr);
}

static void split__add(struct ring *ring, unsigned int slot)
{
	ring->avail->ring[ring->avail_idx++ & (ring->size - 1)] = slot * ring->per_slot;
}

static void split__expose(struct ring *ring)
{
	*(volatile uint16_t *)&ring->avail->idx = ring->avail_idx;
}

/* The two event fields stand behind the rings (2.7.7, 2.7.10). */
static volatile uint16_t *split__used_event(const struct ring *ring)
{
	return &ring->avail->ring[ring->size];
}

static volatile uint16_t *split__avail_event(const struct ring *ring)
{
	return (volatile uint16_t *)&ring->used->ring[ring->size];
}

static bool split__wants_kick(struct ring *ring)
{
	uint16_t old = ring->decided, new = ring->avail_idx;

	ring->decided = new;
	if (old == new)
		return false;
	if (ring->event_idx)
		return vring_need_event(*split__avail_event(ring), new, old);
	return !(*(volatile uint16_t *)&ring->used->flags & VRING_USED_F_NO_NOTIFY);
}

static bool split__get(struct ring *ring, struct ring_used *used)
{
	const struct vring_used_elem *elem = &ring->used->ring[ring->used_idx & (ring->size - 1)];
	unsigned int per = ring->per_slot;
	uint32_t id;

	if (*(volatile uint16_t *)&ring->used->idx == ring->used_idx)
		return false;
	rmb();
	id = elem->id;
	if (id >= ring->nr_slots * per || (per > 1 && id % per))
		panic("queue %u: the device gives back head %u", ring->index, id);
	used->slot = per > 1 ? id / per : id;
	used->len = elem->len;
	ring->used_idx++;
	return true;
}

/* With EVENT_IDX the flag must be 0 (2.7.7.1), and "none" is the event farthest off. */
static void split__irq(struct ring *ring, bool on, int ahead)
{
	*(volatile uint16_t *)&ring->avail->flags =
		on || ring->event_idx ? 0 : VRING_AVAIL_F_NO_INTERRUPT;
	*split__used_event(ring) = ring->used_idx + (on ? ahead : -1);
}

const struct ring_ops ring_split_ops = {
	.name = "split",
	.init = split__init,
	.prepare = split__prepare,
	.table = split__table,
	.add = split__add,
	.expose = split__expose,
	.wants_kick = split__wants_kick,
	.get = split__get,
	.irq = split__irq,
};
