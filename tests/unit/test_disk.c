/* SPDX-License-Identifier: GPL-2.0-only */
/* Opening images, their geometry, and what no engine sees. */
#include <sys/socket.h>
#include <sys/un.h>

#include "disk_rig.h"

static void expect_refused(struct rig *rig, int code, const char *word)
{
	assert_int_equal(rig__open_as(rig, false, false), code);
	assert_non_null(strstr(rig->err.msg, rig->path));
	if (!strstr(rig->err.msg, word))
		fail_msg("'%s' lacks '%s'", rig->err.msg, word);
	assert_null(strchr(rig->err.msg, '\n'));
	assert_int_equal(rig->disk.fd, -1);
	assert_null(rig->disk.path);
}

static void refuses_what_is_no_disk(void **state)
{
	struct rig *rig = *state;
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	expect_refused(rig, -ENOENT, "no such file");
	assert_int_equal(access(rig->path, F_OK), -1); /* nothing was created */
	assert_int_equal(mkdir(rig->path, 0755), 0);
	expect_refused(rig, -EISDIR, "a directory");
	rmdir(rig->path);
	assert_int_equal(mkfifo(rig->path, 0644), 0);
	expect_refused(rig, -EINVAL, "a FIFO"); /* and did not wait for a writer */
	unlink(rig->path);
	snprintf(sun.sun_path, sizeof(sun.sun_path), "%.100s", rig->path);
	assert_int_equal(bind(s, (struct sockaddr *)&sun, sizeof(sun)), 0);
	close(s);
	expect_refused(rig, -EINVAL, "a socket");
	unlink(rig->path);
	assert_int_equal(symlink("/dev/null", rig->path), 0);
	expect_refused(rig, -EINVAL, "a character device");
}

static void refuses_less_than_a_sector(void **state)
{
	struct rig *rig = *state;

	rig__make_file(rig, 0);
	expect_refused(rig, -EINVAL, "is empty");
	rig__make_file(rig, 511);
	expect_refused(rig, -EINVAL, "511 bytes");
}

/* Root may write anything, so this is tried as nobody. */
static void read_only_file_names_the_remedy(void **state)
{
	struct rig *rig = *state;
	bool root = !geteuid();
	int rc;

	rig__make_file(rig, 4096);
	assert_int_equal(chmod(rig->dir, 0755), 0);
	assert_int_equal(chmod(rig->path, 0444), 0);
	if (root)
		assert_int_equal(seteuid(65534), 0);
	if (access(rig->dir, X_OK) && root) { /* real uid; the parents may be closed */
		assert_int_equal(seteuid(0), 0);
		skip();
	}
	rc = rig__open_as(rig, false, false);
	if (root)
		assert_int_equal(seteuid(0), 0);
	assert_int_equal(rc, -EACCES);
	assert_non_null(strstr(rig->err.msg, ",ro"));
	assert_int_equal(rig__open_as(rig, false, true), 0);
}

