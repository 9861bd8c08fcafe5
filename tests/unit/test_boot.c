// SPDX-License-Identifier: GPL-2.0-only
/* Placing and loading: boot__plan() and boot__load(). */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <lkvm/boot.h>

#include "kernel_make.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define RSDP 0xe0000

struct setup {
	struct kernel kernel;
	struct x86_map map;
	struct guest_mem mem;
	struct boot_plan plan;
	int file; /* the kernel, without a name */
	struct lk_err err;
};

static void open_kernel(struct setup *s, const void *data, size_t len)
{
	char path[64];

	s->file = make_file(path, data, len);
	assert_int_equal(kernel__open(&s->kernel, path, &s->err), 0);
	s->kernel.path = "vmlinuz";
}

static void open_bzimage(struct setup *s)
{
	uint8_t file[BZ_SIZE];

	make_bzimage(file);
	open_kernel(s, file, sizeof(file));
}

static void close_all(struct setup *s)
{
	kernel__close(&s->kernel);
	close(s->file);
	for (unsigned int i = 0; i < s->mem.nr; i++)
		munmap(s->mem.region[i].hva, s->mem.region[i].size);
}

/* Memory as the map says, filled with a pattern so that what is not written shows. */
static void make_mem(struct setup *s, uint64_t ram)
{
	assert_int_equal(x86_map__init(&s->map, ram, 46, &s->err), 0);
	s->mem.nr = s->map.nr_ram;
	for (unsigned int i = 0; i < s->mem.nr; i++) {
		struct guest_region *r = &s->mem.region[i];

		r->gpa = s->map.ram[i].base;
		r->size = s->map.ram[i].size;
		r->hva = mmap(NULL, r->size, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		assert_true(r->hva != MAP_FAILED);
	}
}

static uint8_t *at(struct setup *s, uint64_t gpa)
{
	return (uint8_t *)s->mem.region[0].hva + gpa;
}

static int plan(struct setup *s, uint64_t ram, uint64_t initrd, const char *cmdline)
{
	memset(&s->err, 0, sizeof(s->err));
	assert_int_equal(x86_map__init(&s->map, ram, 46, NULL), 0);
	return boot__plan(&s->plan, &s->kernel, &s->map, initrd, cmdline, &s->err);
}

/*
 * A Debian cloud kernel (16 MiB, init_size 60 MiB: its end is at 76 MiB) with
 * small and large initrds: fits where end + initrd do, and never lower than
 * the end, nor above initrd_addr_max or low RAM.
 */
static void test_initrd_matrix(void **state)
{
	static const uint64_t ram[] = {128, 512, 1024, 3072, 3584, 5120};
	static const uint64_t initrd[] = {MIB, 300 * MIB, 300 * MIB - 1, 300 * MIB + 1};
	struct setup s = {0};

	(void)state;
	open_bzimage(&s);
	for (size_t i = 0; i < sizeof(ram) / sizeof(ram[0]); i++)
		for (size_t k = 0; k < sizeof(initrd) / sizeof(initrd[0]); k++) {
			int ret = plan(&s, ram[i] * MIB, initrd[k], "");
			uint64_t last = s.plan.initrd_start + initrd[k] - 1;

			if (ram[i] * MIB < 76 * MIB + initrd[k]) {
				assert_int_equal(ret, -ENOSPC);
				continue;
			}
			assert_int_equal(ret, 0);
			assert_int_equal(s.plan.kernel_start, 16 * MIB);
			assert_int_equal(s.plan.kernel_end, 76 * MIB);
			assert_int_equal(s.plan.entry, 16 * MIB + 0x200);
			assert_int_equal(s.plan.initrd_size, initrd[k]);
			assert_int_equal(s.plan.initrd_start % 4096, 0);
			assert_true(s.plan.initrd_start >= s.plan.kernel_end);
			assert_true(last <= 0x7fffffff);
			assert_true(last < s.map.ram[0].size);
			/* As high as possible: less than a page is left above. */
			assert_true(last + 4096 > (ram[i] > 2048 ? 2 * GIB - 1 : ram[i] * MIB - 1));
		}
	close_all(&s);
}

/* The -m of the message is true: with it there is room, with 1 MiB less there is none. */
static void test_least_memory(void **state)
{
	static const struct {
		uint64_t initrd;
		unsigned int least; /* MiB */
	} size[] = {{0, 76}, {1, 77}, {4096, 77}, {MIB, 77}, {MIB + 1, 78}, {300 * MIB, 376}};
	struct setup s = {0};

	(void)state;
	open_bzimage(&s);
	for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		char figure[32];

		snprintf(figure, sizeof(figure), "-m %u (MiB)", size[i].least);
		for (uint64_t m = 1; m < size[i].least; m += m < 64 ? 21 : 1) {
			assert_int_equal(plan(&s, m * MIB, size[i].initrd, ""), -ENOSPC);
			assert_non_null(strstr(s.err.msg, figure));
			assert_non_null(strstr(s.err.msg, "vmlinuz: the kernel needs 60 MiB from "
							  "address 16 MiB"));
		}
		assert_int_equal(plan(&s, size[i].least * MIB, size[i].initrd, ""), 0);
	}
	close_all(&s);
}

