/* SPDX-License-Identifier: GPL-2.0-only */
/* Discard and write zeroes on files, with a fallocate that can be made to refuse. */
#include <linux/falloc.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "disk_rig.h"

#define SIZE (1U << 20)
#define PUNCH FALLOC_FL_PUNCH_HOLE
#define ZERO FALLOC_FL_ZERO_RANGE

static struct plan {
	int refuse; /* modes that this file system does not have */
	int code; /* with this error */
	unsigned int punches, zeroes, refused, flushes, dsyncs;
} plan;

/* These stand before the library's. */
int fallocate(int fd, int mode, off_t offset, off_t len)
{
	assert_true(mode & FALLOC_FL_KEEP_SIZE);
	if (mode & plan.refuse) {
		plan.refused++;
		errno = plan.code;
		return -1;
	}
	plan.punches += !!(mode & PUNCH);
	plan.zeroes += !!(mode & ZERO);
	return syscall(SYS_fallocate, fd, mode, offset, len);
}

int fdatasync(int fd)
{
	plan.flushes++;
	return syscall(SYS_fdatasync, fd);
}

ssize_t pwritev2(int fd, const struct iovec *iov, int nr, off_t pos, int flags)
{
	plan.dsyncs += flags == RWF_DSYNC;
	return syscall(SYS_pwritev2, fd, iov, nr, pos, 0, flags);
}

static void refuse(int modes)
{
	plan = (struct plan) {.refuse = modes, .code = EOPNOTSUPP};
}

static uint64_t allocated(struct rig *rig)
{
	struct stat st;

	assert_int_equal(stat(rig->path, &st), 0);
	return st.st_blocks * 512ULL;
}

/* A file that is all data, on the disk. */
static void start_sized(struct rig *rig, uint64_t size, bool direct)
{
	char *buf = rig__alloc(size);
	int fd;

	rig__make_file(rig, size);
	rig__fill(buf, 0, size);
	rig__pwrite(rig, 0, buf, size);
	free(buf);
	fd = open(rig->path, O_RDWR | O_CLOEXEC);
	assert_int_equal(fsync(fd), 0);
	close(fd);
	rig__start(rig, direct, 8);
}

static int run(struct rig *rig, enum disk_op op, uint64_t offset, uint64_t len, bool unmap)
{
	struct disk_req req = {.op = op, .offset = offset, .len = len, .unmap = unmap};

	return rig__run(&rig->q[0], &req);
}

/* [offset, offset + len) reads as zeroes through the disk and in the file, the rest as filled. */
static void check_zeroes(struct rig *rig, uint64_t size, uint64_t offset, uint64_t len)
{
	char *want = rig__alloc(size), *got = rig__alloc(size);
	uint64_t head = rig->disk.size;

	rig__fill(want, 0, size);
	memset(want + offset, 0, len);
	rig__pread(rig, 0, got, size);
	assert_memory_equal(got, want, size);
	memset(got, 0xee, size);
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, 0, got, head), 0);
	assert_memory_equal(got, want, head);
	assert_int_equal(rig__file_size(rig), size);
	free(want);
	free(got);
}

static void what_is_offered(void **state)
{
	struct rig *rig = *state;
	struct disk_params null = {.path = "null", .engine = DISK_ENGINE_NULL, .null_size = SIZE};
	struct stat before, after;

	rig__make_file(rig, SIZE);
	assert_int_equal(stat(rig->path, &before), 0);
	assert_int_equal(rig__open_as(rig, false, false), 0);
	assert_int_equal(rig->disk.limits.discard_max % rig->disk.limits.discard_align, 0);
	assert_true(rig->disk.limits.discard_max >= SIZE);
	assert_int_equal(rig->disk.limits.discard_align, rig->disk.geo.physical_block);
	assert_true(rig->disk.limits.zeroes_max >= SIZE);
	assert_true(rig->disk.limits.zeroes_unmap);
	assert_int_equal(stat(rig->path, &after), 0);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec); /* just by asking */
	assert_int_equal(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
	disk__close(&rig->disk);

	assert_int_equal(rig__open_as(rig, false, true), 0);
	assert_int_equal(rig->disk.limits.discard_max + rig->disk.limits.zeroes_max, 0);
	rig__add_queue(rig, 1);
	assert_int_equal(run(rig, DISK_DISCARD, 0, 512, false), -EROFS);
	assert_int_equal(run(rig, DISK_WRITE_ZEROES, 0, 512, false), -EROFS);
	rig__stop(rig);

	assert_int_equal(disk__open(&rig->disk, &null, &rig->err), 0);
	assert_int_equal(rig->disk.limits.discard_max + rig->disk.limits.zeroes_max, 0);
	rig__add_queue(rig, 1);
	assert_int_equal(run(rig, DISK_DISCARD, 0, 512, false), -EOPNOTSUPP);
}

