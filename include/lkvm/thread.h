/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_THREAD_H
#define LKVM_THREAD_H

#include <signal.h>
#include <stddef.h>

/*
 * Threads of a VM, by what they do.  Who starts one tells the hook that the
 * assembly of the machine gave, from within the new thread and before it touches
 * anything that the guest can: so that the thread can be confined to what its
 * kind needs.  The modules that start threads know no more of it.
 */
enum thread_kind {
	THREAD_MAIN, /* event loop, console, start and end */
	THREAD_VCPU,
	THREAD_IO, /* one a virtqueue */
	THREAD_WORKER, /* of a disk's pool; made by main, by I/O threads and by workers */
	THREAD_KINDS,
};

struct thread_hook {
	/* The calling thread is of @kind from now on.  Comes back only where all is well. */
	void (*started)(struct thread_hook *hook, enum thread_kind kind);
};

/* @hook may be NULL. */
static inline void thread__started(struct thread_hook *hook, enum thread_kind kind)
{
	if (hook)
		hook->started(hook, kind);
}

/*
 * The signals that a thread other than main blocks: all but those that tell of
 * a fault of its own, which come to the thread that made it, and where they are
 * blocked the kernel ends the process on the spot, with the terminal still raw.
 */
static inline void thread__block_set(sigset_t *set)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

	sigfillset(set);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(set, faults[i]);
}

#endif
