// SPDX-License-Identifier: GPL-2.0-only
/* ACPI tables: AML encodings, checksums, fields, and what iasl says where it is installed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <lkvm/acpi.h>

#include "x86/aml.h"

#define GIB ((uint64_t)1 << 30)
#define MEM_SIZE ((size_t)1 << 20)

struct setup {
	struct x86_map map;
	struct guest_mem mem;
	uint8_t *ram;
	uint64_t rsdp;
};

static int build(struct setup *s, uint64_t ram, unsigned int nr_cpus, struct lk_err *err)
{
	assert_int_equal(x86_map__init(&s->map, ram, 46, NULL), 0);
	s->ram = calloc(1, MEM_SIZE);
	assert_non_null(s->ram);
	s->mem.nr = 1;
	s->mem.region[0] = (struct guest_region) {.gpa = 0, .size = MEM_SIZE, .hva = s->ram};
	return acpi__build(&s->mem, &s->map, nr_cpus, &s->rsdp, err);
}

static uint32_t get32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t get64(const uint8_t *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

static uint8_t sum(const uint8_t *p, size_t len)
{
	uint8_t total = 0;

	while (len--)
		total += *p++;
	return total;
}

/* The table at a guest physical address: inside the area, its checksum right. */
static uint8_t *table_at(struct setup *s, uint64_t gpa, const char *signature)
{
	uint32_t len;

	assert_in_range(gpa, X86_ACPI_BASE, X86_ACPI_BASE + X86_ACPI_SIZE - 36);
	len = get32(s->ram + gpa + 4);
	assert_in_range(len, 36, X86_ACPI_BASE + X86_ACPI_SIZE - gpa);
	assert_int_equal(sum(s->ram + gpa, len), 0);
	assert_memory_equal(s->ram + gpa, signature, 4);
	return s->ram + gpa;
}

/* From the RSDP on, as a guest finds it. */
static uint8_t *find(struct setup *s, const char *signature)
{
	uint8_t *rsdp = s->ram + s->rsdp, *xsdt;

	assert_int_equal(s->rsdp % 16, 0);
	assert_memory_equal(rsdp, "RSD PTR ", 8);
	assert_int_equal(sum(rsdp, 20), 0);
	assert_int_equal(sum(rsdp, 36), 0);
	assert_int_equal(rsdp[15], 2);
	xsdt = table_at(s, get64(rsdp + 24), "XSDT");
	for (uint32_t off = 36; off < get32(xsdt + 4); off += 8) {
		uint64_t gpa = get64(xsdt + off);

		if (!memcmp(s->ram + gpa, signature, 4))
			return table_at(s, gpa, signature);
	}
	fail_msg("no table %s", signature);
	return NULL;
}

/* ACPI 6.4, table 5.9: offsets are those of the specification. */
static void test_fadt(void **state)
{
	struct setup s = {0};
	uint8_t *fadt;
	uint32_t flags;

	(void)state;
	assert_int_equal(build(&s, GIB, 2, NULL), 0);
	fadt = find(&s, "FACP");
	assert_int_equal(get32(fadt + 4), 276);
	assert_int_equal(fadt[8], 6); /* revision */
	assert_int_equal(fadt[131], 4); /* minor */
	flags = get32(fadt + 112);
	assert_true(flags & 1 << 20); /* HW_REDUCED_ACPI */
	assert_true(flags & 1 << 10); /* RESET_REG_SUP */
	assert_true(flags & 1 << 4); /* no fixed power button */
	assert_true(flags & 1 << 5); /* no fixed sleep button */
	assert_false(fadt[109] & 1 << 1); /* no 8042 */
	assert_true(fadt[109] & 1 << 2); /* no VGA */
	assert_false(fadt[109] & 1 << 5); /* there is an RTC */
	assert_memory_equal(fadt + 116, "\1\10\0\1\xf9\x0c\0\0\0\0\0\0\6", 13); /* 0xcf9: 6 */
	assert_memory_equal(fadt + 244, "\1\10\0\1\0\6\0\0\0\0\0\0", 12); /* 0x600 */
	assert_memory_equal(fadt + 256, "\1\10\0\1\1\6\0\0\0\0\0\0", 12); /* 0x601 */
	for (unsigned int off = 46; off < 109; off++)
		assert_int_equal(fadt[off], 0); /* no fixed hardware */
	table_at(&s, get64(fadt + 140), "DSDT");
	free(s.ram);
}

static void test_mcfg(void **state)
{
	struct setup s = {0};
	uint8_t *mcfg;

	(void)state;
	assert_int_equal(build(&s, GIB, 1, NULL), 0);
	mcfg = find(&s, "MCFG");
	assert_int_equal(get32(mcfg + 4), 60);
	assert_int_equal(get64(mcfg + 44), 0xe0000000);
	assert_int_equal(mcfg[54], 0);
	assert_int_equal(mcfg[55], 0);
	free(s.ram);
}

