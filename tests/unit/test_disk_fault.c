/* SPDX-License-Identifier: GPL-2.0-only */
/* Faults on purpose, on top of each engine. */
#include <pthread.h>

#include "disk_rig.h"

#define BLOCK 4096U
#define NR 8U /* requests of a batch */

static const enum disk_engine_kind engines[] = {DISK_ENGINE_NULL, DISK_ENGINE_AIO,
						DISK_ENGINE_THREADS, DISK_ENGINE_URING};

static int open_with(struct rig *rig, enum disk_engine_kind engine, const char *fault)
{
	struct disk_params params = {
		.path = rig->path, .engine = engine, .null_size = 1 << 20, .fault = fault};

	return disk__open(&rig->disk, &params, &rig->err);
}

/* False where this engine is not to be had here. */
static bool start(struct rig *rig, enum disk_engine_kind engine, const char *fault)
{
	int rc;

	rig__make_file(rig, 1 << 20);
	rc = open_with(rig, engine, fault);
	if (rc == -ENOSYS || rc == -EPERM || rc == -EAGAIN) {
		print_message("left out: %s\n", rig->err.msg);
		return false;
	}
	if (rc)
		fail_msg("%s", rig->err.msg);
	rig__add_queue(rig, NR);
	return true;
}

static void grammar(void **state)
{
	static const char *const good[] = {"eio:1", "enospc:2/8", "short:@3+eagain:4",
					   "eio:1+eio:1+eio:1+eio:1+eio:1+eio:1+eio:1+eio:1"};
	static const char *const bad[] = {
		"",	   "eio",     "eio:",
		"eio:0",   "eio:x",   "eio:3x",
		"eio:9/8", "eio:1/0", "eio:@0",
		"eio:@",   "eio:-1",  "eioo:1",
		"ei:1",	   "eio:1+",  "eio:1,eio",
		"+eio:1",  ":1",      "eio:99999999999999999999",
		"eio:1/",  "short 1", "eio:1+eio:1+eio:1+eio:1+eio:1+eio:1+eio:1+eio:1+eio:1"};
	struct rig *rig = *state;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(open_with(rig, DISK_ENGINE_NULL, good[i]), 0);
		assert_non_null(strstr(rig->disk.note, "faults"));
		disk__close(&rig->disk);
	}
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		if (open_with(rig, DISK_ENGINE_NULL, bad[i]) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
		assert_non_null(strstr(rig->err.msg, "eio:3"));
		assert_null(rig->disk.path);
	}
}

/* One batch of writes to all blocks, or reads of them, in two pieces each; results in @res. */
static void batch(struct disk_queue *q, enum disk_op op, char *buf, int *res)
{
	struct iovec iov[NR][2];
	struct disk_req req[NR];
	unsigned int i;

	for (i = 0; i < NR; i++) {
		char *p = buf + i * BLOCK;

		iov[i][0] = (struct iovec) {p, i % 2 ? 512 : 3072};
		iov[i][1] = (struct iovec) {p + iov[i][0].iov_len, BLOCK - iov[i][0].iov_len};
		req[i] = rig__req(op, i * BLOCK, iov[i], 2);
		disk_queue__queue(q, &req[i]);
	}
	disk_queue__submit(q);
	while (q->in_flight)
		rig__wait(q);
	for (i = 0; i < NR; i++) {
		res[i] = req[i].res;
		assert_ptr_equal(req[i].iov, iov[i]);
		assert_int_equal(req[i].nr_iov, 2);
		assert_int_equal(req[i].len, BLOCK);
	}
	assert_null(disk_queue__reap(q));
}

static void expect_only(const int *res, unsigned int at, int want)
{
	unsigned int i;

	for (i = 0; i < NR; i++)
		assert_int_equal(res[i], i == at ? want : 0);
}

/* A fault at each place of a batch: just that request, and just what it asked for. */
static void at_each_place(struct rig *rig, enum disk_engine_kind engine, const char *kind, int want)
{
	char *buf = rig__alloc(NR * BLOCK), *got = rig__alloc(NR * BLOCK);
	unsigned int at, i;
	int res[NR];
	char fault[32];

	for (at = 0; at < NR; at++) {
		snprintf(fault, sizeof(fault), "%s:@%u", kind, at + 1);
		if (!start(rig, engine, fault))
			break;
		rig__fill(buf, 0, NR * BLOCK);
		batch(&rig->q[0], DISK_WRITE, buf, res);
		expect_only(res, at, want);
		memset(got, 0, NR * BLOCK);
		rig__pread(rig, 0, got, NR * BLOCK);
		for (i = 0; i < NR && engine != DISK_ENGINE_NULL; i++) {
			if (i == at && want) /* nothing was written */
				assert_int_equal(got[i * BLOCK] | got[i * BLOCK + 1], 0);
			else
				rig__check(got + i * BLOCK, i * BLOCK, BLOCK);
		}
		rig__pwrite(rig, 0, buf, NR * BLOCK);
		memset(got, 0, NR * BLOCK);
		batch(&rig->q[0], DISK_READ, got, res);
		expect_only(res, at, want);
		for (i = 0; i < NR && engine != DISK_ENGINE_NULL; i++) {
			if (i != at || !want)
				rig__check(got + i * BLOCK, i * BLOCK, BLOCK);
		}
		rig__stop(rig);
	}
	free(buf);
	free(got);
}

