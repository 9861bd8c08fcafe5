// SPDX-License-Identifier: GPL-2.0-only
/* A virtio-pci device at work: kicks, interrupts, reset; virtio 1.2, 2.1, 2.4, 4.1.5. */
#include "virtio_pci_rig.h"

static void kicks_reach_the_thread(void **state)
{
	struct fixture *f = *state;
	struct unit *a = &f->a;

	for (unsigned int i = 0; i < 3; i++)
		mmio_write(&f->fake, notify(f, a, 0), 0, 2); /* nothing enabled */
	assert_false(signalled(a->dev.queues[0].wakefd));
	assert_int_equal(fake_events(&f->fake), 0);
	negotiate(f, a);
	enable(f, a, 1);
	mmio_write(&f->fake, notify(f, a, 1), 1, 2); /* no DRIVER_OK */
	assert_int_equal(fake_events(&f->fake), 0);
	set_status(f, a, STARTED);
	assert_int_equal(fake_events(&f->fake), 1);
	assert_int_equal(fake_event_at(&f->fake, notify(f, a, 1)), a->dev.queues[1].wakefd);
	assert_kicks(f, a, 1);
	/* enabled later: in use from then on */
	assert_int_equal(a->dev.queues[0].state, VIRTIO_QUEUE_IDLE);
	enable(f, a, 0);
	assert_int_equal(a->dev.queues[0].state, VIRTIO_QUEUE_RUNNING);
	assert_int_equal(fake_events(&f->fake), 2);
	/* beside the queues */
	mmio_write(&f->fake, notify(f, a, 0) + 2, 0, 2);
	mmio_write(&f->fake, notify(f, a, QUEUES), 0, 2);
	mmio_write(&f->fake, notify(f, a, 1023), 0, 4);
	assert_int_equal(status(f, a), STARTED);
}

static void move(struct fixture *f, struct unit *unit, uint64_t base)
{
	cfg_write(&f->fake, unit->slot, PCI_BASE_ADDRESS_1, base >> 32, 4);
	cfg_write(&f->fake, unit->slot, PCI_BASE_ADDRESS_0, base, 4);
}

static void ioeventfds_follow_the_bar(void **state)
{
	struct fixture *f = *state;
	struct unit *a = &f->a, *b = &f->b;
	uint64_t old;

	start(f, a);
	start(f, b);
	old = notify(f, a, 0);
	move(f, a, 0xd0000000);
	assert_int_equal(fake_event_at(&f->fake, old), -1);
	assert_int_equal(fake_event_at(&f->fake, notify(f, a, 1)), a->dev.queues[1].wakefd);
	/* decoding off: none; on: back */
	cfg_write(&f->fake, 1, PCI_COMMAND, 0, 2);
	assert_int_equal(fake_events(&f->fake), QUEUES);
	cfg_write(&f->fake, 1, PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
	assert_int_equal(fake_events(&f->fake), 2 * QUEUES);
	/* both at one base: the address is a's */
	move(f, b, 0xd0000000);
	assert_int_equal(fake_events(&f->fake), QUEUES);
	assert_int_equal(fake_event_at(&f->fake, notify(f, b, 0)), a->dev.queues[0].wakefd);
	/* a goes: b answers through the MMIO bus, and from the first kick on by ioeventfd */
	move(f, a, 0xd1000000);
	wait_count(&b->runs, QUEUES);
	assert_kicks(f, b, 0);
	assert_int_equal(fake_event_at(&f->fake, notify(f, b, 0)), b->dev.queues[0].wakefd);
	move(f, b, 0xd2000000);
	assert_int_equal(fake_events(&f->fake), 2 * QUEUES);
	assert_int_equal(fake_event_at(&f->fake, notify(f, b, 1)), b->dev.queues[1].wakefd);
	assert_int_equal(status(f, a), STARTED);
	assert_int_equal(status(f, b), STARTED);
}

static void reset_waits_for_requests_in_flight(void **state)
{
	struct fixture *f = *state;
	struct unit *a = &f->a;

	set(f, a, VIRTIO_PCI_COMMON_MSIX, 0, 2);
	start(f, a);
	set(f, a, VIRTIO_PCI_COMMON_Q_MSIX, 1, 2);
	wait_count(&a->runs, QUEUES);
	atomic_store(&a->linger, true);
	set_status(f, a, 0); /* comes back at once: the requests are still there */
	assert_int_equal(status(f, a), STARTED);
	assert_int_equal(fake_events(&f->fake), 0);
	/* nothing is taken meanwhile */
	set_status(f, a, VIRTIO_CONFIG_S_ACKNOWLEDGE);
	set(f, a, VIRTIO_PCI_COMMON_Q_SELECT, 0, 2);
	mmio_write(&f->fake, notify(f, a, 0), 0, 2);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_SELECT, 2), QUEUES - 1);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_ENABLE, 2), 1);
	atomic_store(&a->linger, false);
	for (unsigned int i = 0; i < QUEUES; i++)
		virtio_queue__wake(&a->dev.queues[i]); /* a completion */
	wait_reset(f, a);
	assert_int_equal(a->dev.features, 0);
	registers_after_reset(state);
	start(f, a);
	wait_count(&a->runs, 2 * QUEUES);
}

