// SPDX-License-Identifier: GPL-2.0-only
#include <asm/bootparam.h>

#include "payload.h"

#define E820_RAM 1 /* boot.rst names the type by number alone; UAPI headers have no name */

struct boot_info boot_info;

extern char __image_end[];

/* Xen's hvm/start_info.h: what the PVH entry is handed. */
struct pvh_info {
	uint32_t magic, version, flags, nr_modules;
	uint64_t modlist, cmdline, rsdp;
	uint64_t memmap; /* from version 1 on */
	uint32_t nr_memmap, reserved;
};

struct pvh_memmap {
	uint64_t base, size;
	uint32_t type, reserved;
};

#define PVH_MAGIC 0x336ec578

static void boot__add_ram(uint64_t base, uint64_t size, uint32_t type)
{
	if (type != E820_RAM || !size || boot_info.nr_ram == BOOT_MAX_RAM)
		return;
	boot_info.ram[boot_info.nr_ram].base = base;
	boot_info.ram[boot_info.nr_ram].size = size;
	boot_info.nr_ram++;
}

static void boot__from_linux(const struct boot_params *bp)
{
	uint64_t cmdline = bp->hdr.cmd_line_ptr | (uint64_t)bp->ext_cmd_line_ptr << 32;
	unsigned int i;

	boot_info.cmdline = cmdline ? (const char *)cmdline : "";
	boot_info.rsdp = bp->acpi_rsdp_addr;
	for (i = 0; i < bp->e820_entries && i < E820_MAX_ENTRIES_ZEROPAGE; i++)
		boot__add_ram(bp->e820_table[i].addr, bp->e820_table[i].size,
			      bp->e820_table[i].type);
}

static void boot__from_pvh(const struct pvh_info *info)
{
	const struct pvh_memmap *map = (const void *)info->memmap;
	uint32_t i;

	boot_info.cmdline = info->cmdline ? (const char *)info->cmdline : "";
	boot_info.rsdp = info->rsdp;
	for (i = 0; info->version >= 1 && i < info->nr_memmap; i++)
		boot__add_ram(map[i].base, map[i].size, map[i].type);
}

/* The heap: from the end of the image to the end of its RAM region. */
static void boot__find_heap(void)
{
	uint64_t start = ((uint64_t)__image_end + PAGE_SIZE - 1) & -PAGE_SIZE;
	unsigned int i;

	for (i = 0; i < boot_info.nr_ram; i++) {
		uint64_t base = boot_info.ram[i].base, end = base + boot_info.ram[i].size;

		if (start >= base && start < end) {
			boot_info.heap = start;
			boot_info.heap_end = end & -PAGE_SIZE;
		}
	}
}

void boot__init(uint64_t boot_params, uint32_t pvh_info)
{
	const struct pvh_info *pvh = (const void *)(uint64_t)pvh_info;

	boot_info.cmdline = "";
	if (boot_params)
		boot__from_linux((const void *)boot_params);
	else if (pvh && pvh->magic == PVH_MAGIC)
		boot__from_pvh(pvh);
	boot__find_heap();
}

void *mem__alloc(size_t size, size_t align)
{
	uint64_t addr = (boot_info.heap + align - 1) & -align;

	/* The last 64 KiB stay free for tests of the end of RAM. */
	if (addr + size + 65536 > boot_info.heap_end || addr + size < addr)
		panic("no memory for %zu bytes", size);
	boot_info.heap = addr + size;
	return memset((void *)addr, 0, size);
}

bool cmdline__get(const char *key, char *buf, size_t size)
{
	const char *p = boot_info.cmdline;
	size_t len = strlen(key), n;
	bool found = false;

	while (*p) {
		while (*p == ' ')
			p++;
		if (!strncmp(p, key, len) && p[len] == '=') {
			p += len + 1;
			for (n = 0; p[n] && p[n] != ' ' && n + 1 < size; n++)
				buf[n] = p[n];
			buf[n] = 0;
			found = true;
		}
		while (*p && *p != ' ')
			p++;
	}
	return found;
}

bool cmdline__is(const char *key, const char *value)
{
	char buf[64];

	return cmdline__get(key, buf, sizeof(buf)) && !strcmp(buf, value);
}

static unsigned int digit__value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 16;
}

bool cmdline__bool(const char *key, bool otherwise)
{
	char buf[8];

	if (!cmdline__get(key, buf, sizeof(buf)))
		return otherwise;
	if (!strcmp(buf, "on"))
		return true;
	if (strcmp(buf, "off"))
		panic("%s=%s is neither on nor off", key, buf);
	return false;
}

uint64_t cmdline__num(const char *key, uint64_t otherwise)
{
	char buf[64];
	const char *p = buf;
	unsigned int base = 10;
	uint64_t val = 0;

	if (!cmdline__get(key, buf, sizeof(buf)))
		return otherwise;
	if (p[0] == '0' && p[1] == 'x') {
		base = 16;
		p += 2;
	}
	for (; digit__value(*p) < base; p++)
		val = val * base + digit__value(*p);
	switch (*p) {
	case 'G':
		return val << 30;
	case 'M':
		return val << 20;
	case 'K':
		return val << 10;
	case 0:
		return val;
	}
	panic("%s=%s is not a number", key, buf);
}
