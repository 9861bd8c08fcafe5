/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_MACHINE_STEPS_H
#define LKVM_CMD_MACHINE_STEPS_H

#include "machine.h"

/*
 * Steps of machine__up() and machine__down() that have some length.  A step
 * that fails has undone its own part.  Main thread.
 */
/* machine_files.c: what the command line names, opened and checked before KVM is touched */
int step__check_memory(struct machine *m, struct lk_err *err);
int step__params(struct machine *m, struct lk_err *err);
int step__kernel_up(struct machine *m, struct lk_err *err);
void step__kernel_down(struct machine *m);
int step__initrd_up(struct machine *m, struct lk_err *err);
void step__initrd_down(struct machine *m);
int step__images_up(struct machine *m, struct lk_err *err);
void step__images_down(struct machine *m);
int step__plan(struct machine *m, struct lk_err *err);

/* machine_virtio.c: the virtio devices and their I/O threads */
int step__disks_up(struct machine *m, struct lk_err *err);
void step__disks_down(struct machine *m);
/* What the sandbox has to leave, enum sandbox_need; the disks are up. */
unsigned int step__needs(const struct machine *m);
int step__rng_up(struct machine *m, struct lk_err *err);
void step__rng_down(struct machine *m);
int step__threads_up(struct machine *m, struct lk_err *err);
void step__threads_down(struct machine *m);

#endif
