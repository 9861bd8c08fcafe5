// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device status, feature negotiation and reset as a driver sees them (virtio
 * 1.2, 2.1, 2.2, 2.4, 3.1.1, 4.1.4.3).
 */
#include "disks.h"
#include "verdict.h"

#define ACK VIRTIO_CONFIG_S_ACKNOWLEDGE
#define DRIVER (ACK | VIRTIO_CONFIG_S_DRIVER)
#define FEATURES_OK (DRIVER | VIRTIO_CONFIG_S_FEATURES_OK)
#define DRIVER_OK (FEATURES_OK | VIRTIO_CONFIG_S_DRIVER_OK)

#define DEAD_MS 5 /* how long a kick that must do nothing may take to do something */

static void status__set(const struct virtio *dev, uint8_t status)
{
	mmio__write8(dev->common + VIRTIO_PCI_COMMON_STATUS, status);
}

static void features__write(const struct virtio *dev, uint64_t features)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		mmio__write32(dev->common + VIRTIO_PCI_COMMON_GFSELECT, i);
		mmio__write32(dev->common + VIRTIO_PCI_COMMON_GF, features >> 32 * i);
	}
}

static uint64_t features__read(const struct virtio *dev)
{
	uint64_t val = 0;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		mmio__write32(dev->common + VIRTIO_PCI_COMMON_GFSELECT, i);
		val |= (uint64_t)mmio__read32(dev->common + VIRTIO_PCI_COMMON_GF) << 32 * i;
	}
	return val;
}

/* From reset to FEATURES_OK with exactly @features; the status that is read then. */
static uint8_t features__try(struct virtio *dev, uint64_t features)
{
	virtio__reset(dev);
	status__set(dev, ACK);
	status__set(dev, DRIVER);
	features__write(dev, features);
	status__set(dev, FEATURES_OK);
	return virtio__status(dev);
}

/* Negotiated by hand; from here to a request that is right. */
static bool features__works(struct disks *d, uint64_t features)
{
	struct blk *blk = &d->blk[0];

	blk->dev.features = features;
	if (!virtio__setup_queue(&blk->dev, &blk->ring, 0, 0, VIRTIO_MSI_NO_VECTOR))
		return false;
	ring__slots(&blk->ring, blk->ring.size);
	virtio__driver_ok(&blk->dev);
	return disks__read_ok(d, 0);
}

/* 2.2.2, 6.3: a device takes each of what it offers, and nothing else. */
static void state__check_features(struct disks *d)
{
	const char *family = "virtio-features";
	struct virtio *dev = &d->blk[0].dev;
	const uint64_t v1 = VIRTIO_BIT(VIRTIO_F_VERSION_1);
	uint64_t offered = virtio__offered(dev), bit;
	unsigned int i;

	verdict__check(family, offered & v1, "VERSION_1 is offered");
	for (i = 0; i < 64; i++) {
		bit = VIRTIO_BIT(i);
		if (offered & bit)
			verdict__check(family,
				       features__try(dev, v1 | bit) == FEATURES_OK &&
					       features__works(d, v1 | bit),
				       "bit %u alone is taken and works", i);
		else
			verdict__equal(family, DRIVER, features__try(dev, v1 | bit),
				       "bit %u, not offered: FEATURES_OK is refused", i);
	}
	verdict__check(family,
		       features__try(dev, offered) == FEATURES_OK && features__works(d, offered),
		       "all that is offered, together");
	verdict__equal(family, DRIVER, features__try(dev, offered & ~v1),
		       "all but VERSION_1: FEATURES_OK is refused");
	verdict__equal(family, DRIVER, features__try(dev, 0),
		       "none at all: FEATURES_OK is refused");
	verdict__equal(family, DRIVER, features__try(dev, UINT64_MAX),
		       "every bit there is: FEATURES_OK is refused");
	verdict__check(family, features__try(dev, v1) == FEATURES_OK && features__works(d, v1),
		       "VERSION_1 alone, after all the refusals");
}

