// SPDX-License-Identifier: GPL-2.0-only
/* The options of -d: one table for parsing and for the help text. */
#include <errno.h>
#include <string.h>

#include "opt_disk.h"

static int set_ro(struct disk_option *disk, const char *value, struct lk_err *err)
{
	(void)value;
	(void)err;
	disk->read_only = true;
	return 0;
}

static int parse_switch(const char *name, const char *value, bool *on, struct lk_err *err)
{
	if (strcmp(value, "on") && strcmp(value, "off"))
		return lk_err__set(err, -EINVAL, "-d: %s=%s: give on or off", name, value);
	*on = !strcmp(value, "on");
	return 0;
}

static int set_lock(struct disk_option *disk, const char *value, struct lk_err *err)
{
	bool on = true;
	int ret = parse_switch("lock", value, &on, err);

	disk->no_lock = !on;
	return ret;
}

static int set_force(struct disk_option *disk, const char *value, struct lk_err *err)
{
	(void)value;
	(void)err;
	disk->force = true;
	return 0;
}

/* cache=none; together with a cache= it is looked at when all are known. */
static int set_direct(struct disk_option *disk, const char *value, struct lk_err *err)
{
	(void)disk;
	(void)value;
	(void)err;
	return 0;
}

static int set_queues(struct disk_option *disk, const char *value, struct lk_err *err)
{
	unsigned long n;

	if (options__number(value, 1, OPTIONS_MAX_QUEUES, &n))
		return lk_err__set(err, -EINVAL, "-d: queues=%s: give a number from 1 to %d", value,
				   OPTIONS_MAX_QUEUES);
	disk->queues = n;
	return 0;
}

static int set_qsize(struct disk_option *disk, const char *value, struct lk_err *err)
{
	unsigned long n;

	if (options__number(value, OPTIONS_MIN_QSIZE, OPTIONS_MAX_QSIZE, &n) || n & (n - 1))
		return lk_err__set(err, -EINVAL, "-d: qsize=%s: give a power of two from %d to %d",
				   value, OPTIONS_MIN_QSIZE, OPTIONS_MAX_QSIZE);
	disk->queue_size = n;
	return 0;
}

static int set_vectors(struct disk_option *disk, const char *value, struct lk_err *err)
{
	unsigned long n;

	if (options__number(value, 0, OPTIONS_MAX_QUEUES + 1, &n))
		return lk_err__set(err, -EINVAL,
				   "-d: vectors=%s: give a number from 0 (INTx alone) to %d", value,
				   OPTIONS_MAX_QUEUES + 1);
	disk->vectors = n;
	return 0;
}

static int set_packed(struct disk_option *disk, const char *value, struct lk_err *err)
{
	return parse_switch("packed", value, &disk->packed, err);
}

static int set_event_idx(struct disk_option *disk, const char *value, struct lk_err *err)
{
	bool on = true;
	int ret = parse_switch("event_idx", value, &on, err);

	disk->no_event_idx = !on;
	return ret;
}

static int set_indirect(struct disk_option *disk, const char *value, struct lk_err *err)
{
	bool on = true;
	int ret = parse_switch("indirect", value, &on, err);

	disk->no_indirect = !on;
	return ret;
}

static int set_suppress(struct disk_option *disk, const char *value, struct lk_err *err)
{
	bool on = true;
	int ret = parse_switch("suppress", value, &on, err);

	disk->tuning.no_suppress = !on;
	return ret;
}

static int set_batch(struct disk_option *disk, const char *value, struct lk_err *err)
{
	unsigned long n;

	if (options__number(value, 1, OPTIONS_MAX_QSIZE, &n))
		return lk_err__set(err, -EINVAL, "-d: batch=%s: give a number from 1 to %d", value,
				   OPTIONS_MAX_QSIZE);
	disk->tuning.batch = n;
	return 0;
}

static int set_serial(struct disk_option *disk, const char *value, struct lk_err *err)
{
	if (strlen(value) > VIRTIO_BLK_ID_BYTES)
		return lk_err__set(err, -EINVAL,
				   "-d: serial=%s has %zu bytes; a virtio disk has room for %d, "
				   "give a shorter one",
				   value, strlen(value), VIRTIO_BLK_ID_BYTES);
	strcpy(disk->serial, value);
	disk->has_serial = true;
	return 0;
}

