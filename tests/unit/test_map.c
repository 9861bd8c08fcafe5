// SPDX-License-Identifier: GPL-2.0-only
/* The memory map: RAM sizes round the 32-bit gap and near 1 TiB. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <lkvm/x86_map.h>

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

struct range {
	uint64_t start, end;
};

static int disjoint(struct range a, struct range b)
{
	return a.end <= b.start || b.end <= a.start;
}

/* Every rule that holds for every map. */
static void check(const struct x86_map *map, uint64_t ram, unsigned int bits)
{
	const struct range fixed[] = {
		{X86_BAR32_BASE, X86_BAR32_BASE + X86_BAR32_SIZE},
		{X86_ECAM_BASE, X86_ECAM_BASE + X86_ECAM_SIZE},
		{X86_IOAPIC_BASE, X86_IOAPIC_BASE + 0x1000},
		{X86_LAPIC_BASE, X86_LAPIC_BASE + 0x1000},
		{X86_TSS_BASE, X86_TSS_BASE + 0x4000},
		{X86_HT_HOLE_START, X86_HT_HOLE_END},
	};
	struct range bar = {map->bar64_base, map->bar64_base + map->bar64_size};
	uint64_t sum = 0, last = 0;

	assert_in_range(map->nr_ram, 1, X86_MAP_RAM);
	for (unsigned int i = 0; i < map->nr_ram; i++) {
		struct range r = {map->ram[i].base, map->ram[i].base + map->ram[i].size};

		assert_true(map->ram[i].size > 0);
		assert_int_equal(r.start % 4096, 0);
		assert_true(r.start >= last);
		assert_true(r.end <= (uint64_t)1 << bits);
		assert_true(disjoint(r, bar));
		for (size_t k = 0; k < sizeof(fixed) / sizeof(fixed[0]); k++)
			assert_true(disjoint(r, fixed[k]));
		sum += map->ram[i].size;
		last = r.end;
	}
	assert_int_equal(sum, ram);

	assert_true(map->bar64_size >= GIB);
	assert_true(bar.start >= last && bar.start >= X86_HOLE_END);
	assert_true(bar.end <= (uint64_t)1 << bits);
	for (size_t k = 0; k < sizeof(fixed) / sizeof(fixed[0]); k++)
		assert_true(disjoint(bar, fixed[k]));
}

static void test_sizes(void **state)
{
	static const struct {
		uint64_t mib;
		unsigned int nr;
	} size[] = {
		{1, 1},		  {2, 1},	    {128, 1},
		{3071, 1},	  {3072, 1},	    {3073, 2},
		{3328, 2},	  {4095, 2},	    {4096, 2},
		{4097, 2},	  {4224, 2},	    {8192, 2},
		{990 * 1024, 2},  {1011 * 1024, 2}, {1011 * 1024 + 1, 3},
		{1012 * 1024, 3}, {1024 * 1024, 3}, {1500 * 1024, 3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++)
		for (unsigned int bits = 46; bits <= 52; bits += 6) {
			struct x86_map map;
			struct lk_err err = {""};

			assert_int_equal(x86_map__init(&map, size[i].mib * MIB, bits, &err), 0);
			check(&map, size[i].mib * MIB, bits);
			assert_int_equal(map.nr_ram, size[i].nr);
			assert_int_equal(map.ram[0].base, 0);
			if (map.nr_ram > 1)
				assert_int_equal(map.ram[1].base, 4 * GIB);
			if (map.nr_ram > 2)
				assert_int_equal(map.ram[2].base, 1024 * GIB);
		}
}

/* The window goes behind the hole below 1 TiB where RAM reaches up to it. */
static void test_window_behind_hole(void **state)
{
	struct x86_map map;

	(void)state;
	assert_int_equal(x86_map__init(&map, 1011 * GIB, 46, NULL), 0);
	assert_int_equal(map.bar64_base, X86_HT_HOLE_END);
	assert_int_equal(x86_map__init(&map, 990 * GIB, 46, NULL), 0);
	assert_int_equal(map.bar64_base, 991 * GIB);
	assert_int_equal(map.bar64_base + map.bar64_size, X86_HT_HOLE_START);
}

/* The figure in the refusal is the true limit: it fits, one GiB more does not. */
static void test_too_large(void **state)
{
	static const struct {
		unsigned int bits;
		uint64_t most; /* GiB */
	} limit[] = {
		{33, 6}, {36, 62}, {39, 510}, {40, 1010}, {41, 2048 - 14}, {46, 65536 - 14},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(limit) / sizeof(limit[0]); i++) {
		struct lk_err err = {""};
		struct x86_map map;
		char figure[40], bits[20];

		assert_int_equal(x86_map__init(&map, limit[i].most * GIB, limit[i].bits, &err), 0);
		check(&map, limit[i].most * GIB, limit[i].bits);
		assert_int_equal(
			x86_map__init(&map, limit[i].most * GIB + 4096, limit[i].bits, &err),
			-EINVAL);
		snprintf(figure, sizeof(figure), "-m %llu ",
			 (unsigned long long)limit[i].most * 1024);
		snprintf(bits, sizeof(bits), "2^%u ", limit[i].bits);
		assert_non_null(strstr(err.msg, figure));
		assert_non_null(strstr(err.msg, bits));
		assert_int_equal(x86_map__init(&map, UINT64_MAX & ~4095ULL, limit[i].bits, &err),
				 -EINVAL);
	}
}

static void test_bad_arguments(void **state)
{
	struct lk_err err = {""};
	struct x86_map map;

	(void)state;
	assert_int_equal(x86_map__init(&map, 0, 46, &err), -EINVAL);
	assert_int_equal(x86_map__init(&map, MIB - 4096, 46, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "at least 1 MiB"));
	assert_int_equal(x86_map__init(&map, MIB + 1, 46, &err), -EINVAL);
	assert_int_equal(x86_map__init(&map, MIB, 32, &err), -EINVAL);
	/* no memory is little enough, so no -m is named */
	assert_non_null(strstr(err.msg, "at least 33"));
	assert_null(strstr(err.msg, "-m "));
	assert_int_equal(x86_map__init(&map, MIB, 0, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_window_behind_hole),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_bad_arguments),
	};

	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
