// SPDX-License-Identifier: GPL-2.0-only
/*
 * Filters for the kinds of threads, made from the table by libseccomp before any
 * thread is started (it allocates memory), and loaded by each thread itself.
 *
 * The kernel (5.11 and later) keeps a bitmap of the calls that a filter allows
 * whatever their arguments are; for those, which are all of the I/O threads' and
 * the workers', it costs next to nothing.  To fill it the kernel runs the filter once
 * for each call there is: as a tree (optimization 2) that takes half of the time that
 * a list takes, and for the one that is run in the end, KVM_RUN, it is as good.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox.h"

#ifdef HAVE_LIBSECCOMP
#include <seccomp.h>

static int add(scmp_filter_ctx ctx, const struct sandbox_call *call)
{
	struct scmp_arg_cmp args[2];
	unsigned int i;

	for (i = 0; i < call->nr_args; i++)
		args[i] = (struct scmp_arg_cmp) {
			.arg = call->arg[i].nr,
			.op = SCMP_CMP_MASKED_EQ,
			.datum_a = call->arg[i].mask,
			.datum_b = i == 0 && call->own ? (uint64_t)getpid() : call->arg[i].value,
		};
	return seccomp_rule_add_array(ctx, SCMP_ACT_ALLOW, call->nr, call->nr_args, args);
}

static int add_all(scmp_filter_ctx ctx, enum thread_kind kind, unsigned int needs)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < sandbox_nr_calls && !ret; i++) {
		const struct sandbox_call *call = &sandbox_calls[i];

		if (!(call->kinds & 1U << kind) || (call->needs && !(call->needs & needs)))
			continue;
		ret = add(ctx, call);
	}
	/* its flags are in memory, where no filter can look: the library then calls clone */
	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return ret;
}

/* Out of libseccomp, by way of @memfd, which it wants to write to. */
static int export(scmp_filter_ctx ctx, int memfd, struct sandbox_filter *filter)
{
	off_t start = lseek(memfd, 0, SEEK_CUR), size;
	int ret = seccomp_export_bpf(ctx, memfd);

	if (ret)
		return ret;
	size = lseek(memfd, 0, SEEK_CUR) - start;
	filter->code = malloc(size);
	if (!filter->code)
		return -ENOMEM;
	filter->len = size / sizeof(*filter->code);
	return pread(memfd, filter->code, size, start) == size ? 0 : -EIO;
}

static int build(struct sandbox *sb, enum thread_kind kind, int memfd)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_TRAP);
	int ret;

	if (!ctx)
		return -ENOMEM;
	/* calls of another architecture, such as 32-bit ones */
	ret = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_TRAP);
	if (!ret)
		ret = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!ret)
		ret = add_all(ctx, kind, sb->needs);
	if (!ret)
		ret = export(ctx, memfd, &sb->filter[kind]);
	seccomp_release(ctx);
	return ret;
}

int sandbox_filter__build(struct sandbox *sb)
{
	int memfd = memfd_create("lkvm-filters", MFD_CLOEXEC), ret = 0;

	if (memfd < 0)
		return -errno;
	for (unsigned int kind = 0; kind < THREAD_KINDS && !ret; kind++)
		if (kind != THREAD_WORKER || (sb->needs & SANDBOX_NEED_IMAGE))
			ret = build(sb, kind, memfd);
	close(memfd);
	return ret;
}

char *sandbox_filter__name(int nr)
{
	return seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, nr);
}

const char *sandbox_filter__missing(void)
{
	unsigned int action = SECCOMP_RET_TRAP;

	/* EINVAL: older than the question (4.14), but there */
	if (!syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) || errno == EINVAL)
		return NULL;
	return "no system call filters here: the kernel is built without seccomp, or a container "
	       "hides it";
}

#else

int sandbox_filter__build(struct sandbox *sb)
{
	(void)sb;
	return -ENOSYS;
}

char *sandbox_filter__name(int nr)
{
	(void)nr;
	return NULL;
}

const char *sandbox_filter__missing(void)
{
	return "no system call filters: this lkvm was built without libseccomp";
}

#endif

void sandbox_filter__free(struct sandbox *sb)
{
	for (unsigned int i = 0; i < THREAD_KINDS; i++) {
		free(sb->filter[i].code);
		sb->filter[i] = (struct sandbox_filter) {0};
	}
}

/*
 * SPEC_ALLOW: kernels before 5.16 otherwise switch a speculation off in every
 * thread that has a filter, at some cost.  It protects code that runs in the same
 * address space as what it is not to see; nothing here does.
 */
int sandbox_filter__load(const struct sandbox *sb, enum thread_kind kind)
{
	const struct sandbox_filter *filter = &sb->filter[kind];
	struct sock_fprog prog = {.len = (unsigned short)filter->len, .filter = filter->code};

	if (!filter->code)
		return 0;
	if (!syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &prog))
		return 0;
	if (errno != EINVAL) /* older than the flag: 4.17 */
		return -errno;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) ? -errno : 0;
}
