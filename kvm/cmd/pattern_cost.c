// SPDX-License-Identifier: GPL-2.0-only
/*
 * How large a regular expression becomes when the C library compiles it: it writes each
 * repetition out, "a+" as "aa*", "a{9}" as nine, so that repetitions inside repetitions
 * multiply.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"

struct cost {
	uint64_t sum[PATTERN_MAX + 1]; /* of each open group; the innermost is at depth */
	unsigned int depth;
	uint64_t last; /* the atom that a repetition would be about */
};

static void add_atom(struct cost *c, uint64_t size)
{
	c->last = size;
	c->sum[c->depth] += size;
}

static void repeat(struct cost *c, uint64_t times)
{
	/* no sum outgrows 64 bits: the walk ends at PATTERN_COST, and times is below 2^32 */
	if (times > 1) {
		c->sum[c->depth] += c->last * (times - 1);
		c->last *= times;
	}
}

/* "{n}", "{n,}", "{n,m}" behind the brace: how often; @s is moved to the closing one. */
static uint64_t interval(const char **s)
{
	uint64_t most = 0;

	while (isdigit((unsigned char)**s) || **s == ',') {
		char *end = (char *)*s + 1;

		if (**s != ',') {
			uint64_t n = strtoul(*s, &end, 10);

			most = n > most ? n : most;
		}
		*s = end;
	}
	if (**s != '}')
		(*s)--; /* not an interval; what is here is looked at next */
	return most < PATTERN_COST ? most + 1 : PATTERN_COST + 1;
}

/* "[...]" behind the bracket: one atom.  To the closing one, or the last character. */
static const char *set_end(const char *s)
{
	s += *s == '^';
	s += *s == ']';
	s += strcspn(s, "]");
	return *s ? s : s - 1;
}

static void close_group(struct cost *c)
{
	uint64_t size = c->sum[c->depth];

	if (!c->depth)
		return;
	c->depth--;
	add_atom(c, size + 1);
}

bool pattern__too_large(const char *source)
{
	struct cost c = {0};

	for (const char *s = source; *s; s++) {
		switch (*s) {
		case '(':
			c.sum[++c.depth] = 0;
			break;
		case ')':
			close_group(&c);
			break;
		case '+':
		case '*':
		case '?':
			repeat(&c, 2);
			break;
		case '{':
			s++;
			repeat(&c, interval(&s));
			break;
		case '[':
			s = set_end(s + 1);
			add_atom(&c, 1);
			break;
		default:
			s += *s == '\\' && s[1];
			add_atom(&c, 1);
			break;
		}
		if (c.sum[c.depth] > PATTERN_COST)
			return true;
	}
	return false;
}
