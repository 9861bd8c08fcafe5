/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_FUZZ_VIRTIO_PCI_H
#define TESTS_FUZZ_VIRTIO_PCI_H

/*
 * What the transport's registers should hold, written from virtio 1.2 and the
 * comments of virtio_pci.h, for fuzz_virtio_pci.c alone.
 */
#include "fuzz.h"
#include "tests/unit/fake_kvm.h"

#include <lkvm/virtio_pci.h>

#define QUEUES 2U
#define QUEUE_SIZE 64U
#define VECTORS 3U
#define CONFIG_SIZE 6U
#define BAR_SIZE 0x4000U
#define RAM_BASE 0x10000ULL
#define RAM_SIZE 0x4000U
#define OFFERED                                                                              \
	(1ULL << 9 | 1ULL << VIRTIO_RING_F_INDIRECT_DESC | 1ULL << VIRTIO_RING_F_EVENT_IDX | \
	 1ULL << VIRTIO_F_RING_PACKED | 1ULL << VIRTIO_F_VERSION_1)
#define COMMON(field) offsetof(struct virtio_pci_common_cfg, field)

struct model {
	uint32_t dfselect, gfselect;
	uint64_t driver_features, features;
	uint16_t msix_config, queue_select;
	uint8_t status, generation, isr;
	bool resetting, msix_on;
	struct {
		uint16_t size, vector;
		bool enabled;
		uint64_t addr[3]; /* desc, avail, used */
		enum virtio_queue_state state;
		unsigned int wakes;
	} queue[QUEUES];
	uint8_t device[CONFIG_SIZE];
	uint8_t window[4]; /* pci_cfg_data */
};

static void model_clear(struct model *m)
{
	m->dfselect = m->gfselect = m->queue_select = 0;
	m->driver_features = m->features = 0;
	m->msix_config = VIRTIO_MSI_NO_VECTOR;
	m->status = m->isr = 0;
	m->resetting = false;
	for (unsigned int q = 0; q < QUEUES; q++) {
		m->queue[q].size = QUEUE_SIZE;
		m->queue[q].vector = VIRTIO_MSI_NO_VECTOR;
		m->queue[q].enabled = false;
		memset(m->queue[q].addr, 0, sizeof(m->queue[q].addr));
	}
}

static void model_init(struct model *m)
{
	model_clear(m);
	memcpy(m->device, "\x11\x22\x33\x44\x55\x66", CONFIG_SIZE);
}

static bool model_active(const struct model *m, unsigned int q)
{
	return m->queue[q].enabled && !m->resetting && (m->status & VIRTIO_CONFIG_S_DRIVER_OK);
}

/* 2.1.2: not before DRIVER_OK */
static void model_config_interrupt(struct model *m)
{
	if (m->status & VIRTIO_CONFIG_S_DRIVER_OK)
		m->isr |= VIRTIO_PCI_ISR_CONFIG;
}

static void model_stop(struct model *m, unsigned int q)
{
	if (m->queue[q].state != VIRTIO_QUEUE_RUNNING)
		return;
	m->queue[q].state = VIRTIO_QUEUE_STOPPING;
	m->queue[q].wakes++;
}

static void model_fail(struct model *m)
{
	if (m->status & VIRTIO_CONFIG_S_NEEDS_RESET)
		return;
	m->status |= VIRTIO_CONFIG_S_NEEDS_RESET;
	for (unsigned int q = 0; q < QUEUES; q++)
		model_stop(m, q);
	model_config_interrupt(m);
}

/* 2.4.1: over when no I/O thread serves a queue any more; seen by an access to the structure. */
static void model_try_reset(struct model *m)
{
	bool idle = true;

	for (unsigned int q = 0; q < QUEUES; q++)
		idle = idle && m->queue[q].state == VIRTIO_QUEUE_IDLE;
	if (m->resetting && idle)
		model_clear(m);
}

