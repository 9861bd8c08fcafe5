/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_BLK_MANY_H
#define TESTS_BLK_MANY_H

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tests/unit/vq_driver.h"
#include "virtio/blk.h"

/*
 * A virtio-blk device over a real engine, with several queues: an I/O thread
 * and a driver each.  A driver's guest memory is a part of the device's, and its
 * own addresses all begin at VQD_BASE: many__gpa() makes those the device's.
 */
#define MANY_QUEUES 8
#define MANY_SIZE 64
#define MANY_SLOTS (MANY_SIZE / 3) /* requests of three descriptors */
#define MANY_SLOT 2048U
#define MANY_DATA 16U
#define MANY_STATUS (MANY_SLOT - 1)

struct blk_many {
	struct disk disk;
	struct lk_err err;
	struct virtio_blk blk;
	struct guest_mem mem;
	unsigned int nr;
	struct vq_driver d[MANY_QUEUES];
	int irqfd[MANY_QUEUES]; /* signalled for each interrupt of the queue */
	atomic_uint signals, fails;
};

static inline bool many__signal(struct virtio_dev *dev, struct virtio_queue *queue)
{
	struct blk_many *m = dev->transport_data;

	atomic_fetch_add(&m->signals, 1);
	eventfd_write(m->irqfd[queue->index], 1);
	return true;
}

static inline void many__fail(struct virtio_dev *dev)
{
	struct blk_many *m = dev->transport_data;

	atomic_fetch_add(&m->fails, 1);
}

static const struct virtio_transport_ops many_transport = {
	.signal = many__signal,
	.needs_reset = many__fail,
};

static inline uint64_t many__shift(unsigned int queue)
{
	return queue * VQD_SIZE;
}

static inline int many__add_driver(struct blk_many *m, unsigned int i)
{
	struct virtio_queue *q = &m->blk.dev.queues[i];
	struct vq_driver *d = &m->d[i];
	struct virtq_layout layout;
	char *ram = (char *)m->mem.region[0].hva + many__shift(i);

	d->mem.region[0] = (struct guest_region) {VQD_BASE, VQD_SIZE, ram};
	d->mem.nr = 1;
	d->layout = (struct virtq_layout) {.size = MANY_SIZE};
	d->desc = vqd__ptr(d, VQD_DESC);
	d->avail = vqd__ptr(d, VQD_AVAIL);
	d->used = vqd__ptr(d, VQD_USED);
	layout = (struct virtq_layout) {
		.size = MANY_SIZE,
		.desc = VQD_DESC + many__shift(i),
		.avail = VQD_AVAIL + many__shift(i),
		.used = VQD_USED + many__shift(i),
	};
	m->irqfd[i] = eventfd(0, EFD_CLOEXEC);
	atomic_store(&q->vector, 0);
	return m->irqfd[i] < 0 ? -errno : virtq__init(&q->ring, &m->mem, &layout);
}

/* Everything up, the I/O threads running.  0 or -errno. */
static inline int many__up(struct blk_many *m, const struct disk_params *disk, unsigned int nr)
{
	struct virtio_blk_params params = {
		.disk = &m->disk,
		.mem = &m->mem,
		.nr_queues = nr,
		.queue_size = MANY_SIZE,
	};
	void *ram = aligned_alloc(4096, nr * VQD_SIZE);
	unsigned int i;
	int ret;

	if (!ram)
		return -ENOMEM;
	memset(ram, 0, nr * VQD_SIZE);
	memset(m, 0, sizeof(*m));
	m->nr = nr;
	m->mem.region[0] = (struct guest_region) {VQD_BASE, nr * VQD_SIZE, ram};
	m->mem.nr = 1;
	ret = disk__open(&m->disk, disk, &m->err);
	if (!ret)
		ret = virtio_blk__init(&m->blk, &params, &m->err);
	if (ret)
		return ret;
	m->blk.dev.transport = &many_transport;
	m->blk.dev.transport_data = m;
	atomic_store(&m->blk.dev.features, 1ULL << VIRTIO_BLK_F_FLUSH);
	for (i = 0; i < nr && !ret; i++)
		ret = many__add_driver(m, i);
	if (!ret)
		ret = virtio_dev__start_threads(&m->blk.dev, "blk");
	for (i = 0; i < nr && !ret; i++)
		virtio_queue__start(&m->blk.dev.queues[i]);
	return ret;
}

/* The I/O threads end; the counters stay. */
static inline void many__stop(struct blk_many *m)
{
	virtio_dev__stop_threads(&m->blk.dev);
}

static inline void many__down(struct blk_many *m)
{
	unsigned int i;

	virtio_blk__fini(&m->blk);
	disk__close(&m->disk);
	for (i = 0; i < m->nr; i++)
		close(m->irqfd[i]);
	free(m->mem.region[0].hva);
}

static inline uint8_t *many__status(struct blk_many *m, unsigned int queue, unsigned int slot)
{
	return vqd__ptr(&m->d[queue], VQD_DATA + slot * MANY_SLOT + MANY_STATUS);
}

/* A request of two sectors in the three descriptors of @slot; seen after vqd__publish(). */
static inline void many__request(struct blk_many *m, unsigned int queue, unsigned int slot,
				 uint32_t type, uint64_t sector)
{
	struct vq_driver *d = &m->d[queue];
	uint64_t at = VQD_DATA + slot * MANY_SLOT, gpa = at + many__shift(queue);
	const struct virtio_blk_outhdr hdr = {.type = type, .sector = sector};
	const struct vq_seg seg[] = {
		{gpa, sizeof(hdr), false},
		{gpa + MANY_DATA, 1024, type != VIRTIO_BLK_T_OUT},
		{gpa + MANY_STATUS, 1, true},
	};

	memcpy(vqd__ptr(d, at), &hdr, sizeof(hdr));
	*many__status(m, queue, slot) = 0xee;
	vqd__chain(d, 3 * slot, seg, 3, 3);
	vqd__put(d, 3 * slot);
}

/* Waits until @nr requests came back.  The result is how many more did. */
static inline int many__collect(struct blk_many *m, unsigned int queue, unsigned int nr)
{
	struct vq_driver *d = &m->d[queue];
	unsigned int got = 0;
	uint32_t id, len;
	eventfd_t count;

	for (;;) {
		while (vqd__get(d, &id, &len))
			got++;
		if (got >= nr)
			return got - nr;
		if (eventfd_read(m->irqfd[queue], &count))
			return -errno;
	}
}

#endif
