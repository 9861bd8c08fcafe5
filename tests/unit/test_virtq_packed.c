// SPDX-License-Identifier: GPL-2.0-only
/* The device side of the packed ring, driven from the driver's side (virtio 1.2, 2.8). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/vqp_driver.h"

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

static void restart(struct rig *r, uint16_t size)
{
	r->p.d.layout.size = size;
	vqp__restart(&r->p);
	r->chain.iov_max = VIRTQ_CHAIN_IOV(size);
	assert_int_equal(virtq__init(&r->ring, &r->p.d.mem, &r->p.d.layout), 0);
}

static int setup(void **state)
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

static int teardown(void **state)
{
	struct rig *r = *state;

	vqp__fini(&r->p);
	free(r);
	return 0;
}

static int pop(struct rig *r)
{
	return virtq__pop(&r->ring, &r->chain);
}

/* One writable byte at an address of its own */
static bool put_one(struct rig *r, uint16_t id)
{
	const struct vq_seg seg = {VQD_DATA + id, 1, true};

	return vqp__put(&r->p, id, &seg, 1, 1);
}

/* Through the ring and back, so that both sides stand at another position. */
static void turn(struct rig *r, unsigned int nr)
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

/* The table in 2.8.10.1: 16 * size, 4 and 4 bytes, at multiples of 16, 4 and 4. */
static void test_init_areas(void **state)
{
	const uint64_t last_desc = VQD_END - 16 * SIZE;
	const uint64_t last_event = VQD_END - 4;
	const struct {
		uint16_t size;
		uint64_t desc, avail, used;
		int ret;
	} t[] = {
		{SIZE, VQD_DESC, VQD_AVAIL, VQD_USED, 0},
		{SIZE, VQD_DESC, VQD_AVAIL + 4, VQD_USED + 4, 0},
		{SIZE, last_desc, VQD_AVAIL, VQD_USED, 0},
		{SIZE, VQD_DESC, last_event, VQD_USED, 0},
		{SIZE, VQD_DESC, VQD_AVAIL, last_event, 0},
		{SIZE, last_desc + 16, VQD_AVAIL, VQD_USED, -EFAULT},
		{SIZE, VQD_DESC, last_event + 4, VQD_USED, -EFAULT},
		{SIZE, VQD_DESC, VQD_AVAIL, last_event + 4, -EFAULT},
		{SIZE, VQD_BASE - 16, VQD_AVAIL, VQD_USED, -EFAULT},
		{SIZE, UINT64_MAX - 15, VQD_AVAIL, VQD_USED, -EFAULT},
		{SIZE, VQD_DESC, UINT64_MAX - 3, VQD_USED, -EFAULT},
		{SIZE, VQD_DESC + 8, VQD_AVAIL, VQD_USED, -EINVAL},
		{SIZE, VQD_DESC, VQD_AVAIL + 2, VQD_USED, -EINVAL},
		{SIZE, VQD_DESC, VQD_AVAIL, VQD_USED + 2, -EINVAL},
		{0, VQD_DESC, VQD_AVAIL, VQD_USED, -EINVAL},
		{1025, VQD_DESC, VQD_AVAIL, VQD_USED, -EINVAL},
		{1, VQD_DESC, VQD_AVAIL, VQD_USED, 0},
		{1000, VQD_DESC, VQD_AVAIL, VQD_USED, 0},
		{1024, VQD_DESC, VQD_AVAIL, VQD_USED, 0},
	};
	struct rig *r = *state;
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct virtq_layout l = {.size = t[i].size,
					 .packed = true,
					 .desc = t[i].desc,
					 .avail = t[i].avail,
					 .used = t[i].used};

		print_message("areas, line %u\n", i);
		assert_int_equal(virtq__init(&r->ring, &r->p.d.mem, &l), t[i].ret);
	}
}

/* Every cut into direct descriptors and an indirect table, at every position. */
static void test_chain(void **state)
{
	const struct vq_seg seg[] = {
		{VQD_DATA, 16, false},	   {VQD_DATA + 64, 0, false}, {VQD_DATA + 100, 7, false},
		{VQD_DATA + 200, 0, true}, {VQD_DATA + 300, 9, true},
	};
	struct rig *r = *state;
	unsigned int direct, at;
	uint32_t id, len;

	for (at = 0; at < 2 * SIZE; at++) {
		for (direct = 0; direct <= 5; direct++) {
			restart(r, SIZE);
			turn(r, at);
			assert_true(vqp__put(&r->p, 2, seg, 5, direct));
			assert_int_equal(virtq__pending(&r->ring), 1);
			assert_int_equal(pop(r), 1);
			assert_int_equal(r->chain.head, 2);
			assert_false(r->chain.fault);
			assert_int_equal(r->chain.nr_out, 2); /* empty ones left out */
			assert_int_equal(r->chain.nr_in, 1);
			assert_int_equal(r->chain.out_len, 23);
			assert_int_equal(r->chain.in_len, 9);
			assert_ptr_equal(r->iov[1].iov_base, vqd__ptr(&r->p.d, VQD_DATA + 100));
			assert_ptr_equal(r->chain.in_last, vqd__ptr(&r->p.d, VQD_DATA + 308));
			assert_int_equal(virtq__pending(&r->ring), 0);
			assert_int_equal(pop(r), 0);
			virtq__push(&r->ring, 2, 9);
			assert_false(vqp__get(&r->p, &id, &len)); /* not shown yet */
			virtq__publish(&r->ring);
			assert_true(vqp__get(&r->p, &id, &len));
			assert_int_equal(id, 2);
			assert_int_equal(len, 9);
			turn(r, 1); /* both sides skipped as many descriptors */
		}
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_init_areas),
		TEST(test_chain),
	};

	return cmocka_run_group_tests_name("packed virtq", tests, NULL, NULL);
}
