/* SPDX-License-Identifier: GPL-2.0-only */
/* Run control: the one outcome of a VM. */
#include <lkvm/run.h>

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

int run__init(struct run *run)
{
	run->end = RUN_END_NONE;
	run->code = 0;
	run->cpu = -1;
	atomic_init(&run->ended, false);
	atomic_init(&run->panic, false);
	run->endfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (run->endfd < 0)
		return -errno;
	run->panicfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (run->panicfd < 0) {
		int ret = -errno;

		close(run->endfd);
		run->endfd = -1;
		return ret;
	}
	pthread_mutex_init(&run->lock, NULL);
	return 0;
}

void run__fini(struct run *run)
{
	close(run->endfd);
	close(run->panicfd);
	run->endfd = -1;
	run->panicfd = -1;
	pthread_mutex_destroy(&run->lock);
}

void run__end(struct run *run, enum run_end end, int code, int cpu)
{
	bool first;

	pthread_mutex_lock(&run->lock);
	first = run->end == RUN_END_NONE;
	if (first) {
		run->end = end;
		run->code = code;
		run->cpu = cpu;
		atomic_store_explicit(&run->ended, true, memory_order_release);
	}
	pthread_mutex_unlock(&run->lock);
	/* 1 into an eventfd that holds 0: cannot fail. */
	if (first)
		eventfd_write(run->endfd, 1);
}

/* The guest may say so as often as it likes: one write. */
void run__panicked(struct run *run)
{
	if (!atomic_exchange_explicit(&run->panic, true, memory_order_acq_rel))
		eventfd_write(run->panicfd, 1);
}
