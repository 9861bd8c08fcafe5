// SPDX-License-Identifier: GPL-2.0-only
/* Where a kernel is looked for when none is named, as in kvmtool. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "kernel_find.h"

int kernel_find(char *path, size_t size, struct lk_err *err)
{
	struct utsname uts;
	char boot[80];
	const char *places[] = {"./bzImage", "arch/x86/boot/bzImage", boot};
	size_t i;

	if (uname(&uts))
		return lk_err__set(err, -errno, "uname: %s", strerror(errno));
	snprintf(boot, sizeof(boot), "/boot/vmlinuz-%.64s", uts.release);
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (access(places[i], R_OK))
			continue;
		if ((size_t)snprintf(path, size, "%s", places[i]) >= size)
			return -ENAMETOOLONG;
		return 0;
	}
	return lk_err__set(err, -ENOENT,
			   "no kernel named, and none readable at %s, %s or %s; give one with -k "
			   "FILE",
			   places[0], places[1], places[2]);
}
