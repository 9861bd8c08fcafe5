/* SPDX-License-Identifier: GPL-2.0-only */
/* The VM object: what is said about a KVM that will not do, and one that does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "kvm_fixture.h"

static int query_all(void *opaque, int cap)
{
	(void)opaque;
	(void)cap;
	return 1;
}

static int query_none(void *opaque, int cap)
{
	(void)opaque;
	(void)cap;
	return 0;
}

/* All but two, one of them with an error instead of 0. */
static int query_two_missing(void *opaque, int cap)
{
	(void)opaque;
	if (cap == KVM_CAP_IRQFD)
		return 0;
	return cap == KVM_CAP_IMMEDIATE_EXIT ? -EINVAL : 1;
}

static void test_caps(void **state)
{
	static const char *const all[] = {
		"KVM_CAP_IRQCHIP",
		"KVM_CAP_USER_MEMORY",
		"KVM_CAP_SET_TSS_ADDR",
		"KVM_CAP_SET_IDENTITY_MAP_ADDR",
		"KVM_CAP_EXT_CPUID",
		"KVM_CAP_IRQFD",
		"KVM_CAP_IRQ_ROUTING",
		"KVM_CAP_IOEVENTFD",
		"KVM_CAP_IOEVENTFD_ANY_LENGTH",
		"KVM_CAP_IMMEDIATE_EXIT",
	};
	struct lk_err err = {.msg = ""};
	unsigned int i;

	(void)state;
	assert_int_equal(vm__check_caps(query_all, NULL, &err), 0);
	assert_int_equal(vm__check_caps(query_two_missing, NULL, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "lacks KVM_CAP_IRQFD, KVM_CAP_IMMEDIATE_EXIT;"));
	assert_int_equal(vm__check_caps(query_none, NULL, &err), -ENOTSUP);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		assert_non_null(strstr(err.msg, all[i]));
	assert_null(strchr(err.msg, '\n'));
	assert_non_null(strstr(err.msg, "host kernel")); /* the remedy is not cut off */
	assert_int_equal(vm__check_caps(query_none, NULL, NULL), -ENOTSUP);
}

static unsigned int open_fds(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < 1024; i++)
		n += fcntl((int)i, F_GETFD) >= 0;
	return n;
}

/* vm__create() on @path gives @want, says @text, and leaves nothing open. */
static void expect_failure(const char *path, int want, const char *text)
{
	struct vm *vm = calloc(1, sizeof(*vm));
	struct lk_err err = {.msg = ""};
	unsigned int before;

	assert_non_null(vm);
	timeline__init(&vm->timeline);
	before = open_fds();
	assert_int_equal(vm__create(vm, path, TEST_TSS, &err), want);
	assert_non_null(strstr(err.msg, path));
	assert_non_null(strstr(err.msg, text));
	assert_null(strchr(err.msg, '\n'));
	vm__destroy(vm); /* harmless */
	assert_int_equal(open_fds(), before);
	free(vm);
}

static void test_no_device(void **state)
{
	(void)state;
	expect_failure("/nonexistent/kvm", -ENOENT, "modprobe");
}

static void test_no_permission(void **state)
{
	char path[] = "/tmp/lkvm-test-XXXXXX";
	int fd = mkstemp(path), ret = 0;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, 0), 0);
	close(fd);
	/* root reads everything: be somebody else for a moment */
	if (geteuid() == 0)
		ret = seteuid(65534);
	assert_int_equal(ret, 0);
	expect_failure(path, -EACCES, "group");
	if (getuid() == 0)
		ret = seteuid(0);
	assert_int_equal(ret, 0);
	unlink(path);
}

static void test_not_kvm(void **state)
{
	(void)state;
	expect_failure("/dev/null", -ENOTTY, "not the KVM device");
}

static void test_create(void **state)
{
	struct vm *vm = fixture__vm();

	(void)state;
	assert_true(fcntl(vm->kvm_fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(vm->vm_fd, F_GETFD) & FD_CLOEXEC);
	assert_true(vm__cap(vm, KVM_CAP_IRQCHIP) > 0);
	assert_int_equal(vm__cap(vm, 1 << 20), 0);
	assert_int_equal(vm__ioctl_val(vm, vm->vm_fd, 0, 0), -ENOTTY);
	fixture__destroy(vm);
}

/* Time inside KVM counts while the VM is being set up, and no longer. */
static void test_time(void **state)
{
	struct vm *vm = fixture__vm();
	uint64_t before = vm->timeline.kvm_ns;

	(void)state;
	assert_true(before > 0);
	vm__cap(vm, KVM_CAP_IRQCHIP);
	assert_true(vm->timeline.kvm_ns > before);
	before = vm->timeline.kvm_ns;
	atomic_store(&vm->running, true);
	vm__cap(vm, KVM_CAP_IRQCHIP);
	assert_true(vm->timeline.kvm_ns == before);
	fixture__destroy(vm);
}

static void test_memory(void **state)
{
	static const struct guest_region regions[] = {
		{.gpa = 0, .size = 2 << 20},
		{.gpa = 1ULL << 32, .size = 2 << 20},
	};
	struct vm *vm = fixture__vm();
	struct lk_err err = {.msg = ""};

	(void)state;
	assert_int_equal(guest_mem__init(&vm->mem, regions, 2, &err), 0);
	assert_int_equal(vm__map_memory(vm, &err), 0);
	/* What KVM does not take is named: here an address that is not page aligned. */
	vm->mem.region[0].gpa = 0x800;
	assert_int_equal(vm__map_memory(vm, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "0x800"));
	fixture__destroy(vm);
}

static void test_ioeventfd(void **state)
{
	struct vm *vm = fixture__vm();
	int a = eventfd(0, EFD_CLOEXEC), b = eventfd(0, EFD_CLOEXEC);

	(void)state;
	assert_int_equal(vm__ioeventfd(vm, 0xd0000000, a, true), 0);
	assert_int_equal(vm__ioeventfd(vm, 0xd0000000, b, true), -EEXIST);
	assert_int_equal(vm__ioeventfd(vm, 0xd0000004, b, true), 0);
	assert_int_equal(vm__ioeventfd(vm, 0xd0000000, b, false), -ENOENT);
	assert_int_equal(vm__ioeventfd(vm, 0xd0000000, a, false), 0);
	assert_int_equal(vm__ioeventfd(vm, 0xd0000000, b, true), 0);
	fixture__destroy(vm);
	close(a);
	close(b);
}

static void test_too_many_cpus(void **state)
{
	struct vm *vm = fixture__vm();
	int max = vm__cap(vm, KVM_CAP_MAX_VCPUS);
	struct lk_err err = {.msg = ""};
	char text[32];

	(void)state;
	assert_true(max > 0);
	assert_int_equal(vcpu__create_all(vm, (unsigned int)max + 1, &err), -EINVAL);
	snprintf(text, sizeof(text), "1 to %d;", max);
	assert_non_null(strstr(err.msg, text));
	assert_int_equal(vcpu__create_all(vm, 0, &err), -EINVAL);
	assert_null(vm->vcpus);
	fixture__destroy(vm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_caps),	      cmocka_unit_test(test_no_device),
		cmocka_unit_test(test_no_permission), cmocka_unit_test(test_not_kvm),
		cmocka_unit_test(test_create),	      cmocka_unit_test(test_time),
		cmocka_unit_test(test_memory),	      cmocka_unit_test(test_ioeventfd),
		cmocka_unit_test(test_too_many_cpus),
	};

	return cmocka_run_group_tests_name("vm", tests, NULL, NULL);
}
