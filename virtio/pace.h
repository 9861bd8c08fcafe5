/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VIRTIO_PACE_H
#define VIRTIO_PACE_H

#include <lkvm/virtio_blk.h>

/*
 * How one I/O thread waits: decisions alone.  No clock and no system call in
 * here; times are nanoseconds that the caller has read, and only differences
 * matter.  Owned by the I/O thread.
 *
 * Two ways of working.  Prompt: serve each kick and signal each completion at
 * once.  Gathering: let requests collect before they are served, and hold the
 * signal while more of them are in flight.  At depth, gathering can be several
 * times faster or somewhat slower, depending on guest, device and CPUs; for a
 * lone request it can only lose.  So with coalesce=auto the thread measures: it
 * works one way, tries the other for a short epoch now and then, and stays with
 * it only where that completed clearly more requests a second.  Batches of one
 * mean that there is nothing to gather, whatever the rate says.
 *
 * A trial that fails makes the next one rarer.  A queue that was idle starts
 * afresh: what comes then may be another workload.
 */
#define PACE_SPIN_MAX 32000 /* ns; poll=auto spins no longer than this */
#define PACE_HOLD_SHARE 4 /* coalesce=auto adds at most 1/4 of the service time */
#define PACE_IDLE 100000000 /* ns with nothing in flight: the workload is over */
#define PACE_EPOCH 64 /* requests that a rate is taken over */
#define PACE_SETTLE 16 /* and those before it, while the way of working takes hold */

struct pace {
	struct virtio_blk_tuning tuning;
	/* vCPUs may occupy every CPU: do not spin, and gather by letting them run */
	bool crowded;

	uint64_t spin; /* poll=auto: present length */

	bool gather; /* the present way of working */
	bool trial; /* the other way is being tried */
	bool settled; /* PACE_SETTLE is over */
	uint64_t since; /* start of the epoch */
	unsigned int done, drains, popped; /* in it */
	uint64_t rate; /* requests a second, of the last epoch of the settled way */
	unsigned int interval, countdown; /* epochs between trials, to the next one */

	uint64_t service; /* from submit to completion, moving average */
	unsigned int hold_skip, hold_lost; /* holds to leave out; failures in a row */
};

void pace__init(struct pace *p, const struct virtio_blk_tuning *tuning, bool crowded);

/* A drain found @nr requests (1 or more). */
void pace__drained(struct pace *p, unsigned int nr);

/* @nr more requests are complete, the first of them submitted @service ago. */
void pace__completed(struct pace *p, unsigned int nr, uint64_t service, uint64_t now);

/* The thread slept for @ns; @lone: with nothing in flight.  After each sleep. */
void pace__slept(struct pace *p, uint64_t ns, bool lone, uint64_t now);

/* For how long to spin before the next sleep; 0: not at all. */
uint64_t pace__spin(const struct pace *p);

/*
 * @held completions are visible and not signalled, for @age by now, and
 * @in_flight more are to come: for how long to wait on; 0: signal.
 */
uint64_t pace__hold(struct pace *p, unsigned int held, unsigned int in_flight, uint64_t age);

/* A hold is over; did more complete meanwhile? */
void pace__held(struct pace *p, bool won);

#endif
