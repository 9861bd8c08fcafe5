// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device side of a virtqueue: what does not depend on the ring format, and the
 * choice between the two.  A branch that always goes the same way costs less
 * than a call through a pointer.
 */
#include <string.h>

#include "virtq_private.h"

int virtq__init(struct virtq *ring, const struct guest_mem *mem, const struct virtq_layout *layout)
{
	if (layout->size < 1 || layout->size > VIRTQ_MAX_SIZE)
		return -EINVAL;
	memset(ring, 0, sizeof(*ring));
	ring->mem = mem;
	ring->layout = *layout;
	return layout->packed ? virtq_packed__init(ring) : virtq_split__init(ring);
}

int virtq__pending(const struct virtq *ring)
{
	return ring->layout.packed ? virtq_packed__pending(ring) : virtq_split__pending(ring);
}

int virtq__pop(struct virtq *ring, struct virtq_chain *chain)
{
	virtq_chain__reset(chain);
	return ring->layout.packed ? virtq_packed__pop(ring, chain) : virtq_split__pop(ring, chain);
}

void virtq__push(struct virtq *ring, uint16_t head, uint32_t len)
{
	unsigned int nr;

	if (head >= ring->layout.size || !ring->taken[head])
		return;
	nr = ring->taken[head];
	ring->taken[head] = 0;
	ring->in_flight--;
	if (ring->layout.packed)
		virtq_packed__push(ring, head, len, nr);
	else
		virtq_split__push(ring, head, len);
}

bool virtq__unpublished(const struct virtq *ring)
{
	return ring->published != ring->next_used;
}

void virtq__show(struct virtq *ring)
{
	if (!virtq__unpublished(ring))
		return;
	if (ring->layout.packed)
		virtq_packed__show(ring);
	else
		virtq_split__show(ring);
}

bool virtq__interrupt_due(struct virtq *ring)
{
	return ring->layout.packed ? virtq_packed__interrupt_due(ring)
				   : virtq_split__interrupt_due(ring);
}

void virtq__kicks_off(struct virtq *ring)
{
	if (ring->layout.packed)
		virtq_packed__kicks_off(ring);
	else
		virtq_split__kicks_off(ring);
}

bool virtq__kicks_on(struct virtq *ring, unsigned int ahead)
{
	if (ahead < 1)
		ahead = 1;
	if (ahead > ring->layout.size)
		ahead = ring->layout.size;
	return ring->layout.packed ? virtq_packed__kicks_on(ring, ahead)
				   : virtq_split__kicks_on(ring, ahead);
}
