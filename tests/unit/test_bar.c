// SPDX-License-Identifier: GPL-2.0-only
/* Base address registers: PCI Local Bus 3.0, 6.2.5.1. */
#include "fake_kvm.h"

#include <lkvm/pci.h>

#define SIZE64 0x4000U
#define SIZE32 0x1000U

struct unit {
	struct pci_dev dev;
	unsigned int moves; /* calls of bar_moved() for BAR 0 */
	uint64_t base;
	bool mapped;
	uint8_t id;
};

struct fixture {
	struct fake_vm fake;
	struct pci_bus bus;
	struct unit a, b; /* slots 1 and 2: BAR 0 64-bit, BAR 2 32-bit */
};

/* Every byte of a BAR reads as the unit's id. */
static void id_read(void *opaque, uint64_t off, void *data, unsigned int len)
{
	struct unit *unit = opaque;

	(void)off;
	memset(data, unit->id, len);
}

static void id_write(void *opaque, uint64_t off, const void *data, unsigned int len)
{
	(void)opaque;
	(void)off;
	(void)data;
	(void)len;
}

static const struct bus_ops id_ops = {
	.read = id_read,
	.write = id_write,
};

static void moved(struct pci_dev *dev, unsigned int bar, uint64_t base, bool mapped)
{
	struct unit *unit = (struct unit *)dev; /* dev is its first member */

	if (bar)
		return;
	unit->moves++;
	unit->base = base;
	unit->mapped = mapped;
}

static const struct pci_dev_ops ops = {
	.bar_moved = moved,
};

static void add_unit(struct fixture *f, struct unit *unit, uint8_t id)
{
	pci_dev__ident(&unit->dev, 0x1af4, id, 0, 0, 0, 0);
	unit->dev.ops = &ops;
	unit->id = id;
	assert_int_equal(pci_dev__add_bar(&unit->dev, 0, SIZE64, true, &id_ops, unit), 0);
	assert_int_equal(pci_dev__add_bar(&unit->dev, 2, SIZE32, false, &id_ops, unit), 0);
	assert_true(pci__add(&f->bus, &unit->dev) > 0);
}

static int setup(void **state)
{
	struct fixture *f = test_calloc(1, sizeof(*f));

	fake_vm__init(&f->fake);
	assert_int_equal(pci__init(&f->bus, &f->fake.vm, FAKE_ECAM, FAKE_BARS, FAKE_BARS_SIZE), 0);
	add_unit(f, &f->a, 0xaa);
	add_unit(f, &f->b, 0xbb);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	pci__remove(&f->a.dev);
	pci__remove(&f->b.dev);
	assert_int_equal(f->fake.vm.mmio.nr, 1); /* ECAM is what is left */
	pci_dev__fini(&f->a.dev);
	pci_dev__fini(&f->b.dev);
	pci__fini(&f->bus);
	fake_vm__fini(&f->fake);
	test_free(f);
	return 0;
}

static void decode(struct fixture *f, unsigned int slot, bool on)
{
	cfg_write(&f->fake, slot, PCI_COMMAND, on ? PCI_COMMAND_MEMORY : 0, 2);
}

static void set_bar(struct fixture *f, unsigned int slot, uint64_t base)
{
	cfg_write(&f->fake, slot, PCI_BASE_ADDRESS_1, base >> 32, 4);
	cfg_write(&f->fake, slot, PCI_BASE_ADDRESS_0, base, 4);
}

static uint64_t get_bar(struct fixture *f, unsigned int slot)
{
	return (uint64_t)cfg_read(&f->fake, slot, PCI_BASE_ADDRESS_1, 4) << 32 |
	       (cfg_read(&f->fake, slot, PCI_BASE_ADDRESS_0, 4) & ~0xfU);
}

static void assert_at(struct fixture *f, uint64_t base, uint8_t id)
{
	assert_int_equal(mmio_read(&f->fake, base, 1), id);
	assert_int_equal(mmio_read(&f->fake, base + SIZE64 - 4, 4), 0x01010101U * id);
}

static void placed_at_start(void **state)
{
	struct fixture *f = *state;
	uint64_t base = get_bar(f, 1);

	assert_int_equal(base, FAKE_BARS);
	/* 64-bit, memory, not prefetchable; then a 32-bit one right behind */
	assert_int_equal(cfg_read(&f->fake, 1, PCI_BASE_ADDRESS_0, 1),
			 PCI_BASE_ADDRESS_MEM_TYPE_64);
	assert_int_equal(cfg_read(&f->fake, 1, PCI_BASE_ADDRESS_2, 4), FAKE_BARS + SIZE64);
	assert_int_equal(get_bar(f, 2), FAKE_BARS + 2 * SIZE64); /* its own alignment */
	assert_int_equal(cfg_read(&f->fake, 1, PCI_COMMAND, 2), PCI_COMMAND_MEMORY);
	assert_int_equal(f->a.moves, 1);
	assert_int_equal(f->a.base, base);
	assert_at(f, base, 0xaa);
	assert_int_equal(mmio_read(&f->fake, FAKE_BARS + SIZE64, 1), 0xaa);
}

