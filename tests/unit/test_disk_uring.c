/* SPDX-License-Identifier: GPL-2.0-only */
/* The io_uring engine, with a submit that can be made to misbehave. */
#include "disk_rig.h"

#ifdef HAVE_LIBURING
#include <sys/mman.h>

#include "disk/uring.h"

static struct plan {
	unsigned int calls; /* counted here, to hold the engine's own count against */
	unsigned int refuse; /* that many calls refuse first ... */
	int refuse_code; /* ... with this */
	unsigned int take_max; /* accept no more in one call; 0: all */
	unsigned int shorten; /* let a transfer be no longer; 0: as it is */
	const struct disk_req *spoil; /* this one has a bad buffer */
	unsigned int fixed, fixed_files; /* requests seen that used what is registered */
	int durable; /* rw_flags of the last write seen */
} plan;

static bool is_single(const struct io_uring_sqe *sqe)
{
	return sqe->opcode == IORING_OP_READ || sqe->opcode == IORING_OP_WRITE ||
	       sqe->opcode == IORING_OP_READ_FIXED || sqe->opcode == IORING_OP_WRITE_FIXED;
}

static void look_at(struct io_uring_sqe *sqe)
{
	bool fixed = sqe->opcode == IORING_OP_READ_FIXED || sqe->opcode == IORING_OP_WRITE_FIXED;

	plan.fixed += fixed;
	plan.fixed_files += sqe->flags & IOSQE_FIXED_FILE ? 1 : 0;
	if (sqe->opcode == IORING_OP_WRITE || sqe->opcode == IORING_OP_WRITE_FIXED)
		plan.durable = sqe->rw_flags;
	if (plan.shorten && is_single(sqe) && sqe->len > plan.shorten)
		sqe->len = plan.shorten;
	if (plan.spoil && sqe->user_data == (uintptr_t)plan.spoil) {
		sqe->opcode = IORING_OP_READ;
		sqe->addr = 0;
	}
}

/* Stands before the library's. */
int io_uring_submit_and_get_events(struct io_uring *ring)
{
	struct io_uring_sq *sq = &ring->sq;
	unsigned int i, nr = sq->sqe_tail - *sq->khead;
	int rc;

	plan.calls++;
	if (plan.refuse) {
		plan.refuse--;
		return plan.refuse_code;
	}
	if (plan.take_max && nr > plan.take_max)
		nr = plan.take_max;
	for (i = 0; i < nr; i++) {
		unsigned int at = (*sq->khead + i) & *sq->kring_mask;

		look_at(&sq->sqes[at]);
		sq->array[at] = at;
	}
	__atomic_store_n(sq->ktail, *sq->khead + nr, __ATOMIC_RELEASE);
	sq->sqe_head = *sq->khead + nr;
	rc = io_uring_enter(ring->ring_fd, nr, 0, IORING_ENTER_GETEVENTS, NULL);
	return rc;
}

static int setup(void **state)
{
	int rc = rig__setup(state);

	plan = (struct plan) {0};
	if (!rc)
		((struct rig *)*state)->engine = DISK_ENGINE_URING;
	return rc;
}

static void start_as(struct rig *rig, bool direct, uint64_t size, unsigned int depth)
{
	int rc;

	rig__make_file(rig, size);
	rc = rig__open_as(rig, direct, false);
	if (rc == -EPERM || rc == -ENOSYS || (rc == -EINVAL && direct)) {
		print_message("skipped: %s\n", rig->err.msg);
		skip();
	}
	if (rc)
		fail_msg("%s", rig->err.msg);
	rig__add_queue(rig, depth);
	assert_string_equal(rig->q[0].engine->name, "uring");
}

static void start(struct rig *rig, uint64_t size, unsigned int depth)
{
	start_as(rig, true, size, depth);
}

static void each_operation_as(struct rig *rig, bool direct)
{
	struct disk_req flush = {.op = DISK_FLUSH};
	struct disk_queue *q = &rig->q[0];
	char *buf = rig__alloc(8192);

	start_as(rig, direct, 1 << 20, 8);
	rig__fill(buf, 4096, 8192);
	assert_int_equal(rig__io(q, DISK_WRITE, 4096, buf, 8192), 0);
	assert_int_equal(rig__run(q, &flush), 0);
	memset(buf, 0, 8192);
	assert_int_equal(rig__io(q, DISK_READ, 4096, buf, 8192), 0);
	rig__check(buf, 4096, 8192);
	assert_int_equal(rig__file_size(rig), 1 << 20);
	assert_int_equal(q->stats.submits, 3);
	assert_int_equal(q->stats.submitted, 3);
	assert_int_equal(q->stats.bounced, 0);
	assert_int_equal(plan.fixed_files, 3);
	rig__stop(rig);
	free(buf);
}

static void each_operation(void **state)
{
	each_operation_as(*state, false);
	plan = (struct plan) {0};
	each_operation_as(*state, true);
}

