/* SPDX-License-Identifier: GPL-2.0-only */
/* Interrupt routing against the real KVM: what arrives is read back from its chips. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/eventfd.h>

#include "kvm_fixture.h"

#define MSI_ADDR 0xfee00000ULL /* APIC id 0, physical */
#define APIC_SPIV 0xf0
#define APIC_IRR 0x200

static struct vm *vm_with_cpu(void)
{
	struct vm *vm = fixture__vm();
	struct kvm_lapic_state lapic;
	struct lk_err err;
	uint32_t spiv = 0x1ff; /* software enable */

	assert_int_equal(vcpu__create_all(vm, 1, &err), 0);
	assert_true(vm__ioctl(vm, vm->vcpus[0].fd, KVM_GET_LAPIC, &lapic) >= 0);
	memcpy(lapic.regs + APIC_SPIV, &spiv, sizeof(spiv));
	assert_true(vm__ioctl(vm, vm->vcpus[0].fd, KVM_SET_LAPIC, &lapic) >= 0);
	return vm;
}

/* Is @vector requested at vCPU 0? */
static bool requested(struct vm *vm, unsigned int vector)
{
	struct kvm_lapic_state lapic;
	uint32_t word;

	assert_true(vm__ioctl(vm, vm->vcpus[0].fd, KVM_GET_LAPIC, &lapic) >= 0);
	memcpy(&word, lapic.regs + APIC_IRR + vector / 32 * 16, sizeof(word));
	return word >> (vector % 32) & 1;
}

/* KVM may inject from a work queue: wait, with a hang limit. */
static bool arrives(struct vm *vm, unsigned int vector)
{
	uint64_t end = timeline__now() + TEST_HANG_MS * 1000000ULL;

	while (!requested(vm, vector)) {
		if (timeline__now() > end)
			return false;
		sched_yield();
	}
	return true;
}

static uint32_t ioapic_lines(struct vm *vm)
{
	struct kvm_irqchip chip = {.chip_id = KVM_IRQCHIP_IOAPIC};

	assert_true(vm__ioctl(vm, vm->vm_fd, KVM_GET_IRQCHIP, &chip) >= 0);
	return chip.chip.ioapic.irr;
}

static uint8_t pic_lines(struct vm *vm, unsigned int id)
{
	struct kvm_irqchip chip = {.chip_id = id};

	assert_true(vm__ioctl(vm, vm->vm_fd, KVM_GET_IRQCHIP, &chip) >= 0);
	return chip.chip.pic.irr;
}

static void test_alloc(void **state)
{
	struct vm *vm = fixture__vm();
	int i, gsi = 0;

	(void)state;
	assert_int_equal(irq__msi_alloc(&vm->irq), 24); /* behind the pins */
	assert_int_equal(irq__msi_alloc(&vm->irq), 25);
	for (i = 2; i <= IRQ_MAX_ROUTES && gsi >= 0; i++)
		gsi = irq__msi_alloc(&vm->irq);
	assert_int_equal(gsi, -ENOSPC);
	/* 4096 entries in KVM's table, of which the pins take 24 + 16 */
	assert_int_equal(i - 1, 4096 - 40);
	fixture__destroy(vm);
}

static void test_msi(void **state)
{
	struct vm *vm = vm_with_cpu();
	int gsi = irq__msi_alloc(&vm->irq), fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	eventfd_t count;

	(void)state;
	assert_int_equal(irq__msi_route(&vm->irq, gsi, MSI_ADDR, 0x41), 0);
	assert_int_equal(irq__irqfd(&vm->irq, gsi, fd, true), 0);
	assert_false(requested(vm, 0x41));
	eventfd_write(fd, 1);
	assert_true(arrives(vm, 0x41));

	/* moved to another vector while the irqfd stays */
	assert_int_equal(irq__msi_route(&vm->irq, gsi, MSI_ADDR, 0x72), 0);
	assert_false(requested(vm, 0x72));
	eventfd_write(fd, 1);
	assert_true(arrives(vm, 0x72));

	/* off: the write stays in the eventfd */
	assert_int_equal(irq__irqfd(&vm->irq, gsi, fd, false), 0);
	while (eventfd_read(fd, &count) == 0)
		;
	assert_int_equal(irq__msi_route(&vm->irq, gsi, MSI_ADDR, 0x93), 0);
	eventfd_write(fd, 1);
	assert_int_equal(eventfd_read(fd, &count), 0);
	assert_int_equal(count, 1);
	assert_false(requested(vm, 0x93));
	/* and on again */
	assert_int_equal(irq__irqfd(&vm->irq, gsi, fd, true), 0);
	eventfd_write(fd, 1);
	assert_true(arrives(vm, 0x93));
	fixture__destroy(vm);
	close(fd);
}

