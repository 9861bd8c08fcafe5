// SPDX-License-Identifier: GPL-2.0-only
/* Histograms of powers of two: buckets, percentiles, merging. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <lkvm/hist.h>

/* hist.h: bucket n has 2^(n-1) to 2^n - 1, bucket 0 the value 0, the last one all above. */
static void test_buckets(void **state)
{
	(void)state;
	assert_int_equal(hist__bucket(0), 0);
	assert_int_equal(hist__bucket(1), 1);
	for (unsigned int n = 1; n < HIST_BUCKETS; n++) {
		assert_int_equal(hist__bucket(UINT64_C(1) << (n - 1)), n);
		assert_int_equal(hist__bucket((UINT64_C(1) << n) - 1), n);
	}
	assert_int_equal(hist__bucket(UINT64_C(1) << (HIST_BUCKETS - 1)), HIST_BUCKETS - 1);
	assert_int_equal(hist__bucket(UINT64_MAX), HIST_BUCKETS - 1);
}

static void test_empty(void **state)
{
	struct hist h = {0};

	(void)state;
	assert_int_equal(hist__count(&h), 0);
	assert_int_equal(hist__permille(&h, 0), 0);
	assert_int_equal(hist__permille(&h, 500), 0);
	assert_int_equal(hist__permille(&h, 1000), 0);
}

/* All alike: whatever is asked for lies between the bucket's low end and the maximum, the value. */
static void test_one_value(void **state)
{
	static const uint64_t values[] = {0, 1, 2, 3, 4, 1000, 1024, 123456789, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct hist h = {0};

		hist__add(&h, values[i]);
		assert_int_equal(hist__count(&h), 1);
		assert_int_equal(h.max, values[i]);
		/* one value: it is every permille, and its rank is the last in its bucket */
		assert_true(hist__permille(&h, 1) == values[i]);
		assert_true(hist__permille(&h, 500) == values[i]);
		assert_true(hist__permille(&h, 1000) == values[i]);
	}
}

/* 0 and 1 have buckets of their own: nothing is interpolated, the ranks are exact. */
static void test_ranks(void **state)
{
	struct hist h = {0};

	(void)state;
	for (int i = 0; i < 990; i++)
		hist__add(&h, 0);
	for (int i = 0; i < 10; i++)
		hist__add(&h, 1);
	assert_int_equal(hist__count(&h), 1000);
	assert_int_equal(h.sum, 10);
	assert_int_equal(hist__permille(&h, 990), 0); /* 990 of 1000 do not exceed 0 */
	assert_int_equal(hist__permille(&h, 991), 1);
	assert_int_equal(hist__permille(&h, 999), 1);

	/* the rank is rounded up: the median of three is the second */
	h = (struct hist) {0};
	hist__add(&h, 0);
	hist__add(&h, 1);
	hist__add(&h, 1);
	assert_int_equal(hist__permille(&h, 333), 0);
	assert_int_equal(hist__permille(&h, 334), 1);
	assert_int_equal(hist__permille(&h, 500), 1);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Against the sorted values themselves: the true one lies in the same bucket, so
 * what is interpolated differs from it by less than a factor of two.
 */
static void test_against_sorted(void **state)
{
	static const unsigned int permilles[] = {1, 10, 100, 500, 900, 990, 999, 1000};
	enum {
		N = 10000
	};
	static uint64_t values[N];
	uint64_t x = 88172645463325252ULL; /* xorshift64 */
	struct hist h = {0};

	(void)state;
	for (int i = 0; i < N; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		values[i] = 1 + x % (UINT64_C(1) << (x >> 58) % 30);
		hist__add(&h, values[i]);
	}
	qsort(values, N, sizeof(values[0]), compare);
	for (size_t i = 0; i < sizeof(permilles) / sizeof(permilles[0]); i++) {
		size_t rank = (N * permilles[i] + 999) / 1000;
		uint64_t want = values[rank - 1], got = hist__permille(&h, permilles[i]);

		assert_int_equal(hist__bucket(got), hist__bucket(want));
		assert_true(got <= h.max);
	}
	assert_true(hist__permille(&h, 1000) == values[N - 1]);
}

/* 1024 values, one of each in [1024, 2048): the true permille is known, and so evenly spread
 * the interpolation has it to within one.
 */
static void test_interpolation(void **state)
{
	struct hist h = {0};

	(void)state;
	for (uint64_t v = 1024; v < 2048; v++)
		hist__add(&h, v);
	for (unsigned int p = 1; p <= 1000; p++) {
		uint64_t want = 1024 + (1024 * p + 999) / 1000 - 1;
		uint64_t got = hist__permille(&h, p);

		assert_in_range(got, want - 1, want + 1);
	}
}

/* More values than 2^64 / 1000: the rank must not overflow. */
static void test_large_counts(void **state)
{
	struct hist h = {.max = 1};

	(void)state;
	h.n[0] = UINT64_C(1) << 62;
	h.n[1] = UINT64_C(1) << 62;
	assert_int_equal(hist__permille(&h, 500), 0);
	assert_int_equal(hist__permille(&h, 501), 1);
}

static void test_merge(void **state)
{
	struct hist a = {0}, b = {0}, both = {0};

	(void)state;
	for (uint64_t v = 0; v < 100; v++) {
		hist__add(v % 3 ? &a : &b, v * v);
		hist__add(&both, v * v);
	}
	hist__merge(&a, &b);
	assert_memory_equal(&a, &both, sizeof(a));
	/* nothing added, nothing changed: the maximum too */
	b = (struct hist) {0};
	hist__merge(&a, &b);
	assert_memory_equal(&a, &both, sizeof(a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets),	       cmocka_unit_test(test_empty),
		cmocka_unit_test(test_one_value),      cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_against_sorted), cmocka_unit_test(test_interpolation),
		cmocka_unit_test(test_large_counts),   cmocka_unit_test(test_merge),
	};

	return cmocka_run_group_tests_name("hist", tests, NULL, NULL);
}
