/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the engines that queue requests in the kernel have in common: which part
 * of a request goes next, and what its result means.
 */
#include <errno.h>
#include <stdlib.h>

#include "engine.h"

void disk_transfer__to_pool(struct disk_queue *q, struct disk_req *req)
{
	free(req->bounce); /* the worker needs one of another size */
	req->bounce = NULL;
	disk_pool__stage(q, req);
}

/* Through an aligned copy, a piece at a time; the next piece counts as a rest. */
static int next_bounced(struct disk_queue *q, struct disk_req *req, struct disk_transfer *t)
{
	uint64_t rest = req->len - req->done;

	t->bytes = rest < DISK_BOUNCE_MAX ? rest : DISK_BOUNCE_MAX;
	if (!req->bounce) {
		int rc = disk_req__alloc_bounce(q->disk, req, t->bytes);

		if (rc)
			return rc;
		q->stats.bounced++;
	}
	if (req->op == DISK_WRITE)
		disk_req__copy_from_guest(req, req->bounce, t->bytes);
	t->copy = (struct iovec) {req->bounce, t->bytes};
	t->iov = &t->copy;
	t->nr = 1;
	return 0;
}

int disk_transfer__next(struct disk_queue *q, struct disk_req *req, struct disk_transfer *t)
{
	int rc;

	if (disk_req__is_range(req) || !disk_req__position_ok(q->disk, req)) {
		disk_transfer__to_pool(q, req);
		return 1;
	}
	t->pos = req->offset + req->done;
	if (!req->bounce && disk_req__buffers_ok(q->disk, req)) {
		t->nr = disk_req__rest(req, &t->iov, &t->bytes);
		return 0;
	}
	rc = next_bounced(q, req, t);
	if (!rc)
		return 0;
	disk_queue__finish(q, req, rc);
	return 1;
}

int disk_transfer__done(struct disk_queue *q, struct disk_req *req, uint64_t bytes, int64_t res)
{
	if (res < 0)
		return res;
	if (req->op == DISK_FLUSH)
		return 0;
	/* a read that meets the end: the file was cut under us */
	if (res == 0 || (uint64_t)res > bytes)
		return -EIO;
	if (req->bounce && req->op == DISK_READ)
		disk_req__copy_to_guest(req, req->bounce, res);
	disk_req__advance(req, res);
	if (req->done == req->len)
		return 0;
	q->stats.shorts += (uint64_t)res < bytes;
	return 1;
}
