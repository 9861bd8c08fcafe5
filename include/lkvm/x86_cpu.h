/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_X86_CPU_H
#define LKVM_X86_CPU_H

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

#endif
