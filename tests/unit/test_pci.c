// SPDX-License-Identifier: GPL-2.0-only
/* Config space access, header, capabilities, INTA: PCI Local Bus 3.0, chapter 6. */
#include "fake_kvm.h"

#include <lkvm/pci.h>
#include <lkvm/x86_map.h>

/* The bus and the ACPI tables must say the same; the bus knows nothing of x86. */
_Static_assert(PCI_GSI_BASE == X86_GSI_PCI_BASE, "_PRT");
_Static_assert(PCI_GSI_COUNT == X86_GSI_PCI_COUNT, "_PRT");
_Static_assert(PCI_ECAM_SIZE == X86_ECAM_SIZE, "MCFG");

struct fixture {
	struct fake_vm fake;
	struct pci_bus bus;
	struct pci_dev dev;
};

static int setup(void **state)
{
	struct fixture *f = test_calloc(1, sizeof(*f));

	fake_vm__init(&f->fake);
	assert_int_equal(pci__init(&f->bus, &f->fake.vm, FAKE_ECAM, FAKE_BARS, FAKE_BARS_SIZE), 0);
	pci_dev__ident(&f->dev, 0x1234, 0x5678, 0x9a, 0x018000, 0xabcd, 0xef01);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->dev.bus)
		pci__remove(&f->dev);
	pci_dev__fini(&f->dev);
	pci__fini(&f->bus);
	fake_vm__fini(&f->fake);
	test_free(f);
	return 0;
}

static void select_reg(struct fixture *f, unsigned int slot, unsigned int fn, unsigned int reg)
{
	pio_write(&f->fake, 0xcf8, 0x80000000U | slot << 11 | fn << 8 | reg, 4);
}

static void identity_by_both_mechanisms(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(pci__add(&f->bus, &f->dev), 1);
	for (unsigned int reg = 0; reg < 256; reg += 4) {
		select_reg(f, 1, 0, reg);
		assert_int_equal(pio_read(&f->fake, 0xcfc, 4), cfg_read(&f->fake, 1, reg, 4));
	}
	assert_int_equal(cfg_read(&f->fake, 1, PCI_VENDOR_ID, 4), 0x56781234);
	assert_int_equal(cfg_read(&f->fake, 1, PCI_CLASS_REVISION, 4), 0x0180009a);
	assert_int_equal(cfg_read(&f->fake, 1, PCI_SUBSYSTEM_VENDOR_ID, 4), 0xef01abcd);
	assert_int_equal(cfg_read(&f->fake, 1, PCI_HEADER_TYPE, 1), 0);
	/* the host bridge: Red Hat 1b36:0008, class 0600 */
	assert_int_equal(cfg_read(&f->fake, 0, PCI_VENDOR_ID, 4), 0x00081b36);
	assert_int_equal(cfg_read(&f->fake, 0, PCI_CLASS_DEVICE, 2), 0x0600);
	assert_int_equal(cfg_read(&f->fake, 0, PCI_INTERRUPT_PIN, 1), 0);
}

static void data_port_takes_every_width(void **state)
{
	struct fixture *f = *state;

	pci__add(&f->bus, &f->dev);
	select_reg(f, 1, 0, 0);
	assert_int_equal(pio_read(&f->fake, 0xcfc, 1), 0x34);
	assert_int_equal(pio_read(&f->fake, 0xcfd, 1), 0x12);
	assert_int_equal(pio_read(&f->fake, 0xcfe, 2), 0x5678);
	assert_int_equal(pio_read(&f->fake, 0xcfd, 2), 0x7812);
	assert_int_equal(pio_read(&f->fake, 0xcff, 1), 0x56);
	/* a byte write changes that byte alone */
	select_reg(f, 1, 0, PCI_INTERRUPT_LINE);
	pio_write(&f->fake, 0xcfc, 0x5a, 1);
	assert_int_equal(pio_read(&f->fake, 0xcfc, 4), 0x0000015a);
	pio_write(&f->fake, 0xcfd, 0xff, 1);
	assert_int_equal(pio_read(&f->fake, 0xcfc, 4), 0x0000015a);
}

static void address_port_is_a_dword(void **state)
{
	struct fixture *f = *state;

	pio_write(&f->fake, 0xcf8, 0xffffffff, 4);
	assert_int_equal(pio_read(&f->fake, 0xcf8, 4), 0x80fffffc);
	pio_write(&f->fake, 0xcf8, 0x80000000, 4);
	pio_write(&f->fake, 0xcf9, 0x06, 1); /* the reset register of others */
	pio_write(&f->fake, 0xcfa, 0x1234, 2);
	pio_write(&f->fake, 0xcf8, 0x12, 1);
	assert_int_equal(pio_read(&f->fake, 0xcf8, 4), 0x80000000);
	assert_int_equal(pio_read(&f->fake, 0xcf8, 1), 0xff);
}

