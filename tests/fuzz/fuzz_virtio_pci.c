// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registers of the virtio-pci transport (virtio 1.2, 4.1.4, 2.1, 3.1): a
 * guest that reads and writes them at any width and in any order, through BAR 0
 * and through the window in config space, while the BAR moves, the device
 * signals, and I/O threads take their time to stop.  fuzz_virtio_pci.h has the
 * model.
 *
 * options: -max_len=192
 * wrapped: write
 */
#include "fuzz_virtio_pci.h"

#include <unistd.h>

struct rig {
	struct fake_vm fake;
	struct pci_bus bus;
	struct guest_mem mem;
	struct virtio_dev dev;
	struct virtio_queue queue[QUEUES]; /* as at the start: the device has its own */
	struct virtio_pci vp;
	struct model model;
	unsigned int wakes[QUEUES];
};

static struct rig rig;

ssize_t __real_write(int fd, const void *buf, size_t len);
ssize_t __wrap_write(int fd, const void *buf, size_t len);

ssize_t __wrap_write(int fd, const void *buf, size_t len)
{
	for (unsigned int q = 0; q < QUEUES && rig.dev.queues; q++) {
		if (rig.dev.queues[q].wakefd != fd)
			continue;
		rig.wakes[q]++;
		return len;
	}
	for (unsigned int v = 0; v < rig.vp.msix.nr; v++)
		if (rig.vp.msix.vector[v].fd == fd)
			return len;
	return __real_write(fd, buf, len);
}

/* ---- the device type ---- */

static void config_read(struct virtio_dev *dev, unsigned int off, void *buf, unsigned int len)
{
	(void)dev;
	FUZZ_CHECK(off < CONFIG_SIZE && len <= CONFIG_SIZE - off);
	memcpy(buf, rig.model.device + off, len);
}

static void config_write(struct virtio_dev *dev, unsigned int off, const void *buf,
			 unsigned int len)
{
	(void)dev;
	FUZZ_CHECK(off < CONFIG_SIZE && len <= CONFIG_SIZE - off);
	FUZZ_CHECK(!memcmp(rig.model.device + off, buf, len)); /* the model was first */
}

static const struct virtio_dev_ops dev_ops = {
	.id = VIRTIO_ID_BLOCK,
	.name = "fuzz",
	.config_read = config_read,
	.config_write = config_write,
};

/* ---- the two sides ---- */

static bool msix_on(void)
{
	return pci_dev__get16(&rig.vp.pci, rig.vp.msix.cap + PCI_MSIX_FLAGS) &
	       PCI_MSIX_FLAGS_ENABLE;
}

static void register_access(struct fuzz_in *in, bool write)
{
	static const uint16_t page[] = {0, 0, 0, 0, 0x1000, 0x2000, 0x3000, 0};
	unsigned int shape = fuzz__take(in, 1), len = 1U << (shape & 3);
	unsigned int off = page[shape >> 2 & 7] + fuzz__take(in, 1) % 64;
	const struct pci_bar *bar = &rig.vp.pci.bar[0];
	uint64_t val, got;

	if ((shape & 0xe0) == 0xe0)
		off = (off << 7 | len) & (BAR_SIZE - 1);
	if (write) {
		val = fuzz__take(in, len);
		if (bar->mapped && off + len <= BAR_SIZE)
			model_write(&rig.model, off, val, len);
		mmio_write(&rig.fake, bar->base + off, val, len);
	} else {
		got = mmio_read(&rig.fake, bar->base + off, len);
		if (bar->mapped && off + len <= BAR_SIZE)
			FUZZ_CHECK(got == model_read(&rig.model, off, len));
	}
}

