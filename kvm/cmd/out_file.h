/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_OUT_FILE_H
#define LKVM_CMD_OUT_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "options.h"

/* Do two names mean one regular file, there or to be made?  NULL means none. */
bool out_file__same(const char *a, const char *b);

/*
 * Is @path, an existing file with @st that @option would write, in use by the VM or by
 * lkvm's own output?  0, or -EINVAL with a line.
 */
int out_file__check(const char *option, const char *path, const struct stat *st,
		    const struct run_options *opts, struct lk_err *err);

/*
 * Where a text goes: into a new file beside @path, which takes its place,
 * so that a reader finds the old text or the new one, whole.  The new file is
 * there for the moment of writing alone: a VM that is killed leaves none.  What
 * is no regular file (a pipe, /dev/stdout) is opened at once and written to as it
 * is.
 */
struct out_file {
	const char *option; /* "--stats", for messages */
	const char *path; /* as given */
	char *target; /* what is replaced: links followed; NULL: not a regular file */
	FILE *out; /* what is no regular file; else NULL */
};

/* Between out_file__open() and the end. */
static inline bool out_file__is_open(const struct out_file *file)
{
	return file->target || file->out;
}

/* What goes in.  @put: errors show in ferror(out). */
struct out_text {
	void (*put)(FILE *out, const void *arg);
	const void *arg;
};

/*
 * Before the guest starts.  Refused: what cannot be created or written, and what
 * the VM reads.  0 or -errno with one line, and nothing is left behind.
 */
int out_file__open(struct out_file *file, const char *option, const char *path,
		   const struct run_options *opts, struct lk_err *err);
/* Write and put in place.  0 or -errno with one line.  The file is closed in both cases. */
int out_file__write(struct out_file *file, const struct out_text *text, struct lk_err *err);
/* Close; leave things as they were.  Not open: nothing. */
void out_file__discard(struct out_file *file);

#endif
