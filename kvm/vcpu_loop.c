/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The vCPU thread: enter the guest, serve the exit, again.  Documentation/virt/
 * kvm/api.rst, 5 (the kvm_run structure).  kvm_run belongs to this thread, but
 * for immediate_exit.
 */
#include <lkvm/vcpu.h>

#include <errno.h>
#include <sys/ioctl.h>

static void end(struct vcpu *vcpu, enum run_end why, int code)
{
	run__end(&vcpu->vm->run, why, code, (int)vcpu->id);
}

/* A string instruction (ins, outs with rep) brings count elements at one port. */
static void exit_io(struct vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;
	uint8_t *data = (uint8_t *)run + run->io.data_offset;
	uint32_t i;

	vcpu->stats.io++;
	for (i = 0; i < run->io.count; i++, data += run->io.size) {
		if (run->io.direction == KVM_EXIT_IO_OUT)
			bus__write(&vcpu->vm->pio, run->io.port, data, run->io.size);
		else
			bus__read(&vcpu->vm->pio, run->io.port, data, run->io.size);
	}
}

static void exit_mmio(struct vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;

	vcpu->stats.mmio++;
	if (run->mmio.is_write)
		bus__write(&vcpu->vm->mmio, run->mmio.phys_addr, run->mmio.data, run->mmio.len);
	else
		bus__read(&vcpu->vm->mmio, run->mmio.phys_addr, run->mmio.data, run->mmio.len);
}

static void exit_system_event(struct vcpu *vcpu)
{
	switch (vcpu->run->system_event.type) {
	case KVM_SYSTEM_EVENT_SHUTDOWN:
		end(vcpu, RUN_END_POWEROFF, 0);
		break;
	case KVM_SYSTEM_EVENT_RESET:
		end(vcpu, RUN_END_RESET, 0);
		break;
	case KVM_SYSTEM_EVENT_CRASH:
		log__error(&vcpu->vm->log, "CPU %u: the guest reports a crash", vcpu->id);
		end(vcpu, RUN_END_TRIPLE_FAULT, 0);
		break;
	default:
		log__error(&vcpu->vm->log, "CPU %u: unknown system event %u from KVM", vcpu->id,
			   vcpu->run->system_event.type);
		end(vcpu, RUN_END_HOST, ENOTSUP);
	}
}

/* All that is not device access: rare, and mostly the end. */
static void exit_other(struct vcpu *vcpu)
{
	struct kvm_run *run = vcpu->run;

	vcpu->stats.other++;
	switch (run->exit_reason) {
	case KVM_EXIT_INTR:
	case KVM_EXIT_IRQ_WINDOW_OPEN:
		break;
	case KVM_EXIT_SHUTDOWN:
		end(vcpu, RUN_END_TRIPLE_FAULT, 0);
		break;
	case KVM_EXIT_INTERNAL_ERROR:
		end(vcpu, RUN_END_KVM_INTERNAL, (int)run->internal.suberror);
		break;
	case KVM_EXIT_FAIL_ENTRY:
		end(vcpu, RUN_END_KVM_ENTRY, (int)run->fail_entry.hardware_entry_failure_reason);
		break;
	case KVM_EXIT_SYSTEM_EVENT:
		exit_system_event(vcpu);
		break;
	default:
		/* KVM_EXIT_HLT among them: the in-kernel irqchip keeps a halted vCPU inside. */
		log__error(&vcpu->vm->log, "CPU %u: exit reason %u from KVM is not known here",
			   vcpu->id, run->exit_reason);
		end(vcpu, RUN_END_HOST, ENOTSUP);
	}
}

void vcpu__serve(struct vcpu *vcpu)
{
	switch (vcpu->run->exit_reason) {
	case KVM_EXIT_IO:
		exit_io(vcpu);
		break;
	case KVM_EXIT_MMIO:
		exit_mmio(vcpu);
		break;
	default:
		exit_other(vcpu);
	}
}

/*
 * EINTR: a kick.  EAGAIN: a vCPU that waited for INIT has got it.  Anything
 * else does not go away by trying again.
 */
static void entry_failed(struct vcpu *vcpu, int code)
{
	if (code == EINTR || code == EAGAIN)
		vcpu->stats.interrupted++;
	else
		end(vcpu, RUN_END_KVM_ERROR, code);
}

void vcpu__loop(struct vcpu *vcpu)
{
	if (vcpu->id == 0)
		timeline__mark(&vcpu->vm->timeline, TIMELINE_RUN);
	while (!run__ended(&vcpu->vm->run)) {
		if (ioctl(vcpu->fd, KVM_RUN, 0) < 0)
			entry_failed(vcpu, errno);
		else
			vcpu__serve(vcpu);
	}
}
