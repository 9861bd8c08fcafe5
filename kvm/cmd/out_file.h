/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_OUT_FILE_H
#define LKVM_CMD_OUT_FILE_H

#include <sys/stat.h>

#include "options.h"

/*
 * Is @path, an existing file with @st that @option would write, in use by the VM or by
 * lkvm's own output?  0, or -EINVAL with a line.
 */
int out_file__check(const char *option, const char *path, const struct stat *st,
		    const struct run_options *opts, struct lk_err *err);

#endif
