/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_FUZZ_BLK_MODEL_H
#define TESTS_FUZZ_BLK_MODEL_H

/*
 * What a virtio-blk device should make of a ring, whatever is in it: chains by
 * virtio 1.2, 2.7 and 2.8, requests by 5.2.6 and what virtio/blk_req.c says of
 * the cases that the specification leaves open.  Works on a copy of guest memory
 * and of the disk, which afterwards are what the true ones should be.
 */
#include <linux/virtio_blk.h>
#include <linux/virtio_ring.h>

#include "fuzz.h"

#define A_BASE 0x10000ULL /* two regions with a hole between them */
#define A_SIZE 0x2000U
#define B_BASE 0x20000ULL
#define B_SIZE 0x1000U
#define DISK_BYTES 4096U
#define SIZE_MAX_RING 16U
#define CHAIN_SEGS (2 * SIZE_MAX_RING)
#define DISCARDED 0x5d /* what a discard leaves, here */
#define DISCARD_MAX 4U /* sectors */
#define ZEROES_MAX 6U

struct image {
	uint8_t a[A_SIZE], b[B_SIZE];
};

struct seg {
	uint64_t gpa;
	uint32_t len;
	bool write;
};

struct chain {
	uint16_t head, descs; /* descs: in the ring */
	bool fault; /* a segment is outside of memory */
	bool io; /* the engine has a part in it: it may be in flight when the next one comes */
	bool done; /* found in the used ring */
	uint32_t used_len;
	unsigned int nr_out, nr_in;
	uint64_t out_len, in_len;
	struct seg seg[CHAIN_SEGS]; /* readable ones, then writable ones */
};

struct blk_model {
	/* set by the target */
	uint16_t size;
	bool packed, indirect;
	uint64_t desc, avail, used; /* guest physical */
	bool read_only, has_discard, has_zeroes;
	uint32_t block;
	uint64_t fail_offset; /* reads and writes there end with an error */
	char serial[VIRTIO_BLK_ID_BYTES];

	struct image mem;
	uint8_t disk[DISK_BYTES];
	uint16_t next_avail; /* split: free running; packed: 0 to 2 * size - 1 */

	/* one run */
	struct chain chain[SIZE_MAX_RING + 1];
	unsigned int nr;
	bool broken; /* behind the last of them */
	struct {
		uint64_t gpa;
		uint32_t len;
	} table[SIZE_MAX_RING + 1];
	unsigned int nr_tables;
};

static inline void *image__ptr(struct image *mem, uint64_t gpa, uint64_t len)
{
	if (len && gpa >= A_BASE && gpa < A_BASE + A_SIZE && len <= A_BASE + A_SIZE - gpa)
		return mem->a + (gpa - A_BASE);
	if (len && gpa >= B_BASE && gpa < B_BASE + B_SIZE && len <= B_BASE + B_SIZE - gpa)
		return mem->b + (gpa - B_BASE);
	return NULL;
}

static inline uint16_t image__u16(struct image *mem, uint64_t gpa)
{
	uint16_t val;

	memcpy(&val, image__ptr(mem, gpa, 2), 2);
	return val;
}

/* ---- chains ---- */

/* False: the ring is broken. */
static inline bool chain__add(struct blk_model *m, struct chain *c, uint64_t gpa, uint32_t len,
			      bool write)
{
	if (!len)
		return true;
	if (!write && c->nr_in)
		return false;
	c->seg[c->nr_out + c->nr_in] = (struct seg) {gpa, len, write};
	c->nr_in += write;
	c->nr_out += !write;
	*(write ? &c->in_len : &c->out_len) += len;
	c->fault |= !image__ptr(&m->mem, gpa, len);
	return true;
}

/* 2.7.5.3.1, 2.8.7: where the table is and how many entries it has; 0: broken. */
static inline unsigned int table__open(struct blk_model *m, uint64_t gpa, uint32_t len,
				       uint16_t flags)
{
	if (!m->indirect || (flags & VRING_DESC_F_NEXT) || len % 16 || len / 16 > m->size)
		return 0;
	if (!image__ptr(&m->mem, gpa, len))
		return 0;
	m->table[m->nr_tables].gpa = gpa;
	m->table[m->nr_tables++].len = len;
	return len / 16;
}

