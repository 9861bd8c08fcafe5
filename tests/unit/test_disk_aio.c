/* SPDX-License-Identifier: GPL-2.0-only */
/* The aio engine, with an io_submit and an io_setup that can be made to misbehave. */
#include <libaio.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "disk_rig.h"

static struct plan {
	unsigned int calls; /* counted here, to hold the engine's own count against */
	unsigned int eagain; /* that many calls say EAGAIN first */
	unsigned int take_max; /* accept no more in one call; 0: all */
	unsigned int shorten; /* let a transfer be no longer; 0: as it is */
	const struct disk_req *refuse; /* this one is not accepted ... */
	int refuse_code;
	const struct disk_req *spoil; /* this one ends with EFAULT */
	bool no_fsync; /* as kernels before 4.18 */
	bool odd_ring; /* a completion ring of another layout */
} plan;

static int refusal(const struct iocb *cb)
{
	if (plan.no_fsync && cb->aio_lio_opcode == IO_CMD_FDSYNC)
		return -EINVAL;
	return cb->data == plan.refuse ? plan.refuse_code : 0;
}

/* Stands before the library's. */
int io_submit(io_context_t ctx, long nr, struct iocb **ios)
{
	long i, rc;

	plan.calls++;
	if (plan.eagain) {
		plan.eagain--;
		return -EAGAIN;
	}
	if (plan.take_max && nr > plan.take_max)
		nr = plan.take_max;
	for (i = 0; i < nr; i++) {
		rc = refusal(ios[i]);
		if (rc && !i)
			return rc;
		if (rc)
			break;
		if (plan.spoil && ios[i]->data == plan.spoil)
			ios[i]->u.c.buf = NULL;
		if (plan.shorten && ios[i]->aio_lio_opcode <= IO_CMD_PWRITE &&
		    ios[i]->u.c.nbytes > plan.shorten)
			ios[i]->u.c.nbytes = plan.shorten;
	}
	rc = syscall(SYS_io_submit, ctx, i, ios);
	return rc < 0 ? -errno : rc;
}

int io_setup(int nr, io_context_t *ctx)
{
	if (syscall(SYS_io_setup, nr, ctx))
		return -errno;
	if (plan.odd_ring)
		((uint32_t *)*ctx)[6] = 1; /* incompat_features */
	return 0;
}

static int setup(void **state)
{
	plan = (struct plan) {0};
	return rig__setup(state);
}

static void start(struct rig *rig, uint64_t size, unsigned int depth)
{
	rig__make_file(rig, size);
	rig__start(rig, true, depth);
}

static void each_operation(void **state)
{
	struct rig *rig = *state;
	struct disk_queue *q;
	struct disk_req flush = {.op = DISK_FLUSH};
	char *buf = rig__alloc(8192);

	start(rig, 1 << 20, 8);
	q = &rig->q[0];
	rig__fill(buf, 4096, 8192);
	assert_int_equal(rig__io(q, DISK_WRITE, 4096, buf, 8192), 0);
	assert_int_equal(rig__run(q, &flush), 0);
	memset(buf, 0, 8192);
	assert_int_equal(rig__io(q, DISK_READ, 4096, buf, 8192), 0);
	rig__check(buf, 4096, 8192);
	assert_int_equal(rig__file_size(rig), 1 << 20);
	assert_int_equal(q->stats.submits, 3);
	assert_int_equal(q->stats.submitted, 3);
	assert_int_equal(q->stats.syscalls, 0);
	assert_int_equal(q->stats.bounced, 0);
	free(buf);
}

static void many_in_flight_one_submit(void **state)
{
	struct rig *rig = *state;

	start(rig, 256 * 4096, 256);
	rig__many(rig, 256);
	assert_int_equal(plan.calls, 2);
	assert_int_equal(rig->q[0].stats.submits, 2);
	assert_int_equal(rig->q[0].stats.submitted, 512);
	assert_int_equal(rig->q[0].stats.syscalls, 0);
}

