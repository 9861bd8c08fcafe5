/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_HIST_H
#define LKVM_HIST_H

#include <stdint.h>

/*
 * A histogram of powers of two: bucket 0 counts the value 0, bucket n the
 * values from 2^(n-1) up to 2^n - 1, the last one all above as well.  Cheap
 * enough for a hot path; owned by one thread.
 */
#define HIST_BUCKETS 40

struct hist {
	uint64_t n[HIST_BUCKETS];
	uint64_t sum; /* of all values */
	uint64_t max;
};

static inline unsigned int hist__bucket(uint64_t value)
{
	unsigned int b = value ? 64 - (unsigned int)__builtin_clzll(value) : 0;

	return b < HIST_BUCKETS ? b : HIST_BUCKETS - 1;
}

static inline void hist__add(struct hist *h, uint64_t value)
{
	h->n[hist__bucket(value)]++;
	h->sum += value;
	if (value > h->max)
		h->max = value;
}

/* Number of values. */
uint64_t hist__count(const struct hist *h);

/*
 * The value that @permille of all do not exceed (500: the median), interpolated
 * within its bucket and never above the maximum.  0 where there are none.
 */
uint64_t hist__permille(const struct hist *h, unsigned int permille);

/* Add all of @from to @to. */
void hist__merge(struct hist *to, const struct hist *from);

#endif
