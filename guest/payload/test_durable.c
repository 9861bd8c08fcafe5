// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes numbered blocks and says which of them the disk has promised to keep,
 * until somebody ends the VM by force: tests/payload/durable.py then looks at the
 * image.  Write N fills block 7 * N modulo their number with N, in every word.
 *
 * flush=1 (default): batches of writes, then a FLUSH, then "acked N".
 * flush=0: neither FLUSH nor CONFIG_WCE is accepted, so that a write is stable
 * when it is complete (virtio 1.2, 5.2.6.2); "acked N" after each batch.
 * odd=1: buffers that no O_DIRECT takes as they are.
 */
#include "blk.h"

#define BATCH 8 /* writes in flight */
#define BLOCK 4096U
#define STRIDE 7 /* the number of blocks is no multiple of it */

struct durable {
	struct virtio dev;
	struct ring ring;
	uint64_t blocks;
	struct virtio_blk_outhdr *header; /* BATCH and one for the flush */
	uint8_t *status;
	uint8_t *data[BATCH];
};

static void durable__slot(struct durable *d, unsigned int i)
{
	struct ring_seg seg[3] = {{&d->header[i], sizeof(d->header[i]), 0}};
	unsigned int nr = 1;

	if (i < BATCH)
		seg[nr++] = (struct ring_seg) {d->data[i], BLOCK, 0};
	seg[nr++] = (struct ring_seg) {&d->status[i], 1, VRING_DESC_F_WRITE};
	d->header[i].type = i < BATCH ? VIRTIO_BLK_T_OUT : VIRTIO_BLK_T_FLUSH;
	ring__prepare(&d->ring, i, seg, nr);
}

static bool durable__open(struct durable *d, bool flush)
{
	unsigned int odd = cmdline__num("odd", 0) ? 8 : 0;
	unsigned int i;

	if (!virtio__find(&d->dev, VIRTIO_ID_BLOCK, 0))
		return false;
	if (!virtio__negotiate(&d->dev,
			       virtio__ring_words() | (flush ? VIRTIO_BIT(VIRTIO_BLK_F_FLUSH) : 0)))
		panic("the features are refused");
	if (!virtio__setup_queue(&d->dev, &d->ring, 0, 0, VIRTIO_MSI_NO_VECTOR))
		panic("no queue");
	ring__slots(&d->ring, 3);
	d->blocks = blk__capacity(&d->dev) / (BLOCK / SECTOR);
	d->header = mem__alloc((BATCH + 1) * sizeof(*d->header), 16);
	d->status = mem__alloc(BATCH + 1, 1);
	for (i = 0; i <= BATCH; i++) {
		if (i < BATCH)
			d->data[i] = (uint8_t *)mem__alloc(BLOCK + odd, 4096) + odd;
		durable__slot(d, i);
	}
	virtio__driver_ok(&d->dev);
	return true;
}

/* What was added goes out, and all @nr come back with OK. */
static void durable__wait(struct durable *d, unsigned int nr)
{
	uint64_t end = time__deadline(HANG_MS);
	struct ring_used used;

	ring__publish(&d->ring);
	while (nr) {
		if (time__tsc() > end)
			panic("no answer within 10 seconds");
		if (!ring__get(&d->ring, &used)) {
			cpu__relax();
			continue;
		}
		if (((volatile uint8_t *)d->status)[used.slot] != VIRTIO_BLK_S_OK)
			panic("status %u", d->status[used.slot]);
		nr--;
	}
}

static void durable__write(struct durable *d, unsigned int i, uint64_t n)
{
	uint64_t *word = (uint64_t *)d->data[i];
	unsigned int k;

	for (k = 0; k < BLOCK / sizeof(*word); k++)
		word[k] = n;
	d->header[i].sector = n * STRIDE % d->blocks * (BLOCK / SECTOR);
	d->status[i] = BLK_NO_STATUS;
	ring__add(&d->ring, i);
}

int test__durable(void)
{
	bool flush = cmdline__num("flush", 1);
	uint64_t n, count = cmdline__num("count", UINT64_MAX);
	struct durable d;
	unsigned int i;

	if (!durable__open(&d, flush))
		return 77;
	for (n = 1; n <= count; n += BATCH) {
		for (i = 0; i < BATCH; i++)
			durable__write(&d, i, n + i);
		durable__wait(&d, BATCH);
		if (flush) {
			d.status[BATCH] = BLK_NO_STATUS;
			ring__add(&d.ring, BATCH);
			durable__wait(&d, 1);
		}
		print("acked %llu\n", (unsigned long long)(n + BATCH - 1));
	}
	return 0;
}
