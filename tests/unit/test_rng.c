// SPDX-License-Identifier: GPL-2.0-only
/* virtio-rng (virtio 1.2, 5.4). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <lkvm/virtio_rng.h>

#include "tests/unit/vq_driver.h"

#include <cmocka.h> /* last: its fail() is a macro, and transports have a fail member */

#define SIZE VIRTIO_RNG_QUEUE_SIZE
#define HANG_LIMIT 60 /* seconds for the whole program */

struct rig {
	struct vq_driver d;
	struct virtio_rng rng;
	struct virtio_queue *q;
	unsigned int signals, fails;
};

static void stop(struct virtio_queue *queue)
{
	atomic_store(&queue->state, VIRTIO_QUEUE_STOPPING);
	eventfd_write(queue->wakefd, 1);
}

static bool signal_once(struct virtio_dev *dev, struct virtio_queue *queue)
{
	struct rig *r = dev->transport_data;

	r->signals++;
	stop(queue);
	return true;
}

static void needs_reset(struct virtio_dev *dev)
{
	struct rig *r = dev->transport_data;

	r->fails++;
	stop(&dev->queues[0]);
}

static const struct virtio_transport_ops transport = {
	.signal = signal_once,
	.needs_reset = needs_reset,
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	if (!r)
		return -1;
	vqd__init(&r->d, SIZE, false);
	if (virtio_rng__init(&r->rng, &r->d.mem))
		return -1;
	r->rng.dev.transport = &transport;
	r->rng.dev.transport_data = r;
	r->q = &r->rng.dev.queues[0];
	*state = r;
	return virtq__init(&r->q->ring, &r->d.mem, &r->d.layout);
}

static int teardown(void **state)
{
	struct rig *r = *state;

	virtio_rng__fini(&r->rng);
	vqd__fini(&r->d);
	free(r);
	return 0;
}

static void run(struct rig *r)
{
	vqd__publish(&r->d);
	atomic_store(&r->q->state, VIRTIO_QUEUE_RUNNING);
	r->rng.dev.ops->queue_run(r->q);
	assert_int_equal(r->q->ring.in_flight, 0);
	assert_int_equal(r->q->stats.popped, r->q->stats.completed);
}

static void test_identity(void **state)
{
	struct rig *r = *state;

	assert_int_equal(r->rng.dev.ops->id, 4); /* 5.4.1 */
	assert_int_equal(r->rng.dev.config_size, 0); /* 5.4.4 */
	assert_int_equal(r->rng.dev.nr_queues, 1); /* 5.4.2 */
	/* 5.4.3: none of its own */
	assert_int_equal(r->rng.dev.offered,
			 1 << VIRTIO_RING_F_INDIRECT_DESC | 1 << VIRTIO_RING_F_EVENT_IDX);
}

static void test_fill(void **state)
{
	const struct vq_seg seg[] = {{VQD_DATA, 40, true}, {VQD_DATA + 100, 24, true}};
	struct rig *r = *state;
	const uint8_t *data = vqd__ptr(&r->d, VQD_DATA);
	uint32_t id, len;
	unsigned int i, set = 0;

	vqd__chain(&r->d, 7, seg, 2, 1);
	vqd__put(&r->d, 7);
	run(r);
	assert_true(vqd__get(&r->d, &id, &len));
	assert_int_equal(id, 7);
	assert_int_equal(len, 64);
	for (i = 0; i < 124; i++)
		set += data[i] != 0;
	assert_true(set > 32); /* 64 random bytes: fewer has a chance below 2^-200 */
	for (i = 40; i < 100; i++)
		assert_int_equal(data[i], 0);
	assert_int_equal(data[124], 0);
	assert_int_equal(r->signals, 1);
}

/* Lengths that a driver should not use: some bytes, none, and never a byte too many. */
static void test_odd_lengths(void **state)
{
	static const struct {
		const char *name;
		struct vq_seg seg[2];
		uint32_t used;
	} t[] = {
		{"more than the limit", {{VQD_DATA, 100000, true}, {0, 0, true}}, 4096},
		{"limit within the second",
		 {{VQD_DATA, 4000, true}, {VQD_DATA + 8000, 1000, true}},
		 4096},
		{"nothing", {{VQD_DATA, 0, true}, {VQD_DATA, 0, true}}, 0},
		{"readable alone", {{VQD_DATA, 64, false}, {0, 0, true}}, 0},
		{"readable first", {{VQD_DATA, 64, false}, {VQD_DATA + 64, 5, true}}, 5},
		{"second outside of memory", {{VQD_DATA, 8, true}, {VQD_END - 7, 8, true}}, 8},
		{"outside of memory", {{VQD_END - 7, 8, true}, {VQD_DATA, 8, true}}, 0},
		{"to the last byte", {{VQD_END - 8, 8, true}, {0, 0, true}}, 8},
	};
	struct rig *r = *state;
	uint32_t id, len;
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		print_message("%s\n", t[i].name);
		vqd__chain(&r->d, 0, t[i].seg, 2, 2);
		vqd__put(&r->d, 0);
		run(r);
		assert_true(vqd__get(&r->d, &id, &len));
		assert_int_equal(len, t[i].used);
	}
	assert_int_equal(r->fails, 0);
}

static void test_full_ring(void **state)
{
	const struct vq_seg seg = {VQD_DATA, 16, true};
	struct rig *r = *state;
	uint32_t id, len;
	unsigned int i;

	for (i = 0; i < SIZE; i++) {
		vqd__chain(&r->d, i, &seg, 1, 1);
		vqd__put(&r->d, i);
	}
	run(r);
	for (i = 0; i < SIZE; i++)
		assert_true(vqd__get(&r->d, &id, &len));
	assert_int_equal(r->signals, 1); /* one for all */
	assert_int_equal(r->q->stats.drains, 1);
}

static void test_broken(void **state)
{
	struct rig *r = *state;

	vqd__put(&r->d, SIZE);
	run(r);
	assert_int_equal(r->fails, 1);
	assert_int_equal(r->q->stats.popped, 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_identity),  TEST(test_fill),	 TEST(test_odd_lengths),
		TEST(test_full_ring), TEST(test_broken),
	};

	alarm(HANG_LIMIT);
	return cmocka_run_group_tests_name("virtio-rng", tests, NULL, NULL);
}
