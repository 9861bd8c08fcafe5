// SPDX-License-Identifier: GPL-2.0-only
/*
 * virtio-blk over an engine with faults at every position of a batch, on one
 * queue and on eight with an I/O thread and a driver thread each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/unit/blk_many.h"

#include <cmocka.h> /* last: its fail() is a macro */

#define HANG_LIMIT 110 /* seconds for the whole program */
#define BATCH MANY_SLOTS
#define ROUNDS 200

struct fault_case {
	const char *kind; /* disk/fault.h */
	uint8_t status; /* what the guest sees */
	unsigned int shorts; /* continued transfers that are counted, each time */
};

static const struct fault_case cases[] = {
	{"eio", VIRTIO_BLK_S_IOERR, 0},
	{"enospc", VIRTIO_BLK_S_IOERR, 0},
	{"short", VIRTIO_BLK_S_OK, 1},
	{"eagain", VIRTIO_BLK_S_OK, 0},
};

static int up(struct blk_many *m, unsigned int queues, uint64_t latency, const char *fault)
{
	const struct disk_params disk = {
		.path = "null",
		.engine = DISK_ENGINE_NULL,
		.null_size = 1 << 20,
		.null_latency = latency,
		.fault = fault,
	};
	int ret = many__up(m, &disk, queues);

	if (ret)
		print_message("%s: %s\n", fault, m->err.msg);
	return ret;
}

/* Offer a whole batch, reads and writes in turn, and wait until it is back. */
static int exchange(struct blk_many *m, unsigned int queue)
{
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		many__request(m, queue, i, i % 2 ? VIRTIO_BLK_T_OUT : VIRTIO_BLK_T_IN, 2 * i);
	if (vqd__publish(&m->d[queue]))
		virtio_queue__wake(&m->blk.dev.queues[queue]);
	return many__collect(m, queue, BATCH);
}

static void check_sums(struct blk_many *m, unsigned int queue, uint64_t requests, uint64_t errors,
		       uint64_t shorts)
{
	struct virtio_blk_stats stats;

	virtio_blk__stats(&m->blk, queue, &stats);
	assert_int_equal(stats.queue.popped, requests);
	assert_int_equal(stats.queue.completed, requests);
	assert_int_equal(stats.queue.errors, errors);
	assert_int_equal(stats.disk.shorts, shorts);
	assert_int_equal(stats.requests[VIRTIO_BLK_READS] + stats.requests[VIRTIO_BLK_WRITES],
			 requests);
	/* what failed moved no bytes */
	assert_int_equal(stats.bytes_read + stats.bytes_written, (requests - errors) * 1024);
}

/* One request of each batch, wherever it is: the others do not notice. */
static void at_each_position(void **state)
{
	struct blk_many m;
	unsigned int c, at, i;
	char fault[32];

	(void)state;
	for (c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		for (at = 0; at < BATCH; at++) {
			snprintf(fault, sizeof(fault), "%s:%u/%u", cases[c].kind, at + 1, BATCH);
			/* at once, and with all of the batch under way */
			assert_int_equal(up(&m, 1, at % 2 ? 20000 : 0, fault), 0);
			assert_int_equal(exchange(&m, 0), 0);
			assert_int_equal(exchange(&m, 0), 0);
			for (i = 0; i < BATCH; i++)
				assert_int_equal(*many__status(&m, 0, i),
						 i == at ? cases[c].status : VIRTIO_BLK_S_OK);
			many__stop(&m);
			check_sums(&m, 0, 2 * BATCH, cases[c].status ? 2 : 0, 2 * cases[c].shorts);
			assert_int_equal(m.fails, 0);
			many__down(&m);
		}
	}
}

/* Every kind at once, every request but a few; and all of them. */
static void many_at_once(void **state)
{
	static const uint8_t want[] = {VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_IOERR, VIRTIO_BLK_S_OK,
				       VIRTIO_BLK_S_OK, VIRTIO_BLK_S_OK};
	struct blk_many m;
	unsigned int i, errors = 0;

	(void)state;
	assert_int_equal(up(&m, 1, 20000, "eio:1/5+enospc:2/5+short:3/5+eagain:4/5"), 0);
	assert_int_equal(exchange(&m, 0), 0);
	for (i = 0; i < BATCH; i++) {
		assert_int_equal(*many__status(&m, 0, i), want[i % 5]);
		errors += want[i % 5] != VIRTIO_BLK_S_OK;
	}
	many__stop(&m);
	check_sums(&m, 0, BATCH, errors, (BATCH + 2) / 5);
	many__down(&m);

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char fault[32];

		snprintf(fault, sizeof(fault), "%s:1", cases[i].kind);
		assert_int_equal(up(&m, 1, 0, fault), 0);
		assert_int_equal(exchange(&m, 0), 0);
		many__stop(&m);
		check_sums(&m, 0, BATCH, cases[i].status ? BATCH : 0, cases[i].shorts * BATCH);
		many__down(&m);
	}
}

/* ---- eight queues at a time ---- */

struct driver {
	struct blk_many *m;
	unsigned int queue, period;
	unsigned int wrong; /* requests whose status is not the expected one */
	unsigned int errors;
	int extra; /* requests that came back more than once */
};

/* Asserts nothing: it is not the test's thread. */
static void *drive(void *arg)
{
	struct driver *d = arg;
	unsigned int round, i, nth = 0;

	for (round = 0; round < ROUNDS; round++) {
		d->extra += exchange(d->m, d->queue);
		for (i = 0; i < BATCH; i++, nth++) {
			/* the rules below: the first and the second of each period fail */
			bool bad = nth % d->period < 2;

			d->errors += bad;
			d->wrong += *many__status(d->m, d->queue, i) !=
				    (bad ? VIRTIO_BLK_S_IOERR : VIRTIO_BLK_S_OK);
		}
	}
	return NULL;
}

static void eight(uint64_t latency, unsigned int period)
{
	struct driver d[MANY_QUEUES];
	pthread_t thread[MANY_QUEUES];
	struct blk_many m;
	char fault[80];
	unsigned int i;

	snprintf(fault, sizeof(fault), "eio:1/%u+enospc:2/%u+short:3/%u+eagain:4/%u", period,
		 period, period, period);
	assert_int_equal(up(&m, MANY_QUEUES, latency, fault), 0);
	for (i = 0; i < MANY_QUEUES; i++) {
		d[i] = (struct driver) {.m = &m, .queue = i, .period = period};
		assert_int_equal(pthread_create(&thread[i], NULL, drive, &d[i]), 0);
	}
	for (i = 0; i < MANY_QUEUES; i++)
		pthread_join(thread[i], NULL);
	many__stop(&m);
	for (i = 0; i < MANY_QUEUES; i++) {
		unsigned int total = ROUNDS * BATCH;

		assert_int_equal(d[i].wrong, 0);
		assert_int_equal(d[i].extra, 0);
		check_sums(&m, i, total, d[i].errors, (total + period - 3) / period);
	}
	assert_int_equal(m.fails, 0);
	many__down(&m);
}

/* Periods that share no factor with the batch: each position has its turn with each fault. */
static void eight_queues(void **state)
{
	(void)state;
	eight(0, 23);
	eight(20000, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_each_position),
		cmocka_unit_test(many_at_once),
		cmocka_unit_test(eight_queues),
	};

	alarm(HANG_LIMIT);
	return cmocka_run_group_tests_name("virtio-blk faults", tests, NULL, NULL);
}