/* 4.1.4.3: the two windows of 32 bits. */
static void state__check_windows(struct disks *d)
{
	const char *family = "virtio-features";
	struct virtio *dev = &d->blk[0].dev;
	const uint64_t v1 = VIRTIO_BIT(VIRTIO_F_VERSION_1);
	uint64_t offered = virtio__offered(dev);
	static const uint32_t selects[] = {2, 3, 0x80000000, UINT32_MAX};
	unsigned int i;

	virtio__reset(dev);
	for (i = 0; i < ARRAY_SIZE(selects); i++) {
		mmio__write32(dev->common + VIRTIO_PCI_COMMON_DFSELECT, selects[i]);
		verdict__equal(family, 0, mmio__read32(dev->common + VIRTIO_PCI_COMMON_DF),
			       "device features, window %x reads 0", selects[i]);
		features__write(dev, v1);
		mmio__write32(dev->common + VIRTIO_PCI_COMMON_GFSELECT, selects[i]);
		mmio__write32(dev->common + VIRTIO_PCI_COMMON_GF, UINT32_MAX);
		verdict__equal(family, v1, features__read(dev),
			       "driver features, window %x changes none", selects[i]);
	}
	mmio__write32(dev->common + VIRTIO_PCI_COMMON_DFSELECT, 0);
	mmio__write32(dev->common + VIRTIO_PCI_COMMON_DF, 0);
	verdict__equal(family, offered, virtio__offered(dev), "device features are read-only");
	features__try(dev, v1);
	features__write(dev, offered);
	verdict__equal(family, v1, features__read(dev), "no feature is taken after FEATURES_OK");
	verdict__check(family, features__works(d, v1), "and the device works with what it took");
}

/* The steps of 3.1.1, one a name; a reset comes after each. */
enum step {
	STEP_RESET,
	STEP_ACK,
	STEP_DRIVER,
	STEP_FEATURES,
	STEP_FEATURES_OK,
	STEP_QUEUE,
	STEP_DRIVER_OK,
	STEP_KICKED,
	STEP_DONE,
	NR_STEPS,
};

static const char *const step_names[NR_STEPS] = {
	[STEP_RESET] = "reset",
	[STEP_ACK] = "ACKNOWLEDGE",
	[STEP_DRIVER] = "DRIVER",
	[STEP_FEATURES] = "features written",
	[STEP_FEATURES_OK] = "FEATURES_OK",
	[STEP_QUEUE] = "queue enabled",
	[STEP_DRIVER_OK] = "DRIVER_OK",
	[STEP_KICKED] = "request under way",
	[STEP_DONE] = "request done",
};

static const uint8_t step_status[NR_STEPS] = {
	[STEP_RESET] = 0,
	[STEP_ACK] = ACK,
	[STEP_DRIVER] = DRIVER,
	[STEP_FEATURES] = DRIVER,
	[STEP_FEATURES_OK] = FEATURES_OK,
	[STEP_QUEUE] = FEATURES_OK,
	[STEP_DRIVER_OK] = DRIVER_OK,
	[STEP_KICKED] = DRIVER_OK,
	[STEP_DONE] = DRIVER_OK,
};

static void step__do(struct disks *d, enum step step)
{
	struct blk *blk = &d->blk[0];
	struct virtio *dev = &blk->dev;

	switch (step) {
	case STEP_RESET:
		virtio__reset(dev); /* 2.4.1: waits; what is written before 0 is read may be lost */
		break;
	case STEP_FEATURES:
		dev->features = virtio__offered(dev) &
				(VIRTIO_BIT(VIRTIO_F_VERSION_1) | virtio__ring_words());
		features__write(dev, dev->features);
		break;
	case STEP_QUEUE:
		if (!virtio__setup_queue(dev, &blk->ring, 0, 0, VIRTIO_MSI_NO_VECTOR))
			panic("no queue 0");
		ring__slots(&blk->ring, blk->ring.size);
		break;
	case STEP_KICKED:
		blk__submit(blk, VIRTIO_BLK_T_IN, 0, d->buf, DISKS_BUF);
		break;
	case STEP_DONE:
		blk__wait(blk, NULL);
		break;
	default:
		status__set(dev, step_status[step]);
	}
}

