// SPDX-License-Identifier: GPL-2.0-only
/*
 * The 16550A as a driver sees it through the port bus.  Values: PC16550D data
 * sheet, and what Linux's 8250 driver does to find and run the part.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/serial_reg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <lkvm/uart.h>
#include <lkvm/x86_map.h>

#define PORT X86_PORT_COM1

struct fixture {
	struct vm vm; /* without KVM: uart.irqs counts the pulses */
	struct uart uart;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->vm.kvm_fd = -1;
	f->vm.vm_fd = -1;
	f->vm.irq.vm = &f->vm;
	pthread_mutex_init(&f->vm.irq.lock, NULL);
	pthread_mutex_init(&f->vm.irq.pin_lock, NULL);
	if (bus__init(&f->vm.pio) || uart__init(&f->uart, &f->vm, PORT, X86_GSI_COM1))
		return -1;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	uart__fini(&f->uart);
	bus__fini(&f->vm.pio);
	free(f);
	return 0;
}

static void out(struct fixture *f, unsigned int reg, uint8_t val)
{
	assert_true(bus__write(&f->vm.pio, PORT + reg, &val, 1));
}

static uint8_t in(struct fixture *f, unsigned int reg)
{
	uint8_t val;

	assert_true(bus__read(&f->vm.pio, PORT + reg, &val, 1));
	return val;
}

/* Pulses since the last call. */
static unsigned long pulses(struct fixture *f)
{
	unsigned long n = f->uart.irqs;

	f->uart.irqs = 0;
	return n;
}

static bool woken(struct fixture *f)
{
	eventfd_t count;

	return eventfd_read(f->uart.wakefd, &count) == 0;
}

static void feed(struct fixture *f, const char *text)
{
	uart__feed(&f->uart, text, strlen(text));
}

static void test_autoconfig(void **state)
{
	struct fixture *f = *state;

	/* IER has four bits; the upper ones read 0 */
	out(f, UART_IER, 0xff);
	assert_int_equal(in(f, UART_IER), 0x0f);
	out(f, UART_IER, 0);
	assert_int_equal(in(f, UART_IER), 0);
	out(f, UART_SCR, 0xa5);
	assert_int_equal(in(f, UART_SCR), 0xa5);
	/* the driver's loopback test: OUT2 and RTS come back as DCD and CTS */
	out(f, UART_MCR, UART_MCR_LOOP | UART_MCR_OUT2 | UART_MCR_RTS);
	assert_int_equal(in(f, UART_MSR) & 0xf0, UART_MSR_DCD | UART_MSR_CTS);
	out(f, UART_MCR, 0);
	assert_int_equal(in(f, UART_MSR) & 0xf0, UART_MSR_DCD | UART_MSR_DSR | UART_MSR_CTS);
	/* 16550A: both FIFO bits, and no bit 5 (16750) whatever is asked */
	assert_int_equal(in(f, UART_IIR), UART_IIR_NO_INT);
	out(f, UART_FCR, UART_FCR_ENABLE_FIFO);
	assert_int_equal(in(f, UART_IIR), 0xc0 | UART_IIR_NO_INT);
	out(f, UART_LCR, UART_LCR_DLAB);
	out(f, UART_FCR, UART_FCR_ENABLE_FIFO | UART_FCR7_64BYTE);
	assert_int_equal(in(f, UART_IIR) & 0xe0, 0xc0);
}

static void test_divisor(void **state)
{
	struct fixture *f = *state;

	out(f, UART_LCR, UART_LCR_DLAB | UART_LCR_WLEN8);
	out(f, UART_DLL, 0x34);
	out(f, UART_DLM, 0x12);
	assert_int_equal(in(f, UART_DLL), 0x34);
	assert_int_equal(in(f, UART_DLM), 0x12);
	out(f, UART_LCR, UART_LCR_WLEN8);
	assert_int_equal(in(f, UART_IER), 0); /* not the divisor */
	assert_int_equal(uart__pending(&f->uart), 0); /* nothing was sent */
}

