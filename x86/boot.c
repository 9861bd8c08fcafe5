// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fill guest memory for the 64-bit boot protocol (boot.rst, "64-bit Boot
 * Protocol"): kernel, initrd, command line, zero page, GDT, page tables.
 */
#include <errno.h>
#include <string.h>

#include <lkvm/boot.h>

#include "boot_int.h"
#include "kernel_file.h"

#define LOADER_UNDEFINED 0xff /* no id assigned */

#define PTE_PRESENT 0x1ULL
#define PTE_WRITE 0x2ULL
#define PTE_LARGE 0x80ULL
#define PT_ENTRIES 512
#define PGTABLE_PAGES 6 /* PML4, PDPT, 4 PDs */

/* A place that the plan chose is not RAM: the map or the memory is another one. */
static int not_ram(const char *what, uint64_t gpa, struct lk_err *err)
{
	return lk_err__set(err, -EFAULT, "%s at guest address 0x%llx is outside of guest memory",
			   what, (unsigned long long)gpa);
}

static int put(const struct guest_mem *mem, uint64_t gpa, const void *data, size_t len,
	       const char *what, struct lk_err *err)
{
	if (guest_mem__write(mem, gpa, data, len) < 0)
		return not_ram(what, gpa, err);
	return 0;
}

static int load_segment(const struct guest_mem *mem, const struct kernel *kernel,
			const struct kernel_segment *seg, uint64_t gpa, struct lk_err *err)
{
	char *p = guest_mem__ptr(mem, gpa, seg->mem_size);
	int ret;

	if (!p)
		return not_ram("the kernel", gpa, err);
	ret = kernel_file__read(kernel->fd, p, seg->file_size, seg->offset);
	if (ret == -ENODATA)
		return kernel_file__refuse(err, ret, kernel->path,
					   "the kernel got shorter while it was being loaded; "
					   "try again when it is complete");
	if (ret < 0)
		return kernel_file__refuse(err, ret, kernel->path, "cannot read the kernel: %s",
					   strerror(-ret));
	memset(p + seg->file_size, 0, seg->mem_size - seg->file_size);
	return 0;
}

static int load_kernel(const struct boot_plan *plan, const struct kernel *kernel,
		       const struct guest_mem *mem, struct lk_err *err)
{
	uint64_t base = kernel->kind == KERNEL_BZIMAGE ? plan->kernel_start : 0;

	for (unsigned int i = 0; i < kernel->nr_segments; i++) {
		const struct kernel_segment *seg = &kernel->segment[i];
		int ret = load_segment(mem, kernel, seg, base + seg->paddr, err);

		if (ret < 0)
			return ret;
	}
	return 0;
}

static int load_initrd(const struct boot_plan *plan, const struct guest_mem *mem, int fd,
		       struct lk_err *err)
{
	void *p;
	int ret;

	if (!plan->initrd_size)
		return 0;
	p = guest_mem__ptr(mem, plan->initrd_start, plan->initrd_size);
	if (!p)
		return not_ram("the initrd", plan->initrd_start, err);
	ret = kernel_file__read(fd, p, plan->initrd_size, 0);
	if (ret == -ENODATA)
		return lk_err__set(err, ret,
				   "the initrd got shorter while it was being loaded; "
				   "try again when it is complete");
	if (ret < 0)
		return lk_err__set(err, ret, "cannot read the initrd: %s", strerror(-ret));
	return 0;
}

static int write_zero_page(const struct boot_plan *plan, const struct kernel *kernel,
			   const struct x86_map *map, const struct guest_mem *mem, uint64_t rsdp,
			   struct lk_err *err)
{
	struct boot_params params = {.hdr = kernel->hdr};

	params.hdr.type_of_loader = LOADER_UNDEFINED;
	params.hdr.loadflags |= LOADED_HIGH;
	/* No real-mode stage, so no heap for it. */
	params.hdr.loadflags &= ~(CAN_USE_HEAP | KASLR_FLAG | KEEP_SEGMENTS);
	params.hdr.ramdisk_image = plan->initrd_start;
	params.ext_ramdisk_image = plan->initrd_start >> 32;
	params.hdr.ramdisk_size = plan->initrd_size;
	params.ext_ramdisk_size = plan->initrd_size >> 32;
	params.hdr.cmd_line_ptr = X86_CMDLINE;
	params.ext_cmd_line_ptr = (uint64_t)X86_CMDLINE >> 32;
	params.acpi_rsdp_addr = rsdp;
	e820__fill(&params, map);
	return put(mem, X86_BOOT_PARAMS, &params, sizeof(params), "the zero page", err);
}

/* __BOOT_CS 0x10 and __BOOT_DS 0x18, flat, as the protocol asks. */
static int write_gdt(const struct guest_mem *mem, struct lk_err *err)
{
	static const uint64_t gdt[] = {
		0, 0, 0x00af9b000000ffffULL, /* 64-bit code: present, execute and read, accessed */
		0x00cf93000000ffffULL, /* data: present, read and write, accessed */
	};

	return put(mem, X86_BOOT_GDT, gdt, sizeof(gdt), "the GDT", err);
}

/* Identity map of the first 4 GiB in pages of 2 MiB, for level 0 alone. */
static int write_page_tables(const struct guest_mem *mem, struct lk_err *err)
{
	const uint64_t table = PTE_PRESENT | PTE_WRITE;
	uint64_t *pml4 = guest_mem__ptr(mem, X86_BOOT_PGTABLE, PGTABLE_PAGES * 4096);
	uint64_t *pdpt, *pd;

	if (!pml4)
		return not_ram("the page tables", X86_BOOT_PGTABLE, err);
	pdpt = pml4 + PT_ENTRIES;
	pd = pdpt + PT_ENTRIES;

	memset(pml4, 0, 2 * 4096);
	pml4[0] = (X86_BOOT_PGTABLE + 4096) | table;
	for (uint64_t i = 0; i < 4; i++)
		pdpt[i] = (X86_BOOT_PGTABLE + (2 + i) * 4096) | table;
	for (uint64_t i = 0; i < 4 * PT_ENTRIES; i++)
		pd[i] = i << 21 | PTE_LARGE | table;
	return 0;
}

int boot__load(const struct boot_plan *plan, const struct kernel *kernel, const struct x86_map *map,
	       const struct guest_mem *mem, int initrd_fd, const char *cmdline, uint64_t rsdp,
	       struct lk_err *err)
{
	int ret;

	if (strlen(cmdline) + 1 != plan->cmdline_size || (plan->initrd_size && initrd_fd < 0))
		return lk_err__set(err, -EINVAL, "the boot plan is for something else");
	ret = load_kernel(plan, kernel, mem, err);
	if (ret < 0)
		return ret;
	ret = load_initrd(plan, mem, initrd_fd, err);
	if (ret < 0)
		return ret;
	ret = put(mem, X86_CMDLINE, cmdline, plan->cmdline_size, "the command line", err);
	if (ret < 0)
		return ret;
	ret = write_zero_page(plan, kernel, map, mem, rsdp, err);
	if (ret < 0)
		return ret;
	ret = write_gdt(mem, err);
	if (ret < 0)
		return ret;
	return write_page_tables(mem, err);
}
