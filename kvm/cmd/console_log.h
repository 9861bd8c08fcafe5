/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_CONSOLE_LOG_H
#define LKVM_CMD_CONSOLE_LOG_H

#include <lkvm/log.h>

#include "options.h"

/*
 * --log: a copy of the console in a file, byte for byte, with the host's time (UTC,
 * microseconds) in front of each line: when its first byte was seen.  Main thread.
 */
struct console_log {
	const char *path; /* the caller's; NULL: none */
	int fd; /* -1: none, or given up */
	bool made; /* the file was not there before, and there is no VM yet */
	bool in_line;
	size_t len;
	char buf[8192];
};

/*
 * Open @path, or none where it is NULL, before a sandbox forbids that.  A file that is
 * there keeps what it has until console_log__start().  0 or -errno with a line.
 */
int console_log__open(struct console_log *log, const char *path, const struct run_options *opts,
		      struct lk_err *err);
/* The command line is good: what the file had goes. */
void console_log__start(struct console_log *log);
/* Never waits: a regular file or a device.  A failed write is told once, and ends the log. */
void console_log__write(struct console_log *log, struct log *messages, const void *buf, size_t len);
/* A file that was made for a command line that was no good goes with it. */
void console_log__close(struct console_log *log);

#endif
