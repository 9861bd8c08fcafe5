// SPDX-License-Identifier: GPL-2.0-only
/*
 * Resets while many requests are in flight (virtio 1.2, 2.4), on split and
 * packed rings, one queue and four, from the CPU that submits and from another,
 * and CPUs that work against each other.  The third disk is slow, so that
 * requests are under way at the reset.  Once device_status reads 0 the device
 * must not touch the driver's memory (2.4.1, 3.3.1).
 */
#include "test_hreg.h"

#include "apic.h"
#include "smp.h"

#define FAMILY "hostile-reset"
#define SLOW 2 /* which disk */
#define MAX_QUEUES 4
#define DEPTH 128
#define BYTES 4096
#define ROUNDS 3

struct flight {
	struct hreg *h;
	struct virtio dev;
	unsigned int nr_queues;
	uint64_t features;
	struct blk_queue q[MAX_QUEUES];
	uint8_t *data[MAX_QUEUES]; /* of each queue, DEPTH * BYTES */
	bool stop, bad;
};

static const struct shape {
	const char *name;
	uint64_t features;
	unsigned int nr_queues;
	bool other_cpu; /* which resets */
	unsigned int delay_us; /* from the kick to the reset */
} shapes[] = {
#define INDIRECT VIRTIO_BIT(VIRTIO_RING_F_INDIRECT_DESC)
#define EVENT VIRTIO_BIT(VIRTIO_RING_F_EVENT_IDX)
#define PACKED VIRTIO_BIT(VIRTIO_F_RING_PACKED)
	{"split", INDIRECT | EVENT, 1, false, 0},
	{"split, chains", 0, 1, false, 0},
	{"split, a moment later", INDIRECT, 1, false, 500},
	{"split, when some are done", INDIRECT, 1, false, 3000},
	{"packed", INDIRECT | EVENT | PACKED, 1, false, 0},
	{"packed, chains", PACKED, 1, false, 0},
	{"packed, a moment later", INDIRECT | PACKED, 1, false, 500},
	{"packed, when some are done", INDIRECT | PACKED, 1, false, 3000},
	{"split, 4 queues", INDIRECT | EVENT, 4, false, 0},
	{"split, 4 queues, a moment later", INDIRECT, 4, false, 500},
	{"packed, 4 queues", INDIRECT | EVENT | PACKED, 4, false, 0},
	{"packed, 4 queues, a moment later", INDIRECT | PACKED, 4, false, 500},
	{"split, by another CPU", INDIRECT | EVENT, 1, true, 0},
	{"packed, by another CPU", INDIRECT | EVENT | PACKED, 1, true, 0},
	{"split, 4 queues, by another CPU", INDIRECT | EVENT, 4, true, 0},
	{"packed, 4 queues, by another CPU", INDIRECT | EVENT | PACKED, 4, true, 200},
};

/* The memory of a queue comes once: every round writes into the same. */
static void flight__set_up(struct flight *f)
{
	unsigned int i;

	if (!virtio__negotiate(&f->dev, f->features | VIRTIO_BIT(VIRTIO_BLK_F_MQ)))
		panic("features are refused");
	for (i = 0; i < f->nr_queues; i++) {
		f->data[i] = (uint8_t *)((boot_info.heap + PAGE_SIZE - 1) & -PAGE_SIZE);
		blk_queue__init(&f->q[i], &f->dev, i, 0, VIRTIO_MSI_NO_VECTOR, DEPTH,
				VIRTIO_BLK_T_IN, BYTES);
	}
	virtio__driver_ok(&f->dev);
}

static void flight__submit(struct flight *f)
{
	unsigned int i, slot;

	for (i = 0; i < f->nr_queues; i++) {
		for (slot = 0; slot < DEPTH; slot++)
			blk_queue__add(&f->q[i], slot, slot * 8);
		ring__publish(&f->q[i].ring);
	}
}

static void flight__reset(void *arg)
{
	struct flight *f = arg;

	f->bad |= !virtio__reset(&f->dev);
}

/* What the device may write: data and status of all requests, and the used ring. */
static void flight__fill(struct flight *f, uint8_t with)
{
	unsigned int i, slot;

	for (i = 0; i < f->nr_queues; i++) {
		memset(f->data[i], with, DEPTH * BYTES);
		for (slot = 0; slot < DEPTH; slot++)
			f->q[i].slot[slot].status = with;
		memset(f->q[i].ring.areas[0], with, 16 * f->q[i].ring.size);
		memset(f->q[i].ring.areas[2], with, 4);
	}
}