/* Registers that a reset puts back, of queue 0 and of the device (4.1.4.3.1, 4.1.5.1.2.1). */
static unsigned int reset__stale(const struct virtio *dev, uint16_t size_max)
{
	static const struct {
		unsigned int off, width;
		uint32_t want;
	} regs[] = {
		{VIRTIO_PCI_COMMON_STATUS, 1, 0},
		{VIRTIO_PCI_COMMON_MSIX, 2, VIRTIO_MSI_NO_VECTOR},
		{VIRTIO_PCI_COMMON_Q_MSIX, 2, VIRTIO_MSI_NO_VECTOR},
		{VIRTIO_PCI_COMMON_Q_ENABLE, 2, 0},
		{VIRTIO_PCI_COMMON_Q_DESCLO, 4, 0},
		{VIRTIO_PCI_COMMON_Q_DESCHI, 4, 0},
		{VIRTIO_PCI_COMMON_Q_AVAILLO, 4, 0},
		{VIRTIO_PCI_COMMON_Q_AVAILHI, 4, 0},
		{VIRTIO_PCI_COMMON_Q_USEDLO, 4, 0},
		{VIRTIO_PCI_COMMON_Q_USEDHI, 4, 0},
	};
	unsigned int i, bad;
	uint32_t val;

	mmio__write16(dev->common + VIRTIO_PCI_COMMON_Q_SELECT, 0);
	bad = mmio__read16(dev->common + VIRTIO_PCI_COMMON_Q_SIZE) != size_max;
	for (i = 0; i < ARRAY_SIZE(regs); i++) {
		uint64_t addr = dev->common + regs[i].off;

		val = regs[i].width == 1   ? mmio__read8(addr)
		      : regs[i].width == 2 ? mmio__read16(addr)
					   : mmio__read32(addr);
		bad += val != regs[i].want;
	}
	return bad + (features__read(dev) != 0) + (mmio__read8(dev->isr) != 0);
}

static void state__check_reset(struct disks *d)
{
	const char *family = "virtio-reset";
	struct virtio *dev = &d->blk[0].dev;
	unsigned int last, step;
	uint16_t size_max;

	virtio__reset(dev);
	mmio__write16(dev->common + VIRTIO_PCI_COMMON_Q_SELECT, 0);
	size_max = mmio__read16(dev->common + VIRTIO_PCI_COMMON_Q_SIZE);
	for (last = 0; last < NR_STEPS; last++) {
		for (step = 0; step <= last; step++)
			step__do(d, step);
		verdict__equal(family, step_status[last], virtio__status(dev),
			       "status at step '%s'", step_names[last]);
		verdict__check(family, virtio__reset(dev), "reset at step '%s' ends",
			       step_names[last]);
		verdict__equal(family, 0, reset__stale(dev, size_max),
			       "reset at step '%s': registers as at the start", step_names[last]);
		for (step = 0; step < STEP_KICKED; step++)
			step__do(d, step);
		verdict__check(family, disks__read_ok(d, 0) && disks__read_ok(d, 1),
			       "reset at step '%s': works when set up again", step_names[last]);
	}
}

