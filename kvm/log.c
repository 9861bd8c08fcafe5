/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages of lkvm itself. */
#include <lkvm/log.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <lkvm/timeline.h>

static const char *const prefix[] = {
	[LOG_LEVEL_ERROR] = "error: ",
	[LOG_LEVEL_WARNING] = "warning: ",
	[LOG_LEVEL_INFO] = "",
	[LOG_LEVEL_DEBUG] = "debug: ",
};

int log__init(struct log *log, enum log_level level)
{
	log->level = level;
	log->deferred = false;
	log->used = 0;
	log->dropped = 0;
	log->wakefd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (log->wakefd < 0)
		return -errno;
	pthread_mutex_init(&log->lock, NULL);
	return 0;
}

/* A terminal that polls writable may have room for little more, and newlines become two bytes. */
#define TTY_PIECE 64

/*
 * Write to stderr while it takes bytes, waiting @wait_ms altogether.  Pieces of
 * PIPE_BUF, for a pipe that polls writable takes that much without blocking.
 * Bytes written; all of them are "written" where stderr is gone for good.
 */
static size_t write_stderr(const char *buf, size_t len, int wait_ms)
{
	uint64_t deadline = timeline__now() + (uint64_t)wait_ms * 1000000;
	struct pollfd pfd = {.fd = STDERR_FILENO, .events = POLLOUT};
	size_t most = isatty(STDERR_FILENO) ? TTY_PIECE : PIPE_BUF;
	size_t done = 0, piece;
	uint64_t now;
	ssize_t n;

	while (done < len) {
		now = timeline__now();
		n = poll(&pfd, 1, now < deadline ? (int)((deadline - now) / 1000000) : 0);
		if (n == 0)
			break;
		if (n < 0 && errno == EINTR)
			continue;
		piece = len - done < most ? len - done : most;
		n = write(STDERR_FILENO, buf + done, piece);
		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && errno != EINTR && errno != EAGAIN)
			return len;
		else if (timeline__now() >= deadline)
			break;
	}
	return done;
}

/*
 * Move what the buffer holds to stderr.  The lock is not held while writing;
 * only the main thread takes bytes out, so the front stays in place meanwhile.
 */
static void drain(struct log *log, int wait_ms)
{
	unsigned long dropped;
	char copy[LOG_BUFFER_SIZE];
	size_t len, done;

	pthread_mutex_lock(&log->lock);
	len = log->used;
	memcpy(copy, log->buf, len);
	pthread_mutex_unlock(&log->lock);

	done = write_stderr(copy, len, wait_ms);

	pthread_mutex_lock(&log->lock);
	log->used -= done;
	memmove(log->buf, log->buf + done, log->used);
	dropped = log->used ? 0 : log->dropped;
	log->dropped -= dropped;
	pthread_mutex_unlock(&log->lock);

	if (dropped) {
		len = (size_t)snprintf(copy, sizeof(copy),
				       "lkvm: warning: %lu messages dropped here\n", dropped);
		write_stderr(copy, len, wait_ms);
	}
}

void log__flush(struct log *log)
{
	eventfd_t count;

	/* Cleared before the look at the buffer: what comes later wakes again. */
	eventfd_read(log->wakefd, &count);
	drain(log, 0);
}

void log__defer(struct log *log, bool on)
{
	pthread_mutex_lock(&log->lock);
	log->deferred = on;
	pthread_mutex_unlock(&log->lock);
	if (!on)
		drain(log, LOG_WAIT_MS);
}

void log__fini(struct log *log)
{
	log__defer(log, false);
	close(log->wakefd);
	log->wakefd = -1;
	pthread_mutex_destroy(&log->lock);
}

/* One message is one line of text, whatever a file name or a guest put into it. */
static size_t format_line(char *line, enum log_level level, const char *fmt, va_list ap)
{
	size_t len, i;
	int n;

	len = (size_t)snprintf(line, LOG_LINE_MAX, "lkvm: %s", prefix[level]);
	n = vsnprintf(line + len, LOG_LINE_MAX - len, fmt, ap);
	if (n > 0)
		len += (size_t)n;
	if (len > LOG_LINE_MAX - 1)
		len = LOG_LINE_MAX - 1;
	for (i = 0; i < len; i++) {
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	}
	line[len++] = '\n'; /* in place of the NUL */
	return len;
}

/* True where the message was taken care of: stored, or counted as dropped. */
static bool append(struct log *log, const char *line, size_t len)
{
	bool deferred, wake = false;

	pthread_mutex_lock(&log->lock);
	deferred = log->deferred;
	if (deferred && len <= sizeof(log->buf) - log->used) {
		memcpy(log->buf + log->used, line, len);
		log->used += len;
		wake = true;
	} else if (deferred) {
		log->dropped++;
	}
	pthread_mutex_unlock(&log->lock);
	/* Full only after 2^64 - 2 messages without a flush. */
	if (wake)
		eventfd_write(log->wakefd, 1);
	return deferred;
}

void log__msg(struct log *log, enum log_level level, const char *fmt, ...)
{
	char line[LOG_LINE_MAX];
	va_list ap;
	size_t len;

	if (!log || level > log->level)
		return;
	va_start(ap, fmt);
	len = format_line(line, level, fmt, ap);
	va_end(ap);
	if (!append(log, line, len))
		write_stderr(line, len, LOG_WAIT_MS);
}
