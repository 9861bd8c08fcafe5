// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kicks that are none: of queues that are disabled or not there, with a wrong
 * value, of a wrong width, beside the doorbell (virtio 1.2, 4.1.4.4, 4.1.5.2).
 * A request lies in the ring of queue 0 meanwhile.
 */
#include "test_hreg.h"

#define FAMILY "hostile-notify"

/* Where queue 0 is. */
enum state {
	OFF, /* not enabled */
	READY, /* enabled, no DRIVER_OK */
	RUNNING,
};

static const struct kick {
	const char *name;
	enum state state;
	uint32_t off; /* from the doorbell of queue 0 */
	unsigned int width;
	uint64_t val;
	unsigned int expected;
} kicks[] = {
	/* 4.1.5.2: 16 bits with the index of the queue; the address says it too */
	{"value of another queue", RUNNING, 0, 2, 1, VERDICT_COMPLETED | VERDICT_IGNORED},
	{"value of no queue", RUNNING, 0, 2, 0xffff, VERDICT_COMPLETED | VERDICT_IGNORED},
	{"a byte", RUNNING, 0, 1, 0, VERDICT_COMPLETED | VERDICT_IGNORED},
	{"a dword", RUNNING, 0, 4, 0, VERDICT_COMPLETED | VERDICT_IGNORED},
	{"a dword of ones", RUNNING, 0, 4, -1U, VERDICT_COMPLETED | VERDICT_IGNORED},
	{"8 bytes", RUNNING, 0, 8, 0, VERDICT_COMPLETED | VERDICT_IGNORED},
	{"the second byte", RUNNING, 1, 1, 0, VERDICT_IGNORED},
	{"the second word", RUNNING, 2, 2, 0, VERDICT_IGNORED},
	{"a word askew", RUNNING, 1, 2, 0, VERDICT_IGNORED},
	{"a dword askew", RUNNING, 3, 4, 0, VERDICT_IGNORED},
	{"the next queue, not enabled", RUNNING, 4, 2, 0, VERDICT_IGNORED},
	{"the last queue, not enabled", RUNNING, 12, 2, 3, VERDICT_IGNORED},
	{"a queue that is not there", RUNNING, 16, 2, 4, VERDICT_IGNORED},
	{"one far behind", RUNNING, 0x800, 2, 0x200, VERDICT_IGNORED},
	{"the last word of the area", RUNNING, 0xffe, 2, 0x3ff, VERDICT_IGNORED},
	{"the last byte of the area", RUNNING, 0xfff, 1, 0, VERDICT_IGNORED},
	{"across the end of the area", RUNNING, 0xffe, 4, 0, VERDICT_IGNORED},
	{"in front of the area", RUNNING, -4U, 4, 0, VERDICT_IGNORED},
	/* a CPU makes two accesses of it where a page ends */
	{"across its start", RUNNING, -4U, 8, 0, VERDICT_COMPLETED | VERDICT_IGNORED},
	/* 4.1.4.3.2, 2.1.2: not before queue_enable, not before DRIVER_OK */
	{"not enabled", OFF, 0, 2, 0, VERDICT_IGNORED},
	{"not enabled, a dword", OFF, 0, 4, 0, VERDICT_IGNORED},
	{"not enabled, a queue that is not there", OFF, 16, 2, 4, VERDICT_IGNORED},
	{"before DRIVER_OK", READY, 0, 2, 0, VERDICT_IGNORED},
	{"before DRIVER_OK, a byte", READY, 0, 1, 0, VERDICT_IGNORED},
	{"before DRIVER_OK, a queue that is not there", READY, 16, 2, 4, VERDICT_IGNORED},
};

/* The queue's memory is there in each state; the registers are as in @state. */
static void notify__set_up(struct hreg *h, enum state state)
{
	struct virtio *dev = hreg__dev(h);

	hreg__negotiate(h);
	hreg__queue(h);
	if (state == OFF)
		hreg__negotiate(h);
	if (state != READY)
		virtio__driver_ok(dev);
	if (state == RUNNING && !disks__read_ok(&h->d, 0))
		panic("a good read fails");
}

