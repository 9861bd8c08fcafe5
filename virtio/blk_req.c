// SPDX-License-Identifier: GPL-2.0-only
/*
 * virtio-blk requests (virtio 1.2, 5.2.6): from a chain to a disk request.
 *
 * Nothing is assumed about how the driver cut the request into descriptors
 * (2.7.4.1): the header is the first 16 readable bytes, the status the last
 * writable byte, data what lies between.
 *
 * What the specification leaves open:
 * - A chain with memory outside of the guest, a short header, data in the wrong
 *   direction, not a multiple of the logical block, or past the end: IOERR, no
 *   byte of data moved.
 * - No status byte in guest memory: the head goes back with length 0.
 * - IN and OUT without data: OK, if the sector is not past the end.
 * - FLUSH on a read-only disk: OK.  Its sector and data are ignored.
 * - DISCARD and WRITE_ZEROES take one range (max_discard_seg is 1) and nothing in
 *   the other direction.  More than that, a part of a range, or more sectors than
 *   announced: IOERR.  No range at all, or one of no sectors: OK.  The sector of
 *   the header is ignored.  Without the feature accepted: UNSUPP.
 * - Without VIRTIO_BLK_F_BLK_SIZE accepted, the logical block still holds.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "blk.h"

/* One direction of a chain, consumed from the front. */
struct segs {
	struct iovec *iov;
	unsigned int nr;
	uint64_t len;
};

static const struct segs no_data;

/* Next piece of at most @len bytes; 0 at the end. */
static size_t segs__next(struct segs *segs, size_t len, void **piece)
{
	struct iovec *iov = segs->iov;
	size_t n;

	if (!segs->nr || !len)
		return 0;
	n = iov->iov_len < len ? iov->iov_len : len;
	*piece = iov->iov_base;
	iov->iov_base = (char *)iov->iov_base + n;
	iov->iov_len -= n;
	segs->len -= n;
	if (!iov->iov_len) {
		segs->iov++;
		segs->nr--;
	}
	return n;
}

static bool segs__read(struct segs *segs, void *buf, size_t len)
{
	void *piece;
	size_t n;

	if (segs->len < len)
		return false;
	for (; (n = segs__next(segs, len, &piece)) != 0; len -= n) {
		memcpy(buf, piece, n);
		buf = (char *)buf + n;
	}
	/* the copy is not to be replaced by a second look at guest memory */
	__asm__ volatile("" : : : "memory");
	return true;
}

static void segs__write(struct segs *segs, const void *buf, size_t len)
{
	void *piece;
	size_t n;

	for (; (n = segs__next(segs, len, &piece)) != 0; len -= n) {
		memcpy(piece, buf, n);
		buf = (const char *)buf + n;
	}
}

/* Take the status byte off the end.  There is one: checked by the caller. */
static void segs__drop_last(struct segs *segs)
{
	segs->len--;
	if (!--segs->iov[segs->nr - 1].iov_len)
		segs->nr--;
}

static void disk_req__set(struct disk_req *disk, enum disk_op op, uint64_t offset,
			  const struct segs *data)
{
	disk->op = op;
	disk->offset = offset;
	disk->len = data->len;
	disk->iov = data->iov;
	disk->nr_iov = data->nr;
	disk->durable = false;
	disk->unmap = false;
	disk->res = 0;
	disk->done = 0;
	disk->bounce = NULL;
	disk->next = NULL;
}

/* One look for each request: the driver may change it at any time (5.2.6.2). */
static bool is_write_through(const struct virtio_blk *blk)
{
	return !atomic_load_explicit(&blk->writeback, memory_order_relaxed);
}

static int parse_transfer(struct virtio_blk_req *req, const struct virtio_blk *blk, enum disk_op op,
			  uint64_t sector, const struct segs *data)
{
	const struct disk *disk = blk->disk;
	uint64_t block = disk->geo.logical_block;
	uint64_t capacity = disk->size / DISK_SECTOR;

	if (data->len % DISK_SECTOR || data->len % block)
		return VIRTIO_BLK_S_IOERR;
	if (sector > capacity || data->len / DISK_SECTOR > capacity - sector)
		return VIRTIO_BLK_S_IOERR;
	if (sector * DISK_SECTOR % block) /* in range, so no overflow */
		return VIRTIO_BLK_S_IOERR;
	/* The used length has 32 bits, and a driver makes no longer chain (2.7.5). */
	if (data->len > UINT32_MAX - 1)
		return VIRTIO_BLK_S_IOERR;
	if (!data->len)
		return VIRTIO_BLK_S_OK;

	req->bytes = data->len;
	if (op == DISK_READ)
		req->written = data->len;
	disk_req__set(&req->disk, op, sector * DISK_SECTOR, data);
	req->disk.durable = op == DISK_WRITE && is_write_through(blk);
	return BLK_REQ_IO;
}

static int parse_range(struct virtio_blk_req *req, const struct virtio_blk *blk, enum disk_op op,
		       struct segs *out)
{
	const bool zeroes = op == DISK_WRITE_ZEROES;
	const struct disk *disk = blk->disk;
	struct virtio_blk_discard_write_zeroes range;
	uint64_t block = disk->geo.logical_block / DISK_SECTOR;
	uint64_t capacity = disk->size / DISK_SECTOR;
	uint64_t sector, nr;
	uint32_t flags;

