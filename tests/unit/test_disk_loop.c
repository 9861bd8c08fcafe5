/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A block device with sectors of 4096 bytes: a loop device on a file of ours,
 * where this user may make one.  Requests of any layout, discard, write zeroes.
 */
#include "loop.h"

#define SIZE (1U << 20)

/* A disk on a loop device whose file is all data; the test is skipped where that cannot be. */
static void start(struct rig *rig, struct loop *loop, enum disk_cache cache)
{
	char *buf = rig__alloc(SIZE);
	struct disk_params params = {.path = loop->path, .cache = cache};

	rig__make_file(rig, SIZE);
	rig__fill(buf, 0, SIZE);
	rig__pwrite(rig, 0, buf, SIZE);
	free(buf);
	if (!loop__attach(loop, rig->path))
		skip();
	if (disk__open(&rig->disk, &params, &rig->err)) {
		close(loop->fd);
		fail_msg("%s", rig->err.msg);
	}
	rig__add_queue(rig, 8);
}

/* Everything that was written is in the file after this. */
static void stop(struct rig *rig, struct loop *loop)
{
	struct disk_req flush = {.op = DISK_FLUSH};

	assert_int_equal(rig__run(&rig->q[0], &flush), 0);
	rig__stop(rig);
	close(loop->fd);
}

static int run(struct rig *rig, enum disk_op op, uint64_t offset, uint64_t len, bool unmap)
{
	struct disk_req req = {.op = op, .offset = offset, .len = len, .unmap = unmap};

	return rig__run(&rig->q[0], &req);
}

static uint64_t allocated(struct rig *rig)
{
	struct stat st;

	assert_int_equal(stat(rig->path, &st), 0);
	return st.st_blocks * 512ULL;
}

/* Buffers at any address, data in any pieces: blocks that go out come back. */
static void any_layout(struct rig *rig, enum disk_cache cache)
{
	static const unsigned int at[] = {0, 1, 4, 512, 2048};
	static const unsigned int cut[] = {1, 511, 512, 3584, 4095, 4096, 5000};
	char *buf = rig__alloc(4 * BLOCK);
	struct loop loop;
	unsigned int i, k;

	start(rig, &loop, cache);
	assert_int_equal(rig->disk.geo.logical_block, BLOCK);
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		for (k = 0; k < ARRAY_SIZE(cut); k++) {
			uint64_t pos = (1 + i * ARRAY_SIZE(cut) + k) * 2 * BLOCK;
			char *p = buf + at[i];
			struct iovec iov[2] = {{p, cut[k]}, {p + cut[k], 2 * BLOCK - cut[k]}};
			struct disk_req req = rig__req(DISK_WRITE, pos, iov, 2);

			rig__fill(p, pos + 4096 * 512, 2 * BLOCK);
			assert_int_equal(rig__run(&rig->q[0], &req), 0);
			memset(buf, 0xee, 4 * BLOCK);
			iov[0] = (struct iovec) {p, cut[k]};
			iov[1] = (struct iovec) {p + cut[k], 2 * BLOCK - cut[k]};
			req = rig__req(DISK_READ, pos, iov, 2);
			assert_int_equal(rig__run(&rig->q[0], &req), 0);
			rig__check(p, pos + 4096 * 512, 2 * BLOCK);
			assert_int_equal((unsigned char)p[2 * BLOCK], 0xee);
		}
	}
	stop(rig, &loop);
	rig__pread(rig, 0, buf, 2 * BLOCK);
	rig__check(buf, 0, 2 * BLOCK); /* in front of the first */
	rig__pread(rig, 2 * BLOCK, buf, 2 * BLOCK);
	rig__check(buf, 2 * BLOCK + 4096 * 512, 2 * BLOCK);
	free(buf);
}

static void any_layout_direct(void **state)
{
	any_layout(*state, DISK_CACHE_NONE);
}

static void any_layout_buffered(void **state)
{
	any_layout(*state, DISK_CACHE_WRITEBACK);
}

static void ranges(struct rig *rig, enum disk_cache cache)
{
	char *want = rig__alloc(SIZE), *got = rig__alloc(SIZE);
	struct loop loop;
	uint64_t before;

	start(rig, &loop, cache);
	assert_true(rig->disk.limits.zeroes_max >= SIZE);
	assert_int_equal(rig->disk.limits.discard_align % BLOCK, 0);
	before = allocated(rig);
	rig__fill(want, 0, SIZE);

	assert_int_equal(run(rig, DISK_WRITE_ZEROES, BLOCK, 3 * BLOCK, false), 0);
	memset(want + BLOCK, 0, 3 * BLOCK);
	assert_int_equal(run(rig, DISK_WRITE_ZEROES, 65536, 65536, true), 0);
	memset(want + 65536, 0, 65536);
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, 0, got, SIZE), 0);
	assert_memory_equal(got, want, SIZE);
	if (rig->disk.limits.discard_max) {
		assert_int_equal(run(rig, DISK_DISCARD, SIZE / 2, SIZE / 4, false), 0);
		memset(want + SIZE / 2, 0, SIZE / 4); /* what a hole in the file reads as */
		assert_true(before - allocated(rig) >= SIZE / 4);
	}
	stop(rig, &loop);
	rig__pread(rig, 0, got, SIZE);
	assert_memory_equal(got, want, SIZE);
	free(want);
	free(got);
}

static void ranges_direct(void **state)
{
	ranges(*state, DISK_CACHE_NONE);
}

static void ranges_buffered(void **state)
{
	ranges(*state, DISK_CACHE_WRITEBACK);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, rig__setup, rig__teardown)
	const struct CMUnitTest tests[] = {
		T(any_layout_direct),
		T(any_layout_buffered),
		T(ranges_direct),
		T(ranges_buffered),
	};

	return cmocka_run_group_tests_name("disk with 4 KiB sectors", tests, NULL, NULL);
}
