/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_DISK_H
#define LKVM_DISK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include <lkvm/err.h>

/*
 * Disk images and the engines that do I/O on them.  Knows nothing of KVM or
 * virtio: requests come with host pointers.
 */
#define DISK_SECTOR 512U

struct disk_params {
	const char *path;
	bool read_only;
	bool direct; /* O_DIRECT */
};

struct disk_geometry {
	uint32_t logical_block; /* the guest's blk_size: 512 for files, a device's own */
	uint32_t physical_block; /* bytes, >= logical_block */
	uint32_t opt_io; /* optimal transfer in bytes, 0: unknown */
	uint32_t mem_align; /* what the host asks of buffers under O_DIRECT, 1 otherwise */
	uint32_t offset_align; /* of offsets and lengths under O_DIRECT, 1 otherwise */
};

struct disk {
	char *path; /* owned */
	int fd; /* owned, close-on-exec */
	bool read_only;
	bool direct;
	bool is_device; /* block device */
	uint64_t size; /* bytes announced to the guest, a multiple of logical_block */
	uint64_t tail; /* bytes of the file that the rounding leaves out of reach */
	struct disk_geometry geo;
	const struct disk_engine_ops *engine; /* chosen at open */
	void *shared; /* the engine's part common to all queues, or NULL */
	char note[160]; /* which engine and why, for --debug */
};

/*
 * Open an image.  Refused, each with its own line: no such file, a directory
 * or other kind, empty or smaller than a sector, read-only without @read_only,
 * O_DIRECT not possible here.  A size that is not a multiple of the logical
 * block is rounded down; the caller warns when disk->tail is not 0.
 * Nothing is created or changed.  Main thread.  0 or -errno.
 */
int disk__open(struct disk *disk, const struct disk_params *params, struct lk_err *err);
void disk__close(struct disk *disk); /* all queues are gone */

enum disk_op {
	DISK_READ,
	DISK_WRITE,
	DISK_FLUSH,
};

/*
 * One request.  The caller fills in op, offset, len, iov and nr_iov (op alone
 * for a flush) and touches none of it between disk_queue__queue() and
 * disk_queue__reap().  Meanwhile the engine changes the entries of iov[]: they
 * hold nothing useful afterwards; the pointer and nr_iov stay.
 */
struct disk_req {
	enum disk_op op;
	uint64_t offset; /* bytes; offset + len <= disk->size is checked by the caller */
	uint64_t len; /* bytes, the sum of iov[] */
	struct iovec *iov;
	unsigned int nr_iov;
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
};

/* The engine context of one virtqueue: owned by its I/O thread after disk_queue__init(). */
struct disk_queue {
	struct disk *disk;
	unsigned int depth; /* requests in flight at most */
	int wakefd; /* signalled when a completion can be reaped; the caller's */
	unsigned int in_flight; /* queued and not reaped */
	struct disk_queue_stats stats;
	void *priv; /* the engine's */
	/* what the engines have in common; the I/O thread's where nothing else is said */
	struct disk_req *ready, **ready_tail; /* finished, to be reaped */
	struct disk_req *work, **work_tail; /* staged for the disk's worker pool */
	struct disk_req *remote; /* atomic: finished by workers, newest first */
	unsigned int busy; /* workers that know this queue; under the pool's lock */
};

struct disk_engine_ops {
	const char *name; /* "aio", "threads" */
	int (*disk_init)(struct disk *disk, struct lk_err *err); /* may be NULL */
	void (*disk_fini)(struct disk *disk); /* may be NULL */
	int (*init)(struct disk_queue *q, struct lk_err *err);
	void (*fini)(struct disk_queue *q);
	void (*queue)(struct disk_queue *q, struct disk_req *req);
	void (*submit)(struct disk_queue *q);
	struct disk_req *(*reap)(struct disk_queue *q);
};

/*
 * Main thread.  @depth: 1 or more.  @wakefd: a blocking eventfd that is not a
 * semaphore.  The queue must not move in memory afterwards.  -errno with the
 * limit and the remedy (fs.aio-max-nr) in @err.
 */
int disk_queue__init(struct disk_queue *q, struct disk *disk, unsigned int depth, int wakefd,
		     struct lk_err *err);
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
 * Each change that leaves something to reap is followed by a write to wakefd,
 * also when it happened inside disk_queue__submit().  So: read wakefd, then
 * reap until NULL, then sleep.  (Reaping is also where a short transfer is
 * continued: a thread that stops short of NULL must come back by itself.)
 *
 * A flush covers the writes that were reaped before it was queued.
 */
void disk_queue__queue(struct disk_queue *q, struct disk_req *req);
void disk_queue__submit(struct disk_queue *q);
/* A finished request, or NULL.  Each queued request comes back exactly once. */
struct disk_req *disk_queue__reap(struct disk_queue *q);

#endif
