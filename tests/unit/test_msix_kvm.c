// SPDX-License-Identifier: GPL-2.0-only
/* MSI-X down to the interrupt request register of a local APIC, on /dev/kvm where there is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "kvm_fixture.h"
#include <lkvm/msix.h>

#define ECAM 0xe0000000ULL
#define BARS 0xc0000000ULL
#define APIC_SPIV 0xf0
#define APIC_SPIV_ENABLED 0x1ff
#define APIC_IRR 0x200

struct machine {
	struct pci_dev dev; /* first: config_written() counts on it */
	struct msix msix;
	struct pci_bus bus;
	struct vm *vm;
	int vcpu;
};

static void config_written(struct pci_dev *dev, unsigned int off, unsigned int len)
{
	msix__config_written(&((struct machine *)dev)->msix, off, len);
}

static const struct pci_dev_ops ops = {
	.config_written = config_written,
};

static void write32(struct machine *m, uint64_t addr, uint32_t val)
{
	assert_true(bus__write(&m->vm->mmio, addr, &val, 4));
}

static void entry(struct machine *m, uint32_t data, bool masked)
{
	write32(m, BARS + PCI_MSIX_ENTRY_LOWER_ADDR, 0xfee00000);
	write32(m, BARS + PCI_MSIX_ENTRY_DATA, data);
	write32(m, BARS + PCI_MSIX_ENTRY_VECTOR_CTRL, masked);
}

static uint32_t *apic_reg(struct kvm_lapic_state *apic, unsigned int off)
{
	return (uint32_t *)(apic->regs + off);
}

static void enable_apic(struct machine *m)
{
	struct kvm_lapic_state apic;

	assert_true(vm__ioctl(m->vm, m->vcpu, KVM_GET_LAPIC, &apic) >= 0);
	*apic_reg(&apic, APIC_SPIV) = APIC_SPIV_ENABLED;
	assert_true(vm__ioctl(m->vm, m->vcpu, KVM_SET_LAPIC, &apic) >= 0);
}

static bool requested(struct machine *m, unsigned int vector)
{
	struct kvm_lapic_state apic;

	assert_true(vm__ioctl(m->vm, m->vcpu, KVM_GET_LAPIC, &apic) >= 0);
	return *apic_reg(&apic, APIC_IRR + vector / 32 * 16) >> vector % 32 & 1;
}

static void wait_requested(struct machine *m, unsigned int vector)
{
	time_t end = time(NULL) + TEST_HANG_MS / 1000;

	while (!requested(m, vector))
		assert_true(time(NULL) < end);
}

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct machine));
	return !*state;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* Where /dev/kvm is missing the fixture skips the test. */
static void build(struct machine *m)
{
	m->vm = fixture__vm();
	m->vcpu = vm__ioctl_val(m->vm, m->vm->vm_fd, KVM_CREATE_VCPU, 0);
	assert_true(m->vcpu >= 0);
	enable_apic(m);
	assert_int_equal(pci__init(&m->bus, m->vm, ECAM, BARS, 0x1000000), 0);
	pci_dev__ident(&m->dev, 1, 2, 3, 4, 5, 6);
	m->dev.bus = &m->bus;
	m->dev.ops = &ops;
	assert_int_equal(msix__init(&m->msix, &m->dev, 1, 2), 0);
	assert_int_equal(pci__add(&m->bus, &m->dev), 1);
	write32(m, ECAM + 0x8000 + PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
	write32(m, ECAM + 0x8000 + m->msix.cap, (uint32_t)PCI_MSIX_FLAGS_ENABLE << 16);
}

static void unbuild(struct machine *m)
{
	pci__remove(&m->dev);
	msix__fini(&m->msix);
	pci_dev__fini(&m->dev);
	pci__fini(&m->bus);
	close(m->vcpu);
	fixture__destroy(m->vm);
}

static void signal_reaches_the_apic(void **state)
{
	struct machine *m = *state;

	build(m);
	entry(m, 0x41, false);
	assert_true(msix__signal(&m->msix, 0));
	wait_requested(m, 0x41);
	/* masked, the message changed, unmasked: one interrupt, with the new message */
	entry(m, 0x42, true);
	assert_false(msix__signal(&m->msix, 0));
	assert_false(requested(m, 0x42));
	entry(m, 0x43, true);
	write32(m, BARS + PCI_MSIX_ENTRY_VECTOR_CTRL, 0);
	wait_requested(m, 0x43);
	assert_false(requested(m, 0x42));
	/* changed with the vector unmasked */
	write32(m, BARS + PCI_MSIX_ENTRY_DATA, 0x84);
	assert_true(msix__signal(&m->msix, 0));
	wait_requested(m, 0x84);
	unbuild(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(signal_reaches_the_apic, setup, teardown),
	};

	return cmocka_run_group_tests_name("msix-kvm", tests, NULL, NULL);
}
