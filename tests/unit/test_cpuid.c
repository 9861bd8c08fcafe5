// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUID of each vCPU, from made-up Intel and AMD hosts whose own topology must
 * not shine through.  Intel SDM volume 2; AMD APM volume 3, appendix E.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <lkvm/x86_cpu.h>

#define MAX 64

static const unsigned int counts[] = {1, 2, 3, 4, 5, 8, 64, 255, 256, 300};
static const unsigned int bits_for[] = {0, 1, 2, 2, 3, 3, 6, 8, 8, 9};

static struct kvm_cpuid2 *new_host(void)
{
	return calloc(1, sizeof(struct kvm_cpuid2) + MAX * sizeof(struct kvm_cpuid_entry2));
}

static struct kvm_cpuid_entry2 *add(struct kvm_cpuid2 *c, uint32_t leaf, int index)
{
	struct kvm_cpuid_entry2 *e = &c->entries[c->nent++];

	e->function = leaf;
	if (index >= 0) {
		e->index = index;
		e->flags = KVM_CPUID_FLAG_SIGNIFCANT_INDEX;
	}
	return e;
}

static void add_leaf0(struct kvm_cpuid2 *c, const char *vendor, uint32_t max)
{
	struct kvm_cpuid_entry2 *e = add(c, 0, -1);

	e->eax = max;
	memcpy(&e->ebx, vendor, 4);
	memcpy(&e->edx, vendor + 4, 4);
	memcpy(&e->ecx, vendor + 8, 4);
}

/* Leaf 1 of a host with 16 logical CPUs, OSXSAVE on, CLFLUSH of 8 quadwords. */
static void add_leaf1(struct kvm_cpuid2 *c)
{
	struct kvm_cpuid_entry2 *e = add(c, 1, -1);

	e->ebx = 0x0b100800;
	e->ecx = 1U << 27 | 1U << 21; /* OSXSAVE, x2APIC */
	e->edx = 1U << 28;
}

static struct kvm_cpuid2 *intel_host(uint32_t max)
{
	struct kvm_cpuid2 *c = new_host();

	add_leaf0(c, "GenuineIntel", max);
	add_leaf1(c);
	add(c, 4, 0)->eax = 1 | 1 << 5 | 1U << 14 | 7U << 26; /* data, level 1 */
	add(c, 4, 1)->eax = 3 | 3 << 5 | 15U << 14 | 7U << 26; /* unified, level 3 */
	add(c, 4, 2);
	add(c, 0xb, 0)->ebx = 2;
	add(c, 0xb, 1)->ebx = 16;
	if (max >= 0x1f)
		add(c, 0x1f, 0)->ebx = 2;
	add(c, 0x80000008, -1)->eax = 0x3027;
	return c;
}

static struct kvm_cpuid2 *amd_host(void)
{
	struct kvm_cpuid2 *c = new_host();

	add_leaf0(c, "AuthenticAMD", 0xd);
	add_leaf1(c);
	add(c, 0x80000001, -1)->ecx = 1U << 22 | 1U << 1; /* TOPOEXT, CmpLegacy */
	add(c, 0x80000008, -1)->ecx = 0x700f;
	add(c, 0x8000001d, 0)->eax = 1 | 1 << 5 | 1U << 14;
	add(c, 0x8000001d, 3)->eax = 3 | 3 << 5 | 15U << 14;
	add(c, 0x8000001e, -1)->ebx = 0x0105;
	return c;
}

static void patch(struct kvm_cpuid2 *c, unsigned int id, unsigned int nr)
{
	const struct x86_topology topo = {.id = id, .nr = nr, .tsc_deadline = true};

	assert_int_equal(x86_cpuid__patch(c, MAX, &topo), 0);
}

static void check_leaf1(struct kvm_cpuid2 *c, unsigned int id, unsigned int nr)
{
	const struct kvm_cpuid_entry2 *e = x86_cpuid__find(c, 1, 0);

	assert_int_equal(e->ebx >> 24, id & 0xff);
	assert_int_equal((e->ebx >> 16) & 0xff, nr < 255 ? nr : 255);
	assert_int_equal(e->ebx & 0xffff, 0x0800);
	/* hypervisor and TSC deadline on, OSXSAVE off, x2APIC as it was */
	assert_int_equal(e->ecx, 1U << 31 | 1U << 24 | 1U << 21);
	assert_int_equal(e->edx, nr > 1 ? 1U << 28 : 0);
}

