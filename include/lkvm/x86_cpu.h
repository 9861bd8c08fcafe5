/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_X86_CPU_H
#define LKVM_X86_CPU_H

#include <linux/kvm.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <lkvm/err.h>
#include <lkvm/vcpu.h>

/* Physical address bits that KVM reports (CPUID 0x80000008), 36 where it has no such leaf. */
int x86_cpu__phys_bits(struct vm *vm, unsigned int *bits);

/*
 * Give every vCPU its CPUID (what KVM supports; APIC id and topology of one
 * package with nr_vcpus cores in leaves 1, 4, 0xb, 0x1f, 0x80000008,
 * 0x8000001d, 0x8000001e; KVM paravirtual leaves as offered), MSRs (a refused
 * MSR is a warning in vm->log), LAPIC LINT pins, and vCPU 0 the registers of the
 * 64-bit boot protocol: long mode, identity map, rip = @entry,
 * rsi = X86_BOOT_PARAMS.  The others wait for INIT and SIPI.
 * Main thread, after vcpu__create_all().
 */
int x86_cpu__setup_all(struct vm *vm, uint64_t entry, struct lk_err *err);

/*
 * Print registers and the instruction bytes at RIP of @vcpu to @out, for
 * RUN_END_KVM_INTERNAL and RUN_END_KVM_ENTRY, and say in plain words where the
 * likely cause is a software KVM that cannot run a kernel (emulation failure
 * at privilege level 0 without VMX or SVM).  Threads have ended.
 */
void x86_cpu__dump(struct vcpu *vcpu, FILE *out);

/* The parts of x86_cpu__setup_all(). */

struct x86_topology {
	unsigned int id; /* APIC id, 0 to nr - 1 */
	unsigned int nr; /* CPUs, one package, one thread a core */
	bool tsc_deadline; /* KVM_CAP_TSC_DEADLINE_TIMER */
};

/* Entries that x86_cpuid__patch() may add to those that are there. */
#define X86_CPUID_EXTRA 8

/* What KVM supports, with room for X86_CPUID_EXTRA more; free() it.  0 or -errno. */
int x86_cpuid__supported(struct vm *vm, struct kvm_cpuid2 **cpuid);

/*
 * Make @cpuid the CPUID of one vCPU.  Pure: it works on the entries alone, of
 * an Intel or AMD host.  @max: entries that fit.  0 or -E2BIG.
 */
int x86_cpuid__patch(struct kvm_cpuid2 *cpuid, unsigned int max, const struct x86_topology *topo);

/* Entry for leaf and subleaf, or NULL. */
struct kvm_cpuid_entry2 *x86_cpuid__find(struct kvm_cpuid2 *cpuid, uint32_t leaf, uint32_t index);

/* MSRs as firmware would leave them.  0 or -errno. */
int x86_msr__setup(struct vcpu *vcpu);

#endif
