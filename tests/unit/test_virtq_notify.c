// SPDX-License-Identifier: GPL-2.0-only
/*
 * No kick and no interrupt is lost: a driver and a device, each in its thread,
 * that signal through a flag in memory, so that the few nanoseconds in which a
 * missing barrier matters are met often.  One entry at a time: a notification
 * that is lost stops both for good.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/vq_driver.h"

#define SIZE 16
#define ROUNDS 250000
#define HANG_LIMIT 110 /* seconds for the whole program */

struct pair {
	struct vq_driver d;
	struct virtq ring;
	atomic_int kick, irq, error;
	atomic_uint kicks, irqs;
};

static void wait_flag(atomic_int *flag)
{
	unsigned int turns = 0;

	while (!atomic_exchange(flag, 0)) {
		if (++turns % 256 == 0)
			sched_yield();
	}
}

static void spin(unsigned int *seed)
{
	volatile unsigned int n;

	*seed = *seed * 1103515245 + 12345;
	for (n = *seed >> 16 & 511; n; n--)
		;
}

static void *device(void *arg)
{
	struct pair *p = arg;
	struct iovec iov[VIRTQ_CHAIN_IOV(SIZE)];
	struct virtq_chain chain = {.iov = iov, .iov_max = VIRTQ_CHAIN_IOV(SIZE)};
	unsigned int done = 0, seed = 1;

	while (done < ROUNDS) {
		int ret;

		virtq__kicks_off(&p->ring);
		while ((ret = virtq__pop(&p->ring, &chain)) == 1) {
			*(unsigned char *)chain.in_last = done++;
			virtq__push(&p->ring, chain.head, 1);
		}
		if (ret < 0) {
			atomic_store(&p->error, 1);
			return NULL;
		}
		if (virtq__publish(&p->ring)) {
			atomic_fetch_add(&p->irqs, 1);
			atomic_store_explicit(&p->irq, 1, memory_order_release);
		}
		spin(&seed);
		if (!virtq__kicks_on(&p->ring, 1) && done < ROUNDS)
			wait_flag(&p->kick);
	}
	return NULL;
}

static void driver(struct pair *p)
{
	unsigned int i, seed = 2;
	uint32_t id, len;

	for (i = 0; i < ROUNDS && !p->error; i++) {
		vqd__interrupts(&p->d, false);
		vqd__put(&p->d, i % SIZE);
		if (vqd__publish(&p->d)) {
			atomic_fetch_add(&p->kicks, 1);
			atomic_store_explicit(&p->kick, 1, memory_order_release);
		}
		spin(&seed);
		vqd__interrupts(&p->d, true);
		while (!vqd__has_used(&p->d))
			wait_flag(&p->irq);
		assert_true(vqd__get(&p->d, &id, &len));
		assert_int_equal(id, i % SIZE);
		assert_int_equal(*(unsigned char *)vqd__ptr(&p->d, VQD_DATA + id), (uint8_t)i);
	}
}

static void run(bool event_idx)
{
	struct pair *p = calloc(1, sizeof(*p));
	pthread_t thread;
	unsigned int i;

	assert_non_null(p);
	vqd__init(&p->d, SIZE, event_idx);
	for (i = 0; i < SIZE; i++)
		vqd__desc(&p->d, i, VQD_DATA + i, 1, VRING_DESC_F_WRITE, 0);
	assert_int_equal(virtq__init(&p->ring, &p->d.mem, &p->d.layout), 0);
	assert_int_equal(pthread_create(&thread, NULL, device, p), 0);
	driver(p);
	pthread_join(thread, NULL);
	print_message("%s: %u entries, %u kicks, %u interrupts\n",
		      event_idx ? "EVENT_IDX" : "flags", ROUNDS, p->kicks, p->irqs);
	assert_int_equal(p->error, 0);
	assert_true(p->irqs <= ROUNDS);
	assert_true(p->kicks <= ROUNDS);
	vqd__fini(&p->d);
	free(p);
}

static void test_event_idx(void **state)
{
	(void)state;
	run(true);
}

static void test_flags(void **state)
{
	(void)state;
	run(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_event_idx),
		cmocka_unit_test(test_flags),
	};

	alarm(HANG_LIMIT);
	return cmocka_run_group_tests_name("virtqueue notifications", tests, NULL, NULL);
}
