/* SPDX-License-Identifier: GPL-2.0-only */
/* Buses: who answers, what nobody answers, and ranges that move under load. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <lkvm/bus.h>

struct probe {
	uint8_t id; /* what a read gives */
	atomic_uint reads, writes;
	uint64_t off;
	unsigned int len;
	uint64_t value;
};

static void probe_read(void *dev, uint64_t off, void *data, unsigned int len)
{
	struct probe *p = dev;

	p->off = off;
	p->len = len;
	memset(data, p->id, len);
	atomic_fetch_add(&p->reads, 1);
}

static void probe_write(void *dev, uint64_t off, const void *data, unsigned int len)
{
	struct probe *p = dev;

	p->off = off;
	p->len = len;
	p->value = 0;
	memcpy(&p->value, data, len);
	atomic_fetch_add(&p->writes, 1);
}

static const struct bus_ops probe_ops = {.read = probe_read, .write = probe_write};

static struct bus_range range_of(struct probe *p, uint64_t base, uint64_t size)
{
	return (struct bus_range) {.base = base, .size = size, .ops = &probe_ops, .dev = p};
}

static void test_access(void **state)
{
	struct probe p = {.id = 0x11};
	struct bus_range r = range_of(&p, 0x1000, 0x10);
	struct bus bus;
	uint64_t v = 0;

	(void)state;
	assert_int_equal(bus__init(&bus), 0);
	assert_int_equal(bus__add(&bus, &r), 0);
	assert_true(bus__read(&bus, 0x1008, &v, 4));
	assert_int_equal(v, 0x11111111);
	assert_int_equal(p.off, 8);
	assert_int_equal(p.len, 4);
	v = 0x1122334455667788;
	assert_true(bus__write(&bus, 0x1008, &v, 8));
	assert_int_equal(p.off, 8);
	assert_true(p.value == v);
	bus__fini(&bus);
}

static void test_no_answer(void **state)
{
	static const unsigned int odd[] = {0, 3, 5, 6, 7};
	struct probe p = {.id = 0x11};
	struct bus_range r = range_of(&p, 0x1000, 0x10);
	struct bus bus;
	uint64_t v;
	unsigned int i;

	(void)state;
	assert_int_equal(bus__init(&bus), 0);
	assert_int_equal(bus__add(&bus, &r), 0);
	v = 0;
	assert_false(bus__read(&bus, 0xfff, &v, 1));
	assert_int_equal(v, 0xff); /* one byte of ones, no more */
	v = 0;
	assert_false(bus__read(&bus, 0x1010, &v, 4));
	assert_int_equal(v, 0xffffffff);
	/* straddling either end */
	assert_false(bus__read(&bus, 0x100f, &v, 2));
	assert_false(bus__read(&bus, 0xfff, &v, 2));
	assert_false(bus__write(&bus, 0x100d, &v, 4));
	/* at the end of the address space */
	assert_false(bus__read(&bus, UINT64_MAX, &v, 8));
	for (i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		assert_false(bus__read(&bus, 0x1000, &v, odd[i]));
		assert_false(bus__write(&bus, 0x1000, &v, odd[i]));
	}
	assert_int_equal(p.reads, 0);
	assert_int_equal(p.writes, 0);
	bus__fini(&bus);
}

/* A device with one direction only: the other one is as if nobody were there. */
static void test_missing_handler(void **state)
{
	static const struct bus_ops none;
	struct bus_range r = {.base = 0, .size = 4, .ops = &none};
	struct bus bus;
	uint32_t v = 0;

	(void)state;
	assert_int_equal(bus__init(&bus), 0);
	assert_int_equal(bus__add(&bus, &r), 0);
	assert_true(bus__read(&bus, 0, &v, 4));
	assert_int_equal(v, 0xffffffff);
	assert_true(bus__write(&bus, 0, &v, 4));
	bus__fini(&bus);
}