static void reset_at_every_step(void **state)
{
	struct fixture *f = *state;
	struct unit *a = &f->a;

	for (unsigned int step = 0; step < 6; step++) {
		if (step == 1)
			set_status(f, a, VIRTIO_CONFIG_S_ACKNOWLEDGE);
		if (step >= 2)
			negotiate(f, a);
		if (step >= 3)
			enable(f, a, 0);
		if (step >= 4)
			set_status(f, a, STARTED);
		if (step >= 5)
			virtio_dev__fail(&a->dev);
		set_status(f, a, 0);
		wait_reset(f, a);
		registers_after_reset(state);
	}
	start(f, a);
}

static void broken_ring_needs_reset(void **state)
{
	/* misaligned, out of RAM, at the end of the address space */
	static const uint64_t bad[] = {0x1001, RAM_SIZE, UINT64_MAX - 0xfff};
	struct fixture *f = *state;
	struct unit *a = &f->a;

	msix_on(f, a);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		negotiate(f, a);
		set(f, a, VIRTIO_PCI_COMMON_MSIX, 2, 2);
		enable(f, a, 0);
		set_queue(f, a, 1, bad[i]);
		set(f, a, VIRTIO_PCI_COMMON_Q_ENABLE, 1, 2);
		assert_int_equal(status(f, a), STARTED & ~VIRTIO_CONFIG_S_DRIVER_OK);
		set_status(f, a, STARTED);
		assert_int_equal(status(f, a), STARTED | VIRTIO_CONFIG_S_NEEDS_RESET);
		assert_int_equal(fired(a, 2), 1); /* a configuration interrupt, once */
		virtio_dev__fail(&a->dev);
		assert_int_equal(fired(a, 2), 0);
		set_status(f, a, 0);
		wait_reset(f, a);
	}
	start(f, a);
}

static void msix_vectors_of_queues(void **state)
{
	struct fixture *f = *state;
	struct unit *a = &f->a;

	start(f, a);
	msix_on(f, a);
	set(f, a, VIRTIO_PCI_COMMON_Q_MSIX, 2, 2); /* queue 1, after activation */
	assert_true(send(a, 1));
	assert_false(send(a, 0));
	assert_int_equal(fired(a, 2), 1);
	set(f, a, VIRTIO_PCI_COMMON_Q_MSIX, 1, 2);
	assert_true(send(a, 1));
	assert_int_equal(fired(a, 1), 1);
	assert_int_equal(fired(a, 2), 0);
	assert_int_equal(f->fake.pin_changes, 0);
	/* bus mastering off while running: held back, not lost */
	cfg_write(&f->fake, 1, PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
	assert_false(send(a, 1));
	cfg_write(&f->fake, 1, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
	assert_int_equal(fired(a, 1), 1);
}

static void intx_and_isr(void **state)
{
	struct fixture *f = *state;
	struct unit *b = &f->b;
	uint64_t isr = at(f, b, VIRTIO_PCI_CAP_ISR_CFG);
	unsigned int gsi = b->vp.pci.gsi;

	start(f, b);
	assert_int_equal(mmio_read(&f->fake, isr, 1), 0);
	assert_true(send(b, 0));
	assert_false(send(b, 1)); /* the driver has been told already */
	assert_true(f->fake.pin[gsi]);
	assert_int_equal(mmio_read(&f->fake, isr, 1), 1);
	assert_false(f->fake.pin[gsi]);
	assert_int_equal(mmio_read(&f->fake, isr, 1), 0);
	b->dev.transport->config_changed(&b->dev);
	send(b, 0);
	assert_int_equal(mmio_read(&f->fake, isr, 1), 1 | VIRTIO_PCI_ISR_CONFIG);
	/* reset takes the level down */
	send(b, 0);
	set_status(f, b, 0);
	wait_reset(f, b);
	assert_false(f->fake.pin[gsi]);
	assert_int_equal(mmio_read(&f->fake, isr, 1), 0);
}

/* PCI 3.0, 6.8.2: a function with MSI-X on must not use its pin. */
static void msix_on_takes_the_pin_down(void **state)
{
	struct fixture *f = *state;
	struct unit *a = &f->a;

	start(f, a);
	assert_true(send(a, 0));
	assert_true(f->fake.pin[a->vp.pci.gsi]);
	msix_on(f, a);
	assert_false(f->fake.pin[a->vp.pci.gsi]);
	assert_false(send(a, 0));
	assert_false(f->fake.pin[a->vp.pci.gsi]);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(kicks_reach_the_thread),
		T(ioeventfds_follow_the_bar),
		T(reset_waits_for_requests_in_flight),
		T(reset_at_every_step),
		T(broken_ring_needs_reset),
		T(msix_vectors_of_queues),
		T(intx_and_isr),
		T(msix_on_takes_the_pin_down),
	};

	return cmocka_run_group_tests_name("virtio-pci-run", tests, NULL, NULL);
}
