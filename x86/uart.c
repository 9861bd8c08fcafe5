// SPDX-License-Identifier: GPL-2.0-only
/*
 * 16550A registers (PC16550D data sheet, section 8).
 *
 * The interrupt goes to an edge-triggered pin.  It is pulsed whenever the set
 * of pending sources changes and is not empty: when a source joins, and when
 * one goes while another stays, since a driver that serves one source an
 * interrupt would otherwise wait for an edge that never comes.  An edge too
 * many costs the guest one look at IIR.
 *
 * MCR OUT2 does not gate the interrupt, unlike on a PC: guests that do not
 * know of it work, and Linux sets it anyway.
 */
#include <errno.h>
#include <linux/serial_reg.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <lkvm/uart.h>

#define UART_REGS 8

enum { /* struct uart.pending, by priority (table IV of the data sheet) */
	SOURCE_LINE = 1,
	SOURCE_RX = 2,
	SOURCE_THRE = 4,
	SOURCE_MODEM = 8,
};

static unsigned int rx_level(const struct uart *uart)
{
	return uart->loop_len + uart_rx__visible(uart);
}

static uint8_t pending(const struct uart *uart)
{
	uint8_t set = 0;

	if ((uart->ier & UART_IER_RLSI) && uart->lsr_errors)
		set |= SOURCE_LINE;
	if ((uart->ier & UART_IER_RDI) && rx_level(uart))
		set |= SOURCE_RX;
	if ((uart->ier & UART_IER_THRI) && uart->thre_pending)
		set |= SOURCE_THRE;
	if ((uart->ier & UART_IER_MSI) && (uart->msr & UART_MSR_ANY_DELTA))
		set |= SOURCE_MODEM;
	return set;
}

/* The pulse and the wakeup are system calls: after the lock. */
void uart__unlock(struct uart *uart, bool wake, bool force_irq)
{
	uint8_t now = pending(uart);
	bool pulse = now && (now != uart->pending || force_irq);
	uint64_t one = 1;

	uart->pending = now;
	uart->irqs += pulse;
	uart->wakes += wake;
	pthread_mutex_unlock(&uart->lock);
	if (pulse)
		irq__pin_pulse(&uart->vm->irq, uart->gsi);
	/* cannot fail but by a counter at its limit, and then the reader is awake */
	if (wake && write(uart->wakefd, &one, sizeof(one)) < 0)
		return;
}

static unsigned int rx_trigger(const struct uart *uart)
{
	switch (uart->fcr & UART_FCR_TRIGGER_MASK) {
	case UART_FCR_TRIGGER_4:
		return 4;
	case UART_FCR_TRIGGER_8:
		return 8;
	case UART_FCR_TRIGGER_14:
		return 14;
	default:
		return 1;
	}
}

static uint8_t read_iir(struct uart *uart)
{
	bool fifo = uart->fcr & UART_FCR_ENABLE_FIFO;
	uint8_t set = pending(uart);
	uint8_t iir = UART_IIR_NO_INT;

	if (set & SOURCE_LINE) {
		iir = UART_IIR_RLSI;
	} else if (set & SOURCE_RX) {
		/* below the trigger the line has been quiet for long enough by now */
		iir = fifo && rx_level(uart) < rx_trigger(uart) ? UART_IIR_RX_TIMEOUT
								: UART_IIR_RDI;
	} else if (set & SOURCE_THRE) {
		iir = UART_IIR_THRI;
		uart->thre_pending = false;
	} else if (set & SOURCE_MODEM) {
		iir = UART_IIR_MSI;
	}
	return iir | (fifo ? 0xc0 : 0);
}

static uint8_t read_lsr(struct uart *uart)
{
	uint8_t lsr = uart->lsr_errors;

	if (uart->tx_busy)
		uart->lsr_reads = 0; /* it waits for room to send, not for input */
	else if (uart->lsr_reads < UART_POLLS)
		uart->lsr_reads++;
	else
		uart->rx_polled = true;
	if (rx_level(uart))
		lsr |= UART_LSR_DR;
	if (!uart->tx_busy)
		lsr |= UART_LSR_THRE | UART_LSR_TEMT;
	uart->lsr_errors = 0;
	return lsr;
}

static uint8_t read_msr(struct uart *uart)
{
	uint8_t msr = uart->msr;

	uart->msr &= ~UART_MSR_ANY_DELTA;
	return msr;
}

static uint8_t read_reg(struct uart *uart, unsigned int reg, bool *wake)
{
	bool dlab = uart->lcr & UART_LCR_DLAB;

	if (reg != UART_LSR)
		uart->lsr_reads = 0;
	switch (reg) {
	case UART_RX:
		return dlab ? uart->dll : uart_rx__pop(uart, wake);
	case UART_IER:
		return dlab ? uart->dlm : uart->ier;
	case UART_IIR:
		return read_iir(uart);
	case UART_LCR:
		return uart->lcr;
	case UART_MCR:
		return uart->mcr;
	case UART_LSR:
		return read_lsr(uart);
	case UART_MSR:
		return read_msr(uart);
	default:
		return uart->scr;
	}
}

