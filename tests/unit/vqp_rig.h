/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_VQP_RIG_H
#define TESTS_VQP_RIG_H

#include "tests/unit/vqp_driver.h"

/* A packed ring between its two sides, in one thread.  Include <cmocka.h> first. */
#define SIZE 7 /* not a power of two */
#define W VRING_DESC_F_WRITE
#define N VRING_DESC_F_NEXT
#define I VRING_DESC_F_INDIRECT

struct rig {
	struct vqp_driver p;
	struct virtq ring;
	struct virtq_chain chain;
	struct iovec iov[VIRTQ_CHAIN_IOV(VIRTQ_MAX_SIZE)];
};

static inline void restart(struct rig *r, uint16_t size)
{
	r->p.d.layout.size = size;
	vqp__restart(&r->p);
	r->chain.iov_max = VIRTQ_CHAIN_IOV(size);
	assert_int_equal(virtq__init(&r->ring, &r->p.d.mem, &r->p.d.layout), 0);
}

static inline int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	if (!r)
		return -1;
	vqp__init(&r->p, SIZE, true);
	r->chain.iov = r->iov;
	restart(r, SIZE);
	*state = r;
	return 0;
}

static inline int teardown(void **state)
{
	struct rig *r = *state;

	vqp__fini(&r->p);
	free(r);
	return 0;
}

static inline int pop(struct rig *r)
{
	return virtq__pop(&r->ring, &r->chain);
}

/* One writable byte at an address of its own */
static inline bool put_one(struct rig *r, uint16_t id)
{
	const struct vq_seg seg = {VQD_DATA + id, 1, true};

	return vqp__put(&r->p, id, &seg, 1, 1);
}

/* Through the ring and back, so that both sides stand at another position. */
static inline void turn(struct rig *r, unsigned int nr)
{
	uint32_t id, len;

	while (nr--) {
		assert_true(put_one(r, 0));
		assert_int_equal(pop(r), 1);
		virtq__push(&r->ring, 0, 1);
		virtq__show(&r->ring);
		assert_true(vqp__get(&r->p, &id, &len));
	}
	virtq__interrupt_due(&r->ring);
	r->p.added = 0;
}

#endif
