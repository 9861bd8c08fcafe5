/* SPDX-License-Identifier: GPL-2.0-only */
/* The VM object: KVM descriptors and what hangs on them. */
#include <lkvm/vm.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TSS_PAGES 3
#define KVM_PAGE 4096ULL

static const struct vm_cap required[] = {
	{KVM_CAP_IRQCHIP, "KVM_CAP_IRQCHIP"},
	{KVM_CAP_USER_MEMORY, "KVM_CAP_USER_MEMORY"},
	{KVM_CAP_SET_TSS_ADDR, "KVM_CAP_SET_TSS_ADDR"},
	{KVM_CAP_SET_IDENTITY_MAP_ADDR, "KVM_CAP_SET_IDENTITY_MAP_ADDR"},
	{KVM_CAP_EXT_CPUID, "KVM_CAP_EXT_CPUID"},
	{KVM_CAP_IRQFD, "KVM_CAP_IRQFD"},
	{KVM_CAP_IRQ_ROUTING, "KVM_CAP_IRQ_ROUTING"},
	{KVM_CAP_IOEVENTFD, "KVM_CAP_IOEVENTFD"},
	{KVM_CAP_IOEVENTFD_ANY_LENGTH, "KVM_CAP_IOEVENTFD_ANY_LENGTH"},
	{KVM_CAP_IMMEDIATE_EXIT, "KVM_CAP_IMMEDIATE_EXIT"},
};

int vm__check_caps(int (*query)(void *opaque, int cap), void *opaque, struct lk_err *err)
{
	char names[400] = "";
	size_t used = 0;
	unsigned int i;

	for (i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
		if (query(opaque, required[i].cap) > 0)
			continue;
		if (used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 used ? ", " : "", required[i].name);
	}
	if (!used)
		return 0;
	return lk_err__set(err, -ENOTSUP,
			   "this KVM lacks %s; a host kernel of 4.11 or later is needed", names);
}

int vm__ioctl_val(struct vm *vm, int fd, unsigned long request, unsigned long arg)
{
	bool timed = !atomic_load_explicit(&vm->running, memory_order_relaxed);
	uint64_t start = timed ? timeline__now() : 0;
	int ret;

	do {
		ret = ioctl(fd, request, arg);
	} while (ret < 0 && errno == EINTR);
	if (ret < 0)
		ret = -errno;
	if (timed)
		vm->timeline.kvm_ns += timeline__now() - start;
	return ret;
}

int vm__ioctl(struct vm *vm, int fd, unsigned long request, void *arg)
{
	return vm__ioctl_val(vm, fd, request, (unsigned long)arg);
}

int vm__cap(struct vm *vm, int cap)
{
	int ret = vm__ioctl_val(vm, vm->vm_fd, KVM_CHECK_EXTENSION, (unsigned long)cap);

	return ret < 0 ? 0 : ret;
}

static int query_system(void *opaque, int cap)
{
	struct vm *vm = opaque;

	return vm__ioctl_val(vm, vm->kvm_fd, KVM_CHECK_EXTENSION, (unsigned long)cap);
}

static int open_failed(const char *path, int code, struct lk_err *err)
{
	switch (code) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		return lk_err__set(
			err, -code,
			"%s is not there: load the module (modprobe kvm_intel or "
			"kvm_amd), or turn virtualization on in the firmware or for this "
			"instance; in a container pass the device in",
			path);
	case EACCES:
		return lk_err__set(err, -code,
				   "no permission for %s: join its group (usually: sudo usermod "
				   "-aG kvm $USER, then log in again)",
				   path);
	case EPERM:
		return lk_err__set(err, -code,
				   "%s may not be opened here: the device rules of this container "
				   "or a security module forbid it; allow the device",
				   path);
	default:
		return lk_err__set(err, -code, "cannot open %s: %s", path, strerror(code));
	}
}

