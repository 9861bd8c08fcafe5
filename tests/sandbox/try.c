// SPDX-License-Identifier: GPL-2.0-only
/*
 * lkvm, but one thread of a running VM does what it never would:
 *
 *	TRY=THREAD:CALL try run ...
 *
 * THREAD is main, vcpu, io or worker, CALL one of those below.  Linked with
 * --wrap, so that the first thing that a thread of the kind does of its proper
 * work is the call; lkvm itself has none of this.  What the call gave is told on
 * stderr: "try: open: Permission denied".
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <lkvm/disk.h>
#include <lkvm/vcpu.h>
#include <lkvm/virtio.h>

#include "kvm/cmd/loop.h"

struct disk_pool;

void __real_vcpu__loop(struct vcpu *vcpu);
void __wrap_vcpu__loop(struct vcpu *vcpu);
void __real_virtio_blk_queue__run(struct virtio_queue *queue);
void __wrap_virtio_blk_queue__run(struct virtio_queue *queue);
int __real_disk_sync__run(struct disk_pool *pool, struct disk_req *req);
int __wrap_disk_sync__run(struct disk_pool *pool, struct disk_req *req);
int __real_loop__run(struct loop *loop);
int __wrap_loop__run(struct loop *loop);

static int try_open(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static int try_create(void)
{
	return open(getenv("TRY_FILE"), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static int try_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static int try_execve(void)
{
	char *const argv[] = {"/bin/true", NULL};

	return execve(argv[0], argv, argv + 1);
}

static int try_ptrace(void)
{
	return (int)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
}

static int try_fork(void)
{
	return (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static int try_exec_memory(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
			       MAP_FAILED
		       ? -1
		       : 0;
}

static int try_kill(void)
{
	return kill(1, 0);
}

/* A new VM would have new memory and no filters of its own. */
static int try_ioctl(void)
{
	return ioctl(STDIN_FILENO, KVM_CREATE_VM, 0);
}

static int try_tiocsti(void)
{
	return ioctl(STDIN_FILENO, TIOCSTI, "x");
}

/* What the C library reads fails, and nothing else comes of it. */
static int try_library(void)
{
	return open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC);
}

static int try_for_ever(void)
{
	while (socket(AF_UNIX, SOCK_STREAM, 0) < 0)
		;
	return 0;
}

static const struct {
	const char *name;
	int (*call)(void);
} calls[] = {
	{"open", try_open},
	{"create", try_create},
	{"socket", try_socket},
	{"execve", try_execve},
	{"ptrace", try_ptrace},
	{"fork", try_fork},
	{"exec-memory", try_exec_memory},
	{"kill", try_kill},
	{"ioctl", try_ioctl},
	{"tiocsti", try_tiocsti},
	{"library", try_library},
	{"for-ever", try_for_ever},
};

static void try(const char *kind)
{
	static atomic_flag done;
	const char *what = getenv("TRY");
	size_t len = strlen(kind);
	char line[96];
	int rc, n;

	if (!what || strncmp(what, kind, len) || what[len] != ':' ||
	    atomic_flag_test_and_set(&done))
		return;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].name, what + len + 1))
			continue;
		rc = calls[i].call();
		n = snprintf(line, sizeof(line), "try: %s: %s\n", calls[i].name,
			     rc < 0 ? strerror(errno) : "done");
		if (write(STDERR_FILENO, line, n) != n)
			_exit(1);
	}
}

void __wrap_vcpu__loop(struct vcpu *vcpu)
{
	try("vcpu");
	__real_vcpu__loop(vcpu);
}

void __wrap_virtio_blk_queue__run(struct virtio_queue *queue)
{
	try("io");
	__real_virtio_blk_queue__run(queue);
}

int __wrap_disk_sync__run(struct disk_pool *pool, struct disk_req *req)
{
	try("worker");
	return __real_disk_sync__run(pool, req);
}

int __wrap_loop__run(struct loop *loop)
{
	try("main");
	return __real_loop__run(loop);
}
