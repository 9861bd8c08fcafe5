/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Hosts that refuse what an engine wants: system calls closed by a seccomp
 * filter, and limits on locked memory, threads and open files.  Each in a child,
 * because none of it can be taken back.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "disk_rig.h"

#define NOBODY 65534
#define CHECK(cond)                                                                             \
	do {                                                                                    \
		if (!(cond)) {                                                                  \
			fprintf(stderr, "%s:%d: %s; note: %s; error: %s\n", __func__, __LINE__, \
				#cond, rig->disk.note, rig->err.msg);                           \
			return 1;                                                               \
		}                                                                               \
	} while (0)

struct refusal {
	long call;
	int error;
	const char *word; /* in the reason */
};

/* With @action for the call, and nothing else touched. */
static int filter(long call, unsigned int action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = ARRAY_SIZE(code), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) ? -errno : 0;
}

static int refuse(const struct refusal *r)
{
	return filter(r->call, SECCOMP_RET_ERRNO | r->error);
}

/* Of gcov: what the child has executed counts too, where it is counted. */
extern void __gcov_dump(void) __attribute__((weak));

/* Runs @body in a child; it must come back with 0. */
static void in_child(struct rig *rig, int (*body)(struct rig *rig, const void *arg),
		     const void *arg)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		int ret = body(rig, arg);

		if (__gcov_dump)
			__gcov_dump();
		_exit(ret);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int open_kind(struct rig *rig, enum disk_engine_kind kind, bool direct)
{
	rig->engine = kind;
	return rig__open_as(rig, direct, false);
}

/* Write and read back through a queue, from memory that the engine may register. */
static int io_works(struct rig *rig)
{
	size_t len = 16 << 20;
	char *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec region = {mem, len};
	struct disk_req flush = {.op = DISK_FLUSH};

	if (mem == MAP_FAILED)
		return -ENOMEM;
	rig->mem = &region;
	rig->nr_mem = 1;
	rig__add_queue(rig, 8);
	rig__fill(mem, 4096, 8192);
	if (rig__io(&rig->q[0], DISK_WRITE, 4096, mem, 8192) || rig__run(&rig->q[0], &flush) ||
	    rig__io(&rig->q[0], DISK_READ, 4096, mem + 65536, 8192) ||
	    memcmp(mem, mem + 65536, 8192))
		return -EIO;
	rig__stop(rig);
	munmap(mem, len);
	return 0;
}

/* uring by name says why, auto goes on without and says why. */
static int no_ring(struct rig *rig, const void *arg)
{
	const struct refusal *r = arg;
	int rc;

	CHECK(!refuse(r));
	rc = open_kind(rig, DISK_ENGINE_URING, false);
	CHECK(rc == -r->error);
	CHECK(strstr(rig->err.msg, r->word) && strstr(rig->err.msg, rig->path));
	CHECK(!strchr(rig->err.msg, '\n'));
	CHECK(!open_kind(rig, DISK_ENGINE_AUTO, false));
	CHECK(!strcmp(rig->disk.engine->name, "threads"));
	CHECK(strstr(rig->disk.note, "not uring") && strstr(rig->disk.note, r->word));
	CHECK(!io_works(rig));
	rc = open_kind(rig, DISK_ENGINE_AUTO, true);
	CHECK(!rc || rc == -EINVAL);
	CHECK(rc || !io_works(rig));
	return 0;
}

#ifdef HAVE_LIBURING
static bool uring_works(struct rig *rig)
{
	int rc = open_kind(rig, DISK_ENGINE_URING, false);

	if (!rc)
		disk__close(&rig->disk);
	return !rc;
}
#else
static bool uring_works(struct rig *rig)
{
	(void)rig;
	return false;
}
#endif

static void io_uring_closed(void **state)
{
	static const struct refusal all[] = {
		{SYS_io_uring_setup, EPERM, "seccomp"},	 {SYS_io_uring_setup, ENOSYS, "seccomp"},
		{SYS_io_uring_setup, EINVAL, "seccomp"}, {SYS_io_uring_enter, EPERM, "seccomp"},
		{SYS_io_uring_enter, ENOSYS, "seccomp"},
	};
	struct rig *rig = *state;
	unsigned int i;

	rig__make_file(rig, 65536);
	if (!uring_works(rig))
		skip();
	for (i = 0; i < ARRAY_SIZE(all); i++)
		in_child(rig, no_ring, &all[i]);
}

