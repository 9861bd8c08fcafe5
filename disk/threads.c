/* SPDX-License-Identifier: GPL-2.0-only */
/* The engine for buffered files: every request goes to the disk's worker pool. */
#include <string.h>

#include "engine.h"

static int threads__init(struct disk_queue *q, struct lk_err *err)
{
	(void)q;
	(void)err;
	return 0; /* the pool is the disk's */
}

/* The first worker is made here, so that a limit on threads shows at the start of the VM. */
static int threads__start(struct disk *disk, struct lk_err *err)
{
	int rc = disk_pool__prestart(disk->shared);

	if (!rc)
		return 0;
	return lk_err__set(
		err, rc,
		"disk '%s': cannot start a worker thread: %s; see ulimit -u and the pids "
		"limit of the control group",
		disk->path, strerror(-rc));
}

static struct disk_req *threads__reap(struct disk_queue *q)
{
	disk_pool__collect(q);
	return disk_queue__pop_ready(q);
}

const struct disk_engine_ops disk_threads_ops = {
	.name = "threads",
	.disk_init = disk_pool__init,
	.disk_fini = disk_pool__fini,
	.init = threads__init,
	.start = threads__start,
	.fini = disk_pool__leave,
	.queue = disk_pool__stage,
	.submit = disk_pool__submit,
	.reap = threads__reap,
};
