// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regular expressions on lines of the console.
 */
#include <errno.h>
#include <string.h>

#include "pattern.h"

/* glibc takes "\1" in extended expressions.  Inside brackets a backslash is itself. */
static bool has_back_reference(const char *s)
{
	for (; *s; s++) {
		if (*s == '\\' && s[1]) {
			s++;
			if (*s >= '1' && *s <= '9')
				return true;
		} else if (*s == '[') {
			s++;
			s += *s == '^';
			s += *s == ']'; /* the first one is a character of the set */
			s += strcspn(s, "]");
			if (!*s)
				return false;
		}
	}
	return false;
}

static const char *unusable(const char *source)
{
	if (!*source)
		return "the expression is empty and would match anything; give the text to wait "
		       "for";
	if (strlen(source) > PATTERN_MAX)
		return "the expression is longer than 1024 characters; shorten it";
	if (strpbrk(source, "\r\n"))
		return "the expression has a line end in it, and lines are looked at one by one; "
		       "give one option for each line";
	if (pattern__too_large(source))
		return "its repetitions multiply to more than can be held; take some of them out";
	if (has_back_reference(source))
		return "back references such as \\1 are not in POSIX extended expressions; write "
		       "the text out";
	return NULL;
}

int pattern__compile(struct pattern *p, const char *option, const char *source, struct lk_err *err)
{
	const char *why = unusable(source);
	char reason[128];
	int ret;

	if (why)
		return lk_err__set(err, -EINVAL, "%s: %s", option, why);
	ret = regcomp(&p->regex, source, REG_EXTENDED);
	if (ret) {
		regerror(ret, &p->regex, reason, sizeof(reason));
		return lk_err__set(err, ret == REG_ESPACE ? -ENOMEM : -EINVAL,
				   "%s '%.80s': %s; a POSIX extended expression is expected (put a "
				   "backslash before a character that is meant as it stands)",
				   option, source, reason);
	}
	p->source = source;
	return 0;
}

void pattern__free(struct pattern *p)
{
	if (p->source)
		regfree(&p->regex);
	p->source = NULL;
}

ptrdiff_t pattern__find(const struct pattern *p, const struct pattern_span *span)
{
	regmatch_t m = {.rm_so = (regoff_t)span->from, .rm_eo = (regoff_t)span->len};
	int flags = REG_STARTEND;

	if (!span->bol || span->from)
		flags |= REG_NOTBOL;
	if (!span->eol)
		flags |= REG_NOTEOL;
	return regexec(&p->regex, span->line, 1, &m, flags) ? -1 : m.rm_eo;
}
