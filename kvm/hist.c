// SPDX-License-Identifier: GPL-2.0-only
/* Histograms of powers of two: what is read from them at the end. */
#include <lkvm/hist.h>

uint64_t hist__count(const struct hist *h)
{
	uint64_t count = 0;

	for (unsigned int b = 0; b < HIST_BUCKETS; b++)
		count += h->n[b];
	return count;
}

/* The values of bucket @b, as [low, high]. */
static uint64_t bucket_low(unsigned int b)
{
	return b ? UINT64_C(1) << (b - 1) : 0;
}

static uint64_t bucket_high(const struct hist *h, unsigned int b)
{
	uint64_t high = b ? (UINT64_C(1) << b) - 1 : 0;

	return b == HIST_BUCKETS - 1 || high > h->max ? h->max : high;
}

uint64_t hist__permille(const struct hist *h, unsigned int permille)
{
	uint64_t count = hist__count(h), below = 0;
	/* the rank of the value looked for, from 1; rounded up */
	uint64_t rank = count / 1000 * permille + (count % 1000 * permille + 999) / 1000;

	if (!count)
		return 0;
	if (!rank)
		rank = 1;
	for (unsigned int b = 0; b < HIST_BUCKETS; b++) {
		uint64_t low = bucket_low(b), high = bucket_high(h, b);

		if (below + h->n[b] >= rank)
			return low + (unsigned __int128)(high - low) * (rank - below) / h->n[b];
		below += h->n[b];
	}
	return h->max;
}

void hist__merge(struct hist *to, const struct hist *from)
{
	for (unsigned int b = 0; b < HIST_BUCKETS; b++)
		to->n[b] += from->n[b];
	to->sum += from->sum;
	if (from->max > to->max)
		to->max = from->max;
}
