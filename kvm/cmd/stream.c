// SPDX-License-Identifier: GPL-2.0-only
/*
 * The host ends of the console.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream.h"

/* Where only poll() tells that there is room, it may tell of this little. */
#define TTY_POLLED_MAX 64

int stream__keep_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* the lowest free number is this one */
		if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return -errno;
	}
	return 0;
}

/* A pseudo-terminal master opened again is another terminal. */
static bool is_pty_master(int fd)
{
	unsigned int nr;

	return ioctl(fd, TIOCGPTN, &nr) == 0;
}

/* An open file description of our own, non-blocking; -1 where there can be none. */
static int open_again(int fd, bool output, bool tty)
{
	int mode = tty ? O_RDWR : output ? O_WRONLY : O_RDONLY;
	int flags = O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
	char path[32];
	int again;

	if (tty && is_pty_master(fd))
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, mode | flags);
	if (again < 0 && tty)
		again = open(path, (output ? O_WRONLY : O_RDONLY) | flags);
	return again;
}

static void open_waiting(struct stream *stream, int fd, bool output)
{
	int again = open_again(fd, output, stream->tty);

	stream->max = SSIZE_MAX;
	if (again >= 0) {
		stream->kind = STREAM_OWN;
		stream->fd = again;
		return;
	}
	stream->kind = STREAM_POLLED;
	stream->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	/* POSIX: a pipe that polls writable takes PIPE_BUF bytes */
	stream->max = stream->tty ? TTY_POLLED_MAX : PIPE_BUF;
}

void stream__open(struct stream *stream, int fd, bool output)
{
	struct stat st;
	int access;

	*stream = (struct stream) {.kind = STREAM_CLOSED, .fd = -1, .max = SSIZE_MAX};
	access = fcntl(fd, F_GETFL);
	if (access < 0 || fstat(fd, &st) < 0)
		return;
	access &= O_ACCMODE;
	if (access == (output ? O_RDONLY : O_WRONLY))
		return;
	stream->tty = S_ISCHR(st.st_mode) && isatty(fd);
	if (S_ISFIFO(st.st_mode) || stream->tty) {
		open_waiting(stream, fd, output);
	} else {
		stream->kind = S_ISSOCK(st.st_mode) ? STREAM_SOCKET : STREAM_PLAIN;
		stream->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	}
	if (stream->fd < 0)
		stream->kind = STREAM_CLOSED;
}

void stream__close(struct stream *stream)
{
	if (stream->fd >= 0)
		close(stream->fd);
	stream->fd = -1;
	stream->kind = STREAM_CLOSED;
}

static bool ready_now(int fd, short events)
{
	struct pollfd pfd = {.fd = fd, .events = events};

	return poll(&pfd, 1, 0) > 0;
}

static ssize_t result(ssize_t ret)
{
	if (ret >= 0)
		return ret;
	return errno == EINTR || errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

ssize_t stream__read(struct stream *stream, void *buf, size_t len)
{
	switch (stream->kind) {
	case STREAM_CLOSED:
		return 0;
	case STREAM_SOCKET:
		return result(recv(stream->fd, buf, len, MSG_DONTWAIT));
	case STREAM_POLLED:
		if (!ready_now(stream->fd, POLLIN))
			return -EAGAIN;
		break;
	default:
		break;
	}
	return result(read(stream->fd, buf, len));
}

ssize_t stream__write(struct stream *stream, const void *buf, size_t len)
{
	if (len > stream->max)
		len = stream->max;
	switch (stream->kind) {
	case STREAM_CLOSED:
		return -EPIPE;
	case STREAM_SOCKET:
		return result(send(stream->fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL));
	case STREAM_POLLED:
		if (!ready_now(stream->fd, POLLOUT))
			return -EAGAIN;
		break;
	default:
		break;
	}
	return result(write(stream->fd, buf, len));
}