static void discard_frees_the_space(void **state)
{
	struct rig *rig = *state;
	uint64_t before;

	start_sized(rig, SIZE, false);
	before = allocated(rig);
	assert_int_equal(run(rig, DISK_DISCARD, 65536, 65536 * 8, false), 0);
	if (!plan.punches || allocated(rig) == before)
		skip(); /* a file system without holes */
	assert_int_equal(before - allocated(rig), 65536 * 8);
	check_zeroes(rig, SIZE, 65536, 65536 * 8);
	assert_int_equal(run(rig, DISK_DISCARD, SIZE - 512, 1024, false), -EINVAL);
	assert_int_equal(plan.flushes, 0);
}

/* 5.2.6.2: unmap set may free the space, unmap clear leaves it allocated. */
static void zeroes_with_and_without_unmap(void **state)
{
	struct rig *rig = *state;
	uint64_t before;

	start_sized(rig, SIZE, false);
	before = allocated(rig);
	assert_int_equal(run(rig, DISK_WRITE_ZEROES, 65536, 65536, false), 0);
	check_zeroes(rig, SIZE, 65536, 65536);
	assert_int_equal(plan.punches, 0);
	assert_true(allocated(rig) >= before);
	assert_int_equal(run(rig, DISK_WRITE_ZEROES, 65536, 65536, true), 0);
	check_zeroes(rig, SIZE, 65536, 65536);
	assert_int_equal(plan.punches + plan.refused, 1);
	if (plan.punches)
		assert_true(allocated(rig) < before);
	/* what was a hole is allocated again */
	assert_int_equal(run(rig, DISK_WRITE_ZEROES, 65536, 65536, false), 0);
	check_zeroes(rig, SIZE, 65536, 65536);
	assert_true(allocated(rig) >= before);
}

/* Sectors that share blocks with others, the end of the file, each way to do it. */
static void odd_ranges(struct rig *rig, bool direct, unsigned int align)
{
	static const int modes[] = {0, PUNCH, ZERO, PUNCH | ZERO};
	static const struct {
		uint64_t offset, len;
	} t[] = {
		{0, 512},
		{512, 512},
		{3584, 1024},
		{4096, 4096},
		{512, 600 * 512},
		{65536, 300 * 1024},
		{SIZE - 512, 512}, /* to the end of the disk: the tail behind it stays */
		{SIZE - 4096 - 512, 4096 + 512},
		{262144 - 512, 262144 + 1024}, /* several pieces */
	};
	const uint64_t size = SIZE + 277;
	unsigned int m, i, unmap;

	for (m = 0; m < ARRAY_SIZE(modes); m++) {
		for (i = 0; i < ARRAY_SIZE(t); i++) {
			unmap = i % 2;
			refuse(modes[m]);
			start_sized(rig, size, direct);
			if (align)
				rig__set_align(rig, align);
			assert_int_equal(rig->disk.tail, 277);
			assert_int_equal(run(rig, DISK_WRITE_ZEROES, t[i].offset, t[i].len, unmap),
					 0);
			check_zeroes(rig, size, t[i].offset, t[i].len);
			rig__stop(rig);
		}
	}
}

static void odd_ranges_buffered(void **state)
{
	odd_ranges(*state, false, 0);
}

static void odd_ranges_direct(void **state)
{
	odd_ranges(*state, true, 0);
}

static void odd_ranges_for_4096(void **state)
{
	odd_ranges(*state, true, 4096);
}

/* No holes: a discard is a success and changes nothing; the file system is asked once. */
static void discard_without_holes(void **state)
{
	struct rig *rig = *state;
	uint64_t before;
	unsigned int i;

	refuse(PUNCH);
	start_sized(rig, SIZE, false);
	before = allocated(rig);
	for (i = 0; i < 3; i++)
		assert_int_equal(run(rig, DISK_DISCARD, i * 4096, 4096, false), 0);
	assert_int_equal(plan.refused, 1);
	assert_int_equal(allocated(rig), before);
	check_zeroes(rig, SIZE, 0, 0);
	/* and is not asked for it by zeroes with unmap either */
	assert_int_equal(run(rig, DISK_WRITE_ZEROES, 4096, 4096, true), 0);
	assert_int_equal(plan.refused, 1);
	check_zeroes(rig, SIZE, 4096, 4096);
}