/* KVM_SET_GSI_ROUTING waits for a grace period: never without need. */
static void test_route_only_changes(void **state)
{
	struct vm *vm = fixture__vm();
	int a = irq__msi_alloc(&vm->irq), b = irq__msi_alloc(&vm->irq);
	unsigned long before = vm->irq.updates;

	(void)state;
	assert_int_equal(before, 1);
	assert_int_equal(vm->irq.table->nr, 40); /* no entry before a route is wanted */
	assert_int_equal(irq__msi_route(&vm->irq, b, MSI_ADDR, 0x41), 0);
	assert_int_equal(irq__msi_route(&vm->irq, b, MSI_ADDR, 0x41), 0);
	assert_int_equal(vm->irq.updates, before + 1);
	assert_int_equal(irq__msi_route(&vm->irq, a, MSI_ADDR, 0x41), 0);
	assert_int_equal(irq__msi_route(&vm->irq, b, MSI_ADDR + 0x1000, 0x41), 0);
	assert_int_equal(irq__msi_route(&vm->irq, b, MSI_ADDR + 0x1000, 0x42), 0);
	assert_int_equal(irq__msi_route(&vm->irq, b, (1ULL << 40) + MSI_ADDR, 0x42), 0);
	assert_int_equal(vm->irq.updates, before + 5);
	assert_int_equal(vm->irq.table->nr, 42);
	fixture__destroy(vm);
}

static void test_many_routes(void **state)
{
	struct vm *vm = vm_with_cpu();
	int i, gsi = -1, fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	(void)state;
	/* 24 disks with several vectors each: the table grows more than once */
	for (i = 0; i < 200; i++) {
		gsi = irq__msi_alloc(&vm->irq);
		assert_int_equal(irq__msi_route(&vm->irq, gsi, MSI_ADDR, 0x30 + i % 100), 0);
	}
	assert_int_equal(irq__irqfd(&vm->irq, gsi, fd, true), 0);
	eventfd_write(fd, 1);
	assert_true(arrives(vm, 0x30 + 99));
	fixture__destroy(vm);
	close(fd);
}

static void test_bad_gsi(void **state)
{
	struct vm *vm = fixture__vm();
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	(void)state;
	assert_int_equal(irq__msi_route(&vm->irq, 4, MSI_ADDR, 0x41), -EINVAL); /* a pin */
	assert_int_equal(irq__msi_route(&vm->irq, 24, MSI_ADDR, 0x41), -EINVAL); /* not given out */
	assert_int_equal(irq__msi_route(&vm->irq, -1, MSI_ADDR, 0x41), -EINVAL);
	assert_int_equal(irq__irqfd(&vm->irq, 24, fd, true), -EINVAL);
	assert_int_equal(irq__irqfd(&vm->irq, -28, fd, true), -EINVAL);
	fixture__destroy(vm);
	close(fd);
}

/*
 * With 32-bit ids KVM refuses messages whose upper address has low bits set
 * (api.rst, KVM_SET_GSI_ROUTING): such a one must not block the others.
 */
static void test_refused_message(void **state)
{
	struct kvm_enable_cap cap = {.cap = KVM_CAP_X2APIC_API,
				     .args = {KVM_X2APIC_API_USE_32BIT_IDS}};
	struct vm *vm = vm_with_cpu();
	int a = irq__msi_alloc(&vm->irq), b = irq__msi_alloc(&vm->irq);
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	(void)state;
	if (vm__ioctl(vm, vm->vm_fd, KVM_ENABLE_CAP, &cap) < 0) {
		close(fd);
		fixture__destroy(vm);
		skip();
	}
	assert_int_equal(irq__msi_route(&vm->irq, a, MSI_ADDR, 0x41), 0);
	assert_int_equal(irq__msi_route(&vm->irq, a, (0xffULL << 32) | MSI_ADDR, 0x42), -EINVAL);
	assert_int_equal(irq__msi_route(&vm->irq, b, (0xffULL << 32) | MSI_ADDR, 0x42), -EINVAL);
	assert_int_equal(vm->irq.table->nr, 41);
	/* the old route is still there, in KVM and in the table */
	assert_int_equal(irq__irqfd(&vm->irq, a, fd, true), 0);
	eventfd_write(fd, 1);
	assert_true(arrives(vm, 0x41));
	assert_int_equal(irq__msi_route(&vm->irq, b, MSI_ADDR, 0x43), 0);
	fixture__destroy(vm);
	close(fd);
}

