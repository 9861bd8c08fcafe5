/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_UART_H
#define LKVM_UART_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lkvm/vm.h>

/*
 * 16550A with FIFO and interrupts.  vCPU threads work on the registers; the
 * main thread carries the bytes between the two rings and the host.  When the
 * host does not take output, the transmit ring fills and LSR says busy: the
 * guest waits, the vCPU thread never does.
 *
 * The receive ring is the line, not the FIFO: the guest sees at most
 * UART_FIFO bytes of it at a time.  A guest that raised neither RTS nor its
 * receive interrupt and does not poll for input sees none, and a FIFO reset
 * takes only what a guest with RTS on could see.  So input that was piped in
 * before the guest opened its port is still there when it does.
 */
#define UART_TX_SIZE 65536U /* powers of two: the indices run free */
#define UART_RX_SIZE 4096U
#define UART_FIFO 16U
/* LSR says busy with less room than this: drivers that time out write anyway. */
#define UART_TX_HEADROOM 4096U
/* Busy ends, and the second wakeup comes, at this fill. */
#define UART_TX_LOW (UART_TX_SIZE / 2)
/* LSR reads in a row, not busy, after which the guest counts as one that polls for input. */
#define UART_POLLS 64U

struct uart {
	/* registers and rings; never held across a wait, a write to the host or an interrupt */
	pthread_mutex_t lock;
	struct vm *vm;
	uint16_t port;
	unsigned int gsi;
	int wakefd; /* eventfd: there is output to take, or room for input again */
	uint8_t ier, lcr, mcr, msr, scr, dll, dlm, fcr;
	uint8_t lsr_errors; /* UART_LSR_OE alone: the other errors cannot happen */
	uint8_t pending; /* interrupt sources as last seen by the interrupt output */
	bool thre_pending; /* THRE interrupt latched, cleared by reading IIR or writing THR */
	bool tx_busy; /* transmit ring nearly full and not yet down to UART_TX_LOW */
	bool rx_starved; /* the main thread wants to hear of room */
	bool rx_polled; /* the guest polls for input */
	unsigned int lsr_reads; /* in a row, up to UART_POLLS */
	unsigned int loop_len; /* bytes in loop[] */
	uint8_t loop[UART_FIFO]; /* sent to itself (MCR loopback) */
	size_t tx_head, tx_tail; /* free running: written at head, taken at tail */
	size_t tx_looked; /* tail to head: what uart__look() has shown */
	size_t rx_head, rx_tail;
	unsigned long tx_dropped; /* forced into a full ring by a polling driver */
	unsigned long irqs; /* pulses sent */
	unsigned long wakes; /* writes to wakefd */
	uint8_t tx[UART_TX_SIZE];
	uint8_t rx[UART_RX_SIZE];
};

/* Main thread, before the vCPUs: registers at @port on vm->pio.  0 or -errno. */
int uart__init(struct uart *uart, struct vm *vm, uint16_t port, unsigned int gsi);
void uart__fini(struct uart *uart); /* threads have ended */

/*
 * Main thread.  wakefd is written when the first byte enters a ring that is empty, or
 * that uart__look() has seen all of, and when the ring becomes half full, so whoever was woken goes on until
 * uart__pending() is 0, at a pace of its own.
 */
size_t uart__pending(struct uart *uart); /* bytes of output that wait */
/* Main thread.  Copy up to @len bytes of output without taking them; count of bytes. */
size_t uart__peek(struct uart *uart, void *buf, size_t len);
/*
 * Main thread.  Copy up to @len bytes of output that no call has copied yet, whether
 * or not the host takes them; count of bytes.  What uart__consume() takes is past
 * looking at.
 */
size_t uart__look(struct uart *uart, void *buf, size_t len);
/* Main thread.  @len bytes of what uart__peek() showed have reached the host. */
void uart__consume(struct uart *uart, size_t len);

/* Main thread.  Room for input in bytes; where 0, wakefd tells when that changes. */
size_t uart__room(struct uart *uart);
/* Main thread.  Feed input, at most uart__room() bytes. */
void uart__feed(struct uart *uart, const void *buf, size_t len);

/*
 * Between uart.c (registers) and uart_ring.c (the rings and the host side).
 * All with the lock held.
 */
void uart_tx__push(struct uart *uart, uint8_t byte, bool *wake);
uint8_t uart_rx__pop(struct uart *uart, bool *wake);
unsigned int uart_rx__visible(const struct uart *uart); /* bytes of the line in the FIFO */
void uart_rx__reset(struct uart *uart, bool *wake);

/* Unlocks, and sends what the change of state calls for: one interrupt pulse, one wakeup. */
void uart__unlock(struct uart *uart, bool wake, bool force_irq);

#endif
