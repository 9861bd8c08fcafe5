// SPDX-License-Identifier: GPL-2.0-only
/*
 * MSI-X: PCI Local Bus 3.0, 6.8.2.  No KVM drains the eventfds here, so that
 * reading one tells how many interrupts went out.
 */
#include "fake_kvm.h"

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <lkvm/msix.h>

#define VECTORS 3
#define HANG_MS 20000

struct fixture {
	struct pci_dev dev; /* first: config_written() counts on it */
	struct msix msix;
	struct pci_bus bus;
	struct fake_vm fake;
	uint64_t table, pba;
};

static void config_written(struct pci_dev *dev, unsigned int off, unsigned int len)
{
	msix__config_written(&((struct fixture *)dev)->msix, off, len);
}

static const struct pci_dev_ops ops = {
	.config_written = config_written,
};

static int setup(void **state)
{
	struct fixture *f = test_calloc(1, sizeof(*f));

	fake_vm__init(&f->fake);
	assert_int_equal(pci__init(&f->bus, &f->fake.vm, FAKE_ECAM, FAKE_BARS, FAKE_BARS_SIZE), 0);
	pci_dev__ident(&f->dev, 1, 2, 3, 4, 5, 6);
	f->dev.bus = &f->bus;
	f->dev.ops = &ops;
	assert_int_equal(msix__init(&f->msix, &f->dev, VECTORS, 2), 0);
	assert_int_equal(pci__add(&f->bus, &f->dev), 1);
	f->table = cfg_read(&f->fake, 1, PCI_BASE_ADDRESS_2, 4) & ~0xfU;
	f->pba = f->table + (cfg_read(&f->fake, 1, f->msix.cap + PCI_MSIX_PBA, 4) & ~7U);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	pci__remove(&f->dev);
	msix__fini(&f->msix);
	for (unsigned int i = 0; i < FAKE_GSIS; i++)
		assert_int_equal(f->fake.gsi[i].fd, -1);
	pci_dev__fini(&f->dev);
	pci__fini(&f->bus);
	fake_vm__fini(&f->fake);
	test_free(f);
	return 0;
}

/* Interrupts sent since the last call. */
static uint64_t fired(struct fixture *f, unsigned int nr)
{
	uint64_t count = 0;

	if (read(f->msix.vector[nr].fd, &count, sizeof(count)) < 0)
		assert_int_equal(errno, EAGAIN);
	return count;
}

static void control(struct fixture *f, uint16_t flags)
{
	cfg_write(&f->fake, 1, f->msix.cap + PCI_MSIX_FLAGS, flags, 2);
}

static void bus_master(struct fixture *f, bool on)
{
	cfg_write(&f->fake, 1, PCI_COMMAND, PCI_COMMAND_MEMORY | (on ? PCI_COMMAND_MASTER : 0), 2);
}

static void entry(struct fixture *f, unsigned int nr, uint64_t addr, uint32_t data, bool masked)
{
	uint64_t base = f->table + nr * PCI_MSIX_ENTRY_SIZE;

	mmio_write(&f->fake, base + PCI_MSIX_ENTRY_LOWER_ADDR, addr, 4);
	mmio_write(&f->fake, base + PCI_MSIX_ENTRY_UPPER_ADDR, addr >> 32, 4);
	mmio_write(&f->fake, base + PCI_MSIX_ENTRY_DATA, data, 4);
	mmio_write(&f->fake, base + PCI_MSIX_ENTRY_VECTOR_CTRL, masked, 4);
}

static void mask(struct fixture *f, unsigned int nr, bool on)
{
	mmio_write(&f->fake, f->table + nr * PCI_MSIX_ENTRY_SIZE + PCI_MSIX_ENTRY_VECTOR_CTRL, on,
		   4);
}

/* All vectors unmasked, MSI-X and bus mastering on. */
static void all_on(struct fixture *f)
{
	for (unsigned int i = 0; i < VECTORS; i++)
		entry(f, i, 0xfee00000, 0x40 + i, false);
	bus_master(f, true);
	control(f, PCI_MSIX_FLAGS_ENABLE);
}