	if (!virtio_dev__has(&blk->dev, zeroes ? VIRTIO_BLK_F_WRITE_ZEROES : VIRTIO_BLK_F_DISCARD))
		return VIRTIO_BLK_S_UNSUPP;
	if (!out->len)
		return VIRTIO_BLK_S_OK;
	if (out->len != sizeof(range) || !segs__read(out, &range, sizeof(range)))
		return VIRTIO_BLK_S_IOERR;
	sector = le64toh(range.sector);
	nr = le32toh(range.num_sectors);
	flags = le32toh(range.flags);
	/* 5.2.6.2: unknown flags, and unmap in a discard */
	if (flags & ~(zeroes ? VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP : 0U))
		return VIRTIO_BLK_S_UNSUPP;
	if (sector > capacity || nr > capacity - sector || sector % block || nr % block)
		return VIRTIO_BLK_S_IOERR;
	if (nr > le32toh(zeroes ? blk->config.max_write_zeroes_sectors
				: blk->config.max_discard_sectors))
		return VIRTIO_BLK_S_IOERR;
	if (!nr)
		return VIRTIO_BLK_S_OK;

	disk_req__set(&req->disk, op, sector * DISK_SECTOR, &no_data);
	req->disk.len = nr * DISK_SECTOR;
	req->disk.unmap = flags & VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP;
	req->disk.durable = zeroes && is_write_through(blk);
	return BLK_REQ_IO;
}

static int parse_flush(struct virtio_blk_req *req, const struct disk *disk)
{
	if (disk->read_only)
		return VIRTIO_BLK_S_OK;
	disk_req__set(&req->disk, DISK_FLUSH, 0, &no_data);
	return BLK_REQ_IO;
}

static int get_id(struct virtio_blk_req *req, const struct virtio_blk *blk, struct segs *in)
{
	if (in->len < sizeof(blk->serial))
		return VIRTIO_BLK_S_IOERR;
	segs__write(in, blk->serial, sizeof(blk->serial));
	req->written = sizeof(blk->serial);
	return VIRTIO_BLK_S_OK;
}

int virtio_blk_req__parse(struct virtio_blk_req *req, const struct virtio_blk *blk)
{
	struct virtq_chain *chain = &req->chain;
	struct segs out = {chain->iov, chain->nr_out, chain->out_len};
	struct segs in = {chain->iov + chain->nr_out, chain->nr_in, chain->in_len};
	struct virtio_blk_outhdr hdr;

	req->written = 0;
	req->bytes = 0;
	req->parsed = false;
	if (!chain->in_last || chain->fault || !segs__read(&out, &hdr, sizeof(hdr)))
		return VIRTIO_BLK_S_IOERR;
	segs__drop_last(&in);
	req->parsed = true;
	req->type = le32toh(hdr.type);

	switch (req->type) {
	case VIRTIO_BLK_T_IN:
		if (out.len)
			return VIRTIO_BLK_S_IOERR;
		return parse_transfer(req, blk, DISK_READ, le64toh(hdr.sector), &in);
	case VIRTIO_BLK_T_OUT:
		/* also where the driver did not accept VIRTIO_BLK_F_RO (5.2.6.2) */
		if (in.len || blk->disk->read_only)
			return VIRTIO_BLK_S_IOERR;
		return parse_transfer(req, blk, DISK_WRITE, le64toh(hdr.sector), &out);
	case VIRTIO_BLK_T_DISCARD:
	case VIRTIO_BLK_T_WRITE_ZEROES:
		if (in.len)
			return VIRTIO_BLK_S_IOERR;
		return parse_range(
			req, blk,
			req->type == VIRTIO_BLK_T_DISCARD ? DISK_DISCARD : DISK_WRITE_ZEROES, &out);
	case VIRTIO_BLK_T_FLUSH:
		return parse_flush(req, blk->disk);
	case VIRTIO_BLK_T_GET_ID:
		return get_id(req, blk, &in);
	default:
		return VIRTIO_BLK_S_UNSUPP;
	}
}

uint32_t virtio_blk_req__finish(struct virtio_blk_req *req, uint8_t status)
{
	uint8_t *last = req->chain.in_last;

	if (!last)
		return 0;
	*last = status;
	return status == VIRTIO_BLK_S_OK ? req->written + 1 : 1;
}

enum virtio_blk_type virtio_blk_req__type(const struct virtio_blk_req *req)
{
	if (!req->parsed)
		return VIRTIO_BLK_OTHERS;
	switch (req->type) {
	case VIRTIO_BLK_T_IN:
		return VIRTIO_BLK_READS;
	case VIRTIO_BLK_T_OUT:
		return VIRTIO_BLK_WRITES;
	case VIRTIO_BLK_T_FLUSH:
		return VIRTIO_BLK_FLUSHES;
	case VIRTIO_BLK_T_DISCARD:
		return VIRTIO_BLK_DISCARDS;
	case VIRTIO_BLK_T_WRITE_ZEROES:
		return VIRTIO_BLK_ZEROES;
	case VIRTIO_BLK_T_GET_ID:
		return VIRTIO_BLK_IDS;
	default:
		return VIRTIO_BLK_OTHERS;
	}
}
