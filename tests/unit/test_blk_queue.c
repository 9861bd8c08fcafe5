// SPDX-License-Identifier: GPL-2.0-only
/* The I/O thread of a virtio-blk queue: batches, failures, stopping, notifications. */
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "tests/unit/blk_rig.h"

#include <cmocka.h> /* last: its fail() is a macro, and transports have a fail member */

#define SIZE 64
#define SLOTS 21 /* requests of three descriptors */
#define HANG_LIMIT 110 /* seconds for the whole program */

/* Offer @nr reads of one sector, request i on sector i. */
static void offer(struct blk_rig *r, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		rig__request(r, 3 * i, VIRTIO_BLK_T_IN, i, 512);
	vqd__publish(&r->d);
}

/* All used elements; each head once.  The result is their number. */
static unsigned int collect(struct blk_rig *r)
{
	bool seen[SIZE] = {false};
	uint32_t id, len;
	unsigned int nr = 0;

	while (vqd__get(&r->d, &id, &len)) {
		assert_true(id < SIZE);
		assert_false(seen[id]);
		seen[id] = true;
		nr++;
	}
	return nr;
}

static void check_sums(const struct blk_rig *r, uint64_t popped, uint64_t errors)
{
	const struct virtio_queue_stats *stats = &r->q->stats;

	assert_int_equal(stats->popped, popped);
	assert_int_equal(stats->completed, popped);
	assert_int_equal(stats->errors, errors);
	assert_int_equal(r->q->ring.in_flight, 0);
	assert_int_equal(stats->interrupts, r->signals);
}

static void test_one_batch(void **state)
{
	struct blk_rig *r = rig__new(SIZE, 512, false);

	(void)state;
	offer(r, SLOTS);
	rig__run(r, SLOTS);
	assert_int_equal(collect(r), SLOTS);
	assert_int_equal(r->submits, 1);
	assert_int_equal(r->signals, 1);
	assert_int_equal(r->q->stats.drains, 1);
	assert_int_equal(*(char *)vqd__ptr(&r->d, rig__slot(6) + RIG_SLOT_DATA), r->image[1024]);
	check_sums(r, SLOTS, 0);
	rig__free(r);
}

/* What needs no I/O is published together with what does. */
static void test_mixed_batch(void **state)
{
	struct blk_rig *r = rig__new(SIZE, 512, false);

	(void)state;
	rig__request(r, 0, VIRTIO_BLK_T_GET_ID, 0, 20);
	rig__request(r, 3, VIRTIO_BLK_T_IN, 0, 512);
	rig__request(r, 6, VIRTIO_BLK_T_IN, 9999, 512);
	rig__request(r, 9, 77, 0, 512);
	vqd__publish(&r->d);
	rig__run(r, 4);
	assert_int_equal(collect(r), 4);
	assert_int_equal(r->signals, 1);
	assert_int_equal(*rig__status(r, 0), VIRTIO_BLK_S_OK);
	assert_int_equal(*rig__status(r, 3), VIRTIO_BLK_S_OK);
	assert_int_equal(*rig__status(r, 6), VIRTIO_BLK_S_IOERR);
	assert_int_equal(*rig__status(r, 9), VIRTIO_BLK_S_UNSUPP);
	check_sums(r, 4, 2);
	rig__free(r);
}

static void test_error_at_each_position(void **state)
{
	struct blk_rig *r = rig__new(SIZE, 512, false);
	unsigned int bad, i;

	(void)state;
	r->shuffle = true;
	for (bad = 0; bad < SLOTS; bad++) {
		r->fail_offset = bad * 512;
		offer(r, SLOTS);
		rig__run(r, SLOTS);
		assert_int_equal(collect(r), SLOTS);
		for (i = 0; i < SLOTS; i++)
			assert_int_equal(*rig__status(r, 3 * i),
					 i == bad ? VIRTIO_BLK_S_IOERR : VIRTIO_BLK_S_OK);
	}
	check_sums(r, SLOTS * SLOTS, SLOTS);
	rig__free(r);
}

