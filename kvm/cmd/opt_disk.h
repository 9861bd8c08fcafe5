/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_OPT_DISK_H
#define LKVM_CMD_OPT_DISK_H

#include "options.h"

/* The options of -d: opt_disk.c has the syntax, opt_disk_table.c the table. */
enum disk_option_id {
	DISK_OPT_RO,
	DISK_OPT_ENGINE,
	DISK_OPT_CACHE,
	DISK_OPT_DIRECT,
	DISK_OPT_QUEUES,
	DISK_OPT_QSIZE,
	DISK_OPT_VECTORS,
	DISK_OPT_PACKED,
	DISK_OPT_EVENT_IDX,
	DISK_OPT_INDIRECT,
	DISK_OPT_SUPPRESS,
	DISK_OPT_BATCH,
	DISK_OPT_POLL,
	DISK_OPT_COALESCE,
	DISK_OPT_CPUS,
	DISK_OPT_SERIAL,
	DISK_OPT_FORMAT,
	DISK_OPT_LOCK,
	DISK_OPT_FORCE,
	DISK_OPT_LATENCY,
	DISK_OPT_FAULT,
	DISK_OPTS,
};

#define OPTIONS_DEFAULT_QSIZE 256
#define OPTIONS_MIN_QSIZE 16
#define OPTIONS_MAX_QSIZE 1024
/* A guest gives up on a request after 30 s; nobody means to wait or spin a tenth of one. */
#define OPTIONS_MAX_WAIT_US 100000
#define OPTIONS_MAX_LATENCY_US 10000000

struct disk_row {
	const char *name;
	const char *arg; /* what stands after '='; NULL: takes no value */
	/* @value is not NULL where arg is not.  0, or -EINVAL with a line in @err. */
	int (*set)(struct disk_option *disk, const char *value, struct lk_err *err);
	const char *help; /* one line, or more with '\n' between */
};

extern const struct disk_row disk_rows[DISK_OPTS];

/* opt_disk_value.c: values that are more than a number */
int disk_value__engine(struct disk_option *disk, const char *value, struct lk_err *err);
int disk_value__cache(struct disk_option *disk, const char *value, struct lk_err *err);
int disk_value__poll(struct disk_option *disk, const char *value, struct lk_err *err);
int disk_value__coalesce(struct disk_option *disk, const char *value, struct lk_err *err);
int disk_value__cpus(struct disk_option *disk, const char *value, struct lk_err *err);

/* opt_disk_check.c: options that do not go together; @seen has a bit for each one given */
int disk_option__check(struct disk_option *disk, uint64_t seen, struct lk_err *err);
/* "null:SIZE" as the path: fills in null and null_size.  Other paths: nothing. */
int disk_option__null_path(struct disk_option *disk, struct lk_err *err);

static inline bool disk_option__seen(uint64_t seen, enum disk_option_id id)
{
	return seen >> id & 1;
}

#endif
