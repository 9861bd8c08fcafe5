// SPDX-License-Identifier: GPL-2.0-only
/* What kernel__open() takes and how it refuses the rest. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include <lkvm/boot.h>

#include "kernel_make.h"

static int count_fds(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Refused with one line that has the file, @what it is, and a remedy. */
static void expect_refused_path(const char *path, const char *what)
{
	int fds = count_fds();
	struct lk_err err = {""};
	struct kernel kernel;
	int ret = kernel__open(&kernel, path, &err);

	if (ret >= 0 || !strstr(err.msg, what))
		print_error("wanted \"%s\", got %d, \"%s\"\n", what, ret, err.msg);
	assert_true(ret < 0);
	assert_non_null(strstr(err.msg, what));
	assert_null(strchr(err.msg, '\n'));
	assert_true(strlen(err.msg) < sizeof(err.msg) - 1);
	assert_int_equal(kernel.fd, -1);
	assert_int_equal(count_fds(), fds);
	/* Without anybody to tell, the same. */
	assert_int_equal(kernel__open(&kernel, path, NULL), ret);
}

static void expect_refused(const void *data, size_t len, const char *what)
{
	char path[64];
	int fd = make_file(path, data, len);

	expect_refused_path(path, what);
	close(fd);
}

static void test_bzimage(void **state)
{
	static const uint16_t version[] = {0x020c, 0x020d, 0x020f};
	uint8_t file[BZ_SIZE];
	struct kernel kernel;
	char path[64];

	(void)state;
	for (size_t i = 0; i < sizeof(version) / sizeof(version[0]); i++)
		for (unsigned int sects = 0; sects <= 4; sects += 4) {
			struct setup_header *hdr = make_bzimage(file);
			struct lk_err err = {""};
			int fd;

			hdr->version = version[i];
			hdr->setup_sects = sects; /* 0 means 4 */
			fd = make_file(path, file, sizeof(file));
			assert_int_equal(kernel__open(&kernel, path, &err), 0);
			assert_int_equal(kernel.kind, KERNEL_BZIMAGE);
			assert_int_equal(kernel.nr_segments, 1);
			assert_int_equal(kernel.segment[0].offset, 5 * 512);
			assert_int_equal(kernel.segment[0].file_size, BZ_CODE);
			assert_int_equal(kernel.segment[0].mem_size, BZ_CODE);
			assert_int_equal(kernel.entry, 0x200);
			assert_int_equal(kernel.pref_address, 0x1000000);
			assert_int_equal(kernel.init_size, 60 << 20);
			assert_int_equal(kernel.hdr.cmdline_size, 2047);
			assert_true(fcntl(kernel.fd, F_GETFD) & FD_CLOEXEC);
			kernel__close(&kernel);
			assert_int_equal(kernel.fd, -1);
			kernel__close(&kernel);
			close(fd);
		}
}

static void test_bzimage_refused(void **state)
{
	uint8_t file[BZ_SIZE];

	(void)state;
	make_bzimage(file)->version = 0x0205;
	expect_refused(file, sizeof(file), "boot protocol 2.05");
	make_bzimage(file)->version = 0x020b;
	expect_refused(file, sizeof(file), "boot protocol 2.11");
	make_bzimage(file)->xloadflags = 0x7e;
	expect_refused(file, sizeof(file), "32-bit kernel");
	make_bzimage(file)->loadflags = 0;
	expect_refused(file, sizeof(file), "zImage");
	make_bzimage(file)->boot_flag = 0;
	expect_refused(file, sizeof(file), "boot flag");
	make_bzimage(file)->syssize = 0;
	expect_refused(file, sizeof(file), "damaged");
	make_bzimage(file)->syssize = UINT32_MAX;
	expect_refused(file, sizeof(file), "truncated bzImage");
	make_bzimage(file)->setup_sects = 255;
	expect_refused(file, sizeof(file), "truncated bzImage");
	make_bzimage(file)->pref_address = UINT64_MAX - 4095;
	expect_refused(file, sizeof(file), "impossible");
	make_bzimage(file)->pref_address = 0;
	expect_refused(file, sizeof(file), "impossible");
	make_bzimage(file)->pref_address = 0x1001000;
	expect_refused(file, sizeof(file), "alignment");
	make_bzimage(file)->kernel_alignment = 0x300000;
	expect_refused(file, sizeof(file), "alignment");
}

