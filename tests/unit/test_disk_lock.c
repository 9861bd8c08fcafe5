/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who may use an image beside whom.  The locks are of open file descriptions, so
 * that a second disk of this process meets them as another process would.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
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

/* A child with the disk open, and a queue that has done I/O; returns when it has. */
static pid_t start_holder(struct rig *rig, enum disk_engine_kind engine)
{
	int ready[2];
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		struct disk_params params = {.path = rig->path, .engine = engine};
		struct disk_queue_params queue = {.depth = 8, .wakefd = eventfd(0, EFD_CLOEXEC)};
		char *buf = rig__alloc(SIZE);
		struct disk_queue q;

		if (disk__open(&rig->disk, &params, NULL) ||
		    disk_queue__init(&q, &rig->disk, &queue, NULL))
			_exit(1);
		disk_queue__attach(&q);
		if (rig__io(&q, DISK_WRITE, 0, buf, SIZE) || write(ready[1], &byte, 1) != 1)
			_exit(2);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

/* The lock ends with the process, however that ends, whatever the kernel still holds. */
static void killed(void **state)
{
	static const enum disk_engine_kind engines[] = {
		DISK_ENGINE_AUTO,
		DISK_ENGINE_AIO,
		DISK_ENGINE_THREADS,
	};
	struct rig *rig = *state;
	unsigned int i;

	rig__make_file(rig, SIZE);
	for (i = 0; i < 10 * ARRAY_SIZE(engines); i++) {
		pid_t pid = start_holder(rig, engines[i % ARRAY_SIZE(engines)]);

		expect_beside(rig, false, false, -EBUSY, "in use by another");
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		expect_beside(rig, false, false, 0, NULL);
	}
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

/* fcntl(F_OFD_SETLK) fails with @error from now on. */
static int refuse_locks(int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_OFD_SETLK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = ARRAY_SIZE(code), .filter = code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) ? -errno : 0;
}

/* The disk is there all the same, and says that nobody is kept off it. */
static void a_file_system_without_locks(void **state)
{
	static const int errors[] = {ENOLCK, EOPNOTSUPP, EINVAL};
	struct rig *rig = *state;
	unsigned int i;
	int status;

	rig__make_file(rig, SIZE);
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (!pid) {
			if (refuse_locks(errors[i]))
				_exit(77);
			if (open_beside(rig, &rig->disk, false, false))
				_exit(1);
			_exit(rig->disk.unlocked ? 0 : 2);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
			skip();
		assert_int_equal(status, 0);
	}
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
		cmocka_unit_test_setup_teardown(a_file_system_without_locks, rig__setup,
						rig__teardown),
		cmocka_unit_test_setup_teardown(a_claimed_device, rig__setup, rig__teardown),
		cmocka_unit_test_setup_teardown(a_device_is_claimed_by_a_writer, rig__setup,
						rig__teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
