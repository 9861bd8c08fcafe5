// SPDX-License-Identifier: GPL-2.0-only
/* The options of lkvm run: one table for parsing and for the help text. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

#define DEFAULT_MEM (512ULL << 20)
#define MIN_MEM (2ULL << 20)
#define MAX_CPUS 4096 /* KVM says its own maximum later */

struct option_row {
	char letter; /* 0: long form alone */
	const char *name;
	const char *arg; /* NULL: takes none */
	int (*set)(struct run_options *opts, const char *arg, struct lk_err *err);
	const char *help;
};

static int set_kernel(struct run_options *opts, const char *arg, struct lk_err *err)
{
	if (!*arg)
		return lk_err__set(err, -EINVAL,
				   "the name of the kernel is empty; give -k FILE, or leave it out "
				   "to try the usual places");
	if (opts->kernel)
		return lk_err__set(err, -EINVAL,
				   "two kernels given, '%s' and '%s'; give one with -k",
				   opts->kernel, arg);
	opts->kernel = arg;
	return 0;
}

static int set_once(const char **slot, const char *option, const char *arg, struct lk_err *err)
{
	if (*slot)
		return lk_err__set(err, -EINVAL, "%s given twice, '%s' and '%s'; give it once",
				   option, *slot, arg);
	*slot = arg;
	return 0;
}

static int set_initrd(struct run_options *opts, const char *arg, struct lk_err *err)
{
	if (!*arg)
		return lk_err__set(
			err, -EINVAL,
			"the name of the initrd is empty; give -i FILE, or leave it out");
	return set_once(&opts->initrd, "-i", arg, err);
}

static int set_params(struct run_options *opts, const char *arg, struct lk_err *err)
{
	return set_once(&opts->params, "-p", arg, err);
}

static int set_name(struct run_options *opts, const char *arg, struct lk_err *err)
{
	if (!*arg || strlen(arg) > 64 || strpbrk(arg, "/ \t\n"))
		return lk_err__set(err, -EINVAL,
				   "--name '%s': give 1 to 64 characters without '/' or blanks",
				   arg);
	return set_once(&opts->name, "--name", arg, err);
}

static int set_mem(struct run_options *opts, const char *arg, struct lk_err *err)
{
	uint64_t bytes;
	int ret = options__size(arg, 1ULL << 20, &bytes);

	if (ret == -ERANGE)
		return lk_err__set(err, -EINVAL, "-m %s: too large for any machine; give less",
				   arg);
	if (ret)
		return lk_err__set(err, -EINVAL,
				   "-m %s: not a size; give MiB, or a number with K, M, G or T",
				   arg);
	if (bytes < MIN_MEM)
		return lk_err__set(err, -EINVAL,
				   "-m %s: a guest needs at least 2 MiB, a Linux kernel far more; "
				   "try -m 512",
				   arg);
	opts->mem = bytes & ~4095ULL;
	return 0;
}

static int set_cpus(struct run_options *opts, const char *arg, struct lk_err *err)
{
	unsigned long n;

	if (options__number(arg, 1, MAX_CPUS, &n))
		return lk_err__set(err, -EINVAL, "-c %s: give a number of CPUs from 1 to %d", arg,
				   MAX_CPUS);
	opts->cpus = n;
	return 0;
}

static int set_disk(struct run_options *opts, const char *arg, struct lk_err *err)
{
	int ret;

	if (opts->nr_disks == OPTIONS_MAX_DISKS)
		return lk_err__set(err, -EINVAL, "-d %s: one disk too many; at most %d fit", arg,
				   OPTIONS_MAX_DISKS);
	ret = options__disk(&opts->disk[opts->nr_disks], arg, err);
	if (!ret)
		opts->nr_disks++;
	return ret;
}

static int set_rng(struct run_options *opts, const char *arg, struct lk_err *err)
{
	(void)arg;
	(void)err;
	opts->rng = true;
	return 0;
}

static int set_nodefaults(struct run_options *opts, const char *arg, struct lk_err *err)
{
	(void)arg;
	(void)err;
	opts->nodefaults = true;
	return 0;
}

static int set_console(struct run_options *opts, const char *arg, struct lk_err *err)
{
	(void)opts;
	if (strcmp(arg, "serial"))
		return lk_err__set(err, -EINVAL,
				   "--console %s: the only console is 'serial' (ttyS0)", arg);
	return 0;
}

