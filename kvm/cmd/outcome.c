// SPDX-License-Identifier: GPL-2.0-only
/* From the end of the VM to a message and an exit status. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <lkvm/vcpu.h>
#include <lkvm/x86_cpu.h>

#include "cmd.h"
#include "outcome.h"

static void kvm_gave_up(struct vm *vm, const char *what)
{
	int cpu = vm->run.cpu;

	fprintf(stderr, "lkvm: vCPU %d: %s\n", cpu, what);
	if (cpu >= 0 && (unsigned int)cpu < vm->nr_vcpus)
		x86_cpu__dump(&vm->vcpus[cpu], stderr);
}

static void exit_port(int code)
{
	if (code > STATUS_GUEST_MAX)
		fprintf(stderr,
			"lkvm: the guest asked for exit status %d; 0 to %d are its own, so it is "
			"%d\n",
			code, STATUS_GUEST_MAX, STATUS_GUEST_MAX);
}

/* ENOTSUP: KVM came back with something unknown, and a message about it went before. */
static void host_gave_up(int code)
{
	fprintf(stderr, "lkvm: the host could not go on: %s; %s\n", strerror(code),
		code == ENOTSUP ? "a newer lkvm may know it, else please report it"
				: "see what the host is short of (dmesg, ulimit -a), then start "
				  "the VM again");
}

static void tell_kvm(struct vm *vm)
{
	const struct run *run = &vm->run;
	char what[96];

	if (run->end == RUN_END_KVM_INTERNAL)
		snprintf(what, sizeof(what), "KVM internal error, suberror %d", run->code);
	else if (run->end == RUN_END_KVM_ENTRY)
		snprintf(what, sizeof(what), "KVM could not enter the guest, reason %#x",
			 (unsigned int)run->code);
	else if (run->end == RUN_END_KVM_ERROR)
		snprintf(what, sizeof(what), "KVM_RUN failed: %s", strerror(run->code));
	else
		return host_gave_up(run->code);
	kvm_gave_up(vm, what);
}

/* The expression that the console has not matched yet. */
static const char *awaited(const struct watch *w)
{
	return w->seen < w->rules->nr_expect ? w->rules->expect[w->seen].source : NULL;
}

static void tell_timeout(const struct console_watch *cw)
{
	const char *pattern = awaited(&cw->watch);

	if (pattern)
		fprintf(stderr,
			"lkvm: --timeout: %u s are over and --expect '%s' has not matched\n",
			cw->opts->timeout, pattern);
	else
		fprintf(stderr, "lkvm: --timeout: %u s are over and the guest has not ended\n",
			cw->opts->timeout);
}

static void tell(struct vm *vm, const struct console_watch *cw, enum cmd_status status)
{
	const struct watch *w = &cw->watch;

	switch (status) {
	case STATUS_KVM:
		return tell_kvm(vm);
	case STATUS_PANIC:
		if (w->panic == WATCH_PANIC_NONE)
			fprintf(stderr, "lkvm: kernel panic, reported through pvpanic\n");
		else
			fprintf(stderr, "lkvm: kernel panic: %s\n", w->why);
		break;
	case STATUS_FAIL_ON:
		fprintf(stderr, "lkvm: --fail-on '%s' matched: %s\n", w->failed->source, w->why);
		break;
	case STATUS_UNEXPECTED:
		fprintf(stderr, "lkvm: the guest ended before --expect '%s' matched\n", awaited(w));
		break;
	case STATUS_TIMEOUT:
		tell_timeout(cw);
		break;
	case STATUS_TRIPLE_FAULT:
		if (vm->run.end == RUN_END_TRIPLE_FAULT)
			fprintf(stderr, "lkvm: vCPU %d: triple fault\n", vm->run.cpu);
		break;
	default:
		if (vm->run.end == RUN_END_EXIT_PORT)
			exit_port(vm->run.code);
		break;
	}
}

int outcome__report(struct vm *vm, const struct console_watch *cw)
{
	const struct watch *w = &cw->watch;
	struct outcome_facts facts = {
		.end = vm->run.end,
		.code = vm->run.code,
		.panicked = w->panic != WATCH_PANIC_NONE ||
			    atomic_load_explicit(&vm->run.panic, memory_order_acquire),
		.failed = w->failed != NULL,
		.expecting = w->rules->nr_expect,
		.satisfied = watch__satisfied(w),
		.wait_end = w->rules->wait_end,
	};
	enum cmd_status status = outcome__decide(&facts);

	tell(vm, cw, status);
	return status;
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
