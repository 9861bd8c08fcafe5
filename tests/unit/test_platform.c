// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ways out of the machine, and a keyboard controller that answers a probe.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/eventfd.h>

#include <lkvm/x86_map.h>

#include "platform_rig.h"

static void out(struct platform_rig *f, uint16_t port, uint8_t val)
{
	assert_true(bus__write(&f->vm.pio, port, &val, 1));
}

static uint8_t in(struct platform_rig *f, uint16_t port)
{
	uint8_t val;

	assert_true(bus__read(&f->vm.pio, port, &val, 1));
	return val;
}

static void ends(struct platform_rig *f, enum run_end end, int code)
{
	assert_int_equal(f->vm.run.end, end);
	assert_int_equal(f->vm.run.code, code);
}

static void test_i8042_probe(void **state)
{
	struct platform_rig *f = *state;

	assert_int_equal(in(f, 0x64) & 0x03, 0); /* nothing to flush, not busy */
	out(f, 0x64, 0xaa);
	assert_int_equal(in(f, 0x64) & 0x01, 0x01);
	assert_int_equal(in(f, 0x60), 0x55);
	assert_int_equal(in(f, 0x64) & 0x01, 0);
	out(f, 0x64, 0x60);
	out(f, 0x60, 0x74);
	out(f, 0x64, 0x20);
	assert_int_equal(in(f, 0x60), 0x74);
	out(f, 0x64, 0xad); /* keyboard off: bit 4 of the command byte */
	out(f, 0x64, 0xae);
	out(f, 0x64, 0x20);
	assert_int_equal(in(f, 0x60), 0x64);
	/* no mouse port: loop without the mark for it, and a test that fails */
	out(f, 0x64, 0xd3);
	out(f, 0x60, 0x5a);
	assert_int_equal(in(f, 0x64) & 0x21, 0x01);
	assert_int_equal(in(f, 0x60), 0x5a);
	out(f, 0x64, 0xa9);
	assert_int_equal(in(f, 0x60), 0x01);
	/* a byte for a keyboard that is not there leaves nothing behind */
	out(f, 0x60, 0xf2);
	assert_int_equal(in(f, 0x64) & 0x01, 0);
	ends(f, RUN_END_NONE, 0);
}

static void test_i8042_pulse_resets(void **state)
{
	struct platform_rig *f = *state;

	out(f, 0x64, 0xff); /* pulses no line */
	ends(f, RUN_END_NONE, 0);
	out(f, 0x64, 0xfe);
	ends(f, RUN_END_RESET, 0);
}

static void test_i8042_output_port_resets(void **state)
{
	struct platform_rig *f = *state;

	out(f, 0x64, 0xd1);
	out(f, 0x60, 0xdf); /* A20 on, reset line high */
	ends(f, RUN_END_NONE, 0);
	out(f, 0x64, 0xd1);
	out(f, 0x60, 0xde);
	ends(f, RUN_END_RESET, 0);
}

static void test_reset_register(void **state)
{
	struct platform_rig *f = *state;
	uint32_t address = 0x80000000;

	out(f, X86_PORT_RESET, 0x02); /* chooses the kind, does nothing yet */
	assert_int_equal(in(f, X86_PORT_RESET), 0x02);
	ends(f, RUN_END_NONE, 0);
	/* the configuration address is another register at an overlapping place */
	assert_false(bus__write(&f->vm.pio, 0xcf8, &address, 4));
	ends(f, RUN_END_NONE, 0);
	out(f, X86_PORT_RESET, X86_RESET_VALUE);
	ends(f, RUN_END_RESET, 0);
}

static void test_sleep(void **state)
{
	struct platform_rig *f = *state;

	assert_int_equal(in(f, X86_PORT_SLEEP + 1), 0);
	out(f, X86_PORT_SLEEP, X86_S5_TYPE << 2); /* type without enable */
	out(f, X86_PORT_SLEEP, 1 << 2 | 0x20); /* S1: awake again at once */
	ends(f, RUN_END_NONE, 0);
	assert_int_equal(in(f, X86_PORT_SLEEP + 1), 0x80);
	out(f, X86_PORT_SLEEP + 1, 0x80);
	assert_int_equal(in(f, X86_PORT_SLEEP + 1), 0);
	out(f, X86_PORT_SLEEP, X86_S5_TYPE << 2 | 0x20);
	ends(f, RUN_END_POWEROFF, 0);
}

static void test_exit_port(void **state)
{
	struct platform_rig *f = *state;

	assert_int_equal(in(f, X86_PORT_EXIT), 0xff);
	out(f, X86_PORT_EXIT, 0xc3);
	ends(f, RUN_END_EXIT_PORT, 0xc3);
	out(f, X86_PORT_EXIT, 0); /* the first one counts */
	ends(f, RUN_END_EXIT_PORT, 0xc3);
}

/* The bits of linux's misc/pvpanic.h: 1 panicked, 2 a crash kernel is loaded. */
static void test_pvpanic(void **state)
{
	struct platform_rig *f = *state;
	eventfd_t count;

	assert_int_equal(in(f, X86_PORT_PVPANIC), 3);
	out(f, X86_PORT_PVPANIC, 2); /* the outcome will be the crash kernel's */
	out(f, X86_PORT_PVPANIC, 0xfc); /* events that are not known */
	assert_false(atomic_load(&f->vm.run.panic));
	assert_int_equal(eventfd_read(f->vm.run.panicfd, &count), -1);
	for (int i = 0; i < 3; i++)
		out(f, X86_PORT_PVPANIC, 1);
	assert_true(atomic_load(&f->vm.run.panic));
	assert_int_equal(eventfd_read(f->vm.run.panicfd, &count), 0);
	assert_int_equal(count, 1);
	assert_false(run__ended(&f->vm.run)); /* it may have more to say */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_i8042_probe, platform_rig__setup,
						platform_rig__teardown),
		cmocka_unit_test_setup_teardown(test_i8042_pulse_resets, platform_rig__setup,
						platform_rig__teardown),
		cmocka_unit_test_setup_teardown(test_i8042_output_port_resets, platform_rig__setup,
						platform_rig__teardown),
		cmocka_unit_test_setup_teardown(test_reset_register, platform_rig__setup,
						platform_rig__teardown),
		cmocka_unit_test_setup_teardown(test_sleep, platform_rig__setup,
						platform_rig__teardown),
		cmocka_unit_test_setup_teardown(test_pvpanic, platform_rig__setup,
						platform_rig__teardown),
		cmocka_unit_test_setup_teardown(test_exit_port, platform_rig__setup,
						platform_rig__teardown),
	};

	return cmocka_run_group_tests_name("platform", tests, NULL, NULL);
}
