// SPDX-License-Identifier: GPL-2.0-only
/* Queues and their threads: states, hand-over, names, signals. */
#include "fake_kvm.h"

#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <lkvm/virtio.h>

#define QUEUES 2
#define HANG_S 20

struct rig {
	struct virtio_dev dev;
	sem_t entered, left;
	char name[QUEUES][16];
	sigset_t mask[QUEUES];
	unsigned int turns[QUEUES]; /* plain: the state hands them over */
	unsigned int shared[QUEUES]; /* likewise, and counted by the test too */
	bool early; /* queue_run() comes back at once */
	unsigned int signals;
	bool want; /* what the transport says */
};

static void wait_sem(sem_t *sem)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += HANG_S;
	while (sem_timedwait(sem, &until))
		assert_int_equal(errno, EINTR);
}

static void queue_run(struct virtio_queue *queue)
{
	struct rig *rig = queue->dev->priv;
	unsigned int i = queue->index;

	pthread_getname_np(pthread_self(), rig->name[i], sizeof(rig->name[i]));
	pthread_sigmask(SIG_BLOCK, NULL, &rig->mask[i]);
	rig->turns[i]++;
	rig->shared[i]++;
	sem_post(&rig->entered);
	while (!rig->early && virtio_queue__running(queue))
		virtio_queue__sleep(queue);
	sem_post(&rig->left);
}

static bool transport_signal(struct virtio_dev *dev, struct virtio_queue *queue)
{
	struct rig *rig = dev->priv;

	(void)queue;
	rig->signals++;
	return rig->want;
}

static const struct virtio_dev_ops ops = {
	.id = VIRTIO_ID_BLOCK,
	.name = "rig",
	.queue_run = queue_run,
};

static const struct virtio_transport_ops transport_ops = {
	.signal = transport_signal,
};

static int setup(void **state)
{
	struct rig *rig = test_calloc(1, sizeof(*rig));

	rig->dev.ops = &ops;
	rig->dev.transport = &transport_ops;
	rig->dev.priv = rig;
	sem_init(&rig->entered, 0, 0);
	sem_init(&rig->left, 0, 0);
	assert_int_equal(virtio_dev__init(&rig->dev, QUEUES, 128), 0);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	virtio_dev__stop_threads(&rig->dev);
	virtio_dev__fini(&rig->dev);
	sem_destroy(&rig->entered);
	sem_destroy(&rig->left);
	test_free(rig);
	return 0;
}

/* As a driver does: ask until it is so. */
static void wait_idle(struct rig *rig)
{
	time_t end = time(NULL) + HANG_S;

	while (!virtio_dev__idle(&rig->dev)) {
		assert_true(time(NULL) < end);
		sched_yield();
	}
}

static void sizes_are_checked(void **state)
{
	static const uint16_t bad[] = {0, 1, 3, 100, VIRTQ_MAX_SIZE + 1, 2 * VIRTQ_MAX_SIZE};
	struct rig *rig = *state;
	struct virtio_dev dev = {.ops = &ops};

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(virtio_dev__init(&dev, 1, bad[i]), -EINVAL);
	assert_int_equal(virtio_dev__init(&dev, 0, 128), -EINVAL);
	for (unsigned int i = 0; i < QUEUES; i++) {
		struct virtio_queue *queue = &rig->dev.queues[i];

		assert_ptr_equal(queue->dev, &rig->dev);
		assert_int_equal(queue->index, i);
		assert_int_equal(queue->size_max, 128);
		assert_int_equal(queue->size, 128);
		assert_int_equal(queue->vector, 0xffff);
		assert_false(queue->enabled);
	}
}

static void thread_name_and_signals(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(virtio_dev__start_threads(&rig->dev, "blk-0"), 0);
	virtio_queue__start(&rig->dev.queues[1]);
	wait_sem(&rig->entered);
	assert_string_equal(rig->name[1], "blk-0.1");
	assert_true(sigismember(&rig->mask[1], SIGTERM));
	assert_true(sigismember(&rig->mask[1], SIGUSR1));
	pthread_sigmask(SIG_BLOCK, NULL, &rig->mask[0]);
	assert_false(sigismember(&rig->mask[0], SIGTERM)); /* ours is as before */
	virtio_queue__stop(&rig->dev.queues[1]);
	wait_idle(rig);
	virtio_dev__stop_threads(&rig->dev);
	assert_int_equal(virtio_dev__start_threads(&rig->dev, "a-long-name-indeed"), 0);
}

static void kicks_of_an_idle_queue(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(virtio_dev__start_threads(&rig->dev, "rig-0"), 0);
	for (unsigned int i = 0; i < 10; i++)
		virtio_queue__wake(&rig->dev.queues[0]);
	virtio_queue__stop(&rig->dev.queues[0]); /* not running: nothing */
	assert_true(virtio_dev__idle(&rig->dev));
	virtio_dev__stop_threads(&rig->dev);
	assert_int_equal(rig->turns[0], 0);
}

