/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_VM_H
#define LKVM_VM_H

#include <linux/kvm.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <lkvm/bus.h>
#include <lkvm/err.h>
#include <lkvm/irq.h>
#include <lkvm/log.h>
#include <lkvm/mem.h>
#include <lkvm/run.h>
#include <lkvm/thread.h>
#include <lkvm/timeline.h>

struct vcpu;

/*
 * The VM object: KVM descriptors, guest memory, buses, interrupt routing and
 * run control.  Owned by the machine that kvm/cmd assembles.
 */
struct vm {
	int kvm_fd; /* /dev/kvm */
	int vm_fd;
	atomic_bool running; /* vCPU threads are being started: vm__ioctl() adds no time any more */
	int vcpu_mmap_size; /* bytes of struct kvm_run and what follows */
	struct log log;
	struct timeline timeline;
	struct run run;
	struct guest_mem mem;
	struct bus pio;
	struct bus mmio;
	struct irq irq;
	struct thread_hook *threads; /* the caller's, before vcpu__start_all(); or NULL */
	pthread_mutex_t gate; /* held while the vCPU threads are being started */
	struct vcpu *vcpus; /* nr_vcpus of them */
	unsigned int nr_vcpus;
};

/* What a VM needs from KVM beyond the API version: name and meaning, for errors. */
struct vm_cap {
	int cap;
	const char *name; /* "KVM_CAP_IRQFD" */
};

/*
 * Look at every required capability with @query (> 0: there).  0, or -ENOTSUP
 * with all the missing ones named in @err.
 */
int vm__check_caps(int (*query)(void *opaque, int cap), void *opaque, struct lk_err *err);

/*
 * ioctl() on a KVM descriptor, with EINTR retried and, until the vCPU
 * threads are started, the time added to timeline.kvm_ns.  Result >= 0 or -errno.
 * Main thread during start-up; afterwards any thread (no time is added then).
 */
int vm__ioctl(struct vm *vm, int fd, unsigned long request, void *arg);
int vm__ioctl_val(struct vm *vm, int fd, unsigned long request, unsigned long arg);

/*
 * Open @path (normally "/dev/kvm"), check KVM_GET_API_VERSION and the required
 * capabilities (each missing one is named in @err), create the VM, its TSS and
 * identity map pages (@tss_addr: three pages at this guest physical address,
 * one page behind them for the identity map; both outside of RAM), the
 * in-kernel irqchip and, where KVM has it, the PIT.  Never looks at CPUID.
 * Main thread.
 * vm->log and vm->timeline are initialised by the caller before.
 * -errno and a message that tells a missing /dev/kvm from a missing permission;
 * nothing is open then, and vm__destroy() does nothing.
 */
int vm__create(struct vm *vm, const char *path, uint64_t tss_addr, struct lk_err *err);

/* Register all regions of vm->mem with KVM.  Main thread, once. */
int vm__map_memory(struct vm *vm, struct lk_err *err);

/* KVM_CHECK_EXTENSION on the VM: 0 where the capability is missing. */
int vm__cap(struct vm *vm, int cap);

/*
 * Close everything that vm__create() opened.  All threads have ended, the vCPUs
 * are destroyed.  vm->mem, vm->log and vm->timeline stay the caller's.
 */
void vm__destroy(struct vm *vm);

/*
 * Let an access of any width at @addr in the MMIO space signal eventfd @fd in
 * the kernel, without an exit to user space (KVM_IOEVENTFD, length 0, no data
 * match), or take that back.  Any thread.  -EEXIST: another eventfd is at this
 * address (KVM allows one any-length eventfd an address), which goes on to get
 * the accesses.
 */
int vm__ioeventfd(struct vm *vm, uint64_t addr, int fd, bool on);

#endif
