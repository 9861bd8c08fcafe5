// SPDX-License-Identifier: GPL-2.0-only
/* The device side of the packed ring, driven from the driver's side (virtio 1.2, 2.8). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/vqp_rig.h"

/* The table in 2.8.10.1: 16 * size, 4 and 4 bytes, at multiples of 16, 4 and 4. */
static void test_init_areas(void **state)
{
	const uint64_t last_desc = VQD_END - 16 * SIZE;
	const uint64_t last_event = VQD_END - 4;
	const struct {
		uint16_t size;
		uint64_t desc, avail, used;
		int ret;
	} t[] = {
		{SIZE, VQD_DESC, VQD_AVAIL, VQD_USED, 0},
		{SIZE, VQD_DESC, VQD_AVAIL + 4, VQD_USED + 4, 0},
		{SIZE, last_desc, VQD_AVAIL, VQD_USED, 0},
		{SIZE, VQD_DESC, last_event, VQD_USED, 0},
		{SIZE, VQD_DESC, VQD_AVAIL, last_event, 0},
		{SIZE, last_desc + 16, VQD_AVAIL, VQD_USED, -EFAULT},
		{SIZE, VQD_DESC, last_event + 4, VQD_USED, -EFAULT},
		{SIZE, VQD_DESC, VQD_AVAIL, last_event + 4, -EFAULT},
		{SIZE, VQD_BASE - 16, VQD_AVAIL, VQD_USED, -EFAULT},
		{SIZE, UINT64_MAX - 15, VQD_AVAIL, VQD_USED, -EFAULT},
		{SIZE, VQD_DESC, UINT64_MAX - 3, VQD_USED, -EFAULT},
		{SIZE, VQD_DESC + 8, VQD_AVAIL, VQD_USED, -EINVAL},
		{SIZE, VQD_DESC, VQD_AVAIL + 2, VQD_USED, -EINVAL},
		{SIZE, VQD_DESC, VQD_AVAIL, VQD_USED + 2, -EINVAL},
		{0, VQD_DESC, VQD_AVAIL, VQD_USED, -EINVAL},
		{1025, VQD_DESC, VQD_AVAIL, VQD_USED, -EINVAL},
		{1, VQD_DESC, VQD_AVAIL, VQD_USED, 0},
		{1000, VQD_DESC, VQD_AVAIL, VQD_USED, 0},
		{1024, VQD_DESC, VQD_AVAIL, VQD_USED, 0},
	};
	struct rig *r = *state;
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct virtq_layout l = {.size = t[i].size,
					 .packed = true,
					 .desc = t[i].desc,
					 .avail = t[i].avail,
					 .used = t[i].used};

		print_message("areas, line %u\n", i);
		assert_int_equal(virtq__init(&r->ring, &r->p.d.mem, &l), t[i].ret);
	}
}

/* Every cut into direct descriptors and an indirect table, at every position. */
static void test_chain(void **state)
{
	const struct vq_seg seg[] = {
		{VQD_DATA, 16, false},	   {VQD_DATA + 64, 0, false}, {VQD_DATA + 100, 7, false},
		{VQD_DATA + 200, 0, true}, {VQD_DATA + 300, 9, true},
	};
	struct rig *r = *state;
	unsigned int direct, at;
	uint32_t id, len;

	for (at = 0; at < 2 * SIZE; at++) {
		for (direct = 0; direct <= 5; direct++) {
			restart(r, SIZE);
			turn(r, at);
			assert_true(vqp__put(&r->p, 2, seg, 5, direct));
			assert_int_equal(virtq__pending(&r->ring), 1);
			assert_int_equal(pop(r), 1);
			assert_int_equal(r->chain.head, 2);
			assert_false(r->chain.fault);
			assert_int_equal(r->chain.nr_out, 2); /* empty ones left out */
			assert_int_equal(r->chain.nr_in, 1);
			assert_int_equal(r->chain.out_len, 23);
			assert_int_equal(r->chain.in_len, 9);
			assert_ptr_equal(r->iov[1].iov_base, vqd__ptr(&r->p.d, VQD_DATA + 100));
			assert_ptr_equal(r->chain.in_last, vqd__ptr(&r->p.d, VQD_DATA + 308));
			assert_int_equal(virtq__pending(&r->ring), 0);
			assert_int_equal(pop(r), 0);
			virtq__push(&r->ring, 2, 9);
			assert_false(vqp__get(&r->p, &id, &len)); /* not shown yet */
			virtq__publish(&r->ring);
			assert_true(vqp__get(&r->p, &id, &len));
			assert_int_equal(id, 2);
			assert_int_equal(len, 9);
			turn(r, 1); /* both sides skipped as many descriptors */
		}
	}
}

