// SPDX-License-Identifier: GPL-2.0-only
/*
 * Terminal mode.  tcsetattr(TCSANOW) throughout: the other actions wait for
 * output to drain, and a terminal can be stalled.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "term.h"

static const int crash_signals[TERM_CRASH_SIGNALS] = {
	SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGSYS,
};

/*
 * A mutable variable of file scope (the other one is in sandbox_trap.c): a signal
 * handler gets no argument of ours, and a crash must not leave the terminal raw.  Set by
 * term__raw() and cleared by term__fini(), in the main thread; the handler only
 * reads it.
 */
static struct term *volatile crash_term;

/* A background process that sets the terminal is stopped, unless it blocks SIGTTOU. */
static int set_attr(int fd, const struct termios *attr)
{
	sigset_t ttou, old;
	int ret;

	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &ttou, &old);
	ret = tcsetattr(fd, TCSANOW, attr) < 0 ? -errno : 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ret;
}

bool term__background(const struct term *term)
{
	pid_t owner;

	if (!term->tty)
		return false;
	owner = tcgetpgrp(term->fd); /* fails where it is not our controlling terminal */
	return owner >= 0 && owner != getpgrp();
}

void term__restore(struct term *term)
{
	if (!term->raw)
		return;
	if (!term__background(term))
		set_attr(term->fd, &term->saved);
	term->raw = 0;
}

/*
 * A system call that a filter of lkvm's own refuses need not be the end: what it
 * means is for the handler to say that was there first.  True: it has.
 */
static bool before_us(struct term *term, int sig, siginfo_t *info, void *context)
{
	for (int i = 0; i < TERM_CRASH_SIGNALS; i++) {
		const struct sigaction *old = &term->old[i];

		if (crash_signals[i] != sig || !(old->sa_flags & SA_SIGINFO) || info->si_code <= 0)
			continue;
		old->sa_sigaction(sig, info, context);
		return true;
	}
	return false;
}

/* Async-signal-safe: tcgetpgrp, getpgrp, tcsetattr, sigaction, raise (POSIX 2.4.3). */
static void on_crash(int sig, siginfo_t *info, void *context)
{
	struct term *term = crash_term;
	int err = errno;

	if (sig == SIGSYS && term && before_us(term, sig, info, context))
		return;
	if (term) {
		term__restore(term);
		for (int i = 0; i < TERM_CRASH_SIGNALS; i++) {
			if (crash_signals[i] == sig)
				sigaction(sig, &term->old[i], NULL);
		}
	} else {
		signal(sig, SIG_DFL);
	}
	/*
	 * A fault comes again when its instruction does, with the whole truth for
	 * a core dump.  What was sent, or comes from a refused system call, does not.
	 */
	if (info->si_code <= 0 || sig == SIGSYS)
		raise(sig);
	errno = err;
}

static void handlers_on(struct term *term)
{
	struct sigaction act = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	if (term->handlers)
		return;
	crash_term = term;
	sigemptyset(&act.sa_mask);
	for (int i = 0; i < TERM_CRASH_SIGNALS; i++)
		sigaction(crash_signals[i], &act, &term->old[i]);
	term->handlers = true;
}

static void handlers_off(struct term *term)
{
	if (!term->handlers)
		return;
	for (int i = 0; i < TERM_CRASH_SIGNALS; i++)
		sigaction(crash_signals[i], &term->old[i], NULL);
	crash_term = NULL;
	term->handlers = false;
}

void term__init(struct term *term, int fd)
{
	struct stat st;

	memset(term, 0, sizeof(*term));
	term->fd = fd;
	/* isatty() is a termios call of its own: not on what cannot be a terminal */
	term->tty = fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && isatty(fd);
}

void term__fini(struct term *term)
{
	term__restore(term);
	handlers_off(term);
}

int term__raw(struct term *term)
{
	int ret;

	if (!term->tty)
		return 0;
	if (term__background(term))
		return -EAGAIN;
	if (!term->raw && tcgetattr(term->fd, &term->saved) < 0)
		return -errno;
	term->own = term->saved;
	cfmakeraw(&term->own);
	/* before the mode changes: a crash from here on is one that puts it back */
	handlers_on(term);
	term->raw = 1;
	ret = set_attr(term->fd, &term->own);
	if (ret)
		term->raw = 0;
	return ret;
}

void term__lines(struct term *term, bool on)
{
	struct termios attr = term->own;

	if (!term->raw || term__background(term))
		return;
	if (on)
		attr.c_oflag |= OPOST | ONLCR;
	set_attr(term->fd, &attr);
}
