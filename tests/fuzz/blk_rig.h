/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_FUZZ_BLK_RIG_H
#define TESTS_FUZZ_BLK_RIG_H

/* The device of fuzz_blk.c, its disk in memory and its transport; nothing makes a system call. */
#include <errno.h>
#include <time.h>

#include "blk_model.h"
#include "virtio/blk.h"

/* Where things are, unless the input puts them elsewhere. */
#define DESC A_BASE
#define AVAIL (A_BASE + 0x100)
#define USED (A_BASE + 0x140)
#define TABLES (A_BASE + 0x200) /* an indirect table of 8 entries for each slot */
#define DATA (A_BASE + 0x800)

struct rig {
	struct guest_mem mem;
	struct disk disk;
	struct virtio_blk blk;
	struct virtio_queue *q;
	uint8_t image[DISK_BYTES], fresh[DISK_BYTES]; /* the disk, and as it is at the start */
	/* the engine */
	struct disk_req *staged[SIZE_MAX_RING], *running[SIZE_MAX_RING];
	unsigned int nr_staged, nr_running, hold;
	bool writeback;
	unsigned int fails;
	/* the driver */
	uint16_t put; /* split: entries put; packed: position */
	uint16_t next_desc; /* split */
	uint32_t cursor; /* for buffers, from DATA on */
	struct blk_model model;
};

static struct rig rig;

int __real_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);

/* Time stands still for an I/O thread that runs here. */
int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id != CLOCK_MONOTONIC)
		return __real_clock_gettime(id, ts);
	*ts = (struct timespec) {.tv_sec = 1};
	return 0;
}

/* ---- transport and engine ---- */

static bool transport_signal(struct virtio_dev *dev, struct virtio_queue *queue)
{
	(void)dev;
	(void)queue;
	return true;
}

static void stop(void)
{
	atomic_store(&rig.q->state, VIRTIO_QUEUE_STOPPING);
}

static void transport_fail(struct virtio_dev *dev)
{
	(void)dev;
	rig.fails++;
	stop();
}

static const struct virtio_transport_ops transport = {
	.signal = transport_signal,
	.needs_reset = transport_fail,
};

static int engine_init(struct disk_queue *q, struct lk_err *err)
{
	(void)q;
	(void)err;
	return 0;
}

static void engine_fini(struct disk_queue *q)
{
	(void)q;
}

static void engine_queue(struct disk_queue *q, struct disk_req *req)
{
	(void)q;
	FUZZ_CHECK(rig.nr_staged < SIZE_MAX_RING);
	rig.staged[rig.nr_staged++] = req;
}

static int transfer(struct disk_req *req)
{
	uint8_t *image = rig.image + req->offset;
	uint64_t sum = 0;

	for (unsigned int i = 0; i < req->nr_iov; i++)
		sum += req->iov[i].iov_len;
	FUZZ_CHECK(sum == req->len);
	if (req->offset == rig.model.fail_offset)
		return -EIO;
	for (unsigned int i = 0; i < req->nr_iov; i++) {
		const struct iovec *v = &req->iov[i];

		if (req->op == DISK_READ)
			memcpy(v->iov_base, image, v->iov_len);
		else
			memcpy(image, v->iov_base, v->iov_len);
		image += v->iov_len;
	}
	return 0;
}

static int execute(struct disk_req *req)
{
	if (req->op == DISK_FLUSH)
		return 0;
	FUZZ_CHECK(req->len && req->offset <= DISK_BYTES && req->len <= DISK_BYTES - req->offset);
	FUZZ_CHECK(req->op == DISK_READ || !rig.disk.read_only);
	if (req->op == DISK_WRITE || req->op == DISK_WRITE_ZEROES)
		FUZZ_CHECK(req->durable == !rig.writeback);
	if (req->op == DISK_READ || req->op == DISK_WRITE)
		return transfer(req);
	memset(rig.image + req->offset, req->op == DISK_DISCARD ? DISCARDED : 0, req->len);
	return 0;
}

static void engine_submit(struct disk_queue *q)
{
	(void)q;
	for (unsigned int i = 0; i < rig.nr_staged; i++) {
		FUZZ_CHECK(rig.nr_running < SIZE_MAX_RING);
		rig.staged[i]->res = execute(rig.staged[i]);
		rig.running[rig.nr_running++] = rig.staged[i];
	}
	rig.nr_staged = 0;
}

/* The newest first, and only some at a time where the input says so. */
static struct disk_req *engine_reap(struct disk_queue *q)
{
	(void)q;
	if (!rig.nr_running)
		return NULL;
	if (rig.hold) {
		rig.hold--;
		return NULL;
	}
	return rig.running[--rig.nr_running];
}

/* Where the thread would sleep: with nothing to do it has come to its end. */
static uint64_t engine_wait(struct disk_queue *q, int64_t timeout)
{
	(void)q;
	FUZZ_CHECK(timeout < 0 && !rig.nr_staged);
	if (!rig.nr_running) {
		FUZZ_CHECK(rig.fails || !virtq__pending(&rig.q->ring));
		stop();
	}
	return 0;
}

