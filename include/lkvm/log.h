/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_LOG_H
#define LKVM_LOG_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Messages of lkvm itself.  Any thread may log.  A vCPU or I/O thread must not
 * write to a terminal or pipe that can stall, so while the VM runs a message
 * is only appended to a bounded buffer, and the main thread writes the buffer
 * to stderr; when the buffer is full further messages are counted and dropped.
 * A reader of stderr that stalls delays the main thread by LOG_WAIT_MS a
 * message at most, and not at all in log__flush().  SIGPIPE is ignored by the
 * command.
 */
enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

#define LOG_BUFFER_SIZE 16384
#define LOG_LINE_MAX 1024 /* longer messages are cut */
#define LOG_WAIT_MS 200

struct log {
	pthread_mutex_t lock; /* held for a copy, never across a system call */
	enum log_level level; /* constant after log__init() */
	int wakefd; /* eventfd, readable: log__flush() has something to do */
	bool deferred;
	size_t used;
	unsigned long dropped;
	char buf[LOG_BUFFER_SIZE];
};

/* Main thread, before any other call.  0 or -errno. */
int log__init(struct log *log, enum log_level level);
void log__fini(struct log *log);

/*
 * Main thread: from now on (@on) messages wait in the buffer until
 * log__flush().  @on false flushes and returns to direct writing.
 */
void log__defer(struct log *log, bool on);

/*
 * Main thread: clear wakefd and write as much of the buffer as stderr takes
 * without waiting.  What is left goes out with the next flush.
 */
void log__flush(struct log *log);

/*
 * Any thread.  @fmt without the final newline; control characters become '?'.
 * log may be NULL: nothing is done.
 */
__attribute__((format(printf, 3, 4))) void log__msg(struct log *log, enum log_level level,
						    const char *fmt, ...);

#define log__error(log, ...) log__msg(log, LOG_LEVEL_ERROR, __VA_ARGS__)
#define log__warn(log, ...) log__msg(log, LOG_LEVEL_WARNING, __VA_ARGS__)
#define log__info(log, ...) log__msg(log, LOG_LEVEL_INFO, __VA_ARGS__)
#define log__debug(log, ...) log__msg(log, LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
