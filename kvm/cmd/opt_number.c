// SPDX-License-Identifier: GPL-2.0-only
/* Numbers and sizes on the command line. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

int options__number(const char *text, unsigned long min, unsigned long max, unsigned long *value)
{
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	*value = strtoul(text, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno || *value < min || *value > max)
		return -ERANGE;
	return 0;
}

int options__size(const char *text, uint64_t unit, uint64_t *bytes)
{
	static const char suffixes[] = "KMGT";
	unsigned long long n;
	const char *s;
	char *end;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno)
		return -ERANGE;
	if (*end) {
		s = strchr(suffixes, toupper((unsigned char)*end));
		if (!s)
			return -EINVAL;
		unit = 1024ULL << (10 * (s - suffixes));
		end++;
		/* "512MB" and "512MiB" are written too */
		if (*end == 'i')
			end++;
		if (*end == 'B')
			end++;
		if (*end)
			return -EINVAL;
	}
	if (__builtin_mul_overflow(n, unit, bytes))
		return -ERANGE;
	return 0;
}