static void test_overlap(void **state)
{
	struct probe a = {.id = 1}, b = {.id = 2}, c = {.id = 3};
	struct bus_range ra = range_of(&a, 0xcf9, 1), rb = range_of(&b, 0xcf8, 8),
			 rc = range_of(&c, 0xcf8, 8);
	struct bus bus;
	uint8_t v[4];

	(void)state;
	assert_int_equal(bus__init(&bus), 0);
	assert_int_equal(bus__add(&bus, &ra), 0);
	assert_int_equal(bus__add(&bus, &rb), 0);
	assert_int_equal(bus__add(&bus, &rc), 0);
	bus__read(&bus, 0xcf9, v, 1);
	assert_int_equal(v[0], 1); /* first one added */
	bus__read(&bus, 0xcf8, v, 4);
	assert_int_equal(v[0], 2); /* the first that holds the whole access */

	/* Removing one keeps the order of the others. */
	assert_int_equal(bus__remove(&bus, &ra), 0);
	bus__read(&bus, 0xcf9, v, 1);
	assert_int_equal(v[0], 2);
	assert_int_equal(bus__remove(&bus, &rb), 0);
	bus__read(&bus, 0xcf9, v, 1);
	assert_int_equal(v[0], 3);
	assert_int_equal(bus__remove(&bus, &rb), -ENOENT);
	bus__fini(&bus);
}

static void test_limits(void **state)
{
	struct probe p = {.id = 1};
	struct bus_range empty = range_of(&p, 0x1000, 0), wrap = range_of(&p, -8ULL, 9),
			 last = range_of(&p, -8ULL, 8), r;
	struct bus bus;
	unsigned int i;
	uint64_t v;

	(void)state;
	assert_int_equal(bus__init(&bus), 0);
	assert_int_equal(bus__add(&bus, &empty), -EINVAL);
	assert_int_equal(bus__add(&bus, &wrap), -EINVAL);
	assert_int_equal(bus__add(&bus, &last), 0); /* ends at 2^64 */
	assert_true(bus__read(&bus, -8ULL, &v, 8));
	assert_false(bus__read(&bus, -4ULL, &v, 8));
	for (i = 1; i < BUS_MAX_RANGES; i++) {
		r = range_of(&p, i * 16, 16);
		assert_int_equal(bus__add(&bus, &r), 0);
	}
	r = range_of(&p, 0x100000, 16);
	assert_int_equal(bus__add(&bus, &r), -ENOSPC);
	bus__fini(&bus);
}

/* --- a BAR that moves while other vCPUs use it --- */

#define MOVES 2000

struct shared {
	struct bus bus;
	atomic_bool done;
	atomic_uint wrong; /* neither the device's value nor all ones */
	atomic_uint fixed_missed;
};

static void quiet_read(void *dev, uint64_t off, void *data, unsigned int len)
{
	(void)off;
	memset(data, *(const uint8_t *)dev, len);
}

static const struct bus_ops quiet_ops = {.read = quiet_read};

static void *reader(void *arg)
{
	struct shared *s = arg;
	uint32_t v;

	while (!atomic_load(&s->done)) {
		bus__read(&s->bus, 0x2000, &v, 4);
		if (v != 0x22222222 && v != 0xffffffff)
			atomic_fetch_add(&s->wrong, 1);
		if (!bus__read(&s->bus, 0x1000, &v, 4) || v != 0x11111111)
			atomic_fetch_add(&s->fixed_missed, 1);
	}
	return NULL;
}

static void test_move_under_load(void **state)
{
	static const uint8_t fixed_id = 0x11, moving_id = 0x22;
	struct bus_range fixed = {0x1000, 4, &quiet_ops, (void *)&fixed_id};
	struct bus_range moving = {0x2000, 4, &quiet_ops, (void *)&moving_id};
	struct shared s = {.done = false};
	pthread_t thread[2];
	unsigned int i;

	(void)state;
	assert_int_equal(bus__init(&s.bus), 0);
	assert_int_equal(bus__add(&s.bus, &moving), 0);
	assert_int_equal(bus__add(&s.bus, &fixed), 0);
	for (i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, reader, &s), 0);
	/* Readers never pause: the writer gets its turn all the same. */
	for (i = 0; i < MOVES; i++) {
		assert_int_equal(bus__remove(&s.bus, &moving), 0);
		assert_int_equal(bus__add(&s.bus, &moving), 0);
	}
	atomic_store(&s.done, true);
	for (i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(s.wrong, 0);
	assert_int_equal(s.fixed_missed, 0);
	bus__fini(&s.bus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_access),		cmocka_unit_test(test_no_answer),
		cmocka_unit_test(test_missing_handler), cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_limits),		cmocka_unit_test(test_move_under_load),
	};

	return cmocka_run_group_tests_name("bus", tests, NULL, NULL);
}