/* Cut at any length: refused, never read past the end, never taken for whole. */
static void test_bzimage_cut(void **state)
{
	uint8_t file[BZ_SIZE];

	(void)state;
	make_bzimage(file);
	for (size_t len = 0x206; len < sizeof(file); len += len < 0x300 ? 1 : 97)
		expect_refused(file, len, "truncated bzImage");
	expect_refused(file, sizeof(file) - 1, "truncated bzImage");
	for (size_t len = 2; len < 0x206; len += 50)
		expect_refused(file, len, "is ");
}

/* init_size smaller than the code itself cannot be. */
static void test_bzimage_init_size(void **state)
{
	uint8_t file[BZ_SIZE];
	struct kernel kernel;
	char path[64];
	int fd;

	(void)state;
	make_bzimage(file)->init_size = 0;
	fd = make_file(path, file, sizeof(file));
	assert_int_equal(kernel__open(&kernel, path, NULL), 0);
	assert_int_equal(kernel.init_size, BZ_CODE);
	kernel__close(&kernel);
	close(fd);
}

static void test_elf(void **state)
{
	static const uint64_t entry[] = {ELF_PADDR + 0x10, ELF_VADDR + 0x10};

	(void)state;
	for (size_t i = 0; i < sizeof(entry) / sizeof(entry[0]); i++) {
		struct lk_err err = {""};
		struct kernel kernel;
		struct elf_file elf;
		char path[64];
		int fd;

		make_elf(&elf);
		elf.eh.e_entry = entry[i];
		fd = make_file(path, &elf, sizeof(elf));
		assert_int_equal(kernel__open(&kernel, path, &err), 0);
		assert_int_equal(kernel.kind, KERNEL_ELF);
		assert_int_equal(kernel.nr_segments, 2);
		assert_int_equal(kernel.entry, ELF_PADDR + 0x10);
		assert_int_equal(kernel.pref_address, ELF_PADDR);
		assert_int_equal(kernel.init_size, 0x210000);
		assert_int_equal(kernel.segment[1].file_size, 2048);
		assert_int_equal(kernel.segment[1].mem_size, 0x10000);
		assert_int_equal(kernel.hdr.header, 0x53726448);
		assert_int_equal(kernel.hdr.boot_flag, 0xaa55);
		assert_int_equal(kernel.hdr.initrd_addr_max, 0x7fffffff);
		assert_true(kernel.hdr.xloadflags & XLF_KERNEL_64);
		kernel__close(&kernel);
		close(fd);
	}
}

/* Sections and notes say nothing about loading: their absence and nonsense in them are fine. */
static void test_elf_without_the_rest(void **state)
{
	struct kernel kernel;
	struct elf_file elf;
	char path[64];
	int fd;

	(void)state;
	make_elf(&elf);
	elf.ph[0] = (Elf64_Phdr) {.p_type = PT_NULL, .p_offset = UINT64_MAX, .p_filesz = 4};
	elf.eh.e_shoff = UINT64_MAX;
	elf.eh.e_shnum = 65535;
	elf.eh.e_shstrndx = 65535;
	fd = make_file(path, &elf, sizeof(elf));
	assert_int_equal(kernel__open(&kernel, path, NULL), 0);
	assert_int_equal(kernel.nr_segments, 2);
	kernel__close(&kernel);
	close(fd);
}

#define REFUSE_ELF(change, what)                     \
	do {                                         \
		struct elf_file e;                   \
		make_elf(&e);                        \
		change;                              \
		expect_refused(&e, sizeof(e), what); \
	} while (0)

