// SPDX-License-Identifier: GPL-2.0-only
/*
 * --expect, --fail-on and a kernel panic in the console's text.
 */
#include <ctype.h>
#include <string.h>

#include "watch.h"

static const char panic_text[] = "Kernel panic - not syncing";
static const char panic_end[] = "---[ end Kernel panic";

void watch__init(struct watch *w, const struct watch_rules *rules)
{
	memset(w, 0, sizeof(*w));
	w->rules = rules;
	w->bol = true;
}

static void keep_line(struct watch *w)
{
	size_t len = w->len < sizeof(w->why) - 1 ? w->len : sizeof(w->why) - 1;

	memcpy(w->why, w->line, len);
	w->why[len] = '\0';
}

/* "<0>", "[   12.345678]", "[    T1]", "[ C0]": what a kernel puts before its text. */
static size_t skip_one_prefix(const char *line, size_t at, size_t len)
{
	char close = line[at] == '<' ? '>' : ']';
	size_t i = at + 1;

	if (line[at] != '<' && line[at] != '[')
		return at;
	while (i < len && (isalnum((unsigned char)line[i]) || line[i] == '.' || line[i] == ' '))
		i++;
	if (i == len || line[i] != close)
		return at;
	i++;
	while (i < len && line[i] == ' ')
		i++;
	return i;
}

/* Anywhere else in a line it is somebody's quotation: a log that is shown, a test's name. */
static bool starts_with(const struct watch *w, const char *text, size_t text_len)
{
	size_t at = 0, next;

	if (!w->bol)
		return false;
	for (int i = 0; i < 4 && at < w->len; i++) {
		if (w->len - at >= text_len && !memcmp(w->line + at, text, text_len))
			return true;
		next = skip_one_prefix(w->line, at, w->len);
		if (next == at)
			return false;
		at = next;
	}
	return false;
}

static void look_for_panic(struct watch *w)
{
	if (w->panic == WATCH_PANIC_NONE && starts_with(w, panic_text, sizeof(panic_text) - 1)) {
		w->panic = WATCH_PANIC_BEGUN;
		w->panic_line = true;
	} else if (w->panic == WATCH_PANIC_BEGUN &&
		   starts_with(w, panic_end, sizeof(panic_end) - 1)) {
		w->panic = WATCH_PANIC_OVER;
	}
	/* the rest of it may come later */
	if (w->panic_line && w->bol)
		keep_line(w);
}

static ptrdiff_t find(const struct watch *w, const struct pattern *p, size_t from, bool eol)
{
	struct pattern_span span = {
		.line = w->line,
		.from = from,
		.len = w->len,
		.bol = w->bol,
		.eol = eol,
	};

	return pattern__find(p, &span);
}

static void look_for_expects(struct watch *w, bool eol)
{
	while (w->seen < w->rules->nr_expect) {
		ptrdiff_t end = find(w, &w->rules->expect[w->seen], w->from, eol);

		if (end < 0)
			break;
		w->from = (size_t)end;
		w->seen++;
	}
}

/*
 * Both kinds in one line: which came first in it is not worth telling apart, and a
 * failure that was asked about must not be lost.
 */
static void look(struct watch *w, bool eol)
{
	unsigned int i;

	if (watch__decided(w))
		return;
	for (i = 0; i < w->rules->nr_fail_on; i++) {
		if (find(w, &w->rules->fail_on[i], 0, eol) < 0)
			continue;
		w->failed = &w->rules->fail_on[i];
		keep_line(w);
		return;
	}
	look_for_expects(w, eol);
	look_for_panic(w);
}

static void end_line(struct watch *w)
{
	look(w, true);
	w->len = 0;
	w->from = 0;
	w->bol = true;
	w->panic_line = false;
}

static void drop_half(struct watch *w)
{
	size_t half = WATCH_LINE / 2;

	look(w, false);
	memmove(w->line, w->line + half, w->len - half);
	w->len -= half;
	w->from = w->from > half ? w->from - half : 0;
	w->bol = false;
}

void watch__feed(struct watch *w, const void *buf, size_t len)
{
	const uint8_t *bytes = buf;

	for (size_t i = 0; i < len && !watch__decided(w); i++) {
		struct console_char c = console_text__byte(&w->text, bytes[i]);

		if (c.newline)
			end_line(w);
		if (!c.has)
			continue;
		if (w->len == WATCH_LINE)
			drop_half(w);
		w->line[w->len++] = c.c;
	}
	look(w, false);
}
