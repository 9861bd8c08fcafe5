// SPDX-License-Identifier: GPL-2.0-only
/*
 * The system calls that each kind of thread needs once it is confined: the main
 * thread until the process has ended, with the machine taken down and --stats
 * written; the others from their start.  What was made before (images, queues,
 * rings, terminal) is not here.
 *
 * A worker is made by an I/O thread and has both filters, so what workers do is
 * in the column of I/O threads too.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/io_uring.h>
#include <linux/kvm.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "sandbox.h"

/* asm/termbits.h, whose struct termios2 the C library's headers do not go with. */
#define GET_TERMIOS2 0x802c542aU /* TCGETS2 */
#define SET_TERMIOS2 0x402c542bU /* TCSETS2 */

#define MAIN (1U << THREAD_MAIN)
#define VCPU (1U << THREAD_VCPU)
#define IO (1U << THREAD_IO)
#define WORKER (1U << THREAD_WORKER)
#define ALL (MAIN | VCPU | IO | WORKER)

#define INT 0xffffffffULL /* an int, whatever the upper half of the register has */

/* The request of an ioctl, the command of prctl and the like: argument @n is @v. */
#define IS(n, v) .nr_args = 1, .arg = {{(n), INT, (uint32_t)(v)}}

/* All bits of @off are clear, all of @on set. */
#define BITS(n, on, off) .nr_args = 1, .arg = {{(n), (on) | (off), (on)}}
#define NEED(what) .needs = SANDBOX_NEED_##what
#define CALL(name, where, ...)                                  \
	{                                                       \
		.nr = SYS_##name, .kinds = (where), __VA_ARGS__ \
	}
#define IOCTL(where, request) CALL(ioctl, where, IS(1, request))

/* A thread, and no other kind of process, in no other namespace. */
#define CLONE_NEW                                                                      \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)
#define CLONE_OWN (CLONE_THREAD | CLONE_VM | CLONE_SIGHAND | CLONE_FILES)

