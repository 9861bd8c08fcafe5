/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_TEST_HREG_H
#define PAYLOAD_TEST_HREG_H

#include "disks.h"
#include "verdict.h"

/*
 * A driver that breaks the rules of registers, queue set-up, notification,
 * reset, BARs and configuration space.  A case is done to disk 0.  Whatever it
 * was, then disk 1 still answers, and disk 0 does after a reset.
 */
struct hreg {
	struct disks d;
	struct moving bar[2]; /* of either, where it is at home */
	const char *family;
	uint64_t start; /* TSC at the start of the case */
};

#define HREG_GOOD 8 /* reads that have to be right after a case */
#define HREG_DEAD_MS 3 /* how long what must do nothing may take to do something */

static inline struct virtio *hreg__dev(struct hreg *h)
{
	return &h->d.blk[0].dev;
}

/* Before a case: what it needs of the clock. */
void hreg__begin(struct hreg *h, const char *family);

/* After it: @got counts only where both disks are all right then, in time. */
__attribute__((format(printf, 4, 5))) void hreg__end(struct hreg *h, unsigned int expected,
						     enum verdict got, const char *fmt, ...);

/* Disk 0 answers after a reset, disk 1 without one. */
bool hreg__alive(struct hreg *h);

/* DEVICE_NEEDS_RESET, now or within @ms milliseconds (virtio 1.2, 2.1.2). */
bool hreg__needs_reset(struct hreg *h, unsigned int ms);

/* One read on disk 0, whose queue is set up: what became of it within @ms milliseconds. */
enum verdict hreg__read(struct hreg *h, unsigned int ms);

/* It has to be right. */
static inline bool hreg__read_ok(struct hreg *h)
{
	return hreg__read(h, HANG_MS) == VERDICT_COMPLETED;
}

/* Disk 0 to FEATURES_OK with the ring words of the command line; queue 0 selected. */
void hreg__negotiate(struct hreg *h);
/* Queue 0 in fresh memory, one slot, enabled. */
void hreg__queue(struct hreg *h);

static inline void reg__write(uint64_t addr, unsigned int width, uint64_t val)
{
	if (width == 1)
		mmio__write8(addr, val);
	else if (width == 2)
		mmio__write16(addr, val);
	else if (width == 4)
		mmio__write32(addr, val);
	else
		mmio__write64(addr, val);
}

static inline uint64_t reg__read(uint64_t addr, unsigned int width)
{
	return width == 1   ? mmio__read8(addr)
	       : width == 2 ? mmio__read16(addr)
	       : width == 4 ? mmio__read32(addr)
			    : mmio__read64(addr);
}

/* The families, a file each. */
void hreg__ring(struct hreg *h); /* ring addresses */
void hreg__queues(struct hreg *h); /* size, vector, enable, status */
void hreg__notify(struct hreg *h); /* kicks */
void hreg__pci(struct hreg *h); /* BARs, command register and configuration space in use */
void hreg__config(struct hreg *h); /* device configuration, odd widths */
void hreg__msix(struct hreg *h); /* MSI-X table */

#endif
