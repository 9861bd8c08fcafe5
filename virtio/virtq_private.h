/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VIRTQ_PRIVATE_H
#define VIRTQ_PRIVATE_H

#include <endian.h>
#include <errno.h>
#include <stddef.h>

#include <lkvm/virtq.h>

/*
 * Inside of the rings: what split and packed rings share, and the two of them.
 *
 * Ordering, in both.  Fields that driver and device touch while the queue is
 * live go through __atomic builtins, each exactly once:
 * - what makes descriptors available is read with acquire, before them;
 * - what makes used entries visible is written with release or stronger, after
 *   them and everything that the device wrote into buffers;
 * - where one side writes one field and then reads another that the other side
 *   handles the opposite way round (a wish for notifications, and what it is
 *   about), both accesses are sequentially consistent.  A seq_cst load is never
 *   done before an earlier seq_cst store, which is the full barrier that is
 *   asked for; on x86 the store is an xchg.  (A separate fence would be
 *   invisible to ThreadSanitizer.)
 */

/* A descriptor of either format, still in the words that it was read in. */
struct virtq_raw {
	uint64_t addr, rest;
};

/*
 * One descriptor, read once: whatever the guest does to it afterwards, the copy
 * is what gets checked and used.  An indirect table need not be aligned.
 */
static inline struct virtq_raw virtq_raw__read(const void *table, unsigned int idx)
{
	typedef uint64_t __attribute__((aligned(1), may_alias)) word_t;
	const volatile word_t *word = (const volatile word_t *)table + 2 * (size_t)idx;

	return (struct virtq_raw) {le64toh(word[0]), le64toh(word[1])};
}

static inline uint32_t virtq_raw__len(struct virtq_raw raw)
{
	return raw.rest;
}

/* ---- chains ---- */

void virtq_chain__reset(struct virtq_chain *chain);

/* A segment more; an empty one is left out.  0, -EINVAL: too many, or readable after writable. */
int virtq_chain__add(struct virtq_chain *chain, const struct guest_mem *mem, uint64_t addr,
		     uint32_t len, bool writable);

/* The indirect table that a descriptor refers to, its entries in *@nr.  NULL: the ring is broken. */
const void *virtq_chain__table(const struct virtq *ring, struct virtq_raw ref, unsigned int *nr);

/*
 * The chain is complete: @head, which has @nr descriptors, is in flight.
 * -EINVAL: it cannot be.
 */
static inline int virtq__claim(struct virtq *ring, unsigned int head, unsigned int nr)
{
	if (head >= ring->layout.size || ring->taken[head])
		return -EINVAL;
	ring->taken[head] = nr;
	ring->in_flight++;
	return 0;
}

/* ---- the two formats; the contracts are those of virtq.h ---- */

int virtq_split__init(struct virtq *ring);
int virtq_split__pending(const struct virtq *ring);
int virtq_split__pop(struct virtq *ring, struct virtq_chain *chain);
void virtq_split__push(struct virtq *ring, uint16_t head, uint32_t len);
void virtq_split__show(struct virtq *ring);
bool virtq_split__interrupt_due(struct virtq *ring);
void virtq_split__kicks_off(struct virtq *ring);
bool virtq_split__kicks_on(struct virtq *ring, unsigned int ahead);

int virtq_packed__init(struct virtq *ring);
int virtq_packed__pending(const struct virtq *ring);
int virtq_packed__pop(struct virtq *ring, struct virtq_chain *chain);
/* @nr: the descriptors of the head */
void virtq_packed__push(struct virtq *ring, uint16_t head, uint32_t len, unsigned int nr);
void virtq_packed__show(struct virtq *ring);
bool virtq_packed__interrupt_due(struct virtq *ring);
void virtq_packed__kicks_off(struct virtq *ring);
bool virtq_packed__kicks_on(struct virtq *ring, unsigned int ahead);

#endif
