/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_DISK_H
#define LKVM_DISK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include <lkvm/err.h>
#include <lkvm/thread.h>

/*
 * Disk images and the engines that do I/O on them.  Knows nothing of KVM or
 * virtio: requests come with host pointers.
 */
#define DISK_SECTOR 512U

enum disk_engine_kind {
	DISK_ENGINE_AUTO, /* the fastest that works here and keeps the promise of the cache mode */
	DISK_ENGINE_AIO, /* libaio */
	DISK_ENGINE_URING, /* io_uring; refused where liburing was not there at build time */
	DISK_ENGINE_THREADS, /* a bounded pool of workers */
	DISK_ENGINE_NULL, /* no storage: completes at once or after a delay */
};

/*
 * What a completed write and a flush promise:
 *
 *	mode          file      write completes  flush
 *	writeback     buffered  in page cache    fdatasync
 *	none          O_DIRECT  on the device    fdatasync
 *	writethrough  buffered  when durable     fdatasync (nothing left to do)
 *	unsafe        buffered  in page cache    at once, promises nothing
 */
enum disk_cache {
	DISK_CACHE_WRITEBACK,
	DISK_CACHE_NONE,
	DISK_CACHE_WRITETHROUGH,
	DISK_CACHE_UNSAFE,
};

struct disk_params {
	const char *path; /* engine null: a name for messages alone */
	bool read_only;
	bool no_lock; /* do not keep other programs off the image */
	bool force; /* a block device that is mounted or otherwise claimed, all the same */
	enum disk_cache cache;
	enum disk_engine_kind engine;
	uint64_t null_size; /* engine null: bytes, a multiple of DISK_SECTOR */
	uint64_t null_latency; /* engine null: nanoseconds from submit to completion */
	const char *fault; /* tests: see fault.h; NULL: none */
	struct thread_hook *threads; /* told of each worker; may be NULL */
};

struct disk_geometry {
	uint32_t logical_block; /* the guest's blk_size: 512 for files, a device's own */
	uint32_t physical_block; /* bytes, >= logical_block */
	uint32_t opt_io; /* optimal transfer in bytes, 0: unknown */
	uint32_t mem_align; /* what the host asks of buffers under O_DIRECT, 1 otherwise */
	uint32_t offset_align; /* of offsets and lengths under O_DIRECT, 1 otherwise */
};

/* Discard and write zeroes: what the image can take.  Bytes, multiples of logical_block. */
struct disk_limits {
	uint64_t discard_max, discard_align; /* discard_max 0: not possible */
	uint64_t zeroes_max; /* 0: not possible */
	bool zeroes_unmap; /* zeroes with unmap set may free the space */
};

struct disk {
	char *path; /* owned */
	int fd; /* owned, close-on-exec; -1: engine null */
	/* owned, see disk/lock.c: what the lock, and a claim of a device, hang on; -1: none */
	int lock_fd, claim_fd;
	bool read_only;
	enum disk_cache cache;
	bool direct; /* O_DIRECT: cache none */
	bool is_device; /* block device */
	bool unlocked; /* a lock was wanted, and the file system has none */
	uint64_t size; /* bytes announced to the guest, a multiple of logical_block */
	uint64_t tail; /* bytes of the file that the rounding leaves out of reach */
	struct disk_geometry geo;
	struct disk_limits limits;
	uint64_t null_latency; /* nanoseconds */
	enum disk_engine_kind wanted;
	const struct disk_engine_ops *engine; /* of the queues that are made from now on */
	unsigned int engine_flags; /* what its probe found out */
	void *shared; /* the engine's part common to all queues, or NULL */
	/* Which engine and why, for --debug; a disk_queue__init() can add to it. */
	char note[512];
	/*
	 * For --debug when the VM ends: what the host refused a queue of the
	 * engine's in disk_queue__attach(), which goes on without; NULL: nothing.
	 * Atomic; a string constant.
	 */
	const char *lost;
	struct disk_fault *fault; /* tests; else NULL */
	struct thread_hook *threads;
};

