/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_OPTIONS_H
#define LKVM_CMD_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <linux/virtio_blk.h>

#include <lkvm/err.h>
#include <lkvm/log.h>
#include <lkvm/virtio_blk.h>

#include "opt_watch.h"

#define OPTIONS_MAX_DISKS 28
#define OPTIONS_MAX_QUEUES 16
#define OPTIONS_DEFAULT_QUEUES 4 /* at most; one a vCPU below that */

struct disk_option {
	char *path; /* owned */
	bool read_only;
	bool no_lock;
	bool force;
	enum disk_cache cache;
	enum disk_engine_kind engine;
	bool null; /* the path was null:SIZE */
	uint64_t null_size; /* bytes */
	uint64_t null_latency; /* nanoseconds */
	const char *fault; /* points into path; NULL: none */
	bool packed, no_event_idx, no_indirect;
	unsigned int queue_size;
	struct virtio_blk_tuning tuning;
	unsigned int queues; /* 0: by the number of vCPUs */
	int vectors; /* -1: queues + 1 */
	bool has_serial;
	char serial[VIRTIO_BLK_ID_BYTES + 1];
};

enum sandbox_mode {
	SANDBOX_ON, /* as much of it as the host has */
	SANDBOX_OFF,
	SANDBOX_REQUIRE, /* all of it, or do not start */
};

struct run_options {
	const char *kernel; /* NULL: not given */
	const char *initrd;
	const char *params;
	const char *name;
	uint64_t mem; /* bytes */
	unsigned int cpus;
	struct disk_option disk[OPTIONS_MAX_DISKS];
	unsigned int nr_disks;
	bool rng;
	bool nodefaults;
	const char *stats; /* file for the counters, "-": a table on stderr; NULL: none */
	const char *report, *junit; /* files for the report; NULL: none */
	const char *log; /* file for a copy of the console, NULL: none */
	struct watch_options watch;
	enum sandbox_mode sandbox;
	enum log_level loglevel;
	bool help;
};

/*
 * Parse the command line of lkvm run.  Strings point into argv, except for the
 * disk paths.  0, or -EINVAL with one line that names the option and the
 * remedy.  options__free() is due in both cases.
 */
int options__parse(struct run_options *opts, int argc, char **argv, struct lk_err *err);
void options__free(struct run_options *opts);
void options__help(FILE *out);

/*
 * "PATH[,option[=value]...]"; a comma inside a value is written twice.  0, or
 * -EINVAL or -ENOMEM with disk->path NULL.
 */
int options__disk(struct disk_option *disk, const char *arg, struct lk_err *err);
/* What engine= takes. */
const char *options__engine_name(enum disk_engine_kind engine);
/* The options that may follow PATH. */
void options__disk_help(FILE *out);
/* Sizes with K, M, G, T; @unit is the factor of a bare number.  -EINVAL or -ERANGE. */
int options__size(const char *text, uint64_t unit, uint64_t *bytes);
/* A plain decimal number in [min, max]. */
int options__number(const char *text, unsigned long min, unsigned long max, unsigned long *value);
/* Options of kvmtool that lkvm does not have: the line that says so, or NULL. */
const char *options__foreign(const char *name);

/*
 * Serial numbers: those given, a stable default for the others, and a check
 * that all differ.
 */
int options__serials(struct run_options *opts, struct lk_err *err);

#endif