static void test_initrd_too_large(void **state)
{
	static const uint64_t size[] = {1973 * MIB, 3 * GIB, 5 * GIB, UINT64_MAX};
	struct setup s = {0};

	(void)state;
	open_bzimage(&s);
	assert_int_equal(plan(&s, 3072 * MIB, 1972 * MIB, ""), 0);
	assert_int_equal(s.plan.initrd_start, 76 * MIB);
	for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		assert_int_equal(plan(&s, 8192 * MIB, size[i], ""), -ENOSPC);
		assert_non_null(strstr(s.err.msg, "no -m would do"));
		assert_non_null(strstr(s.err.msg, "2048 MiB"));
	}
	/* Kernel and initrd may both be too large at once. */
	assert_int_equal(plan(&s, 8 * MIB, UINT64_MAX, ""), -ENOSPC);
	/* What fits below 3 GiB may lie above the kernel's limit for an initrd all the same. */
	assert_int_equal(plan(&s, 8 * MIB, 2000 * MIB, ""), -ENOSPC);
	assert_non_null(strstr(s.err.msg, "no -m would do"));
	close_all(&s);
}

static void test_no_initrd(void **state)
{
	struct setup s = {0};

	(void)state;
	open_bzimage(&s);
	assert_int_equal(plan(&s, 128 * MIB, 0, "quiet"), 0);
	assert_int_equal(s.plan.initrd_start, 0);
	assert_int_equal(s.plan.initrd_size, 0);
	assert_int_equal(s.plan.cmdline_size, 6);
	close_all(&s);
}

static void test_cmdline_limit(void **state)
{
	static const struct {
		uint32_t field;
		size_t limit;
	} limit[] = {{2047, 2047}, {255, 255}, {0, 255}, {UINT32_MAX, X86_CMDLINE_MAX - 1}};
	struct setup s = {0};
	char *line = calloc(1, X86_CMDLINE_MAX + 2);

	(void)state;
	assert_non_null(line);
	open_bzimage(&s);
	for (size_t i = 0; i < sizeof(limit) / sizeof(limit[0]); i++) {
		char figure[32];

		s.kernel.hdr.cmdline_size = limit[i].field;
		memset(line, 'a', limit[i].limit);
		line[limit[i].limit] = '\0';
		assert_int_equal(plan(&s, 128 * MIB, 0, line), 0);
		assert_int_equal(s.plan.cmdline_size, limit[i].limit + 1);
		line[limit[i].limit] = 'a';
		line[limit[i].limit + 1] = '\0';
		assert_int_equal(plan(&s, 128 * MIB, 0, line), -E2BIG);
		snprintf(figure, sizeof(figure), "takes %zu;", limit[i].limit);
		assert_non_null(strstr(s.err.msg, figure));
		memset(line, 0, X86_CMDLINE_MAX + 2);
	}
	free(line);
	close_all(&s);
}

