// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver that starts a disk and gives it up again, over and over: reset,
 * features, all queues, reads on each; every second time the reset comes while
 * the reads are in flight.  What the device kept of one life would add up:
 * tests/soak/run looks at the process from outside, after few and after many.
 *
 * test=reinit count=N (lives), RING
 */
#include "blk.h"

#define MAX_QUEUES 8
#define DEPTH 8
#define READ_BYTES 4096U

struct reinit {
	struct virtio dev;
	struct blk_queue queue[MAX_QUEUES];
	unsigned int nr;
};

static void reinit__start(struct reinit *r)
{
	unsigned int i;

	if (!virtio__negotiate(&r->dev, virtio__ring_words()))
		panic("the features are refused");
	r->nr = mmio__read16(r->dev.common + VIRTIO_PCI_COMMON_NUMQ);
	if (r->nr > MAX_QUEUES)
		r->nr = MAX_QUEUES;
	for (i = 0; i < r->nr; i++)
		blk_queue__init(&r->queue[i], &r->dev, i, 0, VIRTIO_MSI_NO_VECTOR, DEPTH,
				VIRTIO_BLK_T_IN, READ_BYTES);
	virtio__driver_ok(&r->dev);
}

static void reinit__read(struct reinit *r)
{
	unsigned int i, k;

	for (i = 0; i < r->nr; i++) {
		for (k = 0; k < DEPTH; k++)
			blk_queue__add(&r->queue[i], k, k * (READ_BYTES / SECTOR));
		ring__publish(&r->queue[i].ring);
	}
}

/* All of them, and without an error. */
static bool reinit__wait(struct reinit *r)
{
	uint64_t end = time__deadline(HANG_MS), errors = 0;
	unsigned int i, back;

	for (i = 0; i < r->nr; i++) {
		for (back = 0; back < DEPTH;) {
			if (blk_queue__get(&r->queue[i]) >= 0)
				back++;
			else if (time__tsc() > end)
				return false;
			else
				cpu__relax();
		}
		errors += r->queue[i].errors;
	}
	return !errors;
}

/* One that waits for reads in flight takes as long as they do: on a busy host, long. */
static bool reinit__reset(struct reinit *r)
{
	uint64_t end = time__deadline(HANG_MS);

	while (!virtio__reset(&r->dev))
		if (time__tsc() > end)
			return false;
	return true;
}

int test__reinit(void)
{
	static struct reinit r;
	uint64_t count = cmdline__num("count", 100), heap, bad = 0, i;

	if (!virtio__find(&r.dev, VIRTIO_ID_BLOCK, 0)) {
		print("payload: no virtio-blk device\n");
		return EXIT_SKIP;
	}
	heap = boot_info.heap;
	for (i = 0; i < count; i++) {
		boot_info.heap = heap; /* the device knows nothing of it after a reset */
		reinit__start(&r);
		reinit__read(&r);
		if (i % 2 == 0)
			bad += !reinit__wait(&r);
		if (!reinit__reset(&r))
			panic("no reset, life %lu", i);
	}
	report(!bad, "%lu lives of a disk with %u queues, %lu with lost or failed reads", count,
	       r.nr, bad);
	return report__summary();
}
