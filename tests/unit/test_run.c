/* SPDX-License-Identifier: GPL-2.0-only */
/* Run control: one outcome, told once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>

#include <lkvm/run.h>

static bool readable(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

static void test_first_wins(void **state)
{
	struct run run;
	eventfd_t count;

	(void)state;
	assert_int_equal(run__init(&run), 0);
	assert_true(fcntl(run.endfd, F_GETFD) & FD_CLOEXEC);
	assert_false(run__ended(&run));
	assert_false(readable(run.endfd));
	run__end(&run, RUN_END_EXIT_PORT, 7, 2);
	assert_true(run__ended(&run));
	assert_true(readable(run.endfd));
	run__end(&run, RUN_END_TRIPLE_FAULT, 1, 0);
	assert_int_equal(run.end, RUN_END_EXIT_PORT);
	assert_int_equal(run.code, 7);
	assert_int_equal(run.cpu, 2);
	/* told once, however often it ends */
	assert_int_equal(eventfd_read(run.endfd, &count), 0);
	assert_int_equal(count, 1);
	run__fini(&run);
}

struct ender {
	struct run *run;
	pthread_barrier_t *barrier;
	int cpu;
};

static void *ender(void *arg)
{
	struct ender *e = arg;

	pthread_barrier_wait(e->barrier);
	run__end(e->run, RUN_END_EXIT_PORT, 100 + e->cpu, e->cpu);
	return NULL;
}

/* Several vCPUs end the VM at once: the outcome is one of theirs, not a mixture. */
static void test_at_once(void **state)
{
	struct ender e[4];
	pthread_barrier_t barrier;
	pthread_t thread[4];
	struct run run;
	unsigned int round;
	int i;

	(void)state;
	pthread_barrier_init(&barrier, NULL, 4);
	for (round = 0; round < 50; round++) {
		assert_int_equal(run__init(&run), 0);
		for (i = 0; i < 4; i++) {
			e[i] = (struct ender) {&run, &barrier, i};
			assert_int_equal(pthread_create(&thread[i], NULL, ender, &e[i]), 0);
		}
		for (i = 0; i < 4; i++)
			pthread_join(thread[i], NULL);
		assert_true(run__ended(&run));
		assert_in_range(run.cpu, 0, 3);
		assert_int_equal(run.code, 100 + run.cpu);
		run__fini(&run);
	}
	pthread_barrier_destroy(&barrier);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_wins),
		cmocka_unit_test(test_at_once),
	};

	return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
