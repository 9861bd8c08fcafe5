/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_X86_KERNEL_FILE_H
#define LKVM_X86_KERNEL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lkvm/boot.h>
#include <lkvm/err.h>

/* A kernel file while it is being looked at.  Internal to x86/. */
#define KERNEL_HEAD 4096

struct kernel_file {
	int fd;
	const char *path;
	uint64_t size;
	size_t head_len; /* bytes of head[] that the file has; the rest is zero */
	uint8_t head[KERNEL_HEAD];
};

/*
 * All of [@off, +@len), or -ENODATA where the file ends before that, or
 * -errno.  Plain pread(): a file that is cut meanwhile is an error here, while
 * a mapping of it would be SIGBUS.
 */
int kernel_file__read(int fd, void *buf, uint64_t len, uint64_t off);

/*
 * "PATH: reason" into @err, one line that fits whatever the path is: a long
 * path loses its beginning, control characters become '?'.  Returns @code.
 */
__attribute__((format(printf, 4, 5))) int
kernel_file__refuse(struct lk_err *err, int code, const char *path, const char *fmt, ...);

/* The first @len bytes at @off of the head equal @magic. */
bool kernel_file__has(const struct kernel_file *file, size_t off, const void *magic, size_t len);

/* kernel_bzimage.c, kernel_elf.c: is it this format; then check it and fill in @kernel. */
bool kernel_bzimage__is(const struct kernel_file *file);
int kernel_bzimage__parse(struct kernel *kernel, const struct kernel_file *file,
			  struct lk_err *err);
bool kernel_elf__is(const struct kernel_file *file);
int kernel_elf__parse(struct kernel *kernel, const struct kernel_file *file, struct lk_err *err);

/* kernel_ident.c: say what a file is that neither of them takes.  Always -ENOEXEC. */
int kernel_ident__refuse(const struct kernel_file *file, struct lk_err *err);

#endif