/*
 * Open an image.  Refused, each with its own line: no such file, a directory
 * or other kind, empty or smaller than a sector, read-only without @read_only,
 * O_DIRECT not possible here, in use (-EBUSY).  A size that is not a multiple of
 * the logical block is rounded down; the caller warns when disk->tail is not 0,
 * and when disk->unlocked is set.
 *
 * The image is locked until disk__close() or the end of the process: with
 * @read_only others may read it, else nobody else may use it.  A block device
 * that is mounted, or claimed by a volume manager or by swap, is refused without
 * @force; one that is written to is claimed likewise.
 *
 * Nothing is created or changed.  Main thread.  0 or -errno.
 */
int disk__open(struct disk *disk, const struct disk_params *params, struct lk_err *err);
/*
 * The queues are made, and requests are going to come: start the threads that the
 * engine is to have by then.  Main thread.  0 or -errno with one line.
 */
int disk__start(struct disk *disk, struct lk_err *err);
void disk__close(struct disk *disk); /* all queues are gone */

enum disk_op {
	DISK_READ,
	DISK_WRITE,
	DISK_FLUSH,
	DISK_DISCARD, /* the content becomes undefined, the space may be freed */
	DISK_WRITE_ZEROES,
};

/*
 * One request.  The caller fills in op, offset, len, iov, nr_iov and the flags
 * (op alone for a flush; no iov for discard and zeroes) and touches none of it between disk_queue__queue() and
 * disk_queue__reap().  Meanwhile the engine changes the entries of iov[]: they
 * hold nothing useful afterwards; the pointer and nr_iov stay.
 */
struct disk_req {
	enum disk_op op;
	uint64_t offset; /* bytes; offset + len <= disk->size is checked by the caller */
	uint64_t len; /* bytes, the sum of iov[] */
	struct iovec *iov;
	unsigned int nr_iov;
	bool durable; /* write, zeroes: complete when it would survive a power cut */
	bool unmap; /* zeroes: may free the space */
	int res; /* 0: all of it; or -errno */
	/* the engine's; need not be initialised */
	uint64_t done; /* bytes transferred so far (short reads and writes go on) */
	void *bounce; /* aligned copy, or NULL */
	struct disk_req *next;
	struct disk_queue *queue;
	union {
		uint64_t align_;
		char priv[72]; /* struct iocb and the like */
	};
};

struct disk_queue_stats { /* I/O thread alone */
	uint64_t submits; /* io_submit calls, refused ones too; 0 with the threads engine */
	uint64_t syscalls; /* other system calls of the engine in the I/O thread */
	uint64_t submitted; /* requests that those submits took; a continued one counts again */
	uint64_t bounced; /* requests that went through an aligned copy */
	uint64_t shorts; /* transfers that came back short and were continued */
	uint64_t waits; /* system calls in which the I/O thread slept or tried to */
	/*
	 * What completions added to wakefd: of all that disk_queue__reap() has
	 * handed out.  What else was read from wakefd came from others.
	 */
	uint64_t signals;
};

/* What a queue gets from its owner. */
struct disk_queue_params {
	unsigned int depth; /* requests in flight at most, 1 or more */
	int wakefd; /* a blocking eventfd that is not a semaphore; the caller's */
	/*
	 * Memory in which the buffers of requests lie, all of it mapped until
	 * disk_queue__fini(): an engine may register it with the kernel.  The
	 * array is the caller's and stays.  NULL: unknown.
	 */
	const struct iovec *mem;
	unsigned int nr_mem;
};

/* The engine context of one virtqueue: owned by its I/O thread after disk_queue__init(). */
struct disk_queue {
	struct disk *disk;
	const struct disk_engine_ops
		*engine; /* the disk's, or what took its place for this queue */
	/* The name of what does the I/O: beneath faults, and when a ring could not be enabled */
	const char *served_by;
	unsigned int depth;
	int wakefd;
	const struct iovec *mem;
	unsigned int nr_mem;
	unsigned int in_flight; /* queued and not reaped */
	struct disk_queue_stats stats;
	void *priv; /* the engine's */
	struct disk_fault_queue *fault; /* tests; else NULL */
	/* what the engines have in common; the I/O thread's where nothing else is said */
	struct disk_req *ready, **ready_tail; /* finished, to be reaped */
	struct disk_req *work, **work_tail; /* staged for the disk's worker pool */
	struct disk_req *remote; /* atomic: finished by workers, newest first */
	unsigned int busy; /* workers that know this queue; under the pool's lock */
};

