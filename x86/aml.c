// SPDX-License-Identifier: GPL-2.0-only
/* AML encodings (ACPI 6.4, 20.2). */
#include <endian.h>
#include <string.h>

#include "aml.h"

enum {
	OP_ZERO = 0x00,
	OP_ONE = 0x01,
	OP_NAME = 0x08,
	OP_BYTE = 0x0a,
	OP_WORD = 0x0b,
	OP_DWORD = 0x0c,
	OP_STRING = 0x0d,
	OP_QWORD = 0x0e,
	OP_SCOPE = 0x10,
	OP_BUFFER = 0x11,
	OP_PACKAGE = 0x12,
	OP_EXT = 0x5b,
	OP_EXT_DEVICE = 0x82,
};

#define PKG_LENGTH_MAX ((size_t)1 << 28)

void aml__init(struct aml *aml, void *buf, size_t size)
{
	aml->buf = buf;
	aml->size = size;
	aml->len = 0;
	aml->overflow = false;
}

void aml__bytes(struct aml *aml, const void *data, size_t len)
{
	if (aml->overflow || len > aml->size - aml->len) {
		aml->overflow = true;
		return;
	}
	memcpy(aml->buf + aml->len, data, len);
	aml->len += len;
}

void aml__u8(struct aml *aml, uint8_t val)
{
	aml__bytes(aml, &val, sizeof(val));
}

void aml__u16(struct aml *aml, uint16_t val)
{
	val = htole16(val);
	aml__bytes(aml, &val, sizeof(val));
}

void aml__u32(struct aml *aml, uint32_t val)
{
	val = htole32(val);
	aml__bytes(aml, &val, sizeof(val));
}

void aml__u64(struct aml *aml, uint64_t val)
{
	val = htole64(val);
	aml__bytes(aml, &val, sizeof(val));
}

/* NameSeg: four characters, padded with underscores (20.2.2). */
static void name_string(struct aml *aml, const char *seg)
{
	char padded[4] = {'_', '_', '_', '_'};

	if (*seg == '\\') {
		aml__u8(aml, '\\');
		seg++;
	}
	for (size_t i = 0; i < sizeof(padded) && seg[i]; i++)
		padded[i] = seg[i];
	aml__bytes(aml, padded, sizeof(padded));
}

void aml__name(struct aml *aml, const char *seg)
{
	aml__u8(aml, OP_NAME);
	name_string(aml, seg);
}

void aml__integer(struct aml *aml, uint64_t val)
{
	if (val <= 1) {
		aml__u8(aml, val ? OP_ONE : OP_ZERO);
	} else if (val <= UINT8_MAX) {
		aml__u8(aml, OP_BYTE);
		aml__u8(aml, val);
	} else if (val <= UINT16_MAX) {
		aml__u8(aml, OP_WORD);
		aml__u16(aml, val);
	} else if (val <= UINT32_MAX) {
		aml__u8(aml, OP_DWORD);
		aml__u32(aml, val);
	} else {
		aml__u8(aml, OP_QWORD);
		aml__u64(aml, val);
	}
}

void aml__string(struct aml *aml, const char *str)
{
	aml__u8(aml, OP_STRING);
	aml__bytes(aml, str, strlen(str) + 1);
}

static uint32_t hex_digit(char c)
{
	return c <= '9' ? c - '0' : c - 'A' + 10;
}

/* Three letters of five bits and four digits, big endian in the dword (19.3.4, EISAID). */
void aml__eisaid(struct aml *aml, const char *id)
{
	uint32_t val = 0;

	if (strlen(id) != 7) {
		aml->overflow = true;
		return;
	}
	for (int i = 0; i < 3; i++)
		val = val << 5 | ((id[i] - '@') & 0x1f);
	for (int i = 3; i < 7; i++)
		val = val << 4 | hex_digit(id[i]);
	aml__u8(aml, OP_DWORD);
	aml__u32(aml, __builtin_bswap32(val));
}

size_t aml__scope(struct aml *aml, const char *seg)
{
	size_t mark;

	aml__u8(aml, OP_SCOPE);
	mark = aml->len;
	name_string(aml, seg);
	return mark;
}

size_t aml__device(struct aml *aml, const char *seg)
{
	size_t mark;

	aml__u8(aml, OP_EXT);
	aml__u8(aml, OP_EXT_DEVICE);
	mark = aml->len;
	name_string(aml, seg);
	return mark;
}

size_t aml__package(struct aml *aml, uint8_t elements)
{
	size_t mark;

	aml__u8(aml, OP_PACKAGE);
	mark = aml->len;
	aml__u8(aml, elements);
	return mark;
}

/* PkgLength counts itself (20.2.4): 6 bits in one byte, else 4 bits and 8 for each byte more. */
static size_t pkg_length(uint8_t *enc, size_t content)
{
	size_t n, total;

	if (content + 1 <= 0x3f) {
		enc[0] = content + 1;
		return 1;
	}
	for (n = 2; n < 4 && content + n >= (size_t)1 << (4 + 8 * (n - 1)); n++)
		;
	total = content + n;
	enc[0] = (n - 1) << 6 | (total & 0xf);
	for (size_t i = 1; i < n; i++)
		enc[i] = total >> (4 + 8 * (i - 1));
	return n;
}

/* The length goes in front of what was written since @mark, once that is known. */
void aml__end(struct aml *aml, size_t mark)
{
	size_t content, n;
	uint8_t enc[4];

	if (aml->overflow)
		return;
	content = aml->len - mark;
	if (content + 4 >= PKG_LENGTH_MAX) {
		aml->overflow = true;
		return;
	}
	n = pkg_length(enc, content);
	if (n > aml->size - aml->len) {
		aml->overflow = true;
		return;
	}
	memmove(aml->buf + mark + n, aml->buf + mark, content);
	memcpy(aml->buf + mark, enc, n);
	aml->len += n;
}

void aml__buffer(struct aml *aml, const void *data, size_t len)
{
	size_t mark;

	aml__u8(aml, OP_BUFFER);
	mark = aml->len;
	aml__integer(aml, len);
	aml__bytes(aml, data, len);
	aml__end(aml, mark);
}
