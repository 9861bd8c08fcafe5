// SPDX-License-Identifier: GPL-2.0-only
/*
 * The I/O thread of a virtio-blk queue.  It owns ring, requests and engine
 * context, so that nothing here locks.  One round:
 *
 *	serve	take what the ring holds (or a piece, see INLINE_CHUNK), one
 *		submit for all of it, reap what is finished, one used index
 *		update for all of that
 *	settle	one interrupt for what became visible, now or, while more is in
 *		flight, a little later
 *	rest	spin a while, ask for kicks, sleep in the one place
 *
 * When to wait, and for how long, is decided in pace.c.
 */
#include <endian.h>
#include <errno.h>
#include <sys/resource.h>
#include <time.h>

#include "blk.h"

/*
 * Where requests finish inside the submit (RAM disks, the null engine), the
 * driver gets its answers a few at a time, and refills the ring on its own CPU
 * meanwhile.
 */
#define INLINE_CHUNK 8
#define YIELDS_MAX 8
#define DEFER_NICE 10
#define NICE_MAX 19

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* ---- serve ---- */

static void count(struct virtio_blk_queue *bq, const struct virtio_blk_req *req, uint8_t status,
		  uint64_t now)
{
	enum virtio_blk_type type = virtio_blk_req__type(req);

	bq->requests[type]++;
	if (type > VIRTIO_BLK_WRITES)
		return;
	hist__add(&bq->latency, now - req->start);
	if (status != VIRTIO_BLK_S_OK)
		return;
	if (type == VIRTIO_BLK_READS)
		bq->bytes_read += req->bytes;
	else
		bq->bytes_written += req->bytes;
}

/* Every head that was popped comes here once. */
static void complete(struct virtio_queue *queue, struct virtio_blk_req *req, uint8_t status,
		     uint64_t now)
{
	struct virtio_blk_queue *bq = queue->priv;
	uint32_t len = virtio_blk_req__finish(req, status);

	virtq__push(&queue->ring, req->chain.head, len);
	queue->stats.completed++;
	if (status != VIRTIO_BLK_S_OK)
		queue->stats.errors++;
	count(bq, req, status, now);
	bq->unsignalled++;
	virtio_blk_queue__put(bq, req);
}

static void stage(struct virtio_blk_queue *bq, struct virtio_blk_req *req)
{
	disk_queue__queue(&bq->engine, &req->disk);
	bq->staged = true;
}

/* 1: taken; 0: the ring is empty; -EINVAL: it is broken. */
static int take(struct virtio_queue *queue, uint64_t *now)
{
	struct virtio_blk_queue *bq = queue->priv;
	struct virtio_blk_req *req = virtio_blk_queue__get(bq);
	int ret, status;

	if (!req) /* every head is in flight: one more cannot be right */
		return virtq__pending(&queue->ring) ? -EINVAL : 0;
	ret = virtq__pop(&queue->ring, &req->chain);
	if (ret <= 0) {
		virtio_blk_queue__put(bq, req);
		return ret;
	}
	if (!*now) {
		*now = clock_ns();
		if (!bq->first)
			bq->first = *now;
	}
	req->start = *now;
	queue->stats.popped++;
	status = virtio_blk_req__parse(req, queue->dev->priv);
	if (status == BLK_REQ_IO)
		stage(bq, req);
	else
		complete(queue, req, status, *now);
	return 1;
}

/* Take at most @limit requests.  Their number, or -EINVAL where the ring is broken. */
static int drain(struct virtio_queue *queue, unsigned int limit)
{
	struct virtio_blk_queue *bq = queue->priv;
	unsigned int nr = 0;
	uint64_t now = 0;
	int ret = 0;

	while (nr < limit) {
		ret = take(queue, &now);
		if (ret <= 0)
			break;
		nr++;
		if (bq->pace.tuning.no_suppress)
			virtq__kicks_on(&queue->ring, 1);
	}
	if (nr) {
		queue->stats.drains++;
		hist__add(&bq->batch, nr);
		pace__drained(&bq->pace, nr);
	}
	return ret < 0 ? ret : (int)nr;
}

/* All that is finished. */
static void reap(struct virtio_queue *queue)
{
	struct virtio_blk_queue *bq = queue->priv;
	struct disk_req *req = disk_queue__reap(&bq->engine);
	uint64_t now, service;
	unsigned int nr = 0;

	if (!req)
		return;
	now = clock_ns();
	service = now - ((struct virtio_blk_req *)req)->start;
	for (; req; req = disk_queue__reap(&bq->engine), nr++)
		complete(queue, (struct virtio_blk_req *)req,
			 req->res ? VIRTIO_BLK_S_IOERR : VIRTIO_BLK_S_OK, now);
	pace__completed(&bq->pace, nr, service, now);
	if (!bq->shown_at)
		bq->shown_at = now;
}

