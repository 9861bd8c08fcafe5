// SPDX-License-Identifier: GPL-2.0-only
/* Kicks and interrupts of the packed ring, as the two event areas ask for them (virtio 1.2, 2.8.8). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/vqp_rig.h"

/* @nr more go through; the driver takes them where @take says so. */
static void pass(struct rig *r, unsigned int nr, bool take)
{
	unsigned int k;
	uint32_t id, len;

	for (k = 0; k < nr; k++) {
		assert_true(put_one(r, k));
		assert_int_equal(pop(r), 1);
		virtq__push(&r->ring, k, 1);
	}
	virtq__show(&r->ring);
	while (take && vqp__get(&r->p, &id, &len))
		;
}

static void check_event(struct rig *r, unsigned int at, unsigned int nr, struct vqp_pos event)
{
	uint16_t off_wrap = vqp_pos__event(event);
	bool want;

	restart(r, r->p.d.layout.size);
	turn(r, at);
	vqp__event(&r->p, VRING_PACKED_EVENT_FLAG_DESC, off_wrap);
	pass(r, nr, false);
	want = vqp__crossed(&r->p, off_wrap, r->p.avail, nr);
	assert_int_equal(virtq__interrupt_due(&r->ring), want);
	assert_false(virtq__interrupt_due(&r->ring)); /* nothing new */
}

/* Every event against every batch, counted descriptor by descriptor. */
static void test_used_event(void **state)
{
	static const uint16_t sizes[] = {1, 2, 5, 8};
	struct rig *r = *state;
	unsigned int i, at, nr, e;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		restart(r, sizes[i]);
		for (at = 0; at < 2U * sizes[i]; at++)
			for (nr = 0; nr <= sizes[i]; nr++)
				for (e = 0; e < 2U * sizes[i]; e++)
					check_event(r, at, nr, (struct vqp_pos) {e / 2, e % 2});
	}
}

/* The device asks late: entries of more than a round, counted as one batch. */
static void test_used_event_late(void **state)
{
	struct rig *r = *state;
	unsigned int rounds, e;

	for (rounds = 1; rounds <= 3; rounds++) {
		for (e = 0; e < 2 * SIZE; e++) {
			uint16_t off_wrap = e / 2 | (e % 2 ? VQP_WRAP : 0);
			unsigned int k;
			bool want;

			restart(r, SIZE);
			vqp__event(&r->p, VRING_PACKED_EVENT_FLAG_DESC, off_wrap);
			for (k = 0; k < rounds; k++)
				pass(r, SIZE - 1, true);
			want = vqp__crossed(&r->p, off_wrap, r->p.avail, rounds * (SIZE - 1));
			assert_int_equal(virtq__interrupt_due(&r->ring), want);
			assert_false(virtq__interrupt_due(&r->ring));
		}
	}
}

/* 2.8.8: DESC needs EVENT_IDX; what is no wish to be left alone is none. */
static void test_event_flags(void **state)
{
	static const struct {
		uint16_t flags, off_wrap;
		bool event_idx, want;
	} t[] = {
		{0, 0x1234, true, true},  {0, 0x1234, false, true},  {1, 0, true, false},
		{1, 0, false, false},	  {2, VQP_WRAP, true, true}, {2, 3 | VQP_WRAP, true, false},
		{2, 0, true, false},	  {2, 3, false, true}, /* not negotiated */
		{3, 3, true, true},	  {3, 3, false, true}, /* reserved */
		{0xfffd, 0, true, false}, {0xfffc, 0, true, true}, /* other bits reserved */
		{2, SIZE, true, true},	  {2, 0x7fff, true, true}, /* no such descriptor */
		{2, 0xffff, true, true},
	};
	struct rig *r = *state;
	unsigned int i;

	for (i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		print_message("event flags, line %u\n", i);
		r->p.d.layout.event_idx = t[i].event_idx;
		restart(r, SIZE);
		assert_false(virtq__publish(&r->ring)); /* nothing pushed */
		vqp__event(&r->p, t[i].flags, t[i].off_wrap);
		pass(r, 3, false);
		assert_int_equal(virtq__interrupt_due(&r->ring), t[i].want);
	}
}

