/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_THREAD_H
#define LKVM_THREAD_H

#include <pthread.h>

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
 * Nothing of lkvm's comes near the end of this.  A stack of the default size can
 * hold a whole huge page, and gets one as soon as it is touched where the host
 * gives them unasked: 2 MiB a thread.
 */
#define THREAD_STACK_SIZE (256U << 10)

/*
 * Start a thread that runs @body(@arg).  From its first instruction on it blocks
 * all signals but @open_signal, where that is not 0, and those that tell of a fault
 * of its own: these come to the thread that made it, and where they are blocked the
 * kernel ends the process on the spot, with the terminal still raw.
 *
 * Any thread may call.  The caller joins the thread or detaches it.  0 or a negative
 * errno, of pthread_create(3) mostly: -EAGAIN where the host has no room for one more.
 */
int thread__create(pthread_t *thread, void *(*body)(void *), void *arg, int open_signal);

#endif
