// SPDX-License-Identifier: GPL-2.0-only
/*
 * ELF: an uncompressed vmlinux, or a freestanding payload.  Only the PT_LOAD
 * headers count; sections and notes (PVH or other) are never looked at.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <lkvm/boot.h>

#include "kernel_file.h"

#define MAX_PHDRS 128
#define INITRD_ADDR_MAX 0x7fffffff /* as in the setup header of every x86-64 kernel */
#define CMDLINE_SIZE 2047 /* COMMAND_LINE_SIZE of x86 without the final NUL */

#define BROKEN "is a damaged ELF file: "
#define AGAIN "; copy or build it again"

/* What lkvm itself puts below 1 MiB: no segment may lie there. */
static const struct {
	uint64_t start, end;
	const char *what;
} reserved[] = {
	{X86_BOOT_GDT, X86_BOOT_GDT + 0x100, "the GDT"},
	{X86_BOOT_PARAMS, X86_BOOT_PARAMS + 0x1000, "the boot parameters"},
	{X86_BOOT_PGTABLE, X86_BOOT_PGTABLE + 6 * 0x1000, "the page tables"},
	{X86_CMDLINE, X86_CMDLINE + X86_CMDLINE_MAX, "the command line"},
	{X86_EBDA, X86_HIGH_START, "the firmware area up to 1 MiB"},
};

bool kernel_elf__is(const struct kernel_file *file)
{
	return kernel_file__has(file, 0, ELFMAG, SELFMAG);
}

static const char *machine_name(unsigned int machine)
{
	switch (machine) {
	case EM_386:
		return "32-bit x86 (i386)";
	case EM_AARCH64:
		return "arm64";
	case EM_ARM:
		return "arm";
	case EM_RISCV:
		return "RISC-V";
	case EM_PPC64:
		return "ppc64";
	case EM_S390:
		return "s390";
	case EM_MIPS:
		return "MIPS";
	default:
		return "another machine";
	}
}

/* e_type and e_machine have the same place in both ELF classes. */
static int check_machine(const Elf64_Ehdr *eh, const struct kernel_file *file, struct lk_err *err)
{
	if (file->head_len < sizeof(*eh))
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   "is a truncated ELF file of %" PRIu64 " bytes" AGAIN,
					   file->size);
	if (eh->e_ident[EI_DATA] == ELFDATA2MSB)
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   "is a big-endian ELF file for another machine; "
					   "give a kernel for x86-64");
	if (eh->e_machine != EM_X86_64)
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   "is an ELF file for %s (e_machine %u); "
					   "give a kernel for x86-64",
					   machine_name(eh->e_machine), eh->e_machine);
	if (eh->e_ident[EI_CLASS] != ELFCLASS64)
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   "is a 32-bit ELF file; give a 64-bit kernel for x86-64");
	return 0;
}

static int check_type(const Elf64_Ehdr *eh, const struct kernel_file *file, struct lk_err *err)
{
	switch (eh->e_type) {
	case ET_EXEC:
		return 0;
	case ET_REL:
		return kernel_file__refuse(
			err, -ENOEXEC, file->path,
			"is a relocatable object (.o or .ko), not a linked kernel; "
			"give the vmlinux or bzImage of the build");
	case ET_DYN:
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   "is a shared object or position-independent program, "
					   "not a kernel; give a vmlinux or bzImage");
	case ET_CORE:
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   "is a core dump, not a kernel; "
					   "give a vmlinux or bzImage");
	default:
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   BROKEN "its type %u is unknown" AGAIN, eh->e_type);
	}
}