/* A whole field, and values that get further than those by chance. */
static void likely_write(struct fuzz_in *in)
{
	static const struct {
		uint8_t off, len;
		uint64_t val;
	} likely[] = {
		{VIRTIO_PCI_COMMON_STATUS, 1, 1},
		{VIRTIO_PCI_COMMON_STATUS, 1, 3},
		{VIRTIO_PCI_COMMON_STATUS, 1, 11},
		{VIRTIO_PCI_COMMON_STATUS, 1, 15},
		{VIRTIO_PCI_COMMON_STATUS, 1, 0},
		{VIRTIO_PCI_COMMON_GFSELECT, 4, 0},
		{VIRTIO_PCI_COMMON_GFSELECT, 4, 1},
		{VIRTIO_PCI_COMMON_GF, 4, 1}, /* VERSION_1 in the upper half */
		{VIRTIO_PCI_COMMON_GF, 4, 5}, /* and packed rings */
		{VIRTIO_PCI_COMMON_Q_SELECT, 2, 0},
		{VIRTIO_PCI_COMMON_Q_SELECT, 2, 1},
		{VIRTIO_PCI_COMMON_Q_DESCLO, 8, RAM_BASE},
		{VIRTIO_PCI_COMMON_Q_AVAILLO, 8, RAM_BASE + 0x800},
		{VIRTIO_PCI_COMMON_Q_USEDLO, 8, RAM_BASE + 0x1000},
		{VIRTIO_PCI_COMMON_Q_ENABLE, 2, 1},
		{VIRTIO_PCI_COMMON_Q_SIZE, 2, 4},
	};
	unsigned int i = fuzz__take(in, 1) % 16;
	const struct pci_bar *bar = &rig.vp.pci.bar[0];

	if (!bar->mapped)
		return;
	model_write(&rig.model, likely[i].off, likely[i].val, likely[i].len);
	mmio_write(&rig.fake, bar->base + likely[i].off, likely[i].val, likely[i].len);
}

/* 4.1.4.9: BAR, offset and length, then the data. */
static void window_access(struct fuzz_in *in, bool write)
{
	unsigned int shape = fuzz__take(in, 1), at = shape & 3, len = 1U << (shape >> 2 & 3) % 3;
	unsigned int cap = rig.vp.window, data = cap + 16;
	uint32_t off = fuzz__take(in, 2), length = shape >> 4 & 7, val;
	struct model *m = &rig.model;
	bool hits;

	off = shape & 0x80 ? off : (off & 0x3000) | (off & 0x3f);
	at = at + len > 4 ? 0 : at;
	cfg_write(&rig.fake, 1, cap + VIRTIO_PCI_CAP_BAR, off == 0xffff ? 2 : 0, 1);
	cfg_write(&rig.fake, 1, cap + VIRTIO_PCI_CAP_OFFSET, off, 4);
	cfg_write(&rig.fake, 1, cap + VIRTIO_PCI_CAP_LENGTH, length, 4);
	hits = off != 0xffff && (length == 1 || length == 2 || length == 4) && !(off % length) &&
	       off < BAR_SIZE;
	if (write) {
		val = fuzz__take(in, len);
		memcpy(m->window + at, &val, len);
		memcpy(&val, m->window, sizeof(val));
		if (hits)
			model_write(m, off, val & (uint32_t)(~0ULL >> (64 - 8 * length)), length);
		memcpy(&val, m->window + at, len);
		cfg_write(&rig.fake, 1, data + at, val, len);
	} else {
		if (hits) {
			uint64_t got = model_read(m, off, length);

			memcpy(m->window, &got, length);
		}
		val = cfg_read(&rig.fake, 1, data + at, len);
		FUZZ_CHECK(!memcmp(&val, m->window + at, len));
	}
}

/* Memory decoding, INTx, MSI-X, the place of the BAR: what fuzz_pci.c is about. */
static void function_write(struct fuzz_in *in)
{
	unsigned int shape = fuzz__take(in, 1);

	if (shape & 1)
		cfg_write(&rig.fake, 1, PCI_COMMAND,
			  (shape & 2) | (shape & 4) | (shape & 8 ? PCI_COMMAND_INTX_DISABLE : 0),
			  2);
	else if (shape & 2)
		cfg_write(&rig.fake, 1, PCI_BASE_ADDRESS_0, FAKE_BARS + (shape & 0xf0) * 0x4000, 4);
	else
		cfg_write(&rig.fake, 1, rig.vp.msix.cap + PCI_MSIX_FLAGS,
			  shape & 4 ? PCI_MSIX_FLAGS_ENABLE : 0, 2);
	rig.model.msix_on = msix_on();
}

