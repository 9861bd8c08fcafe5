// SPDX-License-Identifier: GPL-2.0-only
#include "pattern.h"

static void pattern__sector(char *buf, const char *word, uint64_t sector)
{
	char text[48];

	memset(buf, ' ', SECTOR);
	fmt__snprintf(text, sizeof(text), "%s %llu", word, (unsigned long long)sector);
	memcpy(buf, text, strlen(text));
	buf[SECTOR - 1] = '\n';
}

void pattern__make(char *buf, const char *word, uint64_t sector, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		pattern__sector(buf + i * SECTOR, word, sector + i);
}

bool pattern__is(const char *buf, const char *word, uint64_t sector, unsigned int count)
{
	char want[SECTOR];
	unsigned int i;

	for (i = 0; i < count; i++) {
		pattern__sector(want, word, sector + i);
		if (memcmp(want, buf + i * SECTOR, SECTOR))
			return false;
	}
	return true;
}
