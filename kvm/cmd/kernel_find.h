/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_KERNEL_FIND_H
#define LKVM_CMD_KERNEL_FIND_H

#include <stddef.h>

#include <lkvm/err.h>

/* The first readable of the usual places into @path; -ENOENT lists what was tried. */
int kernel_find(char *path, size_t size, struct lk_err *err);

#endif
