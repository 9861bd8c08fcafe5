/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_VQP_DRIVER_H
#define TESTS_VQP_DRIVER_H

#include "tests/unit/vq_driver.h"

/*
 * The driver's side of a packed ring (virtio 1.2, 2.8), for tests, in the guest
 * memory of vq_driver.h.  Like the driver of Linux it writes the two fields of
 * its event area one after the other.
 */
#define VQP_AVAIL (1 << VRING_PACKED_DESC_F_AVAIL)
#define VQP_USED (1 << VRING_PACKED_DESC_F_USED)
#define VQP_WRAP (1 << VRING_PACKED_EVENT_F_WRAP_CTR)

/* Offset and wrap counter of one side */
struct vqp_pos {
	uint16_t off;
	bool wrap;
};

struct vqp_driver {
	struct vq_driver d; /* memory, and the layout */
	struct vring_packed_desc *desc;
	struct vring_packed_desc_event *driver, *device;
	struct vqp_pos avail; /* next descriptor to make available */
	struct vqp_pos used; /* next descriptor to be used */
	uint16_t added; /* descriptors made available since the last vqp__kick() */
	uint16_t nr_free; /* descriptors */
	uint16_t table_room; /* entries of the indirect table that each id has */
	uint16_t descs[VIRTQ_MAX_SIZE]; /* of each id that is out; 0: none */
};

static inline void vqp__restart(struct vqp_driver *p)
{
	memset(p->desc, 0, p->d.layout.size * sizeof(*p->desc));
	memset(p->driver, 0, sizeof(*p->driver));
	memset(p->device, 0, sizeof(*p->device));
	memset(p->descs, 0, sizeof(p->descs));
	p->avail = p->used = (struct vqp_pos) {0, true};
	p->added = 0;
	p->nr_free = p->d.layout.size;
}

static inline void vqp__init(struct vqp_driver *p, uint16_t size, bool event_idx)
{
	vqd__init(&p->d, size, event_idx);
	p->d.layout.packed = true;
	p->table_room = 64;
	p->desc = vqd__ptr(&p->d, VQD_DESC);
	p->driver = vqd__ptr(&p->d, VQD_AVAIL);
	p->device = vqd__ptr(&p->d, VQD_USED);
	vqp__restart(p);
}

static inline void vqp__fini(struct vqp_driver *p)
{
	vqd__fini(&p->d);
}

static inline void vqp_pos__advance(const struct vqp_driver *p, struct vqp_pos *pos,
				    unsigned int nr)
{
	while (nr--) {
		if (++pos->off == p->d.layout.size) {
			pos->off = 0;
			pos->wrap = !pos->wrap;
		}
	}
}

static inline uint16_t vqp_pos__event(struct vqp_pos pos)
{
	return pos.off | (pos.wrap ? VQP_WRAP : 0);
}

/* One descriptor at @pos; one that makes its chain available comes last, with release. */
static inline void vqp__desc(struct vqp_driver *p, struct vqp_pos pos, uint64_t gpa, uint32_t len,
			     uint16_t id, uint16_t flags)
{
	struct vring_packed_desc *desc = &p->desc[pos.off];

	desc->addr = gpa;
	desc->len = len;
	desc->id = id;
	flags |= pos.wrap ? VQP_AVAIL : VQP_USED;
	__atomic_store_n(&desc->flags, flags, __ATOMIC_SEQ_CST);
}

static inline uint64_t vqp__table(const struct vqp_driver *p, uint16_t id)
{
	uint64_t gpa = VQD_TABLE + id * p->table_room * sizeof(struct vring_packed_desc);

	if (gpa + p->table_room * sizeof(struct vring_packed_desc) > VQD_DATA)
		abort();
	return gpa;
}

/*
 * Make a chain of @nr segments available; all behind the first @direct in an
 * indirect table.  False: no room, nothing done.
 */