static int open_kvm(struct vm *vm, const char *path, struct lk_err *err)
{
	int version;

	vm->kvm_fd = open(path, O_RDWR | O_CLOEXEC);
	if (vm->kvm_fd < 0)
		return open_failed(path, errno, err);
	version = vm__ioctl_val(vm, vm->kvm_fd, KVM_GET_API_VERSION, 0);
	if (version < 0)
		return lk_err__set(err, version, "%s is not the KVM device: %s", path,
				   strerror(-version));
	if (version != KVM_API_VERSION)
		return lk_err__set(err, -ENOTSUP,
				   "%s has KVM API version %d, but %d is needed: a host kernel of "
				   "4.11 or later has it",
				   path, version, KVM_API_VERSION);
	return vm__check_caps(query_system, vm, err);
}

static int create_fd(struct vm *vm, struct lk_err *err)
{
	int ret = vm__ioctl_val(vm, vm->kvm_fd, KVM_GET_VCPU_MMAP_SIZE, 0);

	if (ret < (int)sizeof(struct kvm_run))
		return lk_err__set(err, ret < 0 ? ret : -ENOTSUP,
				   "KVM_GET_VCPU_MMAP_SIZE gives %d, less than a run area", ret);
	vm->vcpu_mmap_size = ret;
	ret = vm__ioctl_val(vm, vm->kvm_fd, KVM_CREATE_VM, 0);
	if (ret == -EBUSY)
		return lk_err__set(err, ret,
				   "KVM_CREATE_VM: another hypervisor (VirtualBox, VMware) holds "
				   "the virtualization hardware; stop it");
	if (ret < 0)
		return lk_err__set(err, ret, "KVM_CREATE_VM: %s", strerror(-ret));
	vm->vm_fd = ret;
	return 0;
}

/*
 * Firmware leaves both PICs masked; KVM's come up open, with vector base 0, and
 * LINT0 of the boot CPU takes ExtINT.  A guest of hardware-reduced ACPI never
 * programs them: the serial port's interrupt would reach it a second time, as
 * an exception.
 */
static int mask_pics(struct vm *vm)
{
	static const uint32_t pics[] = {KVM_IRQCHIP_PIC_MASTER, KVM_IRQCHIP_PIC_SLAVE};
	int ret = 0;

	for (unsigned int i = 0; i < sizeof(pics) / sizeof(pics[0]) && ret >= 0; i++) {
		struct kvm_irqchip chip = {.chip_id = pics[i]};

		ret = vm__ioctl(vm, vm->vm_fd, KVM_GET_IRQCHIP, &chip);
		if (ret < 0)
			break;
		chip.chip.pic.imr = 0xff;
		ret = vm__ioctl(vm, vm->vm_fd, KVM_SET_IRQCHIP, &chip);
	}
	return ret;
}

/*
 * Pages for real mode on Intel hardware (KVM_SET_TSS_ADDR), interrupt
 * controllers and timer: all of it before the first vCPU.
 */
static int create_platform(struct vm *vm, uint64_t tss_addr, struct lk_err *err)
{
	struct kvm_pit_config pit = {.flags = KVM_PIT_SPEAKER_DUMMY};
	uint64_t identity = tss_addr + TSS_PAGES * KVM_PAGE;
	const char *what = "KVM_SET_TSS_ADDR";
	int ret;

	ret = vm__ioctl_val(vm, vm->vm_fd, KVM_SET_TSS_ADDR, tss_addr);
	if (ret >= 0) {
		what = "KVM_SET_IDENTITY_MAP_ADDR";
		ret = vm__ioctl(vm, vm->vm_fd, KVM_SET_IDENTITY_MAP_ADDR, &identity);
	}
	if (ret >= 0) {
		what = "KVM_CREATE_IRQCHIP";
		ret = vm__ioctl_val(vm, vm->vm_fd, KVM_CREATE_IRQCHIP, 0);
	}
	if (ret >= 0) {
		what = "KVM_SET_IRQCHIP";
		ret = mask_pics(vm);
	}
	if (ret >= 0 && vm__cap(vm, KVM_CAP_PIT2)) {
		what = "KVM_CREATE_PIT2";
		ret = vm__ioctl(vm, vm->vm_fd, KVM_CREATE_PIT2, &pit);
	}
	if (ret >= 0) {
		what = "KVM_SET_GSI_ROUTING";
		ret = irq__init(&vm->irq, vm);
	}
	return ret < 0 ? lk_err__set(err, ret, "%s: %s", what, strerror(-ret)) : 0;
}

