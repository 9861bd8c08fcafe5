/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_LAYOUT_H
#define PAYLOAD_LAYOUT_H

/*
 * Numbers that start.S, the linker script and C share.
 *
 * Selectors 0x10 and 0x18 are what the Linux boot protocol starts us with
 * (__BOOT_CS, __BOOT_DS), so that our own GDT can be loaded without a far jump.
 */
#define SEL_CODE0 0x10
#define SEL_DATA0 0x18
#define SEL_DATA3 0x23
#define SEL_CODE3 0x2b
#define SEL_TSS 0x30 /* of CPU 0; 16 bytes a CPU */

#define MAX_CPUS 64

/*
 * All TSSs stand in front of one I/O permission bitmap, which they share: the
 * bitmap is found by a 16-bit offset from the TSS (SDM vol. 1, 19.5.2).
 */
#define TSS_STRIDE 128
#define TSS_BITMAP (MAX_CPUS * TSS_STRIDE)
#define TSS_END (TSS_BITMAP + 8192)

/* Interrupt vectors; every one between has a stub. */
#define VEC_EDGE 0x30 /* counted and acknowledged at level 0 */
#define VEC_LEVEL 0x60 /* likewise, with a read of irq_ack.addr in between */
#define VEC_END 0x70
#define VEC_SPURIOUS 0xff

#define STUB_SIZE 16

#define CR0_LEVEL3 0x80010033 /* PG WP NE ET MP PE */
#define CR4_LEVEL3 0x620 /* PAE OSFXSR OSXMMEXCPT */

#define STACK3_SIZE 16384
#define STACK0_SIZE 512 /* interrupt frames alone */
#define STACK_TRAP_SIZE 4096 /* exception frame, then the level 3 handler below it */

#endif
