// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's serial port on stdin and stdout.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <lkvm/timeline.h>

#include "console.h"

#define CTRL_A 0x01
#define READ_SIZE 4096
/* Writes in a row before the loop looks at everything else again. */
#define MAX_WRITES 8

#define container(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static const char help[] = "\r\nlkvm: Ctrl-A x ends the VM, Ctrl-A Ctrl-A sends one Ctrl-A, "
			   "Ctrl-A h shows this line\r\n";

/* --- output --- */

static void watch_output(struct console *con)
{
	/* in the loop only while it is full: a closed pipe is always "ready" */
	if (loop__add(con->loop, &con->output, EPOLLOUT) == 0)
		con->out_watched = true;
	else
		con->pace.at = timeline__now() + CONSOLE_PACE_NS;
}

static void output_gone(struct console *con, int err)
{
	con->out_gone = true;
	log__warn(con->loop->log, "console output is discarded from here on: %s", strerror(err));
}

/* At most a ring of it: nothing is taken out meanwhile, so the guest cannot go on for ever. */
static void look(struct console *con)
{
	size_t len;

	if (!con->look)
		return;
	while ((len = uart__look(con->uart, con->look_buf, sizeof(con->look_buf))) > 0)
		con->look(con->look_arg, con->look_buf, len);
}

/* Write one piece.  Bytes taken out of the ring, 0: nothing there, -EAGAIN: no room. */
static ssize_t write_some(struct console *con, size_t limit)
{
	size_t len = uart__peek(con->uart, con->out_buf, limit);
	ssize_t n;

	look(con); /* what is consumed is past looking at */
	if (!len)
		return 0;
	n = con->out_gone ? (ssize_t)len : stream__write(&con->out, con->out_buf, len);
	if (n == 0)
		return -EAGAIN;
	if (n < 0 && n != -EAGAIN) {
		output_gone(con, -n);
		n = len;
	}
	if (n > 0)
		uart__consume(con->uart, n);
	return n;
}

static void pump_output(struct console *con)
{
	ssize_t n = 0;

	if (con->out_watched) {
		look(con);
		con->last_tx = timeline__now();
		return;
	}
	for (int i = 0; i < MAX_WRITES; i++) {
		n = write_some(con, sizeof(con->out_buf));
		if (n <= 0)
			break;
	}
	con->last_tx = timeline__now();
	if (n < 0)
		watch_output(con);
	else if (n > 0)
		con->pace.at = con->last_tx + CONSOLE_PACE_NS;
}

/*
 * The first byte after a pause goes out at once; what follows gathers for a
 * moment, or a guest as fast as this thread would cost a wakeup for each byte.
 */
static void output_wanted(struct console *con)
{
	size_t waiting = uart__pending(con->uart);
	uint64_t due = con->last_tx + CONSOLE_PACE_NS;

	if (!waiting || (con->out_watched && !con->look))
		return;
	/* stalled, with a full ring: each byte looked at would make the next one wake us */
	if (timeline__now() >= due || (waiting >= UART_TX_LOW && !con->out_watched))
		pump_output(con);
	else
		con->pace.at = due;
}

static void output_ready(struct loop_source *source, uint32_t events)
{
	struct console *con = container(source, struct console, output);

	(void)events; /* an error shows in the write */
	loop__del(con->loop, source);
	con->out_watched = false;
	pump_output(con);
}

static void pace_over(struct loop_timer *timer)
{
	struct console *con = container(timer, struct console, pace);

	pump_output(con);
}

/* --- input --- */

static void feed(struct console *con)
{
	size_t done = 0;

	while (done < con->in_len) {
		size_t room = uart__room(con->uart); /* 0: wakefd will tell */
		size_t len = con->in_len - done;

		if (!room)
			break;
		if (len > room)
			len = room;
		uart__feed(con->uart, con->in_buf + done, len);
		done += len;
	}
	con->in_len -= done;
	memmove(con->in_buf, con->in_buf + done, con->in_len);
}

static void keep(struct console *con, uint8_t byte)
{
	if (con->in_len < sizeof(con->in_buf))
		con->in_buf[con->in_len++] = byte;
	else
		con->in_dropped++;
}

static void show_help(struct console *con)
{
	/* to the terminal where the keys are; where that is stalled, not at all */
	ssize_t n = stream__write(&con->in, help, sizeof(help) - 1);

	(void)n;
}

/* The key after Ctrl-A. */
static void escape_key(struct console *con, uint8_t key)
{
	switch (key) {
	case 'x':
		run__end(con->loop->run, RUN_END_KEYBOARD, 0, -1);
		break;
	case 'h':
		show_help(con);
		break;
	default: /* Ctrl-A itself among them */
		keep(con, key);
		break;
	}
}

static void take_input(struct console *con, const uint8_t *buf, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (con->escaped) {
			con->escaped = false;
			escape_key(con, buf[i]);
		} else if (con->keys && buf[i] == CTRL_A) {
			con->escaped = true;
		} else {
			keep(con, buf[i]);
		}
	}
}

