// SPDX-License-Identifier: GPL-2.0-only
/* Ends of a VM.  One that does not work is told by the status that comes instead. */
#include "trap.h"

#define EXIT_STILL_HERE 1

int test__hello(void)
{
	uint16_t cs;

	asm("mov %%cs, %0" : "=r"(cs));
	print("payload: hello from level %u\n", cs & 3);
	return cmdline__num("exit", 0);
}

/* count=N numbered lines of 16 bytes: a load for the console. */
int test__lines(void)
{
	uint64_t i, count = cmdline__num("count", 1024);

	for (i = 0; i < count; i++)
		print("%015llu\n", (unsigned long long)i);
	return 0;
}

int test__poweroff(void)
{
	print("payload: ACPI S5\n");
	power__acpi_off();
	return EXIT_STILL_HERE;
}

int test__reset(void)
{
	print("payload: i8042 reset\n");
	power__i8042_reset();
	return EXIT_STILL_HERE;
}

int test__cf9(void)
{
	print("payload: reset register\n");
	power__cf9_reset();
	return EXIT_STILL_HERE;
}

int test__triple(void)
{
	print("payload: triple fault\n");
	level0__call(level0__triple, 0, 0);
	return EXIT_STILL_HERE;
}

/* At level 3, where it costs the host no interpreter, unless level=0 asks for that. */
int test__spin(void)
{
	print("payload: spinning\n");
	if (!cmdline__num("level", 3))
		level0__call(level0__spin, 0, 0);
	for (;;)
		asm volatile("");
}

int test__hlt(void)
{
	print("payload: halted\n");
	level0__call(level0__hlt, 0, 0);
	return EXIT_STILL_HERE;
}

/* A fault that nobody expects: a report on the console, and EXIT_PANIC. */
int test__crash(void)
{
	const uint64_t not_mapped = 0x7f0000001000;

	if (!cmdline__num("level", 3))
		level0__call((uint64_t(*)(uint64_t, uint64_t))not_mapped, 0, 0);
	(void)*(volatile uint8_t *)not_mapped;
	return EXIT_STILL_HERE;
}
