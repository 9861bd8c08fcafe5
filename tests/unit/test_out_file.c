// SPDX-License-Identifier: GPL-2.0-only
/* The file of --stats, --report and --junit: whole or not there, and never one that the VM needs. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "kvm/cmd/out_file.h"
#include "kvm/cmd/stats.h"

struct rig {
	struct stats stats; /* of a VM without disks */
	char dir[32];
	char path[64]; /* in dir */
};

static void put(FILE *out, const void *stats)
{
	stats__json(out, stats);
}

static int write_stats(struct out_file *file, struct rig *r, struct lk_err *err)
{
	struct out_text text = {.put = put, .arg = &r->stats};

	return out_file__write(file, &text, err);
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	if (!r)
		return -1;
	*state = r;
	strcpy(r->dir, "/tmp/lkvm-stats-XXXXXX");
	if (!mkdtemp(r->dir))
		return -1;
	snprintf(r->path, sizeof(r->path), "%s/out", r->dir);
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	int ret;

	unlink(r->path);
	ret = rmdir(r->dir); /* fails where something was left in it */
	free(r);
	return ret;
}

static void expect(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("'%s' is not in: %s", what, text);
}

static void put_file(const char *path, const char *content)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(content, f);
	assert_int_equal(fclose(f), 0);
}

static bool file_begins(const char *path, const char *want)
{
	char buf[16] = "";
	int fd = open(path, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, buf, strlen(want));
	close(fd);
	return n == (ssize_t)strlen(want) && !strcmp(buf, want);
}

static unsigned int files_in(const char *path)
{
	struct dirent *e;
	unsigned int nr = 0;
	DIR *dir = opendir(path);

	assert_non_null(dir);
	while ((e = readdir(dir)))
		nr += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(dir);
	return nr;
}

