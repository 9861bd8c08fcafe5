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
	run->endfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (run->endfd < 0)
		return -errno;
	pthread_mutex_init(&run->lock, NULL);
	return 0;
}

void run__fini(struct run *run)
{
	close(run->endfd);
	run->endfd = -1;
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
