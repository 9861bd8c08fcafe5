/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_CONSOLE_H
#define LKVM_CMD_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lkvm/uart.h>

#include "loop.h"
#include "stream.h"

/*
 * Carries bytes between the guest's serial port and stdin and stdout.  Main
 * thread; all of it in the loop's handlers; never waits but in console__drain().
 *
 * Keys, where the input is a terminal: Ctrl-A x ends the VM, Ctrl-A Ctrl-A sends
 * one Ctrl-A, Ctrl-A h shows a line of help; after Ctrl-A any other key is sent
 * alone.  Input from elsewhere is data: 0x01 in a pipe or file goes through
 * unchanged (kvmtool looks for its keys there too; a script that feeds bytes
 * must be able to feed all of them).  Its end does not end the VM.
 *
 * Input waits while the guest does not take it: a pipe or file is not read on,
 * what is typed or pasted is kept up to CONSOLE_TYPED bytes and lost beyond,
 * so that the keys above are always seen.
 *
 * A reader beside it (look) sees all output once and in order, before stdout gets it
 * and whether or not stdout takes it.
 *
 * Output is written as it comes, at most every CONSOLE_PACE_NS where it comes
 * fast.  While the reader stalls it stays in the serial port's ring, and then
 * in the guest.  When the reader is gone, or stdout is full or closed, there is
 * one warning, the VM runs on, and output is discarded from then on.
 */
#define CONSOLE_TYPED 65536
#define CONSOLE_PACE_NS 2000000ULL

struct console {
	struct loop *loop;
	struct uart *uart;
	struct stream in, out;
	struct loop_source wake, input, output;
	struct loop_timer pace; /* the next look at the transmit ring */
	uint64_t last_tx; /* when output was last written */
	bool in_watched, out_watched; /* in the loop now */
	bool in_plain; /* a file: read without waiting */
	bool in_done; /* end of input, or none */
	bool out_gone;
	bool keys; /* Ctrl-A is special */
	bool escaped; /* and was the last key */
	unsigned long in_dropped; /* bytes typed while nobody took them */
	/* Set by the caller between console__init() and loop__run(), or NULL. */
	void (*look)(void *arg, const uint8_t *buf, size_t len);
	void *look_arg;
	size_t in_len;
	uint8_t in_buf[CONSOLE_TYPED]; /* read and not yet fed */
	uint8_t out_buf[UART_TX_SIZE];
	uint8_t look_buf[4096];
};

/*
 * @in, @out: descriptors, the caller's, neither changed nor closed; -1: none.  Opens
 * what they are once more, so before a sandbox forbids that.
 */
void console__open(struct console *con, int in, int out);
void console__close(struct console *con);

/* Join @loop (initialised, with the term of @in).  0 or -errno. */
int console__init(struct console *con, struct loop *loop, struct uart *uart, struct lk_err *err);
/* Main thread.  As if typed; what does not fit is lost, as typed input is. */
void console__type(struct console *con, const void *buf, size_t len);
/* After console__drain(); before loop__fini() and uart__fini(). */
void console__fini(struct console *con);

/*
 * After loop__run(): write what is in the transmit ring now, and wait for the
 * reader no longer than @ms altogether.  Bytes that did not go out.
 */
size_t console__drain(struct console *con, unsigned int ms);

#endif