static void many_in_flight_one_submit(void **state)
{
	struct rig *rig = *state;

	start(rig, 100 * 4096, 100);
	rig__many(rig, 100);
	assert_int_equal(rig->q[0].stats.submits, 2);
	assert_int_equal(rig->q[0].stats.submitted, 200);
	assert_int_equal(plan.calls, 2);
}

/* More requests than the submission ring has entries. */
static void deeper_than_the_ring(void **state)
{
	struct rig *rig = *state;

	start_as(rig, false, 1024 * 4096, 1024);
	rig__many(rig, 1024);
	assert_int_equal(rig->q[0].stats.submitted, 2048);
	assert_int_equal(rig->q[0].stats.submits, plan.calls);
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
	struct disk_queue *q = &rig->q[0];
	char *buf = rig__alloc(8192);
	unsigned int i;

	start(rig, 65536, 8);
	for (i = 0; i < 2; i++) {
		iov[i] = (struct iovec) {buf + i * 4096, 4096};
		req[i] = rig__req(DISK_READ, i * 4096, &iov[i], 1);
		disk_queue__queue(q, &req[i]);
		plan.refuse = i;
		plan.refuse_code = -EBUSY;
		disk_queue__submit(q);
	}
	assert_int_equal(plan.calls, 2); /* it did not spin */
	assert_int_equal(q->stats.submitted, 1);
	rig__drain(q);
	assert_int_equal(req[0].res | req[1].res, 0);
	assert_int_equal(q->stats.submitted, 2);
	free(buf);
}

/* No room with nothing in flight: a few tries, then an error; the ring goes on to work. */
static void no_room_ever(void **state)
{
	struct rig *rig = *state;
	char *buf = rig__alloc(4096);

	start(rig, 65536, 8);
	plan.refuse = 3;
	plan.refuse_code = -EAGAIN;
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, 0, buf, 4096), 0);
	assert_int_equal(plan.calls, 4);
	plan.refuse = 1000000;
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, 0, buf, 4096), -EAGAIN);
	assert_in_range(plan.calls, 5, 100);
	plan.refuse = 1;
	plan.refuse_code = -EPERM; /* at once */
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, 0, buf, 4096), -EPERM);
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, 0, buf, 4096), 0);
	rig__many(rig, 8);
	free(buf);
}

/* At each position of a batch one has a bad buffer, and fails alone. */
static void one_of_a_batch_fails(void **state)
{
	struct rig *rig = *state;
	struct disk_queue *q = &rig->q[0];
	char *buf = rig__alloc(16 * 4096);
	struct disk_req req[16];
	struct iovec iov[16];
	unsigned int bad, i;

	start(rig, 16 * 4096, 16);
	rig__many(rig, 16);
	for (bad = 0; bad < 16; bad++) {
		for (i = 0; i < 16; i++) {
			iov[i] = (struct iovec) {buf + i * 4096, 4096};
			req[i] = rig__req(DISK_READ, i * 4096, &iov[i], 1);
			disk_queue__queue(q, &req[i]);
		}
		plan.spoil = &req[bad];
		disk_queue__submit(q);
		for (i = 0; i < 16; i++) {
			const struct disk_req *r = rig__wait(q);

			assert_int_equal(r->res, r == &req[bad] ? -EFAULT : 0);
		}
	}
	assert_int_equal(q->in_flight, 0);
	free(buf);
}

static void short_transfers_go_on(void **state)
{
	struct rig *rig = *state;
	struct disk_queue *q = &rig->q[0];
	char *buf = rig__alloc(20480);

	plan.shorten = 4096;
	start(rig, 65536, 8);
	rig__fill(buf, 8192, 16384);
	assert_int_equal(rig__io(q, DISK_WRITE, 8192, buf, 16384), 0);
	assert_int_equal(q->stats.shorts, 3);
	memset(buf, 0, 16384);
	assert_int_equal(rig__io(q, DISK_READ, 8192, buf, 16384), 0);
	rig__check(buf, 8192, 16384);
	assert_int_equal(q->stats.shorts, 6);
	rig__set_align(rig, 512); /* the same through a copy */
	rig__fill(buf + 1, 8192, 16384);
	assert_int_equal(rig__io(q, DISK_WRITE, 8192, buf + 1, 16384), 0);
	memset(buf, 0, 16385);
	assert_int_equal(rig__io(q, DISK_READ, 8192, buf + 3, 16384), 0);
	rig__check(buf + 3, 8192, 16384);
	assert_int_equal(q->stats.bounced, 2);
	assert_int_equal(q->stats.shorts, 12);
	free(buf);
}

