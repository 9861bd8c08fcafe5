// SPDX-License-Identifier: GPL-2.0-only
/* Interrupts of a device: MSI-X and INTx share what stands here. */
#include "test_irq.h"

void irq__open(struct disks *d, uint16_t msix)
{
	struct blk *blk = &d->blk[0];

	if (!virtio__negotiate(&blk->dev, virtio__ring_words()))
		panic("features are refused");
	if (!virtio__setup_queue(&blk->dev, &blk->ring, 0, 0, msix))
		panic("no queue 0 with vector %u", msix);
	ring__slots(&blk->ring, blk->ring.size);
	virtio__driver_ok(&blk->dev);
	ring__irq(&blk->ring, true);
}

void irq__read(struct disks *d)
{
	ring__irq(&d->blk[0].ring, true);
	if (blk__request(&d->blk[0], VIRTIO_BLK_T_IN, 0, d->buf, SECTOR, NULL) != VIRTIO_BLK_S_OK)
		panic("a read fails");
}

bool irq__break(struct disks *d, uint16_t config_vector)
{
	struct blk *blk = &d->blk[0];
	uint64_t end;

	if (!virtio__negotiate(&blk->dev, virtio__ring_words()) ||
	    !virtio__setup_queue(&blk->dev, &blk->ring, 0, 0, VIRTIO_MSI_NO_VECTOR))
		panic("disk 0 does not come up");
	/* an enabled queue keeps its address: so reset, and all by hand */
	if (!virtio__negotiate(&blk->dev, virtio__ring_words()))
		panic("disk 0 does not come up");
	mmio__write16(blk->dev.common + VIRTIO_PCI_COMMON_MSIX, config_vector);
	mmio__write16(blk->dev.common + VIRTIO_PCI_COMMON_Q_SELECT, 0);
	mmio__write32(blk->dev.common + VIRTIO_PCI_COMMON_Q_DESCHI, 0x1000);
	mmio__write16(blk->dev.common + VIRTIO_PCI_COMMON_Q_ENABLE, 1);
	virtio__driver_ok(&blk->dev);
	mmio__write16(blk->ring.notify, 0);
	end = time__deadline(HANG_MS);
	while (!(virtio__status(&blk->dev) & VIRTIO_CONFIG_S_NEEDS_RESET))
		if (time__tsc() > end)
			return false;
	return true;
}

int test__irq(void)
{
	static struct disks d;

	if (!disks__open(&d)) {
		print("payload: fewer than two virtio-blk devices\n");
		return EXIT_SKIP;
	}
	apic__enable();
	irq__on();
	if (d.blk[0].dev.msix.nr)
		msix__check(&d);
	intx__check(&d);
	irq__off();
	disks__reopen(&d, 0);
	verdict__check("intx", disks__read_ok(&d, 0) && disks__read_ok(&d, 1),
		       "both disks work after all that");
	return verdict__summary();
}
