/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_X86_PLATFORM_H
#define LKVM_X86_PLATFORM_H

#include <pthread.h>
#include <stdint.h>

#include <lkvm/vm.h>

/*
 * The small platform devices: CMOS RTC (time of day in UTC, read only), i8042
 * (enough to answer a probe and to reset), reset register 0xcf9, ACPI sleep
 * registers, exit port.  Ends of the VM go through run__end().
 */
struct x86_platform {
	pthread_mutex_t lock;
	struct vm *vm;
	uint8_t rtc_index;
	uint8_t rtc_ram[128];
	uint8_t i8042_command; /* command byte that waits for its data, or 0 */
	uint8_t i8042_ctr;
	uint8_t i8042_out; /* output buffer */
	bool i8042_obf;
	uint8_t reset;
	uint8_t sleep_control;
};

/* Main thread, before the vCPUs.  0 or -errno. */
int x86_platform__init(struct x86_platform *p, struct vm *vm);
void x86_platform__fini(struct x86_platform *p);

#endif
