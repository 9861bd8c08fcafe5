// SPDX-License-Identifier: GPL-2.0-only
/* What a console watch has to see: a panic as a kernel shows it, and a dialogue. */
#include <linux/serial_reg.h>
#include <misc/pvpanic.h>

#include "trap.h"

#define PVPANIC 0x505

/*
 * text=0: the console says nothing; pvpanic=1: the report through the port, in the place
 * in which a kernel makes it; end=0: without the last line; after=reset: as with
 * panic=-1, else it halts.
 */
int test__panic(void)
{
	char after[8] = "hlt";

	cmdline__get("after", after, sizeof(after));
	if (cmdline__num("text", 1)) {
		print("[    1.500000] Kernel panic - not syncing: payload asked for it\n");
		print("[    1.500001] CPU: 0 PID: 1 Comm: payload\n");
	}
	if (cmdline__num("pvpanic", 0))
		outb(PVPANIC, PVPANIC_PANICKED);
	if (!strcmp(after, "reset"))
		power__cf9_reset();
	if (cmdline__num("end", 1))
		print("[    1.500002] ---[ end Kernel panic - not syncing: payload ]---\n");
	return test__hlt();
}

static char read_char(void)
{
	while (!(inb(COM1 + UART_LSR) & UART_LSR_DR))
		cpu__relax();
	return (char)inb(COM1 + UART_RX);
}

/* A login: asks twice, with an escape sequence inside the words, and greets. */
int test__dialogue(void)
{
	char name[32];
	size_t len = 0;

	print("payload \x1b[1mlog");
	print("\x1b[0min: ");
	while (len < sizeof(name) - 1 && (name[len] = read_char()) != '\n')
		len++;
	name[len] = 0;
	print("\r\nhello %s\r\nsure? ", name);
	print("%s\r\n", read_char() == 'y' ? "goodbye" : "then not");
	return cmdline__num("exit", 0);
}

/* size=N characters without a line end, then a word. */
int test__endless(void)
{
	uint64_t size = cmdline__num("size", 1 << 20);
	static const char run[] = "................................";

	for (uint64_t sent = 0; sent < size; sent += sizeof(run) - 1)
		console__write(run, sizeof(run) - 1);
	print("needle");
	return test__hlt();
}
