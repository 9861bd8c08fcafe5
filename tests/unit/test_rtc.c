// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CMOS clock as Linux reads it (mach_get_cmos_time, rtc-cmos).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>

#include <lkvm/x86_map.h>

#include "platform_rig.h"

static void cmos_write(struct platform_rig *f, uint8_t reg, uint8_t val)
{
	assert_true(bus__write(&f->vm.pio, X86_PORT_RTC, &reg, 1));
	assert_true(bus__write(&f->vm.pio, X86_PORT_RTC + 1, &val, 1));
}

static uint8_t cmos_read(struct platform_rig *f, uint8_t reg)
{
	uint8_t val;

	assert_true(bus__write(&f->vm.pio, X86_PORT_RTC, &reg, 1));
	assert_true(bus__read(&f->vm.pio, X86_PORT_RTC + 1, &val, 1));
	return val;
}

static int bcd(struct platform_rig *f, uint8_t reg)
{
	uint8_t val = cmos_read(f, reg);

	assert_in_range(val & 0xf, 0, 9);
	assert_in_range(val >> 4, 0, 9);
	return (val >> 4) * 10 + (val & 0xf);
}

static void test_time_is_utc_now(void **state)
{
	struct platform_rig *f = *state;
	time_t before = time(NULL), after, got;
	struct tm tm = {0};

	assert_int_equal(cmos_read(f, 0x0a) & 0x80, 0); /* no update in progress */
	tm.tm_sec = bcd(f, 0x00);
	tm.tm_min = bcd(f, 0x02);
	tm.tm_hour = bcd(f, 0x04);
	tm.tm_mday = bcd(f, 0x07);
	tm.tm_mon = bcd(f, 0x08) - 1;
	tm.tm_year = bcd(f, 0x32) * 100 + bcd(f, 0x09) - 1900;
	got = timegm(&tm);
	after = time(NULL);
	assert_in_range(got, before, after);
	assert_int_equal(cmos_read(f, 0x06), tm.tm_wday + 1); /* Sunday is 1 */
}

static void test_mode_and_valid(void **state)
{
	struct platform_rig *f = *state;

	/* 24 hours (0x02), BCD (0x04 clear); the driver refuses 12 hours */
	assert_int_equal(cmos_read(f, 0x0b), 0x02);
	assert_int_equal(cmos_read(f, 0x0d), 0x80); /* RAM and time valid */
	assert_int_equal(cmos_read(f, 0x0c), 0); /* no interrupt */
	cmos_write(f, 0x0b, 0x04); /* binary and 12 hours: not taken */
	assert_int_equal(cmos_read(f, 0x0b), 0x02);
	cmos_write(f, 0x0b, 0x82);
	assert_int_equal(cmos_read(f, 0x0b), 0x82);
}

static void test_nvram_is_kept_and_time_is_not_set(void **state)
{
	struct platform_rig *f = *state;

	for (int reg = 0x0e; reg < 0x80; reg++) {
		if (reg != 0x32)
			cmos_write(f, reg, reg ^ 0x5a);
	}
	cmos_write(f, 0x32, 0x11);
	cmos_write(f, 0x09, 0x11);
	for (int reg = 0x0e; reg < 0x80; reg++) {
		if (reg != 0x32)
			assert_int_equal(cmos_read(f, reg), reg ^ 0x5a);
	}
	assert_int_equal(bcd(f, 0x32), 20);
	assert_int_not_equal(cmos_read(f, 0x09), 0x11);
}

static void test_nmi_bit_is_no_address(void **state)
{
	struct platform_rig *f = *state;

	cmos_write(f, 0x80 | 0x40, 0x77);
	assert_int_equal(cmos_read(f, 0x40), 0x77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_time_is_utc_now, platform_rig__setup,
						platform_rig__teardown),
		cmocka_unit_test_setup_teardown(test_mode_and_valid, platform_rig__setup,
						platform_rig__teardown),
		cmocka_unit_test_setup_teardown(test_nvram_is_kept_and_time_is_not_set,
						platform_rig__setup, platform_rig__teardown),
		cmocka_unit_test_setup_teardown(test_nmi_bit_is_no_address, platform_rig__setup,
						platform_rig__teardown),
	};

	return cmocka_run_group_tests_name("rtc", tests, NULL, NULL);
}
