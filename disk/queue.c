/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of a queue that is the same for every engine: entry points, the list
 * of finished requests, and the arithmetic of half-done ones.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"

int disk_queue__init(struct disk_queue *q, struct disk *disk,
		     const struct disk_queue_params *params, struct lk_err *err)
{
	if (!params->depth)
		return lk_err__set(err, -EINVAL, "disk '%s': a queue of depth 0", disk->path);
	*q = (struct disk_queue) {
		.disk = disk,
		.depth = params->depth,
		.wakefd = params->wakefd,
		.mem = params->mem,
		.nr_mem = params->nr_mem,
	};
	q->ready_tail = &q->ready;
	q->work_tail = &q->work;
	return disk_choose__queue(q, err);
}

void disk_queue__fini(struct disk_queue *q)
{
	q->engine->fini(q);
}

void disk_queue__attach(struct disk_queue *q)
{
	if (q->engine->attach)
		q->engine->attach(q);
}

void disk_queue__finish(struct disk_queue *q, struct disk_req *req, int res)
{
	free(req->bounce);
	req->bounce = NULL;
	req->res = res;
	req->next = NULL;
	*q->ready_tail = req;
	q->ready_tail = &req->next;
}

struct disk_req *disk_queue__pop_ready(struct disk_queue *q)
{
	struct disk_req *req = q->ready;

	if (!req)
		return NULL;
	q->ready = req->next;
	if (!q->ready)
		q->ready_tail = &q->ready;
	return req;
}

static uint64_t range_max(const struct disk *disk, enum disk_op op)
{
	switch (op) {
	case DISK_DISCARD:
		return disk->limits.discard_max;
	case DISK_WRITE_ZEROES:
		return disk->limits.zeroes_max;
	default:
		return UINT64_MAX;
	}
}

/*
 * What needs no engine.  1: go on; otherwise the result.  The range was checked
 * by the caller; looking again is cheap, and a write beyond the end would make
 * the file longer.
 */
static int without_engine(const struct disk_queue *q, const struct disk_req *req)
{
	const struct disk *disk = q->disk;

	if (q->in_flight > q->depth)
		return -EBUSY;
	if (req->op == DISK_FLUSH) /* ro: nothing was ever written */
		return disk->read_only || disk->cache == DISK_CACHE_UNSAFE ? 0 : 1;
	if (req->op != DISK_READ && disk->read_only)
		return -EROFS;
	if (req->len > disk->size || req->offset > disk->size - req->len)
		return -EINVAL;
	if (req->len > range_max(disk, req->op))
		return -EOPNOTSUPP;
	return req->len ? 1 : 0;
}

/* What the mode of the disk makes of the caller's wish. */
static bool is_durable(const struct disk *disk, const struct disk_req *req)
{
	if (disk->cache == DISK_CACHE_UNSAFE ||
	    (req->op != DISK_WRITE && req->op != DISK_WRITE_ZEROES))
		return false;
	return req->durable || disk->cache == DISK_CACHE_WRITETHROUGH;
}

void disk_queue__queue(struct disk_queue *q, struct disk_req *req)
{
	int res;

	req->done = 0;
	req->bounce = NULL;
	req->next = NULL;
	req->queue = q;
	req->durable = is_durable(q->disk, req);
	q->in_flight++;
	res = without_engine(q, req);
	if (res <= 0)
		disk_queue__finish(q, req, res);
	else
		q->engine->queue(q, req);
}

void disk_queue__submit(struct disk_queue *q)
{
	q->engine->submit(q);
}

struct disk_req *disk_queue__reap(struct disk_queue *q)
{
	/* a request that is under a fault may have to go on */
	struct disk_req *req = q->fault ? NULL : disk_queue__pop_ready(q);

	if (!req)
		req = q->engine->reap(q);
	if (req)
		q->in_flight--;
	return req;
}

bool disk_queue__ready(const struct disk_queue *q)
{
	const struct disk_engine_ops *engine = q->engine;

	return q->ready || __atomic_load_n(&q->remote, __ATOMIC_RELAXED) ||
	       (engine->ready && engine->ready(q));
}