static int check_phdrs(const Elf64_Ehdr *eh, const struct kernel_file *file, struct lk_err *err)
{
	uint64_t len = eh->e_phnum * (uint64_t)sizeof(Elf64_Phdr);
	uint64_t end;

	if (eh->e_phnum == 0 || eh->e_phnum > MAX_PHDRS)
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   BROKEN "it has %u program headers, a kernel has 1 to %u "
						  "of them" AGAIN,
					   eh->e_phnum, MAX_PHDRS);
	if (eh->e_phentsize != sizeof(Elf64_Phdr))
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   BROKEN "its program headers have %u bytes each, "
						  "not %zu" AGAIN,
					   eh->e_phentsize, sizeof(Elf64_Phdr));
	if (__builtin_add_overflow(eh->e_phoff, len, &end) || end > file->size)
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   BROKEN "program headers at 0x%" PRIx64
						  " are not in the file of %" PRIu64 " bytes" AGAIN,
					   (uint64_t)eh->e_phoff, file->size);
	return 0;
}

static int check_load(const Elf64_Phdr *ph, const struct kernel_file *file, struct lk_err *err)
{
	uint64_t end;

	if (ph->p_filesz > ph->p_memsz)
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   BROKEN "a segment has %" PRIu64
						  " bytes in the file but %" PRIu64
						  " in memory" AGAIN,
					   (uint64_t)ph->p_filesz, (uint64_t)ph->p_memsz);
	if (__builtin_add_overflow(ph->p_offset, ph->p_filesz, &end) || end > file->size)
		return kernel_file__refuse(
			err, -ENOEXEC, file->path,
			"is a truncated or damaged ELF file: a segment of %" PRIu64
			" bytes at offset %" PRIu64 " is not in the file of %" PRIu64
			" bytes" AGAIN,
			(uint64_t)ph->p_filesz, (uint64_t)ph->p_offset, file->size);
	if (__builtin_add_overflow(ph->p_paddr, ph->p_memsz, &end))
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   BROKEN "a segment of %" PRIu64 " bytes at 0x%" PRIx64
						  " wraps round the end of memory" AGAIN,
					   (uint64_t)ph->p_memsz, (uint64_t)ph->p_paddr);
	for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (ph->p_paddr < reserved[i].end && end > reserved[i].start)
			return kernel_file__refuse(err, -ENOEXEC, file->path,
						   "has a segment at physical address 0x%" PRIx64
						   " to 0x%" PRIx64
						   ", where %s will be; link it to 1 MiB or above",
						   (uint64_t)ph->p_paddr, end, reserved[i].what);
	return 0;
}

static bool overlaps(const struct kernel *kernel, const Elf64_Phdr *ph)
{
	for (unsigned int i = 0; i < kernel->nr_segments; i++) {
		const struct kernel_segment *seg = &kernel->segment[i];

		if (ph->p_paddr < seg->paddr + seg->mem_size &&
		    seg->paddr < ph->p_paddr + ph->p_memsz)
			return true;
	}
	return false;
}

static int add_load(struct kernel *kernel, const Elf64_Phdr *ph, const struct kernel_file *file,
		    struct lk_err *err)
{
	int ret = check_load(ph, file, err);

	if (ret < 0)
		return ret;
	if (kernel->nr_segments == KERNEL_MAX_SEGMENTS)
		return kernel_file__refuse(
			err, -ENOEXEC, file->path,
			"has more than %u loadable segments, a vmlinux has about "
			"5; give a vmlinux or bzImage",
			KERNEL_MAX_SEGMENTS);
	if (overlaps(kernel, ph))
		return kernel_file__refuse(
			err, -ENOEXEC, file->path,
			BROKEN "its segments overlap at physical address 0x%" PRIx64 AGAIN,
			(uint64_t)ph->p_paddr);
	kernel->segment[kernel->nr_segments++] = (struct kernel_segment) {
		.offset = ph->p_offset,
		.file_size = ph->p_filesz,
		.mem_size = ph->p_memsz,
		.paddr = ph->p_paddr,
	};
	return 0;
}

static int read_phdrs(Elf64_Phdr *ph, const Elf64_Ehdr *eh, const struct kernel_file *file,
		      struct lk_err *err)
{
	int ret = kernel_file__read(file->fd, ph, eh->e_phnum * sizeof(*ph), eh->e_phoff);

	if (ret < 0)
		return kernel_file__refuse(err, ret, file->path, "cannot read its headers: %s",
					   ret == -ENODATA ? "the file got shorter"
							   : strerror(-ret));
	return 0;
}

