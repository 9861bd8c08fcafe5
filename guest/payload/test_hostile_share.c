// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two queues of a disk, served by two threads, that share what no driver
 * shares: buffers, and on a split ring the descriptors too, which the device
 * only reads.  Each read puts the same bytes there.
 */
#include "hostile.h"
#include "pattern.h"

#define FAMILY "sharing"
#define W VRING_DESC_F_WRITE
#define ROUNDS 64

static bool lands(struct ring *ring, uint32_t want)
{
	uint64_t end = time__deadline(HANG_MS);
	struct ring_used used;

	while (!ring__get(ring, &used)) {
		if (time__tsc() > end)
			return false;
		cpu__relax();
	}
	return used.len == want;
}

static void start(struct ring *ring)
{
	ring__add(ring, 0);
	ring__expose(ring);
	(void)ring->ops->wants_kick(ring);
	ring__notify(ring);
}

static void rounds(struct hostile *h, struct ring ring[2], const char *name)
{
	unsigned int i, good = 0;

	hostile__begin(h, VIRTIO_BLK_T_IN, 0);
	hostile__header(h);
	hostile__seg(h, (uintptr_t)h->in, 8 * SECTOR, W);
	hostile__status(h);
	for (i = 0; i < 2; i++) {
		ring__slots(&ring[i], ring[i].size);
		ring__prepare(&ring[i], 0, h->seg, h->nr);
	}
	for (i = 0; i < ROUNDS; i++) {
		bool both;

		*h->status = BLK_NO_STATUS;
		start(&ring[0]);
		start(&ring[1]);
		both = lands(&ring[0], 8 * SECTOR + 1);
		both &= lands(&ring[1], 8 * SECTOR + 1);
		good += both && *h->status == VIRTIO_BLK_S_OK &&
			pattern__is((char *)h->in, "sector", 0, 8);
	}
	verdict__equal(FAMILY, ROUNDS, good, "two queues share %s, %s ring", name,
		       ring[0].ops->name);
	verdict__check(FAMILY, disks__read_ok(&h->d, 1), "two queues share %s: the other disk",
		       name);
}

static void program(const struct virtio *dev, const struct ring *ring)
{
	static const unsigned int reg[3] = {VIRTIO_PCI_COMMON_Q_DESCLO, VIRTIO_PCI_COMMON_Q_AVAILLO,
					    VIRTIO_PCI_COMMON_Q_USEDLO};
	uint64_t c = dev->common;
	unsigned int i;

	mmio__write16(c + VIRTIO_PCI_COMMON_Q_SELECT, ring->index);
	mmio__write16(c + VIRTIO_PCI_COMMON_Q_SIZE, ring->size);
	for (i = 0; i < 3; i++) {
		mmio__write32(c + reg[i], (uintptr_t)ring->areas[i]);
		mmio__write32(c + reg[i] + 4, (uintptr_t)ring->areas[i] >> 32);
	}
	mmio__write16(c + VIRTIO_PCI_COMMON_Q_ENABLE, 1);
}

/* Set up once more, queue 1 with the descriptors of queue 0. */
static void share_table(struct virtio *dev, struct ring ring[2], uint64_t features)
{
	unsigned int i;

	ring[1].desc = ring[0].desc;
	ring[1].areas[0] = ring[0].areas[0];
	if (!virtio__negotiate(dev, features))
		panic("features are refused");
	for (i = 0; i < 2; i++)
		program(dev, &ring[i]);
}

static void one(struct hostile *h, bool table)
{
	struct virtio *dev = &h->d.blk[0].dev;
	struct ring ring[2];
	uint64_t features = virtio__ring_words() | VIRTIO_BIT(VIRTIO_BLK_F_MQ);
	unsigned int i;

	if (!virtio__negotiate(dev, features))
		panic("features are refused");
	for (i = 0; i < 2; i++)
		if (!virtio__setup_queue(dev, &ring[i], i, 0, VIRTIO_MSI_NO_VECTOR))
			return; /* a disk of one queue */
	if (table)
		share_table(dev, ring, features);
	virtio__driver_ok(dev);
	rounds(h, ring, table ? "descriptors and buffers" : "buffers");
	hostile__reopen(h);
	verdict__check(FAMILY, disks__reads(&h->d, 0, HOSTILE_READS) == HOSTILE_READS,
		       "after that: reads are right");
}

void hostile__sharing(struct hostile *h)
{
	one(h, false);
	if (!hostile__packed(h))
		one(h, true);
	hostile__reopen(h);
}
