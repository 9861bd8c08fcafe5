/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_PARAMS_H
#define LKVM_CMD_PARAMS_H

#include <stddef.h>

#include <lkvm/err.h>

#include "options.h"

/*
 * The kernel command line: console=ttyS0 reboot=k panic=1, root=/dev/vda rw
 * where there is a disk and the user names no root=, then what -p says.
 * With --nodefaults -p alone.  -E2BIG where it does not fit @size.
 */
int params__build(char *buf, size_t size, const struct run_options *opts, struct lk_err *err);

#endif
