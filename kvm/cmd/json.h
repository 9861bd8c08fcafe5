/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_JSON_H
#define LKVM_CMD_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Writes one JSON text (RFC 8259), indented.  @key: the name of a member of an
 * object, NULL for an element of an array.  Errors show in ferror(out).
 */
struct json {
	FILE *out;
	unsigned int depth;
	bool more; /* something stands before in this object or array */
};

void json__begin(struct json *json, const char *key, char bracket); /* '{' or '[' */
void json__end(struct json *json, char bracket); /* '}' or ']' */
void json__number(struct json *json, const char *key, uint64_t value);
void json__ratio(struct json *json, const char *key, double value); /* finite */
void json__bool(struct json *json, const char *key, bool value);
/*
 * Any bytes: what the grammar wants escaped is, and each byte that is no part of
 * valid UTF-8 becomes U+FFFD.
 */
void json__string(struct json *json, const char *key, const char *value);
/* [a, b, c] in one line. */
void json__triple(struct json *json, uint64_t a, uint64_t b, uint64_t c);

#endif