static void durable_write(void **state)
{
	struct rig *rig = *state;
	char *buf = rig__alloc(4096);
	struct iovec iov = {buf, 4096};
	struct disk_req req = rig__req(DISK_WRITE, 0, &iov, 1);

	start_as(rig, false, 65536, 8);
	assert_int_equal(rig__io(&rig->q[0], DISK_WRITE, 0, buf, 4096), 0);
	assert_int_equal(plan.durable, 0);
	req.durable = true;
	assert_int_equal(rig__run(&rig->q[0], &req), 0);
	assert_int_equal(plan.durable, RWF_DSYNC);
	free(buf);
}

/*
 * Registered memory: used where a request is one piece inside it; what crosses
 * a border of 1 GiB, the kernel's limit, or lies elsewhere goes the other way.
 */
static void registered_memory(void **state)
{
	enum {
		HALF = 8 << 20
	};
	struct rig *rig = *state;
	struct disk_queue *q = &rig->q[0];
	size_t len = 2 * HALF;
	char *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec region[2] = {{mem, HALF}, {mem + HALF, HALF}};
	char *other = rig__alloc(4096);
	struct iovec two[2] = {{mem, 4096}, {mem + 8192, 4096}};
	struct disk_req req;

	assert_ptr_not_equal(mem, MAP_FAILED);
	rig->mem = region;
	rig->nr_mem = 2;
	start(rig, 65536, 8);
	if (!((struct uring_queue *)q->priv)->nr_bufs) {
		print_message("skipped: the host does not let us register memory\n");
		skip();
	}
	rig__fill(mem + HALF + 4096, 0, 8192);
	assert_int_equal(rig__io(q, DISK_WRITE, 0, mem + HALF + 4096, 8192), 0);
	assert_int_equal(plan.fixed, 1);
	assert_int_equal(rig__io(q, DISK_READ, 0, mem, 8192), 0);
	assert_int_equal(plan.fixed, 2);
	rig__check(mem, 0, 8192);
	assert_int_equal(rig__io(q, DISK_READ, 0, mem + HALF - 4096, 8192), 0);
	assert_int_equal(plan.fixed, 2);
	rig__check(mem + HALF - 4096, 0, 8192);
	assert_int_equal(rig__io(q, DISK_READ, 4096, other, 4096), 0);
	assert_int_equal(plan.fixed, 2);
	rig__check(other, 4096, 4096);
	req = rig__req(DISK_READ, 0, two, 2);
	assert_int_equal(rig__run(q, &req), 0);
	assert_int_equal(plan.fixed, 2);
	rig__stop(rig);
	munmap(mem, len);
	free(other);
}

/*
 * A host of which O_DIRECT takes buffers at any 4 bytes, as virtio-blk's driver
 * does, and Linux before 6.18: of registered memory it wants whole blocks in each
 * page (iov_iter_aligned_bvec), so a block that straddles two goes the other way.
 */
static void registered_memory_at_odd_addresses(void **state)
{
	static const struct {
		unsigned int at, fixed;
	} cases[] = {{0, 2}, {4, 0}, {508, 0}, {512, 2}, {2048 + 4, 0}, {3584, 2}, {4092, 0}};
	struct rig *rig = *state;
	struct disk_queue *q = &rig->q[0];
	char *mem = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec region = {mem, 65536};
	unsigned int i;

	assert_ptr_not_equal(mem, MAP_FAILED);
	rig->mem = &region;
	rig->nr_mem = 1;
	start(rig, 65536, 8);
	if (!((struct uring_queue *)q->priv)->nr_bufs) {
		print_message("skipped: the host does not let us register memory\n");
		skip();
	}
	/* whatever this host wants: the file takes any address now, the engine knows of 4 */
	assert_int_equal(fcntl(rig->disk.fd, F_SETFL, 0), 0);
	rig->disk.geo.mem_align = 4;
	rig->disk.geo.offset_align = 512;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		char *p = mem + cases[i].at;

		plan.fixed = 0;
		rig__fill(p, i * 4096, 4096);
		assert_int_equal(rig__io(q, DISK_WRITE, i * 4096, p, 4096), 0);
		memset(p, 0, 4096);
		assert_int_equal(rig__io(q, DISK_READ, i * 4096, p, 4096), 0);
		rig__check(p, i * 4096, 4096);
		assert_int_equal(plan.fixed, cases[i].fixed);
		assert_int_equal(q->stats.bounced, 0);
	}
	rig__stop(rig);
	munmap(mem, 65536);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig__teardown)
	const struct CMUnitTest tests[] = {
		T(each_operation),
		T(many_in_flight_one_submit),
		T(deeper_than_the_ring),
		T(partial_acceptance),
		T(no_room_then_completion),
		T(no_room_ever),
		T(one_of_a_batch_fails),
		T(short_transfers_go_on),
		T(durable_write),
		T(registered_memory),
		T(registered_memory_at_odd_addresses),
	};

	return cmocka_run_group_tests_name("disk uring", tests, NULL, NULL);
}

#else

int main(void)
{
	print_message("skipped: built without liburing\n");
	return 0;
}

#endif
