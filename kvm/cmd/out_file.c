// SPDX-License-Identifier: GPL-2.0-only
/* Files that options name for output. */
#include <errno.h>
#include <unistd.h>

#include "out_file.h"

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool same_file(const struct stat *st, const char *path)
{
	struct stat other;

	return path && !stat(path, &other) && same_inode(st, &other);
}

static bool is_output(const struct stat *st)
{
	struct stat out;

	return (!fstat(STDOUT_FILENO, &out) && same_inode(st, &out)) ||
	       (!fstat(STDERR_FILENO, &out) && same_inode(st, &out));
}

/* A slip of the hand must not cost an image, nor the output that goes to a file. */
int out_file__check(const char *option, const char *path, const struct stat *st,
		    const struct run_options *opts, struct lk_err *err)
{
	bool used = same_file(st, opts->kernel) || same_file(st, opts->initrd);

	for (unsigned int i = 0; i < opts->nr_disks; i++)
		used = used || (!opts->disk[i].null && same_file(st, opts->disk[i].path));
	if (used)
		return lk_err__set(err, -EINVAL,
				   "%s %s: the VM itself uses this file; name another", option,
				   path);
	if (is_output(st))
		return lk_err__set(err, -EINVAL,
				   "%s %s: the output of lkvm goes to this file; name another",
				   option, path);
	return 0;
}
