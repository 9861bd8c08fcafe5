/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_BOOT_H
#define LKVM_BOOT_H

#include <asm/bootparam.h>
#include <stdbool.h>
#include <stdint.h>

#include <lkvm/err.h>
#include <lkvm/mem.h>
#include <lkvm/x86_map.h>

/*
 * Loading a kernel: Documentation/arch/x86/boot.rst, the 64-bit boot protocol
 * (no real-mode stage).  Three steps, all in the main thread before any vCPU
 * runs: open (look at the file, touch nothing), plan (place kernel, initrd and
 * command line; pure), load (fill guest memory).
 */
enum kernel_kind {
	KERNEL_BZIMAGE,
	KERNEL_ELF,
};

#define KERNEL_MAX_SEGMENTS 16

struct kernel_segment {
	uint64_t offset; /* in the file */
	uint64_t file_size;
	uint64_t mem_size; /* >= file_size, the rest is zeroed */
	uint64_t paddr; /* ELF: physical address; bzImage: 0, placed by the plan */
};

struct kernel {
	int fd; /* owned, close-on-exec */
	enum kernel_kind kind;
	const char *path; /* the caller's */
	struct setup_header
		hdr; /* bzImage: from the file; ELF: all zero but what the protocol asks */
	struct kernel_segment segment[KERNEL_MAX_SEGMENTS];
	unsigned int nr_segments;
	uint64_t entry; /* ELF: physical entry; bzImage: offset from the load address (0x200) */
	uint64_t init_size; /* bytes the kernel needs from its load address on */
	uint64_t pref_address;
};

struct boot_plan {
	uint64_t kernel_start; /* load address, lowest byte used */
	uint64_t kernel_end; /* one past the last byte that start-up may touch (init_size) */
	uint64_t entry;
	uint64_t initrd_start; /* page aligned, 0: none */
	uint64_t initrd_size; /* bytes */
	uint32_t cmdline_size; /* bytes with the final NUL */
};

/*
 * Recognise @path by content, never by name: bzImage (protocol >= 2.06 with
 * XLF_KERNEL_64) or 64-bit x86 ELF executable.  Everything that the file says
 * is checked against its size.  What is something else is named in @err (text,
 * compressed ELF, EFI zboot, arm64 Image, 32-bit ELF, relocatable, FIFO,
 * truncated, ...), with what would do.  0 or -errno; nothing open on failure.
 */
int kernel__open(struct kernel *kernel, const char *path, struct lk_err *err);
void kernel__close(struct kernel *kernel);

/*
 * Place everything.  The initrd goes as high as initrd_addr_max and low RAM
 * allow, page aligned, not below kernel_end, inside one RAM region.  Where it
 * does not fit, @err has the sizes and the least -m that would do (MiB) and
 * the result is -ENOSPC.  @initrd_size 0: none.
 */
int boot__plan(struct boot_plan *plan, const struct kernel *kernel, const struct x86_map *map,
	       uint64_t initrd_size, const char *cmdline, struct lk_err *err);

/*
 * Read kernel and initrd (@initrd_fd at offset 0, -1: none) into guest memory,
 * write command line, e820 map, zero page (acpi_rsdp_addr = @rsdp), GDT and
 * page tables.  A file that got shorter since is an error, not zeroes.
 */
int boot__load(const struct boot_plan *plan, const struct kernel *kernel, const struct x86_map *map,
	       const struct guest_mem *mem, int initrd_fd, const char *cmdline, uint64_t rsdp,
	       struct lk_err *err);

#endif
