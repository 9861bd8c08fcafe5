// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver that uses some of the queues that there are (virtio 1.2, 4.1.5.1.3:
 * it configures as many as it wants), and after a reset all of them.  What the
 * others were is in the counters (tests/payload/stats).
 *
 * test=some enable=MASK count=N (reads in each life) again=off (one life), RING
 */
#include "blk.h"

#define MAX_QUEUES 16
#define READ_BYTES 4096U
#define DEPTH 8

struct some {
	struct virtio dev;
	struct blk_queue queue[MAX_QUEUES];
	unsigned int nr;
};

static void some__start(struct some *s, uint64_t enable)
{
	unsigned int i;

	if (!virtio__negotiate(&s->dev, virtio__ring_words() | VIRTIO_BIT(VIRTIO_BLK_F_MQ)))
		panic("the features are refused");
	for (i = 0; i < s->nr; i++)
		if (enable >> i & 1)
			blk_queue__init(&s->queue[i], &s->dev, i, 0, VIRTIO_MSI_NO_VECTOR, DEPTH,
					VIRTIO_BLK_T_IN, READ_BYTES);
	virtio__driver_ok(&s->dev);
}

/* Doorbells of queues that are not enabled: nothing comes of them. */
static void some__kick_others(struct some *s, uint64_t enable)
{
	uint64_t common = s->dev.common, off;
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		if (enable >> i & 1)
			continue;
		mmio__write16(common + VIRTIO_PCI_COMMON_Q_SELECT, i);
		off = mmio__read16(common + VIRTIO_PCI_COMMON_Q_NOFF);
		mmio__write16(s->dev.notify + off * s->dev.notify_multiplier, i);
	}
}

/* DEPTH reads on each enabled queue, until all together are @count or a few more. */
static uint64_t some__read(struct some *s, uint64_t enable, uint64_t count)
{
	uint64_t end = time__deadline(HANG_MS), done = 0;
	unsigned int i, k, back;

	while (done < count && time__tsc() < end) {
		for (i = 0; i < s->nr; i++) {
			if (!(enable >> i & 1))
				continue;
			for (k = 0; k < DEPTH; k++)
				blk_queue__add(&s->queue[i], k, k * (READ_BYTES / SECTOR));
			ring__publish(&s->queue[i].ring);
			some__kick_others(s, enable);
			for (back = 0; back < DEPTH && time__tsc() < end;)
				back += blk_queue__get(&s->queue[i]) >= 0;
			done += back;
		}
	}
	return done;
}

static void some__life(struct some *s, uint64_t enable, uint64_t count)
{
	uint64_t errors = 0, done;
	unsigned int i;

	some__start(s, enable);
	done = some__read(s, enable, count);
	for (i = 0; i < s->nr; i++)
		errors += s->queue[i].errors;
	report(done >= count && !errors, "queues %lx: %lu reads, want %lu; %lu errors", enable,
	       done, count, errors);
}

int test__some(void)
{
	uint64_t enable = cmdline__num("enable", 1), count = cmdline__num("count", 960), all;
	static struct some s;

	if (!virtio__find(&s.dev, VIRTIO_ID_BLOCK, 0)) {
		print("payload: no virtio-blk device\n");
		return EXIT_SKIP;
	}
	s.nr = mmio__read16(s.dev.common + VIRTIO_PCI_COMMON_NUMQ);
	if (s.nr > MAX_QUEUES)
		panic("%u queues", s.nr);
	all = (1ULL << s.nr) - 1;
	if (!(enable & all))
		panic("no queue in %lx", enable);
	some__life(&s, enable & all, count);
	report(virtio__reset(&s.dev), "a reset");
	if (cmdline__bool("again", true))
		some__life(&s, all, count);
	return report__summary();
}
