// SPDX-License-Identifier: GPL-2.0-only
/* How an I/O thread waits: spinning, gathering, holding (pace.h). */
#include <string.h>

#include "pace.h"

#define SPIN_MIN 2000
#define INTERVAL_FIRST 64 /* epochs */
#define INTERVAL_MAX 1024
#define HOLD_MIN 2000 /* ns; a shorter nap costs more than it can bring */
#define HOLD_MAX 1000000
#define HOLD_SKIP_MAX 64

static void epoch__start(struct pace *p, uint64_t now)
{
	p->since = now;
	p->settled = false;
	p->done = p->drains = p->popped = 0;
}

/* Where the vCPUs need the CPU, gathering is the better guess, and shows at once if not. */
static void start_afresh(struct pace *p, uint64_t now)
{
	p->gather = p->tuning.coalesce == VIRTIO_BLK_FIXED ||
		    (p->tuning.coalesce == VIRTIO_BLK_AUTO && p->crowded);
	p->trial = false;
	p->rate = 0;
	p->interval = p->countdown = INTERVAL_FIRST;
	epoch__start(p, now);
}

void pace__init(struct pace *p, const struct virtio_blk_tuning *tuning, bool crowded)
{
	memset(p, 0, sizeof(*p));
	p->tuning = *tuning;
	p->crowded = crowded;
	start_afresh(p, 0);
}

/* ---- spinning ---- */

uint64_t pace__spin(const struct pace *p)
{
	switch (p->tuning.poll) {
	case VIRTIO_BLK_FIXED:
		return p->tuning.poll_ns;
	case VIRTIO_BLK_AUTO:
		return p->crowded ? 0 : p->spin;
	case VIRTIO_BLK_OFF:
		break;
	}
	return 0;
}

/* A sleep that a longer spin would have spared makes it longer, a long one shorter. */
static void adapt_spin(struct pace *p, uint64_t slept)
{
	if (slept < PACE_SPIN_MAX)
		p->spin = p->spin ? 2 * p->spin : SPIN_MIN;
	else if (slept > 8 * PACE_SPIN_MAX)
		p->spin /= 2;
	if (p->spin > PACE_SPIN_MAX)
		p->spin = PACE_SPIN_MAX;
	if (p->spin < SPIN_MIN)
		p->spin = 0;
}

void pace__slept(struct pace *p, uint64_t ns, bool lone, uint64_t now)
{
	adapt_spin(p, ns);
	if (lone && ns > PACE_IDLE)
		start_afresh(p, now);
}

/* ---- the way of working ---- */

/* In halves: 3 is one and a half requests a drain. */
static bool batches(const struct pace *p)
{
	return p->drains && 2 * p->popped >= 3 * p->drains;
}

static void try_other(struct pace *p)
{
	p->trial = true;
	p->gather = !p->gather;
}

static void settle_on(struct pace *p, bool gather, uint64_t rate)
{
	p->gather = gather;
	p->rate = rate;
	p->interval = p->countdown = INTERVAL_FIRST;
}

static void end_trial(struct pace *p, uint64_t rate)
{
	bool better = rate > p->rate + p->rate / 10;

	p->trial = false;
	if (better && (!p->gather || batches(p))) {
		settle_on(p, p->gather, rate);
		return;
	}
	p->gather = !p->gather;
	if (p->interval < INTERVAL_MAX)
		p->interval *= 2;
	p->countdown = p->interval;
}

/* More than one request at a time now and then is a hint that there is depth. */
static void end_settled(struct pace *p, uint64_t rate)
{
	unsigned int step = !p->gather && p->popped > p->drains ? INTERVAL_FIRST / 4 : 1;

	p->rate = rate;
	if (p->gather && !batches(p)) {
		settle_on(p, false, rate);
		return;
	}
	if (p->countdown > step) {
		p->countdown -= step;
		return;
	}
	try_other(p);
}

static void end_epoch(struct pace *p, uint64_t now)
{
	uint64_t ns = now > p->since ? now - p->since : 1;
	uint64_t rate = p->done * 1000000000ULL / ns;

	if (p->trial)
		end_trial(p, rate);
	else
		end_settled(p, rate);
	epoch__start(p, now);
}

void pace__drained(struct pace *p, unsigned int nr)
{
	p->drains++;
	p->popped += nr;
}

void pace__completed(struct pace *p, unsigned int nr, uint64_t service, uint64_t now)
{
	p->service += (int64_t)(service - p->service) / 8;
	if (p->tuning.coalesce != VIRTIO_BLK_AUTO)
		return;
	p->done += nr;
	if (!p->settled && p->done >= PACE_SETTLE) {
		epoch__start(p, now);
		p->settled = true;
	} else if (p->settled && p->done >= PACE_EPOCH) {
		end_epoch(p, now);
	}
}

/* ---- holding ---- */

/* How long a completion may wait for company. */
static uint64_t hold_limit(const struct pace *p)
{
	uint64_t limit = p->service / PACE_HOLD_SHARE;

	if (p->tuning.coalesce == VIRTIO_BLK_FIXED)
		return p->tuning.coalesce_ns;
	if (limit < HOLD_MIN)
		return 0;
	return limit < HOLD_MAX ? limit : HOLD_MAX;
}

uint64_t pace__hold(struct pace *p, unsigned int held, unsigned int in_flight, uint64_t age)
{
	uint64_t limit;

	if (!p->gather || !in_flight)
		return 0;
	if (p->tuning.coalesce == VIRTIO_BLK_FIXED && p->tuning.coalesce_nr &&
	    held >= p->tuning.coalesce_nr)
		return 0;
	if (p->tuning.coalesce == VIRTIO_BLK_AUTO && p->hold_skip) {
		p->hold_skip--;
		return 0;
	}
	limit = hold_limit(p);
	return age < limit ? limit - age : 0;
}

/* Waiting for nothing, several times in a row, makes holds rarer; one success brings them back. */
void pace__held(struct pace *p, bool won)
{
	if (won) {
		p->hold_lost = 0;
		return;
	}
	if (p->hold_lost < 16)
		p->hold_lost++;
	if (p->hold_lost > 2)
		p->hold_skip = 1U << (p->hold_lost < 8 ? p->hold_lost - 2 : 6);
	if (p->hold_skip > HOLD_SKIP_MAX)
		p->hold_skip = HOLD_SKIP_MAX;
}