static enum verdict notify__try(struct hreg *h, const struct kick *k, unsigned int settle_us)
{
	struct blk *blk = &h->d.blk[0];
	enum verdict got = VERDICT_IGNORED;
	uint64_t doorbell;

	notify__set_up(h, k->state);
	time__delay_us(settle_us);
	doorbell = blk->ring.notify;
	paging__map(doorbell & -4096ULL, 8192, true);
	/* into the ring, not kicked */
	*blk->header = (struct virtio_blk_outhdr) {.type = VIRTIO_BLK_T_IN};
	*blk->status = BLK_NO_STATUS;
	ring__prepare(&blk->ring, 0,
		      (struct ring_seg[]) {
			      {blk->header, sizeof(*blk->header), 0},
			      {h->d.buf, SECTOR, VRING_DESC_F_WRITE},
			      {blk->status, 1, VRING_DESC_F_WRITE},
		      },
		      3);
	ring__add(&blk->ring, 0);
	ring__expose(&blk->ring);
	reg__write(doorbell + (int32_t)k->off, k->width, k->val);
	if (disks__used(&h->d, 0, HREG_DEAD_MS))
		got = *blk->status == VIRTIO_BLK_S_OK ? VERDICT_COMPLETED : VERDICT_FAILED;
	else if (hreg__needs_reset(h, 0))
		got = VERDICT_NEEDS_RESET;
	else if (k->state == RUNNING) {
		/* the right kick still works */
		ring__notify(&blk->ring);
		if (blk__wait(blk, NULL) != VIRTIO_BLK_S_OK)
			got = VERDICT_FAILED;
	}
	return got;
}

/*
 * A disk that runs looks at its ring for a while after the last request, and
 * finds a new one without a kick.  On a busy host that can be long: what was done
 * is tried again with more time.  A kick that is heard is heard each time.
 */
static void notify__case(struct hreg *h, const struct kick *k)
{
	enum verdict got = VERDICT_COMPLETED;
	unsigned int settle_us;

	hreg__begin(h, FAMILY);
	for (settle_us = 1000; settle_us <= 1000000; settle_us *= 10) {
		got = notify__try(h, k, settle_us);
		if (got != VERDICT_COMPLETED || (k->expected & VERDICT_COMPLETED))
			break;
	}
	hreg__end(h, k->expected, got, "kick: %s", k->name);
}

/* Doorbells are write-only; every second one of the area is read and written, once. */
static void notify__check_flood(struct hreg *h)
{
	struct blk *blk = &h->d.blk[0];
	unsigned int off, round, bad = 0;

	hreg__begin(h, FAMILY);
	notify__set_up(h, RUNNING);
	for (off = 0; off < 4096; off += 8) {
		mmio__write32(blk->ring.notify + off, off);
		bad += mmio__read32(blk->ring.notify + off) == 0xffffffff;
	}
	hreg__end(h, VERDICT_IGNORED, !bad && hreg__read_ok(h) ? VERDICT_IGNORED : VERDICT_FAILED,
		  "kick: everything in the area");
	hreg__begin(h, FAMILY);
	notify__set_up(h, RUNNING);
	for (round = 0; round < 2000; round++)
		ring__notify(&blk->ring);
	hreg__end(h, VERDICT_IGNORED, hreg__read_ok(h) ? VERDICT_IGNORED : VERDICT_FAILED,
		  "kick: 2000 times an empty ring");
}

void hreg__notify(struct hreg *h)
{
	bool beside = cmdline__bool("beside", true);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kicks); i++)
		if (beside || kicks[i].state != RUNNING || kicks[i].expected != VERDICT_IGNORED)
			notify__case(h, &kicks[i]);
	notify__check_flood(h);
}