static void size_bars(struct fixture *f)
{
	uint32_t low = cfg_read(&f->fake, 1, PCI_BASE_ADDRESS_0, 4);
	uint32_t high = cfg_read(&f->fake, 1, PCI_BASE_ADDRESS_1, 4);
	uint32_t bar2 = cfg_read(&f->fake, 1, PCI_BASE_ADDRESS_2, 4);

	cfg_write(&f->fake, 1, PCI_BASE_ADDRESS_0, 0xffffffff, 4);
	assert_int_equal(cfg_read(&f->fake, 1, PCI_BASE_ADDRESS_0, 4), 0xffffc004);
	cfg_write(&f->fake, 1, PCI_BASE_ADDRESS_1, 0xffffffff, 4);
	assert_int_equal(cfg_read(&f->fake, 1, PCI_BASE_ADDRESS_1, 4), 0xffffffff);
	cfg_write(&f->fake, 1, PCI_BASE_ADDRESS_0, low, 4);
	cfg_write(&f->fake, 1, PCI_BASE_ADDRESS_1, high, 4);
	cfg_write(&f->fake, 1, PCI_BASE_ADDRESS_2, 0xffffffff, 4);
	assert_int_equal(cfg_read(&f->fake, 1, PCI_BASE_ADDRESS_2, 4), 0xfffff000);
	cfg_write(&f->fake, 1, PCI_BASE_ADDRESS_2, bar2, 4);
	/* no such BAR */
	cfg_write(&f->fake, 1, PCI_BASE_ADDRESS_3, 0xffffffff, 4);
	assert_int_equal(cfg_read(&f->fake, 1, PCI_BASE_ADDRESS_3, 4), 0);
	cfg_write(&f->fake, 1, PCI_ROM_ADDRESS, 0xffffffff, 4);
	assert_int_equal(cfg_read(&f->fake, 1, PCI_ROM_ADDRESS, 4), 0);
}

static void sizing_decoding_off(void **state)
{
	struct fixture *f = *state;
	uint64_t base = get_bar(f, 1);

	decode(f, 1, false);
	assert_false(f->a.mapped);
	assert_int_equal(mmio_read(&f->fake, base, 4), 0xffffffff);
	size_bars(f);
	assert_int_equal(f->a.moves, 2);
	decode(f, 1, true);
	assert_int_equal(f->a.moves, 3);
	assert_at(f, base, 0xaa);
}

static void sizing_decoding_on_moves_nothing(void **state)
{
	struct fixture *f = *state;
	uint64_t base = get_bar(f, 1);

	cfg_write(&f->fake, 1, PCI_BASE_ADDRESS_0, 0xffffffff, 4);
	assert_at(f, base, 0xaa); /* other CPUs go on using it */
	cfg_write(&f->fake, 1, PCI_BASE_ADDRESS_0, base, 4);
	size_bars(f);
	assert_int_equal(f->a.moves, 1);
	assert_int_equal(get_bar(f, 1), base);
	assert_at(f, base, 0xaa);
}

static void moves_upper_half_first(void **state)
{
	struct fixture *f = *state;
	uint64_t old = get_bar(f, 1), new = 0x1080000000ULL;

	set_bar(f, 1, new);
	assert_int_equal(f->a.base, new);
	assert_at(f, new, 0xaa);
	assert_int_equal(mmio_read(&f->fake, old, 4), 0xffffffff);
	/* within 4 GiB the upper half does not change: one move */
	set_bar(f, 1, old);
	f->a.moves = 0;
	set_bar(f, 1, 0xd0000000);
	assert_int_equal(f->a.moves, 1);
	assert_at(f, 0xd0000000, 0xaa);
}

static void moves_lower_half_first(void **state)
{
	struct fixture *f = *state;
	uint64_t old = get_bar(f, 1);

	cfg_write(&f->fake, 1, PCI_BASE_ADDRESS_0, 0x80000000, 4);
	cfg_write(&f->fake, 1, PCI_BASE_ADDRESS_1, 0x10, 4);
	assert_at(f, 0x1080000000ULL, 0xaa);
	assert_int_equal(mmio_read(&f->fake, old, 4), 0xffffffff);
	assert_int_equal(mmio_read(&f->fake, 0x80000000, 4), 0xffffffff);
	/* byte by byte */
	for (int i = 3; i >= 0; i--)
		cfg_write(&f->fake, 1, PCI_BASE_ADDRESS_1 + i, 0, 1);
	for (int i = 3; i >= 0; i--)
		cfg_write(&f->fake, 1, PCI_BASE_ADDRESS_0 + i, 0xd1230000 >> (8 * i), 1);
	assert_at(f, 0xd1230000, 0xaa);
}

