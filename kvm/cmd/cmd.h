/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_H
#define LKVM_CMD_H

#include <stdio.h>

struct lk_err;
struct timeline;

/* Exit statuses, stable; README.md and lkvm.1 describe them. */
enum cmd_status {
	STATUS_OK = 0, /* the guest powered off or rebooted */
	STATUS_GUEST_MAX = 99, /* 1 to 99 are chosen by the guest */
	STATUS_PANIC = 110, /* kernel panic */
	STATUS_TRIPLE_FAULT = 111,
	STATUS_KVM = 112, /* KVM could not go on */
	STATUS_FAIL_ON = 113, /* --fail-on matched */
	STATUS_UNEXPECTED = 114, /* the guest ended before --expect matched */
	STATUS_SANDBOX = 116, /* a system call of lkvm was refused */
	STATUS_TIMEOUT = 124, /* --timeout ran out */
	STATUS_START = 125, /* lkvm could not start: option, file, KVM */
	STATUS_SIGNAL = 128, /* plus the signal: 130 SIGINT or keyboard, 143 SIGTERM */
};

/* One command of lkvm.  argv[0] is its name; the result is the exit status. */
struct cmd {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv, struct timeline *tl);
	void (*help)(FILE *out);
};

extern const struct cmd cmd_table[]; /* ends with a NULL name */

int cmd_run(int argc, char **argv, struct timeline *tl);
int cmd_version(int argc, char **argv, struct timeline *tl);
int cmd_help(int argc, char **argv, struct timeline *tl);

const char *cmd_version__text(void); /* of the build: a tag, or a commit */

void cmd_run__help(FILE *out);
void cmd_version__help(FILE *out);
void cmd_help__help(FILE *out);

/* @err on stderr, in one line whatever a file name has in it.  STATUS_START. */
int cmd__fail(struct lk_err *err);

/* Command named @name or NULL. */
const struct cmd *cmd__find(const char *name);

#endif
