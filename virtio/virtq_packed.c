// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device side of a packed ring (virtio 1.2, 2.8): one ring of descriptors that
 * driver and device both write.  The flags of a descriptor make it available
 * or used, and are written last.
 *
 * A chain lies in consecutive descriptors and carries its id in the last one.
 * Its used descriptor takes the place of the oldest that is not given back, and
 * the next one skips as many as that chain had, so that from published on
 * 0 to size descriptors belong to the device, up to next_avail.
 */
#include "virtq_private.h"

#define AVAIL (1U << VRING_PACKED_DESC_F_AVAIL)
#define USED (1U << VRING_PACKED_DESC_F_USED)
#define WRAP (1U << VRING_PACKED_EVENT_F_WRAP_CTR)

int virtq_packed__init(struct virtq *ring)
{
	const struct virtq_layout *layout = &ring->layout;
	const struct guest_mem *mem = ring->mem;
	const uint64_t event_size = sizeof(struct vring_packed_desc_event);

	/* 2.8.10.1 */
	if (layout->desc % 16 || layout->avail % 4 || layout->used % 4)
		return -EINVAL;
	ring->packed.desc = guest_mem__ptr(
		mem, layout->desc, sizeof(struct vring_packed_desc) * (uint64_t)layout->size);
	ring->packed.driver = guest_mem__ptr(mem, layout->avail, event_size);
	ring->packed.device = guest_mem__ptr(mem, layout->used, event_size);
	if (!ring->packed.desc || !ring->packed.driver || !ring->packed.device)
		return -EFAULT;
	ring->kick_wish = UINT32_MAX; /* whatever is there */
	return 0;
}

/* ---- positions: 0 to 2 * size - 1 ---- */

/* @pos + @nr, where @nr is at most the queue size */
static unsigned int advance(const struct virtq *ring, unsigned int pos, unsigned int nr)
{
	unsigned int round = 2U * ring->layout.size;

	pos += nr;
	return pos < round ? pos : pos - round;
}

/* How far @pos is ahead of @from */
static unsigned int distance(const struct virtq *ring, unsigned int from, unsigned int pos)
{
	return pos >= from ? pos - from : pos + 2U * ring->layout.size - from;
}

static bool wrap_counter(const struct virtq *ring, unsigned int pos)
{
	return pos < ring->layout.size;
}

static unsigned int slot(const struct virtq *ring, unsigned int pos)
{
	return wrap_counter(ring, pos) ? pos : pos - ring->layout.size;
}

/* A position as the event areas have it: offset, and the wrap counter in bit 15 (2.8.14) */
static uint16_t off_wrap(const struct virtq *ring, unsigned int pos)
{
	return slot(ring, pos) | (wrap_counter(ring, pos) ? WRAP : 0);
}

/* ---- available descriptors ---- */

/* 2.8.1: AVAIL equal to the wrap counter, USED different from it */
static bool is_avail(const struct virtq *ring, unsigned int pos, uint16_t flags)
{
	return (flags & (AVAIL | USED)) == (wrap_counter(ring, pos) ? AVAIL : USED);
}

static bool available(const struct virtq *ring, unsigned int pos, int order)
{
	const __le16 *flags = &ring->packed.desc[slot(ring, pos)].flags;

	if (order == __ATOMIC_SEQ_CST)
		return is_avail(ring, pos, le16toh(__atomic_load_n(flags, __ATOMIC_SEQ_CST)));
	return is_avail(ring, pos, le16toh(__atomic_load_n(flags, __ATOMIC_ACQUIRE)));
}

/* Descriptors that may be available: the others are the device's. */
static unsigned int nr_free(const struct virtq *ring)
{
	return ring->layout.size - distance(ring, ring->published, ring->next_avail);
}

int virtq_packed__pending(const struct virtq *ring)
{
	if (!available(ring, ring->next_avail, __ATOMIC_ACQUIRE))
		return 0;
	return nr_free(ring) ? 1 : -EINVAL;
}

/* 2.8.7: in a table WRITE is the only flag, and each entry is part of the chain. */
static int read_table(const struct virtq *ring, struct virtq_chain *chain, struct virtq_raw ref)
{
	unsigned int i, nr;
	const void *table = virtq_chain__table(ring, ref, &nr);

	if (!table)
		return -EINVAL;
	for (i = 0; i < nr; i++) {
		struct virtq_raw desc = virtq_raw__read(table, i);
		uint16_t flags = desc.rest >> 48;
		int ret = virtq_chain__add(chain, ring->mem, desc.addr, virtq_raw__len(desc),
					   flags & VRING_DESC_F_WRITE);

		if (ret)
			return ret;
	}
	return 0;
}

/*
 * Read the chain at next_avail, whose first descriptor is available, and with
 * it all others (2.8.17: that one is made available last).  Its number of
 * descriptors, or -EINVAL.
 */
static int read_chain(const struct virtq *ring, struct virtq_chain *chain)
{
	unsigned int left = nr_free(ring);
	unsigned int pos = ring->next_avail;
	unsigned int nr;

	for (nr = 1; nr <= left; nr++) {
		struct virtq_raw desc = virtq_raw__read(ring->packed.desc, slot(ring, pos));
		uint16_t flags = desc.rest >> 48;
		int ret;

		if (!is_avail(ring, pos, flags))
			return -EINVAL;
		if (flags & VRING_DESC_F_INDIRECT)
			ret = flags & VRING_DESC_F_NEXT ? -EINVAL : read_table(ring, chain, desc);
		else
			ret = virtq_chain__add(chain, ring->mem, desc.addr, virtq_raw__len(desc),
					       flags & VRING_DESC_F_WRITE);
		if (ret)
			return ret;
		if (!(flags & VRING_DESC_F_NEXT)) {
			chain->head = desc.rest >> 32;
			return nr;
		}
		pos = advance(ring, pos, 1);
	}
	return -EINVAL;
}

