/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_DISK_ENGINE_H
#define LKVM_DISK_ENGINE_H

#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <sys/stat.h>

#include <lkvm/disk.h>

/* What the files of disk/ share among themselves; nobody else includes this. */

extern const struct disk_engine_ops disk_aio_ops;
extern const struct disk_engine_ops disk_threads_ops;
extern const struct disk_engine_ops disk_null_ops;
#ifdef HAVE_LIBURING
extern const struct disk_engine_ops disk_uring_ops;
#endif

/* null.c: what disk__open() does where there is nothing to open; ->path is set.  0 or -EINVAL. */
int disk_null__open(struct disk *disk, const struct disk_params *params, struct lk_err *err);

/* choose.c: fill in ->engine and ->note; the disk is open and its geometry known.  0 or -errno. */
int disk_choose__engine(struct disk *disk, enum disk_engine_kind kind, struct lk_err *err);
/* Initialise the engine's part of a queue, with auto of the next engine where a limit is met. */
int disk_choose__queue(struct disk_queue *q, struct lk_err *err);

/*
 * tryout.c, main thread: does a seccomp filter hold for this process, and does a
 * child live through @calls?  0, -EPERM where it does not, else -errno.
 */
bool disk_tryout__filtered(void);
int disk_tryout__survives(void (*calls)(void));

/* geometry.c: size, tail and geo of a freshly opened disk; fd, direct, is_device are set. */
int disk_geometry__read(struct disk *disk, const struct stat *st, struct lk_err *err);

/* queue.c: all of it for the I/O thread, disk_req__*() also for the worker that has the request */

/* The request is over: the next reap hands it out. */
void disk_queue__finish(struct disk_queue *q, struct disk_req *req, int res);
struct disk_req *disk_queue__pop_ready(struct disk_queue *q);
/* disk_queue__wait() in wakefd itself: for engines that have nothing better. */
uint64_t disk_queue__sleep(struct disk_queue *q, int64_t timeout);

/* A guest decides how long a request is, so an aligned copy is made in pieces of this size. */
#define DISK_BOUNCE_MAX (256U << 10)
#define DISK_ALIGN_MAX (64U << 10)

/* Are offset and length of what is left of the request as the host wants them? */
bool disk_req__position_ok(const struct disk *disk, const struct disk_req *req);
/* Are all buffers of what is left of it? */
bool disk_req__buffers_ok(const struct disk *disk, const struct disk_req *req);
/* What is left: at most IOV_MAX buffers at *@iov, their sum in *@bytes; the number of them. */
unsigned int disk_req__rest(const struct disk_req *req, struct iovec **iov, uint64_t *bytes);
/* @n bytes are through. */
void disk_req__advance(struct disk_req *req, uint64_t n);
/* Between @buf and the first @n bytes of what is left. */
void disk_req__copy_from_guest(const struct disk_req *req, void *buf, size_t n);
void disk_req__copy_to_guest(const struct disk_req *req, const void *buf, size_t n);
/* Make req->bounce, aligned for the disk.  0 or -ENOMEM. */
int disk_req__alloc_bounce(const struct disk *disk, struct disk_req *req, size_t size);

/* transfer.c: for the I/O thread */

/* One operation of the kernel. */
struct disk_transfer {
	uint64_t pos, bytes;
	struct iovec *iov; /* the request's own, or &copy */
	unsigned int nr; /* with 1 the kernel needs no array that stays */
	struct iovec copy;
};

/*
 * What goes next of a request that is no flush.  0: *@t says what; 1: nothing,
 * the request went to the workers (staged) or is finished with an error.
 */
int disk_transfer__next(struct disk_queue *q, struct disk_req *req, struct disk_transfer *t);
/* @res of an operation on @bytes: 0 or -errno finish the request, 1: there is more to transfer. */
int disk_transfer__done(struct disk_queue *q, struct disk_req *req, uint64_t bytes, int64_t res);
/* Whatever is left of the request is for the workers. */
void disk_transfer__to_pool(struct disk_queue *q, struct disk_req *req);

static inline bool disk_req__durable_write(const struct disk_req *req)
{
	return req->op == DISK_WRITE && req->durable;
}

/*
 * pool.c: the worker threads of one disk.  They run whole requests
 * synchronously, and are the place for everything that would make an I/O
 * thread wait.
 */
#define DISK_POOL_MAX 16

struct disk_pool {
	const struct disk *disk;
	int eof_fd; /* see sync.c; -1: not needed */
	pthread_mutex_t rmw; /* sync.c; only workers take it */
	bool no_punch, no_zero_range; /* atomic: discard.c has been refused that */

	pthread_mutex_t lock; /* for all below; never held across a system call for I/O */
	sem_t more; /* work came, or stop: one post for each worker that is to come */
	pthread_cond_t left; /* a worker is done with a queue */
	struct disk_req *head, **tail;
	unsigned int idle; /* workers that wait for work and have not been woken */
	unsigned int coming; /* woken, not back under the lock yet */
	unsigned int nr;
	bool starting; /* a worker is being made */
	bool stop;
	pthread_t worker[DISK_POOL_MAX];
};

/* What a worker reports with a request; in req->priv. */
struct disk_pool_note {
	uint64_t shorts;
	bool bounced;
};

/* Main thread.  No worker runs yet. */
int disk_pool__init(struct disk *disk, struct lk_err *err);
void disk_pool__fini(struct disk *disk);
/* Main thread: make the first worker now rather than with the first request.  0 or -errno. */
int disk_pool__prestart(struct disk_pool *pool);

/* I/O thread: stage one request; hand all staged ones over; take finished ones back. */
void disk_pool__stage(struct disk_queue *q, struct disk_req *req);
void disk_pool__submit(struct disk_queue *q);
void disk_pool__collect(struct disk_queue *q);
/* Main thread: until no worker knows the queue any more. */
void disk_pool__leave(struct disk_queue *q);

/* sync.c: carry out the rest of a request, in a worker.  0 or -errno. */
int disk_sync__run(struct disk_pool *pool, struct disk_req *req);

/*
 * discard.c: discard and write zeroes.  Fill in ->limits of an open disk whose
 * geometry is known; carry out such a request, in a worker: 0 or -errno.  Engines
 * give them to the pool.
 */
void disk_discard__limits(struct disk *disk);
int disk_discard__run(struct disk_pool *pool, const struct disk_req *req);
static inline bool disk_req__is_range(const struct disk_req *req)
{
	return req->op == DISK_DISCARD || req->op == DISK_WRITE_ZEROES;
}

#endif
