/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_VCPU_H
#define LKVM_VCPU_H

#include <linux/kvm.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <lkvm/vm.h>

/* Exits to user space, counted by the vCPU thread alone; read by others when it has ended. */
struct vcpu_stats {
	uint64_t io;
	uint64_t mmio;
	uint64_t other;
	uint64_t interrupted;
};

struct vcpu {
	struct vm *vm;
	unsigned int id; /* index, and APIC id */
	int fd;
	struct kvm_run *run;
	pthread_t thread;
	bool started; /* there is a thread to join */
	atomic_bool stopped; /* the thread has left its loop */
	struct vcpu_stats stats;
} __attribute__((aligned(64))); /* stats of two vCPUs share no cache line */

/* Can this VM have @nr vCPUs?  0, or -EINVAL with KVM's maximum.  Main thread. */
int vcpu__check_number(struct vm *vm, unsigned int nr, struct lk_err *err);

/*
 * Create @nr vCPUs (descriptors and run areas, no threads): vm->vcpus.
 * Main thread.  0 or -errno with a message that names KVM's maximum.
 * With ids of 255 and above KVM is told to take 32-bit APIC ids
 * (KVM_CAP_X2APIC_API).
 */
int vcpu__create_all(struct vm *vm, unsigned int nr, struct lk_err *err);

/*
 * Start one thread a vCPU, named "vcpu-N"; each runs the guest until
 * vm->run.ended.  The last step of start-up.  0 or -errno: all stopped again, and
 * the run has ended with RUN_END_HOST.  In these threads the kick signal
 * (SIGRTMIN) and the signals of a fault (SIGSEGV, ...) are open, all others
 * blocked, so that a signal to the process finds the main thread.  vm->threads is
 * told of each of them, and at last, before any enters the guest, that the calling
 * thread is THREAD_MAIN from now on.
 */
int vcpu__start_all(struct vm *vm);

/*
 * After run__end(): get every vCPU out of KVM_RUN (immediate_exit and a
 * signal, so that a kick between check and entry is not lost) and join.
 * Where the run has not ended, it ends here with RUN_END_HOST, ECANCELED.
 */
void vcpu__stop_all(struct vm *vm);

/* Close descriptors and run areas.  Threads have ended. */
void vcpu__destroy_all(struct vm *vm);

/* The vCPU thread: serve exits until the run has ended (vcpu_loop.c). */
void vcpu__loop(struct vcpu *vcpu);
/* Serve the one exit that vcpu->run tells of.  vCPU thread. */
void vcpu__serve(struct vcpu *vcpu);

#endif