/* GSI n is IOAPIC pin n, and pin n % 8 of the first or second PIC below 16. */
static void test_pin_routes(void **state)
{
	struct vm *vm = fixture__vm();
	unsigned int pin;
	int source;

	(void)state;
	for (pin = 0; pin < IRQ_PINS; pin++) {
		source = irq__pin_join(&vm->irq, pin);
		assert_int_equal(source, 0);
		irq__pin_set(&vm->irq, pin, source, true);
		assert_true(ioapic_lines(vm) & (1U << pin));
		if (pin < 8 && pin != 2)
			assert_true(pic_lines(vm, KVM_IRQCHIP_PIC_MASTER) & (1U << pin));
		else if (pin >= 8 && pin < 16)
			assert_true(pic_lines(vm, KVM_IRQCHIP_PIC_SLAVE) & (1U << (pin - 8)));
		irq__pin_set(&vm->irq, pin, source, false);
		assert_false(ioapic_lines(vm) & (1U << pin));
	}
	assert_int_equal(irq__pin_join(&vm->irq, IRQ_PINS), -EINVAL);
	fixture__destroy(vm);
}

static void test_wired_or(void **state)
{
	struct vm *vm = fixture__vm();
	int a = irq__pin_join(&vm->irq, 16), b = irq__pin_join(&vm->irq, 16);
	const uint32_t line = 1U << 16;
	int i;

	(void)state;
	assert_int_not_equal(a, b);
	irq__pin_set(&vm->irq, 16, a, true);
	assert_true(ioapic_lines(vm) & line);
	irq__pin_set(&vm->irq, 16, b, true);
	irq__pin_set(&vm->irq, 16, a, false);
	assert_true(ioapic_lines(vm) & line); /* b still asserts it */
	irq__pin_set(&vm->irq, 16, a, false);
	assert_true(ioapic_lines(vm) & line);
	irq__pin_set(&vm->irq, 16, b, false);
	assert_false(ioapic_lines(vm) & line);
	/* nonsense changes nothing */
	irq__pin_set(&vm->irq, 16, -28, true);
	irq__pin_set(&vm->irq, 16, 64, true);
	irq__pin_set(&vm->irq, 99, 0, true);
	assert_int_equal(ioapic_lines(vm) & line, 0);
	for (i = 2; i < 64; i++)
		assert_int_equal(irq__pin_join(&vm->irq, 16), i);
	assert_int_equal(irq__pin_join(&vm->irq, 16), -ENOSPC);
	fixture__destroy(vm);
}

/*
 * A pulse on the serial port's pin gets no further than the PIC's request bit:
 * no vector of a PIC that the guest never programs, to vCPU 0 with LINT0 as
 * ExtINT.
 */
static void test_pics_masked(void **state)
{
	static const uint32_t pics[] = {KVM_IRQCHIP_PIC_MASTER, KVM_IRQCHIP_PIC_SLAVE};
	struct vm *vm = fixture__vm();

	(void)state;
	irq__pin_pulse(&vm->irq, 4);
	irq__pin_pulse(&vm->irq, 12);
	for (unsigned int i = 0; i < 2; i++) {
		struct kvm_irqchip chip = {.chip_id = pics[i]};

		assert_true(vm__ioctl(vm, vm->vm_fd, KVM_GET_IRQCHIP, &chip) >= 0);
		assert_int_equal(chip.chip.pic.imr, 0xff);
		assert_int_equal(chip.chip.pic.irr & ~chip.chip.pic.imr, 0);
		assert_int_equal(chip.chip.pic.irq_base, 0); /* nobody has programmed it */
	}
	fixture__destroy(vm);
}

/* An edge sets the request bit of the PIC and leaves the line low. */
static void test_pulse(void **state)
{
	struct vm *vm = fixture__vm();

	(void)state;
	irq__pin_pulse(&vm->irq, 4);
	assert_true(pic_lines(vm, KVM_IRQCHIP_PIC_MASTER) & (1U << 4));
	assert_false(ioapic_lines(vm) & (1U << 4));
	irq__pin_pulse(&vm->irq, IRQ_PINS);
	fixture__destroy(vm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc),
		cmocka_unit_test(test_msi),
		cmocka_unit_test(test_route_only_changes),
		cmocka_unit_test(test_many_routes),
		cmocka_unit_test(test_bad_gsi),
		cmocka_unit_test(test_refused_message),
		cmocka_unit_test(test_pin_routes),
		cmocka_unit_test(test_wired_or),
		cmocka_unit_test(test_pulse),
		cmocka_unit_test(test_pics_masked),
	};

	return cmocka_run_group_tests_name("irq", tests, NULL, NULL);
}