/* 2.8.7: in a table only WRITE counts; neither NEXT nor INDIRECT, ids or wrap bits do. */
static void test_table_flags(void **state)
{
	struct rig *r = *state;
	const struct vring_packed_desc table[] = {
		{VQD_DATA, 4, 0xffff, I | N | VQP_AVAIL},
		{VQD_DATA + 8, 5, 0xffff, W | I | VQP_USED},
	};

	memcpy(vqd__ptr(&r->p.d, VQD_TABLE + 3), table, sizeof(table)); /* no alignment */
	/* WRITE of the descriptor that refers to the table is reserved */
	vqp__desc(&r->p, r->p.avail, VQD_TABLE + 3, 32, 1, I | W);
	assert_int_equal(pop(r), 1);
	assert_int_equal(r->chain.head, 1);
	assert_int_equal(r->chain.out_len, 4);
	assert_int_equal(r->chain.in_len, 5);
}

#define STALE (1 << 4) /* for the rows below: not available; the bit itself means nothing */

static const struct broken {
	const char *name;
	struct vring_packed_desc d[3]; /* the chain that is put at any position */
	struct vring_packed_desc t[2]; /* table at VQD_TABLE */
	bool no_indirect;
} broken[] = {
	{"id of the queue size", {{VQD_DATA, 1, SIZE, 0}}, {{0}}, false},
	{"id far out of range", {{VQD_DATA, 1, 0xffff, 0}}, {{0}}, false},
	{"next is not available", {{VQD_DATA, 1, 0, N}, {VQD_DATA, 1, 0, STALE}}, {{0}}, false},
	{"third is not available",
	 {{VQD_DATA, 1, 0, N}, {VQD_DATA, 1, 0, N}, {VQD_DATA, 1, 0, STALE}},
	 {{0}},
	 false},
	{"readable after writable", {{VQD_DATA, 1, 0, N | W}, {VQD_DATA, 1, 0, 0}}, {{0}}, false},
	{"indirect not negotiated", {{VQD_TABLE, 16, 0, I}}, {{VQD_DATA, 1, 0, 0}}, true},
	{"indirect with next",
	 {{VQD_TABLE, 16, 0, I | N}, {VQD_DATA, 1, 0, 0}},
	 {{VQD_DATA, 1, 0, 0}},
	 false},
	{"table of no bytes", {{VQD_TABLE, 0, 0, I}}, {{0}}, false},
	{"table of 24 bytes", {{VQD_TABLE, 24, 0, I}}, {{VQD_DATA, 1, 0, 0}}, false},
	{"table longer than the queue", {{VQD_TABLE, 16 * SIZE + 16, 0, I}}, {{0}}, false},
	{"table of 4 GiB less 16", {{VQD_TABLE, 0xfffffff0, 0, I}}, {{0}}, false},
	{"table outside of memory", {{0x1000, 16, 0, I}}, {{0}}, false},
	{"table one byte over the end", {{VQD_END - 15, 16, 0, I}}, {{0}}, false},
	{"table at the end of the address space", {{UINT64_MAX - 7, 16, 0, I}}, {{0}}, false},
	{"readable after writable in a table",
	 {{VQD_TABLE, 32, 0, I}},
	 {{VQD_DATA, 1, 0, W}, {VQD_DATA, 1, 0, 0}},
	 false},
	{"readable in a table after writable",
	 {{VQD_DATA, 1, 0, N | W}, {VQD_TABLE, 16, 0, I}},
	 {{VQD_DATA, 1, 0, 0}},
	 false},
};

