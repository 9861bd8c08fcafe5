// SPDX-License-Identifier: GPL-2.0-only
/*
 * The console with a real loop in a thread of its own; the test is the guest
 * (through the port bus, as a vCPU) and the people at the other ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <linux/serial_reg.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <kvm/cmd/console.h>
#include <lkvm/timeline.h>
#include <lkvm/x86_map.h>

#define PORT X86_PORT_COM1
#define HANG_NS 20000000000ULL /* nothing here takes a second; a hang ends the test */
#define DRAIN_MS 500

struct fixture {
	struct vm vm; /* without KVM */
	struct uart uart;
	struct term term;
	struct loop loop;
	struct console con;
	pthread_t thread;
	int in[2], out[2]; /* [0]: lkvm's end */
	size_t left; /* what console__drain() could not write */
	bool running;
};

static void *main_thread(void *arg)
{
	struct fixture *f = arg;

	loop__run(&f->loop);
	f->left = console__drain(&f->con, DRAIN_MS);
	return NULL;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	loop__block_signals();
	f->vm.kvm_fd = -1;
	f->vm.vm_fd = -1;
	f->vm.irq.vm = &f->vm;
	pthread_mutex_init(&f->vm.irq.lock, NULL);
	pthread_mutex_init(&f->vm.irq.pin_lock, NULL);
	if (bus__init(&f->vm.pio) || run__init(&f->vm.run) ||
	    log__init(&f->vm.log, LOG_LEVEL_ERROR) ||
	    uart__init(&f->uart, &f->vm, PORT, X86_GSI_COM1))
		return -1;
	f->in[0] = f->in[1] = f->out[0] = f->out[1] = -1;
	*state = f;
	return 0;
}

static void start(struct fixture *f)
{
	term__init(&f->term, f->in[0]);
	assert_int_equal(loop__init(&f->loop, &f->vm.run, &f->vm.log, &f->term, NULL), 0);
	console__open(&f->con, f->in[0], f->out[0]);
	assert_int_equal(console__init(&f->con, &f->loop, &f->uart, NULL), 0);
	assert_int_equal(pthread_create(&f->thread, NULL, main_thread, f), 0);
	f->running = true;
}

/* Wait for the loop to end by itself. */
static void finish(struct fixture *f)
{
	pthread_join(f->thread, NULL);
	f->running = false;
	term__fini(&f->term);
	console__fini(&f->con);
	console__close(&f->con);
	loop__fini(&f->loop);
}

static void stop(struct fixture *f)
{
	run__end(&f->vm.run, RUN_END_POWEROFF, 0, -1);
	finish(f);
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	int fds[] = {f->in[0], f->in[1], f->out[0], f->out[1]};

	if (f->running)
		stop(f);
	for (unsigned int i = 0; i < 4; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
	uart__fini(&f->uart);
	log__fini(&f->vm.log);
	run__fini(&f->vm.run);
	bus__fini(&f->vm.pio);
	free(f);
	return 0;
}

static void use_pipes(struct fixture *f)
{
	int in[2], out[2];

	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	f->in[0] = in[0];
	f->in[1] = in[1];
	f->out[0] = out[1];
	f->out[1] = out[0];
}

static void use_pty(struct fixture *f)
{
	assert_int_equal(openpty(&f->in[1], &f->in[0], NULL, NULL, NULL), 0);
	f->out[0] = dup(f->in[0]);
	f->out[1] = dup(f->in[1]);
}

static void reg_write(struct fixture *f, unsigned int reg, uint8_t val)
{
	bus__write(&f->vm.pio, PORT + reg, &val, 1);
}

static uint8_t reg_read(struct fixture *f, unsigned int reg)
{
	uint8_t val;

	bus__read(&f->vm.pio, PORT + reg, &val, 1);
	return val;
}

/* True once @mask shows in LSR; a guest polls just so. */
static bool wait_lsr(struct fixture *f, uint8_t mask)
{
	uint64_t limit = timeline__now() + HANG_NS;

	while (!(reg_read(f, UART_LSR) & mask)) {
		if (timeline__now() > limit)
			return false;
		sched_yield();
	}
	return true;
}

static uint8_t pattern(size_t i)
{
	return i ^ i >> 8 ^ i >> 16;
}

struct guest_output {
	struct fixture *f;
	size_t len;
	bool done;
};

static void *guest_writes(void *arg)
{
	struct guest_output *job = arg;

	for (size_t i = 0; i < job->len; i++) {
		if (!wait_lsr(job->f, UART_LSR_THRE))
			return NULL;
		reg_write(job->f, UART_TX, pattern(i));
	}
	job->done = true;
	return NULL;
}

/* Fill the pipe, which nobody reads, and more than half of the transmit ring behind it. */
static void stall(struct fixture *f)
{
	struct guest_output job = {.f = f,
				   .len = fcntl(f->out[0], F_GETPIPE_SZ) + UART_TX_LOW + 4096};

	guest_writes(&job);
	assert_true(job.done);
}

static void read_pattern(int fd, size_t from, size_t len)
{
	uint8_t buf[4096];

	for (size_t at = from; at < from + len;) {
		ssize_t n = read(fd, buf, sizeof(buf));

		assert_true(n > 0);
		for (ssize_t i = 0; i < n; i++, at++)
			assert_int_equal(buf[i], pattern(at));
	}
}

static void guest_reads(struct fixture *f, const char *want, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		assert_true(wait_lsr(f, UART_LSR_DR));
		assert_int_equal(reg_read(f, UART_RX), (uint8_t)want[i]);
	}
}

