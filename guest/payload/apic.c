// SPDX-License-Identifier: GPL-2.0-only
#include "apic.h"
#include "layout.h"

#define SVR_ENABLE 0x100
#define APIC_TPR 0x80
#define ICR_INIT 0x4500 /* level assert, INIT */
#define ICR_SIPI 0x4600
#define ICR_PENDING 0x1000

#define IOAPIC_BASE 0xfec00000UL
#define IOAPIC_SELECT 0x00
#define IOAPIC_WINDOW 0x10
#define IOAPIC_REDIR(pin) (0x10 + 2 * (pin))
#define REDIR_LEVEL 0x8000
#define REDIR_MASKED 0x10000

void apic__enable(void)
{
	apic__write(APIC_TPR, 0);
	apic__write(APIC_SVR, SVR_ENABLE | VEC_SPURIOUS);
}

static void apic__ipi(uint32_t id, uint32_t command)
{
	apic__write(APIC_ICR_HI, id << 24);
	apic__write(APIC_ICR_LO, command);
	while (apic__read(APIC_ICR_LO) & ICR_PENDING)
		cpu__relax();
}

/* SDM vol. 3, 8.4.4.1; the waits are for hardware of long ago, a little is enough in a VM. */
void apic__start_cpu(uint32_t id, uint32_t page)
{
	apic__ipi(id, ICR_INIT);
	time__delay_us(200);
	apic__ipi(id, ICR_SIPI | page >> 12);
	time__delay_us(200);
	apic__ipi(id, ICR_SIPI | page >> 12);
}

static void ioapic__write(unsigned int reg, uint32_t val)
{
	mmio__write32(IOAPIC_BASE + IOAPIC_SELECT, reg);
	mmio__write32(IOAPIC_BASE + IOAPIC_WINDOW, val);
}

void ioapic__route(unsigned int pin, unsigned int vector, bool level, uint32_t id)
{
	ioapic__write(IOAPIC_REDIR(pin), REDIR_MASKED);
	if (!vector)
		return;
	ioapic__write(IOAPIC_REDIR(pin) + 1, id << 24);
	ioapic__write(IOAPIC_REDIR(pin), vector | (level ? REDIR_LEVEL : 0));
}