/* One submit for all that is staged, one used index update for all that is finished. */
static void advance(struct virtio_queue *queue)
{
	struct virtio_blk_queue *bq = queue->priv;

	if (bq->staged) {
		bq->staged = false;
		disk_queue__submit(&bq->engine);
	}
	reap(queue);
	virtq__show(&queue->ring);
}

/* How many requests the next drain takes at most: completions get their turn. */
static unsigned int drain_limit(const struct virtio_queue *queue)
{
	const struct virtio_blk_queue *bq = queue->priv;

	if (bq->pace.tuning.batch)
		return bq->pace.tuning.batch;
	return bq->finishes_inline ? INLINE_CHUNK : queue->ring.layout.size;
}

/* 1: there may be more in the ring; 0: there was not; -EINVAL: it is broken. */
static int serve(struct virtio_queue *queue)
{
	struct virtio_blk_queue *bq = queue->priv;
	unsigned int limit = drain_limit(queue);
	int nr = drain(queue, limit);

	advance(queue);
	if (nr > 0)
		bq->finishes_inline = !bq->engine.in_flight && !bq->pace.crowded;
	return nr < 0 ? nr : nr == (int)limit;
}

/* ---- settle ---- */

static void signal_now(struct virtio_queue *queue)
{
	struct virtio_blk_queue *bq = queue->priv;

	if (bq->unsignalled)
		virtio_queue__signal(queue);
	bq->unsignalled = 0;
	bq->shown_at = 0;
}

/* A sleep that nothing ends early: completions and requests collect meanwhile. */
static void nap(struct virtio_blk_queue *bq, uint64_t ns)
{
	struct timespec ts = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	nanosleep(&ts, NULL);
	bq->engine.stats.waits++;
}

/*
 * Hold the signal while more is in flight, a nap at a time.  A queue that has no
 * vector never signals, and holding would only delay what a polling driver
 * is waiting for.
 */
static void settle(struct virtio_queue *queue)
{
	struct virtio_blk_queue *bq = queue->priv;
	uint64_t ns;

	while (bq->unsignalled) {
		unsigned int held = bq->unsignalled;

		ns = atomic_load_explicit(&queue->vector, memory_order_relaxed) == 0xffff
			     ? 0
			     : pace__hold(&bq->pace, held, bq->engine.in_flight,
					  bq->pace.gather ? clock_ns() - bq->shown_at : 0);
		if (!ns || !virtio_queue__running(queue)) {
			signal_now(queue);
			return;
		}
		queue->stats.holds++;
		nap(bq, ns);
		advance(queue);
		pace__held(&bq->pace, bq->unsignalled > held);
		queue->stats.holds_won += bq->unsignalled > held;
	}
}

/* ---- rest ---- */

/* Something to do, as far as can be seen without a system call. */
static bool found_work(struct virtio_queue *queue)
{
	const struct virtio_blk_queue *bq = queue->priv;

	return virtq__pending(&queue->ring) || disk_queue__ready(&bq->engine) ||
	       !virtio_queue__running(queue);
}

/* Kicks are off meanwhile: what the driver offers now costs it no exit. */
static bool spin(struct virtio_queue *queue, uint64_t ns)
{
	struct virtio_blk_queue *bq = queue->priv;
	uint64_t start = clock_ns();
	unsigned int i;

	queue->stats.spins++;
	do {
		for (i = 0; i < 16; i++) {
			if (found_work(queue)) {
				queue->stats.spins_won++;
				return true;
			}
			__builtin_ia32_pause();
		}
		if (bq->pace.crowded) { /* poll=USEC on a host without a CPU to spare */
			sched_yield();
			bq->engine.stats.syscalls++;
		}
	} while (clock_ns() - start < ns);
	return false;
}

/* As many threads spin at a time as there are CPUs that no vCPU needs. */
static bool spin_in_turn(struct virtio_queue *queue, uint64_t ns)
{
	atomic_int *slots = queue->dev->spin_slots;
	bool won;

	if (!slots)
		return spin(queue, ns);
	if (atomic_fetch_sub_explicit(slots, 1, memory_order_relaxed) <= 0) {
		atomic_fetch_add_explicit(slots, 1, memory_order_relaxed);
		return false;
	}
	won = spin(queue, ns);
	atomic_fetch_add_explicit(slots, 1, memory_order_relaxed);
	return won;
}

static void sleep_until_woken(struct virtio_queue *queue)
{
	struct virtio_blk_queue *bq = queue->priv;

	queue->signals += disk_queue__wait(&bq->engine, -1);
	queue->stats.wakes++;
}

