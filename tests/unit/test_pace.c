// SPDX-License-Identifier: GPL-2.0-only
/* How an I/O thread waits: spinning, the choice between two ways of working, holding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "virtio/pace.h"

#define US 1000ULL
#define MS 1000000ULL

static struct pace make(enum virtio_blk_mode coalesce, enum virtio_blk_mode poll, bool crowded)
{
	const struct virtio_blk_tuning tuning = {
		.coalesce = coalesce,
		.coalesce_ns = 100 * US,
		.coalesce_nr = 8,
		.poll = poll,
		.poll_ns = 70 * US,
	};
	struct pace p;

	pace__init(&p, &tuning, crowded);
	return p;
}

/*
 * A guest and a device as the thread sees them: batches of this size, this long
 * for each request, by the present way of working.
 */
struct world {
	unsigned int batch[2]; /* prompt, gathering */
	uint64_t ns[2]; /* a request */
	uint64_t now;
	unsigned int gathered; /* requests that were served gathering */
};

static void live(struct pace *p, struct world *w, unsigned int requests)
{
	unsigned int nr;

	for (; requests; requests -= nr) {
		nr = w->batch[p->gather] < requests ? w->batch[p->gather] : requests;
		w->now += nr * w->ns[p->gather];
		w->gathered += p->gather ? nr : 0;
		pace__drained(p, nr);
		pace__completed(p, nr, 50 * US, w->now);
	}
}

static void lone_requests_are_served_promptly(void **state)
{
	struct pace p = make(VIRTIO_BLK_AUTO, VIRTIO_BLK_OFF, true);
	struct world w = {.batch = {1, 1}, .ns = {100 * US, 130 * US}};

	(void)state;
	assert_true(p.gather); /* a crowded host begins so */
	live(&p, &w, PACE_SETTLE + PACE_EPOCH);
	assert_false(p.gather); /* one epoch of single requests is enough */
	w.gathered = 0;
	live(&p, &w, 100000);
	/* trials: an epoch and its start in 64, then in 128, ... */
	assert_in_range(w.gathered, 1, 100000 / 64);
}

static void depth_gathers(void **state)
{
	struct pace p = make(VIRTIO_BLK_AUTO, VIRTIO_BLK_OFF, true);
	struct world w = {.batch = {1, 24}, .ns = {600 * US, 100 * US}};

	(void)state;
	live(&p, &w, 50000);
	assert_true(p.gather || p.trial);
	assert_true(w.gathered > 48000);
}

/* A host with CPUs to spare begins promptly and has to be shown. */
static void gathering_has_to_pay(void **state)
{
	struct pace p = make(VIRTIO_BLK_AUTO, VIRTIO_BLK_OFF, false);
	struct world pays = {.batch = {2, 16}, .ns = {10 * US, 5 * US}};
	struct world costs = {.batch = {2, 16}, .ns = {10 * US, 11 * US}};
	struct world same = {.batch = {2, 16}, .ns = {10 * US, 10 * US}};

	(void)state;
	assert_false(p.gather);
	live(&p, &pays, 20000);
	assert_true(pays.gathered > 15000);
	p = make(VIRTIO_BLK_AUTO, VIRTIO_BLK_OFF, false);
	live(&p, &costs, 100000);
	assert_in_range(costs.gathered, 1, 2000);
	p = make(VIRTIO_BLK_AUTO, VIRTIO_BLK_OFF, false);
	live(&p, &same, 100000);
	assert_in_range(same.gathered, 1, 2000);
}

/* Another workload after a pause: from depth to single requests and back. */
static void an_idle_queue_starts_afresh(void **state)
{
	struct pace p = make(VIRTIO_BLK_AUTO, VIRTIO_BLK_OFF, true);
	struct world lone = {.batch = {1, 1}, .ns = {100 * US, 130 * US}};
	struct world deep = {.batch = {1, 24}, .ns = {600 * US, 100 * US}};

	(void)state;
	live(&p, &lone, 5000);
	assert_false(p.gather);
	deep.now = lone.now + 2 * PACE_IDLE;
	pace__slept(&p, 2 * PACE_IDLE, false, deep.now); /* something was in flight: no pause */
	assert_false(p.gather);
	pace__slept(&p, 2 * PACE_IDLE, true, deep.now);
	assert_true(p.gather);
	live(&p, &deep, 1000);
	assert_true(p.gather);
}

