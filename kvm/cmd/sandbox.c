// SPDX-License-Identifier: GPL-2.0-only
/* The sandbox: its steps, and what is said where the host or the build lacks a part. */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <lkvm/timeline.h>

#include "sandbox.h"

#define container(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* The thread itself.  One that would go on unconfined must not go on. */
static void thread_started(struct thread_hook *hook, enum thread_kind kind)
{
	struct sandbox *sb = container(hook, struct sandbox, hook);
	int ret = sandbox_filter__load(sb, kind);

	if (ret)
		sandbox_trap__give_up(sb, ret);
}

/* Missing parts: a warning, or an error where all of them were asked for. */
static int lacks(const struct sandbox *sb, struct log *log, const char *what, struct lk_err *err)
{
	if (sb->mode == SANDBOX_REQUIRE)
		return lk_err__set(err, -ENOTSUP,
				   "--sandbox require: %s; --sandbox on takes what there is", what);
	log__warn(log,
		  "sandbox: %s; the rest of it is in force (--sandbox-off: no sandbox, and "
		  "no such line)",
		  what);
	return 0;
}

static int files_up(struct sandbox *sb, struct log *log, struct lk_err *err)
{
	const char *bad;
	int ret;

	sb->abi = sandbox_landlock__abi();
	if (!sb->abi)
		return lacks(sb, log,
			     "no Landlock here: the kernel is older than 5.13, built without it or "
			     "started without it (lsm=), or a container hides it",
			     err);
	ret = sandbox_landlock__confine(sb->abi, sb->file, &bad);
	if (ret)
		return lk_err__set(err, ret,
				   "sandbox: Landlock refuses%s%s: %s; --sandbox-off does without",
				   bad ? " the directory of " : "", bad ? bad : "", strerror(-ret));
	return 0;
}

static int filters_up(struct sandbox *sb, struct log *log, struct lk_err *err)
{
	const char *missing = sandbox_filter__missing();
	int ret;

	if (missing)
		return lacks(sb, log, missing, err);
	ret = sandbox_filter__build(sb);
	if (ret)
		return lk_err__set(err, ret, "sandbox: libseccomp: %s; --sandbox-off does without",
				   strerror(-ret));
	sandbox_trap__set(sb);
	return 0;
}

static int rights_up(struct lk_err *err)
{
	int ret = sandbox_rights__fix();

	if (!ret)
		ret = sandbox_rights__drop();
	return ret ? lk_err__set(
			     err, ret,
			     "sandbox: cannot give up privileges: %s; --sandbox-off does without",
			     strerror(-ret))
		   : 0;
}

int sandbox__up(struct sandbox *sb, struct log *log, struct lk_err *err)
{
	uint64_t start = timeline__now();
	int ret;

	if (sb->mode == SANDBOX_OFF)
		return 0;
	/* the C library looks for the time zone at the first gmtime_r(), in a vCPU's RTC */
	tzset();
	ret = rights_up(err);
	if (!ret)
		ret = files_up(sb, log, err);
	if (!ret)
		ret = filters_up(sb, log, err);
	if (ret) {
		sandbox__down(sb);
		return ret;
	}
	sb->hook.started = thread_started;
	log__debug(log,
		   "sandbox: Landlock version %d; filters of %u, %u, %u and %u instructions for "
		   "main, vCPU, I/O and worker threads; made in %u us",
		   sb->abi, sb->filter[THREAD_MAIN].len, sb->filter[THREAD_VCPU].len,
		   sb->filter[THREAD_IO].len, sb->filter[THREAD_WORKER].len,
		   (unsigned int)((timeline__now() - start) / 1000));
	return 0;
}

void sandbox__down(struct sandbox *sb)
{
	sandbox_filter__free(sb);
}
