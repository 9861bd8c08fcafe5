/* SPDX-License-Identifier: GPL-2.0-only */
/* Port I/O and MMIO buses: from an address to a device. */
#include <lkvm/bus.h>

#include <errno.h>
#include <string.h>

int bus__init(struct bus *bus)
{
	pthread_rwlockattr_t attr;
	int ret;

	bus->nr = 0;
	pthread_rwlockattr_init(&attr);
	/*
	 * vCPUs that poll a device must not keep out the one that moves a BAR.
	 * Readers never nest, since no handler runs under the lock.
	 */
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	ret = pthread_rwlock_init(&bus->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	return -ret;
}

void bus__fini(struct bus *bus)
{
	pthread_rwlock_destroy(&bus->lock);
}

int bus__add(struct bus *bus, const struct bus_range *range)
{
	int ret = -ENOSPC;

	if (!range->size || range->base > UINT64_MAX - (range->size - 1))
		return -EINVAL;
	pthread_rwlock_wrlock(&bus->lock);
	if (bus->nr < BUS_MAX_RANGES) {
		bus->range[bus->nr++] = *range;
		ret = 0;
	}
	pthread_rwlock_unlock(&bus->lock);
	return ret;
}

static bool same_range(const struct bus_range *a, const struct bus_range *b)
{
	return a->base == b->base && a->size == b->size && a->ops == b->ops && a->dev == b->dev;
}

int bus__remove(struct bus *bus, const struct bus_range *range)
{
	int ret = -ENOENT;
	unsigned int i;

	pthread_rwlock_wrlock(&bus->lock);
	for (i = 0; i < bus->nr; i++) {
		if (!same_range(&bus->range[i], range))
			continue;
		/* The order decides which of two overlapping ranges answers: keep it. */
		bus->nr--;
		memmove(&bus->range[i], &bus->range[i + 1], (bus->nr - i) * sizeof(bus->range[0]));
		ret = 0;
		break;
	}
	pthread_rwlock_unlock(&bus->lock);
	return ret;
}

/* Copy out the range that holds the whole access, so that the lock can go. */
static bool lookup(struct bus *bus, uint64_t addr, unsigned int len, struct bus_range *found)
{
	const struct bus_range *r;
	bool hit = false;
	unsigned int i;

	if (len != 1 && len != 2 && len != 4 && len != 8)
		return false;
	pthread_rwlock_rdlock(&bus->lock);
	for (i = 0; i < bus->nr && !hit; i++) {
		r = &bus->range[i];
		hit = addr >= r->base && addr - r->base < r->size &&
		      len <= r->size - (addr - r->base);
		if (hit)
			*found = *r;
	}
	pthread_rwlock_unlock(&bus->lock);
	return hit;
}

bool bus__read(struct bus *bus, uint64_t addr, void *data, unsigned int len)
{
	struct bus_range r;

	/* First, so that a handler which leaves @data alone reveals nothing. */
	memset(data, 0xff, len);
	if (!lookup(bus, addr, len, &r))
		return false;
	if (r.ops->read)
		r.ops->read(r.dev, addr - r.base, data, len);
	return true;
}

bool bus__write(struct bus *bus, uint64_t addr, const void *data, unsigned int len)
{
	struct bus_range r;

	if (!lookup(bus, addr, len, &r))
		return false;
	if (r.ops->write)
		r.ops->write(r.dev, addr - r.base, data, len);
	return true;
}
