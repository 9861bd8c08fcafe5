/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * What the fuzz targets have in common.  A target is one function that is given
 * bytes, does with them what a guest or a user could, and checks the result
 * against a model of its own; it keeps nothing from one input to the next, so
 * that an input means the same wherever it is run (libFuzzer, or replay.c).
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The right value was not there: said on stderr, and the input is kept by libFuzzer. */
#define FUZZ_CHECK(cond)                             \
	do {                                         \
		if (!(cond))                         \
			fuzz__fail(#cond, __LINE__); \
	} while (0)

__attribute__((noreturn, noinline, unused)) static void fuzz__fail(const char *what, int line)
{
	fprintf(stderr, "fuzz: line %d: does not hold: %s\n", line, what);
	abort();
}

/* The input, taken from the front. */
struct fuzz_in {
	const uint8_t *data;
	size_t left;
};

static inline bool fuzz__more(const struct fuzz_in *in)
{
	return in->left;
}

/* The next @bytes, 1 to 8, little endian; behind the end there are zeroes. */
static inline uint64_t fuzz__take(struct fuzz_in *in, unsigned int bytes)
{
	uint64_t val = 0;
	unsigned int n = in->left < bytes ? in->left : bytes;

	for (unsigned int i = 0; i < n; i++)
		val |= (uint64_t)in->data[i] << (8 * i);
	in->data += n;
	in->left -= n;
	return val;
}

/* One of 0 to @nr - 1, @nr up to 256. */
static inline unsigned int fuzz__pick(struct fuzz_in *in, unsigned int nr)
{
	return fuzz__take(in, 1) % nr;
}

/* The next @len bytes, with zeroes behind the end. */
static inline void fuzz__copy(struct fuzz_in *in, void *buf, size_t len)
{
	size_t n = in->left < len ? in->left : len;

	if (n)
		memcpy(buf, in->data, n);
	memset((char *)buf + n, 0, len - n);
	in->data += n;
	in->left -= n;
}

#endif
