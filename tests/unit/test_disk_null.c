/* SPDX-License-Identifier: GPL-2.0-only */
/* The engine without storage. */
#include <time.h>

#include "disk_rig.h"

static int open_null(struct rig *rig, uint64_t size, uint64_t latency)
{
	struct disk_params params = {.path = "null",
				     .engine = DISK_ENGINE_NULL,
				     .null_size = size,
				     .null_latency = latency};

	return disk__open(&rig->disk, &params, &rig->err);
}

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void geometry(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(open_null(rig, 8ULL << 30, 0), 0);
	assert_int_equal(rig->disk.fd, -1);
	assert_int_equal(rig->disk.size, 8ULL << 30);
	assert_int_equal(rig->disk.geo.logical_block, 512);
	assert_int_equal(rig->disk.geo.physical_block, 4096);
	assert_int_equal(rig->disk.limits.discard_max, 0);
	assert_string_equal(rig->disk.engine->name, "null");
	assert_non_null(strstr(rig->disk.note, "null"));
}

static void refuses_odd_sizes(void **state)
{
	static const uint64_t bad[] = {0, 511, 513, 1ULL << 63};
	struct rig *rig = *state;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(open_null(rig, bad[i], 0), -EINVAL);
		assert_non_null(strstr(rig->err.msg, "'null'"));
		assert_null(rig->disk.path);
	}
}

/* Done by the time of the reap, without a system call, and the buffer stays as it is. */
static void at_once(void **state)
{
	struct rig *rig = *state;
	struct disk_queue *q = &rig->q[0];
	struct disk_req flush = {.op = DISK_FLUSH};
	char buf[512], other = 'x';

	assert_int_equal(open_null(rig, 1 << 20, 0), 0);
	rig__add_queue(rig, 4);
	memset(buf, other, sizeof(buf));
	assert_int_equal(rig__io(q, DISK_READ, 0, buf, 512), 0);
	assert_int_equal(rig__io(q, DISK_WRITE, 512, NULL, 512), 0);
	assert_int_equal(rig__run(q, &flush), 0);
	assert_int_equal(buf[0], other);
	assert_int_equal(buf[511], other);
	assert_int_equal(q->stats.submits + q->stats.syscalls + q->stats.waits, 0);
	/* what holds for any disk */
	assert_int_equal(rig__io(q, DISK_READ, 1 << 20, buf, 512), -EINVAL);
	assert_null(disk_queue__reap(q));
	assert_int_equal(q->in_flight, 0);
}

/* Somebody else's signal ends a wait, and the result says that there was one. */
static void wakes_for_others(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(open_null(rig, 1 << 20, 3600000000000), 0);
	rig__add_queue(rig, 4);
	assert_int_equal(eventfd_write(rig->q[0].wakefd, 3), 0);
	assert_int_equal(disk_queue__wait(&rig->q[0], -1), 3);
	assert_int_equal(disk_queue__wait(&rig->q[0], 0), 0);
	assert_int_equal(rig->q[0].stats.signals, 0);
}

/* In order, none before its time; a wait without a limit ends when the first is due. */
static void after_a_delay(void **state)
{
	enum {
		NR = 16,
		LATENCY = 2000000
	};
	struct rig *rig = *state;
	struct disk_queue *q = &rig->q[0];
	struct disk_req req[NR];
	struct iovec iov = {NULL, 512};
	int64_t submitted[2];
	unsigned int i;

	assert_int_equal(open_null(rig, 1 << 20, LATENCY), 0);
	rig__add_queue(rig, NR);
	for (i = 0; i < NR; i++) {
		req[i] = rig__req(DISK_READ, i * 512, &iov, 1);
		disk_queue__queue(q, &req[i]);
		if (i % (NR / 2) == NR / 2 - 1) {
			submitted[i / (NR / 2)] = now();
			disk_queue__submit(q);
		}
	}
	for (i = 0; i < NR; i++) {
		struct disk_req *r;

		while (!(r = disk_queue__reap(q)))
			assert_int_equal(disk_queue__wait(q, -1), 0);
		assert_ptr_equal(r, &req[i]);
		assert_int_equal(r->res, 0);
		assert_true(now() - submitted[i / (NR / 2)] >= LATENCY);
	}
	assert_null(disk_queue__reap(q));
	assert_false(disk_queue__ready(q));
}

/* What is not submitted never becomes due; the caller's own limit holds. */
static void staged_only(void **state)
{
	struct rig *rig = *state;
	struct disk_queue *q = &rig->q[0];
	struct iovec iov = {NULL, 512};
	struct disk_req req = rig__req(DISK_READ, 0, &iov, 1);
	int64_t start = now();

	assert_int_equal(open_null(rig, 1 << 20, 1), 0);
	rig__add_queue(rig, 1);
	disk_queue__queue(q, &req);
	assert_int_equal(disk_queue__wait(q, 3000000), 0);
	assert_true(now() - start >= 3000000);
	assert_null(disk_queue__reap(q));
	disk_queue__submit(q);
	while (!disk_queue__ready(q)) /* spinning sees it too */
		;
	assert_ptr_equal(disk_queue__reap(q), &req);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, rig__setup, rig__teardown)
	const struct CMUnitTest tests[] = {
		T(geometry),	     T(refuses_odd_sizes), T(at_once),
		T(wakes_for_others), T(after_a_delay),	   T(staged_only),
	};

	return cmocka_run_group_tests_name("disk null", tests, NULL, NULL);
}
