/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_TEST_KVM_FIXTURE_H
#define LKVM_TEST_KVM_FIXTURE_H

/* A bare VM on /dev/kvm for unit tests; include after cmocka.h. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <lkvm/vcpu.h>
#include <lkvm/vm.h>

#define TEST_TSS 0xfeffc000UL
#define TEST_HANG_MS 30000 /* longer than anything here takes: it hangs */

/* A VM without memory and vCPUs, or skip() where there is no usable /dev/kvm. */
static inline struct vm *fixture__vm(void)
{
	struct vm *vm;
	struct lk_err err = {.msg = ""};
	int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		print_message("/dev/kvm cannot be opened: skipped\n");
		skip();
	}
	close(fd);
	vm = calloc(1, sizeof(*vm));
	assert_non_null(vm);
	assert_int_equal(log__init(&vm->log, LOG_LEVEL_WARNING), 0);
	timeline__init(&vm->timeline);
	if (vm__create(vm, "/dev/kvm", TEST_TSS, &err))
		fail_msg("vm__create: %s", err.msg);
	return vm;
}

static inline void fixture__destroy(struct vm *vm)
{
	vcpu__destroy_all(vm);
	vm__destroy(vm);
	guest_mem__fini(&vm->mem);
	log__fini(&vm->log);
	free(vm);
}

/* Wait until @fd is readable: false after TEST_HANG_MS. */
static inline bool fixture__wait(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, TEST_HANG_MS) == 1;
}

#endif
