/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_REPORT_H
#define LKVM_CMD_REPORT_H

#include <stdio.h>
#include <sys/utsname.h>

#include "console_watch.h"
#include "machine.h"
#include "outcome.h"
#include "stats.h"

/* The schema of the report (lkvm.1, REPORT); one more where a reader would break. */
#define REPORT_VERSION 1

/* All that a report tells of.  Borrowed; complete when every thread has ended. */
struct report {
	const struct machine *machine;
	const struct console_watch *cw;
	const struct stats *stats;
	const struct outcome *outcome;
	int argc;
	char *const *argv; /* of the command: "run" first */
	struct utsname host;
	uint64_t peak_kib; /* of lkvm, the guest's memory included */
};

/* --report, as JSON.  @report: const struct report *.  Errors show in ferror(out). */
void report__json(FILE *out, const void *report);
/* --junit: one test case, which failed where the exit status is not 0. */
void report__junit(FILE *out, const void *report);

/* A moment of the run. */
struct report_event {
	uint64_t at; /* ns of CLOCK_MONOTONIC */
	const char *name;
	const char *detail_key, *detail; /* NULL: none */
};

#define REPORT_EVENTS (TIMELINE_MARKS + 2 + WATCH_PATTERNS + 2 * OPTIONS_MAX_DISKS + 2)

/* The timeline in the order of time, what has not happened left out.  Their number. */
unsigned int report__timeline(const struct report *report,
			      struct report_event event[REPORT_EVENTS]);
/* When the process began, which is 0 in the report. */
uint64_t report__start(const struct report *report);

#endif
