// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is a kick or an interrupt ever lost?  Both sides write an index, then read
 * the other's wish; without a full barrier between the two, on either side, one
 * notification in many goes missing (2.7.7.2, 2.7.13.4.1, 2.8.21.3).
 *
 * Bursts of requests; before showing them or between that and deciding on the
 * kick, and between the kick and the wish for an interrupt, a random while of 0
 * to 3 us, and between two parts of a burst about as long as a request takes, so
 * that the two sides meet at every distance.  Where an interrupt is due the
 * driver looks at the ring only after it came.  A time without any progress
 * ends the test: used entries without an interrupt, or none at all and so no kick.
 *
 * test=notify count=N (requests a mode) watchdog=MS seed=N, RING
 */
#include "apic.h"
#include "blk.h"
#include "trap.h"

#define MAX_BURST 8
#define VECTOR VEC_EDGE
#define SPIN_NS 3000

/* When the driver wishes for interrupts. */
enum wish {
	NEXT, /* before it submits: at the first used entry */
	LATE, /* after the kick, then it looks once more */
	AHEAD, /* before: at the second; a lone request is polled for */
	BEHIND, /* an index that has gone by: polled for */
	NEVER, /* NO_INTERRUPT, DISABLE: polled for */
};

static const struct {
	const char *name;
	enum wish wish;
	bool event_idx; /* makes sense with EVENT_IDX alone */
} modes[] = {
	{"the next", NEXT, false},	{"the next, asked late", LATE, false},
	{"one ahead", AHEAD, true},	{"one long gone", BEHIND, true},
	{"no interrupt", NEVER, false},
};

struct notify {
	struct virtio dev;
	struct blk_queue queue;
	uint64_t blocks, seed, watchdog_ms, spin_ticks;
	int step, behind; /* used_event of the next request, and of the past */
	uint64_t trip; /* mean ticks from the submission of one request to its end */
	uint64_t irqs; /* seen before the ring was last looked at */
	uint64_t done;
	unsigned int idle[MAX_BURST], nr_idle; /* slots */
};

static uint64_t notify__random(struct notify *n)
{
	n->seed ^= n->seed << 13;
	n->seed ^= n->seed >> 7;
	n->seed ^= n->seed << 17;
	return n->seed >> 16;
}

/* Less than @ticks of the TSC. */
static void notify__spin(struct notify *n, uint64_t ticks)
{
	uint64_t end = time__tsc() + notify__random(n) % ticks;

	while (time__tsc() < end)
		;
}

/* What a device may have signalled before the wish is counted before it. */
static void notify__wish(struct notify *n, int ahead)
{
	n->irqs = irq_count[VECTOR];
	if (n->queue.ring.event_idx)
		ring__irq_at(&n->queue.ring, ahead);
	else
		ring__irq(&n->queue.ring, true);
}

static unsigned int notify__drain(struct notify *n)
{
	unsigned int nr = 0;
	int slot;

	while ((slot = blk_queue__get(&n->queue)) >= 0) {
		n->idle[n->nr_idle++] = slot;
		nr++;
	}
	n->done += nr;
	return nr;
}

/* Wish for the next interrupt and look again, until the look finds nothing new. */
static void notify__arm(struct notify *n, unsigned int *left)
{
	unsigned int nr;

	do {
		notify__wish(n, 0);
		nr = notify__drain(n);
		*left -= nr;
	} while (nr && *left);
}

/* Until the interrupt (@irq) or the ring shows something.  False: neither in time. */
static bool notify__wait(struct notify *n, bool irq, unsigned int *left)
{
	uint64_t end = time__deadline(n->watchdog_ms);
	unsigned int nr;

	for (;;) {
		if (irq && irq_count[VECTOR] == n->irqs) {
			if (time__tsc() > end)
				break;
			cpu__relax();
			continue;
		}
		n->irqs = irq_count[VECTOR];
		nr = notify__drain(n);
		if (nr) {
			*left -= nr;
			return true;
		}
		if (time__tsc() > end)
			break;
		cpu__relax();
	}
	nr = notify__drain(n);
	*left -= nr;
	return report(false, "%u in flight after %llu requests: %s lost", *left + nr,
		      (unsigned long long)n->done, nr ? "an interrupt was" : "a kick was");
}

static void notify__submit(struct notify *n, unsigned int count)
{
	struct ring *ring = &n->queue.ring;
	bool before = notify__random(n) & 1;

	while (count--)
		blk_queue__add(&n->queue, n->idle[--n->nr_idle], notify__random(n) % n->blocks * 8);
	/* Without a pause between the two the device's own order is put to the test. */
	if (before)
		notify__spin(n, n->spin_ticks);
	ring__expose(ring);
	if (!before)
		notify__spin(n, n->spin_ticks);
	ring__kick(ring);
}

