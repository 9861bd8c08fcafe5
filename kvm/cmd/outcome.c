// SPDX-License-Identifier: GPL-2.0-only
/* From the end of the VM to a message and an exit status. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <lkvm/vcpu.h>
#include <lkvm/x86_cpu.h>

#include "cmd.h"
#include "outcome.h"

__attribute__((format(printf, 2, 3))) static void say(struct outcome *o, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(o->reason, sizeof(o->reason), format, ap);
	va_end(ap);
}

/* ENOTSUP: KVM came back with something unknown, and a message about it went before. */
static void kvm_reason(const struct run *run, struct outcome *o)
{
	int code = run->code;

	if (run->end == RUN_END_KVM_INTERNAL)
		say(o, "vCPU %d: KVM internal error, suberror %d", run->cpu, code);
	else if (run->end == RUN_END_KVM_ENTRY)
		say(o, "vCPU %d: KVM could not enter the guest, reason %#x", run->cpu,
		    (unsigned int)code);
	else if (run->end == RUN_END_KVM_ERROR)
		say(o, "vCPU %d: KVM_RUN failed: %s", run->cpu, strerror(code));
	else
		say(o, "the host could not go on: %s; %s", strerror(code),
		    code == ENOTSUP ? "a newer lkvm may know it, else please report it"
				    : "see what the host is short of (dmesg, ulimit -a), then "
				      "start the VM again");
}

/* The expression that the console has not matched yet. */
static const char *awaited(const struct watch *w)
{
	return w->seen < w->rules->nr_expect ? w->rules->expect[w->seen].source : NULL;
}

static void timeout_reason(const struct console_watch *cw, struct outcome *o)
{
	const char *pattern = awaited(&cw->watch);

	if (pattern)
		say(o, "--timeout: %u s are over and --expect '%s' has not matched",
		    cw->opts->timeout, pattern);
	else
		say(o, "--timeout: %u s are over and the guest has not ended", cw->opts->timeout);
}

/* What ends as it should has no reason to tell. */
static void find_reason(const struct run *run, const struct console_watch *cw, struct outcome *o)
{
	const struct watch *w = &cw->watch;

	switch (o->status) {
	case STATUS_KVM:
		kvm_reason(run, o);
		break;
	case STATUS_PANIC:
		if (w->panic == WATCH_PANIC_NONE)
			say(o, "kernel panic, reported through pvpanic");
		else
			say(o, "kernel panic: %s", w->why);
		break;
	case STATUS_FAIL_ON:
		say(o, "--fail-on '%s' matched: %s", w->failed->source, w->why);
		break;
	case STATUS_UNEXPECTED:
		say(o, "the guest ended before --expect '%s' matched", awaited(w));
		break;
	case STATUS_TIMEOUT:
		timeout_reason(cw, o);
		break;
	case STATUS_TRIPLE_FAULT:
		say(o, "vCPU %d: triple fault", run->cpu);
		break;
	default:
		if (run->end == RUN_END_EXIT_PORT && run->code > STATUS_GUEST_MAX)
			say(o,
			    "the guest asked for exit status %d; 0 to %d are its own, so it is %d",
			    run->code, STATUS_GUEST_MAX, STATUS_GUEST_MAX);
		break;
	}
}

/* What the statuses that stand for one thing are called; for the others, what ended it. */
static const char *kind_of(const struct run *run, int status)
{
	static const char *const ends[] = {
		[RUN_END_POWEROFF] = "poweroff", [RUN_END_RESET] = "reset",
		[RUN_END_EXIT_PORT] = "exit",	 [RUN_END_TRIPLE_FAULT] = "triple-fault",
		[RUN_END_KEYBOARD] = "keyboard", [RUN_END_SIGNAL] = "signal",
	};

	switch (status) {
	case STATUS_PANIC:
		return "panic";
	case STATUS_KVM:
		return "kvm";
	case STATUS_FAIL_ON:
		return "fail-on";
	case STATUS_UNEXPECTED:
		return "unexpected-end";
	case STATUS_SANDBOX:
		return "sandbox";
	case STATUS_TIMEOUT:
		return "timeout";
	default:
		break;
	}
	if (run->end < sizeof(ends) / sizeof(ends[0]) && ends[run->end])
		return ends[run->end];
	return "expected";
}

void outcome__find(struct outcome *o, const struct run *run, const struct console_watch *cw,
		   bool refused)
{
	const struct watch *w = &cw->watch;
	struct outcome_facts facts = {
		.end = run->end,
		.code = run->code,
		.panicked = w->panic != WATCH_PANIC_NONE ||
			    atomic_load_explicit(&run->panic, memory_order_acquire),
		.failed = w->failed != NULL,
		.expecting = w->rules->nr_expect,
		.satisfied = watch__satisfied(w),
		.wait_end = w->rules->wait_end,
	};

	*o = (struct outcome) {.status = refused ? STATUS_SANDBOX : outcome__decide(&facts)};
	o->kind = facts.satisfied && !facts.wait_end && o->status == STATUS_OK
			  ? "expected"
			  : kind_of(run, o->status);
	if (refused) /* the message about it went out at once */
		say(o, "the sandbox refused a system call of lkvm");
	else
		find_reason(run, cw, o);
}

void outcome__tell(const struct outcome *o, struct vm *vm)
{
	int cpu = vm->run.cpu;

	if (!o->reason[0] || o->status == STATUS_SANDBOX)
		return;
	fprintf(stderr, "lkvm: %s\n", o->reason);
	if (o->status == STATUS_KVM && vm->run.end != RUN_END_HOST && cpu >= 0 &&
	    (unsigned int)cpu < vm->nr_vcpus)
		x86_cpu__dump(&vm->vcpus[cpu], stderr);
}

void outcome__timeline(struct vm *vm)
{
	const struct timeline *tl = &vm->timeline;
	uint64_t base = tl->at[TIMELINE_MAIN] - tl->exec_ns;
	unsigned int i;

	for (i = 0; i < TIMELINE_MARKS; i++)
		if (tl->at[i])
			fprintf(stderr, "lkvm: timeline %-17s %10.3f ms\n", timeline__name(i),
				(tl->at[i] - base) / 1e6);
	if (tl->at[TIMELINE_RUN])
		fprintf(stderr,
			"lkvm: timeline start-up %.3f ms, in KVM ioctls %.3f ms, own share %.3f "
			"ms\n",
			(tl->at[TIMELINE_RUN] - base) / 1e6, tl->kvm_ns / 1e6,
			(tl->at[TIMELINE_RUN] - base - tl->kvm_ns) / 1e6);
}