static void same_value_is_no_move(void **state)
{
	struct fixture *f = *state;

	set_bar(f, 1, get_bar(f, 1) + 0xfff); /* the low bits do not exist */
	decode(f, 1, true);
	assert_int_equal(f->a.moves, 1);
}

static void two_at_one_address(void **state)
{
	struct fixture *f = *state;
	uint64_t base = 0xd0000000;

	decode(f, 1, false);
	decode(f, 2, false);
	set_bar(f, 1, base);
	set_bar(f, 2, base);
	decode(f, 2, true);
	decode(f, 1, true);
	assert_at(f, base, 0xbb); /* mapped first */
	set_bar(f, 2, base + SIZE64);
	assert_at(f, base, 0xaa);
	assert_at(f, base + SIZE64, 0xbb);
	/* and the other one moves away */
	set_bar(f, 2, base);
	assert_at(f, base, 0xaa);
	set_bar(f, 1, base + SIZE64);
	assert_at(f, base, 0xbb);
	assert_at(f, base + SIZE64, 0xaa);
}

static void places_of_no_use(void **state)
{
	static const uint64_t bad[] = {
		0,
		0x4000, /* RAM: KVM never exits there */
		0xfee00000,
		0xfec00000,
		FAKE_ECAM,
		0x8000000000000000ULL,
		0xffffffff00000000ULL,
		0xffffffffffffc000ULL, /* its end wraps to 0 */
		0xfffffffeffffc000ULL,
	};
	struct fixture *f = *state;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		set_bar(f, 1, bad[i]);
		assert_int_equal(get_bar(f, 1), bad[i]);
		/* ECAM was there first */
		assert_int_equal(cfg_read(&f->fake, 1, PCI_VENDOR_ID, 4), 0x00aa1af4);
		assert_int_equal(mmio_read(&f->fake, FAKE_ECAM, 4), 0x00081b36);
	}
	set_bar(f, 1, 0);
	assert_false(f->a.mapped);
	assert_at(f, get_bar(f, 2), 0xbb);
	set_bar(f, 1, 0xd0000000);
	assert_at(f, 0xd0000000, 0xaa);
}

static void declarations_are_checked(void **state)
{
	struct pci_dev dev;

	(void)state;
	pci_dev__ident(&dev, 1, 2, 3, 4, 5, 6);
	assert_int_equal(pci_dev__add_bar(&dev, 6, 0x1000, false, &id_ops, NULL), -EINVAL);
	assert_int_equal(pci_dev__add_bar(&dev, 5, 0x1000, true, &id_ops, NULL), -EINVAL);
	assert_int_equal(pci_dev__add_bar(&dev, 0, 0x800, false, &id_ops, NULL), -EINVAL);
	assert_int_equal(pci_dev__add_bar(&dev, 0, 0x3000, false, &id_ops, NULL), -EINVAL);
	assert_int_equal(pci_dev__add_bar(&dev, 0, 0x100000000ULL, true, &id_ops, NULL), -EINVAL);
	assert_int_equal(pci_dev__add_bar(&dev, 2, 0x1000, true, &id_ops, NULL), 0);
	assert_int_equal(pci_dev__add_bar(&dev, 2, 0x1000, true, &id_ops, NULL), -EINVAL);
	assert_int_equal(pci_dev__add_bar(&dev, 3, 0x1000, false, &id_ops, NULL), -EINVAL);
	assert_int_equal(pci_dev__add_bar(&dev, 1, 0x1000, true, &id_ops, NULL), -EINVAL);
	pci_dev__fini(&dev);
}

static void window_runs_out(void **state)
{
	struct fixture *f = *state;
	struct pci_dev dev;

	pci_dev__ident(&dev, 1, 2, 3, 4, 5, 6);
	pci_dev__add_bar(&dev, 0, 0x20000000, true, &id_ops, &f->a);
	/* 512 MiB of window, some of it taken */
	assert_int_equal(pci__add(&f->bus, &dev), -ENOSPC);
	assert_int_equal(cfg_read(&f->fake, 3, 0, 4), 0xffffffff);
	pci_dev__fini(&dev);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(placed_at_start),
		T(sizing_decoding_off),
		T(sizing_decoding_on_moves_nothing),
		T(moves_upper_half_first),
		T(moves_lower_half_first),
		T(same_value_is_no_move),
		T(two_at_one_address),
		T(places_of_no_use),
		T(declarations_are_checked),
		T(window_runs_out),
	};

	return cmocka_run_group_tests_name("bar", tests, NULL, NULL);
}
