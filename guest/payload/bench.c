// SPDX-License-Identifier: GPL-2.0-only
/*
 * Load generator: keeps `depth` requests in flight on each of `queues` queues
 * of one disk, polls the used rings, and prints one line of JSON.
 *
 * test=bench disk=N rw=randread|randwrite|read|write bs=4096 depth=32 queues=1
 * secs=2 or count=N; rings=, event_idx=, indirect= as virtio__ring_words() has
 * them; entries=N of a ring; irq=off (no vector: nothing signals) or on (an
 * interrupt is wished for with the next completion whenever some were taken);
 * irq_every=N (with the Nth from there, which only EVENT_IDX can say: without it
 * the device is told that any will do); size=BYTES of the disk to use; warm=N
 * requests before the clock runs.
 *
 * batches counts the looks at a used ring that found something; kicks the
 * doorbell writes.  The mean latency is that of a closed loop: in flight times
 * duration by requests (Little), the time in the guest included.
 */
#include "apic.h"
#include "blk.h"
#include "trap.h"

#define MAX_DEPTH 256
#define MAX_QUEUES 16
#define CLOCK_EVERY 64 /* completions between looks at the clock */

struct bench {
	struct virtio dev;
	struct blk_queue queue[MAX_QUEUES];
	unsigned int nr_queues, depth;
	unsigned int irq_every;
	int wish[MAX_QUEUES]; /* completions until the one that is to interrupt */
	char rw[16];
	uint32_t bs;
	bool random, write, irq;
	uint64_t blocks, next, seed; /* blocks of the disk that are used */
	uint64_t done, batches;
};

static void bench__options(struct bench *b)
{
	const char *what = b->rw;

	memcpy(b->rw, "randread", sizeof("randread"));
	cmdline__get("rw", b->rw, sizeof(b->rw));
	b->random = !strncmp(b->rw, "rand", 4);
	if (b->random)
		what += 4;
	b->write = !strcmp(what, "write");
	if (!b->write && strcmp(what, "read"))
		panic("rw=%s is not known", b->rw);
	b->bs = cmdline__num("bs", 4096);
	b->depth = cmdline__num("depth", 32);
	b->nr_queues = cmdline__num("queues", 1);
	b->irq = cmdline__bool("irq", false);
	b->irq_every = cmdline__num("irq_every", 1);
	b->seed = cmdline__num("seed", 88172645463325252ULL);
	if (!b->depth || b->depth > MAX_DEPTH || !b->bs || b->bs % SECTOR || !b->nr_queues ||
	    b->nr_queues > MAX_QUEUES || !b->irq_every || b->irq_every > MAX_DEPTH)
		panic("bs is a multiple of 512, depth and irq_every 1 to %u, queues 1 to %u",
		      MAX_DEPTH, MAX_QUEUES);
}

static void bench__queues(struct bench *b)
{
	unsigned int i, entries = cmdline__num("entries", 0);

	for (i = 0; i < b->nr_queues; i++)
		blk_queue__init(&b->queue[i], &b->dev, i, entries,
				b->irq ? i % b->dev.msix.nr : VIRTIO_MSI_NO_VECTOR, b->depth,
				b->write ? VIRTIO_BLK_T_OUT : VIRTIO_BLK_T_IN, b->bs);
}

static void bench__open(struct bench *b)
{
	uint64_t size, bytes, wanted = virtio__ring_words();
	unsigned int i;

	if (!virtio__find(&b->dev, VIRTIO_ID_BLOCK, cmdline__num("disk", 0)))
		panic("no such disk");
	/* Also without a vector: a queue without one then never signals, by INTx neither. */
	if (b->dev.msix.nr)
		msix__enable(&b->dev.msix, true);
	for (i = 0; b->irq && i < b->dev.msix.nr && i < MAX_QUEUES; i++)
		msix__set(&b->dev.msix, i, VEC_EDGE + i);
	if (b->irq && !b->dev.msix.nr)
		panic("irq=on needs MSI-X");
	if (!virtio__negotiate(&b->dev, wanted | VIRTIO_BIT(VIRTIO_BLK_F_FLUSH) |
						VIRTIO_BIT(VIRTIO_BLK_F_MQ)))
		panic("the disk does not come up");
	if (~b->dev.features & wanted)
		panic("the disk does not offer features %llx",
		      (unsigned long long)(~b->dev.features & wanted));
	bytes = blk__capacity(&b->dev) * SECTOR;
	size = cmdline__num("size", bytes);
	b->blocks = (size < bytes ? size : bytes) / b->bs;
	if (!b->blocks)
		panic("the disk is smaller than a block");
	bench__queues(b);
	virtio__driver_ok(&b->dev);
}

/* xorshift64; the high half of a product instead of a division */
static uint64_t bench__next_sector(struct bench *b)
{
	uint64_t block;

	if (b->random) {
		b->seed ^= b->seed << 13;
		b->seed ^= b->seed >> 7;
		b->seed ^= b->seed << 17;
		block = (unsigned __int128)b->seed * b->blocks >> 64;
	} else {
		block = b->next;
		b->next = block + 1 < b->blocks ? block + 1 : 0;
	}
	return block * (b->bs / SECTOR);
}

/*
 * Say which completion is to interrupt, once the last one named has come.  One
 * that is there by now is found by the next turn.
 */
