// SPDX-License-Identifier: GPL-2.0-only
#include "disks.h"

#include "pattern.h"

static uint64_t disks__features(void)
{
	return VIRTIO_BIT(VIRTIO_BLK_F_FLUSH) | VIRTIO_BIT(VIRTIO_BLK_F_MQ) | virtio__ring_words();
}

void disks__reopen(struct disks *d, unsigned int nth)
{
	if (!blk__open(&d->blk[nth], nth, disks__features(), VIRTIO_MSI_NO_VECTOR))
		panic("disk %u has gone", nth);
}

bool disks__open(struct disks *d)
{
	d->buf = mem__alloc(DISKS_BUF, PAGE_SIZE);
	return blk__open(&d->blk[0], 0, disks__features(), VIRTIO_MSI_NO_VECTOR) &&
	       blk__open(&d->blk[1], 1, disks__features(), VIRTIO_MSI_NO_VECTOR);
}

bool disks__read_ok(struct disks *d, unsigned int nth)
{
	uint32_t used = 0;
	int status;

	memset(d->buf, 0, SECTOR);
	status = blk__request(&d->blk[nth], VIRTIO_BLK_T_IN, 0, d->buf, SECTOR, &used);
	return status == VIRTIO_BLK_S_OK && used == SECTOR + 1 &&
	       pattern__is(d->buf, "sector", 0, 1);
}

unsigned int disks__reads(struct disks *d, unsigned int nth, unsigned int nr)
{
	unsigned int i, good = 0;

	for (i = 0; i < nr; i++)
		good += disks__read_ok(d, nth);
	return good;
}

bool disks__used(struct disks *d, unsigned int nth, unsigned int ms)
{
	volatile uint8_t *status = d->blk[nth].status;
	uint64_t end = time__deadline(ms);

	while (*status == BLK_NO_STATUS) {
		if (time__tsc() > end)
			return false;
		cpu__relax();
	}
	return true;
}

struct moving disks__bar(const struct disks *d, unsigned int nth)
{
	pci_fn_t fn = d->blk[nth].dev.fn;
	unsigned int cap = pci__next_cap(fn, PCI_CAP_ID_VNDR, 0);
	struct moving m = {.fn = fn};
	struct pci_bar bar;

	while (cap && pci__read(fn, cap + VIRTIO_PCI_CAP_CFG_TYPE, 1) != VIRTIO_PCI_CAP_COMMON_CFG)
		cap = pci__next_cap(fn, PCI_CAP_ID_VNDR, cap);
	m.nr = pci__read(fn, cap + VIRTIO_PCI_CAP_BAR, 1);
	bar = pci__bar(fn, m.nr);
	m.base = bar.base;
	m.size = bar.size;
	return m;
}

void moving__write(const struct moving *m, uint64_t base, bool high_first)
{
	unsigned int reg = PCI_BASE_ADDRESS_0 + 4 * m->nr;

	if (high_first)
		pci__write(m->fn, reg + 4, 4, base >> 32);
	pci__write(m->fn, reg, 4, base);
	if (!high_first)
		pci__write(m->fn, reg + 4, 4, base >> 32);
}

void pci__decode(pci_fn_t fn, bool on)
{
	uint32_t command = pci__read(fn, PCI_COMMAND, 2) & ~PCI_COMMAND_MEMORY;

	pci__write(fn, PCI_COMMAND, 2, command | (on ? PCI_COMMAND_MEMORY : 0));
}

void disks__rebase(struct disks *d, unsigned int nth, uint64_t from, uint64_t to)
{
	struct blk *blk = &d->blk[nth];

	paging__map(to, 1, true);
	blk->dev.common += to - from;
	blk->dev.isr += to - from;
	blk->dev.device += to - from;
	blk->dev.notify += to - from;
	blk->ring.notify += to - from;
}
