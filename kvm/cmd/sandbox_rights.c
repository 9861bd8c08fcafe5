// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rights of the process: no new ones, and no capabilities (capabilities(7)).
 *
 * What root's are good for before: files that others cannot open, more open files
 * (CAP_SYS_RESOURCE), io_uring memory beyond ulimit -l (CAP_IPC_LOCK, which
 * counts when a ring is made).  Afterwards one thing is left: an I/O thread that
 * has lowered its own priority takes it back (virtio/blk_run.c).  RLIMIT_NICE
 * allows just that.
 */
#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef CLOSE_RANGE_CLOEXEC /* linux/close_range.h, 5.11 */
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

#define NICE_LIMIT 20 /* getrlimit(2): the ceiling is 20 - rlim_cur */

int sandbox_rights__fix(void)
{
	/*
	 * lkvm's own have it from the start; this is for those that it inherited.  An
	 * older kernel lacks the call, and execve is refused anyway.
	 */
	syscall(SYS_close_range, 0U, ~0U, CLOSE_RANGE_CLOEXEC);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : 0;
}

/* Down to where we are.  Who may not raise the limit could not do it before either. */
static void allow_own_nice(void)
{
	rlim_t own = NICE_LIMIT - getpriority(PRIO_PROCESS, 0);
	struct rlimit limit;

	if (getrlimit(RLIMIT_NICE, &limit) || limit.rlim_cur >= own)
		return;
	limit.rlim_cur = own;
	if (limit.rlim_max < own)
		limit.rlim_max = own;
	setrlimit(RLIMIT_NICE, &limit);
}

int sandbox_rights__drop(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3];
	unsigned int i, any = 0;

	if (syscall(SYS_capget, &header, set))
		return -errno;
	for (i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		any |= set[i].permitted | set[i].inheritable;
	if (!any)
		return 0;
	allow_own_nice();
	for (i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		set[i] = (struct __user_cap_data_struct) {0};
	/* ambient ones go with the permitted; without new privileges the bounding set is idle */
	return syscall(SYS_capset, &header, set) ? -errno : 0;
}
