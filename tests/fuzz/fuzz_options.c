// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command line of lkvm run and what it makes of the kernel's: each line of
 * the input is an argument.
 *
 * options: -max_len=200
 */
#include "fuzz.h"
#include "kvm/cmd/params.h"

#define TEXT_MAX 1024
#define ARGS_MAX 48
#define CMDLINE_MAX 256

static int split(char *text, char **argv)
{
	int argc = 0;

	argv[argc++] = (char *)"run";
	while (text && argc < ARGS_MAX)
		argv[argc++] = strsep(&text, "\n");
	argv[argc] = NULL;
	return argc;
}

static void check_limits(const struct run_options *opts)
{
	FUZZ_CHECK(opts->mem >= 2 << 20 && !(opts->mem % 4096));
	FUZZ_CHECK(opts->cpus >= 1 && opts->cpus <= 4096);
	FUZZ_CHECK(opts->loglevel <= LOG_LEVEL_DEBUG);
	FUZZ_CHECK(!opts->kernel || *opts->kernel);
	FUZZ_CHECK(!opts->initrd || *opts->initrd);
	FUZZ_CHECK(!opts->stats || *opts->stats);
	FUZZ_CHECK(!opts->name || (*opts->name && strlen(opts->name) <= 64));
}

static void check_disks(const struct run_options *opts)
{
	FUZZ_CHECK(opts->nr_disks <= OPTIONS_MAX_DISKS);
	for (unsigned int i = 0; i < opts->nr_disks; i++) {
		FUZZ_CHECK(*opts->disk[i].path);
		if (opts->help)
			continue;
		for (unsigned int j = 0; j < i; j++)
			FUZZ_CHECK(!*opts->disk[i].serial ||
				   strcmp(opts->disk[i].serial, opts->disk[j].serial));
	}
}

/* It ends with what the user said, and begins with the rest, or it is refused. */
static void check_params(const struct run_options *opts)
{
	char buf[CMDLINE_MAX + 1];
	size_t len, own;

	buf[CMDLINE_MAX] = 0x5a;
	if (params__build(buf, CMDLINE_MAX, opts, NULL)) {
		FUZZ_CHECK(opts->params && strlen(opts->params) > CMDLINE_MAX - 64);
		FUZZ_CHECK(buf[CMDLINE_MAX] == 0x5a);
		return;
	}
	len = strnlen(buf, CMDLINE_MAX);
	FUZZ_CHECK(len < CMDLINE_MAX && buf[CMDLINE_MAX] == 0x5a);
	own = opts->params ? strlen(opts->params) : 0;
	FUZZ_CHECK(own <= len && (!own || !memcmp(buf + len - own, opts->params, own)));
	FUZZ_CHECK(opts->nodefaults ? len == own : !strncmp(buf, "console=ttyS0 ", 14));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct run_options opts;
	struct lk_err err = {""};
	char text[TEXT_MAX], *argv[ARGS_MAX + 1];
	int argc;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	argc = split(text, argv);
	if (options__parse(&opts, argc, argv, &err)) {
		FUZZ_CHECK(*err.msg);
	} else {
		check_limits(&opts);
		check_params(&opts);
		check_disks(&opts);
	}
	options__free(&opts);
	FUZZ_CHECK(!opts.nr_disks);
	return 0;
}
