// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two CPUs drive two queues of one disk, while a third one resets the other
 * disk, moves its BAR or masks its interrupts: nothing of that may be noticed
 * on the first.
 */
#include "disks.h"
#include "smp.h"
#include "verdict.h"

#define FAMILY "smp"
#define READS 100 /* a CPU */
#define DEPTH 4
#define FLIGHT 32

#define PLACE 0xd0000000ULL /* nothing is there */

struct worker {
	struct blk_queue q;
	unsigned int done, twice;
};

/* On its own CPU: READS requests, DEPTH at a time. */
static void worker__run(void *arg)
{
	struct worker *w = arg;
	unsigned int started, i;
	bool busy[DEPTH] = {false};
	int slot;

	for (started = 0; started < DEPTH; started++) {
		blk_queue__add(&w->q, started, started);
		busy[started] = true;
	}
	ring__publish(&w->q.ring);
	while (w->done < READS) {
		slot = blk_queue__get(&w->q);
		if (slot < 0) {
			cpu__relax();
			continue;
		}
		i = slot;
		if (i >= DEPTH || !busy[i]) {
			w->twice++;
			return;
		}
		busy[i] = false;
		w->done++;
		if (started == READS)
			continue;
		blk_queue__add(&w->q, i, started++ % 64);
		busy[i] = true;
		ring__publish(&w->q.ring);
	}
}

/* What CPU 0 does to disk 1 meanwhile, again and again. */
static void disturb__reset(struct disks *d)
{
	disks__reopen(d, 1);
}

static void disturb__reset_busy(struct disks *d)
{
	static struct blk_queue q;
	struct virtio *dev = &d->blk[1].dev;
	unsigned int i;

	if (!virtio__negotiate(dev, virtio__ring_words()))
		panic("features are refused");
	blk_queue__init(&q, dev, 0, 0, VIRTIO_MSI_NO_VECTOR, FLIGHT, VIRTIO_BLK_T_IN, 4096);
	virtio__driver_ok(dev);
	for (i = 0; i < FLIGHT; i++)
		blk_queue__add(&q, i, i);
	ring__publish(&q.ring);
	if (!virtio__reset(dev))
		panic("a reset does not end");
}

static void disturb__move(struct disks *d)
{
	struct moving m = disks__bar(d, 1);

	moving__write(&m, PLACE, false);
	moving__write(&m, m.base, true);
}

static void disturb__mask(struct disks *d)
{
	struct msix *msix = &d->blk[1].dev.msix;

	if (!msix->nr)
		return;
	msix__enable(msix, true);
	msix__mask(msix, 0, true);
	msix__mask(msix, 0, false);
	msix__enable(msix, false);
}

static void disturb__decode(struct disks *d)
{
	pci__decode(d->blk[1].dev.fn, false);
	pci__decode(d->blk[1].dev.fn, true);
}

static const struct disturb {
	const char *name;
	void (*run)(struct disks *d);
} disturbs[] = {
	{"is left alone", NULL},
	{"is reset and set up again", disturb__reset},
	{"is reset with requests under way", disturb__reset_busy},
	{"has its BAR moved", disturb__move},
	{"has its vectors masked", disturb__mask},
	{"has its decoding switched", disturb__decode},
};

#define MAX_TURNS 40 /* set-ups take memory that is never given back */

static void cpus__check(struct disks *d, const struct disturb *disturb)
{
	static struct worker worker[2];
	struct virtio *dev = &d->blk[0].dev;
	unsigned int i, turns = 0;
	bool ended = true;

	if (!virtio__negotiate(dev, virtio__ring_words() | VIRTIO_BIT(VIRTIO_BLK_F_MQ)))
		panic("features are refused");
	for (i = 0; i < 2; i++) {
		worker[i].done = worker[i].twice = 0;
		blk_queue__init(&worker[i].q, dev, i, 64, VIRTIO_MSI_NO_VECTOR, DEPTH,
				VIRTIO_BLK_T_IN, 4096);
	}
	virtio__driver_ok(dev);
	for (i = 0; i < 2; i++)
		smp__begin(i + 1, worker__run, &worker[i]);
	for (i = 0; i < 2; i++)
		while (ended && !smp__wait(i + 1, 0) && turns < MAX_TURNS) {
			if (disturb->run)
				disturb->run(d);
			turns++;
		}
	for (i = 0; i < 2; i++) {
		ended &= smp__wait(i + 1, HANG_MS);
		verdict__check(
			FAMILY,
			ended && worker[i].done == READS && !worker[i].twice && !worker[i].q.errors,
			"queue %u on CPU %u while the other disk %s", i, i + 1, disturb->name);
	}
	if (!ended)
		panic("a CPU never came to its end");
	disks__reopen(d, 1);
	verdict__check(FAMILY, disks__read_ok(d, 1), "the other disk %s, and works", disturb->name);
}

int test__cpus(void)
{
	static struct disks d;
	unsigned int i;

	if (!disks__open(&d) || mmio__read16(d.blk[0].dev.common + VIRTIO_PCI_COMMON_NUMQ) < 2) {
		print("payload: no two virtio-blk devices, the first with two queues\n");
		return EXIT_SKIP;
	}
	if (smp__start_all() < 3) {
		print("payload: fewer than three CPUs\n");
		return EXIT_SKIP;
	}
	for (i = 0; i < ARRAY_SIZE(disturbs); i++)
		cpus__check(&d, &disturbs[i]);
	return verdict__summary();
}
