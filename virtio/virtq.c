// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device side of a virtqueue: chains of descriptors and the split ring
 * (virtio 1.2, 2.7).  The first half knows no ring format; a packed ring (2.8)
 * builds its chains with the same functions.
 *
 * Ordering.  Fields that driver and device both touch while the queue is live
 * go through __atomic builtins, each exactly once:
 * - avail->idx is read with acquire, so that descriptors and avail->ring[] are
 *   read after it (2.7.13.3: the driver writes them, a barrier, the index);
 * - used->idx is written with release or stronger, after the used elements and
 *   everything the device wrote into buffers (2.7.8.2);
 * - where one side writes one field and then reads another that the other side
 *   handles the opposite way round (2.7.7, 2.7.10, 2.7.13.4), both accesses are
 *   sequentially consistent.  A seq_cst load is never done before an earlier
 *   seq_cst store, which is the full barrier that is asked for; on x86 the
 *   store is an xchg.  (A separate fence would be invisible to ThreadSanitizer.)
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include <lkvm/virtq.h>

/* ---- chains ---- */

static void chain__reset(struct virtq_chain *chain, uint16_t head)
{
	chain->head = head;
	chain->fault = false;
	chain->nr_out = 0;
	chain->nr_in = 0;
	chain->out_len = 0;
	chain->in_len = 0;
	chain->in_last = NULL;
}

/* The segment is not in guest memory, but its last byte may be: the status byte of a request. */
static void *segment_last(const struct guest_mem *mem, uint64_t addr, uint32_t len)
{
	uint64_t last;

	if (__builtin_add_overflow(addr, (uint64_t)len - 1, &last))
		return NULL;
	return guest_mem__ptr(mem, last, 1);
}

static int chain__add(struct virtq_chain *chain, const struct guest_mem *mem, uint64_t addr,
		      uint32_t len, bool writable)
{
	unsigned int nr = chain->nr_out + chain->nr_in;
	void *ptr;

	if (len == 0)
		return 0;
	/* 2.7.4.2: all device-readable segments come before all writable ones */
	if ((!writable && chain->nr_in) || nr >= chain->iov_max)
		return -EINVAL;

	ptr = guest_mem__ptr(mem, addr, len);
	if (!ptr)
		chain->fault = true;
	chain->iov[nr] = (struct iovec) {.iov_base = ptr, .iov_len = len};

	if (writable) {
		chain->nr_in++;
		chain->in_len += len;
		chain->in_last = ptr ? (char *)ptr + len - 1 : segment_last(mem, addr, len);
	} else {
		chain->nr_out++;
		chain->out_len += len;
	}
	return 0;
}

/* ---- heads in flight ---- */

static bool in_flight(const struct virtq *ring, uint16_t head)
{
	return (ring->in_flight_map[head / 64] >> (head % 64)) & 1;
}

static void in_flight__flip(struct virtq *ring, uint16_t head)
{
	ring->in_flight_map[head / 64] ^= UINT64_C(1) << (head % 64);
}

/* ---- split ring: areas ---- */

int virtq__init(struct virtq *ring, const struct guest_mem *mem, const struct virtq_layout *layout)
{
	uint64_t size = layout->size;

	if (size < 2 || size > VIRTQ_MAX_SIZE || (size & (size - 1)))
		return -EINVAL;
	if (layout->desc % VRING_DESC_ALIGN_SIZE || layout->avail % VRING_AVAIL_ALIGN_SIZE ||
	    layout->used % VRING_USED_ALIGN_SIZE)
		return -EINVAL;

	memset(ring, 0, sizeof(*ring));
	ring->mem = mem;
	ring->layout = *layout;
	ring->desc = guest_mem__ptr(mem, layout->desc, sizeof(struct vring_desc) * size);
	ring->avail = guest_mem__ptr(mem, layout->avail, 6 + sizeof(__virtio16) * size);
	ring->used = guest_mem__ptr(mem, layout->used, 6 + sizeof(struct vring_used_elem) * size);
	if (!ring->desc || !ring->avail || !ring->used)
		return -EFAULT;

	ring->next_used = le16toh(__atomic_load_n(&ring->used->idx, __ATOMIC_RELAXED));
	ring->published = ring->next_used;
	ring->decided = ring->next_used;
	ring->next_avail = ring->next_used;
	ring->avail_seen = ring->next_used;
	return 0;
}

/* 2.7.7: where the driver says which used index it wants an interrupt for */
static uint16_t used_event(const struct virtq *ring)
{
	const __virtio16 *event = &ring->avail->ring[ring->layout.size];

	return le16toh(__atomic_load_n(event, __ATOMIC_SEQ_CST));
}

/* 2.7.10: where the device says which available index it wants a kick for */
static __virtio16 *avail_event(const struct virtq *ring)
{
	return (__virtio16 *)&ring->used->ring[ring->layout.size];
}

/* ---- split ring: available entries ---- */

int virtq__pending(const struct virtq *ring)
{
	uint16_t idx = le16toh(__atomic_load_n(&ring->avail->idx, __ATOMIC_ACQUIRE));
	uint16_t nr = idx - ring->next_avail;

	return nr > ring->layout.size ? -EINVAL : nr;
}

/*
 * One descriptor, read once: whatever the guest does to it afterwards, the copy
 * is what gets checked and used.  An indirect table need not be aligned.
 */
static struct vring_desc desc__read(const void *table, unsigned int idx)
{
	typedef uint64_t __attribute__((aligned(1), may_alias)) word_t;
	const volatile word_t *word = (const volatile word_t *)table + 2 * (size_t)idx;
	uint64_t addr = le64toh(word[0]);
	uint64_t rest = le64toh(word[1]);

