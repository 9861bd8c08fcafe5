/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_OUTCOME_H
#define LKVM_CMD_OUTCOME_H

#include <lkvm/vm.h>

/*
 * Tell on stderr why the VM ended, where that is not an ordinary end, with the
 * registers where KVM gave up; the exit status of lkvm run.  Threads have ended.
 */
int outcome__report(struct vm *vm);

/* --debug: what each part of start-up cost, and lkvm's own share. */
void outcome__timeline(struct vm *vm);

#endif
