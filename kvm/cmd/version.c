// SPDX-License-Identifier: GPL-2.0-only
/* lkvm version */
#include <stdio.h>

#include <linux/kvm.h>

#include "cmd.h"

#ifndef LKVM_VERSION
#define LKVM_VERSION "unknown"
#endif

#ifdef HAVE_LIBURING
#define HAVE_URING 1
#else
#define HAVE_URING 0
#endif

#ifdef HAVE_LIBSECCOMP
#define HAVE_FILTERS 1
#else
#define HAVE_FILTERS 0
#endif

void cmd_version__help(FILE *out)
{
	fprintf(out, "Usage: lkvm version\n\n"
		     "Prints the version, the compiler, and what is built in of I/O engines and "
		     "sandbox.\n");
}

const char *cmd_version__text(void)
{
	return LKVM_VERSION;
}

int cmd_version(int argc, char **argv, struct timeline *tl)
{
	(void)argv;
	(void)tl;
	if (argc > 1) {
		fprintf(stderr, "lkvm: version takes no arguments\n");
		return STATUS_START;
	}
	printf("lkvm %s\n", LKVM_VERSION);
	printf("compiler  %s\n", __VERSION__);
	printf("KVM API   %d\n", KVM_API_VERSION);
	printf("engines   aio (libaio), uring (%s), threads, null\n",
	       HAVE_URING ? "liburing" : "not built in: no liburing");
	printf("sandbox   Landlock, seccomp (%s)\n",
	       HAVE_FILTERS ? "libseccomp" : "not built in: no libseccomp");
	return STATUS_OK;
}