int virtq_packed__pop(struct virtq *ring, struct virtq_chain *chain)
{
	int nr, ret;

	if (!available(ring, ring->next_avail, __ATOMIC_ACQUIRE))
		return 0;
	nr = read_chain(ring, chain);
	if (nr < 0)
		return nr;
	ret = virtq__claim(ring, chain->head, nr);
	if (ret)
		return ret;
	ring->next_avail = advance(ring, ring->next_avail, nr);
	return 1;
}

/* ---- used descriptors ---- */

/*
 * The driver looks at the first one that it has not seen, and no further: while
 * the flags of that one are not written, the others are invisible too.
 */
void virtq_packed__push(struct virtq *ring, uint16_t head, uint32_t len, unsigned int nr)
{
	struct vring_packed_desc *desc = &ring->packed.desc[slot(ring, ring->next_used)];
	uint16_t flags = wrap_counter(ring, ring->next_used) ? AVAIL | USED : 0;

	if (len) /* 2.8.4: says that the length means something */
		flags |= VRING_DESC_F_WRITE;
	desc->id = htole16(head);
	desc->len = htole32(len);
	if (ring->next_used == ring->published)
		ring->first_flags = flags;
	else
		__atomic_store_n(&desc->flags, htole16(flags), __ATOMIC_RELAXED);
	ring->next_used = advance(ring, ring->next_used, nr);
}

void virtq_packed__show(struct virtq *ring)
{
	struct vring_packed_desc *first = &ring->packed.desc[slot(ring, ring->published)];

	ring->undecided += distance(ring, ring->published, ring->next_used);
	ring->published = ring->next_used;
	/* The driver writes its wish, then looks at these flags; here it is the other way round. */
	__atomic_store_n(&first->flags, htole16(ring->first_flags), __ATOMIC_SEQ_CST);
}

/*
 * 2.8.8: was the descriptor that the driver's wish names among the last @nr
 * given back?  More than two rounds cannot be told from two.
 */
static bool passed(const struct virtq *ring, uint16_t wish, unsigned int nr)
{
	unsigned int pos = wish & (WRAP - 1);

	if (pos >= ring->layout.size)
		return true; /* there is no such descriptor: rather once too often */
	if (!(wish & WRAP))
		pos += ring->layout.size;
	pos = advance(ring, pos, 1);
	return distance(ring, pos, ring->published) < nr;
}

bool virtq_packed__interrupt_due(struct virtq *ring)
{
	unsigned int nr = ring->undecided;
	uint32_t wish;

	if (!nr)
		return false;
	ring->undecided = 0;
	/* both fields with one load: they belong together */
	wish = le32toh(__atomic_load_n((const uint32_t *)ring->packed.driver, __ATOMIC_SEQ_CST));
	switch (wish >> 16 & 3) { /* the rest is reserved */
	case VRING_PACKED_EVENT_FLAG_DISABLE:
		return false;
	case VRING_PACKED_EVENT_FLAG_DESC:
		return !ring->layout.event_idx || passed(ring, wish, nr);
	default:
		return true;
	}
}

/* ---- kicks ---- */

/* Both fields of the device's area with one store, so that the driver never sees half of a wish. */
static uint32_t wish(unsigned int flags, uint16_t event)
{
	return (uint32_t)flags << 16 | event;
}

void virtq_packed__kicks_off(struct virtq *ring)
{
	uint32_t off = wish(VRING_PACKED_EVENT_FLAG_DISABLE, 0);

	if (ring->kick_wish == off)
		return;
	ring->kick_wish = off;
	__atomic_store_n((uint32_t *)ring->packed.device, htole32(off), __ATOMIC_RELAXED);
}

/*
 * The descriptors of a chain but the first can be available before it is, so
 * that the one waited for does not tell on its own.  Where it is not available
 * the driver has yet to read the wish.
 */
static bool nr_available(const struct virtq *ring, unsigned int nr)
{
	if (!available(ring, advance(ring, ring->next_avail, nr - 1), __ATOMIC_SEQ_CST))
		return false;
	while (--nr) {
		if (!available(ring, advance(ring, ring->next_avail, nr - 1), __ATOMIC_SEQ_CST))
			return false;
	}
	return true;
}

bool virtq_packed__kicks_on(struct virtq *ring, unsigned int ahead)
{
	if (ring->layout.event_idx) {
		unsigned int pos = advance(ring, ring->next_avail, ahead - 1);

		ring->kick_wish = wish(VRING_PACKED_EVENT_FLAG_DESC, off_wrap(ring, pos));
	} else {
		ahead = 1;
		ring->kick_wish = wish(VRING_PACKED_EVENT_FLAG_ENABLE, 0);
	}
	/* The driver makes descriptors available, then reads the wish (2.8.21.3.1). */
	__atomic_store_n((uint32_t *)ring->packed.device, htole32(ring->kick_wish),
			 __ATOMIC_SEQ_CST);
	return nr_available(ring, ahead);
}
