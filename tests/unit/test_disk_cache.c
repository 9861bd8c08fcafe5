/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the cache modes promise, as the system calls that reach the kernel:
 * a write that is durable carries RWF_DSYNC, or is followed by fdatasync where
 * the kernel does not know that flag.
 */
#include <libaio.h>
#include <sys/syscall.h>

#include "disk_rig.h"

static struct calls {
	unsigned int plain, dsync, fdatasync; /* pwritev, pwritev2, both kinds of flush */
	unsigned int aio_plain, aio_dsync, aio_refused;
	int no_dsync; /* the error of a kernel without the flag; 0: it has it */
} calls;

/* These stand before the library's. */
ssize_t pwritev(int fd, const struct iovec *iov, int nr, off_t pos)
{
	__atomic_fetch_add(&calls.plain, 1, __ATOMIC_RELAXED);
	return syscall(SYS_pwritev, fd, iov, nr, pos, 0);
}

ssize_t pwritev2(int fd, const struct iovec *iov, int nr, off_t pos, int flags)
{
	assert_int_equal(flags, RWF_DSYNC);
	if (calls.no_dsync) {
		errno = calls.no_dsync;
		return -1;
	}
	__atomic_fetch_add(&calls.dsync, 1, __ATOMIC_RELAXED);
	return syscall(SYS_pwritev2, fd, iov, nr, pos, 0, flags);
}

int fdatasync(int fd)
{
	__atomic_fetch_add(&calls.fdatasync, 1, __ATOMIC_RELAXED);
	return syscall(SYS_fdatasync, fd);
}

int io_submit(io_context_t ctx, long nr, struct iocb **ios)
{
	long i, rc;

	for (i = 0; i < nr; i++) {
		bool write = ios[i]->aio_lio_opcode == IO_CMD_PWRITE ||
			     ios[i]->aio_lio_opcode == IO_CMD_PWRITEV;

		if (ios[i]->aio_rw_flags == RWF_DSYNC && calls.no_dsync) {
			calls.aio_refused++;
			if (!i)
				return -calls.no_dsync;
			break;
		}
		calls.aio_plain += write && !ios[i]->aio_rw_flags;
		calls.aio_dsync += write && ios[i]->aio_rw_flags == RWF_DSYNC;
		calls.fdatasync += ios[i]->aio_lio_opcode == IO_CMD_FDSYNC;
	}
	rc = syscall(SYS_io_submit, ctx, i, ios);
	return rc < 0 ? -errno : rc;
}

static void start(struct rig *rig, enum disk_cache cache)
{
	int rc;

	rig__make_file(rig, 65536);
	/* whose system calls can be seen from here */
	rig->engine = cache == DISK_CACHE_NONE ? DISK_ENGINE_AIO : DISK_ENGINE_THREADS;
	rc = rig__open_mode(rig, cache, false);
	if (rc == -EINVAL && cache == DISK_CACHE_NONE)
		skip();
	if (rc)
		fail_msg("%s", rig->err.msg);
	rig__add_queue(rig, 8);
	calls = (struct calls) {.no_dsync = calls.no_dsync};
}

/* One write of a block at 4096, its data checked in the file. */
static void write_block(struct rig *rig, bool durable)
{
	char *buf = rig__alloc(4096);
	struct iovec iov = {buf, 4096};
	struct disk_req req = rig__req(DISK_WRITE, 4096, &iov, 1);

	req.durable = durable;
	rig__fill(buf, 4096, 4096);
	assert_int_equal(rig__run(&rig->q[0], &req), 0);
	rig__pread(rig, 4096, buf, 4096);
	rig__check(buf, 4096, 4096);
	free(buf);
}

static void flush(struct rig *rig)
{
	struct disk_req req = {.op = DISK_FLUSH};

	assert_int_equal(rig__run(&rig->q[0], &req), 0);
}

