/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_BUS_H
#define LKVM_BUS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * A bus (port I/O or MMIO) takes a vCPU exit to a device.  The guest moves
 * BARs while other vCPUs access them, so the range list has a lock; it is held
 * for the look-up alone, never while a device handler runs.  Devices therefore
 * live until all vCPU threads have ended, and a handler may be entered once
 * more for a range that another vCPU has just removed.
 */
struct bus_ops {
	/*
	 * @off is relative to the start of the range.  @len is 1, 2, 4 or 8 and
	 * the access lies wholly inside the range.  @data is @len bytes, little
	 * endian.  Called in vCPU threads, several at once: the device locks.
	 */
	void (*read)(void *dev, uint64_t off, void *data, unsigned int len);
	void (*write)(void *dev, uint64_t off, const void *data, unsigned int len);
};

struct bus_range {
	uint64_t base;
	uint64_t size;
	const struct bus_ops *ops;
	void *dev;
};

#define BUS_MAX_RANGES 256

struct bus {
	pthread_rwlock_t lock;
	struct bus_range range[BUS_MAX_RANGES];
	unsigned int nr;
};

int bus__init(struct bus *bus);
void bus__fini(struct bus *bus);

/*
 * Ranges may overlap, since a guest can program two BARs to one address: the
 * one added first among those that hold the whole access answers.  Any thread;
 * not from within a held device lock that a handler of the same bus takes.
 * 0, -EINVAL (empty or wrapping range), -ENOSPC.
 */
int bus__add(struct bus *bus, const struct bus_range *range);

/* Remove the range with the same four members.  0 or -ENOENT. */
int bus__remove(struct bus *bus, const struct bus_range *range);

/*
 * Perform one access.  Where no range answers a read gives all ones and a
 * write does nothing, as on hardware; the result says whether one answered.
 * An access that straddles the end of a range has no answer, nor one whose
 * length is not 1, 2, 4 or 8 (KVM makes such out of one that crosses a page).
 */
bool bus__read(struct bus *bus, uint64_t addr, void *data, unsigned int len);
bool bus__write(struct bus *bus, uint64_t addr, const void *data, unsigned int len);

#endif
