// SPDX-License-Identifier: GPL-2.0-only
/* From the end of the VM to a message and an exit status. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <lkvm/vcpu.h>
#include <lkvm/x86_cpu.h>

#include "cmd.h"
#include "outcome.h"

static int kvm_gave_up(struct vm *vm, const char *what)
{
	int cpu = vm->run.cpu;

	fprintf(stderr, "lkvm: vCPU %d: %s\n", cpu, what);
	if (cpu >= 0 && (unsigned int)cpu < vm->nr_vcpus)
		x86_cpu__dump(&vm->vcpus[cpu], stderr);
	return STATUS_KVM;
}

static int exit_port(int code)
{
	if (code <= STATUS_GUEST_MAX)
		return code;
	fprintf(stderr,
		"lkvm: the guest asked for exit status %d; 0 to %d are its own, so it is %d\n",
		code, STATUS_GUEST_MAX, STATUS_GUEST_MAX);
	return STATUS_GUEST_MAX;
}

/* ENOTSUP: KVM came back with something unknown, and a message about it went before. */
static int host_gave_up(int code)
{
	fprintf(stderr, "lkvm: the host could not go on: %s; %s\n", strerror(code),
		code == ENOTSUP ? "a newer lkvm may know it, else please report it"
				: "see what the host is short of (dmesg, ulimit -a), then start "
				  "the VM again");
	return STATUS_KVM;
}

int outcome__report(struct vm *vm)
{
	struct run *run = &vm->run;
	char what[96];

	switch (run->end) {
	case RUN_END_POWEROFF:
	case RUN_END_RESET:
		return STATUS_OK;
	case RUN_END_EXIT_PORT:
		return exit_port(run->code);
	case RUN_END_TRIPLE_FAULT:
		fprintf(stderr, "lkvm: vCPU %d: triple fault\n", run->cpu);
		return STATUS_TRIPLE_FAULT;
	case RUN_END_KVM_INTERNAL:
		snprintf(what, sizeof(what), "KVM internal error, suberror %d", run->code);
		return kvm_gave_up(vm, what);
	case RUN_END_KVM_ENTRY:
		snprintf(what, sizeof(what), "KVM could not enter the guest, reason %#x",
			 (unsigned int)run->code);
		return kvm_gave_up(vm, what);
	case RUN_END_KVM_ERROR:
		snprintf(what, sizeof(what), "KVM_RUN failed: %s", strerror(run->code));
		return kvm_gave_up(vm, what);
	case RUN_END_KEYBOARD:
		return STATUS_SIGNAL + SIGINT;
	case RUN_END_SIGNAL:
		return STATUS_SIGNAL + run->code;
	case RUN_END_NONE:
	case RUN_END_HOST:
		break;
	}
	return host_gave_up(run->code);
}

void outcome__timeline(struct vm *vm)
{
	static const char *const names[TIMELINE_MARKS] = {
		[TIMELINE_MAIN] = "main",	  [TIMELINE_OPTIONS] = "options",
		[TIMELINE_KVM] = "KVM ready",	  [TIMELINE_MEMORY] = "guest memory",
		[TIMELINE_KERNEL] = "boot data",  [TIMELINE_DEVICES] = "devices",
		[TIMELINE_VCPUS] = "vCPUs ready", [TIMELINE_RUN] = "first KVM_RUN",
		[TIMELINE_END] = "end",
	};
	const struct timeline *tl = &vm->timeline;
	uint64_t base = tl->at[TIMELINE_MAIN] - tl->exec_ns;
	unsigned int i;

	for (i = 0; i < TIMELINE_MARKS; i++)
		if (tl->at[i])
			fprintf(stderr, "lkvm: timeline %-14s %10.3f ms\n", names[i],
				(tl->at[i] - base) / 1e6);
	if (tl->at[TIMELINE_RUN])
		fprintf(stderr,
			"lkvm: timeline start-up %.3f ms, in KVM ioctls %.3f ms, own share %.3f "
			"ms\n",
			(tl->at[TIMELINE_RUN] - base) / 1e6, tl->kvm_ns / 1e6,
			(tl->at[TIMELINE_RUN] - base - tl->kvm_ns) / 1e6);
}
