// SPDX-License-Identifier: GPL-2.0-only
/*
 * Load generator: keeps `depth` requests in flight on queue 0 of one disk,
 * polls the used ring, and prints one line of JSON.
 *
 * test=bench disk=N rw=randread|randwrite|read|write bs=4096 depth=32
 * secs=2 or count=N; indirect=0, event_idx=0, size=BYTES (of the disk to use),
 * warm=N requests before the clock runs.
 */
#include "blk.h"
#include "trap.h"

#define MAX_DEPTH 256
#define BATCH_TSC 64 /* completions between looks at the clock */

struct request {
	struct virtio_blk_outhdr header;
	struct vring_desc table[3]; /* indirect */
	uint8_t status;
} __attribute__((aligned(128)));

struct bench {
	struct virtio dev;
	struct ring ring;
	struct request *req;
	uint8_t *data;
	uint32_t bs;
	unsigned int depth;
	bool random, write;
	uint64_t blocks, next, seed; /* blocks of the disk that are used */
	uint64_t submitted, done, errors, drains;
};

static void bench__options(struct bench *b)
{
	char rw[16] = "randread";

	cmdline__get("rw", rw, sizeof(rw));
	b->random = !strncmp(rw, "rand", 4);
	b->write = !strcmp(rw + (b->random ? 4 : 0), "write");
	if (!b->write && strcmp(rw + (b->random ? 4 : 0), "read"))
		panic("rw=%s is not known", rw);
	b->bs = cmdline__num("bs", 4096);
	b->depth = cmdline__num("depth", 32);
	b->seed = cmdline__num("seed", 88172645463325252ULL);
	if (!b->depth || b->depth > MAX_DEPTH || !b->bs || b->bs % SECTOR)
		panic("bs is a multiple of 512, depth 1 to %u", MAX_DEPTH);
}

/* Head of request i: itself with indirect descriptors, else three in a row. */
static uint16_t bench__head(const struct bench *b, unsigned int i)
{
	return virtio__has(&b->dev, VIRTIO_RING_F_INDIRECT_DESC) ? i : 3 * i;
}

static void bench__prepare(struct bench *b, unsigned int i)
{
	bool indirect = virtio__has(&b->dev, VIRTIO_RING_F_INDIRECT_DESC);
	uint16_t first = indirect ? 0 : 3 * i;
	struct request *r = &b->req[i];
	struct vring_desc *d = indirect ? r->table : b->ring.desc + first;

	r->header.type = b->write ? VIRTIO_BLK_T_OUT : VIRTIO_BLK_T_IN;
	d[0] = (struct vring_desc) {(uintptr_t)&r->header, sizeof(r->header), VRING_DESC_F_NEXT,
				    first + 1};
	d[1] = (struct vring_desc) {(uintptr_t)b->data + (uint64_t)i * b->bs, b->bs,
				    VRING_DESC_F_NEXT | (b->write ? 0 : VRING_DESC_F_WRITE),
				    first + 2};
	d[2] = (struct vring_desc) {(uintptr_t)&r->status, 1, VRING_DESC_F_WRITE, 0};
	if (indirect)
		b->ring.desc[i] = (struct vring_desc) {(uintptr_t)d, sizeof(r->table),
						       VRING_DESC_F_INDIRECT, 0};
}

static void bench__open(struct bench *b)
{
	uint64_t wanted = VIRTIO_BIT(VIRTIO_BLK_F_FLUSH), capacity, size;
	unsigned int i, need;

	if (cmdline__num("indirect", 1))
		wanted |= VIRTIO_BIT(VIRTIO_RING_F_INDIRECT_DESC);
	if (cmdline__num("event_idx", 1))
		wanted |= VIRTIO_BIT(VIRTIO_RING_F_EVENT_IDX);
	if (!virtio__find(&b->dev, VIRTIO_ID_BLOCK, cmdline__num("disk", 0)))
		panic("no such disk");
	/* MSI-X on and the queue without a vector: nothing will ever signal. */
	if (b->dev.msix.nr)
		msix__enable(&b->dev.msix, true);
	if (!virtio__negotiate(&b->dev, wanted) ||
	    !virtio__setup_queue(&b->dev, &b->ring, 0, 0, VIRTIO_MSI_NO_VECTOR))
		panic("the disk does not come up");
	need = b->depth * (virtio__has(&b->dev, VIRTIO_RING_F_INDIRECT_DESC) ? 1 : 3);
	if (need > b->ring.size)
		panic("depth %u needs %u descriptors, the ring has %u", b->depth, need,
		      b->ring.size);
	capacity = mmio__read32(b->dev.device) | (uint64_t)mmio__read32(b->dev.device + 4) << 32;
	size = cmdline__num("size", capacity * SECTOR);
	b->blocks = (size < capacity * SECTOR ? size : capacity * SECTOR) / b->bs;
	if (!b->blocks)
		panic("the disk is smaller than a block");
	b->req = mem__alloc(b->depth * sizeof(*b->req), 128);
	b->data = mem__alloc((uint64_t)b->depth * b->bs, PAGE_SIZE);
	for (i = 0; i < b->depth; i++)
		bench__prepare(b, i);
	virtio__driver_ok(&b->dev);
}

