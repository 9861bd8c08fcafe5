/* SPDX-License-Identifier: GPL-2.0-only */
/* vCPUs: creation, threads, stop. */
#include <lkvm/vcpu.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST_WIDE_ID 255U /* 0xff is the broadcast id of the 8-bit form */
#define DEFAULT_MAX_VCPUS 4U /* api.rst 4.7: where KVM names no limit */

/* A real-time signal: nothing else sends it to us, and each one counts. */
static int kick_signal(void)
{
	return SIGRTMIN;
}

/* api.rst 4.7 KVM_CREATE_VCPU: how many there can be, and how high an id can be. */
static unsigned int max_vcpus(struct vm *vm)
{
	int max = vm__cap(vm, KVM_CAP_MAX_VCPUS);
	int ids = vm__cap(vm, KVM_CAP_MAX_VCPU_ID);

	if (max <= 0)
		max = vm__cap(vm, KVM_CAP_NR_VCPUS);
	if (max <= 0)
		max = DEFAULT_MAX_VCPUS;
	/* The one names a count, the other one more than the highest id: ours are 0 and up. */
	return (unsigned int)(ids > 0 && ids < max ? ids : max);
}

/*
 * Where an id takes more than 8 bits, routes and MSIs carry 32-bit destinations,
 * and 0xff is a vCPU instead of all of them.
 */
static int enable_wide_ids(struct vm *vm, unsigned int nr, struct lk_err *err)
{
	struct kvm_enable_cap cap = {
		.cap = KVM_CAP_X2APIC_API,
		.args = {KVM_X2APIC_API_USE_32BIT_IDS | KVM_X2APIC_API_DISABLE_BROADCAST_QUIRK},
	};
	int ret;

	if (nr <= FIRST_WIDE_ID)
		return 0;
	ret = vm__ioctl(vm, vm->vm_fd, KVM_ENABLE_CAP, &cap);
	if (ret < 0)
		return lk_err__set(err, ret,
				   "%u CPUs need KVM_CAP_X2APIC_API, which this KVM refuses: %s; "
				   "give at most %u with -c",
				   nr, strerror(-ret), FIRST_WIDE_ID);
	return 0;
}

static int create_one(struct vm *vm, struct vcpu *vcpu, unsigned int id, struct lk_err *err)
{
	int ret;

	vcpu->vm = vm;
	vcpu->id = id;
	ret = vm__ioctl_val(vm, vm->vm_fd, KVM_CREATE_VCPU, id);
	if (ret < 0)
		return lk_err__set(err, ret, "KVM_CREATE_VCPU for CPU %u: %s%s", id, strerror(-ret),
				   ret == -EMFILE ? "; raise ulimit -n" : "");
	vcpu->fd = ret;
	vcpu->run = mmap(NULL, (size_t)vm->vcpu_mmap_size, PROT_READ | PROT_WRITE, MAP_SHARED,
			 vcpu->fd, 0);
	if (vcpu->run != MAP_FAILED)
		return 0;
	ret = -errno;
	vcpu->run = NULL;
	return lk_err__set(err, ret, "cannot map the run area of CPU %u: %s", id, strerror(-ret));
}

int vcpu__check_number(struct vm *vm, unsigned int nr, struct lk_err *err)
{
	unsigned int max = max_vcpus(vm);

	if (!nr || nr > max)
		return lk_err__set(err, -EINVAL,
				   "%u CPUs: this KVM allows 1 to %u; give that with -c", nr, max);
	return 0;
}

