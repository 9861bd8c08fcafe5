// SPDX-License-Identifier: GPL-2.0-only
/* --expect, --fail-on, --send and --timeout of lkvm run. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "opt_watch.h"
#include "options.h"

#define MAX_TIMEOUT (365UL * 24 * 3600)

static int add_pattern(struct pattern *patterns, unsigned int *nr, const char *option,
		       const char *arg, struct lk_err *err)
{
	int ret;

	if (*nr == WATCH_PATTERNS)
		return lk_err__set(err, -EINVAL,
				   "%s is given more than %d times; join expressions with |",
				   option, WATCH_PATTERNS);
	ret = pattern__compile(&patterns[*nr], option, arg, err);
	if (!ret)
		(*nr)++;
	return ret;
}

int opt_watch__expect(struct watch_options *opts, const char *arg, struct lk_err *err)
{
	struct watch_rules *rules = &opts->rules;

	return add_pattern(rules->expect, &rules->nr_expect, "--expect", arg, err);
}

int opt_watch__fail_on(struct watch_options *opts, const char *arg, struct lk_err *err)
{
	struct watch_rules *rules = &opts->rules;

	return add_pattern(rules->fail_on, &rules->nr_fail_on, "--fail-on", arg, err);
}

/* "xHH": a byte, or -EINVAL. */
static int hex_byte(const char *s)
{
	char digits[3] = {0};

	if (!isxdigit((unsigned char)s[1]) || !isxdigit((unsigned char)s[2]))
		return -EINVAL;
	memcpy(digits, s + 1, 2);
	return (int)strtoul(digits, NULL, 16);
}

/* The character after a backslash; *used: characters taken.  A byte, or -EINVAL. */
static int escaped(const char *s, size_t *used)
{
	*used = 1;
	switch (*s) {
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case 'e':
		return 0x1b;
	case '\\':
		return '\\';
	case 'x':
		*used = 3;
		return hex_byte(s);
	default:
		return -EINVAL;
	}
}

/* @out has room for strlen(@arg).  Bytes, or -EINVAL. */
static ssize_t unescape(const char *arg, char *out)
{
	size_t len = 0, used;

	while (*arg) {
		int byte = (unsigned char)*arg++;

		if (byte == '\\') {
			byte = escaped(arg, &used);
			if (byte < 0)
				return byte;
			arg += used;
		}
		out[len++] = (char)byte;
	}
	return (ssize_t)len;
}

int opt_watch__send(struct watch_options *opts, const char *arg, struct lk_err *err)
{
	struct watch_send *send = &opts->send[opts->nr_send];
	ssize_t len;

	if (opts->nr_send == WATCH_PATTERNS)
		return lk_err__set(err, -EINVAL, "--send is given more than %d times; join texts",
				   WATCH_PATTERNS);
	if (!*arg || strlen(arg) > WATCH_SEND_MAX)
		return lk_err__set(err, -EINVAL, "--send takes 1 to %d characters; divide the text",
				   WATCH_SEND_MAX);
	send->bytes = malloc(strlen(arg));
	if (!send->bytes)
		return lk_err__set(err, -ENOMEM, "out of memory");
	len = unescape(arg, send->bytes);
	if (len < 0) {
		free(send->bytes);
		send->bytes = NULL;
		return lk_err__set(err, -EINVAL,
				   "--send '%.80s': after a backslash come n, r, t, e, xHH or "
				   "another backslash",
				   arg);
	}
	send->len = (size_t)len;
	send->after = opts->rules.nr_expect;
	opts->nr_send++;
	return 0;
}

int opt_watch__timeout(struct watch_options *opts, const char *arg, struct lk_err *err)
{
	size_t len = strlen(arg);
	unsigned long n, factor = 1;
	char number[16];

	if (opts->timeout)
		return lk_err__set(err, -EINVAL, "--timeout given twice; give it once");
	if (len > 1 && (arg[len - 1] == 's' || arg[len - 1] == 'm')) {
		factor = arg[len - 1] == 'm' ? 60 : 1;
		len--;
	}
	if (len >= sizeof(number))
		len = sizeof(number) - 1;
	memcpy(number, arg, len);
	number[len] = '\0';
	if (options__number(number, 1, MAX_TIMEOUT / factor, &n))
		return lk_err__set(err, -EINVAL,
				   "--timeout %s: give seconds from 1 on, as in 90 or 90s, or "
				   "minutes, as in 5m",
				   arg);
	opts->timeout = (unsigned int)(n * factor);
	return 0;
}

int opt_watch__check(const struct watch_options *opts, struct lk_err *err)
{
	const struct watch_rules *rules = &opts->rules;

	if (rules->wait_end && !rules->nr_expect)
		return lk_err__set(err, -EINVAL,
				   "--wait-end says how --expect ends, and there is none; add "
				   "--expect, or leave it out");
	if (opts->nr_send && rules->nr_expect && !rules->wait_end &&
	    opts->send[opts->nr_send - 1].after == rules->nr_expect)
		return lk_err__set(err, -EINVAL,
				   "--send after the last --expect would never be sent, since that "
				   "ends the run; add --wait-end or another --expect");
	return 0;
}

void opt_watch__free(struct watch_options *opts)
{
	struct watch_rules *rules = &opts->rules;

	while (rules->nr_expect)
		pattern__free(&rules->expect[--rules->nr_expect]);
	while (rules->nr_fail_on)
		pattern__free(&rules->fail_on[--rules->nr_fail_on]);
	while (opts->nr_send)
		free(opts->send[--opts->nr_send].bytes);
}
