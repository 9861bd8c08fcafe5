/* SPDX-License-Identifier: GPL-2.0-only */
/* The worker pool: buffered files. */
#include <signal.h>
#include <sys/resource.h>

#include "disk_rig.h"

static int setup(void **state)
{
	int rc = rig__setup(state);

	if (!rc)
		((struct rig *)*state)->engine = DISK_ENGINE_THREADS;
	return rc;
}

static void set_fsize_limit(rlim_t bytes)
{
	struct rlimit lim;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &lim), 0);
	lim.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &lim), 0);
}

static void each_operation(void **state)
{
	struct rig *rig = *state;
	struct disk_queue *q = &rig->q[0];
	struct disk_req flush = {.op = DISK_FLUSH};
	char buf[5000];

	rig__make_file(rig, 1 << 20);
	rig__start(rig, false, 8);
	rig__fill(buf, 512, sizeof(buf));
	assert_int_equal(rig__io(q, DISK_WRITE, 512, buf, sizeof(buf)), 0);
	assert_int_equal(rig__run(q, &flush), 0);
	memset(buf, 0, sizeof(buf));
	assert_int_equal(rig__io(q, DISK_READ, 512, buf, sizeof(buf)), 0);
	rig__check(buf, 512, sizeof(buf));
	assert_int_equal(rig__file_size(rig), 1 << 20);
	assert_int_equal(q->stats.submits, 0);
	assert_int_equal(q->stats.bounced, 0);
}

static void many_in_flight(void **state)
{
	struct rig *rig = *state;

	rig__make_file(rig, 256 * 4096);
	rig__start(rig, false, 256);
	rig__many(rig, 256);
}

static void more_buffers_than_one_call_takes(void **state)
{
	struct rig *rig = *state;

	rig__make_file(rig, 2 << 20);
	rig__start(rig, false, 8);
	rig__vectors(rig);
	assert_int_equal(rig->q[0].stats.shorts, 0);
}

/* The file was cut after it was opened: a short read, then nothing. */
static void truncated_file(void **state)
{
	struct rig *rig = *state;
	char buf[4096];

	rig__make_file(rig, 65536);
	rig__start(rig, false, 8);
	assert_int_equal(truncate(rig->path, 6144), 0);
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, 4096, buf, 4096), -EIO);
	assert_int_equal(rig->q[0].stats.shorts, 1);
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, 8192, buf, 4096), -EIO);
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, 0, buf, 4096), 0);
}

/* A limit in the middle of a write: the first half goes through, the rest is EFBIG. */
static void short_write_then_error(void **state)
{
	struct rig *rig = *state;
	char buf[4096], got[4096] = {0};
	int rc;

	rig__make_file(rig, 65536);
	rig__start(rig, false, 8);
	rig__fill(buf, 4096, sizeof(buf));
	set_fsize_limit(6144);
	rc = rig__io(&rig->q[0], DISK_WRITE, 4096, buf, sizeof(buf));
	set_fsize_limit(RLIM_INFINITY);
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(rig->q[0].stats.shorts, 1);
	rig__pread(rig, 4096, got, sizeof(got));
	rig__check(got, 4096, 2048);
	assert_int_equal(got[2048] | got[4095], 0);
}

/* A bad buffer in the middle of a batch fails alone. */
static void one_of_a_batch_fails(void **state)
{
	struct rig *rig = *state;
	struct disk_queue *q = &rig->q[0];
	struct disk_req req[16];
	struct iovec iov[16];
	char buf[16][512] = {{0}};
	unsigned int i, n;

	rig__make_file(rig, 65536);
	rig__start(rig, false, 16);
	for (i = 0; i < 16; i++) {
		iov[i] = (struct iovec) {i == 7 ? NULL : buf[i], 512};
		req[i] = rig__req(DISK_READ, i * 512, &iov[i], 1);
		disk_queue__queue(q, &req[i]);
	}
	disk_queue__submit(q);
	for (n = 0; n < 16; n++) {
		const struct disk_req *r = rig__wait(q);

		assert_int_equal(r->res, r == &req[7] ? -EFAULT : 0);
	}
	assert_int_equal(q->in_flight, 0);
}

