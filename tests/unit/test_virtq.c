// SPDX-License-Identifier: GPL-2.0-only
/* The device side of the split ring, driven from the driver's side (virtio 1.2, 2.7). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/vq_rig.h"

/* Sizes of the areas from the table in 2.7: 16 * N, 6 + 2 * N, 6 + 8 * N. */
static void test_init_areas(void **state)
{
	const uint64_t last_desc = VQD_END - 16 * SIZE;
	const uint64_t last_avail = VQD_END - (6 + 2 * SIZE);
	const uint64_t last_used = VQD_END - (6 + 8 * SIZE) - 2; /* aligned to 4 */
	const struct {
		uint16_t size;
		uint64_t desc, avail, used;
		int ret;
	} t[] = {
		{SIZE, VQD_DESC, VQD_AVAIL, VQD_USED, 0},
		{SIZE, last_desc, VQD_AVAIL, VQD_USED, 0},
		{SIZE, VQD_DESC, last_avail, VQD_USED, 0},
		{SIZE, VQD_DESC, VQD_AVAIL, last_used, 0},
		{SIZE, last_desc + 16, VQD_AVAIL, VQD_USED, -EFAULT},
		{SIZE, VQD_DESC, last_avail + 2, VQD_USED, -EFAULT},
		{SIZE, VQD_DESC, VQD_AVAIL, last_used + 4, -EFAULT},
		{SIZE, VQD_BASE - 16, VQD_AVAIL, VQD_USED, -EFAULT},
		{SIZE, UINT64_MAX - 15, VQD_AVAIL, VQD_USED, -EFAULT},
		{SIZE, VQD_DESC + 8, VQD_AVAIL, VQD_USED, -EINVAL},
		{SIZE, VQD_DESC, VQD_AVAIL + 1, VQD_USED, -EINVAL},
		{SIZE, VQD_DESC, VQD_AVAIL, VQD_USED + 2, -EINVAL},
		{0, VQD_DESC, VQD_AVAIL, VQD_USED, -EINVAL},
		{1, VQD_DESC, VQD_AVAIL, VQD_USED, -EINVAL},
		{12, VQD_DESC, VQD_AVAIL, VQD_USED, -EINVAL},
		{2048, VQD_DESC, VQD_AVAIL, VQD_USED, -EINVAL},
		{1024, VQD_DESC, VQD_AVAIL, VQD_USED, 0},
	};
	struct rig *r = *state;
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct virtq_layout l = {.size = t[i].size,
					 .desc = t[i].desc,
					 .avail = t[i].avail,
					 .used = t[i].used,
					 .indirect = true,
					 .event_idx = true};

		print_message("areas, line %u\n", i);
		assert_int_equal(virtq__init(&r->ring, &r->d.mem, &l), t[i].ret);
	}
}

static void test_chain(void **state)
{
	const struct vq_seg seg[] = {
		{VQD_DATA, 16, false},	   {VQD_DATA + 64, 0, false}, {VQD_DATA + 100, 7, false},
		{VQD_DATA + 200, 0, true}, {VQD_DATA + 300, 9, true},
	};
	struct rig *r = *state;
	unsigned int direct;

	for (direct = 0; direct <= 5; direct++) {
		vqd__chain(&r->d, 2, seg, 5, direct);
		offer(r, 2);
		assert_int_equal(pop(r), 1);
		assert_int_equal(r->chain.head, 2);
		assert_false(r->chain.fault);
		assert_int_equal(r->chain.nr_out, 2); /* empty ones left out */
		assert_int_equal(r->chain.nr_in, 1);
		assert_int_equal(r->chain.out_len, 23);
		assert_int_equal(r->chain.in_len, 9);
		assert_ptr_equal(r->iov[1].iov_base, vqd__ptr(&r->d, VQD_DATA + 100));
		assert_int_equal(r->iov[1].iov_len, 7);
		assert_ptr_equal(r->chain.in_last, vqd__ptr(&r->d, VQD_DATA + 308));
		assert_int_equal(pop(r), 0);
		virtq__push(&r->ring, 2, 9);
		virtq__publish(&r->ring);
	}
}

