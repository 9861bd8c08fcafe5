/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_VQ_RIG_H
#define TESTS_VQ_RIG_H

#include "tests/unit/vq_driver.h"

/* A split ring between its two sides, in one thread.  Include <cmocka.h> first. */
#define SIZE 8
#define W VRING_DESC_F_WRITE
#define N VRING_DESC_F_NEXT
#define I VRING_DESC_F_INDIRECT

struct rig {
	struct vq_driver d;
	struct virtq ring;
	struct virtq_chain chain;
	struct iovec iov[VIRTQ_CHAIN_IOV(SIZE)];
};

static inline void rig__start(struct rig *r)
{
	assert_int_equal(virtq__init(&r->ring, &r->d.mem, &r->d.layout), 0);
}

static inline int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	if (!r)
		return -1;
	vqd__init(&r->d, SIZE, true);
	r->chain.iov = r->iov;
	r->chain.iov_max = VIRTQ_CHAIN_IOV(SIZE);
	*state = r;
	return virtq__init(&r->ring, &r->d.mem, &r->d.layout);
}

static inline int teardown(void **state)
{
	struct rig *r = *state;

	vqd__fini(&r->d);
	free(r);
	return 0;
}

static inline void offer(struct rig *r, uint16_t head)
{
	vqd__put(&r->d, head);
	vqd__publish(&r->d);
}

static inline int pop(struct rig *r)
{
	return virtq__pop(&r->ring, &r->chain);
}

#endif