int vcpu__create_all(struct vm *vm, unsigned int nr, struct lk_err *err)
{
	unsigned int i;
	int ret;

	ret = vcpu__check_number(vm, nr, err);
	if (!ret)
		ret = enable_wide_ids(vm, nr, err);
	if (ret)
		return ret;
	vm->vcpus = aligned_alloc(__alignof__(struct vcpu), nr * sizeof(vm->vcpus[0]));
	if (!vm->vcpus)
		return lk_err__set(err, -ENOMEM, "no memory for %u CPUs", nr);
	memset(vm->vcpus, 0, nr * sizeof(vm->vcpus[0]));
	vm->nr_vcpus = nr;
	for (i = 0; i < nr; i++)
		vm->vcpus[i].fd = -1;
	for (i = 0; i < nr; i++) {
		ret = create_one(vm, &vm->vcpus[i], i, err);
		if (ret) {
			vcpu__destroy_all(vm);
			return ret;
		}
	}
	return 0;
}

void vcpu__destroy_all(struct vm *vm)
{
	unsigned int i;

	for (i = 0; i < vm->nr_vcpus; i++) {
		if (vm->vcpus[i].run)
			munmap(vm->vcpus[i].run, (size_t)vm->vcpu_mmap_size);
		if (vm->vcpus[i].fd >= 0)
			close(vm->vcpus[i].fd);
	}
	free(vm->vcpus);
	vm->vcpus = NULL;
	vm->nr_vcpus = 0;
}

/* Its delivery alone ends KVM_RUN or keeps it from starting. */
static void kick_handler(int sig)
{
	(void)sig;
}

static void *vcpu_thread(void *arg)
{
	struct vcpu *vcpu = arg;
	char name[16];

	snprintf(name, sizeof(name), "vcpu-%u", vcpu->id);
	pthread_setname_np(pthread_self(), name);
	thread__started(vcpu->vm->threads, THREAD_VCPU);
	pthread_mutex_lock(&vcpu->vm->gate);
	pthread_mutex_unlock(&vcpu->vm->gate);
	vcpu__loop(vcpu);
	atomic_store_explicit(&vcpu->stopped, true, memory_order_release);
	return NULL;
}

static int start_one(struct vcpu *vcpu)
{
	int ret = thread__create(&vcpu->thread, vcpu_thread, vcpu, kick_signal());

	vcpu->started = !ret;
	return ret;
}

int vcpu__start_all(struct vm *vm)
{
	/* No SA_RESTART: KVM_RUN comes back with EINTR. */
	struct sigaction sa = {.sa_handler = kick_handler};
	unsigned int i;
	int ret = 0;

	if (sigaction(kick_signal(), &sa, NULL) < 0)
		return -errno;
	atomic_store_explicit(&vm->running, true, memory_order_relaxed);
	/* Nothing runs in the guest before every thread exists, and knows what it is. */
	pthread_mutex_lock(&vm->gate);
	for (i = vm->nr_vcpus; i > 0 && !ret; i--)
		ret = start_one(&vm->vcpus[i - 1]);
	if (!ret)
		thread__started(vm->threads, THREAD_MAIN);
	pthread_mutex_unlock(&vm->gate);
	if (ret) {
		run__end(&vm->run, RUN_END_HOST, -ret, -1);
		vcpu__stop_all(vm);
	}
	return ret;
}

/*
 * The thread looks at run.ended and then enters KVM_RUN.  A signal in between
 * is gone before the ioctl starts; but immediate_exit is set before the signal
 * is sent, and KVM looks at it after it has started, so one kick is enough.
 */
static void kick(struct vcpu *vcpu)
{
	__atomic_store_n(&vcpu->run->immediate_exit, 1, __ATOMIC_SEQ_CST);
	pthread_kill(vcpu->thread, kick_signal());
}

void vcpu__stop_all(struct vm *vm)
{
	unsigned int i;

	run__end(&vm->run, RUN_END_HOST, ECANCELED, -1);
	for (i = 0; i < vm->nr_vcpus; i++) {
		if (vm->vcpus[i].started)
			kick(&vm->vcpus[i]);
	}
	for (i = 0; i < vm->nr_vcpus; i++) {
		if (vm->vcpus[i].started)
			pthread_join(vm->vcpus[i].thread, NULL);
		vm->vcpus[i].started = false;
	}
}