/*
 * Where a vCPU runs on every CPU there is, a kick that takes the CPU from the
 * vCPU in the middle of its submissions makes batches of one: the thread finds
 * one request, its completion interrupts the guest, which answers with one
 * more.  So while gathering, the thread is of SCHED_BATCH, which takes no CPU
 * away when it wakes, and of a lower weight, so that the tick leaves the vCPU
 * alone too, until it halts: by then the ring holds all that the guest had to
 * submit.
 */
static void set_defer(struct virtio_blk_queue *bq, bool defer)
{
	struct sched_param param = {0};

	/* the policy is free to change; 0 in setpriority is this thread alone, on Linux */
	sched_setscheduler(0, defer ? SCHED_BATCH : SCHED_OTHER, &param);
	bq->engine.stats.syscalls++;
	if (bq->can_renice) {
		setpriority(PRIO_PROCESS, 0, bq->nice + (defer ? DEFER_NICE : 0));
		bq->engine.stats.syscalls++;
	}
	bq->deferring = defer;
}

/* One step down and back: not everybody may take a lower weight back. */
static void try_renice(struct virtio_blk_queue *bq)
{
	bq->nice = getpriority(PRIO_PROCESS, 0);
	bq->can_renice = bq->nice + DEFER_NICE <= NICE_MAX &&
			 !setpriority(PRIO_PROCESS, 0, bq->nice + 1) &&
			 !setpriority(PRIO_PROCESS, 0, bq->nice);
}

/* Without the lower weight the CPU goes back as long as that brings requests. */
static void let_vcpus_run(struct virtio_queue *queue)
{
	struct virtio_blk_queue *bq = queue->priv;
	bool defer = bq->pace.crowded && bq->pace.gather;
	unsigned int i;
	int seen;

	if (defer != bq->deferring)
		set_defer(bq, defer);
	for (i = 0; defer && !bq->can_renice && i < YIELDS_MAX; i++) {
		seen = virtq__pending(&queue->ring);
		sched_yield();
		bq->engine.stats.syscalls++;
		if (virtq__pending(&queue->ring) == seen)
			break;
	}
}

static void kicks_off(struct virtio_queue *queue)
{
	const struct virtio_blk_queue *bq = queue->priv;

	if (!bq->pace.tuning.no_suppress)
		virtq__kicks_off(&queue->ring);
}

static void rest(struct virtio_queue *queue)
{
	struct virtio_blk_queue *bq = queue->priv;
	uint64_t ns = pace__spin(&bq->pace), start, now;
	bool lone = !bq->engine.in_flight;

	if (ns &&
	    (bq->pace.tuning.poll == VIRTIO_BLK_FIXED ? spin(queue, ns) : spin_in_turn(queue, ns)))
		return;
	if (!virtq__kicks_on(&queue->ring, 1)) {
		start = clock_ns();
		sleep_until_woken(queue);
		now = clock_ns();
		pace__slept(&bq->pace, now - start, lone, now);
		let_vcpus_run(queue);
	}
	kicks_off(queue);
}

/* ---- the thread ---- */

/* In the thread itself, before its first request. */
static void attach(struct virtio_queue *queue)
{
	struct virtio_blk_queue *bq = queue->priv;
	const struct virtio_blk_tuning *tuning = &bq->pace.tuning;

	if (bq->attached)
		return;
	bq->attached = true;
	if (tuning->pinned) /* the CPUs were checked; one that went offline since is no reason to stop */
		sched_setaffinity(0, sizeof(tuning->cpus), &tuning->cpus);
	if (bq->pace.crowded)
		try_renice(bq);
	disk_queue__attach(&bq->engine);
}

/*
 * Not serving any more: the guest resets the device, the VM ends, or the ring
 * is broken.  See every request in flight to its end, then wait to be stopped.
 */
static void wind_down(struct virtio_queue *queue)
{
	for (;;) {
		advance(queue);
		signal_now(queue);
		if (!virtio_queue__running(queue) && !queue->ring.in_flight)
			return;
		sleep_until_woken(queue);
	}
}

void virtio_blk_queue__run(struct virtio_queue *queue)
{
	const struct virtio_blk *blk = queue->dev->priv;
	struct virtio_blk_queue *bq = queue->priv;

	bq->finishes_inline = false;
	pace__init(&bq->pace, &blk->tuning, queue->dev->crowded);
	attach(queue);

	kicks_off(queue);
	while (virtio_queue__running(queue)) {
		int more = serve(queue);

		if (more < 0) {
			virtio_dev__fail(queue->dev);
			break;
		}
		/* answers in small pieces are one interrupt all the same, within limits */
		if (more && bq->unsignalled < queue->ring.layout.size / 2U)
			continue;
		settle(queue);
		if (!more)
			rest(queue);
	}
	wind_down(queue);
}