static void test_loopback(void **state)
{
	struct fixture *f = *state;
	int n = 0;

	feed(f, "from the line");
	out(f, UART_FCR, UART_FCR_ENABLE_FIFO);
	out(f, UART_MCR, UART_MCR_LOOP);
	for (int i = 0; i < 20; i++) /* how Linux measures the FIFO */
		out(f, UART_TX, i);
	assert_int_equal(in(f, UART_LSR) & (UART_LSR_OE | UART_LSR_DR), UART_LSR_OE | UART_LSR_DR);
	assert_int_equal(in(f, UART_LSR) & UART_LSR_OE, 0); /* reading cleared it */
	for (; in(f, UART_LSR) & UART_LSR_DR; n++)
		assert_int_equal(in(f, UART_RX), n);
	assert_int_equal(n, 16);
	assert_int_equal(uart__pending(&f->uart), 0);
}

static void test_modem_deltas(void **state)
{
	struct fixture *f = *state;

	out(f, UART_MCR, UART_MCR_LOOP | UART_MCR_OUT1);
	in(f, UART_MSR);
	out(f, UART_IER, UART_IER_MSI);
	assert_int_equal(pulses(f), 0);
	out(f, UART_MCR, UART_MCR_LOOP | UART_MCR_RTS);
	assert_int_equal(pulses(f), 1);
	assert_int_equal(in(f, UART_IIR), UART_IIR_MSI);
	/* RI went away: its trailing edge counts; CTS changed */
	assert_int_equal(in(f, UART_MSR), UART_MSR_CTS | UART_MSR_DCTS | UART_MSR_TERI);
	assert_int_equal(in(f, UART_IIR), UART_IIR_NO_INT);
}

static void test_thre_interrupt(void **state)
{
	struct fixture *f = *state;

	/* enabled while empty: at once, and again after off and on */
	out(f, UART_IER, UART_IER_THRI);
	assert_int_equal(pulses(f), 1);
	assert_int_equal(in(f, UART_IIR), UART_IIR_THRI);
	assert_int_equal(in(f, UART_IIR), UART_IIR_NO_INT); /* reading cleared it */
	out(f, UART_IER, 0);
	out(f, UART_IER, UART_IER_THRI);
	assert_int_equal(pulses(f), 1);
	/* a byte leaves at once: empty again, with an edge of its own after the IIR read */
	assert_int_equal(in(f, UART_IIR), UART_IIR_THRI);
	out(f, UART_TX, 'a');
	assert_int_equal(pulses(f), 1);
	for (int i = 0; i < 15; i++)
		out(f, UART_TX, 'b'); /* still the same edge */
	assert_int_equal(pulses(f), 0);
	assert_int_equal(in(f, UART_IIR), UART_IIR_THRI);
}

static void test_priority(void **state)
{
	struct fixture *f = *state;

	out(f, UART_FCR, UART_FCR_ENABLE_FIFO | UART_FCR_TRIGGER_4);
	out(f, UART_IER, 0x0f);
	out(f, UART_MCR, UART_MCR_LOOP | UART_MCR_RTS);
	for (int i = 0; i < 17; i++)
		out(f, UART_TX, 'x');
	assert_int_equal(in(f, UART_IIR), 0xc0 | UART_IIR_RLSI);
	assert_true(in(f, UART_LSR) & UART_LSR_OE);
	assert_int_equal(in(f, UART_IIR), 0xc0 | UART_IIR_RDI);
	for (int i = 0; i < 13; i++)
		in(f, UART_RX);
	/* three left, under the trigger of four */
	assert_int_equal(in(f, UART_IIR), 0xc0 | UART_IIR_RX_TIMEOUT);
	for (int i = 0; i < 3; i++)
		in(f, UART_RX);
	assert_int_equal(in(f, UART_IIR), 0xc0 | UART_IIR_THRI);
	assert_int_equal(in(f, UART_IIR), 0xc0 | UART_IIR_MSI);
	in(f, UART_MSR);
	assert_int_equal(in(f, UART_IIR), 0xc0 | UART_IIR_NO_INT);
}

