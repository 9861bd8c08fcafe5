// SPDX-License-Identifier: GPL-2.0-only
/*
 * The physical address space of the guest: where RAM lies and where the
 * 64-bit BAR window starts.
 */
#include <errno.h>
#include <inttypes.h>

#include <lkvm/x86_map.h>

#define KIB ((uint64_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

/* Virtio BARs are a few pages each, so a small window is enough where room is short. */
#define BAR64_ALIGN GIB
#define BAR64_MIN GIB
#define BAR64_MAX (64 * GIB)

#define HT_HOLE_SIZE (X86_HT_HOLE_END - X86_HT_HOLE_START)

static void add_ram(struct x86_map *map, uint64_t base, uint64_t size)
{
	map->ram[map->nr_ram].base = base;
	map->ram[map->nr_ram].size = size;
	map->nr_ram++;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Fill the three stretches between the holes; one past the last byte of RAM. */
static uint64_t place_ram(struct x86_map *map, uint64_t ram)
{
	static const struct {
		uint64_t start, end;
	} stretch[X86_MAP_RAM] = {
		{0, X86_HOLE_START},
		{X86_HOLE_END, X86_HT_HOLE_START},
		{X86_HT_HOLE_END, UINT64_MAX},
	};
	uint64_t end = 0;

	map->nr_ram = 0;
	for (unsigned int i = 0; i < X86_MAP_RAM && ram; i++) {
		uint64_t size = min_u64(ram, stretch[i].end - stretch[i].start);

		add_ram(map, stretch[i].start, size);
		end = stretch[i].start + size;
		ram -= size;
	}
	return end;
}

/* The most RAM that leaves room for the smallest BAR window below @limit, a power of two. */
static uint64_t most_ram(uint64_t limit)
{
	uint64_t holes = X86_HOLE_END - X86_HOLE_START + BAR64_MIN;

	if (limit < X86_HOLE_END + BAR64_MIN)
		return 0; /* the window lies above 4 GiB, however little RAM there is */
	if (limit <= X86_HT_HOLE_END)
		limit = min_u64(limit, X86_HT_HOLE_START);
	else
		holes += HT_HOLE_SIZE;
	return limit - holes;
}

/*
 * The window starts right above RAM, at 4 GiB at the lowest.  Where less than
 * the smallest one is left below the HyperTransport hole, it goes behind it.
 */
static int place_bar64(struct x86_map *map, uint64_t ram_end, uint64_t limit)
{
	uint64_t base = ram_end < X86_HOLE_END ? X86_HOLE_END : ram_end;
	uint64_t end;

	base = (base + BAR64_ALIGN - 1) & ~(BAR64_ALIGN - 1);
	if (base + BAR64_MIN > X86_HT_HOLE_START && base < X86_HT_HOLE_END)
		base = X86_HT_HOLE_END;
	end = base < X86_HT_HOLE_START ? min_u64(limit, X86_HT_HOLE_START) : limit;
	if (base >= end || end - base < BAR64_MIN)
		return -EINVAL;

	map->bar64_base = base;
	map->bar64_size = min_u64(end - base, BAR64_MAX);
	return 0;
}

int x86_map__init(struct x86_map *map, uint64_t ram, unsigned int phys_bits, struct lk_err *err)
{
	uint64_t limit, end, most;

	if (ram < MIB || ram & (4 * KIB - 1))
		return lk_err__set(err, -EINVAL,
				   "guest memory of %" PRIu64
				   " bytes: it has to be at least 1 MiB and a multiple of 4 KiB",
				   ram);
	/* 52 bits is the most that a page table entry has (Intel SDM vol. 3, 4.1.4). */
	limit = 1ULL << (phys_bits < 52 ? phys_bits : 52);
	most = most_ram(limit);
	if (!most)
		return lk_err__set(err, -EINVAL,
				   "%u physical address bits of this KVM are too few, "
				   "lkvm needs at least 33",
				   phys_bits);
	if (ram > limit)
		end = limit;
	else
		end = place_ram(map, ram);
	if (ram > limit || place_bar64(map, end, limit) < 0)
		return lk_err__set(err, -EINVAL,
				   "guest memory of %" PRIu64
				   " MiB does not fit below 2^%u (%" PRIu64
				   " GiB), the physical address bits of this KVM; "
				   "the most that does is -m %" PRIu64 " (MiB)",
				   ram / MIB, phys_bits, limit / GIB, most / MIB);
	return 0;
}