/* An error that says no more than that this request failed is the guest's to know. */
static void errors_are_passed_on(void **state)
{
	struct rig *rig = *state;

	plan = (struct plan) {.refuse = PUNCH | ZERO, .code = ENOSPC};
	start_sized(rig, SIZE, false);
	assert_int_equal(run(rig, DISK_WRITE_ZEROES, 0, 4096, false), -ENOSPC);
	plan.code = EIO;
	assert_int_equal(run(rig, DISK_WRITE_ZEROES, 0, 4096, true), -EIO);
	assert_int_equal(run(rig, DISK_DISCARD, 0, 4096, false), -EIO);
	check_zeroes(rig, SIZE, 0, 0);
	refuse(0); /* it was not taken for a refusal for ever */
	assert_int_equal(run(rig, DISK_WRITE_ZEROES, 0, 4096, false), 0);
	assert_int_equal(plan.zeroes, 1);
}

static void durable_zeroes(void **state)
{
	struct disk_req req = {
		.op = DISK_WRITE_ZEROES, .offset = 4096, .len = 8192, .durable = true};
	struct rig *rig = *state;

	start_sized(rig, SIZE, false);
	refuse(0);
	assert_int_equal(rig__run(&rig->q[0], &req), 0);
	assert_int_equal(plan.flushes, 1);
	refuse(ZERO);
	assert_int_equal(rig__run(&rig->q[0], &req), 0);
	assert_true(plan.dsyncs > 0);
	rig__stop(rig);

	assert_int_equal(rig__open_mode(rig, DISK_CACHE_WRITETHROUGH, false), 0);
	rig__add_queue(rig, 1);
	refuse(0);
	assert_int_equal(run(rig, DISK_WRITE_ZEROES, 0, 4096, true), 0);
	assert_int_equal(plan.flushes, 1);
	rig__stop(rig);

	assert_int_equal(rig__open_mode(rig, DISK_CACHE_UNSAFE, false), 0);
	rig__add_queue(rig, 1);
	refuse(0);
	req.durable = true;
	assert_int_equal(rig__run(&rig->q[0], &req), 0);
	assert_int_equal(plan.flushes + plan.dsyncs, 0);
}

/*
 * A host that wants 4096: one queue writes the even sectors, the other zeroes the
 * odd ones of the same blocks.  Neither undoes the other.
 */
static void *write_even(void *arg)
{
	struct rig *rig = arg;
	char buf[512];
	unsigned int i;

	for (i = 0; i < 256; i += 2) {
		rig__fill(buf, 8192 + i * 512, 512);
		if (rig__io(&rig->q[1], DISK_WRITE, i * 512, buf, 512))
			return "a write failed";
	}
	return NULL;
}

static void zeroes_beside_partial_writes(struct rig *rig, int refused)
{
	char want[512] = {0}, *buf = rig__alloc(256 * 512);
	pthread_t thread;
	unsigned int i;
	void *bad;

	refuse(refused);
	start_sized(rig, SIZE, true);
	rig__add_queue(rig, 8);
	rig__set_align(rig, 4096);
	assert_int_equal(pthread_create(&thread, NULL, write_even, rig), 0);
	for (i = 1; i < 256; i += 2)
		assert_int_equal(run(rig, DISK_WRITE_ZEROES, i * 512, 512, i & 2), 0);
	pthread_join(thread, &bad);
	assert_null(bad);
	rig__pread(rig, 0, buf, 256 * 512);
	for (i = 0; i < 256; i++) {
		if (i % 2)
			memset(want, 0, 512);
		else
			rig__fill(want, 8192 + i * 512, 512);
		assert_memory_equal(buf + i * 512, want, 512);
	}
	free(buf);
	rig__stop(rig);
}

static void neighbours_in_one_block(void **state)
{
	zeroes_beside_partial_writes(*state, 0);
	zeroes_beside_partial_writes(*state, PUNCH | ZERO);
}

static int setup(void **state)
{
	refuse(0);
	return rig__setup(state);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig__teardown)
	const struct CMUnitTest tests[] = {
		T(what_is_offered),
		T(discard_frees_the_space),
		T(zeroes_with_and_without_unmap),
		T(odd_ranges_buffered),
		T(odd_ranges_direct),
		T(odd_ranges_for_4096),
		T(discard_without_holes),
		T(errors_are_passed_on),
		T(durable_zeroes),
		T(neighbours_in_one_block),
	};

	return cmocka_run_group_tests_name("disk discard", tests, NULL, NULL);
}
