// SPDX-License-Identifier: GPL-2.0-only
#include "payload.h"

/*
 * The tables lie in memory that level 3 can write, and an entry that becomes
 * present needs no TLB flush (SDM vol. 3, 4.10.4.3): so this is plain code.
 */
extern uint64_t pml4[512];

#define PTE_TABLE 0x67 /* present, writable, user, accessed, dirty */
#define PTE_PAGE 0xe7 /* likewise, and a 2 MiB page */
#define PTE_UNCACHED 0x18 /* PCD, PWT */
#define PTE_ADDR 0x000ffffffffff000ULL
#define LARGE (1ULL << 21)

static uint64_t *table__next(uint64_t *entry)
{
	if (!(*entry & 1))
		*entry = (uintptr_t)mem__alloc(PAGE_SIZE, PAGE_SIZE) | PTE_TABLE;
	return (uint64_t *)(*entry & PTE_ADDR);
}

void paging__map(uint64_t addr, uint64_t size, bool device)
{
	uint64_t page = addr & -LARGE, end = addr + size;

	for (; page < end; page += LARGE) {
		uint64_t *pdpt = table__next(&pml4[page >> 39 & 511]);
		uint64_t *pd = table__next(&pdpt[page >> 30 & 511]);
		uint64_t *entry = &pd[page >> 21 & 511];

		if (!(*entry & 1))
			*entry = page | PTE_PAGE | (device ? PTE_UNCACHED : 0);
	}
}
