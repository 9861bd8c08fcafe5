/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VIRTIO_BLK_INTERNAL_H
#define VIRTIO_BLK_INTERNAL_H

#include <stddef.h>

#include <lkvm/virtio_blk.h>

/*
 * Inside of virtio-blk: one request, and the part of a queue that its I/O
 * thread owns.
 */
struct virtio_blk_req {
	struct disk_req disk; /* first: the engine hands back a pointer to it */
	struct virtq_chain chain;
	uint32_t written; /* data bytes in the guest's buffers if the request succeeds */
};

/*
 * Requests come from the free stack, most recently used first, or, while that
 * is empty, from those never used: memory of a queue, or a depth, that the
 * guest does not use is never touched.
 */
struct virtio_blk_queue {
	struct disk_queue engine;
	struct virtio_blk_req *reqs; /* nr of them */
	struct iovec *iov; /* nr times iov_stride */
	uint16_t *free; /* stack of indices into reqs */
	unsigned int nr; /* the largest queue size */
	unsigned int nr_free;
	unsigned int nr_fresh; /* reqs[0 .. nr_fresh) have been used */
	size_t iov_stride;
	void *area; /* one mapping for reqs, iov and free */
	size_t area_size;
	bool staged; /* something was queued since the last submit */
};

/*
 * Read the request that req->chain describes (5.2.6).  BLK_REQ_IO: req->disk
 * is filled in and goes to the engine.  Otherwise the request is over, and the
 * result its status byte.  The header is read once; data is not copied, the
 * chain's iovec is trimmed.
 */
#define BLK_REQ_IO (-1)
int virtio_blk_req__parse(struct virtio_blk_req *req, const struct virtio_blk *blk);

/*
 * Write the status byte; the result goes into the used ring: the number of
 * bytes written into the chain (2.7.8).  That is data and status after success,
 * the status alone after an error, and 0 where there is no status byte.  Data
 * starts at the first writable byte, the status is always the last one, also
 * where the data does not reach up to it.
 */
uint32_t virtio_blk_req__finish(struct virtio_blk_req *req, uint8_t status);

/* Main thread.  0 or -errno with a message. */
int virtio_blk_queue__init(struct virtio_queue *queue, struct disk *disk, struct lk_err *err);
void virtio_blk_queue__fini(struct virtio_queue *queue);

/* struct virtio_dev_ops.queue_run */
void virtio_blk_queue__run(struct virtio_queue *queue);

#endif
