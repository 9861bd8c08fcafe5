/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_TRAP_H
#define PAYLOAD_TRAP_H

#include "layout.h"
#include "payload.h"

/* What start.S leaves on the exception stack. */
struct trap_frame {
	uint64_t cr2, rax, rdi, vector, error;
	uint64_t rip, cs, rflags, rsp, ss;
};

/*
 * Run a function that may fault.  catch__run() gives true and fills in
 * c->frame where an exception ended it.  Not nested; one CPU at a time.
 */
struct catch
{
	uint64_t reg[7]; /* start.S */
	struct trap_frame frame;
};
bool catch__run(struct catch *c, void (*fn)(void *), void *arg);

/* At level 3, once: IDT.  Interrupts stay off. */
void trap__init(void);

/* Interrupts that came in on each vector since the start, any CPU. */
extern volatile uint64_t irq_count[256];

/*
 * What the handler of a level interrupt reads to silence the device (its ISR),
 * and the bits it has found there.  Never 0.
 */
struct irq_ack {
	uint64_t addr;
	uint8_t seen;
};
extern volatile struct irq_ack irq_ack;

/*
 * fn(a, b) at level 0, for the few instructions that need it.  Interpreted on
 * a software KVM: about 8 us for the way there and back.
 */
uint64_t level0__call(uint64_t (*fn)(uint64_t, uint64_t), uint64_t a, uint64_t b);
uint64_t level0__rdmsr(uint64_t msr, uint64_t unused);
uint64_t level0__wrmsr(uint64_t msr, uint64_t val);
uint64_t level0__irq_on(uint64_t unused, uint64_t unused2);
uint64_t level0__irq_off(uint64_t unused, uint64_t unused2);
uint64_t level0__hlt(uint64_t unused, uint64_t unused2); /* no return, interrupts off */
uint64_t level0__spin(uint64_t unused, uint64_t unused2); /* no return, interrupts off */
uint64_t level0__idle(uint64_t unused, uint64_t unused2); /* halt until an interrupt */
uint64_t level0__triple(uint64_t unused, uint64_t unused2); /* no return */
uint64_t level0__cpuid(uint64_t out, uint64_t leaf_and_sub);
uint64_t level0__cs(uint64_t unused, uint64_t unused2);

static inline uint64_t msr__read(uint32_t msr)
{
	return level0__call(level0__rdmsr, msr, 0);
}

static inline void msr__write(uint32_t msr, uint64_t val)
{
	level0__call(level0__wrmsr, msr, val);
}

/*
 * EAX, EBX, ECX, EDX as KVM_SET_CPUID2 made them.  At level 3 a software KVM
 * lets the instruction through to the host's CPU.
 */
static inline void cpu__cpuid(uint32_t leaf, uint32_t sub, uint32_t out[4])
{
	level0__call(level0__cpuid, (uintptr_t)out, leaf | (uint64_t)sub << 32);
}

static inline void irq__on(void)
{
	level0__call(level0__irq_on, 0, 0);
}

static inline void irq__off(void)
{
	level0__call(level0__irq_off, 0, 0);
}

/* Wait until @vector has counted @count interrupts.  False: @ms milliseconds went by. */
bool irq__wait(unsigned int vector, uint64_t count, uint64_t ms);

#endif
