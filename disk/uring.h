/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_DISK_URING_H
#define LKVM_DISK_URING_H

#include <liburing.h>

#include "engine.h"

/* What uring.c and uring_setup.c share. */

struct uring_queue {
	struct io_uring ring;
	int fd; /* of the image: the number of the registered file, or the descriptor */
	uint8_t sqe_flags; /* IOSQE_FIXED_FILE, or 0 */
	bool dead; /* the ring could not be enabled: all to the workers */
	bool may_lock; /* all of the memory */
	struct disk_req *staged, **staged_tail;
	unsigned int filled; /* requests in the submission ring that the kernel has not taken */
	unsigned int in_kernel; /* requests that it has */
	bool starved; /* requests wait for room in the kernel */
	bool again; /* staged requests are to go out from within reap */
	bool armed; /* the read or poll of wakefd is under way, or in the submission ring */
	bool readable; /* the poll has found something in wakefd */
	uint64_t wake_value; /* where the read puts its result */
	uint64_t woken; /* what it brought and nobody has been told */
	struct iovec *bufs; /* registered memory */
	unsigned int nr_bufs;
	unsigned int last_buf; /* where the last request was */
};

int disk_uring__probe(struct disk *disk, struct lk_err *err);
int disk_uring__init(struct disk_queue *q, struct lk_err *err);
void disk_uring__attach(struct disk_queue *q);
void disk_uring__fini(struct disk_queue *q);

/* The registered buffer in which all of @iov lies, or -1. */
static inline int uring_bufs__find(struct uring_queue *u, const struct iovec *iov)
{
	uintptr_t addr = (uintptr_t)iov->iov_base;
	unsigned int i = u->last_buf, n;

	for (n = 0; n < u->nr_bufs; n++) {
		uintptr_t off = addr - (uintptr_t)u->bufs[i].iov_base;

		if (off < u->bufs[i].iov_len && iov->iov_len <= u->bufs[i].iov_len - off) {
			u->last_buf = i;
			return i;
		}
		i = i + 1 == u->nr_bufs ? 0 : i + 1;
	}
	return -1;
}

#endif
