// SPDX-License-Identifier: GPL-2.0-only
/* Every CPU of the MADT starts, and all places that tell its APIC id agree with the MADT. */
#include "acpi.h"
#include "apic.h"
#include "smp.h"
#include "trap.h"

#define MAX_SUBLEAVES 8
#define NONE UINT32_MAX

struct ids {
	uint32_t lapic, leaf1, leaf_b, leaf_1f, leaf_1e;
	uint32_t leaf_b_end; /* first subleaf of type 0 */
	uint32_t logical; /* CPUs of the package as the last level of leaf 0xb says */
	uint32_t leaf4_cores; /* cores of the package, 0: no leaf 4 */
	uint32_t cs;
};

/* x2APIC id of an extended topology leaf (0xb, 0x1f), NONE where it is not there. */
static uint32_t ids__topology(uint32_t leaf, uint32_t *end, uint32_t *logical)
{
	uint32_t r[4], i, id = NONE;

	for (i = 0; i < MAX_SUBLEAVES; i++) {
		cpu__cpuid(leaf, i, r);
		if (!(r[2] >> 8 & 0xff))
			break;
		if (id != NONE && id != r[3])
			return NONE - 1;
		id = r[3];
		*logical = r[1] & 0xffff;
	}
	*end = i;
	return id;
}

static void ids__read(void *arg)
{
	struct ids *ids = arg;
	uint32_t r[4], max, max_ext, dummy;
	uint16_t cs;

	memset(ids, 0xff, sizeof(*ids));
	asm("mov %%cs, %0" : "=r"(cs));
	ids->cs = cs;
	ids->lapic = apic__id();
	cpu__cpuid(0, 0, r);
	max = r[0];
	cpu__cpuid(0x80000000, 0, r);
	max_ext = r[0];
	cpu__cpuid(1, 0, r);
	ids->leaf1 = r[1] >> 24;
	if (max >= 0xb)
		ids->leaf_b = ids__topology(0xb, &ids->leaf_b_end, &ids->logical);
	if (max >= 0x1f)
		ids->leaf_1f = ids__topology(0x1f, &dummy, &dummy);
	cpu__cpuid(0x80000001, 0, r);
	if (max_ext >= 0x8000001e && r[2] & 1 << 22) { /* TOPOEXT */
		cpu__cpuid(0x8000001e, 0, r);
		ids->leaf_1e = r[0];
	}
	ids->leaf4_cores = 0;
	if (max >= 4) {
		cpu__cpuid(4, 0, r);
		ids->leaf4_cores = r[0] & 0x1f ? (r[0] >> 26) + 1 : 0;
	}
}

static void ids__check(unsigned int cpu, const struct ids *ids, unsigned int nr)
{
	uint32_t id = smp__apic_id(cpu);

	report((ids->cs & 3) == 3, "cpu %u runs at level 3", cpu);
	report(ids->lapic == id, "cpu %u: local APIC id %u, MADT %u", cpu, ids->lapic, id);
	report(ids->leaf1 == id, "cpu %u: CPUID 1 id %u", cpu, ids->leaf1);
	if (ids->leaf_b != NONE) {
		report(ids->leaf_b == id, "cpu %u: CPUID 0xb id %u", cpu, ids->leaf_b);
		report(ids->leaf_b_end < MAX_SUBLEAVES, "cpu %u: CPUID 0xb ends at subleaf %u", cpu,
		       ids->leaf_b_end);
		report(ids->logical == nr, "cpu %u: CPUID 0xb counts %u CPUs", cpu, ids->logical);
	}
	if (ids->leaf_1f != NONE)
		report(ids->leaf_1f == id, "cpu %u: CPUID 0x1f id %u", cpu, ids->leaf_1f);
	if (ids->leaf_1e != NONE)
		report(ids->leaf_1e == id, "cpu %u: CPUID 0x8000001e id %u", cpu, ids->leaf_1e);
	if (ids->leaf4_cores)
		report(ids->leaf4_cores >= nr, "cpu %u: CPUID 4 has room for %u cores", cpu,
		       ids->leaf4_cores);
}

int test__ids(void)
{
	uint32_t madt[MAX_CPUS];
	unsigned int expected = acpi__apic_ids(madt, MAX_CPUS);
	unsigned int cpu, nr = smp__start_all();
	const struct acpi_header *table = acpi__find("APIC");
	struct ids ids;

	report(table && acpi__sum_ok(table, table->length), "checksum of the MADT");
	report(nr == expected, "%u of %u CPUs of the MADT run", nr, expected);
	print("payload: cpus=%u\n", nr);
	ids__read(&ids);
	ids__check(0, &ids, nr);
	for (cpu = 1; cpu < nr; cpu++) {
		smp__begin(cpu, ids__read, &ids);
		if (report(smp__wait(cpu, HANG_MS), "cpu %u answers", cpu))
			ids__check(cpu, &ids, nr);
	}
	return report__summary();
}