struct disk_engine_ops {
	const char *name; /* "aio", "threads" */
	/*
	 * May be NULL.  Does the host let the engine work?  Changes nothing.  The
	 * line in @err, which may be NULL, is a reason and a remedy, without the disk.
	 */
	int (*probe)(struct disk *disk, struct lk_err *err);
	int (*disk_init)(struct disk *disk, struct lk_err *err); /* may be NULL */
	void (*disk_fini)(struct disk *disk); /* may be NULL */
	int (*start)(struct disk *disk, struct lk_err *err); /* may be NULL; see disk__start() */
	int (*init)(struct disk_queue *q, struct lk_err *err); /* @err as with probe */
	void (*fini)(struct disk_queue *q);
	void (*queue)(struct disk_queue *q, struct disk_req *req);
	void (*submit)(struct disk_queue *q);
	struct disk_req *(*reap)(struct disk_queue *q);
	/* The following may be NULL. */
	void (*attach)(struct disk_queue *q); /* I/O thread, see disk_queue__attach() */
	bool (*ready)(const struct disk_queue *q); /* besides ->ready and ->remote */
	/* Instead of waiting for wakefd; see disk_queue__wait(). */
	uint64_t (*wait)(struct disk_queue *q, int64_t timeout);
	uint64_t (*rest)(struct disk_queue *q); /* see disk_queue__rest() */
};

/*
 * Main thread.  The queue must not move in memory afterwards.  -errno with the
 * limit and the remedy (fs.aio-max-nr) in @err.
 */
int disk_queue__init(struct disk_queue *q, struct disk *disk,
		     const struct disk_queue_params *params, struct lk_err *err);
/*
 * The thread that is going to use the queue, once, before anything below.  For
 * what an engine can only do there, or is too slow for the start of the VM.
 */
void disk_queue__attach(struct disk_queue *q);
/*
 * Main thread, when the queue's thread has ended: what was read from wakefd and
 * no disk_queue__wait() came to tell.  Told once.
 */
uint64_t disk_queue__rest(struct disk_queue *q);
/*
 * Main thread; nothing is in flight.  Waits until no worker can write to wakefd
 * any more, so close that afterwards.
 */
void disk_queue__fini(struct disk_queue *q);

/*
 * The rest is for the I/O thread that owns the queue.  None of these waits for
 * I/O.  disk_queue__queue() only stages; disk_queue__submit() gives all that is
 * staged to the kernel at once (partial acceptance and EAGAIN are retried as
 * completions make room; what the kernel refuses completes with its error).
 *
 * After a submit, and after each wait, reap until NULL before waiting again:
 * what finished inside disk_queue__submit() signals nothing, and reaping is also
 * where a short transfer is continued.
 *
 * A flush covers the writes that were reaped before it was queued.
 */
void disk_queue__queue(struct disk_queue *q, struct disk_req *req);
void disk_queue__submit(struct disk_queue *q);
/* A finished request, or NULL.  Each queued request comes back exactly once. */
struct disk_req *disk_queue__reap(struct disk_queue *q);

/*
 * Sleep until wakefd is signalled by anyone, a request can be reaped, or
 * @timeout nanoseconds are over (negative: no limit; 0: only look).  The result
 * is what was read from wakefd, 0 where nothing was: less
 * disk_queue_stats.signals it is the number of signals by others.
 */
uint64_t disk_queue__wait(struct disk_queue *q, int64_t timeout);

/*
 * Would disk_queue__reap() find something?  No system call: made for spinning.
 * A request that a worker has finished may show a little late, wakefd not.
 */
bool disk_queue__ready(const struct disk_queue *q);

#endif
