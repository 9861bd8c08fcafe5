/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A bounded pool of worker threads, one pool a disk.
 *
 * The I/O thread hands over a whole batch under one lock and wakes at most one
 * worker; each worker that takes a request and sees another waiting wakes or
 * makes the next.  So the I/O thread pays for one wake, however many requests
 * there are, and there are never more workers than requests that waited.
 *
 * Idle workers sleep on a semaphore, each wake one post, and not on a condition
 * variable: glibc before 2.41 can lose a pthread_cond_signal() when several
 * threads wait and one of them is held up (glibc bug 25847).  Here that would be
 * a request that nobody takes, and a guest that waits for ever.
 *
 * Finished requests go onto a list of their queue that workers push to and the
 * I/O thread takes as a whole, both by one atomic operation.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine.h"

/* Workers do not recurse and call nothing deep. */

_Static_assert(sizeof(struct disk_pool_note) <= sizeof(((struct disk_req *)0)->priv), "priv");

/* Lock held.  The queue stays known to us until put_back(). */
static struct disk_req *take(struct disk_pool *pool)
{
	struct disk_req *req = pool->head;

	if (!req)
		return NULL;
	pool->head = req->next;
	if (!pool->head)
		pool->tail = &pool->head;
	req->queue->busy++;
	return req;
}

/* Lock held. */
static void put_back(struct disk_pool *pool, struct disk_queue *q)
{
	if (!--q->busy)
		pthread_cond_broadcast(&pool->left);
}

