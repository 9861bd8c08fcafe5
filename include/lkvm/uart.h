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
 */
#define UART_TX_SIZE 65536
#define UART_RX_SIZE 4096

struct uart {
	pthread_mutex_t
		lock; /* registers and rings; never held across a wait or a write to the host */
	struct vm *vm;
	unsigned int gsi;
	int wakefd; /* eventfd: there is output to take, or room for input again */
	bool irq_level; /* last state of the interrupt output */
	uint8_t ier, iir, lcr, mcr, lsr, msr, scr, dll, dlm, fcr;
	bool thre_pending; /* THRE interrupt latched, cleared by reading IIR or writing THR */
	bool rx_starved; /* the main thread wants to hear of room */
	size_t tx_head, tx_tail; /* free running */
	size_t rx_head, rx_tail;
	unsigned long tx_dropped; /* forced into a full ring by a polling driver */
	uint8_t tx[UART_TX_SIZE];
	uint8_t rx[UART_RX_SIZE];
};

/* Main thread, before the vCPUs: registers at @port on vm->pio.  0 or -errno. */
int uart__init(struct uart *uart, struct vm *vm, uint16_t port, unsigned int gsi);
void uart__fini(struct uart *uart); /* threads have ended */

/* Main thread.  Copy up to @len bytes of output without taking them; count of bytes. */
size_t uart__peek(struct uart *uart, void *buf, size_t len);
/* Main thread.  @len bytes of what uart__peek() showed have reached the host. */
void uart__consume(struct uart *uart, size_t len);

/* Main thread.  Room for input in bytes; where 0, wakefd tells when that changes. */
size_t uart__room(struct uart *uart);
/* Main thread.  Feed input, at most uart__room() bytes. */
void uart__feed(struct uart *uart, const void *buf, size_t len);

#endif
