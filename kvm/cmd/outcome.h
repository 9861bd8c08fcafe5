/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_OUTCOME_H
#define LKVM_CMD_OUTCOME_H

#include <lkvm/vm.h>

#include "cmd.h"
#include "console_watch.h"

/* All that the exit status depends on. */
struct outcome_facts {
	enum run_end end;
	int code;
	bool panicked; /* said so on the console or through pvpanic */
	bool failed; /* a --fail-on matched */
	bool expecting; /* there are --expect */
	bool satisfied; /* and all have matched */
	bool wait_end;
};

/*
 * Pure.  From the top: who ended the VM from outside, or could not go on; what the
 * console had to match; a panic, whatever the guest did after it; the time; the guest's
 * own end.
 */
enum cmd_status outcome__decide(const struct outcome_facts *facts);

struct outcome {
	int status; /* exit status of lkvm run */
	const char *kind; /* one word, as in the report */
	char reason[1536]; /* a line; empty where it ended as it should */
};

/*
 * How the VM ended.  @refused: the sandbox refused a system call, which comes before
 * all else.  Threads have ended, the console's output has been looked at.
 */
void outcome__find(struct outcome *o, const struct run *run, const struct console_watch *cw,
		   bool refused);
/* The reason on stderr, with the registers where KVM gave up. */
void outcome__tell(const struct outcome *o, struct vm *vm);

/* --debug: what each part of start-up cost, and lkvm's own share. */
void outcome__timeline(struct vm *vm);

#endif
