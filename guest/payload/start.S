/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the 64-bit Linux boot protocol (rsi = boot_params) to C at level 3.
 *
 * A software KVM interprets level 0 one instruction at a time, so next to
 * nothing is done there: page tables, GDT and TSS are constants of the image,
 * and the rest (bss, IDT) is filled in at level 3, which can write them.
 */
#include "layout.h"

	.section .text.start, "ax"
	.code64
	.globl _start
_start:
	cld
	lgdt	gdt_pointer
	mov	$pml4, %eax
	mov	%rax, %cr3
	mov	$CR4_LEVEL3, %eax
	mov	%rax, %cr4
	mov	$CR0_LEVEL3, %eax
	mov	%rax, %cr0
	lidt	idt_pointer
	mov	$SEL_TSS, %eax
	ltr	%ax
	mov	$frame_bsp, %esp
	iretq

/* Level 3, interrupts off.  rsi: boot_params, or 0 and ebx: PVH start info. */
start3:
	mov	%rsi, %r12
	mov	$__bss_start, %edi
	mov	$__bss_end, %ecx
	sub	%edi, %ecx
	xor	%eax, %eax
	rep stosb
	fninit
	ldmxcsr	mxcsr_default
	mov	%r12, %rdi
	mov	%ebx, %esi
	xor	%ebp, %ebp
	call	payload__start
	ud2

/*
 * uint64_t level0__call(fn, a, b): fn(a, b) at level 0.  The #UD stub knows
 * this one instruction by its address.  `int n` and SYSCALL would be the usual
 * ways and do not work on a software KVM.
 */
	.globl level0__call
level0__call:
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%rdx, %rsi
level0_gate:
	ud2
	ret

/* What level0__call() may be asked to do.  One frame lies above the return address. */
	.globl level0__rdmsr, level0__wrmsr, level0__irq_on, level0__irq_off
	.globl level0__hlt, level0__idle, level0__triple, level0__apic_eoi, level0__spin
	.globl level0__cs, level0__cpuid
level0__rdmsr:
	mov	%edi, %ecx
	rdmsr
	shl	$32, %rdx
	or	%rdx, %rax
	ret
level0__wrmsr:
	mov	%edi, %ecx
	mov	%esi, %eax
	mov	%rsi, %rdx
	shr	$32, %rdx
	wrmsr
	ret
level0__irq_on:
	orq	$0x200, 24(%rsp)
	ret
level0__irq_off:
	andq	$~0x200, 24(%rsp)
	ret
level0__hlt:			/* for ever: interrupts are off */
	hlt
	jmp	level0__hlt
level0__spin:			/* likewise, but busy */
	jmp	level0__spin
level0__idle:			/* until the next interrupt */
	sti
	hlt
	cli
	ret
level0__cs:
	mov	%cs, %eax
	ret
level0__cpuid:
	mov	%rbx, %r9
	mov	%esi, %eax
	shr	$32, %rsi
	mov	%esi, %ecx
	cpuid
	mov	%eax, 0(%rdi)
	mov	%ebx, 4(%rdi)
	mov	%ecx, 8(%rdi)
	mov	%edx, 12(%rdi)
	mov	%r9, %rbx
	ret
level0__triple:
	lidt	idt_none
	ud2

/*
 * int catch__call(struct catch *c, fn, arg): run fn(arg); 0, or 1 when
 * catch__resume(c) came back here from an exception.
 */
	.globl catch__call, catch__resume
catch__call:
	mov	%rbx, 0(%rdi)
	mov	%rbp, 8(%rdi)
	mov	%r12, 16(%rdi)
	mov	%r13, 24(%rdi)
	mov	%r14, 32(%rdi)
	mov	%r15, 40(%rdi)
	mov	%rsp, 48(%rdi)
	mov	%rdx, %rdi
	sub	$8, %rsp
	call	*%rsi
	add	$8, %rsp
	xor	%eax, %eax
	ret
catch__resume:
	mov	0(%rdi), %rbx
	mov	8(%rdi), %rbp
	mov	16(%rdi), %r12
	mov	24(%rdi), %r13
	mov	32(%rdi), %r14
	mov	40(%rdi), %r15
	mov	48(%rdi), %rsp
	mov	$1, %eax
	ret

/*
 * Exceptions: leave a struct trap_frame on this CPU's exception stack and go
 * on at level 3 in trap__handle(frame), with the stack below the frame.
 */
exception:
	push	%rdi
	push	%rax
	mov	%cr2, %rax
	push	%rax
	mov	%rsp, %rdi
	lea	-8(%rdi), %rax
	pushq	$SEL_DATA3
	push	%rax
	pushq	56(%rdi)
	pushq	$SEL_CODE3
	pushq	$trap__handle
	iretq

stub_ud:
	cmpq	$level0_gate, (%rsp)
	jne	1f
	addq	$2, (%rsp)
	call	*%rax
	iretq
1:	pushq	$0
	pushq	$6
	jmp	exception

