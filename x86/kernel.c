// SPDX-License-Identifier: GPL-2.0-only
/* Open a kernel file, find out what it is by its content, hand it to the parser. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lkvm/boot.h>

#include "kernel_file.h"

static const char *mode_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFIFO:
		return "a pipe (FIFO)";
	case S_IFSOCK:
		return "a socket";
	case S_IFCHR:
		return "a character device";
	case S_IFBLK:
		return "a block device";
	default:
		return "not a regular file";
	}
}

/* O_NONBLOCK: opening a FIFO must not wait for somebody to write to it. */
static int open_file(struct kernel_file *file, struct lk_err *err)
{
	struct stat st;

	file->fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file->fd < 0) {
		int ret = -errno;

		return kernel_file__refuse(err, ret, file->path,
					   "cannot open the kernel: %s; "
					   "give a readable bzImage or ELF vmlinux with -k",
					   strerror(-ret));
	}
	if (fstat(file->fd, &st) < 0) {
		int ret = -errno;

		return kernel_file__refuse(err, ret, file->path, "fstat: %s", strerror(-ret));
	}
	if (!S_ISREG(st.st_mode))
		return kernel_file__refuse(err, -EINVAL, file->path,
					   "is %s, a kernel has to be a regular file; "
					   "give a bzImage or an ELF vmlinux",
					   mode_name(st.st_mode));
	if (st.st_size == 0)
		return kernel_file__refuse(err, -ENOEXEC, file->path,
					   "is an empty file; give a bzImage or an ELF vmlinux");
	file->size = st.st_size;
	return 0;
}

static int read_head(struct kernel_file *file, struct lk_err *err)
{
	int ret;

	memset(file->head, 0, sizeof(file->head));
	file->head_len = file->size < KERNEL_HEAD ? file->size : KERNEL_HEAD;
	ret = kernel_file__read(file->fd, file->head, file->head_len, 0);
	if (ret == -ENODATA)
		return kernel_file__refuse(err, ret, file->path,
					   "got shorter while it was being read; "
					   "try again when it is complete");
	if (ret < 0)
		return kernel_file__refuse(err, ret, file->path, "cannot read: %s", strerror(-ret));
	return 0;
}

static int parse(struct kernel *kernel, struct kernel_file *file, struct lk_err *err)
{
	int ret = open_file(file, err);

	if (ret < 0)
		return ret;
	ret = read_head(file, err);
	if (ret < 0)
		return ret;
	if (kernel_elf__is(file))
		return kernel_elf__parse(kernel, file, err);
	if (kernel_bzimage__is(file))
		return kernel_bzimage__parse(kernel, file, err);
	return kernel_ident__refuse(file, err);
}

int kernel__open(struct kernel *kernel, const char *path, struct lk_err *err)
{
	struct kernel_file file = {.fd = -1, .path = path};
	int ret;

	memset(kernel, 0, sizeof(*kernel));
	kernel->fd = -1;
	kernel->path = path;
	ret = parse(kernel, &file, err);
	if (ret < 0) {
		if (file.fd >= 0)
			close(file.fd);
		return ret;
	}
	kernel->fd = file.fd;
	return 0;
}

void kernel__close(struct kernel *kernel)
{
	if (kernel->fd >= 0)
		close(kernel->fd);
	kernel->fd = -1;
}