static void check_levels(struct kvm_cpuid2 *c, uint32_t leaf, unsigned int id, unsigned int nr,
			 unsigned int bits)
{
	const struct kvm_cpuid_entry2 *smt = x86_cpuid__find(c, leaf, 0);
	const struct kvm_cpuid_entry2 *core = x86_cpuid__find(c, leaf, 1);
	const struct kvm_cpuid_entry2 *end = x86_cpuid__find(c, leaf, 2);

	assert_non_null(smt);
	assert_non_null(core);
	assert_non_null(end);
	assert_int_equal(smt->eax, 0);
	assert_int_equal(smt->ebx, 1);
	assert_int_equal(smt->ecx, 0x100);
	assert_int_equal(core->eax, bits);
	assert_int_equal(core->ebx, nr);
	assert_int_equal(core->ecx, 0x201);
	assert_int_equal(end->ebx, 0); /* the loop over subleaves ends */
	assert_int_equal(end->ecx, 2);
	assert_int_equal(smt->edx, id);
	assert_int_equal(core->edx, id);
	assert_int_equal(end->edx, id);
}

static void test_intel(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		unsigned int nr = counts[i], bits = bits_for[i], id = nr - 1;
		unsigned int ids = 1U << bits;
		struct kvm_cpuid2 *c = intel_host(0x1f);
		uint32_t eax;

		patch(c, id, nr);
		check_leaf1(c, id, nr);
		check_levels(c, 0xb, id, nr, bits);
		check_levels(c, 0x1f, id, nr, bits);
		eax = x86_cpuid__find(c, 4, 0)->eax;
		assert_int_equal((eax >> 14) & 0xfff, 0); /* level 1: a core's own */
		assert_int_equal(eax >> 26, ids <= 64 ? ids - 1 : 63);
		eax = x86_cpuid__find(c, 4, 1)->eax;
		assert_int_equal((eax >> 14) & 0xfff, ids - 1); /* level 3: everyone's */
		assert_int_equal(eax & 0xff, 3 | 3 << 5);
		assert_int_equal(x86_cpuid__find(c, 4, 2)->eax, 0);
		assert_int_equal(x86_cpuid__find(c, 0x80000008, 0)->ecx, 0); /* AMD's */
		free(c);
	}
}

static void test_amd(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		unsigned int nr = counts[i], bits = bits_for[i], id = nr - 1;
		struct kvm_cpuid2 *c = amd_host();
		const struct kvm_cpuid_entry2 *e;

		patch(c, id, nr);
		check_leaf1(c, id, nr);
		check_levels(c, 0xb, id, nr, bits);
		assert_null(x86_cpuid__find(c, 0x1f, 0)); /* the host has none */
		e = x86_cpuid__find(c, 0x80000001, 0);
		assert_int_equal(e->ecx, 1U << 22 | (nr > 1 ? 2 : 0));
		e = x86_cpuid__find(c, 0x80000008, 0);
		assert_int_equal(e->ecx, bits << 12 | (nr <= 256 ? nr - 1 : 255));
		assert_int_equal((x86_cpuid__find(c, 0x8000001d, 0)->eax >> 14) & 0xfff, 0);
		assert_int_equal((x86_cpuid__find(c, 0x8000001d, 3)->eax >> 14) & 0xfff,
				 (1U << bits) - 1);
		assert_int_equal(x86_cpuid__find(c, 0x8000001d, 3)->eax >> 26, 0);
		e = x86_cpuid__find(c, 0x8000001e, 0);
		assert_int_equal(e->eax, id);
		assert_int_equal(e->ebx, id & 0xff); /* one thread a core */
		assert_int_equal(e->ecx, 0); /* node 0 of one */
		free(c);
	}
}

static void test_old_host_gets_leaf_b_for_more_than_one(void **state)
{
	struct kvm_cpuid2 *c = new_host();

	(void)state;
	add_leaf0(c, "GenuineIntel", 5);
	add_leaf1(c);
	patch(c, 0, 1);
	assert_null(x86_cpuid__find(c, 0xb, 0));
	assert_int_equal(x86_cpuid__find(c, 0, 0)->eax, 5);
	patch(c, 2, 3);
	check_levels(c, 0xb, 2, 3, 2);
	assert_int_equal(x86_cpuid__find(c, 0, 0)->eax, 0xb);
	free(c);
}

/* Patched twice it is the same as once: the second vCPU starts from a clean copy anyway. */
static void test_no_room_and_twice(void **state)
{
	const struct x86_topology topo = {.id = 1, .nr = 2};
	struct kvm_cpuid2 *c = intel_host(0x1f);
	unsigned int nent;

	(void)state;
	patch(c, 0, 2);
	nent = c->nent;
	patch(c, 1, 2);
	assert_int_equal(c->nent, nent);
	assert_int_equal(x86_cpuid__patch(c, nent - 1, &topo), -E2BIG);
	/* no timer capability: no bit */
	assert_int_equal(x86_cpuid__find(c, 1, 0)->ecx & (1U << 24), 0);
	free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_intel),
		cmocka_unit_test(test_amd),
		cmocka_unit_test(test_old_host_gets_leaf_b_for_more_than_one),
		cmocka_unit_test(test_no_room_and_twice),
	};

	return cmocka_run_group_tests_name("cpuid", tests, NULL, NULL);
}
