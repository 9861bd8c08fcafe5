// SPDX-License-Identifier: GPL-2.0-only
/* A file that an option names: tried before the guest starts, made and put in place at the end. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "out_file.h"

static bool same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool same_file(const struct stat *st, const char *path)
{
	struct stat other;

	return path && !stat(path, &other) && same_inode(st, &other);
}

bool out_file__same(const char *a, const char *b)
{
	struct stat st;

	if (!a || !b)
		return false;
	if (stat(a, &st))
		return !strcmp(a, b);
	return S_ISREG(st.st_mode) && same_file(&st, b);
}

static bool is_output(const struct stat *st)
{
	struct stat out;

	return (!fstat(STDOUT_FILENO, &out) && same_inode(st, &out)) ||
	       (!fstat(STDERR_FILENO, &out) && same_inode(st, &out));
}

/* A slip of the hand must not cost an image, nor the output that goes to a file. */
int out_file__check(const char *option, const char *path, const struct stat *st,
		    const struct run_options *opts, struct lk_err *err)
{
	bool used = same_file(st, opts->kernel) || same_file(st, opts->initrd);

	for (unsigned int i = 0; i < opts->nr_disks; i++)
		used = used || (!opts->disk[i].null && same_file(st, opts->disk[i].path));
	if (used)
		return lk_err__set(err, -EINVAL,
				   "%s %s: the VM itself uses this file; name another", option,
				   path);
	if (is_output(st))
		return lk_err__set(err, -EINVAL,
				   "%s %s: the output of lkvm goes to this file; name another",
				   option, path);
	return 0;
}

static int cannot_open(const struct out_file *file, int code, struct lk_err *err)
{
	return lk_err__set(err, code,
			   "%s %s: %s; name a file in a directory that can be written to",
			   file->option, file->path, strerror(-code));
}

/* A pipe, a terminal, /dev/null: there is nothing to replace. */
static int open_special(struct out_file *file, const struct stat *st, struct lk_err *err)
{
	int fd;

	if (S_ISDIR(st->st_mode) || S_ISBLK(st->st_mode) || S_ISSOCK(st->st_mode))
		return lk_err__set(err, -EINVAL, "%s %s: %s; name a file", file->option, file->path,
				   S_ISDIR(st->st_mode) ? "a directory" : "a device or socket");
	/* O_NONBLOCK: a FIFO must not make the open wait for a reader */
	fd = open(file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 && errno == ENXIO)
		return lk_err__set(err, -ENXIO,
				   "%s %s: nobody reads this FIFO; start the reader first",
				   file->option, file->path);
	if (fd < 0)
		return cannot_open(file, -errno, err);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	file->out = fdopen(fd, "w");
	if (file->out)
		return 0;
	close(fd);
	return cannot_open(file, -ENOMEM, err);
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
static int make_temp(const struct out_file *file, char **temp)
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
static int try_temp(const struct out_file *file)
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

static int open_all(struct out_file *file, const struct run_options *opts, struct lk_err *err)
{
	struct stat st;
	bool exists = !stat(file->path, &st);
	int ret;

	if (exists && !S_ISREG(st.st_mode))
		return open_special(file, &st, err);
	if (exists) {
		ret = out_file__check(file->option, file->path, &st, opts, err);
		if (ret)
			return ret;
		if (access(file->path, W_OK))
			return cannot_open(file, -errno, err);
	}
	/* A link to a file stays one: what it points to is replaced. */
	file->target = exists ? realpath(file->path, NULL) : strdup(file->path);
	if (!file->target)
		return cannot_open(file, -errno, err);
	ret = try_temp(file);
	return ret ? cannot_open(file, ret, err) : 0;
}

int out_file__open(struct out_file *file, const char *option, const char *path,
		   const struct run_options *opts, struct lk_err *err)
{
	int ret;

	*file = (struct out_file) {.option = option, .path = path};
	ret = open_all(file, opts, err);
	if (ret)
		out_file__discard(file);
	return ret;
}

/* Into @out, which is closed.  0 or -errno. */
static int put_text(FILE *out, const struct out_text *text)
{
	int code = 0;

	errno = 0;
	text->put(out, text->arg);
	if (fflush(out) || ferror(out))
		code = errno ? -errno : -EIO;
	fclose(out);
	return code;
}

/* The new text in @fd, which is closed, and in @temp takes the place of the old one. */
static int replace(const struct out_file *file, int fd, const char *temp,
		   const struct out_text *text)
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
	code = put_text(out, text);
	if (!code && rename(temp, file->target))
		code = -errno;
	return code;
}

static int write_new(const struct out_file *file, const struct out_text *text)
{
	char *temp;
	int fd = make_temp(file, &temp), code;

	if (fd < 0)
		return fd;
	code = replace(file, fd, temp, text);
	if (code)
		unlink(temp);
	free(temp);
	return code;
}

int out_file__write(struct out_file *file, const struct out_text *text, struct lk_err *err)
{
	int code;

	if (file->out)
		code = put_text(file->out, text);
	else
		code = write_new(file, text);
	file->out = NULL;
	out_file__discard(file);
	if (code)
		return lk_err__set(err, code,
				   "%s %s: cannot be written: %s; name a file where there is room",
				   file->option, file->path, strerror(-code));
	return 0;
}

void out_file__discard(struct out_file *file)
{
	if (file->out)
		fclose(file->out);
	free(file->target);
	file->out = NULL;
	file->target = NULL;
}