static void test_no_interrupt_wanted(void **state)
{
	struct blk_rig *r = rig__new(SIZE, 512, false);

	(void)state;
	vqd__interrupts(&r->d, false);
	r->on_submit = rig__stop;
	offer(r, SLOTS);
	rig__run(r, SLOTS);
	assert_int_equal(collect(r), SLOTS);
	assert_int_equal(r->signals, 0);
	assert_int_equal(r->q->stats.suppressed, 1);
	rig__free(r);
}

/* A reset while everything is in flight: all come to their end, nothing new is taken. */
static void stop_and_offer_more(struct blk_rig *r)
{
	rig__stop(r);
	rig__request(r, 60, VIRTIO_BLK_T_IN, 0, 512);
	vqd__publish(&r->d);
}

static void test_stop_in_flight(void **state)
{
	struct blk_rig *r = rig__new(SIZE, 512, false);

	(void)state;
	r->hold = 5;
	r->on_submit = stop_and_offer_more;
	offer(r, SLOTS - 1);
	rig__run(r, SIZE);
	assert_int_equal(r->hold, 0);
	assert_int_equal(r->nr_running, 0);
	assert_int_equal(collect(r), SLOTS - 1);
	check_sums(r, SLOTS - 1, 0);

	/* the next activation finds every request free again */
	r->on_submit = NULL;
	rig__run(r, 1);
	assert_int_equal(collect(r), 1);
	check_sums(r, SLOTS, 0);
	rig__free(r);
}

/* The ring breaks behind good requests: they complete, the device fails once. */
static void test_broken_behind_good(void **state)
{
	struct blk_rig *r = rig__new(SIZE, 512, false);

	(void)state;
	r->hold = 3;
	offer(r, 5);
	vqd__put(&r->d, SIZE); /* no such head */
	vqd__publish(&r->d);
	rig__run(r, SIZE);
	assert_int_equal(r->fails, 1);
	assert_int_equal(collect(r), 5);
	check_sums(r, 5, 0);
	rig__free(r);
}

/* Every head is in flight, and yet the index moves on. */
static void one_entry_more(struct blk_rig *r)
{
	vqd__put(&r->d, 0);
	vqd__publish(&r->d);
}

static void test_more_entries_than_heads(void **state)
{
	struct blk_rig *r = rig__new(16, 512, false);
	const struct virtio_blk_outhdr hdr = {.type = VIRTIO_BLK_T_FLUSH};
	uint64_t table = VQD_TABLE;
	unsigned int i;

	(void)state;
	r->hold = 3;
	r->on_submit = one_entry_more;
	memcpy(vqd__ptr(&r->d, VQD_DATA), &hdr, sizeof(hdr));
	for (i = 0; i < 16; i++, table += 1024) {
		const struct vq_seg seg[] = {{VQD_DATA, 16, false}, {VQD_DATA + 100 + i, 1, true}};

		vqd__chain(&r->d, i, seg, 2, 0);
		vqd__put(&r->d, i);
	}
	vqd__publish(&r->d);
	rig__run(r, SIZE);
	assert_int_equal(r->fails, 1);
	assert_int_equal(collect(r), 16);
	assert_int_equal(r->flushes, 16);
	check_sums(r, 16, 0);
	rig__free(r);
}

/* batch=N: no submit takes more, and the answers are one interrupt all the same. */
static void test_batch_limit(void **state)
{
	static const struct {
		unsigned int batch, submits;
	} t[] = {{1, SLOTS}, {2, (SLOTS + 1) / 2}, {SLOTS - 1, 2}, {SLOTS, 1}, {1024, 1}};
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		const struct virtio_blk_tuning tuning = {.batch = t[i].batch};
		struct blk_rig *r = rig__new_tuned(SIZE, 512, false, &tuning);

		offer(r, SLOTS);
		rig__run(r, SLOTS);
		assert_int_equal(collect(r), SLOTS);
		assert_int_equal(r->submits, t[i].submits);
		assert_int_equal(r->signals, 1);
		assert_int_equal(r->q->stats.drains, t[i].submits);
		check_sums(r, SLOTS, 0);
		rig__free(r);
	}
}