/* Every id once, in order: local APIC below 255, x2APIC from there on; UID equals id. */
static void check_madt(unsigned int nr)
{
	unsigned int next = 0, ioapics = 0, nmi = 0, nmi_x2 = 0;
	struct setup s = {0};
	uint8_t *madt, *e;

	assert_int_equal(build(&s, GIB, nr, NULL), 0);
	madt = find(&s, "APIC");
	assert_int_equal(get32(madt + 36), 0xfee00000);
	for (e = madt + 44; e < madt + get32(madt + 4); e += e[1]) {
		assert_true(e[1] >= 2);
		switch (e[0]) {
		case 0:
			assert_int_equal(e[1], 8);
			assert_true(next < 255);
			assert_int_equal(e[2], next);
			assert_int_equal(e[3], next++);
			assert_int_equal(get32(e + 4), 1);
			break;
		case 9:
			assert_int_equal(e[1], 16);
			assert_true(next >= 255);
			assert_int_equal(get32(e + 4), next);
			assert_int_equal(get32(e + 8), 1);
			assert_int_equal(get32(e + 12), next++);
			break;
		case 1:
			assert_int_equal(e[1], 12);
			assert_int_equal(get32(e + 4), 0xfec00000);
			assert_int_equal(get32(e + 8), 0);
			ioapics++;
			break;
		case 4:
			assert_memory_equal(e, "\4\6\xff\0\0\1", 6);
			nmi++;
			break;
		case 10:
			assert_memory_equal(e, "\12\14\0\0\xff\xff\xff\xff\1\0\0\0", 12);
			nmi_x2++;
			break;
		default:
			fail_msg("entry of type %u", e[0]);
		}
	}
	assert_ptr_equal(e, madt + get32(madt + 4));
	assert_int_equal(next, nr);
	assert_int_equal(ioapics, 1);
	assert_int_equal(nmi, 1);
	assert_int_equal(nmi_x2, nr > 255);
	free(s.ram);
}

static void test_madt(void **state)
{
	static const unsigned int nr[] = {1, 2, 3, 4, 5, 254, 255, 256, 257, 300, 1024, 2048};

	(void)state;
	for (size_t i = 0; i < sizeof(nr) / sizeof(nr[0]); i++)
		check_madt(nr[i]);
}

/* Too many CPUs: an error, and nothing written beyond the area. */
static void test_too_many_cpus(void **state)
{
	static const unsigned int nr[] = {4096, 4097, 65536, 0xffffffff};

	(void)state;
	for (size_t i = 0; i < sizeof(nr) / sizeof(nr[0]); i++) {
		struct lk_err err = {""};
		struct setup s = {0};

		/* The heap block ends where the area does: ASan watches over that. */
		assert_int_equal(build(&s, GIB, nr[i], &err), -ENOSPC);
		assert_non_null(strstr(err.msg, "fewer CPUs"));
		assert_int_equal(sum(s.ram, X86_ACPI_BASE), 0);
		free(s.ram);
	}
}

static void test_bad_arguments(void **state)
{
	struct lk_err err = {""};
	struct setup s = {0};

	(void)state;
	assert_int_equal(build(&s, GIB, 0, &err), -EINVAL);
	s.mem.region[0].size = MEM_SIZE - 4096;
	assert_int_equal(acpi__build(&s.mem, &s.map, 1, &s.rsdp, &err), -EFAULT);
	free(s.ram);
}

/* ACPI 6.4, 20.2.4: the length counts its own bytes; 63, 4095, 1048575 are the last of each form. */
static void test_pkg_length(void **state)
{
	static const struct {
		size_t content;
		const char *enc;
		size_t len;
	} pkg[] = {
		{0, "\x01", 1},
		{62, "\x3f", 1},
		{63, "\x41\x04", 2},
		{4093, "\x4f\xff", 2},
		{4094, "\x81\x00\x01", 3},
		{1048572, "\x8f\xff\xff", 3},
		{1048573, "\xc1\0\0\1", 4},
	};
	uint8_t *buf = malloc(2 << 20), *data = calloc(1, 2 << 20);

	(void)state;
	assert_non_null(buf);
	assert_non_null(data);
	for (size_t i = 0; i < sizeof(pkg) / sizeof(pkg[0]); i++) {
		struct aml aml;

		aml__init(&aml, buf, 2 << 20);
		memset(data, 0x5a, pkg[i].content);
		aml__bytes(&aml, data, pkg[i].content);
		aml__end(&aml, 0);
		assert_false(aml.overflow);
		assert_int_equal(aml.len, pkg[i].content + pkg[i].len);
		assert_memory_equal(buf, pkg[i].enc, pkg[i].len);
		assert_memory_equal(buf + pkg[i].len, data, pkg[i].content);
	}
	free(buf);
	free(data);
}