static void writeback(void **state)
{
	start(*state, DISK_CACHE_WRITEBACK);
	write_block(*state, false);
	assert_int_equal(calls.plain, 1);
	assert_int_equal(calls.dsync + calls.fdatasync, 0);
	write_block(*state, true);
	assert_int_equal(calls.plain, 1);
	assert_int_equal(calls.dsync, 1);
	flush(*state);
	assert_int_equal(calls.fdatasync, 1);
}

static void writethrough(void **state)
{
	start(*state, DISK_CACHE_WRITETHROUGH);
	write_block(*state, false);
	assert_int_equal(calls.dsync, 1);
	assert_int_equal(calls.plain, 0);
	flush(*state);
	assert_int_equal(calls.fdatasync, 1);
}

static void unsafe_reaches_no_device(void **state)
{
	struct rig *rig = *state;

	start(rig, DISK_CACHE_UNSAFE);
	write_block(rig, false);
	write_block(rig, true);
	flush(rig);
	assert_int_equal(calls.plain, 2);
	assert_int_equal(calls.dsync + calls.fdatasync, 0);
}

static void none(void **state)
{
	struct rig *rig = *state;

	start(rig, DISK_CACHE_NONE);
	assert_true(fcntl(rig->disk.fd, F_GETFL) & O_DIRECT);
	write_block(rig, false);
	assert_int_equal(calls.aio_plain, 1);
	write_block(rig, true);
	assert_int_equal(calls.aio_plain, 1);
	assert_int_equal(calls.aio_dsync, 1);
	flush(rig);
	assert_int_equal(calls.fdatasync, 1);
	assert_int_equal(calls.plain + calls.dsync, 0); /* the workers had nothing to do */
}

/* Through a copy and through a worker it is durable too. */
static void odd_requests_stay_durable(void **state)
{
	struct rig *rig = *state;
	char *buf = rig__alloc(8192);
	struct iovec iov = {buf + 1, 4096};
	struct disk_req req = rig__req(DISK_WRITE, 4096, &iov, 1);

	start(rig, DISK_CACHE_NONE);
	rig__set_align(rig, 4096);
	req.durable = true;
	assert_int_equal(rig__run(&rig->q[0], &req), 0);
	assert_int_equal(calls.aio_dsync, 1);

	iov = (struct iovec) {buf, 512};
	req = rig__req(DISK_WRITE, 512, &iov, 1);
	req.durable = true;
	assert_int_equal(rig__run(&rig->q[0], &req), 0);
	assert_int_equal(calls.dsync, 1);
	assert_int_equal(calls.plain + calls.aio_plain, 0);
	free(buf);
}

/* EINVAL, EOPNOTSUPP: write, then flush.  The kernel is asked once a queue. */
static void without_dsync(struct rig *rig, enum disk_cache cache, int code)
{
	calls.no_dsync = code;
	start(rig, cache);
	write_block(rig, true);
	write_block(rig, true);
	assert_int_equal(calls.plain, 2);
	assert_int_equal(calls.fdatasync, 2);
	assert_int_equal(calls.aio_refused, cache == DISK_CACHE_NONE);
	assert_int_equal(calls.dsync + calls.aio_dsync + calls.aio_plain, 0);
	rig__stop(rig);
}

static void kernel_without_dsync(void **state)
{
	without_dsync(*state, DISK_CACHE_WRITEBACK, EOPNOTSUPP);
	without_dsync(*state, DISK_CACHE_WRITETHROUGH, EINVAL);
	without_dsync(*state, DISK_CACHE_NONE, EINVAL);
	without_dsync(*state, DISK_CACHE_NONE, EOPNOTSUPP);
}

static int setup(void **state)
{
	calls = (struct calls) {0};
	return rig__setup(state);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig__teardown)
	const struct CMUnitTest tests[] = {
		T(writeback),
		T(writethrough),
		T(unsafe_reaches_no_device),
		T(none),
		T(odd_requests_stay_durable),
		T(kernel_without_dsync),
	};

	return cmocka_run_group_tests_name("disk cache modes", tests, NULL, NULL);
}
