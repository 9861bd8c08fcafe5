// SPDX-License-Identifier: GPL-2.0-only
/* DSDT: the devices that cannot be found by probing a bus. */
#include <stdio.h>

#include "acpi_int.h"

#define DSDT_REVISION 2 /* 64-bit integers */
#define PCI_SLOTS 32
#define PCI_CONFIG_PORT 0xcf8 /* eight ports, not for BARs */

static void name_eisaid(struct aml *aml, const char *name, const char *id)
{
	aml__name(aml, name);
	aml__eisaid(aml, id);
}

static void name_integer(struct aml *aml, const char *name, uint64_t val)
{
	aml__name(aml, name);
	aml__integer(aml, val);
}

/* ACPI 6.4, 8.4: processor devices; _UID is that of the MADT. */
static void write_cpus(struct aml *aml, unsigned int nr_cpus)
{
	for (unsigned int id = 0; id < nr_cpus && !aml->overflow; id++) {
		char seg[5];
		size_t dev;

		snprintf(seg, sizeof(seg), "C%03X", id & 0xfff);
		dev = aml__device(aml, seg);
		aml__name(aml, "_HID");
		aml__string(aml, "ACPI0007");
		name_integer(aml, "_UID", id);
		aml__end(aml, dev);
	}
	if (nr_cpus > 0x1000) /* names would repeat */
		aml->overflow = true;
}

static void write_com1(struct aml *aml)
{
	size_t dev = aml__device(aml, "COM1");
	struct aml_res res;

	name_eisaid(aml, "_HID", "PNP0501");
	name_integer(aml, "_UID", 1);
	aml_res__init(&res);
	aml_res__io(&res, X86_PORT_COM1, 8);
	aml_res__irq_edge(&res, X86_GSI_COM1);
	aml_res__crs(&res, aml);
	aml__end(aml, dev);
}

/* Time of day alone: without an interrupt, so no alarm. */
static void write_rtc(struct aml *aml)
{
	size_t dev = aml__device(aml, "RTC");
	struct aml_res res;

	name_eisaid(aml, "_HID", "PNP0B00");
	aml_res__init(&res);
	aml_res__io(&res, X86_PORT_RTC, 2);
	aml_res__crs(&res, aml);
	aml__end(aml, dev);
}

/* The name by which the pvpanic driver of Linux knows its port. */
static void write_pvpanic(struct aml *aml)
{
	size_t dev = aml__device(aml, "PEVT");
	struct aml_res res;

	aml__name(aml, "_HID");
	aml__string(aml, "QEMU0001");
	aml_res__init(&res);
	aml_res__io(&res, X86_PORT_PVPANIC, 1);
	aml_res__crs(&res, aml);
	aml__end(aml, dev);
}

/* What is taken and belongs to no driver, ECAM above all (PCI Firmware 3.2, 4.1.2). */
static void write_motherboard(struct aml *aml)
{
	size_t dev = aml__device(aml, "MBRD");
	struct aml_res res;

	name_eisaid(aml, "_HID", "PNP0C02");
	name_integer(aml, "_UID", 1);
	aml_res__init(&res);
	aml_res__mem32(&res, X86_ECAM_BASE, X86_ECAM_SIZE);
	aml_res__io(&res, X86_PORT_EXIT, 1);
	aml_res__io(&res, X86_PORT_SLEEP, 2);
	aml_res__crs(&res, aml);
	aml__end(aml, dev);
}

static void write_pci_crs(struct aml *aml, const struct x86_map *map)
{
	struct aml_res res;

	aml_res__init(&res);
	aml_res__window16(&res, AML_RES_BUS, 0, 0);
	aml_res__io(&res, PCI_CONFIG_PORT, 8);
	aml_res__window16(&res, AML_RES_IO, 0, PCI_CONFIG_PORT - 1);
	aml_res__window16(&res, AML_RES_IO, PCI_CONFIG_PORT + 8, 0xffff);
	aml_res__window32(&res, X86_BAR32_BASE, X86_BAR32_BASE + X86_BAR32_SIZE - 1);
	if (map->bar64_size)
		aml_res__window64(&res, map->bar64_base, map->bar64_base + map->bar64_size - 1);
	aml_res__crs(&res, aml);
}

/* ACPI 6.4, 6.2.13: INTA of each slot, wired to a GSI without a link device. */
static void write_prt(struct aml *aml)
{
	size_t prt;

	aml__name(aml, "_PRT");
	prt = aml__package(aml, PCI_SLOTS);
	for (uint32_t slot = 0; slot < PCI_SLOTS; slot++) {
		size_t entry = aml__package(aml, 4);

		aml__integer(aml, slot << 16 | 0xffff); /* all functions */
		aml__integer(aml, 0); /* INTA */
		aml__integer(aml, 0); /* no link: the next is a GSI */
		aml__integer(aml, X86_GSI_PCI_BASE + slot % X86_GSI_PCI_COUNT);
		aml__end(aml, entry);
	}
	aml__end(aml, prt);
}

static void write_pci(struct aml *aml, const struct x86_map *map)
{
	size_t dev = aml__device(aml, "PCI0");

	name_eisaid(aml, "_HID", "PNP0A08");
	name_eisaid(aml, "_CID", "PNP0A03");
	name_integer(aml, "_UID", 0);
	name_integer(aml, "_SEG", 0);
	name_integer(aml, "_BBN", 0);
	write_pci_crs(aml, map);
	write_prt(aml);
	aml__end(aml, dev);
}

/* 7.4.2.6: the value for SLP_TYP of the sleep control register comes first. */
static void write_s5(struct aml *aml)
{
	size_t package;

	aml__name(aml, "\\_S5");
	package = aml__package(aml, 4);
	aml__integer(aml, X86_S5_TYPE);
	aml__integer(aml, X86_S5_TYPE);
	aml__integer(aml, 0);
	aml__integer(aml, 0);
	aml__end(aml, package);
}

size_t acpi_dsdt__write(struct aml *aml, const struct x86_map *map, unsigned int nr_cpus)
{
	size_t start = acpi_table__begin(aml, "DSDT", DSDT_REVISION);
	size_t sb;

	write_s5(aml);
	sb = aml__scope(aml, "\\_SB");
	write_pci(aml, map);
	write_motherboard(aml);
	write_com1(aml);
	write_rtc(aml);
	write_pvpanic(aml);
	write_cpus(aml, nr_cpus);
	aml__end(aml, sb);
	acpi_table__end(aml, start);
	return start;
}