static void test_encodings(void **state)
{
	static const char want[] = "\x08_HID\x0c\x41\xd0\x0a\x08" /* EisaId ("PNP0A08") */
				   "\x00\x01\x0a\x02\x0a\xff\x0b\x00\x01\x0c\x00\x00\x01\x00"
				   "\x0e\x00\x00\x00\x00\x01\x00\x00\x00"
				   "\x0d"
				   "ab\0"
				   "\x10\x06\\_SB_"
				   "\x11\x05\x0a\x02xy";
	struct aml aml;
	uint8_t buf[100];

	(void)state;
	aml__init(&aml, buf, sizeof(buf));
	aml__name(&aml, "_HID");
	aml__eisaid(&aml, "PNP0A08");
	aml__integer(&aml, 0);
	aml__integer(&aml, 1);
	aml__integer(&aml, 2);
	aml__integer(&aml, 255);
	aml__integer(&aml, 256);
	aml__integer(&aml, 65536);
	aml__integer(&aml, (uint64_t)1 << 32);
	aml__string(&aml, "ab");
	aml__end(&aml, aml__scope(&aml, "\\_SB"));
	aml__buffer(&aml, "xy", 2);
	assert_int_equal(aml.len, sizeof(want) - 1);
	assert_memory_equal(buf, want, sizeof(want) - 1);
}

/* Whatever the room: no byte beyond it, and it is said that it was too little. */
static void test_writer_bounds(void **state)
{
	(void)state;
	for (size_t size = 0; size < 40; size++) {
		uint8_t *buf = malloc(size ? size : 1); /* ASan watches the end */
		struct aml aml;
		size_t mark;

		assert_non_null(buf);
		aml__init(&aml, buf, size);
		mark = aml__device(&aml, "ABCD"); /* 2 + 4 */
		aml__name(&aml, "_UID"); /* 5 */
		aml__integer(&aml, 0x12345678); /* 5 */
		aml__end(&aml, mark); /* 1 */
		assert_int_equal(aml.overflow, size < 17);
		assert_true(aml.len <= size);
		free(buf);
	}
}

static void save(const char *dir, const char *name, const uint8_t *table)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.dat", dir, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(table, get32(table + 4), 1, f), 1);
	fclose(f);
}

static int run(const char *dir, const char *command)
{
	char line[512];

	snprintf(line, sizeof(line), "cd %s && { %s; }", dir, command);
	return system(line);
}

/* Disassemble each table, compile it again without an error or warning, compare the bytes. */
static void check_iasl(const char *dir, unsigned int nr_cpus)
{
	static const char *const name[] = {"FACP", "APIC", "MCFG", "XSDT", "DSDT"};
	struct setup s = {0};

	assert_int_equal(build(&s, 8 * GIB, nr_cpus, NULL), 0);
	save(dir, "FACP", find(&s, "FACP"));
	save(dir, "APIC", find(&s, "APIC"));
	save(dir, "MCFG", find(&s, "MCFG"));
	save(dir, "XSDT", table_at(&s, get64(s.ram + s.rsdp + 24), "XSDT"));
	save(dir, "DSDT", table_at(&s, get64(find(&s, "FACP") + 140), "DSDT"));
	free(s.ram);
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		char command[400];

		snprintf(command, sizeof(command),
			 "iasl -d %s.dat >log 2>&1 && ! grep -qiE 'error|warning|invalid' log && "
			 "iasl -oa -we -p new-%s %s.dsl >log 2>&1 && cmp -s -i 36 %s.dat "
			 "new-%s.aml || "
			 "{ cat log; false; }",
			 name[i], name[i], name[i], name[i], name[i]);
		assert_int_equal(run(dir, command), 0);
	}
}

static void test_iasl(void **state)
{
	char dir[] = "/tmp/lkvm-acpi-XXXXXX", command[64];

	(void)state;
	if (system("command -v iasl >/dev/null 2>&1") != 0) {
		print_message("iasl (acpica-tools) is not installed\n");
		skip();
	}
	assert_non_null(mkdtemp(dir));
	check_iasl(dir, 1);
	check_iasl(dir, 5);
	check_iasl(dir, 300);
	assert_int_equal(run(dir, "grep -q 'Name (_UID, 0x012B)' DSDT.dsl"), 0); /* 299 */
	assert_int_equal(run(dir, "grep -q 'Name (_HID, EisaId (\"PNP0A08\")' DSDT.dsl"), 0);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(run("/", command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fadt),	      cmocka_unit_test(test_mcfg),
		cmocka_unit_test(test_madt),	      cmocka_unit_test(test_too_many_cpus),
		cmocka_unit_test(test_bad_arguments), cmocka_unit_test(test_pkg_length),
		cmocka_unit_test(test_encodings),     cmocka_unit_test(test_writer_bounds),
		cmocka_unit_test(test_iasl),
	};

	return cmocka_run_group_tests_name("acpi", tests, NULL, NULL);
}
