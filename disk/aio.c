/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine for O_DIRECT: Linux asynchronous I/O (io_submit(2)).
 *
 * Every operation signals the queue's wakefd when it is done, so that the I/O
 * thread sleeps in one read(2) for kicks and completions alike.  Completions
 * are read from the ring that the kernel maps into the process, without a
 * system call.
 *
 * A flush is an asynchronous fdatasync (kernels since 4.18), a durable write one
 * with RWF_DSYNC (since 4.13).  Where io_submit refuses that, and for requests
 * whose offset or length O_DIRECT does not take, there is the disk's worker pool.
 */
#include <errno.h>
#include <libaio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

#define SUBMIT_TRIES 8 /* io_submit says EAGAIN though nothing is in flight */
#define EVENT_BATCH 64

/* The head of the completion ring, as fs/aio.c lays it out; struct io_event follows. */
struct aio_ring {
	uint32_t id;
	uint32_t nr; /* entries */
	uint32_t head; /* ours */
	uint32_t tail; /* the kernel's */
	uint32_t magic;
	uint32_t compat_features;
	uint32_t incompat_features;
	uint32_t header_length;
	struct io_event events[];
};

#define AIO_RING_MAGIC 0xa10a10a1U

struct aio_queue {
	io_context_t ctx;
	struct aio_ring *ring; /* NULL: not as expected, io_getevents() instead */
	unsigned int in_kernel;
	bool starved; /* staged requests wait for room in the kernel */
	bool again; /* staged requests are to go out from within reap */
	bool no_dsync; /* this kernel refused a durable write */
	unsigned int nr_staged;
	struct iocb *staged[]; /* depth entries */
};

struct aio_req {
	struct iocb cb;
	uint64_t bytes; /* of this transfer */
};

_Static_assert(sizeof(struct aio_req) <= sizeof(((struct disk_req *)0)->priv), "priv");

static struct aio_req *aio_of(struct disk_req *req)
{
	return (struct aio_req *)req->priv;
}

