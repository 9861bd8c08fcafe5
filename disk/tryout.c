/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls that a seccomp filter may answer with the end of the process: a
 * child tries them first.  It costs a fork, so only where there is a filter.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine.h"

/* prctl(PR_GET_SECCOMP) is itself a call that a filter may not like. */
bool disk_tryout__filtered(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	unsigned int mode = 0;

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f) && sscanf(line, "Seccomp: %u", &mode) != 1)
		;
	fclose(f);
	return mode != 0;
}

__attribute__((noreturn)) static void child(void (*calls)(void), int fd)
{
	struct rlimit none = {0, 0};

	setrlimit(RLIMIT_CORE, &none); /* its death is no news */
	calls();
	_exit(write(fd, "", 1) != 1);
}

/* A byte in the pipe, not a wait status: who ignores SIGCHLD gets none. */
int disk_tryout__survives(void (*calls)(void))
{
	int fd[2], rc = 0;
	ssize_t n;
	char byte;
	pid_t pid;

	if (pipe2(fd, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid)
		child(calls, fd[1]);
	if (pid < 0)
		rc = -errno;
	close(fd[1]);
	if (!rc) {
		do {
			n = read(fd[0], &byte, 1);
		} while (n < 0 && errno == EINTR);
		rc = n == 1 ? 0 : -EPERM;
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(fd[0]);
	return rc;
}
