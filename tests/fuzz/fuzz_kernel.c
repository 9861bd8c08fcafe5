// SPDX-License-Identifier: GPL-2.0-only
/*
 * Opening and loading a kernel file (bzImage, ELF).  The input is the file; its
 * last bytes say how much memory there is.  A file that is taken is loaded: in
 * guest memory is then what the file says, zeroes behind it, and nothing else
 * has changed but what boot.rst has lkvm write.
 *
 * options: -max_len=2048
 * wrapped: open fstat pread close
 */
#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lkvm/boot.h>

#include "fuzz.h"

#define MIB (1ULL << 20)
#define FILE_FD 0x7000
#define FILE_PATH "kernel"
#define TAIL 4 /* bytes of the input that are not the file's */
#define GUARD 0xa7
#define RAM (2 * MIB + 0x40000) /* what is really there */

/* The file, as the calls below give it to lkvm. */
static struct {
	const uint8_t *data;
	size_t size;
	bool open;
} file;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
ssize_t __real_pread(int fd, void *buf, size_t len, off_t off);
ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t off);
int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_open(const char *path, int flags, ...)
{
	va_list ap;
	int mode;

	va_start(ap, flags);
	mode = va_arg(ap, int);
	va_end(ap);
	if (strcmp(path, FILE_PATH))
		return __real_open(path, flags, mode);
	FUZZ_CHECK(!file.open);
	file.open = true;
	return FILE_FD;
}

int __wrap_fstat(int fd, struct stat *st)
{
	if (fd != FILE_FD)
		return __real_fstat(fd, st);
	*st = (struct stat) {.st_mode = S_IFREG, .st_size = file.size};
	return 0;
}

ssize_t __wrap_pread(int fd, void *buf, size_t len, off_t off)
{
	if (fd != FILE_FD)
		return __real_pread(fd, buf, len, off);
	if (off < 0) {
		errno = EINVAL;
		return -1;
	}
	if ((size_t)off >= file.size)
		return 0;
	if (len > file.size - off)
		len = file.size - off;
	memcpy(buf, file.data + off, len);
	return len;
}

int __wrap_close(int fd)
{
	if (fd != FILE_FD)
		return __real_close(fd);
	FUZZ_CHECK(file.open);
	file.open = false;
	return 0;
}

static void check_one_line(const struct lk_err *err)
{
	FUZZ_CHECK(*err->msg && !strpbrk(err->msg, "\n\r\033"));
	FUZZ_CHECK(!strncmp(err->msg, FILE_PATH ": ", strlen(FILE_PATH) + 2));
}

/* What boot.h promises of a kernel that kernel__open() takes. */
static void check_kernel(const struct kernel *kernel)
{
	uint64_t end;

	FUZZ_CHECK(kernel->nr_segments >= 1 && kernel->nr_segments <= KERNEL_MAX_SEGMENTS);
	FUZZ_CHECK(!__builtin_add_overflow(kernel->pref_address, kernel->init_size, &end));
	for (unsigned int i = 0; i < kernel->nr_segments; i++) {
		const struct kernel_segment *seg = &kernel->segment[i];
		uint64_t base = kernel->kind == KERNEL_BZIMAGE ? kernel->pref_address : seg->paddr;

		FUZZ_CHECK(seg->mem_size && seg->file_size <= seg->mem_size);
		FUZZ_CHECK(seg->offset <= file.size && seg->file_size <= file.size - seg->offset);
		FUZZ_CHECK(base >= kernel->pref_address && seg->mem_size <= end - base);
		for (unsigned int j = 0; j < i; j++)
			FUZZ_CHECK(seg->paddr + seg->mem_size <= kernel->segment[j].paddr ||
				   kernel->segment[j].paddr + kernel->segment[j].mem_size <=
					   seg->paddr);
	}
}

/* Guest memory: RAM bytes from 0 on, for every input the same before it is loaded. */
static uint8_t *ram(void)
{
	static uint8_t *mem;

	if (!mem) {
		mem = aligned_alloc(4096, RAM);
		if (!mem)
			abort();
		memset(mem, GUARD, RAM);
	}
	return mem;
}

static const struct {
	uint64_t start, end;
} boot_data[] = {
	{X86_BOOT_GDT, X86_BOOT_GDT + 0x20},
	{X86_BOOT_PARAMS, X86_BOOT_PARAMS + 0x1000},
	{X86_BOOT_PGTABLE, X86_BOOT_PGTABLE + 6 * 0x1000},
	{X86_CMDLINE, X86_CMDLINE + 2},
};

