// SPDX-License-Identifier: GPL-2.0-only
/*
 * A device of virtio 1.0 and later makes no assumption about how a request is
 * cut into descriptors (2.7.4.1): header, data and status arrive as one stream
 * of bytes each way.  Each layout here is sent as a chain in the ring, as an
 * indirect table, with empty descriptors between, and on a split ring as a
 * chain that ends in a table (2.7.5.3.2; a packed ring has no such thing,
 * 2.8.19).
 *
 * The disk holds the pattern "sector", and sectors 8 to 31 may be written.
 * Lengths are in blocks of the device, so that 4 KiB ones are tested alike.
 */
#include "pattern.h"

#define MAX_SEGS 64
#define GUARD 0x5a
#define READ_AT 32 /* sectors, multiples of a 4 KiB block */
#define WRITE_AT 8

static struct layout {
	struct blk blk;
	unsigned int unit; /* sectors in a block */
	struct ring_seg seg[MAX_SEGS];
	unsigned int nr;
	uint8_t *out, *in; /* what the device reads and writes, back to back */
	uint32_t out_len, in_len; /* cut so far */
	void *table;
	const char *mode;
	unsigned int direct; /* descriptors in the ring, the others in a table */
	bool empties;
} layout;

/* The next @len bytes of one direction as one descriptor. */
static void cut(struct layout *l, bool writable, uint32_t len)
{
	uint8_t *at = writable ? l->in + l->in_len : l->out + l->out_len;
	uint16_t flags = writable ? VRING_DESC_F_WRITE : 0;

	if (l->nr + 2 > MAX_SEGS)
		panic("too many pieces");
	l->seg[l->nr++] = (struct ring_seg) {at, len, flags};
	if (l->empties)
		l->seg[l->nr++] = (struct ring_seg) {at, 0, flags};
	*(writable ? &l->in_len : &l->out_len) += len;
}

static void cut_bytes(struct layout *l, bool writable, unsigned int count)
{
	while (count--)
		cut(l, writable, 1);
}

static void begin(struct layout *l, uint32_t type, uint64_t sector)
{
	struct virtio_blk_outhdr header = {.type = type, .sector = sector};

	l->nr = l->in_len = l->out_len = 0;
	memset(l->in, GUARD, 4 * PAGE_SIZE);
	memcpy(l->out, &header, sizeof(header));
}

/* Send what was cut; the status is the last writable byte.  Its value. */
static int end(struct layout *l, uint32_t *used)
{
	unsigned int direct = l->direct < l->nr ? l->direct : l->nr;
	struct ring_seg chain[MAX_SEGS + 1];
	struct blk *blk = &l->blk;
	int status;

	memcpy(chain, l->seg, direct * sizeof(chain[0]));
	if (direct < l->nr) {
		unsigned int rest = l->nr - direct;

		blk->ring.ops->table(l->table, l->seg + direct, rest);
		chain[direct++] = (struct ring_seg) {l->table, rest * sizeof(struct vring_desc),
						     VRING_DESC_F_INDIRECT};
	}
	blk->status = l->in + l->in_len - 1;
	*blk->status = BLK_NO_STATUS;
	blk__submit_chain(blk, chain, direct);
	status = blk__wait(blk, used);
	if (status == BLK_TIMEOUT)
		panic("%s: no answer, %u pieces", l->mode, l->nr);
	return status;
}

static void check(struct layout *l, const char *what, int status, int want, uint32_t used,
		  uint32_t want_used)
{
	report(status == want && used == want_used && l->in[l->in_len] == GUARD,
	       "%s, %s%s: status %d, used length %u of %u", what, l->mode,
	       l->empties ? ", empty ones between" : "", status, used, want_used);
}

static void read_end(struct layout *l, const char *what, unsigned int sectors)
{
	uint32_t used = 0;
	int status = end(l, &used);

	check(l, what, status, VIRTIO_BLK_S_OK, used, sectors * SECTOR + 1);
	report(pattern__is((char *)l->in, "sector", READ_AT, sectors), "%s: content", what);
}

static void reads(struct layout *l)
{
	uint32_t block = l->unit * SECTOR, used = 0;
	int status;

	begin(l, VIRTIO_BLK_T_IN, READ_AT);
	cut_bytes(l, false, 16);
	cut(l, true, block);
	cut(l, true, 1);
	read_end(l, "header in 16 pieces", l->unit);

	begin(l, VIRTIO_BLK_T_IN, READ_AT);
	cut(l, false, 16);
	cut(l, true, block + 1);
	read_end(l, "data and status in one", l->unit);

	begin(l, VIRTIO_BLK_T_IN, READ_AT);
	cut(l, false, 16);
	cut(l, true, 1);
	cut(l, true, block - 1);
	cut(l, true, 3);
	cut(l, true, block - 3);
	cut(l, true, 1);
	read_end(l, "data in odd pieces", 2 * l->unit);

	begin(l, VIRTIO_BLK_T_IN, READ_AT);
	cut(l, false, 16);
	cut(l, true, 1);
	cut(l, true, block - 1);
	cut(l, true, 3);
	cut(l, true, 1);
	/* data that is no whole number of blocks: the status byte alone is written */
	status = end(l, &used);
	check(l, "data of a block and 3 bytes", status, VIRTIO_BLK_S_IOERR, used, 1);
}

