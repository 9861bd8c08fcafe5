// SPDX-License-Identifier: GPL-2.0-only
/*
 * Set-up that cannot be finished: too few descriptors, no room on a bus or in a
 * window.  The error is the right one, and nothing is left: no descriptor, no
 * range, no device in a slot (and no memory, says the address sanitizer).
 */
#include "fake_kvm.h"

#include <sys/resource.h>
#include <unistd.h>

#include <lkvm/virtio_blk.h>
#include <lkvm/virtio_pci.h>

#define QUEUES 3
#define VECTORS (QUEUES + 1)

struct fixture {
	struct fake_vm fake;
	struct pci_bus bus;
	struct guest_mem mem; /* none */
	struct virtio_dev dev;
	struct virtio_pci vp;
	int first; /* lowest free descriptor: none is open from there on */
	struct rlimit limit;
};

static const struct virtio_dev_ops dev_ops = {
	.id = VIRTIO_ID_BLOCK,
	.name = "unit",
};

static int setup(void **state)
{
	struct fixture *f = test_calloc(1, sizeof(*f));

	fake_vm__init(&f->fake);
	f->dev = (struct virtio_dev) {.ops = &dev_ops, .mem = &f->mem, .config_size = 8};
	f->first = dup(STDERR_FILENO);
	close(f->first);
	*state = f;
	return getrlimit(RLIMIT_NOFILE, &f->limit);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	fake_vm__fini(&f->fake);
	test_free(f);
	return 0;
}

