/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine without storage: a request is complete at once, or a fixed time
 * after its submit.  No memory is touched, so a read leaves the guest's buffers
 * as they are.  What is left is the cost of the ring alone.
 *
 * All requests of a disk take the same time, so those that are under way are a
 * queue ordered by when they are due.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "engine.h"

#define NS_PER_S 1000000000LL

struct null_queue {
	struct disk_req *head, **tail; /* under way, the next due first, then those not submitted */
	struct disk_req *fresh; /* the first that is not submitted, or NULL */
};

struct null_req {
	int64_t due; /* monotonic clock */
};

static struct null_req *null_of(struct disk_req *req)
{
	return (struct null_req *)req->priv;
}

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts); /* vDSO: no system call */
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

int disk_null__open(struct disk *disk, const struct disk_params *params, struct lk_err *err)
{
	if (!params->null_size || params->null_size % DISK_SECTOR || params->null_size > INT64_MAX)
		return lk_err__set(err, -EINVAL,
				   "disk '%s': %llu bytes; give a multiple of %u, at least that",
				   disk->path, (unsigned long long)params->null_size, DISK_SECTOR);
	disk->direct = false;
	disk->size = params->null_size;
	disk->null_latency = params->null_latency;
	disk->geo = (struct disk_geometry) {
		.logical_block = DISK_SECTOR,
		.physical_block = 4096,
		.mem_align = 1,
		.offset_align = 1,
	};
	return 0;
}

static int null__init(struct disk_queue *q, struct lk_err *err)
{
	struct null_queue *n = calloc(1, sizeof(*n));

	if (!n)
		return lk_err__set(err, -ENOMEM, "out of memory");
	n->tail = &n->head;
	q->priv = n;
	return 0;
}

static void null__fini(struct disk_queue *q)
{
	free(q->priv);
	q->priv = NULL;
}

/* The kernel may wake a thread 50 us late if that saves a timer: as long as a whole request. */
static void null__attach(struct disk_queue *q)
{
	if (q->disk->null_latency)
		prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

static void null__queue(struct disk_queue *q, struct disk_req *req)
{
	struct null_queue *n = q->priv;

	if (!q->disk->null_latency) {
		disk_queue__finish(q, req, 0);
		return;
	}
	null_of(req)->due = INT64_MAX;
	req->next = NULL;
	*n->tail = req;
	n->tail = &req->next;
	if (!n->fresh)
		n->fresh = req;
}

static void null__submit(struct disk_queue *q)
{
	struct null_queue *n = q->priv;
	struct disk_req *req = n->fresh;
	int64_t due;

	if (!req)
		return;
	if (__builtin_add_overflow(now(), q->disk->null_latency, &due))
		due = INT64_MAX;
	for (; req; req = req->next)
		null_of(req)->due = due;
	n->fresh = NULL;
}

/* One look at the clock for all that is due. */
static struct disk_req *null__reap(struct disk_queue *q)
{
	struct null_queue *n = q->priv;
	int64_t t;

	if (n->head) {
		t = now();
		while (n->head && null_of(n->head)->due <= t) {
			struct disk_req *req = n->head;

			n->head = req->next;
			disk_queue__finish(q, req, 0);
		}
		if (!n->head)
			n->tail = &n->head;
	}
	return disk_queue__pop_ready(q);
}

static bool null__ready(const struct disk_queue *q)
{
	const struct null_queue *n = q->priv;

	return n->head && null_of(n->head)->due <= now();
}

static uint64_t null__wait(struct disk_queue *q, int64_t timeout)
{
	const struct null_queue *n = q->priv;

	if (n->head) {
		int64_t left = null_of(n->head)->due - now();

		left = left > 0 ? left : 0;
		if (timeout < 0 || left < timeout)
			timeout = left;
	}
	return disk_queue__sleep(q, timeout);
}

const struct disk_engine_ops disk_null_ops = {
	.name = "null",
	.init = null__init,
	.fini = null__fini,
	.attach = null__attach,
	.queue = null__queue,
	.submit = null__submit,
	.reap = null__reap,
	.ready = null__ready,
	.wait = null__wait,
};
