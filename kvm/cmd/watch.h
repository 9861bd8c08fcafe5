/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_WATCH_H
#define LKVM_CMD_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "console_text.h"
#include "pattern.h"

#define WATCH_PATTERNS 64 /* of each kind */
/* What is kept of a line: of a longer one the first half goes whenever this is full. */
#define WATCH_LINE 4096

/* What is looked for.  The options' own; constant while a watch uses it. */
struct watch_rules {
	struct pattern expect[WATCH_PATTERNS]; /* all of them, in this order */
	struct pattern fail_on[WATCH_PATTERNS]; /* any of them */
	unsigned int nr_expect, nr_fail_on;
	bool wait_end; /* the last expect does not end the run */
};

enum watch_panic {
	WATCH_PANIC_NONE,
	WATCH_PANIC_BEGUN, /* "Kernel panic - not syncing" at the start of a line */
	WATCH_PANIC_OVER, /* and its last line: all that the kernel had to say is out */
};

/*
 * Looks at what the guest writes, in the order in which it does: what matches first
 * decides, and nothing after it counts.  A line is looked at when it is complete and
 * whenever what came is all for now, so that a prompt without a line end matches;
 * "^" is the start of a line, "$" the end of a complete one.  Text is as
 * console_text.h makes it.  Memory of its own
 * is fixed; what the C library takes for an expression grows with the text that it has
 * seen.  One thread.
 */
struct watch {
	const struct watch_rules *rules;
	struct console_text text;
	unsigned int seen; /* expects that matched */
	const struct pattern *failed; /* the fail_on that matched, NULL: none */
	enum watch_panic panic;
	char why[256]; /* the start of the line with the panic, or that failed */
	/* the line: */
	size_t len, from; /* from: a match of an expect ended here */
	bool bol; /* line[0] is its first character */
	bool panic_line; /* the panic begins on it */
	char line[WATCH_LINE];
};

void watch__init(struct watch *w, const struct watch_rules *rules);

/* Bytes of the console.  Once watch__decided() the rest of them is not looked at. */
void watch__feed(struct watch *w, const void *buf, size_t len);

/* Every expect has matched, and there was one. */
static inline bool watch__satisfied(const struct watch *w)
{
	return w->rules->nr_expect && w->seen == w->rules->nr_expect;
}

/* The console alone says how the run ends. */
static inline bool watch__decided(const struct watch *w)
{
	return w->failed || (watch__satisfied(w) && !w->rules->wait_end);
}

#endif
