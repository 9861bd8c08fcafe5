// SPDX-License-Identifier: GPL-2.0-only
/* The options of lkvm run as a table, and what each of them sets. */
#include <errno.h>
#include <string.h>

#include "opt_run.h"

#define MIN_MEM (2ULL << 20)
#define MAX_CPUS 4096 /* KVM says its own maximum later */

int option__set_kernel(struct run_options *opts, const char *arg, struct lk_err *err)
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

int option__set_once(const char **slot, const char *option, const char *arg, struct lk_err *err)
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
	return option__set_once(&opts->initrd, "-i", arg, err);
}

static int set_params(struct run_options *opts, const char *arg, struct lk_err *err)
{
	return option__set_once(&opts->params, "-p", arg, err);
}

static int set_name(struct run_options *opts, const char *arg, struct lk_err *err)
{
	if (!*arg || strlen(arg) > 64 || strpbrk(arg, "/ \t\n"))
		return lk_err__set(err, -EINVAL,
				   "--name '%s': give 1 to 64 characters without '/' or blanks",
				   arg);
	return option__set_once(&opts->name, "--name", arg, err);
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
	return option__set_once(&opts->stats, "--stats", arg, err);
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

static int set_expect(struct run_options *opts, const char *arg, struct lk_err *err)
{
	return opt_watch__expect(&opts->watch, arg, err);
}

static int set_fail_on(struct run_options *opts, const char *arg, struct lk_err *err)
{
	return opt_watch__fail_on(&opts->watch, arg, err);
}

static int set_send(struct run_options *opts, const char *arg, struct lk_err *err)
{
	return opt_watch__send(&opts->watch, arg, err);
}

static int set_timeout(struct run_options *opts, const char *arg, struct lk_err *err)
{
	return opt_watch__timeout(&opts->watch, arg, err);
}

static int set_file(const char **slot, const char *option, const char *arg, struct lk_err *err)
{
	if (!*arg)
		return lk_err__set(err, -EINVAL,
				   "the name after %s is empty; give a file, or leave it out",
				   option);
	return option__set_once(slot, option, arg, err);
}

static int set_log(struct run_options *opts, const char *arg, struct lk_err *err)
{
	return set_file(&opts->log, "--log", arg, err);
}

static int set_report(struct run_options *opts, const char *arg, struct lk_err *err)
{
	return set_file(&opts->report, "--report", arg, err);
}

static int set_junit(struct run_options *opts, const char *arg, struct lk_err *err)
{
	return set_file(&opts->junit, "--junit", arg, err);
}

static int set_wait_end(struct run_options *opts, const char *arg, struct lk_err *err)
{
	(void)arg;
	(void)err;
	opts->watch.rules.wait_end = true;
	return 0;
}

static int set_help(struct run_options *opts, const char *arg, struct lk_err *err)
{
	(void)arg;
	(void)err;
	opts->help = true;
	return 0;
}

const struct option_row option_rows[] = {
	{'k', "kernel", "FILE", option__set_kernel, "kernel: a bzImage or a 64-bit ELF vmlinux"},
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
	{0, "expect", "REGEX", set_expect,
	 "wait for this on the console, then end with 0;\n"
	 "may repeat: all of them, in this order"},
	{0, "wait-end", NULL, set_wait_end,
	 "the last --expect does not end the run, the\n"
	 "guest does"},
	{0, "fail-on", "REGEX", set_fail_on,
	 "end with 113 when this is on the console; may\n"
	 "repeat: any of them"},
	{0, "send", "TEXT", set_send,
	 "type this when the --expect before it has\n"
	 "matched; \\n \\r \\t \\e \\xHH as in C"},
	{0, "timeout", "TIME", set_timeout,
	 "end with 124 after so many seconds, or minutes\n"
	 "with m, as in 90, 90s, 5m"},
	{0, "log", "FILE", set_log,
	 "copy of the console, with the time in front of\n"
	 "each line"},
	{0, "report", "FILE", set_report,
	 "how the VM ended, when what happened, exits and\n"
	 "counters, as JSON"},
	{0, "junit", "FILE", set_junit, "the outcome as one test case in JUnit's XML"},
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

const size_t option_nr_rows = sizeof(option_rows) / sizeof(option_rows[0]);
_Static_assert(sizeof(option_rows) / sizeof(option_rows[0]) <= OPTION_MAX_ROWS,
	       "room for them in options__parse()");
