/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef LKVM_CMD_CONSOLE_TEXT_H
#define LKVM_CMD_CONSOLE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The text in a stream of console bytes: terminal escapes (ECMA-48, 5.3 to 5.6)
 * and control characters are taken out, a line ends with LF, CR LF or a lone CR.
 * Pure; all zero is the start.
 */
struct console_text {
	uint8_t state;
	bool cr; /* a CR came: what it ends is known with the byte after it */
};

/* What one byte gave: the end of a line, a character, or both in this order. */
struct console_char {
	bool newline;
	bool has; /* c is valid */
	char c;
};

struct console_char console_text__byte(struct console_text *text, uint8_t byte);

#endif
