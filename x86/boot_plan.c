// SPDX-License-Identifier: GPL-2.0-only
/* Where kernel, initrd and command line go.  Pure arithmetic, nothing is touched. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <lkvm/boot.h>

#include "kernel_file.h"

#define PAGE ((uint64_t)4096)
#define MIB ((uint64_t)1024 * 1024)
#define CMDLINE_OLD 255 /* where the header does not say */
#define INITRD_MAX_OLD 0x37ffffffULL

static uint64_t to_mib_up(uint64_t bytes)
{
	return bytes / MIB + !!(bytes % MIB);
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int plan_cmdline(struct boot_plan *plan, const struct kernel *kernel, const char *cmdline,
			struct lk_err *err)
{
	uint64_t limit = kernel->hdr.cmdline_size ? kernel->hdr.cmdline_size : CMDLINE_OLD;
	size_t len = strlen(cmdline);

	if (limit > X86_CMDLINE_MAX - 1)
		limit = X86_CMDLINE_MAX - 1;
	if (len > limit)
		return lk_err__set(err, -E2BIG,
				   "the kernel command line has %zu characters, this kernel takes "
				   "%" PRIu64 "; shorten -p",
				   len, limit);
	plan->cmdline_size = len + 1;
	return 0;
}

/* Kernel and initrd have to lie in the RAM below 3 GiB: @need is the end of both. */
static int no_room(uint64_t need, const struct kernel *kernel, const struct boot_plan *plan,
		   uint64_t ram, uint64_t initrd_size, struct lk_err *err)
{
	char initrd[80] = "", remedy[120];

	if (initrd_size)
		snprintf(initrd, sizeof(initrd),
			 " and an initrd of %" PRIu64 " MiB (%" PRIu64 " bytes)",
			 to_mib_up(initrd_size), initrd_size);
	if (need <= X86_HOLE_START)
		snprintf(remedy, sizeof(remedy), "the least that would do is -m %" PRIu64 " (MiB)",
			 to_mib_up(need));
	else
		snprintf(remedy, sizeof(remedy),
			 "no -m would do, they have to lie below %" PRIu64 " MiB",
			 (uint64_t)X86_HOLE_START / MIB);
	return kernel_file__refuse(err, -ENOSPC, kernel->path,
				   "the kernel needs %" PRIu64 " MiB from address %" PRIu64
				   " MiB on%s, but only %" PRIu64
				   " MiB of memory are there for them; %s",
				   to_mib_up(plan->kernel_end - plan->kernel_start),
				   plan->kernel_start / MIB, initrd, ram / MIB, remedy);
}

/* The first page that the kernel leaves to an initrd; UINT64_MAX: there is none. */
static uint64_t initrd_floor(const struct boot_plan *plan)
{
	uint64_t floor = max_u64(plan->kernel_end, X86_HIGH_START);

	return floor <= UINT64_MAX - (PAGE - 1) ? (floor + PAGE - 1) & ~(PAGE - 1) : UINT64_MAX;
}

static uint64_t initrd_limit(const struct kernel *kernel)
{
	uint64_t max = kernel->hdr.initrd_addr_max;

	return (max ? max : INITRD_MAX_OLD) + 1;
}

/* Memory is too small.  Say at once what kernel and initrd take together. */
static int too_small(const struct boot_plan *plan, const struct kernel *kernel, uint64_t ram,
		     uint64_t initrd, struct lk_err *err)
{
	uint64_t limit = initrd_limit(kernel), need;

	if (__builtin_add_overflow(initrd_floor(plan), initrd, &need))
		need = UINT64_MAX;
	if (initrd && need > limit)
		return lk_err__set(err, -ENOSPC,
				   "the initrd has %" PRIu64 " MiB (%" PRIu64
				   " bytes), but this kernel takes it only between its own end at "
				   "%" PRIu64 " MiB and %" PRIu64
				   " MiB; no -m would do, make the initrd smaller",
				   to_mib_up(initrd), initrd, to_mib_up(plan->kernel_end),
				   limit / MIB);
	return no_room(need, kernel, plan, ram, initrd, err);
}

static int plan_kernel(struct boot_plan *plan, const struct kernel *kernel, uint64_t ram,
		       uint64_t initrd_size, struct lk_err *err)
{
	plan->kernel_start = kernel->pref_address;
	if (__builtin_add_overflow(kernel->pref_address, kernel->init_size, &plan->kernel_end))
		return -EINVAL; /* kernel__open() lets none through */
	plan->entry = kernel->entry;
	if (kernel->kind == KERNEL_BZIMAGE)
		plan->entry += plan->kernel_start;
	if (plan->kernel_end > ram)
		return too_small(plan, kernel, ram, initrd_size, err);
	return 0;
}

/*
 * As high as it can go, so that nothing that the kernel takes for itself while
 * it starts up gets near.  Low RAM alone: it is one e820 region above 1 MiB.
 */
static int plan_initrd(struct boot_plan *plan, const struct kernel *kernel, uint64_t ram,
		       uint64_t size, struct lk_err *err)
{
	uint64_t limit = initrd_limit(kernel), top = ram < limit ? ram : limit;

	if (top < size || ((top - size) & ~(PAGE - 1)) < initrd_floor(plan))
		return too_small(plan, kernel, ram, size, err);
	plan->initrd_start = (top - size) & ~(PAGE - 1);
	plan->initrd_size = size;
	return 0;
}

int boot__plan(struct boot_plan *plan, const struct kernel *kernel, const struct x86_map *map,
	       uint64_t initrd_size, const char *cmdline, struct lk_err *err)
{
	uint64_t ram = map->ram[0].size;
	int ret;

	memset(plan, 0, sizeof(*plan));
	ret = plan_kernel(plan, kernel, ram, initrd_size, err);
	if (ret < 0)
		return ret;
	if (initrd_size) {
		ret = plan_initrd(plan, kernel, ram, initrd_size, err);
		if (ret < 0)
			return ret;
	}
	return plan_cmdline(plan, kernel, cmdline, err);
}
