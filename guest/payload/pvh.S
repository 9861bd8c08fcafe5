/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The other way in, for hypervisors that boot an ELF kernel by its PVH note
 * (QEMU's -kernel): 32-bit protected mode without paging, ebx = start info.
 */
#include "layout.h"

#define XEN_ELFNOTE_PHYS32_ENTRY 18

	.section .note.pvh, "a", @note
	.balign	4
	.long	4, 4, XEN_ELFNOTE_PHYS32_ENTRY
	.asciz	"Xen"
	.long	pvh_start

	.text
	.code32
pvh_start:
	cld
	lgdt	gdt_pointer
	mov	$CR4_LEVEL3, %eax
	mov	%eax, %cr4
	mov	$pml4, %eax
	mov	%eax, %cr3
	mov	$0xc0000080, %ecx	/* EFER */
	mov	$0x100, %eax		/* LME */
	xor	%edx, %edx
	wrmsr
	mov	$CR0_LEVEL3, %eax
	mov	%eax, %cr0
	ljmp	$SEL_CODE0, $1f
	.code64
1:	xor	%esi, %esi
	jmp	_start

	.section .note.GNU-stack, "", @progbits
