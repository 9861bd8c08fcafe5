// SPDX-License-Identifier: GPL-2.0-only
/* Kicks and interrupts of the split ring (virtio 1.2, 2.7.7 and 2.7.10). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/vq_rig.h"

/*
 * 2.7.7.2: an interrupt where the batch that went from @old to @new contains
 * the entry used_event; counted here one by one, all the way round.
 */
static bool crosses(uint16_t event, uint16_t old, uint16_t new)
{
	for (; old != new; old++)
		if (old == event)
			return true;
	return false;
}

static void test_used_event(void **state)
{
	static const int offset[] = {-0x7fff, -2, -1, 0, 1, 2, 3, 4, 0x7fff};
	struct rig *r = *state;
	unsigned int start, nr, i, k;

	for (k = 0; k < SIZE; k++)
		vqd__desc(&r->d, k, VQD_DATA, 1, W, 0);
	for (start = 0xfffa; start != 4; start = (start + 1) & 0xffff) {
		for (nr = 0; nr <= SIZE; nr++) {
			for (i = 0; i < sizeof(offset) / sizeof(offset[0]); i++) {
				uint16_t event = start + offset[i];

				vqd__start_at(&r->d, start);
				rig__start(r);
				r->d.avail->ring[SIZE] = event;
				r->d.avail->flags = VRING_AVAIL_F_NO_INTERRUPT; /* is ignored */
				for (k = 0; k < nr; k++) {
					offer(r, k);
					assert_int_equal(pop(r), 1);
					virtq__push(&r->ring, k, 1);
				}
				assert_int_equal(virtq__publish(&r->ring),
						 crosses(event, start, start + nr));
				assert_int_equal(r->d.used->idx, (uint16_t)(start + nr));
				assert_false(virtq__publish(&r->ring)); /* nothing new */
			}
		}
	}
}

static void test_no_interrupt_flag(void **state)
{
	struct rig *r = *state;
	unsigned int flag;

	r->d.layout.event_idx = false;
	rig__start(r);
	vqd__desc(&r->d, 0, VQD_DATA, 1, W, 0);
	for (flag = 0; flag < 2; flag++) {
		assert_false(virtq__publish(&r->ring)); /* nothing pushed */
		r->d.avail->flags = flag;
		r->d.avail->ring[SIZE] = 0x1234; /* used_event means nothing */
		offer(r, 0);
		assert_int_equal(pop(r), 1);
		virtq__push(&r->ring, 0, 1);
		assert_int_equal(virtq__publish(&r->ring), !flag);
	}
}

static void test_kicks(void **state)
{
	struct rig *r = *state;
	unsigned int event_idx, start, k;

	for (k = 0; k < SIZE; k++)
		vqd__desc(&r->d, k, VQD_DATA, 1, W, 0);
	for (event_idx = 0; event_idx < 2; event_idx++) {
		for (start = 0xfff8; start != 4; start = (start + 1) & 0xffff) {
			r->d.layout.event_idx = event_idx;
			r->d.used->flags = 0;
			vqd__start_at(&r->d, start);
			rig__start(r);

			assert_false(virtq__kicks_on(&r->ring, 1)); /* may sleep */
			vqd__put(&r->d, 0);
			assert_true(vqd__publish(&r->d)); /* the sleeper is woken */

			virtq__kicks_off(&r->ring);
			vqd__put(&r->d, 1);
			assert_false(vqd__publish(&r->d)); /* it is awake */
			assert_int_equal(pop(r), 1);
			assert_true(virtq__kicks_on(&r->ring, 1)); /* look again */
			assert_int_equal(pop(r), 1);
			assert_int_equal(pop(r), 0);
			assert_false(virtq__kicks_on(&r->ring, 1));
			vqd__put(&r->d, 2);
			vqd__put(&r->d, 3);
			assert_true(vqd__publish(&r->d)); /* two at once, also round the wrap */
			/* 2.7.10.2: with EVENT_IDX the flags stay 0 */
			assert_int_equal(r->d.used->flags, 0);
		}
	}
}

/* The @ahead-th entry brings the kick, and no other; where it is there already, none does. */
static void check_ahead(struct rig *r, uint16_t start, unsigned int ahead, unsigned int before)
{
	unsigned int k;

	vqd__start_at(&r->d, start);
	rig__start(r);
	for (k = 0; k < before; k++)
		offer(r, k);
	assert_int_equal(virtq__kicks_on(&r->ring, ahead), before >= ahead);
	for (; k < SIZE; k++) {
		vqd__put(&r->d, k);
		assert_int_equal(vqd__publish(&r->d), k + 1 == ahead);
	}
	assert_true(virtq__kicks_on(&r->ring, ahead));
}

static void test_kicks_ahead(void **state)
{
	struct rig *r = *state;
	unsigned int start, ahead, before;

	for (start = 0xfff0; start != 4; start = (start + 1) & 0xffff)
		for (ahead = 1; ahead <= SIZE; ahead++)
			for (before = 0; before <= SIZE; before++)
				check_ahead(r, start, ahead, before);

	/* an index that jumped is for virtq__pop() to find */
	r->d.avail->idx += SIZE;
	assert_true(virtq__kicks_on(&r->ring, SIZE));

	/* without EVENT_IDX there is only the next one */
	r->d.layout.event_idx = false;
	vqd__start_at(&r->d, 0xffff);
	rig__start(r);
	assert_false(virtq__kicks_on(&r->ring, 5));
	vqd__put(&r->d, 0);
	assert_true(vqd__publish(&r->d));
	assert_true(virtq__kicks_on(&r->ring, 5));
}

/* Awake for a completion, the device has no use for the kick that it asked for. */
static void test_kicks_taken_back(void **state)
{
	struct rig *r = *state;
	unsigned int start, ahead, k;

	for (start = 0xfff0; start != 4; start = (start + 1) & 0xffff) {
		for (ahead = 1; ahead <= SIZE; ahead++) {
			vqd__start_at(&r->d, start);
			rig__start(r);
			assert_false(virtq__kicks_on(&r->ring, ahead));
			virtq__kicks_off(&r->ring);
			for (k = 0; k < SIZE; k++) {
				vqd__put(&r->d, k);
				assert_false(vqd__publish(&r->d));
			}
		}
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_used_event),	TEST(test_no_interrupt_flag), TEST(test_kicks),
		TEST(test_kicks_ahead), TEST(test_kicks_taken_back),
	};

	return cmocka_run_group_tests_name("virtq events", tests, NULL, NULL);
}