/* Nothing lost and in order over a stall; input and the end work during it. */
static void stall_and_resume(struct fixture *f)
{
	struct guest_output job = {.f = f, .len = 3 << 20};
	pthread_t guest;
	uint64_t limit = timeline__now() + HANG_NS;
	bool busy = false;

	start(f);
	pthread_create(&guest, NULL, guest_writes, &job);
	while (!busy && timeline__now() < limit) {
		pthread_mutex_lock(&f->uart.lock);
		busy = f->uart.tx_busy;
		pthread_mutex_unlock(&f->uart.lock);
		sched_yield();
	}
	assert_true(busy);
	read_pattern(f->out[1], 0, job.len);
	pthread_join(guest, NULL);
	assert_true(job.done);
	assert_int_equal(f->uart.tx_dropped, 0);
	/* wakeups: not one a byte, not even one in a hundred */
	assert_in_range(f->uart.wakes, 1, job.len / 100);
	stop(f);
	assert_int_equal(f->left, 0);
}

static void test_stall_pipe(void **state)
{
	use_pipes(*state);
	stall_and_resume(*state);
}

static void test_stall_socket(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, f->out), 0);
	stall_and_resume(f);
}

static void test_stall_pty(void **state)
{
	use_pty(*state);
	stall_and_resume(*state);
}

static void test_input_during_stall(void **state)
{
	struct fixture *f = *state;

	use_pipes(f);
	start(f);
	reg_write(f, UART_MCR, UART_MCR_RTS);
	stall(f);
	assert_int_equal(write(f->in[1], "hello", 5), 5);
	guest_reads(f, "hello", 5);
}

/* The end comes although nobody reads, and soon; what did not fit is counted. */
static void test_end_with_pipe_full(void **state)
{
	struct fixture *f = *state;
	uint64_t begin;

	use_pipes(f);
	start(f);
	stall(f);
	begin = timeline__now();
	kill(getpid(), SIGTERM);
	finish(f);
	assert_true(timeline__now() - begin < HANG_NS);
	assert_int_equal(f->vm.run.end, RUN_END_SIGNAL);
	assert_int_equal(f->vm.run.code, SIGTERM);
	assert_in_range(f->left, UART_TX_LOW, UART_TX_SIZE);
}

/* Output right before the end is not lost. */
static void test_last_words(void **state)
{
	struct fixture *f = *state;
	const size_t len = 30000;

	use_pipes(f);
	start(f);
	for (size_t i = 0; i < len; i++)
		reg_write(f, UART_TX, pattern(i));
	stop(f);
	assert_int_equal(f->left, 0);
	read_pattern(f->out[1], 0, len);
}

static void test_reader_gone(void **state)
{
	struct fixture *f = *state;
	struct guest_output job = {.f = f, .len = 1 << 20};

	use_pipes(f);
	start(f);
	stall(f);
	close(f->out[1]); /* wakes the loop; no SIGPIPE ends us */
	f->out[1] = -1;
	guest_writes(&job);
	assert_true(job.done);
	assert_int_equal(write(f->in[1], "a", 1), 1);
	reg_write(f, UART_MCR, UART_MCR_RTS);
	guest_reads(f, "a", 1);
	stop(f);
	assert_true(f->con.out_gone);
	assert_false(
		f->con.out_watched); /* a dead pipe is always ready: it must not be waited for */
	assert_int_equal(f->left, 0);
}

static void test_no_descriptors_at_all(void **state)
{
	struct fixture *f = *state;
	struct guest_output job = {.f = f, .len = 200000};

	start(f); /* stdin and stdout closed by whoever started us */
	guest_writes(&job);
	assert_true(job.done);
}

