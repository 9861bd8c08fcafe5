/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_LOOP_H
#define LKVM_CMD_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include <lkvm/err.h>
#include <lkvm/log.h>
#include <lkvm/run.h>

#include "term.h"

/*
 * The main thread's event loop, from the first vCPU to the outcome.  It sleeps
 * in one epoll_wait() and has no periodic wakeup, but one: while lkvm is in
 * the background of its terminal, it looks four times a second whether it has
 * been brought to the foreground, since nothing else tells.
 *
 * Whatever else the main thread is to wait for (a control socket, a time
 * limit) joins as a source or a timer.  All calls: main thread.
 */
struct loop_source {
	int fd;
	/* May add and delete sources, itself included.  @events: EPOLL* */
	void (*ready)(struct loop_source *source, uint32_t events);
};

struct loop_timer {
	uint64_t at; /* ns of CLOCK_MONOTONIC (timeline__now()); 0: not set */
	void (*fire)(struct loop_timer *timer); /* at is 0 again by then */
	struct loop_timer *next; /* the loop's */
};

struct loop {
	struct run *run;
	struct log *log;
	struct term *term;
	int epfd;
	int sigfd;
	bool over; /* the outcome is known */
	struct loop_timer *timers;
	struct loop_source end, messages, signals;
	struct loop_timer foreground;
	void (*terminal_changed)(void *arg); /* raw mode came, or a stop is over */
	void *terminal_arg;
};

/*
 * Block the signals that the loop takes, but for those that are ignored
 * already, and ignore SIGPIPE and SIGXFSZ.  The first thing in a run, before any
 * thread exists (threads inherit it): a SIGTERM during start-up waits for the
 * loop.
 */
void loop__block_signals(void);

/* @term: initialised, raw or not.  0 or -errno; nothing is left on failure. */
int loop__init(struct loop *loop, struct run *run, struct log *log, struct term *term,
	       struct lk_err *err);
void loop__fini(struct loop *loop);

/* 0 or -errno.  -EPERM: a file, always ready, that epoll does not take. */
int loop__add(struct loop *loop, struct loop_source *source, uint32_t events);
void loop__del(struct loop *loop, struct loop_source *source);

void loop__timer_add(struct loop *loop, struct loop_timer *timer); /* once; then set at */

/*
 * Terminal raw (or watched for, in the background), then wait and serve until
 * run->endfd is readable.  0: the outcome is in run.  -errno: epoll failed,
 * and run has RUN_END_HOST.
 */
int loop__run(struct loop *loop);

#endif