static void test_broken(void **state)
{
	struct rig *r = *state;
	unsigned int i, k, at;

	for (i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		print_message("broken: %s\n", broken[i].name);
		for (at = 0; at < 2 * SIZE; at++) {
			r->p.d.layout.indirect = !broken[i].no_indirect;
			restart(r, SIZE);
			turn(r, at);
			memcpy(vqd__ptr(&r->p.d, VQD_TABLE), broken[i].t, sizeof(broken[i].t));
			for (k = 0; k < 3; k++) {
				const struct vring_packed_desc *d = &broken[i].d[k];
				struct vqp_pos pos = r->p.avail;

				vqp_pos__advance(&r->p, &pos, k);
				pos.wrap ^= !!(d->flags & STALE);
				vqp__desc(&r->p, pos, d->addr, d->len, d->id, d->flags & ~STALE);
			}
			assert_int_equal(pop(r), -EINVAL);
			assert_int_equal(pop(r), -EINVAL); /* it stays so */
			assert_int_equal(r->ring.in_flight, 0);
		}
	}
}

/* All descriptors have NEXT: the chain meets its own beginning, or what is in flight. */
static void test_endless(void **state)
{
	struct rig *r = *state;
	unsigned int at, k, held;

	for (at = 0; at < 2 * SIZE; at++) {
		for (held = 0; held < SIZE; held++) {
			restart(r, SIZE);
			turn(r, at);
			for (k = 0; k < held; k++) {
				put_one(r, k);
				assert_int_equal(pop(r), 1);
			}
			for (k = 0; k < SIZE; k++) {
				struct vqp_pos pos = r->p.avail;

				vqp_pos__advance(&r->p, &pos, k);
				vqp__desc(&r->p, pos, VQD_DATA, 1, SIZE - 1, N);
			}
			assert_int_equal(pop(r), -EINVAL);
			assert_int_equal(r->ring.in_flight, held);
		}
	}
}

/* What the device has not given back is not the driver's to make available. */
static void test_not_given_back(void **state)
{
	struct rig *r = *state;
	unsigned int at, k;

	for (at = 0; at < 2 * SIZE; at++) {
		restart(r, SIZE);
		turn(r, at);
		for (k = 0; k < SIZE; k++) {
			assert_true(put_one(r, k));
			assert_int_equal(pop(r), 1);
		}
		assert_int_equal(virtq__pending(&r->ring), 0);
		assert_int_equal(pop(r), 0);
		assert_false(virtq__kicks_on(&r->ring, 1));
		vqp__desc(&r->p, r->p.avail, VQD_DATA, 1, 0, W); /* the same one, next round */
		assert_int_equal(virtq__pending(&r->ring), -EINVAL);
		assert_int_equal(pop(r), -EINVAL);
		assert_true(virtq__kicks_on(&r->ring, 1)); /* look again */

		/* pushed, but not shown: still the device's */
		virtq__push(&r->ring, 3, 1);
		assert_int_equal(pop(r), -EINVAL);
		/* the device's flags take the place of the wrong ones */
		virtq__show(&r->ring);
		assert_int_equal(virtq__pending(&r->ring), 0);
		assert_int_equal(r->ring.in_flight, SIZE - 1);
	}
}

static void test_ids(void **state)
{
	struct rig *r = *state;
	uint32_t id, len;

	put_one(r, 5);
	put_one(r, 5);
	assert_int_equal(pop(r), 1);
	assert_int_equal(pop(r), -EINVAL); /* in flight already */
	assert_int_equal(r->ring.in_flight, 1);
	virtq__push(&r->ring, 4, 1); /* never popped */
	virtq__push(&r->ring, 0xffff, 1);
	virtq__push(&r->ring, 5, 1);
	virtq__push(&r->ring, 5, 1); /* twice */
	assert_int_equal(r->ring.in_flight, 0);
	virtq__publish(&r->ring);
	assert_true(vqp__get(&r->p, &id, &len));
	assert_int_equal(id, 5);
	assert_false(vqp__has_used(&r->p));
	assert_int_equal(pop(r), 1); /* free again */
}