static void test_elf_header_refused(void **state)
{
	(void)state;
	REFUSE_ELF(e.eh.e_machine = EM_386; e.eh.e_ident[EI_CLASS] = ELFCLASS32, "i386");
	REFUSE_ELF(e.eh.e_ident[EI_CLASS] = ELFCLASS32, "32-bit");
	REFUSE_ELF(e.eh.e_machine = EM_AARCH64, "arm64");
	REFUSE_ELF(e.eh.e_machine = 0x1234, "another machine");
	REFUSE_ELF(e.eh.e_ident[EI_DATA] = ELFDATA2MSB, "big-endian");
	REFUSE_ELF(e.eh.e_type = ET_REL, "relocatable object");
	REFUSE_ELF(e.eh.e_type = ET_DYN, "shared object");
	REFUSE_ELF(e.eh.e_type = ET_CORE, "core dump");
	REFUSE_ELF(e.eh.e_type = 77, "type 77");
	REFUSE_ELF(e.eh.e_phnum = 65535, "65535 program headers");
	REFUSE_ELF(e.eh.e_phnum = 0, "0 program headers");
	REFUSE_ELF(e.eh.e_phnum = 128, "program headers at");
	REFUSE_ELF(e.eh.e_phentsize = 32, "32 bytes each");
	REFUSE_ELF(e.eh.e_phoff = UINT64_MAX - 8, "program headers at");
	REFUSE_ELF(e.eh.e_phoff = sizeof(e) - 8, "program headers at");
	REFUSE_ELF(e.eh.e_entry = 0x123, "entry point 0x123");
	/* Zeroes behind the file's bytes are no code. */
	REFUSE_ELF(e.eh.e_entry = ELF_PADDR + 0x200000 + 2048, "entry point");
}

static void test_elf_segment_refused(void **state)
{
	(void)state;
	REFUSE_ELF(e.ph[1].p_memsz = 2047, "2048 bytes in the file but 2047 in memory");
	REFUSE_ELF(e.ph[1].p_offset = sizeof(e), "is not in the file");
	REFUSE_ELF(e.ph[1].p_offset = UINT64_MAX - 7, "is not in the file");
	REFUSE_ELF(e.ph[2].p_paddr = UINT64_MAX - 4095, "wraps");
	REFUSE_ELF(e.ph[2].p_paddr = ELF_PADDR + 2047, "overlap");
	REFUSE_ELF(e.ph[0].p_type = PT_INTERP, "program for Linux");
	REFUSE_ELF(e.ph[1].p_type = PT_NULL; e.ph[2].p_type = PT_NULL, "nothing to load");
	/* Where lkvm puts its own things below 1 MiB. */
	REFUSE_ELF(e.ph[2].p_paddr = 0, "the GDT");
	REFUSE_ELF(e.ph[1].p_paddr = X86_BOOT_PARAMS + 0xfff, "the boot parameters");
	REFUSE_ELF(e.ph[1].p_paddr = X86_BOOT_PGTABLE + 0x5fff, "the page tables");
	REFUSE_ELF(e.ph[1].p_paddr = X86_CMDLINE - 2047, "the command line");
	REFUSE_ELF(e.ph[1].p_paddr = X86_ACPI_BASE, "the firmware area");
	REFUSE_ELF(e.ph[1].p_paddr = X86_HIGH_START - 1, "the firmware area");
}

static void test_elf_many_segments(void **state)
{
	struct {
		struct elf_file elf;
		Elf64_Phdr ph[KERNEL_MAX_SEGMENTS + 1];
	} file;
	struct kernel kernel;
	char path[64];
	int fd;

	(void)state;
	make_elf(&file.elf);
	file.elf.eh.e_phoff = sizeof(file.elf);
	for (unsigned int i = 0; i <= KERNEL_MAX_SEGMENTS; i++) {
		file.ph[i] = file.elf.ph[1];
		file.ph[i].p_paddr += i * 4096ULL;
	}
	file.elf.eh.e_phnum = KERNEL_MAX_SEGMENTS;
	fd = make_file(path, &file, sizeof(file));
	assert_int_equal(kernel__open(&kernel, path, NULL), 0);
	assert_int_equal(kernel.nr_segments, KERNEL_MAX_SEGMENTS);
	kernel__close(&kernel);
	close(fd);
	file.elf.eh.e_phnum++;
	expect_refused(&file, sizeof(file), "more than 16 loadable segments");
}

