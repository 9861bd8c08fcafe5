// SPDX-License-Identifier: GPL-2.0-only
/*
 * The I/O thread of a virtio-blk queue.  It owns ring, requests and engine
 * context, so that nothing here locks; it sleeps in one place alone.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

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
	bq->area = area;
	bq->reqs = (struct virtio_blk_req *)area;
	bq->iov = (struct iovec *)(area + reqs);
	bq->free = (uint16_t *)(area + reqs + iov);
	return 0;
}

int virtio_blk_queue__init(struct virtio_queue *queue, struct disk *disk, struct lk_err *err)
{
	struct virtio_blk_queue *bq = calloc(1, sizeof(*bq));
	struct disk_queue_params engine = {.depth = queue->size_max, .wakefd = queue->wakefd};
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

static struct virtio_blk_req *req__get(struct virtio_blk_queue *bq)
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

static void req__put(struct virtio_blk_queue *bq, const struct virtio_blk_req *req)
{
	bq->free[bq->nr_free++] = req - bq->reqs;
}

/* ---- the data path ---- */

/* Every head that was popped comes here once. */
static void complete(struct virtio_queue *queue, struct virtio_blk_req *req, uint8_t status)
{
	uint32_t len = virtio_blk_req__finish(req, status);

	virtq__push(&queue->ring, req->chain.head, len);
	queue->stats.completed++;
	if (status != VIRTIO_BLK_S_OK)
		queue->stats.errors++;
	req__put(queue->priv, req);
}

static void stage(struct virtio_blk_queue *bq, struct virtio_blk_req *req)
{
	disk_queue__queue(&bq->engine, &req->disk);
	bq->staged = true;
}

/*
 * Take what the ring holds, at most its size, so that completions get their
 * turn.  0, or -EINVAL where the ring is broken.
 */
static int drain(struct virtio_queue *queue)
{
	const struct virtio_blk *blk = queue->dev->priv;
	struct virtio_blk_queue *bq = queue->priv;
	unsigned int nr;
	int ret = 0;

	for (nr = 0; nr < queue->ring.layout.size; nr++) {
		struct virtio_blk_req *req = req__get(bq);
		int status;

		if (!req) /* every head is in flight: one more cannot be right */
			return virtq__pending(&queue->ring) ? -EINVAL : 0;
		ret = virtq__pop(&queue->ring, &req->chain);
		if (ret <= 0) {
			req__put(bq, req);
			break;
		}
		queue->stats.popped++;
		status = virtio_blk_req__parse(req, blk);
		if (status == BLK_REQ_IO)
			stage(bq, req);
		else
			complete(queue, req, status);
	}
	if (nr)
		queue->stats.drains++;
	return ret < 0 ? ret : 0;
}

static void reaped(struct virtio_queue *queue, struct virtio_blk_req *req)
{
	complete(queue, req, req->disk.res ? VIRTIO_BLK_S_IOERR : VIRTIO_BLK_S_OK);
}

/*
 * One submit for all that is staged, one used index update and at most one
 * interrupt for all that is finished.
 */
static void advance(struct virtio_queue *queue)
{
	struct virtio_blk_queue *bq = queue->priv;
	struct disk_req *disk_req;

	if (bq->staged) {
		bq->staged = false;
		disk_queue__submit(&bq->engine);
	}
	while ((disk_req = disk_queue__reap(&bq->engine)) != NULL)
		reaped(queue, (struct virtio_blk_req *)disk_req);

	virtio_queue__publish(queue);
}

/*
 * Not serving any more: the guest resets the device, the VM ends, or the ring
 * is broken.  See every request in flight to its end, then wait to be stopped.
 */
static void wind_down(struct virtio_queue *queue)
{
	for (;;) {
		advance(queue);
		if (!virtio_queue__running(queue) && !queue->ring.in_flight)
			return;
		virtio_queue__sleep(queue);
	}
}

void virtio_blk_queue__run(struct virtio_queue *queue)
{
	while (virtio_queue__running(queue)) {
		int ret;

		virtq__kicks_off(&queue->ring);
		ret = drain(queue);
		advance(queue);
		if (ret) {
			virtio_dev__fail(queue->dev);
			break;
		}
		if (!virtq__kicks_on(&queue->ring, 1))
			virtio_queue__sleep(queue);
	}
	wind_down(queue);
}
