// SPDX-License-Identifier: GPL-2.0-only
/*
 * vCPUs as the 64-bit boot protocol wants them (Documentation/arch/x86/boot.rst,
 * "64-bit Boot Protocol").
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <lkvm/x86_cpu.h>
#include <lkvm/x86_map.h>

/* Control register bits (Intel SDM volume 3, 2.5) */
#define CR0_PE (1UL << 0)
#define CR0_MP (1UL << 1)
#define CR0_ET (1UL << 4)
#define CR0_NE (1UL << 5)
#define CR0_PG (1UL << 31)
#define CR4_PAE (1UL << 5)
#define EFER_LME (1UL << 8)
#define EFER_LMA (1UL << 10)

#define BOOT_CS 0x10
#define BOOT_DS 0x18
#define BOOT_GDT_ENTRIES 4

#define SEG_CODE 0xb /* execute, read, accessed */
#define SEG_DATA 0x3 /* read, write, accessed */
#define SEG_TSS_BUSY 0xb /* what VM entry asks of TR in long mode (26.3.1.2) */

/* Local APIC registers (Intel SDM volume 3, 11.5.1) */
#define APIC_LVT0 0x350
#define APIC_LVT1 0x360
#define APIC_LVT_MODE_MASK 0x700
#define APIC_LVT_EXTINT 0x700
#define APIC_LVT_NMI 0x400
#define APIC_LVT_MASKED 0x10000

static int set_cpuid(struct vcpu *vcpu, const struct kvm_cpuid2 *supported, bool tsc_deadline,
		     struct lk_err *err)
{
	struct x86_topology topo = {
		.id = vcpu->id,
		.nr = vcpu->vm->nr_vcpus,
		.tsc_deadline = tsc_deadline,
	};
	unsigned int max = supported->nent + X86_CPUID_EXTRA;
	size_t used = sizeof(*supported) + supported->nent * sizeof(supported->entries[0]);
	struct kvm_cpuid2 *own;
	int ret;

	own = calloc(1, sizeof(*own) + max * sizeof(own->entries[0]));
	if (!own)
		return lk_err__set(err, -ENOMEM, "no memory for the CPUID of vCPU %u", vcpu->id);
	memcpy(own, supported, used);
	ret = x86_cpuid__patch(own, max, &topo);
	if (!ret)
		ret = vm__ioctl(vcpu->vm, vcpu->fd, KVM_SET_CPUID2, own);
	free(own);
	if (ret < 0)
		return lk_err__set(err, ret, "KVM refuses the CPUID of vCPU %u: %s", vcpu->id,
				   strerror(-ret));
	return 0;
}

static uint32_t lvt(uint32_t old, uint32_t mode, bool masked)
{
	old &= ~(APIC_LVT_MODE_MASK | APIC_LVT_MASKED);
	return old | mode | (masked ? APIC_LVT_MASKED : 0);
}

/* Virtual wire mode: the PIC on LINT0 of the boot CPU alone, NMI on LINT1 of all. */
static int set_lint(struct vcpu *vcpu)
{
	struct kvm_lapic_state lapic;
	uint32_t reg;
	int ret;

	ret = vm__ioctl(vcpu->vm, vcpu->fd, KVM_GET_LAPIC, &lapic);
	if (ret < 0)
		return ret;
	memcpy(&reg, lapic.regs + APIC_LVT0, sizeof(reg));
	reg = lvt(reg, APIC_LVT_EXTINT, vcpu->id != 0);
	memcpy(lapic.regs + APIC_LVT0, &reg, sizeof(reg));
	memcpy(&reg, lapic.regs + APIC_LVT1, sizeof(reg));
	reg = lvt(reg, APIC_LVT_NMI, false);
	memcpy(lapic.regs + APIC_LVT1, &reg, sizeof(reg));
	return vm__ioctl(vcpu->vm, vcpu->fd, KVM_SET_LAPIC, &lapic);
}

static void boot_segments(struct kvm_sregs *sregs)
{
	const struct kvm_segment data = {
		.limit = 0xffffffff,
		.selector = BOOT_DS,
		.type = SEG_DATA,
		.present = 1,
		.db = 1,
		.s = 1,
		.g = 1,
	};

	sregs->cs = data;
	sregs->cs.selector = BOOT_CS;
	sregs->cs.type = SEG_CODE;
	sregs->cs.db = 0;
	sregs->cs.l = 1;
	sregs->ds = data;
	sregs->es = data;
	sregs->ss = data;
	sregs->fs = data;
	sregs->gs = data;
	sregs->tr = (struct kvm_segment) {.limit = 0xffff, .type = SEG_TSS_BUSY, .present = 1};
	sregs->gdt.base = X86_BOOT_GDT;
	sregs->gdt.limit = BOOT_GDT_ENTRIES * sizeof(uint64_t) - 1;
	sregs->idt.base = 0;
	sregs->idt.limit = 0;
}

static int set_boot_regs(struct vcpu *vcpu, uint64_t entry)
{
	const struct kvm_regs regs = {
		.rip = entry,
		.rsi = X86_BOOT_PARAMS,
		.rsp = X86_BOOT_PARAMS, /* free down to the GDT: not asked for, but no harm */
		.rflags = 2, /* bit 1 is always set; interrupts off */
	};
	struct kvm_sregs sregs;
	int ret;

	ret = vm__ioctl(vcpu->vm, vcpu->fd, KVM_GET_SREGS, &sregs);
	if (ret < 0)
		return ret;
	boot_segments(&sregs);
	sregs.cr0 = CR0_PE | CR0_MP | CR0_ET | CR0_NE | CR0_PG;
	sregs.cr3 = X86_BOOT_PGTABLE;
	sregs.cr4 = CR4_PAE;
	sregs.efer = EFER_LME | EFER_LMA;
	ret = vm__ioctl(vcpu->vm, vcpu->fd, KVM_SET_SREGS, &sregs);
	if (ret < 0)
		return ret;
	return vm__ioctl(vcpu->vm, vcpu->fd, KVM_SET_REGS, (void *)&regs);
}

static int setup_one(struct vcpu *vcpu, uint64_t entry, struct lk_err *err)
{
	int ret;

	ret = x86_msr__setup(vcpu);
	if (ret)
		return lk_err__set(err, ret, "cannot set the MSRs of vCPU %u: %s", vcpu->id,
				   strerror(-ret));
	ret = set_lint(vcpu);
	if (ret < 0)
		return lk_err__set(err, ret, "cannot set the local APIC of vCPU %u: %s", vcpu->id,
				   strerror(-ret));
	if (vcpu->id)
		return 0;
	ret = set_boot_regs(vcpu, entry);
	if (ret < 0)
		return lk_err__set(err, ret, "cannot set the registers of vCPU 0: %s",
				   strerror(-ret));
	return 0;
}

int x86_cpu__setup_all(struct vm *vm, uint64_t entry, struct lk_err *err)
{
	bool tsc_deadline = vm__cap(vm, KVM_CAP_TSC_DEADLINE_TIMER) > 0;
	struct kvm_cpuid2 *supported;
	int ret;

	ret = x86_cpuid__supported(vm, &supported);
	if (ret)
		return lk_err__set(err, ret, "cannot learn which CPUID KVM supports: %s",
				   strerror(-ret));
	for (unsigned int i = 0; i < vm->nr_vcpus && !ret; i++) {
		ret = set_cpuid(&vm->vcpus[i], supported, tsc_deadline, err);
		if (!ret)
			ret = setup_one(&vm->vcpus[i], entry, err);
	}
	free(supported);
	return ret;
}