/* SIZE - 1 direct descriptors, a full indirect table, at any alignment, up to the last byte. */
static void test_longest_chain(void **state)
{
	struct rig *r = *state;
	uint64_t table = VQD_END - 16 * SIZE;
	unsigned int i, shift;

	for (shift = 0; shift < 2; shift++) {
		for (i = 0; i < SIZE - 1; i++)
			vqd__desc(&r->d, i, VQD_DATA + i, 1, N, i + 1);
		/* 2.7.5.3.2: the WRITE flag of the reference means nothing */
		vqd__desc(&r->d, SIZE - 1, table - shift, 16 * SIZE, I | W, 0);
		for (i = 0; i < SIZE; i++) {
			struct vring_desc e = {VQD_DATA + 100 + i, 1, i < SIZE - 1 ? N | W : W,
					       i + 1};

			memcpy(vqd__ptr(&r->d, table - shift + 16 * i), &e, sizeof(e));
		}
		offer(r, 0);
		assert_int_equal(pop(r), 1);
		assert_int_equal(r->chain.nr_out, SIZE - 1);
		assert_int_equal(r->chain.nr_in, SIZE);
		virtq__push(&r->ring, 0, 0);
	}
}

static void test_malformed(void **state)
{
	static const struct {
		const char *name;
		struct vring_desc d[3]; /* direct, head 0 */
		struct vring_desc t[2]; /* table at VQD_TABLE */
		bool no_indirect;
	} t[] = {
		{"loop of one", {{VQD_DATA, 1, N, 0}}, {{0}}, false},
		{"loop of three",
		 {{VQD_DATA, 1, N, 1}, {VQD_DATA, 1, N, 2}, {VQD_DATA, 1, N, 0}},
		 {{0}},
		 false},
		{"loop of empty ones", {{VQD_DATA, 0, N, 1}, {VQD_DATA, 0, N, 0}}, {{0}}, false},
		{"next out of range", {{VQD_DATA, 1, N, SIZE}}, {{0}}, false},
		{"next far out of range", {{VQD_DATA, 1, N, 0xffff}}, {{0}}, false},
		{"readable after writable",
		 {{VQD_DATA, 1, N | W, 1}, {VQD_DATA, 1, 0, 0}},
		 {{0}},
		 false},
		{"indirect not negotiated", {{VQD_TABLE, 16, I, 0}}, {{VQD_DATA, 1, 0, 0}}, true},
		{"indirect with next",
		 {{VQD_TABLE, 16, I | N, 1}, {VQD_DATA, 1, 0, 0}},
		 {{VQD_DATA, 1, 0, 0}},
		 false},
		{"table of no bytes", {{VQD_TABLE, 0, I, 0}}, {{VQD_DATA, 1, 0, 0}}, false},
		{"table of 24 bytes", {{VQD_TABLE, 24, I, 0}}, {{VQD_DATA, 1, 0, 0}}, false},
		{"table longer than the queue",
		 {{VQD_TABLE, 16 * SIZE + 16, I, 0}},
		 {{VQD_DATA, 1, 0, 0}},
		 false},
		{"table of 4 GiB less 16",
		 {{VQD_TABLE, 0xfffffff0, I, 0}},
		 {{VQD_DATA, 1, 0, 0}},
		 false},
		{"table outside of memory", {{0x1000, 16, I, 0}}, {{0}}, false},
		{"table one byte over the end", {{VQD_END - 15, 16, I, 0}}, {{0}}, false},
		{"table at the end of the address space",
		 {{UINT64_MAX - 7, 16, I, 0}},
		 {{0}},
		 false},
		{"table within a table",
		 {{VQD_TABLE, 32, I, 0}},
		 {{VQD_DATA, 1, N, 1}, {VQD_TABLE, 16, I, 0}},
		 false},
		{"loop in a table",
		 {{VQD_TABLE, 32, I, 0}},
		 {{VQD_DATA, 1, N, 1}, {VQD_DATA, 1, N, 0}},
		 false},
		{"next out of the table",
		 {{VQD_TABLE, 16, I, 0}},
		 {{VQD_DATA, 1, N, 1}, {VQD_DATA, 1, 0, 0}},
		 false},
		{"readable in the table after writable",
		 {{VQD_DATA, 1, N | W, 1}, {VQD_TABLE, 16, I, 0}},
		 {{VQD_DATA, 1, 0, 0}},
		 false},
	};
	struct rig *r = *state;
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		print_message("malformed: %s\n", t[i].name);
		r->d.layout.indirect = !t[i].no_indirect;
		vqd__start_at(&r->d, 0);
		rig__start(r);
		memcpy(r->d.desc, t[i].d, sizeof(t[i].d));
		memcpy(vqd__ptr(&r->d, VQD_TABLE), t[i].t, sizeof(t[i].t));
		offer(r, 0);
		assert_int_equal(pop(r), -EINVAL);
		assert_int_equal(r->ring.in_flight, 0);
	}
}

