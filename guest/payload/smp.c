// SPDX-License-Identifier: GPL-2.0-only
#include "smp.h"

#include "acpi.h"
#include "apic.h"
#include "trap.h"

extern const uint8_t ap_start[], ap_end[];
extern uint64_t ap_frame[5], gdt[];
extern uint32_t ap_tss;
extern uint8_t tss[];

struct cpu {
	uint32_t apic_id;
	bool online;
	void (*fn)(void *); /* NULL: idle */
	void *arg;
};

static struct {
	struct cpu cpu[MAX_CPUS];
	unsigned int nr, starting;
} smp;

void smp__ap_main(void);

/* A page of conventional memory, as high as there is one: the loader's data lies low. */
static uint32_t smp__trampoline_page(void)
{
	uint64_t best = 0;
	unsigned int i;

	for (i = 0; i < boot_info.nr_ram; i++) {
		uint64_t base = boot_info.ram[i].base, end = base + boot_info.ram[i].size;

		if (end > 0xa0000)
			end = 0xa0000;
		end &= -PAGE_SIZE;
		if (end >= base + PAGE_SIZE && end - PAGE_SIZE > best)
			best = end - PAGE_SIZE;
	}
	return best;
}

/* SDM vol. 3, 7.2.3 and 7.7: descriptor and TSS; the I/O bitmap is shared. */
static void smp__set_tss(unsigned int cpu)
{
	uint64_t addr = (uintptr_t)tss + cpu * TSS_STRIDE;
	uint64_t stack0 = (uintptr_t)mem__alloc(STACK0_SIZE, 16) + STACK0_SIZE;
	uint64_t trap = (uintptr_t)mem__alloc(STACK_TRAP_SIZE, 16) + STACK_TRAP_SIZE;
	uint16_t bitmap = TSS_BITMAP - cpu * TSS_STRIDE;
	uint64_t *desc = &gdt[SEL_TSS / 8 + cpu * 2];

	memcpy((void *)(addr + 4), &stack0, 8); /* RSP0 */
	memcpy((void *)(addr + 0x24), &trap, 8); /* IST1 */
	memcpy((void *)(addr + 0x66), &bitmap, 2);
	desc[0] = (TSS_END - cpu * TSS_STRIDE) | (addr & 0xffffff) << 16 | 0x89ULL << 40 |
		  addr >> 24 << 56;
	desc[1] = addr >> 32;
}

void smp__ap_main(void)
{
	struct cpu *cpu = &smp.cpu[smp.starting];
	void (*fn)(void *);

	__atomic_store_n(&cpu->online, true, __ATOMIC_RELEASE);
	for (;;) {
		fn = __atomic_load_n(&cpu->fn, __ATOMIC_ACQUIRE);
		if (fn) {
			fn(cpu->arg);
			__atomic_store_n(&cpu->fn, NULL, __ATOMIC_RELEASE);
		}
		cpu__relax();
	}
}

static bool smp__start(unsigned int cpu, uint32_t page)
{
	uint64_t end = time__deadline(HANG_MS);

	smp__set_tss(cpu);
	ap_frame[3] = (uintptr_t)mem__alloc(STACK3_SIZE, 16) + STACK3_SIZE;
	ap_tss = SEL_TSS + 16 * cpu;
	smp.starting = cpu;
	mb();
	apic__start_cpu(smp.cpu[cpu].apic_id, page);
	while (!__atomic_load_n(&smp.cpu[cpu].online, __ATOMIC_ACQUIRE)) {
		if (time__tsc() > end)
			return false;
		cpu__relax();
	}
	return true;
}

unsigned int smp__start_all(void)
{
	uint32_t ids[MAX_CPUS], page = smp__trampoline_page();
	unsigned int i, nr = acpi__apic_ids(ids, MAX_CPUS);

	if (!page)
		panic("no page below 1 MiB to start CPUs from");
	if (nr > MAX_CPUS)
		nr = MAX_CPUS;
	memcpy((void *)(uintptr_t)page, ap_start, (uintptr_t)ap_end - (uintptr_t)ap_start);
	apic__enable();
	smp.cpu[0].apic_id = apic__id();
	smp.nr = 1;
	for (i = 0; i < nr; i++) {
		if (ids[i] == smp.cpu[0].apic_id)
			continue;
		smp.cpu[smp.nr].apic_id = ids[i];
		if (smp__start(smp.nr, page))
			smp.nr++;
		else
			print("payload: CPU with APIC id %u does not start\n", ids[i]);
	}
	return smp.nr;
}

uint32_t smp__apic_id(unsigned int cpu)
{
	return smp.cpu[cpu].apic_id;
}

void smp__begin(unsigned int cpu, void (*fn)(void *), void *arg)
{
	smp.cpu[cpu].arg = arg;
	__atomic_store_n(&smp.cpu[cpu].fn, fn, __ATOMIC_RELEASE);
}

bool smp__wait(unsigned int cpu, uint64_t ms)
{
	uint64_t end = time__deadline(ms);

	while (__atomic_load_n(&smp.cpu[cpu].fn, __ATOMIC_ACQUIRE)) {
		if (time__tsc() > end)
			return false;
		cpu__relax();
	}
	return true;
}
