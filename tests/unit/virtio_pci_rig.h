/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VIRTIO_PCI_RIG_H
#define VIRTIO_PCI_RIG_H

/*
 * Two virtio devices on a PCI bus without KVM, and the accesses that a driver
 * makes.  a: MSI-X, slot 1; b: INTx alone, slot 2.  Include once.
 */
#include "fake_kvm.h"

#include <poll.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <lkvm/virtio_pci.h>

#define QUEUES 2
#define QUEUE_SIZE 128
#define RAM_SIZE 0x10000U
#define FEATURE (1ULL << 9) /* the device type's only one */
#define HANG_S 20

#define STARTED                                                                               \
	(VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER | VIRTIO_CONFIG_S_FEATURES_OK | \
	 VIRTIO_CONFIG_S_DRIVER_OK)

struct unit {
	struct virtio_dev dev;
	struct virtio_pci vp;
	uint8_t config[8];
	atomic_uint wakes, runs;
	atomic_bool linger; /* requests in flight: do not come to an end */
	unsigned int slot;
};

struct fixture {
	struct fake_vm fake;
	struct pci_bus bus;
	struct guest_mem mem;
	struct unit a, b; /* a: MSI-X; b: INTx alone */
};

static inline void queue_run(struct virtio_queue *queue)
{
	struct unit *unit = queue->dev->priv;

	atomic_fetch_add(&unit->runs, 1);
	while (virtio_queue__running(queue) || atomic_load(&unit->linger)) {
		virtio_queue__sleep(queue);
		atomic_fetch_add(&unit->wakes, 1);
	}
}

static inline void config_read(struct virtio_dev *dev, unsigned int off, void *buf,
			       unsigned int len)
{
	struct unit *unit = dev->priv;

	memcpy(buf, unit->config + off, len);
}

static inline void config_write(struct virtio_dev *dev, unsigned int off, const void *buf,
				unsigned int len)
{
	struct unit *unit = dev->priv;

	memcpy(unit->config + off, buf, len);
}

static const struct virtio_dev_ops ops = {
	.id = VIRTIO_ID_BLOCK,
	.name = "unit",
	.config_read = config_read,
	.config_write = config_write,
	.queue_run = queue_run,
};

static inline void add_unit(struct fixture *f, struct unit *unit, unsigned int vectors)
{
	unit->dev.ops = &ops;
	unit->dev.priv = unit;
	unit->dev.mem = &f->mem;
	unit->dev.offered =
		FEATURE | 1 << VIRTIO_RING_F_INDIRECT_DESC | 1 << VIRTIO_RING_F_EVENT_IDX;
	unit->dev.config_size = sizeof(unit->config);
	memcpy(unit->config, "\x11\x22\x33\x44\x55\x66\x77\x88", 8);
	assert_int_equal(virtio_dev__init(&unit->dev, QUEUES, QUEUE_SIZE), 0);
	assert_int_equal(virtio_dev__start_threads(&unit->dev, "unit-0"), 0);
	assert_int_equal(virtio_pci__init(&unit->vp, &unit->dev, &f->bus, vectors, 0x018000), 0);
	unit->slot = unit->vp.pci.slot;
}

static inline void remove_unit(struct unit *unit)
{
	atomic_store(&unit->linger, false);
	virtio_dev__stop_threads(&unit->dev);
	virtio_pci__fini(&unit->vp);
	virtio_dev__fini(&unit->dev);
}

static inline int setup(void **state)
{
	struct fixture *f = test_calloc(1, sizeof(*f));

	fake_vm__init(&f->fake);
	f->mem.nr = 1;
	f->mem.region[0].size = RAM_SIZE;
	f->mem.region[0].hva = aligned_alloc(4096, RAM_SIZE);
	memset(f->mem.region[0].hva, 0, RAM_SIZE);
	assert_int_equal(pci__init(&f->bus, &f->fake.vm, FAKE_ECAM, FAKE_BARS, FAKE_BARS_SIZE), 0);
	add_unit(f, &f->a, QUEUES + 1);
	add_unit(f, &f->b, 0);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	remove_unit(&f->a);
	remove_unit(&f->b);
	assert_int_equal(fake_events(&f->fake), 0);
	assert_int_equal(f->fake.vm.mmio.nr, 1);
	pci__fini(&f->bus);
	fake_vm__fini(&f->fake);
	free(f->mem.region[0].hva);
	test_free(f);
	return 0;
}