	return (struct vring_desc) {
		.addr = addr,
		.len = (uint32_t)rest,
		.flags = (uint16_t)(rest >> 32),
		.next = (uint16_t)(rest >> 48),
	};
}

/*
 * Follow a chain through the @nr descriptors of @table.  0: it ended.
 * 1: at the INDIRECT descriptor left in *@last.  -EINVAL: broken; a loop shows
 * as more steps than there are descriptors.
 */
static int chain__walk(struct virtq_chain *chain, const struct guest_mem *mem, const void *table,
		       unsigned int nr, unsigned int idx, struct vring_desc *last)
{
	unsigned int step;
	int ret;

	for (step = 0; step < nr; step++) {
		struct vring_desc desc;

		if (idx >= nr)
			return -EINVAL;
		desc = desc__read(table, idx);
		if (desc.flags & VRING_DESC_F_INDIRECT) {
			*last = desc;
			return 1;
		}
		ret = chain__add(chain, mem, desc.addr, desc.len, desc.flags & VRING_DESC_F_WRITE);
		if (ret)
			return ret;
		if (!(desc.flags & VRING_DESC_F_NEXT))
			return 0;
		idx = desc.next;
	}
	return -EINVAL;
}

/* 2.7.5.3.2: any number of direct descriptors, and at most one indirect table behind them */
static int chain__read(const struct virtq *ring, struct virtq_chain *chain)
{
	unsigned int size = ring->layout.size;
	struct vring_desc ref, nested;
	const void *table;
	int ret;

	ret = chain__walk(chain, ring->mem, ring->desc, size, chain->head, &ref);
	if (ret <= 0)
		return ret;

	if (!ring->layout.indirect || (ref.flags & VRING_DESC_F_NEXT))
		return -EINVAL;
	if (ref.len % sizeof(struct vring_desc) || ref.len / sizeof(struct vring_desc) > size)
		return -EINVAL;
	table = guest_mem__ptr(ring->mem, ref.addr, ref.len); /* NULL for length 0 */
	if (!table)
		return -EINVAL;

	ret = chain__walk(chain, ring->mem, table, ref.len / sizeof(struct vring_desc), 0, &nested);
	return ret > 0 ? -EINVAL : ret;
}

int virtq__pop(struct virtq *ring, struct virtq_chain *chain)
{
	uint16_t slot = ring->next_avail & (ring->layout.size - 1);
	uint16_t head;
	int ret;

	if (ring->next_avail == ring->avail_seen) {
		ret = virtq__pending(ring);
		if (ret <= 0)
			return ret;
		ring->avail_seen = ring->next_avail + ret;
	}

	head = le16toh(__atomic_load_n(&ring->avail->ring[slot], __ATOMIC_RELAXED));
	if (head >= ring->layout.size || in_flight(ring, head))
		return -EINVAL;

	chain__reset(chain, head);
	ret = chain__read(ring, chain);
	if (ret)
		return ret;

	in_flight__flip(ring, head);
	ring->in_flight++;
	ring->next_avail++;
	return 1;
}

/* ---- split ring: used entries ---- */

void virtq__push(struct virtq *ring, uint16_t head, uint32_t len)
{
	struct vring_used_elem *elem;

	if (head >= ring->layout.size || !in_flight(ring, head))
		return;
	in_flight__flip(ring, head);
	ring->in_flight--;

	elem = &ring->used->ring[ring->next_used & (ring->layout.size - 1)];
	elem->id = htole32(head);
	elem->len = htole32(len);
	ring->next_used++;
}

bool virtq__unpublished(const struct virtq *ring)
{
	return ring->published != ring->next_used;
}

void virtq__show(struct virtq *ring)
{
	if (!virtq__unpublished(ring))
		return;
	ring->published = ring->next_used;
	/*
	 * The driver enables interrupts and then looks at the index once more;
	 * here the index is written and then the wish is read, so one of the
	 * two sees the other (2.7.7.2, 2.7.14).
	 */
	__atomic_store_n(&ring->used->idx, htole16(ring->published), __ATOMIC_SEQ_CST);
}

bool virtq__interrupt_due(struct virtq *ring)
{
	uint16_t old = ring->decided;
	uint16_t new = ring->published;

	if (old == new)
		return false;
	ring->decided = new;
	if (ring->layout.event_idx)
		return vring_need_event(used_event(ring), new, old);
	return !(le16toh(__atomic_load_n(&ring->avail->flags, __ATOMIC_SEQ_CST)) &
		 VRING_AVAIL_F_NO_INTERRUPT);
}

/* ---- split ring: kicks ---- */

void virtq__kicks_off(struct virtq *ring)
{
	/*
	 * With EVENT_IDX the event index stays where it is: the driver has
	 * passed it, so that it does not match again until the index has gone
	 * all the way round.  used->flags must be 0 then (2.7.10.2).
	 */
	if (!ring->layout.event_idx)
		__atomic_store_n(&ring->used->flags, htole16(VRING_USED_F_NO_NOTIFY),
				 __ATOMIC_RELAXED);
}

bool virtq__kicks_on(struct virtq *ring, unsigned int ahead)
{
	uint16_t event = ring->next_avail + (ring->layout.event_idx ? ahead - 1 : 0);

	/*
	 * The driver writes the index, then reads the wish (2.7.13.4.1); here
	 * the wish is written, then the index read.
	 */
	if (ring->layout.event_idx)
		__atomic_store_n(avail_event(ring), htole16(event), __ATOMIC_SEQ_CST);
	else
		__atomic_store_n(&ring->used->flags, 0, __ATOMIC_SEQ_CST);

	/* the next kick comes when the index passes the event */
	return (uint16_t)(le16toh(__atomic_load_n(&ring->avail->idx, __ATOMIC_SEQ_CST)) -
			  ring->next_avail) > (uint16_t)(event - ring->next_avail);
}