static void test_input_from_file(void **state)
{
	struct fixture *f = *state;
	FILE *file = tmpfile();
	const size_t len = 3 * UART_RX_SIZE + 77;

	for (size_t i = 0; i < len; i++)
		fputc(pattern(i), file);
	fflush(file);
	rewind(file);
	f->in[0] = dup(fileno(file));
	fclose(file);
	start(f);
	reg_write(f, UART_MCR, UART_MCR_RTS);
	for (size_t i = 0; i < len; i++) {
		assert_true(wait_lsr(f, UART_LSR_DR));
		assert_int_equal(reg_read(f, UART_RX), pattern(i));
	}
	/* the end of the file did not end the VM */
	assert_int_equal(f->vm.run.end, RUN_END_NONE);
	stop(f);
	assert_true(f->con.in_done);
}

/* Through a pipe every byte is data, and more than any ring holds arrives whole. */
static void test_pipe_is_data(void **state)
{
	struct fixture *f = *state;

	use_pipes(f);
	start(f);
	reg_write(f, UART_MCR, UART_MCR_RTS);
	assert_int_equal(write(f->in[1], "\x01x\x01\x01", 4), 4);
	guest_reads(f, "\x01x\x01\x01", 4);
	assert_int_equal(f->vm.run.end, RUN_END_NONE);
	close(f->in[1]); /* end of input */
	f->in[1] = -1;
	reg_write(f, UART_TX, '!');
	stop(f);
	assert_int_equal(f->vm.run.end, RUN_END_POWEROFF);
}

static void test_shared_descriptions_stay_blocking(void **state)
{
	struct fixture *f = *state;
	int before_in, before_out;

	use_pty(f);
	before_in = fcntl(f->in[0], F_GETFL);
	before_out = fcntl(f->out[0], F_GETFL);
	start(f);
	reg_write(f, UART_MCR, UART_MCR_RTS);
	/* an answer from the loop: the terminal is in use */
	assert_int_equal(write(f->in[1], "a", 1), 1);
	guest_reads(f, "a", 1);
	assert_int_equal(fcntl(f->in[0], F_GETFL), before_in);
	assert_int_equal(fcntl(f->out[0], F_GETFL), before_out);
}

/* Output comes when the loop runs, and then the terminal is raw. */
static void wait_raw(struct fixture *f)
{
	char byte;

	reg_write(f, UART_TX, '>');
	assert_int_equal(read(f->out[1], &byte, 1), 1);
	assert_int_equal(byte, '>');
}

static void test_keys(void **state)
{
	struct fixture *f = *state;
	char line[256] = "";

	use_pty(f);
	start(f);
	wait_raw(f);
	reg_write(f, UART_MCR, UART_MCR_RTS);
	assert_int_equal(write(f->in[1],
			       "a\x01\x01"
			       "b\x01qc\r",
			       8),
			 8);
	guest_reads(f,
		    "a\x01"
		    "bqc\r",
		    6);
	assert_int_equal(write(f->in[1], "\x01h", 2), 2);
	assert_true(read(f->out[1], line, sizeof(line) - 1) > 0);
	assert_non_null(strstr(line, "Ctrl-A x"));
	assert_int_equal(write(f->in[1], "\x01x", 2), 2);
	finish(f);
	assert_int_equal(f->vm.run.end, RUN_END_KEYBOARD);
}

/* A guest that does not take its input: the keys still work. */
static void test_keys_with_deaf_guest(void **state)
{
	struct fixture *f = *state;
	char junk[1024];

	use_pty(f);
	start(f);
	wait_raw(f);
	memset(junk, 'j', sizeof(junk));
	for (int i = 0; i < 100; i++)
		assert_int_equal(write(f->in[1], junk, sizeof(junk)), sizeof(junk));
	assert_int_equal(write(f->in[1], "\x01x", 2), 2);
	finish(f);
	assert_int_equal(f->vm.run.end, RUN_END_KEYBOARD);
	assert_int_equal(f->con.in_dropped, 100 * sizeof(junk) - UART_RX_SIZE - CONSOLE_TYPED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_stall_pipe),
		TEST(test_stall_socket),
		TEST(test_stall_pty),
		TEST(test_input_during_stall),
		TEST(test_end_with_pipe_full),
		TEST(test_last_words),
		TEST(test_reader_gone),
		TEST(test_no_descriptors_at_all),
		TEST(test_input_from_file),
		TEST(test_pipe_is_data),
		TEST(test_shared_descriptions_stay_blocking),
		TEST(test_keys),
		TEST(test_keys_with_deaf_guest),
	};

	return cmocka_run_group_tests_name("console", tests, NULL, NULL);
}