static void bench__wish(struct bench *b, struct blk_queue *q, unsigned int nr)
{
	int *wish = &b->wish[q - b->queue];

	*wish -= nr;
	if (*wish > 0)
		return;
	*wish = b->irq_every;
	ring__irq_at(&q->ring, b->irq_every - 1);
}

/* Take what is finished; with @more set each slot goes out again, all with one kick.  Number. */
static unsigned int bench__turn(struct bench *b, struct blk_queue *q, bool more)
{
	unsigned int nr = 0;
	int i;

	while ((i = blk_queue__get(q)) >= 0) {
		nr++;
		if (more)
			blk_queue__add(q, i, bench__next_sector(b));
	}
	if (!nr) {
		cpu__relax();
		return 0;
	}
	b->done += nr;
	b->batches++;
	if (more)
		ring__publish(&q->ring);
	if (b->irq)
		bench__wish(b, q, nr);
	return nr;
}

/* Until @count requests are done or the clock shows @end (0: no limit). */
static void bench__run(struct bench *b, uint64_t count, uint64_t end)
{
	uint64_t stall = 0, since = 0;
	unsigned int i = 0, nr;

	while (!count || b->done < count) {
		nr = bench__turn(b, &b->queue[i], true);
		i = i + 1 < b->nr_queues ? i + 1 : 0;
		if (nr)
			stall = 0;
		since += nr ? nr : 1;
		if (since < CLOCK_EVERY)
			continue;
		since = 0;
		if (end && time__tsc() >= end)
			break;
		if (!stall)
			stall = time__deadline(HANG_MS);
		else if (time__tsc() > stall)
			panic("no completion for %u ms", HANG_MS);
	}
}

struct totals {
	uint64_t kicks, interrupts, errors;
};

static struct totals bench__totals(const struct bench *b)
{
	struct totals t = {0};
	unsigned int i;

	for (i = 0; i < b->nr_queues; i++) {
		t.kicks += b->queue[i].ring.kicks;
		t.errors += b->queue[i].errors;
	}
	for (i = VEC_EDGE; i < VEC_LEVEL; i++)
		t.interrupts += irq_count[i];
	return t;
}

static void bench__print(const struct bench *b, const struct totals *before, uint64_t ios,
			 uint64_t ns)
{
	struct totals t = bench__totals(b);
	uint64_t in_flight = b->depth * b->nr_queues;

	print("{\"bench\":\"blk\",\"rings\":\"%s\",\"rw\":\"%s\",\"bs\":%u,\"depth\":%u,"
	      "\"queues\":%u,\"ios\":%llu,\"ns\":%llu,\"iops\":%llu,\"latency_ns\":%llu,",
	      b->queue[0].ring.ops->name, b->rw, b->bs, b->depth, b->nr_queues,
	      (unsigned long long)ios, (unsigned long long)ns,
	      (unsigned long long)(ns ? ios * 1000000000ULL / ns : 0),
	      (unsigned long long)(ios ? ns * in_flight / ios : 0));
	print("\"kicks\":%llu,\"batches\":%llu,\"interrupts\":%llu,\"errors\":%llu}\n",
	      (unsigned long long)(t.kicks - before->kicks), (unsigned long long)b->batches,
	      (unsigned long long)(t.interrupts - before->interrupts),
	      (unsigned long long)t.errors);
}

static void bench__start(struct bench *b)
{
	unsigned int i, k;

	if (b->irq) {
		apic__enable();
		irq__on();
	}
	for (k = 0; k < b->nr_queues; k++) {
		for (i = 0; i < b->depth; i++)
			blk_queue__add(&b->queue[k], i, bench__next_sector(b));
		ring__publish(&b->queue[k].ring);
	}
}

static void bench__finish(struct bench *b)
{
	uint64_t end = time__deadline(HANG_MS), all = b->done + b->depth * b->nr_queues;
	unsigned int i = 0;

	while (b->done < all) {
		bench__turn(b, &b->queue[i++ % b->nr_queues], false);
		if (time__tsc() > end)
			panic("%llu requests never came back", (unsigned long long)(all - b->done));
	}
	if (b->irq)
		irq__off();
	virtio__reset(&b->dev);
}

int test__bench(void)
{
	static struct bench bench;
	struct bench *b = &bench;
	uint64_t start, ticks, before, count = cmdline__num("count", 0);
	struct totals totals;

	bench__options(b);
	bench__open(b);
	bench__start(b);
	bench__run(b, cmdline__num("warm", 100), 0);
	before = b->done;
	b->batches = 0;
	totals = bench__totals(b);
	start = time__tsc();
	bench__run(b, count ? before + count : 0,
		   count ? 0 : time__deadline(1000 * cmdline__num("secs", 2)));
	ticks = time__tsc() - start;
	bench__print(b, &totals, b->done - before, time__ns(ticks));
	bench__finish(b);
	/* from the first to the last: what the other side of the ring should count too */
	totals = bench__totals(b);
	print("payload: bench in all requests=%llu kicks=%llu interrupts=%llu\n",
	      (unsigned long long)b->done, (unsigned long long)totals.kicks,
	      (unsigned long long)totals.interrupts);
	return totals.errors ? 1 : 0;
}
