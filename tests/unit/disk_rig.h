/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_UNIT_DISK_RIG_H
#define TESTS_UNIT_DISK_RIG_H

/* What the tests of disk/ have in common: a directory, a disk with queues, one I/O thread's loop. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "disk/engine.h"

#define HANG_MS 60000
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

struct rig {
	char dir[200];
	char path[240];
	struct disk disk;
	struct disk_queue q[2];
	unsigned int nr_queues;
	enum disk_engine_kind engine; /* of rig__open_mode(): auto where nothing is said */
	const struct iovec *mem; /* of the queues, or NULL */
	unsigned int nr_mem;
	struct lk_err err;
};

/* $TMPDIR or the build directory: /tmp may be one without O_DIRECT. */
static inline int rig__setup(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	const char *base = getenv("TMPDIR");

	if (!base)
		base = access("build", W_OK) ? "/var/tmp" : "build";
	snprintf(rig->dir, sizeof(rig->dir), "%s/disk.XXXXXX", base);
	if (!mkdtemp(rig->dir)) {
		free(rig);
		return -1;
	}
	snprintf(rig->path, sizeof(rig->path), "%s/image", rig->dir);
	rig->disk.fd = -1;
	*state = rig;
	return 0;
}

static inline void rig__stop(struct rig *rig)
{
	while (rig->nr_queues) {
		struct disk_queue *q = &rig->q[--rig->nr_queues];

		disk_queue__fini(q);
		close(q->wakefd);
	}
	if (rig->disk.path)
		disk__close(&rig->disk);
}

static inline int rig__teardown(void **state)
{
	struct rig *rig = *state;

	rig__stop(rig);
	unlink(rig->path);
	rmdir(rig->dir);
	free(rig);
	return 0;
}

static inline void rig__make_file(struct rig *rig, uint64_t size)
{
	int fd = open(rig->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	close(fd);
}

static inline uint64_t rig__file_size(struct rig *rig)
{
	struct stat st;

	assert_int_equal(stat(rig->path, &st), 0);
	return st.st_size;
}

static inline int rig__open_mode(struct rig *rig, enum disk_cache cache, bool read_only)
{
	struct disk_params params = {
		.path = rig->path, .cache = cache, .read_only = read_only, .engine = rig->engine};

	rig->err.msg[0] = '\0';
	return disk__open(&rig->disk, &params, &rig->err);
}

static inline int rig__open_as(struct rig *rig, bool direct, bool read_only)
{
	return rig__open_mode(rig, direct ? DISK_CACHE_NONE : DISK_CACHE_WRITEBACK, read_only);
}

static inline void rig__add_queue(struct rig *rig, unsigned int depth)
{
	struct disk_queue *q = &rig->q[rig->nr_queues];
	struct disk_queue_params params = {.depth = depth,
					   .wakefd = eventfd(0, EFD_CLOEXEC),
					   .mem = rig->mem,
					   .nr_mem = rig->nr_mem};

	assert_true(params.wakefd >= 0);
	if (disk_queue__init(q, &rig->disk, &params, &rig->err))
		fail_msg("%s", rig->err.msg);
	disk_queue__attach(q);
	rig->nr_queues++;
}

/* Ends the test as skipped where the file system has no O_DIRECT. */
static inline void rig__start(struct rig *rig, bool direct, unsigned int depth)
{
	int rc = rig__open_as(rig, direct, false);

	if (rc == -EINVAL && direct)
		skip();
	if (rc)
		fail_msg("%s", rig->err.msg);
	rig__add_queue(rig, depth);
}

/* As on a host that wants @align, whatever this one wants. */
static inline void rig__set_align(struct rig *rig, unsigned int align)
{
	rig->disk.geo.mem_align = align;
	rig->disk.geo.offset_align = align;
	disk_pool__fini(&rig->disk);
	assert_int_equal(disk_pool__init(&rig->disk, &rig->err), 0);
}

/* The next finished request: sleeps in the one place that an I/O thread sleeps in. */
static inline struct disk_req *rig__wait(struct disk_queue *q)
{
	struct disk_req *req;

	while (!(req = disk_queue__reap(q))) {
		uint64_t n = disk_queue__wait(q, HANG_MS * 1000000LL);

		assert_true(n || disk_queue__ready(q)); /* not the time that is over */
	}
	return req;
}

static inline void rig__drain(struct disk_queue *q)
{
	while (q->in_flight)
		rig__wait(q);
}

static inline struct disk_req rig__req(enum disk_op op, uint64_t offset, struct iovec *iov,
				       unsigned int nr)
{
	struct disk_req req = {.op = op, .offset = offset, .iov = iov, .nr_iov = nr};
	unsigned int i;

	for (i = 0; i < nr; i++)
		req.len += iov[i].iov_len;
	return req;
}

static inline int rig__run(struct disk_queue *q, struct disk_req *req)
{
	disk_queue__queue(q, req);
	disk_queue__submit(q);
	assert_ptr_equal(rig__wait(q), req);
	return req->res;
}

static inline int rig__io(struct disk_queue *q, enum disk_op op, uint64_t offset, void *buf,
			  size_t len)
{
	struct iovec iov = {buf, len};
	struct disk_req req = rig__req(op, offset, &iov, 1);

	return rig__run(q, &req);
}

/* Bytes that tell where in the file they belong. */
static inline void rig__fill(void *buf, uint64_t offset, size_t len)
{
	unsigned char *p = buf;
	size_t i;

	for (i = 0; i < len; i++)
		p[i] = ((offset + i) / 512 * 37 + (offset + i) % 509) & 0xff;
}

static inline void rig__check(const void *buf, uint64_t offset, size_t len)
{
	unsigned char *want = malloc(len);

	rig__fill(want, offset, len);
	assert_memory_equal(buf, want, len);
	free(want);
}

static inline void *rig__alloc(size_t len)
{
	void *p = NULL;

	assert_int_equal(posix_memalign(&p, 4096, len), 0);
	memset(p, 0, len);
	return p;
}

/* The file as others see it. */
static inline void rig__pread(struct rig *rig, uint64_t offset, void *buf, size_t len)
{
	int fd = open(rig->path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, buf, len, offset), len);
	close(fd);
}