/* An ELF whose segment ends beyond RAM, in the hole, or above 4 GiB. */
static void test_elf_beyond_ram(void **state)
{
	struct setup s = {0};
	struct elf_file elf;

	(void)state;
	make_elf(&elf);
	elf.ph[2].p_paddr = 200 * MIB;
	open_kernel(&s, &elf, sizeof(elf));
	assert_int_equal(plan(&s, 200 * MIB, 0, ""), -ENOSPC);
	assert_non_null(strstr(s.err.msg, "-m 201 (MiB)"));
	assert_int_equal(plan(&s, 201 * MIB, 0, ""), 0);
	assert_int_equal(s.plan.entry, ELF_PADDR + 0x10);
	close_all(&s);

	memset(&s, 0, sizeof(s));
	elf.ph[2].p_paddr = 4 * GIB;
	open_kernel(&s, &elf, sizeof(elf));
	assert_int_equal(plan(&s, 8 * GIB, 0, ""), -ENOSPC);
	assert_non_null(strstr(s.err.msg, "no -m would do"));
	close_all(&s);
}

static void check_e820(const struct boot_params *params, uint64_t ram)
{
	uint64_t sum = 0, last = 0;

	for (unsigned int i = 0; i < params->e820_entries; i++) {
		const struct boot_e820_entry *e = &params->e820_table[i];

		assert_true(e->size > 0);
		assert_true(e->addr >= last); /* ascending and disjoint */
		last = e->addr + e->size;
		if (e->type == 1)
			sum += e->size;
		if (e->addr == X86_ECAM_BASE) {
			assert_int_equal(e->type, 2);
			assert_int_equal(e->size, X86_ECAM_SIZE);
		}
		if (e->addr == X86_ACPI_BASE)
			assert_int_equal(e->type, 3);
	}
	/* All of it but what lies between the EBDA and 1 MiB. */
	assert_int_equal(sum, ram - (X86_HIGH_START - X86_EBDA));
}

static void test_e820(void **state)
{
	static const uint64_t mib[] = {1,    2,	   128,	 3071, 3072,	    3073,
				       3328, 4096, 4097, 8192, 1012 * 1024, 1500 * 1024};
	struct setup s = {0};
	struct elf_file elf;

	(void)state;
	make_elf(&elf);
	elf.ph[1].p_paddr = 0x40000; /* a payload that needs next to nothing */
	elf.ph[2].p_paddr = 0x50000;
	elf.eh.e_entry = 0x40000;
	for (size_t i = 0; i < sizeof(mib) / sizeof(mib[0]); i++) {
		struct boot_params params;
		uint64_t map_ram = mib[i] * MIB;

		memset(&s, 0, sizeof(s));
		open_kernel(&s, &elf, sizeof(elf));
		assert_int_equal(plan(&s, map_ram, 0, ""), 0);
		make_mem(&s, mib[i] > 128 ? 128 * MIB : map_ram); /* low memory is enough here */
		assert_int_equal(x86_map__init(&s.map, map_ram, 46, NULL), 0);
		assert_int_equal(
			boot__load(&s.plan, &s.kernel, &s.map, &s.mem, -1, "", RSDP, &s.err), 0);
		memcpy(&params, at(&s, X86_BOOT_PARAMS), sizeof(params));
		check_e820(&params, map_ram);
		close_all(&s);
	}
}

/* Four levels down the tables: where a virtual address leads, or UINT64_MAX. */
static uint64_t walk(struct setup *s, uint64_t addr)
{
	uint64_t table = X86_BOOT_PGTABLE, entry = 0;

	for (int shift = 39; shift >= 21; shift -= 9) {
		memcpy(&entry, at(s, table + (addr >> shift & 511) * 8), 8);
		if ((entry & 3) != 3 || entry & 4)
			return UINT64_MAX;
		table = entry & ~0xfffULL;
	}
	return entry & 0x80 ? table + (addr & 0x1fffff) : UINT64_MAX;
}