/* A driver that serves one source an interrupt hears of the one that stays. */
static void test_edge_for_the_source_that_stays(void **state)
{
	struct fixture *f = *state;

	out(f, UART_MCR, UART_MCR_RTS | UART_MCR_OUT2);
	in(f, UART_MSR);
	out(f, UART_IER, UART_IER_RDI | UART_IER_THRI);
	assert_int_equal(pulses(f), 1);
	feed(f, "k");
	assert_int_equal(pulses(f), 1); /* a new source joined */
	assert_int_equal(in(f, UART_IIR), UART_IIR_RDI);
	assert_int_equal(in(f, UART_RX), 'k');
	assert_int_equal(pulses(f), 1); /* one went, one stays */
	assert_int_equal(in(f, UART_IIR), UART_IIR_THRI);
	assert_int_equal(pulses(f), 0);
}

static void test_every_feed_has_an_edge(void **state)
{
	struct fixture *f = *state;

	out(f, UART_MCR, UART_MCR_RTS);
	out(f, UART_IER, UART_IER_RDI);
	feed(f, "a");
	feed(f, "b");
	assert_int_equal(pulses(f), 2);
	assert_int_equal(in(f, UART_RX), 'a');
	assert_int_equal(in(f, UART_RX), 'b');
	assert_int_equal(in(f, UART_LSR) & UART_LSR_DR, 0);
}

/* The reader stalls: busy with headroom left, no loss, and the interrupt comes back. */
static void test_stall(void **state)
{
	struct fixture *f = *state;
	static uint8_t buf[UART_TX_SIZE];
	unsigned int sent = 0;

	out(f, UART_IER, UART_IER_THRI);
	while (in(f, UART_LSR) & UART_LSR_THRE)
		out(f, UART_TX, sent++);
	assert_int_equal(in(f, UART_LSR) & (UART_LSR_THRE | UART_LSR_TEMT), 0);
	assert_in_range(sent, UART_TX_LOW, UART_TX_SIZE - UART_TX_HEADROOM + 1);
	assert_int_equal(in(f, UART_IIR), UART_IIR_NO_INT);
	pulses(f);
	/* enabling the interrupt now raises none */
	out(f, UART_IER, 0);
	out(f, UART_IER, UART_IER_THRI);
	assert_int_equal(pulses(f), 0);
	/* a driver that gave up waiting writes anyway: the headroom takes it */
	out(f, UART_TX, sent++);
	assert_int_equal(f->uart.tx_dropped, 0);
	/* the reader comes back */
	uart__consume(&f->uart, 100);
	assert_int_equal(pulses(f), 0);
	assert_int_equal(uart__peek(&f->uart, buf, sizeof(buf)), sent - 100);
	for (unsigned int i = 0; i < sent - 100; i++)
		assert_int_equal(buf[i], (uint8_t)(i + 100));
	uart__consume(&f->uart, sent - 100);
	assert_int_equal(pulses(f), 1);
	assert_int_equal(in(f, UART_IIR), UART_IIR_THRI);
	assert_true(in(f, UART_LSR) & UART_LSR_TEMT);
}

static void test_full_ring_drops_and_counts(void **state)
{
	struct fixture *f = *state;
	uint8_t first;

	for (unsigned int i = 0; i < UART_TX_SIZE + 5; i++)
		out(f, UART_TX, i < UART_TX_SIZE ? 'a' : 'b');
	assert_int_equal(f->uart.tx_dropped, 5);
	assert_int_equal(uart__pending(&f->uart), UART_TX_SIZE);
	assert_int_equal(uart__peek(&f->uart, &first, 1), 1);
	assert_int_equal(first, 'a');
}

/* One wakeup when the ring stops being empty and one at half, not one a byte. */
static void test_wakeups(void **state)
{
	struct fixture *f = *state;

	assert_false(woken(f));
	out(f, UART_TX, 'a');
	assert_true(woken(f));
	for (unsigned int i = 1; i < UART_TX_LOW - 1; i++)
		out(f, UART_TX, 'a');
	assert_false(woken(f));
	out(f, UART_TX, 'a');
	assert_true(woken(f));
	uart__consume(&f->uart, UART_TX_LOW);
	out(f, UART_TX, 'a');
	assert_true(woken(f));
	assert_int_equal(f->uart.wakes, 3);
}