/*
 * coalesce=USEC: the engine finishes one request more each time it is asked.
 * Without it each is an interrupt of its own; with it they collect, and the last
 * one, with nothing behind it, is never held.
 */
static void test_signal_is_held(void **state)
{
	unsigned int signals[2], mode;

	(void)state;
	for (mode = 0; mode < 2; mode++) {
		const struct virtio_blk_tuning tuning = {
			.coalesce = mode ? VIRTIO_BLK_FIXED : VIRTIO_BLK_OFF,
			.coalesce_ns = 100000,
			.coalesce_nr = 5,
		};
		struct blk_rig *r = rig__new_tuned(SIZE, 512, false, &tuning);

		r->one_by_one = true;
		offer(r, SLOTS);
		rig__run(r, SLOTS);
		assert_int_equal(collect(r), SLOTS);
		check_sums(r, SLOTS, 0);
		signals[mode] = r->signals;
		assert_int_equal(r->q->stats.holds > 0, mode);
		rig__free(r);
	}
	assert_int_equal(signals[0], SLOTS);
	assert_in_range(signals[1], (SLOTS + 4) / 5, SLOTS - 1);
}

/* ---- driver and I/O thread side by side ---- */

static struct blk_rig *threaded_rig(bool event_idx)
{
	struct blk_rig *r = rig__new(SIZE, 512, false);

	r->d.layout.event_idx = event_idx;
	assert_int_equal(virtq__init(&r->q->ring, &r->d.mem, &r->d.layout), 0);
	r->stop_after = UINT64_MAX;
	r->irqfd = eventfd(0, EFD_CLOEXEC);
	assert_true(r->irqfd >= 0);
	assert_int_equal(virtio_dev__start_threads(&r->blk.dev, "blk"), 0);
	virtio_queue__start(r->q);
	return r;
}

static void threaded_free(struct blk_rig *r)
{
	virtio_dev__stop_threads(&r->blk.dev);
	assert_int_equal(r->q->stats.popped, r->q->stats.completed);
	close(r->irqfd);
	rig__free(r);
}

static void wait_irq(struct blk_rig *r)
{
	struct pollfd p = {.fd = r->irqfd, .events = POLLIN};
	eventfd_t count;

	assert_int_equal(poll(&p, 1, 30000), 1); /* else a notification was lost */
	assert_int_equal(eventfd_read(r->irqfd, &count), 0);
}

static void spin(unsigned int *seed)
{
	volatile unsigned int n;

	for (n = rand_r(seed) % 1000; n; n--)
		;
}

/*
 * @total reads, at most @depth at a time, in bursts of 1 to 8.  The driver kicks
 * only when asked and sleeps without a time limit of its own.  @shuffle false:
 * the engine completes at once, and only kicks wake the I/O thread.
 */
