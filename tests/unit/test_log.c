/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages: what reaches stderr, when, and what a stalled reader does to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <lkvm/log.h>

/* stderr is a pipe while a test runs */
struct capture {
	struct log log;
	int saved;
	int read_fd;
	char text[262144];
	size_t len;
};

static int setup(void **state)
{
	struct capture *c = calloc(1, sizeof(*c));
	int fds[2];

	assert_non_null(c);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	c->read_fd = fds[0];
	fflush(stderr);
	c->saved = dup(STDERR_FILENO);
	dup2(fds[1], STDERR_FILENO);
	close(fds[1]);
	*state = c;
	return log__init(&c->log, LOG_LEVEL_WARNING);
}

static int teardown(void **state)
{
	struct capture *c = *state;

	log__fini(&c->log);
	dup2(c->saved, STDERR_FILENO);
	close(c->saved);
	close(c->read_fd);
	free(c);
	return 0;
}

static bool writable(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLOUT};

	return poll(&pfd, 1, 0) == 1;
}

/* Everything in the pipe, as a string. */
static const char *taken(struct capture *c)
{
	ssize_t n;

	while ((n = read(c->read_fd, c->text + c->len, sizeof(c->text) - 1 - c->len)) > 0)
		c->len += (size_t)n;
	c->text[c->len] = 0;
	return c->text;
}

static bool readable(int fd)
{
	struct pollfd pfd = {.fd = fd, .events = POLLIN};

	return poll(&pfd, 1, 0) == 1;
}

static void test_direct(void **state)
{
	struct capture *c = *state;

	log__error(&c->log, "no %s", "disk");
	log__warn(&c->log, "odd");
	log__info(&c->log, "not at this level");
	log__debug(&c->log, "nor this");
	log__error(NULL, "no log, no message");
	assert_string_equal(taken(c), "lkvm: error: no disk\nlkvm: warning: odd\n");
}

/* A guest or a file name cannot forge lines or terminal sequences. */
static void test_control_characters(void **state)
{
	struct capture *c = *state;

	log__error(&c->log, "a\nlkvm: b\x1b[2J\x7f\t\xc3\xa9");
	assert_string_equal(taken(c), "lkvm: error: a?lkvm: b?[2J??\xc3\xa9\n");
}

static void test_long_message(void **state)
{
	struct capture *c = *state;
	char text[3000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	log__error(&c->log, "%s", text);
	assert_int_equal(strlen(taken(c)), LOG_LINE_MAX);
	assert_int_equal(c->text[LOG_LINE_MAX - 1], '\n');
}

static void test_deferred(void **state)
{
	struct capture *c = *state;

	log__defer(&c->log, true);
	assert_false(readable(c->log.wakefd));
	log__warn(&c->log, "one");
	log__warn(&c->log, "two");
	assert_string_equal(taken(c), "");
	assert_true(readable(c->log.wakefd));
	log__flush(&c->log);
	assert_string_equal(taken(c), "lkvm: warning: one\nlkvm: warning: two\n");
	assert_false(readable(c->log.wakefd));
	log__warn(&c->log, "three");
	log__defer(&c->log, false); /* writes what is left */
	log__warn(&c->log, "four");
	assert_non_null(strstr(taken(c), "three\nlkvm: warning: four\n"));
}

static void test_full_buffer(void **state)
{
	struct capture *c = *state;
	unsigned int i, lines;
	const char *p;

	log__defer(&c->log, true);
	for (i = 0; i < 2000; i++)
		log__warn(&c->log, "message %04u", i); /* 28 bytes with the newline */
	log__flush(&c->log);
	lines = LOG_BUFFER_SIZE / 28;
	p = taken(c);
	assert_int_equal(strncmp(p, "lkvm: warning: message 0000\n", 28), 0);
	assert_int_equal(strncmp(p + (lines - 1) * 28, "lkvm: warning: message 0584\n", 28), 0);
	assert_string_equal(p + lines * 28, "lkvm: warning: 1415 messages dropped here\n");
}

/* Nobody reads: the flush comes back, and nothing is lost when the reader does too. */
static void test_stalled_reader(void **state)
{
	struct capture *c = *state;
	unsigned int i;
	size_t want;

	fcntl(STDERR_FILENO, F_SETPIPE_SZ, 4096);
	log__defer(&c->log, true);
	for (i = 0; i < 500; i++)
		log__warn(&c->log, "message %04u", i);
	log__flush(&c->log); /* would hang here */
	log__flush(&c->log);
	want = 500 * 28;
	for (i = 0; i < 100 && strlen(taken(c)) < want; i++)
		log__flush(&c->log);
	assert_int_equal(strlen(taken(c)), want);
	for (i = 0; i < 500; i++) {
		char line[32];

		snprintf(line, sizeof(line), "lkvm: warning: message %04u\n", i);
		assert_int_equal(strncmp(c->text + i * 28, line, 28), 0);
	}
	/* After the end, too, a stalled reader only costs the message. */
	for (i = 0; i < 6; i++)
		log__error(&c->log, "%01000d", 1);
	log__defer(&c->log, false);
}

/* A terminal whose window is stalled: room for a few bytes is no reason to hang. */
static void test_stalled_terminal(void **state)
{
	struct capture *c = *state;
	int master, slave, fill;
	struct termios raw;
	char block[200]; /* small pieces: room comes back in as small ones */
	unsigned int i, round;

	assert_int_equal(openpty(&master, &slave, NULL, NULL, NULL), 0);
	tcgetattr(slave, &raw);
	cfmakeraw(&raw);
	tcsetattr(slave, TCSANOW, &raw);
	fill = open(ttyname(slave), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	assert_true(fill >= 0);
	memset(block, '.', sizeof(block));
	dup2(slave, STDERR_FILENO);
	log__defer(&c->log, true);
	alarm(60); /* it hangs */
	for (round = 0; round < 50; round++) {
		while (write(fill, block, sizeof(block)) > 0)
			;
		while (!writable(slave)) /* the least that makes it so */
			assert_true(read(master, block, 64) > 0);
		for (i = 0; i < 500; i++)
			log__warn(&c->log, "message %04u", i);
		log__flush(&c->log);
		assert_true(c->log.used > 0); /* it was full before the end */
	}
	alarm(0);

	tcflush(master, TCIFLUSH);
	close(master); /* gone: the rest is dropped by the end of the test */
	close(slave);
	close(fill);
}

static void *writer(void *arg)
{
	struct capture *c = arg;
	unsigned int i;

	for (i = 0; i < 100; i++)
		log__warn(&c->log, "%0100u", i);
	return NULL;
}

/* Lines from several threads stay whole while the main thread flushes. */
static void test_threads(void **state)
{
	struct capture *c = *state;
	unsigned int i, lines = 0;
	unsigned long dropped = 0, n;
	pthread_t thread[3];
	char *line, *save;

	log__defer(&c->log, true);
	for (i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, writer, c), 0);
	for (i = 0; i < 50; i++) {
		log__flush(&c->log);
		taken(c);
	}
	for (i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	for (i = 0; i < 10; i++) {
		log__flush(&c->log);
		taken(c);
	}
	for (line = strtok_r(c->text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, "lkvm: warning: %lu messages", &n) == 1 && strlen(line) < 100)
			dropped += n;
		else if (assert_int_equal(strlen(line), 115), 1)
			lines++;
	}
	assert_int_equal(lines + dropped, 300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_direct, setup, teardown),
		cmocka_unit_test_setup_teardown(test_control_characters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long_message, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deferred, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_buffer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stalled_reader, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stalled_terminal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
