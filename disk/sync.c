/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One request from beginning to end, in a worker thread that may wait.
 *
 * On a direct file this is where requests end up whose offset or length the
 * host does not take: files are announced with sectors of 512 bytes whatever
 * the host needs.  Such a request moves in windows, aligned pieces of the file
 * that cover a part of it.  A write into a part of a block reads the block,
 * changes it and writes it back, with ->rmw held, so that two such writes
 * cannot undo each other.  A write of whole blocks takes no lock; it can only
 * meet such a block where the guest has two writes to one sector in flight at
 * once, and then neither the order nor the rest of that block is certain.
 *
 * The last block of a file can be a partial one.  Writing it as a whole would
 * make the file longer, so what is written there goes through a second,
 * buffered descriptor, and to storage at once.  The kernel keeps the two views
 * of the file coherent; whole-block writes never reach that block.
 */
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include "engine.h"

struct window {
	uint64_t start; /* in the file, aligned */
	size_t skip; /* bytes before what is ours */
	size_t len; /* bytes that are ours */
	size_t span; /* bytes in all, aligned */
};

static uint64_t round_up(uint64_t n, uint64_t align)
{
	return (n + align - 1) & ~(align - 1);
}

static struct window next_window(const struct disk *disk, const struct disk_req *req)
{
	uint64_t align = disk->geo.offset_align;
	uint64_t pos = req->offset + req->done;
	uint64_t rest = req->len - req->done;
	struct window w = {.start = pos & ~(align - 1)};

	w.skip = pos - w.start;
	w.len = rest < DISK_BOUNCE_MAX - w.skip ? rest : DISK_BOUNCE_MAX - w.skip;
	w.span = round_up(w.skip + w.len, align);
	return w;
}

static struct disk_pool_note *note_of(struct disk_req *req)
{
	return (struct disk_pool_note *)req->priv;
}

