/* SPDX-License-Identifier: GPL-2.0-only */
/* What start-up cost. */
#include <lkvm/timeline.h>

#include <string.h>
#include <time.h>

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t timeline__now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

void timeline__init(struct timeline *tl)
{
	memset(tl, 0, sizeof(*tl));
	tl->exec_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	timeline__mark(tl, TIMELINE_MAIN);
}

void timeline__mark(struct timeline *tl, enum timeline_mark mark)
{
	if (mark < TIMELINE_MARKS && !tl->at[mark])
		tl->at[mark] = timeline__now();
}

const char *timeline__name(enum timeline_mark mark)
{
	static const char *const names[TIMELINE_MARKS] = {
		[TIMELINE_MAIN] = "main",
		[TIMELINE_OPTIONS] = "options",
		[TIMELINE_KVM] = "kvm-ready",
		[TIMELINE_MEMORY] = "guest-memory",
		[TIMELINE_KERNEL] = "kernel-loaded",
		[TIMELINE_DEVICES] = "devices",
		[TIMELINE_VCPUS] = "vcpus-ready",
		[TIMELINE_RUN] = "first-instruction",
		[TIMELINE_END] = "end",
	};

	return mark < TIMELINE_MARKS ? names[mark] : "?";
}