static void start_and_stop_many_times(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(virtio_dev__start_threads(&rig->dev, "rig-0"), 0);
	for (unsigned int i = 0; i < 2000; i++) {
		struct virtio_queue *queue = &rig->dev.queues[i % QUEUES];

		rig->shared[queue->index]++; /* ours while idle */
		virtio_queue__start(queue);
		virtio_queue__start(queue); /* no second activation */
		if (i % 3)
			virtio_queue__wake(queue);
		virtio_queue__stop(queue);
		virtio_queue__stop(queue);
		wait_idle(rig);
	}
	/* no activation is served twice; a stop can come before the thread has seen the start */
	for (unsigned int i = 0; i < QUEUES; i++) {
		assert_true(rig->turns[i] <= 1000);
		assert_int_equal(rig->shared[i], 1000 + rig->turns[i]);
	}
}

static void running_until_told(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(virtio_dev__start_threads(&rig->dev, "rig-0"), 0);
	virtio_queue__start(&rig->dev.queues[0]);
	wait_sem(&rig->entered);
	assert_false(virtio_dev__idle(&rig->dev));
	virtio_queue__stop(&rig->dev.queues[0]);
	wait_sem(&rig->left);
	wait_idle(rig);
	virtio_queue__start(&rig->dev.queues[0]);
	wait_sem(&rig->entered);
	/* the end of the VM, out of RUNNING */
	virtio_dev__stop_threads(&rig->dev);
	assert_int_equal(rig->turns[0], 2);
	virtio_queue__start(&rig->dev.queues[0]); /* QUIT is final */
	assert_int_equal(rig->dev.queues[0].state, VIRTIO_QUEUE_QUIT);
}

static void early_return_does_not_spin(void **state)
{
	struct rig *rig = *state;

	rig->early = true;
	assert_int_equal(virtio_dev__start_threads(&rig->dev, "rig-0"), 0);
	virtio_queue__start(&rig->dev.queues[0]);
	wait_sem(&rig->left);
	for (unsigned int i = 0; i < 10; i++)
		virtio_queue__wake(&rig->dev.queues[0]);
	virtio_queue__stop(&rig->dev.queues[0]);
	wait_idle(rig);
	assert_int_equal(rig->turns[0], 1);
}

static void stop_without_threads(void **state)
{
	struct rig *rig = *state;

	virtio_queue__start(&rig->dev.queues[0]);
	assert_false(virtio_dev__idle(&rig->dev));
	virtio_queue__stop(&rig->dev.queues[0]);
	assert_true(virtio_dev__idle(&rig->dev));
}

static void sleep_counts_and_clears(void **state)
{
	struct rig *rig = *state;
	struct virtio_queue *queue = &rig->dev.queues[0];

	for (unsigned int i = 0; i < 5; i++)
		virtio_queue__wake(queue);
	virtio_queue__sleep(queue); /* all five at once */
	assert_int_equal(queue->stats.wakes, 1);
	virtio_queue__wake(queue);
	virtio_queue__sleep(queue);
	assert_int_equal(queue->stats.wakes, 2);
}

/* 2.7.7: the NO_INTERRUPT flag says whether the driver wants one. */
static void publish_signals_once(void **state)
{
	struct rig *rig = *state;
	struct virtio_queue *queue = &rig->dev.queues[0];
	void *page = aligned_alloc(4096, 4096);
	struct guest_mem mem = {
		.region = {{.gpa = 0x10000, .size = 4096, .hva = page}},
		.nr = 1,
	};
	struct virtq_layout layout = {
		.size = 16,
		.desc = 0x10000,
		.avail = 0x10100,
		.used = 0x10200,
	};

	memset(page, 0, 4096);
	assert_int_equal(virtq__init(&queue->ring, &mem, &layout), 0);
	virtio_queue__publish(queue);
	assert_int_equal(rig->signals, 0); /* nothing pushed */
	assert_int_equal(queue->stats.suppressed, 0);
	for (unsigned int turn = 0; turn < 3; turn++) {
		queue->ring.taken[0] = queue->ring.taken[1] = 1;
		queue->ring.in_flight += 2;
		virtq__push(&queue->ring, 0, 1);
		virtq__push(&queue->ring, 1, 1);
		rig->want = turn == 0;
		queue->ring.split.avail->flags = turn == 2 ? VRING_AVAIL_F_NO_INTERRUPT : 0;
		virtio_queue__publish(queue);
	}
	assert_int_equal(rig->signals, 2); /* two heads, one signal; the last time none */
	assert_int_equal(queue->stats.interrupts, 1);
	/* one that the transport had no vector for, one that the driver did not want */
	assert_int_equal(queue->stats.suppressed, 2);
	assert_int_equal(queue->ring.split.used->idx, 6);
	free(page);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(sizes_are_checked),	   T(thread_name_and_signals),
		T(kicks_of_an_idle_queue), T(start_and_stop_many_times),
		T(running_until_told),	   T(early_return_does_not_spin),
		T(stop_without_threads),   T(sleep_counts_and_clears),
		T(publish_signals_once),
	};

	return cmocka_run_group_tests_name("virtio-dev", tests, NULL, NULL);
}
