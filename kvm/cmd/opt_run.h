/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_OPT_RUN_H
#define LKVM_CMD_OPT_RUN_H

#include "options.h"

/* One option of lkvm run: what getopt_long() and the help text are made from. */
struct option_row {
	char letter; /* 0: long form alone */
	const char *name;
	const char *arg; /* NULL: takes none */
	int (*set)(struct run_options *opts, const char *arg, struct lk_err *err);
	const char *help;
};

#define OPTION_MAX_ROWS 64

extern const struct option_row option_rows[];
extern const size_t option_nr_rows;

/*
 * @arg for an option that may be given once alone, named as the user writes it.
 * 0 or -EINVAL.
 */
int option__set_once(const char **slot, const char *option, const char *arg, struct lk_err *err);
/* A bare argument is the kernel. */
int option__set_kernel(struct run_options *opts, const char *arg, struct lk_err *err);

#endif