static unsigned int flight__touched(const struct flight *f, uint8_t with)
{
	unsigned int i, at, bad = 0;
	const uint8_t *ring;

	for (i = 0; i < f->nr_queues; i++) {
		for (at = 0; at < DEPTH * BYTES; at += 512)
			bad += f->data[i][at] != with;
		for (at = 0; at < DEPTH; at++)
			bad += f->q[i].slot[at].status != with;
		ring = f->q[i].ring.areas[0];
		for (at = 0; at < 16 * f->q[i].ring.size; at++)
			bad += ring[at] != with;
		ring = f->q[i].ring.areas[2];
		for (at = 0; at < 4; at++)
			bad += ring[at] != with;
	}
	return bad;
}

/* @nr requests of queue 0 come back OK. */
static bool flight__lands(struct flight *f, unsigned int nr)
{
	uint64_t end = time__deadline(HANG_MS);
	unsigned int i, back;

	for (i = 0; i < f->nr_queues; i++) {
		for (back = 0; back < nr;) {
			if (blk_queue__get(&f->q[i]) >= 0)
				back++;
			else if (time__tsc() > end)
				return false;
			else
				cpu__relax();
		}
		if (f->q[i].errors)
			return false;
	}
	return true;
}

/* Set up once more, 8 good reads on each queue. */
static bool flight__alive(struct flight *f)
{
	unsigned int i, slot;

	flight__set_up(f);
	for (i = 0; i < f->nr_queues; i++) {
		for (slot = 0; slot < HREG_GOOD; slot++)
			blk_queue__add(&f->q[i], slot, slot);
		ring__publish(&f->q[i].ring);
	}
	return flight__lands(f, HREG_GOOD) && virtio__reset(&f->dev);
}

static bool shape__round(struct flight *f, const struct shape *s)
{
	flight__set_up(f);
	flight__submit(f);
	if (s->delay_us)
		time__delay_us(s->delay_us);
	f->bad = false;
	if (s->other_cpu) {
		smp__begin(1, flight__reset, f);
		if (!smp__wait(1, HANG_MS))
			return false;
	} else {
		flight__reset(f);
	}
	if (f->bad)
		return false;
	flight__fill(f, 0x5a);
	time__delay_us(3000); /* longer than a request takes */
	return !flight__touched(f, 0x5a);
}

/* Every case gives its memory back: nothing of it is in use after the reset. */
static void shape__case(struct flight *f, const struct shape *s, unsigned int cpus)
{
	uint64_t heap = boot_info.heap;
	bool good = true;
	unsigned int i;

	if (s->other_cpu && cpus < 2)
		return;
	hreg__begin(f->h, FAMILY);
	f->features = s->features;
	f->nr_queues = s->nr_queues;
	for (i = 0; i < ROUNDS && good; i++) {
		good = shape__round(f, s);
		boot_info.heap = heap;
	}
	good = good && flight__alive(f);
	boot_info.heap = heap;
	hreg__end(f->h, VERDICT_COMPLETED, good ? VERDICT_COMPLETED : VERDICT_FAILED,
		  "%u reads on each of %u queues: %s", DEPTH, s->nr_queues, s->name);
}

/* What another CPU does without an end while this one resets and sets up. */
static void against__kick(struct flight *f)
{
	unsigned int i;

	for (i = 0; i < MAX_QUEUES; i++)
		mmio__write16(f->dev.notify + i * f->dev.notify_multiplier, i);
}

static void against__reset(struct flight *f)
{
	mmio__write8(f->dev.common + VIRTIO_PCI_COMMON_STATUS, 0);
}

static void against__read(struct flight *f)
{
	(void)mmio__read8(f->dev.isr);
	(void)mmio__read64(f->dev.device);
	(void)mmio__read64(f->dev.common + VIRTIO_PCI_COMMON_STATUS);
}