static void close_fds(struct vm *vm)
{
	if (vm->vm_fd >= 0)
		close(vm->vm_fd);
	if (vm->kvm_fd >= 0)
		close(vm->kvm_fd);
	vm->vm_fd = -1;
	vm->kvm_fd = -1;
}

static int init_parts(struct vm *vm, struct lk_err *err)
{
	int ret = run__init(&vm->run);

	if (ret)
		goto fail;
	pthread_mutex_init(&vm->gate, NULL);
	ret = bus__init(&vm->pio);
	if (ret)
		goto fail_run;
	ret = bus__init(&vm->mmio);
	if (ret)
		goto fail_pio;
	return 0;

fail_pio:
	bus__fini(&vm->pio);
fail_run:
	pthread_mutex_destroy(&vm->gate);
	run__fini(&vm->run);
fail:
	return lk_err__set(err, ret, "cannot set up run control: %s", strerror(-ret));
}

static void fini_parts(struct vm *vm)
{
	bus__fini(&vm->mmio);
	bus__fini(&vm->pio);
	pthread_mutex_destroy(&vm->gate);
	run__fini(&vm->run);
}

int vm__create(struct vm *vm, const char *path, uint64_t tss_addr, struct lk_err *err)
{
	int ret;

	vm->kvm_fd = -1;
	vm->vm_fd = -1;
	vm->vcpus = NULL;
	vm->nr_vcpus = 0;
	vm->mem.nr = 0;
	vm->mem.base = NULL;
	atomic_init(&vm->running, false);
	ret = init_parts(vm, err);
	if (ret)
		return ret;
	ret = open_kvm(vm, path, err);
	if (!ret)
		ret = create_fd(vm, err);
	if (!ret)
		ret = create_platform(vm, tss_addr, err);
	if (ret) {
		close_fds(vm);
		fini_parts(vm);
	}
	return ret;
}

void vm__destroy(struct vm *vm)
{
	if (vm->vm_fd < 0)
		return;
	irq__fini(&vm->irq);
	close_fds(vm);
	fini_parts(vm);
}

int vm__map_memory(struct vm *vm, struct lk_err *err)
{
	struct kvm_userspace_memory_region slot;
	const struct guest_region *r;
	unsigned int i;
	int ret;

	for (i = 0; i < vm->mem.nr; i++) {
		r = &vm->mem.region[i];
		slot = (struct kvm_userspace_memory_region) {
			.slot = i,
			.guest_phys_addr = r->gpa,
			.memory_size = r->size,
			.userspace_addr = (uintptr_t)r->hva,
		};
		ret = vm__ioctl(vm, vm->vm_fd, KVM_SET_USER_MEMORY_REGION, &slot);
		if (ret < 0)
			return lk_err__set(err, ret,
					   "KVM refuses %llu MiB of guest memory at 0x%llx: %s",
					   (unsigned long long)(r->size >> 20),
					   (unsigned long long)r->gpa, strerror(-ret));
	}
	return 0;
}

int vm__ioeventfd(struct vm *vm, uint64_t addr, int fd, bool on)
{
	struct kvm_ioeventfd req = {
		.addr = addr,
		.len = 0, /* any length, KVM_CAP_IOEVENTFD_ANY_LENGTH */
		.fd = fd,
		.flags = on ? 0 : KVM_IOEVENTFD_FLAG_DEASSIGN,
	};
	int ret = vm__ioctl(vm, vm->vm_fd, KVM_IOEVENTFD, &req);

	return ret < 0 ? ret : 0;
}
