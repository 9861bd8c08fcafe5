// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the console and the clock do to the run.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <lkvm/timeline.h>

#include "console_watch.h"

#define container(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static void send_due(struct console_watch *cw)
{
	while (cw->sent < cw->opts->nr_send && cw->opts->send[cw->sent].after <= cw->watch.seen) {
		const struct watch_send *send = &cw->opts->send[cw->sent++];

		console__type(cw->con, send->bytes, send->len);
	}
}

static bool reported(const struct console_watch *cw)
{
	return atomic_load_explicit(&cw->loop->run->panic, memory_order_acquire);
}

/* There is a panic: wait for the end of what the kernel says about it. */
static void wait_for_silence(struct console_watch *cw)
{
	uint64_t now = timeline__now();

	if (!cw->panic_end)
		cw->panic_end = now + WATCH_PANIC_MAX_NS;
	cw->settle.at = now + (reported(cw) ? WATCH_REPORTED_NS : WATCH_PANIC_NS);
	if (cw->settle.at > cw->panic_end)
		cw->settle.at = cw->panic_end;
}

/* For the report. */
static void note_times(struct console_watch *cw, unsigned int seen_before)
{
	uint64_t now = timeline__now();

	if (!cw->first_byte)
		cw->first_byte = now;
	for (unsigned int i = seen_before; i < cw->watch.seen; i++)
		cw->expect_at[i] = now;
}

static void console_said(void *arg, const uint8_t *buf, size_t len)
{
	struct console_watch *cw = arg;
	struct run *run = cw->loop->run;
	unsigned int seen = cw->watch.seen;

	console_log__write(cw->log, cw->loop->log, buf, len);
	watch__feed(&cw->watch, buf, len);
	note_times(cw, seen);
	send_due(cw);
	if (cw->watch.failed)
		run__end(run, RUN_END_FAIL_ON, 0, -1);
	else if (watch__decided(&cw->watch))
		run__end(run, RUN_END_EXPECTED, 0, -1);
	else if (cw->watch.panic == WATCH_PANIC_OVER)
		run__end(run, RUN_END_PANIC, 0, -1);
	else if (cw->watch.panic != WATCH_PANIC_NONE || reported(cw))
		wait_for_silence(cw);
}

static void panic_reported(struct loop_source *source, uint32_t events)
{
	struct console_watch *cw = container(source, struct console_watch, reported);
	eventfd_t count;

	(void)events;
	eventfd_read(source->fd, &count);
	log__info(cw->loop->log, "the guest reported a kernel panic through pvpanic");
	wait_for_silence(cw);
}

static void silence(struct loop_timer *timer)
{
	run__end(container(timer, struct console_watch, settle)->loop->run, RUN_END_PANIC, 0, -1);
}

static void time_over(struct loop_timer *timer)
{
	run__end(container(timer, struct console_watch, limit)->loop->run, RUN_END_TIMEOUT, 0, -1);
}

int console_watch__init(struct console_watch *cw, const struct watch_options *opts,
			struct loop *loop, struct console *con, struct console_log *log,
			struct lk_err *err)
{
	int ret;

	memset(cw, 0, sizeof(*cw));
	watch__init(&cw->watch, &opts->rules);
	cw->opts = opts;
	cw->loop = loop;
	cw->con = con;
	cw->log = log;
	cw->reported = (struct loop_source) {.fd = loop->run->panicfd, .ready = panic_reported};
	cw->settle.fire = silence;
	cw->limit.fire = time_over;
	ret = loop__add(loop, &cw->reported, EPOLLIN);
	if (ret)
		return lk_err__set(err, ret, "console: epoll: %s", strerror(-ret));
	loop__timer_add(loop, &cw->settle);
	loop__timer_add(loop, &cw->limit);
	con->look = console_said;
	con->look_arg = cw;
	return 0;
}

void console_watch__start(struct console_watch *cw)
{
	if (cw->opts->timeout)
		cw->limit.at = timeline__now() + cw->opts->timeout * 1000000000ULL;
	send_due(cw);
}

void console_watch__fini(struct console_watch *cw)
{
	cw->con->look = NULL;
	cw->settle.at = 0;
	cw->limit.at = 0;
	loop__del(cw->loop, &cw->reported);
}