/* Only what is registered is lost, and that is said. */
static int no_register(struct rig *rig, const void *arg)
{
	const char *lost;
	int rc, i;

	CHECK(!refuse(arg));
	for (i = 0; i < 2; i++) {
		rc = open_kind(rig, DISK_ENGINE_URING, i);
		if (rc == -EINVAL && i)
			return 0; /* no O_DIRECT here */
		CHECK(!rc);
		CHECK(!strcmp(rig->disk.engine->name, "uring"));
		rig__add_queue(rig, 1);
		lost = rig->disk.lost;
		CHECK(lost && strstr(lost, "io_uring_register"));
		disk_queue__fini(&rig->q[--rig->nr_queues]);
		CHECK(!io_works(rig));
	}
	return 0;
}

static void io_uring_register_closed(void **state)
{
	static const struct refusal all[] = {
		{SYS_io_uring_register, EPERM, NULL},
		{SYS_io_uring_register, ENOSYS, NULL},
		{SYS_io_uring_register, EINVAL, NULL},
	};
	struct rig *rig = *state;
	unsigned int i;

	rig__make_file(rig, 65536);
	if (!uring_works(rig))
		skip();
	for (i = 0; i < ARRAY_SIZE(all); i++)
		in_child(rig, no_register, &all[i]);
}

/* A filter that ends the process: a child has to find that out. */
static int deadly(struct rig *rig, const void *arg)
{
	const struct refusal *r = arg;

	if (r->error) /* whoever started lkvm ignores its children */
		signal(SIGCHLD, SIG_IGN);
	CHECK(!filter(r->call, SECCOMP_RET_KILL_PROCESS));
	CHECK(open_kind(rig, DISK_ENGINE_URING, false) == -EPERM);
	CHECK(strstr(rig->err.msg, "seccomp") && strstr(rig->err.msg, "io_uring_setup"));
	CHECK(!strchr(rig->err.msg, '\n'));
	CHECK(!open_kind(rig, DISK_ENGINE_AUTO, false));
	CHECK(!strcmp(rig->disk.engine->name, "threads"));
	CHECK(strstr(rig->disk.note, "not uring") && strstr(rig->disk.note, "seccomp"));
	CHECK(!io_works(rig));
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	return 0;
}

/* A filter that has nothing to do with it takes nothing away. */
static int harmless(struct rig *rig, const void *arg)
{
	(void)arg;
	CHECK(!filter(SYS_swapoff, SECCOMP_RET_KILL_PROCESS));
	CHECK(!open_kind(rig, DISK_ENGINE_AUTO, false));
	CHECK(!strcmp(rig->disk.engine->name, "uring"));
	CHECK(!io_works(rig));
	return 0;
}

/* Not known is as good as deadly. */
static int no_child(struct rig *rig, const void *arg)
{
	static const struct refusal fork_refused = {SYS_clone, EAGAIN, NULL};

	(void)arg;
	CHECK(!refuse(&fork_refused));
	CHECK(open_kind(rig, DISK_ENGINE_URING, false) == -EAGAIN);
	CHECK(strstr(rig->err.msg, "seccomp"));
	return 0;
}

static void io_uring_deadly(void **state)
{
	static const struct refusal all[] = {
		{SYS_io_uring_setup, 0, NULL},
		{SYS_io_uring_setup, 1, NULL},
		{SYS_io_uring_enter, 0, NULL},
		{SYS_io_uring_register, 0, NULL},
	};
	struct rig *rig = *state;
	unsigned int i;

	rig__make_file(rig, 65536);
	if (!uring_works(rig))
		skip();
	for (i = 0; i < ARRAY_SIZE(all); i++)
		in_child(rig, deadly, &all[i]);
	in_child(rig, harmless, NULL);
	in_child(rig, no_child, NULL);
}

static int no_aio(struct rig *rig, const void *arg)
{
	CHECK(!refuse(arg));
	CHECK(open_kind(rig, DISK_ENGINE_AIO, true) == -ENOSYS);
	CHECK(strstr(rig->err.msg, "io_setup"));
	CHECK(!open_kind(rig, DISK_ENGINE_AUTO, true));
	CHECK(strcmp(rig->disk.engine->name, "aio"));
	CHECK(strstr(rig->disk.note, "not aio") && strstr(rig->disk.note, "io_setup"));
	CHECK(!io_works(rig));
	return 0;
}

static void aio_closed(void **state)
{
	static const struct refusal refusal = {SYS_io_setup, ENOSYS, NULL};
	struct rig *rig = *state;

	rig__make_file(rig, 65536);
	if (open_kind(rig, DISK_ENGINE_AUTO, true))
		skip(); /* no O_DIRECT */
	disk__close(&rig->disk);
	in_child(rig, no_aio, &refusal);
}

static int become_limited(rlim_t bytes)
{
	struct rlimit lim = {bytes, bytes};

	if (setrlimit(RLIMIT_MEMLOCK, &lim))
		return -errno;
	return !geteuid() && setresuid(NOBODY, NOBODY, NOBODY) ? -errno : 0;
}

