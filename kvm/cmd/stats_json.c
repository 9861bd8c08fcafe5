// SPDX-License-Identifier: GPL-2.0-only
/* The counters as JSON; lkvm.1, STATISTICS, describes each name. */
#include "json.h"
#include "stats.h"

static const char *cache_name(enum disk_cache cache)
{
	static const char *const names[] = {
		[DISK_CACHE_WRITEBACK] = "writeback",
		[DISK_CACHE_NONE] = "none",
		[DISK_CACHE_WRITETHROUGH] = "writethrough",
		[DISK_CACHE_UNSAFE] = "unsafe",
	};

	return names[cache];
}

static void put_hist(struct json *json, const char *key, const struct hist *h)
{
	uint64_t count = hist__count(h);

	json__begin(json, key, '{');
	json__number(json, "count", count);
	json__ratio(json, "mean", count ? (double)h->sum / count : 0);
	json__number(json, "p50", hist__permille(h, 500));
	json__number(json, "p99", hist__permille(h, 990));
	json__number(json, "p99.9", hist__permille(h, 999));
	json__number(json, "max", h->max);
	json__begin(json, "buckets", '[');
	for (unsigned int b = 0; b < HIST_BUCKETS; b++) {
		uint64_t low = b ? UINT64_C(1) << (b - 1) : 0;
		uint64_t high = b ? (low << 1) - 1 : 0;

		if (h->n[b])
			json__triple(json, low, b < HIST_BUCKETS - 1 ? high : h->max, h->n[b]);
	}
	json__end(json, ']');
	json__end(json, '}');
}

/* The members that a queue, a disk and the whole VM have alike. */
static void put_counters(struct json *json, const struct virtio_blk_stats *s)
{
	unsigned int i;

	json__begin(json, "requests", '{');
	json__number(json, "all", stats__requests(s));
	for (i = 0; i < VIRTIO_BLK_TYPES; i++)
		json__number(json, stats_types[i], s->requests[i]);
	json__end(json, '}');
	for (i = 0; i < stats_nr_counters; i++)
		json__number(json, stats_counters[i].name,
			     *(const uint64_t *)((const char *)s + stats_counters[i].offset));
	json__number(json, "system_calls", stats__system_calls(s));
	json__begin(json, "per_request", '{');
	json__ratio(json, "kicks", stats__per_request(s, s->queue.kicks));
	json__ratio(json, "interrupts", stats__per_request(s, s->queue.interrupts));
	json__ratio(json, "system_calls", stats__per_request(s, stats__system_calls(s)));
	json__end(json, '}');
	put_hist(json, "batch", &s->batch);
	put_hist(json, "latency_ns", &s->latency);
}

static void put_total(struct json *json, const struct virtio_blk_stats *s)
{
	json__begin(json, "total", '{');
	put_counters(json, s);
	json__end(json, '}');
}

static bool disk_balanced(const struct stats_disk *d)
{
	for (unsigned int q = 0; q < d->nr_queues; q++)
		if (!stats__balanced(&d->queue[q]))
			return false;
	return true;
}

static void put_disk(struct json *json, const struct stats_disk *d)
{
	json__begin(json, NULL, '{');
	json__string(json, "path", d->path);
	json__string(json, "serial", d->serial);
	json__string(json, "engine", d->engine);
	json__string(json, "cache", cache_name(d->cache));
	json__bool(json, "balanced", disk_balanced(d));
	json__begin(json, "queues", '[');
	for (unsigned int q = 0; q < d->nr_queues; q++) {
		json__begin(json, NULL, '{');
		json__string(json, "engine", d->served_by[q]);
		json__bool(json, "balanced", stats__balanced(&d->queue[q]));
		put_counters(json, &d->queue[q]);
		json__end(json, '}');
	}
	json__end(json, ']');
	put_total(json, &d->total);
	json__end(json, '}');
}

void stats__put_disks(struct json *json, const struct stats *stats)
{
	json__begin(json, "disks", '[');
	for (unsigned int i = 0; i < stats->nr_disks; i++)
		put_disk(json, &stats->disk[i]);
	json__end(json, ']');
}

void stats__json(FILE *out, const struct stats *stats)
{
	struct json json = {.out = out};
	bool balanced = true;
	unsigned int i;

	for (i = 0; i < stats->nr_disks; i++)
		balanced = balanced && disk_balanced(&stats->disk[i]);
	json__begin(&json, NULL, '{');
	json__number(&json, "version", STATS_VERSION);
	json__number(&json, "status", stats->status);
	json__bool(&json, "balanced", balanced);
	stats__put_disks(&json, stats);
	put_total(&json, &stats->total);
	json__end(&json, '}');
}