static inline bool vqp__put(struct vqp_driver *p, uint16_t id, const struct vq_seg *seg,
			    unsigned int nr, unsigned int direct)
{
	struct vring_packed_desc *table = direct < nr ? vqd__ptr(&p->d, vqp__table(p, id)) : NULL;
	unsigned int total = direct < nr ? direct + 1 : nr;
	unsigned int i;

	if (total > p->nr_free)
		return false;
	for (i = direct; i < nr; i++)
		table[i - direct] = (struct vring_packed_desc) {
			.addr = seg[i].gpa,
			.len = seg[i].len,
			.id = 0x5a5a, /* 2.8.7: reserved, and so are all flags but WRITE */
			.flags = seg[i].write ? VRING_DESC_F_WRITE : 0,
		};
	for (i = total; i-- > 0;) { /* the first one last */
		uint16_t flags = i + 1 < total ? VRING_DESC_F_NEXT : 0;
		uint16_t here = i + 1 < total ? 0x3c3c : id; /* only the last one counts */
		struct vqp_pos pos = p->avail;

		vqp_pos__advance(p, &pos, i);
		if (i < direct)
			vqp__desc(p, pos, seg[i].gpa, seg[i].len, here,
				  flags | (seg[i].write ? VRING_DESC_F_WRITE : 0));
		else
			vqp__desc(p, pos, vqp__table(p, id), (nr - direct) * sizeof(*table), here,
				  flags | VRING_DESC_F_INDIRECT);
	}
	vqp_pos__advance(p, &p->avail, total);
	p->descs[id] = total;
	p->nr_free -= total;
	p->added += total;
	return true;
}

/* 2.8.8: is the descriptor that the event names among the @nr before @end? */
static inline bool vqp__crossed(const struct vqp_driver *p, uint16_t event, struct vqp_pos end,
				unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (end.off-- == 0) {
			end.off = p->d.layout.size - 1;
			end.wrap = !end.wrap;
		}
		if (vqp_pos__event(end) == event)
			return true;
	}
	return false;
}

/* After vqp__put(): true where the device wants a kick for what was added. */
static inline bool vqp__kick(struct vqp_driver *p)
{
	uint32_t wish = __atomic_load_n((uint32_t *)p->device, __ATOMIC_SEQ_CST);
	unsigned int added = p->added;

	p->added = 0;
	switch (wish >> 16) {
	case VRING_PACKED_EVENT_FLAG_ENABLE:
		return true;
	case VRING_PACKED_EVENT_FLAG_DISABLE:
		return false;
	case VRING_PACKED_EVENT_FLAG_DESC:
		if (p->d.layout.event_idx)
			return vqp__crossed(p, wish, p->avail, added);
	}
	abort(); /* reserved, or not negotiated */
}

static inline bool vqp__has_used(struct vqp_driver *p)
{
	uint16_t flags = __atomic_load_n(&p->desc[p->used.off].flags, __ATOMIC_SEQ_CST);

	return (flags & (VQP_AVAIL | VQP_USED)) == (p->used.wrap ? VQP_AVAIL | VQP_USED : 0);
}

/* Take a used descriptor.  An id that is not out ends the test. */
static inline bool vqp__get(struct vqp_driver *p, uint32_t *id, uint32_t *len)
{
	const struct vring_packed_desc *desc = &p->desc[p->used.off];

	if (!vqp__has_used(p))
		return false;
	*id = desc->id;
	*len = desc->flags & VRING_DESC_F_WRITE ? desc->len : 0;
	if (*id >= p->d.layout.size || !p->descs[*id])
		abort();
	vqp_pos__advance(p, &p->used, p->descs[*id]);
	p->nr_free += p->descs[*id];
	p->descs[*id] = 0;
	return true;
}

static inline void vqp__event(struct vqp_driver *p, unsigned int flags, uint16_t off_wrap)
{
	__atomic_store_n(&p->driver->off_wrap, off_wrap, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->driver->flags, flags, __ATOMIC_SEQ_CST);
}

/* Interrupts wanted from the next used descriptor on, or not at all. */
static inline void vqp__interrupts(struct vqp_driver *p, bool on)
{
	if (!on)
		vqp__event(p, VRING_PACKED_EVENT_FLAG_DISABLE, 0);
	else if (p->d.layout.event_idx)
		vqp__event(p, VRING_PACKED_EVENT_FLAG_DESC, vqp_pos__event(p->used));
	else
		vqp__event(p, VRING_PACKED_EVENT_FLAG_ENABLE, 0);
}

#endif
