/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_TESTS_KERNEL_MAKE_H
#define LKVM_TESTS_KERNEL_MAKE_H

/* Kernels made in memory, for the tests of loading. */
#include <asm/bootparam.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HDR_OFF offsetof(struct boot_params, hdr)
#define BZ_CODE 4096 /* bytes of protected-mode code */
#define BZ_SECTS 4
#define BZ_SIZE ((BZ_SECTS + 1) * 512 + BZ_CODE)

/* A file without a name; @path (64 bytes) leads to it. */
static inline int make_file(char *path, const void *data, size_t len)
{
	int fd = memfd_create("kernel", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

/* The header of a Debian cloud kernel: load address 16 MiB, init_size 60 MiB. */
static inline struct setup_header *make_bzimage(uint8_t *file)
{
	struct setup_header *hdr = (struct setup_header *)(file + HDR_OFF);

	memset(file, 0, BZ_SIZE);
	file[0] = 'M'; /* as with the EFI stub */
	file[1] = 'Z';
	memset(file + BZ_SIZE - BZ_CODE, 0x90, BZ_CODE);
	*hdr = (struct setup_header) {
		.setup_sects = BZ_SECTS,
		.syssize = BZ_CODE / 16,
		.boot_flag = 0xaa55,
		.jump = 0x6aeb,
		.header = 0x53726448,
		.version = 0x020f,
		.loadflags = LOADED_HIGH,
		.initrd_addr_max = 0x7fffffff,
		.kernel_alignment = 0x200000,
		.relocatable_kernel = 1,
		.xloadflags = 0x7f,
		.cmdline_size = 2047,
		.pref_address = 0x1000000,
		.init_size = 60 << 20,
	};
	return hdr;
}

struct elf_file {
	Elf64_Ehdr eh;
	Elf64_Phdr ph[4];
	uint8_t code[4096];
};

#define ELF_VADDR 0xffffffff81000000ULL
#define ELF_PADDR 0x1000000ULL

/* A note, code at 16 MiB and a second segment behind it that is mostly zeroes. */
static inline void make_elf(struct elf_file *elf)
{
	memset(elf, 0, sizeof(*elf));
	memcpy(elf->eh.e_ident, ELFMAG, SELFMAG);
	elf->eh.e_ident[EI_CLASS] = ELFCLASS64;
	elf->eh.e_ident[EI_DATA] = ELFDATA2LSB;
	elf->eh.e_ident[EI_VERSION] = EV_CURRENT;
	elf->eh.e_type = ET_EXEC;
	elf->eh.e_machine = EM_X86_64;
	elf->eh.e_version = EV_CURRENT;
	elf->eh.e_entry = ELF_PADDR + 0x10;
	elf->eh.e_phoff = offsetof(struct elf_file, ph);
	elf->eh.e_ehsize = sizeof(Elf64_Ehdr);
	elf->eh.e_phentsize = sizeof(Elf64_Phdr);
	elf->eh.e_phnum = 3;
	elf->ph[0] = (Elf64_Phdr) {
		.p_type = PT_NOTE,
		.p_offset = 7, /* notes are nothing to look at, alignment included */
		.p_filesz = 13,
		.p_align = 3,
	};
	elf->ph[1] = (Elf64_Phdr) {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = offsetof(struct elf_file, code),
		.p_vaddr = ELF_VADDR,
		.p_paddr = ELF_PADDR,
		.p_filesz = 2048,
		.p_memsz = 2048,
	};
	elf->ph[2] = (Elf64_Phdr) {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_W,
		.p_offset = offsetof(struct elf_file, code) + 2048,
		.p_vaddr = ELF_VADDR + 0x200000,
		.p_paddr = ELF_PADDR + 0x200000,
		.p_filesz = 2048,
		.p_memsz = 0x10000,
	};
	for (size_t i = 0; i < sizeof(elf->code); i++)
		elf->code[i] = i * 7;
}

#endif
