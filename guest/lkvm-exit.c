// SPDX-License-Identifier: GPL-2.0-only
/*
 * lkvm-exit N: ends the VM from inside; N, 0 to 99, becomes the exit status of lkvm
 * run.  Static, for any image; takes root (ioperm(2)) in a guest of lkvm.  Nothing is
 * written back or unmounted: sync first.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <unistd.h>

#define EXIT_PORT 0xf4 /* X86_PORT_EXIT of lkvm */
#define STATUS_MAX 99
#define FAILED 125 /* none of the guest's own */

static int fail(const char *what)
{
	fprintf(stderr, "lkvm-exit: %s\n", what);
	return FAILED;
}

int main(int argc, char **argv)
{
	char *end;
	long status;

	if (argc != 2)
		return fail("give one number from 0 to 99");
	errno = 0;
	status = strtol(argv[1], &end, 10);
	if (errno || end == argv[1] || *end || status < 0 || status > STATUS_MAX)
		return fail("the status is no number from 0 to 99");
	if (ioperm(EXIT_PORT, 1, 1)) {
		fprintf(stderr, "lkvm-exit: port %#x: %s; run it as root\n", EXIT_PORT,
			strerror(errno));
		return FAILED;
	}
	outb((unsigned char)status, EXIT_PORT);
	/* the VM ends with the write, so this is no guest of lkvm; or it is about to end */
	sleep(5);
	return fail("the machine goes on: it is no guest of lkvm");
}
