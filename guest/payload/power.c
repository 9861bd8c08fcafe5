// SPDX-License-Identifier: GPL-2.0-only
#include "payload.h"
#include "trap.h"

#define PORT_EXIT 0xf4
#define PORT_SLEEP 0x600
#define PORT_RESET 0xcf9
#define PORT_I8042 0x64

/* ACPI 6.4, 4.8.3.7 (sleep control register): SLP_TYP in bits 2 to 4, SLP_EN in bit 5. */
void power__acpi_off(void)
{
	outb(PORT_SLEEP, 5 << 2 | 1 << 5);
}

void power__i8042_reset(void)
{
	outb(PORT_I8042, 0xfe);
}

void power__cf9_reset(void)
{
	outb(PORT_RESET, 0x06);
}

/* Where nothing listens at the exit port the status is lost, but the VM ends. */
void power__exit(uint8_t status)
{
	outb(PORT_EXIT, status);
	power__acpi_off();
	power__i8042_reset();
	for (;;)
		cpu__relax();
}
