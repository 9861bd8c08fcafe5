/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_RING_H
#define PAYLOAD_RING_H

#include <linux/virtio_ring.h>

#include "payload.h"

/*
 * Driver side of a virtqueue, split (virtio 1.2, 2.7) or packed (2.8), behind
 * one interface.  A ring is cut into slots of the same number of descriptors,
 * each of which holds one chain.  Which slots are in flight is the caller's
 * business, so that nothing has to be allocated:
 *
 *	ring__slots(ring, 3)		once: descriptors a slot
 *	ring__prepare(ring, i, ...)	what the chain of slot i is; stays until changed
 *	ring__add(ring, i)		into the ring; the device does not see it yet
 *	ring__publish(ring)		show all that was added, at most one kick
 *	ring__get(ring, &used)		a slot that has come back
 *
 * The areas are there to be written by hand too, for a driver that breaks the rules.
 */
struct ring_seg {
	const void *addr;
	uint32_t len;
	uint16_t flags; /* VRING_DESC_F_WRITE, VRING_DESC_F_INDIRECT */
};

struct ring_used {
	uint16_t slot;
	uint32_t len; /* bytes that the device says it wrote */
};

struct ring;

struct ring_ops {
	const char *name;
	void (*init)(struct ring *ring); /* areas, for ring->size entries */
	void (*prepare)(struct ring *ring, unsigned int slot, const struct ring_seg *seg,
			unsigned int nr);
	/* Fill in an indirect table of @nr entries (2.7.5.3, 2.8.8). */
	void (*table)(void *table, const struct ring_seg *seg, unsigned int nr);
	void (*add)(struct ring *ring, unsigned int slot);
	void (*expose)(struct ring *ring);
	bool (*wants_kick)(struct ring *ring);
	bool (*get)(struct ring *ring, struct ring_used *used);
	void (*irq)(struct ring *ring, bool on, int ahead);
};

struct ring {
	const struct ring_ops *ops;
	unsigned int size; /* entries */
	unsigned int per_slot, nr_slots;
	uint16_t index; /* of the queue */
	bool event_idx;
	uint64_t notify; /* address of this queue's kick */
	uint64_t kicks; /* doorbell writes */
	/* What the device is told: descriptors, driver area, device area (2.6). */
	void *areas[3];
	union {
		struct { /* split; indices are free running */
			struct vring_desc *desc;
			struct vring_avail *avail;
			struct vring_used *used;
			uint16_t avail_idx; /* what expose shows */
			uint16_t decided; /* at the last kick decision */
			uint16_t used_idx; /* first used entry not seen */
		};
		struct { /* packed */
			struct vring_packed_desc *packed;
			struct vring_packed_desc_event *driver, *device;
			struct vring_desc *chain; /* per_slot entries a slot: what add writes */
			uint16_t *chain_len; /* per slot */
			uint16_t avail_pos, used_pos; /* in descriptors, below size */
			uint16_t avail_bits; /* AVAIL and USED flags of this lap (2.8.1) */
			bool used_wrap;
			uint16_t added; /* descriptors since the last kick decision */
			struct vring_packed_desc *held; /* head that is not exposed, or NULL */
			uint16_t held_flags;
		};
	};
};

extern const struct ring_ops ring_split_ops, ring_packed_ops;

/*
 * Descriptors a slot; there are ring->size / @per slots, none in flight now.
 * After virtio__setup_queue() it is 3, as many as a plain request needs.
 */
static inline void ring__slots(struct ring *ring, unsigned int per)
{
	ring->per_slot = per;
	ring->nr_slots = ring->size / per;
}

static inline void ring__prepare(struct ring *ring, unsigned int slot, const struct ring_seg *seg,
				 unsigned int nr)
{
	if (slot >= ring->nr_slots || !nr || nr > ring->per_slot)
		panic("slot %u: %u descriptors do not fit", slot, nr);
	ring->ops->prepare(ring, slot, seg, nr);
}

static inline void ring__add(struct ring *ring, unsigned int slot)
{
	ring->ops->add(ring, slot);
}

/* The two halves of publishing: make visible; then kick where the device asks for it. */
static inline void ring__expose(struct ring *ring)
{
	wmb();
	ring->ops->expose(ring);
}

/* The doorbell, whatever the device asks for. */
static inline void ring__notify(struct ring *ring)
{
	ring->kicks++;
	mmio__write16(ring->notify, ring->index);
}

/* False: the device wanted none for what was exposed since the last call. */
static inline bool ring__kick(struct ring *ring)
{
	/* 2.7.13.4.1, 2.8.21.3: first the entries are visible, then the wish is read */
	mb();
	if (!ring->ops->wants_kick(ring))
		return false;
	ring__notify(ring);
	return true;
}

static inline bool ring__publish(struct ring *ring)
{
	ring__expose(ring);
	return ring__kick(ring);
}

/* False: nothing has come back. */
static inline bool ring__get(struct ring *ring, struct ring_used *used)
{
	return ring->ops->get(ring, used);
}

/*
 * Wish for an interrupt with the next used entry, or for none.  Look at the
 * ring once more afterwards: what came before may never signal.
 */
static inline void ring__irq(struct ring *ring, bool on)
{
	ring->ops->irq(ring, on, 0);
	mb();
}

/*
 * EVENT_IDX alone: with the used entry (packed: descriptor) @ahead of the next
 * one.  Negative: with one that has been used already, so with none before the
 * index comes round.
 */
static inline void ring__irq_at(struct ring *ring, int ahead)
{
	ring->ops->irq(ring, true, ahead);
	mb();
}

#endif
