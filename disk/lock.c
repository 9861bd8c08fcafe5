// SPDX-License-Identifier: GPL-2.0-only
/*
 * The lock on an image: open file description locks (fcntl(2)), which threads
 * share and another descriptor of this process does not.
 *
 * A writer locks every byte, exclusively.  A reader could lock every byte shared,
 * but QEMU, which says with a shared lock on one byte each what it does (byte 100
 * + N) and what it does not let others do (byte 200 + N), would be kept from
 * reading beside it.  So a reader speaks that language: "reads" (N 0), "no writers"
 * (N 1), and asks whether anybody writes.  A writer of lkvm meets any of these.
 *
 * The lock has a descriptor of its own, and so has the claim of a device.  The
 * kernel holds on to a file that is registered with an io_uring until it takes
 * the ring apart, some time after the process is gone; a VM that is started again
 * at once must find its image free all the same.  What was in flight is over by
 * then: a process that ends waits for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "lock.h"

#define READS 100
#define WRITES 101
#define NO_WRITERS 201

#define TRIES 20
#define PAUSE_NS 10000000

static struct flock one_byte(short type, off_t byte)
{
	return (struct flock) {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
}

static int lock(int fd, struct flock fl)
{
	return fcntl(fd, F_OFD_SETLK, &fl) ? -errno : 0;
}

/* Somebody else holds byte @byte in whatever way. */
static bool held(int fd, off_t byte)
{
	struct flock fl = one_byte(F_WRLCK, byte);

	return !fcntl(fd, F_OFD_GETLK, &fl) && fl.l_type != F_UNLCK;
}

static int lock_to_write(int fd)
{
	return lock(fd, (struct flock) {.l_type = F_WRLCK, .l_whence = SEEK_SET});
}

/* First told, then looked: of two that start at once, at least one sees the other. */
static int lock_to_read(int fd)
{
	int rc = lock(fd, one_byte(F_RDLCK, READS));

	if (!rc)
		rc = lock(fd, one_byte(F_RDLCK, NO_WRITERS));
	if (!rc && held(fd, WRITES))
		rc = -EAGAIN;
	return rc;
}

/* The file that @st tells of once more: somebody may have put another in its place. */
static int open_again(const struct disk_params *params, const struct stat *st, int flags)
{
	struct stat now;
	int fd, rc = 0;

	flags |= O_CLOEXEC | O_NOCTTY | (params->read_only ? O_RDONLY : O_RDWR);
	flags |= S_ISBLK(st->st_mode) ? 0 : O_NONBLOCK; /* should it be a FIFO by now */
	fd = open(params->path, flags);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &now))
		rc = -errno;
	else if (now.st_dev != st->st_dev || now.st_ino != st->st_ino)
		rc = -ESTALE;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

static int open_error(const struct disk_params *params, int rc, struct lk_err *err)
{
	if (rc == -ESTALE)
		return lk_err__set(err, rc,
				   "disk '%s' was replaced by another file meanwhile; start again",
				   params->path);
	return lk_err__set(err, rc, "disk '%s': cannot open it to lock it: %s", params->path,
			   strerror(-rc));
}

/* Where the device is mounted, first of all; proc(5).  false: nowhere in sight. */
static bool find_mount(dev_t dev, char point[256])
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	unsigned int maj, min;
	char *line = NULL;
	size_t len = 0;
	bool found = false;

	while (f && !found && getline(&line, &len, f) > 0)
		found = sscanf(line, "%*d %*d %u:%u %*s %255s", &maj, &min, point) == 3 &&
			makedev(maj, min) == dev;
	free(line);
	if (f)
		fclose(f);
	return found;
}

static int claim_error(const struct disk_params *params, const struct stat *st, struct lk_err *err)
{
	char point[256];

	if (find_mount(st->st_rdev, point))
		return lk_err__set(err, -EBUSY,
				   "disk '%s' is mounted at %s; unmount it first, or add ',force' "
				   "if nothing is written to it",
				   params->path, point);
	return lk_err__set(
		err, -EBUSY,
		"disk '%s' is in use: mounted in part, part of a volume, swap or another "
		"VM's; release it, or add ',force' if nothing is written to it",
		params->path);
}

/* The claim of a reader is over in a moment: after so many of them it is something else. */
static bool try_again(unsigned int *tries)
{
	struct timespec pause = {.tv_nsec = PAUSE_NS};

	if (++*tries > TRIES)
		return false;
	nanosleep(&pause, NULL);
	return true;
}

/*
 * O_EXCL is how a mount or a volume claims a block device (open(2)).  A VM that
 * writes keeps the claim; readers only look, for one more of them is welcome.
 */
static int claim(struct disk *disk, const struct disk_params *params, const struct stat *st,
		 struct lk_err *err)
{
	unsigned int tries = 0;
	int fd;

	do {
		fd = open_again(params, st, O_EXCL);
	} while (fd == -EBUSY && try_again(&tries));
	if (fd == -EBUSY)
		return claim_error(params, st, err);
	if (fd < 0)
		return open_error(params, fd, err);
	if (params->read_only || params->no_lock)
		close(fd);
	else
		disk->claim_fd = fd;
	return 0;
}

static int lock_image(struct disk *disk, const struct disk_params *params, const struct stat *st,
		      struct lk_err *err)
{
	int fd = open_again(params, st, 0), rc;

	if (fd < 0)
		return open_error(params, fd, err);
	disk->lock_fd = fd;
	rc = params->read_only ? lock_to_read(fd) : lock_to_write(fd);
	disk->unlocked = rc && rc != -EAGAIN && rc != -EACCES;
	if (!rc || disk->unlocked)
		return 0;
	if (params->read_only)
		return lk_err__set(err, -EBUSY,
				   "disk '%s' is being written by another VM or program; end that "
				   "first, or add ',lock=off' to read what may change meanwhile",
				   params->path);
	return lk_err__set(err, -EBUSY,
			   "disk '%s' is in use by another VM or program; end that first, give "
			   "both ',ro', or give each its own copy (',lock=off' risks the data)",
			   params->path);
}

/* First the lock: where another VM has claimed a device, its lock is what to tell of. */
int disk_lock__take(struct disk *disk, const struct disk_params *params, const struct stat *st,
		    struct lk_err *err)
{
	int rc = 0;

	if (!params->no_lock)
		rc = lock_image(disk, params, st, err);
	if (!rc && disk->is_device && !params->force)
		rc = claim(disk, params, st, err);
	return rc;
}

void disk_lock__drop(struct disk *disk)
{
	if (disk->claim_fd >= 0)
		close(disk->claim_fd);
	if (disk->lock_fd >= 0)
		close(disk->lock_fd);
	disk->claim_fd = disk->lock_fd = -1;
}
