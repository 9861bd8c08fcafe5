// SPDX-License-Identifier: GPL-2.0-only
#include "blk.h"

uint64_t blk__capacity(const struct virtio *dev)
{
	return mmio__read32(dev->device) | (uint64_t)mmio__read32(dev->device + 4) << 32;
}

unsigned int blk__block(const struct blk *blk)
{
	return mmio__read32(blk->dev.device + offsetof(struct virtio_blk_config, blk_size));
}

bool blk__open(struct blk *blk, unsigned int nth, uint64_t features, uint16_t msix)
{
	if (!virtio__find(&blk->dev, VIRTIO_ID_BLOCK, nth))
		return false;
	if (!virtio__negotiate(&blk->dev, features))
		panic("disk %u: features are refused", nth);
	if (!virtio__setup_queue(&blk->dev, &blk->ring, 0, 0, msix))
		panic("disk %u: no queue", nth);
	/* one request at a time, of whatever length */
	ring__slots(&blk->ring, blk->ring.size);
	virtio__driver_ok(&blk->dev);
	blk->capacity = blk__capacity(&blk->dev);
	blk->header = mem__alloc(sizeof(*blk->header), 16);
	blk->status = mem__alloc(1, 1);
	return true;
}

static bool blk__is_write(uint32_t type)
{
	return type == VIRTIO_BLK_T_OUT || type == VIRTIO_BLK_T_DISCARD ||
	       type == VIRTIO_BLK_T_WRITE_ZEROES;
}

void blk__submit_chain(struct blk *blk, const struct ring_seg *seg, unsigned int nr)
{
	ring__prepare(&blk->ring, 0, seg, nr);
	ring__add(&blk->ring, 0);
	ring__publish(&blk->ring);
}

/* 5.2.6: header, data, status, each its own descriptor. */
void blk__submit(struct blk *blk, uint32_t type, uint64_t sector, void *buf, uint32_t len)
{
	struct ring_seg seg[3] = {{blk->header, sizeof(*blk->header), 0}};
	unsigned int nr = 1;

	*blk->header = (struct virtio_blk_outhdr) {.type = type, .sector = sector};
	*blk->status = BLK_NO_STATUS;
	if (len)
		seg[nr++] =
			(struct ring_seg) {buf, len, blk__is_write(type) ? 0 : VRING_DESC_F_WRITE};
	seg[nr++] = (struct ring_seg) {blk->status, 1, VRING_DESC_F_WRITE};
	blk__submit_chain(blk, seg, nr);
}

int blk__wait(struct blk *blk, uint32_t *used)
{
	uint64_t end = time__deadline(HANG_MS);
	struct ring_used back;

	while (!ring__get(&blk->ring, &back)) {
		if (time__tsc() > end)
			return BLK_TIMEOUT;
		cpu__relax();
	}
	if (used)
		*used = back.len;
	return *(volatile uint8_t *)blk->status;
}

int blk__request(struct blk *blk, uint32_t type, uint64_t sector, void *buf, uint32_t len,
		 uint32_t *used)
{
	blk__submit(blk, type, sector, buf, len);
	return blk__wait(blk, used);
}
