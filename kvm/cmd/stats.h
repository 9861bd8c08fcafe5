/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_STATS_H
#define LKVM_CMD_STATS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <lkvm/err.h>
#include <lkvm/virtio_blk.h>

#include "json.h"
#include "machine.h"

/* The schema of the JSON text (lkvm.1, STATISTICS); one more where a reader would break. */
#define STATS_VERSION 1

struct stats_disk {
	const char *path, *serial; /* of the machine, which outlives this */
	const char *engine; /* asked for: what engine= takes */
	const char *served_by[OPTIONS_MAX_QUEUES]; /* the engine of each queue */
	enum disk_cache cache;
	unsigned int nr_queues;
	struct virtio_blk_stats *queue; /* owned, nr_queues entries */
	struct virtio_blk_stats total;
};

/* What the block data path did, from the first KVM_RUN to the end. */
struct stats {
	int status; /* exit status of lkvm */
	unsigned int nr_disks;
	struct stats_disk disk[OPTIONS_MAX_DISKS];
	struct virtio_blk_stats total;
};

/* Every plain counter, by the name that it has in the JSON text. */
struct stats_counter {
	const char *name;
	size_t offset; /* of a uint64_t in struct virtio_blk_stats */
};
extern const struct stats_counter stats_counters[];
extern const unsigned int stats_nr_counters;
extern const char *const stats_types[VIRTIO_BLK_TYPES];

/* Main thread; the I/O threads have ended.  0 or -ENOMEM; stats__free() is due in both cases. */
int stats__collect(struct stats *stats, struct machine *m);
void stats__free(struct stats *stats);
/* Fill in the totals from the queues. */
void stats__sum(struct stats *stats);

/* One line on @out for each queue that did not give back what it took.  True: there was none. */
bool stats__check(const struct stats *stats, FILE *out);

static inline bool stats__balanced(const struct virtio_blk_stats *s)
{
	return s->queue.popped == s->queue.completed;
}

uint64_t stats__requests(const struct virtio_blk_stats *s); /* of all types */
/* System calls of the I/O thread while it served the ring. */
uint64_t stats__system_calls(const struct virtio_blk_stats *s);
/* 0 where there were no requests. */
double stats__per_request(const struct virtio_blk_stats *s, uint64_t count);

/* Errors show in ferror(out). */
void stats__json(FILE *out, const struct stats *stats);
void stats__put_disks(struct json *json, const struct stats *stats); /* the member "disks" alone */
void stats__table(FILE *out, const struct stats *stats);

#endif
