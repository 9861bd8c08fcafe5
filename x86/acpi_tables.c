// SPDX-License-Identifier: GPL-2.0-only
/* The tables without AML: FADT (ACPI 6.4, 5.2.9), MADT (5.2.12), MCFG (PCI Firmware 3.2, 4.1.2). */
#include <string.h>

#include "acpi_int.h"

#define FADT_SIZE 276
#define FADT_REVISION 6
#define FADT_MINOR 4
#define PROFILE_ENTERPRISE_SERVER 4

/* IA-PC boot architecture flags, table 5.10.  CMOS RTC Not Present stays clear: there is one. */
#define BOOT_NO_VGA (1 << 2)
#define BOOT_NO_ASPM (1 << 4)

/* Fixed feature flags, table 5.11 */
#define FADT_WBINVD (1 << 0)
#define FADT_PROC_C1 (1 << 2)
#define FADT_PWR_BUTTON (1 << 4) /* no fixed-feature power button */
#define FADT_SLP_BUTTON (1 << 5)
#define FADT_RESET_REG_SUP (1 << 10)
#define FADT_HW_REDUCED (1 << 20)

#define GAS_SYSTEM_IO 1
#define GAS_BYTE 1

/* Table 5.9, from the byte after the common header on; all not named is zero. */
struct fadt {
	uint32_t firmware_ctrl;
	uint32_t dsdt;
	uint8_t reserved0;
	uint8_t profile;
	uint8_t pm_legacy[63]; /* SCI_INT to CENTURY: absent where hardware is reduced */
	uint16_t boot_arch;
	uint8_t reserved1;
	uint32_t flags;
	uint8_t reset_reg[12];
	uint8_t reset_value;
	uint16_t arm_boot_arch;
	uint8_t minor;
	uint64_t x_firmware_ctrl;
	uint64_t x_dsdt;
	uint8_t x_pm_legacy[8 * 12];
	uint8_t sleep_control[12];
	uint8_t sleep_status[12];
	char hypervisor[8];
} __attribute__((packed));

_Static_assert(sizeof(struct fadt) == FADT_SIZE - 36, "FADT has the size of ACPI 6");
_Static_assert(offsetof(struct fadt, boot_arch) == 109 - 36, "IAPC_BOOT_ARCH is at 109");
_Static_assert(offsetof(struct fadt, reset_reg) == 116 - 36, "RESET_REG is at 116");
_Static_assert(offsetof(struct fadt, x_dsdt) == 140 - 36, "X_DSDT is at 140");
_Static_assert(offsetof(struct fadt, sleep_control) == 244 - 36, "SLEEP_CONTROL_REG is at 244");

enum {
	MADT_LAPIC = 0,
	MADT_IOAPIC = 1,
	MADT_LAPIC_NMI = 4,
	MADT_X2APIC = 9,
	MADT_X2APIC_NMI = 10,
};

#define MADT_PCAT_COMPAT 1 /* KVM's irqchip has the two 8259 */
#define MADT_ENABLED 1
#define MADT_LAPIC_IDS 255 /* ids from here on need x2APIC entries (5.2.12.12) */
#define LINT_NMI 1

/* Generic address structure, 5.2.3.2: one byte-wide register in I/O space. */
static void set_io_byte(uint8_t *gas, uint16_t port)
{
	struct aml aml;

	aml__init(&aml, gas, 12);
	aml__u8(&aml, GAS_SYSTEM_IO);
	aml__u8(&aml, 8); /* bit width */
	aml__u8(&aml, 0); /* bit offset */
	aml__u8(&aml, GAS_BYTE);
	aml__u64(&aml, port);
}

size_t acpi_fadt__write(struct aml *aml, uint64_t dsdt)
{
	struct fadt fadt = {
		.dsdt = dsdt, /* below 1 MiB */
		.x_dsdt = dsdt,
		.profile = PROFILE_ENTERPRISE_SERVER,
		.boot_arch = BOOT_NO_VGA | BOOT_NO_ASPM,
		.flags = FADT_WBINVD | FADT_PROC_C1 | FADT_PWR_BUTTON | FADT_SLP_BUTTON |
			 FADT_RESET_REG_SUP | FADT_HW_REDUCED,
		.reset_value = X86_RESET_VALUE,
		.minor = FADT_MINOR,
		.hypervisor = "LKVM",
	};
	size_t start = acpi_table__begin(aml, "FACP", FADT_REVISION);

	set_io_byte(fadt.reset_reg, X86_PORT_RESET);
	set_io_byte(fadt.sleep_control, X86_PORT_SLEEP);
	set_io_byte(fadt.sleep_status, X86_PORT_SLEEP + 1);
	aml__bytes(aml, &fadt, sizeof(fadt));
	acpi_table__end(aml, start);
	return start;
}

/* UID and APIC id are the number of the CPU, here and in the DSDT. */
static void madt_cpu(struct aml *aml, uint32_t id)
{
	if (id < MADT_LAPIC_IDS) {
		aml__u8(aml, MADT_LAPIC);
		aml__u8(aml, 8);
		aml__u8(aml, id); /* UID */
		aml__u8(aml, id);
		aml__u32(aml, MADT_ENABLED);
	} else {
		aml__u8(aml, MADT_X2APIC);
		aml__u8(aml, 16);
		aml__u16(aml, 0);
		aml__u32(aml, id);
		aml__u32(aml, MADT_ENABLED);
		aml__u32(aml, id); /* UID */
	}
}

static void madt_nmi(struct aml *aml, unsigned int nr_cpus)
{
	aml__u8(aml, MADT_LAPIC_NMI);
	aml__u8(aml, 6);
	aml__u8(aml, 0xff); /* all processors */
	aml__u16(aml, 0); /* polarity and trigger of the bus */
	aml__u8(aml, LINT_NMI);
	if (nr_cpus <= MADT_LAPIC_IDS)
		return;
	aml__u8(aml, MADT_X2APIC_NMI);
	aml__u8(aml, 12);
	aml__u16(aml, 0);
	aml__u32(aml, 0xffffffff);
	aml__u8(aml, LINT_NMI);
	aml__bytes(aml, "\0\0", 3);
}

/*
 * No interrupt source overrides: ISA interrupts go to the GSIs of the same
 * numbers, edge and active high, which is what holds where none are given.
 */
size_t acpi_madt__write(struct aml *aml, unsigned int nr_cpus)
{
	size_t start = acpi_table__begin(aml, "APIC", 5);

	aml__u32(aml, X86_LAPIC_BASE);
	aml__u32(aml, MADT_PCAT_COMPAT);
	for (uint32_t id = 0; id < nr_cpus && !aml->overflow; id++)
		madt_cpu(aml, id);
	aml__u8(aml, MADT_IOAPIC);
	aml__u8(aml, 12);
	aml__u8(aml, 0); /* id */
	aml__u8(aml, 0);
	aml__u32(aml, X86_IOAPIC_BASE);
	aml__u32(aml, 0); /* first GSI */
	madt_nmi(aml, nr_cpus);
	acpi_table__end(aml, start);
	return start;
}

size_t acpi_mcfg__write(struct aml *aml)
{
	size_t start = acpi_table__begin(aml, "MCFG", 1);

	aml__u64(aml, 0); /* reserved */
	aml__u64(aml, X86_ECAM_BASE);
	aml__u16(aml, 0); /* segment */
	aml__u8(aml, 0); /* first bus */
	aml__u8(aml, (X86_ECAM_SIZE >> 20) - 1); /* last bus: 1 MiB each */
	aml__u32(aml, 0);
	acpi_table__end(aml, start);
	return start;
}
