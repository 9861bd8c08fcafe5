// SPDX-License-Identifier: GPL-2.0-only
#include "verdict.h"

#define MAX_FAMILIES 32

enum column {
	COMPLETED,
	IGNORED,
	NEEDS_RESET,
	FAILED,
	NR_COLUMNS
};

struct family {
	const char *name;
	unsigned int cases, column[NR_COLUMNS];
};

static struct {
	struct family family[MAX_FAMILIES];
	unsigned int nr;
} table;

static struct family *family__get(const char *name)
{
	unsigned int i;

	for (i = 0; i < table.nr; i++)
		if (!strcmp(table.family[i].name, name))
			return &table.family[i];
	if (table.nr == MAX_FAMILIES)
		panic("more than %u families of cases", MAX_FAMILIES);
	table.family[table.nr].name = name;
	return &table.family[table.nr++];
}

static const char *verdict__word(enum verdict got)
{
	switch (got) {
	case VERDICT_COMPLETED:
		return "completed";
	case VERDICT_IGNORED:
		return "ignored";
	case VERDICT_NEEDS_RESET:
		return "needs-reset";
	default:
		return "failed";
	}
}

/* An outcome that is not the right one counts as failed, whatever it was. */
static void family__count(struct family *family, enum verdict got, bool ok)
{
	family->cases++;
	if (!ok)
		family->column[FAILED]++;
	else if (got == VERDICT_COMPLETED)
		family->column[COMPLETED]++;
	else if (got == VERDICT_IGNORED)
		family->column[IGNORED]++;
	else
		family->column[NEEDS_RESET]++;
}

static bool verdict__case(const char *family, unsigned int expected, enum verdict got,
			  const char *name, const char *detail)
{
	bool ok = got != VERDICT_FAILED && (expected & got);

	print("case %s %s: %s %s%s\n", family, name, verdict__word(got), ok ? "ok" : "FAIL",
	      ok ? "" : detail);
	family__count(family__get(family), got, ok);
	report__count(ok);
	return ok;
}

bool verdict(const char *family, const char *name, unsigned int expected, enum verdict got)
{
	return verdict__case(family, expected, got, name, "");
}

bool verdict__f(const char *family, unsigned int expected, enum verdict got, const char *fmt, ...)
{
	char name[160];
	va_list ap;

	va_start(ap, fmt);
	fmt__vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	return verdict__case(family, expected, got, name, "");
}

bool verdict__check(const char *family, bool ok, const char *fmt, ...)
{
	char name[160];
	va_list ap;

	va_start(ap, fmt);
	fmt__vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	return verdict__case(family, VERDICT_COMPLETED, ok ? VERDICT_COMPLETED : VERDICT_FAILED,
			     name, "");
}

bool verdict__equal(const char *family, uint64_t expected, uint64_t got, const char *fmt, ...)
{
	char name[160], detail[64];
	va_list ap;

	va_start(ap, fmt);
	fmt__vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	fmt__snprintf(detail, sizeof(detail), ", 0x%llx, want 0x%llx", (unsigned long long)got,
		      (unsigned long long)expected);
	return verdict__case(family, VERDICT_COMPLETED,
			     got == expected ? VERDICT_COMPLETED : VERDICT_FAILED, name, detail);
}

int verdict__summary(void)
{
	unsigned int i;

	if (table.nr)
		print("table: %16s %9s %9s %9s %11s %9s\n", "FAMILY", "cases", "completed",
		      "ignored", "needs-reset", "failed");
	for (i = 0; i < table.nr; i++) {
		const struct family *f = &table.family[i];

		print("table: %16s %9u %9u %9u %11u %9u\n", f->name, f->cases, f->column[COMPLETED],
		      f->column[IGNORED], f->column[NEEDS_RESET], f->column[FAILED]);
	}
	return report__summary();
}