static void on_all_engines(void **state, const char *kind, int want)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(engines); i++)
		at_each_place(*state, engines[i], kind, want);
}

static void eio(void **state)
{
	on_all_engines(state, "eio", -EIO);
}

static void enospc(void **state)
{
	on_all_engines(state, "enospc", -ENOSPC);
}

static void short_transfers(void **state)
{
	on_all_engines(state, "short", 0);
}

static void no_room(void **state)
{
	on_all_engines(state, "eagain", 0);
}

static void counted_over_batches(void **state)
{
	struct rig *rig = *state;
	char *buf = rig__alloc(NR * BLOCK);
	unsigned int i;
	int res[NR];

	assert_true(start(rig, DISK_ENGINE_NULL, "eio:3+enospc:1/4"));
	for (i = 0; i < 3 * NR; i++) { /* the rules by hand: the first that fits */
		unsigned int n = i + 1;
		int want = n % 3 == 0 ? -EIO : n % 4 == 1 ? -ENOSPC : 0;

		if (i % NR == 0)
			batch(&rig->q[0], DISK_READ, buf, res);
		assert_int_equal(res[i % NR], want);
	}
	free(buf);
}

/* Every request short or without room, a single block, a flush: all end, none is lost. */
static void everything(void **state)
{
	static const char *const faults[] = {"eagain:1", "short:1", "eagain:2+short:1"};
	struct rig *rig = *state;
	char *buf = rig__alloc(NR * BLOCK);
	unsigned int i, k, n;
	int res[NR];

	for (i = 0; i < ARRAY_SIZE(engines); i++) {
		for (k = 0; k < ARRAY_SIZE(faults); k++) {
			struct disk_req flush = {.op = DISK_FLUSH};

			if (!start(rig, engines[i], faults[k]))
				continue;
			for (n = 0; n < 20; n++) {
				batch(&rig->q[0], n % 2 ? DISK_READ : DISK_WRITE, buf, res);
				expect_only(res, NR, 0);
				assert_int_equal(rig__io(&rig->q[0], DISK_READ, 0, buf, 512), 0);
				assert_int_equal(rig__run(&rig->q[0], &flush), 0);
			}
			rig__stop(rig);
		}
	}
	free(buf);
}

/* ---- eight queues of one disk, a thread each ---- */

struct job {
	struct disk_queue q;
	pthread_t thread;
	unsigned int bad; /* requests that came back with the wrong result */
};

static void *job_run(void *arg)
{
	struct job *job = arg;
	char *buf = rig__alloc(NR * BLOCK);
	unsigned int n, i;
	int res[NR];

	disk_queue__attach(&job->q);
	for (n = 0; n < 50; n++) {
		batch(&job->q, n % 2 ? DISK_READ : DISK_WRITE, buf, res);
		for (i = 0; i < NR; i++)
			job->bad += res[i] != (i == 1 ? -EIO : i == 6 ? -ENOSPC : 0);
	}
	free(buf);
	return NULL;
}

static void eight_queues(void **state)
{
	struct rig *rig = *state;
	struct job *job = calloc(8, sizeof(*job));
	unsigned int e, i;

	for (e = 0; e < ARRAY_SIZE(engines); e++) {
		if (!start(rig, engines[e], "eio:@2+short:@3+eagain:@5+enospc:@7"))
			continue;
		for (i = 0; i < 8; i++) {
			struct disk_queue_params params = {.depth = NR,
							   .wakefd = eventfd(0, EFD_CLOEXEC)};

			job[i].bad = 0;
			if (disk_queue__init(&job[i].q, &rig->disk, &params, &rig->err))
				fail_msg("%s", rig->err.msg);
		}
		for (i = 0; i < 8; i++)
			assert_int_equal(pthread_create(&job[i].thread, NULL, job_run, &job[i]), 0);
		for (i = 0; i < 8; i++) {
			pthread_join(job[i].thread, NULL);
			assert_int_equal(job[i].bad, 0);
		}
		for (i = 0; i < 8; i++) {
			disk_queue__fini(&job[i].q);
			close(job[i].q.wakefd);
		}
		rig__stop(rig);
	}
	free(job);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, rig__setup, rig__teardown)
	const struct CMUnitTest tests[] = {
		T(grammar),	    T(eio),	     T(enospc),
		T(short_transfers), T(no_room),	     T(counted_over_batches),
		T(everything),	    T(eight_queues),
	};

	return cmocka_run_group_tests_name("disk fault", tests, NULL, NULL);
}
