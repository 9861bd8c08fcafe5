/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_RUN_H
#define LKVM_RUN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Why the VM came to its end.  The command turns it into an exit status. */
enum run_end {
	RUN_END_NONE, /* still running */
	RUN_END_POWEROFF,
	RUN_END_RESET, /* i8042, reset register, port 0xcf9 */
	RUN_END_EXIT_PORT, /* code: the value the guest wrote, 0 to 255 */
	RUN_END_PANIC, /* a kernel panic, and all that it had to say is out */
	RUN_END_EXPECTED, /* the last --expect matched */
	RUN_END_FAIL_ON, /* --fail-on matched */
	RUN_END_TIMEOUT, /* --timeout ran out */
	RUN_END_TRIPLE_FAULT, /* also a crash that the guest reports through KVM */
	RUN_END_KVM_INTERNAL, /* code: suberror; cpu */
	RUN_END_KVM_ENTRY, /* code: low bits of the hardware reason; cpu */
	RUN_END_KVM_ERROR, /* code: errno of KVM_RUN; cpu */
	RUN_END_KEYBOARD, /* Ctrl-A x */
	RUN_END_SIGNAL, /* code: signal number */
	RUN_END_HOST, /* code: errno; lkvm could not go on (cpu: an exit that it does not know) */
};

/*
 * The first call of run__end() decides the outcome; later ones change nothing.
 * endfd becomes readable then; the main thread waits for it and tears down.
 */
struct run {
	pthread_mutex_t lock; /* guards the outcome, never held across a wait */
	enum run_end end; /* this, code and cpu: constant once run__ended() */
	int code;
	int cpu; /* vCPU that ended it, -1: none */
	atomic_bool ended; /* vCPU threads look at it before each KVM_RUN */
	int endfd; /* eventfd */
	atomic_bool panic; /* run__panicked() was called */
	int panicfd; /* eventfd, readable then */
};

int run__init(struct run *run); /* 0 or -errno */
void run__fini(struct run *run);
void run__end(struct run *run, enum run_end end, int code, int cpu); /* any thread */

/*
 * The guest has reported a kernel panic.  The VM runs on: the guest may have more to
 * say, and may reboot.  Any thread.
 */
void run__panicked(struct run *run);

/* Any thread.  Acquire: end, code and cpu can be read where this is true. */
static inline bool run__ended(const struct run *run)
{
	return atomic_load_explicit(&run->ended, memory_order_acquire);
}

#endif