static void read_only_disk(void **state)
{
	struct rig *rig = *state;
	struct disk_req flush = {.op = DISK_FLUSH};
	struct stat before, after;
	char buf[512];

	rig__make_file(rig, 4096);
	assert_int_equal(stat(rig->path, &before), 0);
	assert_int_equal(rig__open_as(rig, false, true), 0);
	assert_int_equal(fcntl(rig->disk.fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(fcntl(rig->disk.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	rig__add_queue(rig, 4);
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, 0, buf, 512), 0);
	assert_int_equal(rig__io(&rig->q[0], DISK_WRITE, 0, buf, 512), -EROFS);
	assert_int_equal(rig__run(&rig->q[0], &flush), 0);
	assert_int_equal(stat(rig->path, &after), 0);
	assert_int_equal(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
	assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

static void file_geometry_is_512(void **state)
{
	struct rig *rig = *state;
	const struct disk_geometry *geo = &rig->disk.geo;

	rig__make_file(rig, 65536);
	assert_int_equal(rig__open_as(rig, false, false), 0);
	assert_false(rig->disk.is_device);
	assert_int_equal(geo->logical_block, 512);
	assert_in_range(geo->physical_block, 512, 4096);
	assert_int_equal(geo->mem_align, 1);
	assert_int_equal(geo->offset_align, 1);
	assert_non_null(strstr(rig->disk.note, rig->disk.engine->name));
	disk__close(&rig->disk);

	if (rig__open_as(rig, true, false))
		skip();
	assert_int_equal(geo->logical_block, 512);
	assert_true(geo->physical_block >= geo->offset_align);
	assert_true(fcntl(rig->disk.fd, F_GETFL) & O_DIRECT);
	assert_string_equal(rig->disk.engine->name, "aio");
}

/* Rounded down to a sector; each announced sector works, one past does not, the file stays. */
static void odd_size(struct rig *rig, uint64_t size, bool direct)
{
	struct disk_queue *q = &rig->q[0];
	char *buf = rig__alloc(1024);
	uint64_t last = size / 512 * 512 - 512;

	rig__make_file(rig, size);
	if (rig__open_as(rig, direct, false)) {
		free(buf);
		if (!direct)
			fail_msg("%s", rig->err.msg);
		skip();
		return;
	}
	rig__add_queue(rig, 4);
	assert_int_equal(rig->disk.size, size / 512 * 512);
	assert_int_equal(rig->disk.tail, size % 512);
	rig__fill(buf, last, 512);
	assert_int_equal(rig__io(q, DISK_WRITE, last, buf, 512), 0);
	memset(buf, 0, 512);
	assert_int_equal(rig__io(q, DISK_READ, last, buf, 512), 0);
	rig__check(buf, last, 512);
	memset(buf, 0, 512);
	rig__pread(rig, last, buf, 512);
	rig__check(buf, last, 512);
	assert_int_equal(rig__io(q, DISK_READ, last + 512, buf, 512), -EINVAL);
	assert_int_equal(rig__io(q, DISK_WRITE, last + 512, buf, 512), -EINVAL);
	assert_int_equal(rig__io(q, DISK_WRITE, last, buf, 1024), -EINVAL);
	assert_int_equal(rig__io(q, DISK_WRITE, -512ULL, buf, 1024), -EINVAL);
	assert_int_equal(rig__file_size(rig), size);
	rig__stop(rig);
	free(buf);
}

static const uint64_t sizes[] = {512, 513, 123456789, 300000000, 7000000000};

static void odd_sizes_buffered(void **state)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		odd_size(*state, sizes[i], false);
}

static void odd_sizes_direct(void **state)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		odd_size(*state, sizes[i], true);
}

static void requests_that_no_engine_sees(void **state)
{
	struct rig *rig = *state;
	struct disk_queue *q = &rig->q[0];
	struct disk_req req[3];
	struct iovec iov[3];
	char buf[3][512] = {{0}};
	unsigned int i, busy = 0;

	rig__make_file(rig, 8192);
	assert_int_equal(rig__open_as(rig, false, false), 0);
	assert_int_equal(
		disk_queue__init(q, &rig->disk, &(struct disk_queue_params) {0}, &rig->err),
		-EINVAL);
	rig__add_queue(rig, 2);
	assert_int_equal(rig__io(q, DISK_READ, 8192, NULL, 0), 0);
	for (i = 0; i < 3; i++) { /* one more than the depth */
		iov[i] = (struct iovec) {buf[i], 512};
		req[i] = rig__req(DISK_READ, 0, &iov[i], 1);
		disk_queue__queue(q, &req[i]);
	}
	disk_queue__submit(q);
	for (i = 0; i < 3; i++)
		busy += rig__wait(q)->res == -EBUSY;
	assert_int_equal(busy, 1);
	assert_int_equal(q->in_flight, 0);
	assert_null(disk_queue__reap(q));
}

/* Read alone: what is on the device is somebody's. */
static void block_device_with_4k_sectors(void **state)
{
	struct rig *rig = *state;
	struct disk_params params = {
		.path = "/dev/zram0", .read_only = true, .cache = DISK_CACHE_NONE};
	char *buf;

	if (disk__open(&rig->disk, &params, &rig->err))
		skip();
	rig__add_queue(rig, 4);
	assert_true(rig->disk.is_device);
	assert_int_equal(rig->disk.geo.logical_block, 4096);
	assert_true(rig->disk.geo.physical_block >= 4096);
	assert_int_equal(rig->disk.size % 4096, 0);
	buf = rig__alloc(8192);
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, rig->disk.size - 4096, buf, 4096), 0);
	assert_int_equal(rig__io(&rig->q[0], DISK_READ, 512, buf + 3, 1024), 0);
	free(buf);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, rig__setup, rig__teardown)
	const struct CMUnitTest tests[] = {
		T(refuses_what_is_no_disk),
		T(refuses_less_than_a_sector),
		T(read_only_file_names_the_remedy),
		T(read_only_disk),
		T(file_geometry_is_512),
		T(odd_sizes_buffered),
		T(odd_sizes_direct),
		T(requests_that_no_engine_sees),
		T(block_device_with_4k_sectors),
	};

	return cmocka_run_group_tests_name("disk", tests, NULL, NULL);
}
