/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which engine a disk gets.
 *
 * direct, file or block device: aio.  The kernel queues O_DIRECT requests and
 * io_submit returns, so one call can start a whole ring of them, and completions
 * are read without a call.  (It can still wait for a moment where a file system
 * has to find room first, as in a write into a hole: an image that is written to
 * fast is best allocated in full.)  io_uring hands requests to a thread of the
 * kernel wherever the driver does not promise that it never waits.  Measured, 4k
 * random reads on a busy machine, thousands a second at depth 1 and 32: zram,
 * which does not promise it, aio 109 and 185, uring 31 and 79, with registered
 * memory 40 and 104; a file on ext4, aio 11 and 36, uring 10 and 37, with
 * registered memory 13 and 44.
 *
 * buffered, file or block device: uring, which reads what is in the page cache
 * at once and lets a thread of the kernel wait for the rest; without it threads.
 * io_submit on the page cache is synchronous: a read that misses, or a write that
 * meets the dirty limit, would hold up the I/O thread and all requests behind it.
 * Measured as above, file in the cache: uring 290 and 285, threads 40 and 144.
 * Writes were the file system's matter: all between 10 and 20.
 *
 * An engine given by name is used or it is an error.  With auto, what the host
 * refuses is passed over and disk->note says why.  Whether an engine works at
 * all is found out at open, by ->probe.  A limit that only many queues reach
 * (fs.aio-max-nr) shows at disk_queue__init(), still before the guest runs: that
 * queue and all later ones of the disk get the next engine, the earlier ones
 * keep theirs.  Queues of one disk need not have the same engine: what they
 * share is the worker pool, which every engine for real images has.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fault.h"

/* For auto, the best first.  The last one can always be had. */
static const struct disk_engine_ops *const order_direct[] = {
	&disk_aio_ops,
#ifdef HAVE_LIBURING
	&disk_uring_ops,
#endif
	&disk_threads_ops,
	NULL,
};

static const struct disk_engine_ops *const order_buffered[] = {
#ifdef HAVE_LIBURING
	&disk_uring_ops,
#endif
	&disk_threads_ops,
	NULL,
};

static const struct disk_engine_ops *const *order(const struct disk *disk)
{
	return disk->direct ? order_direct : order_buffered;
}

static const struct disk_engine_ops *by_name(enum disk_engine_kind kind)
{
	switch (kind) {
	case DISK_ENGINE_AIO:
		return &disk_aio_ops;
	case DISK_ENGINE_THREADS:
		return &disk_threads_ops;
	case DISK_ENGINE_NULL:
		return &disk_null_ops;
	case DISK_ENGINE_URING:
#ifdef HAVE_LIBURING
		return &disk_uring_ops;
#endif
	case DISK_ENGINE_AUTO:
	default:
		return NULL;
	}
}

__attribute__((format(printf, 2, 3))) static void note(struct disk *disk, const char *fmt, ...)
{
	size_t used = strlen(disk->note);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(disk->note + used, sizeof(disk->note) - used, fmt, ap);
	va_end(ap);
}

static int probe(struct disk *disk, const struct disk_engine_ops *ops, struct lk_err *err)
{
	return ops->probe ? ops->probe(disk, err) : 0;
}

static int choose_named(struct disk *disk, enum disk_engine_kind kind, struct lk_err *err)
{
	const struct disk_engine_ops *ops = by_name(kind);
	struct lk_err why;
	int rc;

	if (!ops)
		return lk_err__set(err, -ENOSYS,
				   "disk '%s': engine uring is not built in: it needs liburing at "
				   "build time; use engine=auto",
				   disk->path);
	rc = probe(disk, ops, &why);
	if (rc)
		return lk_err__set(err, rc, "disk '%s': engine %s: %s; or use engine=auto",
				   disk->path, ops->name, why.msg);
	disk->engine = ops;
	note(disk, "engine %s: asked for by name", ops->name);
	return 0;
}

static int choose_auto(struct disk *disk, struct lk_err *err)
{
	const struct disk_engine_ops *const *ops = order(disk);
	struct lk_err why, first = {0};
	int rc;

	while ((rc = probe(disk, *ops, &why)) && ops[1]) {
		if (!first.msg[0])
			snprintf(first.msg, sizeof(first.msg), "; not %s: %.300s", (*ops)->name,
				 why.msg);
		ops++;
	}
	if (rc)
		return lk_err__set(err, rc, "disk '%s': engine %s: %s", disk->path, (*ops)->name,
				   why.msg);
	disk->engine = *ops;
	note(disk, "engine %s: the fastest for %s%s", disk->engine->name,
	     disk->direct ? "direct access" : "buffered access", first.msg);
	return 0;
}

int disk_choose__engine(struct disk *disk, enum disk_engine_kind kind, struct lk_err *err)
{
	int rc;

	disk->wanted = kind;
	disk->note[0] = '\0';
	rc = kind == DISK_ENGINE_AUTO ? choose_auto(disk, err) : choose_named(disk, kind, err);
	if (rc)
		return rc;
	note(disk, "; alignment %u in memory, %u on disk", disk->geo.mem_align,
	     disk->geo.offset_align);
	if (disk->fault)
		note(disk, "; with faults on purpose");
	return 0;
}

/* The engine after the disk's that works, or NULL. */
static const struct disk_engine_ops *next_engine(struct disk *disk)
{
	const struct disk_engine_ops *const *ops = order(disk);
	struct lk_err why;

	while (*ops && *ops != disk->engine)
		ops++;
	while (*ops && *++ops) {
		if (!probe(disk, *ops, &why))
			return *ops;
		note(disk, "; not %s: %.200s", (*ops)->name, why.msg);
	}
	return NULL;
}

static int add_faults(struct disk_queue *q, struct lk_err *err)
{
	int rc = disk_fault__wrap(q);

	if (!rc)
		return 0;
	q->engine->fini(q);
	return lk_err__set(err, rc, "disk '%s': out of memory", q->disk->path);
}

int disk_choose__queue(struct disk_queue *q, struct lk_err *err)
{
	struct disk *disk = q->disk;
	const struct disk_engine_ops *next;
	struct lk_err why;
	int rc;

	for (;;) {
		q->engine = disk->engine;
		q->served_by = q->engine->name;
		rc = q->engine->init(q, &why);
		if (!rc)
			return disk->fault ? add_faults(q, err) : 0;
		next = disk->wanted == DISK_ENGINE_AUTO ? next_engine(disk) : NULL;
		if (!next)
			return lk_err__set(err, rc, "disk '%s': engine %s: %s", disk->path,
					   q->engine->name, why.msg);
		note(disk, "; engine %s for the other queues: %.300s", next->name, why.msg);
		disk->engine = next;
	}
}
