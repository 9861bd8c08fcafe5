// SPDX-License-Identifier: GPL-2.0-only
/*
 * No kick and no interrupt is lost: a driver and a device, each in its thread,
 * that signal through a flag in memory, so that the few nanoseconds in which a
 * missing barrier matters are met often.
 *
 * The driver makes bursts of 1 to 8 chains available, in one or more steps, and
 * waits for all of them to come back.  The device knows how many a burst has, and
 * asks for a kick with its last one: a notification that is lost stops both
 * for good.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/vqp_driver.h"

#define SPLIT_SIZE 16
#define PACKED_SIZE 19
#define MAX_BURST 8
#define BURSTS 30000
#define HANG_LIMIT 110 /* seconds for the whole program */

struct pair {
	struct vqp_driver p; /* a split ring uses its member d alone */
	struct virtq ring;
	bool packed;
	unsigned int descs; /* of a chain, on a packed ring */
	atomic_int kick, irq, error;
	atomic_uint kicks, irqs;
};

static void wait_flag(struct pair *p, atomic_int *flag)
{
	unsigned int turns = 0;

	while (!atomic_exchange(flag, 0) && !atomic_load(&p->error)) {
		if (++turns % 256 == 0)
			sched_yield();
	}
}

static unsigned int random_up_to(unsigned int *seed, unsigned int max)
{
	*seed = *seed * 1103515245 + 12345;
	return (*seed >> 16) % (max + 1);
}

static void spin(unsigned int *seed)
{
	volatile unsigned int n;

	for (n = random_up_to(seed, 511); n; n--)
		;
}

/* Both sides come to the same number. */
static unsigned int burst_size(unsigned int burst)
{
	unsigned int seed = burst * 2654435761U;

	return 1 + random_up_to(&seed, MAX_BURST - 1);
}

/* ---- device ---- */

/* Serve what is there; the number of chains, or -1. */
static int serve(struct pair *p, struct virtq_chain *chain, unsigned int *seed)
{
	int nr, ret;

	virtq__kicks_off(&p->ring);
	for (nr = 0; (ret = virtq__pop(&p->ring, chain)) == 1; nr++) {
		*(unsigned char *)chain->in_last ^= 0xff;
		virtq__push(&p->ring, chain->head, 1);
		if (random_up_to(seed, 3) == 0) /* visible before the interrupt is decided on */
			virtq__show(&p->ring);
	}
	if (virtq__publish(&p->ring)) {
		atomic_fetch_add(&p->irqs, 1);
		atomic_store_explicit(&p->irq, 1, memory_order_release);
	}
	return ret < 0 ? -1 : nr;
}

static void *device(void *arg)
{
	struct pair *p = arg;
	struct iovec iov[VIRTQ_CHAIN_IOV(PACKED_SIZE)];
	struct virtq_chain chain = {.iov = iov, .iov_max = VIRTQ_CHAIN_IOV(PACKED_SIZE)};
	unsigned int burst = 0, left = burst_size(0), seed = 1;

	while (burst < BURSTS && !p->error) {
		int nr = serve(p, &chain, &seed);

		if (nr < 0) {
			atomic_store(&p->error, 1);
			return NULL;
		}
		/* where entries were visible early, the next burst may have come too */
		for (; (unsigned int)nr >= left && burst < BURSTS; left = burst_size(++burst))
			nr -= left;
		left -= nr;
		spin(&seed);
		if (burst < BURSTS && !virtq__kicks_on(&p->ring, left * (p->packed ? p->descs : 1)))
			wait_flag(p, &p->kick);
	}
	return NULL;
}

/* ---- driver ---- */

/* Chain @head: the last byte is the device's to write. */
static void put(struct pair *p, uint16_t head)
{
	const struct vq_seg seg[] = {
		{VQD_DATA + 64, 1, true},
		{VQD_DATA + head, 1, true},
	};

	if (p->packed)
		vqp__put(&p->p, head, &seg[2 - p->descs], p->descs, p->descs);
	else
		vqd__put(&p->p.d, head);
}

