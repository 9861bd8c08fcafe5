// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUID: what KVM supports, with the identity of one vCPU in it.  Intel SDM
 * volume 2, CPUID; AMD APM volume 3, appendix E.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <lkvm/x86_cpu.h>

#define CPUID_LIMIT 4096 /* entries; KVM has 256 */

#define LEAF1_ECX_TSC_DEADLINE (1U << 24)
#define LEAF1_ECX_OSXSAVE (1U << 27)
#define LEAF1_ECX_HYPERVISOR (1U << 31)
#define LEAF1_EDX_HTT (1U << 28)
#define EXT1_ECX_CMP_LEGACY (1U << 1)

#define LEVEL_SMT 1 /* leaf 0xb, ECX[15:8] */
#define LEVEL_CORE 2

struct kvm_cpuid_entry2 *x86_cpuid__find(struct kvm_cpuid2 *cpuid, uint32_t leaf, uint32_t index)
{
	for (unsigned int i = 0; i < cpuid->nent; i++) {
		struct kvm_cpuid_entry2 *e = &cpuid->entries[i];

		if (e->function != leaf)
			continue;
		if (!(e->flags & KVM_CPUID_FLAG_SIGNIFCANT_INDEX) || e->index == index)
			return e;
	}
	return NULL;
}

static struct kvm_cpuid2 *alloc_cpuid(unsigned int nent)
{
	struct kvm_cpuid2 *cpuid;

	cpuid = calloc(1, sizeof(*cpuid) + (nent + X86_CPUID_EXTRA) * sizeof(cpuid->entries[0]));
	if (cpuid)
		cpuid->nent = nent;
	return cpuid;
}

/* KVM does not say how many entries there are, only that they do not fit. */
int x86_cpuid__supported(struct vm *vm, struct kvm_cpuid2 **cpuid)
{
	for (unsigned int nent = 64; nent <= CPUID_LIMIT; nent *= 2) {
		struct kvm_cpuid2 *try = alloc_cpuid(nent);
		int ret;

		if (!try)
			return -ENOMEM;
		ret = vm__ioctl(vm, vm->kvm_fd, KVM_GET_SUPPORTED_CPUID, try);
		if (ret >= 0) {
			*cpuid = try;
			return 0;
		}
		free(try);
		if (ret != -E2BIG)
			return ret;
	}
	return -E2BIG;
}

int x86_cpu__phys_bits(struct vm *vm, unsigned int *bits)
{
	const struct kvm_cpuid_entry2 *e;
	struct kvm_cpuid2 *cpuid;
	int ret;

	ret = x86_cpuid__supported(vm, &cpuid);
	if (ret)
		return ret;
	e = x86_cpuid__find(cpuid, 0x80000008, 0);
	*bits = e && (e->eax & 0xff) ? e->eax & 0xff : 36;
	free(cpuid);
	return 0;
}

/* Bits of the APIC id that number the cores of the package: ceil(log2(nr)). */
static unsigned int id_bits(unsigned int nr)
{
	return nr > 1 ? 32 - __builtin_clz(nr - 1) : 0;
}

