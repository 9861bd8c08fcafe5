// SPDX-License-Identifier: GPL-2.0-only
/*
 * The common configuration structure: virtio 1.2, 4.1.4.3.  Reads of any width
 * are put together from the fields; a write has to be a whole field (4.1.3.1),
 * or both halves of a 64-bit one at once.
 */
#include <stddef.h>
#include <string.h>

#include "pci_private.h"

struct field {
	uint8_t off, size;
	uint32_t (*get)(struct virtio_pci *vp);
	void (*set)(struct virtio_pci *vp, uint32_t val); /* NULL: read only */
};

/* The selected queue, or NULL: a queue that does not exist reads as zero (4.1.4.3.1). */
static struct virtio_queue *selected(struct virtio_pci *vp)
{
	return vp->queue_select < vp->dev->nr_queues ? &vp->dev->queues[vp->queue_select] : NULL;
}

static uint32_t half(uint64_t val, uint32_t select)
{
	return select < 2 ? val >> (32 * select) : 0;
}

static void set_half(uint64_t *val, unsigned int select, uint32_t part)
{
	unsigned int shift = 32 * select;

	*val = (*val & ~(0xffffffffULL << shift)) | (uint64_t)part << shift;
}

static uint32_t get_dfselect(struct virtio_pci *vp)
{
	return vp->device_feature_select;
}

static void set_dfselect(struct virtio_pci *vp, uint32_t val)
{
	vp->device_feature_select = val;
}

static uint32_t get_df(struct virtio_pci *vp)
{
	return half(vp->dev->offered, vp->device_feature_select);
}

static uint32_t get_gfselect(struct virtio_pci *vp)
{
	return vp->driver_feature_select;
}

static void set_gfselect(struct virtio_pci *vp, uint32_t val)
{
	vp->driver_feature_select = val;
}

static uint32_t get_gf(struct virtio_pci *vp)
{
	return half(vp->driver_features, vp->driver_feature_select);
}

/* 3.1.1: no feature is taken after FEATURES_OK. */
static void set_gf(struct virtio_pci *vp, uint32_t val)
{
	if (vp->driver_feature_select < 2 &&
	    !(atomic_load(&vp->status) & VIRTIO_CONFIG_S_FEATURES_OK))
		set_half(&vp->driver_features, vp->driver_feature_select, val);
}

/* 4.1.5.1.2.1: a vector that cannot be had reads back as NO_VECTOR. */
static unsigned int checked_vector(struct virtio_pci *vp, uint32_t val)
{
	return val < vp->msix.nr ? val : VIRTIO_MSI_NO_VECTOR;
}

static uint32_t get_msix(struct virtio_pci *vp)
{
	return atomic_load(&vp->msix_config);
}

static void set_msix(struct virtio_pci *vp, uint32_t val)
{
	atomic_store(&vp->msix_config, checked_vector(vp, val));
}

static uint32_t get_numq(struct virtio_pci *vp)
{
	return vp->dev->nr_queues;
}

static uint32_t get_status(struct virtio_pci *vp)
{
	return atomic_load(&vp->status);
}

static void set_status(struct virtio_pci *vp, uint32_t val)
{
	vp_status__write(vp, val);
}

static uint32_t get_generation(struct virtio_pci *vp)
{
	return atomic_load(&vp->generation);
}

static uint32_t get_qselect(struct virtio_pci *vp)
{
	return vp->queue_select;
}

static void set_qselect(struct virtio_pci *vp, uint32_t val)
{
	vp->queue_select = val;
}

static uint32_t get_qsize(struct virtio_pci *vp)
{
	struct virtio_queue *queue = selected(vp);

	return queue ? queue->size : 0;
}

/* 4.1.4.3.2: without VIRTIO_F_RING_PACKED a power of two; 1 leaves no room for a split ring. */
static bool qsize_ok(const struct virtio_dev *dev, uint32_t val)
{
	if (virtio_dev__has(dev, VIRTIO_F_RING_PACKED))
		return val >= 1;
	return val >= 2 && !(val & (val - 1));
}

static void set_qsize(struct virtio_pci *vp, uint32_t val)
{
	struct virtio_queue *queue = selected(vp);

	if (queue && !queue->enabled && val <= queue->size_max && qsize_ok(vp->dev, val))
		queue->size = val;
}

static uint32_t get_qmsix(struct virtio_pci *vp)
{
	struct virtio_queue *queue = selected(vp);

	return queue ? atomic_load(&queue->vector) : VIRTIO_MSI_NO_VECTOR;
}

static void set_qmsix(struct virtio_pci *vp, uint32_t val)
{
	struct virtio_queue *queue = selected(vp);

	if (queue)
		atomic_store(&queue->vector, checked_vector(vp, val));
}

