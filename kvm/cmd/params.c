// SPDX-License-Identifier: GPL-2.0-only
/* The kernel command line. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "params.h"

/* Does a word of @params begin with @key? */
static bool has_word(const char *params, const char *key)
{
	const char *p;

	for (p = params; (p = strstr(p, key)); p++)
		if (p == params || p[-1] == ' ' || p[-1] == '\t')
			return true;
	return false;
}

int params__build(char *buf, size_t size, const struct run_options *opts, struct lk_err *err)
{
	const char *params = opts->params ? opts->params : "";
	const char *builtin = opts->nodefaults ? "" : "console=ttyS0 reboot=k panic=1";
	const char *root = "";
	int n;

	if (!opts->nodefaults && opts->nr_disks && !has_word(params, "root="))
		root = opts->disk[0].read_only ? " root=/dev/vda ro" : " root=/dev/vda rw";
	n = snprintf(buf, size, "%s%s%s%s", builtin, root, *builtin && *params ? " " : "", params);
	if (n < 0 || (size_t)n >= size)
		return lk_err__set(err, -E2BIG,
				   "the kernel command line has %d bytes; %zu fit, shorten -p", n,
				   size - 1);
	return 0;
}
