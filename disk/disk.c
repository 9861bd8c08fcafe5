/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opening and closing an image.
 *
 *   disk.c      this                      queue.c    what is common to engines
 *   choose.c    which engine              aio.c      engine: io_submit
 *   geometry.c  sizes and alignment       threads.c  engine: all to the workers
 *   pool.c      worker threads            null.c     engine: no storage
 *   sync.c      what a worker does with a request
 *   discard.c   the same for discard and write zeroes, and their limits
 *   transfer.c  parts of requests         uring.c, uring_setup.c  engine: io_uring
 *   tryout.c    calls that may end the process    fault.c  faults on purpose, for tests
 *   lock.c      nobody else meanwhile
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fault.h"
#include "lock.h"

static const char *kind_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFCHR:
		return "a character device";
	case S_IFIFO:
		return "a FIFO";
	case S_IFSOCK:
		return "a socket";
	default:
		return "neither a file nor a block device";
	}
}

static int check_kind(const char *path, const struct stat *st, struct lk_err *err)
{
	if (S_ISREG(st->st_mode) || S_ISBLK(st->st_mode))
		return 0;
	return lk_err__set(err, S_ISDIR(st->st_mode) ? -EISDIR : -EINVAL,
			   "disk '%s' is %s; a disk is a file or a block device", path,
			   kind_name(st->st_mode));
}

/* Without opening it for real: to open a FIFO can hang, to open a device can act on it. */
static int first_look(const char *path, struct stat *st, struct lk_err *err)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	int rc;

	if (fd < 0 && errno == ENOENT)
		return lk_err__set(err, -ENOENT, "disk '%s': no such file; check the path", path);
	if (fd < 0)
		return lk_err__set(err, -errno, "disk '%s': %s", path, strerror(errno));
	rc = fstat(fd, st) ? -errno : 0;
	close(fd);
	if (rc)
		return lk_err__set(err, rc, "disk '%s': %s", path, strerror(-rc));
	return check_kind(path, st, err);
}

static bool can_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static int open_error(const struct disk_params *params, int rc, struct lk_err *err)
{
	const char *path = params->path;

	if ((rc == -EACCES || rc == -EROFS || rc == -EPERM || rc == -ETXTBSY) &&
	    !params->read_only && can_read(path))
		return lk_err__set(
			err, rc, "disk '%s' cannot be written (%s); add ',ro' to use it read-only",
			path, strerror(-rc));
	if (rc == -EACCES || rc == -EPERM)
		return lk_err__set(err, rc, "disk '%s': %s; check its owner and mode", path,
				   strerror(-rc));
	if (rc == -EINVAL && params->cache == DISK_CACHE_NONE)
		return lk_err__set(err, rc,
				   "disk '%s': the file system has no O_DIRECT; leave out 'direct'",
				   path);
	return lk_err__set(err, rc, "disk '%s': cannot open: %s", path, strerror(-rc));
}

static int open_flags(const struct disk *disk, const struct disk_params *params,
		      const struct stat *st)
{
	int flags = O_CLOEXEC | O_NOCTTY;

	flags |= params->read_only ? O_RDONLY : O_RDWR;
	flags |= disk->direct ? O_DIRECT : 0;
	/* means nothing for a file; should it be a FIFO by now, it does not hang */
	flags |= S_ISREG(st->st_mode) ? O_NONBLOCK : 0;
	return flags;
}

static int open_image(struct disk *disk, const struct disk_params *params, struct stat *st,
		      struct lk_err *err)
{
	int rc = first_look(params->path, st, err);

	if (rc)
		return rc;
	disk->fd = open(params->path, open_flags(disk, params, st));
	if (disk->fd < 0)
		return open_error(params, -errno, err);
	if (fstat(disk->fd, st))
		return lk_err__set(err, -errno, "disk '%s': %s", params->path, strerror(errno));
	disk->is_device = S_ISBLK(st->st_mode);
	rc = check_kind(params->path, st, err);
	return rc ? rc : disk_lock__take(disk, params, st, err);
}

static int open_all(struct disk *disk, const struct disk_params *params, struct lk_err *err)
{
	struct stat st;
	int rc;

	disk->path = strdup(params->path);
	if (!disk->path)
		return lk_err__set(err, -ENOMEM, "disk '%s': out of memory", params->path);
	if (params->engine == DISK_ENGINE_NULL) {
		rc = disk_null__open(disk, params, err);
	} else {
		rc = open_image(disk, params, &st, err);
		if (!rc)
			rc = disk_geometry__read(disk, &st, err);
		if (!rc)
			disk_discard__limits(disk);
	}
	if (!rc && params->fault)
		rc = disk_fault__parse(disk, params->fault, err);
	if (!rc)
		rc = disk_choose__engine(disk, params->engine, err);
	if (rc)
		return rc;
	return disk->engine->disk_init ? disk->engine->disk_init(disk, err) : 0;
}

int disk__open(struct disk *disk, const struct disk_params *params, struct lk_err *err)
{
	int rc;

	*disk = (struct disk) {
		.fd = -1,
		.lock_fd = -1,
		.claim_fd = -1,
		.read_only = params->read_only,
		.cache = params->cache,
		.direct = params->cache == DISK_CACHE_NONE,
		.threads = params->threads,
	};
	rc = open_all(disk, params, err);
	if (rc)
		disk__close(disk);
	return rc;
}

int disk__start(struct disk *disk, struct lk_err *err)
{
	/* with auto that of the last queue, to which the others may have lost theirs */
	return disk->engine->start ? disk->engine->start(disk, err) : 0;
}

void disk__close(struct disk *disk)
{
	if (disk->engine && disk->engine->disk_fini)
		disk->engine->disk_fini(disk);
	if (disk->fd >= 0)
		close(disk->fd);
	disk_lock__drop(disk);
	disk_fault__free(disk);
	free(disk->path);
	*disk = (struct disk) {.fd = -1, .lock_fd = -1, .claim_fd = -1};
}