static void test_index_jump(void **state)
{
	static const struct {
		uint16_t ahead;
		int pending;
	} t[] = {{0, 0},	   {1, 1}, {SIZE, SIZE}, {SIZE + 1, -EINVAL}, {0x8000, -EINVAL},
		 {0xffff, -EINVAL}};
	struct rig *r = *state;
	unsigned int i, start;

	vqd__desc(&r->d, 0, VQD_DATA, 1, 0, 0);
	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		for (start = 0; start < 0x10000; start += 0xfffb) { /* 0 and just below the wrap */
			vqd__start_at(&r->d, start);
			rig__start(r);
			r->d.avail->idx = start + t[i].ahead;
			assert_int_equal(virtq__pending(&r->ring), t[i].pending);
			assert_int_equal(pop(r), t[i].pending > 0 ? 1 : t[i].pending);
		}
	}
}

static void test_heads(void **state)
{
	struct rig *r = *state;
	uint32_t id, len;

	vqd__desc(&r->d, 5, VQD_DATA, 1, W, 0);
	offer(r, 5);
	offer(r, 5);
	assert_int_equal(pop(r), 1);
	assert_int_equal(pop(r), -EINVAL); /* in flight already */
	assert_int_equal(r->ring.in_flight, 1);

	virtq__push(&r->ring, 4, 1); /* never popped */
	virtq__push(&r->ring, 0xffff, 1);
	virtq__push(&r->ring, 5, 1);
	virtq__push(&r->ring, 5, 1); /* twice */
	assert_int_equal(r->ring.in_flight, 0);
	assert_false(vqd__get(&r->d, &id, &len)); /* not published */
	virtq__publish(&r->ring);
	assert_true(vqd__get(&r->d, &id, &len));
	assert_int_equal(id, 5);
	assert_int_equal(len, 1);
	assert_false(vqd__get(&r->d, &id, &len));

	assert_int_equal(pop(r), 1); /* free again */
	offer(r, SIZE);
	assert_int_equal(pop(r), -EINVAL); /* no such head */
}

/* A buffer may end at the last byte of memory and not one byte further. */
static void test_memory_edge(void **state)
{
	static const struct {
		uint64_t gpa;
		uint32_t len;
		bool fault, last;
	} t[] = {
		{VQD_END - 4096, 4096, false, true},
		{VQD_END - 512, 512, false, true},
		{VQD_END - 1, 1, false, true},
		{VQD_BASE, 1, false, true},
		{VQD_END - 4095, 4096, true, false},
		{VQD_END - 511, 512, true, false},
		{VQD_END, 1, true, false},
		{VQD_BASE - 1, 2, true, true}, /* the last byte is in memory */
		{UINT64_MAX, 1, true, false},
		{UINT64_MAX - 1, 0xffffffff, true, false}, /* wraps */
		{VQD_BASE, 0xffffffff, true, false},
	};
	struct rig *r = *state;
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		print_message("edge, line %u\n", i);
		vqd__desc(&r->d, 0, t[i].gpa, t[i].len, W, 0);
		offer(r, 0);
		assert_int_equal(pop(r), 1);
		assert_int_equal(r->chain.fault, t[i].fault);
		assert_int_equal(r->iov[0].iov_base == NULL, t[i].fault);
		assert_int_equal(r->chain.in_last != NULL, t[i].last);
		assert_int_equal(r->chain.in_len, t[i].len);
		virtq__push(&r->ring, 0, 0);
	}
}

static void test_sum_over_4g(void **state)
{
	struct rig *r = *state;
	unsigned int i;

	for (i = 0; i < SIZE; i++)
		vqd__desc(&r->d, i, VQD_DATA, 0xffffffff, i < SIZE - 1 ? N | W : W, i + 1);
	offer(r, 0);
	assert_int_equal(pop(r), 1);
	assert_true(r->chain.fault);
	assert_int_equal(r->chain.in_len, SIZE * 0xffffffffULL);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_init_areas),	TEST(test_chain),	TEST(test_longest_chain),
		TEST(test_malformed),	TEST(test_index_jump),	TEST(test_heads),
		TEST(test_memory_edge), TEST(test_sum_over_4g),
	};

	return cmocka_run_group_tests_name("virtq", tests, NULL, NULL);
}