const struct sandbox_call sandbox_calls[] = {
	/* what comes most often; KVM_IRQ_LINE: INTx, and the serial port */
	IOCTL(VCPU, KVM_RUN),
	IOCTL(MAIN | VCPU | IO, KVM_IRQ_LINE),
	CALL(io_submit, IO, NEED(AIO)),
	CALL(io_uring_enter, IO, NEED(URING)),
	CALL(read, ALL),
	CALL(write, ALL),
	CALL(futex, ALL),
	CALL(clock_nanosleep, IO),
	CALL(nanosleep, IO),
	CALL(ppoll, IO),
	CALL(sched_yield, ALL),
	CALL(io_getevents, IO, NEED(AIO)),
	CALL(pread64, IO | WORKER, NEED(IMAGE)),
	CALL(preadv, IO | WORKER, NEED(IMAGE)),
	CALL(pwritev, IO | WORKER, NEED(IMAGE)),
	CALL(pwritev2, IO | WORKER, NEED(IMAGE)),
	CALL(fdatasync, IO | WORKER, NEED(IMAGE)),
	CALL(epoll_wait, MAIN),
	CALL(epoll_pwait, MAIN),

	/* vCPUs: the driver sets a queue or an interrupt up, moves a BAR */
	IOCTL(MAIN | VCPU | IO, KVM_IOEVENTFD),
	IOCTL(MAIN | VCPU, KVM_IRQFD),
	IOCTL(VCPU, KVM_SET_GSI_ROUTING),

	/* I/O threads and their workers */
	CALL(sched_setscheduler, IO),
	CALL(setpriority, IO),
	CALL(getpriority, IO),
	CALL(sched_setaffinity, IO),
	CALL(prctl, IO, IS(0, PR_SET_TIMERSLACK)),
	CALL(fallocate, IO | WORKER, NEED(IMAGE)),
	CALL(ioctl, IO | WORKER, NEED(IMAGE), IS(1, BLKDISCARD)),
	CALL(ioctl, IO | WORKER, NEED(IMAGE), IS(1, BLKZEROOUT)),
	CALL(io_uring_register, IO, NEED(URING), IS(1, IORING_REGISTER_ENABLE_RINGS)),
	CALL(io_uring_register, IO, NEED(URING), IS(1, IORING_REGISTER_FILES)),
	CALL(io_uring_register, IO, NEED(URING), IS(1, IORING_REGISTER_BUFFERS)),
	CALL(io_uring_register, IO, NEED(URING), IS(1, IORING_REGISTER_RING_FDS)),
	/* making a worker, and what it does until it loads its own filter */
	CALL(clone, IO | WORKER, NEED(IMAGE), BITS(0, CLONE_OWN, CLONE_NEW)),
	CALL(set_robust_list, IO | WORKER, NEED(IMAGE)),
	CALL(rseq, IO | WORKER, NEED(IMAGE)),
	CALL(seccomp, IO | WORKER, NEED(IMAGE), .nr_args = 2,
	     .arg = {{0, INT, SECCOMP_SET_MODE_FILTER},
		     {1, ~(uint64_t)SECCOMP_FILTER_FLAG_SPEC_ALLOW, 0}}),

	/* main: console and signals */
	CALL(epoll_ctl, MAIN),
	CALL(recvfrom, MAIN),
	CALL(sendto, MAIN, BITS(4, 0, ~0ULL)), /* to the peer that it has */
	CALL(kill, MAIN, .own = true, .nr_args = 2, .arg = {{0, INT, 0}, {1, INT, SIGSTOP}}),
	/* main: the end */
	IOCTL(MAIN, KVM_GET_REGS),
	IOCTL(MAIN, KVM_GET_SREGS),
	IOCTL(MAIN, KVM_TRANSLATE),
	CALL(close, MAIN),
	CALL(getrusage, MAIN, IS(0, RUSAGE_SELF)), /* --report */
	CALL(io_destroy, MAIN, NEED(AIO)),
	CALL(io_uring_register, MAIN, NEED(URING), IS(1, IORING_UNREGISTER_RING_FDS)),
	CALL(fcntl, MAIN, IS(1, F_GETFL)),
	CALL(fcntl, MAIN, IS(1, F_SETFL)),
	CALL(fcntl, MAIN, NEED(IMAGE), IS(1, F_OFD_SETLK)), /* the lock of an image goes first */
	CALL(fstat, MAIN),
	CALL(newfstatat, MAIN),
	CALL(lseek, MAIN),
	/* main: --stats and the like, whose directory is what Landlock leaves; a new file at that */
	CALL(openat, MAIN, NEED(FILE), BITS(2, O_CREAT | O_EXCL, 0)),
	CALL(umask, MAIN, NEED(FILE)),
	CALL(fchmod, MAIN, NEED(FILE)),
	CALL(rename, MAIN, NEED(FILE)),
	CALL(unlink, MAIN, NEED(FILE)),

	/* the C library, in any thread: memory (none that can be executed), time, the end */
	CALL(mmap, ALL, BITS(2, 0, PROT_EXEC)),
	CALL(mprotect, ALL, BITS(2, 0, PROT_EXEC)),
	CALL(munmap, ALL),
	CALL(mremap, ALL),
	CALL(madvise, ALL),
	CALL(brk, ALL),
	CALL(getrandom, ALL),
	CALL(clock_gettime, ALL), /* where the clock source is not the TSC */
	CALL(gettimeofday, ALL),
	CALL(time, ALL),
	CALL(sched_getaffinity, ALL),
	CALL(restart_syscall, ALL),
	CALL(rt_sigprocmask, ALL),
	CALL(rt_sigreturn, ALL),
	CALL(writev, ALL), /* its last words */
	CALL(exit, ALL),
	CALL(exit_group, ALL),
	CALL(getpid, ALL),
	CALL(gettid, ALL),
	CALL(tgkill, ALL, .own = true, IS(0, 0)),
	CALL(prctl, ALL, IS(0, PR_SET_NAME)),
	CALL(prctl, ALL, IS(0, PR_GET_NAME)),
	/* a crash, in any thread, puts the terminal back */
	CALL(rt_sigaction, ALL),
	CALL(getpgrp, ALL),
	IOCTL(ALL, TCGETS),
	IOCTL(ALL, TCSETS),
	IOCTL(ALL, GET_TERMIOS2),
	IOCTL(ALL, SET_TERMIOS2),
	IOCTL(ALL, TIOCGPGRP),
	CALL(poll, ALL), /* before a message, so that it does not wait */

#ifdef SANDBOX_INSTRUMENTED
	/* Instrumented builds: reports, and the search for leaks at the end. */
	CALL(sigaltstack, ALL),
	CALL(openat, ALL),
	CALL(open, ALL),
	CALL(close, ALL),
	CALL(readlink, ALL),
	CALL(fstat, ALL),
	CALL(newfstatat, ALL),
	CALL(stat, ALL),
	CALL(lseek, ALL),
	CALL(getdents, ALL),
	CALL(getdents64, ALL),
	CALL(getrlimit, ALL),
	CALL(prlimit64, ALL),
	CALL(getppid, ALL),
	CALL(clone, ALL),
	CALL(wait4, ALL),
	CALL(ptrace, ALL),
	CALL(prctl, ALL),
	CALL(pipe, ALL),
	CALL(pipe2, ALL),
	CALL(process_vm_readv, ALL),
#endif
};

const unsigned int sandbox_nr_calls = sizeof(sandbox_calls) / sizeof(sandbox_calls[0]);