/* Killed while the guest runs: nothing is left, and what was there is as it was. */
static void test_killed(void **state)
{
	struct rig *r = *state;
	struct run_options opts = {0};
	struct out_file file;
	struct lk_err err = {""};
	struct stat before, after;

	assert_int_equal(out_file__open(&file, "--stats", r->path, &opts, &err), 0);
	assert_true(out_file__is_open(&file));
	assert_int_equal(files_in(r->dir), 0);
	out_file__discard(&file);
	assert_false(out_file__is_open(&file));

	put_file(r->path, "old");
	assert_int_equal(stat(r->path, &before), 0);
	assert_int_equal(out_file__open(&file, "--stats", r->path, &opts, &err), 0);
	assert_int_equal(files_in(r->dir), 1);
	assert_int_equal(stat(r->path, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_true(file_begins(r->path, "old"));
	out_file__discard(&file);
}

/* The directory goes away meanwhile: said at the end, and nothing is left behind. */
static void test_gone(void **state)
{
	struct rig *r = *state;
	struct run_options opts = {0};
	struct out_file file;
	struct lk_err err = {""};
	char dir[64], path[80];

	snprintf(dir, sizeof(dir), "%s/sub", r->dir);
	snprintf(path, sizeof(path), "%s/out", dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(out_file__open(&file, "--stats", path, &opts, &err), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(write_stats(&file, r, &err), -ENOENT);
	expect(err.msg, "cannot be written: No such file");
	assert_false(out_file__is_open(&file));

	/* what took the name cannot be replaced: the new text goes, it stays */
	assert_int_equal(out_file__open(&file, "--stats", r->path, &opts, &err), 0);
	assert_int_equal(mkdir(r->path, 0700), 0);
	assert_int_equal(write_stats(&file, r, &err), -EISDIR);
	assert_int_equal(files_in(r->dir), 1);
	assert_int_equal(rmdir(r->path), 0);
}

static void test_file(void **state)
{
	struct rig *r = *state;
	struct run_options opts = {0};
	struct out_file file;
	struct lk_err err = {""};
	struct stat st;

	/* not there before it is written, and not at all where it is not */
	assert_int_equal(out_file__open(&file, "--stats", r->path, &opts, &err), 0);
	assert_int_equal(access(r->path, F_OK), -1);
	out_file__discard(&file);
	assert_int_equal(access(r->path, F_OK), -1);

	/* an old text stays whole until the new one takes its place; so does the mode */
	put_file(r->path, "old");
	assert_int_equal(chmod(r->path, 0640), 0);
	assert_int_equal(out_file__open(&file, "--stats", r->path, &opts, &err), 0);
	assert_true(file_begins(r->path, "old"));
	assert_int_equal(write_stats(&file, r, &err), 0);
	assert_true(file_begins(r->path, "{\n  \"version\""));
	assert_int_equal(stat(r->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	out_file__discard(&file); /* closed already: nothing */
}

static void test_link(void **state)
{
	struct rig *r = *state;
	struct run_options opts = {0};
	struct out_file file;
	struct lk_err err = {""};
	char link[80];
	struct stat st;

	snprintf(link, sizeof(link), "%s/link", r->dir);
	put_file(r->path, "old");
	assert_int_equal(symlink("out", link), 0);
	assert_int_equal(out_file__open(&file, "--stats", link, &opts, &err), 0);
	assert_int_equal(write_stats(&file, r, &err), 0);
	assert_int_equal(lstat(link, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_true(file_begins(r->path, "{"));
	unlink(link);
}

static void refuse(const char *path, const struct run_options *opts, const char *why)
{
	struct out_file file;
	struct lk_err err = {""};

	assert_true(out_file__open(&file, "--stats", path, opts, &err) < 0);
	expect(err.msg, why);
	assert_false(out_file__is_open(&file));
}

static void test_refused(void **state)
{
	struct rig *r = *state;
	struct run_options opts = {0};
	char path[96];

	snprintf(path, sizeof(path), "%s/nosuch/out", r->dir);
	refuse(path, &opts, "No such file");
	refuse(r->dir, &opts, "a directory");
	assert_int_equal(mkfifo(r->path, 0600), 0);
	refuse(r->path, &opts, "nobody reads");
	assert_int_equal(unlink(r->path), 0);

	/* the image of a disk, the kernel, the initrd: by any name */
	put_file(r->path, "image");
	snprintf(path, sizeof(path), "%s/./out", r->dir);
	opts.disk[0].path = path;
	opts.nr_disks = 1;
	refuse(r->path, &opts, "the VM itself");
	opts.nr_disks = 0;
	opts.kernel = path;
	refuse(r->path, &opts, "the VM itself");
	opts.kernel = NULL;
	opts.initrd = path;
	refuse(r->path, &opts, "the VM itself");
	assert_true(file_begins(r->path, "image"));
}

/* Where the standard output is that file, to replace it would lose what was written. */
static void test_output(void **state)
{
	struct rig *r = *state;
	struct run_options opts = {0};
	int saved = dup(STDOUT_FILENO);

	put_file(r->path, "text");
	fflush(stdout);
	assert_non_null(freopen(r->path, "a", stdout));
	refuse(r->path, &opts, "the output of lkvm");
	refuse("/dev/stdout", &opts, "the output of lkvm");
	fflush(stdout);
	assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
	close(saved);
	assert_true(file_begins(r->path, "text"));
}

/* /dev/full takes no byte (full(4)): said, not lost. */
static void test_full(void **state)
{
	struct rig *r = *state;
	struct run_options opts = {0};
	struct out_file file;
	struct lk_err err = {""};

	assert_int_equal(out_file__open(&file, "--stats", "/dev/full", &opts, &err), 0);
	assert_int_equal(write_stats(&file, r, &err), -ENOSPC);
	expect(err.msg, "/dev/full");
	assert_null(file.out);
}

#define RIG_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_file),   RIG_TEST(test_link), RIG_TEST(test_refused),
		RIG_TEST(test_output), RIG_TEST(test_full), RIG_TEST(test_killed),
		RIG_TEST(test_gone),
	};

	return cmocka_run_group_tests_name("out_file", tests, NULL, NULL);
}
