// SPDX-License-Identifier: GPL-2.0-only
/*
 * pvpanic (QEMU's docs/specs/pvpanic.rst): one byte of event bits.  A read says
 * which events are known, a write says which one happened.
 */
#include <misc/pvpanic.h>

#include <lkvm/x86_map.h>
#include <lkvm/x86_platform.h>

static void pvpanic_read(void *dev, uint64_t off, void *data, unsigned int len)
{
	(void)dev;
	(void)off;
	(void)len;
	*(uint8_t *)data = PVPANIC_PANICKED | PVPANIC_CRASH_LOADED;
}

/* PVPANIC_CRASH_LOADED: a crash kernel takes over, and the outcome will be its own. */
static void pvpanic_write(void *dev, uint64_t off, const void *data, unsigned int len)
{
	struct x86_platform *p = dev;

	(void)off;
	(void)len;
	if (*(const uint8_t *)data & PVPANIC_PANICKED)
		run__panicked(&p->vm->run);
}

const struct bus_ops x86_pvpanic_ops = {
	.read = pvpanic_read,
	.write = pvpanic_write,
};
