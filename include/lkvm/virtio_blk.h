/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_VIRTIO_BLK_H
#define LKVM_VIRTIO_BLK_H

#include <linux/virtio_blk.h>

#include <sched.h>

#include <lkvm/disk.h>
#include <lkvm/hist.h>
#include <lkvm/virtio.h>

enum virtio_blk_mode {
	VIRTIO_BLK_OFF,
	VIRTIO_BLK_AUTO, /* learns from what it gains */
	VIRTIO_BLK_FIXED,
};

/* How the I/O threads of a disk work.  All zero: nothing held back, no spinning. */
struct virtio_blk_tuning {
	unsigned int
		batch; /* requests a submit at most; 0: the ring, or pieces where submits finish them */
	bool no_suppress; /* kicks stay on while the ring is drained */
	enum virtio_blk_mode poll; /* spin before sleeping */
	uint64_t poll_ns; /* FIXED: for how long */
	enum virtio_blk_mode coalesce; /* hold completion signals and let submissions collect */
	uint64_t coalesce_ns; /* FIXED: at most this long */
	unsigned int coalesce_nr; /* FIXED: or until that many are held; 0: no number */
	bool pinned;
	cpu_set_t cpus; /* pinned: the I/O threads run there alone */
};

/*
 * virtio-blk (virtio 1.2, 5.2).  Features by disk: SEG_MAX, BLK_SIZE,
 * TOPOLOGY, FLUSH, CONFIG_WCE (disks that can be written), DISCARD and
 * WRITE_ZEROES (what disk->limits allows), MQ (more than one queue), RO.  The
 * request array, one request a descriptor head, and the engine context are per
 * queue.
 *
 * The cache as the driver sees it (5.2.5.2, 5.2.6.2), by what it accepted:
 *
 *	neither FLUSH nor CONFIG_WCE  write-through: a write is complete when durable
 *	FLUSH alone                   write-back
 *	CONFIG_WCE without FLUSH      write-through, until it writes the field
 *	both                          write-through with DISK_CACHE_WRITETHROUGH,
 *	                              write-back otherwise, until it writes the field
 *
 * A driver that chooses write-back on a DISK_CACHE_WRITETHROUGH disk reads back
 * what it wrote, and its writes are durable all the same: that is the host's
 * promise.  With DISK_CACHE_UNSAFE nothing is durable, whatever it chooses.
 */
struct virtio_blk {
	struct virtio_dev dev;
	struct disk *disk; /* the caller's; outlives the device */
	struct virtio_blk_config config; /* little endian, constant; wce: as at reset */
	atomic_bool writeback; /* written under the transport's lock, read by the I/O threads */
	char serial[VIRTIO_BLK_ID_BYTES]; /* NUL padded, not terminated at 20 */
	struct virtio_blk_tuning tuning;
	struct iovec ram[GUEST_MEM_REGIONS]; /* guest memory, for engines that register it */
	unsigned int nr_ram;
};

struct virtio_blk_params {
	struct disk *disk;
	const struct guest_mem *mem;
	unsigned int nr_queues; /* 1 to 16 */
	uint16_t queue_size; /* power of two, 16 to 1024 */
	const char *serial; /* at most 20 bytes; NULL: none, all NUL */
	uint64_t ring_features; /* PACKED, INDIRECT_DESC, EVENT_IDX: those to offer */
	struct virtio_blk_tuning tuning;
};

enum virtio_blk_type {
	VIRTIO_BLK_READS,
	VIRTIO_BLK_WRITES,
	VIRTIO_BLK_FLUSHES,
	VIRTIO_BLK_DISCARDS,
	VIRTIO_BLK_ZEROES,
	VIRTIO_BLK_IDS,
	VIRTIO_BLK_OTHERS, /* unknown or not to be parsed */
	VIRTIO_BLK_TYPES,
};

/* What a queue did, summed over all its activations. */
struct virtio_blk_stats {
	struct virtio_queue_stats queue;
	struct disk_queue_stats disk;
	uint64_t requests[VIRTIO_BLK_TYPES]; /* by type, failed ones too */
	uint64_t bytes_read, bytes_written; /* of requests that succeeded */
	struct hist batch; /* requests a drain */
	struct hist latency; /* nanoseconds from drain to reap, of reads and writes */
};

/* Main thread.  0 or -errno with a message (engine limits). */
int virtio_blk__init(struct virtio_blk *blk, const struct virtio_blk_params *params,
		     struct lk_err *err);
void virtio_blk__fini(struct virtio_blk *blk); /* threads have ended */

/* The counters of queue @index.  Main thread, after the I/O threads have ended. */
void virtio_blk__stats(struct virtio_blk *blk, unsigned int index, struct virtio_blk_stats *stats);
/* CLOCK_MONOTONIC when queue @index took its first request, 0: none.  As virtio_blk__stats(). */
uint64_t virtio_blk__first(const struct virtio_blk *blk, unsigned int index);
/* The engine that serves queue @index, a string constant.  Main thread. */
const char *virtio_blk__engine(const struct virtio_blk *blk, unsigned int index);

#endif