static bool is_amd(struct kvm_cpuid2 *cpuid)
{
	const struct kvm_cpuid_entry2 *e = x86_cpuid__find(cpuid, 0, 0);
	char vendor[12];

	if (!e)
		return false;
	memcpy(vendor, &e->ebx, 4);
	memcpy(vendor + 4, &e->edx, 4);
	memcpy(vendor + 8, &e->ecx, 4);
	return !memcmp(vendor, "AuthenticAMD", 12) || !memcmp(vendor, "HygonGenuine", 12);
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void patch_leaf1(struct kvm_cpuid_entry2 *e, const struct x86_topology *topo)
{
	e->ebx &= 0x0000ffff; /* brand index, CLFLUSH size */
	e->ebx |= (topo->id & 0xff) << 24 | min_u32(topo->nr, 255) << 16;
	e->ecx &= ~(LEAF1_ECX_OSXSAVE | LEAF1_ECX_TSC_DEADLINE); /* OSXSAVE: KVM follows CR4 */
	e->ecx |= LEAF1_ECX_HYPERVISOR;
	if (topo->tsc_deadline)
		e->ecx |= LEAF1_ECX_TSC_DEADLINE;
	e->edx &= ~LEAF1_EDX_HTT;
	if (topo->nr > 1)
		e->edx |= LEAF1_EDX_HTT;
}

/* Leaf 4 and its AMD twin: level 1 and 2 belong to a core, the others to all cores. */
static void patch_cache(struct kvm_cpuid_entry2 *e, unsigned int bits)
{
	uint32_t level = (e->eax >> 5) & 7;
	uint32_t share = level >= 3 ? (1U << bits) - 1 : 0;

	if (!(e->eax & 0x1f)) /* type 0: the end of the list */
		return;
	e->eax &= ~(0xfffU << 14);
	e->eax |= min_u32(share, 0xfff) << 14;
	if (e->function == 4) { /* reserved in 0x8000001d */
		e->eax &= ~(0x3fU << 26);
		e->eax |= min_u32((1U << bits) - 1, 0x3f) << 26;
	}
}

static void patch_amd(struct kvm_cpuid_entry2 *e, const struct x86_topology *topo)
{
	switch (e->function) {
	case 0x80000001:
		e->ecx &= ~EXT1_ECX_CMP_LEGACY;
		if (topo->nr > 1)
			e->ecx |= EXT1_ECX_CMP_LEGACY;
		break;
	case 0x80000008: /* ECX: ApicIdSize, NC */
		e->ecx &= ~0xf0ffU;
		e->ecx |= id_bits(topo->nr) << 12 | min_u32(topo->nr - 1, 255);
		break;
	case 0x8000001e: /* extended APIC id; core id, one thread a core; one node */
		e->eax = topo->id;
		e->ebx = topo->id & 0xff;
		e->ecx = 0;
		e->edx = 0;
		break;
	default:
		break;
	}
}

static void patch_entry(struct kvm_cpuid_entry2 *e, const struct x86_topology *topo, bool amd)
{
	switch (e->function) {
	case 1:
		patch_leaf1(e, topo);
		break;
	case 4:
	case 0x8000001d:
		patch_cache(e, id_bits(topo->nr));
		break;
	default:
		if (amd)
			patch_amd(e, topo);
		break;
	}
}

static void remove_leaf(struct kvm_cpuid2 *cpuid, uint32_t leaf)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < cpuid->nent; i++) {
		if (cpuid->entries[i].function != leaf)
			cpuid->entries[kept++] = cpuid->entries[i];
	}
	cpuid->nent = kept;
}

/*
 * Leaves 0xb and 0x1f.  The last subleaf says level 0 with its own number, so
 * that a guest's loop over the subleaves ends; every subleaf has the x2APIC id.
 */
static int add_topology(struct kvm_cpuid2 *cpuid, unsigned int max, uint32_t leaf,
			const struct x86_topology *topo)
{
	const struct kvm_cpuid_entry2 level[] = {
		{.index = 0, .eax = 0, .ebx = 1, .ecx = LEVEL_SMT << 8},
		{.index = 1, .eax = id_bits(topo->nr), .ebx = topo->nr, .ecx = LEVEL_CORE << 8 | 1},
		{.index = 2, .ecx = 2},
	};

	for (unsigned int i = 0; i < sizeof(level) / sizeof(level[0]); i++) {
		struct kvm_cpuid_entry2 *e;

		if (cpuid->nent >= max)
			return -E2BIG;
		e = &cpuid->entries[cpuid->nent++];
		*e = level[i];
		e->function = leaf;
		e->flags = KVM_CPUID_FLAG_SIGNIFCANT_INDEX;
		e->edx = topo->id;
	}
	return 0;
}

static int patch_topology(struct kvm_cpuid2 *cpuid, unsigned int max,
			  const struct x86_topology *topo)
{
	struct kvm_cpuid_entry2 *basic = x86_cpuid__find(cpuid, 0, 0);
	bool has_1f = basic && basic->eax >= 0x1f;
	int ret;

	if (!basic || (basic->eax < 0xb && topo->nr == 1))
		return 0;
	if (basic->eax < 0xb) /* leaves between that KVM does not have read as zero */
		basic->eax = 0xb;
	remove_leaf(cpuid, 0xb);
	remove_leaf(cpuid, 0x1f);
	remove_leaf(cpuid, 0x80000026); /* the host's own topology; 0xb has the guest's */
	ret = add_topology(cpuid, max, 0xb, topo);
	if (!ret && has_1f)
		ret = add_topology(cpuid, max, 0x1f, topo);
	return ret;
}

int x86_cpuid__patch(struct kvm_cpuid2 *cpuid, unsigned int max, const struct x86_topology *topo)
{
	bool amd = is_amd(cpuid);

	for (unsigned int i = 0; i < cpuid->nent; i++)
		patch_entry(&cpuid->entries[i], topo, amd);
	return patch_topology(cpuid, max, topo);
}