static const struct disk_engine_ops engine = {
	.name = "fuzz",
	.init = engine_init,
	.fini = engine_fini,
	.queue = engine_queue,
	.submit = engine_submit,
	.reap = engine_reap,
	.wait = engine_wait,
};

static void *alloc_ram(size_t size)
{
	void *p = aligned_alloc(4096, size);

	if (!p)
		abort();
	return p;
}

static void set_up(void)
{
	struct virtio_blk_params params = {
		.disk = &rig.disk,
		.mem = &rig.mem,
		.nr_queues = 1,
		.queue_size = SIZE_MAX_RING,
		.serial = "0123456789abcdefghij",
	};

	rig.mem.nr = 2;
	rig.mem.region[0] = (struct guest_region) {A_BASE, A_SIZE, alloc_ram(A_SIZE)};
	rig.mem.region[1] = (struct guest_region) {B_BASE, B_SIZE, alloc_ram(B_SIZE)};
	rig.disk = (struct disk) {
		.path = (char *)"fuzz",
		.fd = -1,
		.size = DISK_BYTES,
		.geo = {512, 512, 512, 1, 1},
		.engine = &engine,
		.limits = {.discard_max = 512 * DISCARD_MAX,
			   .discard_align = 512,
			   .zeroes_max = 512 * ZEROES_MAX,
			   .zeroes_unmap = true},
	};
	FUZZ_CHECK(!virtio_blk__init(&rig.blk, &params, NULL));
	rig.blk.dev.transport = &transport;
	rig.q = &rig.blk.dev.queues[0];
	for (unsigned int i = 0; i < DISK_BYTES; i++)
		rig.fresh[i] = i / 512 + i * 7;
	memcpy(rig.model.serial, params.serial, VIRTIO_BLK_ID_BYTES);
}

/* ---- the ring and the device, as the input says ---- */

static void start_device(struct fuzz_in *in)
{
	struct blk_model *m = &rig.model;
	unsigned int shape = fuzz__take(in, 1);
	uint64_t features = 0;

	m->read_only = (shape & 7) == 7;
	m->block = shape & 8 ? 1024 : 512;
	m->has_discard = shape & 0x10 && !m->read_only;
	m->has_zeroes = shape & 0x20 && !m->read_only;
	m->fail_offset = shape & 0x40 ? 1024 : UINT64_MAX;
	features |= m->has_discard ? 1ULL << VIRTIO_BLK_F_DISCARD : 0;
	features |= m->has_zeroes ? 1ULL << VIRTIO_BLK_F_WRITE_ZEROES : 0;
	features |= shape & 1 ? 1ULL << VIRTIO_BLK_F_FLUSH : 0;
	features |= shape & 2 ? 1ULL << VIRTIO_BLK_F_CONFIG_WCE : 0;
	rig.writeback = shape & 1;
	rig.disk.read_only = m->read_only;
	rig.disk.geo.logical_block = m->block;
	virtio_dev__set_features(&rig.blk.dev, 0);
	virtio_dev__set_features(&rig.blk.dev, features | 1ULL << VIRTIO_F_VERSION_1);
	rig.blk.tuning.batch = shape & 0x80 ? 2 : 0;
	rig.blk.tuning.no_suppress = shape & 0x80;
	memcpy(m->disk, rig.fresh, DISK_BYTES);
	memcpy(rig.image, rig.fresh, DISK_BYTES);
}

static struct image *live(void)
{
	static struct image copy;

	memcpy(copy.a, rig.mem.region[0].hva, A_SIZE);
	memcpy(copy.b, rig.mem.region[1].hva, B_SIZE);
	return &copy;
}

static uint8_t *at(uint64_t gpa)
{
	return (uint8_t *)rig.mem.region[0].hva + (gpa - A_BASE);
}

static bool start_ring(struct fuzz_in *in)
{
	unsigned int shape = fuzz__take(in, 1);
	struct blk_model *m = &rig.model;
	struct virtq_layout layout;
	uint16_t first;

	m->packed = shape & 1;
	m->indirect = shape & 2;
	m->size = m->packed ? (shape >> 3 & 15) + 1 : 2U << (shape >> 3 & 3) % 4;
	m->desc = DESC;
	m->avail = shape & 0x80 ? A_BASE + A_SIZE - 6 - 2 * m->size : AVAIL;
	if (m->packed && shape & 0x80)
		m->avail = A_BASE + A_SIZE - 4;
	m->used = USED;
	memset(rig.mem.region[0].hva, 0, A_SIZE);
	memset(rig.mem.region[1].hva, 0, B_SIZE);
	first = m->packed ? 0 : fuzz__take(in, 2);
	memcpy(at(m->avail) + 2, &first, m->packed ? 0 : 2);
	memcpy(at(m->used) + 2, &first, m->packed ? 0 : 2);
	m->next_avail = rig.put = first;
	rig.next_desc = 0;
	rig.cursor = 0;
	layout = (struct virtq_layout) {
		.size = m->size,
		.packed = m->packed,
		.indirect = m->indirect,
		.event_idx = shape & 4,
		.desc = m->desc,
		.avail = m->avail,
		.used = m->used,
	};
	return !virtq__init(&rig.q->ring, &rig.mem, &layout);
}

#endif