/* 2.1: what the status register takes and when. */
static void state__check_status(struct disks *d)
{
	const char *family = "virtio-status";
	struct blk *blk = &d->blk[0];
	struct virtio *dev = &blk->dev;
	unsigned int step;

	virtio__reset(dev);
	for (step = 0; step < STEP_KICKED; step++) {
		step__do(d, step);
		status__set(dev, step_status[step] | VIRTIO_CONFIG_S_NEEDS_RESET);
		if (step) /* at the first one 0 was due, which resets */
			verdict__equal(family, step_status[step], virtio__status(dev),
				       "NEEDS_RESET is not the driver's to set, at '%s'",
				       step_names[step]);
	}
	verdict__check(family, disks__read_ok(d, 0), "the device works after that");
	status__set(dev, DRIVER_OK | VIRTIO_CONFIG_S_FAILED);
	verdict__equal(family, DRIVER_OK | VIRTIO_CONFIG_S_FAILED, virtio__status(dev),
		       "FAILED is the driver's to set");
	disks__reopen(d, 0);
	verdict__check(family, disks__read_ok(d, 0), "and a reset takes it away");

	/* 3.1.1: without FEATURES_OK there is no DRIVER_OK, and no request is looked at */
	virtio__reset(dev);
	for (step = 0; step < STEP_FEATURES_OK; step++)
		step__do(d, step);
	step__do(d, STEP_QUEUE);
	status__set(dev, DRIVER | VIRTIO_CONFIG_S_DRIVER_OK);
	verdict__equal(family, DRIVER, virtio__status(dev), "no DRIVER_OK without FEATURES_OK");
	step__do(d, STEP_KICKED);
	ring__notify(&blk->ring);
	verdict(family, "a request without FEATURES_OK", VERDICT_IGNORED,
		disks__used(d, 0, DEAD_MS) ? VERDICT_FAILED : VERDICT_IGNORED);

	/* 2.1.2: nor before DRIVER_OK */
	virtio__reset(dev);
	for (step = 0; step < STEP_DRIVER_OK; step++)
		step__do(d, step);
	step__do(d, STEP_KICKED);
	ring__notify(&blk->ring);
	verdict(family, "a request before DRIVER_OK", VERDICT_IGNORED,
		disks__used(d, 0, DEAD_MS) ? VERDICT_FAILED : VERDICT_IGNORED);
	step__do(d, STEP_DRIVER_OK);
	ring__notify(&blk->ring);
	verdict__equal(family, VIRTIO_BLK_S_OK, blk__wait(blk, NULL), "is done after DRIVER_OK");
}

/* 2.5.1, 4.1.4.6: the configuration of the device, by every width, and what is read-only. */
static void state__check_config(struct disks *d)
{
	const char *family = "virtio-config";
	struct virtio *dev = &d->blk[0].dev;
	uint8_t generation = mmio__read8(dev->common + VIRTIO_PCI_COMMON_CFGGENERATION);
	const unsigned int wce = offsetof(struct virtio_blk_config, wce);
	unsigned int off, words = 0, dwords = 0, writes = 0;

	for (off = 0; off + 4 <= dev->device_len; off += 4) {
		uint32_t val = mmio__read32(dev->device + off), bytes = 0, i;

		for (i = 0; i < 4; i++)
			bytes |= (uint32_t)mmio__read8(dev->device + off + i) << 8 * i;
		dwords += bytes != val;
		words += mmio__read16(dev->device + off) != (val & 0xffff) ||
			 mmio__read16(dev->device + off + 2) != val >> 16;
		mmio__write32(dev->device + off, ~val);
		if (off == (wce & ~3U))
			mmio__write32(dev->device + off,
				      val); /* CONFIG_WCE is not taken, but be sure */
		writes += mmio__read32(dev->device + off) != val;
	}
	verdict__equal(family, 0, dwords, "dwords are made of the bytes");
	verdict__equal(family, 0, words, "words are made of the bytes");
	verdict__equal(family, 0, writes, "fields are read-only");
	verdict__equal(family, generation,
		       mmio__read8(dev->common + VIRTIO_PCI_COMMON_CFGGENERATION),
		       "the generation stays while nothing changes");
	mmio__write8(dev->common + VIRTIO_PCI_COMMON_CFGGENERATION, generation + 1);
	verdict__equal(family, generation,
		       mmio__read8(dev->common + VIRTIO_PCI_COMMON_CFGGENERATION),
		       "the generation is read-only");
	verdict__equal(family, blk__capacity(dev), d->blk[0].capacity, "capacity as at the start");
}

/* A queue that is set up again and again, in fresh memory each time. */
static void state__check_cycles(struct disks *d)
{
	unsigned int i, good = 0;

	for (i = 0; i < 20; i++) {
		disks__reopen(d, 0);
		good += disks__read_ok(d, 0);
	}
	verdict__equal("virtio-reset", 20, good, "queue enabled again after each of 20 resets");
	verdict__check("virtio-reset", disks__read_ok(d, 1), "and the other disk works");
}

int test__state(void)
{
	static struct disks d;

	if (!disks__open(&d)) {
		print("payload: fewer than two virtio-blk devices\n");
		return EXIT_SKIP;
	}
	state__check_features(&d);
	state__check_windows(&d);
	state__check_status(&d);
	state__check_reset(&d);
	state__check_cycles(&d);
	state__check_config(&d);
	return verdict__summary();
}
