// SPDX-License-Identifier: GPL-2.0-only
/* Chains of descriptors, whatever ring they come from (virtio 1.2, 2.7.4, 2.8.6). */
#include "virtq_private.h"

void virtq_chain__reset(struct virtq_chain *chain)
{
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

int virtq_chain__add(struct virtq_chain *chain, const struct guest_mem *mem, uint64_t addr,
		     uint32_t len, bool writable)
{
	unsigned int nr = chain->nr_out + chain->nr_in;
	void *ptr;

	if (len == 0)
		return 0;
	/* 2.7.4.2, 2.8.17: all device-readable segments come before all writable ones */
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

const void *virtq_chain__table(const struct virtq *ring, struct virtq_raw ref, unsigned int *nr)
{
	uint32_t len = virtq_raw__len(ref);

	*nr = len / sizeof(ref);
	if (!ring->layout.indirect || len % sizeof(ref) || *nr > ring->layout.size)
		return NULL;
	return guest_mem__ptr(ring->mem, ref.addr, len); /* NULL for length 0 */
}