/* System calls that want to be called again when a signal comes; workers get none, still. */
static ssize_t read_at(int fd, void *buf, size_t len, uint64_t pos)
{
	ssize_t n;

	do {
		n = pread(fd, buf, len, pos);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static ssize_t write_at(int fd, const struct iovec *iov, unsigned int nr, uint64_t pos,
			bool durable)
{
	bool flush = false;
	ssize_t n;

	do {
		n = durable && !flush ? pwritev2(fd, iov, nr, pos, RWF_DSYNC)
				      : pwritev(fd, iov, nr, pos);
		/* a kernel or file system without the flag: write, then flush */
		if (n < 0 && durable && !flush &&
		    (errno == EOPNOTSUPP || errno == EINVAL || errno == ENOSYS)) {
			flush = true;
			errno = EINTR;
		}
	} while (n < 0 && errno == EINTR);
	if (n > 0 && flush && fdatasync(fd))
		return -errno;
	return n < 0 ? -errno : n;
}

/* What of @n bytes moved in the window is ours. */
static ssize_t ours(const struct window *w, ssize_t n)
{
	if (n < 0)
		return n;
	if ((size_t)n <= w->skip)
		return 0;
	n -= w->skip;
	return (size_t)n < w->len ? n : (ssize_t)w->len;
}

static ssize_t read_window(struct disk_pool *pool, struct disk_req *req)
{
	struct window w = next_window(pool->disk, req);
	ssize_t n = ours(&w, read_at(pool->disk->fd, req->bounce, w.span, w.start));

	if (n > 0)
		disk_req__copy_to_guest(req, (char *)req->bounce + w.skip, n);
	if (n > 0 && (size_t)n < w.len)
		note_of(req)->shorts++;
	return n;
}

/* A block of which a part is to stay as it is. */
static int read_block(const struct disk *disk, void *buf, uint64_t pos)
{
	ssize_t n = read_at(disk->fd, buf, disk->geo.offset_align, pos);

	if (n < 0)
		return n;
	return n == disk->geo.offset_align ? 0 : -EIO;
}

static int read_edges(const struct disk *disk, char *buf, const struct window *w)
{
	size_t align = disk->geo.offset_align;
	int rc = 0;

	if (w->skip)
		rc = read_block(disk, buf, w->start);
	/* one block with two edges was read once */
	if (!rc && w->skip + w->len < w->span && (!w->skip || w->span > align))
		rc = read_block(disk, buf + w->span - align, w->start + w->span - align);
	return rc;
}

/* With ->rmw held. */
static ssize_t write_partial(struct disk_pool *pool, struct disk_req *req, struct window *w)
{
	const struct disk *disk = pool->disk;
	char *buf = req->bounce;
	struct iovec iov = {.iov_base = buf};
	uint64_t eof_block = (disk->size + disk->tail) & ~(uint64_t)(disk->geo.offset_align - 1);
	int rc;

	if (w->start == eof_block) {
		if (pool->eof_fd < 0)
			return -EIO;
		iov.iov_len = w->len;
		disk_req__copy_from_guest(req, buf, w->len);
		return write_at(pool->eof_fd, &iov, 1, w->start + w->skip, true);
	}
	if (w->start + w->span > eof_block) { /* up to there; the next window is the rest */
		w->span = eof_block - w->start;
		if (w->skip + w->len > w->span)
			w->len = w->span - w->skip;
	}
	rc = read_edges(disk, buf, w);
	if (rc)
		return rc;
	disk_req__copy_from_guest(req, buf + w->skip, w->len);
	iov.iov_len = w->span;
	return ours(w, write_at(disk->fd, &iov, 1, w->start, req->durable));
}

static ssize_t write_window(struct disk_pool *pool, struct disk_req *req)
{
	struct window w = next_window(pool->disk, req);
	struct iovec iov = {.iov_base = req->bounce, .iov_len = w.len};
	ssize_t n;

	if (w.len == w.span) { /* only the memory is not aligned */
		disk_req__copy_from_guest(req, req->bounce, w.len);
		n = write_at(pool->disk->fd, &iov, 1, w.start, req->durable);
	} else {
		pthread_mutex_lock(&pool->rmw);
		n = write_partial(pool, req, &w);
		pthread_mutex_unlock(&pool->rmw);
	}
	if (n > 0 && (size_t)n < w.len)
		note_of(req)->shorts++;
	return n;
}

/* Straight from or to the guest's buffers. */
static ssize_t plain(struct disk_pool *pool, struct disk_req *req)
{
	uint64_t pos = req->offset + req->done, bytes;
	struct iovec *iov;
	unsigned int nr = disk_req__rest(req, &iov, &bytes);
	ssize_t n;

	if (req->op == DISK_WRITE) {
		n = write_at(pool->disk->fd, iov, nr, pos, req->durable);
	} else {
		do {
			n = preadv(pool->disk->fd, iov, nr, pos);
		} while (n < 0 && errno == EINTR);
		n = n < 0 ? -errno : n;
	}
	if (n > 0 && (uint64_t)n < bytes)
		note_of(req)->shorts++;
	return n;
}

static ssize_t step(struct disk_pool *pool, struct disk_req *req)
{
	const struct disk *disk = pool->disk;

	if (!disk->direct || (disk_req__position_ok(disk, req) && disk_req__buffers_ok(disk, req)))
		return plain(pool, req);
	if (!req->bounce) {
		/* no later window of this request is longer */
		struct window w = next_window(disk, req);
		int rc = disk_req__alloc_bounce(disk, req, w.span);

		if (rc)
			return rc;
		note_of(req)->bounced = true;
	}
	return req->op == DISK_WRITE ? write_window(pool, req) : read_window(pool, req);
}

int disk_sync__run(struct disk_pool *pool, struct disk_req *req)
{
	if (req->op == DISK_FLUSH)
		return fdatasync(pool->disk->fd) ? -errno : 0;
	if (disk_req__is_range(req))
		return disk_discard__run(pool, req);
	while (req->done < req->len) {
		ssize_t n = step(pool, req);

		if (n < 0)
			return n;
		/* a read that meets the end: the file was cut under us */
		if (n == 0)
			return -EIO;
		disk_req__advance(req, n);
	}
	return 0;
}
