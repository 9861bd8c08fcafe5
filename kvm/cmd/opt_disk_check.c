// SPDX-License-Identifier: GPL-2.0-only
/* The path of -d, and options of -d that do not go together. */
#include <errno.h>
#include <string.h>

#include "opt_disk.h"

#define NULL_PREFIX "null:"

int disk_option__null_path(struct disk_option *disk, struct lk_err *err)
{
	const char *size = disk->path + strlen(NULL_PREFIX);
	int ret;

	if (!*disk->path)
		return lk_err__set(err, -EINVAL, "-d: no image named; give -d FILE");
	if (strncmp(disk->path, NULL_PREFIX, strlen(NULL_PREFIX)))
		return 0;
	ret = options__size(size, 1, &disk->null_size);
	if (ret == -ERANGE || (!ret && disk->null_size > INT64_MAX))
		return lk_err__set(err, -EINVAL, "-d %s: too large for a disk; give less",
				   disk->path);
	if (ret)
		return lk_err__set(err, -EINVAL,
				   "-d %s: '%s' is not a size; give bytes, or a number with K, M, "
				   "G or T, as in null:8G (a file of that name: ./%s)",
				   disk->path, size, disk->path);
	if (!disk->null_size || disk->null_size % DISK_SECTOR)
		return lk_err__set(err, -EINVAL,
				   "-d %s: a disk is a whole number of sectors of %u bytes; give "
				   "one, as in null:8G",
				   disk->path, DISK_SECTOR);
	disk->null = true;
	return 0;
}

/* The null engine and what only a file has, or only it. */
static int check_null(struct disk_option *disk, uint64_t seen, struct lk_err *err)
{
	if (!disk->null) {
		if (disk->engine == DISK_ENGINE_NULL)
			return lk_err__set(err, -EINVAL,
					   "-d %s: engine=null has no file; give -d null:SIZE",
					   disk->path);
		if (disk_option__seen(seen, DISK_OPT_LATENCY))
			return lk_err__set(err, -EINVAL,
					   "-d %s: latency= is for null:SIZE alone; leave it out",
					   disk->path);
		return 0;
	}
	if (disk->engine != DISK_ENGINE_AUTO && disk->engine != DISK_ENGINE_NULL)
		return lk_err__set(err, -EINVAL,
				   "-d %s: its engine is always null; leave engine= out",
				   disk->path);
	if (disk_option__seen(seen, DISK_OPT_DIRECT) || disk_option__seen(seen, DISK_OPT_CACHE))
		return lk_err__set(err, -EINVAL,
				   "-d %s: '%s' says nothing about a disk without storage; leave "
				   "it out",
				   disk->path,
				   disk_option__seen(seen, DISK_OPT_DIRECT) ? "direct" : "cache");
	if (disk_option__seen(seen, DISK_OPT_LOCK) || disk_option__seen(seen, DISK_OPT_FORCE))
		return lk_err__set(err, -EINVAL,
				   "-d %s: '%s' says nothing about a disk without an image; leave "
				   "it out",
				   disk->path,
				   disk_option__seen(seen, DISK_OPT_LOCK) ? "lock" : "force");
	disk->engine = DISK_ENGINE_NULL;
	return 0;
}

static int check_cache(struct disk_option *disk, uint64_t seen, struct lk_err *err)
{
	if (!disk_option__seen(seen, DISK_OPT_DIRECT))
		return 0;
	if (disk_option__seen(seen, DISK_OPT_CACHE) && disk->cache != DISK_CACHE_NONE)
		return lk_err__set(err, -EINVAL,
				   "-d %s: 'direct' means cache=none, but another cache= is given; "
				   "leave one of them out",
				   disk->path);
	disk->cache = DISK_CACHE_NONE;
	return 0;
}

/* No more requests than the ring has entries are ever there to count. */
static int check_queue(const struct disk_option *disk, struct lk_err *err)
{
	unsigned int size = disk->queue_size;
	const struct virtio_blk_tuning *tuning = &disk->tuning;

	if (tuning->batch > size)
		return lk_err__set(err, -EINVAL,
				   "-d %s: batch=%u is more than the ring holds; give at most %u, "
				   "or a larger qsize=",
				   disk->path, tuning->batch, size);
	if (tuning->coalesce_nr > size)
		return lk_err__set(err, -EINVAL,
				   "-d %s: coalesce= for %u completions is more than the ring "
				   "holds; give at most %u, or a larger qsize=",
				   disk->path, tuning->coalesce_nr, size);
	if (disk->queues && disk->vectors > (int)disk->queues + 1)
		return lk_err__set(
			err, -EINVAL,
			"-d %s: vectors=%d is more than the queues and the configuration "
			"change can use; give at most %u",
			disk->path, disk->vectors, disk->queues + 1);
	return 0;
}

int disk_option__check(struct disk_option *disk, uint64_t seen, struct lk_err *err)
{
	int ret = check_null(disk, seen, err);

	if (!ret)
		ret = check_cache(disk, seen, err);
	if (!ret)
		ret = check_queue(disk, err);
	return ret;
}
