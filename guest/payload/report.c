// SPDX-License-Identifier: GPL-2.0-only
#include "payload.h"

/* One test a boot, one CPU that reports. */
static struct {
	unsigned int passed, failed;
} score;

void report__count(bool ok)
{
	if (ok)
		score.passed++;
	else
		score.failed++;
}

bool report(bool ok, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	fmt__vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	print("%s %s\n", ok ? "ok" : "not ok", text);
	report__count(ok);
	return ok;
}

int report__summary(void)
{
	print("payload: %u passed, %u failed\n", score.passed, score.failed);
	return score.failed < 98 ? score.failed : 98;
}

void panic(const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	fmt__vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	print("payload: panic: %s\n", text);
	power__exit(EXIT_PANIC);
}
