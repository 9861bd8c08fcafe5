/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Start of another CPU: real mode, at a page below 1 MiB to which smp.c copies
 * what lies between ap_start and ap_end.  Straight into long mode: PE and PG
 * may be set together once EFER.LME, CR4.PAE and CR3 are there.
 */
#include "layout.h"

	.section .rodata
	.code16
	.globl ap_start, ap_end
ap_start:
	cli
	mov	%cs, %ax
	mov	%ax, %ds
	lgdtl	ap_gdt_pointer - ap_start
	mov	$CR4_LEVEL3, %eax
	mov	%eax, %cr4
	mov	$pml4, %eax
	mov	%eax, %cr3
	mov	$0xc0000080, %ecx
	mov	$0x100, %eax
	xor	%edx, %edx
	wrmsr
	mov	$CR0_LEVEL3, %eax
	mov	%eax, %cr0
	ljmpl	$SEL_CODE0, $ap64
	.balign	8
ap_gdt_pointer:
	.word	SEL_TSS + 16 * MAX_CPUS - 1
	.long	gdt
ap_end:

	.text
	.code64
ap64:
	lidt	idt_pointer
	mov	ap_tss, %eax
	ltr	%ax
	mov	$ap_frame, %esp
	iretq

ap3:
	fninit
	ldmxcsr	ap_mxcsr
	xor	%ebp, %ebp
	call	smp__ap_main
	ud2

	.data
	.balign	16
	.globl	ap_frame, ap_tss
ap_frame:			/* smp.c puts the stack in; one CPU starts at a time */
	.quad	ap3, SEL_CODE3, 2, 0, SEL_DATA3
ap_tss:
	.long	0
ap_mxcsr:
	.long	0x1f80

	.section .note.GNU-stack, "", @progbits
