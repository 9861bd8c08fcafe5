// SPDX-License-Identifier: GPL-2.0-only
/*
 * Setting up a virtio-blk queue, its requests, and its counters at the end.
 * What its I/O thread does is in blk_run.c.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "blk.h"

/* ---- memory ---- */

/*
 * Strides of a power of two would put the first iovec of every request into
 * the same set of the cache: one line more for each request.
 */
#define IOV_STAGGER (64 / sizeof(struct iovec))

static int map_requests(struct virtio_blk_queue *bq, unsigned int nr)
{
	size_t reqs = nr * sizeof(*bq->reqs);
	size_t iov;
	char *area;

	bq->nr = nr;
	bq->iov_stride = VIRTQ_CHAIN_IOV(nr) + IOV_STAGGER;
	iov = nr * bq->iov_stride * sizeof(*bq->iov);
	bq->area_size = reqs + iov + nr * sizeof(*bq->free);
	area = mmap(NULL, bq->area_size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED)
		return -errno;
	/* few of the requests are ever used: a huge page would make all of them memory */
	madvise(area, bq->area_size, MADV_NOHUGEPAGE);
	bq->area = area;
	bq->reqs = (struct virtio_blk_req *)area;
	bq->iov = (struct iovec *)(area + reqs);
	bq->free = (uint16_t *)(area + reqs + iov);
	return 0;
}

int virtio_blk_queue__init(struct virtio_queue *queue, struct virtio_blk *blk, struct lk_err *err)
{
	struct virtio_blk_queue *bq = calloc(1, sizeof(*bq));
	struct disk *disk = blk->disk;
	struct disk_queue_params engine = {
		.depth = queue->size_max,
		.wakefd = queue->wakefd,
		.mem = blk->ram,
		.nr_mem = blk->nr_ram,
	};
	int ret;

	if (!bq)
		return lk_err__set(err, -ENOMEM, "disk %s: out of memory", disk->path);
	ret = map_requests(bq, queue->size_max);
	if (ret) {
		free(bq);
		return lk_err__set(err, ret, "disk %s: no memory for the requests of a queue",
				   disk->path);
	}
	ret = disk_queue__init(&bq->engine, disk, &engine, err);
	if (ret) {
		munmap(bq->area, bq->area_size);
		free(bq);
		return ret;
	}
	queue->priv = bq;
	return 0;
}

void virtio_blk_queue__fini(struct virtio_queue *queue)
{
	struct virtio_blk_queue *bq = queue->priv;

	if (!bq)
		return;
	disk_queue__fini(&bq->engine);
	munmap(bq->area, bq->area_size);
	free(bq);
	queue->priv = NULL;
}

struct virtio_blk_req *virtio_blk_queue__get(struct virtio_blk_queue *bq)
{
	struct virtio_blk_req *req;
	unsigned int idx;

	if (bq->nr_free)
		idx = bq->free[--bq->nr_free];
	else if (bq->nr_fresh < bq->nr)
		idx = bq->nr_fresh++;
	else
		return NULL;
	req = &bq->reqs[idx];
	req->chain.iov = bq->iov + idx * bq->iov_stride;
	req->chain.iov_max = VIRTQ_CHAIN_IOV(bq->nr);
	return req;
}

void virtio_blk_queue__put(struct virtio_blk_queue *bq, const struct virtio_blk_req *req)
{
	bq->free[bq->nr_free++] = req - bq->reqs;
}

/*
 * What is left on wakefd, or was read from it and never told, is counted too.  A kick is what was neither a
 * completion of the engine nor a signal of lkvm's own.
 */
static uint64_t kicks(struct virtio_queue *queue)
{
	struct virtio_blk_queue *bq = queue->priv;
	struct pollfd pfd = {.fd = queue->wakefd, .events = POLLIN};
	uint64_t own = bq->engine.stats.signals + atomic_load(&queue->pokes);
	uint64_t rest;

	queue->signals += disk_queue__rest(&bq->engine);
	if (poll(&pfd, 1, 0) == 1 && read(queue->wakefd, &rest, sizeof(rest)) == sizeof(rest))
		queue->signals += rest;
	return queue->signals > own ? queue->signals - own : 0;
}

void virtio_blk__stats(struct virtio_blk *blk, unsigned int index, struct virtio_blk_stats *stats)
{
	struct virtio_queue *queue = &blk->dev.queues[index];
	const struct virtio_blk_queue *bq = queue->priv;

	*stats = (struct virtio_blk_stats) {
		.queue = queue->stats,
		.disk = bq->engine.stats,
		.bytes_read = bq->bytes_read,
		.bytes_written = bq->bytes_written,
		.batch = bq->batch,
		.latency = bq->latency,
	};
	memcpy(stats->requests, bq->requests, sizeof(stats->requests));
	stats->queue.kicks = kicks(queue);
}

uint64_t virtio_blk__first(const struct virtio_blk *blk, unsigned int index)
{
	const struct virtio_blk_queue *bq = blk->dev.queues[index].priv;

	return bq->first;
}

const char *virtio_blk__engine(const struct virtio_blk *blk, unsigned int index)
{
	const struct virtio_blk_queue *bq = blk->dev.queues[index].priv;

	return bq->engine.served_by;
}