static inline void rig__pwrite(struct rig *rig, uint64_t offset, const void *buf, size_t len)
{
	int fd = open(rig->path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, buf, len, offset), len);
	close(fd);
}

/*
 * @nr writes of a sector each in flight at once, then as many reads of them;
 * every request comes back once, and in the file is what was written.
 */
static inline void rig__many(struct rig *rig, unsigned int nr)
{
	struct disk_queue *q = &rig->q[0];
	struct disk_req *req = calloc(nr, sizeof(*req));
	struct iovec *iov = calloc(nr, sizeof(*iov));
	unsigned char *seen = calloc(nr, 1);
	char *buf = rig__alloc(nr * 4096UL);
	unsigned int pass, i;

	for (pass = 0; pass < 2; pass++) {
		for (i = 0; i < nr; i++) {
			iov[i] = (struct iovec) {buf + i * 4096UL, 4096};
			if (pass)
				memset(iov[i].iov_base, 0, 4096);
			else
				rig__fill(iov[i].iov_base, i * 4096UL, 4096);
			req[i] = rig__req(pass ? DISK_READ : DISK_WRITE, i * 4096UL, &iov[i], 1);
			disk_queue__queue(q, &req[i]);
		}
		assert_int_equal(q->in_flight, nr);
		disk_queue__submit(q);
		memset(seen, 0, nr);
		while (q->in_flight) {
			struct disk_req *r = rig__wait(q);

			assert_int_equal(r->res, 0);
			assert_int_equal(seen[r - req]++, 0);
		}
	}
	assert_null(disk_queue__reap(q));
	rig__check(buf, 0, nr * 4096UL);
	memset(buf, 0, nr * 4096UL);
	rig__pread(rig, 0, buf, nr * 4096UL);
	rig__check(buf, 0, nr * 4096UL);
	free(buf);
	free(seen);
	free(iov);
	free(req);
}

/* Pieces that the host does not take under O_DIRECT, and more of them than one call takes. */
static inline void rig__vectors(struct rig *rig)
{
	enum {
		NR = 2500,
		PIECE = 512
	};
	struct disk_queue *q = &rig->q[0];
	struct iovec *iov = calloc(NR, sizeof(*iov));
	char *buf = rig__alloc(NR * PIECE);
	struct disk_req req;
	unsigned int i;

	rig__fill(buf, 4096, NR * PIECE);
	for (i = 0; i < NR; i++)
		iov[i] = (struct iovec) {buf + i * PIECE, PIECE};
	req = rig__req(DISK_WRITE, 4096, iov, NR);
	assert_int_equal(rig__run(q, &req), 0);
	assert_ptr_equal(req.iov, iov);
	assert_int_equal(req.nr_iov, NR);

	memset(buf, 0, NR * PIECE);
	for (i = 0; i < NR; i++)
		iov[i] = (struct iovec) {buf + i * PIECE, PIECE};
	req = rig__req(DISK_READ, 4096, iov, NR);
	assert_int_equal(rig__run(q, &req), 0);
	rig__check(buf, 4096, NR * PIECE);
	memset(buf, 0, NR * PIECE);
	rig__pread(rig, 4096, buf, NR * PIECE);
	rig__check(buf, 4096, NR * PIECE);
	free(buf);
	free(iov);
}

#endif
