/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_BLK_RIG_H
#define TESTS_BLK_RIG_H

#include <errno.h>
#include <sys/eventfd.h>

#include "tests/unit/vqp_driver.h"
#include "virtio/blk.h"

/*
 * A virtio-blk device with a driver in front of it, a disk in memory behind it
 * and a transport that counts.  The I/O thread's function runs in the test's
 * own thread: the transport stops the queue once enough requests are complete.
 */
#define RIG_DISK (64 * 1024U)
#define RIG_MAX 1024
#define RIG_DISCARDED 0x5d /* what is undefined, here */

struct blk_rig {
	union {
		struct vq_driver d; /* what both have: memory, and the layout */
		struct vqp_driver p; /* begins with it */
	};
	struct virtio_blk blk;
	struct virtio_queue *q;

	/* the transport */
	atomic_uint signals, fails;
	uint64_t stop_after; /* completions; UINT64_MAX: the test stops the queue */
	int irqfd; /* signalled for each interrupt, the test in another thread; or -1 */

	/* the engine */
	struct disk disk;
	char image[RIG_DISK];
	struct disk_req *staged[RIG_MAX], *running[RIG_MAX];
	unsigned int nr_staged, nr_running;
	unsigned int submits, flushes, durables;
	unsigned int range_seen; /* discards and write zeroes */
	bool range_unmap; /* of the last one */
	bool shuffle; /* complete in any order, and some later */
	bool one_by_one; /* each second call of reap finds one */
	bool found_one;
	unsigned int hold; /* calls of reap that find nothing yet */
	uint64_t fail_offset; /* the request there ends with -EIO */
	void (*on_submit)(struct blk_rig *r);
	unsigned int seed;
};

static inline void rig__stop(struct blk_rig *r)
{
	atomic_store(&r->q->state, VIRTIO_QUEUE_STOPPING);
	virtio_queue__wake(r->q);
}

/* ---- transport ---- */

static inline bool rig__signal(struct virtio_dev *dev, struct virtio_queue *queue)
{
	struct blk_rig *r = dev->transport_data;

	atomic_fetch_add(&r->signals, 1);
	if (r->irqfd >= 0)
		eventfd_write(r->irqfd, 1);
	if (queue->stats.completed >= r->stop_after)
		rig__stop(r);
	return true;
}

static inline void rig__fail(struct virtio_dev *dev)
{
	struct blk_rig *r = dev->transport_data;

	atomic_fetch_add(&r->fails, 1);
	if (r->irqfd >= 0)
		eventfd_write(r->irqfd, 1);
	else
		rig__stop(r); /* the guest resets the device */
}

static const struct virtio_transport_ops rig_transport = {
	.signal = rig__signal,
	.needs_reset = rig__fail,
};

/* ---- engine ---- */

static inline int fake_init(struct disk_queue *q, struct lk_err *err)
{
	(void)q;
	(void)err;
	return 0;
}

static inline void fake_fini(struct disk_queue *q)
{
	(void)q;
}

static inline void fake_queue(struct disk_queue *q, struct disk_req *req)
{
	struct blk_rig *r = q->disk->shared;

	r->staged[r->nr_staged++] = req;
}

static inline void fake_wake(struct disk_queue *q)
{
	eventfd_write(q->wakefd, 1);
	q->stats.signals++;
}

static inline void fake_submit(struct disk_queue *q)
{
	struct blk_rig *r = q->disk->shared;
	unsigned int i;

	for (i = 0; i < r->nr_staged; i++)
		r->running[r->nr_running++] = r->staged[i];
	r->nr_staged = 0;
	r->submits++;
	/* what completes at once is found by the next reap, and wakes nobody up */
	if (r->shuffle || r->hold)
		fake_wake(q);
	if (r->on_submit)
		r->on_submit(r);
}

static inline int fake_transfer(struct blk_rig *r, struct disk_req *req)
{
	char *image = r->image + req->offset;
	unsigned int i;

	if (req->op == DISK_FLUSH) {
		r->flushes++;
		return 0;
	}
	r->durables += req->durable;
	if (req->offset == r->fail_offset)
		return -EIO;
	if (req->op == DISK_DISCARD || req->op == DISK_WRITE_ZEROES) {
		r->range_seen++;
		r->range_unmap = req->unmap;
		memset(image, req->op == DISK_DISCARD ? RIG_DISCARDED : 0, req->len);
		return 0;
	}
	for (i = 0; i < req->nr_iov; i++) {
		struct iovec *iov = &req->iov[i];

		if (req->op == DISK_READ)
			memcpy(iov->iov_base, image, iov->iov_len);
		else
			memcpy(image, iov->iov_base, iov->iov_len);
		image += iov->iov_len;
	}
	return image == r->image + req->offset + req->len ? 0 : -EINVAL;
}

static inline struct disk_req *fake_reap(struct disk_queue *q)
{
	struct blk_rig *r = q->disk->shared;
	struct disk_req *req;
	unsigned int i = 0;

	if (!r->nr_running)
		return NULL;
	if (r->hold || (r->shuffle && rand_r(&r->seed) % 4 == 0)) {
		r->hold -= r->hold ? 1 : 0;
		fake_wake(q);
		return NULL;
	}
	if (r->one_by_one) {
		r->found_one = !r->found_one;
		if (!r->found_one) {
			fake_wake(q);
			return NULL;
		}
	}
	if (r->shuffle)
		i = rand_r(&r->seed) % r->nr_running;
	req = r->running[i];
	memmove(&r->running[i], &r->running[i + 1], (--r->nr_running - i) * sizeof(r->running[0]));
	req->res = fake_transfer(r, req);
	return req;
}

