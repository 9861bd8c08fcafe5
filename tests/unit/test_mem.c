/* SPDX-License-Identifier: GPL-2.0-only */
/* Guest memory: every edge of the checked accessor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <lkvm/mem.h>

#define PAGE 4096UL
#define MIB (1024UL * 1024)
#define GIB (1024UL * MIB)

/* RAM below and above a hole, the second one not in step with 2 MiB. */
static const struct guest_region layout[] = {
	{.gpa = 0, .size = 4 * MIB},
	{.gpa = 4 * GIB + PAGE, .size = 3 * PAGE},
	{.gpa = 4 * GIB + 4 * PAGE, .size = 2 * MIB}, /* follows without a hole */
};

static int setup(void **state)
{
	struct guest_mem *mem = calloc(1, sizeof(*mem));
	struct lk_err err;

	assert_non_null(mem);
	assert_int_equal(guest_mem__init(mem, layout, 3, &err), 0);
	*state = mem;
	return 0;
}

static int teardown(void **state)
{
	guest_mem__fini(*state);
	free(*state);
	return 0;
}

static void test_placement(void **state)
{
	struct guest_mem *mem = *state;
	unsigned int i;

	assert_int_equal(mem->nr, 3);
	for (i = 0; i < 3; i++) {
		assert_int_equal(mem->region[i].gpa, layout[i].gpa);
		assert_int_equal(mem->region[i].size, layout[i].size);
		/* Or KVM could never use a huge page. */
		assert_int_equal((uintptr_t)mem->region[i].hva % (2 * MIB),
				 layout[i].gpa % (2 * MIB));
		/* Both ends are real memory. */
		memset(mem->region[i].hva, 1, PAGE);
		memset((char *)mem->region[i].hva + layout[i].size - PAGE, 1, PAGE);
	}
}

static void test_inside(void **state)
{
	struct guest_mem *mem = *state;
	char *low = mem->region[0].hva, *high = mem->region[1].hva;

	assert_ptr_equal(guest_mem__ptr(mem, 0, 1), low);
	assert_ptr_equal(guest_mem__ptr(mem, 0, 4 * MIB), low);
	assert_ptr_equal(guest_mem__ptr(mem, 4 * MIB - 1, 1), low + 4 * MIB - 1);
	assert_ptr_equal(guest_mem__ptr(mem, 4 * GIB + PAGE, 3 * PAGE), high);
	assert_ptr_equal(guest_mem__ptr(mem, 4 * GIB + 4 * PAGE - 1, 1), high + 3 * PAGE - 1);
}

static void test_outside(void **state)
{
	struct guest_mem *mem = *state;

	/* one byte over the end of a region, however it is reached */
	assert_null(guest_mem__ptr(mem, 4 * MIB, 1));
	assert_null(guest_mem__ptr(mem, 4 * MIB - 1, 2));
	assert_null(guest_mem__ptr(mem, 0, 4 * MIB + 1));
	/* the hole, and across it */
	assert_null(guest_mem__ptr(mem, 2 * GIB, 1));
	assert_null(guest_mem__ptr(mem, 0, 4 * GIB + 2 * PAGE));
	assert_null(guest_mem__ptr(mem, 4 * GIB + PAGE - 1, 1));
	assert_null(guest_mem__ptr(mem, 4 * GIB + PAGE - 1, 2));
	/* two regions that touch are still two mappings */
	assert_null(guest_mem__ptr(mem, 4 * GIB + 4 * PAGE - 1, 2));
	/* behind all of it */
	assert_null(guest_mem__ptr(mem, 4 * GIB + 4 * PAGE + 2 * MIB, 1));
}

static void test_wrap_and_empty(void **state)
{
	struct guest_mem *mem = *state;

	/* gpa + len wraps round 2^64 to something that looks valid */
	assert_null(guest_mem__ptr(mem, UINT64_MAX, 2));
	assert_null(guest_mem__ptr(mem, UINT64_MAX, 1));
	assert_null(guest_mem__ptr(mem, PAGE, UINT64_MAX));
	assert_null(guest_mem__ptr(mem, PAGE, UINT64_MAX - PAGE + 1));
	assert_null(guest_mem__ptr(mem, 4 * GIB + 2 * PAGE, UINT64_MAX - 4 * GIB));
	assert_null(guest_mem__ptr(mem, UINT64_MAX - PAGE + 1, 2 * PAGE));
	assert_null(guest_mem__ptr(mem, 0, 0));
	assert_null(guest_mem__ptr(mem, 4 * MIB, 0));
}

static void test_copies(void **state)
{
	struct guest_mem *mem = *state;
	char buf[8] = "1234567";

	assert_int_equal(guest_mem__write(mem, 4 * MIB - 8, buf, 8), 0);
	memset(buf, 0, sizeof(buf));
	assert_int_equal(guest_mem__read(mem, 4 * MIB - 8, buf, 8), 0);
	assert_string_equal(buf, "1234567");

	/* refused as a whole: neither side changes */
	assert_int_equal(guest_mem__read(mem, 4 * MIB - 4, buf, 8), -EFAULT);
	assert_string_equal(buf, "1234567");
	assert_int_equal(guest_mem__write(mem, 4 * MIB - 4, "XXXXXXX", 8), -EFAULT);
	assert_int_equal(guest_mem__read(mem, 4 * MIB - 8, buf, 8), 0);
	assert_string_equal(buf, "1234567");
	assert_int_equal(guest_mem__read(mem, 0, buf, 0), -EFAULT);
}

/* A map that cannot be right is refused before anything is reserved. */
static void test_bad_maps(void **state)
{
	static const struct guest_region bad[][2] = {
		{{.gpa = 0, .size = 0}, {.gpa = MIB, .size = MIB}},
		{{.gpa = 1, .size = MIB}, {.gpa = 2 * MIB, .size = MIB}},
		{{.gpa = 0, .size = MIB + 1}, {.gpa = 2 * MIB, .size = MIB}},
		{{.gpa = 0, .size = MIB}, {.gpa = MIB - PAGE, .size = MIB}}, /* overlap */
		{{.gpa = MIB, .size = MIB}, {.gpa = 0, .size = MIB}}, /* descending */
		{{.gpa = 0, .size = MIB}, {.gpa = -PAGE, .size = 2 * PAGE}}, /* wraps */
	};
	struct guest_mem mem;
	struct lk_err err;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(guest_mem__init(&mem, bad[i], 2, &err), -EINVAL);
		assert_null(mem.base);
	}
	assert_int_equal(guest_mem__init(&mem, layout, 0, &err), -EINVAL);
	assert_int_equal(guest_mem__init(&mem, layout, GUEST_MEM_REGIONS + 1, &err), -EINVAL);
}

/* More than any address space has: an error with a remedy, and no leak. */
static void test_too_large(void **state)
{
	static const struct guest_region huge = {.gpa = 0, .size = 1UL << 62};
	struct guest_mem mem;
	struct lk_err err = {.msg = ""};

	(void)state;
	assert_int_equal(guest_mem__init(&mem, &huge, 1, &err), -ENOMEM);
	assert_null(mem.base);
	assert_non_null(strstr(err.msg, "-m"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_placement, setup, teardown),
		cmocka_unit_test_setup_teardown(test_inside, setup, teardown),
		cmocka_unit_test_setup_teardown(test_outside, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrap_and_empty, setup, teardown),
		cmocka_unit_test_setup_teardown(test_copies, setup, teardown),
		cmocka_unit_test(test_bad_maps),
		cmocka_unit_test(test_too_large),
	};

	return cmocka_run_group_tests_name("mem", tests, NULL, NULL);
}
