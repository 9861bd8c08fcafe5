/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_VERDICT_H
#define PAYLOAD_VERDICT_H

#include "payload.h"

/*
 * Cases with a name and an outcome, counted by family.  CPU 0 alone.
 *
 *	case FAMILY NAME: OUTCOME ok|FAIL
 *
 * Where the specification leaves the device a choice, more than one outcome is
 * right: they can be or-ed.
 */
enum verdict {
	VERDICT_COMPLETED = 1, /* with the value, the status or the length that is due */
	VERDICT_IGNORED = 2, /* nothing happened, and nothing changed */
	VERDICT_NEEDS_RESET = 4, /* DEVICE_NEEDS_RESET, and alive after a reset */
	VERDICT_FAILED = 8, /* anything else: never right */
};

/* @family: a string constant.  @expected: those that are right.  Whether @got is one of them. */
bool verdict(const char *family, const char *name, unsigned int expected, enum verdict got);

/* The same with a name made of parts. */
__attribute__((format(printf, 4, 5))) bool verdict__f(const char *family, unsigned int expected,
						      enum verdict got, const char *fmt, ...);

/* Completed where @ok, else failed. */
__attribute__((format(printf, 3, 4))) bool verdict__check(const char *family, bool ok,
							  const char *fmt, ...);

/* Completed where both are equal, else failed, and both are shown. */
__attribute__((format(printf, 4, 5))) bool verdict__equal(const char *family, uint64_t expected,
							  uint64_t got, const char *fmt, ...);

/*
 * The table, a line a family, each behind "table: " and the first one the
 * names of the columns; then report__summary(), whose result it gives.
 */
int verdict__summary(void);

#endif