/* False: nothing more for now. */
static bool read_some(struct console *con)
{
	uint8_t buf[READ_SIZE];
	ssize_t n = stream__read(&con->in, buf, sizeof(buf));

	if (n == -EAGAIN)
		return false;
	if (n <= 0) {
		con->in_done = true;
		return false;
	}
	take_input(con, buf, n);
	feed(con);
	return true;
}

/* A terminal is read only while it is raw and ours: a background read would stop us. */
static bool input_wanted(const struct console *con)
{
	if (con->in_done)
		return false;
	if (con->in.tty)
		return con->loop->term->raw && !term__background(con->loop->term);
	return con->in_len == 0;
}

/* A file is always ready: the end of it, or a full ring in the guest, ends this. */
static void read_plain(struct console *con)
{
	while (input_wanted(con) && read_some(con))
		;
}

static void start_watching(struct console *con)
{
	int ret = loop__add(con->loop, &con->input, EPOLLIN);

	con->in_watched = ret == 0;
	con->in_plain = ret == -EPERM;
	con->in_done = ret && !con->in_plain;
	if (con->in_plain)
		read_plain(con);
}

static void watch_input(struct console *con)
{
	bool want = input_wanted(con);

	if (con->in_plain) {
		read_plain(con);
	} else if (want && !con->in_watched) {
		start_watching(con);
	} else if (!want && con->in_watched) {
		/* a closed pipe would be "ready" for ever */
		loop__del(con->loop, &con->input);
		con->in_watched = false;
	}
}

static void input_ready(struct loop_source *source, uint32_t events)
{
	struct console *con = container(source, struct console, input);

	(void)events;
	if (input_wanted(con))
		read_some(con);
	watch_input(con);
}

static void terminal_changed(void *arg)
{
	watch_input(arg);
}

void console__type(struct console *con, const void *buf, size_t len)
{
	const uint8_t *bytes = buf;

	for (size_t i = 0; i < len; i++)
		keep(con, bytes[i]);
	feed(con);
	/* input from a pipe waits meanwhile */
	watch_input(con);
}

/* --- both --- */

static void uart_ready(struct loop_source *source, uint32_t events)
{
	struct console *con = container(source, struct console, wake);
	eventfd_t count;

	(void)events;
	eventfd_read(source->fd, &count);
	feed(con);
	watch_input(con);
	output_wanted(con);
}

void console__open(struct console *con, int in, int out)
{
	memset(con, 0, sizeof(*con));
	stream__open(&con->in, in, false);
	stream__open(&con->out, out, true);
}

void console__close(struct console *con)
{
	stream__close(&con->in);
	stream__close(&con->out);
}

int console__init(struct console *con, struct loop *loop, struct uart *uart, struct lk_err *err)
{
	int ret;

	con->loop = loop;
	con->uart = uart;
	con->in_done = con->in.kind == STREAM_CLOSED;
	con->keys = con->in.tty;
	con->wake = (struct loop_source) {.fd = uart->wakefd, .ready = uart_ready};
	con->input = (struct loop_source) {.fd = con->in.fd, .ready = input_ready};
	con->output = (struct loop_source) {.fd = con->out.fd, .ready = output_ready};
	con->pace.fire = pace_over;
	ret = loop__add(loop, &con->wake, EPOLLIN);
	if (ret)
		return lk_err__set(err, ret, "console: epoll: %s", strerror(-ret));
	loop__timer_add(loop, &con->pace);
	loop->terminal_changed = terminal_changed;
	loop->terminal_arg = con;
	watch_input(con);
	return 0;
}

void console__fini(struct console *con)
{
	if (con->in_watched)
		loop__del(con->loop, &con->input);
	if (con->out_watched)
		loop__del(con->loop, &con->output);
	loop__del(con->loop, &con->wake);
	con->pace.at = 0;
	con->loop->terminal_changed = NULL;
}

/* True: there may be room.  False: the time is over, or waiting is no use. */
static bool wait_writable(struct console *con, uint64_t deadline)
{
	struct pollfd pfd = {.fd = con->out.fd, .events = POLLOUT};
	uint64_t now = timeline__now();

	if (con->out.kind == STREAM_PLAIN || now >= deadline)
		return false;
	return poll(&pfd, 1, (int)((deadline - now + 999999) / 1000000)) > 0;
}

size_t console__drain(struct console *con, unsigned int ms)
{
	uint64_t deadline = timeline__now() + (uint64_t)ms * 1000000;
	size_t left = uart__pending(con->uart);

	while (left) {
		size_t limit = left < sizeof(con->out_buf) ? left : sizeof(con->out_buf);
		ssize_t n = write_some(con, limit);

		if (n > 0)
			left -= n;
		else if (n == 0 || !wait_writable(con, deadline))
			break;
	}
	return left;
}
