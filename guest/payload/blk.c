// SPDX-License-Identifier: GPL-2.0-only
#include "blk.h"

bool blk__open(struct blk *blk, unsigned int nth, uint64_t features, uint16_t msix)
{
	if (!virtio__find(&blk->dev, VIRTIO_ID_BLOCK, nth))
		return false;
	if (!virtio__negotiate(&blk->dev, features))
		panic("disk %u: features are refused", nth);
	if (!virtio__setup_queue(&blk->dev, &blk->ring, 0, 0, msix))
		panic("disk %u: no queue", nth);
	virtio__driver_ok(&blk->dev);
	blk->capacity = mmio__read32(blk->dev.device) | (uint64_t)mmio__read32(blk->dev.device + 4)
								<< 32;
	blk->header = mem__alloc(sizeof(*blk->header), 16);
	blk->status = mem__alloc(1, 1);
	return true;
}

static bool blk__is_write(uint32_t type)
{
	return type == VIRTIO_BLK_T_OUT || type == VIRTIO_BLK_T_DISCARD ||
	       type == VIRTIO_BLK_T_WRITE_ZEROES;
}

/* 5.2.6: header, data, status, each its own descriptor. */
void blk__submit(struct blk *blk, uint32_t type, uint64_t sector, void *buf, uint32_t len)
{
	struct vring_desc *d = blk->ring.desc;

	*blk->header = (struct virtio_blk_outhdr) {.type = type, .sector = sector};
	*blk->status = BLK_NO_STATUS;
	d[0] = (struct vring_desc) {(uintptr_t)blk->header, sizeof(*blk->header), VRING_DESC_F_NEXT,
				    len ? 1 : 2};
	d[1] = (struct vring_desc) {
		(uintptr_t)buf, len,
		VRING_DESC_F_NEXT | (blk__is_write(type) ? 0 : VRING_DESC_F_WRITE), 2};
	d[2] = (struct vring_desc) {(uintptr_t)blk->status, 1, VRING_DESC_F_WRITE, 0};
	ring__add(&blk->ring, 0);
	ring__publish(&blk->ring);
}

int blk__wait(struct blk *blk, uint32_t *used)
{
	uint64_t end = time__deadline(2000);
	struct vring_used_elem elem;

	while (!ring__get(&blk->ring, &elem)) {
		if (time__tsc() > end)
			return BLK_TIMEOUT;
		cpu__relax();
	}
	if (used)
		*used = elem.len;
	return *(volatile uint8_t *)blk->status;
}

int blk__request(struct blk *blk, uint32_t type, uint64_t sector, void *buf, uint32_t len,
		 uint32_t *used)
{
	blk__submit(blk, type, sector, buf, len);
	return blk__wait(blk, used);
}