static void stress(bool event_idx, unsigned int depth, bool shuffle, unsigned int total)
{
	struct blk_rig *r = threaded_rig(event_idx);
	struct virtio_blk_stats stats;
	uint16_t free_slot[SLOTS];
	unsigned int nr_free, sent = 0, done = 0, kicks = 0, seed = depth;
	uint32_t id, len;

	r->shuffle = shuffle;
	for (nr_free = 0; nr_free < depth; nr_free++)
		free_slot[nr_free] = nr_free;
	while (done < total) {
		unsigned int burst = 1 + rand_r(&seed) % 8;

		while (burst-- && nr_free && sent < total) {
			rig__request(r, 3 * free_slot[--nr_free], VIRTIO_BLK_T_IN, sent % 128, 512);
			sent++;
		}
		spin(&seed);
		if (r->d.avail_idx != r->d.published && vqd__publish(&r->d)) {
			virtio_queue__kick(r->q);
			kicks++;
		}
		vqd__interrupts(&r->d, false);
		while (vqd__get(&r->d, &id, &len)) {
			assert_int_equal(len, 513);
			assert_int_equal(*rig__status(r, id), VIRTIO_BLK_S_OK);
			free_slot[nr_free++] = id / 3;
			done++;
		}
		if (done == total || (nr_free && sent < total && rand_r(&seed) % 2))
			continue;
		vqd__interrupts(&r->d, true);
		if (!vqd__has_used(&r->d) && sent != done)
			wait_irq(r);
	}
	print_message("%s, depth %u: %u requests, %u kicks, %u interrupts\n",
		      event_idx ? "EVENT_IDX" : "flags", depth, total, kicks,
		      atomic_load(&r->signals));
	assert_true(r->signals <= total);
	assert_true(kicks <= total);
	virtio_dev__stop_threads(&r->blk.dev);
	virtio_blk__stats(&r->blk, 0, &stats);
	assert_int_equal(stats.queue.kicks, kicks); /* apart from completions and the stop */
	assert_int_equal(stats.requests[VIRTIO_BLK_READS], total);
	assert_int_equal(stats.bytes_read, 512ULL * total);
	assert_int_equal(hist__count(&stats.batch), stats.queue.drains);
	assert_int_equal(stats.batch.sum, total);
	assert_int_equal(hist__count(&stats.latency), total);
	threaded_free(r);
}

#define STRESS 40000

static void test_stress_event_idx(void **state)
{
	(void)state;
	stress(true, 1, false, STRESS);
	stress(true, SLOTS, false, STRESS);
	stress(true, SLOTS, true, STRESS);
}

static void test_stress_flags(void **state)
{
	(void)state;
	stress(false, 1, false, STRESS);
	stress(false, SLOTS, false, STRESS);
	stress(false, SLOTS, true, STRESS);
}

/* Broken: reported once, asleep through further kicks, stopped and started again. */
static void test_broken_then_reset(void **state)
{
	struct blk_rig *r = threaded_rig(false);
	unsigned int i;

	(void)state;
	vqd__put(&r->d, SIZE);
	vqd__publish(&r->d);
	virtio_queue__wake(r->q);
	wait_irq(r); /* the configuration interrupt */
	assert_int_equal(r->fails, 1);

	vqd__start_at(&r->d, 0); /* good again, but not for this activation */
	offer(r, 1);
	for (i = 0; i < 100; i++)
		virtio_queue__wake(r->q);
	virtio_queue__stop(r->q);
	while (!virtio_dev__idle(&r->blk.dev))
		sched_yield();
	assert_int_equal(r->fails, 1);
	assert_int_equal(r->q->stats.popped, 0);

	assert_int_equal(virtq__init(&r->q->ring, &r->d.mem, &r->d.layout), 0);
	virtio_queue__start(r->q);
	wait_irq(r);
	assert_int_equal(collect(r), 1);
	virtio_dev__stop_threads(&r->blk.dev);
	assert_true(r->q->stats.wakes < 120); /* a broken queue sleeps */
	threaded_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_batch),
		cmocka_unit_test(test_mixed_batch),
		cmocka_unit_test(test_error_at_each_position),
		cmocka_unit_test(test_no_interrupt_wanted),
		cmocka_unit_test(test_batch_limit),
		cmocka_unit_test(test_signal_is_held),
		cmocka_unit_test(test_stop_in_flight),
		cmocka_unit_test(test_broken_behind_good),
		cmocka_unit_test(test_more_entries_than_heads),
		cmocka_unit_test(test_stress_event_idx),
		cmocka_unit_test(test_stress_flags),
		cmocka_unit_test(test_broken_then_reset),
	};

	alarm(HANG_LIMIT);
	return cmocka_run_group_tests_name("virtio-blk queue", tests, NULL, NULL);
}
