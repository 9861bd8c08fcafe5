// SPDX-License-Identifier: GPL-2.0
/*
 * Does /dev/kvm run stock kernels here?  Decided by trying.
 *
 * A KVM without hardware virtualization interprets what the guest does at
 * privilege level 0, and its interpreter does not know every instruction that a
 * kernel uses.  So a tiny guest in 64-bit mode executes some of those: xgetbv,
 * xsetbv, xsave and xrstor (state of the FPU), ldmxcsr, cmpxchg16b, popcnt, and
 * ends with hlt.  CPUID is no help: it may be hidden from us, or promise what a
 * container then forbids.
 *
 * Prints one word to the standard output and the reason to the standard error:
 *
 *   native     status 0: stock kernels run
 *   software   status 1: there is a KVM, but it cannot run them
 *   none       status 2: no usable /dev/kvm
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum verdict {
	NATIVE,
	SOFTWARE,
	NONE
};

/* Guest physical memory: 2 MiB at 0, mapped one to one. */
#define MEM_SIZE 0x200000u
#define PML4 0x1000u
#define PDPT 0x2000u
#define PD 0x3000u
#define CODE 0x10000u
#define DATA 0x20000u

/* Intel SDM vol. 3, 2.5 and 4.5; AMD64 APM vol. 2, 3.1 and 5.3. */
#define CR0_PE (1u << 0)
#define CR0_MP (1u << 1)
#define CR0_ET (1u << 4)
#define CR0_NE (1u << 5)
#define CR0_PG (1u << 31)
#define CR4_PAE (1u << 5)
#define CR4_OSFXSR (1u << 9)
#define CR4_OSXMMEXCPT (1u << 10)
#define CR4_OSXSAVE (1u << 18)
#define EFER_LME (1u << 8)
#define EFER_LMA (1u << 10)
#define PTE_P (1u << 0)
#define PTE_W (1u << 1)
#define PTE_PS (1u << 7)

/* CPUID leaf 1, ecx. */
#define CPUID_CX16 (1u << 13)
#define CPUID_POPCNT (1u << 23)
#define CPUID_XSAVE (1u << 26)

struct guest {
	int kvm;
	int vm;
	int vcpu;
	uint8_t *mem;
	struct kvm_run *run;
	struct kvm_cpuid2 *cpuid;
};

/* The code, piece by piece: rbx points to DATA, ecx is 0. */
static const uint8_t code_xsave[] = {
	0x0f, 0x01, 0xd0, /* xgetbv */
	0x0f, 0x01, 0xd1, /* xsetbv, the same again */
	0x31, 0xd2, /* xor %edx, %edx */
	0xb8, 0x03, 0x00, 0x00, 0x00, /* mov $3, %eax: x87 and SSE */
	0x0f, 0xae, 0x63, 0x40, /* xsave 0x40(%rbx) */
	0x0f, 0xae, 0x6b, 0x40, /* xrstor 0x40(%rbx) */
};

static const uint8_t code_mxcsr[] = {
	0x0f, 0xae, 0x1b, /* stmxcsr (%rbx) */
	0x0f, 0xae, 0x13, /* ldmxcsr (%rbx) */
};

static const uint8_t code_cx16[] = {
	0xf0, 0x48, 0x0f, 0xc7, 0x4b, 0x10, /* lock cmpxchg16b 0x10(%rbx) */
};

static const uint8_t code_popcnt[] = {
	0xf3, 0x48, 0x0f, 0xb8, 0xc3, /* popcnt %rbx, %rax */
};

static const uint8_t code_end[] = {
	0xf4, /* hlt */
};

static void on_alarm(int sig)
{
	(void)sig; /* makes KVM_RUN return */
}

static int no(const char *what)
{
	fprintf(stderr, "native: %s: %s\n", what, strerror(errno));
	return -errno;
}

static int open_kvm(struct guest *g)
{
	int version;

	g->kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	if (g->kvm < 0)
		return no("/dev/kvm");
	version = ioctl(g->kvm, KVM_GET_API_VERSION, 0);
	if (version != KVM_API_VERSION) {
		fprintf(stderr, "native: /dev/kvm has API version %d\n", version);
		return -ENOSYS;
	}
	g->vm = ioctl(g->kvm, KVM_CREATE_VM, 0ul);
	return g->vm < 0 ? no("KVM_CREATE_VM") : 0;
}

