/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_VQ_DRIVER_H
#define TESTS_VQ_DRIVER_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <lkvm/virtq.h>

/*
 * The driver's side of a split ring (virtio 1.2, 2.7), for tests.  Guest memory
 * is one region of the heap, so that the address sanitizer sees an access one
 * byte outside of it.  Fields that the device may touch at the same time go
 * through __atomic builtins, as a driver does it.
 */
#define VQD_BASE 0x100000ULL
#define VQD_SIZE 0x100000ULL
#define VQD_END (VQD_BASE + VQD_SIZE)
#define VQD_DESC VQD_BASE
#define VQD_AVAIL (VQD_BASE + 0x8000)
#define VQD_USED (VQD_BASE + 0x9000)
#define VQD_TABLE (VQD_BASE + 0x10000) /* indirect tables: one of 64 entries a head */
#define VQD_DATA (VQD_BASE + 0x40000)

struct vq_driver {
	struct guest_mem mem;
	struct virtq_layout layout;
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	uint16_t avail_idx; /* entries put, published or not */
	uint16_t published;
	uint16_t used_seen;
};

struct vq_seg {
	uint64_t gpa;
	uint32_t len;
	bool write;
};

static inline void *vqd__ptr(struct vq_driver *d, uint64_t gpa)
{
	return (char *)d->mem.region[0].hva + (gpa - VQD_BASE);
}

static inline void vqd__init(struct vq_driver *d, uint16_t size, bool event_idx)
{
	void *ram = aligned_alloc(4096, VQD_SIZE);

	if (!ram)
		abort();
	memset(ram, 0, VQD_SIZE);
	memset(d, 0, sizeof(*d));
	d->mem.region[0] = (struct guest_region) {VQD_BASE, VQD_SIZE, ram};
	d->mem.nr = 1;
	d->layout = (struct virtq_layout) {
		.size = size,
		.desc = VQD_DESC,
		.avail = VQD_AVAIL,
		.used = VQD_USED,
		.indirect = true,
		.event_idx = event_idx,
	};
	d->desc = vqd__ptr(d, VQD_DESC);
	d->avail = vqd__ptr(d, VQD_AVAIL);
	d->used = vqd__ptr(d, VQD_USED);
}

static inline void vqd__fini(struct vq_driver *d)
{
	free(d->mem.region[0].hva);
}

/* Both indices start at @idx, as if that many entries had gone through. */
static inline void vqd__start_at(struct vq_driver *d, uint16_t idx)
{
	d->avail_idx = d->published = d->used_seen = idx;
	d->avail->idx = d->used->idx = idx;
}

static inline void vqd__desc(struct vq_driver *d, unsigned int i, uint64_t gpa, uint32_t len,
			     uint16_t flags, uint16_t next)
{
	d->desc[i] = (struct vring_desc) {gpa, len, flags, next};
}

/*
 * Chain of @nr segments from descriptor @head on, the descriptors consecutive;
 * all behind the first @direct in an indirect table.
 */
static inline void vqd__chain(struct vq_driver *d, uint16_t head, const struct vq_seg *seg,
			      unsigned int nr, unsigned int direct)
{
	uint64_t table_gpa = VQD_TABLE + head * 64 * sizeof(struct vring_desc);
	struct vring_desc *table = vqd__ptr(d, table_gpa);
	unsigned int i;

	for (i = 0; i < nr; i++) {
		uint16_t flags = (seg[i].write ? VRING_DESC_F_WRITE : 0) |
				 (i + 1 < nr ? VRING_DESC_F_NEXT : 0);

		if (i < direct)
			vqd__desc(d, head + i, seg[i].gpa, seg[i].len, flags, head + i + 1);
		else
			table[i - direct] =
				(struct vring_desc) {seg[i].gpa, seg[i].len, flags, i - direct + 1};
	}
	if (direct < nr)
		vqd__desc(d, head + direct, table_gpa, (nr - direct) * sizeof(*table),
			  VRING_DESC_F_INDIRECT, 0);
}

/* Into the available ring; the device sees it after vqd__publish(). */
static inline void vqd__put(struct vq_driver *d, uint16_t head)
{
	__atomic_store_n(&d->avail->ring[d->avail_idx & (d->layout.size - 1)], head,
			 __ATOMIC_RELAXED);
	d->avail_idx++;
}

/* True where the device wants a kick (2.7.10.1). */
static inline bool vqd__publish(struct vq_driver *d)
{
	uint16_t old = d->published;

	d->published = d->avail_idx;
	__atomic_store_n(&d->avail->idx, d->avail_idx, __ATOMIC_SEQ_CST);
	if (d->layout.event_idx) {
		__virtio16 *event = (__virtio16 *)&d->used->ring[d->layout.size];

		return vring_need_event(__atomic_load_n(event, __ATOMIC_SEQ_CST), d->avail_idx,
					old);
	}
	return !(__atomic_load_n(&d->used->flags, __ATOMIC_SEQ_CST) & VRING_USED_F_NO_NOTIFY);
}

static inline bool vqd__has_used(struct vq_driver *d)
{
	return __atomic_load_n(&d->used->idx, __ATOMIC_SEQ_CST) != d->used_seen;
}

/* Take a used element. */
static inline bool vqd__get(struct vq_driver *d, uint32_t *id, uint32_t *len)
{
	vring_used_elem_t *elem = &d->used->ring[d->used_seen & (d->layout.size - 1)];

	if (!vqd__has_used(d))
		return false;
	*id = elem->id;
	*len = elem->len;
	d->used_seen++;
	return true;
}

/* Interrupts wanted from the next used element on, or (@on false, without EVENT_IDX) not at all. */
static inline void vqd__interrupts(struct vq_driver *d, bool on)
{
	if (d->layout.event_idx) {
		if (on)
			__atomic_store_n(&d->avail->ring[d->layout.size], d->used_seen,
					 __ATOMIC_SEQ_CST);
	} else {
		__atomic_store_n(&d->avail->flags, on ? 0 : VRING_AVAIL_F_NO_INTERRUPT,
				 __ATOMIC_SEQ_CST);
	}
}

#endif
