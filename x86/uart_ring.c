// SPDX-License-Identifier: GPL-2.0-only
/*
 * The two rings of the 16550 and the main thread's side of them.
 */
#include <errno.h>
#include <linux/serial_reg.h>
#include <string.h>

#include <lkvm/uart.h>

/*
 * A byte leaves the holding register for the ring at once, so the transmitter
 * is empty again by the time the guest looks, unless the host stalls.
 */
void uart_tx__push(struct uart *uart, uint8_t byte, bool *wake)
{
	size_t used = uart->tx_head - uart->tx_tail;

	uart->thre_pending = false;
	if (used == UART_TX_SIZE) {
		uart->tx_dropped++;
		return;
	}
	uart->tx[uart->tx_head++ % UART_TX_SIZE] = byte;
	used++;
	if (uart->tx_head - uart->tx_looked == 1 || used == UART_TX_LOW)
		*wake = true;
	if (used > UART_TX_SIZE - UART_TX_HEADROOM)
		uart->tx_busy = true;
	if (!uart->tx_busy)
		uart->thre_pending = true;
}

/* Does the guest listen?  See the top of uart.h. */
static bool rx_open(const struct uart *uart)
{
	return (uart->mcr & UART_MCR_RTS) || (uart->ier & UART_IER_RDI) || uart->rx_polled;
}

unsigned int uart_rx__visible(const struct uart *uart)
{
	size_t used = uart->rx_head - uart->rx_tail;
	unsigned int depth = uart->fcr & UART_FCR_ENABLE_FIFO ? UART_FIFO : 1;

	if ((uart->mcr & UART_MCR_LOOP) || !rx_open(uart))
		return 0;
	return used < depth ? used : depth;
}

static void rx_took(struct uart *uart, bool *wake)
{
	/* half a ring at a time, not a wakeup for each byte */
	if (uart->rx_starved && uart->rx_head - uart->rx_tail <= UART_RX_SIZE / 2) {
		uart->rx_starved = false;
		*wake = true;
	}
}

uint8_t uart_rx__pop(struct uart *uart, bool *wake)
{
	uint8_t byte;

	if (uart->loop_len) {
		byte = uart->loop[0];
		memmove(uart->loop, uart->loop + 1, --uart->loop_len);
		return byte;
	}
	if (!uart_rx__visible(uart))
		return 0;
	byte = uart->rx[uart->rx_tail++ % UART_RX_SIZE];
	rx_took(uart, wake);
	return byte;
}

/*
 * Linux enables the receive interrupt, switches the FIFO on (which resets it)
 * and raises RTS last: only what came after that is the guest's to lose.
 */
void uart_rx__reset(struct uart *uart, bool *wake)
{
	uart->loop_len = 0;
	if ((uart->mcr & UART_MCR_RTS) || uart->rx_polled) {
		uart->rx_tail += uart_rx__visible(uart);
		rx_took(uart, wake);
	}
	uart->rx_polled = false;
	uart->lsr_reads = 0;
}

size_t uart__pending(struct uart *uart)
{
	size_t used;

	pthread_mutex_lock(&uart->lock);
	used = uart->tx_head - uart->tx_tail;
	pthread_mutex_unlock(&uart->lock);
	return used;
}

/* Copy @len bytes out of or into a ring of @size bytes at free-running index @at. */
static void ring_get(const uint8_t *ring, size_t size, size_t at, uint8_t *buf, size_t len)
{
	size_t first = size - at % size;

	if (first > len)
		first = len;
	memcpy(buf, ring + at % size, first);
	memcpy(buf + first, ring, len - first);
}

static void ring_put(uint8_t *ring, size_t size, size_t at, const uint8_t *buf, size_t len)
{
	size_t first = size - at % size;

	if (first > len)
		first = len;
	memcpy(ring + at % size, buf, first);
	memcpy(ring, buf + first, len - first);
}

/* Output from free-running index @from on, with the lock held. */
static size_t copy_output(const struct uart *uart, size_t from, void *buf, size_t len)
{
	size_t there = uart->tx_head - from;

	if (len > there)
		len = there;
	ring_get(uart->tx, UART_TX_SIZE, from, buf, len);
	return len;
}

size_t uart__peek(struct uart *uart, void *buf, size_t len)
{
	pthread_mutex_lock(&uart->lock);
	len = copy_output(uart, uart->tx_tail, buf, len);
	pthread_mutex_unlock(&uart->lock);
	return len;
}

size_t uart__look(struct uart *uart, void *buf, size_t len)
{
	pthread_mutex_lock(&uart->lock);
	len = copy_output(uart, uart->tx_looked, buf, len);
	uart->tx_looked += len;
	pthread_mutex_unlock(&uart->lock);
	return len;
}

void uart__consume(struct uart *uart, size_t len)
{
	size_t used;

	pthread_mutex_lock(&uart->lock);
	used = uart->tx_head - uart->tx_tail;
	if (len > used)
		len = used;
	uart->tx_tail += len;
	if (uart->tx_head - uart->tx_looked > uart->tx_head - uart->tx_tail)
		uart->tx_looked = uart->tx_tail;
	/* the end of a stall: the transmitter becomes empty, and has to say so again */
	if (uart->tx_busy && used - len <= UART_TX_LOW) {
		uart->tx_busy = false;
		uart->thre_pending = true;
	}
	uart__unlock(uart, false, false);
}

size_t uart__room(struct uart *uart)
{
	size_t room;

	pthread_mutex_lock(&uart->lock);
	room = UART_RX_SIZE - (uart->rx_head - uart->rx_tail);
	uart->rx_starved = room == 0;
	pthread_mutex_unlock(&uart->lock);
	return room;
}

void uart__feed(struct uart *uart, const void *buf, size_t len)
{
	size_t room;

	pthread_mutex_lock(&uart->lock);
	room = UART_RX_SIZE - (uart->rx_head - uart->rx_tail);
	if (len > room)
		len = room;
	ring_put(uart->rx, UART_RX_SIZE, uart->rx_head, buf, len);
	uart->rx_head += len;
	/*
	 * New input is worth an interrupt even where older input is still
	 * pending: were that one's edge lost, the port would be deaf for good.
	 */
	uart__unlock(uart, false, len != 0);
}