/* The modem lines: all ready, or what MCR says in loopback (8.6.6, bit 4). */
static void update_msr(struct uart *uart)
{
	uint8_t lines = UART_MSR_DCD | UART_MSR_DSR | UART_MSR_CTS;
	uint8_t old = uart->msr;

	if (uart->mcr & UART_MCR_LOOP) {
		lines = 0;
		lines |= uart->mcr & UART_MCR_RTS ? UART_MSR_CTS : 0;
		lines |= uart->mcr & UART_MCR_DTR ? UART_MSR_DSR : 0;
		lines |= uart->mcr & UART_MCR_OUT1 ? UART_MSR_RI : 0;
		lines |= uart->mcr & UART_MCR_OUT2 ? UART_MSR_DCD : 0;
	}
	uart->msr = (old & UART_MSR_ANY_DELTA) | lines;
	if ((old ^ lines) & UART_MSR_CTS)
		uart->msr |= UART_MSR_DCTS;
	if ((old ^ lines) & UART_MSR_DSR)
		uart->msr |= UART_MSR_DDSR;
	if ((old & ~lines) & UART_MSR_RI) /* the trailing edge alone */
		uart->msr |= UART_MSR_TERI;
	if ((old ^ lines) & UART_MSR_DCD)
		uart->msr |= UART_MSR_DDCD;
}

static void write_thr(struct uart *uart, uint8_t val, bool *wake)
{
	unsigned int depth = uart->fcr & UART_FCR_ENABLE_FIFO ? UART_FIFO : 1;

	if (!(uart->mcr & UART_MCR_LOOP)) {
		uart_tx__push(uart, val, wake);
		return;
	}
	if (uart->loop_len < depth)
		uart->loop[uart->loop_len++] = val;
	else
		uart->lsr_errors |= UART_LSR_OE;
	uart->thre_pending = !uart->tx_busy;
}

static void write_ier(struct uart *uart, uint8_t val)
{
	uint8_t on = val & ~uart->ier;

	uart->ier = val & (UART_IER_RDI | UART_IER_THRI | UART_IER_RLSI | UART_IER_MSI);
	/* Linux starts to send by enabling this, and probes for chips that miss it */
	if ((on & UART_IER_THRI) && !uart->tx_busy)
		uart->thre_pending = true;
}

static void write_fcr(struct uart *uart, uint8_t val, bool *wake)
{
	/* output is on its way already: a reset of the transmitter has nothing to clear */
	if ((val & UART_FCR_CLEAR_RCVR) || ((val ^ uart->fcr) & UART_FCR_ENABLE_FIFO))
		uart_rx__reset(uart, wake);
	uart->fcr = val & UART_FCR_ENABLE_FIFO
			    ? val & (UART_FCR_ENABLE_FIFO | UART_FCR_TRIGGER_MASK)
			    : 0;
}

static void write_reg(struct uart *uart, unsigned int reg, uint8_t val, bool *wake)
{
	bool dlab = uart->lcr & UART_LCR_DLAB;

	uart->lsr_reads = 0;
	switch (reg) {
	case UART_TX:
		if (dlab)
			uart->dll = val;
		else
			write_thr(uart, val, wake);
		break;
	case UART_IER:
		if (dlab)
			uart->dlm = val;
		else
			write_ier(uart, val);
		break;
	case UART_FCR:
		write_fcr(uart, val, wake);
		break;
	case UART_LCR:
		uart->lcr = val;
		break;
	case UART_MCR:
		uart->mcr = val & (UART_MCR_DTR | UART_MCR_RTS | UART_MCR_OUT1 | UART_MCR_OUT2 |
				   UART_MCR_LOOP);
		update_msr(uart);
		break;
	case UART_SCR:
		uart->scr = val;
		break;
	default: /* LSR and MSR: read only */
		break;
	}
}

/* An access of several bytes is one to each register in turn, as on an 8-bit bus. */
static void uart_read(void *dev, uint64_t off, void *data, unsigned int len)
{
	struct uart *uart = dev;
	uint8_t *bytes = data;
	bool wake = false;

	pthread_mutex_lock(&uart->lock);
	for (unsigned int i = 0; i < len; i++)
		bytes[i] = read_reg(uart, off + i, &wake);
	uart__unlock(uart, wake, false);
}

static void uart_write(void *dev, uint64_t off, const void *data, unsigned int len)
{
	struct uart *uart = dev;
	const uint8_t *bytes = data;
	bool wake = false;

	pthread_mutex_lock(&uart->lock);
	for (unsigned int i = 0; i < len; i++)
		write_reg(uart, off + i, bytes[i], &wake);
	uart__unlock(uart, wake, false);
}

static const struct bus_ops uart_ops = {
	.read = uart_read,
	.write = uart_write,
};

static struct bus_range uart_range(struct uart *uart)
{
	return (struct bus_range) {
		.base = uart->port,
		.size = UART_REGS,
		.ops = &uart_ops,
		.dev = uart,
	};
}

int uart__init(struct uart *uart, struct vm *vm, uint16_t port, unsigned int gsi)
{
	struct bus_range range;
	int ret;

	memset(uart, 0, sizeof(*uart));
	uart->vm = vm;
	uart->port = port;
	uart->gsi = gsi;
	uart->dll = 1; /* 115200 baud, 8N1, as a BIOS would leave it */
	uart->lcr = UART_LCR_WLEN8;
	update_msr(uart);
	uart->msr &= ~UART_MSR_ANY_DELTA;
	uart->wakefd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (uart->wakefd < 0)
		return -errno;
	pthread_mutex_init(&uart->lock, NULL);
	range = uart_range(uart);
	ret = bus__add(&vm->pio, &range);
	if (ret) {
		pthread_mutex_destroy(&uart->lock);
		close(uart->wakefd);
		uart->wakefd = -1;
	}
	return ret;
}

void uart__fini(struct uart *uart)
{
	struct bus_range range = uart_range(uart);

	if (!uart->vm || uart->wakefd < 0)
		return;
	bus__remove(&uart->vm->pio, &range);
	pthread_mutex_destroy(&uart->lock);
	close(uart->wakefd);
	uart->wakefd = -1;
}
