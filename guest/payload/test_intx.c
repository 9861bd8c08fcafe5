// SPDX-License-Identifier: GPL-2.0-only
/*
 * INTx and the ISR status byte (virtio 1.2, 4.1.4.5 and 4.1.5.3; PCI 3.0, 6.2.2,
 * 6.2.3): a level, the reason in the ISR, reading it takes both away.
 */
#include "test_irq.h"

#define FAMILY "intx"

static bool status__shown(const struct disks *d)
{
	return pci__read(d->blk[0].dev.fn, PCI_STATUS, 2) & PCI_STATUS_INTERRUPT;
}

static void intx__disable(const struct disks *d, bool on)
{
	pci_fn_t fn = d->blk[0].dev.fn;
	uint32_t command = pci__read(fn, PCI_COMMAND, 2) & ~PCI_COMMAND_INTX_DISABLE;

	pci__write(fn, PCI_COMMAND, 2, command | (on ? PCI_COMMAND_INTX_DISABLE : 0));
}

/* The level comes a moment after the completion. */
static bool status__wait(const struct disks *d)
{
	uint64_t end = time__deadline(HANG_MS);

	while (!status__shown(d))
		if (time__tsc() > end)
			return false;
	return true;
}

/* Nobody takes the interrupt: the pin is masked in the IOAPIC. */
static void intx__check_isr(struct disks *d)
{
	struct virtio *dev = &d->blk[0].dev;

	irq__open(d, VIRTIO_MSI_NO_VECTOR);
	verdict__equal(FAMILY, 0, mmio__read8(dev->isr), "ISR is 0 at the start");
	verdict__check(FAMILY, !status__shown(d), "the status register shows none at the start");
	irq__read(d);
	verdict__check(FAMILY, status__wait(d), "the status register shows a used buffer");
	mmio__write8(dev->isr, 0);
	verdict__check(FAMILY, status__shown(d), "a write to the ISR does not acknowledge");
	verdict__equal(FAMILY, ISR_QUEUE, mmio__read8(dev->isr), "ISR tells a used buffer");
	verdict__equal(FAMILY, 0, mmio__read8(dev->isr), "reading the ISR has cleared it");
	verdict__check(FAMILY, !status__shown(d), "and the status register");
	irq__read(d);
	status__wait(d);
	irq__read(d);
	verdict__equal(FAMILY, ISR_QUEUE, mmio__read8(dev->isr), "two used buffers, one bit");
	/* The second may have raised it again behind the read: only a reset ends that. */
	irq__read(d);
	status__wait(d);
	verdict__check(FAMILY, virtio__reset(dev) && !status__shown(d),
		       "a reset takes the level away");
	verdict__equal(FAMILY, 0, mmio__read8(dev->isr), "and what the ISR told");
}

/* 4.1.4.5: bit 1, the configuration or the status of the device has changed. */
static void intx__check_config(struct disks *d)
{
	struct virtio *dev = &d->blk[0].dev;

	verdict(FAMILY, "a queue that lies where nothing is", VERDICT_NEEDS_RESET,
		irq__break(d, VIRTIO_MSI_NO_VECTOR) ? VERDICT_NEEDS_RESET : VERDICT_FAILED);
	verdict__check(FAMILY, status__wait(d), "the status register shows it");
	verdict__equal(FAMILY, VIRTIO_PCI_ISR_CONFIG, mmio__read8(dev->isr),
		       "ISR tells a change of the device");
	verdict__equal(FAMILY, 0, mmio__read8(dev->isr), "reading the ISR has cleared it too");
	verdict__check(FAMILY, !status__shown(d), "and the level");
	irq__break(d, VIRTIO_MSI_NO_VECTOR);
	verdict__check(FAMILY, virtio__reset(dev) && !mmio__read8(dev->isr) && !status__shown(d),
		       "a reset clears that as well");
}

static void intx__check_disable(struct disks *d, uint64_t before)
{
	struct virtio *dev = &d->blk[0].dev;

	intx__disable(d, true);
	irq__read(d);
	verdict__check(FAMILY, status__wait(d), "INTx disabled: the status register shows it");
	verdict__equal(FAMILY, before, irq_count[VEC_LEVEL], "INTx disabled: no interrupt");
	intx__disable(d, false);
	verdict__check(FAMILY, irq__wait(VEC_LEVEL, before + 1, HANG_MS),
		       "INTx enabled: the interrupt comes");
	verdict__check(FAMILY, !status__shown(d), "INTx enabled: and is acknowledged");
	(void)mmio__read8(dev->isr);
}

static void intx__check_delivery(struct disks *d)
{
	struct virtio *dev = &d->blk[0].dev;
	unsigned int pin = cmdline__num("gsi", 16 + PCI_FN_SLOT(dev->fn) % 8);
	uint64_t before;

	irq__open(d, VIRTIO_MSI_NO_VECTOR);
	irq_ack.addr = dev->isr;
	irq_ack.seen = 0;
	ioapic__route(pin, VEC_LEVEL, true, apic__id());
	before = irq_count[VEC_LEVEL];
	irq__read(d);
	verdict__check(FAMILY, irq__wait(VEC_LEVEL, before + 1, HANG_MS), "an interrupt on pin %u",
		       pin);
	time__delay_us(2000);
	verdict__equal(FAMILY, ISR_QUEUE, irq_ack.seen, "its handler finds the ISR");
	/*
	 * One on hardware.  A software KVM has been seen to end an interrupt as it
	 * delivers it, with the line still up: one more comes and finds ISR 0.
	 */
	verdict__check(FAMILY, irq_count[VEC_LEVEL] <= before + 2, "and no more than that");
	before = irq_count[VEC_LEVEL];
	ring__irq(&d->blk[0].ring, false);
	blk__request(&d->blk[0], VIRTIO_BLK_T_IN, 0, d->buf, SECTOR, NULL);
	irq__open(d, VIRTIO_MSI_NO_VECTOR); /* a reset: the disk has looked at the wish */
	verdict__equal(FAMILY, before, irq_count[VEC_LEVEL], "none where the driver wants none");
	intx__check_disable(d, before);
	ioapic__route(pin, 0, false, 0);
	virtio__reset(dev);
}

/* PCI 3.0, 6.8.2: a function with MSI-X on must not use INTx. */
static void intx__check_msix(struct disks *d)
{
	struct msix *msix = &d->blk[0].dev.msix;

	if (!msix->nr)
		return;
	irq__open(d, VIRTIO_MSI_NO_VECTOR);
	irq__read(d);
	status__wait(d);
	msix__enable(msix, true);
	verdict__check(FAMILY, !status__shown(d), "MSI-X on: the level goes away");
	irq__read(d);
	time__delay_us(2000);
	verdict__check(FAMILY, !status__shown(d), "MSI-X on: no level for what is used then");
	msix__enable(msix, false);
	virtio__reset(&d->blk[0].dev);
	verdict__check(FAMILY, !status__shown(d), "MSI-X off after a reset: no level");
}

void intx__check(struct disks *d)
{
	intx__check_isr(d);
	intx__check_config(d);
	intx__check_delivery(d);
	intx__check_msix(d);
}
