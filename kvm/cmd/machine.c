// SPDX-License-Identifier: GPL-2.0-only
/* The machine: a list of steps up, the same list down. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <lkvm/acpi.h>
#include <lkvm/vcpu.h>
#include <lkvm/x86_cpu.h>

#include "machine.h"
#include "machine_steps.h"

struct step {
	const char *name;
	/* A step that fails has undone its own part: only earlier steps go down. */
	int (*up)(struct machine *m, struct lk_err *err);
	void (*down)(struct machine *m); /* NULL: nothing to undo */
	enum timeline_mark mark; /* reached when the step is done; 0: none */
};

static int log_up(struct machine *m, struct lk_err *err)
{
	int ret = log__init(&m->vm.log, m->opts->loglevel);

	if (ret)
		return lk_err__set(err, ret, "cannot set up logging: %s", strerror(-ret));
	return 0;
}

static void log_down(struct machine *m)
{
	log__fini(&m->vm.log);
}

static int kvm_up(struct machine *m, struct lk_err *err)
{
	int ret = vm__create(&m->vm, "/dev/kvm", X86_TSS_BASE, err);

	if (ret)
		return ret;
	/* before the tables are built for that many */
	ret = vcpu__check_number(&m->vm, m->opts->cpus, err);
	if (ret)
		vm__destroy(&m->vm);
	return ret;
}

/* Guest memory last: the VM maps it. */
static void kvm_down(struct machine *m)
{
	vm__destroy(&m->vm);
	guest_mem__fini(&m->vm.mem);
}

static int memory_up(struct machine *m, struct lk_err *err)
{
	struct guest_region regions[X86_MAP_RAM] = {0};
	unsigned int i;
	int ret;

	for (i = 0; i < m->map.nr_ram; i++) {
		regions[i].gpa = m->map.ram[i].base;
		regions[i].size = m->map.ram[i].size;
	}
	ret = guest_mem__init(&m->vm.mem, regions, m->map.nr_ram, err);
	if (ret)
		return ret;
	return vm__map_memory(&m->vm, err); /* kvm_down() ends both */
}

static int boot_up(struct machine *m, struct lk_err *err)
{
	uint64_t rsdp;
	int ret;

	ret = acpi__build(&m->vm.mem, &m->map, m->opts->cpus, &rsdp, err);
	if (!ret)
		ret = boot__load(&m->plan, &m->kernel, &m->map, &m->vm.mem, m->initrd_fd,
				 m->cmdline, rsdp, err);
	return ret;
}

static int platform_up(struct machine *m, struct lk_err *err)
{
	int ret;

	/* The reset register lies inside PCI's port range: it has to be there first. */
	ret = x86_platform__init(&m->platform, &m->vm);
	if (ret)
		return lk_err__set(err, ret, "platform devices: %s", strerror(-ret));
	ret = uart__init(&m->uart, &m->vm, X86_PORT_COM1, X86_GSI_COM1);
	if (ret) {
		x86_platform__fini(&m->platform);
		return lk_err__set(err, ret, "serial port: %s", strerror(-ret));
	}
	return 0;
}

static void platform_down(struct machine *m)
{
	uart__fini(&m->uart);
	x86_platform__fini(&m->platform);
}

static int pci_up(struct machine *m, struct lk_err *err)
{
	int ret = pci__init(&m->pci, &m->vm, X86_ECAM_BASE, X86_BAR32_BASE, X86_BAR32_SIZE);

	if (ret)
		return lk_err__set(err, ret, "PCI host bridge: %s", strerror(-ret));
	return 0;
}

static void pci_down(struct machine *m)
{
	pci__fini(&m->pci);
}

static int vcpus_up(struct machine *m, struct lk_err *err)
{
	int ret = vcpu__create_all(&m->vm, m->opts->cpus, err);

	if (ret)
		return ret;
	ret = x86_cpu__setup_all(&m->vm, m->plan.entry, err);
	if (ret)
		vcpu__destroy_all(&m->vm);
	return ret;
}

static void vcpus_down(struct machine *m)
{
	vcpu__destroy_all(&m->vm);
}

/* What is named on the command line is open now, and no other thread exists. */
static int sandbox_up(struct machine *m, struct lk_err *err)
{
	if (m->ready)
		m->ready(m->ready_arg);
	m->sandbox.endfd = m->vm.run.endfd;
	m->sandbox.needs = step__needs(m);
	return sandbox__up(&m->sandbox, &m->vm.log, err);
}

static void sandbox_down(struct machine *m)
{
	sandbox__down(&m->sandbox);
}

static const struct step steps[] = {
	{"log", log_up, log_down, 0},
	{"host memory", step__check_memory, NULL, 0},
	{"kernel command line", step__params, NULL, 0},
	{"kernel file", step__kernel_up, step__kernel_down, 0},
	{"initrd file", step__initrd_up, step__initrd_down, 0},
	{"disk images", step__images_up, step__images_down, 0},
	{"KVM", kvm_up, kvm_down, TIMELINE_KVM},
	{"memory map", step__plan, NULL, 0},
	{"guest memory", memory_up, NULL, TIMELINE_MEMORY},
	{"boot data", boot_up, NULL, TIMELINE_KERNEL},
	{"platform devices", platform_up, platform_down, 0},
	{"PCI", pci_up, pci_down, 0},
	{"disks", step__disks_up, step__disks_down, 0},
	{"rng", step__rng_up, step__rng_down, 0},
	{"sandbox", sandbox_up, sandbox_down, 0},
	{"I/O threads", step__threads_up, step__threads_down, TIMELINE_DEVICES},
	{"vCPUs", vcpus_up, vcpus_down, TIMELINE_VCPUS},
};

#define NR_STEPS (sizeof(steps) / sizeof(steps[0]))

int machine__up(struct machine *m, const struct run_options *opts, const struct timeline *tl,
		struct lk_err *err)
{
	const struct step *step;
	int ret;

	m->opts = opts;
	m->initrd_fd = -1;
	m->kernel.fd = -1;
	m->vm.kvm_fd = -1;
	m->vm.vm_fd = -1;
	m->vm.timeline = *tl;
	m->sandbox.mode = opts->sandbox;
	m->vm.threads = opts->sandbox == SANDBOX_OFF ? NULL : &m->sandbox.hook;
	for (m->steps_done = 0; m->steps_done < NR_STEPS; m->steps_done++) {
		step = &steps[m->steps_done];
		ret = step->up(m, err);
		if (ret) {
			machine__down(m);
			return ret;
		}
		if (step->mark)
			timeline__mark(&m->vm.timeline, step->mark);
	}
	return 0;
}

void machine__stop_io(struct machine *m)
{
	step__threads_down(m);
}

void machine__down(struct machine *m)
{
	while (m->steps_done > 0) {
		m->steps_done--;
		if (steps[m->steps_done].down)
			steps[m->steps_done].down(m);
	}
}
