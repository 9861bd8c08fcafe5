// SPDX-License-Identifier: GPL-2.0-only
/* The line that a command ends with where it cannot go on. */
#include <lkvm/err.h>

#include "cmd.h"

int cmd__fail(struct lk_err *err)
{
	for (char *p = err->msg; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	fprintf(stderr, "lkvm: %s\n", err->msg);
	return STATUS_START;
}