static void check_cpu_tables(struct setup *s)
{
	static const uint64_t addr[] = {0, 0x1fffff, 0x200000, 0x12345678, 0xffffffff, 3 * GIB};
	uint64_t gdt[4];

	for (size_t i = 0; i < sizeof(addr) / sizeof(addr[0]); i++)
		assert_true(walk(s, addr[i]) == addr[i]);
	assert_true(walk(s, 4 * GIB) == UINT64_MAX);
	assert_true(walk(s, (uint64_t)1 << 39) == UINT64_MAX);

	memcpy(gdt, at(s, X86_BOOT_GDT), sizeof(gdt));
	assert_true(gdt[0] == 0);
	/* Intel SDM vol. 3, 3.4.5: flat, present; code with L and without D, data writable. */
	assert_true(gdt[2] == 0x00af9b000000ffffULL);
	assert_true(gdt[3] == 0x00cf93000000ffffULL);
}

static void test_load_bzimage(void **state)
{
	const char *cmdline = "console=ttyS0 root=/dev/vda";
	struct setup s = {0};
	struct boot_params params;
	uint8_t initrd[10000], file[BZ_SIZE];
	char path[64];
	int fd;

	(void)state;
	for (size_t i = 0; i < sizeof(initrd); i++)
		initrd[i] = i * 13 + (i >> 8);
	make_bzimage(file);
	open_bzimage(&s);
	assert_int_equal(plan(&s, 80 * MIB, sizeof(initrd), cmdline), 0);
	make_mem(&s, 80 * MIB);
	memset(at(&s, X86_BOOT_PARAMS), 0xff, 0x9000); /* nothing of this may stay */
	fd = make_file(path, initrd, sizeof(initrd));
	assert_int_equal(boot__load(&s.plan, &s.kernel, &s.map, &s.mem, fd, cmdline, RSDP, &s.err),
			 0);

	assert_memory_equal(at(&s, 16 * MIB), file + 5 * 512, BZ_CODE);
	assert_memory_equal(at(&s, s.plan.initrd_start), initrd, sizeof(initrd));
	assert_string_equal((char *)at(&s, X86_CMDLINE), cmdline);

	memcpy(&params, at(&s, X86_BOOT_PARAMS), sizeof(params));
	assert_int_equal(params.hdr.header, 0x53726448);
	assert_int_equal(params.hdr.type_of_loader, 0xff);
	assert_true(params.hdr.loadflags & LOADED_HIGH);
	assert_false(params.hdr.loadflags & CAN_USE_HEAP);
	assert_int_equal(params.hdr.ramdisk_image, s.plan.initrd_start);
	assert_int_equal(params.hdr.ramdisk_size, sizeof(initrd));
	assert_int_equal(params.ext_ramdisk_image, 0);
	assert_int_equal(params.ext_ramdisk_size, 0);
	assert_int_equal(params.hdr.cmd_line_ptr, X86_CMDLINE);
	assert_int_equal(params.ext_cmd_line_ptr, 0);
	assert_int_equal(params.hdr.init_size, 60 * MIB);
	assert_int_equal(params.acpi_rsdp_addr, RSDP);
	assert_int_equal(params.sentinel, 0);
	assert_int_equal(params.screen_info.orig_video_isVGA, 0);
	check_e820(&params, 80 * MIB);
	check_cpu_tables(&s);
	close(fd);
	close_all(&s);
}

static void test_load_elf(void **state)
{
	struct setup s = {0};
	struct boot_params params;
	struct elf_file elf;

	(void)state;
	make_elf(&elf);
	open_kernel(&s, &elf, sizeof(elf));
	assert_int_equal(plan(&s, 32 * MIB, 0, "x"), 0);
	make_mem(&s, 32 * MIB);
	memset(at(&s, ELF_PADDR), 0xff, 0x300000);
	assert_int_equal(boot__load(&s.plan, &s.kernel, &s.map, &s.mem, -1, "x", RSDP, &s.err), 0);
	assert_memory_equal(at(&s, ELF_PADDR), elf.code, 2048);
	assert_int_equal(*at(&s, ELF_PADDR + 2048), 0xff); /* not part of a segment */
	assert_memory_equal(at(&s, ELF_PADDR + 0x200000), elf.code + 2048, 2048);
	for (size_t i = 2048; i < 0x10000; i++)
		assert_int_equal(*at(&s, ELF_PADDR + 0x200000 + i), 0);
	assert_int_equal(*at(&s, ELF_PADDR + 0x210000), 0xff);
	memcpy(&params, at(&s, X86_BOOT_PARAMS), sizeof(params));
	assert_int_equal(params.hdr.header, 0x53726448);
	assert_int_equal(params.hdr.boot_flag, 0xaa55);
	assert_int_equal(params.hdr.ramdisk_size, 0);
	assert_int_equal(params.acpi_rsdp_addr, RSDP);
	close_all(&s);
}

