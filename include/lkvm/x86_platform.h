/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_X86_PLATFORM_H
#define LKVM_X86_PLATFORM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include <lkvm/vm.h>

/*
 * The small platform devices: CMOS RTC (time of day in UTC, read only), i8042
 * (enough to answer a probe and to reset), reset register 0xcf9, ACPI sleep
 * registers, exit port.  Ends of the VM go through run__end().
 */
struct x86_platform {
	pthread_mutex_t lock; /* all that follows; vCPU threads; held for a few instructions */
	struct vm *vm;
	uint8_t rtc_index;
	uint8_t rtc_ram[128];
	time_t rtc_time; /* what the time registers show */
	uint64_t rtc_taken; /* when that was read, CLOCK_MONOTONIC ns; 0: never */
	uint8_t i8042_command; /* command byte that waits for its data, or 0 */
	uint8_t i8042_ctr;
	uint8_t i8042_out; /* output buffer */
	bool i8042_obf;
	bool i8042_cmd_last; /* the last write went to the command port */
	uint8_t reset;
	uint8_t sleep_control, sleep_status;
};

/*
 * Main thread, before the vCPUs and before PCI's configuration ports, which
 * overlap 0xcf9.  0 or -errno.
 */
int x86_platform__init(struct x86_platform *p, struct vm *vm);
void x86_platform__fini(struct x86_platform *p);

/* Between platform.c and the devices. */
extern const struct bus_ops x86_rtc_ops; /* x86/rtc.c: two ports, index and data */
extern const struct bus_ops x86_i8042_data_ops; /* x86/i8042.c: port 0x60 */
extern const struct bus_ops x86_i8042_command_ops; /* port 0x64 */
extern const struct bus_ops x86_reset_ops; /* x86/reset.c */
extern const struct bus_ops x86_sleep_ops; /* two ports, control and status */
extern const struct bus_ops x86_exit_ops;
extern const struct bus_ops x86_pvpanic_ops; /* x86/pvpanic.c */

#define X86_I8042_CTR_RESET 0x45 /* translation, system flag, keyboard interrupt */

#endif
