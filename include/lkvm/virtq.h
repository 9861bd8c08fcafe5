/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_VIRTQ_H
#define LKVM_VIRTQ_H

#include <linux/virtio_ring.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include <lkvm/mem.h>

/*
 * Device side of a virtqueue (virtio 1.2, 2.7 split virtqueues, 2.8 packed
 * virtqueues).  A ring is owned by one I/O thread from virtq__init() on;
 * nothing here takes a lock or makes a system call.
 *
 * The guest can change ring memory at any time.  Each descriptor is read once
 * into a local copy; indices and buffer ids are checked against the queue size;
 * a chain is never followed for more than the queue size plus one indirect
 * table of at most the queue size.
 *
 * Indirect tables (2.7.5.3, 2.8.7): 1 to queue size entries, anywhere in guest
 * memory (no alignment), read from entry 0, on a packed ring all of them one
 * after the other; the WRITE flag of the descriptor that refers to one is
 * ignored; INDIRECT with NEXT, within a table (split), or without the feature
 * is a broken ring.  So is a table outside of guest memory: unlike a buffer it
 * leaves no status byte to answer in.  Direct descriptors may come before the
 * one that refers to the table; 2.8.19 forbids that to drivers of a packed
 * ring, but there is only one way to understand it.
 */
#define VIRTQ_MAX_SIZE 1024

/* iovec entries for the longest chain: all direct descriptors, the last one a full indirect table. */
#define VIRTQ_CHAIN_IOV(size) (2U * (size))

struct virtq_layout {
	uint16_t size; /* entries, 1 (split: 2, and a power of two) to VIRTQ_MAX_SIZE */
	bool packed; /* VIRTIO_F_RING_PACKED negotiated */
	bool indirect; /* VIRTIO_RING_F_INDIRECT_DESC negotiated */
	bool event_idx; /* VIRTIO_RING_F_EVENT_IDX negotiated */
	/*
	 * Guest physical.  Packed (2.8): the descriptor ring, the driver's and
	 * the device's event suppression structure.
	 */
	uint64_t desc, avail, used;
};

struct virtq_chain {
	uint16_t head; /* what virtq__push() takes back; packed: the buffer id */
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
	union {
		struct {
			struct vring_desc *desc;
			struct vring_avail *avail;
			struct vring_used *used;
		} split;
		struct {
			struct vring_packed_desc *desc;
			struct vring_packed_desc_event *driver, *device;
		} packed;
	};
	struct virtq_layout layout;
	/*
	 * Split: free running indices.  Packed: positions, 0 to 2 * size - 1: the
	 * first round, wrap counter 1, and the second, wrap counter 0 (2.8.1).
	 */
	uint16_t next_avail; /* first that is not popped */
	uint16_t next_used; /* next used entry to fill */
	uint16_t published; /* used entries before it are visible */
	union {
		struct {
			uint16_t avail_seen; /* as last read: entries up to it may be popped */
			uint16_t decided; /* virtq__interrupt_due() has answered up to it */
			uint16_t kick_event; /* avail_event as written */
		};
		struct {
			uint16_t first_flags; /* of the first entry that is not visible */
			unsigned int undecided; /* descriptors visible, not yet asked about */
			uint32_t kick_wish; /* the device's event area as written */
		};
	};
	unsigned int in_flight; /* popped, not pushed */
	/* Descriptors of each head in flight; 0: not in flight. */
	uint16_t taken[VIRTQ_MAX_SIZE];
};

/*
 * Check size, alignment (2.7: 16, 2, 4; 2.8.10.1: 16, 4, 4) and that all three
 * areas lie in guest memory, those of a split ring with the event field at
 * their end that the table in 2.7 gives them whatever is negotiated.  A split
 * ring continues from the used index found there (0 on a fresh ring), a packed
 * one starts at its first descriptor.  0, -EINVAL, -EFAULT.
 */
int virtq__init(struct virtq *ring, const struct guest_mem *mem, const struct virtq_layout *layout);

/*
 * Split: entries available and not yet popped; -EINVAL where the index jumped by
 * more than the size.  Packed: 1 where there is any; -EINVAL where it lies in
 * descriptors that the device has not given back.
 */
int virtq__pending(const struct virtq *ring);

/*
 * Take the next chain.  1: *chain filled in; empty segments are left out.
 * 0: none.  -EINVAL: the ring is broken (index jump, head or next out of range,
 * loop, readable after writable, bad indirect table, head already in flight, a
 * packed chain that is not available as a whole): the device needs a reset.
 * Nothing has been taken then.
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

/* Make all pushed entries visible with one store (2.7.8, 2.8.1). */
void virtq__show(struct virtq *ring);

/*
 * Does the driver want an interrupt for what became visible since this was
 * last asked (2.7.7, 2.8.8)?  By its wish of now: entries that it has found
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
 * Kicks are wanted again: with EVENT_IDX not before @ahead (1 to queue size)
 * more entries are available than were popped (1: with the next; split ring:
 * chains, packed: descriptors), without it with the next one whatever @ahead
 * says.  True: so many are there already, and no kick may come for them.  So is
 * a broken index.
 *
 * A driver that is held up by the descriptors in flight may never make @ahead
 * more available: a wait for more than one needs something else to end it.
 */
bool virtq__kicks_on(struct virtq *ring, unsigned int ahead);

#endif