static void absent_reads_all_ones(void **state)
{
	struct fixture *f = *state;

	pci__add(&f->bus, &f->dev);
	select_reg(f, 2, 0, 0);
	assert_int_equal(pio_read(&f->fake, 0xcfc, 4), 0xffffffff);
	assert_int_equal(pio_read(&f->fake, 0xcfc, 2), 0xffff);
	for (unsigned int fn = 1; fn < 8; fn++) {
		assert_int_equal(mmio_read(&f->fake, ecam(1, fn, 0), 4), 0xffffffff);
		select_reg(f, 1, fn, 0);
		assert_int_equal(pio_read(&f->fake, 0xcfc, 4), 0xffffffff);
		pio_write(&f->fake, 0xcfc, 0, 4);
	}
	/* bus 1, and config cycles switched off */
	pio_write(&f->fake, 0xcf8, 0x80010800, 4);
	assert_int_equal(pio_read(&f->fake, 0xcfc, 4), 0xffffffff);
	pio_write(&f->fake, 0xcf8, 0x00000800, 4);
	assert_int_equal(pio_read(&f->fake, 0xcfc, 4), 0xffffffff);
	assert_int_equal(mmio_read(&f->fake, ecam(31, 7, 0xffc), 4), 0xffffffff);
}

static void ecam_above_256_and_odd_accesses(void **state)
{
	struct fixture *f = *state;

	pci__add(&f->bus, &f->dev);
	assert_int_equal(cfg_read(&f->fake, 1, 0x100, 4), 0);
	assert_int_equal(cfg_read(&f->fake, 1, 0xffc, 4), 0);
	cfg_write(&f->fake, 1, 0x100, 0xffffffff, 4);
	assert_int_equal(cfg_read(&f->fake, 1, 0x100, 4), 0);
	assert_int_equal(mmio_read(&f->fake, ecam(1, 0, 0), 8),
			 (uint64_t)cfg_read(&f->fake, 1, 4, 4) << 32 | 0x56781234);
	assert_int_equal(cfg_read(&f->fake, 1, 3, 2), cfg_read(&f->fake, 1, 4, 1) << 8 | 0x56);
	mmio_write(&f->fake, ecam(1, 0, 0xfc), UINT64_MAX, 8); /* ends beyond 256 */
	mmio_write(&f->fake, ecam(1, 0, 0xffe), UINT64_MAX, 4); /* ends in function 1 */
	assert_int_equal(mmio_read(&f->fake, ecam(1, 0, 0xffe), 4), 0xffffffff);
}

static void write_masks(void **state)
{
	struct fixture *f = *state;

	f->dev.w1cmask[0x50] = 0x0f;
	f->dev.config[0x50] = 0xff;
	f->dev.wmask[0x51] = 0x3c;
	pci__add(&f->bus, &f->dev);
	for (unsigned int off = 0; off < PCI_COMMAND; off++)
		cfg_write(&f->fake, 1, off, 0, 1);
	assert_int_equal(cfg_read(&f->fake, 1, 0, 4), 0x56781234);
	cfg_write(&f->fake, 1, PCI_COMMAND, 0xffff, 2);
	assert_int_equal(cfg_read(&f->fake, 1, PCI_COMMAND, 2),
			 PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_INTX_DISABLE);
	cfg_write(&f->fake, 1, 0x50, 0xff05, 2);
	assert_int_equal(cfg_read(&f->fake, 1, 0x50, 2), 0x3cfa);
	/* all of it, with all values: nothing breaks, identity stays */
	for (unsigned int off = 0; off < 256; off++)
		cfg_write(&f->fake, 1, off, 0xff, 1);
	for (unsigned int off = 0; off < 256; off += 4)
		cfg_write(&f->fake, 1, off, 0, 4);
	assert_int_equal(cfg_read(&f->fake, 1, 0, 4), 0x56781234);
}

static void capability_list(void **state)
{
	struct fixture *f = *state;
	uint8_t cap[20] = {PCI_CAP_ID_VNDR, 0x77, sizeof(cap)};
	unsigned int nr = 0;

	assert_int_equal(pci_dev__add_cap(&f->dev, cap, 3), 0x40);
	cap[0] = PCI_CAP_ID_MSIX;
	assert_int_equal(pci_dev__add_cap(&f->dev, cap, sizeof(cap)), 0x44); /* dword aligned */
	while (pci_dev__add_cap(&f->dev, cap, sizeof(cap)) > 0)
		nr++;
	assert_int_equal(nr, (256 - 0x58) / sizeof(cap));
	assert_int_equal(pci_dev__add_cap(&f->dev, cap, 1), -ENOSPC);
	pci__add(&f->bus, &f->dev);
	assert_int_equal(cfg_read(&f->fake, 1, PCI_STATUS, 2), PCI_STATUS_CAP_LIST);
	assert_int_equal(cfg_read(&f->fake, 1, PCI_CAPABILITY_LIST, 1), 0x40);
	assert_int_equal(cfg_read(&f->fake, 1, 0x40, 2), 0x44 << 8 | PCI_CAP_ID_VNDR);
	assert_int_equal(cfg_read(&f->fake, 1, 0x44, 2), 0x58 << 8 | PCI_CAP_ID_MSIX);
	assert_int_equal(cfg_read(&f->fake, 1, f->dev.cap_last + 1, 1), 0);
}

