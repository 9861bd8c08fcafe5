// SPDX-License-Identifier: GPL-2.0-only
/* Faults provoked at level 3 come back with vector, error code and address as they should. */
#include "trap.h"

#define NOT_MAPPED 0x7f0000001234ULL
#define NOT_CANONICAL 0x8000000000000000ULL

static void provoke__de(void *arg)
{
	uint32_t quotient = 1;

	(void)arg;
	asm volatile("xor %%edx, %%edx; divl %1" : "+a"(quotient) : "r"(0) : "edx", "cc");
}

static void provoke__ud(void *arg)
{
	(void)arg;
	asm volatile("ud2");
}

static void provoke__bp(void *arg)
{
	(void)arg;
	asm volatile("int3");
}

static void provoke__read(void *arg)
{
	(void)*(volatile uint8_t *)arg;
}

static void provoke__write(void *arg)
{
	*(volatile uint8_t *)arg = 1;
}

static void provoke__gp(void *arg)
{
	(void)arg;
	asm volatile("hlt");
}

static void provoke__xm(void *arg)
{
	uint32_t unmasked = 0x1f80 & ~(1 << 9); /* MXCSR: divide by zero is not masked */
	float x = 1;

	(void)arg;
	asm volatile("ldmxcsr %1; divss %2, %0" : "+x"(x) : "m"(unmasked), "x"(0.0f));
}

static void provoke__nothing(void *arg)
{
	*(uint32_t *)arg = 42;
}

static const struct {
	const char *name;
	void (*provoke)(void *);
	uint64_t arg;
	unsigned int vector;
	uint64_t error;
} cases[] = {
	{"#DE", provoke__de, 0, 0, 0},
	{"#UD", provoke__ud, 0, 6, 0},
	{"#GP hlt", provoke__gp, 0, 13, 0},
	{"#GP non-canonical", provoke__read, NOT_CANONICAL, 13, 0},
	{"#PF read", provoke__read, NOT_MAPPED, 14, 4}, /* user */
	{"#PF write", provoke__write, NOT_MAPPED, 14, 6}, /* user, write */
	{"#XM", provoke__xm, 0, 19, 0},
	{"#BP", provoke__bp, 0, 3, 0},
};

int test__exception(void)
{
	uint32_t mxcsr = 0x1f80, value = 0;
	struct catch c;
	unsigned int i;

	report(!catch__run(&c, provoke__nothing, &value) && value == 42, "no fault, no exception");
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		bool caught;

		if (cases[i].vector == 19 && !cmdline__bool("xm", true))
			continue;
		caught = catch__run(&c, cases[i].provoke, (void *)cases[i].arg);
		report(caught && c.frame.vector == cases[i].vector, "%s: vector %u", cases[i].name,
		       caught ? (unsigned int)c.frame.vector : 999);
		if (!caught)
			continue;
		report(c.frame.error == cases[i].error, "%s: error code %llx", cases[i].name,
		       (unsigned long long)c.frame.error);
		report((c.frame.cs & 3) == 3, "%s: came from level 3", cases[i].name);
		if (cases[i].vector == 14)
			report(c.frame.cr2 == cases[i].arg, "%s: cr2 %llx", cases[i].name,
			       (unsigned long long)c.frame.cr2);
	}
	asm volatile("ldmxcsr %0" : : "m"(mxcsr));
	report((level0__call(level0__cs, 0, 0) & 3) == 0, "a level 0 call runs at level 0");
	return report__summary();
}
