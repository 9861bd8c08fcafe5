/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_OPT_WATCH_H
#define LKVM_CMD_OPT_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include <lkvm/err.h>

#include "watch.h"

#define WATCH_SEND_MAX 4096 /* bytes of one --send */

struct watch_send {
	char *bytes; /* owned */
	size_t len;
	unsigned int after; /* goes out when this many expects have matched */
};

/* What the options say about the console's text and the time. */
struct watch_options {
	struct watch_rules rules;
	struct watch_send send[WATCH_PATTERNS]; /* in the order of the command line */
	unsigned int nr_send;
	unsigned int timeout; /* seconds, 0: none */
};

/*
 * One option each, with its argument, which has to stay.  0, or -EINVAL or -ENOMEM
 * with a line that names the option and the remedy.
 */
int opt_watch__expect(struct watch_options *opts, const char *arg, struct lk_err *err);
int opt_watch__fail_on(struct watch_options *opts, const char *arg, struct lk_err *err);
/* C escapes: \n \r \t \e \\ \xHH */
int opt_watch__send(struct watch_options *opts, const char *arg, struct lk_err *err);
int opt_watch__timeout(struct watch_options *opts, const char *arg, struct lk_err *err);

/* All options are known: do they go together?  0 or -EINVAL. */
int opt_watch__check(const struct watch_options *opts, struct lk_err *err);
void opt_watch__free(struct watch_options *opts);

#endif
