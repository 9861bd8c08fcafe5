/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_VIRTQ_H
#define LKVM_VIRTQ_H

#include <linux/virtio_ring.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include <lkvm/mem.h>

/*
 * Device side of a virtqueue (virtio 1.2, 2.7 split virtqueues).  A ring is
 * owned by one I/O thread from virtq__init() on; nothing here takes a lock or
 * makes a system call.
 *
 * The guest can change ring memory at any time.  Each descriptor is read once
 * into a local copy; indices are checked against the queue size; a chain is
 * never followed for more than the queue size plus one indirect table of at
 * most the queue size.
 *
 * Indirect tables (2.7.5.3): 1 to queue size entries, anywhere in guest memory
 * (no alignment), read from entry 0; the WRITE flag of the descriptor that
 * refers to one is ignored; INDIRECT with NEXT, within a table, or without the
 * feature is a broken ring.  So is a table outside of guest memory: unlike a
 * buffer it leaves no status byte to answer in.
 */
#define VIRTQ_MAX_SIZE 1024

/* iovec entries for the longest chain: all direct descriptors, the last one a full indirect table. */
#define VIRTQ_CHAIN_IOV(size) (2U * (size))

struct virtq_layout {
	uint16_t size; /* entries, a power of two, 2 to VIRTQ_MAX_SIZE */
	/*
	 * Guest physical.  Packed (2.8): the descriptor ring, the driver's and
	 * the device's event suppression structure.
	 */
	uint64_t desc, avail, used;
	bool packed; /* VIRTIO_F_RING_PACKED negotiated */
	bool indirect; /* VIRTIO_RING_F_INDIRECT_DESC negotiated */
	bool event_idx; /* VIRTIO_RING_F_EVENT_IDX negotiated */
};

struct virtq_chain {
	uint16_t head; /* what virtq__push() takes back */
	bool fault; /* a segment is not in guest memory: its iov_base is NULL */
	unsigned int nr_out; /* iov[0 .. nr_out) is readable by the device */
	unsigned int nr_in; /* iov[nr_out .. nr_out + nr_in) is writable */
	uint64_t out_len, in_len; /* bytes, faulting segments included */
	void *in_last; /* last writable byte; NULL: there is none, or not in guest memory */
	struct iovec *iov; /* the caller's, iov_max entries: VIRTQ_CHAIN_IOV(queue size) */
	unsigned int iov_max;
};

struct virtq {
	const struct guest_mem *mem;
	struct virtq_layout layout;
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	uint16_t next_avail; /* free running: first avail entry not popped */
	uint16_t avail_seen; /* avail index as last read: entries up to it may be popped */
	uint16_t next_used; /* free running: next used entry to fill */
	uint16_t published; /* used index as the guest sees it */
	uint16_t decided; /* used index up to which virtq__interrupt_due() has answered */
	unsigned int in_flight; /* popped, not pushed */
	uint64_t in_flight_map[VIRTQ_MAX_SIZE / 64]; /* heads in flight: none twice */
};

/*
 * Check alignment (2.7: 16, 2, 4), size and that all three areas lie in guest
 * memory, each with the event field at its end that the table in 2.7 gives it
 * whatever is negotiated; continue from the used index found there (0 on a
 * fresh ring).  0, -EINVAL, -EFAULT.
 */
int virtq__init(struct virtq *ring, const struct guest_mem *mem, const struct virtq_layout *layout);

/* Entries available and not yet popped; -EINVAL where the index jumped by more than the size. */
int virtq__pending(const struct virtq *ring);

/*
 * Take the next chain.  1: *chain filled in; empty segments are left out.
 * 0: none.  -EINVAL: the ring is broken (index jump, head or next out of range,
 * loop, readable after writable, bad indirect table, head already in flight):
 * the device needs a reset.  The head is then not in flight.
 *
 * A chain can be longer than the 2^32 bytes that 2.7.5 allows a driver: out_len
 * and in_len hold the true sums.
 */
int virtq__pop(struct virtq *ring, struct virtq_chain *chain);

/*
 * Put a chain into the used ring, @len bytes written; not visible before
 * virtq__publish().  A head that is not in flight is ignored.
 */
void virtq__push(struct virtq *ring, uint16_t head, uint32_t len);

/* Pushed entries that are not visible yet? */
bool virtq__unpublished(const struct virtq *ring);

/* Make all pushed entries visible with one index update. */
void virtq__show(struct virtq *ring);

/*
 * Does the driver want an interrupt for what became visible since this was
 * last asked (2.7.7, 2.7.10)?  By its wish of now: entries that it has found
 * meanwhile without one need none.
 */
bool virtq__interrupt_due(struct virtq *ring);

/* Both: show, then ask. */
static inline bool virtq__publish(struct virtq *ring)
{
	virtq__show(ring);
	return virtq__interrupt_due(ring);
}

/* Ask the driver for no kicks while the ring is processed. */
void virtq__kicks_off(struct virtq *ring);

/*
 * Kicks are wanted again: with EVENT_IDX not before @ahead more entries are
 * available than were popped (1: with the next; split ring: chains, packed:
 * descriptors), without it with the next one whatever @ahead says.  True: so
 * many are there already, and no kick may come for them.  So is a broken index.
 */
bool virtq__kicks_on(struct virtq *ring, unsigned int ahead);

#endif
