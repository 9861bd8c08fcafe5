/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PAYLOAD_PATTERN_H
#define PAYLOAD_PATTERN_H

#include "blk.h"

/*
 * What the images of the tests hold: sector N is @word, a blank and N, filled
 * up with blanks, a newline at its end.  The runner's images say "sector".
 */
void pattern__make(char *buf, const char *word, uint64_t sector, unsigned int count);
bool pattern__is(const char *buf, const char *word, uint64_t sector, unsigned int count);

#endif
