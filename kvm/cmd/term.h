/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_TERM_H
#define LKVM_CMD_TERM_H

#include <signal.h>
#include <stdbool.h>
#include <termios.h>

/*
 * The terminal on stdin: raw while the guest has it, as it was before on every
 * way out.  Main thread, but for the crash handler, which may run in any.
 *
 * Where the descriptor is no terminal nothing here touches it.  In the
 * background nothing changes the terminal either: it belongs to the shell.
 */
#define TERM_CRASH_SIGNALS 6

struct term {
	int fd; /* the caller's */
	bool tty;
	volatile sig_atomic_t raw; /* saved is valid and has to be put back */
	bool handlers;
	struct termios saved;
	struct termios own; /* what raw mode is */
	struct sigaction old[TERM_CRASH_SIGNALS];
};

/* Looks only.  The term must stay where it is until term__fini(). */
void term__init(struct term *term, int fd);
/* Restores.  May be called twice, and after term__init() alone. */
void term__fini(struct term *term);

/*
 * Raw mode, or raw mode again after a stop.  0; -EAGAIN: we are in the
 * background, try later; another -errno.  Without a terminal: 0.
 */
int term__raw(struct term *term);
/* Back to what term__raw() found.  Nothing where it is not raw or not ours now. */
void term__restore(struct term *term);

/* We do not own the terminal at present (tcgetpgrp). */
bool term__background(const struct term *term);

/* Raw mode with (@on) or without the terminal's newline treatment: for lkvm's own lines. */
void term__lines(struct term *term, bool on);

#endif