static void capability(void **state)
{
	struct fixture *f = *state;
	unsigned int cap = f->msix.cap;

	assert_int_equal(cfg_read(&f->fake, 1, cap, 1), PCI_CAP_ID_MSIX);
	assert_int_equal(cfg_read(&f->fake, 1, cap + PCI_MSIX_FLAGS, 2), VECTORS - 1);
	assert_int_equal(cfg_read(&f->fake, 1, cap + PCI_MSIX_TABLE, 4), 2); /* offset 0, BAR 2 */
	assert_int_equal(cfg_read(&f->fake, 1, cap + PCI_MSIX_PBA, 4) & 7, 2);
	control(f, 0xffff);
	assert_int_equal(cfg_read(&f->fake, 1, cap + PCI_MSIX_FLAGS, 2),
			 PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL | (VECTORS - 1));
	assert_true(msix__bar_size(MSIX_MAX_VECTORS) >= 4096);
}

static void table_after_reset_is_masked(void **state)
{
	struct fixture *f = *state;

	for (unsigned int i = 0; i < VECTORS; i++) {
		assert_int_equal(mmio_read(&f->fake, f->table + 16 * i + 12, 4), 1);
		assert_int_equal(mmio_read(&f->fake, f->table + 16 * i, 8), 0);
	}
	bus_master(f, true);
	control(f, PCI_MSIX_FLAGS_ENABLE);
	assert_false(msix__signal(&f->msix, 0));
	assert_int_equal(fired(f, 0), 0);
}

static void table_access_widths(void **state)
{
	struct fixture *f = *state;
	struct fake_vm *fake = &f->fake;

	mmio_write(fake, f->table, 0x12345678fee01004ULL, 8);
	assert_int_equal(mmio_read(fake, f->table, 4), 0xfee01004);
	assert_int_equal(mmio_read(fake, f->table + 4, 4), 0x12345678);
	mmio_write(fake, f->table + 8, 0xffffffff00000041ULL, 8);
	assert_int_equal(mmio_read(fake, f->table + 8, 8), 0x0000000100000041ULL);
	/* bytes and words are no accesses that 6.8.2 knows; nor are misaligned ones */
	mmio_write(fake, f->table, 0, 1);
	mmio_write(fake, f->table, 0, 2);
	mmio_write(fake, f->table + 2, 0, 4);
	mmio_write(fake, f->table + 4, 0, 8);
	assert_int_equal(mmio_read(fake, f->table, 8), 0x12345678fee01004ULL);
	assert_int_equal(mmio_read(fake, f->table, 1), 0xff);
	assert_int_equal(mmio_read(fake, f->table + 1, 2), 0xffff);
	assert_int_equal(mmio_read(fake, f->table + 4, 8), UINT64_MAX);
	/* behind the table */
	mmio_write(fake, f->table + 16 * VECTORS, UINT64_MAX, 8);
	assert_int_equal(mmio_read(fake, f->table + 16 * VECTORS, 8), 0);
	/* the last bytes of the BAR */
	mmio_write(fake, f->table + 0xff8, UINT64_MAX, 8);
	assert_int_equal(mmio_read(fake, f->table + 0xff8, 8), 0);
}

static void unmasked_is_one_write(void **state)
{
	struct fixture *f = *state;

	all_on(f);
	assert_int_equal(f->fake.gsi[f->msix.vector[1].gsi].addr, 0xfee00000);
	assert_int_equal(f->fake.gsi[f->msix.vector[1].gsi].data, 0x41);
	assert_int_equal(f->fake.gsi[f->msix.vector[1].gsi].fd, f->msix.vector[1].fd);
	assert_true(msix__signal(&f->msix, 1));
	assert_true(msix__signal(&f->msix, 1));
	assert_int_equal(fired(f, 1), 2);
	assert_int_equal(fired(f, 0) + fired(f, 2), 0);
	assert_int_equal(mmio_read(&f->fake, f->pba, 8), 0);
	/* out of the table, 0xffff: no vector */
	assert_false(msix__signal(&f->msix, VECTORS));
	assert_false(msix__signal(&f->msix, 0xffff));
}

static void masked_pends_and_replays_with_the_new_message(void **state)
{
	struct fixture *f = *state;
	unsigned int gsi = f->msix.vector[1].gsi, calls;

	all_on(f);
	mask(f, 1, true);
	assert_false(msix__signal(&f->msix, 1));
	assert_false(msix__signal(&f->msix, 1));
	assert_int_equal(fired(f, 1), 0);
	assert_int_equal(mmio_read(&f->fake, f->pba, 4), 1 << 1);
	assert_int_equal(mmio_read(&f->fake, f->pba, 8), 1 << 1);
	assert_int_equal(mmio_read(&f->fake, f->pba + 4, 4), 0);
	mmio_write(&f->fake, f->pba, 0, 8); /* read only */
	assert_int_equal(mmio_read(&f->fake, f->pba, 8), 1 << 1);
	calls = f->fake.gsi[gsi].calls;
	entry(f, 1, 0x1fee02000ULL, 0x99, true);
	assert_int_equal(f->fake.gsi[gsi].calls, calls); /* no route while masked */
	mask(f, 1, false);
	assert_int_equal(f->fake.gsi[gsi].addr, 0x1fee02000ULL);
	assert_int_equal(f->fake.gsi[gsi].data, 0x99);
	assert_int_equal(fired(f, 1), 1);
	assert_int_equal(mmio_read(&f->fake, f->pba, 8), 0);
}