static bool in_ram(uint64_t addr, uint64_t len)
{
	return addr >= RAM_BASE && addr - RAM_BASE < RAM_SIZE &&
	       len <= RAM_SIZE - (addr - RAM_BASE);
}

/* 2.7, 2.8.10.1: sizes and alignment of the three areas */
static bool model_ring_ok(const struct model *m, unsigned int q)
{
	uint64_t desc = m->queue[q].addr[0], avail = m->queue[q].addr[1];
	uint64_t used = m->queue[q].addr[2], size = m->queue[q].size;

	if (m->features >> VIRTIO_F_RING_PACKED & 1)
		return !(desc % 16) && !(avail % 4) && !(used % 4) && in_ram(desc, 16 * size) &&
		       in_ram(avail, 4) && in_ram(used, 4);
	return size >= 2 && !(size & (size - 1)) && !(desc % 16) && !(avail % 2) && !(used % 4) &&
	       in_ram(desc, 16 * size) && in_ram(avail, 6 + 2 * size) && in_ram(used, 6 + 8 * size);
}

static void model_start(struct model *m, unsigned int q)
{
	if ((m->status & VIRTIO_CONFIG_S_NEEDS_RESET) || m->queue[q].state != VIRTIO_QUEUE_IDLE)
		return;
	if (!model_ring_ok(m, q)) {
		model_fail(m);
		return;
	}
	m->queue[q].state = VIRTIO_QUEUE_RUNNING;
	m->queue[q].wakes++;
}

/* 2.1.1, 3.1.1 */
static void model_status(struct model *m, uint8_t val)
{
	uint8_t add = val & 0x8f & ~m->status;

	if (!val) {
		m->resetting = true;
		for (unsigned int q = 0; q < QUEUES; q++)
			model_stop(m, q);
		model_try_reset(m);
		return;
	}
	if ((m->driver_features & ~OFFERED) || !(m->driver_features >> VIRTIO_F_VERSION_1 & 1))
		add &= ~VIRTIO_CONFIG_S_FEATURES_OK;
	if (!((m->status | add) & VIRTIO_CONFIG_S_FEATURES_OK))
		add &= ~VIRTIO_CONFIG_S_DRIVER_OK;
	m->status |= add;
	if (add & VIRTIO_CONFIG_S_FEATURES_OK)
		m->features = m->driver_features;
	for (unsigned int q = 0; q < QUEUES && (add & VIRTIO_CONFIG_S_DRIVER_OK); q++)
		if (m->queue[q].enabled)
			model_start(m, q);
}

static void model_queue_size(struct model *m, unsigned int q, uint16_t val)
{
	bool packed = m->features >> VIRTIO_F_RING_PACKED & 1;

	if (m->queue[q].enabled || !val || val > QUEUE_SIZE)
		return;
	if (packed || (val >= 2 && !(val & (val - 1))))
		m->queue[q].size = val;
}

/* The fields of the selected queue. */
static void model_queue_write(struct model *m, unsigned int off, uint32_t val, unsigned int len)
{
	unsigned int q = m->queue_select, nr = (off - COMMON(queue_desc_lo)) / 4;

	if (q >= QUEUES)
		return;
	if (off == COMMON(queue_size) && len == 2)
		model_queue_size(m, q, val);
	if (off == COMMON(queue_msix_vector) && len == 2)
		m->queue[q].vector = val < VECTORS ? val : VIRTIO_MSI_NO_VECTOR;
	if (off == COMMON(queue_enable) && len == 2 && val == 1 && !m->queue[q].enabled) {
		m->queue[q].enabled = true;
		if (model_active(m, q))
			model_start(m, q);
	}
	if (off >= COMMON(queue_desc_lo) && off <= COMMON(queue_used_hi) && len == 4 &&
	    !(off % 4) && !m->queue[q].enabled)
		memcpy((uint8_t *)&m->queue[q].addr[nr / 2] + nr % 2 * 4, &val, 4);
}

