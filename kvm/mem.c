/* SPDX-License-Identifier: GPL-2.0-only */
/* Guest memory and the one checked way into it. */
#include <lkvm/mem.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_PAGE (2ULL << 20)
#define MIB_SHIFT 20

static int check_regions(const struct guest_region *r, unsigned int nr, uint64_t page)
{
	uint64_t end = 0; /* of the region before */
	unsigned int i;

	if (!nr || nr > GUEST_MEM_REGIONS)
		return -EINVAL;
	for (i = 0; i < nr; i++) {
		if (!r[i].size || (r[i].gpa | r[i].size) % page)
			return -EINVAL;
		if (r[i].gpa < end || __builtin_add_overflow(r[i].gpa, r[i].size, &end))
			return -EINVAL;
	}
	return 0;
}

/*
 * Bytes of address space: each region may have to be moved up by less than one
 * huge page to get in step with its gpa, after a guard page; one more guard at
 * the end.
 */
static int span(const struct guest_region *r, unsigned int nr, uint64_t page, uint64_t *total)
{
	unsigned int i;

	*total = page;
	for (i = 0; i < nr; i++) {
		if (__builtin_add_overflow(*total, r[i].size, total) ||
		    __builtin_add_overflow(*total, page + HUGE_PAGE, total))
			return -EINVAL;
	}
	return *total > SIZE_MAX / 2 ? -ENOMEM : 0;
}

/*
 * Make the regions accessible inside the reservation.  KVM maps a huge page
 * into the guest only where gpa and hva agree modulo its size.
 */
static int place(struct guest_mem *mem, uint64_t page)
{
	uintptr_t at = (uintptr_t)mem->base;
	struct guest_region *r;
	unsigned int i;

	for (i = 0; i < mem->nr; i++) {
		r = &mem->region[i];
		at += page;
		at += (r->gpa - at) & (HUGE_PAGE - 1);
		r->hva = (void *)at;
		if (mprotect(r->hva, r->size, PROT_READ | PROT_WRITE) < 0)
			return -errno;
		/* Wishes: a host without huge pages (EINVAL) is slower, not wrong. */
		madvise(r->hva, r->size, MADV_HUGEPAGE);
		madvise(r->hva, r->size, MADV_DONTDUMP);
		at += r->size;
	}
	return 0;
}

int guest_mem__init(struct guest_mem *mem, const struct guest_region *regions, unsigned int nr,
		    struct lk_err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t total = 0;
	int ret;

	memset(mem, 0, sizeof(*mem));
	ret = check_regions(regions, nr, page);
	if (!ret)
		ret = span(regions, nr, page, &total);
	if (ret)
		return lk_err__set(err, ret, "guest memory: %u regions do not make a valid map",
				   nr);

	mem->base =
		mmap(NULL, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem->base == MAP_FAILED) {
		ret = -errno;
		mem->base = NULL;
		goto fail;
	}
	mem->base_size = total;
	memcpy(mem->region, regions, nr * sizeof(regions[0]));
	mem->nr = nr;
	ret = place(mem, page);
	if (!ret)
		return 0;
	guest_mem__fini(mem);
fail:
	return lk_err__set(err, ret,
			   "cannot reserve %llu MiB of guest memory: %s; look at ulimit -v and "
			   "vm.overcommit_memory, or give less with -m",
			   (unsigned long long)(total >> MIB_SHIFT), strerror(-ret));
}

void guest_mem__fini(struct guest_mem *mem)
{
	if (mem->base)
		munmap(mem->base, mem->base_size);
	memset(mem, 0, sizeof(*mem));
}

void *guest_mem__ptr(const struct guest_mem *mem, uint64_t gpa, uint64_t len)
{
	const struct guest_region *r;
	unsigned int i;
	uint64_t off;

	if (!len)
		return NULL;
	for (i = 0; i < mem->nr; i++) {
		r = &mem->region[i];
		/* Below the region this wraps to more than any size. */
		off = gpa - r->gpa;
		if (off < r->size)
			return len <= r->size - off ? (char *)r->hva + off : NULL;
	}
	return NULL;
}

int guest_mem__read(const struct guest_mem *mem, uint64_t gpa, void *buf, size_t len)
{
	const void *p = guest_mem__ptr(mem, gpa, len);

	if (!p)
		return -EFAULT;
	memcpy(buf, p, len);
	return 0;
}

int guest_mem__write(const struct guest_mem *mem, uint64_t gpa, const void *buf, size_t len)
{
	void *p = guest_mem__ptr(mem, gpa, len);

	if (!p)
		return -EFAULT;
	memcpy(p, buf, len);
	return 0;
}
