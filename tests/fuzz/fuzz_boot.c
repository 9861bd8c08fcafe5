// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where things lie: the memory map, the e820 table, and the places of kernel,
 * initrd and command line.  The input has the sizes.  What is placed overlaps
 * nothing; where something does not fit, the -m that the message names does,
 * and a MiB less (or more) does not.
 *
 * options: -max_len=64
 */
#include <errno.h>

#include "fuzz.h"
#include "x86/boot_int.h"

#define MIB (1ULL << 20)
#define PAGE 4096ULL
#define CMDLINE_TRIED (X86_CMDLINE_MAX + 16)

/* ---- the memory map ---- */

static void check_regions(const struct x86_map *map, uint64_t ram, unsigned int bits)
{
	uint64_t sum = 0, end = 0;

	FUZZ_CHECK(map->nr_ram >= 1 && map->nr_ram <= X86_MAP_RAM && !map->ram[0].base);
	FUZZ_CHECK(map->ram[0].size <= X86_HOLE_START);
	for (unsigned int i = 0; i < map->nr_ram; i++) {
		uint64_t base = map->ram[i].base;

		FUZZ_CHECK(base >= end && map->ram[i].size && !(map->ram[i].size % PAGE));
		FUZZ_CHECK(!i || base >= X86_HOLE_END);
		end = base + map->ram[i].size;
		FUZZ_CHECK(end <= X86_HT_HOLE_START || base >= X86_HT_HOLE_END);
		sum += map->ram[i].size;
	}
	FUZZ_CHECK(sum == ram);
	FUZZ_CHECK(map->bar64_base >= end && map->bar64_base >= X86_HOLE_END);
	FUZZ_CHECK(map->bar64_size >= 1024 * MIB);
	end = map->bar64_base + map->bar64_size;
	FUZZ_CHECK(end <= 1ULL << (bits < 52 ? bits : 52));
	FUZZ_CHECK(end <= X86_HT_HOLE_START || map->bar64_base >= X86_HT_HOLE_END);
}

/* "-m N (MiB)" in a message; false: there is none. */
static bool find_remedy(const char *msg, const char *before, uint64_t *mib)
{
	const char *p = strstr(msg, before);

	if (!p)
		return false;
	*mib = strtoull(p + strlen(before), NULL, 10);
	return true;
}

static void check_most(const char *msg, unsigned int bits)
{
	struct x86_map map;
	uint64_t most;

	if (!find_remedy(msg, "the most that does is -m ", &most))
		return;
	FUZZ_CHECK(!x86_map__init(&map, most * MIB, bits, NULL));
	FUZZ_CHECK(x86_map__init(&map, (most + 1) * MIB, bits, NULL) == -EINVAL);
}

static bool make_map(struct x86_map *map, uint64_t ram, unsigned int bits)
{
	struct lk_err err = {""};

	if (x86_map__init(map, ram, bits, &err)) {
		FUZZ_CHECK(*err.msg);
		check_most(err.msg, bits);
		return false;
	}
	check_regions(map, ram, bits);
	return true;
}

/* The table is ascending without overlaps, and has all RAM but the hole below 1 MiB. */
static void check_e820(const struct x86_map *map, uint64_t ram)
{
	struct boot_params params = {0};
	uint64_t end = 0, usable = 0;

	e820__fill(&params, map);
	FUZZ_CHECK(params.e820_entries > 1 && params.e820_entries <= E820_MAX_ENTRIES_ZEROPAGE);
	for (unsigned int i = 0; i < params.e820_entries; i++) {
		const struct boot_e820_entry *e = &params.e820_table[i];

		FUZZ_CHECK(e->addr >= end && e->size);
		end = e->addr + e->size;
		usable += e->type == 1 ? e->size : 0;
	}
	FUZZ_CHECK(usable == ram - (X86_HIGH_START - X86_EBDA));
}

/* ---- the plan ---- */