static void model_field_write(struct model *m, unsigned int off, uint32_t val, unsigned int len)
{
	if (off == COMMON(device_feature_select) && len == 4)
		m->dfselect = val;
	else if (off == COMMON(guest_feature_select) && len == 4)
		m->gfselect = val;
	else if (off == COMMON(guest_feature) && len == 4 && m->gfselect < 2 &&
		 !(m->status & VIRTIO_CONFIG_S_FEATURES_OK))
		memcpy((uint8_t *)&m->driver_features + 4 * m->gfselect, &val, 4);
	else if (off == COMMON(msix_config) && len == 2)
		m->msix_config = val < VECTORS ? val : VIRTIO_MSI_NO_VECTOR;
	else if (off == COMMON(device_status) && len == 1)
		model_status(m, val);
	else if (off == COMMON(queue_select) && len == 2)
		m->queue_select = val;
	else
		model_queue_write(m, off, val, len);
}

static void model_common_write(struct model *m, unsigned int off, uint64_t val, unsigned int len)
{
	model_try_reset(m);
	if (m->resetting)
		return;
	if (len < 8) {
		model_field_write(m, off, val, len);
	} else if (off >= COMMON(queue_desc_lo) && !(off % 8)) {
		model_field_write(m, off, val, 4);
		model_field_write(m, off + 4, val >> 32, 4);
	}
}

static void model_write(struct model *m, unsigned int off, uint64_t val, unsigned int len)
{
	unsigned int in_page = off & 0xfff;

	switch (off >> 12) {
	case 0:
		model_common_write(m, in_page, val, len);
		break;
	case 2:
		for (unsigned int i = 0; i < len && in_page + i < CONFIG_SIZE && !m->resetting; i++)
			m->device[in_page + i] = val >> (8 * i);
		break;
	case 3:
		if (!(in_page % 4) && in_page / 4 < QUEUES && model_active(m, in_page / 4))
			m->queue[in_page / 4].wakes++;
		break;
	}
}

static void model_common(const struct model *m, struct virtio_pci_common_cfg *c)
{
	*c = (struct virtio_pci_common_cfg) {
		.device_feature_select = m->dfselect,
		.device_feature = m->dfselect < 2 ? OFFERED >> (32 * m->dfselect) : 0,
		.guest_feature_select = m->gfselect,
		.guest_feature = m->gfselect < 2 ? m->driver_features >> (32 * m->gfselect) : 0,
		.msix_config = m->msix_config,
		.num_queues = QUEUES,
		.device_status = m->status,
		.config_generation = m->generation,
		.queue_select = m->queue_select,
		.queue_msix_vector = VIRTIO_MSI_NO_VECTOR,
	};
	if (m->queue_select >= QUEUES)
		return;
	c->queue_size = m->queue[m->queue_select].size;
	c->queue_msix_vector = m->queue[m->queue_select].vector;
	c->queue_enable = m->queue[m->queue_select].enabled;
	c->queue_notify_off = m->queue_select;
	memcpy(&c->queue_desc_lo, m->queue[m->queue_select].addr, 24);
}

/* Reading acknowledges, and may find a reset complete. */
static uint64_t model_read(struct model *m, unsigned int off, unsigned int len)
{
	unsigned int in_page = off & 0xfff, size = 0;
	struct virtio_pci_common_cfg common;
	const uint8_t *from = NULL;
	uint64_t val = 0;

	if (off >> 12 == 0) {
		model_try_reset(m);
		model_common(m, &common);
		from = (const uint8_t *)&common;
		size = sizeof(common);
	} else if (off >> 12 == 2) {
		from = m->device;
		size = CONFIG_SIZE;
	} else if (off == 0x1000) {
		val = m->isr;
		m->isr = 0;
	}
	for (unsigned int i = 0; i < len && in_page + i < size; i++)
		val |= (uint64_t)from[in_page + i] << (8 * i);
	return val;
}

#endif