static int add_segments(struct kernel *kernel, const Elf64_Phdr *ph, unsigned int nr,
			const struct kernel_file *file, struct lk_err *err)
{
	for (unsigned int i = 0; i < nr; i++) {
		int ret = 0;

		if (ph[i].p_type == PT_INTERP)
			return kernel_file__refuse(err, -ENOEXEC, file->path,
						   "is a program for Linux, not a kernel; "
						   "give a vmlinux or bzImage");
		if (ph[i].p_type == PT_LOAD && ph[i].p_memsz)
			ret = add_load(kernel, &ph[i], file, err);
		if (ret < 0)
			return ret;
	}
	if (!kernel->nr_segments)
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   BROKEN "it has nothing to load (no PT_LOAD)" AGAIN);
	return 0;
}

/*
 * A vmlinux has the physical address of startup_64 as its entry; other linker
 * scripts leave a virtual one, which goes through the segment that holds it.
 * Only bytes that come from the file can be code.
 */
static int find_entry(struct kernel *kernel, uint64_t entry, const Elf64_Phdr *ph, unsigned int nr,
		      const struct kernel_file *file, struct lk_err *err)
{
	for (unsigned int i = 0; i < nr; i++)
		if (ph[i].p_type == PT_LOAD && entry >= ph[i].p_paddr &&
		    entry - ph[i].p_paddr < ph[i].p_filesz) {
			kernel->entry = entry;
			return 0;
		}
	for (unsigned int i = 0; i < nr; i++)
		if (ph[i].p_type == PT_LOAD && entry >= ph[i].p_vaddr &&
		    entry - ph[i].p_vaddr < ph[i].p_filesz) {
			kernel->entry = entry - ph[i].p_vaddr + ph[i].p_paddr;
			return 0;
		}
	return kernel_file__refuse(err, -ENOEXEC, file->path,
				   BROKEN "its entry point 0x%" PRIx64 " is in no segment" AGAIN,
				   entry);
}

/* The setup header that a bzImage of the same kernel would have brought along. */
static void make_header(struct kernel *kernel)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (unsigned int i = 0; i < kernel->nr_segments; i++) {
		const struct kernel_segment *seg = &kernel->segment[i];

		if (seg->paddr < start)
			start = seg->paddr;
		if (seg->paddr + seg->mem_size > end)
			end = seg->paddr + seg->mem_size;
	}
	kernel->pref_address = start;
	kernel->init_size = end - start;
	kernel->hdr = (struct setup_header) {
		.boot_flag = 0xaa55,
		.header = 0x53726448, /* "HdrS" */
		.version = 0x020f,
		.vid_mode = 0xffff, /* "normal" */
		.loadflags = LOADED_HIGH,
		.initrd_addr_max = INITRD_ADDR_MAX,
		.kernel_alignment = 0x1000,
		.xloadflags = XLF_KERNEL_64,
		.cmdline_size = CMDLINE_SIZE,
		.pref_address = start,
		.init_size = end - start < UINT32_MAX ? end - start : UINT32_MAX,
	};
}

int kernel_elf__parse(struct kernel *kernel, const struct kernel_file *file, struct lk_err *err)
{
	Elf64_Phdr ph[MAX_PHDRS];
	Elf64_Ehdr eh;
	int ret;

	kernel->kind = KERNEL_ELF;
	memcpy(&eh, file->head, sizeof(eh));
	ret = check_machine(&eh, file, err);
	if (ret < 0)
		return ret;
	ret = check_type(&eh, file, err);
	if (ret < 0)
		return ret;
	ret = check_phdrs(&eh, file, err);
	if (ret < 0)
		return ret;
	ret = read_phdrs(ph, &eh, file, err);
	if (ret < 0)
		return ret;
	ret = add_segments(kernel, ph, eh.e_phnum, file, err);
	if (ret < 0)
		return ret;
	ret = find_entry(kernel, eh.e_entry, ph, eh.e_phnum, file, err);
	if (ret < 0)
		return ret;
	make_header(kernel);
	return 0;
}