static void message_changed_while_unmasked(void **state)
{
	struct fixture *f = *state;

	all_on(f);
	mmio_write(&f->fake, f->table + PCI_MSIX_ENTRY_DATA, 0x77, 4);
	assert_int_equal(f->fake.gsi[f->msix.vector[0].gsi].data, 0x77);
	assert_true(msix__signal(&f->msix, 0));
}

static void function_mask_holds_all_back(void **state)
{
	struct fixture *f = *state;

	all_on(f);
	control(f, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	for (unsigned int i = 0; i < VECTORS; i++)
		assert_false(msix__signal(&f->msix, i));
	mask(f, 0, true);
	mask(f, 0, false); /* own bit does not help */
	mask(f, 2, true);
	assert_int_equal(mmio_read(&f->fake, f->pba, 8), 7);
	assert_int_equal(fired(f, 0), 0);
	control(f, PCI_MSIX_FLAGS_ENABLE);
	assert_int_equal(fired(f, 0), 1);
	assert_int_equal(fired(f, 1), 1);
	assert_int_equal(fired(f, 2), 0); /* has its own mask */
	assert_int_equal(mmio_read(&f->fake, f->pba, 8), 4);
}

static void disabled_and_enabled_with_one_pending(void **state)
{
	struct fixture *f = *state;

	all_on(f);
	mask(f, 1, true);
	msix__signal(&f->msix, 1);
	control(f, 0);
	assert_false(msix__enabled(&f->msix));
	assert_false(msix__signal(&f->msix, 0));
	mask(f, 1, false);
	assert_int_equal(fired(f, 0) + fired(f, 1), 0);
	control(f, PCI_MSIX_FLAGS_ENABLE);
	assert_true(msix__enabled(&f->msix));
	assert_int_equal(fired(f, 0), 1);
	assert_int_equal(fired(f, 1), 1);
	mask(f, 1, true);
	msix__signal(&f->msix, 1);
	msix__forget(&f->msix);
	mask(f, 1, false);
	assert_int_equal(fired(f, 1), 0);
}

/* PCI 3.0, 6.2.2: a message is a memory write, which needs bus mastering. */
static void bus_master_off_holds_back(void **state)
{
	struct fixture *f = *state;

	all_on(f);
	bus_master(f, false);
	assert_false(msix__signal(&f->msix, 0));
	assert_int_equal(fired(f, 0), 0);
	bus_master(f, true);
	assert_int_equal(fired(f, 0), 1);
}

static void route_refused(void **state)
{
	struct fixture *f = *state;

	all_on(f);
	mask(f, 0, true);
	f->fake.route_error = -EINVAL;
	mask(f, 0, false);
	assert_false(msix__signal(&f->msix, 0));
	f->fake.route_error = 0;
	mask(f, 0, false); /* the next try works, and nothing was lost */
	assert_int_equal(fired(f, 0), 1);
}

static void table_sizes(void **state)
{
	struct fixture *f = *state;
	struct pci_dev dev;
	struct msix msix;

	pci_dev__ident(&dev, 1, 2, 3, 4, 5, 6);
	dev.bus = &f->bus;
	assert_int_equal(msix__init(&msix, &dev, 0, 2), -EINVAL);
	assert_int_equal(msix__init(&msix, &dev, MSIX_MAX_VECTORS + 1, 2), -EINVAL);
	assert_int_equal(msix__init(&msix, &dev, MSIX_MAX_VECTORS, 2), 0);
	assert_int_equal(pci_dev__get16(&dev, msix.cap + PCI_MSIX_FLAGS), MSIX_MAX_VECTORS - 1);
	msix__fini(&msix);
	pci_dev__fini(&dev);
}

struct masker {
	struct fixture *f;
	atomic_bool stop;
};

/* A vCPU that never leaves the masks alone. */
static void *mask_all_ways(void *arg)
{
	struct masker *m = arg;

	while (!atomic_load(&m->stop)) {
		mask(m->f, 0, true);
		mask(m->f, 0, false);
		control(m->f, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
		control(m->f, PCI_MSIX_FLAGS_ENABLE);
		bus_master(m->f, false);
		control(m->f, 0);
		bus_master(m->f, true);
		control(m->f, PCI_MSIX_FLAGS_ENABLE);
	}
	return NULL;
}

/* One signal at a time, each awaited: a lost one hangs, a doubled one shows in the sum. */
static void no_interrupt_lost_or_doubled(void **state)
{
	struct fixture *f = *state;
	struct masker m = {.f = f};
	pthread_t thread;
	uint64_t sum = 0;

	all_on(f);
	pthread_create(&thread, NULL, mask_all_ways, &m);
	for (unsigned int i = 0; i < 5000; i++) {
		struct pollfd pfd = {.fd = f->msix.vector[0].fd, .events = POLLIN};

		msix__signal(&f->msix, 0);
		assert_int_equal(poll(&pfd, 1, HANG_MS), 1);
		sum += fired(f, 0);
	}
	atomic_store(&m.stop, true);
	pthread_join(thread, NULL);
	sum += fired(f, 0);
	assert_int_equal(sum, 5000);
	assert_int_equal(mmio_read(&f->fake, f->pba, 8), 0);
}

#define ROUNDS 20000
#define SKEW 64 /* signals start 0 to 63 steps of a spin after the unmask */

struct race {
	struct fixture *f;
	atomic_uint ready, done; /* rounds that may start, rounds that have ended */
};

static void *unmask_each_round(void *arg)
{
	struct race *race = arg;

	for (unsigned int round = 1; round <= ROUNDS; round++) {
		while (atomic_load(&race->ready) < round)
			sched_yield();
		mask(race->f, 0, false);
		atomic_store(&race->done, round);
	}
	return NULL;
}

/*
 * One signal against one unmask, at every distance: whatever comes first, one
 * interrupt goes out, and there is no later unmask that would make good for a
 * lost one.
 */
static void signal_against_unmask(void **state)
{
	struct fixture *f = *state;
	struct race race = {.f = f};
	pthread_t thread;

	all_on(f);
	mask(f, 0, true);
	pthread_create(&thread, NULL, unmask_each_round, &race);
	for (unsigned int round = 1; round <= ROUNDS; round++) {
		atomic_store(&race.ready, round);
		for (volatile unsigned int i = 0; i < round % SKEW * 8; i++)
			;
		msix__signal(&f->msix, 0);
		while (atomic_load(&race.done) < round)
			sched_yield();
		assert_int_equal(fired(f, 0), 1);
		assert_int_equal(atomic_load(&f->msix.pending), 0);
		mask(f, 0, true);
	}
	pthread_join(thread, NULL);
}

struct signaller {
	struct fixture *f;
	uint64_t sent; /* results that were true */
};

static void *signal_often(void *arg)
{
	struct signaller *s = arg;

	for (unsigned int i = 0; i < 20000; i++)
		s->sent += msix__signal(&s->f->msix, 0);
	return NULL;
}

/* Unawaited from two threads: the last signal is never left pending. */
static void nothing_stays_pending(void **state)
{
	struct fixture *f = *state;
	struct signaller s[2] = {{.f = f}, {.f = f}};
	struct masker m = {.f = f};
	pthread_t thread[3];
	uint64_t sum;

	all_on(f);
	pthread_create(&thread[0], NULL, mask_all_ways, &m);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[1 + i], NULL, signal_often, &s[i]);
	pthread_join(thread[1], NULL);
	pthread_join(thread[2], NULL);
	atomic_store(&m.stop, true);
	pthread_join(thread[0], NULL);
	assert_int_equal(mmio_read(&f->fake, f->pba, 8), 0);
	sum = fired(f, 0);
	assert_true(sum >= s[0].sent + s[1].sent);
	assert_true(sum >= 1 && sum <= 40000);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(capability),
		T(table_after_reset_is_masked),
		T(table_access_widths),
		T(unmasked_is_one_write),
		T(masked_pends_and_replays_with_the_new_message),
		T(message_changed_while_unmasked),
		T(function_mask_holds_all_back),
		T(disabled_and_enabled_with_one_pending),
		T(bus_master_off_holds_back),
		T(route_refused),
		T(table_sizes),
		T(no_interrupt_lost_or_doubled),
		T(signal_against_unmask),
		T(nothing_stays_pending),
	};

	return cmocka_run_group_tests_name("msix", tests, NULL, NULL);
}
