/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine on io_uring.
 *
 * One system call submits all that is staged, and collects what that finished
 * at once.  One more sleeps for completions and for kicks alike: a read of
 * wakefd is then under way in the same ring.
 *
 * Where the kernel can (6.1), completions are worked off inside these two calls
 * alone and interrupt nothing; the flag IORING_SQ_TASKRUN shows to a spinning
 * thread that there are some.  Such a ring belongs to one thread: it is made
 * disabled, and enabled by disk_queue__attach().
 *
 * uring_setup.c has the making of rings, and what the host can refuse.
 */
#ifdef HAVE_LIBURING
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "uring.h"

#define SUBMIT_TRIES 8 /* the kernel takes nothing though nothing is in flight */
#define WAKE_READ 1 /* user_data of the read of wakefd; requests have their address */

struct uring_req {
	uint64_t bytes; /* of this transfer */
};

_Static_assert(sizeof(struct uring_req) <= sizeof(((struct disk_req *)0)->priv), "priv");

static struct uring_req *uring_of(struct disk_req *req)
{
	return (struct uring_req *)req->priv;
}

static void stage(struct uring_queue *u, struct disk_req *req)
{
	req->next = NULL;
	*u->staged_tail = req;
	u->staged_tail = &req->next;
}

static void uring__queue(struct disk_queue *q, struct disk_req *req)
{
	struct uring_queue *u = q->priv;

	if (u->dead)
		disk_transfer__to_pool(q, req);
	else
		stage(u, req);
}

/*
 * The registered buffer for @t, or -1.  Of one, Linux 6.1 to 6.17 look at each piece
 * that lies in one page, and O_DIRECT wants whole blocks of each: -EINVAL where a
 * block straddles two pages, though the address alone would do for the device.
 */
static int registered(const struct disk_queue *q, const struct disk_transfer *t)
{
	struct uring_queue *u = q->priv;

	if (t->nr != 1 || !u->nr_bufs ||
	    ((uintptr_t)t->iov->iov_base & (q->disk->geo.offset_align - 1)))
		return -1;
	return uring_bufs__find(u, t->iov);
}

static void prepare_rw(const struct disk_queue *q, struct io_uring_sqe *sqe,
		       const struct disk_req *req, const struct disk_transfer *t)
{
	const struct uring_queue *u = q->priv;
	const struct iovec *iov = t->iov;
	bool read = req->op == DISK_READ;
	int buf = registered(q, t);

	if (buf >= 0 && read)
		io_uring_prep_read_fixed(sqe, u->fd, iov->iov_base, iov->iov_len, t->pos, buf);
	else if (buf >= 0)
		io_uring_prep_write_fixed(sqe, u->fd, iov->iov_base, iov->iov_len, t->pos, buf);
	else if (t->nr == 1 && read)
		io_uring_prep_read(sqe, u->fd, iov->iov_base, iov->iov_len, t->pos);
	else if (t->nr == 1)
		io_uring_prep_write(sqe, u->fd, iov->iov_base, iov->iov_len, t->pos);
	else if (read)
		io_uring_prep_readv(sqe, u->fd, iov, t->nr, t->pos);
	else
		io_uring_prep_writev(sqe, u->fd, iov, t->nr, t->pos);
	if (disk_req__durable_write(req))
		sqe->rw_flags = RWF_DSYNC;
}

/* One staged request to an entry of the ring, or to where else it belongs. */
static void fill_one(struct disk_queue *q, struct disk_req *req)
{
	struct uring_queue *u = q->priv;
	struct disk_transfer t = {0};
	struct io_uring_sqe *sqe;

	if (req->op != DISK_FLUSH && disk_transfer__next(q, req, &t))
		return;
	sqe = io_uring_get_sqe(&u->ring);
	if (req->op == DISK_FLUSH)
		io_uring_prep_fsync(sqe, u->fd, IORING_FSYNC_DATASYNC);
	else
		prepare_rw(q, sqe, req, &t);
	sqe->flags |= u->sqe_flags;
	uring_of(req)->bytes = t.bytes;
	io_uring_sqe_set_data(sqe, req);
	u->filled++;
}