static int add_memory(struct guest *g)
{
	struct kvm_userspace_memory_region region = {
		.memory_size = MEM_SIZE,
	};

	g->mem = mmap(NULL, MEM_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (g->mem == MAP_FAILED)
		return no("mmap");
	region.userspace_addr = (uintptr_t)g->mem;
	if (ioctl(g->vm, KVM_SET_USER_MEMORY_REGION, &region) < 0)
		return no("KVM_SET_USER_MEMORY_REGION");
	return 0;
}

static int add_vcpu(struct guest *g)
{
	const unsigned int entries = 256;
	int size;

	g->vcpu = ioctl(g->vm, KVM_CREATE_VCPU, 0ul);
	if (g->vcpu < 0)
		return no("KVM_CREATE_VCPU");
	size = ioctl(g->kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	if (size < 0)
		return no("KVM_GET_VCPU_MMAP_SIZE");
	g->run = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, g->vcpu, 0);
	if (g->run == MAP_FAILED)
		return no("mmap of the vCPU");

	g->cpuid = calloc(1, sizeof(*g->cpuid) + entries * sizeof(g->cpuid->entries[0]));
	if (!g->cpuid)
		return no("calloc");
	g->cpuid->nent = entries;
	if (ioctl(g->kvm, KVM_GET_SUPPORTED_CPUID, g->cpuid) < 0)
		return no("KVM_GET_SUPPORTED_CPUID");
	if (ioctl(g->vcpu, KVM_SET_CPUID2, g->cpuid) < 0)
		return no("KVM_SET_CPUID2");
	return 0;
}

static uint32_t features(const struct guest *g)
{
	for (unsigned int i = 0; i < g->cpuid->nent; i++)
		if (g->cpuid->entries[i].function == 1)
			return g->cpuid->entries[i].ecx;
	return 0;
}

static void store(struct guest *g, size_t *at, const uint8_t *code, size_t len)
{
	memcpy(g->mem + *at, code, len);
	*at += len;
}

static void write_memory(struct guest *g)
{
	uint32_t have = features(g);
	size_t at = CODE;

	*(uint64_t *)(g->mem + PML4) = PDPT | PTE_P | PTE_W;
	*(uint64_t *)(g->mem + PDPT) = PD | PTE_P | PTE_W;
	*(uint64_t *)(g->mem + PD) = PTE_P | PTE_W | PTE_PS;

	if (have & CPUID_XSAVE)
		store(g, &at, code_xsave, sizeof(code_xsave));
	store(g, &at, code_mxcsr, sizeof(code_mxcsr));
	if (have & CPUID_CX16)
		store(g, &at, code_cx16, sizeof(code_cx16));
	if (have & CPUID_POPCNT)
		store(g, &at, code_popcnt, sizeof(code_popcnt));
	store(g, &at, code_end, sizeof(code_end));
}

static int set_registers(struct guest *g)
{
	struct kvm_segment cs = {
		.limit = 0xffffffff,
		.selector = 0x8,
		.type = 11,
		.present = 1,
		.s = 1,
		.l = 1,
		.g = 1,
	};
	struct kvm_segment ds = cs;
	struct kvm_regs regs = {.rip = CODE, .rbx = DATA, .rflags = 2};
	struct kvm_sregs sregs;

	ds.selector = 0x10;
	ds.type = 3;
	ds.l = 0;
	ds.db = 1;
	if (ioctl(g->vcpu, KVM_GET_SREGS, &sregs) < 0)
		return no("KVM_GET_SREGS");
	sregs.cs = cs;
	sregs.ds = sregs.es = sregs.fs = sregs.gs = sregs.ss = ds;
	sregs.cr0 = CR0_PE | CR0_MP | CR0_ET | CR0_NE | CR0_PG;
	sregs.cr3 = PML4;
	sregs.cr4 = CR4_PAE | CR4_OSFXSR | CR4_OSXMMEXCPT;
	if (features(g) & CPUID_XSAVE)
		sregs.cr4 |= CR4_OSXSAVE;
	sregs.efer = EFER_LME | EFER_LMA;
	if (ioctl(g->vcpu, KVM_SET_SREGS, &sregs) < 0)
		return no("KVM_SET_SREGS");
	if (ioctl(g->vcpu, KVM_SET_REGS, &regs) < 0)
		return no("KVM_SET_REGS");
	return 0;
}

/* Which instruction it was that the KVM did not know. */
static void show_bytes(const struct guest *g)
{
	struct kvm_regs regs;

	if (ioctl(g->vcpu, KVM_GET_REGS, &regs) < 0 || regs.rip > MEM_SIZE - 4)
		return;
	fprintf(stderr, "native: stopped at %02x %02x %02x %02x\n", g->mem[regs.rip],
		g->mem[regs.rip + 1], g->mem[regs.rip + 2], g->mem[regs.rip + 3]);
}

static enum verdict execute(struct guest *g)
{
	struct sigaction action = {.sa_handler = on_alarm};

	/* No exit but the last one is due; a hang is an answer, too. */
	sigaction(SIGALRM, &action, NULL);
	alarm(10);
	if (ioctl(g->vcpu, KVM_RUN, 0) < 0) {
		no("KVM_RUN");
		return NONE;
	}
	switch (g->run->exit_reason) {
	case KVM_EXIT_HLT:
		fprintf(stderr, "native: this KVM executes what a kernel needs\n");
		return NATIVE;
	case KVM_EXIT_INTERNAL_ERROR:
		fprintf(stderr,
			"native: a software KVM: it cannot interpret an instruction that kernels "
			"use (internal error %u)\n",
			g->run->internal.suberror);
		show_bytes(g);
		return SOFTWARE;
	case KVM_EXIT_SHUTDOWN:
		fprintf(stderr, "native: an instruction that kernels use faults\n");
		return SOFTWARE;
	default:
		fprintf(stderr, "native: this KVM runs no guest (exit reason %u)\n",
			g->run->exit_reason);
		return NONE;
	}
}

static enum verdict decide(struct guest *g)
{
	if (open_kvm(g) || add_memory(g) || add_vcpu(g))
		return NONE;
	write_memory(g);
	if (set_registers(g))
		return NONE;
	return execute(g);
}

int main(void)
{
	static const char *const word[] = {
		[NATIVE] = "native",
		[SOFTWARE] = "software",
		[NONE] = "none",
	};
	struct guest guest = {.kvm = -1, .vm = -1, .vcpu = -1};
	enum verdict verdict = decide(&guest);

	puts(word[verdict]);
	return verdict;
}