/* A descriptor counts only with AVAIL like the round and USED unlike it (2.8.1). */
static void test_avail_bits(void **state)
{
	struct rig *r = *state;
	unsigned int at, bits;

	for (at = 0; at < 2 * SIZE; at++) {
		for (bits = 0; bits < 4; bits++) {
			uint16_t flags = (bits & 1 ? VQP_AVAIL : 0) | (bits & 2 ? VQP_USED : 0) | W;
			bool avail;

			restart(r, SIZE);
			turn(r, at);
			r->p.desc[r->p.avail.off] =
				(struct vring_packed_desc) {VQD_DATA, 1, 0, flags};
			avail = bits == (r->p.avail.wrap ? 1 : 2);
			assert_int_equal(virtq__pending(&r->ring), avail);
			assert_int_equal(virtq__kicks_on(&r->ring, 1), avail);
			assert_int_equal(pop(r), avail);
		}
	}
}

/* ---- any size, any order ---- */

struct model {
	unsigned int seed;
	uint16_t out[VIRTQ_MAX_SIZE]; /* ids popped, in any order */
	unsigned int nr_out, nr_pushed, nr_seen;
	uint32_t len[VIRTQ_MAX_SIZE]; /* written, by id */
};

static void some_put(struct rig *r, struct model *m)
{
	struct vq_seg seg[5];
	unsigned int size = r->p.d.layout.size, i;
	unsigned int nr = 1 + rand_r(&m->seed) % (size < 5 ? size : 5);
	unsigned int direct = rand_r(&m->seed) % (nr + 1);
	uint16_t id = rand_r(&m->seed) % size;

	while (r->p.descs[id])
		id = (id + 1) % size;
	for (i = 0; i < nr; i++)
		seg[i] = (struct vq_seg) {VQD_DATA + id * 8 + i, 1, true};
	vqp__put(&r->p, id, seg, nr, direct);
}

static void some_pop(struct rig *r, struct model *m)
{
	if (pop(r) != 1)
		return;
	assert_ptr_equal(r->iov[0].iov_base, vqd__ptr(&r->p.d, VQD_DATA + r->chain.head * 8));
	m->out[m->nr_out++] = r->chain.head;
}

static void some_push(struct rig *r, struct model *m)
{
	unsigned int i;
	uint16_t id;

	if (!m->nr_out)
		return;
	i = rand_r(&m->seed) % m->nr_out;
	id = m->out[i];
	m->out[i] = m->out[--m->nr_out];
	m->len[id] = rand_r(&m->seed) % 3;
	virtq__push(&r->ring, id, m->len[id]);
	m->nr_pushed++;
}

static void some_get(struct rig *r, struct model *m, unsigned int shown)
{
	uint32_t id, len;

	if (!vqp__get(&r->p, &id, &len)) {
		assert_int_equal(m->nr_seen, shown);
		return;
	}
	assert_true(m->nr_seen < shown);
	assert_int_equal(len, m->len[id]);
	m->nr_seen++;
}

static void test_random(void **state)
{
	static const uint16_t sizes[] = {1, 2, 3, 5, 7, 8, 12, 100, 1000, 1024};
	struct rig *r = *state;
	unsigned int i, step;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct model *m = calloc(1, sizeof(*m));
		unsigned int shown = 0;

		assert_non_null(m);
		m->seed = sizes[i];
		r->p.table_room = 8;
		restart(r, sizes[i]);
		for (step = 0; step < 40000; step++) {
			switch (rand_r(&m->seed) % 8) {
			case 0:
			case 1:
				if (r->p.nr_free)
					some_put(r, m);
				break;
			case 2:
			case 3:
				some_pop(r, m);
				break;
			case 4:
			case 5:
				some_push(r, m);
				break;
			case 6:
				virtq__show(&r->ring);
				shown = m->nr_pushed;
				break;
			default:
				some_get(r, m, shown);
			}
			assert_int_equal(r->ring.in_flight, m->nr_out);
		}
		print_message("size %u: %u chains\n", sizes[i], m->nr_seen);
		assert_true(m->nr_seen > 1000);
		free(m);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_init_areas), TEST(test_chain),      TEST(test_table_flags),
		TEST(test_broken),     TEST(test_endless),    TEST(test_not_given_back),
		TEST(test_ids),	       TEST(test_avail_bits), TEST(test_random),
	};

	return cmocka_run_group_tests_name("packed virtq", tests, NULL, NULL);
}
