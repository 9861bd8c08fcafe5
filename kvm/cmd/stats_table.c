// SPDX-License-Identifier: GPL-2.0-only
/* The counters as tables for a person: a line for each queue, disk, and all of them. */
#include <inttypes.h>
#include <string.h>

#include "stats.h"

#define LABEL_WIDTH 6
#define COLUMN_WIDTH 9 /* and one blank */

struct column {
	const char *name;
	enum {
		COUNT, /* of the member at offset */
		MIB, /* the same, bytes as MiB */
		RATIO, /* per request */
		CALLS, /* all system calls, per request */
		MEAN, /* of the histogram at offset */
		LATENCY, /* permille of the latency, as microseconds */
	} kind;
	size_t offset;
	unsigned int permille;
};

#define MEMBER(member) offsetof(struct virtio_blk_stats, member)

static const struct column requests[] = {
	{"reads", COUNT, MEMBER(requests[VIRTIO_BLK_READS]), 0},
	{"writes", COUNT, MEMBER(requests[VIRTIO_BLK_WRITES]), 0},
	{"flushes", COUNT, MEMBER(requests[VIRTIO_BLK_FLUSHES]), 0},
	{"discards", COUNT, MEMBER(requests[VIRTIO_BLK_DISCARDS]), 0},
	{"zeroes", COUNT, MEMBER(requests[VIRTIO_BLK_ZEROES]), 0},
	{"ids", COUNT, MEMBER(requests[VIRTIO_BLK_IDS]), 0},
	{"others", COUNT, MEMBER(requests[VIRTIO_BLK_OTHERS]), 0},
	{"errors", COUNT, MEMBER(queue.errors), 0},
	{"MiB read", MIB, MEMBER(bytes_read), 0},
	{"MiB writ.", MIB, MEMBER(bytes_written), 0},
};

static const struct column work[] = {
	{"kicks", COUNT, MEMBER(queue.kicks), 0},
	{"wakes", COUNT, MEMBER(queue.wakes), 0},
	{"drains", COUNT, MEMBER(queue.drains), 0},
	{"submits", COUNT, MEMBER(disk.submits), 0},
	{"waits", COUNT, MEMBER(disk.waits), 0},
	{"oth.calls", COUNT, MEMBER(disk.syscalls), 0},
	{"interr.", COUNT, MEMBER(queue.interrupts), 0},
	{"suppr.", COUNT, MEMBER(queue.suppressed), 0},
	{"bounced", COUNT, MEMBER(disk.bounced), 0},
	{"popped", COUNT, MEMBER(queue.popped), 0},
	{"completed", COUNT, MEMBER(queue.completed), 0},
};

static const struct column gains[] = {
	{"kicks/r", RATIO, MEMBER(queue.kicks), 0},
	{"interr./r", RATIO, MEMBER(queue.interrupts), 0},
	{"calls/r", CALLS, 0, 0},
	{"batch", MEAN, MEMBER(batch), 0},
	{"p50 us", LATENCY, 0, 500},
	{"p99 us", LATENCY, 0, 990},
	{"p99.9 us", LATENCY, 0, 999},
	{"spins", COUNT, MEMBER(queue.spins), 0},
	{"won", COUNT, MEMBER(queue.spins_won), 0},
	{"holds", COUNT, MEMBER(queue.holds), 0},
	{"won", COUNT, MEMBER(queue.holds_won), 0},
};

static const struct {
	const struct column *columns;
	unsigned int nr;
} blocks[] = {
	{requests, sizeof(requests) / sizeof(requests[0])},
	{work, sizeof(work) / sizeof(work[0])},
	{gains, sizeof(gains) / sizeof(gains[0])},
};

static double mean(const struct hist *h)
{
	uint64_t count = hist__count(h);

	return count ? (double)h->sum / count : 0;
}

static void put_cell(FILE *out, const struct column *c, const struct virtio_blk_stats *s)
{
	const void *member = (const char *)s + c->offset;

	putc(' ', out);
	switch (c->kind) {
	case COUNT:
		fprintf(out, "%*" PRIu64, COLUMN_WIDTH, *(const uint64_t *)member);
		break;
	case MIB:
		fprintf(out, "%*.1f", COLUMN_WIDTH, *(const uint64_t *)member / 1048576.0);
		break;
	case RATIO:
		fprintf(out, "%*.3f", COLUMN_WIDTH,
			stats__per_request(s, *(const uint64_t *)member));
		break;
	case CALLS:
		fprintf(out, "%*.3f", COLUMN_WIDTH, stats__per_request(s, stats__system_calls(s)));
		break;
	case MEAN:
		fprintf(out, "%*.1f", COLUMN_WIDTH, mean(member));
		break;
	case LATENCY:
		fprintf(out, "%*.1f", COLUMN_WIDTH, hist__permille(&s->latency, c->permille) / 1e3);
		break;
	}
}

static void put_row(FILE *out, unsigned int block, const char *label,
		    const struct virtio_blk_stats *s)
{
	fprintf(out, "%-*s", LABEL_WIDTH, label);
	for (unsigned int i = 0; i < blocks[block].nr; i++)
		put_cell(out, &blocks[block].columns[i], s);
	putc('\n', out);
}

static void put_disk(FILE *out, unsigned int block, unsigned int index, const struct stats_disk *d)
{
	char label[24];

	for (unsigned int q = 0; q < d->nr_queues; q++) {
		snprintf(label, sizeof(label), "%u.%u", index, q);
		put_row(out, block, label, &d->queue[q]);
	}
	if (d->nr_queues == 1)
		return;
	snprintf(label, sizeof(label), "%u", index);
	put_row(out, block, label, &d->total);
}

static void put_block(FILE *out, unsigned int block, const struct stats *stats)
{
	fprintf(out, "%-*s", LABEL_WIDTH, "queue");
	for (unsigned int i = 0; i < blocks[block].nr; i++)
		fprintf(out, " %*s", COLUMN_WIDTH, blocks[block].columns[i].name);
	putc('\n', out);
	for (unsigned int i = 0; i < stats->nr_disks; i++)
		put_disk(out, block, i, &stats->disk[i]);
	if (stats->nr_disks > 1)
		put_row(out, block, "all", &stats->total);
}

/* As few words as tell them all: "aio", or "aio (queues 0-2), threads (queue 3)". */
static void put_engines(FILE *out, const struct stats_disk *d)
{
	unsigned int first, end;

	for (first = 0; first < d->nr_queues; first = end) {
		const char *name = d->served_by[first];

		for (end = first + 1; end < d->nr_queues && !strcmp(d->served_by[end], name);)
			end++;
		fprintf(out, "%s%s", first ? ", " : "", name);
		if (end - first == d->nr_queues)
			return;
		fprintf(out, end - first > 1 ? " (queues %u-%u)" : " (queue %u)", first, end - 1);
	}
}

/* One line, whatever a file name has in it. */
static void put_name(FILE *out, unsigned int index, const struct stats_disk *d)
{
	fprintf(out, "disk %u: engine ", index);
	put_engines(out, d);
	fputs(", ", out);
	for (const char *p = d->path; *p; p++)
		putc((unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p, out);
	putc('\n', out);
}

void stats__table(FILE *out, const struct stats *stats)
{
	for (unsigned int i = 0; i < stats->nr_disks; i++)
		put_name(out, i, &stats->disk[i]);
	for (unsigned int b = 0; b < sizeof(blocks) / sizeof(blocks[0]); b++)
		put_block(out, b, stats);
}
