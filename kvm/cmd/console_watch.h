/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_CONSOLE_WATCH_H
#define LKVM_CMD_CONSOLE_WATCH_H

#include "console.h"
#include "console_log.h"
#include "loop.h"
#include "opt_watch.h"
#include "watch.h"

/*
 * Ends the run by what the console shows and by the clock: --expect, --fail-on and
 * --timeout, and a kernel panic, seen in the text or reported through pvpanic.  Types
 * what --send says and copies the console for --log.  Main thread, in the loop's handlers.
 *
 * A panic ends the run when the kernel has said its last line, or nothing more for a
 * moment: the trace comes after the first line, and a report through pvpanic before
 * the last.
 */
#define WATCH_REPORTED_NS 200000000ULL /* silence after pvpanic */
#define WATCH_PANIC_NS 1000000000ULL /* silence after the text alone */
#define WATCH_PANIC_MAX_NS 10000000000ULL /* a guest that goes on talking */

struct console_watch {
	struct watch watch;
	const struct watch_options *opts;
	struct loop *loop;
	struct console *con;
	struct console_log *log;
	struct loop_source reported;
	struct loop_timer settle, limit;
	uint64_t panic_end; /* no later, 0: no panic */
	unsigned int sent;
	/* CLOCK_MONOTONIC, 0: not yet */
	uint64_t first_byte;
	uint64_t expect_at[WATCH_PATTERNS];
};

/*
 * Join @loop and @con, both initialised; @opts and @log (open, or none) have to stay.
 * 0 or -errno.
 */
int console_watch__init(struct console_watch *cw, const struct watch_options *opts,
			struct loop *loop, struct console *con, struct console_log *log,
			struct lk_err *err);
/* The guest runs: the clock of --timeout starts here. */
void console_watch__start(struct console_watch *cw);
/* After console__drain(), before console__fini(). */
void console_watch__fini(struct console_watch *cw);

#endif