/* Who looks sees every byte once and in order, while the host takes none and after. */
static void test_look(void **state)
{
	struct fixture *f = *state;
	char buf[8];

	for (const char *s = "abc"; *s; s++)
		out(f, UART_TX, *s);
	assert_true(woken(f));
	assert_int_equal(uart__look(&f->uart, buf, 2), 2);
	assert_memory_equal(buf, "ab", 2);
	assert_int_equal(uart__look(&f->uart, buf, sizeof(buf)), 1);
	assert_int_equal(buf[0], 'c');
	assert_int_equal(uart__look(&f->uart, buf, sizeof(buf)), 0);
	/* all are still the host's, and the next byte wakes */
	assert_int_equal(uart__pending(&f->uart), 3);
	out(f, UART_TX, 'd');
	assert_true(woken(f));
	out(f, UART_TX, 'e');
	assert_false(woken(f));
	/* what is taken is past looking at */
	uart__consume(&f->uart, 4);
	assert_int_equal(uart__look(&f->uart, buf, sizeof(buf)), 1);
	assert_int_equal(buf[0], 'e');
	assert_int_equal(uart__pending(&f->uart), 1);
}

static void test_fifo_reset_keeps_output(void **state)
{
	struct fixture *f = *state;

	out(f, UART_TX, 'a');
	out(f, UART_FCR, UART_FCR_ENABLE_FIFO | UART_FCR_CLEAR_RCVR | UART_FCR_CLEAR_XMIT);
	out(f, UART_FCR, 0);
	assert_int_equal(uart__pending(&f->uart), 1);
}

/* What was piped in early is there when the guest opens the port: Linux's start-up sequence. */
static void test_early_input_is_kept(void **state)
{
	struct fixture *f = *state;
	char got[4] = "";

	feed(f, "hey");
	out(f, UART_FCR, UART_FCR_ENABLE_FIFO);
	out(f, UART_FCR, UART_FCR_ENABLE_FIFO | UART_FCR_CLEAR_RCVR | UART_FCR_CLEAR_XMIT);
	out(f, UART_FCR, 0);
	in(f, UART_LSR);
	in(f, UART_RX);
	in(f, UART_IIR);
	in(f, UART_MSR);
	out(f, UART_MCR, UART_MCR_OUT2);
	out(f, UART_IER, UART_IER_RLSI | UART_IER_RDI);
	out(f, UART_FCR, UART_FCR_ENABLE_FIFO);
	out(f, UART_FCR, UART_FCR_ENABLE_FIFO | UART_FCR_TRIGGER_8);
	out(f, UART_MCR, UART_MCR_OUT2 | UART_MCR_DTR | UART_MCR_RTS);
	for (int i = 0; i < 3; i++) {
		assert_true(in(f, UART_LSR) & UART_LSR_DR);
		got[i] = in(f, UART_RX);
	}
	assert_string_equal(got, "hey");
}

static void test_fifo_reset_drops_what_was_visible(void **state)
{
	struct fixture *f = *state;

	out(f, UART_MCR, UART_MCR_RTS);
	out(f, UART_FCR, UART_FCR_ENABLE_FIFO);
	feed(f, "0123456789abcdefX");
	out(f, UART_FCR, UART_FCR_ENABLE_FIFO | UART_FCR_CLEAR_RCVR);
	assert_int_equal(in(f, UART_RX), 'X'); /* the 17th had not arrived yet */
	assert_int_equal(in(f, UART_LSR) & UART_LSR_DR, 0);
}

static void test_polled_input(void **state)
{
	struct fixture *f = *state;
	unsigned int polls = 0;

	feed(f, "p"); /* neither RTS nor an interrupt: a small boot loader */
	while (!(in(f, UART_LSR) & UART_LSR_DR) && polls < 1000)
		polls++;
	assert_in_range(polls, 1, 999);
	assert_int_equal(in(f, UART_RX), 'p');
}

