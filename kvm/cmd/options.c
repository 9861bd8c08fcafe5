// SPDX-License-Identifier: GPL-2.0-only
/* The command line of lkvm run, parsed by the table in opt_run.c, and its help text. */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "opt_run.h"

#define DEFAULT_MEM (512ULL << 20)

static void build_getopt(char *letters, struct option *longs)
{
	size_t i;

	/* '-': bare arguments in order; ':': tell a missing argument apart */
	letters = stpcpy(letters, "-:");
	for (i = 0; i < option_nr_rows; i++) {
		longs[i] = (struct option) {
			.name = option_rows[i].name,
			.has_arg = option_rows[i].arg ? required_argument : no_argument,
			.val = 256 + (int)i,
		};
		if (!option_rows[i].letter)
			continue;
		*letters++ = option_rows[i].letter;
		if (option_rows[i].arg)
			*letters++ = ':';
	}
	*letters = '\0';
	longs[option_nr_rows] = (struct option) {0};
}

static const struct option_row *find_row(int val)
{
	size_t i;

	if (val >= 256)
		return &option_rows[val - 256];
	for (i = 0; i < option_nr_rows; i++)
		if (option_rows[i].letter == val)
			return &option_rows[i];
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
		return option__set_kernel(opts, optarg, err);
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
	struct option longs[OPTION_MAX_ROWS + 1];
	char letters[2 * OPTION_MAX_ROWS + 3];
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
		ret = option__set_kernel(opts, argv[optind], err);
	if (!ret && !opts->help)
		ret = options__serials(opts, err);
	if (!ret && !opts->help)
		ret = opt_watch__check(&opts->watch, err);
	return ret;
}

void options__free(struct run_options *opts)
{
	unsigned int i;

	for (i = 0; i < opts->nr_disks; i++)
		free(opts->disk[i].path);
	opts->nr_disks = 0;
	opt_watch__free(&opts->watch);
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

	for (i = 0; i < option_nr_rows; i++)
		help_row(out, &option_rows[i]);
	fprintf(out, "\nOptions of a disk (a comma inside a value is written twice):\n");
	options__disk_help(out);
}
