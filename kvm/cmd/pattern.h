/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_PATTERN_H
#define LKVM_CMD_PATTERN_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lkvm/err.h>

#define PATTERN_MAX 1024 /* characters */
#define PATTERN_COST 2000 /* and with all repetitions written out */

/* One POSIX extended regular expression of --expect or --fail-on. */
struct pattern {
	const char *source; /* the caller's: as it was given */
	regex_t regex;
};

/*
 * Refused: an empty one (it matches anything), one with a line end (it matches
 * nothing, since lines are looked at one by one), a back reference (not in POSIX
 * extended expressions, and exponential to match), what pattern__too_large().  0, or -EINVAL or -ENOMEM with a
 * line that names @option.
 */
int pattern__compile(struct pattern *p, const char *option, const char *source, struct lk_err *err);
/* Would memory run out with it?  @source: up to PATTERN_MAX characters.  Pure. */
bool pattern__too_large(const char *source);
void pattern__free(struct pattern *p);

/* A part of a line. */
struct pattern_span {
	const char *line;
	size_t from, len; /* look at line[from] to line[len - 1] */
	bool bol, eol; /* line[0] is its start, line[len] its end */
};

/* Where the first match ends (from <= end <= len), or -1. */
ptrdiff_t pattern__find(const struct pattern *p, const struct pattern_span *span);

#endif