/* 2.7.5: follow the links; @nested: in an indirect table. */
static inline bool split__follow(struct blk_model *m, struct chain *c, uint64_t table,
				 unsigned int nr, unsigned int idx, bool nested)
{
	for (unsigned int step = 0; step < nr; step++) {
		struct vring_desc d;
		unsigned int entries;

		if (idx >= nr)
			return false;
		memcpy(&d, image__ptr(&m->mem, table + 16ULL * idx, 16), 16);
		if (d.flags & VRING_DESC_F_INDIRECT) {
			entries = nested ? 0 : table__open(m, d.addr, d.len, d.flags);
			return entries && split__follow(m, c, d.addr, entries, 0, true);
		}
		if (!chain__add(m, c, d.addr, d.len, d.flags & VRING_DESC_F_WRITE))
			return false;
		if (!(d.flags & VRING_DESC_F_NEXT))
			return true;
		idx = d.next;
	}
	return false; /* a loop */
}

static inline void split__walk(struct blk_model *m)
{
	uint16_t nr = image__u16(&m->mem, m->avail + 2) - m->next_avail;

	m->broken = nr > m->size;
	while (!m->broken && m->nr < nr) {
		struct chain *c = &m->chain[m->nr];
		unsigned int slot = (uint16_t)(m->next_avail + m->nr) % m->size;

		c->head = image__u16(&m->mem, m->avail + 4 + 2 * slot);
		c->descs = 1;
		m->broken = !split__follow(m, c, m->desc, m->size, c->head, false);
		m->nr += !m->broken;
	}
}

/* 2.8.1: AVAIL is the wrap counter, USED is not. */
static inline bool packed__available(const struct blk_model *m, unsigned int pos, uint16_t flags)
{
	bool wrap = pos % (2U * m->size) < m->size;

	return (flags >> VRING_PACKED_DESC_F_AVAIL & 1) == wrap &&
	       (flags >> VRING_PACKED_DESC_F_USED & 1) != wrap;
}

static inline struct vring_packed_desc packed__read(struct blk_model *m, unsigned int pos)
{
	struct vring_packed_desc d;

	memcpy(&d, image__ptr(&m->mem, m->desc + 16ULL * (pos % m->size), 16), 16);
	return d;
}

/* 2.8.7: every entry of a table is part of the chain. */
static inline bool packed__table(struct blk_model *m, struct chain *c,
				 const struct vring_packed_desc *ref)
{
	unsigned int nr = table__open(m, ref->addr, ref->len, ref->flags);

	for (unsigned int i = 0; i < nr; i++) {
		struct vring_packed_desc d;

		memcpy(&d, image__ptr(&m->mem, ref->addr + 16ULL * i, 16), 16);
		if (!chain__add(m, c, d.addr, d.len, d.flags & VRING_DESC_F_WRITE))
			return false;
	}
	return nr;
}

static inline bool packed__follow(struct blk_model *m, struct chain *c, unsigned int pos)
{
	for (c->descs = 1; c->descs <= m->size; c->descs++, pos++) {
		struct vring_packed_desc d = packed__read(m, pos);
		bool ok;

		if (!packed__available(m, pos, d.flags))
			return false;
		if (d.flags & VRING_DESC_F_INDIRECT)
			ok = packed__table(m, c, &d);
		else
			ok = chain__add(m, c, d.addr, d.len, d.flags & VRING_DESC_F_WRITE);
		if (!ok)
			return false;
		c->head = d.id;
		if (!(d.flags & VRING_DESC_F_NEXT))
			return c->head < m->size;
	}
	return false;
}

static inline void packed__walk(struct blk_model *m)
{
	unsigned int pos = m->next_avail;

	while (!m->broken && packed__available(m, pos, packed__read(m, pos).flags)) {
		struct chain *c = &m->chain[m->nr];

		m->broken = !packed__follow(m, c, pos);
		pos += c->descs;
		m->nr += !m->broken;
	}
}

/* All that is available now, up to where the ring is broken. */
static inline void blk_model__walk(struct blk_model *m)
{
	for (unsigned int i = 0; i <= SIZE_MAX_RING; i++)
		memset(&m->chain[i], 0, offsetof(struct chain, seg));
	m->nr = m->nr_tables = 0;
	m->broken = false;
	if (m->packed)
		packed__walk(m);
	else
		split__walk(m);
}

/* ---- requests ---- */

/* Between @buf and @len bytes of one direction of the chain from @skip on. */
static inline void chain__copy(struct blk_model *m, const struct chain *c, bool write,
			       uint64_t skip, void *buf, size_t len)
{
	const struct seg *seg = c->seg + (write ? c->nr_out : 0);

	for (; len; seg++) {
		uint8_t *p = image__ptr(&m->mem, seg->gpa, seg->len);
		size_t n = seg->len - skip < len ? seg->len - skip : len;

		if (skip >= seg->len) {
			skip -= seg->len;
			continue;
		}
		if (write)
			memcpy(p + skip, buf, n);
		else
			memcpy(buf, p + skip, n);
		buf = (char *)buf + n;
		len -= n;
		skip = 0;
	}
}