static int set_network(struct run_options *opts, const char *arg, struct lk_err *err)
{
	(void)opts;
	if (strcmp(arg, "mode=none") && strcmp(arg, "none"))
		return lk_err__set(err, -EINVAL,
				   "-n %s: there is no network; leave -n out or say mode=none",
				   arg);
	return 0;
}

static int set_stats(struct run_options *opts, const char *arg, struct lk_err *err)
{
	if (!*arg)
		return lk_err__set(err, -EINVAL,
				   "the name after --stats is empty; give a file, or - for a table "
				   "on stderr");
	return set_once(&opts->stats, "--stats", arg, err);
}

static int set_sandbox(struct run_options *opts, const char *arg, struct lk_err *err)
{
	if (!strcmp(arg, "on"))
		opts->sandbox = SANDBOX_ON;
	else if (!strcmp(arg, "off"))
		opts->sandbox = SANDBOX_OFF;
	else if (!strcmp(arg, "require"))
		opts->sandbox = SANDBOX_REQUIRE;
	else
		return lk_err__set(err, -EINVAL,
				   "--sandbox %s: there are on, off and require (a command for the "
				   "guest, as in kvmtool, belongs into the image)",
				   arg);
	return 0;
}

static int set_sandbox_off(struct run_options *opts, const char *arg, struct lk_err *err)
{
	(void)arg;
	(void)err;
	opts->sandbox = SANDBOX_OFF;
	return 0;
}

static int set_loglevel(struct run_options *opts, const char *arg, struct lk_err *err)
{
	static const char *const names[] = {
		[LOG_LEVEL_ERROR] = "error",
		[LOG_LEVEL_WARNING] = "warning",
		[LOG_LEVEL_INFO] = "info",
		[LOG_LEVEL_DEBUG] = "debug",
	};
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(names[i], arg)) {
			opts->loglevel = i;
			return 0;
		}
	}
	return lk_err__set(err, -EINVAL, "--loglevel %s: there are error, warning, info and debug",
			   arg);
}

static int set_debug(struct run_options *opts, const char *arg, struct lk_err *err)
{
	(void)arg;
	(void)err;
	opts->loglevel = LOG_LEVEL_DEBUG;
	return 0;
}

static int set_help(struct run_options *opts, const char *arg, struct lk_err *err)
{
	(void)arg;
	(void)err;
	opts->help = true;
	return 0;
}

static const struct option_row rows[] = {
	{'k', "kernel", "FILE", set_kernel, "kernel: a bzImage or a 64-bit ELF vmlinux"},
	{'i', "initrd", "FILE", set_initrd, "initial RAM disk"},
	{'p', "params", "TEXT", set_params, "kernel parameters, added to the built-in ones"},
	{0, "nodefaults", NULL, set_nodefaults, "no built-in kernel parameters, only -p"},
	{'m', "mem", "SIZE", set_mem, "guest memory in MiB, or with K, M, G, T (512)"},
	{'c', "cpus", "N", set_cpus, "number of virtual CPUs (1)"},
	{'d', "disk", "FILE[,OPT...]", set_disk,
	 "disk image or block device, or null:SIZE, which\n"
	 "stores nothing; OPT is one of those below"},
	{0, "rng", NULL, set_rng, "a virtio random number generator"},
	{'n', "network", "mode=none", set_network, "no network, which is also the default"},
	{0, "console", "serial", set_console, "console on stdin and stdout, the default"},
	{0, "name", "NAME", set_name,
	 "name of the VM: ps and top show lkvm:NAME,\n"
	 "cut to 15 characters"},
	{0, "stats", "FILE", set_stats,
	 "counters of the disks as JSON when the VM ends;\n"
	 "-: as a table on stderr"},
	{0, "sandbox", "MODE", set_sandbox,
	 "on (default): all that this host has for it;\n"
	 "require: or do not start; off"},
	{0, "sandbox-off", NULL, set_sandbox_off, "same as --sandbox off"},
	{0, "loglevel", "LEVEL", set_loglevel, "error, warning (default), info or debug"},
	{0, "debug", NULL, set_debug, "same as --loglevel debug; prints the timeline"},
	{'h', "help", NULL, set_help, "this text"},
};

#define NR_ROWS (sizeof(rows) / sizeof(rows[0]))

