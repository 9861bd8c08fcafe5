/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_MEM_H
#define LKVM_MEM_H

#include <stddef.h>
#include <stdint.h>

#include <lkvm/err.h>

/*
 * Guest memory: the one checked way from a guest physical address to a host
 * pointer.  Regions are added before the first vCPU runs and are constant from
 * then on, so that every thread may look up without a lock.
 */
#define GUEST_MEM_REGIONS 4

struct guest_region {
	uint64_t gpa; /* first guest physical address, page aligned */
	uint64_t size; /* bytes, a multiple of the page size */
	void *hva;
};

struct guest_mem {
	struct guest_region region[GUEST_MEM_REGIONS]; /* ascending, disjoint */
	unsigned int nr;
	void *base; /* one mapping for all regions, guard pages at both ends */
	size_t base_size;
};

/*
 * Reserve host memory for @nr regions (gpa and size filled in by the caller,
 * hva by this function): anonymous, no overcommit reserve, transparent huge
 * pages asked for (so hva and gpa are congruent modulo 2 MiB), excluded from
 * core dumps, an inaccessible page at least before and behind each region.
 * Main thread.  0 or -errno, nothing reserved then.  guest_mem__fini() comes
 * after vm__destroy().
 */
int guest_mem__init(struct guest_mem *mem, const struct guest_region *regions, unsigned int nr,
		    struct lk_err *err);
void guest_mem__fini(struct guest_mem *mem);

/*
 * Host pointer for the @len bytes at @gpa, or NULL where @len is 0, the range
 * wraps, or any byte of it lies outside one single region.  Any thread.
 * What the pointer leads to can be changed by the guest at any time: read a
 * field once into a local copy, check the copy, use the copy.
 */
void *guest_mem__ptr(const struct guest_mem *mem, uint64_t gpa, uint64_t len);

/* Copies through the checked pointer.  0, or -EFAULT (@len 0, too) with nothing copied. */
int guest_mem__read(const struct guest_mem *mem, uint64_t gpa, void *buf, size_t len);
int guest_mem__write(const struct guest_mem *mem, uint64_t gpa, const void *buf, size_t len);

#endif
