// SPDX-License-Identifier: GPL-2.0-only
/*
 * main() of a fuzz target where there is no libFuzzer: runs the files that are
 * named, once each.  For the coverage of a corpus, and for other compilers.
 */
#include "fuzz.h"

static int replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	size_t len;

	if (!file) {
		perror(path);
		return 1;
	}
	data = malloc(1 << 20);
	if (!data)
		abort();
	len = fread(data, 1, 1 << 20, file);
	fclose(file);
	data = realloc(data, len ? len : 1); /* so that a sanitizer sees the end */
	if (!data)
		abort();
	LLVMFuzzerTestOneInput(data, len);
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	return failed;
}
