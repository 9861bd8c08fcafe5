// SPDX-License-Identifier: GPL-2.0-only
/*
 * MSRs as firmware would leave them (Intel SDM volume 4).  Numbers are in no
 * UAPI header.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <lkvm/x86_cpu.h>

#define MSR_TSC 0x10
#define MSR_MISC_ENABLE 0x1a0
#define MSR_MTRR_FIX64K_00000 0x250
#define MSR_MTRR_FIX16K_80000 0x258
#define MSR_MTRR_FIX4K_C0000 0x268 /* eight of them, 32 KiB each */
#define MSR_MTRR_DEF_TYPE 0x2ff

#define MISC_ENABLE_FAST_STRING 1
/*
 * MTRRs and the fixed ones on, write-back where none says otherwise.  The fixed
 * ones start as 0, uncached: all but the VGA hole become write-back too.
 */
#define MTRR_DEF_TYPE_WB 0xc06
#define MTRR_FIXED_WB 0x0606060606060606ULL

#define NR_MSRS 13

static unsigned int fill(struct kvm_msr_entry *first)
{
	struct kvm_msr_entry *e = first;

	*e++ = (struct kvm_msr_entry) {.index = MSR_TSC, .data = 0};
	*e++ = (struct kvm_msr_entry) {.index = MSR_MISC_ENABLE, .data = MISC_ENABLE_FAST_STRING};
	*e++ = (struct kvm_msr_entry) {.index = MSR_MTRR_FIX64K_00000, .data = MTRR_FIXED_WB};
	*e++ = (struct kvm_msr_entry) {.index = MSR_MTRR_FIX16K_80000, .data = MTRR_FIXED_WB};
	for (unsigned int i = 0; i < 8; i++)
		*e++ = (struct kvm_msr_entry) {.index = MSR_MTRR_FIX4K_C0000 + i,
					       .data = MTRR_FIXED_WB};
	*e++ = (struct kvm_msr_entry) {.index = MSR_MTRR_DEF_TYPE, .data = MTRR_DEF_TYPE_WB};
	return e - first;
}

/*
 * KVM_SET_MSRS says how many it took before the first that it refused, which
 * goes out; then the rest is tried.  Every vCPU refuses the same ones: one
 * warning is enough.
 */
static int set_all(struct vcpu *vcpu, struct kvm_msrs *list)
{
	while (list->nmsrs) {
		int took = vm__ioctl(vcpu->vm, vcpu->fd, KVM_SET_MSRS, list);
		unsigned int rest;

		if (took < 0)
			return took;
		if (took >= (int)list->nmsrs)
			return 0;
		if (vcpu->id == 0)
			log__warn(&vcpu->vm->log, "KVM refuses MSR 0x%x; going on without it",
				  list->entries[took].index);
		rest = list->nmsrs - took - 1;
		memmove(list->entries, list->entries + took + 1, rest * sizeof(list->entries[0]));
		list->nmsrs = rest;
	}
	return 0;
}

int x86_msr__setup(struct vcpu *vcpu)
{
	struct kvm_msrs *list;
	int ret;

	list = calloc(1, sizeof(*list) + NR_MSRS * sizeof(list->entries[0]));
	if (!list)
		return -ENOMEM;
	list->nmsrs = fill(list->entries);
	ret = set_all(vcpu, list);
	free(list);
	return ret;
}