/* One entry stays free, for the read of wakefd. */
static void fill(struct disk_queue *q)
{
	struct uring_queue *u = q->priv;

	while (u->staged && io_uring_sq_space_left(&u->ring) > 1) {
		struct disk_req *req = u->staged;

		u->staged = req->next;
		if (!u->staged)
			u->staged_tail = &u->staged;
		fill_one(q, req);
	}
}

/* The kernel took @n entries, requests first: the read of wakefd is always the last. */
static unsigned int taken(struct disk_queue *q, unsigned int n)
{
	struct uring_queue *u = q->priv;

	if (n > u->filled)
		n = u->filled;
	u->filled -= n;
	u->in_kernel += n;
	q->stats.submitted += n;
	return n;
}

/* Take the requests back that the kernel does not want.  It looks at the tail only when called. */
static void refuse_filled(struct disk_queue *q, int rc)
{
	struct uring_queue *u = q->priv;
	struct io_uring_sq *sq = &u->ring.sq;

	while (sq->sqe_tail != *sq->khead) {
		const struct io_uring_sqe *sqe = &sq->sqes[--sq->sqe_tail & *sq->kring_mask];

		if (sqe->user_data == WAKE_READ)
			u->armed = false;
		else
			disk_queue__finish(q, (void *)(uintptr_t)sqe->user_data, rc);
	}
	sq->sqe_head = sq->sqe_tail;
	*sq->ktail = sq->sqe_tail;
	u->filled = 0;
}

/*
 * Each round takes some, fails all, or ends.  With no room in the kernel the
 * rest waits for a completion; without one to come it fails, after some tries.
 */
static void push(struct disk_queue *q)
{
	struct uring_queue *u = q->priv;
	unsigned int tries = 0;

	u->starved = false;
	u->again = false;
	for (fill(q); u->filled; fill(q)) {
		int rc = io_uring_submit_and_get_events(&u->ring);

		q->stats.submits++;
		if (rc > 0) {
			taken(q, rc);
			tries = 0;
		} else if (u->in_kernel) {
			u->starved = true;
			break;
		} else if ((rc && rc != -EAGAIN && rc != -EBUSY && rc != -EINTR) ||
			   ++tries >= SUBMIT_TRIES) {
			refuse_filled(q, rc ? rc : -EAGAIN);
		}
	}
	disk_pool__submit(q);
}

static void request_done(struct disk_queue *q, struct disk_req *req, int res)
{
	struct uring_queue *u = q->priv;
	int rc;

	u->in_kernel--;
	u->again |= u->starved;
	if (res == -EAGAIN || res == -EINTR ||
	    (disk_req__durable_write(req) && (res == -EINVAL || res == -EOPNOTSUPP))) {
		/* cannot be done without waiting, or not with RWF_DSYNC: workers can */
		disk_transfer__to_pool(q, req);
		u->again = true;
		return;
	}
	rc = disk_transfer__done(q, req, uring_of(req)->bytes, res);
	if (rc <= 0) {
		disk_queue__finish(q, req, rc);
		return;
	}
	stage(u, req);
	u->again = true;
}

/*
 * A read under way in a ring whose completions are worked off at any time could
 * take a signal from under a thread that is about to sleep elsewhere, as it does
 * while the device is not in use.  There it is a poll, and a read after it.
 */
static bool reads_wakefd(const struct uring_queue *u)
{
	return u->ring.flags & IORING_SETUP_DEFER_TASKRUN;
}

static void events(struct disk_queue *q)
{
	struct uring_queue *u = q->priv;
	const struct io_uring_cqe *cqe;
	unsigned int head, nr = 0;

	io_uring_for_each_cqe(&u->ring, head, cqe)
	{
		nr++;
		if (cqe->user_data != WAKE_READ) {
			request_done(q, (void *)(uintptr_t)cqe->user_data, cqe->res);
			continue;
		}
		u->armed = false;
		if (!reads_wakefd(u))
			u->readable = true;
		else if (cqe->res == sizeof(u->wake_value))
			u->woken += u->wake_value;
	}
	io_uring_cq_advance(&u->ring, nr);
}