/* A worker may still be about to signal when the last request is reaped. */
static void queue_ends_with_its_last_request(void **state)
{
	struct rig *rig = *state;
	unsigned int i;
	char buf[512] = {0};

	rig__make_file(rig, 65536);
	assert_int_equal(rig__open_as(rig, false, false), 0);
	for (i = 0; i < 300; i++) {
		struct disk_queue *q = calloc(1, sizeof(*q));
		struct iovec iov = {buf, 512};
		struct disk_req req = rig__req(DISK_READ, 0, &iov, 1);
		int fd = eventfd(0, EFD_CLOEXEC);

		assert_int_equal(
			disk_queue__init(q, &rig->disk,
					 &(struct disk_queue_params) {.depth = 1, .wakefd = fd},
					 NULL),
			0);
		disk_queue__queue(q, &req);
		disk_queue__submit(q);
		while (!disk_queue__reap(q))
			;
		disk_queue__fini(q);
		close(fd);
		free(q);
	}
}

/* Workers go idle and are called again all the time: no request is left behind. */
static void two_queues_share_the_workers(void **state)
{
	enum {
		ROUNDS = 3000,
		DEPTH = 6
	};
	struct rig *rig = *state;
	struct disk_req req[2][DEPTH];
	struct iovec iov[2][DEPTH];
	unsigned int round, i, n, seed = 1;
	char buf[2][DEPTH][512];

	rig__make_file(rig, 65536);
	rig__start(rig, false, DEPTH);
	rig__add_queue(rig, DEPTH);
	for (round = 0; round < ROUNDS; round++) {
		for (n = 0; n < 2; n++) {
			unsigned int nr = 1 + rand_r(&seed) % DEPTH;

			for (i = 0; i < nr; i++) {
				iov[n][i] = (struct iovec) {buf[n][i], 512};
				req[n][i] = rig__req(DISK_READ, i * 512, &iov[n][i], 1);
				disk_queue__queue(&rig->q[n], &req[n][i]);
				if (rand_r(&seed) % 2)
					disk_queue__submit(&rig->q[n]);
			}
			disk_queue__submit(&rig->q[n]);
		}
		rig__drain(&rig->q[round % 2]);
		rig__drain(&rig->q[1 - round % 2]);
	}
}

static int posts(struct disk_pool *pool)
{
	int n;

	assert_int_equal(sem_getvalue(&pool->more, &n), 0);
	return n;
}

/*
 * Workers that have said that they are idle and are held up before they sleep,
 * as on a busy host: what wakes them has to wait for them.  Each wake is for one
 * of them, and nobody makes a worker while another is on its way.
 */
static void wakes_wait_for_slow_workers(void **state)
{
	struct rig *rig = *state;
	struct disk_req req[3];
	struct iovec iov[3];
	struct disk_pool *pool;
	char buf[3][512];
	unsigned int i;

	rig__make_file(rig, 65536);
	rig__start(rig, false, 3);
	rig__set_align(rig, 1); /* a pool without workers: the test plays them */
	pool = rig->disk.shared;
	pool->idle = 2;
	for (i = 0; i < 3; i++) {
		iov[i] = (struct iovec) {buf[i], 512};
		req[i] = rig__req(DISK_READ, i * 512, &iov[i], 1);
		disk_queue__queue(&rig->q[0], &req[i]);
		disk_queue__submit(&rig->q[0]);
		assert_int_equal(posts(pool), i < 2 ? i + 1 : 2);
		assert_int_equal(pool->nr, 0);
	}
	assert_int_equal(pool->idle, 0);
	assert_int_equal(pool->coming, 2);
	/* both arrive, as one real worker that finds all of the work */
	while (!sem_trywait(&pool->more))
		pool->coming--;
	assert_int_equal(disk_pool__prestart(pool), 0);
	rig__drain(&rig->q[0]);
	for (i = 0; i < 3; i++)
		assert_int_equal(req[i].res, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig__teardown)
	const struct CMUnitTest tests[] = {
		T(each_operation),
		T(many_in_flight),
		T(more_buffers_than_one_call_takes),
		T(truncated_file),
		T(short_write_then_error),
		T(one_of_a_batch_fails),
		T(queue_ends_with_its_last_request),
		T(two_queues_share_the_workers),
		T(wakes_wait_for_slow_workers),
	};

	return cmocka_run_group_tests_name("disk threads", tests, NULL, NULL);
}
