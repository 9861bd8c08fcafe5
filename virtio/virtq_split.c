// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device side of a split ring (virtio 1.2, 2.7).  The available index makes
 * entries available, the used index makes them visible (2.7.13.3, 2.7.8.2).
 */
#include "virtq_private.h"

int virtq_split__init(struct virtq *ring)
{
	const struct virtq_layout *layout = &ring->layout;
	const struct guest_mem *mem = ring->mem;
	uint64_t size = layout->size;

	if (size < 2 || (size & (size - 1)))
		return -EINVAL;
	if (layout->desc % VRING_DESC_ALIGN_SIZE || layout->avail % VRING_AVAIL_ALIGN_SIZE ||
	    layout->used % VRING_USED_ALIGN_SIZE)
		return -EINVAL;

	ring->split.desc = guest_mem__ptr(mem, layout->desc, sizeof(struct vring_desc) * size);
	ring->split.avail = guest_mem__ptr(mem, layout->avail, 6 + sizeof(__virtio16) * size);
	ring->split.used =
		guest_mem__ptr(mem, layout->used, 6 + sizeof(struct vring_used_elem) * size);
	if (!ring->split.desc || !ring->split.avail || !ring->split.used)
		return -EFAULT;

	ring->next_used = le16toh(__atomic_load_n(&ring->split.used->idx, __ATOMIC_RELAXED));
	ring->published = ring->next_used;
	ring->decided = ring->next_used;
	ring->next_avail = ring->next_used;
	ring->avail_seen = ring->next_used;
	ring->kick_event = ring->next_used;
	return 0;
}

/* 2.7.7: where the driver says which used index it wants an interrupt for */
static uint16_t used_event(const struct virtq *ring)
{
	const __virtio16 *event = &ring->split.avail->ring[ring->layout.size];

	return le16toh(__atomic_load_n(event, __ATOMIC_SEQ_CST));
}

/* 2.7.10: where the device says which available index it wants a kick for */
static __virtio16 *avail_event(const struct virtq *ring)
{
	return (__virtio16 *)&ring->split.used->ring[ring->layout.size];
}

/* ---- available entries ---- */

int virtq_split__pending(const struct virtq *ring)
{
	uint16_t idx = le16toh(__atomic_load_n(&ring->split.avail->idx, __ATOMIC_ACQUIRE));
	uint16_t nr = idx - ring->next_avail;

	return nr > ring->layout.size ? -EINVAL : nr;
}

/*
 * Follow a chain through the @nr descriptors of @table.  0: it ended.
 * 1: at the INDIRECT descriptor left in *@ref.  -EINVAL: broken; a loop shows
 * as more steps than there are descriptors.
 */
static int walk(struct virtq_chain *chain, const struct guest_mem *mem, const void *table,
		unsigned int nr, unsigned int idx, struct virtq_raw *ref)
{
	unsigned int step;
	int ret;

	for (step = 0; step < nr; step++) {
		struct virtq_raw desc;
		uint16_t flags;

		if (idx >= nr)
			return -EINVAL;
		desc = virtq_raw__read(table, idx);
		flags = desc.rest >> 32;
		if (flags & VRING_DESC_F_INDIRECT) {
			*ref = desc;
			return flags & VRING_DESC_F_NEXT ? -EINVAL : 1;
		}
		ret = virtq_chain__add(chain, mem, desc.addr, virtq_raw__len(desc),
				       flags & VRING_DESC_F_WRITE);
		if (ret)
			return ret;
		if (!(flags & VRING_DESC_F_NEXT))
			return 0;
		idx = desc.rest >> 48;
	}
	return -EINVAL;
}