static void intx_level_and_disable(void **state)
{
	struct fixture *f = *state;
	struct fake_vm *fake = &f->fake;

	pci__add(&f->bus, &f->dev);
	/* INTA of slot 1: GSI 16 + 1 */
	assert_int_equal(f->dev.gsi, 17);
	assert_int_equal(cfg_read(fake, 1, PCI_INTERRUPT_PIN, 1), 1);
	pci_dev__intx(&f->dev, true);
	assert_true(fake->pin[17]);
	assert_true(cfg_read(fake, 1, PCI_STATUS, 2) & PCI_STATUS_INTERRUPT);
	assert_true(cfg_read(fake, 1, PCI_COMMAND, 4) & PCI_STATUS_INTERRUPT << 16);
	assert_false(cfg_read(fake, 1, PCI_STATUS + 1, 1) & PCI_STATUS_INTERRUPT);
	cfg_write(fake, 1, PCI_COMMAND, PCI_COMMAND_INTX_DISABLE, 2);
	assert_false(fake->pin[17]);
	assert_true(cfg_read(fake, 1, PCI_STATUS, 2) & PCI_STATUS_INTERRUPT);
	cfg_write(fake, 1, PCI_COMMAND, 0, 2);
	assert_true(fake->pin[17]);
	pci_dev__intx(&f->dev, true);
	pci_dev__intx(&f->dev, false);
	assert_false(fake->pin[17]);
	assert_false(cfg_read(fake, 1, PCI_STATUS, 2) & PCI_STATUS_INTERRUPT);
	assert_int_equal(fake->pin_changes, 4); /* the pin is driven where it changes alone */
}

static void bus_master_flag(void **state)
{
	struct fixture *f = *state;

	pci__add(&f->bus, &f->dev);
	assert_false(pci_dev__bus_master(&f->dev));
	cfg_write(&f->fake, 1, PCI_COMMAND, PCI_COMMAND_MASTER, 2);
	assert_true(pci_dev__bus_master(&f->dev));
	cfg_write(&f->fake, 1, PCI_COMMAND, PCI_COMMAND_MEMORY, 1);
	assert_false(pci_dev__bus_master(&f->dev));
}

static void slots_run_out(void **state)
{
	struct fixture *f = *state;
	struct pci_dev *dev = test_calloc(PCI_SLOTS, sizeof(*dev));

	for (unsigned int i = 1; i < PCI_SLOTS; i++) {
		pci_dev__ident(&dev[i], 0x1af4, 0x1000 + i, 0, 0, 0, 0);
		assert_int_equal(pci__add(&f->bus, &dev[i]), i);
	}
	assert_int_equal(pci__add(&f->bus, &f->dev), -ENOSPC);
	f->dev.bus = NULL;
	assert_int_equal(cfg_read(&f->fake, 31, PCI_DEVICE_ID, 2), 0x101f);
	/* two functions on one pin: it falls when both let go (31 and 23 share GSI 23) */
	pci_dev__intx(&dev[31], true);
	pci_dev__intx(&dev[23], true);
	pci_dev__intx(&dev[31], false);
	assert_true(f->fake.pin[23]);
	pci__remove(&dev[23]); /* a device that goes takes its level with it */
	assert_false(f->fake.pin[23]);
	assert_int_equal(cfg_read(&f->fake, 23, 0, 4), 0xffffffff);
	for (unsigned int i = 1; i < PCI_SLOTS; i++) {
		if (i != 23)
			pci__remove(&dev[i]);
		pci_dev__fini(&dev[i]);
	}
	test_free(dev);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(identity_by_both_mechanisms),
		T(data_port_takes_every_width),
		T(address_port_is_a_dword),
		T(absent_reads_all_ones),
		T(ecam_above_256_and_odd_accesses),
		T(write_masks),
		T(capability_list),
		T(intx_level_and_disable),
		T(bus_master_flag),
		T(slots_run_out),
	};

	return cmocka_run_group_tests_name("pci", tests, NULL, NULL);
}
