// SPDX-License-Identifier: GPL-2.0-only
/*
 * The console's copy in a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "console_log.h"
#include "out_file.h"

#define STAMP_SIZE 32 /* "2026-01-31T23:59:59.123456Z " */

static int cannot_open(const char *path, int code, struct lk_err *err)
{
	return lk_err__set(err, code,
			   "--log %s: %s; name a file in a directory that can be written to", path,
			   strerror(-code));
}

/* What exists: an image must not be lost, and a FIFO or terminal would make the VM wait. */
static int check(const char *path, const struct stat *st, const struct run_options *opts,
		 struct lk_err *err)
{
	if (!S_ISREG(st->st_mode) && !S_ISCHR(st->st_mode))
		return lk_err__set(err, -EINVAL,
				   "--log %s: neither a regular file nor a character device; name "
				   "a file",
				   path);
	return out_file__check("--log", path, st, opts, err);
}

static int open_file(struct console_log *log, const struct run_options *opts, struct lk_err *err)
{
	const int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	struct stat st;
	int ret;

	if (stat(log->path, &st)) {
		log->fd = open(log->path, flags | O_CREAT | O_EXCL, 0666);
		log->made = log->fd >= 0;
		return log->fd < 0 ? cannot_open(log->path, -errno, err) : 0;
	}
	ret = check(log->path, &st, opts, err);
	if (ret)
		return ret;
	log->fd = open(log->path, flags);
	return log->fd < 0 ? cannot_open(log->path, -errno, err) : 0;
}

int console_log__open(struct console_log *log, const char *path, const struct run_options *opts,
		      struct lk_err *err)
{
	memset(log, 0, sizeof(*log));
	log->fd = -1;
	log->path = path;
	return path ? open_file(log, opts, err) : 0;
}

void console_log__start(struct console_log *log)
{
	log->made = false;
	/* a device has no length to cut */
	if (log->fd >= 0 && ftruncate(log->fd, 0) < 0)
		return;
}

static void give_up(struct console_log *log, struct log *messages, int code)
{
	log__warn(messages, "--log %s: %s; the copy of the console ends here", log->path,
		  strerror(code));
	close(log->fd);
	log->fd = -1;
}

static void flush(struct console_log *log, struct log *messages)
{
	size_t done = 0;

	while (done < log->len && log->fd >= 0) {
		ssize_t n = write(log->fd, log->buf + done, log->len - done);

		if (n > 0)
			done += (size_t)n;
		else if (n == 0 || errno != EINTR)
			give_up(log, messages, n == 0 ? EIO : errno);
	}
	log->len = 0;
}

/* The time of a whole piece: its lines came together. */
static void make_stamp(char stamp[STAMP_SIZE])
{
	struct timespec now;
	struct tm tm;
	size_t len;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!gmtime_r(&now.tv_sec, &tm))
		memset(&tm, 0, sizeof(tm));
	len = strftime(stamp, STAMP_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(stamp + len, STAMP_SIZE - len, ".%06ldZ ", now.tv_nsec / 1000 % 1000000);
}

static void put(struct console_log *log, struct log *messages, const char *text, size_t len)
{
	if (len > sizeof(log->buf) - log->len)
		flush(log, messages);
	memcpy(log->buf + log->len, text, len);
	log->len += len;
}

void console_log__write(struct console_log *log, struct log *messages, const void *buf, size_t len)
{
	const char *text = buf;
	char stamp[STAMP_SIZE];

	if (log->fd < 0)
		return;
	make_stamp(stamp);
	for (size_t i = 0; i < len; i++) {
		if (!log->in_line)
			put(log, messages, stamp, strlen(stamp));
		put(log, messages, &text[i], 1);
		log->in_line = text[i] != '\n';
	}
	flush(log, messages);
}

void console_log__close(struct console_log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	log->fd = -1;
	if (log->made)
		unlink(log->path);
	log->made = false;
}