/* Walk the capability list, as a driver does. */
static inline unsigned int find_cap(struct fixture *f, struct unit *unit, unsigned int type)
{
	unsigned int off = cfg_read(&f->fake, unit->slot, PCI_CAPABILITY_LIST, 1);

	while (off) {
		if (cfg_read(&f->fake, unit->slot, off, 1) == PCI_CAP_ID_VNDR &&
		    cfg_read(&f->fake, unit->slot, off + VIRTIO_PCI_CAP_CFG_TYPE, 1) == type)
			return off;
		off = cfg_read(&f->fake, unit->slot, off + 1, 1);
	}
	return 0;
}

static inline uint64_t bar(struct fixture *f, struct unit *unit, unsigned int nr)
{
	return (uint64_t)cfg_read(&f->fake, unit->slot, PCI_BASE_ADDRESS_0 + 4 * nr + 4, 4) << 32 |
	       (cfg_read(&f->fake, unit->slot, PCI_BASE_ADDRESS_0 + 4 * nr, 4) & ~0xfU);
}

static inline uint64_t at(struct fixture *f, struct unit *unit, unsigned int type)
{
	unsigned int cap = find_cap(f, unit, type);

	assert_true(cap);
	return bar(f, unit, cfg_read(&f->fake, unit->slot, cap + VIRTIO_PCI_CAP_BAR, 1)) +
	       cfg_read(&f->fake, unit->slot, cap + VIRTIO_PCI_CAP_OFFSET, 4);
}

static inline uint64_t get(struct fixture *f, struct unit *unit, unsigned int off, unsigned int len)
{
	return mmio_read(&f->fake, at(f, unit, VIRTIO_PCI_CAP_COMMON_CFG) + off, len);
}

static inline void set(struct fixture *f, struct unit *unit, unsigned int off, uint64_t val,
		       unsigned int len)
{
	mmio_write(&f->fake, at(f, unit, VIRTIO_PCI_CAP_COMMON_CFG) + off, val, len);
}

static inline uint8_t status(struct fixture *f, struct unit *unit)
{
	return get(f, unit, VIRTIO_PCI_COMMON_STATUS, 1);
}

static inline void set_status(struct fixture *f, struct unit *unit, uint8_t val)
{
	set(f, unit, VIRTIO_PCI_COMMON_STATUS, val, 1);
}

static inline void wait_reset(struct fixture *f, struct unit *unit)
{
	time_t end = time(NULL) + HANG_S;

	while (status(f, unit)) {
		assert_true(time(NULL) < end);
		sched_yield();
	}
}

static inline void wait_count(atomic_uint *count, unsigned int least)
{
	time_t end = time(NULL) + HANG_S;

	while (atomic_load(count) < least) {
		assert_true(time(NULL) < end);
		sched_yield();
	}
}

static inline void set_features(struct fixture *f, struct unit *unit, uint64_t features)
{
	for (unsigned int i = 0; i < 2; i++) {
		set(f, unit, VIRTIO_PCI_COMMON_GFSELECT, i, 4);
		set(f, unit, VIRTIO_PCI_COMMON_GF, (uint32_t)(features >> (32 * i)), 4);
	}
}

/* Each queue has 4 KiB of guest memory of its own. */
static inline void set_queue(struct fixture *f, struct unit *unit, unsigned int queue,
			     uint64_t base)
{
	set(f, unit, VIRTIO_PCI_COMMON_Q_SELECT, queue, 2);
	set(f, unit, VIRTIO_PCI_COMMON_Q_SIZE, 16, 2);
	set(f, unit, VIRTIO_PCI_COMMON_Q_DESCLO, base, 4);
	set(f, unit, VIRTIO_PCI_COMMON_Q_DESCHI, base >> 32, 4);
	set(f, unit, VIRTIO_PCI_COMMON_Q_AVAILLO, base + 0x400, 8);
	set(f, unit, VIRTIO_PCI_COMMON_Q_USEDLO, base + 0x800, 8);
}