static inline uint8_t model__transfer(struct blk_model *m, struct chain *c, bool read,
				      uint64_t sector, uint64_t len)
{
	uint64_t sectors = DISK_BYTES / 512;

	if (len % 512 || len % m->block || sector > sectors || len / 512 > sectors - sector ||
	    sector * 512 % m->block)
		return VIRTIO_BLK_S_IOERR;
	if (!len)
		return VIRTIO_BLK_S_OK;
	c->io = true;
	if (sector * 512 == m->fail_offset)
		return VIRTIO_BLK_S_IOERR;
	if (read)
		c->used_len = len;
	chain__copy(m, c, read, read ? 0 : 16, m->disk + sector * 512, len);
	return VIRTIO_BLK_S_OK;
}

static inline uint8_t model__range(struct blk_model *m, struct chain *c, bool zeroes)
{
	struct virtio_blk_discard_write_zeroes r;
	uint64_t sectors = DISK_BYTES / 512, block = m->block / 512;

	if (!(zeroes ? m->has_zeroes : m->has_discard))
		return VIRTIO_BLK_S_UNSUPP;
	if (c->out_len == 16)
		return VIRTIO_BLK_S_OK;
	if (c->out_len != 32)
		return VIRTIO_BLK_S_IOERR;
	chain__copy(m, c, false, 16, &r, sizeof(r));
	if (r.flags & (zeroes ? ~1U : ~0U))
		return VIRTIO_BLK_S_UNSUPP;
	if (r.sector > sectors || r.num_sectors > sectors - r.sector || r.sector % block ||
	    r.num_sectors % block || r.num_sectors > (zeroes ? ZEROES_MAX : DISCARD_MAX))
		return VIRTIO_BLK_S_IOERR;
	c->io = r.num_sectors;
	memset(m->disk + r.sector * 512, zeroes ? 0 : DISCARDED, r.num_sectors * 512);
	return VIRTIO_BLK_S_OK;
}

static inline uint8_t model__request(struct blk_model *m, struct chain *c)
{
	struct virtio_blk_outhdr hdr;

	if (c->fault || c->out_len < sizeof(hdr))
		return VIRTIO_BLK_S_IOERR;
	chain__copy(m, c, false, 0, &hdr, sizeof(hdr));
	switch (hdr.type) {
	case VIRTIO_BLK_T_IN:
		return c->out_len > 16 ? VIRTIO_BLK_S_IOERR
				       : model__transfer(m, c, true, hdr.sector, c->in_len - 1);
	case VIRTIO_BLK_T_OUT:
		return c->in_len > 1 || m->read_only
			       ? VIRTIO_BLK_S_IOERR
			       : model__transfer(m, c, false, hdr.sector, c->out_len - 16);
	case VIRTIO_BLK_T_FLUSH:
		c->io = !m->read_only;
		return VIRTIO_BLK_S_OK;
	case VIRTIO_BLK_T_GET_ID:
		if (c->in_len < VIRTIO_BLK_ID_BYTES + 1)
			return VIRTIO_BLK_S_IOERR;
		c->used_len = VIRTIO_BLK_ID_BYTES;
		chain__copy(m, c, true, 0, m->serial, VIRTIO_BLK_ID_BYTES);
		return VIRTIO_BLK_S_OK;
	case VIRTIO_BLK_T_DISCARD:
	case VIRTIO_BLK_T_WRITE_ZEROES:
		return c->in_len > 1 ? VIRTIO_BLK_S_IOERR
				     : model__range(m, c, hdr.type == VIRTIO_BLK_T_WRITE_ZEROES);
	default:
		return VIRTIO_BLK_S_UNSUPP;
	}
}

/* Carry out chain @i: memory, disk and used_len are as they should be afterwards. */
static inline void blk_model__serve(struct blk_model *m, unsigned int i)
{
	struct chain *c = &m->chain[i];
	const struct seg *last = c->seg + c->nr_out + c->nr_in - 1;
	uint8_t *status = NULL;
	uint8_t result;

	/* 2.7.4.2: the status is the last writable byte */
	if (c->nr_in && last->gpa + last->len - 1 >= last->gpa)
		status = image__ptr(&m->mem, last->gpa + last->len - 1, 1);
	if (!status)
		return;
	result = model__request(m, c);
	*status = result;
	c->used_len = result == VIRTIO_BLK_S_OK ? c->used_len + 1 : 1;
}

#endif
