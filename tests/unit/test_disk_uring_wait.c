/* SPDX-License-Identifier: GPL-2.0-only */
/* The io_uring engine: sleeping, spinning, threads, and the older kinds of rings. */
#include "disk_rig.h"

#ifdef HAVE_LIBURING
#include <pthread.h>

#include "disk/uring.h"

static int setup(void **state)
{
	int rc = rig__setup(state);

	if (!rc)
		((struct rig *)*state)->engine = DISK_ENGINE_URING;
	return rc;
}

static void open_disk(struct rig *rig)
{
	int rc;

	rig__make_file(rig, 65536);
	rc = rig__open_as(rig, false, false);
	if (rc == -EPERM || rc == -ENOSYS) {
		print_message("skipped: %s\n", rig->err.msg);
		skip();
	}
	if (rc)
		fail_msg("%s", rig->err.msg);
}

static void start(struct rig *rig)
{
	open_disk(rig);
	rig__add_queue(rig, 8);
}

/* A signal by somebody else: told once, whether it came before the wait or during it. */
static void *signaller(void *arg)
{
	eventfd_write(*(int *)arg, 5);
	return NULL;
}

static void wake_for_others(struct rig *rig)
{
	struct disk_queue *q = &rig->q[0];
	pthread_t thread;
	uint64_t n;

	assert_int_equal(disk_queue__wait(q, 0), 0);
	assert_int_equal(disk_queue__wait(q, 1000000), 0);
	assert_int_equal(eventfd_write(q->wakefd, 3), 0);
	for (n = 0; !n; disk_queue__reap(q))
		n = disk_queue__wait(q, -1);
	assert_int_equal(n, 3);
	assert_int_equal(disk_queue__wait(q, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, signaller, &q->wakefd), 0);
	for (n = 0; !n; disk_queue__reap(q))
		n = disk_queue__wait(q, -1);
	assert_int_equal(n, 5);
	pthread_join(thread, NULL);
	assert_int_equal(disk_queue__wait(q, 0), 0);
	assert_int_equal(q->stats.signals, 0);
	rig__many(rig, 8);
	assert_int_equal(eventfd_write(q->wakefd, 2), 0); /* meanwhile it may be read elsewhere */
	assert_int_equal(disk_queue__sleep(q, -1), 2);
	assert_int_equal(disk_queue__wait(q, 1000000), 0);
}

/* Who does not sleep but looks: sees completions all the same. */
static void spin(struct rig *rig)
{
	struct disk_queue *q = &rig->q[0];
	char *buf = rig__alloc(4096);
	struct iovec iov = {buf, 4096};
	unsigned int i;

	for (i = 0; i < 50; i++) {
		struct disk_req req = rig__req(DISK_WRITE, 0, &iov, 1);

		disk_queue__queue(q, &req);
		disk_queue__submit(q);
		do {
			while (!disk_queue__ready(q))
				;
		} while (!disk_queue__reap(q));
		assert_int_equal(req.res, 0);
	}
	assert_int_equal(q->stats.waits, 0);
	free(buf);
}

/*
 * The thread leaves right after a submit that has read wakefd on the side: the
 * signals are in wakefd or told as the rest, once, whatever the ring does.
 */
static void leave_with_signals(struct rig *rig)
{
	struct disk_queue *q = &rig->q[0];
	char *buf = rig__alloc(4096);
	struct iovec iov = {buf, 4096};
	struct disk_req req = rig__req(DISK_WRITE, 0, &iov, 1);
	uint64_t rest;

	assert_int_equal(disk_queue__wait(q, 0), 0);
	assert_int_equal(eventfd_write(q->wakefd, 3), 0);
	disk_queue__queue(q, &req);
	disk_queue__submit(q);
	while (!disk_queue__reap(q))
		;
	rest = disk_queue__rest(q);
	if (((struct uring_queue *)q->priv)->ring.flags & IORING_SETUP_DEFER_TASKRUN)
		assert_int_equal(rest, 3);
	assert_int_equal(rest + disk_queue__sleep(q, 0), 3);
	assert_int_equal(disk_queue__rest(q), 0);
	free(buf);
}

static void signals_at_the_end(void **state)
{
	start(*state);
	leave_with_signals(*state);
}

static void wakes_for_others(void **state)
{
	start(*state);
	wake_for_others(*state);
}

static void spinning(void **state)
{
	start(*state);
	spin(*state);
}

/* Kernels that lack the newer kinds of rings, or whose io_uring_register is closed. */
static void older_rings(void **state)
{
	static const unsigned int flags[] = {IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
					     0};
	struct rig *rig = *state;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		const struct uring_queue *u;

		open_disk(rig);
		rig->disk.engine_flags = flags[i];
		rig__add_queue(rig, 8);
		u = rig->q[0].priv;
		assert_int_equal(u->ring.flags & ~IORING_SETUP_CQSIZE, flags[i]);
		spin(rig);
		wake_for_others(rig);
		rig__stop(rig);
		open_disk(rig);
		rig->disk.engine_flags = flags[i];
		rig__add_queue(rig, 8);
		leave_with_signals(rig);
		rig__stop(rig);
	}
}

/* Made in one thread, used in another, ended in the first: as a queue of a VM is. */
static void *use_queue(void *arg)
{
	struct disk_queue *q = arg;
	char *buf = rig__alloc(4096);

	disk_queue__attach(q);
	assert_int_equal(rig__io(q, DISK_WRITE, 0, buf, 4096), 0);
	assert_int_equal(rig__io(q, DISK_READ, 0, buf, 4096), 0);
	free(buf);
	return NULL;
}

static void thread_of_its_own(void **state)
{
	struct rig *rig = *state;
	struct disk_queue_params params = {.depth = 4, .wakefd = eventfd(0, EFD_CLOEXEC)};
	pthread_t thread;

	open_disk(rig);
	assert_int_equal(disk_queue__init(&rig->q[0], &rig->disk, &params, &rig->err), 0);
	rig->nr_queues = 1;
	assert_int_equal(pthread_create(&thread, NULL, use_queue, &rig->q[0]), 0);
	pthread_join(thread, NULL);
	assert_false(((struct uring_queue *)rig->q[0].priv)->dead);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, rig__teardown)
	const struct CMUnitTest tests[] = {
		T(wakes_for_others), T(signals_at_the_end), T(spinning),
		T(older_rings),	     T(thread_of_its_own),
	};

	return cmocka_run_group_tests_name("disk uring wait", tests, NULL, NULL);
}

#else

int main(void)
{
	print_message("skipped: built without liburing\n");
	return 0;
}

#endif