/*
 * A burst from its submission to its end.  In two parts: the second comes when
 * the device may just have done with the first and be about to sleep, which a
 * driver that waits for the end of the first would never meet.
 */
static bool notify__burst(struct notify *n, enum wish wish, unsigned int left)
{
	bool irq = wish == NEXT || wish == LATE || (wish == AHEAD && left > 1);
	unsigned int first = left / 2;
	uint64_t start = time__tsc();

	if (wish == NEXT)
		notify__wish(n, 0);
	else if (wish == AHEAD)
		notify__wish(n, n->step);
	else if (wish == BEHIND)
		notify__wish(n, n->behind);
	else
		ring__irq(&n->queue.ring, false);
	if (first) {
		notify__submit(n, first);
		notify__spin(n, n->trip + n->trip / 4 + 1);
	}
	notify__submit(n, left - first);
	if (wish == LATE) {
		notify__spin(n, n->spin_ticks);
		notify__arm(n, &left);
	}
	while (left) {
		if (!notify__wait(n, irq, &left))
			return false;
		if (left && irq)
			notify__arm(n, &left);
	}
	if (!first)
		n->trip = (7 * n->trip + time__tsc() - start) / 8;
	return true;
}

static bool notify__mode(struct notify *n, unsigned int mode, unsigned int burst, uint64_t count)
{
	uint64_t start = n->done, irqs = irq_count[VECTOR], kicks = n->queue.ring.kicks;

	while (n->done - start < count)
		if (!notify__burst(n, modes[mode].wish,
				   burst > 1 ? 1 + notify__random(n) % burst : 1))
			return false;
	irqs = irq_count[VECTOR] - irqs;
	kicks = n->queue.ring.kicks - kicks;
	return report(irqs <= n->done - start && !n->queue.errors,
		      "%s, bursts of up to %u: %llu requests, %llu kicks, %llu interrupts",
		      modes[mode].name, burst, (unsigned long long)(n->done - start),
		      (unsigned long long)kicks, (unsigned long long)irqs);
}

static bool notify__open(struct notify *n)
{
	uint64_t wanted = virtio__ring_words();
	bool packed;

	if (!virtio__find(&n->dev, VIRTIO_ID_BLOCK, 0) || !n->dev.msix.nr) {
		print("payload: no virtio-blk device with MSI-X\n");
		return false;
	}
	msix__enable(&n->dev.msix, true);
	msix__set(&n->dev.msix, 0, VECTOR);
	if (!virtio__negotiate(&n->dev, wanted | VIRTIO_BIT(VIRTIO_BLK_F_FLUSH)) ||
	    (~n->dev.features & wanted))
		panic("the disk does not come up with features %llx", (unsigned long long)wanted);
	n->blocks = blk__capacity(&n->dev) / 8;
	blk_queue__init(&n->queue, &n->dev, 0, 0, 0, MAX_BURST, VIRTIO_BLK_T_IN, 4096);
	packed = virtio__has(&n->dev, VIRTIO_F_RING_PACKED);
	/* packed rings count descriptors, and an event is less than a lap away (2.8.10) */
	n->step = packed && !virtio__has(&n->dev, VIRTIO_RING_F_INDIRECT_DESC) ? 3 : 1;
	n->behind = packed ? -1 : -0x7fff;
	for (n->nr_idle = 0; n->nr_idle < MAX_BURST; n->nr_idle++)
		n->idle[n->nr_idle] = n->nr_idle;
	virtio__driver_ok(&n->dev);
	return true;
}

int test__notify(void)
{
	static struct notify notify;
	struct notify *n = &notify;
	uint64_t count = cmdline__num("count", 10000);
	unsigned int i;

	if (!notify__open(n))
		return EXIT_SKIP;
	n->seed = cmdline__num("seed", 88172645463325252ULL);
	n->watchdog_ms = cmdline__num("watchdog", 1000);
	n->spin_ticks = time__tsc_hz() * SPIN_NS / 1000000000 + 1;
	apic__enable();
	irq__on();
	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		if (modes[i].event_idx && !n->queue.ring.event_idx)
			continue;
		if (!notify__mode(n, i, 1, count) || !notify__mode(n, i, MAX_BURST, count))
			break;
	}
	irq__off();
	print("payload: %llu requests\n", (unsigned long long)n->done);
	virtio__reset(&n->dev);
	return report__summary();
}
