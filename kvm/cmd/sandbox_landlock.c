// SPDX-License-Identifier: GPL-2.0-only
/*
 * Landlock (Documentation/userspace-api/landlock.rst): nothing can be opened,
 * made or removed, but for the files that --stats and the like write at the end.
 *
 * Each version of the interface knows more rights.  All that this kernel knows
 * are handled, which means refused where no rule gives them.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox.h"

/* What the headers of Linux 6.1 do not have yet. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)
#endif
#ifndef LANDLOCK_ACCESS_NET_BIND_TCP
#define LANDLOCK_ACCESS_NET_BIND_TCP (1ULL << 0)
#define LANDLOCK_ACCESS_NET_CONNECT_TCP (1ULL << 1)
#endif
#ifndef LANDLOCK_SCOPE_SIGNAL
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)
#define LANDLOCK_SCOPE_SIGNAL (1ULL << 1)
#endif

/* struct landlock_ruleset_attr as of version 6; older kernels take the beginning of it. */
struct attr {
	uint64_t fs, net, scoped;
};

#define ALL_OF_1 ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

/* What making a new file beside @file and putting it in its place takes. */
#define REPLACE                                                         \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
	 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE)

int sandbox_landlock__abi(void)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	return abi > 0 ? (int)abi : 0;
}

static int create(int abi)
{
	struct attr attr = {.fs = ALL_OF_1};
	size_t size = sizeof(attr.fs);
	long fd;

	if (abi >= 2)
		attr.fs |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		attr.fs |= LANDLOCK_ACCESS_FS_TRUNCATE;
	if (abi >= 4) {
		attr.net = LANDLOCK_ACCESS_NET_BIND_TCP | LANDLOCK_ACCESS_NET_CONNECT_TCP;
		size += sizeof(attr.net);
	}
	if (abi >= 5)
		attr.fs |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
	if (abi >= 6) {
		attr.scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL;
		size += sizeof(attr.scoped);
	}
	fd = syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	return fd < 0 ? -errno : (int)fd;
}

static int allow_directory(int ruleset, const char *dir, uint64_t access)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = access};
	int ret = 0;

	rule.parent_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (rule.parent_fd < 0)
		return -errno;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0))
		ret = -errno;
	close(rule.parent_fd);
	return ret;
}

/* A rule is for a directory: a name in it that does not exist yet has nothing to hold on to. */
static int allow_file(int ruleset, const char *file)
{
	char *copy = strdup(file);
	int ret;

	if (!copy)
		return -ENOMEM;
	ret = allow_directory(ruleset, dirname(copy), REPLACE);
	free(copy);
	return ret;
}

int sandbox_landlock__confine(int abi, const char *const *file, const char **bad)
{
	int ruleset = create(abi), ret = 0;

	*bad = NULL;
	if (ruleset < 0)
		return ruleset;
	for (unsigned int i = 0; i < SANDBOX_FILES && !ret; i++) {
		if (!file[i])
			continue;
		ret = allow_file(ruleset, file[i]);
		if (ret)
			*bad = file[i];
	}
#ifdef SANDBOX_INSTRUMENTED
	if (!ret)
		ret = allow_directory(ruleset, "/proc",
				      LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR);
#endif
	if (!ret && syscall(SYS_landlock_restrict_self, ruleset, 0))
		ret = -errno;
	close(ruleset);
	return ret;
}