/*
 * A level interrupt: silence the device first.  Leaving that and the EOI to
 * level 3 would do on hardware; a software KVM has been seen to end an
 * interrupt by itself as it delivers it.
 */
irq_level:
	push	%rax
	mov	irq_ack, %rax
	mov	(%rax), %al
	or	%al, irq_ack + 8
irq_eoi:			/* rax is on the stack */
	xor	%eax, %eax
	movabs	%eax, 0xfee000b0
	pop	%rax
	iretq

	.balign	STUB_SIZE
	.globl exception_stubs, edge_stubs, level_stubs, spurious_stub
exception_stubs:
	.set	vec, 0
	.rept	32
	.balign	STUB_SIZE
	/* SDM vol. 3, table 6-1: these push an error code themselves */
	.if	vec == 6
	jmp	stub_ud
	.else
	.ifeq	(vec == 8) | (vec == 10) | (vec == 11) | (vec == 12) | (vec == 13) | (vec == 14) | (vec == 17) | (vec == 21) | (vec == 29) | (vec == 30)
	pushq	$0
	.endif
	pushq	$vec
	jmp	exception
	.endif
	.set	vec, vec + 1
	.endr

	.balign	STUB_SIZE
edge_stubs:
	.set	vec, VEC_EDGE
	.rept	VEC_LEVEL - VEC_EDGE
	.balign	STUB_SIZE
	incq	irq_count + vec * 8
	push	%rax
	jmp	irq_eoi
	.set	vec, vec + 1
	.endr

	.balign	STUB_SIZE
level_stubs:
	.rept	VEC_END - VEC_LEVEL
	.balign	STUB_SIZE
	incq	irq_count + vec * 8
	jmp	irq_level
	.set	vec, vec + 1
	.endr

	.balign	STUB_SIZE
spurious_stub:
	incq	irq_count + VEC_SPURIOUS * 8
	iretq

	.section .rodata
	.balign	8
mxcsr_default:
	.long	0x1f80
	.balign	8
idt_none:
	.word	0
	.quad	0
	.balign	8
gdt_pointer:
	.word	gdt_end - gdt - 1
	.quad	gdt
	.balign	8
	.globl	idt_pointer
idt_pointer:
	.word	256 * 16 - 1
	.quad	idt

	.data
	.balign	16
frame_bsp:
	.quad	start3, SEL_CODE3, 2, stack3_bsp_end, SEL_DATA3

	.globl	gdt, gdt_pointer
	.balign	16
gdt:
	.quad	0, 0
	.quad	0x00af9b000000ffff	/* 0x10 code, level 0, 64-bit */
	.quad	0x00cf93000000ffff	/* 0x18 data, level 0 */
	.quad	0x00cff3000000ffff	/* 0x20 data, level 3 */
	.quad	0x00affb000000ffff	/* 0x28 code, level 3, 64-bit */
	.quad	gdt_tss_bsp, 0		/* linker script: base and limit are split */
	.fill	(MAX_CPUS - 1) * 2, 8, 0
gdt_end:

	.globl	tss
	.balign	4096
tss:
	.long	0
	.quad	stack0_bsp_end, 0, 0	/* RSP0 to RSP2 */
	.quad	0
	.quad	stack_trap_bsp_end	/* IST1 */
	.fill	6, 8, 0
	.quad	0
	.word	0
	.word	TSS_BITMAP
	.fill	TSS_BITMAP - (. - tss), 1, 0
	.fill	8192, 1, 0		/* every port is allowed */
	.byte	0xff			/* and the bitmap ends so */

/*
 * Identity map of 4 GiB in pages of 2 MiB for level 3; the last GiB holds
 * devices and is uncached.  Accessed and dirty are set already: nothing has to
 * write them.
 */
#define PTE_TABLE 0x67
#define PTE_RAM 0xe7
#define PTE_MMIO 0xff
	.globl	pml4
	.balign	4096
pml4:
	.quad	pdpt + PTE_TABLE
	.fill	511, 8, 0
pdpt:
	.quad	pd + PTE_TABLE, pd + 0x1000 + PTE_TABLE
	.quad	pd + 0x2000 + PTE_TABLE, pd + 0x3000 + PTE_TABLE
	.fill	508, 8, 0
pd:
	.set	page, 0
	.rept	3 * 512
	.quad	page + PTE_RAM
	.set	page, page + 0x200000
	.endr
	.rept	512
	.quad	page + PTE_MMIO
	.set	page, page + 0x200000
	.endr

	.bss
	.balign	16
	.globl	idt, irq_count
idt:
	.fill	256 * 16, 1, 0
irq_count:
	.fill	256, 8, 0
	.fill	STACK0_SIZE, 1, 0
stack0_bsp_end:
	.fill	STACK_TRAP_SIZE, 1, 0
stack_trap_bsp_end:
	.fill	STACK3_SIZE, 1, 0
stack3_bsp_end:

	.section .note.GNU-stack, "", @progbits