/* The upper halves of addresses have fields of their own: a plan with the initrd at 4 GiB. */
static void test_load_above_4g(void **state)
{
	struct setup s = {0};
	struct boot_params params;
	char path[64];
	int fd;

	(void)state;
	open_bzimage(&s);
	assert_int_equal(plan(&s, 5 * GIB, 4, ""), 0);
	make_mem(&s, 5 * GIB);
	s.plan.initrd_start = 4 * GIB + 4096;
	fd = make_file(path, "0123", 4);
	assert_int_equal(boot__load(&s.plan, &s.kernel, &s.map, &s.mem, fd, "", RSDP, &s.err), 0);
	memcpy(&params, at(&s, X86_BOOT_PARAMS), sizeof(params));
	assert_int_equal(params.hdr.ramdisk_image, 4096);
	assert_int_equal(params.ext_ramdisk_image, 1);
	assert_int_equal(params.hdr.ramdisk_size, 4);
	assert_memory_equal((char *)s.mem.region[1].hva + 4096, "0123", 4);
	close(fd);
	close_all(&s);
}

/* Cut between looking and loading. */
static void test_file_cut(void **state)
{
	struct setup s = {0};
	char path[64];
	int fd;

	(void)state;
	open_bzimage(&s);
	assert_int_equal(plan(&s, 80 * MIB, 4096, ""), 0);
	make_mem(&s, 80 * MIB);
	fd = make_file(path, "0123", 4); /* an initrd that had 4096 bytes */
	assert_int_equal(boot__load(&s.plan, &s.kernel, &s.map, &s.mem, fd, "", RSDP, &s.err),
			 -ENODATA);
	assert_non_null(strstr(s.err.msg, "initrd got shorter"));
	assert_int_equal(ftruncate(s.file, BZ_SIZE / 2), 0);
	assert_int_equal(boot__load(&s.plan, &s.kernel, &s.map, &s.mem, fd, "", RSDP, &s.err),
			 -ENODATA);
	assert_non_null(strstr(s.err.msg, "kernel got shorter"));
	close(fd);
	close_all(&s);
}

/* A plan for more memory than there is: an error, and no access outside. */
static void test_wrong_memory(void **state)
{
	struct setup s = {0};

	(void)state;
	open_bzimage(&s);
	assert_int_equal(plan(&s, 128 * MIB, 0, ""), 0);
	make_mem(&s, 8 * MIB);
	assert_int_equal(boot__load(&s.plan, &s.kernel, &s.map, &s.mem, -1, "", RSDP, &s.err),
			 -EFAULT);
	assert_int_equal(boot__load(&s.plan, &s.kernel, &s.map, &s.mem, -1, "longer", RSDP, &s.err),
			 -EINVAL);
	close_all(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_initrd_matrix),
		cmocka_unit_test(test_least_memory),
		cmocka_unit_test(test_initrd_too_large),
		cmocka_unit_test(test_no_initrd),
		cmocka_unit_test(test_cmdline_limit),
		cmocka_unit_test(test_elf_beyond_ram),
		cmocka_unit_test(test_e820),
		cmocka_unit_test(test_load_bzimage),
		cmocka_unit_test(test_load_elf),
		cmocka_unit_test(test_load_above_4g),
		cmocka_unit_test(test_file_cut),
		cmocka_unit_test(test_wrong_memory),
	};

	return cmocka_run_group_tests_name("boot", tests, NULL, NULL);
}