/* A console that waits for a stalled reader reads LSR again and again, too. */
static void test_waiting_to_send_is_no_poll_for_input(void **state)
{
	struct fixture *f = *state;

	feed(f, "hey");
	while (in(f, UART_LSR) & UART_LSR_THRE)
		out(f, UART_TX, '.');
	for (unsigned int i = 0; i < 4 * UART_POLLS; i++)
		assert_int_equal(in(f, UART_LSR) & (UART_LSR_THRE | UART_LSR_DR), 0);
	uart__consume(&f->uart, UART_TX_SIZE);
	/* so the input is still there when the port is opened */
	out(f, UART_FCR, UART_FCR_ENABLE_FIFO | UART_FCR_CLEAR_RCVR);
	out(f, UART_MCR, UART_MCR_RTS);
	assert_int_equal(in(f, UART_RX), 'h');
}

/* What a reset takes makes room as what is read does. */
static void test_reset_makes_room(void **state)
{
	struct fixture *f = *state;
	static uint8_t buf[UART_RX_SIZE];

	out(f, UART_MCR, UART_MCR_RTS);
	out(f, UART_FCR, UART_FCR_ENABLE_FIFO);
	uart__feed(&f->uart, buf, sizeof(buf));
	assert_int_equal(uart__room(&f->uart), 0);
	assert_false(woken(f));
	for (unsigned int i = 0; i < UART_RX_SIZE / UART_FIFO; i++)
		out(f, UART_FCR, UART_FCR_ENABLE_FIFO | UART_FCR_CLEAR_RCVR);
	assert_true(woken(f)); /* nothing is left to read that could tell */
	assert_int_equal(uart__room(&f->uart), UART_RX_SIZE);
}

static void test_room(void **state)
{
	struct fixture *f = *state;
	static uint8_t buf[UART_RX_SIZE];

	out(f, UART_MCR, UART_MCR_RTS);
	assert_int_equal(uart__room(&f->uart), UART_RX_SIZE);
	for (unsigned int i = 0; i < sizeof(buf); i++)
		buf[i] = i;
	uart__feed(&f->uart, buf, sizeof(buf));
	assert_int_equal(uart__room(&f->uart), 0);
	assert_false(woken(f));
	for (unsigned int i = 0; i < UART_RX_SIZE / 2; i++)
		assert_int_equal(in(f, UART_RX), (uint8_t)i);
	assert_true(woken(f));
	assert_int_equal(uart__room(&f->uart), UART_RX_SIZE / 2);
	uart__feed(&f->uart, buf, UART_RX_SIZE); /* more than there is room for */
	assert_int_equal(uart__room(&f->uart), 0);
}

/* A wide access is one to each register in turn: off the end it has no answer. */
static void test_wide_access(void **state)
{
	struct fixture *f = *state;
	uint16_t val = 0x0355; /* 'U' to THR, 3 to IER */

	assert_true(bus__write(&f->vm.pio, PORT, &val, 2));
	assert_int_equal(uart__pending(&f->uart), 1);
	assert_int_equal(in(f, UART_IER), 3);
	assert_false(bus__write(&f->vm.pio, PORT + 7, &val, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_autoconfig, setup, teardown),
		cmocka_unit_test_setup_teardown(test_divisor, setup, teardown),
		cmocka_unit_test_setup_teardown(test_loopback, setup, teardown),
		cmocka_unit_test_setup_teardown(test_modem_deltas, setup, teardown),
		cmocka_unit_test_setup_teardown(test_thre_interrupt, setup, teardown),
		cmocka_unit_test_setup_teardown(test_priority, setup, teardown),
		cmocka_unit_test_setup_teardown(test_edge_for_the_source_that_stays, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_every_feed_has_an_edge, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stall, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_ring_drops_and_counts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wakeups, setup, teardown),
		cmocka_unit_test_setup_teardown(test_look, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fifo_reset_keeps_output, setup, teardown),
		cmocka_unit_test_setup_teardown(test_early_input_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fifo_reset_drops_what_was_visible, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_polled_input, setup, teardown),
		cmocka_unit_test_setup_teardown(test_waiting_to_send_is_no_poll_for_input, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_reset_makes_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_room, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wide_access, setup, teardown),
	};

	return cmocka_run_group_tests_name("uart", tests, NULL, NULL);
}