static void off_and_fixed_do_not_learn(void **state)
{
	struct pace off = make(VIRTIO_BLK_OFF, VIRTIO_BLK_OFF, true);
	struct pace fixed = make(VIRTIO_BLK_FIXED, VIRTIO_BLK_OFF, false);
	struct world w = {.batch = {1, 24}, .ns = {600 * US, 100 * US}};

	(void)state;
	live(&off, &w, 10000);
	assert_int_equal(w.gathered, 0);
	assert_int_equal(pace__hold(&off, 1, 31, 0), 0);
	w.batch[1] = 1;
	live(&fixed, &w, 10000);
	assert_int_equal(w.gathered, 10000);
}

static void fixed_holds(void **state)
{
	struct pace p = make(VIRTIO_BLK_FIXED, VIRTIO_BLK_OFF, false);

	(void)state;
	assert_int_equal(pace__hold(&p, 1, 0, 0), 0); /* nothing to wait for */
	assert_int_equal(pace__hold(&p, 1, 1, 0), 100 * US);
	assert_int_equal(pace__hold(&p, 7, 1, 60 * US), 40 * US);
	assert_int_equal(pace__hold(&p, 7, 1, 100 * US), 0);
	assert_int_equal(pace__hold(&p, 8, 1, 0), 0); /* coalesce_nr */
}

/* A quarter of the service time at most, and rarely where it brings nothing. */
static void auto_holds(void **state)
{
	struct pace p = make(VIRTIO_BLK_AUTO, VIRTIO_BLK_OFF, true);
	unsigned int i, holds = 0;

	(void)state;
	for (i = 0; i < 100; i++)
		pace__completed(&p, 0, 200 * US, 0);
	assert_in_range(pace__hold(&p, 1, 1, 0), 45 * US, 50 * US);
	assert_int_equal(pace__hold(&p, 1, 0, 0), 0);
	assert_int_equal(pace__hold(&p, 1, 1, 50 * US), 0);
	for (i = 0; i < 1000; i++) {
		if (!pace__hold(&p, 1, 1, 0))
			continue;
		holds++;
		pace__held(&p, false);
	}
	assert_in_range(holds, 1, 50);
	while (!pace__hold(&p, 1, 1, 0))
		;
	pace__held(&p, true);
	assert_true(pace__hold(&p, 1, 1, 0)); /* it pays again: at once */
}

static void spin_grows_and_shrinks(void **state)
{
	struct pace p = make(VIRTIO_BLK_OFF, VIRTIO_BLK_AUTO, false);
	struct pace crowded = make(VIRTIO_BLK_OFF, VIRTIO_BLK_AUTO, true);
	struct pace fixed = make(VIRTIO_BLK_OFF, VIRTIO_BLK_FIXED, true);
	struct pace off = make(VIRTIO_BLK_OFF, VIRTIO_BLK_OFF, false);
	unsigned int i;

	(void)state;
	assert_int_equal(pace__spin(&p), 0);
	for (i = 0; i < 10; i++) {
		pace__slept(&p, 5 * US, false, 0);
		pace__slept(&crowded, 5 * US, false, 0);
		pace__slept(&off, 5 * US, false, 0);
	}
	assert_int_equal(pace__spin(&p), PACE_SPIN_MAX);
	assert_int_equal(pace__spin(&crowded), 0);
	assert_int_equal(pace__spin(&off), 0);
	assert_int_equal(pace__spin(&fixed), 70 * US);
	pace__slept(&p, 4 * PACE_SPIN_MAX, false, 0); /* neither here nor there */
	assert_int_equal(pace__spin(&p), PACE_SPIN_MAX);
	for (i = 0; i < 6; i++)
		pace__slept(&p, 10 * MS, true, 0);
	assert_int_equal(pace__spin(&p), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lone_requests_are_served_promptly),
		cmocka_unit_test(depth_gathers),
		cmocka_unit_test(gathering_has_to_pay),
		cmocka_unit_test(an_idle_queue_starts_afresh),
		cmocka_unit_test(off_and_fixed_do_not_learn),
		cmocka_unit_test(fixed_holds),
		cmocka_unit_test(auto_holds),
		cmocka_unit_test(spin_grows_and_shrinks),
	};

	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