static inline void negotiate(struct fixture *f, struct unit *unit)
{
	set_status(f, unit, VIRTIO_CONFIG_S_ACKNOWLEDGE);
	set_status(f, unit, VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER);
	set_features(f, unit, FEATURE | 1ULL << VIRTIO_F_VERSION_1);
	set_status(f, unit, STARTED & ~VIRTIO_CONFIG_S_DRIVER_OK);
	assert_int_equal(status(f, unit), STARTED & ~VIRTIO_CONFIG_S_DRIVER_OK);
}

static inline void enable(struct fixture *f, struct unit *unit, unsigned int queue)
{
	set_queue(f, unit, queue, 0x1000 * (queue + 1));
	set(f, unit, VIRTIO_PCI_COMMON_Q_ENABLE, 1, 2);
}

static inline void start(struct fixture *f, struct unit *unit)
{
	negotiate(f, unit);
	for (unsigned int i = 0; i < QUEUES; i++)
		enable(f, unit, i);
	set_status(f, unit, STARTED);
	assert_int_equal(status(f, unit), STARTED);
}

static inline uint64_t notify(struct fixture *f, struct unit *unit, unsigned int queue)
{
	return at(f, unit, VIRTIO_PCI_CAP_NOTIFY_CFG) + 4 * queue;
}

/* Two kicks through the MMIO bus, for the start of a queue can leave one wake behind. */
static inline void assert_kicks(struct fixture *f, struct unit *unit, unsigned int queue)
{
	wait_count(&unit->runs, 1);
	for (unsigned int i = 0; i < 2; i++) {
		unsigned int wakes = atomic_load(&unit->wakes);

		mmio_write(&f->fake, notify(f, unit, queue), queue, 2);
		wait_count(&unit->wakes, wakes + 1);
	}
}

static inline bool signalled(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

static inline void msix_on(struct fixture *f, struct unit *unit)
{
	uint64_t table = bar(f, unit, 2);

	cfg_write(&f->fake, unit->slot, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
	for (unsigned int i = 0; i < unit->vp.msix.nr; i++) {
		mmio_write(&f->fake, table + 16 * i, 0xfee00000, 8);
		mmio_write(&f->fake, table + 16 * i + 8, 0x40 + i, 8);
	}
	cfg_write(&f->fake, unit->slot, unit->vp.msix.cap + PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE,
		  2);
}

static inline uint64_t fired(struct unit *unit, unsigned int vector)
{
	uint64_t count = 0;

	if (read(unit->vp.msix.vector[vector].fd, &count, sizeof(count)) < 0)
		assert_int_equal(errno, EAGAIN);
	return count;
}

static inline bool send(struct unit *unit, unsigned int queue)
{
	return unit->dev.transport->signal(&unit->dev, &unit->dev.queues[queue]);
}

static inline void registers_after_reset(void **state)
{
	struct fixture *f = *state;
	struct unit *a = &f->a;

	assert_int_equal(status(f, a), 0);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_NUMQ, 2), QUEUES);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_MSIX, 2), VIRTIO_MSI_NO_VECTOR);
	for (unsigned int i = 0; i < QUEUES; i++) {
		set(f, a, VIRTIO_PCI_COMMON_Q_SELECT, i, 2);
		assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_SIZE, 2), QUEUE_SIZE);
		assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_MSIX, 2), VIRTIO_MSI_NO_VECTOR);
		assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_ENABLE, 2), 0);
		assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_NOFF, 2), i);
		assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_Q_DESCLO, 8), 0);
	}
	set(f, a, VIRTIO_PCI_COMMON_DFSELECT, 0, 4);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_DF, 4),
			 FEATURE | 1 << VIRTIO_RING_F_INDIRECT_DESC | 1 << VIRTIO_RING_F_EVENT_IDX);
	set(f, a, VIRTIO_PCI_COMMON_DFSELECT, 1, 4);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_DF, 4), 1 << (VIRTIO_F_VERSION_1 - 32));
	set(f, a, VIRTIO_PCI_COMMON_DFSELECT, 2, 4);
	assert_int_equal(get(f, a, VIRTIO_PCI_COMMON_DF, 4), 0);
}

#endif
