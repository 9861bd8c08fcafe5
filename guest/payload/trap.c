// SPDX-License-Identifier: GPL-2.0-only
#include "trap.h"

/* SDM vol. 3, 6.14.1: 64-bit gate. */
struct idt_gate {
	uint16_t offset_lo, selector;
	uint8_t ist, type;
	uint16_t offset_mid;
	uint32_t offset_hi, reserved;
};

extern struct idt_gate idt[256];
extern const char exception_stubs[], edge_stubs[], level_stubs[], spurious_stub[];

int catch__call(struct catch *c, void (*fn)(void *), void *arg);
__attribute__((noreturn)) void catch__resume(struct catch *c);
__attribute__((noreturn)) void trap__handle(struct trap_frame *frame);

static uint8_t irq_ack_nothing;
volatile struct irq_ack irq_ack = {.addr = (uintptr_t)&irq_ack_nothing};

static struct {
	struct catch *catch;
	unsigned int depth; /* exceptions since the last one that was caught */
} trap;

static void idt__set(unsigned int vector, const char *stub, unsigned int ist)
{
	uint64_t addr = (uintptr_t)stub;

	idt[vector] = (struct idt_gate) {
		.offset_lo = addr,
		.offset_mid = addr >> 16,
		.offset_hi = addr >> 32,
		.selector = SEL_CODE0,
		.ist = ist,
		.type = 0x8e, /* present, interrupt gate */
	};
}

void trap__init(void)
{
	unsigned int i;

	/* Their own stack: an interrupt in the handler leaves the frame alone. */
	for (i = 0; i < 32; i++)
		idt__set(i, exception_stubs + i * STUB_SIZE, 1);
	for (i = VEC_EDGE; i < VEC_LEVEL; i++)
		idt__set(i, edge_stubs + (i - VEC_EDGE) * STUB_SIZE, 0);
	for (i = VEC_LEVEL; i < VEC_END; i++)
		idt__set(i, level_stubs + (i - VEC_LEVEL) * STUB_SIZE, 0);
	idt__set(VEC_SPURIOUS, spurious_stub, 0);
	idt[3].type |= 0x60; /* int3 is for level 3 too */
	/* Both 8259s: all masked, so that the local APIC is the only source. */
	outb(0x21, 0xff);
	outb(0xa1, 0xff);
}

bool catch__run(struct catch *c, void (*fn)(void *), void *arg)
{
	bool caught;

	trap.catch = c;
	caught = catch__call(c, fn, arg);
	trap.catch = NULL;
	return caught;
}

/* Entered from start.S at level 3.  No level0__call() here: it would use the same stack. */
void trap__handle(struct trap_frame *frame)
{
	struct catch *c = trap.catch;

	if (c) {
		trap.catch = NULL;
		c->frame = *frame;
		catch__resume(c);
	}
	if (trap.depth++)
		power__exit(EXIT_PANIC);
	print("payload: exception %llu at rip %llx, error %llx, cr2 %llx, cs %llx, rsp %llx, "
	      "rflags %llx\n",
	      (unsigned long long)frame->vector, (unsigned long long)frame->rip,
	      (unsigned long long)frame->error, (unsigned long long)frame->cr2,
	      (unsigned long long)frame->cs, (unsigned long long)frame->rsp,
	      (unsigned long long)frame->rflags);
	power__exit(EXIT_PANIC);
}

bool irq__wait(unsigned int vector, uint64_t count, uint64_t ms)
{
	uint64_t end = time__deadline(ms);

	while (irq_count[vector] < count) {
		if (time__tsc() > end)
			return false;
		cpu__relax();
	}
	return true;
}
