/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_UNIT_LOOP_H
#define TESTS_UNIT_LOOP_H

/* A loop device with sectors of 4096 bytes, gone with the last descriptor. */
#include <linux/loop.h>
#include <sys/ioctl.h>

#include "disk_rig.h"

#define BLOCK 4096

struct loop {
	char path[32];
	int fd;
};

/* Others make loop devices too: a number that was free may be taken now. */
static inline bool loop__attach(struct loop *loop, const char *file)
{
	int backing = open(file, O_RDWR | O_CLOEXEC);
	struct loop_config config = {
		.fd = backing,
		.block_size = BLOCK,
		.info.lo_flags = LO_FLAGS_AUTOCLEAR, /* gone with the last descriptor */
	};
	int ctl = open("/dev/loop-control", O_RDWR | O_CLOEXEC), n, tries, rc = -1;

	loop->fd = -1;
	for (tries = 0; ctl >= 0 && rc && tries < 100; tries++) {
		n = ioctl(ctl, LOOP_CTL_GET_FREE);
		snprintf(loop->path, sizeof(loop->path), "/dev/loop%d", n);
		loop->fd = n < 0 ? -1 : open(loop->path, O_RDWR | O_CLOEXEC);
		if (loop->fd < 0)
			break;
		rc = ioctl(loop->fd, LOOP_CONFIGURE, &config);
		if (!rc)
			break;
		n = errno;
		close(loop->fd);
		loop->fd = -1;
		if (n != EBUSY)
			break;
	}
	if (ctl >= 0)
		close(ctl);
	close(backing);
	return !rc;
}

#endif