static uint64_t read_wakefd(struct disk_queue *q)
{
	uint64_t count = 0;
	ssize_t n;

	do {
		n = read(q->wakefd, &count, sizeof(count));
	} while (n < 0 && errno == EINTR);
	q->stats.waits++;
	return n == sizeof(count) ? count : 0;
}

/* The queue's thread is the only reader: what poll has seen is still there. */
static uint64_t timed_read(struct disk_queue *q, int64_t timeout)
{
	struct pollfd pfd = {.fd = q->wakefd, .events = POLLIN};
	struct timespec ts = {.tv_sec = timeout / 1000000000, .tv_nsec = timeout % 1000000000};
	int n = ppoll(&pfd, 1, &ts, NULL);

	q->stats.waits++;
	return n > 0 ? read_wakefd(q) : 0;
}

uint64_t disk_queue__sleep(struct disk_queue *q, int64_t timeout)
{
	return timeout < 0 ? read_wakefd(q) : timed_read(q, timeout);
}

uint64_t disk_queue__wait(struct disk_queue *q, int64_t timeout)
{
	if (timeout && disk_queue__ready(q))
		return 0;
	if (q->engine->wait)
		return q->engine->wait(q, timeout);
	return disk_queue__sleep(q, timeout);
}

uint64_t disk_queue__rest(struct disk_queue *q)
{
	return q->engine->rest ? q->engine->rest(q) : 0;
}

bool disk_req__position_ok(const struct disk *disk, const struct disk_req *req)
{
	uint64_t mask = disk->geo.offset_align - 1;

	return !(((req->offset + req->done) | (req->len - req->done)) & mask);
}

bool disk_req__buffers_ok(const struct disk *disk, const struct disk_req *req)
{
	uintptr_t base = 0, len = 0;
	unsigned int i;

	for (i = 0; i < req->nr_iov; i++) {
		if (!req->iov[i].iov_len)
			continue;
		base |= (uintptr_t)req->iov[i].iov_base;
		len |= req->iov[i].iov_len;
	}
	return !(base & (disk->geo.mem_align - 1)) && !(len & (disk->geo.offset_align - 1));
}

unsigned int disk_req__rest(const struct disk_req *req, struct iovec **iov, uint64_t *bytes)
{
	unsigned int first = 0, nr = 0;

	while (first < req->nr_iov && !req->iov[first].iov_len)
		first++;
	*iov = req->iov + first;
	*bytes = 0;
	while (first + nr < req->nr_iov && nr < IOV_MAX)
		*bytes += req->iov[first + nr++].iov_len;
	return nr;
}

void disk_req__advance(struct disk_req *req, uint64_t n)
{
	unsigned int i;

	req->done += n;
	for (i = 0; i < req->nr_iov && n; i++) {
		struct iovec *v = &req->iov[i];
		size_t part = v->iov_len < n ? v->iov_len : n;

		v->iov_base = (char *)v->iov_base + part;
		v->iov_len -= part;
		n -= part;
	}
}

void disk_req__copy_from_guest(const struct disk_req *req, void *buf, size_t n)
{
	unsigned int i;

	for (i = 0; i < req->nr_iov && n; i++) {
		size_t part = req->iov[i].iov_len < n ? req->iov[i].iov_len : n;

		if (!part)
			continue;
		memcpy(buf, req->iov[i].iov_base, part);
		buf = (char *)buf + part;
		n -= part;
	}
}

void disk_req__copy_to_guest(const struct disk_req *req, const void *buf, size_t n)
{
	unsigned int i;

	for (i = 0; i < req->nr_iov && n; i++) {
		size_t part = req->iov[i].iov_len < n ? req->iov[i].iov_len : n;

		if (!part)
			continue;
		memcpy(req->iov[i].iov_base, buf, part);
		buf = (const char *)buf + part;
		n -= part;
	}
}

int disk_req__alloc_bounce(const struct disk *disk, struct disk_req *req, size_t size)
{
	size_t align = sizeof(void *);

	if (align < disk->geo.mem_align)
		align = disk->geo.mem_align;
	if (align < disk->geo.offset_align)
		align = disk->geo.offset_align;
	return -posix_memalign(&req->bounce, align, size);
}
