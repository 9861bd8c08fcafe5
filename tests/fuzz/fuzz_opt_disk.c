// SPDX-License-Identifier: GPL-2.0-only
/*
 * The argument of -d.  Whatever it is: it is refused with a reason, or what it
 * gives is within the limits of options.h, and its path written as an argument
 * once more gives the same path.
 *
 * options: -max_len=160
 */
#include <limits.h>

#include "fuzz.h"
#include "kvm/cmd/opt_disk.h"

#define TEXT_MAX 512

static bool is_power_of_two(unsigned int n)
{
	return n && !(n & (n - 1));
}

static void check_limits(const struct disk_option *disk)
{
	const struct virtio_blk_tuning *tuning = &disk->tuning;

	FUZZ_CHECK(disk->queues <= OPTIONS_MAX_QUEUES);
	FUZZ_CHECK(is_power_of_two(disk->queue_size));
	FUZZ_CHECK(disk->queue_size >= OPTIONS_MIN_QSIZE && disk->queue_size <= OPTIONS_MAX_QSIZE);
	FUZZ_CHECK(disk->vectors >= -1 && disk->vectors <= OPTIONS_MAX_QUEUES + 1);
	FUZZ_CHECK(!disk->queues || disk->vectors <= (int)disk->queues + 1);
	FUZZ_CHECK(tuning->batch <= disk->queue_size);
	FUZZ_CHECK(tuning->coalesce_nr <= disk->queue_size);
	FUZZ_CHECK(tuning->poll_ns <= OPTIONS_MAX_WAIT_US * 1000ULL);
	FUZZ_CHECK(tuning->coalesce_ns <= OPTIONS_MAX_WAIT_US * 1000ULL);
	FUZZ_CHECK((tuning->poll == VIRTIO_BLK_FIXED) == !!tuning->poll_ns);
	FUZZ_CHECK((tuning->coalesce == VIRTIO_BLK_FIXED) == !!tuning->coalesce_ns);
	FUZZ_CHECK(!tuning->pinned || CPU_COUNT(&tuning->cpus));
	FUZZ_CHECK(strnlen(disk->serial, sizeof(disk->serial)) < sizeof(disk->serial));
	FUZZ_CHECK(disk->null_latency <= OPTIONS_MAX_LATENCY_US * 1000ULL);
}

static void check_kind(const struct disk_option *disk)
{
	FUZZ_CHECK(disk->null == (disk->engine == DISK_ENGINE_NULL));
	FUZZ_CHECK(disk->null == !strncmp(disk->path, "null:", 5));
	if (disk->null)
		FUZZ_CHECK(disk->null_size && !(disk->null_size % DISK_SECTOR) &&
			   disk->null_size <= INT64_MAX);
	else
		FUZZ_CHECK(!disk->null_latency);
}

/* Commas of the path are written twice. */
static void check_path_again(const struct disk_option *disk)
{
	char text[2 * TEXT_MAX + 1];
	struct disk_option again;
	size_t len = 0;

	for (const char *p = disk->path; *p; p++) {
		if (*p == ',')
			text[len++] = ',';
		text[len++] = *p;
	}
	text[len] = '\0';
	FUZZ_CHECK(!options__disk(&again, text, NULL));
	FUZZ_CHECK(!strcmp(again.path, disk->path));
	free(again.path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct disk_option disk;
	struct lk_err err = {""};
	char text[TEXT_MAX];
	int ret;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	ret = options__disk(&disk, text, &err);
	if (ret) {
		FUZZ_CHECK(!disk.path);
		FUZZ_CHECK(*err.msg);
		return 0;
	}
	FUZZ_CHECK(*disk.path);
	check_limits(&disk);
	check_kind(&disk);
	check_path_again(&disk);
	free(disk.path);
	return 0;
}