static void test_kicks(void **state)
{
	struct rig *r = *state;
	unsigned int event_idx, at;

	for (event_idx = 0; event_idx < 2; event_idx++) {
		for (at = 0; at < 2 * SIZE; at++) {
			r->p.d.layout.event_idx = event_idx;
			restart(r, SIZE);
			turn(r, at);

			virtq__kicks_off(&r->ring);
			assert_false(virtq__kicks_on(&r->ring, 1)); /* may sleep */
			assert_true(put_one(r, 0));
			assert_true(vqp__kick(&r->p)); /* the sleeper is woken */
			virtq__kicks_off(&r->ring);
			assert_true(put_one(r, 1));
			assert_false(vqp__kick(&r->p)); /* it is awake */
			assert_int_equal(pop(r), 1);
			assert_true(virtq__kicks_on(&r->ring, 1)); /* look again */
			assert_int_equal(pop(r), 1);
			assert_false(virtq__kicks_on(&r->ring, 1));
			virtq__kicks_off(&r->ring); /* awake for a completion */
			assert_true(put_one(r, 2));
			assert_false(vqp__kick(&r->p));
			assert_true(virtq__kicks_on(&r->ring, 1));
			assert_int_equal(pop(r), 1);
			assert_false(virtq__kicks_on(&r->ring, 1));
			assert_true(put_one(r, 3));
			assert_true(put_one(r, 4));
			assert_true(vqp__kick(&r->p)); /* two at once, also round the wrap */
		}
	}
}

/* The @ahead-th descriptor brings the kick, and no other; where it is there already, none does. */
static void check_ahead(struct rig *r, unsigned int at, unsigned int ahead, unsigned int before)
{
	unsigned int k;

	restart(r, SIZE);
	turn(r, at);
	for (k = 0; k < before; k++)
		assert_true(put_one(r, k));
	vqp__kick(&r->p);
	assert_int_equal(virtq__kicks_on(&r->ring, ahead), before >= ahead);
	for (; k < SIZE; k++) {
		assert_true(put_one(r, k));
		assert_int_equal(vqp__kick(&r->p), k + 1 == ahead);
	}
	assert_true(virtq__kicks_on(&r->ring, ahead));
}

static void test_kicks_ahead(void **state)
{
	struct rig *r = *state;
	unsigned int at, ahead, before;

	for (at = 0; at < 2 * SIZE; at++)
		for (ahead = 1; ahead <= SIZE; ahead++)
			for (before = 0; before <= SIZE; before++)
				check_ahead(r, at, ahead, before);

	/* without EVENT_IDX there is only the next one */
	r->p.d.layout.event_idx = false;
	restart(r, SIZE);
	assert_false(virtq__kicks_on(&r->ring, 5));
	assert_int_equal(*(uint32_t *)r->p.device, 0);
	assert_true(put_one(r, 0));
	assert_true(vqp__kick(&r->p));
	assert_true(virtq__kicks_on(&r->ring, 5));
}

/* The tail of a chain is available before its head: that is no reason to stay awake. */
static void test_kicks_half_chain(void **state)
{
	struct rig *r = *state;
	struct vqp_pos second;
	unsigned int at;

	for (at = 0; at < 2 * SIZE; at++) {
		restart(r, SIZE);
		turn(r, at);
		second = r->p.avail;
		vqp_pos__advance(&r->p, &second, 1);
		vqp__desc(&r->p, second, VQD_DATA, 1, 0, W);
		assert_false(virtq__kicks_on(&r->ring, 2));
		assert_int_equal(pop(r), 0);
		vqp__desc(&r->p, r->p.avail, VQD_DATA, 1, 0, N);
		vqp_pos__advance(&r->p, &r->p.avail, 2);
		r->p.added = 2;
		assert_true(vqp__kick(&r->p));
		assert_true(virtq__kicks_on(&r->ring, 2));
		assert_int_equal(pop(r), 1);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_used_event), TEST(test_used_event_late), TEST(test_event_flags),
		TEST(test_kicks),      TEST(test_kicks_ahead),	   TEST(test_kicks_half_chain),
	};

	return cmocka_run_group_tests_name("packed virtq events", tests, NULL, NULL);
}