/* A kernel as kernel__open() lets through: start and end do not wrap. */
static void make_kernel(struct kernel *kernel, struct fuzz_in *in)
{
	unsigned int shape = fuzz__take(in, 1);

	memset(kernel, 0, sizeof(*kernel));
	kernel->path = "kernel";
	kernel->kind = shape & 1 ? KERNEL_BZIMAGE : KERNEL_ELF;
	kernel->pref_address =
		shape & 2 ? X86_HIGH_START + (fuzz__take(in, 4) & ~0xfffULL) : fuzz__take(in, 8);
	kernel->init_size = fuzz__take(in, shape & 4 ? 8 : 4);
	if (kernel->init_size > UINT64_MAX - kernel->pref_address)
		kernel->init_size = UINT64_MAX - kernel->pref_address;
	kernel->entry = kernel->kind == KERNEL_BZIMAGE ? 0x200 : kernel->pref_address;
	kernel->hdr.cmdline_size = shape & 8 ? fuzz__take(in, 4) : 2047;
	kernel->hdr.initrd_addr_max = shape & 16 ? fuzz__take(in, 4) : 0x7fffffff;
}

static void check_plan(const struct boot_plan *plan, const struct kernel *kernel,
		       const struct x86_map *map, uint64_t initrd, size_t cmdline)
{
	uint64_t low = map->ram[0].size, max = kernel->hdr.initrd_addr_max;

	max = max ? max : 0x37ffffff; /* boot.rst: protocols that do not say */
	FUZZ_CHECK(plan->kernel_start == kernel->pref_address);
	FUZZ_CHECK(plan->kernel_end == kernel->pref_address + kernel->init_size);
	FUZZ_CHECK(plan->kernel_end <= low && plan->cmdline_size == cmdline + 1);
	FUZZ_CHECK(plan->cmdline_size <= X86_CMDLINE_MAX);
	FUZZ_CHECK(plan->initrd_size == initrd);
	if (!initrd)
		return;
	FUZZ_CHECK(!(plan->initrd_start % PAGE) && plan->initrd_start >= X86_HIGH_START);
	FUZZ_CHECK(plan->initrd_start >= plan->kernel_end);
	FUZZ_CHECK(initrd <= low && plan->initrd_start <= low - initrd);
	FUZZ_CHECK(plan->initrd_start + initrd - 1 <= max);
	/* as high as it goes: a page more would be too far */
	FUZZ_CHECK(plan->initrd_start + PAGE + initrd > low ||
		   plan->initrd_start + PAGE + initrd - 1 > max);
}

static int try_plan(const struct kernel *kernel, uint64_t mib, uint64_t initrd)
{
	struct boot_plan plan;
	struct x86_map map;

	FUZZ_CHECK(!x86_map__init(&map, mib * MIB, 46, NULL));
	return boot__plan(&plan, kernel, &map, initrd, "", NULL);
}

static void check_refusal(const char *msg, const struct kernel *kernel, uint64_t initrd)
{
	uint64_t least;

	if (find_remedy(msg, "the least that would do is -m ", &least)) {
		FUZZ_CHECK(!try_plan(kernel, least, initrd));
		FUZZ_CHECK(least < 2 || try_plan(kernel, least - 1, initrd) == -ENOSPC);
	} else {
		FUZZ_CHECK(strstr(msg, "no -m would do"));
		FUZZ_CHECK(try_plan(kernel, 8192, initrd) == -ENOSPC);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = {data, size};
	static char cmdline[CMDLINE_TRIED + 1];
	struct lk_err err = {""};
	struct boot_plan plan;
	struct kernel kernel;
	struct x86_map map;
	uint64_t ram, initrd;
	unsigned int bits;
	size_t len;
	int ret;

	bits = fuzz__take(&in, 1) & 63;
	ram = fuzz__take(&in, 5);
	/* in bytes, pages, MiB or GiB */
	ram = (ram >> 2) << ((unsigned int[]) {0, 12, 20, 30})[ram & 3];
	if (!make_map(&map, ram, bits))
		return 0;
	check_e820(&map, ram);
	make_kernel(&kernel, &in);
	initrd = fuzz__take(&in, 5);
	len = fuzz__take(&in, 3) % CMDLINE_TRIED;
	memset(cmdline, 'x', len);
	cmdline[len] = '\0';
	ret = boot__plan(&plan, &kernel, &map, initrd, cmdline, &err);
	if (!ret)
		check_plan(&plan, &kernel, &map, initrd, len);
	else if (ret == -ENOSPC)
		check_refusal(err.msg, &kernel, initrd);
	else
		FUZZ_CHECK(ret == -E2BIG && len > (kernel.hdr.cmdline_size ? 0 : 255));
	return 0;
}
