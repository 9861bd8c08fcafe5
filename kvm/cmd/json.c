// SPDX-License-Identifier: GPL-2.0-only
/* JSON output. */
#include <inttypes.h>
#include <string.h>

#include "json.h"

/* Length of the UTF-8 sequence at @s (RFC 3629, 4), 0 where there is none. */
static unsigned int utf8_length(const unsigned char *s)
{
	unsigned int len, i;

	if (s[0] < 0x80)
		return 1;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	len = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	for (i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80) /* the final NUL too */
			return 0;
	/* longer than needed, surrogates, above U+10FFFF */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

static void put_string(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned int len;

	putc('"', out);
	for (; *s; s += len ? len : 1) {
		len = utf8_length(s);
		if (!len)
			fputs("\\ufffd", out);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if (*s < ' ' || *s == 0x7f)
			fprintf(out, "\\u%04x", *s);
		else
			fwrite(s, 1, len, out);
	}
	putc('"', out);
}

static void new_line(struct json *json)
{
	putc('\n', json->out);
	for (unsigned int i = 0; i < json->depth; i++)
		fputs("  ", json->out);
}

static void begin_value(struct json *json, const char *key)
{
	if (json->more)
		putc(',', json->out);
	if (json->depth)
		new_line(json);
	json->more = true;
	if (key) {
		put_string(json->out, key);
		fputs(": ", json->out);
	}
}

void json__begin(struct json *json, const char *key, char bracket)
{
	begin_value(json, key);
	putc(bracket, json->out);
	json->depth++;
	json->more = false;
}

void json__end(struct json *json, char bracket)
{
	json->depth--;
	if (json->more)
		new_line(json);
	putc(bracket, json->out);
	json->more = true;
	if (!json->depth)
		putc('\n', json->out);
}

void json__number(struct json *json, const char *key, uint64_t value)
{
	begin_value(json, key);
	fprintf(json->out, "%" PRIu64, value);
}

void json__ratio(struct json *json, const char *key, double value)
{
	begin_value(json, key);
	fprintf(json->out, "%.6f", value);
}

void json__bool(struct json *json, const char *key, bool value)
{
	begin_value(json, key);
	fputs(value ? "true" : "false", json->out);
}

void json__string(struct json *json, const char *key, const char *value)
{
	begin_value(json, key);
	put_string(json->out, value);
}

void json__triple(struct json *json, uint64_t a, uint64_t b, uint64_t c)
{
	begin_value(json, NULL);
	fprintf(json->out, "[%" PRIu64 ", %" PRIu64 ", %" PRIu64 "]", a, b, c);
}