/* Room for @nr descriptors more; -1: as many as before. */
static void allow_fds(struct fixture *f, int nr)
{
	struct rlimit limit = f->limit;

	if (nr >= 0)
		limit.rlim_cur = f->first + nr;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void assert_no_fds(struct fixture *f)
{
	int fd = dup(STDERR_FILENO);

	assert_int_equal(fd, f->first);
	close(fd);
}

static void test_queues(void **state)
{
	struct fixture *f = *state;

	for (int n = 0; n < QUEUES; n++) {
		allow_fds(f, n);
		assert_int_equal(virtio_dev__init(&f->dev, QUEUES, 16), -EMFILE);
		allow_fds(f, -1);
		assert_null(f->dev.queues);
		assert_int_equal(f->dev.nr_queues, 0);
		assert_no_fds(f);
	}
	assert_int_equal(virtio_dev__init(&f->dev, 0, 16), -EINVAL);
	assert_int_equal(virtio_dev__init(&f->dev, 1, 24), -EINVAL);
	assert_int_equal(virtio_dev__init(&f->dev, 1, 2 * VIRTQ_MAX_SIZE), -EINVAL);
}

static void test_blk(void **state)
{
	struct disk_params disk = {.path = "null", .engine = DISK_ENGINE_NULL, .null_size = 4096};
	struct fixture *f = *state;
	struct lk_err err = {""};
	struct virtio_blk blk;
	struct disk image;
	struct virtio_blk_params params = {
		.disk = &image,
		.mem = &f->mem,
		.nr_queues = QUEUES,
		.queue_size = 16,
	};

	assert_int_equal(disk__open(&image, &disk, &err), 0);
	for (int n = 0; n < QUEUES; n++) {
		allow_fds(f, n);
		assert_int_equal(virtio_blk__init(&blk, &params, &err), -EMFILE);
		allow_fds(f, -1);
		assert_non_null(strstr(err.msg, "null"));
		assert_no_fds(f);
	}
	disk__close(&image);
}

static void assert_bus_empty(struct fixture *f)
{
	for (unsigned int i = 1; i < PCI_SLOTS; i++)
		assert_null(f->bus.slot[i]);
	assert_int_equal(f->fake.vm.mmio.nr, 1); /* ECAM */
	assert_int_equal(fake_events(&f->fake), 0);
	for (unsigned int i = 0; i < FAKE_GSIS; i++)
		assert_int_equal(f->fake.gsi[i].fd, -1);
}

static void start_bus(struct fixture *f, uint64_t window)
{
	assert_int_equal(pci__init(&f->bus, &f->fake.vm, FAKE_ECAM, FAKE_BARS, window), 0);
	assert_int_equal(virtio_dev__init(&f->dev, QUEUES, 16), 0);
	f->first += QUEUES;
}

static void end_bus(struct fixture *f)
{
	virtio_dev__fini(&f->dev);
	pci__fini(&f->bus);
	assert_int_equal(f->fake.vm.mmio.nr, 0);
	assert_int_equal(f->fake.vm.pio.nr, 0);
}

static void test_vectors(void **state)
{
	struct fixture *f = *state;

	start_bus(f, FAKE_BARS_SIZE);
	for (int n = 0; n < VECTORS; n++) {
		allow_fds(f, n);
		assert_int_equal(virtio_pci__init(&f->vp, &f->dev, &f->bus, VECTORS, 0x018000),
				 -EMFILE);
		allow_fds(f, -1);
		assert_no_fds(f);
		assert_bus_empty(f);
	}
	f->fake.next_gsi = FAKE_GSIS - 2; /* two vectors can be had */
	assert_int_equal(virtio_pci__init(&f->vp, &f->dev, &f->bus, VECTORS, 0x018000), -ENOSPC);
	assert_no_fds(f);
	assert_bus_empty(f);
	assert_int_equal(virtio_pci__init(&f->vp, &f->dev, &f->bus, VECTORS + 1, 0x018000),
			 -EINVAL);
	end_bus(f);
}

/* BAR 0 has four pages, the one for MSI-X another. */
static void test_window(void **state)
{
	struct fixture *f = *state;

	start_bus(f, 0x4000);
	assert_int_equal(virtio_pci__init(&f->vp, &f->dev, &f->bus, VECTORS, 0x018000), -ENOSPC);
	assert_no_fds(f);
	assert_bus_empty(f);
	assert_int_equal(f->bus.bar_next, FAKE_BARS);
	assert_int_equal(virtio_pci__init(&f->vp, &f->dev, &f->bus, 0, 0x018000), 0);
	virtio_pci__fini(&f->vp);
	assert_bus_empty(f);
	end_bus(f);
}

static void test_slots(void **state)
{
	static struct pci_dev dev[PCI_SLOTS];
	struct fixture *f = *state;

	start_bus(f, FAKE_BARS_SIZE);
	for (unsigned int i = 1; i <= PCI_SLOTS; i++) {
		pci_dev__ident(&dev[i - 1], 1, 2, 3, 4, 5, 6);
		assert_int_equal(pci__add(&f->bus, &dev[i - 1]), i < PCI_SLOTS ? (int)i : -ENOSPC);
	}
	for (unsigned int i = 1; i <= PCI_SLOTS; i++) {
		if (i < PCI_SLOTS)
			pci__remove(&dev[i - 1]);
		pci_dev__fini(&dev[i - 1]);
	}
	end_bus(f);
}

/* CF8 and CFC on the bus of ports, ECAM on that of memory: one of them does not fit. */
static void test_full_bus(void **state)
{
	static const struct bus_ops ops;
	struct bus_range range = {0x1000, 1, &ops, NULL};
	struct fixture *f = *state;
	struct bus *pio = &f->fake.vm.pio, *mmio = &f->fake.vm.mmio;

	for (range.base = 0x1000; !bus__add(mmio, &range); range.base++)
		;
	assert_int_equal(pci__init(&f->bus, &f->fake.vm, FAKE_ECAM, FAKE_BARS, 0x4000), -ENOSPC);
	assert_int_equal(pio->nr, 0);
	for (range.base = 0x1000; pio->nr < BUS_MAX_RANGES - 1; range.base++)
		assert_int_equal(bus__add(pio, &range), 0);
	assert_int_equal(pci__init(&f->bus, &f->fake.vm, FAKE_ECAM, FAKE_BARS, 0x4000), -ENOSPC);
	assert_int_equal(pio->nr, BUS_MAX_RANGES - 1);
	assert_int_equal(bus__add(pio, &range), 0);
	assert_int_equal(pci__init(&f->bus, &f->fake.vm, FAKE_ECAM, FAKE_BARS, 0x4000), -ENOSPC);
	assert_int_equal(pio->nr, BUS_MAX_RANGES);
	assert_int_equal(mmio->nr, BUS_MAX_RANGES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_queues, setup, teardown),
		cmocka_unit_test_setup_teardown(test_blk, setup, teardown),
		cmocka_unit_test_setup_teardown(test_vectors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_window, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slots, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_bus, setup, teardown),
	};

	return cmocka_run_group_tests_name("unwind", tests, NULL, NULL);
}
