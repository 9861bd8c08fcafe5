/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_ERR_H
#define LKVM_ERR_H

#include <stdarg.h>
#include <stdio.h>

/*
 * Errors travel as 0 or a negative errno.  Where a person has to be told more
 * than the errno says, the function also takes a struct lk_err and leaves one
 * line in it: the thing, the reason, the remedy.  Only commands print it.
 *
 * A struct lk_err belongs to the caller; no function keeps a pointer to it.
 */
struct lk_err {
	char msg[512];
};

/*
 * Store a message (err may be NULL) and hand @code back, so that a failure is
 * one statement: return lk_err__set(err, -EINVAL, "...").
 */
__attribute__((format(printf, 3, 4))) static inline int lk_err__set(struct lk_err *err, int code,
								    const char *fmt, ...)
{
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
		va_end(ap);
	}
	return code;
}

#endif
