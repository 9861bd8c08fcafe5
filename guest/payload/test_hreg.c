// SPDX-License-Identifier: GPL-2.0-only
/* What the cases with hostile register accesses share, and their order. */
#include "test_hreg.h"

#include "apic.h"

#define CASE_MS (2 * HANG_MS) /* the watchdog */

void hreg__begin(struct hreg *h, const char *family)
{
	h->family = family;
	h->start = time__deadline(CASE_MS);
}

bool hreg__alive(struct hreg *h)
{
	if (!disks__read_ok(&h->d, 1))
		return false;
	hreg__negotiate(h);
	hreg__queue(h);
	virtio__driver_ok(hreg__dev(h));
	return disks__reads(&h->d, 0, HREG_GOOD) == HREG_GOOD && disks__read_ok(&h->d, 1);
}

void hreg__end(struct hreg *h, unsigned int expected, enum verdict got, const char *fmt, ...)
{
	char name[128];
	const char *why = "";
	va_list ap;

	va_start(ap, fmt);
	fmt__vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	if (!hreg__alive(h))
		why = " (not alive after a reset)";
	else if (time__tsc() > h->start)
		why = " (watchdog)";
	verdict__f(h->family, expected, *why ? VERDICT_FAILED : got, "%s%s", name, why);
}

bool hreg__needs_reset(struct hreg *h, unsigned int ms)
{
	uint64_t end = time__deadline(ms);

	while (!(virtio__status(hreg__dev(h)) & VIRTIO_CONFIG_S_NEEDS_RESET)) {
		if (time__tsc() > end)
			return false;
		cpu__relax();
	}
	return true;
}

enum verdict hreg__read(struct hreg *h, unsigned int ms)
{
	struct blk *blk = &h->d.blk[0];

	if (virtio__status(&blk->dev) & VIRTIO_CONFIG_S_NEEDS_RESET)
		return VERDICT_NEEDS_RESET;
	blk__submit(blk, VIRTIO_BLK_T_IN, 0, h->d.buf, SECTOR);
	ring__notify(&blk->ring);
	if (disks__used(&h->d, 0, ms))
		return blk__wait(blk, NULL) == VIRTIO_BLK_S_OK ? VERDICT_COMPLETED : VERDICT_FAILED;
	return hreg__needs_reset(h, 0) ? VERDICT_NEEDS_RESET : VERDICT_IGNORED;
}

void hreg__negotiate(struct hreg *h)
{
	if (!virtio__negotiate(hreg__dev(h), virtio__ring_words() | VIRTIO_BIT(VIRTIO_BLK_F_MQ)))
		panic("features are refused");
	mmio__write16(hreg__dev(h)->common + VIRTIO_PCI_COMMON_Q_SELECT, 0);
}

void hreg__queue(struct hreg *h)
{
	struct blk *blk = &h->d.blk[0];

	if (!virtio__setup_queue(&blk->dev, &blk->ring, 0, 0, VIRTIO_MSI_NO_VECTOR))
		panic("no queue 0");
	ring__slots(&blk->ring, blk->ring.size);
}

int test__hreg(void)
{
	static struct hreg h;

	if (!disks__open(&h.d)) {
		print("payload: fewer than two virtio-blk devices\n");
		return EXIT_SKIP;
	}
	apic__enable();
	h.bar[0] = disks__bar(&h.d, 0);
	h.bar[1] = disks__bar(&h.d, 1);
	hreg__ring(&h);
	hreg__queues(&h);
	hreg__notify(&h);
	hreg__config(&h);
	hreg__pci(&h);
	hreg__msix(&h);
	return verdict__summary();
}