/* 2.7.5.3.2: any number of direct descriptors, and at most one indirect table behind them */
static int read_chain(const struct virtq *ring, struct virtq_chain *chain)
{
	struct virtq_raw ref, nested;
	const void *table;
	unsigned int nr;
	int ret;

	ret = walk(chain, ring->mem, ring->split.desc, ring->layout.size, chain->head, &ref);
	if (ret <= 0)
		return ret;
	table = virtq_chain__table(ring, ref, &nr);
	if (!table)
		return -EINVAL;
	ret = walk(chain, ring->mem, table, nr, 0, &nested);
	return ret > 0 ? -EINVAL : ret;
}

int virtq_split__pop(struct virtq *ring, struct virtq_chain *chain)
{
	uint16_t slot = ring->next_avail & (ring->layout.size - 1);
	int ret;

	if (ring->next_avail == ring->avail_seen) {
		ret = virtq_split__pending(ring);
		if (ret <= 0)
			return ret;
		ring->avail_seen = ring->next_avail + ret;
	}

	chain->head = le16toh(__atomic_load_n(&ring->split.avail->ring[slot], __ATOMIC_RELAXED));
	ret = read_chain(ring, chain);
	if (!ret)
		ret = virtq__claim(ring, chain->head, 1);
	if (ret)
		return ret;
	ring->next_avail++;
	return 1;
}

/* ---- used entries ---- */

void virtq_split__push(struct virtq *ring, uint16_t head, uint32_t len)
{
	struct vring_used_elem *elem;

	elem = &ring->split.used->ring[ring->next_used & (ring->layout.size - 1)];
	elem->id = htole32(head);
	elem->len = htole32(len);
	ring->next_used++;
}

void virtq_split__show(struct virtq *ring)
{
	ring->published = ring->next_used;
	/*
	 * The driver enables interrupts and then looks at the index once more;
	 * here the index is written and then the wish is read, so one of the
	 * two sees the other (2.7.7.2, 2.7.14).
	 */
	__atomic_store_n(&ring->split.used->idx, htole16(ring->published), __ATOMIC_SEQ_CST);
}

bool virtq_split__interrupt_due(struct virtq *ring)
{
	uint16_t old = ring->decided;
	uint16_t new = ring->published;

	if (old == new)
		return false;
	ring->decided = new;
	if (ring->layout.event_idx)
		return vring_need_event(used_event(ring), new, old);
	return !(le16toh(__atomic_load_n(&ring->split.avail->flags, __ATOMIC_SEQ_CST)) &
		 VRING_AVAIL_F_NO_INTERRUPT);
}

/* ---- kicks ---- */

void virtq_split__kicks_off(struct virtq *ring)
{
	if (!ring->layout.event_idx) {
		__atomic_store_n(&ring->split.used->flags, htole16(VRING_USED_F_NO_NOTIFY),
				 __ATOMIC_RELAXED);
		return;
	}
	/*
	 * used->flags must be 0 then (2.7.10.2).  An event that the driver has
	 * passed does not match again until the index has gone all the way
	 * round.  One that lies ahead, where a completion came first, is taken
	 * back, behind all that the driver can be adding now.
	 */
	if ((uint16_t)(ring->kick_event - ring->next_avail) >= ring->layout.size)
		return;
	ring->kick_event = ring->next_avail - ring->layout.size - 1;
	__atomic_store_n(avail_event(ring), htole16(ring->kick_event), __ATOMIC_RELAXED);
}

bool virtq_split__kicks_on(struct virtq *ring, unsigned int ahead)
{
	uint16_t idx;

	/*
	 * The driver writes the index, then reads the wish (2.7.13.4.1); here
	 * the wish is written, then the index read.
	 */
	if (ring->layout.event_idx) {
		ring->kick_event = ring->next_avail + ahead - 1;
		__atomic_store_n(avail_event(ring), htole16(ring->kick_event), __ATOMIC_SEQ_CST);
	} else {
		ahead = 1;
		__atomic_store_n(&ring->split.used->flags, 0, __ATOMIC_SEQ_CST);
	}
	idx = le16toh(__atomic_load_n(&ring->split.avail->idx, __ATOMIC_SEQ_CST));
	return (uint16_t)(idx - ring->next_avail) >= ahead;
}