static void unknown_ring_layout(void **state)
{
	struct rig *rig = *state;

	plan.odd_ring = true;
	start(rig, 256 * 4096, 256);
	rig__many(rig, 256);
	assert_true(rig->q[0].stats.syscalls > 0);
}

static void partial_acceptance(void **state)
{
	struct rig *rig = *state;

	plan.take_max = 3;
	start(rig, 100 * 4096, 100);
	rig__many(rig, 100);
	assert_int_equal(rig->q[0].stats.submits, plan.calls);
	assert_int_equal(rig->q[0].stats.submitted, 200);
}

/* No room with requests in flight: the rest goes with the next completion, without a submit. */
static void no_room_then_completion(void **state)
{
	struct rig *rig = *state;
	struct disk_req req[2];
	struct iovec iov[2];
	struct disk_queue *q;
	char *buf = rig__alloc(8192);
	unsigned int i;

	start(rig, 65536, 8);
	q = &rig->q[0];
	for (i = 0; i < 2; i++) {
		iov[i] = (struct iovec) {buf + i * 4096, 4096};
		req[i] = rig__req(DISK_READ, i * 4096, &iov[i], 1);
		disk_queue__queue(q, &req[i]);
		plan.eagain = i;
		disk_queue__submit(q);
	}
	assert_int_equal(plan.calls, 2); /* it did not spin */
	assert_int_equal(q->stats.submitted, 1);
	rig__drain(q);
	assert_int_equal(req[0].res | req[1].res, 0);
	assert_int_equal(plan.calls, 3);
	free(buf);
}

/* No room with nothing in flight: a few tries, then an error that can be waited for. */
static void no_room_ever(void **state)
{
	struct rig *rig = *state;
	char *buf = rig__alloc(4096);

	start(rig, 65536, 8);
	plan.eagain = 3;
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, 0, buf, 4096), 0);
	assert_int_equal(plan.calls, 4);
	plan.eagain = 1000000;
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, 0, buf, 4096), -EAGAIN);
	assert_in_range(plan.calls, 5, 100);
	plan.eagain = 0;
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, 0, buf, 4096), 0);
	free(buf);
}

/* What fails inside submit is there for the reap that follows, and a wait would not sleep. */
static void failed_submit_shows(void **state)
{
	struct rig *rig = *state;
	char *buf = rig__alloc(4096);
	struct iovec iov = {buf, 4096};
	struct disk_req req = rig__req(DISK_READ, 0, &iov, 1);

	start(rig, 65536, 8);
	plan.refuse = &req;
	plan.refuse_code = -EIO;
	disk_queue__queue(&rig->q[0], &req);
	assert_false(disk_queue__ready(&rig->q[0]));
	disk_queue__submit(&rig->q[0]);
	assert_true(disk_queue__ready(&rig->q[0]));
	assert_int_equal(disk_queue__wait(&rig->q[0], -1), 0);
	assert_ptr_equal(disk_queue__reap(&rig->q[0]), &req);
	assert_int_equal(req.res, -EIO);
	free(buf);
}

/* At each position of a batch one fails, on the way in or on the way out, and it alone. */
static void one_of_a_batch(struct rig *rig, unsigned int bad, bool on_submit)
{
	struct disk_queue *q = &rig->q[0];
	char *buf = rig__alloc(16 * 4096);
	struct disk_req req[16];
	struct iovec iov[16];
	unsigned int i;

	for (i = 0; i < 16; i++) {
		iov[i] = (struct iovec) {buf + i * 4096, 4096};
		req[i] = rig__req(DISK_READ, i * 4096, &iov[i], 1);
		disk_queue__queue(q, &req[i]);
	}
	plan.refuse = on_submit ? &req[bad] : NULL;
	plan.refuse_code = -ENOSPC;
	plan.spoil = on_submit ? NULL : &req[bad];
	disk_queue__submit(q);
	for (i = 0; i < 16; i++) {
		const struct disk_req *r = rig__wait(q);
		int want = on_submit ? -ENOSPC : -EFAULT;

		assert_int_equal(r->res, r == &req[bad] ? want : 0);
	}
	assert_int_equal(q->in_flight, 0);
	assert_int_equal(q->stats.submits, plan.calls);
	free(buf);
}