static void build_getopt(char *letters, struct option *longs)
{
	size_t i;

	/* '-': bare arguments in order; ':': tell a missing argument apart */
	letters = stpcpy(letters, "-:");
	for (i = 0; i < NR_ROWS; i++) {
		longs[i] = (struct option) {
			.name = rows[i].name,
			.has_arg = rows[i].arg ? required_argument : no_argument,
			.val = 256 + (int)i,
		};
		if (!rows[i].letter)
			continue;
		*letters++ = rows[i].letter;
		if (rows[i].arg)
			*letters++ = ':';
	}
	*letters = '\0';
	longs[NR_ROWS] = (struct option) {0};
}

static const struct option_row *find_row(int val)
{
	size_t i;

	if (val >= 256)
		return &rows[val - 256];
	for (i = 0; i < NR_ROWS; i++)
		if (rows[i].letter == val)
			return &rows[i];
	return NULL;
}

/*
 * getopt_long() gave '?'.  optopt is the letter of a short option, 0 or a value
 * from 256 on for a long one, which then is argv[optind - 1]; within a cluster of
 * short ones that is still the argument before.
 */
static int explain_unknown(const char *text, struct lk_err *err)
{
	const char *why;
	char name[64];

	if (!optopt || optopt >= 256) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(text + 2, "="), text + 2);
		why = options__foreign(name);
		if (why)
			return lk_err__set(err, -EINVAL, "--%s is not in lkvm: %s", name, why);
		if (optopt >= 256)
			return lk_err__set(err, -EINVAL, "--%s takes no argument", name);
		return lk_err__set(err, -EINVAL,
				   "unknown or ambiguous option '--%s'; 'lkvm help run' lists all",
				   name);
	}
	if (optopt == 'f' || optopt == 'F')
		return lk_err__set(err, -EINVAL, "-%c is not in lkvm: %s", optopt,
				   options__foreign("firmware"));
	return lk_err__set(err, -EINVAL, "unknown option '-%c'; 'lkvm help run' lists all", optopt);
}

static int parse_one(struct run_options *opts, int val, char **argv, struct lk_err *err)
{
	const struct option_row *row;

	switch (val) {
	case 1: /* a bare argument is the kernel */
		return set_kernel(opts, optarg, err);
	case '?':
		return explain_unknown(argv[optind - 1], err);
	case ':':
		row = find_row(optopt);
		if (row && row->letter)
			return lk_err__set(err, -EINVAL, "-%c (--%s) needs an argument: %s",
					   row->letter, row->name, row->arg);
		return lk_err__set(err, -EINVAL, "%s needs an argument%s%s", argv[optind - 1],
				   row ? ": " : "", row ? row->arg : "");
	default:
		row = find_row(val);
		return row->set(opts, optarg, err);
	}
}

int options__parse(struct run_options *opts, int argc, char **argv, struct lk_err *err)
{
	struct option longs[NR_ROWS + 1];
	char letters[2 * NR_ROWS + 3];
	int val, ret = 0;

	*opts = (struct run_options) {
		.mem = DEFAULT_MEM,
		.cpus = 1,
		.loglevel = LOG_LEVEL_WARNING,
	};
	build_getopt(letters, longs);
	opterr = 0;
	optind = 0; /* glibc: start afresh */
	while (!ret && (val = getopt_long(argc, argv, letters, longs, NULL)) != -1)
		ret = parse_one(opts, val, argv, err);
	/* what follows "--" */
	for (; !ret && optind < argc; optind++)
		ret = set_kernel(opts, argv[optind], err);
	if (!ret && !opts->help)
		ret = options__serials(opts, err);
	return ret;
}

void options__free(struct run_options *opts)
{
	unsigned int i;

	for (i = 0; i < opts->nr_disks; i++)
		free(opts->disk[i].path);
	opts->nr_disks = 0;
}

static void help_row(FILE *out, const struct option_row *row)
{
	const char *line = row->help, *end;
	char left[48];

	snprintf(left, sizeof(left), "%s%c%s--%s%s%s", row->letter ? "-" : " ",
		 row->letter ? row->letter : ' ', row->letter ? ", " : "  ", row->name,
		 row->arg ? " " : "", row->arg ? row->arg : "");
	for (;;) {
		end = strchrnul(line, '\n');
		fprintf(out, "  %-28s %.*s\n", left, (int)(end - line), line);
		if (!*end)
			break;
		line = end + 1;
		left[0] = '\0';
	}
}

void options__help(FILE *out)
{
	size_t i;

	for (i = 0; i < NR_ROWS; i++)
		help_row(out, &rows[i]);
	fprintf(out, "\nOptions of a disk (a comma inside a value is written twice):\n");
	options__disk_help(out);
}
