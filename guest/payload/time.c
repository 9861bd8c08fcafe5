// SPDX-License-Identifier: GPL-2.0-only
#include <asm/kvm_para.h>

#include "trap.h"

static uint64_t tsc_hz;

/* Documentation/virt/kvm/x86/msr.rst, MSR_KVM_SYSTEM_TIME_NEW (no UAPI header has it). */
struct pvclock_vcpu_time_info {
	uint32_t version, pad;
	uint64_t tsc_timestamp, system_time;
	uint32_t tsc_to_system_mul;
	int8_t tsc_shift;
	uint8_t flags, pad2[2];
};

/*
 * Written by KVM when the MSR is set: ns = (ticks << shift) * mul >> 32, so
 * the frequency follows without waiting for anything.
 */
static uint64_t time__from_kvmclock(void)
{
	struct pvclock_vcpu_time_info *info;
	uint32_t id[4];
	uint64_t hz;

	cpu__cpuid(KVM_CPUID_SIGNATURE, 0, id);
	if (id[1] != 0x4b4d564b || id[2] != 0x564b4d56) /* "KVMK", "VMKV" */
		return 0;
	cpu__cpuid(KVM_CPUID_FEATURES, 0, id);
	if (!(id[0] & 1 << KVM_FEATURE_CLOCKSOURCE2))
		return 0;
	info = mem__alloc(sizeof(*info), 64);
	msr__write(MSR_KVM_SYSTEM_TIME_NEW, (uintptr_t)info | 1);
	if (!info->tsc_to_system_mul)
		return 0;
	hz = (1000000000ULL << 32) / info->tsc_to_system_mul;
	msr__write(MSR_KVM_SYSTEM_TIME_NEW, 0);
	return info->tsc_shift < 0 ? hz << -info->tsc_shift : hz >> info->tsc_shift;
}

/* Channel 2 of the 8254 counts 20 ms at 1.193182 MHz; its output is bit 5 of port 0x61. */
static uint64_t time__from_pit(void)
{
	const uint16_t count = 23864;
	uint64_t start, end, spins = 0;

	outb(0x61, (inb(0x61) & ~2) | 1);
	outb(0x43, 0xb0);
	outb(0x42, count & 0xff);
	outb(0x42, count >> 8);
	start = time__tsc();
	do
		end = time__tsc();
	while (!(inb(0x61) & 0x20) && spins++ < 10000000);
	return (end - start) * 50;
}

uint64_t time__tsc_hz(void)
{
	if (!tsc_hz)
		tsc_hz = time__from_kvmclock();
	if (!tsc_hz)
		tsc_hz = time__from_pit();
	return tsc_hz;
}

uint64_t time__ns(uint64_t ticks)
{
	uint64_t hz = time__tsc_hz(), ns, rest;

	/* 128-bit product and quotient without libgcc; fits for 584 years of ns. */
	asm("mulq %3; divq %4"
	    : "=&a"(ns), "=&d"(rest)
	    : "0"(ticks), "r"(1000000000ULL), "r"(hz)
	    : "cc");
	return ns;
}

uint64_t time__deadline(uint64_t ms)
{
	return time__tsc() + time__tsc_hz() / 1000 * ms;
}

void time__delay_us(uint64_t us)
{
	uint64_t end = time__tsc() + time__tsc_hz() * us / 1000000;

	while (time__tsc() < end)
		cpu__relax();
}