static unsigned long read_limit(const char *path)
{
	unsigned long n = 0;
	FILE *f = fopen(path, "re");

	if (!f)
		return 0;
	if (fscanf(f, "%lu", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

static int setup_error(unsigned int depth, int rc, struct lk_err *err)
{
	unsigned long max, used;

	if (rc != -EAGAIN)
		return lk_err__set(
			err, rc,
			"no asynchronous I/O here (io_setup: %s): not in this kernel, or "
			"refused by a seccomp filter",
			strerror(-rc));
	max = read_limit("/proc/sys/fs/aio-max-nr");
	used = read_limit("/proc/sys/fs/aio-nr");
	return lk_err__set(err, rc,
			   "a queue wants %u asynchronous requests, fs.aio-max-nr is %lu and %lu "
			   "are taken; raise it (sysctl fs.aio-max-nr=%lu) or ask for fewer or "
			   "shorter queues",
			   depth, max, used, used + depth + max);
}

/*
 * With no room asked for, a kernel that has asynchronous I/O says EINVAL.  A real
 * context would have to be destroyed again, which waits for an RCU grace period:
 * tens of milliseconds at the start of every VM.  Used up limits show at init.
 */
static int aio__probe(struct disk *disk, struct lk_err *err)
{
	io_context_t ctx = NULL;
	int rc = io_setup(0, &ctx);

	(void)disk;
	return rc == -EINVAL ? 0 : setup_error(1, rc, err);
}

static int aio__init(struct disk_queue *q, struct lk_err *err)
{
	struct aio_queue *a = calloc(1, sizeof(*a) + q->depth * sizeof(a->staged[0]));
	struct aio_ring *ring;
	int rc;

	if (!a)
		return lk_err__set(err, -ENOMEM, "out of memory");
	rc = io_setup(q->depth, &a->ctx);
	if (rc) {
		free(a);
		return setup_error(q->depth, rc, err);
	}
	ring = (struct aio_ring *)a->ctx;
	if (ring->magic == AIO_RING_MAGIC && !ring->incompat_features &&
	    ring->header_length == sizeof(*ring))
		a->ring = ring;
	q->priv = a;
	return 0;
}

static void aio__fini(struct disk_queue *q)
{
	struct aio_queue *a = q->priv;

	disk_pool__leave(q);
	io_destroy(a->ctx);
	free(a);
	q->priv = NULL;
}

static void prepare(struct iocb *cb, const struct disk *disk, const struct disk_req *req,
		    const struct disk_transfer *t)
{
	bool read = req->op == DISK_READ;

	if (t->nr == 1 && read)
		io_prep_pread(cb, disk->fd, t->iov->iov_base, t->iov->iov_len, t->pos);
	else if (t->nr == 1)
		io_prep_pwrite(cb, disk->fd, t->iov->iov_base, t->iov->iov_len, t->pos);
	else if (read)
		io_prep_preadv(cb, disk->fd, t->iov, t->nr, t->pos);
	else
		io_prep_pwritev(cb, disk->fd, t->iov, t->nr, t->pos);
	if (disk_req__durable_write(req))
		cb->aio_rw_flags = RWF_DSYNC;
}

/* Stage a request, or what is left of it. */
static void aio__queue(struct disk_queue *q, struct disk_req *req)
{
	struct aio_queue *a = q->priv;
	struct aio_req *ar = aio_of(req);
	struct disk_transfer t;

	if (req->op == DISK_FLUSH) {
		io_prep_fdsync(&ar->cb, q->disk->fd);
	} else if (a->no_dsync && disk_req__durable_write(req)) {
		disk_transfer__to_pool(q, req);
		return;
	} else {
		if (disk_transfer__next(q, req, &t))
			return;
		prepare(&ar->cb, q->disk, req, &t);
		ar->bytes = t.bytes;
	}
	ar->cb.data = req;
	io_set_eventfd(&ar->cb, q->wakefd);
	a->staged[a->nr_staged++] = &ar->cb;
}

/* The first @n staged ones are gone. */
static void unstage(struct aio_queue *a, unsigned int n)
{
	a->nr_staged -= n;
	memmove(a->staged, a->staged + n, a->nr_staged * sizeof(a->staged[0]));
}

/* io_submit reports an error only for the first operation: that one alone fails. */
static void refuse_first(struct disk_queue *q, int rc)
{
	struct aio_queue *a = q->priv;
	struct disk_req *req = a->staged[0]->data;

	unstage(a, 1);
	if (req->op == DISK_FLUSH && rc == -EINVAL) {
		disk_transfer__to_pool(q, req); /* no asynchronous flush here */
	} else if (disk_req__durable_write(req) && (rc == -EINVAL || rc == -EOPNOTSUPP)) {
		a->no_dsync = true;
		disk_transfer__to_pool(q, req);
	} else {
		disk_queue__finish(q, req, rc);
	}
}

/*
 * Each round takes some, fails one, or ends.  With no room in the kernel the
 * rest waits for a completion; without one to come it fails, after some tries.
 */
static void push(struct disk_queue *q)
{
	struct aio_queue *a = q->priv;
	unsigned int tries = 0;

	a->starved = false;
	a->again = false;
	while (a->nr_staged) {
		int rc = io_submit(a->ctx, a->nr_staged, a->staged);

		q->stats.submits++;
		if (rc > 0) {
			q->stats.submitted += rc;
			a->in_kernel += rc;
			unstage(a, rc);
			tries = 0;
		} else if (rc < 0 && rc != -EAGAIN && rc != -EINTR) {
			refuse_first(q, rc);
		} else if (a->in_kernel) {
			a->starved = true;
			break;
		} else if (++tries >= SUBMIT_TRIES) {
			while (a->nr_staged)
				refuse_first(q, -EAGAIN);
		}
	}
	disk_pool__submit(q);
}

static void event(struct disk_queue *q, const struct io_event *ev)
{
	struct aio_queue *a = q->priv;
	struct disk_req *req = ev->data;
	int rc = disk_transfer__done(q, req, aio_of(req)->bytes, (int64_t)ev->res);

	q->stats.signals++;
	a->in_kernel--;
	a->again |= a->starved;
	if (rc <= 0) {
		disk_queue__finish(q, req, rc);
		return;
	}
	aio__queue(q, req);
	a->again = true;
}

/* The kernel writes an event, then the tail; it reads the head to know what is free. */
static void events_from_ring(struct disk_queue *q, struct aio_ring *ring)
{
	uint32_t head = ring->head;
	uint32_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);

	if (head == tail)
		return;
	while (head != tail) {
		event(q, &ring->events[head]);
		head = head + 1 == ring->nr ? 0 : head + 1;
	}
	__atomic_store_n(&ring->head, head, __ATOMIC_RELEASE);
}

static void events_from_call(struct disk_queue *q, struct aio_queue *a)
{
	struct io_event ev[EVENT_BATCH];
	struct timespec zero = {0};
	int i, n;

	do {
		if (!a->in_kernel)
			return;
		n = io_getevents(a->ctx, 0, EVENT_BATCH, ev, &zero);
		q->stats.syscalls++;
		for (i = 0; i < n; i++)
			event(q, &ev[i]);
	} while (n == EVENT_BATCH);
}

static bool aio__ready(const struct disk_queue *q)
{
	const struct aio_queue *a = q->priv;

	return a->ring && a->ring->head != __atomic_load_n(&a->ring->tail, __ATOMIC_RELAXED);
}

static struct disk_req *aio__reap(struct disk_queue *q)
{
	struct aio_queue *a = q->priv;

	if (a->ring)
		events_from_ring(q, a->ring);
	else
		events_from_call(q, a);
	disk_pool__collect(q);
	if (a->again)
		push(q);
	return disk_queue__pop_ready(q);
}

const struct disk_engine_ops disk_aio_ops = {
	.name = "aio",
	.probe = aio__probe,
	.disk_init = disk_pool__init,
	.disk_fini = disk_pool__fini,
	.init = aio__init,
	.fini = aio__fini,
	.queue = aio__queue,
	.submit = push,
	.reap = aio__reap,
	.ready = aio__ready,
};