static void publish(struct pair *p)
{
	if (p->packed ? vqp__kick(&p->p) : vqd__publish(&p->p.d)) {
		atomic_fetch_add(&p->kicks, 1);
		atomic_store_explicit(&p->kick, 1, memory_order_release);
	}
}

static void interrupts(struct pair *p, bool on)
{
	if (p->packed)
		vqp__interrupts(&p->p, on);
	else
		vqd__interrupts(&p->p.d, on);
}

static bool has_used(struct pair *p)
{
	return p->packed ? vqp__has_used(&p->p) : vqd__has_used(&p->p.d);
}

static void take(struct pair *p, const unsigned char *before)
{
	uint32_t id = UINT32_MAX, len = 0;
	unsigned char *data;

	if (p->packed)
		assert_true(vqp__get(&p->p, &id, &len));
	else
		assert_true(vqd__get(&p->p.d, &id, &len));
	assert_true(id < MAX_BURST);
	data = vqd__ptr(&p->p.d, VQD_DATA + id);
	assert_int_equal(*data, before[id] ^ 0xff);
}

static void driver(struct pair *p)
{
	unsigned int burst, seed = 2;

	for (burst = 0; burst < BURSTS && !p->error; burst++) {
		unsigned int nr = burst_size(burst), i;
		unsigned char before[MAX_BURST];

		memcpy(before, vqd__ptr(&p->p.d, VQD_DATA), sizeof(before));
		interrupts(p, false);
		for (i = 0; i < nr; i++) {
			put(p, i);
			if (i + 1 == nr || random_up_to(&seed, 1)) {
				publish(p);
				spin(&seed);
			}
		}
		for (i = 0; i < nr && !p->error; i++) {
			interrupts(p, true);
			while (!has_used(p) && !p->error)
				wait_flag(p, &p->irq);
			if (!p->error)
				take(p, before);
		}
	}
}

static void run(bool packed, unsigned int descs, bool event_idx)
{
	struct pair *p = calloc(1, sizeof(*p));
	pthread_t thread;
	unsigned int i;

	assert_non_null(p);
	p->packed = packed;
	p->descs = descs;
	if (packed)
		vqp__init(&p->p, PACKED_SIZE, event_idx);
	else
		vqd__init(&p->p.d, SPLIT_SIZE, event_idx);
	for (i = 0; i < SPLIT_SIZE && !packed; i++)
		vqd__desc(&p->p.d, i, VQD_DATA + i, 1, VRING_DESC_F_WRITE, 0);
	assert_int_equal(virtq__init(&p->ring, &p->p.d.mem, &p->p.d.layout), 0);
	assert_int_equal(pthread_create(&thread, NULL, device, p), 0);
	driver(p);
	pthread_join(thread, NULL);
	print_message("%u bursts, %u kicks, %u interrupts\n", BURSTS, p->kicks, p->irqs);
	assert_int_equal(p->error, 0);
	assert_int_equal(p->ring.in_flight, 0);
	vqd__fini(&p->p.d);
	free(p);
}

static void test_split_event_idx(void **state)
{
	(void)state;
	run(false, 1, true);
}

static void test_split_flags(void **state)
{
	(void)state;
	run(false, 1, false);
}

static void test_packed_event_idx(void **state)
{
	(void)state;
	run(true, 1, true);
}

static void test_packed_chains(void **state)
{
	(void)state;
	run(true, 2, true);
}

static void test_packed_flags(void **state)
{
	(void)state;
	run(true, 2, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split_event_idx),	 cmocka_unit_test(test_split_flags),
		cmocka_unit_test(test_packed_event_idx), cmocka_unit_test(test_packed_chains),
		cmocka_unit_test(test_packed_flags),
	};

	alarm(HANG_LIMIT);
	return cmocka_run_group_tests_name("virtqueue notifications", tests, NULL, NULL);
}