#define NR_BOOT_DATA (sizeof(boot_data) / sizeof(boot_data[0]))

static bool is_all(const uint8_t *p, uint8_t val, size_t len)
{
	return !len || (*p == val && !memcmp(p, p + 1, len - 1));
}

static uint64_t place(const struct kernel *kernel, unsigned int i)
{
	return kernel->kind == KERNEL_BZIMAGE ? kernel->pref_address : kernel->segment[i].paddr;
}

static void check_segment(const struct kernel *kernel, unsigned int i)
{
	const struct kernel_segment *seg = &kernel->segment[i];
	uint64_t gpa = place(kernel, i);
	const uint8_t *p;

	FUZZ_CHECK(gpa <= RAM && seg->mem_size <= RAM - gpa);
	p = ram() + gpa;
	FUZZ_CHECK(!memcmp(p, file.data + seg->offset, seg->file_size));
	FUZZ_CHECK(is_all(p + seg->file_size, 0, seg->mem_size - seg->file_size));
}

/* Memory as it was before, where something may have been written. */
static void restore(const struct kernel *kernel)
{
	for (unsigned int i = 0; i < NR_BOOT_DATA; i++)
		memset(ram() + boot_data[i].start, GUARD, boot_data[i].end - boot_data[i].start);
	for (unsigned int i = 0; i < kernel->nr_segments; i++) {
		uint64_t gpa = place(kernel, i), len = kernel->segment[i].mem_size;

		if (gpa < RAM)
			memset(ram() + gpa, GUARD, len < RAM - gpa ? len : RAM - gpa);
	}
}

/* Nothing else was written; all of it would take long: near the segments, and one place more. */
static void check_rest(const struct kernel *kernel, unsigned int spot)
{
	for (unsigned int i = 0; i < kernel->nr_segments; i++) {
		uint64_t gpa = place(kernel, i), end = gpa + kernel->segment[i].mem_size;

		if (gpa > RAM || end > RAM)
			continue;
		FUZZ_CHECK(is_all(ram() + (gpa > 64 ? gpa - 64 : 0), GUARD, gpa > 64 ? 64 : gpa));
		FUZZ_CHECK(is_all(ram() + end, GUARD, RAM - end < 64 ? RAM - end : 64));
	}
	FUZZ_CHECK(is_all(ram() + spot % (RAM / 512) * 512, GUARD, 512));
}

static void load(const struct kernel *kernel, const struct boot_plan *plan,
		 const struct x86_map *map, unsigned int spot)
{
	struct guest_mem mem = {.nr = 1, .region[0] = {0, RAM, ram()}};
	struct lk_err err = {""};

	if (boot__load(plan, kernel, map, &mem, -1, "x", X86_ACPI_BASE, &err)) {
		FUZZ_CHECK(*err.msg);
	} else {
		FUZZ_CHECK(!memcmp(ram() + X86_CMDLINE, "x", 2));
		for (unsigned int i = 0; i < kernel->nr_segments; i++)
			check_segment(kernel, i);
	}
	restore(kernel);
	check_rest(kernel, spot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lk_err err = {""};
	struct boot_plan plan;
	struct kernel kernel;
	struct x86_map map;
	uint32_t tail = 0;

	if (size < TAIL)
		return 0;
	file.data = data;
	file.size = size - TAIL;
	memcpy(&tail, data + file.size, TAIL);
	file.open = false;
	if (kernel__open(&kernel, FILE_PATH, &err)) {
		FUZZ_CHECK(!file.open && kernel.fd < 0);
		check_one_line(&err);
		return 0;
	}
	FUZZ_CHECK(file.open && kernel.fd == FILE_FD);
	check_kernel(&kernel);
	/* now and then there is less memory than the map says */
	FUZZ_CHECK(!x86_map__init(&map, tail & 1 ? RAM : 4096 * MIB, 40, &err));
	if (!boot__plan(&plan, &kernel, &map, 0, "x", &err))
		load(&kernel, &plan, &map, tail >> 1);
	else
		FUZZ_CHECK(*err.msg && !strpbrk(err.msg, "\n\r\033"));
	kernel__close(&kernel);
	FUZZ_CHECK(!file.open);
	return 0;
}