static void test_elf_cut(void **state)
{
	struct elf_file elf;

	(void)state;
	make_elf(&elf);
	for (size_t len = 4; len < sizeof(elf); len += len < 300 ? 1 : 61)
		expect_refused(&elf, len,
			       len < sizeof(elf.eh) ? "truncated ELF" : "not in the file");
}

#define MAGIC(off, bytes, what)                     \
	{                                           \
		off, bytes, sizeof(bytes) - 1, what \
	}

static void test_other_files(void **state)
{
	static const struct {
		size_t off;
		const char *bytes;
		size_t len;
		const char *what;
	} other[] = {
		MAGIC(0, "\x1f\x8b\x08", "gzip"),
		MAGIC(0, "\xfd\x37zXZ\0", "xz"),
		MAGIC(0, "\x28\xb5\x2f\xfd", "zstd"),
		MAGIC(0, "BZh91AY", "bzip2"),
		MAGIC(0, "\x02\x21\x4c\x18", "lz4"),
		MAGIC(0, "\x04\x22\x4d\x18", "lz4"),
		MAGIC(0, "\x5d\0\0\0\x01", "lzma"),
		MAGIC(0, "MZ\0\0zimg", "EFI zboot"),
		MAGIC(0x38, "ARM\x64", "arm64 Linux Image"),
		MAGIC(0x38, "RSC\x05", "RISC-V"),
		MAGIC(0, "\x27\x05\x19\x56", "U-Boot"),
		MAGIC(0, "070701", "-i"),
		MAGIC(0, "QFI\xfb", "qcow2"),
		MAGIC(0, "MZ", "EFI or DOS"),
		MAGIC(510, "\x55\xaa", "boot sector"),
		MAGIC(0x438, "\x53\xef", "ext4"),
		MAGIC(0, "\0\1\2\3", "no kind that lkvm knows"),
	};
	uint8_t file[2048];

	(void)state;
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++) {
		memset(file, 0, sizeof(file));
		memcpy(file + other[i].off, other[i].bytes, other[i].len);
		expect_refused(file, sizeof(file), other[i].what);
		/* A file that is nothing but its magic number is no reason to read on. */
		expect_refused(file, other[i].off + other[i].len, other[i].what);
	}
	expect_refused("#!/bin/sh\necho \xc3\xa4\n", 18, "text file");
	expect_refused("", 0, "empty file");
}

static void test_no_regular_file(void **state)
{
	char dir[] = "/tmp/lkvm-kernel-XXXXXX", fifo[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	alarm(60); /* an open that blocks ends the test */
	expect_refused_path(fifo, "pipe");
	alarm(0);
	expect_refused_path(dir, "a directory");
	expect_refused_path("/dev/null", "a character device");
	unlink(fifo);
	expect_refused_path(fifo, "No such file");
	rmdir(dir);
}

/* The reason survives whatever the path is. */
static void test_odd_paths(void **state)
{
	char path[4000] = "", name[64], *end;
	int fd = make_file(name, "hello\n", 6);

	(void)state;
	strcat(path, "/proc/self/fd");
	while (strlen(path) < 3900)
		strcat(path, "/../fd");
	end = path + strlen(path);
	snprintf(end, 20, "/%d", fd);
	expect_refused_path(path, "text file");
	expect_refused_path(path, "..."); /* its end is what tells files apart */
	expect_refused_path(path, end);
	close(fd);
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	expect_refused_path(path, "File name too long");
	expect_refused_path("/nowhere/a\nb\x1b[31m", "a?b?[31m");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bzimage),
		cmocka_unit_test(test_bzimage_refused),
		cmocka_unit_test(test_bzimage_cut),
		cmocka_unit_test(test_bzimage_init_size),
		cmocka_unit_test(test_elf),
		cmocka_unit_test(test_elf_without_the_rest),
		cmocka_unit_test(test_elf_header_refused),
		cmocka_unit_test(test_elf_segment_refused),
		cmocka_unit_test(test_elf_many_segments),
		cmocka_unit_test(test_elf_cut),
		cmocka_unit_test(test_other_files),
		cmocka_unit_test(test_no_regular_file),
		cmocka_unit_test(test_odd_paths),
	};

	return cmocka_run_group_tests_name("kernel", tests, NULL, NULL);
}
