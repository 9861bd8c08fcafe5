/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Discard and write zeroes: what an image can take, and doing it in a worker.
 *
 *	                  file                      block device
 *	discard           PUNCH_HOLE                BLKDISCARD
 *	zeroes, unmap     PUNCH_HOLE                PUNCH_HOLE (zeroes, and unmaps)
 *	zeroes            ZERO_RANGE, stays         BLKZEROOUT, stays allocated
 *	                  allocated
 *
 * A block device tells in sysfs whether it discards.  Of a file nobody can tell
 * without changing something (its time stamps at the least), so both are offered
 * and it shows with the first request: a discard that cannot be done is a success
 * without effect, for its content is undefined and freeing the space is no duty
 * (virtio 1.2, 5.2.6.2: MAY); zeroes fall back to the next line of the table, and
 * in the end to zeroes that are written.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "engine.h"

#define DISCARD_MAX (1ULL << 30)
/* Less: where they are written, a worker is busy for that long, and a reset waits for it. */
#define ZEROES_MAX (64ULL << 20)

#define PUNCH (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)
#define ZERO (FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE)

/* A limit of the device's queue; of the whole disk's where it is a partition.  0: none. */
static uint64_t queue_limit(const struct disk *disk, const char *name)
{
	static const char *const place[] = {"", "../"};
	unsigned long long n = 0;
	struct stat st;
	char path[96];
	unsigned int i;

	if (fstat(disk->fd, &st))
		return 0;
	for (i = 0; i < 2; i++) {
		FILE *f;

		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%squeue/%s", major(st.st_rdev),
			 minor(st.st_rdev), place[i], name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fscanf(f, "%llu", &n) != 1)
			n = 0;
		fclose(f);
		break;
	}
	return n;
}

void disk_discard__limits(struct disk *disk)
{
	struct disk_limits *limits = &disk->limits;
	uint64_t align = disk->geo.physical_block;

	*limits = (struct disk_limits) {0};
	if (disk->read_only || disk->fd < 0)
		return;
	limits->zeroes_max = ZEROES_MAX;
	limits->zeroes_unmap = true;
	if (disk->is_device) {
		if (!queue_limit(disk, "discard_max_bytes"))
			return;
		align = queue_limit(disk, "discard_granularity");
		if (align < disk->geo.logical_block || align % disk->geo.logical_block)
			align = disk->geo.logical_block;
	}
	limits->discard_max = DISCARD_MAX;
	limits->discard_align = align;
}

/* Not an error of the storage: this one does not do such a thing at all. */
static bool is_unsupported(int rc)
{
	return rc == -EOPNOTSUPP || rc == -ENOSYS || rc == -ENODEV || rc == -ENOTTY;
}

/* Once refused, @lacks says so, and nobody asks again. */
static int try_fallocate(const struct disk *disk, const struct disk_req *req, int mode, bool *lacks)
{
	int rc;

	if (__atomic_load_n(lacks, __ATOMIC_RELAXED))
		return -EOPNOTSUPP;
	do {
		rc = fallocate(disk->fd, mode, req->offset, req->len) ? -errno : 0;
	} while (rc == -EINTR);
	if (is_unsupported(rc))
		__atomic_store_n(lacks, true, __ATOMIC_RELAXED);
	return rc;
}

static int try_ioctl(const struct disk *disk, const struct disk_req *req, unsigned long what)
{
	uint64_t range[2] = {req->offset, req->len};
	int rc;

	do {
		rc = ioctl(disk->fd, what, range) ? -errno : 0;
	} while (rc == -EINTR);
	return rc;
}

static int discard(struct disk_pool *pool, const struct disk_req *req)
{
	int rc = pool->disk->is_device ? try_ioctl(pool->disk, req, BLKDISCARD)
				       : try_fallocate(pool->disk, req, PUNCH, &pool->no_punch);

	return is_unsupported(rc) ? 0 : rc;
}

/* As writes of the guest would be, in pieces: any alignment, and the end of the file. */
static int write_zeroes(struct disk_pool *pool, const struct disk_req *req)
{
	uint64_t pos = req->offset, end = req->offset + req->len;
	struct disk_req piece = {.op = DISK_WRITE, .durable = req->durable};
	void *zeroes;
	int rc = -posix_memalign(&zeroes, DISK_ALIGN_MAX, DISK_BOUNCE_MAX);

	if (rc)
		return rc;
	memset(zeroes, 0, DISK_BOUNCE_MAX);
	for (; !rc && pos < end; pos += piece.len) {
		/* up to a multiple of the piece, so that all but the ends are aligned */
		uint64_t len = DISK_BOUNCE_MAX - pos % DISK_BOUNCE_MAX;
		struct iovec iov = {.iov_base = zeroes};

		iov.iov_len = len < end - pos ? len : end - pos;
		piece.offset = pos;
		piece.len = iov.iov_len;
		piece.done = 0;
		piece.iov = &iov;
		piece.nr_iov = 1;
		rc = disk_sync__run(pool, &piece);
		free(piece.bounce);
		piece.bounce = NULL;
	}
	free(zeroes);
	return rc;
}

/* -EOPNOTSUPP and the like: they have to be written. */
static int zeroes_by_kernel(struct disk_pool *pool, const struct disk_req *req)
{
	const struct disk *disk = pool->disk;
	int rc = -EOPNOTSUPP;

	if (req->unmap)
		rc = try_fallocate(disk, req, PUNCH, &pool->no_punch);
	if (is_unsupported(rc))
		rc = disk->is_device ? try_ioctl(disk, req, BLKZEROOUT)
				     : try_fallocate(disk, req, ZERO, &pool->no_zero_range);
	if (!rc && req->durable && fdatasync(disk->fd))
		rc = -errno;
	return rc;
}

/*
 * A block of the host that the range covers in part is not to be put back by a
 * write to its other part that has read it before; see sync.c.
 */
static int zeroes(struct disk_pool *pool, const struct disk_req *req)
{
	const struct disk *disk = pool->disk;
	bool partial = (req->offset | req->len) & (disk->geo.offset_align - 1);
	int rc;

	if (partial)
		pthread_mutex_lock(&pool->rmw);
	rc = zeroes_by_kernel(pool, req);
	if (partial)
		pthread_mutex_unlock(&pool->rmw);
	return is_unsupported(rc) ? write_zeroes(pool, req) : rc;
}

int disk_discard__run(struct disk_pool *pool, const struct disk_req *req)
{
	return req->op == DISK_DISCARD ? discard(pool, req) : zeroes(pool, req);
}
