/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests that O_DIRECT does not take as they are.  The data is right on any
 * host; what the host would have refused shows in the counters.
 */
#include <pthread.h>

#include "disk_rig.h"

static void start(struct rig *rig, uint64_t size, unsigned int depth)
{
	rig__make_file(rig, size);
	rig__start(rig, true, depth);
}

/* Every address in a page, every sector in a block, for a host that wants @align. */
static void misaligned(struct rig *rig, unsigned int align)
{
	static const unsigned int at[] = {0, 1, 4, 512, 2048};
	struct disk_queue *q = &rig->q[0];
	char *buf = rig__alloc(3 * 4096);
	unsigned int i, first, nr;

	rig__set_align(rig, align);
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		for (first = 3; first < 10; first++) {
			for (nr = 1; nr <= 9; nr += 2) {
				char *p = buf + at[i];

				memset(buf, 0xee, 3 * 4096);
				rig__fill(p, first * 512, nr * 512);
				assert_int_equal(rig__io(q, DISK_WRITE, first * 512, p, nr * 512),
						 0);
				memset(buf, 0xee, 3 * 4096);
				assert_int_equal(rig__io(q, DISK_READ, first * 512, p, nr * 512),
						 0);
				rig__check(p, first * 512, nr * 512);
				/* not a byte beside it */
				assert_int_equal((unsigned char)p[nr * 512], 0xee);
				if (at[i])
					assert_int_equal((unsigned char)p[-1], 0xee);
			}
		}
	}
	memset(buf, 0, 3 * 4096);
	rig__pread(rig, 0, buf, 3 * 4096);
	rig__check(buf + 3 * 512, 3 * 512, 15 * 512); /* sectors 3 to 17 */
	for (i = 0; i < 3 * 512; i++) /* the neighbours stay as they were */
		assert_int_equal(buf[i] | buf[18 * 512 + i], 0);
	free(buf);
}

static void misaligned_for_512(void **state)
{
	start(*state, 65536, 8);
	misaligned(*state, 512);
}

static void misaligned_for_4096(void **state)
{
	start(*state, 65536, 8);
	misaligned(*state, 4096);
}

static void pieces_that_add_up(void **state)
{
	struct rig *rig = *state;
	char *buf = rig__alloc(8192);
	struct iovec iov[2] = {{buf, 512}, {buf + 512, 3584}};
	struct disk_req req = rig__req(DISK_WRITE, 4096, iov, 2);

	start(rig, 65536, 8);
	rig__set_align(rig, 4096);
	rig__fill(buf, 4096, 4096);
	assert_int_equal(rig__run(&rig->q[0], &req), 0);
	assert_int_equal(rig->q[0].stats.bounced, 1);
	rig__pread(rig, 4096, buf + 4096, 4096);
	rig__check(buf + 4096, 4096, 4096);
	free(buf);
}

/* The last block of the file is half a block for this host: its length stays. */
static void end_of_file_in_a_block(void **state)
{
	static const uint64_t sizes[] = {513, 1024, 4096 + 512, 123456, 300000 + 277};
	struct rig *rig = *state;
	char *buf = rig__alloc(16384), tail[512];
	unsigned int i, len;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint64_t end = sizes[i] / 512 * 512;
		size_t left = sizes[i] - end;

		start(rig, sizes[i], 8);
		rig__set_align(rig, 4096);
		memset(tail, 0x55, left);
		rig__pwrite(rig, end, tail, left);
		for (len = 512; len <= 8192 && len <= end; len += 512) {
			rig__fill(buf, end - len, len);
			assert_int_equal(rig__io(&rig->q[0], DISK_WRITE, end - len, buf, len), 0);
			memset(buf, 0, len);
			assert_int_equal(rig__io(&rig->q[0], DISK_READ, end - len, buf, len), 0);
			rig__check(buf, end - len, len);
			memset(buf, 0, len);
			rig__pread(rig, end - len, buf, len + left);
			rig__check(buf, end - len, len);
			assert_memory_equal(buf + len, tail, left);
		}
		assert_int_equal(rig__file_size(rig), sizes[i]);
		rig__stop(rig);
	}
	free(buf);
}

/* A host that wants 4096: sectors of one block written by two queues, none undone. */
struct writer {
	pthread_t thread;
	struct disk_queue *q;
	unsigned int first;
};

static void *write_every_other(void *arg)
{
	struct writer *w = arg;
	struct disk_req req[8];
	struct iovec iov[8];
	char buf[8][512];
	unsigned int round, i;

	for (round = 0; round < 16; round++) {
		for (i = 0; i < 8; i++) {
			uint64_t pos = ((round * 8 + i) * 2 + w->first) * 512UL;

			rig__fill(buf[i], pos, 512);
			iov[i] = (struct iovec) {buf[i], 512};
			req[i] = rig__req(DISK_WRITE, pos, &iov[i], 1);
			disk_queue__queue(w->q, &req[i]);
		}
		disk_queue__submit(w->q);
		while (w->q->in_flight) {
			if (rig__wait(w->q)->res)
				return "a write failed";
		}
	}
	return NULL;
}

static void two_queues_do_not_tear_a_block(void **state)
{
	struct rig *rig = *state;
	struct writer w[2];
	void *bad[2];
	char *buf;
	unsigned int i;

	rig__make_file(rig, 256 * 512);
	rig__start(rig, true, 8);
	rig__add_queue(rig, 8);
	rig__set_align(rig, 4096);
	for (i = 0; i < 2; i++) {
		w[i] = (struct writer) {.q = &rig->q[i], .first = i};
		assert_int_equal(pthread_create(&w[i].thread, NULL, write_every_other, &w[i]), 0);
	}
	for (i = 0; i < 2; i++)
		pthread_join(w[i].thread, &bad[i]);
	assert_null(bad[0]);
	assert_null(bad[1]);
	buf = rig__alloc(256 * 512);
	rig__pread(rig, 0, buf, 256 * 512);
	rig__check(buf, 0, 256 * 512);
	assert_int_equal(rig->q[0].stats.bounced, 128);
	free(buf);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, rig__setup, rig__teardown)
	const struct CMUnitTest tests[] = {
		T(misaligned_for_512),
		T(misaligned_for_4096),
		T(pieces_that_add_up),
		T(end_of_file_in_a_block),
		T(two_queues_do_not_tear_a_block),
	};

	return cmocka_run_group_tests_name("disk alignment", tests, NULL, NULL);
}
