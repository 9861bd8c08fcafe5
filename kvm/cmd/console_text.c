// SPDX-License-Identifier: GPL-2.0-only
/*
 * Console bytes to text.
 */
#include "console_text.h"

enum {
	TEXT,
	ESCAPE,
	CONTROL,
	STRING
};

enum {
	BEL = 0x07,
	CAN = 0x18,
	SUB = 0x1a,
	ESC = 0x1b,
	DEL = 0x7f,
};

/* ESC and what follows up to its final byte; CSI and the strings go on. */
static uint8_t after_escape(uint8_t byte)
{
	switch (byte) {
	case '[':
		return CONTROL;
	case ']': /* OSC, and DCS, SOS, PM, APC: a string up to ST or BEL */
	case 'P':
	case 'X':
	case '^':
	case '_':
		return STRING;
	default: /* intermediate bytes go on, anything else is the final one */
		return byte >= 0x20 && byte <= 0x2f ? ESCAPE : TEXT;
	}
}

/* True: the byte belongs to an escape. */
static bool in_escape(struct console_text *text, uint8_t byte)
{
	if (byte == ESC) {
		text->state = ESCAPE;
		return true;
	}
	/* a terminal gives an escape up there, and an unfinished one must not hide text */
	if (byte == '\n' || byte == '\r') {
		text->state = TEXT;
		return false;
	}
	if (text->state == TEXT)
		return false;
	if (byte == CAN || byte == SUB)
		text->state = TEXT;
	else if (text->state == ESCAPE)
		text->state = after_escape(byte);
	else if (text->state == CONTROL && byte >= 0x40 && byte <= 0x7e)
		text->state = TEXT;
	else if (text->state == STRING && byte == BEL)
		text->state = TEXT;
	return true;
}

struct console_char console_text__byte(struct console_text *text, uint8_t byte)
{
	struct console_char out = {0};
	bool printable = (byte >= ' ' || byte == '\t') && byte != DEL;

	if (in_escape(text, byte))
		return out;
	if (byte == '\n') {
		out.newline = true;
		text->cr = false;
	} else if (byte == '\r') {
		text->cr = true;
	} else if (printable) {
		/* a lone CR: what comes now overwrites the line */
		out.newline = text->cr;
		text->cr = false;
		out.has = true;
		out.c = (char)byte;
	}
	return out;
}
