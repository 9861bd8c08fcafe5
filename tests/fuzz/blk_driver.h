/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_FUZZ_BLK_DRIVER_H
#define TESTS_FUZZ_BLK_DRIVER_H

/* What the driver of fuzz_blk.c does: requests, whole and odd, and bytes anywhere. */
#include "blk_rig.h"

static void store(uint64_t gpa, const void *data, size_t len)
{
	void *p = guest_mem__ptr(&rig.mem, gpa, len);

	if (p)
		memcpy(p, data, len);
}

/* Descriptors of a chain into the ring; of a packed one the flags as the position has them. */
static void put_descs(const struct seg *seg, unsigned int nr, bool ref)
{
	struct blk_model *m = &rig.model;
	uint16_t head = rig.next_desc % m->size;

	for (unsigned int i = 0; i < nr; i++) {
		uint16_t flags = (i + 1 < nr ? VRING_DESC_F_NEXT : 0) |
				 (seg[i].write ? VRING_DESC_F_WRITE : 0) |
				 (ref ? VRING_DESC_F_INDIRECT : 0);
		unsigned int pos = rig.put % (2U * m->size);

		if (m->packed) {
			struct vring_packed_desc d = {seg[i].gpa, seg[i].len, head, flags};

			d.flags |= 1U << (pos < m->size ? VRING_PACKED_DESC_F_AVAIL
							: VRING_PACKED_DESC_F_USED);
			store(m->desc + 16 * (pos % m->size), &d, sizeof(d));
			rig.put = (pos + 1) % (2U * m->size);
		} else {
			unsigned int idx = (head + i) % m->size;
			struct vring_desc d = {seg[i].gpa, seg[i].len, flags, (idx + 1) % m->size};

			store(m->desc + 16 * idx, &d, sizeof(d));
		}
	}
	if (!m->packed) {
		store(m->avail + 4 + 2 * (rig.put % m->size), &head, 2);
		rig.put++;
		store(m->avail + 2, &rig.put, 2);
	}
	rig.next_desc = head + (m->packed ? 1 : nr);
}

/* The same through an indirect table. */
static void put_table(const struct seg *seg, unsigned int nr)
{
	uint64_t gpa = TABLES + rig.next_desc % 12 * 128;
	const struct seg ref = {gpa, 16 * nr, false};

	for (unsigned int i = 0; i < nr; i++) {
		struct vring_desc d = {
			.addr = seg[i].gpa,
			.len = seg[i].len,
			.flags = (i + 1 < nr && !rig.model.packed ? VRING_DESC_F_NEXT : 0) |
				 (seg[i].write ? VRING_DESC_F_WRITE : 0),
			.next = i + 1,
		};

		/* of a packed one the flags come last: 2.8.7 */
		if (rig.model.packed)
			d.next = d.flags;
		store(gpa + 16 * i, &d, sizeof(d));
	}
	put_descs(&ref, 1, true);
}

static uint64_t take_buffer(uint32_t len)
{
	uint64_t gpa;

	if (rig.cursor + len > A_SIZE - (DATA - A_BASE))
		rig.cursor = 0;
	gpa = DATA + rig.cursor;
	rig.cursor += len;
	return gpa;
}

/*
 * A request, whole or with something odd.  Shape: bit 7 an indirect table, 6 data
 * in two segments, 5 header and status in one more each, 4 data in region B.
 */
static void put_request(struct fuzz_in *in)
{
	static const uint32_t type[] = {VIRTIO_BLK_T_IN,      VIRTIO_BLK_T_OUT,
					VIRTIO_BLK_T_FLUSH,   VIRTIO_BLK_T_GET_ID,
					VIRTIO_BLK_T_DISCARD, VIRTIO_BLK_T_WRITE_ZEROES,
					VIRTIO_BLK_T_IN,      99};
	static const uint16_t length[] = {512, 1024, 16, 20, 0, 513, 2048, 32};
	unsigned int shape = fuzz__take(in, 1), what = fuzz__take(in, 1);
	uint32_t len = length[what >> 3 & 7], part = shape & 0x40 ? len / 3 : 0;
	struct virtio_blk_outhdr hdr = {.type = type[what & 7], .sector = fuzz__take(in, 1)};
	bool write = hdr.type == VIRTIO_BLK_T_IN || hdr.type == VIRTIO_BLK_T_GET_ID;
	uint64_t head = take_buffer(sizeof(hdr)), status = take_buffer(1), data;
	struct seg seg[8];
	unsigned int nr = 0, cut = shape & 0x20 ? 1 + (shape & 7) : 0;

	hdr.sector ^= hdr.sector & 0x80 ? UINT64_MAX : 0;
	data = shape & 0x10 ? B_BASE + (shape & 15) * 16 : take_buffer(len);
	store(head, &hdr, sizeof(hdr));
	if (!write && (hdr.type == VIRTIO_BLK_T_DISCARD || hdr.type == VIRTIO_BLK_T_WRITE_ZEROES)) {
		struct virtio_blk_discard_write_zeroes range = {hdr.sector, what >> 6, shape & 1};

		store(data, &range, sizeof(range));
	}
	if (cut)
		seg[nr++] = (struct seg) {head, cut, false};
	seg[nr++] = (struct seg) {head + cut, sizeof(hdr) - cut, false};
	if (part)
		seg[nr++] = (struct seg) {data, part, write};
	if (len)
		seg[nr++] = (struct seg) {data + part, len - part, write};
	seg[nr++] = (struct seg) {status, 1, true};
	if (shape & 0x80)
		put_table(seg, nr);
	else
		put_descs(seg, nr, false);
}

/* A descriptor of the ring or of a table, all of it from the input. */
static void poke_desc(struct fuzz_in *in)
{
	unsigned int shape = fuzz__take(in, 1);
	uint64_t gpa = (shape & 0x80 ? TABLES : DESC) + (shape & 31) * 16;
	static const uint64_t base[] = {DATA, A_BASE, B_BASE, 0};
	struct vring_desc d = {
		.addr = base[shape >> 5 & 3] + fuzz__take(in, 2),
		.len = fuzz__take(in, 2),
		.flags = fuzz__take(in, 2),
		.next = fuzz__take(in, 1),
	};

	if (d.len & 0x8000)
		d.len <<= 16;
	if ((shape >> 5 & 3) == 3)
		d.addr <<= 48;
	store(gpa, &d, sizeof(d));
}

static void poke(struct fuzz_in *in)
{
	uint64_t gpa = A_BASE + fuzz__take(in, 2) % A_SIZE, val;
	unsigned int len = 1 + fuzz__pick(in, 8);

	val = fuzz__take(in, len);
	store(gpa, &val, len);
}

#endif
