/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VIRTIO_BLK_INTERNAL_H
#define VIRTIO_BLK_INTERNAL_H

#include <stddef.h>

#include <lkvm/virtio_blk.h>

#include "pace.h"

/*
 * Inside of virtio-blk: one request, and the part of a queue that its I/O
 * thread owns.
 */
struct virtio_blk_req {
	struct disk_req disk; /* first: the engine hands back a pointer to it */
	struct virtq_chain chain;
	uint32_t written; /* data bytes in the guest's buffers if the request succeeds */
	uint32_t type; /* VIRTIO_BLK_T_*, or whatever the header said */
	bool parsed; /* type is set */
	uint64_t bytes; /* of data, either way */
	uint64_t start; /* CLOCK_MONOTONIC nanoseconds at the drain */
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
	bool attached; /* the I/O thread has made the engine its own */
	bool deferring; /* the thread is of SCHED_BATCH, and of a lower weight where it may be */
	bool can_renice;
	int nice; /* of the thread before */
	bool finishes_inline; /* the last batch was over when its submit returned */
	unsigned int unsignalled; /* completions since the last decision on an interrupt */
	uint64_t shown_at; /* when the first of them became visible; 0: none is */
	struct pace pace;
	/* counters, over all activations */
	uint64_t requests[VIRTIO_BLK_TYPES];
	uint64_t bytes_read, bytes_written;
	struct hist batch, latency;
	uint64_t first; /* when the first request was taken, ns; 0: none was */
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

/* What kind of request it was, for the counters. */
enum virtio_blk_type virtio_blk_req__type(const struct virtio_blk_req *req);

/* Main thread.  0 or -errno with a message. */
int virtio_blk_queue__init(struct virtio_queue *queue, struct virtio_blk *blk, struct lk_err *err);
void virtio_blk_queue__fini(struct virtio_queue *queue);

/* I/O thread: a request that is not in use, or NULL; and back. */
struct virtio_blk_req *virtio_blk_queue__get(struct virtio_blk_queue *bq);
void virtio_blk_queue__put(struct virtio_blk_queue *bq, const struct virtio_blk_req *req);

/* struct virtio_dev_ops.queue_run; blk_run.c */
void virtio_blk_queue__run(struct virtio_queue *queue);

#endif
