/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who may use an image beside whom.  The locks are of open file descriptions, so
 * that a second disk of this process meets them as another process would.
 */
#include <signal.h>
#include <sys/wait.h>

#include "loop.h"

#define SIZE 65536

static int open_beside(struct rig *rig, struct disk *disk, bool read_only, bool no_lock)
{
	struct disk_params params = {.path = rig->path, .read_only = read_only, .no_lock = no_lock};

	return disk__open(disk, &params, &rig->err);
}

static void expect_beside(struct rig *rig, bool read_only, bool no_lock, int rc, const char *words)
{
	struct disk disk;

	assert_int_equal(open_beside(rig, &disk, read_only, no_lock), rc);
	if (!rc) {
		assert_false(disk.unlocked);
		disk__close(&disk);
		return;
	}
	assert_int_equal(disk.fd, -1);
	assert_non_null(strstr(rig->err.msg, rig->path));
	if (!strstr(rig->err.msg, words))
		fail_msg("'%s' lacks '%s'", rig->err.msg, words);
}

static void a_writer_is_alone(void **state)
{
	struct rig *rig = *state;

	rig__make_file(rig, SIZE);
	assert_int_equal(rig__open_as(rig, false, false), 0);
	expect_beside(rig, false, false, -EBUSY, "in use by another");
	expect_beside(rig, true, false, -EBUSY, "being written by another");
	expect_beside(rig, true, true, 0, NULL);
	expect_beside(rig, false, true, 0, NULL);
	/* and none of these has taken the lock away with it */
	expect_beside(rig, false, false, -EBUSY, "',ro'");
	disk__close(&rig->disk);
	expect_beside(rig, false, false, 0, NULL);
}

static void readers_share(void **state)
{
	struct rig *rig = *state;
	struct disk second;

	rig__make_file(rig, SIZE);
	assert_int_equal(rig__open_as(rig, false, true), 0);
	assert_int_equal(open_beside(rig, &second, true, false), 0);
	expect_beside(rig, false, false, -EBUSY, "in use by another");
	disk__close(&rig->disk);
	expect_beside(rig, false, false, -EBUSY, "in use by another");
	disk__close(&second);
	expect_beside(rig, false, false, 0, NULL);
}

/* The lock ends with the process, however that ends. */
static void killed(void **state)
{
	struct rig *rig = *state;
	int ready[2], status;
	char byte;
	pid_t pid;

	rig__make_file(rig, SIZE);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		if (!rig__open_as(rig, false, false) && write(ready[1], "x", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	expect_beside(rig, false, false, -EBUSY, "in use by another");
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	expect_beside(rig, false, false, 0, NULL);
}

/* An io_uring outlives its queue by a moment; the lock must not. */
static void again_and_again(void **state)
{
	struct rig *rig = *state;
	int i;

	rig__make_file(rig, SIZE);
	for (i = 0; i < 50; i++) {
		assert_int_equal(rig__open_as(rig, false, false), 0);
		rig__add_queue(rig, 4);
		rig__stop(rig);
	}
}

/*
 * QEMU's way: a shared lock on byte 100 + N for what it does, on 200 + N for what
 * it lets nobody else do; N is 0 for reading, 1 for writing, 3 for resizing.
 */
static void beside_qemu(void **state)
{
	static const struct {
		int bytes[8];
		int reader, writer; /* what lkvm gets */
	} table[] = {
		{{100, 201, 203, -1}, 0, -EBUSY}, /* a reader */
		{{100, 101, 201, 203, -1}, -EBUSY, -EBUSY}, /* a writer */
		{{100, 101, -1}, -EBUSY, -EBUSY}, /* a writer with share-rw=on */
	};
	struct rig *rig = *state;
	size_t i, k;

	rig__make_file(rig, SIZE);
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		int fd = open(rig->path, O_RDWR | O_CLOEXEC);

		for (k = 0; table[i].bytes[k] >= 0; k++) {
			struct flock fl = {.l_type = F_RDLCK,
					   .l_whence = SEEK_SET,
					   .l_start = table[i].bytes[k],
					   .l_len = 1};

			assert_int_equal(fcntl(fd, F_OFD_SETLK, &fl), 0);
		}
		expect_beside(rig, true, false, table[i].reader, "being written");
		expect_beside(rig, false, false, table[i].writer, "in use");
		close(fd);
	}
}

/* What QEMU asks before it reads: does anybody write, or forbid to read? */
static void qemu_may_read_beside_a_reader(void **state)
{
	static const struct {
		bool read_only;
		short type; /* of a lock on the byte that QEMU asks for */
		int byte;
	} table[] = {
		{true, F_UNLCK, 101}, {true, F_UNLCK, 200},  {true, F_RDLCK, 201},
		{true, F_RDLCK, 100}, {false, F_WRLCK, 101}, {false, F_WRLCK, 200},
	};
	struct rig *rig = *state;
	size_t i;

	rig__make_file(rig, SIZE);
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct flock fl = {.l_type = F_WRLCK,
				   .l_whence = SEEK_SET,
				   .l_start = table[i].byte,
				   .l_len = 1};
		int fd;

		assert_int_equal(rig__open_as(rig, false, table[i].read_only), 0);
		fd = open(rig->path, O_RDWR | O_CLOEXEC);
		assert_int_equal(fcntl(fd, F_OFD_GETLK, &fl), 0);
		assert_int_equal(fl.l_type, table[i].type);
		close(fd);
		disk__close(&rig->disk);
	}
}

