// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is left of a vCPU that KVM could not run on.
 */
#include <cpuid.h>
#include <inttypes.h>
#include <string.h>

#include <lkvm/x86_cpu.h>

#define MAX_INSN 15 /* bytes of the longest x86 instruction */

static void dump_regs(const struct kvm_regs *r, FILE *out)
{
	fprintf(out, "  rip %016llx  rflags %016llx\n", r->rip, r->rflags);
	fprintf(out, "  rax %016llx  rbx %016llx  rcx %016llx  rdx %016llx\n", r->rax, r->rbx,
		r->rcx, r->rdx);
	fprintf(out, "  rsi %016llx  rdi %016llx  rbp %016llx  rsp %016llx\n", r->rsi, r->rdi,
		r->rbp, r->rsp);
	fprintf(out, "  r8  %016llx  r9  %016llx  r10 %016llx  r11 %016llx\n", r->r8, r->r9, r->r10,
		r->r11);
	fprintf(out, "  r12 %016llx  r13 %016llx  r14 %016llx  r15 %016llx\n", r->r12, r->r13,
		r->r14, r->r15);
}

static void dump_segment(const char *name, const struct kvm_segment *s, FILE *out)
{
	fprintf(out,
		"  %-4s %04x  base %016llx  limit %08x  type %x s %u dpl %u p %u l %u db %u g "
		"%u%s\n",
		name, s->selector, s->base, s->limit, s->type, s->s, s->dpl, s->present, s->l,
		s->db, s->g, s->unusable ? "  unusable" : "");
}

static void dump_sregs(const struct kvm_sregs *s, FILE *out)
{
	fprintf(out, "  cr0 %016llx  cr2 %016llx  cr3 %016llx  cr4 %016llx\n", s->cr0, s->cr2,
		s->cr3, s->cr4);
	fprintf(out, "  efer %016llx  apic base %016llx\n", s->efer, s->apic_base);
	dump_segment("cs", &s->cs, out);
	dump_segment("ss", &s->ss, out);
	dump_segment("ds", &s->ds, out);
	dump_segment("es", &s->es, out);
	dump_segment("fs", &s->fs, out);
	dump_segment("gs", &s->gs, out);
	dump_segment("tr", &s->tr, out);
	dump_segment("ldt", &s->ldt, out);
	fprintf(out, "  gdt  base %016llx  limit %04x\n", s->gdt.base, s->gdt.limit);
	fprintf(out, "  idt  base %016llx  limit %04x\n", s->idt.base, s->idt.limit);
}

static void dump_bytes(const char *what, const uint8_t *bytes, unsigned int len, FILE *out)
{
	fprintf(out, "  %s", what);
	for (unsigned int i = 0; i < len; i++)
		fprintf(out, " %02x", bytes[i]);
	fprintf(out, "%s\n", len ? "" : " not readable");
}

/* The bytes at linear address @addr, as far as the guest's page tables lead there. */
static unsigned int read_linear(struct vcpu *vcpu, uint64_t addr, uint8_t *buf, unsigned int len)
{
	unsigned int i;

	for (i = 0; i < len; i++) {
		struct kvm_translation tr = {.linear_address = addr + i};

		if (vm__ioctl(vcpu->vm, vcpu->fd, KVM_TRANSLATE, &tr) < 0 || !tr.valid)
			break;
		if (guest_mem__read(&vcpu->vm->mem, tr.physical_address, buf + i, 1))
			break;
	}
	return i;
}

static void dump_exit(const struct kvm_run *run, FILE *out)
{
	unsigned int len;

	switch (run->exit_reason) {
	case KVM_EXIT_FAIL_ENTRY:
		fprintf(out, "  KVM could not enter the guest: hardware reason 0x%llx\n",
			run->fail_entry.hardware_entry_failure_reason);
		break;
	case KVM_EXIT_INTERNAL_ERROR:
		fprintf(out, "  KVM internal error, suberror %u%s\n", run->internal.suberror,
			run->internal.suberror == KVM_INTERNAL_ERROR_EMULATION
				? " (instruction emulation failed)"
				: "");
		/* flags, then 16 bytes of instruction, count as three words of data */
		if (run->internal.suberror != KVM_INTERNAL_ERROR_EMULATION ||
		    run->emulation_failure.ndata < 3 ||
		    !(run->emulation_failure.flags &
		      KVM_INTERNAL_ERROR_EMULATION_FLAG_INSTRUCTION_BYTES))
			break;
		len = run->emulation_failure.insn_size;
		if (len > MAX_INSN)
			len = MAX_INSN;
		dump_bytes("instruction that failed:", run->emulation_failure.insn_bytes, len, out);
		break;
	default:
		fprintf(out, "  last exit reason %u\n", run->exit_reason);
		break;
	}
}

/* Of this host's CPU, for an explanation alone: nothing is ever decided by it. */
static bool host_has_virtualization(void)
{
	unsigned int eax, ebx, ecx, edx;

	if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & (1U << 5))) /* VMX */
		return true;
	return __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) && (ecx & (1U << 2)); /* SVM */
}

static void explain(const struct kvm_run *run, const struct kvm_sregs *sregs, FILE *out)
{
	if (run->exit_reason != KVM_EXIT_INTERNAL_ERROR ||
	    run->internal.suberror != KVM_INTERNAL_ERROR_EMULATION)
		return;
	if (sregs->ss.dpl != 0 || host_has_virtualization())
		return;
	fprintf(out,
		"This /dev/kvm is a software one: the CPU of this host shows neither VMX nor SVM, "
		"so\n"
		"kernel code is interpreted, and the interpreter does not know the instruction "
		"above.\n"
		"A stock Linux kernel cannot run here, whatever the hypervisor. Use a host with\n"
		"hardware virtualization (for a virtual machine: one with nested "
		"virtualization).\n");
}

void x86_cpu__dump(struct vcpu *vcpu, FILE *out)
{
	struct kvm_regs regs;
	struct kvm_sregs sregs;
	uint8_t insn[MAX_INSN];
	unsigned int len;

	fprintf(out, "vCPU %u:\n", vcpu->id);
	dump_exit(vcpu->run, out);
	if (vm__ioctl(vcpu->vm, vcpu->fd, KVM_GET_REGS, &regs) < 0 ||
	    vm__ioctl(vcpu->vm, vcpu->fd, KVM_GET_SREGS, &sregs) < 0) {
		fprintf(out, "  registers not readable\n");
		return;
	}
	dump_regs(&regs, out);
	dump_sregs(&sregs, out);
	/* outside of long mode the instruction pointer is an offset in CS */
	len = read_linear(vcpu, regs.rip + (sregs.cs.l ? 0 : sregs.cs.base), insn, MAX_INSN);
	dump_bytes("bytes at rip:", insn, len, out);
	explain(vcpu->run, &sregs, out);
}