/* An ordinary user who may lock enough for rings, not for memory: the data are the same. */
static int little_locked_memory(struct rig *rig, const void *arg)
{
	size_t len = 16 << 20;
	struct iovec region = {
		mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), len};
	unsigned char there;

	(void)arg;
	CHECK(!open_kind(rig, DISK_ENGINE_URING, true));
	CHECK(!become_limited(1 << 20));
	rig->mem = &region;
	rig->nr_mem = 1;
	rig__add_queue(rig, 8);
	CHECK(rig->disk.lost && strstr(rig->disk.lost, "ulimit -l"));
	CHECK(!mincore(region.iov_base, 4096, &there) && !(there & 1)); /* not brought in for it */
	disk_queue__fini(&rig->q[--rig->nr_queues]);
	CHECK(!io_works(rig));
	return 0;
}

static int init_queue(struct rig *rig, int wakefd)
{
	return disk_queue__init(&rig->q[0], &rig->disk,
				&(struct disk_queue_params) {.depth = 8, .wakefd = wakefd},
				&rig->err);
}

/* Nothing at all: kernels that count the rings themselves (6.14) refuse those. */
static int no_locked_memory(struct rig *rig, const void *arg)
{
	int rc;

	(void)arg;
	CHECK(!open_kind(rig, DISK_ENGINE_URING, false));
	CHECK(!become_limited(0));
	rc = init_queue(rig, 0);
	CHECK(!rc || (rc == -ENOMEM && strstr(rig->err.msg, "ulimit -l")));
	if (!rc)
		disk_queue__fini(&rig->q[0]);
	rig->disk.wanted = DISK_ENGINE_AUTO;
	CHECK(!io_works(rig));
	return 0;
}

static void memlock(void **state)
{
	struct rig *rig = *state;

	rig__make_file(rig, 65536);
	if (!uring_works(rig) || open_kind(rig, DISK_ENGINE_AUTO, true))
		skip();
	disk__close(&rig->disk);
	in_child(rig, little_locked_memory, NULL);
	in_child(rig, no_locked_memory, NULL);
}

/* Not one thread more: an error at the start, not a request that nobody takes. */
static int no_threads(struct rig *rig, const void *arg)
{
	struct rlimit lim = {0, 0};

	(void)arg;
	CHECK(!open_kind(rig, DISK_ENGINE_THREADS, false));
	CHECK(!setrlimit(RLIMIT_NPROC, &lim));
	CHECK(geteuid() || !setresuid(NOBODY, NOBODY, NOBODY));
	CHECK(!init_queue(rig, 0));
	CHECK(disk__start(&rig->disk, &rig->err) == -EAGAIN);
	CHECK(strstr(rig->err.msg, "ulimit -u"));
	disk_queue__fini(&rig->q[0]);
	return 0;
}

/* Not one descriptor more: by name an error, auto goes on. */
static int no_descriptors(struct rig *rig, const void *arg)
{
	const bool *named = arg;
	struct rlimit lim;
	int fd;

	CHECK(!open_kind(rig, *named ? DISK_ENGINE_URING : DISK_ENGINE_AUTO, false));
	CHECK(!strcmp(rig->disk.engine->name, "uring"));
	CHECK(!getrlimit(RLIMIT_NOFILE, &lim));
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	close(fd);
	lim.rlim_cur = fd;
	CHECK(!setrlimit(RLIMIT_NOFILE, &lim));
	if (*named) {
		CHECK(init_queue(rig, 0) == -EMFILE);
		CHECK(strstr(rig->err.msg, "ulimit -n"));
		return 0;
	}
	CHECK(!init_queue(rig, 0));
	CHECK(!strcmp(rig->q[0].engine->name, "threads"));
	CHECK(strstr(rig->disk.note, "ulimit -n"));
	disk_queue__fini(&rig->q[0]);
	return 0;
}

static void threads_and_descriptors(void **state)
{
	static const bool named = true, automatic = false;
	struct rig *rig = *state;

	rig__make_file(rig, 65536);
	in_child(rig, no_threads, NULL);
	if (!uring_works(rig))
		skip();
	in_child(rig, no_descriptors, &named);
	in_child(rig, no_descriptors, &automatic);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, rig__setup, rig__teardown)
	const struct CMUnitTest tests[] = {
		T(io_uring_closed), T(io_uring_register_closed), T(io_uring_deadly), T(aio_closed),
		T(memlock),	    T(threads_and_descriptors),
	};

	return cmocka_run_group_tests_name("disk refused", tests, NULL, NULL);
}
