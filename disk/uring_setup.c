/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Making io_uring rings, and what a host can refuse of them.
 *
 * What is needed is a ring (5.11 or later).  The rest only makes it faster, and
 * what is refused of it is left out: deferred completions, the image as a
 * registered file, the guest's memory as registered buffers.
 */
#ifdef HAVE_LIBURING
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "uring.h"

#define SQ_MAX 128U /* entries: more cost more cache than calls are saved */
#define BUF_MAX (1ULL << 30) /* of one registered buffer: the kernel's limit */

/*
 * The best first.  Disabled until the queue's thread enables it, so that it can be
 * restricted before; the last two are for hosts that close io_uring_register.
 */
static const unsigned int levels[] = {
	/* 6.1; completions by the owner alone, when it asks */
	IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
		IORING_SETUP_TASKRUN_FLAG,
	/* 5.19; at any system call of the owner */
	IORING_SETUP_R_DISABLED | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
	IORING_SETUP_R_DISABLED,
	IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
	0,
};

#define NR_LEVELS (sizeof(levels) / sizeof(levels[0]))

static int make(struct io_uring *ring, unsigned int depth, unsigned int flags)
{
	struct io_uring_params p = {
		.flags = flags | IORING_SETUP_CQSIZE,
		.cq_entries = depth + 2, /* all requests, the read of wakefd */
	};
	unsigned int entries = depth + 1 < SQ_MAX ? depth + 1 : SQ_MAX;

	return io_uring_queue_init_params(entries, ring, &p);
}

/* Not io_uring_enable_rings(): liburing 2.3 has it in the static library alone. */
static int enable(struct io_uring *ring)
{
	return io_uring_register(ring->ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0);
}

/* As far as a request would go: enable it, submit, and get a completion. */
static int try_out(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	struct io_uring_sqe *sqe;
	int rc = 0;

	if (!(ring->features & IORING_FEAT_EXT_ARG))
		return -EOPNOTSUPP;
	if (ring->flags & IORING_SETUP_R_DISABLED)
		rc = enable(ring);
	if (rc < 0)
		return rc;
	sqe = io_uring_get_sqe(ring);
	if (!sqe)
		return -EOPNOTSUPP;
	io_uring_prep_nop(sqe);
	rc = io_uring_submit_and_wait(ring, 1);
	if (rc < 0)
		return rc;
	rc = io_uring_peek_cqe(ring, &cqe);
	if (!rc)
		io_uring_cqe_seen(ring, cqe);
	return rc;
}

