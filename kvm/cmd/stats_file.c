// SPDX-License-Identifier: GPL-2.0-only
/* The file that --stats names: tried before the guest starts, made and put in place at the end. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "out_file.h"
#include "stats.h"

static int cannot_open(const char *path, int code, struct lk_err *err)
{
	return lk_err__set(err, code,
			   "--stats %s: %s; name a file in a directory that can be written to",
			   path, strerror(-code));
}

/* A pipe, a terminal, /dev/null: there is nothing to replace. */
static int open_special(struct stats_file *file, const struct stat *st, struct lk_err *err)
{
	int fd;

	if (S_ISDIR(st->st_mode) || S_ISBLK(st->st_mode) || S_ISSOCK(st->st_mode))
		return lk_err__set(err, -EINVAL, "--stats %s: %s; name a file", file->path,
				   S_ISDIR(st->st_mode) ? "a directory" : "a device or socket");
	/* O_NONBLOCK: a FIFO must not make the open wait for a reader */
	fd = open(file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 && errno == ENXIO)
		return lk_err__set(err, -ENXIO,
				   "--stats %s: nobody reads this FIFO; start the reader first",
				   file->path);
	if (fd < 0)
		return cannot_open(file->path, -errno, err);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	file->out = fdopen(fd, "w");
	if (file->out)
		return 0;
	close(fd);
	return cannot_open(file->path, -ENOMEM, err);
}

/* The mode that the target has, or that a new file gets. */
static mode_t target_mode(const struct stat *old)
{
	mode_t mask;

	if (old)
		return old->st_mode & 0777;
	mask = umask(0); /* can only be read by setting it */
	umask(mask);
	return 0666 & ~mask;
}

/* A new file beside the target, whose name the caller frees.  The descriptor, or -errno. */
static int make_temp(const struct stats_file *file, char **temp)
{
	int fd;

	if (asprintf(temp, "%s.XXXXXX", file->target) < 0) {
		*temp = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(*temp, O_CLOEXEC);
	if (fd < 0) {
		fd = -errno;
		free(*temp); /* no file has that name, or not ours */
		*temp = NULL;
	}
	return fd;
}

/* Whether it can be made is found out by making it. */
static int try_temp(const struct stats_file *file)
{
	char *temp;
	int fd = make_temp(file, &temp);

	if (fd < 0)
		return fd;
	close(fd);
	unlink(temp);
	free(temp);
	return 0;
}

static int open_all(struct stats_file *file, const struct run_options *opts, struct lk_err *err)
{
	struct stat st;
	bool exists = !stat(file->path, &st);
	int ret;

	if (exists && !S_ISREG(st.st_mode))
		return open_special(file, &st, err);
	if (exists) {
		ret = out_file__check("--stats", file->path, &st, opts, err);
		if (ret)
			return ret;
		if (access(file->path, W_OK))
			return cannot_open(file->path, -errno, err);
	}
	/* A link to a file stays one: what it points to is replaced. */
	file->target = exists ? realpath(file->path, NULL) : strdup(file->path);
	if (!file->target)
		return cannot_open(file->path, -errno, err);
	ret = try_temp(file);
	return ret ? cannot_open(file->path, ret, err) : 0;
}

int stats_file__open(struct stats_file *file, const char *path, const struct run_options *opts,
		     struct lk_err *err)
{
	int ret;

	*file = (struct stats_file) {.path = path};
	ret = open_all(file, opts, err);
	if (ret)
		stats_file__discard(file);
	return ret;
}

/* Into @out, which is closed.  0 or -errno. */
static int put_text(FILE *out, const struct stats *stats)
{
	int code = 0;

	errno = 0;
	stats__json(out, stats);
	if (fflush(out) || ferror(out))
		code = errno ? -errno : -EIO;
	fclose(out);
	return code;
}

/* The new text in @fd, which is closed, and in @temp takes the place of the old one. */
static int replace(const struct stats_file *file, int fd, const char *temp,
		   const struct stats *stats)
{
	struct stat old;
	bool exists = !stat(file->target, &old);
	FILE *out = fdopen(fd, "w");
	int code;

	if (!out) {
		close(fd);
		return -ENOMEM;
	}
	code = fchmod(fd, target_mode(exists ? &old : NULL)) ? -errno : 0;
	if (code) {
		fclose(out);
		return code;
	}
	code = put_text(out, stats);
	if (!code && rename(temp, file->target))
		code = -errno;
	return code;
}

static int write_new(const struct stats_file *file, const struct stats *stats)
{
	char *temp;
	int fd = make_temp(file, &temp), code;

	if (fd < 0)
		return fd;
	code = replace(file, fd, temp, stats);
	if (code)
		unlink(temp);
	free(temp);
	return code;
}

int stats_file__write(struct stats_file *file, const struct stats *stats, struct lk_err *err)
{
	int code;

	if (file->out)
		code = put_text(file->out, stats);
	else
		code = write_new(file, stats);
	file->out = NULL;
	stats_file__discard(file);
	if (code)
		return lk_err__set(err, code,
				   "--stats %s: the counters cannot be written: %s; name a file "
				   "where there is room, or - for a table",
				   file->path, strerror(-code));
	return 0;
}

void stats_file__discard(struct stats_file *file)
{
	if (file->out)
		fclose(file->out);
	free(file->target);
	file->out = NULL;
	file->target = NULL;
}