static uint32_t get_qenable(struct virtio_pci *vp)
{
	struct virtio_queue *queue = selected(vp);

	return queue && queue->enabled;
}

/* 4.1.4.3.2: the driver must not write 0. */
static void set_qenable(struct virtio_pci *vp, uint32_t val)
{
	struct virtio_queue *queue = selected(vp);

	if (queue && val == 1)
		vp_queue__enable(vp, queue);
}

static uint32_t get_qnoff(struct virtio_pci *vp)
{
	return selected(vp) ? vp->queue_select : 0;
}

/* The three ring addresses, by half: which = 0 to 5, in the order of the structure. */
static uint64_t *ring_addr(struct virtio_queue *queue, unsigned int which)
{
	uint64_t *const addr[] = {&queue->desc, &queue->avail, &queue->used};

	return addr[which / 2];
}

static uint32_t get_addr(struct virtio_pci *vp, unsigned int which)
{
	struct virtio_queue *queue = selected(vp);

	return queue ? half(*ring_addr(queue, which), which % 2) : 0;
}

static void set_addr(struct virtio_pci *vp, unsigned int which, uint32_t val)
{
	struct virtio_queue *queue = selected(vp);

	if (queue && !queue->enabled)
		set_half(ring_addr(queue, which), which % 2, val);
}

#define FIELD(name, bytes, getter, setter)                                            \
	{                                                                             \
		.off = offsetof(struct virtio_pci_common_cfg, name), .size = (bytes), \
		.get = (getter), .set = (setter)                                      \
	}

/* All before the ring addresses; those are 6 dwords from queue_desc_lo on. */
static const struct field fields[] = {
	FIELD(device_feature_select, 4, get_dfselect, set_dfselect),
	FIELD(device_feature, 4, get_df, NULL),
	FIELD(guest_feature_select, 4, get_gfselect, set_gfselect),
	FIELD(guest_feature, 4, get_gf, set_gf),
	FIELD(msix_config, 2, get_msix, set_msix),
	FIELD(num_queues, 2, get_numq, NULL),
	FIELD(device_status, 1, get_status, set_status),
	FIELD(config_generation, 1, get_generation, NULL),
	FIELD(queue_select, 2, get_qselect, set_qselect),
	FIELD(queue_size, 2, get_qsize, set_qsize),
	FIELD(queue_msix_vector, 2, get_qmsix, set_qmsix),
	FIELD(queue_enable, 2, get_qenable, set_qenable),
	FIELD(queue_notify_off, 2, get_qnoff, NULL),
};

#define ADDR_FIRST offsetof(struct virtio_pci_common_cfg, queue_desc_lo)
#define COMMON_SIZE sizeof(struct virtio_pci_common_cfg)
#define NR_FIELDS (sizeof(fields) / sizeof(fields[0]))

static uint8_t read_byte(struct virtio_pci *vp, unsigned int off)
{
	if (off >= COMMON_SIZE)
		return 0;
	if (off >= ADDR_FIRST)
		return get_addr(vp, (off - ADDR_FIRST) / 4) >> (8 * (off % 4));
	for (unsigned int i = 0; i < NR_FIELDS; i++) {
		const struct field *field = &fields[i];

		if (off >= field->off && off < field->off + field->size)
			return field->get(vp) >> (8 * (off - field->off));
	}
	return 0;
}

void vp_common__read(struct virtio_pci *vp, unsigned int off, uint8_t *data, unsigned int len)
{
	vp_reset__try(vp);
	for (unsigned int i = 0; i < len; i++)
		data[i] = read_byte(vp, off + i);
}

static void write_field(struct virtio_pci *vp, unsigned int off, uint32_t val, unsigned int len)
{
	if (off >= ADDR_FIRST && off < COMMON_SIZE && len == 4 && off % 4 == 0) {
		set_addr(vp, (off - ADDR_FIRST) / 4, val);
		return;
	}
	for (unsigned int i = 0; i < NR_FIELDS; i++) {
		const struct field *field = &fields[i];

		if (off == field->off && len == field->size && field->set)
			field->set(vp, val);
	}
}

void vp_common__write(struct virtio_pci *vp, unsigned int off, const uint8_t *data,
		      unsigned int len)
{
	uint64_t val = 0;

	for (unsigned int i = 0; i < len; i++)
		val |= (uint64_t)data[i] << (8 * i);
	vp_reset__try(vp);
	if (vp->resetting)
		return;
	if (len != 8) {
		write_field(vp, off, val, len);
	} else if (off >= ADDR_FIRST && off % 8 == 0) {
		write_field(vp, off, val, 4);
		write_field(vp, off + 4, val >> 32, 4);
	}
}