/* O_EXCL is what a mount does to a block device. */
static void a_claimed_device(void **state)
{
	struct rig *rig = *state;
	struct disk_params params = {0};
	struct loop loop;
	int claim, ro;

	rig__make_file(rig, SIZE);
	if (!loop__attach(&loop, rig->path))
		skip();
	params.path = loop.path;
	claim = open(loop.path, O_RDONLY | O_EXCL | O_CLOEXEC);
	assert_true(claim >= 0);
	for (ro = 0; ro < 4; ro++) {
		params.read_only = ro & 1;
		params.no_lock = ro & 2;
		params.force = false;
		assert_int_equal(disk__open(&rig->disk, &params, &rig->err), -EBUSY);
		assert_non_null(strstr(rig->err.msg, "mounted"));
		params.force = true;
		assert_int_equal(disk__open(&rig->disk, &params, &rig->err), 0);
		disk__close(&rig->disk);
	}
	close(claim);
	close(loop.fd);
}

static void a_device_is_claimed_by_a_writer(void **state)
{
	struct rig *rig = *state;
	struct disk_params params = {0};
	struct disk second;
	struct loop loop;

	rig__make_file(rig, SIZE);
	if (!loop__attach(&loop, rig->path))
		skip();
	params.path = loop.path;
	assert_int_equal(disk__open(&rig->disk, &params, &rig->err), 0);
	assert_int_equal(open(loop.path, O_RDONLY | O_EXCL | O_CLOEXEC), -1);
	assert_int_equal(errno, EBUSY);
	assert_int_equal(disk__open(&second, &params, &rig->err), -EBUSY);
	disk__close(&rig->disk);

	params.read_only = true;
	assert_int_equal(disk__open(&rig->disk, &params, &rig->err), 0);
	assert_int_equal(disk__open(&second, &params, &rig->err), 0);
	disk__close(&second);
	disk__close(&rig->disk);
	close(loop.fd);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_writer_is_alone, rig__setup, rig__teardown),
		cmocka_unit_test_setup_teardown(readers_share, rig__setup, rig__teardown),
		cmocka_unit_test_setup_teardown(killed, rig__setup, rig__teardown),
		cmocka_unit_test_setup_teardown(again_and_again, rig__setup, rig__teardown),
		cmocka_unit_test_setup_teardown(beside_qemu, rig__setup, rig__teardown),
		cmocka_unit_test_setup_teardown(qemu_may_read_beside_a_reader, rig__setup,
						rig__teardown),
		cmocka_unit_test_setup_teardown(a_claimed_device, rig__setup, rig__teardown),
		cmocka_unit_test_setup_teardown(a_device_is_claimed_by_a_writer, rig__setup,
						rig__teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
