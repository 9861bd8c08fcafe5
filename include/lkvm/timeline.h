/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_TIMELINE_H
#define LKVM_TIMELINE_H

#include <stdint.h>

/*
 * What start-up cost.  Marks are set by the main thread (and by the first vCPU
 * thread for the first entry into the guest).  Times are nanoseconds of
 * CLOCK_MONOTONIC; time before main() is taken from the process CPU clock.
 */
enum timeline_mark {
	TIMELINE_MAIN, /* main() entered */
	TIMELINE_OPTIONS, /* command line understood */
	TIMELINE_KVM, /* VM and irqchip exist */
	TIMELINE_MEMORY, /* guest memory registered */
	TIMELINE_KERNEL, /* kernel, initrd, tables in guest memory */
	TIMELINE_DEVICES, /* devices and I/O threads exist */
	TIMELINE_VCPUS, /* vCPUs set up */
	TIMELINE_RUN, /* right before the first KVM_RUN */
	TIMELINE_END, /* the outcome is known */
	TIMELINE_MARKS,
};

struct timeline {
	uint64_t exec_ns; /* CPU time spent before main(): exec, dynamic linker */
	uint64_t at[TIMELINE_MARKS]; /* 0: not reached */
	uint64_t kvm_ns; /* spent inside KVM ioctls until TIMELINE_RUN */
};

const char *timeline__name(enum timeline_mark mark); /* one word, for messages and reports */
uint64_t timeline__now(void);
void timeline__init(struct timeline *tl); /* first thing in main() */
void timeline__mark(struct timeline *tl, enum timeline_mark mark); /* first call for a mark wins */

#endif
