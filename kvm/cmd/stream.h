/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_STREAM_H
#define LKVM_CMD_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * One end of the console on the host: a pipe, socket, terminal, file or device
 * that is read or written without ever waiting, and without O_NONBLOCK on an
 * open file description that other processes share (the shell's terminal, the
 * other programs of a pipeline).
 *
 *  - pipes and terminals: opened once more through /proc/self/fd, so that the
 *    non-blocking one is ours alone;
 *  - sockets: MSG_DONTWAIT;
 *  - files and devices that epoll does not know (it gives EPERM): plain calls,
 *    they do not stall;
 *  - a pipe or terminal that cannot be opened again: poll first, then few bytes.
 */
enum stream_kind {
	STREAM_CLOSED, /* nothing there, or its end: reads give the end, writes EPIPE */
	STREAM_PLAIN,
	STREAM_SOCKET,
	STREAM_OWN,
	STREAM_POLLED,
};

struct stream {
	enum stream_kind kind;
	int fd; /* ours, close-on-exec; -1: closed */
	bool tty;
	size_t max; /* bytes to write at once */
};

/*
 * The first thing in a run.  Where descriptor 0, 1 or 2 is closed, the next file
 * to be opened would get its number: console output and messages would go into
 * a disk image.  It gets /dev/null, opened for the other direction, so that it
 * still reads and writes like a closed one.  0 or -errno.
 */
int stream__keep_standard(void);

/* @fd stays the caller's.  A bad descriptor gives a closed stream.  Main thread. */
void stream__open(struct stream *stream, int fd, bool output);
void stream__close(struct stream *stream);

/* Bytes, 0: end (read), -EAGAIN: not now, wait with epoll; another -errno: it is gone. */
ssize_t stream__read(struct stream *stream, void *buf, size_t len);
ssize_t stream__write(struct stream *stream, const void *buf, size_t len);

#endif