static unsigned int sysctl_disabled(void)
{
	FILE *f = fopen("/proc/sys/kernel/io_uring_disabled", "re");
	unsigned int n = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%u", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

static int explain(int rc, struct lk_err *err)
{
	unsigned int disabled = sysctl_disabled();

	if (rc == -EPERM && disabled)
		return lk_err__set(err, rc,
				   "the host refuses io_uring: sysctl kernel.io_uring_disabled is "
				   "%u; set it to 0%s",
				   disabled,
				   disabled == 1 ? " or join the group kernel.io_uring_group" : "");
	if (rc == -EPERM || rc == -EACCES)
		return lk_err__set(
			err, rc,
			"the host refuses io_uring (%s): a seccomp filter, as containers "
			"have; allow io_uring_setup, io_uring_enter and "
			"io_uring_register",
			strerror(-rc));
	if (rc == -ENOSYS || rc == -EINVAL || rc == -EOPNOTSUPP)
		return lk_err__set(err, rc,
				   "no io_uring here (%s): the kernel is older than 5.11 or built "
				   "without it, or a seccomp filter hides it",
				   strerror(-rc));
	return lk_err__set(err, rc, "cannot make an io_uring: %s%s", strerror(-rc),
			   rc == -ENOMEM		    ? "; see ulimit -l (locked memory)"
			   : rc == -EMFILE || rc == -ENFILE ? "; too many open files, see ulimit -n"
							    : "");
}

/* All that a queue will call. */
static void try_calls(void)
{
	struct io_uring ring;

	if (!make(&ring, 1, 0)) {
		try_out(&ring);
		io_uring_queue_exit(&ring);
	}
	syscall(SYS_io_uring_register, -1, IORING_REGISTER_PROBE, NULL, 0);
}

/* 0, or a filter would end lkvm, or it could not be found out. */
static int survivable(struct lk_err *err)
{
	int rc = disk_tryout__filtered() ? disk_tryout__survives(try_calls) : 0;

	if (rc == -EPERM)
		return lk_err__set(
			err, rc,
			"the host refuses io_uring: a seccomp filter ends processes that "
			"use it; allow io_uring_setup, io_uring_enter and "
			"io_uring_register");
	return rc ? lk_err__set(err, rc,
				"cannot find out whether a seccomp filter allows io_uring: %s",
				strerror(-rc))
		  : 0;
}

int disk_uring__probe(struct disk *disk, struct lk_err *err)
{
	struct io_uring ring;
	unsigned int i;
	int rc = survivable(err);

	if (rc)
		return rc;
	for (i = 0; i < NR_LEVELS; i++) {
		rc = make(&ring, 1, levels[i]);
		if (!rc) {
			rc = try_out(&ring);
			io_uring_queue_exit(&ring);
		}
		if (!rc) {
			disk->engine_flags = levels[i];
			return 0;
		}
	}
	return explain(rc, err);
}

/*
 * The kernel brings in the pages of a buffer before it looks whether they may be
 * locked: what has to be refused costs seconds and up to 1 GiB.  The right to lock
 * more counts where the ring is made; by the time of the buffers it may be given up.
 */
static bool may_lock(const struct disk_queue *q)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3] = {0};
	struct rlimit limit;
	uint64_t bytes = 0;
	unsigned int i;

	for (i = 0; i < q->nr_mem; i++)
		bytes += q->mem[i].iov_len;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) || bytes <= limit.rlim_cur)
		return true;
	return !syscall(SYS_capget, &head, caps) &&
	       (caps[CAP_TO_INDEX(CAP_IPC_LOCK)].effective & CAP_TO_MASK(CAP_IPC_LOCK));
}

/*
 * What goes through a ring is seen by no filter of system calls: whoever takes
 * the thread over could open files and sockets with it.  So it takes what the
 * engine uses and nothing else, from the moment that it is enabled.
 */
static int restrict_ring(struct io_uring *ring)
{
	static const uint8_t ops[] = {
		IORING_OP_READ,	      IORING_OP_WRITE,	     IORING_OP_READV, IORING_OP_WRITEV,
		IORING_OP_READ_FIXED, IORING_OP_WRITE_FIXED, IORING_OP_FSYNC, IORING_OP_POLL_ADD,
	};
	static const uint8_t calls[] = {
		IORING_REGISTER_FILES,
		IORING_REGISTER_BUFFERS,
		IORING_REGISTER_RING_FDS,
		IORING_UNREGISTER_RING_FDS,
	};
	struct io_uring_restriction set[sizeof(ops) + sizeof(calls) + 1] = {0};
	unsigned int i, n = 0;

	for (i = 0; i < sizeof(ops); i++, n++) {
		set[n].opcode = IORING_RESTRICTION_SQE_OP;
		set[n].sqe_op = ops[i];
	}
	for (i = 0; i < sizeof(calls); i++, n++) {
		set[n].opcode = IORING_RESTRICTION_REGISTER_OP;
		set[n].register_op = calls[i];
	}
	set[n].opcode = IORING_RESTRICTION_SQE_FLAGS_ALLOWED;
	set[n++].sqe_flags = IOSQE_FIXED_FILE;
	/* the library's function for it is not in liburing 2.3's shared form either */
	return io_uring_register(ring->ring_fd, IORING_REGISTER_RESTRICTIONS, set, n);
}

