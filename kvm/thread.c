/* SPDX-License-Identifier: GPL-2.0-only */
/* How lkvm starts threads. */
#include <lkvm/thread.h>

#include <signal.h>
#include <stddef.h>

static void block_set(sigset_t *set, int open_signal)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

	sigfillset(set);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(set, faults[i]);
	if (open_signal)
		sigdelset(set, open_signal);
}

int thread__create(pthread_t *thread, void *(*body)(void *), void *arg, int open_signal)
{
	pthread_attr_t attr;
	sigset_t blocked, old;
	int rc = pthread_attr_init(&attr);

	if (rc)
		return -rc;
	rc = pthread_attr_setstacksize(&attr, THREAD_STACK_SIZE);
	if (!rc) {
		block_set(&blocked, open_signal);
		/* inherited, so there is no moment when a signal finds the thread open */
		pthread_sigmask(SIG_SETMASK, &blocked, &old);
		rc = pthread_create(thread, &attr, body, arg);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
	}
	pthread_attr_destroy(&attr);
	return -rc;
}