/* xorshift64 */
static uint64_t bench__next_block(struct bench *b)
{
	if (!b->random)
		return b->next++ % b->blocks;
	b->seed ^= b->seed << 13;
	b->seed ^= b->seed >> 7;
	b->seed ^= b->seed << 17;
	return b->seed % b->blocks;
}

static void bench__submit(struct bench *b, unsigned int i)
{
	b->req[i].header.sector = bench__next_block(b) * (b->bs / SECTOR);
	b->req[i].status = BLK_NO_STATUS;
	ring__add(&b->ring, bench__head(b, i));
	b->submitted++;
}

/* Take what is finished; with @more set each slot goes out again.  Number taken. */
static unsigned int bench__reap(struct bench *b, bool more)
{
	unsigned int per = virtio__has(&b->dev, VIRTIO_RING_F_INDIRECT_DESC) ? 1 : 3, nr = 0;
	struct vring_used_elem elem;

	while (ring__get(&b->ring, &elem)) {
		unsigned int i = elem.id / per;

		if (i >= b->depth || elem.id % per)
			panic("the device gives back head %u", elem.id);
		b->errors += b->req[i].status != VIRTIO_BLK_S_OK;
		b->done++;
		nr++;
		if (more)
			bench__submit(b, i);
	}
	if (!nr) {
		cpu__relax();
		return 0;
	}
	b->drains++;
	ring__irq(&b->ring, false);
	ring__publish(&b->ring);
	return nr;
}

/* Until @count requests are done or the clock shows @end (0: no limit). */
static void bench__run(struct bench *b, uint64_t count, uint64_t end)
{
	uint64_t stall = time__deadline(10000), since = 0;
	unsigned int nr;

	while (!count || b->done < count) {
		nr = bench__reap(b, true);
		since += nr ? nr : 1;
		if (since < BATCH_TSC)
			continue;
		since = 0;
		if (end && time__tsc() >= end)
			break;
		if (nr)
			stall = 0;
		else if (!stall)
			stall = time__deadline(10000);
		else if (time__tsc() > stall)
			panic("no completion for 10 seconds, %llu in flight",
			      (unsigned long long)(b->submitted - b->done));
	}
}

static void bench__print(const struct bench *b, uint64_t ios, uint64_t ns)
{
	char rw[16] = "randread";

	cmdline__get("rw", rw, sizeof(rw));
	print("{\"bench\":\"blk\",\"rw\":\"%s\",\"bs\":%u,\"depth\":%u,\"ios\":%llu,\"ns\":%llu,"
	      "\"iops\":%llu,\"kicks\":%llu,\"drains\":%llu,\"errors\":%llu}\n",
	      rw, b->bs, b->depth, (unsigned long long)ios, (unsigned long long)ns,
	      (unsigned long long)(ns ? ios * 1000000000ULL / ns : 0),
	      (unsigned long long)b->ring.kicks, (unsigned long long)b->drains,
	      (unsigned long long)b->errors);
}

int test__bench(void)
{
	static struct bench bench;
	struct bench *b = &bench;
	uint64_t start, ticks, before, count = cmdline__num("count", 0);
	unsigned int i;

	bench__options(b);
	bench__open(b);
	for (i = 0; i < b->depth; i++)
		bench__submit(b, i);
	ring__irq(&b->ring, false);
	ring__publish(&b->ring);
	bench__run(b, cmdline__num("warm", 100), 0);
	before = b->done;
	b->ring.kicks = b->drains = 0;
	start = time__tsc();
	bench__run(b, count ? before + count : 0,
		   count ? 0 : time__deadline(1000 * cmdline__num("secs", 2)));
	ticks = time__tsc() - start;
	bench__print(b, b->done - before, time__ns(ticks));
	while (b->done < b->submitted)
		bench__reap(b, false);
	virtio__reset(&b->dev);
	return b->errors ? 1 : 0;
}