/* Not under the lock.  The request is the I/O thread's as soon as it is on the list. */
static void complete(struct disk_req *req, int res)
{
	struct disk_queue *q = req->queue;
	struct disk_req *old = __atomic_load_n(&q->remote, __ATOMIC_RELAXED);

	req->res = res;
	do {
		req->next = old;
	} while (!__atomic_compare_exchange_n(&q->remote, &old, req, true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
	if (!old)
		eventfd_write(q->wakefd, 1);
}

static void *worker(void *arg);

/* Lock held, but dropped while the thread is made; ->starting keeps others out. */
static int start_worker(struct disk_pool *pool)
{
	pthread_t thread;
	int rc;

	pool->starting = true;
	pthread_mutex_unlock(&pool->lock);
	rc = thread__create(&thread, worker, pool, 0);
	pthread_mutex_lock(&pool->lock);
	pool->starting = false;
	if (!rc)
		pool->worker[pool->nr++] = thread;
	return rc;
}

/* Lock held; somebody is idle. */
static void wake_one(struct disk_pool *pool)
{
	pool->idle--;
	pool->coming++;
	sem_post(&pool->more);
}

/* Lock held, but dropped meanwhile: until wake_one(), which may come before the sleep. */
static void sleep_idle(struct disk_pool *pool)
{
	pool->idle++;
	pthread_mutex_unlock(&pool->lock);
	while (sem_wait(&pool->more)) /* a debugger's signal: EINTR */
		;
	pthread_mutex_lock(&pool->lock);
	pool->coming--;
}

/*
 * Lock held: requests wait; see to one more worker.  Without a single worker
 * they fail rather than wait for ever; with fewer than wanted they wait for
 * those.  The number of system calls, about.
 */
static unsigned int want_worker(struct disk_pool *pool)
{
	struct disk_req *req;
	int rc;

	if (pool->idle) {
		wake_one(pool);
		return 1;
	}
	/* one that is on its way takes a request and then sees to the next */
	if (pool->coming || pool->starting || pool->nr == DISK_POOL_MAX)
		return 0;
	rc = start_worker(pool);
	while (rc && !pool->nr && (req = take(pool))) {
		struct disk_queue *q = req->queue;

		pthread_mutex_unlock(&pool->lock);
		complete(req, rc);
		pthread_mutex_lock(&pool->lock);
		put_back(pool, q);
	}
	return 4; /* stack, two signal masks, clone */
}

static void *worker(void *arg)
{
	struct disk_pool *pool = arg;
	struct disk_req *req;

	pthread_setname_np(pthread_self(), "disk-worker");
	thread__started(pool->disk->threads, THREAD_WORKER);
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		struct disk_queue *q;

		while (!pool->head && !pool->stop)
			sleep_idle(pool);
		req = take(pool);
		if (!req)
			break;
		if (pool->head)
			want_worker(pool);
		pthread_mutex_unlock(&pool->lock);
		q = req->queue;
		complete(req, disk_sync__run(pool, req));
		pthread_mutex_lock(&pool->lock);
		put_back(pool, q);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/*
 * The descriptor for the end of a direct file that is not a multiple of the
 * host's alignment (sync.c).  Opened now: later a sandbox may forbid it.
 */
static int open_eof_fd(struct disk_pool *pool, struct lk_err *err)
{
	const struct disk *disk = pool->disk;
	struct stat ours, other;

	pool->eof_fd = -1;
	if (!disk->direct || disk->is_device || disk->read_only ||
	    disk->geo.offset_align <= DISK_SECTOR)
		return 0;
	pool->eof_fd = open(disk->path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (pool->eof_fd < 0)
		return lk_err__set(err, -errno, "disk '%s': cannot open it once more: %s",
				   disk->path, strerror(errno));
	if (fstat(disk->fd, &ours) || fstat(pool->eof_fd, &other) || ours.st_dev != other.st_dev ||
	    ours.st_ino != other.st_ino) {
		close(pool->eof_fd);
		return lk_err__set(err, -EAGAIN, "disk '%s': the file was replaced meanwhile",
				   disk->path);
	}
	return 0;
}

int disk_pool__init(struct disk *disk, struct lk_err *err)
{
	struct disk_pool *pool = calloc(1, sizeof(*pool));
	int rc;

	if (!pool)
		return lk_err__set(err, -ENOMEM, "disk '%s': out of memory", disk->path);
	pool->disk = disk;
	pool->tail = &pool->head;
	rc = open_eof_fd(pool, err);
	if (rc) {
		free(pool);
		return rc;
	}
	pthread_mutex_init(&pool->rmw, NULL);
	pthread_mutex_init(&pool->lock, NULL);
	sem_init(&pool->more, 0, 0);
	pthread_cond_init(&pool->left, NULL);
	disk->shared = pool;
	return 0;
}

void disk_pool__fini(struct disk *disk)
{
	struct disk_pool *pool = disk->shared;
	unsigned int i;

	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	while (pool->idle)
		wake_one(pool);
	pthread_mutex_unlock(&pool->lock);
	/* all queues are gone, so nobody makes workers any more */
	for (i = 0; i < pool->nr; i++)
		pthread_join(pool->worker[i], NULL);
	pthread_cond_destroy(&pool->left);
	sem_destroy(&pool->more);
	pthread_mutex_destroy(&pool->lock);
	pthread_mutex_destroy(&pool->rmw);
	if (pool->eof_fd >= 0)
		close(pool->eof_fd);
	free(pool);
	disk->shared = NULL;
}

int disk_pool__prestart(struct disk_pool *pool)
{
	int rc;

	pthread_mutex_lock(&pool->lock);
	rc = pool->nr ? 0 : start_worker(pool);
	pthread_mutex_unlock(&pool->lock);
	return rc;
}

void disk_pool__stage(struct disk_queue *q, struct disk_req *req)
{
	*(struct disk_pool_note *)req->priv = (struct disk_pool_note) {0};
	req->next = NULL;
	*q->work_tail = req;
	q->work_tail = &req->next;
}

void disk_pool__submit(struct disk_queue *q)
{
	struct disk_pool *pool = q->disk->shared;

	if (!q->work)
		return;
	pthread_mutex_lock(&pool->lock);
	*pool->tail = q->work;
	pool->tail = q->work_tail;
	q->stats.syscalls += want_worker(pool);
	pthread_mutex_unlock(&pool->lock);
	q->work = NULL;
	q->work_tail = &q->work;
}

void disk_pool__collect(struct disk_queue *q)
{
	struct disk_req *list, *next, *oldest = NULL;

	if (!__atomic_load_n(&q->remote, __ATOMIC_RELAXED))
		return;
	list = __atomic_exchange_n(&q->remote, NULL, __ATOMIC_ACQUIRE);
	q->stats.signals++; /* by the worker that found the list empty, in complete() */
	for (; list; list = next) {
		next = list->next;
		list->next = oldest;
		oldest = list;
	}
	for (; oldest; oldest = next) {
		const struct disk_pool_note *note = (const void *)oldest->priv;

		next = oldest->next;
		q->stats.shorts += note->shorts;
		q->stats.bounced += note->bounced;
		disk_queue__finish(q, oldest, oldest->res);
	}
}

void disk_pool__leave(struct disk_queue *q)
{
	struct disk_pool *pool = q->disk->shared;

	pthread_mutex_lock(&pool->lock);
	while (q->busy)
		pthread_cond_wait(&pool->left, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}