static void one_of_a_batch_fails(void **state)
{
	struct rig *rig = *state;
	unsigned int i;

	start(rig, 16 * 4096, 16);
	for (i = 0; i < 16; i++) {
		one_of_a_batch(rig, i, true);
		one_of_a_batch(rig, i, false);
	}
}

static void short_transfers_go_on(void **state)
{
	struct rig *rig = *state;
	char *buf = rig__alloc(20480);
	struct disk_queue *q;

	plan.shorten = 4096;
	start(rig, 65536, 8);
	q = &rig->q[0];
	rig__fill(buf, 8192, 16384);
	assert_int_equal(rig__io(q, DISK_WRITE, 8192, buf, 16384), 0);
	assert_int_equal(q->stats.shorts, 3);
	memset(buf, 0, 16384);
	assert_int_equal(rig__io(q, DISK_READ, 8192, buf, 16384), 0);
	rig__check(buf, 8192, 16384);
	assert_int_equal(q->stats.shorts, 6);
	/* the same through a copy */
	rig__set_align(rig, 512);
	rig__fill(buf + 1, 8192, 16384);
	assert_int_equal(rig__io(q, DISK_WRITE, 8192, buf + 1, 16384), 0);
	memset(buf, 0, 16385);
	assert_int_equal(rig__io(q, DISK_READ, 8192, buf + 3, 16384), 0);
	rig__check(buf + 3, 8192, 16384);
	assert_int_equal(q->stats.bounced, 2);
	assert_int_equal(q->stats.shorts, 12);
	free(buf);
}

static void write_limit(void **state)
{
	struct rig *rig = *state;
	char *buf = rig__alloc(8192);
	struct rlimit lim;
	int rc;

	start(rig, 65536, 8);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &lim), 0);
	lim.rlim_cur = 8192;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &lim), 0);
	rc = rig__io(&rig->q[0], DISK_WRITE, 4096, buf, 8192);
	lim.rlim_cur = lim.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &lim), 0);
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(rig->q[0].stats.shorts, 1);
	free(buf);
}

static void flush_where_aio_has_none(void **state)
{
	struct rig *rig = *state;
	struct disk_req flush = {.op = DISK_FLUSH};

	plan.no_fsync = true;
	start(rig, 65536, 8);
	assert_int_equal(rig__run(&rig->q[0], &flush), 0);
	assert_int_equal(rig->q[0].stats.submitted, 0);
	/* no silent success: where fdatasync fails too, so does the flush */
	close(rig->disk.fd);
	rig->disk.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_int_equal(rig__run(&rig->q[0], &flush), -EINVAL);
}

/* More than the host has left: the message names the limit. */
static void aio_limit(void **state)
{
	struct rig *rig = *state;
	unsigned long max = 0;
	int rc;
	FILE *f = fopen("/proc/sys/fs/aio-max-nr", "r");

	if (!f || fscanf(f, "%lu", &max) != 1)
		skip();
	fclose(f);
	if (max >= 1 << 24)
		skip();
	start(rig, 65536, 1);
	rig->disk.wanted = DISK_ENGINE_AIO; /* auto would go on without */
	rc = disk_queue__init(
		&rig->q[1], &rig->disk,
		&(struct disk_queue_params) {.depth = max + 1, .wakefd = rig->q[0].wakefd},
		&rig->err);
	assert_int_equal(rc, -EAGAIN);
	assert_non_null(strstr(rig->err.msg, "fs.aio-max-nr"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig__teardown)
	const struct CMUnitTest tests[] = {
		T(each_operation),	T(many_in_flight_one_submit), T(unknown_ring_layout),
		T(partial_acceptance),	T(no_room_then_completion),   T(no_room_ever),
		T(failed_submit_shows), T(one_of_a_batch_fails),      T(short_transfers_go_on),
		T(write_limit),		T(flush_where_aio_has_none),  T(aio_limit),
	};

	return cmocka_run_group_tests_name("disk aio", tests, NULL, NULL);
}