static int set_format(struct disk_option *disk, const char *value, struct lk_err *err)
{
	(void)disk;
	if (strcmp(value, "raw"))
		return lk_err__set(err, -EINVAL,
				   "-d: format=%s: only raw images are supported; convert it first "
				   "(qemu-img convert -O raw)",
				   value);
	return 0;
}

static int set_latency(struct disk_option *disk, const char *value, struct lk_err *err)
{
	unsigned long usec;

	if (options__number(value, 0, OPTIONS_MAX_LATENCY_US, &usec))
		return lk_err__set(err, -EINVAL, "-d: latency=%s: give microseconds, at most %d",
				   value, OPTIONS_MAX_LATENCY_US);
	disk->null_latency = usec * 1000ULL;
	return 0;
}

/* What it may say is the engine's to know: it looks when the image is opened. */
static int set_fault(struct disk_option *disk, const char *value, struct lk_err *err)
{
	if (!*value)
		return lk_err__set(err, -EINVAL, "-d: fault= is empty; leave it out");
	disk->fault = value;
	return 0;
}

const struct disk_row disk_rows[DISK_OPTS] = {
	[DISK_OPT_RO] = {"ro", NULL, set_ro, "read only"},
	[DISK_OPT_ENGINE] = {"engine", "NAME", disk_value__engine,
			     "auto (default), aio, uring, threads or null"},
	[DISK_OPT_CACHE] = {"cache", "MODE", disk_value__cache,
			    "writeback (default), none (O_DIRECT),\n"
			    "writethrough or unsafe (flushes do nothing)"},
	[DISK_OPT_DIRECT] = {"direct", NULL, set_direct, "the same as cache=none"},
	[DISK_OPT_QUEUES] = {"queues", "N", set_queues, "virtqueues, 1 to 16 (one a CPU, up to 4)"},
	[DISK_OPT_QSIZE] = {"qsize", "N", set_qsize,
			    "entries of a ring, a power of two, 16 to 1024 (256)"},
	[DISK_OPT_VECTORS] = {"vectors", "N", set_vectors,
			      "MSI-X vectors, 0 is INTx alone (queues + 1)"},
	[DISK_OPT_PACKED] = {"packed", "on|off", set_packed, "offer the packed ring (off)"},
	[DISK_OPT_EVENT_IDX] = {"event_idx", "on|off", set_event_idx, "offer EVENT_IDX (on)"},
	[DISK_OPT_INDIRECT] = {"indirect", "on|off", set_indirect,
			       "offer indirect descriptors (on)"},
	[DISK_OPT_SUPPRESS] = {"suppress", "on|off", set_suppress,
			       "no kicks while a ring is drained (on)"},
	[DISK_OPT_BATCH] = {"batch", "N", set_batch,
			    "requests a submit call at most (the whole ring)"},
	[DISK_OPT_POLL] = {"poll", "off|auto|USEC", disk_value__poll,
			   "spin before sleeping (auto)"},
	[DISK_OPT_COALESCE] = {"coalesce", "auto|off|USEC[:N]", disk_value__coalesce,
			       "hold completions back, for USEC or N of them (auto)"},
	[DISK_OPT_CPUS] = {"cpus", "LIST", disk_value__cpus, "pin the I/O threads, as in 0-3:5"},
	[DISK_OPT_SERIAL] = {"serial", "TEXT", set_serial, "at most 20 bytes (lkvm-disk-N)"},
	[DISK_OPT_FORMAT] = {"format", "raw", set_format, "the one format there is"},
	[DISK_OPT_LOCK] = {"lock", "on|off", set_lock, "keep others off the image (on)"},
	[DISK_OPT_FORCE] = {"force", NULL, set_force, "a block device that is mounted, too"},
	[DISK_OPT_LATENCY] = {"latency", "USEC", set_latency,
			      "null:SIZE alone: time from submit to completion (0)"},
	[DISK_OPT_FAULT] = {"fault", "SPEC", set_fault, "failures, for tests only"},
};

void options__disk_help(FILE *out)
{
	const struct disk_row *row;
	const char *line, *end;
	char left[40];

	for (row = disk_rows; row < disk_rows + DISK_OPTS; row++) {
		snprintf(left, sizeof(left), "%s%s%s", row->name, row->arg ? "=" : "",
			 row->arg ? row->arg : "");
		for (line = row->help;; line = end + 1) {
			end = strchrnul(line, '\n');
			fprintf(out, "    %-26s %.*s\n", left, (int)(end - line), line);
			if (!*end)
				break;
			left[0] = '\0';
		}
	}
}