/* Are there completions that only a system call brings? */
static bool hidden_events(const struct uring_queue *u)
{
	return __atomic_load_n(u->ring.sq.kflags, __ATOMIC_RELAXED) &
	       (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW);
}

static struct disk_req *uring__reap(struct disk_queue *q)
{
	struct uring_queue *u = q->priv;

	if (hidden_events(u)) {
		io_uring_get_events(&u->ring);
		q->stats.syscalls++;
	}
	events(q);
	disk_pool__collect(q);
	if (u->again)
		push(q);
	return disk_queue__pop_ready(q);
}

static bool uring__ready(const struct disk_queue *q)
{
	const struct uring_queue *u = q->priv;

	return u->again || io_uring_cq_ready(&u->ring) || hidden_events(u);
}

static void arm(struct disk_queue *q)
{
	struct uring_queue *u = q->priv;
	struct io_uring_sqe *sqe;

	if (u->armed)
		return;
	sqe = io_uring_get_sqe(&u->ring); /* fill() has left it */
	if (!sqe)
		return;
	if (reads_wakefd(u))
		io_uring_prep_read(sqe, q->wakefd, &u->wake_value, sizeof(u->wake_value), -1ULL);
	else
		io_uring_prep_poll_add(sqe, q->wakefd, POLLIN);
	sqe->user_data = WAKE_READ;
	u->armed = true;
}

static uint64_t take_woken(struct disk_queue *q)
{
	struct uring_queue *u = q->priv;
	uint64_t n = u->woken;

	u->woken = 0;
	if (u->readable)
		n += disk_queue__sleep(q, 0);
	u->readable = false;
	return n;
}

static int enter(struct uring_queue *u, int64_t timeout)
{
	struct __kernel_timespec ts = {.tv_sec = timeout / 1000000000,
				       .tv_nsec = timeout % 1000000000};
	struct io_uring_cqe *cqe;

	if (!timeout)
		return io_uring_submit_and_get_events(&u->ring);
	if (timeout < 0)
		return io_uring_submit_and_wait(&u->ring, 1);
	return io_uring_submit_and_wait_timeout(&u->ring, &cqe, 1, &ts, NULL);
}

static uint64_t uring__wait(struct disk_queue *q, int64_t timeout)
{
	struct uring_queue *u = q->priv;
	unsigned int before;
	int rc;

	if (u->dead)
		return disk_queue__sleep(q, timeout);
	if (u->woken || u->readable) {
		uint64_t n = take_woken(q);

		if (n)
			return n;
	}
	arm(q);
	do {
		before = io_uring_sq_ready(&u->ring);
		rc = enter(u, timeout);
		if (taken(q, before - io_uring_sq_ready(&u->ring)))
			q->stats.submits++;
		else
			q->stats.waits++;
	} while (rc == -EINTR);
	events(q);
	return take_woken(q);
}

/*
 * A submit or a reap can have worked off the read of wakefd just before the
 * thread left.  A read that is still under way takes nothing any more: it ended
 * with the thread that made it.  What a poll has seen is still in wakefd.
 */
static uint64_t uring__rest(struct disk_queue *q)
{
	struct uring_queue *u = q->priv;
	uint64_t n;

	events(q);
	n = u->woken;
	u->woken = 0;
	return n;
}

const struct disk_engine_ops disk_uring_ops = {
	.name = "uring",
	.probe = disk_uring__probe,
	.disk_init = disk_pool__init,
	.disk_fini = disk_pool__fini,
	.init = disk_uring__init,
	.fini = disk_uring__fini,
	.attach = disk_uring__attach,
	.queue = uring__queue,
	.submit = push,
	.reap = uring__reap,
	.ready = uring__ready,
	.wait = uring__wait,
	.rest = uring__rest,
};

#else

/* ISO C wants a declaration in every file. */
typedef int disk_uring_not_built_in;

#endif