/* Write @sectors with the words cut so far and see what is there then. */
static void write_end(struct layout *l, const char *what, const char *word, unsigned int sectors)
{
	uint32_t used = 0;
	uint8_t *old;
	int status;

	cut(l, true, 1);
	status = end(l, &used);
	check(l, what, status, VIRTIO_BLK_S_OK, used, 1);
	old = l->blk.status;
	l->blk.status = l->out; /* not between data */
	memset(l->in, GUARD, 4 * PAGE_SIZE);
	status = blk__request(&l->blk, VIRTIO_BLK_T_IN, WRITE_AT, l->in, sectors * SECTOR, &used);
	l->blk.status = old;
	report(status == VIRTIO_BLK_S_OK && pattern__is((char *)l->in, word, WRITE_AT, sectors),
	       "%s: content", what);
}

static void begin_write(struct layout *l, const char *word, unsigned int sectors)
{
	begin(l, VIRTIO_BLK_T_OUT, WRITE_AT);
	pattern__make((char *)l->out + 16, word, WRITE_AT, sectors);
}

static void writes(struct layout *l)
{
	uint32_t block = l->unit * SECTOR;

	begin_write(l, "one", l->unit);
	cut(l, false, 16 + block);
	write_end(l, "header and data in one", "one", l->unit);

	begin_write(l, "across", l->unit);
	cut(l, false, 10);
	cut(l, false, 6 + 100);
	cut(l, false, block - 100);
	write_end(l, "header and data cut across", "across", l->unit);

	begin_write(l, "odd", 2 * l->unit);
	cut(l, false, 16);
	cut(l, false, 1);
	cut(l, false, block - 1);
	cut(l, false, 3);
	cut(l, false, block - 3);
	write_end(l, "written data in odd pieces", "odd", 2 * l->unit);
}

static void others(struct layout *l)
{
	struct virtio_blk_discard_write_zeroes range = {.sector = 24, .num_sectors = l->unit};
	bool discard = virtio__has(&l->blk.dev, VIRTIO_BLK_F_DISCARD);
	char want[VIRTIO_BLK_ID_BYTES + 1] = "";
	uint32_t used = 0;
	int status;

	begin(l, VIRTIO_BLK_T_GET_ID, 0);
	cut(l, false, 16);
	cut_bytes(l, true, VIRTIO_BLK_ID_BYTES);
	cut(l, true, 1);
	status = end(l, &used);
	check(l, "GET_ID in 20 pieces", status, VIRTIO_BLK_S_OK, used, VIRTIO_BLK_ID_BYTES + 1);
	if (cmdline__get("serial", want, sizeof(want)))
		report(!memcmp(l->in, want, strlen(want)), "GET_ID in 20 pieces: content");

	begin(l, VIRTIO_BLK_T_DISCARD, 0);
	memcpy(l->out + 16, &range, sizeof(range));
	cut(l, false, 16);
	cut(l, false, 7);
	cut(l, false, sizeof(range) - 7);
	cut(l, true, 1);
	status = end(l, &used);
	check(l, discard ? "discard segment in two" : "discard that was not offered", status,
	      discard ? VIRTIO_BLK_S_OK : VIRTIO_BLK_S_UNSUPP, used, 1);
}

static void all_layouts(struct layout *l, const char *mode, unsigned int direct)
{
	l->mode = mode;
	l->direct = direct;
	for (l->empties = false;; l->empties = true) {
		reads(l);
		if (cmdline__num("write", 0))
			writes(l);
		others(l);
		if (l->empties)
			return;
	}
}

int test__layout(void)
{
	struct layout *l = &layout;
	uint64_t features = VIRTIO_BIT(VIRTIO_BLK_F_FLUSH) | VIRTIO_BIT(VIRTIO_BLK_F_BLK_SIZE) |
			    VIRTIO_BIT(VIRTIO_BLK_F_DISCARD) | virtio__ring_words();

	if (!blk__open(&l->blk, 0, features, VIRTIO_MSI_NO_VECTOR)) {
		print("payload: no virtio-blk device\n");
		return EXIT_SKIP;
	}
	l->unit = blk__block(&l->blk) / SECTOR;
	l->out = mem__alloc(4 * PAGE_SIZE, PAGE_SIZE);
	l->in = mem__alloc(4 * PAGE_SIZE, PAGE_SIZE);
	l->table = (uint8_t *)mem__alloc(MAX_SEGS * 16 + 8, 16) + 4; /* needs no alignment */
	all_layouts(l, "chain", MAX_SEGS);
	if (virtio__has(&l->blk.dev, VIRTIO_RING_F_INDIRECT_DESC)) {
		all_layouts(l, "table", 0);
		if (!virtio__has(&l->blk.dev, VIRTIO_F_RING_PACKED))
			all_layouts(l, "chain with a table", 2);
	}
	virtio__reset(&l->blk.dev);
	return report__summary();
}
