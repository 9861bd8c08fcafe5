// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packed virtqueue, the driver's side (virtio 1.2, 2.8).  Descriptors are
 * written in ring order each time that a slot is added; the buffer id is the
 * slot.  The device takes chains in order, so that holding back the flags of
 * the first new head holds back all that stand behind it.
 */
#include "ring.h"

#define AVAIL (1U << VRING_PACKED_DESC_F_AVAIL)
#define USED (1U << VRING_PACKED_DESC_F_USED)
#define WRAP (1U << VRING_PACKED_EVENT_F_WRAP_CTR)

static void packed__init(struct ring *ring)
{
	ring->packed = mem__alloc(ring->size * sizeof(*ring->packed), PAGE_SIZE);
	ring->driver = mem__alloc(sizeof(*ring->driver), 64);
	ring->device = mem__alloc(sizeof(*ring->device), 64);
	ring->chain = mem__alloc(ring->size * sizeof(*ring->chain), 64);
	ring->chain_len = mem__alloc(ring->size * sizeof(*ring->chain_len), 64);
	ring->areas[0] = ring->packed;
	ring->areas[1] = ring->driver;
	ring->areas[2] = ring->device;
	/* Both wrap counters start at 1 (2.8.1). */
	ring->avail_bits = AVAIL;
	ring->used_wrap = true;
}

static void packed__prepare(struct ring *ring, unsigned int slot, const struct ring_seg *seg,
			    unsigned int nr)
{
	struct vring_desc *chain = ring->chain + slot * ring->per_slot;
	unsigned int i;

	for (i = 0; i < nr; i++)
		chain[i] = (struct vring_desc) {
			.addr = (uintptr_t)seg[i].addr,
			.len = seg[i].len,
			.flags = seg[i].flags | (i + 1 < nr ? VRING_DESC_F_NEXT : 0),
		};
	ring->chain_len[slot] = nr;
}

/* Entries are used in order; of the flags WRITE alone counts (2.8.8). */
static void packed__table(void *table, const struct ring_seg *seg, unsigned int nr)
{
	struct vring_packed_desc *desc = table;
	unsigned int i;

	for (i = 0; i < nr; i++)
		desc[i] = (struct vring_packed_desc) {
			.addr = (uintptr_t)seg[i].addr,
			.len = seg[i].len,
			.flags = seg[i].flags,
		};
}

static void packed__set_flags(struct vring_packed_desc *desc, uint16_t flags)
{
	__atomic_store_n(&desc->flags, flags, __ATOMIC_RELEASE);
}

/* 2.8.21: a chain becomes available with the flags of its head, written last. */
static void packed__add(struct ring *ring, unsigned int slot)
{
	const struct vring_desc *chain = ring->chain + slot * ring->per_slot;
	struct vring_packed_desc *head = &ring->packed[ring->avail_pos];
	uint16_t head_flags = chain->flags | ring->avail_bits;
	unsigned int i, nr = ring->chain_len[slot];

	for (i = 0; i < nr; i++) {
		struct vring_packed_desc *desc = &ring->packed[ring->avail_pos];

		desc->addr = chain[i].addr;
		desc->len = chain[i].len;
		desc->id = slot;
		if (i)
			desc->flags = chain[i].flags | ring->avail_bits;
		if (++ring->avail_pos == ring->size) {
			ring->avail_pos = 0;
			ring->avail_bits ^= AVAIL | USED;
		}
	}
	ring->added += nr;
	if (ring->held) {
		packed__set_flags(head, head_flags);
	} else {
		ring->held = head;
		ring->held_flags = head_flags;
	}
}

static void packed__expose(struct ring *ring)
{
	if (ring->held)
		packed__set_flags(ring->held, ring->held_flags);
	ring->held = NULL;
}

/* 2.8.10, 2.8.14: positions of an event on the other lap are a ring's size behind. */
static bool packed__wants_kick(struct ring *ring)
{
	uint32_t word = *(volatile uint32_t *)ring->device;
	uint16_t off_wrap = word, flags = word >> 16, new = ring->avail_pos, added = ring->added;
	uint16_t event = off_wrap & ~WRAP;

	ring->added = 0;
	if (!added)
		return false;
	if (flags != VRING_PACKED_EVENT_FLAG_DESC)
		return flags != VRING_PACKED_EVENT_FLAG_DISABLE;
	if (!(off_wrap & WRAP) != !(ring->avail_bits & AVAIL))
		event -= ring->size;
	return vring_need_event(event, new, new - added);
}

/* 2.8.1: used where both bits equal the used wrap counter. */
static bool packed__get(struct ring *ring, struct ring_used *used)
{
	const struct vring_packed_desc *desc = &ring->packed[ring->used_pos];
	uint16_t flags = __atomic_load_n(&desc->flags, __ATOMIC_ACQUIRE);
	uint16_t id;

	if ((flags & (AVAIL | USED)) != (ring->used_wrap ? AVAIL | USED : 0))
		return false;
	id = desc->id;
	if (id >= ring->nr_slots)
		panic("queue %u: the device gives back id %u", ring->index, id);
	used->slot = id;
	used->len = desc->len;
	ring->used_pos += ring->chain_len[id];
	if (ring->used_pos >= ring->size) {
		ring->used_pos -= ring->size;
		ring->used_wrap = !ring->used_wrap;
	}
	return true;
}

static void packed__irq(struct ring *ring, bool on, int ahead)
{
	int pos = ring->used_pos + ahead, size = ring->size;
	bool wrap = ring->used_wrap;
	uint16_t flags = VRING_PACKED_EVENT_FLAG_ENABLE;

	if (pos < 0 || pos >= size) {
		pos += pos < 0 ? size : -size;
		wrap = !wrap;
	}
	if (!on)
		flags = VRING_PACKED_EVENT_FLAG_DISABLE;
	else if (ring->event_idx)
		flags = VRING_PACKED_EVENT_FLAG_DESC;
	/* one store: the device never sees half a change */
	*(volatile uint32_t *)ring->driver = (uint32_t)flags << 16 | (wrap ? WRAP : 0) | pos;
}

const struct ring_ops ring_packed_ops = {
	.name = "packed",
	.init = packed__init,
	.prepare = packed__prepare,
	.table = packed__table,
	.add = packed__add,
	.expose = packed__expose,
	.wants_kick = packed__wants_kick,
	.get = packed__get,
	.irq = packed__irq,
};
