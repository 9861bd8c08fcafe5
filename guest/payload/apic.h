/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_APIC_H
#define PAYLOAD_APIC_H

#include "payload.h"

/* Local APIC in xAPIC mode, from level 3 (SDM vol. 3, chapter 10). */
#define APIC_BASE 0xfee00000UL
#define APIC_ID 0x20
#define APIC_EOI 0xb0
#define APIC_SVR 0xf0
#define APIC_ICR_LO 0x300
#define APIC_ICR_HI 0x310

static inline uint32_t apic__read(unsigned int reg)
{
	return mmio__read32(APIC_BASE + reg);
}

static inline void apic__write(unsigned int reg, uint32_t val)
{
	mmio__write32(APIC_BASE + reg, val);
}

static inline uint32_t apic__id(void)
{
	return apic__read(APIC_ID) >> 24;
}

/* Software enable, spurious vector, task priority 0. */
void apic__enable(void);

/* INIT and twice SIPI to @id; it starts in real mode at @page (below 1 MiB). */
void apic__start_cpu(uint32_t id, uint32_t page);

/* MSI address and data that raise @vector on CPU @id, edge, fixed. */
static inline uint64_t apic__msi_addr(uint32_t id)
{
	return APIC_BASE | id << 12;
}

/* IOAPIC pin to @vector on CPU @id, active high; masked where @vector is 0. */
void ioapic__route(unsigned int pin, unsigned int vector, bool level, uint32_t id);

#endif