/* The device's own doing. */
static void device_event(unsigned int what)
{
	struct virtio_queue *queue = &rig.dev.queues[what >> 2 & 1];
	struct model *m = &rig.model;
	bool sent, fresh = !(m->isr & 1);

	switch (what & 3) {
	case 0:
		if (!m->msix_on)
			m->isr |= 1;
		sent = rig.dev.transport->signal(&rig.dev, queue);
		FUZZ_CHECK(m->msix_on ? !sent || m->queue[queue->index].vector < VECTORS
				      : sent == fresh);
		break;
	case 1:
		m->generation++;
		model_config_interrupt(m);
		rig.dev.transport->config_changed(&rig.dev);
		break;
	case 2:
		model_fail(m);
		virtio_dev__fail(&rig.dev);
		break;
	default: /* an I/O thread has come to its end */
		if (m->queue[queue->index].state == VIRTIO_QUEUE_STOPPING) {
			m->queue[queue->index].state = VIRTIO_QUEUE_IDLE;
			atomic_store(&queue->state, VIRTIO_QUEUE_IDLE);
		}
	}
}

/* ---- what holds at any time ---- */

static void check_queue(const struct model *m, unsigned int q)
{
	const struct virtio_queue *queue = &rig.dev.queues[q];
	const struct pci_bar *bar = &rig.vp.pci.bar[0];
	uint64_t doorbell = bar->base + 0x3000 + 4 * q;
	bool attached = false;

	FUZZ_CHECK(atomic_load(&queue->state) == m->queue[q].state);
	FUZZ_CHECK(rig.wakes[q] == m->queue[q].wakes);
	for (unsigned int i = 0; i < FAKE_EVENTS; i++) {
		if (!rig.fake.event[i].addr || rig.fake.event[i].fd != queue->wakefd)
			continue;
		FUZZ_CHECK(!attached && bar->mapped && rig.fake.event[i].addr == doorbell);
		attached = true;
	}
	if (attached)
		FUZZ_CHECK(model_active(m, q));
	if (bar->mapped && m->queue[q].state == VIRTIO_QUEUE_RUNNING)
		FUZZ_CHECK(attached);
}

static void check_state(const struct model *m)
{
	uint16_t command = pci_dev__get16(&rig.vp.pci, PCI_COMMAND);
	bool pin = m->isr && !m->msix_on && !(command & PCI_COMMAND_INTX_DISABLE);

	FUZZ_CHECK(rig.fake.pin[PCI_GSI_BASE + 1] == pin);
	FUZZ_CHECK(atomic_load(&rig.dev.features) == m->features);
	for (unsigned int q = 0; q < QUEUES; q++)
		check_queue(m, q);
}

static void set_up(void)
{
	rig.mem.nr = 1;
	rig.mem.region[0] = (struct guest_region) {RAM_BASE, RAM_SIZE, calloc(1, RAM_SIZE)};
	fake_vm__init(&rig.fake);
	FUZZ_CHECK(!pci__init(&rig.bus, &rig.fake.vm, FAKE_ECAM, FAKE_BARS, FAKE_BARS_SIZE));
	rig.dev = (struct virtio_dev) {
		.ops = &dev_ops,
		.mem = &rig.mem,
		.offered = OFFERED & ~(1ULL << VIRTIO_F_VERSION_1),
		.config_size = CONFIG_SIZE,
	};
	FUZZ_CHECK(!virtio_dev__init(&rig.dev, QUEUES, QUEUE_SIZE));
	FUZZ_CHECK(!virtio_pci__init(&rig.vp, &rig.dev, &rig.bus, VECTORS, 0x018000));
	for (unsigned int q = 0; q < QUEUES; q++)
		rig.dev.queues[q].has_thread = true; /* in the model */
	memcpy(rig.queue, rig.dev.queues, sizeof(rig.queue));
	model_init(&rig.model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, size};
	static struct rig clean;

	if (!clean.bus.vm) {
		set_up();
		memcpy(&clean, &rig, sizeof(rig));
	}
	memcpy(&rig, &clean, sizeof(rig)); /* it points into itself, and no lock is held */
	memcpy(rig.dev.queues, rig.queue, sizeof(rig.queue));
	memset(rig.vp.kick_addr, 0, QUEUES * sizeof(*rig.vp.kick_addr));
	while (fuzz__more(&in)) {
		unsigned int op = fuzz__take(&in, 1);

		switch (op & 7) {
		case 0:
		case 1:
			register_access(&in, op & 1);
			break;
		case 2:
		case 3:
			window_access(&in, op & 1);
			break;
		case 4:
			function_write(&in);
			break;
		case 5:
			device_event(op >> 3);
			break;
		default:
			likely_write(&in);
		}
		check_state(&rig.model);
	}
	return 0;
}