static void against__command(struct flight *f)
{
	pci__write(f->dev.fn, PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_INTX_DISABLE);
	pci__write(f->dev.fn, PCI_COMMAND, 2, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

static void against__msix(struct flight *f)
{
	unsigned int i;

	for (i = 0; i < f->dev.msix.nr; i++)
		msix__mask(&f->dev.msix, i, time__tsc() & 64);
	msix__enable(&f->dev.msix, time__tsc() & 128);
}

static void against__enable(struct flight *f)
{
	mmio__write16(f->dev.common + VIRTIO_PCI_COMMON_Q_SELECT, time__tsc() & 3);
	mmio__write16(f->dev.common + VIRTIO_PCI_COMMON_Q_ENABLE, 1);
}

static const struct against {
	const char *name;
	void (*act)(struct flight *f);
	bool breaks; /* the device may be broken by it until the next reset */
} againsts[] = {
	{"kicks", against__kick, false},
	{"resets too", against__reset, true},
	{"reads registers", against__read, false},
	{"switches bus mastering and INTx", against__command, false},
	{"masks and switches MSI-X", against__msix, false},
	{"enables queues", against__enable, true},
};

struct worker {
	struct flight *f;
	const struct against *a;
};

static void worker__run(void *arg)
{
	struct worker *w = arg;

	while (!__atomic_load_n(&w->f->stop, __ATOMIC_ACQUIRE))
		w->a->act(w->f);
}

/* Queues by hand: where the other CPU interferes no step is sure to take. */
static void against__round(struct flight *f, bool breaks)
{
	static const uint8_t steps[] = {VIRTIO_CONFIG_S_ACKNOWLEDGE,
					VIRTIO_CONFIG_S_ACKNOWLEDGE | VIRTIO_CONFIG_S_DRIVER};
	struct virtio *dev = &f->dev;
	unsigned int i;

	if (!breaks) {
		flight__set_up(f);
		flight__submit(f);
		return;
	}
	dev->features = f->features | VIRTIO_BIT(VIRTIO_F_VERSION_1);
	for (i = 0; i < 2; i++) {
		mmio__write8(dev->common + VIRTIO_PCI_COMMON_STATUS, steps[i]);
		mmio__write32(dev->common + VIRTIO_PCI_COMMON_GFSELECT, i);
		mmio__write32(dev->common + VIRTIO_PCI_COMMON_GF, dev->features >> 32 * i);
	}
	mmio__write8(dev->common + VIRTIO_PCI_COMMON_STATUS,
		     steps[1] | VIRTIO_CONFIG_S_FEATURES_OK);
	virtio__driver_ok(dev);
	against__kick(f);
}

static void against__case(struct flight *f, const struct against *a)
{
	struct worker w = {f, a};
	uint64_t heap = boot_info.heap;
	bool good = true;
	unsigned int i;

	hreg__begin(f->h, FAMILY);
	f->features = INDIRECT | EVENT;
	f->nr_queues = a->breaks ? 1 : MAX_QUEUES;
	__atomic_store_n(&f->stop, false, __ATOMIC_RELEASE);
	smp__begin(1, worker__run, &w);
	for (i = 0; i < ROUNDS && good; i++) {
		against__round(f, a->breaks);
		good = virtio__reset(&f->dev) || a->breaks;
		if (good)
			boot_info.heap = heap;
	}
	__atomic_store_n(&f->stop, true, __ATOMIC_RELEASE);
	good = smp__wait(1, HANG_MS) && virtio__reset(&f->dev) && good;
	msix__enable(&f->dev.msix, false);
	good = good && flight__alive(f);
	boot_info.heap = heap;
	hreg__end(f->h, VERDICT_COMPLETED, good ? VERDICT_COMPLETED : VERDICT_FAILED,
		  "resets while another CPU %s", a->name);
}

int test__hreset(void)
{
	static struct flight f;
	static struct hreg h;
	unsigned int i, cpus;

	if (!disks__open(&h.d) || !virtio__find(&f.dev, VIRTIO_ID_BLOCK, SLOW)) {
		print("payload: fewer than three virtio-blk devices\n");
		return EXIT_SKIP;
	}
	f.h = &h;
	cpus = smp__start_all();
	for (i = 0; i < ARRAY_SIZE(shapes); i++)
		shape__case(&f, &shapes[i], cpus);
	for (i = 0; cpus > 1 && i < ARRAY_SIZE(againsts); i++)
		against__case(&f, &againsts[i]);
	return verdict__summary();
}
