// SPDX-License-Identifier: GPL-2.0-only
/* The counters of all disks at the end of the VM. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "stats.h"

#define COUNTER(name, member)                                   \
	{                                                       \
		name, offsetof(struct virtio_blk_stats, member) \
	}

const struct stats_counter stats_counters[] = {
	COUNTER("kicks", queue.kicks),
	COUNTER("wakes", queue.wakes),
	COUNTER("drains", queue.drains),
	COUNTER("popped", queue.popped),
	COUNTER("completed", queue.completed),
	COUNTER("errors", queue.errors),
	COUNTER("bytes_read", bytes_read),
	COUNTER("bytes_written", bytes_written),
	COUNTER("submit_calls", disk.submits),
	COUNTER("submitted", disk.submitted),
	COUNTER("wait_calls", disk.waits),
	COUNTER("other_calls", disk.syscalls),
	COUNTER("completion_signals", disk.signals),
	COUNTER("bounced", disk.bounced),
	COUNTER("continued", disk.shorts),
	COUNTER("interrupts", queue.interrupts),
	COUNTER("suppressed", queue.suppressed),
	COUNTER("spins", queue.spins),
	COUNTER("spins_won", queue.spins_won),
	COUNTER("holds", queue.holds),
	COUNTER("holds_won", queue.holds_won),
};

#define NR_COUNTERS (sizeof(stats_counters) / sizeof(stats_counters[0]))

const unsigned int stats_nr_counters = NR_COUNTERS;

/* A counter that is not in the table would be neither summed nor shown. */
_Static_assert(sizeof(struct virtio_blk_stats) ==
		       (NR_COUNTERS + VIRTIO_BLK_TYPES) * sizeof(uint64_t) +
			       2 * sizeof(struct hist),
	       "a new counter: add it to stats_counters and to lkvm.1");

const char *const stats_types[VIRTIO_BLK_TYPES] = {
	[VIRTIO_BLK_READS] = "reads",	  [VIRTIO_BLK_WRITES] = "writes",
	[VIRTIO_BLK_FLUSHES] = "flushes", [VIRTIO_BLK_DISCARDS] = "discards",
	[VIRTIO_BLK_ZEROES] = "zeroes",	  [VIRTIO_BLK_IDS] = "ids",
	[VIRTIO_BLK_OTHERS] = "others",
};

static void add(struct virtio_blk_stats *to, const struct virtio_blk_stats *from)
{
	unsigned int i;

	for (i = 0; i < NR_COUNTERS; i++) {
		size_t offset = stats_counters[i].offset;

		*(uint64_t *)((char *)to + offset) += *(uint64_t *)((char *)from + offset);
	}
	for (i = 0; i < VIRTIO_BLK_TYPES; i++)
		to->requests[i] += from->requests[i];
	hist__merge(&to->batch, &from->batch);
	hist__merge(&to->latency, &from->latency);
}

void stats__sum(struct stats *stats)
{
	stats->total = (struct virtio_blk_stats) {0};
	for (unsigned int i = 0; i < stats->nr_disks; i++) {
		struct stats_disk *d = &stats->disk[i];

		d->total = (struct virtio_blk_stats) {0};
		for (unsigned int q = 0; q < d->nr_queues; q++)
			add(&d->total, &d->queue[q]);
		add(&stats->total, &d->total);
	}
}

int stats__collect(struct stats *stats, struct machine *m)
{
	for (unsigned int i = 0; i < m->opts->nr_disks; i++) {
		struct machine_disk *md = &m->disk[i];
		struct stats_disk *d = &stats->disk[i];

		d->queue = calloc(md->blk.dev.nr_queues, sizeof(*d->queue));
		if (!d->queue)
			return -ENOMEM;
		stats->nr_disks = i + 1;
		d->path = m->opts->disk[i].path;
		d->serial = m->opts->disk[i].serial;
		d->engine = options__engine_name(md->disk.wanted);
		d->cache = md->disk.cache;
		d->nr_queues = md->blk.dev.nr_queues;
		for (unsigned int q = 0; q < d->nr_queues; q++) {
			virtio_blk__stats(&md->blk, q, &d->queue[q]);
			d->served_by[q] = virtio_blk__engine(&md->blk, q);
		}
	}
	stats__sum(stats);
	return 0;
}

void stats__free(struct stats *stats)
{
	for (unsigned int i = 0; i < stats->nr_disks; i++)
		free(stats->disk[i].queue);
	stats->nr_disks = 0;
}

bool stats__check(const struct stats *stats, FILE *out)
{
	bool balanced = true;

	for (unsigned int i = 0; i < stats->nr_disks; i++) {
		const struct stats_disk *d = &stats->disk[i];

		for (unsigned int q = 0; q < d->nr_queues; q++) {
			const struct virtio_queue_stats *s = &d->queue[q].queue;

			if (stats__balanced(&d->queue[q]))
				continue;
			balanced = false;
			fprintf(out,
				"lkvm: disk %u, queue %u: %" PRIu64 " requests taken, %" PRIu64
				" given back; this is a bug of lkvm, please report it\n",
				i, q, s->popped, s->completed);
		}
	}
	return balanced;
}

uint64_t stats__requests(const struct virtio_blk_stats *s)
{
	uint64_t count = 0;

	for (unsigned int i = 0; i < VIRTIO_BLK_TYPES; i++)
		count += s->requests[i];
	return count;
}

uint64_t stats__system_calls(const struct virtio_blk_stats *s)
{
	/* an interrupt is one write to an irqfd */
	return s->disk.submits + s->disk.waits + s->disk.syscalls + s->queue.interrupts;
}

double stats__per_request(const struct virtio_blk_stats *s, uint64_t count)
{
	uint64_t requests = stats__requests(s);

	return requests ? (double)count / requests : 0;
}
