/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_SMP_H
#define PAYLOAD_SMP_H

#include "layout.h"
#include "payload.h"

/*
 * CPU 0 is the one that booted, the others follow in the order of the MADT.
 * They run at level 3 with interrupts off and spin for work.
 */

/* Start all CPUs of the MADT; how many run then, the first included. */
unsigned int smp__start_all(void);

/* APIC id that the MADT gives CPU @cpu. */
uint32_t smp__apic_id(unsigned int cpu);

/* Begin fn(arg) on CPU @cpu (not 0), which must be idle; smp__wait() for its end. */
void smp__begin(unsigned int cpu, void (*fn)(void *), void *arg);
bool smp__wait(unsigned int cpu, uint64_t ms); /* false: it took longer */

#endif
