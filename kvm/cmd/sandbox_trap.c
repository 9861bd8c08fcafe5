// SPDX-License-Identifier: GPL-2.0-only
/*
 * A refused system call: the filter makes it a SIGSYS in the thread that made it
 * (seccomp(2), SECCOMP_RET_TRAP).  The call fails with EPERM, the first of them is
 * noted, and the main thread's loop is told to end, so that the VM goes down in the
 * ordinary way, with the terminal put back and --stats written.  Where refusals
 * do not stop the thread is out of control, and the process ends at once.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "cmd.h"
#include "sandbox.h"

#define REFUSALS_MAX 64

#ifndef SYS_SECCOMP /* si_code, asm-generic/siginfo.h */
#define SYS_SECCOMP 1
#endif

/*
 * A mutable variable of file scope, as in term.c: a signal handler gets no argument
 * of ours.  Set in the main thread before any filter; the handler only reads it.
 */
static struct sandbox *volatile watched;

/*
 * What the C library reads on its own, where it is content without: limits for
 * giving memory back to the kernel, and the number of CPUs for the number of
 * arenas.  No fault of anybody.
 */
static bool is_library(int nr, const greg_t *regs)
{
	static const char *const paths[] = {
		"/proc/sys/vm/overcommit_memory",
		"/sys/devices/system/cpu/online",
		"/sys/devices/system/cpu/possible",
		"/proc/stat",
		"/proc/cpuinfo",
	};
	const char *path = (const char *)(nr == SYS_openat ? regs[REG_RSI] : regs[REG_RDI]);

	if (nr != SYS_openat && nr != SYS_open)
		return false;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		if (!strcmp(path, paths[i]))
			return true;
	return false;
}

/* The main thread is called as the process is. */
static void name_self(char *name)
{
	if (gettid() == getpid())
		strcpy(name, "main");
	else
		prctl(PR_GET_NAME, name);
}

static void note(struct sandbox_refusal *refusal, int nr, const greg_t *regs)
{
	int none = 0;

	if (!atomic_compare_exchange_strong(&refusal->state, &none, 1))
		return;
	refusal->nr = nr;
	refusal->arg = (uint64_t)regs[REG_RSI];
	name_self(refusal->thread);
	atomic_store_explicit(&refusal->state, 2, memory_order_release);
}

static char *put_text(char *at, const char *text)
{
	return stpcpy(at, text);
}

static char *put_number(char *at, unsigned int n)
{
	char digits[12], *d = digits + sizeof(digits);

	*--d = '\0';
	do {
		*--d = (char)('0' + n % 10);
	} while (n /= 10);
	return stpcpy(at, d);
}

/* Async-signal-safe, as the handler has to be. */
_Noreturn static void end_now(const struct sandbox *sb, const char *what, unsigned int n,
			      int status)
{
	struct pollfd pfd = {.fd = STDERR_FILENO, .events = POLLOUT};
	char line[160], name[16] = "", *at = line;

	name_self(name);
	if (sb->term)
		term__restore(sb->term);
	at = put_text(at, "lkvm: sandbox: thread ");
	at = put_text(at, name);
	at = put_text(at, what);
	at = put_number(at, n);
	*at++ = '\n';
	/* a reader that stalls must not keep the process */
	if (poll(&pfd, 1, LOG_WAIT_MS) > 0 && write(STDERR_FILENO, line, at - line) < 0)
		_exit(status);
	_exit(status);
}

static void on_refusal(int sig, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	struct sandbox *sb = watched;
	uint64_t one = 1;
	int err = errno;

	if (!sb || info->si_code != SYS_SECCOMP) {
		/* sent by somebody */
		signal(sig, SIG_DFL);
		raise(sig);
		return;
	}
	if (is_library(info->si_syscall, regs)) {
		regs[REG_RAX] = -EACCES;
		return;
	}
	note(&sb->refusal, info->si_syscall, regs);
	if (atomic_fetch_add(&sb->refusal.count, 1) >= REFUSALS_MAX)
		end_now(sb, " does not stop making refused system calls, such as number ",
			(unsigned int)info->si_syscall, STATUS_SANDBOX);
	if (write(sb->endfd, &one, sizeof(one)) < 0)
		end_now(sb, ": refused system call, number ", (unsigned int)info->si_syscall,
			STATUS_SANDBOX);
	regs[REG_RAX] = -EPERM;
	errno = err;
}

void sandbox_trap__set(struct sandbox *sb)
{
	struct sigaction act = {.sa_sigaction = on_refusal, .sa_flags = SA_SIGINFO | SA_ONSTACK};

	watched = sb;
	sigemptyset(&act.sa_mask);
	sigaction(SIGSYS, &act, NULL);
}

void sandbox_trap__give_up(const struct sandbox *sb, int code)
{
	end_now(sb, ": cannot be confined, errno ", (unsigned int)-code, STATUS_START);
}

void sandbox__forget(struct sandbox *sb)
{
	if (watched == sb)
		watched = NULL;
}

bool sandbox__refused(struct sandbox *sb)
{
	struct sandbox_refusal *r = &sb->refusal;
	char *name;

	if (atomic_load_explicit(&r->state, memory_order_acquire) != 2)
		return false;
	if (sb->told)
		return true;
	sb->told = true;
	name = sandbox_filter__name(r->nr);
	fprintf(stderr, "lkvm: sandbox: thread %s: system call %s (%d)", r->thread,
		name ? name : "unknown", r->nr);
	if (r->nr == SYS_ioctl)
		fprintf(stderr, ", request %#x,", (unsigned int)r->arg);
	fprintf(stderr, " is refused, and the VM was ended; please report it, --sandbox-off does "
			"without\n");
	free(name);
	return true;
}