static const struct disk_engine_ops fake_engine = {
	.name = "fake",
	.init = fake_init,
	.fini = fake_fini,
	.queue = fake_queue,
	.submit = fake_submit,
	.reap = fake_reap,
};

/* ---- the rig ---- */

static inline struct blk_rig *rig__new_tuned(uint16_t size, uint32_t block, bool read_only,
					     const struct virtio_blk_tuning *tuning)
{
	struct blk_rig *r = calloc(1, sizeof(*r));
	struct virtio_blk_params params = {
		.nr_queues = 1,
		.queue_size = size,
		.tuning = *tuning,
		.serial = "0123456789abcdefghij",
	};
	unsigned int i;

	if (!r)
		abort();
	vqd__init(&r->d, size, false);
	for (i = 0; i < RIG_DISK; i++)
		r->image[i] = i / 512 + i * 7;
	r->irqfd = -1;
	r->fail_offset = UINT64_MAX;
	r->disk = (struct disk) {
		.path = (char *)"fake",
		.fd = -1,
		.read_only = read_only,
		.size = RIG_DISK,
		.geo = {block, 4096, 65536, 1, 1},
		.engine = &fake_engine,
		.shared = r,
	};
	params.disk = &r->disk;
	params.mem = &r->d.mem;
	if (virtio_blk__init(&r->blk, &params, NULL))
		abort();
	r->blk.dev.transport = &rig_transport;
	r->blk.dev.transport_data = r;
	virtio_dev__set_features(&r->blk.dev, r->blk.dev.offered);
	r->q = &r->blk.dev.queues[0];
	atomic_store(&r->q->vector, 0);
	if (virtq__init(&r->q->ring, &r->d.mem, &r->d.layout))
		abort();
	return r;
}

static inline struct blk_rig *rig__new(uint16_t size, uint32_t block, bool read_only)
{
	static const struct virtio_blk_tuning none;

	return rig__new_tuned(size, block, read_only, &none);
}

static inline void rig__free(struct blk_rig *r)
{
	virtio_blk__fini(&r->blk);
	vqd__fini(&r->d);
	free(r);
}

/* From now on the ring is packed, and empty; whatever was in guest memory is gone. */
static inline void rig__pack(struct blk_rig *r)
{
	uint16_t size = r->d.layout.size;

	vqd__fini(&r->d);
	vqp__init(&r->p, size, false);
	if (virtq__init(&r->q->ring, &r->d.mem, &r->d.layout))
		abort();
}

/* A chain from descriptor @head on, or with @head as its id: see vqd__chain() and vqp__put(). */
static inline void rig__put(struct blk_rig *r, uint16_t head, const struct vq_seg *seg,
			    unsigned int nr, unsigned int direct)
{
	if (r->d.layout.packed) {
		if (!vqp__put(&r->p, head, seg, nr, direct))
			abort();
		return;
	}
	vqd__chain(&r->d, head, seg, nr, direct);
	vqd__put(&r->d, head);
}

/* What was put is for the device; a packed ring has no step of its own for that. */
static inline void rig__publish(struct blk_rig *r)
{
	if (!r->d.layout.packed)
		vqd__publish(&r->d);
}

static inline bool rig__get(struct blk_rig *r, uint32_t *id, uint32_t *len)
{
	return r->d.layout.packed ? vqp__get(&r->p, id, len) : vqd__get(&r->d, id, len);
}

/* Serve until @nr more requests are complete, or the ring is found broken. */
static inline void rig__run(struct blk_rig *r, unsigned int nr)
{
	r->stop_after = r->q->stats.completed + nr;
	atomic_store(&r->q->state, VIRTIO_QUEUE_RUNNING);
	virtio_blk_queue__run(r->q);
}

/* A plain request of @sectors in three descriptors from @head on, its buffers by head. */
#define RIG_SLOT 2048U
#define RIG_SLOT_DATA 16U
#define RIG_SLOT_STATUS (RIG_SLOT - 1)

static inline uint64_t rig__slot(uint16_t head)
{
	return VQD_DATA + head / 3 * RIG_SLOT;
}

static inline uint8_t *rig__status(struct blk_rig *r, uint16_t head)
{
	return vqd__ptr(&r->d, rig__slot(head) + RIG_SLOT_STATUS);
}

static inline void rig__request(struct blk_rig *r, uint16_t head, uint32_t type, uint64_t sector,
				uint32_t len)
{
	uint64_t gpa = rig__slot(head);
	const struct virtio_blk_outhdr hdr = {.type = type, .sector = sector};
	const struct vq_seg seg[] = {
		{gpa, sizeof(hdr), false},
		{gpa + RIG_SLOT_DATA, len, type != VIRTIO_BLK_T_OUT},
		{gpa + RIG_SLOT_STATUS, 1, true},
	};

	memcpy(vqd__ptr(&r->d, gpa), &hdr, sizeof(hdr));
	*rig__status(r, head) = 0xee;
	rig__put(r, head, seg, 3, 3);
}

#endif
