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

/*
 * Tell on stderr why the VM ended, where that is not an ordinary end, with the
 * registers where KVM gave up; the exit status of lkvm run.  Threads have ended.
 */
int outcome__report(struct vm *vm, const struct console_watch *cw);

/* --debug: what each part of start-up cost, and lkvm's own share. */
void outcome__timeline(struct vm *vm);

#endif
