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
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

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

void disk_lock__release(int fd)
{
	lock(fd, (struct flock) {.l_type = F_UNLCK, .l_whence = SEEK_SET});
}

bool disk_lock__again(unsigned int *tries)
{
	struct timespec pause = {.tv_nsec = PAUSE_NS};

	if (++*tries > TRIES)
		return false;
	nanosleep(&pause, NULL);
	return true;
}

int disk_lock__take(int fd, const char *path, bool read_only, struct lk_err *err)
{
	int rc = read_only ? lock_to_read(fd) : lock_to_write(fd);

	if (!rc)
		return 0;
	if (rc != -EAGAIN && rc != -EACCES)
		return -ENOLCK;
	if (read_only)
		return lk_err__set(err, -EBUSY,
				   "disk '%s' is being written by another VM or program; end that "
				   "first, or add ',lock=off' to read what may change meanwhile",
				   path);
	return lk_err__set(err, -EBUSY,
			   "disk '%s' is in use by another VM or program; end that first, give "
			   "both ',ro', or give each its own copy (',lock=off' risks the data)",
			   path);
}
