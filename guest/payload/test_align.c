// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses, lengths and positions that a driver may use and that O_DIRECT on
 * the host may not like.  Whole blocks of the device are always OK, wherever
 * they lie in memory and however they are cut; what is no whole number of
 * blocks, or begins within one, is IOERR and moves nothing (5.2.6).
 *
 * The disk holds the pattern "sector", and sectors 0 to 31 may be written.
 */
#include "pattern.h"

#define GUARD 0x5a

struct align {
	struct blk blk;
	unsigned int unit; /* sectors in a block */
	char *buf, *copy;
};

static const struct {
	uint64_t sector;
	unsigned int count;
} places[] = {{8, 8}, {3, 1}, {7, 3}, {16, 16}};

static const uint32_t offsets[] = {0, 1, 4, 512, 2048};

/* Data at @buf, cut after @first bytes (0: not cut). */
static int align__request(struct align *a, uint32_t type, uint64_t sector, char *buf, uint32_t len,
			  uint32_t first)
{
	uint16_t flags = type == VIRTIO_BLK_T_IN ? VRING_DESC_F_WRITE : 0;
	struct blk *blk = &a->blk;
	struct ring_seg seg[4] = {{blk->header, sizeof(*blk->header), 0}};
	unsigned int nr = 1;

	*blk->header = (struct virtio_blk_outhdr) {.type = type, .sector = sector};
	*blk->status = BLK_NO_STATUS;
	if (first)
		seg[nr++] = (struct ring_seg) {buf, first, flags};
	seg[nr++] = (struct ring_seg) {buf + first, len - first, flags};
	seg[nr++] = (struct ring_seg) {blk->status, 1, VRING_DESC_F_WRITE};
	blk__submit_chain(blk, seg, nr);
	return blk__wait(blk, NULL);
}

/* What the sectors hold, read in whole blocks into aligned memory. */
static bool align__holds(struct align *a, const char *word, uint64_t sector, unsigned int count)
{
	uint64_t first = sector / a->unit * a->unit;
	uint64_t end = (sector + count + a->unit - 1) / a->unit * a->unit;

	if (blk__request(&a->blk, VIRTIO_BLK_T_IN, first, a->copy, (end - first) * SECTOR, NULL))
		return false;
	return pattern__is(a->copy + (sector - first) * SECTOR, word, sector, count);
}

static void align__read(struct align *a, uint64_t sector, unsigned int count, uint32_t offset,
			uint32_t first)
{
	bool whole = !(sector % a->unit) && !(count % a->unit);
	char *buf = a->buf + offset;
	uint32_t len = count * SECTOR;
	int status;

	memset(a->buf, GUARD, len + 2 * PAGE_SIZE);
	status = align__request(a, VIRTIO_BLK_T_IN, sector, buf, len, first);
	report(status == (whole ? VIRTIO_BLK_S_OK : VIRTIO_BLK_S_IOERR) && buf[len] == GUARD &&
		       (whole ? pattern__is(buf, "sector", sector, count) : buf[0] == GUARD) &&
		       (!offset || buf[-1] == GUARD),
	       "read %u at %llu, offset %u, cut at %u: status %d", count,
	       (unsigned long long)sector, offset, first, status);
}

static void align__write(struct align *a, uint64_t sector, unsigned int count, uint32_t offset,
			 uint32_t first)
{
	bool whole = !(sector % a->unit) && !(count % a->unit);
	char *buf = a->buf + offset;
	int status;

	pattern__make(buf, "moved", sector, count);
	status = align__request(a, VIRTIO_BLK_T_OUT, sector, buf, count * SECTOR, first);
	report(status == (whole ? VIRTIO_BLK_S_OK : VIRTIO_BLK_S_IOERR) &&
		       align__holds(a, whole ? "moved" : "sector", sector, count) &&
		       align__holds(a, "sector", sector - 1, 1) &&
		       align__holds(a, "sector", sector + count, 1),
	       "write %u at %llu, offset %u, cut at %u: status %d", count,
	       (unsigned long long)sector, offset, first, status);
	pattern__make(buf, "sector", sector, count);
	align__request(a, VIRTIO_BLK_T_OUT, sector, buf, count * SECTOR, first);
	report(align__holds(a, "sector", sector, count), "and back");
}

static void align__each(struct align *a, uint64_t sector, unsigned int count, uint32_t offset)
{
	const uint32_t cuts[] = {0, 1, SECTOR};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cuts); i++) {
		if (cuts[i] >= count * SECTOR)
			continue;
		align__read(a, sector, count, offset, cuts[i]);
		if (cmdline__num("write", 0))
			align__write(a, sector, count, offset, cuts[i]);
	}
}

int test__align(void)
{
	static struct align align;
	struct align *a = &align;
	unsigned int i, k;

	if (!blk__open(&a->blk, 0,
		       VIRTIO_BIT(VIRTIO_BLK_F_FLUSH) | VIRTIO_BIT(VIRTIO_BLK_F_BLK_SIZE) |
			       virtio__ring_words(),
		       VIRTIO_MSI_NO_VECTOR)) {
		print("payload: no virtio-blk device\n");
		return EXIT_SKIP;
	}
	a->unit = blk__block(&a->blk) / SECTOR;
	report(a->unit * SECTOR == cmdline__num("block", 512), "blk_size is %u", a->unit * SECTOR);
	a->buf = mem__alloc(8 * PAGE_SIZE, PAGE_SIZE);
	a->copy = mem__alloc(8 * PAGE_SIZE, PAGE_SIZE);
	for (i = 0; i < ARRAY_SIZE(places); i++)
		for (k = 0; k < ARRAY_SIZE(offsets); k++)
			align__each(a, places[i].sector, places[i].count, offsets[k]);
	virtio__reset(&a->blk.dev);
	return report__summary();
}
