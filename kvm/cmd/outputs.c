// SPDX-License-Identifier: GPL-2.0-only
/* The files that a run leaves. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "cmd.h"
#include "outputs.h"

struct named {
	const char *option, *path; /* path NULL: not given */
};

static void put_stats(FILE *out, const void *stats)
{
	stats__json(out, stats);
}

static void write_files(struct outputs *o)
{
	const struct out_text text[NR_OUTPUTS] = {
		[OUT_STATS] = {put_stats, &o->stats},
		[OUT_REPORT] = {report__json, &o->report},
		[OUT_JUNIT] = {report__junit, &o->report},
	};
	struct lk_err err = {""};

	for (unsigned int i = 0; i < NR_OUTPUTS; i++)
		if (out_file__is_open(&o->file[i]) && out_file__write(&o->file[i], &text[i], &err))
			cmd__fail(&err);
}

static uint64_t peak_kib(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss;
}

void outputs__write(struct outputs *o, struct machine *m, const struct console_watch *cw,
		    const struct outcome *outcome)
{
	if (!o->opts->stats && !o->opts->report && !o->opts->junit)
		return;
	machine__stop_io(m);
	o->stats.status = outcome->status;
	o->report.machine = m;
	o->report.cw = cw;
	o->report.stats = &o->stats;
	o->report.outcome = outcome;
	o->report.peak_kib = peak_kib();
	if (stats__collect(&o->stats, m)) {
		fprintf(stderr, "lkvm: the counters cannot be told: out of memory\n");
	} else {
		stats__check(&o->stats, stderr);
		if (o->opts->stats && !out_file__is_open(&o->file[OUT_STATS]))
			stats__table(stderr, &o->stats);
		write_files(o);
	}
	stats__free(&o->stats);
}

void outputs__sandbox(const struct outputs *o, const char **file)
{
	for (unsigned int i = 0; i < NR_OUTPUTS; i++)
		file[i] = o->file[i].target;
}

void outputs__close(struct outputs *o)
{
	for (unsigned int i = 0; i < NR_OUTPUTS; i++)
		out_file__discard(&o->file[i]);
}

/* The one that is written last would take the place of the other. */
static int check_apart(const struct named *files, unsigned int nr, struct lk_err *err)
{
	for (unsigned int i = 0; i < nr; i++)
		for (unsigned int j = 0; j < i; j++)
			if (out_file__same(files[i].path, files[j].path))
				return lk_err__set(err, -EINVAL,
						   "%s %s: %s writes this file, too; name another",
						   files[i].option, files[i].path, files[j].option);
	return 0;
}

int outputs__open(struct outputs *o, const struct run_options *opts, struct lk_err *err)
{
	const bool table = opts->stats && !strcmp(opts->stats, "-");
	const struct named files[] = {
		[OUT_STATS] = {"--stats", table ? NULL : opts->stats},
		[OUT_REPORT] = {"--report", opts->report},
		[OUT_JUNIT] = {"--junit", opts->junit},
		[NR_OUTPUTS] = {"--log", opts->log}, /* opened elsewhere */
	};
	int ret = check_apart(files, NR_OUTPUTS + 1, err);

	o->opts = opts;
	uname(&o->report.host);
	for (unsigned int i = 0; i < NR_OUTPUTS && !ret; i++)
		if (files[i].path)
			ret = out_file__open(&o->file[i], files[i].option, files[i].path, opts,
					     err);
	if (ret)
		outputs__close(o);
	return ret;
}