int disk_uring__init(struct disk_queue *q, struct lk_err *err)
{
	struct uring_queue *u = calloc(1, sizeof(*u));
	int rc;

	if (!u)
		return lk_err__set(err, -ENOMEM, "out of memory");
	rc = make(&u->ring, q->depth, q->disk->engine_flags);
	if (rc) {
		free(u);
		return explain(rc, err);
	}
	rc = u->ring.flags & IORING_SETUP_R_DISABLED ? restrict_ring(&u->ring) : 0;
	if (rc) {
		io_uring_queue_exit(&u->ring);
		free(u);
		return explain(rc, err);
	}
	u->may_lock = may_lock(q);
	u->staged_tail = &u->staged;
	u->fd = q->disk->fd;
	q->priv = u;
	return 0;
}

static unsigned int count_bufs(const struct disk_queue *q)
{
	uint64_t nr = 0;
	unsigned int i;

	for (i = 0; i < q->nr_mem; i++)
		nr += (q->mem[i].iov_len + BUF_MAX - 1) / BUF_MAX;
	return nr < 16384 ? nr : 0;
}

static int register_bufs(struct disk_queue *q, struct uring_queue *u)
{
	unsigned int nr = count_bufs(q), i, n = 0;
	struct iovec *bufs;
	int rc;

	if (!nr)
		return 0;
	if (!u->may_lock)
		return -ENOMEM;
	bufs = calloc(nr, sizeof(*bufs));
	if (!bufs)
		return -ENOMEM;
	for (i = 0; i < q->nr_mem; i++) {
		uint64_t off, len = q->mem[i].iov_len;

		for (off = 0; off < len; off += BUF_MAX)
			bufs[n++] = (struct iovec) {(char *)q->mem[i].iov_base + off,
						    len - off < BUF_MAX ? len - off : BUF_MAX};
	}
	rc = io_uring_register_buffers(&u->ring, bufs, nr);
	if (rc) {
		free(bufs);
		return rc;
	}
	u->bufs = bufs;
	u->nr_bufs = nr;
	return 0;
}

/* The queues' threads may all say so; it is the same for all. */
static void lost(struct disk_queue *q, const char *what)
{
	__atomic_store_n(&q->disk->lost, what, __ATOMIC_RELAXED);
}

/*
 * Memory is registered for O_DIRECT alone: it saves the kernel looking up the
 * pages for each request, which buffered I/O does not do.  The price is that all
 * of it is there from then on.
 */
void disk_uring__attach(struct disk_queue *q)
{
	struct uring_queue *u = q->priv;
	int rc;

	if ((u->ring.flags & IORING_SETUP_R_DISABLED) && enable(&u->ring)) {
		u->dead = true;
		q->served_by = disk_threads_ops.name;
		lost(q, "io_uring: the ring could not be enabled, worker threads instead");
		return;
	}
	io_uring_register_ring_fd(&u->ring);
	if (io_uring_register_files(&u->ring, &q->disk->fd, 1)) {
		lost(q, "io_uring: no registered file, the host refuses io_uring_register");
	} else {
		u->fd = 0;
		u->sqe_flags = IOSQE_FIXED_FILE;
	}
	rc = q->disk->direct ? register_bufs(q, u) : 0;
	if (rc == -ENOMEM)
		lost(q, "io_uring: no registered memory, it is more than may be locked "
			"(ulimit -l)");
	else if (rc)
		lost(q, "io_uring: no registered memory, the host refuses io_uring_register");
}

void disk_uring__fini(struct disk_queue *q)
{
	struct uring_queue *u = q->priv;

	disk_pool__leave(q);
	io_uring_queue_exit(&u->ring);
	free(u->bufs);
	free(u);
	q->priv = NULL;
}

#else

/* ISO C wants a declaration in every file. */
typedef int disk_uring_setup_not_built_in;

#endif
